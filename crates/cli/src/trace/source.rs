//! Where a trace is read from: a file, standard input, or the traces that come with l4s.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use l4s_scenario::nearest;
use l4s_trace::{BUNDLED, Bundled, Format, MAX_BYTES, Model, Place, Problem, Trace, TraceError};
use l4s_units::printable;

use crate::failure::Failure;

/// A trace and its origin.
pub struct Source {
    /// Its name in messages.
    pub name: String,
    /// The format of its file; `None` for a bundled one.
    pub format: Option<Format>,
    /// The bundled one.
    pub bundled: Option<Bundled>,
    /// The trace.
    pub trace: Trace,
}

impl Source {
    /// Reads a file, or standard input as `-`, or makes the bundled trace of this name.
    pub fn open(path: &Path) -> Result<Source, Failure> {
        if let Some(bundled) = path.to_str().and_then(Bundled::find) {
            return Ok(Source {
                name: bundled.name.to_owned(),
                format: None,
                bundled: Some(bundled),
                trace: bundled.trace(),
            });
        }
        let (name, read) = if path == Path::new("-") {
            ("stdin".to_owned(), limited(io::stdin().lock()).map_err(Unread::Io))
        } else {
            (printable(&path.to_string_lossy()).into_owned(), file(path))
        };
        let bytes = read.map_err(|error| match error {
            Unread::Refused(problem) => refused(&name, &problem.into()),
            Unread::Io(error) => unreadable(&name, &error),
        })?;
        let trace = Trace::read(&bytes).map_err(|error| refused(&name, &error))?;
        Ok(Source { name, format: Format::of(&bytes), bundled: None, trace })
    }
}

/// Why there are no bytes.
enum Unread {
    Refused(Problem),
    Io(io::Error),
}

/// The bytes of a file. Its size is checked before they are read.
fn file(path: &Path) -> Result<Vec<u8>, Unread> {
    let file = File::open(path).map_err(Unread::Io)?;
    let about = file.metadata().map_err(Unread::Io)?;
    if about.is_dir() {
        return Err(Unread::Io(io::Error::other("found a folder, expected a file")));
    }
    if about.is_file() && about.len() > MAX_BYTES as u64 {
        return Err(Unread::Refused(Problem::TooLarge { found: about.len() }));
    }
    limited(file).map_err(Unread::Io)
}

/// The bytes of a stream. It reads at most one byte beyond the limit, so that a longer stream is refused.
fn limited(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    let message = format!("{name}: cannot read this trace: {error}");
    if error.kind() != io::ErrorKind::NotFound {
        return Failure::input(message);
    }
    let bundled = || BUNDLED.iter().map(|bundled| bundled.name);
    let help = if Model::ALL.iter().any(|model| model.name() == name) {
        format!("`l4s trace make {name}` makes a trace of this model; `{name}-1` is a bundled one")
    } else if let Some(near) = nearest(name, COMMANDS) {
        format!("did you mean `l4s trace {near}`?")
    } else if let Some(near) = nearest(name, bundled()) {
        format!("did you mean the bundled trace `{near}`?")
    } else {
        format!("bundled traces are {}", bundled().collect::<Vec<_>>().join(", "))
    };
    Failure::input_with(message, help)
}

/// The commands that a name may be meant for.
const COMMANDS: [&str; 4] = ["show", "convert", "make", "list"];

/// With `FILE:LINE`, or `FILE:LINE:COLUMN` in JSON.
fn refused(name: &str, error: &TraceError) -> Failure {
    let place = match &error.place {
        None => String::new(),
        Some(Place { line, field: None }) => format!(":{line}"),
        Some(Place { line, field: Some(field) }) => match field.parse::<u64>() {
            Ok(column) => format!(":{line}:{column}"),
            Err(_) => format!(":{line}: column `{}`", printable(field)),
        },
    };
    Failure::input(format!("{name}{place}: {}", error.problem))
}
