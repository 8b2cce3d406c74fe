//! `l4s report`: a page with charts, and figures, of result folders.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use l4s_report::{Pictures, ReportError, write_report};

use crate::failure::Failure;
use crate::print;

/// Writes the report of `folders` into `out`, and prints where it is.
pub fn report(folders: &[PathBuf], out: Option<&Path>, open: bool) -> Result<(), Failure> {
    let out = match (out, folders) {
        (Some(out), _) => out,
        (None, [only]) => only,
        (None, _) => {
            return Err(Failure::input_with(
                "several folders side by side, and no place for their report",
                "add --out DIR",
            ));
        }
    };
    let page = write(folders, out, Pictures::Both)?;
    print(&format!("{}\n", page.display()))?;
    if open { show(&page) } else { Ok(()) }
}

/// Writes the report of `folders` into `out`; the path of its page.
pub fn write(folders: &[PathBuf], out: &Path, pictures: Pictures) -> Result<PathBuf, Failure> {
    let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    let written = write_report(&folders, out, pictures).map_err(|error| match error {
        ReportError::Read(_) | ReportError::Empty { .. } => {
            Failure::input_with(error.to_string(), "expected folders that `l4s run --out` finished")
        }
        error => Failure::Run(error.to_string()),
    })?;
    Ok(written.page)
}

/// Opens a page in the browser.
fn show(page: &Path) -> Result<(), Failure> {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(opener);
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::Run(format!("{opener}: {status}; open the page by hand"))),
        Err(error) => Err(Failure::Run(format!("{opener}: {error}; open the page by hand"))),
    }
}
