//! `scripts/action.sh`, the steps of action.yml, in the way in which GitHub's runner starts them: inputs in the
//! environment, outputs in a file.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// A server that listens, with a space and quotes in its command line.
const SERVER: &str = "touch 'a server'; exec python3 -c \
                      'import socket; s = socket.create_server((\"\", 80)); s.accept(); s.accept()'";

/// Executes the step `run` with these inputs, in a folder of its own.
fn run(inputs: &[(&str, &str)]) -> (TempDir, Output) {
    let folder = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/action.sh");
    let mut command = Command::new(script);
    command.arg("run").current_dir(folder.path()).envs(inputs.iter().copied());
    command.env("L4S_COMMAND", env!("CARGO_BIN_EXE_l4s"));
    let output = command.env("GITHUB_OUTPUT", folder.path().join("output")).output().unwrap();
    (folder, output)
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[test]
fn a_step_has_its_command_servers_settings_and_results() {
    if Command::new("python3").arg("--version").output().is_err() {
        return println!("skipped: there is no python3 on this machine");
    }
    let (folder, ran) = run(&[
        ("L4S_RUN", "ls; echo \"$SERVER\" '* \"x  y\"'; exit 7"),
        ("L4S_SERVERS", &format!("{SERVER}\n\n  \n")),
        ("L4S_SET", "link.rate=20mbit\ngroup.shell.rtt=30ms\n"),
        ("L4S_OUT", "the results"),
    ]);
    if ran.status.code() == Some(3) {
        return println!("skipped: {}", words(&ran));
    }
    assert_eq!(ran.status.code(), Some(7), "{}", words(&ran));
    let all = words(&ran);
    assert!(all.contains("a server\n") && all.contains("10.0.0.1 * \"x  y\"\n"), "{all}");
    assert!(all.contains("20mbit") && all.contains("30ms"), "{all}");
    let results = fs::canonicalize(folder.path()).unwrap().join("the results");
    let outputs = fs::read_to_string(folder.path().join("output")).unwrap();
    let [results, report] = [results.clone(), results.join("report.html")];
    assert_eq!(outputs, format!("results={}\nreport={}\n", results.display(), report.display()));
    assert!(report.exists());
}

#[test]
fn a_step_fails_where_an_assertion_does() {
    let two = "groups.shell.packets == 0\ngroups.shell.packets > 0\n";
    let (_folder, ran) = run(&[("L4S_RUN", "true"), ("L4S_ASSERT", two)]);
    if ran.status.code() == Some(3) {
        return println!("skipped: {}", words(&ran));
    }
    assert_eq!(ran.status.code(), Some(1), "{}", words(&ran));
    assert!(words(&ran).contains("1 of 2 assertions failed"), "{}", words(&ran));
}

/// As in the steps of GitHub, also inside of a pipe.
#[test]
fn a_step_ends_with_the_first_line_that_fails() {
    let (_folder, ran) = run(&[("L4S_RUN", "echo one\nfalse | cat\necho two")]);
    if ran.status.code() == Some(3) {
        return println!("skipped: {}", words(&ran));
    }
    assert_eq!(ran.status.code(), Some(1), "{}", words(&ran));
    let all = words(&ran);
    assert!(all.contains("one\n") && !all.contains("two\n"), "{all}");
}

/// The script reads exactly the inputs that `action.yml` passes on.
#[test]
fn the_action_and_its_script_have_the_same_inputs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = |file: &str| fs::read_to_string(root.join(file)).unwrap();
    let names = |text: &str| {
        let words = text
            .split(|letter: char| !letter.is_ascii_uppercase() && letter != '_' && letter != '4');
        let mut names: Vec<_> =
            words.filter(|word| word.starts_with("L4S_")).map(str::to_owned).collect();
        names.sort();
        names.dedup();
        names
    };
    assert_eq!(names(&text("action.yml")), names(&text("scripts/action.sh")));
}
