//! `l4s report`: a page with charts, and figures, of result folders.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use l4s_report::{Data, Differences, Pictures, read, write_data};

use crate::failure::{Failure, unwritten};
use crate::folder::{locked, refuse_results};
use crate::print;

/// Writes the report of `folders` into `out`, and prints where it is.
pub fn report(folders: &[PathBuf], out: Option<&Path>, open: bool) -> Result<(), Failure> {
    let out = match (out, folders) {
        (Some(out), _) => out,
        (None, [only]) => only,
        (None, _) => {
            return Err(Failure::input_with(
                "several result folders, and no folder for their report",
                "add --out DIR",
            ));
        }
    };
    let page = beside(folders, out, None)?;
    print(&format!("{}\n", page.display()))?;
    if open { show(&page) } else { Ok(()) }
}

/// Writes the report of `folders`, and their differences, into `out`, once they are read; the path of its
/// page. A folder with results has the report of these alone.
pub fn beside(
    folders: &[PathBuf],
    out: &Path,
    differences: Option<Differences>,
) -> Result<PathBuf, Failure> {
    let data = Data { differences, ..gathered(folders)? };
    let (dir, _lock) = locked(out)?;
    if !matches!(folders, [only] if is_same(only, out)) {
        refuse_results(&dir)?;
    }
    Ok(write_data(&data, out, Pictures::Both).map_err(unwritten)?.page)
}

/// Whether both paths lead to one folder.
fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Writes the report of a folder, which this process has locked, into it.
pub fn within(folder: &Path, pictures: Pictures) -> Result<(), Failure> {
    let data = gathered(&[folder.to_owned()])?;
    write_data(&data, folder, pictures).map(|_| ()).map_err(unwritten)
}

fn gathered(folders: &[PathBuf]) -> Result<Data, Failure> {
    let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    read(&folders).map_err(unwritten)
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
