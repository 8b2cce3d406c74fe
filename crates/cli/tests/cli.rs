//! The command line from the user's view: its output, its exit codes, and the files that it leaves.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// Runs `l4s` in a folder.
fn l4s(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_l4s"));
    command.current_dir(folder).args(args).output().expect("l4s starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("l4s prints text")
}

/// The exit code and stderr of a refused command, which prints nothing to stdout.
fn refused(folder: &Path, args: &[&str]) -> (i32, String) {
    let output = l4s(folder, args);
    assert_eq!(text(&output.stdout), "", "{args:?}");
    (output.status.code().expect("an exit code"), text(&output.stderr).to_owned())
}

/// Stdout of a successful command.
fn done(folder: &Path, args: &[&str]) -> String {
    let output = l4s(folder, args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder for the test")
}

/// All files in a folder, with their bytes.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder").flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path => {
                    let name = path.strip_prefix(folder).expect("inside").display().to_string();
                    all.push((name, fs::read(&path).expect("a file")));
                }
            }
        }
    }
    all.sort();
    all
}

/// Two short runs.
const SHORT: &str = r#"
name     = "short"
duration = "1s"
[link]
rate = "4mbit"
[[group]]
name = "A"
cc   = "cubic"
rtt  = "10ms"
[sweep]
"link.rate" = ["4mbit", "8mbit"]
"#;

#[test]
fn a_fault_shows_file_line_column_cause_and_cure() {
    let folder = folder();
    fs::write(folder.path().join("s.toml"), SHORT.replace("rtt ", "rt ")).unwrap();
    let (code, message) = refused(folder.path(), &["run", "s.toml", "--out", "out"]);
    assert_eq!(code, 2);
    assert_eq!(
        message,
        "error: s.toml:9:1: `group.rt`: unknown key, expected `name`, `direction`, `endpoint`, \
         `ack_eliciting_threshold`, `ecn`, `peer`, `accecn`, `flows`, `rtt`, `start`, `size`, `mss`, `initial_window`, `rcvbuf`, `sndbuf` or `cc`\n  |\n9 | rt  = \"10ms\"\n  | ^^\n  = help: did you mean `rtt`?\n"
    );
    assert_eq!(contents(folder.path()).len(), 1, "nothing is written");
}

#[test]
fn a_fault_in_set_shows_its_own_text() {
    let folder = folder();
    let args = ["run", "one-against-one", "--set", "link.rate=40mbits", "--out", "out"];
    let (code, message) = refused(folder.path(), &args);
    assert_eq!(code, 2);
    assert_eq!(
        message,
        "error: --set:1:11: `link.rate`: found \"40mbits\", expected a rate: a number with bit, \
         kbit, mbit or gbit, such as \"40mbit\", from 1kbit to 1000gbit\n  |\n\
         1 | link.rate=40mbits\n  |           ^^^^^^^\n  = help: did you mean \"40mbit\"?\n"
    );
    assert_eq!(contents(folder.path()), []);
}

