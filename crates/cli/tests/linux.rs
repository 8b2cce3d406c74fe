//! A kernel in virtual time from the command line: repeatability, agreement with the simulator, refusals,
//! and the clean-up after any process dies.
//!
//! Without a kernel (`make linux`), a test prints `skipped: ` and the reason.
#![cfg(target_os = "linux")]

mod real;
#[path = "kernel/trace.rs"]
mod trace;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use l4s_measure::{Results, Summary};
use real::{done, folder, stderr};

const L4S: &str = env!("CARGO_BIN_EXE_l4s");

/// DCTCP and Cubic through the kernel's own DualPI2.
const TWO: &str = r#"
name     = "two"
duration = "4s"
warmup   = "1s"
link     = { rate = "20mbit", buffer = "1000p" }
aqm      = { kind = "dualpi2", profile = "linux", dualq = "dc", marking = "dc" }

[[group]]
name = "A"
cc   = "dctcp"
rtt  = "10ms"

[[group]]
name = "B"
cc   = "cubic"
rtt  = "10ms"
"#;

/// `l4s run s.toml --on linux`, with more arguments.
fn l4s(folder: &Path, more: &[&str]) -> Command {
    real::l4s_on("linux", folder, more)
}

/// The summaries of a successful run; `None` if this machine cannot run it.
fn run(folder: &Path, more: &[&str]) -> Option<Vec<Summary>> {
    done(&l4s(folder, more).arg("--json").output().expect("l4s starts"))
}

#[test]
fn a_seed_repeats_to_the_packet_and_another_does_not() {
    let folder = folder(TWO);
    trace::a_seed_repeats(folder.path(), |more| run(folder.path(), more).map(drop));
}

/// A Prague flow of 4 MB without losses. The trace has both directions, and the receiver reports the arrived
/// packets in ACE and in the option (RFC 9768 §3.2).
#[test]
fn the_trace_of_a_run_without_losses_is_clean_and_counts_marks() {
    let folder = folder(
        "duration = \"3s\"\nwarmup = \"0s\"\nlink = { rate = \"20mbit\", buffer = \"1000p\" }\n\
         aqm = { kind = \"dualpi2\", profile = \"linux\" }\n\
         [[group]]\nname = \"A\"\ncc = \"prague\"\nrtt = \"10ms\"\nsize = \"4MB\"\n",
    );
    for ip in ["kernel.ip=4", "kernel.ip=6"] {
        let set = ["--out", ip, "--trace", "pcapng", "--set", ip];
        let Some(runs) = run(folder.path(), &set) else { return };
        // The capture changes nothing.
        let untraced = run(folder.path(), &["--set", ip]).expect("as before");
        assert_eq!(runs[0].groups, untraced[0].groups, "{ip}");
        let out = folder.path().join(ip);
        // The data that the client read in all intervals is the whole transfer.
        let results = Results::open(&out).expect("results");
        let (_, series) = results.series().expect("series").next().expect("a run").expect("rows");
        for name in ["A", "A.0"] {
            let rows = series.iter().filter(|row| row.name == name);
            let read = rows.filter_map(|row| row.goodput_bps).sum::<f64>() / 80.0;
            // There is no row for the interval in which the flow ended.
            let all = if name == "A" { 4e6..=4e6 } else { 3.7e6..=4e6 };
            assert!(all.contains(&read.round()), "{ip} {name}: {read}");
        }
        let Some(seen) = trace::read(&out.join("trace.pcapng")) else { return };
        trace::assert_clean(&seen, 1, 10_000_000);

        let sent = trace::segments(&seen).filter(|(p, tcp)| p.on == "down" && !tcp.syn);
        let mut sent = sent.filter(|(_, tcp)| tcp.payload > 0 || tcp.fin).peekable();
        // ACE begins at 5 (RFC 9768 §3.2.2.1), the counter of ECT(1) at 1 (§3.2.1).
        let (mut marks, mut ect1, mut ce, mut last) = (5, 1, 0, 0);
        let answers = trace::segments(&seen).filter(|(p, tcp)| p.on == "up" && tcp.ack > 1);
        for (packet, tcp) in answers {
            while let Some((data, segment)) = sent.next_if(|(_, sent)| sent.seq < tcp.ack) {
                match data.ecn {
                    trace::CE => (marks, ce) = (marks + 1, ce + segment.payload),
                    _ => ect1 += segment.payload,
                }
            }
            assert_eq!(tcp.ace, Some(marks % 8), "{packet:?}");
            assert!(tcp.accecn.is_none_or(|counters| counters == [ect1, ce]), "{packet:?}");
            last = tcp.ack;
        }
        assert!(marks > 5 + 50 && trace::segments(&seen).any(|(_, tcp)| tcp.accecn.is_some()));
        // SYN, data, and FIN.
        assert_eq!(last, 1 + 4_000_000 + 1);
    }
}

