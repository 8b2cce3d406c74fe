//! What is said of a figure, kept in its folder: to find it again means to read every sample of
//! thousands of runs.

use std::path::Path;

use l4s_measure::files::Dir;
use l4s_measure::inventory::{Inventory, Place, write_listed};
use serde::{Deserialize, Serialize};

use super::beside::Row;
use super::catalog::Figure;
use super::statement::Checklist;
use crate::failure::Failure;
use crate::folder::taken;

const FILE: &str = "figure.json";
/// No file of it has more bytes.
const MOST: u64 = 16 << 20;

/// What is said of the figure whose folder it is in. The folder is of one plan and one code.
#[derive(Debug, Serialize, Deserialize)]
pub struct Kept {
    /// Figures may share a plan.
    figure: String,
    /// Its numbers.
    pub numbers: Vec<Row>,
    /// What the papers say of it.
    pub checklist: Checklist,
}

impl Kept {
    /// What was kept of a figure, if that is all there: it is written last.
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
