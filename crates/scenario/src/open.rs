//! From the user's argument to a plan: a bundled name, a file, or the text itself.

use std::fs;
use std::io::{Error, Read};
use std::path::{Path, PathBuf};

use l4s_units::printable;

use crate::{Faults, Files, Plan, bundled, nearest};

/// Larger files are no scenarios.
const MOST_BYTES: u64 = crate::tree::MOST_BYTES as u64;

/// Files of a folder among which a misspelt one is looked for.
const MOST_FILES: usize = 10_000;

/// Why there is no plan.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    /// The scenario, or a setting, is wrong.
    #[error("{0}")]
    Scenario(#[from] Faults),
    /// It cannot be read.
    #[error("{message}")]
    Unreadable {
        /// The problem, and its reason.
        message: String,
        /// The action.
        help: Option<String>,
    },
}

impl Plan {
    /// The plan of a bundled scenario, of a file, or of a text of several lines in its place, with
    /// these `KEY=VALUE` set. It may name files.
    ///
    /// # Errors
    /// It cannot be read, or is refused.
    pub fn open(scenario: &str, set: &[String]) -> Result<Plan, Refused> {
        let (name, text) = source(scenario)?;
        Ok(Plan::parse_with(&name, &text, set, &files(scenario))?)
    }
}

/// The name and the text of a bundled scenario, of a file, or of a text of several lines in its place.
///
/// # Errors
/// It cannot be read.
pub fn source(scenario: &str) -> Result<(String, String), Refused> {
    match bundled::find(scenario) {
        Some(bundled) => Ok((format!("{}.toml", bundled.name), bundled.text.to_owned())),
        // A scenario of a program is in no file, but can be run again: the text itself is
        // the word on the command line. No path has a line feed.
        None if scenario.contains('\n') => Ok(("scenario".to_owned(), scenario.to_owned())),
        None => Ok((scenario.to_owned(), read(scenario, no_scenario)?)),
    }
}

/// The files that such a scenario may name: relative to its folder, or to the current one where it is in
/// no file.
pub fn files(scenario: &str) -> Files {
    let is_file = bundled::find(scenario).is_none() && !scenario.contains('\n');
    Files::of(if is_file { scenario } else { "" })
}

/// The text of a file that is neither too long nor something else; `refused` says that there is none to read.
pub(crate) fn read(path: &str, refused: fn(&str, Error) -> Refused) -> Result<String, Refused> {
    let shown = printable(path);
    let file = fs::File::open(path).map_err(|error| refused(path, error))?;
    let mut bytes = Vec::new();
    let length = file.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    length.map_err(|error| refused(path, error))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(without_help(format!("{shown}: more than 16 MiB, which no scenario needs")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.iter().filter(|b| **b == b'\n').count() + 1;
        let before = good.iter().rev().take_while(|b| **b != b'\n').count();
        let start = good.len() - before;
        let column = String::from_utf8_lossy(&good[start..]).chars().count() + 1;
        without_help(format!("{shown}:{line}:{column}: not a text: expected UTF-8"))
    })
}

fn no_scenario(path: &str, error: Error) -> Refused {
    let is_missing = error.kind() == std::io::ErrorKind::NotFound;
    let names = bundled::ALL.iter().map(|bundled| bundled.name);
    let help = if let Some(file) = near_file(Path::new(path)).filter(|_| is_missing) {
        format!("did you mean the file `{}`?", printable(&file.to_string_lossy()))
    } else if let Some(near) = nearest(path, names).filter(|_| is_missing) {
        format!("did you mean the bundled scenario `{near}`?")
    } else {
        "`l4s list` has the bundled scenarios".to_owned()
    };
    let message = format!("{}: cannot read this scenario: {error}", printable(path));
    Refused::Unreadable { message, help: Some(help) }
}

/// The file of a scenario in the same folder that is spelled most like this one, when it is near.
fn near_file(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let files = fs::read_dir(here).ok()?.take(MOST_FILES).flatten();
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    // The ending would make them all alike.
    let stem = |name: String| name.strip_suffix(".toml").map(str::to_owned);
    let mut stems: Vec<String> = names.filter_map(stem).collect();
    stems.sort();
    let name = path.file_name()?.to_str()?;
    let name = name.strip_suffix(".toml").unwrap_or(name);
    let near = nearest(name, stems.iter().map(String::as_str))?;
    Some(folder.join(format!("{near}.toml")))
}

fn without_help(message: String) -> Refused {
    Refused::Unreadable { message, help: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_several_lines_is_a_scenario_and_its_command_repeats_it() {
        let text =
            "link.rate = \"20mbit\"\n[[group]]\nname = \"it's\"\ncc = \"reno\"\nrtt = \"9ms\"\n";
        let set = ["seed=7".to_owned(), "duration=2s".to_owned()];
        let plan = Plan::open(text, &set).unwrap();
        assert_eq!(plan, Plan::parse("scenario", text, &set).unwrap());
        let command = plan.points[0].command(text, "sim");
        let word = crate::shell_word(text);
        assert_eq!(command, format!("l4s run {word} --set duration=2s --seed 7"));
        assert!(matches!(Plan::open("no.toml", &[]), Err(Refused::Unreadable { .. })));
        assert!(matches!(Plan::open("no = 1\n", &[]), Err(Refused::Scenario(_))));
    }

    #[test]
    fn a_scenario_that_is_missing_is_a_near_one_or_none() {
        let folder = std::env::temp_dir().join(format!("l4s-near-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("mine.toml"), "").unwrap();
        let help = |name: &str| match Plan::open(name, &[]) {
            Err(Refused::Unreadable { help: Some(help), .. }) => help,
            other => panic!("{other:?}"),
        };
        let named = |name: &str| help(folder.join(name).to_str().unwrap());
        let mine = format!("did you mean the file `{}`?", folder.join("mine.toml").display());
        assert_eq!(["mine", "mien.toml"].map(named), [mine.clone(), mine]);
        assert_eq!(named("other.toml"), "`l4s list` has the bundled scenarios");
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(help("one-against-on"), "did you mean the bundled scenario `one-against-one`?");
    }
}