#[test]
fn the_simulator_agrees() {
    let folder = folder(TWO);
    let set = ["--set", "duration=20s", "--set", "warmup=5s"];
    let Some(kernel) = run(folder.path(), &set) else { return };
    let sim = Command::new(L4S)
        .current_dir(folder.path())
        .args(["run", "s.toml", "--json"])
        .args(set)
        .output()
        .expect("l4s starts");
    let sim: Summary = serde_json::from_slice(&sim.stdout).expect("a summary");
    let kernel = &kernel[0];
    let mean = |run: &Summary, queue: usize| run.queues[queue].delay_ms.expect("data").mean;
    // 52 of 1500 B are headers. Only the few drops of Cubic are sent twice.
    for summary in [kernel, &sim] {
        for group in &summary.groups {
            let share = group.goodput_bps.expect("of TCP") / group.rate_bps;
            assert!((share * 1500.0 / 1448.0 - 1.0).abs() < 0.005, "{share} in {group:?}");
        }
    }
    for (queue, near) in [(0, 0.15), (1, 1.5)] {
        let (kernel, sim) = (mean(kernel, queue), mean(&sim, queue));
        assert!((kernel - sim).abs() < near, "queue {queue}: {kernel} ms and {sim} ms");
    }
    let marks = [kernel, &sim].map(|run| run.groups[0].mark.expect("packets"));
    assert!((marks[0] / marks[1] - 1.0).abs() < 0.25, "{marks:?}");
    assert!(kernel.engine.qdisc["ecn_mark"] > 0, "{:?}", kernel.engine.qdisc);
}

/// Each run checks itself: the observed drops must equal the kernel's count.
#[test]
fn every_discipline_takes_its_settings_and_counts_as_we_do() {
    let folder = folder(TWO);
    for aqm in [
        "{ kind = \"pie\", profile = \"linux\", ecn = true, target = \"10ms\" }",
        "{ kind = \"codel\", profile = \"linux\", ce_threshold = \"3ms\" }",
        "{ kind = \"fq_codel\", profile = \"linux\", ce_threshold = \"1ms\", ce_threshold_selector = \"l4s\" }",
        "{ kind = \"cobalt\", limit = \"40p\" }",
        "{ kind = \"red\", min = \"30kb\", max = \"90kb\", burst = 55 }",
        "{ kind = \"fifo\", limit = \"40p\" }",
        "{ kind = \"dualpi2\", profile = \"linux\", step_thresh = \"5p\", overload = \"overflow\" }",
    ] {
        for ip in ["4", "6"] {
            let set = [format!("aqm={aqm}"), format!("kernel.ip={ip}"), "group.A.cc=cubic".into()];
            let set: Vec<&str> = set.iter().flat_map(|set| ["--set", set.as_str()]).collect();
            let Some(runs) = run(folder.path(), &set) else { return };
            let summary = &runs[0];
            assert_eq!(summary.engine.unfit, None, "{aqm}");
            assert!(summary.link.utilization > 0.9, "{aqm}: {}", summary.link.utilization);
        }
    }
}

