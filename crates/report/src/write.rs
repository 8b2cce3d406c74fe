//! Files that appear whole or not at all.

use std::io::Write;
use std::path::Path;
use std::{fs, io};

use crate::ReportError;

/// Makes a folder and those above it.
pub(crate) fn folder(path: &Path) -> Result<(), ReportError> {
    fs::create_dir_all(path).map_err(at(path))
}

/// Writes a file beside its place, then moves it there.
pub(crate) fn file(path: &Path, bytes: &[u8]) -> Result<(), ReportError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    let write = || -> io::Result<()> {
        let mut file = builder.tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(at(path))
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> ReportError {
    let path = path.to_owned();
    move |cause| ReportError::Write { path, cause }
}
