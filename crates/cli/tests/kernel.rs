//! Real TCP from the command line: arrivals, counts, refusals, and the clean-up after any process
//! dies.
//!
//! If the machine does not allow it, a test prints `skipped: ` and the reason.
#![cfg(target_os = "linux")]

#[path = "kernel/deaths.rs"]
mod deaths;
#[path = "kernel/machine.rs"]
mod machine;
#[path = "kernel/packets.rs"]
mod packets;
mod real;
#[path = "kernel/trace.rs"]
mod trace;
#[path = "kernel/traffic.rs"]
mod traffic;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::{Duration, Instant};

use l4s_lab::{AgentCommand, End, Lab, LabOptions, LabPlan, Ledger, Plane};
use l4s_lab::{Settings, pump};
use l4s_measure::{GroupSummary, Results, Scope, SeriesRow, Summary};
use l4s_os::{Clock, OsError};
use l4s_units::Time;

use machine::{L4S, ended_within, within};
use real::{done, folder, stderr};
use trace::{CE, Checksum, ECT0, ECT1, NOT_ECT, Seen};

/// Real time requires an idle machine, so one lab runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static LAB: Mutex<()> = Mutex::new(());
    LAB.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `l4s run s.toml --on kernel`, with more arguments.
fn l4s(folder: &Path, more: &[&str]) -> Command {
    real::l4s_on("kernel", folder, more)
}

/// Runs a scenario of one run.
fn run(scenario: &str) -> Option<Summary> {
    let _alone = alone();
    let folder = folder(scenario);
    done(&l4s(folder.path(), &["--json"]).output().expect("l4s starts"))?.pop()
}

/// A run during which the machine did not stop any host or the data plane. `None` if it did so in each of
/// five runs, or if this machine cannot run it.
fn run_undisturbed(scenario: &str) -> Option<Summary> {
    for _ in 0..5 {
        let summary = run(scenario)?;
        match &summary.engine.unfit {
            Some(why) if why.contains("it did not run for") => println!("again: {why}"),
            _ => return Some(summary),
        }
    }
    println!("skipped: this machine stalled in every run");
    None
}

fn group<'a>(summary: &'a Summary, name: &str) -> &'a GroupSummary {
    summary.groups.iter().find(|group| group.name == name).expect("a group of that name")
}

/// Cubic and DCTCP, as in the demonstration.
const TWO: &str = r#"
name     = "two"
duration = "2s"
warmup   = "500ms"
link     = { rate = "20mbit" }
aqm      = { kind = "dualpi2", profile = "dctth", dualq = "dc", marking = "dc" }
[[group]]
name = "A"
cc   = "cubic"
rtt  = "10ms"
[[group]]
name = "B"
cc   = "dctcp"
rtt  = "10ms"
"#;

#[test]
fn cubic_and_dctcp_share_a_dualpi2() {
    let Some(summary) = run(TWO) else { return };
    assert_eq!(summary.on, "kernel");
    assert!(summary.link.utilization > 0.8, "{}", summary.link.utilization);
    for name in ["A", "B"] {
        let group = group(&summary, name);
        assert!(group.rate_bps > 0.0, "{group:?}");
        assert!(group.cwnd_pkts.expect("sockets tell their windows") >= 2.0, "{group:?}");
        // A packet takes 0.6 ms, an ACK takes no time. A smoothed RTT follows the queue with a delay of some RTTs.
        let (rtt, delay) = (group.rtt_ms.expect("an RTT"), group.delay_ms.expect("delays"));
        let expected = 10.0 + delay.mean + 0.6;
        println!("{name}: RTT {rtt:.2} ms, of which 10 ms base and {:.2} ms queue", delay.mean);
        assert!((rtt - expected).abs() < 0.4 * expected, "{rtt} ms, not {expected} ms");
    }
    assert_eq!(group(&summary, "A").mark, Some(0.0), "Cubic here has no ECN");
    assert!(group(&summary, "B").mark.is_some_and(|mark| mark > 0.0), "{summary:?}");
    let engine = &summary.engine;
    let late = engine.lateness_us.expect("lateness of a run in real time");
    println!("departures late by {late:?} us; unfit: {:?}", engine.unfit);
    assert!(late.p50 <= late.p99 && late.p99 <= late.max, "{late:?}");
    assert_eq!((engine.virtual_s, engine.packets > 1000), (2.0, true));
}