/// DualPI2 of Linux has no ramp. That is checked before a kernel is looked for.
#[cfg(target_os = "linux")]
#[test]
fn a_scenario_that_a_substrate_cannot_run_is_refused_at_its_setting() {
    let folder = folder();
    let ramp = SHORT.replace("[link]", "[aqm]\nkind = \"dualpi2\"\nprofile = \"rfc9332\"\n[link]");
    fs::write(folder.path().join("s.toml"), &ramp).unwrap();
    let run = |args: &[&str]| {
        refused(folder.path(), &[&["run", "s.toml", "--on", "linux"], args].concat())
    };
    let message = "`aqm.l_aqm`: the dualpi2 of Linux has no ramp, expected `step`, as in the profiles \
                   `dctth`, `linux2019`, `linux`; `--on kernel` has ours\n";
    let (code, said) = run(&[]);
    assert_eq!(code, 2);
    assert_eq!(
        said,
        format!(
            "error: s.toml:6:11: {message}  |\n6 | profile = \"rfc9332\"\n  |           ^^^^^^^^^\n"
        )
    );
    // The nearest setting is shown, and one of the command line instead of that of the file.
    let nearer = ramp.replace("profile = \"rfc9332\"", "l_aqm = \"ramp\"");
    fs::write(folder.path().join("s.toml"), nearer).unwrap();
    assert!(run(&[]).1.starts_with("error: s.toml:6:9: `aqm.l_aqm`: "), "{}", run(&[]).1);
    fs::write(folder.path().join("s.toml"), SHORT).unwrap();
    let (_, said) = run(&["--set", "aqm={ kind = \"dualpi2\", profile = \"best\" }"]);
    let value = "{ kind = \"dualpi2\", profile = \"best\" }";
    assert_eq!(said, format!("error: s.toml: with aqm = {value}: {message}"));
    // What has no place has the name of the file at least.
    let (_, said) = run(&["--set", "link.aggregation=2ms"]);
    assert!(
        said.starts_with("error: s.toml: --on linux: the shaper of Linux sends packets"),
        "{said}"
    );
    let (_, said) =
        refused(folder.path(), &["run", "web", "--on", "linux", "--set", "kernel.gso=true"]);
    assert!(said.starts_with("error: web.toml: "), "{said}");
    assert_eq!(contents(folder.path()).len(), 1, "nothing is written");
}

#[cfg(unix)]
#[test]
fn a_cluster_needs_a_folder_the_simulator_and_python() {
    let folder = folder();
    fs::write(folder.path().join("s.toml"), SHORT).unwrap();
    let run = |args: &[&str]| {
        let all = ["run", "s.toml", "--cluster", "tcp://127.0.0.1:1"];
        refused(folder.path(), &[&all[..], args].concat())
    };
    let (code, said) = run(&[]);
    assert_eq!(code, 2);
    assert!(said.contains("--out <DIR>"), "{said}");
    let (code, said) = run(&["--out", "o", "--on", "kernel"]);
    assert_eq!(code, 2);
    assert!(said.starts_with("error: --cluster: found --on kernel, expected --on sim"), "{said}");
    let (code, said) = run(&["--out", "o", "--replace"]);
    assert_eq!(code, 2);
    assert!(said.contains("'--replace'"), "{said}");
    // The scenario is checked before anybody is asked.
    let (code, said) = run(&["--out", "o", "--set", "link.rat=4mbit"]);
    assert_eq!(code, 2);
    assert!(said.contains("did you mean"), "{said}");

    let without = |path: &str| {
        Command::new(env!("CARGO_BIN_EXE_l4s"))
            .args(["run", "s.toml", "--cluster", "tcp://127.0.0.1:1", "--out", "o"])
            .current_dir(folder.path())
            .env("PATH", path)
            .output()
            .unwrap()
    };
    let done = without("/nowhere");
    assert_eq!(done.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&done.stderr).contains("python3 cannot be started"));
    assert_eq!(contents(folder.path()).len(), 1, "nothing is written");
}

