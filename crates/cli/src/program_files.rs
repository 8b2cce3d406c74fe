//! The files behind the programs of a scenario: a program that was built again is another program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use l4s_model::{Command, Scenario};
use l4s_scenario::fingerprint;

/// The characters beside blanks that end a word in the line of a shell, or an option before its value.
const BETWEEN: &str = ";&|()<>\"'`=";

/// The fingerprint of each file that a command of a program names, by that name: from the working directory, or by $PATH.
pub fn program_files<'a>(
    scenarios: impl IntoIterator<Item = &'a Scenario>,
) -> BTreeMap<String, String> {
    let programs = scenarios.into_iter().flat_map(|scenario| &scenario.programs);
    let commands = programs.flat_map(|program| program.server.iter().chain(&program.client));
    let names: BTreeSet<&str> = commands.flat_map(words).collect();
    let print = |name: &str| {
        let bytes = std::fs::read(file(name)?).ok()?;
        Some((name.to_owned(), fingerprint(&bytes)))
    };
    names.into_iter().filter_map(print).collect()
}

/// The words of a command that may name files; a word of a list may be one, blanks included.
fn words(command: &Command) -> Vec<&str> {
    let is_between = |c: char| c.is_whitespace() || BETWEEN.contains(c);
    let split = |text| str::split(text, is_between).filter(|word| !word.is_empty());
    match command {
        Command::Line(line) => split(line.as_str()).collect(),
        Command::Words(words) => {
            words.iter().flat_map(|word| split(word).chain([word.as_str()])).collect()
        }
    }
}

/// The regular file of that name. Devices and pipes have no end.
fn file(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").filter(|_| !name.contains('/')).unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|folder| folder.join(name));
    [Path::new(name).to_owned()].into_iter().chain(in_path).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_line_and_of_a_list_may_name_files() {
        let line = Command::Line("cd a && LOG='x y' ./send --key=k.pem <in".into());
        let found = words(&line);
        assert_eq!(found, ["cd", "a", "LOG", "x", "y", "./send", "--key", "k.pem", "in"]);
        let list = Command::Words(["sh", "-c", "./a b"].map(str::to_owned).into());
        assert_eq!(words(&list), ["sh", "sh", "-c", "-c", "./a", "b", "./a b"]);
    }

    #[test]
    fn a_name_without_a_slash_is_found_by_path() {
        assert!(file("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(file("/dev/null"), None);
        assert_eq!(file("no-such-file"), None);
    }
}
