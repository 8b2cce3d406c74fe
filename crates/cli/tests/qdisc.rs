//! A queue discipline of this machine's kernel from the command line: measurements, refusals, and the
//! clean-up after any process dies.
//!
//! If the machine does not allow it or its kernel has no htb, a test prints `skipped: ` and the reason. The
//! only discipline is fifo, which every kernel with htb has. Bounds are wide: a busy machine is late, and no
//! test is about lateness.
#![cfg(target_os = "linux")]

#[path = "kernel/machine.rs"]
#[allow(dead_code)]
mod machine;
mod real;
#[path = "kernel/trace.rs"]
mod trace;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use l4s_measure::{Results, Summary};
use machine::{ended_within, within};
use real::{done, folder, stderr};

/// Real time requires an idle machine, so one run at a time.
fn alone() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `l4s run s.toml --on qdisc`, with more arguments.
fn l4s(folder: &Path, more: &[&str]) -> Command {
    real::l4s_on("qdisc", folder, more)
}

/// The summaries of a successful run; `None` if this machine cannot run it.
fn run(folder: &Path, more: &[&str]) -> Option<Vec<Summary>> {
    done(&l4s(folder, more).arg("--json").output().expect("l4s starts"))
}

/// The first of at most five runs in which l4s saw all packets that the kernel counted. A machine without time loses
/// some of its reports, and the run says so.
fn accounted(folder: &Path, more: &[&str]) -> Option<Vec<Summary>> {
    let mut unfit = Vec::new();
    while unfit.len() < 5 {
        let runs = run(folder, more)?;
        let engine = &runs[0].engine;
        println!("{more:?}: {:?}, unfit: {:?}", engine.qdisc, engine.unfit);
        match &engine.unfit {
            Some(why) if why.contains("the kernel counted") => unfit.push(why.clone()),
            _ => return Some(runs),
        }
    }
    panic!("{more:?}: {unfit:#?}");
}

/// One flow that fills a short buffer.
const ONE: &str = r#"
name     = "one"
duration = "2s"
warmup   = "500ms"
link     = { rate = "20mbit", buffer = "50p" }
aqm      = { kind = "fifo" }

[[group]]
name = "A"
cc   = "cubic"
rtt  = "10ms"
"#;

#[test]
fn a_flow_fills_the_kernels_fifo_with_either_version_of_ip() {
    let _alone = alone();
    let folder = folder(ONE);
    for ip in ["kernel.ip=4", "kernel.ip=6"] {
        // A machine that stalls for a moment leaves the link idle: one of five runs has to fill it.
        let mut uses = Vec::new();
        let summary = loop {
            let Some(runs) = run(folder.path(), &["--set", ip]) else { return };
            let [summary] = &runs[..] else { panic!("one run") };
            uses.push(summary.link.utilization);
            if summary.link.utilization > 0.8 {
                break summary.clone();
            }
            assert!(uses.len() < 5, "{ip}: {uses:?}");
        };
        assert_eq!((summary.on.as_str(), summary.engine.virtual_s), ("qdisc", 2.0));
        // 50 packets of 1514 B at 20 Mb/s are 30 ms.
        let delay = summary.queues[0].delay_ms.expect("delays");
        assert!(delay.mean > 5.0 && delay.p99 < 60.0, "{ip}: {delay:?}");
        // A packet takes 0.6 ms, an ACK takes no time. A smoothed RTT follows the queue with a delay of some RTTs.
        let rtt = summary.groups[0].rtt_ms.expect("sockets tell their RTT");
        let expected = 10.0 + delay.mean + 0.6;
        println!("{ip}: RTT {rtt:.2} ms, of which 10 ms base and {:.2} ms queue", delay.mean);
        assert!((rtt - expected).abs() < 0.5 * expected, "{ip}: {rtt} ms, not {expected} ms");
        assert!(summary.groups[0].cwnd_pkts.is_some_and(|cwnd| cwnd > 2.0), "{summary:?}");
        let late = summary.engine.lateness_us.expect("lateness of a run in real time");
        println!("departures late by {late:?} us; unfit: {:?}", summary.engine.unfit);
        assert!(late.p50 <= late.p99 && late.p99 <= late.max, "{late:?}");
    }
}