/// A sender of each kind, and a UDP source with each codepoint. `{ip}` is 4 or 6.
const ALL: &str = r#"
name     = "all"
duration = "2s"
warmup   = "500ms"
kernel   = { ip = {ip} }
link     = { rate = "20mbit" }
aqm      = { kind = "dualpi2", profile = "dctth", dualq = "dc", marking = "dc" }
group = [
  { name = "cubic",  cc = "cubic",  rtt = "10ms" },
  { name = "dctcp",  cc = "dctcp",  rtt = "10ms" },
  { name = "prague", cc = "prague", rtt = "10ms" },
]
udp = [
  { name = "not-ect", rate = "400kbit", packet = "500b", ecn = "not-ect" },
  { name = "ect1",    rate = "400kbit", packet = "500b", ecn = "ect1" },
  { name = "ect0",    rate = "400kbit", packet = "500b", ecn = "ect0" },
  { name = "ce",      rate = "400kbit", packet = "500b", ecn = "ce" },
]
"#;

/// While a run has Prague by BPF loaded, and while no process has.
#[test]
fn the_host_shows_the_connections_with_prague_of_a_run() {
    let _alone = alone();
    let folder = folder(
        "name = \"one\"\nduration = \"4s\"\nlink.rate = \"20mbit\"\naqm = \"dualpi2\"\n\
         [[group]]\nname = \"A\"\nrtt = \"10ms\"\n\
         cc = { kind = \"prague\", profile = \"linux\", fallback = \"passive\" }\n",
    );
    let status = || Command::new(L4S).args(["host", "status"]).output().expect("l4s starts");
    let mut run = l4s(folder.path(), &["--json"]);
    let mut run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("l4s starts");
    // Other processes may have Prague loaded too, so all connections are searched. This run sends no
    // tracers.
    let (mut row, mut unknown) = (None, false);
    let seen = within(Duration::from_secs(60), || {
        let found = status();
        if found.status.success() {
            let page = String::from_utf8_lossy(&found.stdout).into_owned();
            let sender = |line: &&str| line.starts_with("10.0.0.1:") && line.ends_with(" -");
            row = page.lines().find(sender).map(|line| (line.to_owned(), page.clone()));
            unknown = page.contains("connections with prague   not known: ");
        }
        row.is_some() || unknown || run.try_wait().expect("a process").is_some()
    });
    assert!(seen, "neither a connection nor the end of the run");
    let output = run.wait_with_output().expect("output");
    if done(&output).is_none() {
        // Without Prague there is nothing to show, and the command prints the reason.
        let refused = status();
        assert_eq!(refused.status.code(), Some(3), "{refused:?}");
        assert!(stderr(&refused).starts_with("error: l4s host status: "), "{refused:?}");
        return;
    }
    // `make test-vm` has kernels that list sockets (crates/bpf/tests/kernel.rs).
    if unknown {
        return println!("skipped: this kernel lists no sockets");
    }
    let (row, page) = row.expect("a connection while the run went on");
    assert!(page.starts_with("prague  "), "{page}");
    let words: Vec<&str> = row.split_whitespace().collect();
    let [_, peer, cwnd, alpha, score, verdict, srtt, mdev, depth, "-"] = words[..] else {
        panic!("{row}")
    };
    assert!(peer.starts_with("10."), "{row}");
    assert!((2..1000).contains(&cwnd.parse::<u32>().unwrap()), "{row}");
    let number = |word: &str| word.parse::<f64>().unwrap();
    assert!((0.0..=1.0).contains(&number(alpha)) && (-8.0..=8.0).contains(&number(score)), "{row}");
    assert!(["-", "l4s", "transition", "classic"].contains(&verdict), "{row}");
    assert!(number(srtt) < 1000.0 && number(mdev) < 1000.0 && number(depth) < 1000.0, "{row}");
    // The command still works after the run.
    let after = status();
    assert!(after.status.success(), "{after:?}");
}

/// In a pipe there is nothing to clear, and a reader that has seen enough ends it.
#[test]
fn the_watch_of_the_host_ends_with_its_reader() {
    let mut watch = Command::new(L4S);
    let watch = watch.args(["host", "status", "--watch"]).stdout(Stdio::piped());
    let mut watch = watch.stderr(Stdio::piped()).spawn().expect("l4s starts");
    let mut first = String::new();
    let mut pipe = BufReader::new(watch.stdout.take().expect("a pipe"));
    pipe.read_line(&mut first).expect("a line");
    drop(pipe);
    let ended = ended_within(&mut watch, Duration::from_secs(60)).is_some();
    watch.kill().expect("a process");
    let output = watch.wait_with_output().expect("output");
    if output.status.code() == Some(3) {
        return println!("skipped: {}", stderr(&output));
    }
    assert!(first.starts_with("prague  "), "{first:?}");
    assert!(ended && output.status.success(), "{output:?}");
}

