//! A command in a virtual machine: its output, and the message if there is no virtual machine.
//!
//! Without a virtual machine (`make vm`), a test prints `skipped: ` and the reason. `make test-vm` tests the
//! machine itself.
#![cfg(target_os = "linux")]

use std::process::Command;

const L4S: &str = env!("CARGO_BIN_EXE_l4s");

#[test]
fn what_a_command_says_and_how_it_ends_comes_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "uname -r; echo complaint >&2; echo kept > kept; exit 7";
    let output = Command::new(L4S)
        .args(["vm", "--time-limit", "300s", "--", "sh", "-c", script])
        .current_dir(folder.path())
        .output()
        .expect("l4s starts");
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(3) {
        return println!("skipped: {said}");
    }
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert_eq!(said, "complaint\n");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with(l4s_linux::VERSION));
    let kept = std::fs::read_to_string(folder.path().join("kept"));
    assert_eq!(kept.expect("the folder is writable"), "kept\n");
}

#[test]
fn without_a_virtual_machine_it_says_what_makes_one() {
    let nothing = tempfile::tempdir().expect("a folder");
    let output = Command::new(L4S)
        .args(["vm", "--", "true"])
        .env("XDG_CACHE_HOME", nothing.path())
        .output()
        .expect("l4s starts");
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("`make vm` makes it in a clone of l4s "), "{said}");
}