/// Each packet that arrived has left or was dropped, and the kernel counted the same. Otherwise the run
/// reports that it is unfit. Lateness has no effect here.
#[test]
fn every_packet_is_accounted_for() {
    let _alone = alone();
    let text = format!(
        "{ONE}{}",
        "[[group]]\nname = \"B\"\ncc = \"reno\"\nrtt = \"20ms\"\n\
         [[udp]]\nname = \"U\"\nrate = \"4mbit\"\npacket = \"500b\"\nstart = \"100ms\"\n\
         [[web]]\ngroup = \"B\"\nrate = \"20/s\"\nsize = \"20kb\"\n\
         [[at]]\ntime = \"800ms\"\nlink.rate = \"10mbit\"\n\
         [[at]]\ntime = \"1200ms\"\naqm = { kind = \"fifo\", limit = \"30p\" }\n\
         [[at]]\ntime = \"1500ms\"\ngroup.A.rtt = \"5ms\"\n"
    );
    let folder = folder(&text);
    let more = ["--out", "out", "--replace", "--trace", "pcapng"];
    let Some(runs) = accounted(folder.path(), &more) else { return };
    let engine = &runs[0].engine;
    assert_eq!(engine.qdisc["waiting"], 0);
    assert!(engine.qdisc["dropped"] > 0 && engine.qdisc.contains_key("dropped_replaced"));
    let queue = &runs[0].queues[0];
    assert!(queue.packets <= engine.packets && engine.packets > 1000, "{queue:?}");
    let datagrams = runs[0].groups.iter().find(|group| group.name == "U").expect("the source");
    assert!(datagrams.packets > 500, "{datagrams:?}");
    let out = folder.path().join("out");
    let trace = std::fs::metadata(out.join("trace.pcapng")).expect("a trace");
    assert!(trace.len() > 100 * engine.packets, "headers of every packet");
    let results = Results::open(&out).expect("results");
    assert_eq!(results.runs()[0].summary.on, "qdisc");
}

/// The same with an uplink and imperfect paths around the links, by either version of IP.
#[test]
fn every_packet_is_accounted_for_over_uplink_and_paths() {
    let _alone = alone();
    let text = format!(
        "uplink = {{ rate = \"4mbit\", buffer = \"30p\", aqm = \"fifo\" }}\n{ONE}{}",
        "[[group]]\nname = \"B\"\ndirection = \"up\"\ncc = \"reno\"\nrtt = \"20ms\"\n\
         [[udp]]\nname = \"U\"\ndirection = \"up\"\nrate = \"400kbit\"\npacket = \"500b\"\n\
         [[path]]\nname = \"near\"\nplace = \"before\"\nloss = 0.002\njitter = \"1ms\"\n\
         [[path]]\nname = \"far\"\nduplicate = 0.01\n\
         [[path]]\nname = \"home\"\ndirection = \"up\"\nloss = 0.02\n\
         [[at]]\ntime = \"800ms\"\nuplink.rate = \"2mbit\"\n\
         [[at]]\ntime = \"1200ms\"\nuplink.aqm = { kind = \"fifo\", limit = \"20p\" }\n\
         [[at]]\ntime = \"1500ms\"\ngroup.A.rtt = \"5ms\"\npath.near.loss = 0.0\n"
    );
    let folder = folder(&text);
    for ip in ["kernel.ip=4", "kernel.ip=6"] {
        let Some(runs) = accounted(folder.path(), &["--set", ip]) else { return };
        let [summary] = &runs[..] else { panic!("one run") };
        let engine = &summary.engine;
        assert_eq!((engine.qdisc["waiting"], engine.qdisc["uplink_waiting"]), (0, 0), "{ip}");
        assert!(engine.qdisc["uplink_dropped"] > 0, "{:?}", engine.qdisc);
        assert!(engine.qdisc.contains_key("uplink_dropped_replaced"));
        let uplink = &summary.hops[0];
        assert_eq!((uplink.name.as_str(), uplink.direction.as_deref()), ("uplink", Some("up")));
        assert!(uplink.queues[0].packets > 200, "{uplink:?}");
        let [near, far, home] = &summary.paths[..] else { panic!("three paths") };
        assert!(
            near.packets > 500 && far.duplicated > 0 && home.lost > 0,
            "{near:?} {far:?} {home:?}"
        );
        let upload = summary.groups.iter().find(|group| group.name == "B").expect("the group");
        assert!(upload.rate_bps > 0.5e6, "{upload:?}");
    }
}

