//! The file, or standard output, that a trace is written to.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use l4s_measure::files::Dir;

use crate::args::TraceTarget;
use crate::failure::Failure;
use crate::print_raw;

/// Where the bytes go.
pub enum Target {
    /// Standard output.
    Stdout,
    /// A file in a folder.
    File(Dir, String),
}

impl Target {
    /// Checks before anything is read or made: the folder exists, and the file does not, unless it may be
    /// replaced.
    pub fn new(options: &TraceTarget) -> Result<Target, Failure> {
        let Some(path) = options.out.as_deref().filter(|path| *path != Path::new("-")) else {
            return Ok(Target::Stdout);
        };
        let refused = |error: io::Error| Failure::input(format!("{}: {error}", path.display()));
        let name = path.file_name().and_then(OsStr::to_str).filter(|_| !ends_with_slash(path));
        let Some(name) = name else {
            return Err(Failure::input(format!(
                "{}: found a folder, or a name that is not UTF-8; expected the name of a file",
                path.display()
            )));
        };
        let dir = Dir::open(path.parent().unwrap_or(Path::new(""))).map_err(refused)?;
        if dir.has_file(name).map_err(refused)? && !options.replace {
            return Err(Failure::input_with(
                format!("{} exists already", path.display()),
                "choose another file, or add --replace; nothing was changed",
            ));
        }
        Ok(Target::File(dir, name.to_owned()))
    }

    /// Writes all the bytes. A file appears whole or not at all.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Target::Stdout => print_raw(&String::from_utf8_lossy(bytes)),
            Target::File(dir, name) => {
                let written = dir.begin(name).and_then(|mut file| {
                    file.write_all(bytes)?;
                    file.finish()
                });
                let path: PathBuf = dir.path().join(name);
                written.map_err(|error| Failure::Run(format!("{}: {error}", path.display())))
            }
        }
    }
}

/// Whether a path says that it is a folder.
fn ends_with_slash(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}
