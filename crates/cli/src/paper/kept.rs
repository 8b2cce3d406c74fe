//! What is said of a figure, kept in its folder: to find it again means to read every sample of
//! thousands of runs.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::beside::Row;
use super::catalog::Figure;
use super::statement::Checklist;
use crate::failure::Failure;
use crate::folder::write_whole;

const FILE: &str = "figure.json";

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
        let kept: Kept = serde_json::from_slice(&fs::read(folder.join(FILE)).ok()?).ok()?;
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
        let written = serde_json::to_vec_pretty(&kept)
            .map_err(Into::into)
            .and_then(|text| write_whole(&path, &text));
        match written {
            Ok(()) => Ok(kept),
            Err(error) => Err(Failure::Run(format!("cannot write {}: {error}", path.display()))),
        }
    }
}