#[test]
fn datagrams_of_each_codepoint_go_to_their_queue() {
    let udp = |name: &str, ecn: &str| {
        format!("[[udp]]\nname = \"{name}\"\nrate = \"4mbit\"\necn = \"{ecn}\"\n")
    };
    let text = format!(
        "duration = \"2s\"\nlink.rate = \"20mbit\"\naqm = {{ kind = \"dualpi2\", profile = \
         \"linux\" }}\n{}{}{}",
        udp("N", "not-ect"),
        udp("0", "ect0"),
        udp("1", "ect1")
    );
    let folder = folder(&text);
    let Some(runs) = run(folder.path(), &[]) else { return };
    let queue = |name: &str| {
        let queue = runs[0].queues.iter().find(|queue| queue.name == name);
        queue.map_or(0, |queue| queue.packets)
    };
    // 4 Mb/s of 1500 B for half of the run less a quarter of warm-up: 1.5 s.
    assert!(queue("L").abs_diff(500) <= 1, "{}", queue("L"));
    assert!(queue("C").abs_diff(1000) <= 2, "{}", queue("C"));
}

#[test]
fn what_no_kernel_does_is_refused_before_anything_is_written() {
    let folder = folder(TWO);
    for (set, expected) in [
        ("aqm={ kind = \"pi2\" }", "Linux has no `pi2`"),
        ("aqm.l_aqm=ramp", "has no ramp"),
        ("aqm={ kind = \"dualpi2\", dualq = \"none\", marking = \"classic\" }", "no single queue"),
        ("link.buffer=100ms", "counts packets, not bytes"),
        ("kernel.gso=true", "expected `kernel.gso = false`"),
        ("link.aggregation=2ms", "found `link.aggregation = \"2ms\"`, expected \"0s\""),
        (
            "uplink={ rate = \"4mbit\", aqm = \"fifo\", aggregation = \"2ms\" }",
            "found `uplink.aggregation",
        ),
        ("group.B.cc={ kind = \"cubic\", abe = true }", "`abe` of cubic cannot be set"),
    ] {
        let output = l4s(folder.path(), &["--set", set, "--out", "out"]).output().expect("l4s");
        let words = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{set}: {words}");
        assert!(words.contains(expected), "{set}: {words}");
        assert!(!folder.path().join("out").exists(), "{set}");
    }
}

#[test]
fn settings_that_the_kernel_has_otherwise_are_named() {
    let folder = folder(TWO);
    let set = ["--set", "aqm.profile=dctth", "--set", "duration=1s", "--set", "warmup=0s"];
    let Some(runs) = run(folder.path(), &set) else { return };
    let instead = &runs[0].engine.instead;
    assert!(instead.iter().any(|setting| setting == "scheduler = wrr"), "{instead:?}");
}

#[test]
fn a_machine_without_the_kernel_is_told_how_to_get_it() {
    let folder = folder(TWO);
    let output = l4s(folder.path(), &["--out", "out"])
        .env("L4S_LINUX", "/no/such/kernel")
        .output()
        .expect("l4s starts");
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("/no/such/kernel: `make linux` builds it"));
    assert!(!folder.path().join("out").exists());
}

/// A program that replaces the kernel.
fn program(folder: &Path, text: &str) -> String {
    let path = folder.join("kernel");
    fs::write(&path, text).expect("a program");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("to be run");
    path.display().to_string()
}

#[test]
fn a_kernel_that_dies_shows_the_end_of_its_console() {
    let folder = folder(TWO);
    let mut kernels =
        vec![("#!/bin/sh\necho no memory here\nexit 7\n".to_owned(), "no memory here")];
    if let Ok(kernel) = l4s_linux::Kernel::find() {
        // Without a root file system it panics.
        kernels.push((
            format!("#!/bin/sh\nexec {} mem=64M con=null con0=null,fd:1\n", kernel.path.display()),
            "Kernel panic",
        ));
    }
    for (text, expected) in kernels {
        let kernel = program(folder.path(), &text);
        let output = l4s(folder.path(), &[]).env("L4S_LINUX", kernel).output().expect("l4s");
        let words = stderr(&output);
        if output.status.code() == Some(3) {
            return println!("skipped: {words}");
        }
        assert_eq!(output.status.code(), Some(1), "{words}");
        assert!(words.contains("the guest kernel") && words.contains(expected), "{words}");
    }
}

