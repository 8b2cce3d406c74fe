//! The numbers and the checklist of a figure, kept in its folder: to find them again means to read
//! every sample of thousands of runs.

use std::path::Path;

use l4s_measure::files::Dir;
use l4s_measure::inventory::{Inventory, Place, write_listed};
use l4s_papers::{Checked, Figure, Row};
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, taken};
use crate::table::aligned;

const FILE: &str = "figure.json";
/// No file of it has more bytes.
const MOST: u64 = 16 << 20;

/// The numbers and the checklist of the figure whose folder it is in. The folder is of one plan and
/// one code.
#[derive(Debug, Serialize, Deserialize)]
pub struct Kept {
    /// Figures may share a plan.
    figure: String,
    /// Its numbers.
    pub numbers: Vec<Row>,
    /// The statements about it.
    pub checklist: Checklist,
}

/// The statements about a figure beside its runs.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Checklist {
    /// To be printed.
    pub text: String,
    /// How many hold.
    pub holds: usize,
    /// How many are measured in these runs.
    pub of: usize,
}

impl Checklist {
    /// The checklist of statements. It is also written into the folder as a table in Markdown, unless
    /// there are none.
    pub fn keep(statements: &[Checked], folder: &Path) -> Result<Checklist, Failure> {
        if statements.is_empty() {
            return Ok(Checklist::default());
        }
        let dir = Dir::open(folder)
            .map_err(|error| Failure::Run(format!("{}: {error}", folder.display())))?;
        let page = l4s_papers::page(statements);
        write_listed(&dir, "statements.md", page.as_bytes()).map_err(taken)?;
        let rows = statements.iter().map(|Checked { verdict, here, accepted, says, .. }| {
            [verdict, here.as_str(), accepted, says]
        });
        Ok(Checklist {
            text: table(["verdict", "here", "accepted", "the paper says"], rows),
            holds: statements.iter().filter(|statement| statement.holds()).count(),
            of: statements.iter().filter(|statement| statement.is_measured()).count(),
        })
    }
}

impl Kept {
    /// The numbers as a table with an empty line after it; empty without numbers.
    pub fn table(&self) -> String {
        if self.numbers.is_empty() {
            return String::new();
        }
        let rows = self.numbers.iter().map(|row| [row.what.as_str(), &row.here]);
        table(["what", "here"], rows) + "\n"
    }

    /// The stored results of a figure, if complete: this file is written last.
    pub fn of(figure: &Figure, folder: &Path) -> Option<Kept> {
        let dir = Dir::open(folder).ok()?;
        let list = Inventory::read(&dir).ok()??;
        if !list.is_complete(&dir, FILE) || list.place(&dir, FILE).ok()? != Place::Ours {
            return None;
        }
        let text = dir.read(FILE, MOST).ok()??;
        let kept: Kept = serde_json::from_slice(&text).ok()?;
        let has_page = figure.page.is_none_or(|page| folder.join(page).is_file());
        Some(kept).filter(|kept| kept.figure == figure.id && has_page)
    }

    /// Keeps it.
    pub fn keep(
        figure: &Figure,
        numbers: Vec<Row>,
        checklist: Checklist,
        folder: &Path,
    ) -> Result<Kept, Failure> {
        let kept = Kept { figure: figure.id.to_owned(), numbers, checklist };
        let path = folder.join(FILE);
        let failed =
            |error: String| Failure::Run(format!("cannot write {}: {error}", path.display()));
        let text = serde_json::to_vec_pretty(&kept).map_err(|error| failed(error.to_string()))?;
        let dir = Dir::open(folder).map_err(|error| failed(error.to_string()))?;
        write_listed(&dir, FILE, &text).map_err(taken)?;
        Ok(kept)
    }
}

/// Rows in columns, below their head.
fn table<'a, const N: usize>(
    head: [&'a str; N],
    rows: impl Iterator<Item = [&'a str; N]>,
) -> String {
    let all = [head].into_iter().chain(rows).map(|row| row.map(str::to_owned).to_vec());
    aligned(&all.collect::<Vec<_>>(), &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_head_unless_there_is_nothing() {
        let table = |numbers: &[(&str, &str)]| {
            let row = |&(what, here): &(&str, &str)| Row { what: what.into(), here: here.into() };
            let numbers = numbers.iter().map(row).collect();
            Kept { figure: String::new(), numbers, checklist: Checklist::default() }.table()
        };
        let rows = [("ratio", "4 to 16"), ("peak", "2")];
        assert_eq!(table(&rows), "what   here\nratio  4 to 16\npeak   2\n\n");
        assert_eq!(table(&[]), "");
    }
}