#[test]
fn a_file_that_cannot_be_read() {
    let folder = folder();
    let (code, message) = refused(folder.path(), &["run", "one-against-on"]);
    assert_eq!(code, 2);
    assert_eq!(
        message,
        "error: one-against-on: cannot read this scenario: No such file or directory (os error 2)\n  \
         help: did you mean the bundled scenario `one-against-one`?\n"
    );
    fs::write(folder.path().join("b.toml"), b"name = \"x\"\nq = \"\xff\"\n").unwrap();
    let (code, message) = refused(folder.path(), &["show", "b.toml"]);
    assert_eq!((code, message.as_str()), (2, "error: b.toml:2:6: not a text: expected UTF-8\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_that_gets_no_memory_is_refused_and_does_not_abort() {
    let folder = folder();
    let hops = |n: usize| {
        let aqm = "{ kind = \"fq_codel\", flows = 65536 }";
        format!("[[hop]]\nname = \"H{n}\"\nrate = \"1gbit\"\nper = \"flow\"\naqm = {aqm}\n")
    };
    let text = SHORT.to_owned().replace("[sweep]\n\"link.rate\" = [\"4mbit\", \"8mbit\"]\n", "");
    fs::write(folder.path().join("s.toml"), text + &(0..30).map(hops).collect::<String>()).unwrap();
    let run = |kib: u64| {
        let script = format!("ulimit -v {kib} && exec \"$0\" run s.toml");
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_l4s")]).current_dir(folder.path());
        command.output().unwrap()
    };
    let output = run(150_000);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let said = text_of(&output);
    assert!(said.contains("not enough memory: a run needs "), "{said}");
    // The estimate is not below the memory that the run needs.
    assert_eq!(run(1_000_000).status.code(), Some(0));
}

/// The rows of a run of 20 groups of 10 s: 100 samples of the link, 20 groups and two queues.
#[cfg(target_os = "linux")]
#[test]
fn the_rows_of_the_time_series_are_counted_before_the_run() {
    let folder = folder();
    let groups = |n: usize, duration: &str| {
        let group =
            |n| format!("[[group]]\nname = \"A{n}\"\ncc = \"cubic\"\nflows = 4\nrtt = \"10ms\"\n");
        let head = format!("duration = \"{duration}\"\nlink.rate = \"10mbit\"\n");
        head + &(0..n).map(group).collect::<String>()
    };
    let few = groups(20, "10s");
    fs::write(folder.path().join("few.toml"), &few).unwrap();
    done(folder.path(), &["run", "few.toml", "--out", "out"]);
    let results = l4s_measure::Results::open(&folder.path().join("out")).unwrap();
    let mut rows = 0;
    results.each(|_| true, 0, |_, _: l4s_measure::SeriesName| rows += 1).unwrap();
    let plan = l4s_scenario::Plan::parse("few", &few, &[]).unwrap();
    let counted = l4s_measure::series_rows(&plan.points[0].scenario, None);
    assert!(rows <= counted && counted < rows * 3 / 2, "{rows} of {counted}");

    // A million rows are 700 MB.
    fs::write(folder.path().join("many.toml"), groups(1000, "100s")).unwrap();
    let script = "ulimit -v 600000 && exec \"$0\" run many.toml --out many";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_l4s")]).current_dir(folder.path());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let said = text_of(&output);
    assert!(said.contains("rows of the time series × 700 B = 70"), "{said}");
    assert!(!folder.path().join("many").exists());
}

#[test]
fn a_folder_that_holds_something_else_is_left_alone() {
    let folder = folder();
    fs::create_dir(folder.path().join("mine")).unwrap();
    fs::write(folder.path().join("mine/thesis.tex"), "years of work").unwrap();
    let before = contents(folder.path());
    for more in [&[][..], &["--resume"]] {
        let args = [&["run", "one-against-one", "--out", "mine"], more].concat();
        let (code, message) = refused(folder.path(), &args);
        assert_eq!(code, 2);
        assert_eq!(
            message,
            "error: mine already holds something else, such as thesis.tex\n  \
             help: choose a new folder; nothing was changed\n"
        );
    }
    assert_eq!(contents(folder.path()), before);
}

#[test]
fn other_bad_input() {
    let folder = folder();
    let refused = |args: &[&str]| refused(folder.path(), args);
    let aqm = refused(&["aqm", "dualpi"]);
    assert_eq!(aqm.0, 2);
    assert!(aqm.1.starts_with("error: there is no queue discipline `dualpi`, expected"), "{aqm:?}");
    assert!(aqm.1.ends_with("help: did you mean `dualpi2`?\n"), "{aqm:?}");
    assert_eq!(refused(&["aqm", "dualpi2", "lunix"]).0, 2);
    assert_eq!(refused(&["cc", "qubic"]).0, 2);
    let profile = refused(&["cc", "prague", "bets"]);
    assert!(profile.1.ends_with("help: did you mean `best`?\n"), "{profile:?}");
    assert_eq!(refused(&["run"]).0, 2);
    assert_eq!(refused(&["run", "one-against-one", "--on", "mars"]).0, 2);
    assert_eq!(refused(&["run", "one-against-one", "--jobs", "0"]).0, 2);
    for (option, found, expected) in [
        ("--seeds", "five", "from 1 on"),
        ("--seeds", "0", "from 1 on"),
        ("--seed", "-1", "from 0 to 9223372036854775807"),
        ("--jobs", "2.5", "from 1 to 1024"),
    ] {
        let (code, said) = refused(&["run", "one-against-one", &format!("{option}={found}")]);
        assert_eq!(code, 2);
        assert!(
            said.starts_with(&format!("error: invalid value '{found}' for '{option} <N>': ")),
            "{said}"
        );
        assert!(said.contains(&format!("expected a whole number {expected}\n")), "{said}");
    }
    assert_eq!(refused(&["run", "one-against-one", "--seeds", "99999999999"]).0, 2);
    assert_eq!(refused(&["run", "one-against-one", "--resume"]).0, 2);
    assert_eq!(refused(&["compare", "here", "there"]).0, 2);
    assert_eq!(refused(&["report", "nowhere"]).0, 2);
    assert_eq!(contents(folder.path()), []);
}

/// Contains every way to control a terminal: title, colour, C1, carriage return, writing direction.
const HOSTILE: &str = "\u{1b}]0;x\u{7}\u{1b}[31m\u{9b}2J\u{7f}\u{202e}\r";

/// The whole output of a command, on stdout and stderr, which must not control a terminal.
fn harmless(folder: &Path, args: &[&str]) -> String {
    let output = l4s(folder, args);
    let all = format!("{}{}", text(&output.stdout), text(&output.stderr));
    let steers = |c: char| l4s_units::steers(c) && !matches!(c, '\n' | '\t');
    assert!(!all.contains(steers), "{args:?}: {all:?}");
    all
}

#[test]
fn names_of_others_do_not_steer_the_terminal() {
    let folder = folder();
    let path = folder.path();
    let dir = format!("dir{HOSTILE}");
    let set = format!("{HOSTILE}={HOSTILE}");
    for args in [
        &["run", &dir][..],
        &["show", "one-against-one", "--set", &set],
        &["run", "one-against-one", "--on", HOSTILE],
        &[HOSTILE],
        &["aqm", HOSTILE],
        &["aqm", "dualpi2", HOSTILE],
        &["cc", HOSTILE],
        &["paper", HOSTILE],
        &["validate", HOSTILE],
        &["report", &dir],
        &["compare", &dir, HOSTILE],
    ] {
        assert!(!harmless(path, args).is_empty(), "{args:?}");
    }
    // Text that may change the writing direction is a name, and is printed.
    let named = SHORT.replace("\"A\"", "\"A\\u202E\"");
    fs::write(path.join("named.toml"), &named).unwrap();
    let shown = harmless(path, &["show", "named.toml"]);
    fs::write(path.join("again.toml"), &shown).unwrap();
    assert!(harmless(path, &["run", "named.toml"]).contains("A\\u202E Mb/s"));
    let json = harmless(path, &["run", "again.toml", "--json"]);
    let json = json.lines().next().unwrap_or_default().to_owned();
    let summary: l4s_measure::Summary = serde_json::from_str(json.trim()).unwrap();
    assert_eq!(summary.groups[0].name, "A\u{202e}");
    // Another user's folder, with a file that does not belong there.
    fs::create_dir(path.join("theirs")).unwrap();
    fs::write(path.join("theirs").join(format!("{HOSTILE}\nx")), "").unwrap();
    let said = harmless(path, &["run", "named.toml", "--out", "theirs"]);
    assert_eq!(said.lines().count(), 2, "{said}");
    // Another user's tables.
    for (name, rate) in [("one", 1e6), ("other", 3e6)] {
        let mut summary = summary.clone();
        let hostile = format!("{HOSTILE}\nfine");
        summary.scenario.clone_from(&hostile);
        summary.set.insert(hostile.clone(), hostile.clone().into());
        summary.groups[0].name.clone_from(&hostile);
        summary.groups[0].rate_bps = rate;
        summary.queues[0].name.clone_from(&hostile);
        summary.engine.instead.push(hostile.clone());
        let record = l4s_measure::RunRecord {
            summary,
            command: hostile,
            series: Vec::new(),
            delays: Vec::new(),
            flows: Vec::new(),
        };
        let folder = path.join(name);
        fs::create_dir(&folder).unwrap();
        let mut writer = l4s_measure::ResultWriter::create(&folder).unwrap();
        writer.add(&record).unwrap();
        writer.finish().unwrap();
    }
    let compared = harmless(path, &["compare", "one", "other"]);
    assert!(compared.contains("\\u001B[31m") && !compared.contains("\nfine"), "{compared}");
    harmless(path, &["report", "one", "--out", "page"]);
}

#[test]
fn seeds_that_make_no_difference_are_said_to_make_none() {
    let folder = folder();
    let notes = |text: &str, args: &[&str]| {
        fs::write(folder.path().join("s.toml"), text).unwrap();
        let output = l4s(folder.path(), &[&["run", "s.toml"], args].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text_of(&output));
        text_of(&output)
    };
    let fifo = SHORT.replace("[link]", "aqm = \"fifo\"\nhost_jitter = false\n[link]");
    let all = "note: nothing in this is random: every seed gives the same result\n";
    assert!(notes(&fifo, &["--seeds", "3"]).contains(all));
    assert!(notes(&fifo, &["--seeds", "3", "--json"]).contains(all));
    // There is no note for a single seed, nor for a scenario with random parts.
    assert!(!notes(&fifo, &[]).contains("random"));
    let loss = fifo.replace("[link]", "[link]\nack_loss = 0.3");
    assert!(!notes(&loss, &["--seeds", "2"]).contains("random"));
    let cases = format!("{fifo}\n\"link.ack_loss\" = [0.0, 0.3]");
    let some = "note: in 2 of 4 conditions nothing is random: every seed gives the same result\n";
    assert!(notes(&cases, &["--seeds", "2"]).contains(some));
}

fn text_of(output: &Output) -> String {
    text(&output.stderr).to_owned()
}

#[test]
fn what_ends_within_the_warm_up_is_named_with_its_end() {
    let folder = folder();
    let scenario = "duration = \"4s\"\nwarmup = \"3s\"\nlink.rate = \"40mbit\"\n\
        [[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"10ms\"\nsize = \"10kb\"\nflows = 2\n\
        start = [\"0s\", \"3500ms\"]\n\
        [[udp]]\nname = \"U\"\nrate = \"1mbit\"\nstop = \"2s\"\n";
    let stderr = |text: &str| {
        fs::write(folder.path().join("s.toml"), text).unwrap();
        text_of(&l4s(folder.path(), &["run", "s.toml"]))
    };
    let said = stderr(scenario);
    let note = said.lines().find(|line| line.starts_with("note: group")).unwrap_or(&said);
    // Handshake and 10 kB take some 20 ms.
    assert!(note.starts_with("note: group `A`: 1 of 2 flows had ended by 2"), "{note}");
    assert!(
        note.ends_with(
            "ms; UDP source `U` stopped at 2s: before the end of the warm-up at 3s, so nothing of \
             it is counted"
        ),
        "{note}"
    );
    assert!(!stderr(&scenario.replace("3s\"\nlink", "0s\"\nlink")).contains("warm-up"));
}

/// The simulator has a send buffer for flows. For applications it prints that it has none.
#[test]
fn what_the_simulator_leaves_out_is_said_before_the_run() {
    let folder = folder();
    let group = "duration = \"1s\"\nlink.rate = \"10mbit\"\naqm = \"fifo\"\n[[group]]\nname = \"A\"\n\
                 cc = \"cubic\"\nrtt = \"20ms\"\nsndbuf = \"64kb\"\n";
    let app = "flows = 0\n[[app]]\ngroup = \"A\"\nrate = \"1mbit\"\nfps = 50\n";
    let note = "note: `sndbuf` of group `A` does not limit its `[[app]]` in the simulator\n";
    for (more, said) in [("", false), (app, true)] {
        fs::write(folder.path().join("s.toml"), format!("{group}{more}")).unwrap();
        let ran = l4s(folder.path(), &["run", "s.toml"]);
        assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
        assert_eq!(text(&ran.stderr).contains(note), said, "{}", text(&ran.stderr));
    }
}

#[test]
fn a_virtual_machine_is_for_its_kernel() {
    let folder = folder();
    let (code, message) = refused(folder.path(), &["run", "one-against-one", "--vm"]);
    assert_eq!(code, 2);
    assert!(message.starts_with("error: --vm: found --on sim, expected --on qdisc"));
}

#[test]
fn what_there_is_can_be_listed() {
    let folder = folder();
    let list = done(folder.path(), &["list"]);
    for name in ["one-against-one", "dctth-4", "dctth-5", "dctth-6", "linux-7.3-grid"] {
        assert!(list.contains(name), "{name} is in\n{list}");
    }
    let aqm = done(folder.path(), &["aqm", "dualpi2", "linux"]);
    // Linux truncates 41/256 Hz to 0.160071 Hz and shows 40/256 Hz.
    assert!(aqm.contains("0.16015625 Hz  0.160071 Hz"), "{aqm}");
    assert!(done(folder.path(), &["cc"]).contains("dctcp"));
    let best = done(folder.path(), &["cc", "prague", "best"]);
    let detector = best.lines().find(|line| line.starts_with("detector")).unwrap();
    assert_eq!(detector.split_whitespace().nth(1), Some("best"), "{best}");
    assert!(done(folder.path(), &["doctor"]).starts_with("simulate (--on sim)       yes"));
    assert!(done(folder.path(), &["completions", "bash"]).contains("_l4s"));
    done(folder.path(), &["man", "pages"]);
    for (page, text) in [
        ("l4s.1", "DualPI2, TCP Prague"),
        ("l4s-run.1", "KEY=VALUE"),
        ("l4s-trace-make.1", "starlink"),
        ("l4s-vm.1", "make vm"),
    ] {
        let page = std::fs::read_to_string(folder.path().join("pages").join(page)).unwrap();
        assert!(page.contains(text), "{page}");
    }
}

#[test]
fn what_is_shown_can_be_run() {
    let folder = folder();
    let shown = done(folder.path(), &["show", "one-against-one", "--set", "duration=1s"]);
    assert!(shown.starts_with("# one-against-one is a sweep of 3 runs."), "{shown}");
    fs::write(folder.path().join("mine.toml"), shown).unwrap();
    let summary = done(folder.path(), &["run", "mine.toml", "--json"]);
    assert_eq!(summary.lines().count(), 1);
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["scenario"], "one-against-one");
    assert_eq!(summary["queues"][0]["name"], "L");
}

#[test]
fn a_row_names_the_command_that_repeats_it() {
    let folder = folder();
    fs::write(folder.path().join("s.toml"), SHORT).unwrap();
    let output = l4s(folder.path(), &["run", "s.toml", "--json", "--seeds", "2", "--jobs", "2"]);
    let lines: Vec<serde_json::Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let set: Vec<_> =
        lines.iter().map(|l| (l["set"]["link.rate"].clone(), l["seed"].clone())).collect();
    let of = |rate: &str, seed: u64| (rate.into(), seed.into());
    assert_eq!(set, [of("4mbit", 1), of("4mbit", 2), of("8mbit", 1), of("8mbit", 2)]);
    let command = "l4s run s.toml --set link.rate=8mbit --seed 2";
    assert!(text(&output.stderr).contains(command), "{}", text(&output.stderr));
    let args: Vec<&str> = command.split(' ').skip(1).chain(["--json"]).collect();
    let mut again: serde_json::Value = serde_json::from_str(&done(folder.path(), &args)).unwrap();
    again["engine"]["wall_s"] = lines[3]["engine"]["wall_s"].clone();
    assert_eq!(again, lines[3]);
}

#[test]
fn a_large_run_has_the_same_bytes_on_one_core_and_on_two() {
    let folder = folder();
    let [one, two] = ["1", "2"].map(|jobs| {
        let place = folder.path().join(jobs);
        fs::create_dir(&place).unwrap();
        let set = ["case=codel", "group.B.flows=30", "duration=300ms", "warmup=100ms"];
        let set = set.iter().flat_map(|set| ["--set", set]);
        done(
            &place,
            &["run", "core", "--out", "r", "--jobs", jobs]
                .into_iter()
                .chain(set)
                .collect::<Vec<_>>(),
        );
        contents(&place.join("r"))
    });
    assert!(one.iter().any(|(name, _)| name == "series.parquet"));
    assert_eq!(one, two);
}

/// A setting with one value on each side is the difference of the sides, and not of their conditions.
#[test]
fn the_effect_of_a_setting_is_compared() {
    let folder = folder();
    fs::write(folder.path().join("s.toml"), SHORT).unwrap();
    let run = |set: &[&str], out| {
        done(folder.path(), &[&["run", "s.toml", "--out", out][..], set].concat());
    };
    run(&[], "near");
    run(&["--set", "group.A.rtt=20ms"], "far");
    run(&["--set", "group.A.rtt=40ms"], "farther");
    for (before, head) in [("far", "group.A.rtt=20ms"), ("near", "before")] {
        let compared = done(folder.path(), &["compare", before, "farther"]);
        let words: Vec<&str> = compared.split_whitespace().collect();
        assert_eq!(words[..5], ["run", "what", head, "group.A.rtt=40ms", "change"], "{compared}");
        assert!(compared.contains("\nlink.rate=8mbit  utilization"), "{compared}");
        assert!(compared.contains(" in 2 conditions differ"), "{compared}");
        // The same for programs: every measurement, with its values.
        let lines = done(folder.path(), &["compare", before, "farther", "--json"]);
        let all: Vec<serde_json::Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let differ = all.iter().filter(|one| one["differs"] == true).count();
        assert!(compared.contains(&format!("\n{differ} of {} measurements", all.len())), "{lines}");
        let [first, ..] = &all[..] else { panic!("{lines}") };
        assert_eq!(
            (&first["run"], &first["what"]),
            (&"link.rate=4mbit".into(), &"utilization".into())
        );
        for side in ["before", "after"] {
            assert!(first[side].as_array().is_some_and(|runs| runs.len() == 1), "{first}");
        }
    }
}

#[test]
fn an_interrupted_sweep_ends_with_the_bytes_of_an_uninterrupted_one() {
    let folder = folder();
    fs::write(folder.path().join("s.toml"), SHORT).unwrap();
    // The folder's name is in the report, so both have the same one.
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    for place in [&one, &two] {
        fs::create_dir(place).unwrap();
        fs::write(place.join("s.toml"), SHORT).unwrap();
    }
    done(&one, &["run", "s.toml", "--out", "r", "--jobs", "2", "--trace", "pcapng"]);
    let whole = contents(&one.join("r"));
    let names: Vec<&str> = whole.iter().map(|(name, _)| name.as_str()).collect();
    for name in ["runs.parquet", "series.parquet", "report.html", "scenario.toml", "l4s.json"] {
        assert!(names.contains(&name), "{name} is in {names:?}");
    }
    assert!(!names.iter().any(|name| name.starts_with("runs/") || name.contains(".part")));

    // The state that a process leaves if it is killed in its second run.
    let rest = two.join("r");
    done(&two, &["run", "s.toml", "--out", "r", "--jobs", "1", "--trace", "pcapng"]);
    for name in &names {
        if *name != "l4s.json" && !name.starts_with("trace-0000000") {
            fs::remove_file(rest.join(name)).unwrap();
        }
    }
    fs::create_dir(rest.join("runs")).unwrap();
    fs::write(rest.join(".l4s-x.part"), "half a file").unwrap();
    let again = ["run", "s.toml", "--out", "r", "--trace", "pcapng"];
    let (code, message) = refused(&two, &again);
    assert_eq!(code, 2);
    assert!(message.contains("--resume completes them"), "{message}");
    let other = [&again[..], &["--resume", "--seed", "2"]].concat();
    assert_eq!(refused(&two, &other).0, 2, "another seed is another plan");
    done(&two, &[&again[..], &["--resume"]].concat());
    assert_eq!(contents(&rest), whole);

    // Another resume changes nothing, and prints the same.
    let shown = done(&two, &[&again[..], &["--resume"]].concat());
    assert_eq!(contents(&rest), whole);
    assert_eq!(shown.lines().count(), 3);
    let same = done(folder.path(), &["compare", "one/r", "two/r"]);
    assert!(same.starts_with("0 of "), "{same}");
}
