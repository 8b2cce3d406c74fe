//! Files that appear whole or not at all: written beside their place, flushed to the disk, renamed.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file that takes its name when it is complete. Dropped before that, it leaves nothing.
pub(crate) struct Durable {
    file: NamedTempFile,
    path: PathBuf,
}

impl Durable {
    /// Begins a file that will be at `path`; its folder must exist.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".l4s-").suffix(".part");
        #[cfg(unix)]
        {
            // What any new file gets: readable by all, less the user's umask.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(Permissions::from_mode(0o666));
        }
        Ok(Durable { file: builder.tempfile_in(folder(path))?, path: path.to_owned() })
    }

    /// Where it will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the file in its place. On return it outlives a power failure.
    pub fn commit(self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file.persist(&self.path).map_err(|e| e.error)?;
        File::open(folder(&self.path))?.sync_all()
    }
}

impl Write for Durable {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes a whole file with `fill`.
pub(crate) fn write(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<Durable>) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = BufWriter::new(Durable::create(path)?);
    fill(&mut file)?;
    file.into_inner().map_err(|e| e.into_error())?.commit()
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
