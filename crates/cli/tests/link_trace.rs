//! Scenarios whose link follows the trace in a file: where it is looked for, and what results keep of it.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Exit code and both outputs, run in `folder`.
fn l4s(folder: &Path, args: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_l4s"));
    let output = command.current_dir(folder).args(args).output().expect("l4s starts");
    let words = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.code(), words.concat())
}

/// A folder with a scenario and its trace in `inner`.
fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("t.csv"), "time_s,rate_mbps\n0,5\n1,15\n2,\n").unwrap();
    let text = "duration = \"2s\"\nlink.trace = \"t.csv\"\n\
                [[group]]\nname = \"A\"\ncc = \"prague\"\nrtt = \"10ms\"\n";
    fs::write(inner.join("mine.toml"), text).unwrap();
    folder
}

#[test]
fn a_shown_scenario_runs_in_the_same_folder() {
    let folder = prepared();
    let (code, shown) = l4s(folder.path(), &["show", "inner/mine.toml"]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("trace        = \"inner/t.csv\""), "{shown}");
    fs::write(folder.path().join("shown.toml"), &shown).unwrap();
    let run = |name: &str| {
        let (code, words) = l4s(folder.path(), &["run", name]);
        assert_eq!(code, Some(0), "{words}");
        words.lines().nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!(run("shown.toml"), run("inner/mine.toml"));
}

#[test]
fn results_keep_a_copy_with_which_the_run_repeats() {
    let folder = prepared();
    let here = folder.path();
    let run = ["run", "inner/mine.toml", "--out", "out"];
    let (code, words) = l4s(here, &run);
    assert_eq!(code, Some(0), "{words}");
    let scenarios = fs::read(here.join("out/scenarios.json")).unwrap();
    let scenarios: Value = serde_json::from_slice(&scenarios).unwrap();
    let follows = &scenarios[0]["link"]["follows"];
    assert_eq!(follows["file"], "inner/t.csv");
    let copy = format!("out/{}", follows["copy"].as_str().unwrap());
    assert!(here.join(&copy).exists());
    assert!(fs::read_to_string(here.join("out/report.html")).unwrap().len() > 1000);

    // Another content is another run.
    fs::write(here.join("inner/t.csv"), "time_s,rate_mbps\n0,5\n1,14\n2,\n").unwrap();
    let (code, words) = l4s(here, &[&run[..], &["--resume"]].concat());
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("the same scenario with other settings"), "{words}");

    fs::remove_file(here.join("inner/t.csv")).unwrap();
    let set = format!("link.trace={copy}");
    let again = ["run", "out/scenario.toml", "--set", &set, "--out", "again"];
    let (code, words) = l4s(here, &again);
    assert_eq!(code, Some(0), "{words}");
    let again = fs::read(here.join("again/scenarios.json")).unwrap();
    let again: Value = serde_json::from_slice(&again).unwrap();
    assert_eq!(again[0]["link"]["follows"]["digest"], follows["digest"]);
    // Its results go with all else that l4s wrote.
    let (code, words) = l4s(
        here,
        &[
            "run",
            "lab-speed",
            "--set",
            "duration=1s",
            "--set",
            "warmup=0s",
            "--out",
            "out",
            "--replace",
        ],
    );
    assert_eq!(code, Some(0), "{words}");
    assert!(!here.join(&copy).exists());
}

#[test]
#[cfg(target_os = "linux")]
fn the_shaper_of_linux_follows_no_trace() {
    let folder = prepared();
    for on in ["linux", "qdisc"] {
        let (code, words) = l4s(folder.path(), &["run", "inner/mine.toml", "--on", on]);
        assert_eq!(code, Some(2), "{words}");
        let expected = "one rate at a time: found `link.trace = \"inner/t.csv\"`, expected `link.rate`; \
                        `--on sim` and `--on kernel` have it";
        assert!(words.contains(expected), "{words}");
    }
}