/// The files of a guest are in memory. If the memory is full, the guest ends, and the run prints the reason.
#[test]
fn a_machine_without_memory_for_the_guest_is_named() {
    let Ok(kernel) = l4s_linux::Kernel::find() else {
        return println!("skipped: no kernel: `make linux` builds it");
    };
    let folder = folder(TWO);
    let script = "#!/bin/sh\nmount -o remount,size=16M /sys && exec";
    let kernel = program(folder.path(), &format!("{script} {} \"$@\"\n", kernel.path.display()));
    let output = l4s(folder.path(), &["--out", "out"]).env("L4S_LINUX", kernel).output();
    let output = output.expect("l4s starts");
    let words = stderr(&output);
    if words.contains("mount:") || output.status.code() == Some(3) {
        return println!("skipped: {words}");
    }
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(words.contains("this machine had no more memory for it"), "{words}");
}

/// Processes of guests that this test started: their command line contains `mark`.
fn guests(mark: &str) -> Vec<u32> {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    processes
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            String::from_utf8_lossy(&line).contains(mark).then_some(pid)
        })
        .collect()
}

fn start(folder: &Path, seed: &str) -> Child {
    l4s(folder, &["--seed", seed, "--set", "duration=600s"])
        .env("TMPDIR", folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("l4s starts")
}

/// Runs `L4S_KILL_ROUNDS` times, 5 by default.
#[test]
fn nothing_is_left_of_a_command_that_is_killed() {
    if l4s_linux::Kernel::find().is_err() {
        return println!("skipped: no kernel: `make linux` builds it");
    }
    let rounds = std::env::var("L4S_KILL_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(5);
    let folder = folder(TWO);
    let mounts = || fs::read_to_string("/proc/self/mounts").expect("mounts");
    let before = mounts();
    for round in 0..rounds {
        // The seed is in the command line of the guest's kernel.
        let seed = format!("{}", 770_000_000 + u64::from(std::process::id()) * 1000 + round);
        let mut command = start(folder.path(), &seed);
        // While it starts, boots, or runs.
        std::thread::sleep(Duration::from_millis(7 + round * 13 % 1200));
        command.kill().expect("to kill it");
        command.wait().expect("its end");
        let mark = format!("l4s.seed={seed}");
        let deadline = Instant::now() + Duration::from_secs(60);
        while !guests(&mark).is_empty() {
            assert!(Instant::now() < deadline, "round {round}: {:?} live on", guests(&mark));
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(mounts(), before, "round {round}");
        let left: Vec<_> = fs::read_dir(folder.path()).expect("the folder").flatten().collect();
        assert_eq!(left.len(), 1, "round {round}: only the scenario: {left:?}");
    }
}

#[test]
fn a_kernel_that_is_killed_ends_the_run() {
    if l4s_linux::Kernel::find().is_err() {
        return println!("skipped: no kernel: `make linux` builds it");
    }
    let folder = folder(TWO);
    let seed = format!("{}", 880_000_000 + std::process::id());
    let command = l4s(folder.path(), &["--seed", &seed, "--set", "duration=600s"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("l4s starts");
    let deadline = Instant::now() + Duration::from_secs(60);
    let kernel = loop {
        if let [pid, ..] = guests(&format!("l4s.seed={seed}"))[..] {
            break pid;
        }
        assert!(Instant::now() < deadline, "no guest");
        std::thread::sleep(Duration::from_millis(10));
    };
    std::thread::sleep(Duration::from_millis(500));
    let _ = Command::new("kill").args(["-9", &kernel.to_string()]).status();
    let output = command.wait_with_output().expect("its end");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("was killed by signal 9"), "{}", stderr(&output));
}
