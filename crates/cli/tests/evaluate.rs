//! `l4s evaluate` from the user's view.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn l4s(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_l4s"));
    command.current_dir(folder).args(args).output().expect("l4s starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("l4s prints text")
}

#[test]
fn it_lists_its_criteria_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let list = l4s(folder.path(), &["evaluate", "--list"]);
    assert!(list.status.success());
    let list = text(&list.stdout);
    assert!(list.starts_with("chapter "), "{list}");
    let row = list.lines().find(|line| line.contains(" bufferbloat ")).unwrap();
    assert!(row.starts_with("alone "), "{row}");
    assert!(row.contains("RFC 9743 §5.1.2") && row.contains("at most 1 RTT"), "{row}");
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
}

#[test]
fn an_unknown_control_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    for (control, help) in [
        (
            "nope",
            "error: there is no congestion control `nope`, expected one of reno, cubic, dctcp",
        ),
        ("cubik", "did you mean `cubic`?"),
        ("prague:bets", "did you mean `best`?"),
        ("{ kind = \"cubic\", abee = true }", "did you mean `abe`?"),
        ("cubik+classic", "did you mean `cubic`?"),
        ("cubic+clasic", "did you mean \"classic\"?"),
        ("prague:best+off", "prague cannot do without ECN"),
    ] {
        let output = l4s(folder.path(), &["evaluate", "reno", control]);
        assert_eq!(output.status.code(), Some(2), "{control}");
        let message = text(&output.stderr);
        assert!(message.contains(help), "{control}: {message}");
    }
    assert_eq!(l4s(folder.path(), &["evaluate"]).status.code(), Some(2));
    let wrong = l4s(folder.path(), &["evaluate-aqm", "pie", "--only", "burst"]);
    assert_eq!(wrong.status.code(), Some(2));
    let message = text(&wrong.stderr);
    assert!(message.contains("expected one of senders, unresponsive, rtts"), "{message}");
    assert!(message.contains("did you mean `bursts`?"), "{message}");
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
}

/// An evaluation finds the faults that RFC 9743 §5.1.3 names of BBR's first version, and what it did is not done again.
#[test]
fn a_verdict_has_its_worst_run_which_can_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let evaluate = || l4s(folder.path(), &["evaluate", "bbr", "--quick", "--json"]);
    let first = evaluate();
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    let json: Value = serde_json::from_slice(&first.stdout).unwrap();
    let control = &json["evaluated"][0];
    let verdict = |id: &str| {
        let verdicts = control["verdicts"].as_array().unwrap();
        verdicts.iter().find(|verdict| verdict["id"] == id).unwrap().clone()
    };
    let loss = verdict("loss-of-many");
    assert_eq!(loss["outcome"], "fail");
    assert_eq!(verdict("bufferbloat")["outcome"], "pass");
    assert_eq!(verdict("ect1")["outcome"], "not-applicable");

    let again = evaluate();
    assert_eq!(again.stdout, first.stdout);
    assert!(text(&again.stderr).contains("every run was done before"), "{}", text(&again.stderr));

    // The value is the mean of three seeds; the command is of the first.
    let command = loss["worst"]["command"].as_str().unwrap();
    let mut seeds = Vec::new();
    for seed in 1..=3 {
        let command = command.replace("--seed 1", &format!("--seed {seed} --json"));
        let words = command.replacen("l4s ", &format!("{} ", env!("CARGO_BIN_EXE_l4s")), 1);
        let run = Command::new("sh").args(["-c", &words]).output().unwrap();
        let summary: Value = serde_json::from_slice(&run.stdout).expect(&command);
        seeds.push(100.0 * summary["groups"][0]["drop"].as_f64().unwrap());
    }
    let mean = seeds.iter().sum::<f64>() / 3.0;
    assert!((mean - loss["worst"]["value"].as_f64().unwrap()).abs() < 1e-9, "{seeds:?}");

    let root = folder.path().join("out/evaluate-quick");
    let page = fs::read_to_string(root.join("index.html")).unwrap();
    assert!(page.contains("<details id=\"loss-of-many\">") && page.contains("l4s run evaluate-"));
    assert!(root.join("bbr/evaluate-itself/report.html").is_file());
    let table = fs::read_to_string(root.join("evaluation.md")).unwrap();
    assert!(table.contains("| loss-of-many | RFC 9743 §5.1.3 | at most 2 % | **"), "{table}");

    let anew = ["evaluate", "bbr", "--quick", "--json", "--only", "overload", "--replace"];
    let anew = l4s(folder.path(), &anew);
    let words = text(&anew.stderr);
    assert!(anew.status.success() && words.contains("s of virtual time in"), "{words}");

    // Every page of an evaluation says which chapters it is about, where these are not all.
    let part = "Chapters that were judged: overload. Not run: alone, itself, others, short, app, queues, \
                paths, links, changes, l4s.";
    for (file, has) in
        [("index.html", part), ("evaluation.md", part), ("evaluation.json", "\"not_run\": [\n")]
    {
        let written = fs::read_to_string(root.join(file)).unwrap();
        assert!(written.contains(has), "{written}");
    }
    assert!(
        !page.contains("Not run:") && !table.contains("Not run:") && json["not_run"] == json!([])
    );
}

#[test]
fn a_discipline_is_evaluated_with_the_same_command() {
    let folder = tempfile::tempdir().unwrap();
    let output = l4s(folder.path(), &["evaluate-aqm", "fifo", "--quick"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    let verdict = |id: &str| {
        let row = said.lines().find(|line| line.contains(&format!(" {id} "))).expect(id);
        row.split("  ").next().unwrap()
    };
    // A FIFO fills, and has no L queue.
    assert_eq!(verdict("overload-delay"), "fail");
    assert_eq!(verdict("utilization"), "pass");
    assert_eq!(verdict("l-delay"), "not applicable");
    assert!(folder.path().join("out/evaluate-aqm-quick/index.html").is_file());

    let wrong = l4s(folder.path(), &["evaluate-aqm", "dualpi2:linus"]);
    assert_eq!(wrong.status.code(), Some(2));
    let message = text(&wrong.stderr);
    assert!(
        message.contains("there is no profile of dualpi2 `linus`, expected one of "),
        "{message}"
    );
    assert!(message.contains("did you mean `linux`?"), "{message}");
}