#[test]
fn what_the_host_is_not_asked_is_refused() {
    for (args, word) in [
        (&["host"][..], "Usage"),
        (&["host", "stats"], "status"),
        (&["host", "status", "--wach"], "--watch"),
        (&["host", "status", "eth0"], "eth0"),
    ] {
        let output = Command::new(L4S).args(args).output().expect("l4s starts");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(stderr(&output).contains(word) && output.stdout.is_empty(), "{output:?}");
    }
}

#[test]
fn what_no_lab_can_do_is_refused_before_anything_is_written() {
    let group = |number: u32| format!("{{ name = \"G{number}\", cc = \"cubic\", rtt = \"1ms\" }},");
    let many: String = (0..257).map(group).collect();
    let text = "duration = \"1s\"\nlink = { rate = \"10mbit\" }\naqm = { kind = \"fifo\" }\n";
    for (more, expected) in [
        (format!("group = [{many}]"), "257 groups and UDP sources: expected at most 256"),
        (
            "udp = [{ name = \"U\", rate = \"1mbit\", packet = \"9000b\" }]".to_owned(),
            "UDP source `U`: a packet of 9000 bytes: expected 28 to 1500",
        ),
        (
            "group = [{ name = \"A\", cc = { kind = \"cubic\", hystart = false }, rtt = \"1ms\" }]"
                .to_owned(),
            "group `A`: `hystart` of cubic cannot be set in a kernel: leave it out",
        ),
    ] {
        let folder = folder(&format!("{text}{more}\n"));
        let output = l4s(folder.path(), &["--out", "out"]).output().expect("l4s starts");
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
        assert!(!folder.path().join("out").exists(), "{expected}: nothing is written");
    }
}

/// Executes a command as nobody, in a folder without write permission; `None` if that is not possible.
fn as_nobody(folder: &Path, mut command: Command) -> Option<Output> {
    if fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0) {
        let all = fs::Permissions::from_mode(0o777);
        fs::set_permissions(folder, all).expect("permissions");
        command.uid(65_534).gid(65_534);
    }
    match command.output() {
        Ok(output) => Some(output),
        Err(error) => {
            println!("skipped: another user cannot start {L4S}: {error}");
            None
        }
    }
}

/// Without rights and without a result, there is a message and no folder.
fn refused_with_words(folder: &Path, output: &Output, expected: &[&str]) {
    let words = stderr(output);
    println!("{}", words.trim());
    assert_eq!(output.status.code(), Some(3), "{words}");
    assert!(expected.iter().any(|expected| words.contains(expected)), "{words}");
    assert!(!folder.join("out").exists(), "nothing is written");
}

#[test]
fn a_user_without_rights_runs_what_the_kernel_has() {
    let _alone = alone();
    let folder = folder(&TWO.replace("dctcp", "cubic").replace("2s", "1s"));
    let Some(output) = as_nobody(folder.path(), l4s(folder.path(), &["--json"])) else { return };
    if output.status.code() == Some(0) {
        let summary = &done(&output).expect("it ran")[0];
        assert!(summary.groups.iter().all(|group| group.packets > 0), "{summary:?}");
    } else {
        let closed = fs::metadata("/dev/net/tun").is_ok_and(|f| f.permissions().mode() & 6 != 6);
        let expected = if closed { "its mode is 0" } else { "run as root" };
        refused_with_words(folder.path(), &output, &[expected, "modprobe"]);
    }
}

#[test]
fn a_user_without_rights_is_told_what_bpf_takes() {
    if machine::has_control("dctcp") {
        return println!("skipped: this kernel has DCTCP, so that nothing has to be loaded");
    }
    let _alone = alone();
    let folder = folder(TWO);
    let command = l4s(folder.path(), &["--out", "out"]);
    let Some(output) = as_nobody(folder.path(), command) else { return };
    refused_with_words(folder.path(), &output, &["reno and cubic work without; `--on sim` runs"]);
    assert!(stderr(&output).contains("`modprobe tcp_dctcp` loads the kernel's own"));
}

#[test]
fn a_machine_that_cannot_hold_the_lab_is_known_before_anything_is_written() {
    let _alone = alone();
    let folder = folder(&TWO.replace("dctcp", "reno"));
    // Too few files for the devices of the lab; only root could have more.
    let mut shell = Command::new("sh");
    shell.current_dir(folder.path());
    shell.args(["-c", "ulimit -n 40 && exec \"$0\" run s.toml --on kernel --out out", L4S]);
    let Some(output) = as_nobody(folder.path(), shell) else { return };
    refused_with_words(folder.path(), &output, &["ulimit -Hn"]);
}
