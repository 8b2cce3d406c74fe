//! A program in the place of the scenario, as in `l4s shell iperf3 -c server`: `--` is missing before it.

use std::path::Path;
use std::slice;

use clap::CommandFactory;
use l4s_scenario::{bundled, shell_word};

use crate::args::Args;
use crate::failure::Failure;

/// The error for such a command line of this process, with the one that runs the program.
pub fn program() -> Option<Failure> {
    let shell = Args::command().find_subcommand("shell")?.clone();
    let takes_next = |word: &str| {
        let option = word.strip_prefix("--");
        let option =
            option.and_then(|o| shell.get_arguments().find(|arg| arg.get_long() == Some(o)));
        option.is_some_and(|arg| arg.get_action().takes_values() && !arg.is_require_equals_set())
    };
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.collect();
    let mut place = 1;
    while words.get(place)?.starts_with('-') {
        place += if takes_next(&words[place]) { 2 } else { 1 };
    }
    let (before, [program, rest @ ..]) = words.split_at(place) else { return None };
    let is_shell = before[0] == "shell" && !before.iter().any(|word| word == "--");
    if !is_shell || is_scenario(program) || !is_program(program) {
        return None;
    }
    let (some, others) = rest.split_at(rest.iter().position(|word| word == "--").unwrap_or(0));
    let others = others.strip_prefix(&["--".to_owned()]).unwrap_or(others);
    let quoted = |words: &[String]| words.iter().map(|word| shell_word(word)).collect::<Vec<_>>();
    let command = [slice::from_ref(program), some, others].concat();
    let command = [quoted(before), vec!["--".to_owned()], quoted(&command)].concat();
    Some(Failure::input_with(
        format!("found the program `{program}`, expected a scenario, or `--` before a command"),
        format!("to run it: `l4s {}`", command.join(" ")),
    ))
}

/// Whether a word is the name of a scenario, or may be that of a file with one.
fn is_scenario(word: &str) -> bool {
    let is_file = !word.contains('/') && Path::new(word).exists();
    bundled::find(word).is_some() || word.ends_with(".toml") || is_file
}

fn is_program(word: &str) -> bool {
    #[cfg(kernels)]
    return l4s_substrate::is_executable(word);
    #[cfg(not(kernels))]
    {
        let _ = word;
        false
    }
}
