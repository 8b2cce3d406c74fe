//! Traces that a scenario names: bundled ones, and files where they may be read.
//!
//! A message shows whether a file exists. So only texts and settings of the user of this process may name
//! one: they carry [`Files`], which others lack.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use l4s_model::Capacity;
use l4s_trace::{BUNDLED, Bundled, MAX_BYTES, Play, Trace};
use l4s_units::printable;

use crate::fault::{did_you_mean, listed};
use crate::tree::Node;

/// The right to read the files that a text names, relative to a folder. Each is read once, and
/// its trace is kept with this value and its clones.
///
/// ```
/// use l4s_scenario::{Files, Plan};
///
/// let text = "link.trace = \"mobile.csv\"\n[[udp]]\nname = \"U\"\nrate = \"1mbit\"\n";
/// let refused = Plan::parse("mine.toml", text, &[]).unwrap_err().to_string();
/// assert!(refused.contains("`link.trace`: found \"mobile.csv\", expected a bundled trace"));
///
/// let folder = std::env::temp_dir().join(format!("l4s-files-{}", std::process::id()));
/// std::fs::create_dir_all(&folder)?;
/// std::fs::write(folder.join("mobile.csv"), "time_s,rate_mbps\n0,10\n1,30\n2,\n")?;
/// let files = Files::of(folder.join("mine.toml").to_str().unwrap());
/// let plan = Plan::parse_with("mine.toml", text, &[], &files).unwrap();
/// assert_eq!(plan.points[0].scenario.link.rate.as_bps(), 20_000_000);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Files {
    /// Names are relative to it; empty for the current folder.
    folder: PathBuf,
    /// It is relative to this; empty for the current folder.
    root: PathBuf,
    read: Arc<Mutex<HashMap<PathBuf, Found>>>,
}

/// A trace, or why there is none.
type Found = Result<Trace, Refused>;

/// Message, without the key, and help.
type Refused = (String, Option<String>);

impl Files {
    /// The files that the scenario at this path names.
    pub fn of(scenario: &str) -> Files {
        let folder = Path::new(scenario).parent().map(Path::to_owned);
        let folder = folder.unwrap_or_default();
        Files { folder, root: PathBuf::new(), read: Arc::default() }
    }

    /// The same, where relative paths begin in `root` instead of the folder that is the current one by then.
    /// Scenarios and messages show them as before.
    pub fn within(self, root: impl Into<PathBuf>) -> Files {
        Files { root: root.into(), ..self }
    }

    /// Those that the user names, relative to the current folder. The traces are shared.
    pub fn of_user(&self) -> Files {
        Files { folder: PathBuf::new(), ..self.clone() }
    }

    /// The trace in a file, and the path to it.
    fn trace(&self, name: &str) -> Result<(String, Trace), Refused> {
        let named = self.folder.join(name);
        let shown = named.to_string_lossy().into_owned();
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let trace = read.entry(self.root.join(named));
        let trace = trace.or_insert_with_key(|path| open(path, &shown, name));
        trace.clone().map(|trace| (shown, trace))
    }
}

/// Which of the sources of a plan may name files: the text, and each setting.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readers<'a>(pub Vec<Option<&'a Files>>);

impl Readers<'_> {
    /// The capacity that this value names.
    pub fn capacity(&self, node: &Node, play: Play) -> Result<Capacity, Refused> {
        let name = node.text().unwrap_or_default();
        let (file, trace) = match bundled(name) {
            Some(trace) => (name.to_owned(), trace),
            None => match self.0.get(node.place.source).copied().flatten() {
                Some(files) => files.trace(name)?,
                None => return Err(unreadable(node, name)),
            },
        };
        // The keys of a play have the limits of the crate.
        Capacity::new(file, trace, play).map_err(|error| (error.to_string(), None))
    }
}

/// The bundled trace of a name, which is made once.
fn bundled(name: &str) -> Option<Trace> {
    static MADE: [OnceLock<Trace>; BUNDLED.len()] = [const { OnceLock::new() }; BUNDLED.len()];
    let place = BUNDLED.iter().position(|bundled| bundled.name == name)?;
    Some(MADE[place].get_or_init(|| BUNDLED[place].trace()).clone())
}

fn names() -> impl Iterator<Item = &'static str> {
    BUNDLED.iter().map(|bundled: &Bundled| bundled.name)
}

/// The bundled traces, for messages.
pub(crate) fn bundled_names() -> String {
    listed(&names().collect::<Vec<_>>())
}

/// Of a name that is no bundled trace, in a text that may name no file.
fn unreadable(node: &Node, name: &str) -> Refused {
    let message = format!("found {}, expected a bundled trace: {}", node.found(), bundled_names());
    let help = "files are read for scenarios and settings of the command line alone".to_owned();
    (message, did_you_mean(name, names()).or(Some(help)))
}

fn open(path: &Path, shown: &str, name: &str) -> Found {
    let shown = printable(shown).into_owned();
    let refused = |error: std::io::Error| {
        let near = did_you_mean(name, names());
        let near = near.filter(|_| error.kind() == std::io::ErrorKind::NotFound);
        let help = near.unwrap_or_else(|| format!("bundled traces are {}", bundled_names()));
        (format!("{shown}: cannot read this trace: {error}"), Some(help))
    };
    let without_help = |what: String| (format!("{shown}: {what}"), None);
    // Before it is opened: a named pipe would be waited for.
    let found = fs::metadata(path).map_err(refused)?;
    if !found.is_file() {
        let what = if found.is_dir() { "a folder" } else { "no regular file" };
        return Err(without_help(format!("it is {what}, expected a file with a trace")));
    }
    let most = MAX_BYTES as u64;
    let too_large = |bytes| without_help(format!("{bytes} bytes, expected at most {most}"));
    if found.len() > most {
        return Err(too_large(found.len()));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(refused)?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(refused)?;
    if bytes.len() as u64 > most {
        return Err(too_large(bytes.len() as u64));
    }
    Trace::read(&bytes).map_err(|error| without_help(error.to_string()))
}
