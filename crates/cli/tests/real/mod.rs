//! `l4s run` with real TCP, with a scenario in a folder of its own.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use l4s_measure::Summary;
use tempfile::TempDir;

/// A folder with a scenario in it, `s.toml`.
pub fn folder(scenario: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the test");
    fs::write(folder.path().join("s.toml"), scenario).expect("a scenario");
    folder
}

/// `l4s run s.toml --on SUBSTRATE`, with more arguments.
pub fn l4s_on(substrate: &str, folder: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_l4s"));
    command.current_dir(folder).args(["run", "s.toml", "--on", substrate]).args(more);
    command
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The summaries of a successful run; `None` if this machine cannot run it.
pub fn done(output: &Output) -> Option<Vec<Summary>> {
    let words = stderr(output);
    if output.status.code() == Some(3) {
        println!("skipped: {}", words.trim());
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{words}");
    let lines = std::str::from_utf8(&output.stdout).expect("text").lines();
    Some(lines.map(|line| serde_json::from_str(line).expect("a summary")).collect())
}