/// The trace includes the packets of clients. A machine without time for the run may retransmit packets that
/// were not lost.
#[test]
fn the_trace_of_a_run_without_losses_is_clean() {
    let _alone = alone();
    let folder = folder(ONE);
    for ip in ["kernel.ip=4", "kernel.ip=6"] {
        let set = ["--set", "link.buffer=1000p", "--set", "group.A.size=1MB", "--set", ip];
        let more = [&set[..], &["--out", ip, "--trace", "pcapng"]].concat();
        let Some(runs) = run(folder.path(), &more) else { return };
        let out = folder.path().join(ip);
        let Some(seen) = trace::read(&out.join("trace.pcapng")) else { return };
        match &runs[0].engine.unfit {
            Some(why) => println!("skipped: {why}"),
            None => trace::assert_clean(&seen, 1, 10_000_000),
        }
    }
}

#[test]
fn a_sweep_is_run_one_by_one_and_set_beside_the_simulator() {
    let _alone = alone();
    let folder = folder(&format!("{ONE}[sweep]\n\"link.rate\" = [\"10mbit\", \"20mbit\"]\n"));
    let more = ["--out", "out", "--jobs", "2", "--set", "duration=1s", "--set", "warmup=200ms"];
    let Some(runs) = run(folder.path(), &more) else { return };
    let rates: Vec<_> = runs.iter().map(|run| run.link.rate_bps).collect();
    assert_eq!(rates, [10e6, 20e6]);
    let sim = ["run", "s.toml", "--out", "sim", "--set", "duration=1s", "--set", "warmup=200ms"];
    for args in [&sim[..], &["compare", "sim", "out"]] {
        let mut command = Command::new(machine::L4S);
        let output = command.current_dir(folder.path()).args(args).output().expect("l4s starts");
        assert!(output.status.success(), "{}", stderr(&output));
    }
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_written() {
    let folder = folder(ONE);
    for (more, code, expected) in [
        (&["--set", "aqm=pi2"][..], 2, "Linux has no `pi2`"),
        (&["--set", "kernel.gso=true"], 2, "expected `kernel.gso = false`"),
        (&["--set", "kernel.qdisc=bpf"], 2, "our discipline in BPF is dualpi2"),
        (&["--set", "link.aggregation=2ms"], 2, "found `link.aggregation = \"2ms\"`"),
        (
            &["--set", "uplink={ rate = \"4mbit\", aqm = \"pi2\" }"],
            2,
            "the uplink: Linux has no `pi2`",
        ),
    ] {
        let output = l4s(folder.path(), more).args(["--out", "out"]).output().expect("l4s starts");
        let words = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{more:?}: {words}");
        assert!(words.contains(expected), "{more:?}: {words}");
        assert!(!folder.path().join("out").exists(), "{more:?}: nothing is written");
    }
    for on in ["sim", "kernel", "linux"] {
        let mut command = real::l4s_on(on, folder.path(), &["--vm"]);
        let output = command.output().expect("l4s starts");
        assert_eq!(output.status.code(), Some(2), "{on}: {}", stderr(&output));
        assert!(stderr(&output).contains("expected --on qdisc"), "{on}: {}", stderr(&output));
    }
    for on in ["kernel", "linux"] {
        let mut command = real::l4s_on(on, folder.path(), &["--set", "kernel.qdisc=bpf"]);
        let output = command.output().expect("l4s starts");
        assert_eq!(output.status.code(), Some(2), "{on}: {}", stderr(&output));
        assert!(stderr(&output).contains("found `kernel.qdisc = \"bpf\"`"), "{}", stderr(&output));
    }
}

/// A kernel has a discipline, or the error names it.
#[test]
fn a_discipline_that_the_kernel_has_not_is_named() {
    let _alone = alone();
    let folder = folder(ONE);
    for (aqm, kind) in
        [("fq_codel", "fq_codel"), ("pie", "pie"), ("cobalt", "cake"), ("up", "codel")]
    {
        let set = match aqm {
            "up" => "uplink={ rate = \"4mbit\", aqm = \"codel\" }".to_owned(),
            aqm => format!("aqm={aqm}"),
        };
        let short = ["--set", "duration=200ms", "--set", "warmup=0s", "--set", &set];
        let output =
            l4s(folder.path(), &short).args(["--out", "out"]).output().expect("l4s starts");
        let words = stderr(&output);
        if output.status.code() == Some(0) {
            std::fs::remove_dir_all(folder.path().join("out")).expect("a folder");
            continue;
        }
        assert_eq!(output.status.code(), Some(3), "{words}");
        let named = format!("this kernel has no queue discipline `{kind}`");
        if !words.contains(&named) {
            return println!("skipped: {words}");
        }
        assert!(words.contains("l4s doctor") && words.contains("--vm"), "{words}");
        assert!(!folder.path().join("out").exists(), "nothing is written");
    }
}

/// The processes that a command has started: the router, and its agents.
fn family(command: u32) -> Vec<u32> {
    let routers = machine::agents_of(command);
    let agents = routers.iter().flat_map(|router| machine::agents_of(*router));
    routers.iter().copied().chain(agents).collect()
}

fn start(folder: &Path) -> Child {
    l4s(folder, &["--set", "duration=600s"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("l4s starts")
}

/// Sends a signal to a process that may have ended.
fn signal(name: &str, pid: u32) {
    let mut kill = Command::new("kill");
    let _ = kill.args([name, &pid.to_string()]).stderr(Stdio::null()).status().expect("kill");
}

/// Runs `L4S_KILL_ROUNDS` times, 6 by default: `kill`, and `kill -9` of the command and of the router.
#[test]
fn nothing_is_left_of_what_is_killed() {
    let _alone = alone();
    let folder = folder(ONE);
    let short = ["--set", "duration=200ms", "--set", "warmup=0s"];
    if run(folder.path(), &short).is_none() {
        return;
    }
    let rounds = std::env::var("L4S_KILL_ROUNDS").map_or(6, |n| n.parse().expect("a number"));
    let (interfaces, mounts) = (machine::interfaces(), std::fs::read("/proc/self/mounts").ok());
    for round in 0..rounds {
        let namespaces = machine::namespaces();
        let mut command = start(folder.path());
        // While it starts, tests the machine, builds, or runs.
        std::thread::sleep(Duration::from_millis(5 + round * 97 % 900));
        let family = family(command.id());
        let theirs: Vec<_> = family.iter().filter_map(|pid| machine::namespace(*pid)).collect();
        let theirs: Vec<_> = theirs.iter().filter(|it| !namespaces.contains(*it)).collect();
        let told = format!("round {round}: {family:?}");
        match round % 3 {
            // Like Ctrl-C, which is ignored if tests are started in the background.
            0 => signal("-TERM", command.id()),
            // The router that only tests the machine may die unnoticed; then the run's router is killed.
            1 => drop(within(Duration::from_secs(60), || {
                machine::agents_of(command.id()).iter().for_each(|router| signal("-9", *router));
                command.try_wait().expect("a process").is_some()
            })),
            _ => signal("-9", command.id()),
        }
        let status = ended_within(&mut command, Duration::from_secs(60)).expect(&told);
        assert!(!status.success(), "{told}");
        let lives = |pid: &u32| std::fs::read_link(format!("/proc/{pid}/exe")).is_ok();
        assert!(within(Duration::from_secs(60), || !family.iter().any(lives)), "{told}");
        let inhabited = || machine::namespaces().iter().any(|it| theirs.contains(&it));
        assert!(within(Duration::from_secs(60), || !inhabited()), "{told}: a namespace is left");
        assert_eq!(machine::interfaces(), interfaces, "{told}");
        assert_eq!(std::fs::read("/proc/self/mounts").ok(), mounts, "{told}");
    }
}
