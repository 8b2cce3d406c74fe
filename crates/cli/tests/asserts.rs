//! `--assert` and `[[assert]]` as in CI: exit codes, messages, and the files in the folder.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

/// Two runs of two seconds, with assertions that hold.
const SCENARIO: &str = r#"
duration = "2s"
link.rate = "10mbit"
[[group]]
name = "A"
cc   = "prague"
rtt  = "10ms"
[[group]]
name = "B"
cc   = "cubic"
rtt  = "10ms"
[[udp]]
name = "silent"
rate = "0bit"
[[assert]]
that = "queues.L.delay_ms.p99 < queues.C.delay_ms.mean"
why  = "L4S is for low latency"
[[assert]]
that = "0.2 < groups.A.rate_bps / groups.B.rate_bps < 5"
[sweep]
link.rate = ["10mbit", "20mbit"]
"#;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("s.toml"), SCENARIO).unwrap();
    folder
}

/// Runs the scenario. Returns the exit code, stdout and stderr.
fn run(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_l4s"));
    let output = command.current_dir(folder).args(["run", "s.toml"]).args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The assertions in the result folder.
fn kept(folder: &Path) -> Value {
    let text = fs::read_to_string(folder.join("out/assertions.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn those_that_hold_are_one_line_and_code_0() {
    let folder = folder();
    let (code, out, err) =
        run(folder.path(), &["--assert", "link.utilization > 0.9", "--seeds", "2"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(out.lines().count(), 5, "{out}");
    assert_eq!(err.lines().last(), Some("3 assertions hold in 4 runs"));
    assert_eq!(err.matches("assert").count(), 1, "{err}");
    let one = ["--set", "link.rate=10mbit", "--set", "assert=[{ that = \"seed == 1\" }]"];
    let (code, _, err) = run(folder.path(), &one);
    assert_eq!((code, err.lines().last()), (0, Some("1 assertion holds")), "{err}");
    // A case has its own list.
    let case = SCENARIO.replace(
        "[sweep]\nlink.rate = [\"10mbit\", \"20mbit\"]",
        "[[sweep.case]]\nassert = []\n[[sweep.case]]\nlabel = \"checked\"",
    );
    fs::write(folder.path().join("s.toml"), case).unwrap();
    let (code, _, err) = run(folder.path(), &[]);
    assert_eq!((code, err.lines().last()), (0, Some("2 assertions hold in 1 of 2 runs")), "{err}");
    // Nothing is printed without assertions.
    let (code, _, err) = run(folder.path(), &["--set", "assert=[]"]);
    assert!(code == 0 && !err.contains("assertion"), "{err}");
}

#[test]
fn those_that_fail_are_code_1_with_run_expected_and_found() {
    let folder = folder();
    let args =
        ["--assert", "link.rate_bps / 1e6 < 15", "--assert", "groups.silent.delay_ms.p99 < 3"];
    let (code, _, err) = run(folder.path(), &args);
    let (_, verdict) = err.split_once("error: ").unwrap();
    assert_eq!(
        (code, verdict),
        (
            1,
            "2 of 4 assertions failed\n  \
               link.rate_bps / 1e6 < 15\n    \
                 run 2 (link.rate=20mbit, seed 1): expected < 15, found 20 (link.rate_bps 20000000)\n  \
               groups.silent.delay_ms.p99 < 3\n    \
                 run 1 (link.rate=10mbit, seed 1): expected < 3, found no value of \
                 `groups.silent.delay_ms.p99` (Queueing delay of its packets of 200 B or more, of all where it sends up; absent without \
                 any)\n    \
                 run 2 (link.rate=20mbit, seed 1): expected < 3, found no value of \
                 `groups.silent.delay_ms.p99` (Queueing delay of its packets of 200 B or more, of all where it sends up; absent without \
                 any)\n"
        )
    );
    // A single run needs no name; the reason from the file is printed.
    let own = "assert=[{ that = \"seed > 1\", why = \"a reason\" }]";
    let (code, _, err) = run(folder.path(), &["--set", "link.rate=10mbit", "--set", own]);
    assert_eq!(code, 1);
    let said =
        "error: 1 of 1 assertions failed\n  seed > 1 (a reason)\n    expected > 1, found 1\n";
    assert!(err.ends_with(said), "{err}");
}

#[test]
fn of_many_runs_that_fail_ten_are_printed() {
    let folder = folder();
    let args = ["--set", "link.rate=10mbit", "--set", "duration=10ms", "--set", "assert=[]"];
    let (code, _, err) =
        run(folder.path(), &[&args[..], &["--seeds", "12", "--assert", "seed < 1"]].concat());
    assert_eq!((code, err.matches("expected < 1, found ").count()), (1, 10), "{err}");
    assert!(err.ends_with("    and in 2 more runs\n"), "{err}");
}

/// Standard output has the results, for any outcome of the assertions.
#[test]
fn json_is_complete_when_they_fail() {
    let folder = folder();
    let (code, out, err) = run(folder.path(), &["--json", "--assert", "engine.wall_s < 0"]);
    assert_eq!((code, out.lines().count()), (1, 2), "{err}");
    for (run, line) in out.lines().enumerate() {
        let summary: Value = serde_json::from_str(line).unwrap();
        assert_eq!(summary["link"]["rate_bps"], json!([10e6, 20e6][run]));
        let wall = &summary["engine"]["wall_s"];
        assert!(err.contains(&format!("expected < 0, found {wall}\n")), "{wall}: {err}");
    }
}

#[test]
fn results_are_written_before_they_fail_and_can_be_judged_again_without_a_run() {
    let folder = folder();
    let out = |more: &[&str]| run(folder.path(), &[&["--out", "out"], more].concat());
    let (code, _, err) = out(&["--assert", "link.rate_bps == 10e6"]);
    assert_eq!(code, 1, "{err}");
    for file in ["runs.parquet", "series.parquet", "report.html", "scenario.toml", "l4s.json"] {
        assert!(folder.path().join("out").join(file).is_file(), "{file}");
    }
    let all = kept(folder.path());
    let judged =
        |number: usize| (&all[number]["that"], &all[number]["runs"], &all[number]["failed"]);
    assert_eq!(
        judged(0),
        (&json!("queues.L.delay_ms.p99 < queues.C.delay_ms.mean"), &json!(2), &json!([]))
    );
    assert_eq!(all[0]["why"], "L4S is for low latency");
    let failed = json!([{ "run": 1, "expected": "== 10000000", "found": "20000000" }]);
    assert_eq!(judged(2), (&json!("link.rate_bps == 10e6"), &json!(2), &failed));
    // Other assertions about the same runs: they are not run again.
    let (code, _, err) = out(&["--resume", "--assert", "link.rate_bps >= 10e6"]);
    assert!(code == 0 && err.contains("every run was done before"), "{err}");
    assert_eq!(kept(folder.path())[2]["failed"], json!([]));
    let (code, _, err) = out(&["--resume", "--assert", "link.rate_bps < 10e6"]);
    assert!(code == 1 && err.contains("every run was done before"), "{err}");
    assert_eq!(kept(folder.path())[2]["failed"][0]["found"], "10000000");
}

#[test]
fn bad_input_is_code_2_before_anything_runs() {
    let folder = folder();
    for (assertion, place, message, help) in [
        ("queue.L.mark < 1", "1:1", "there is no `queue` in the summary", "did you mean `queues`?"),
        ("queues.M.mark < 1", "1:8", "there is no `M` in `queues`, expected `L` or `C`", ""),
        ("groups.A.dely_ms.p99 < 1", "1:10", "there is no `dely_ms`", "did you mean `delay_ms`?"),
        ("groups.silnt.packets == 0", "1:8", "there is no `silnt`", "did you mean `silent`?"),
        ("queues.L.delay_ms.p99 < 2ms", "1:25", "`2ms` is not a number", ""),
        ("queues.L.mark", "1:14", "expected a comparison", ""),
    ] {
        let (code, out, err) = run(folder.path(), &["--out", "out", "--assert", assertion]);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.starts_with(&format!("error: --assert:{place}: {message}")), "{err}");
        assert!(err.contains(&format!("1 | {assertion}\n")) && err.contains(help), "{err}");
        assert!(!folder.path().join("out").exists(), "{assertion}");
    }
    let wrong = SCENARIO.replace("queues.L.delay_ms.p99", "queues.L.delay_ms.p98");
    fs::write(folder.path().join("s.toml"), wrong).unwrap();
    let (code, _, err) = run(folder.path(), &["--out", "out"]);
    assert_eq!(code, 2);
    let said =
        "error: s.toml:16:27: `assert.that`: there is no `p98` in `queues.L.delay_ms`, expected";
    assert!(err.starts_with(said) && err.contains("did you mean `p99`?"), "{err}");
    // Another discipline has another queue.
    fs::write(folder.path().join("s.toml"), SCENARIO).unwrap();
    let (code, _, err) = run(folder.path(), &["--set", "aqm=pie"]);
    assert!(code == 2 && err.contains("there is no `L` in `queues`, expected `Q`"), "{err}");
}
