//! What the papers say about their figures, and whether it holds here.
//!
//! A [`Statement`] is an item of data: who says what, how it is measured from the runs of a figure,
//! the range in which the numbers have to be, and whether they are known to be. There is a file for
//! each paper. `l4s paper FIGURE` prints them as a checklist and leaves them as a table in its folder,
//! `statements.md`; docs/experiments/index.md has those tables of all figures.

mod course;
mod dctth;
pub mod evidence;
mod fallback;
mod ietf97;
mod qdisc;
mod slides;

use std::fmt::Write;
use std::path::Path;

use l4s_measure::files::Dir;
use l4s_measure::inventory::write_listed;
use serde::{Deserialize, Serialize};

use super::beside::range;
use crate::failure::Failure;
use crate::folder::taken;
use crate::table::aligned;

pub use evidence::Evidence;

/// A claim about a figure.
pub struct Statement {
    /// The figure, as `l4s paper` takes it.
    pub figure: &'static str,
    /// Its name, unlike any other of the figure.
    pub id: &'static str,
    /// Document and section.
    pub source: &'static str,
    /// What it says.
    pub says: &'static str,
    /// What is measured: a number per run that it is about, or per pair of runs.
    pub of: fn(&Evidence<'_>) -> Vec<f64>,
    /// Unit of the numbers.
    pub unit: &'static str,
    /// It holds if all of them are in this range, ends included.
    pub within: [f64; 2],
    /// Why the range is that.
    pub because: &'static str,
    /// What is known.
    pub expected: Expected,
}

/// Whether a statement is known to hold, at seed 1.
pub enum Expected {
    /// It does.
    Holds,
    /// It does not, and this is why.
    DoesNotHold(&'static str),
}

use Expected::{DoesNotHold, Holds};

/// Without an end.
const ANY: f64 = f64::INFINITY;

/// All of them, by paper.
pub fn all() -> impl Iterator<Item = &'static Statement> {
    [dctth::ALL, slides::ALL, qdisc::ALL, fallback::ALL, ietf97::ALL].into_iter().flatten()
}

impl Statement {
    /// What was measured, as words, and whether the statement holds; nothing where no run is about
    /// it.
    fn judged(&self, evidence: &Evidence<'_>) -> Option<(String, bool)> {
        let found = (self.of)(evidence);
        let [low, high] = self.within;
        let holds = found.iter().all(|value| (low..=high).contains(value));
        Some((range(found.into_iter(), self.unit)?, holds))
    }

    /// The range, as words.
    fn bound(&self) -> String {
        let unit = self.unit;
        match self.within {
            [low, ANY] => format!("at least {low}{unit}"),
            [low, high] if low == high => format!("{low}{unit}"),
            [low, high] if low <= 0.0 => format!("at most {high}{unit}"),
            [low, high] => format!("{low} to {high}{unit}"),
        }
    }

    /// Its line of a checklist: verdict, what is here, what is accepted, and the statement, with
    /// the reason where it is known not to hold.
    fn line(&self, evidence: &Evidence<'_>) -> [String; 4] {
        let (here, verdict) = match self.judged(evidence) {
            None => ("-".to_owned(), "not measured"),
            Some((here, holds)) => (here, verdict(holds, &self.expected)),
        };
        let why = match (verdict, &self.expected) {
            ("does not hold", DoesNotHold(why)) => format!(": {why}"),
            _ => String::new(),
        };
        let says = format!("{} ({}){why}", self.says, self.source);
        [verdict.to_owned(), here, self.bound(), says]
    }
}

/// A verdict in words; one that is not what is known says so.
fn verdict(holds: bool, expected: &Expected) -> &'static str {
    match (holds, expected) {
        (true, Holds) => "holds",
        (false, DoesNotHold(_)) => "does not hold",
        (true, DoesNotHold(_)) => "holds, but not as recorded",
        (false, Holds) => "does not hold, but not as recorded",
    }
}

/// The statements about a figure beside its runs.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Checklist {
    /// To be printed.
    pub text: String,
    /// How many hold, of how many that these runs are about.
    pub holds: usize,
    #[allow(missing_docs)]
    pub of: usize,
}

/// The checklist of a figure; the same is left in its folder, as a table in Markdown with the
/// reasons for what is accepted. Nothing where no paper says anything of the figure.
pub fn checked(figure: &str, evidence: &Evidence<'_>, folder: &Path) -> Result<Checklist, Failure> {
    let ours: Vec<_> = all().filter(|statement| statement.figure == figure).collect();
    if ours.is_empty() {
        return Ok(Checklist::default());
    }
    let mut rows =
        vec![["verdict", "here", "accepted", "the paper says"].map(str::to_owned).to_vec()];
    let mut page =
        "| | the paper says | here | accepted | verdict |\n|---|---|---|---|---|\n".to_owned();
    for statement in ours {
        let line @ [verdict, here, bound, says] = &statement.line(evidence);
        let Statement { id, because, .. } = statement;
        writeln!(page, "| {id} | {says} | {here} | {bound}: {because} | {verdict} |")
            .expect("a String takes all");
        rows.push(line.to_vec());
    }
    let dir = Dir::open(folder)
        .map_err(|error| Failure::Run(format!("{}: {error}", folder.display())))?;
    write_listed(&dir, "statements.md", page.as_bytes()).map_err(taken)?;
    let holds = rows.iter().filter(|row| row[0].starts_with("holds")).count();
    let of = rows[1..].iter().filter(|row| row[0] != "not measured").count();
    Ok(Checklist { text: aligned(&rows, &[]), holds, of })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::catalog;
    use std::collections::BTreeSet;

    #[test]
    fn each_is_about_a_figure_and_has_a_name_of_its_own() {
        let mut names = BTreeSet::new();
        for Statement { figure, id, within: [low, high], .. } in all() {
            assert!(catalog::ALL.iter().any(|known| known.id == *figure), "{figure}");
            assert!(names.insert((figure, id)), "{figure} {id} twice");
            assert!(low <= high, "{figure} {id}");
        }
    }

    #[test]
    fn the_page_has_all_of_them_with_their_verdicts_and_no_other() {
        let page = include_str!("../../../../docs/experiments/index.md");
        let section = |figure: &str| {
            let (_, rest) = page.split_once(&format!("<!-- {figure} -->\n")).expect(figure);
            rest.split_once("<!-- end -->")
                .expect(figure)
                .0
                .lines()
                .filter(|line| line.ends_with('|'))
        };
        for figure in all().map(|statement| statement.figure).collect::<BTreeSet<_>>() {
            let rows: Vec<&str> = section(figure).skip(2).collect();
            let ours: Vec<_> = all().filter(|statement| statement.figure == figure).collect();
            assert_eq!(rows.len(), ours.len(), "{figure}: scripts/statements.sh {figure}");
            for (row, Statement { id, says, source, because, expected, .. }) in
                rows.iter().zip(ours)
            {
                let (verdict, why) = match expected {
                    Holds => ("holds", String::new()),
                    DoesNotHold(why) => ("does not hold", format!(": {why}")),
                };
                let begin = format!("| {id} | {says} ({source}){why} | ");
                assert!(row.starts_with(&begin), "{row}\n{begin}");
                assert!(row.ends_with(&format!(": {because} | {verdict} |")), "{row}");
            }
        }
    }
}
