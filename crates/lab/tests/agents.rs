//! The agents, with a wire instead of the bottleneck.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use l4s_flows::ip::IpPacket;
use l4s_lab::{AgentCommand, Lab, LabOptions, LabPlan, Port, Report, TcpSample};
use l4s_os::{Clock, Offload, OsError, Read};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

/// Two groups, one of them with an end, and a UDP source.
const SCENARIO: &str = r#"
duration = "2s"
link.rate = "100mbit"

[[group]]
name = "A"
cc = { kind = "reno", pacing = true }
flows = 2
rtt = "10ms"

[[group]]
name = "B"
cc = "cubic"
ecn = "classic"
flows = 3
size = "300kB"
start = "200ms"
rtt = "10ms"

[[udp]]
name = "U"
rate = "4mbit"
packet = "1000B"
ecn = "ect1"
start = "500ms"
stop = "1500ms"
"#;

fn plan(text: &str, ipv6: bool) -> LabPlan {
    let plan = l4s_scenario::Plan::parse("t.toml", text, &[]).unwrap();
    let options = LabOptions { ipv6, ..LabOptions::default() };
    LabPlan::new(&plan.points[0].scenario, |group| group.cc.kind().to_owned(), &options).unwrap()
}

fn agent() -> AgentCommand {
    AgentCommand { program: env!("CARGO_BIN_EXE_l4s-lab-agent").into(), args: Vec::new() }
}

/// A lab, if this machine supports it.
fn lab(text: &str, ipv6: bool) -> Option<Lab> {
    let building = Instant::now();
    match Lab::build(&plan(text, ipv6), &agent()) {
        Ok(lab) => {
            println!("{} agents are ready after {:?}", lab.agents().len(), building.elapsed());
            Some(lab)
        }
        Err(OsError::Machine(why)) => {
            println!("skipped: {why}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The packets that passed from the servers of a pair.
#[derive(Default)]
struct Passed {
    packets: u64,
    bytes: u64,
    /// Packets of the link with this ECN codepoint.
    ecn: [u64; 4],
    /// The lengths of UDP packets.
    udp_lengths: BTreeSet<usize>,
    longest: usize,
    /// Packets that are neither TCP nor UDP.
    others: u64,
}

/// A thread that forwards packets.
struct Wire {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Passed>>,
}

impl Wire {
    fn new(ports: Vec<Port>) -> Wire {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut passed: Vec<Passed> = ports.iter().map(|_| Passed::default()).collect();
            let tuns: Vec<_> = ports.iter().flat_map(|port| [&port.server, &port.client]).collect();
            let mut buffer = vec![0; 66 << 10];
            while !stopped.load(Ordering::Relaxed) {
                let mut fds: Vec<_> =
                    tuns.iter().map(|device| PollFd::new(&device.tun, PollFlags::IN)).collect();
                poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 10_000_000 })).unwrap();
                for (number, device) in tuns.iter().enumerate() {
                    for _ in 0..32 {
                        let Read::Packet(length) = device.tun.read(&mut buffer).unwrap() else {
                            break;
                        };
                        if number % 2 == 0 {
                            passed[number / 2].count(&buffer[..length]);
                        }
                        tuns[number ^ 1].tun.write(&buffer[..length]).unwrap();
                    }
                }
            }
            passed
        });
        Wire { stop, thread }
    }

    fn take_down(self) -> Vec<Passed> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

impl Passed {
    fn count(&mut self, packet: &[u8]) {
        let (header, packet) = packet.split_at(Offload::LENGTH);
        let payload = IpPacket::new_checked(packet).unwrap().payload_length();
        let segments = u64::from(Offload::of(header).segments(payload));
        let (ecn, protocol) = match packet[0] >> 4 {
            4 => (packet[1] & 3, packet[9]),
            _ => ((packet[1] >> 4) & 3, packet[6]),
        };
        self.packets += segments;
        self.longest = self.longest.max(packet.len());
        self.bytes += packet.len() as u64;
        self.ecn[usize::from(ecn)] += segments;
        match protocol {
            6 => {}
            17 => _ = self.udp_lengths.insert(packet.len()),
            _ => self.others += 1,
        }
    }
}

/// The reports of a run.
#[derive(Default)]
struct Log {
    opened: BTreeMap<u32, u64>,
    closed: BTreeMap<u32, u64>,
    samples: BTreeMap<u32, Vec<TcpSample>>,
    written: BTreeMap<u32, Vec<u64>>,
    skipped: u64,
    delivered: BTreeMap<u32, Vec<u64>>,
    /// The times, and the numbers of bytes.
    read: BTreeMap<u32, Vec<(u64, u64)>>,
}

impl Log {
    fn take(&mut self, report: Report) {
        match report {
            Report::Opened { flow, at } => _ = self.opened.insert(flow.get(), at.as_nanos()),
            Report::Closed { flow, at } => _ = self.closed.insert(flow.get(), at.as_nanos()),
            Report::Sample { flow, sample, .. } => {
                self.samples.entry(flow.get()).or_default().push(sample);
            }
            Report::Written { flow, at } => {
                self.written.entry(flow.get()).or_default().push(at.as_nanos());
            }
            Report::Skipped { .. } => self.skipped += 1,
            Report::Delivered { flow, at } => {
                self.delivered.entry(flow.get()).or_default().push(at.as_nanos());
            }
            Report::Read { flow, at, bytes } => {
                self.read.entry(flow.get()).or_default().push((at.as_nanos(), bytes));
            }
        }
    }
}

/// Runs a lab for two seconds, and on until its log is complete, or for twenty: a busy machine is slow.
fn run(mut lab: Lab, complete: impl Fn(&Log) -> bool) -> (Log, Vec<Passed>) {
    let wire = Wire::new(lab.take_ports());
    let reports = lab.take_reports();
    let mut log = Log::default();
    lab.start(Clock::starting_in(l4s_units::Duration::from_millis(20)));
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(2)
        || !complete(&log) && started.elapsed() < Duration::from_secs(20)
    {
        if let Ok(report) = reports.recv_timeout(Duration::from_millis(20)) {
            log.take(report.unwrap());
        }
    }
    lab.stop();
    for report in reports {
        log.take(report.unwrap());
    }
    (log, wire.take_down())
}

#[test]
fn flows_start_move_and_end_as_the_scenario_says() {
    for ipv6 in [false, true] {
        let Some(lab) = lab(SCENARIO, ipv6) else { return };
        let measured = |log: &Log, flow| {
            log.samples.get(&flow).and_then(|s| s.last()).is_some_and(|last| last.delivered > 100)
        };
        let complete = |log: &Log| {
            log.opened.len() == 5
                && log.closed.len() == 3
                && [0, 1].iter().all(|f| measured(log, *f))
        };
        let (log, passed) = run(lab, complete);
        println!("{} B passed from the servers of group A", passed[0].bytes);

        let ms = |ns: u64| ns as f64 / 1e6;
        assert_eq!(log.opened.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        for (flow, start) in [(0, 0.0), (1, 0.0), (2, 200.0), (3, 200.0), (4, 200.0)] {
            let late = ms(log.opened[&flow]) - start;
            println!("ipv6 {ipv6}: flow {flow} opened {late:.3} ms after its time");
            assert!(late >= 0.0, "{late} ms");
        }
        // Group B's flows end, group A's do not.
        assert_eq!(log.closed.keys().copied().collect::<Vec<_>>(), [2, 3, 4]);
        assert!(log.closed.iter().all(|(flow, at)| *at > log.opened[flow]));
        assert!(passed[1].bytes > 900_000, "{}", passed[1].bytes);
        assert!(passed[0].bytes > 1_000_000, "{}", passed[0].bytes);

        // One per interval, and one at the end; on a busy machine an agent skips some of them, and a flow
        // that waits for its retransmission timeout has a window of 1.
        for flow in [0, 1] {
            let samples = &log.samples[&flow];
            println!("ipv6 {ipv6}: {} samples of flow {flow}", samples.len());
            assert!(samples.is_sorted_by_key(|sample| sample.delivered), "{samples:?}");
            let last = samples.last().unwrap();
            assert!(last.cwnd >= 1 && last.srtt.is_some() && last.delivered > 100, "{last:?}");
            // Pacing is requested without a limit, so the window determines its rate.
            assert!(last.pacing_bytes_per_s.is_some_and(|rate| rate > 10_000), "{last:?}");
        }
        // Clients report the bytes that they read once per interval of 100 ms, and at the end.
        for (flow, reads) in &log.read {
            let intervals: Vec<u64> = reads.iter().map(|(at, _)| at / 100_000_000).collect();
            assert!(intervals.is_sorted_by(|a, b| a < b), "flow {flow}: {reads:?}");
        }
        let read = |flow| log.read[&flow].iter().map(|(_, bytes)| bytes).sum::<u64>();
        assert_eq!([2, 3, 4].map(read), [300_000; 3]);
        // Some of these bytes are headers, some are still in flight, and some were sent twice.
        let long = read(0) + read(1);
        assert!((1_000_000..passed[0].bytes).contains(&long), "{long} of {} B", passed[0].bytes);
        // 300,000 B are 208 segments of 1448 B (IPv4), and the SYN counts.
        let b = log.samples[&2].last().unwrap();
        assert!(b.delivered >= 200, "{b:?}");
        assert_eq!(b.pacing_bytes_per_s, None);

        // ECN is off for A. B has RFC 3168's: data is ECT(0), other packets are not.
        assert_eq!(passed[0].ecn[1..], [0, 0, 0]);
        assert!(passed[1].ecn[2] > 600 && passed[1].ecn[1] == 0, "{:?}", passed[1].ecn);

        // 4 Mb/s for one second in packets of 1000 B; the last two depend on timing.
        let udp = &passed[2];
        println!("ipv6 {ipv6}: {} UDP packets", udp.packets);
        assert!((498..=500).contains(&udp.packets), "{}", udp.packets);
        assert_eq!((udp.ecn, udp.udp_lengths.len()), ([0, udp.packets, 0, 0], 1));
        assert!(udp.udp_lengths.contains(&1000));
        // No other packets: no neighbour discovery, no multicast groups.
        assert_eq!(passed.iter().map(|passed| passed.others).sum::<u64>(), 0);
    }
}

#[test]
fn frames_are_written_when_they_are_due_and_arrive_whatever_their_size() {
    // Frames of 1 kB, and of 600 kB, which do not fit into a socket at once.
    let text = "duration = \"2s\"\nlink.rate = \"100mbit\"\n\
                [[group]]\nname = \"A\"\ncc = \"reno\"\nflows = 0\nrtt = \"10ms\"\n\
                [[app]]\ngroup = \"A\"\nrate = \"400kbit\"\nfps = 50\nflows = 2\n\
                [[app]]\ngroup = \"A\"\nrate = \"24mbit\"\nfps = 5\nstop = \"1500ms\"\n";
    let Some(lab) = lab(text, false) else { return };
    let (log, passed) = run(lab, |_| true);
    assert_eq!(log.written.keys().copied().collect::<Vec<_>>(), [0, 1, 2]);
    assert!(log.closed.is_empty(), "the connections stay");
    assert_eq!(log.skipped, 0, "none of them adapts");
    let mut bytes = 0;
    for (flow, interval, end, size) in
        [(0, 20, 2000, 1000), (1, 20, 2000, 1000), (2, 200, 1500, 600_000)]
    {
        let (written, delivered) = (&log.written[&flow], &log.delivered[&flow]);
        println!("flow {flow}: {} frames, {} arrived", written.len(), delivered.len());
        // At most the number of intervals since the connection was opened. If the first frame is
        // late, others follow it directly. The number of late frames at the end depends on the
        // machine.
        let opened = log.opened[&flow];
        let due = (end * 1_000_000 - opened) / (interval * 1_000_000) + 1;
        let count = written.len() as u64;
        assert!((due / 2..=due).contains(&count), "{count} of {due} due");
        let early = |(n, at): (u64, &u64)| *at < opened + n * interval * 1_000_000;
        assert!(!(0..).zip(written).any(early), "{written:?}");
        // Frames of the last half second may be in flight on a busy machine.
        let arrived = |at: &u64| at + 500_000_000 < 2_000_000_000;
        let most = written.iter().filter(|at| arrived(at)).count();
        assert!((most..=written.len()).contains(&delivered.len()), "{most}: {}", delivered.len());
        assert!(written.iter().zip(delivered).all(|(written, came)| written < came));
        bytes += delivered.len() as u64 * size;
    }
    assert!(passed[0].bytes > bytes, "{} B passed, frames have {bytes}", passed[0].bytes);
}

#[test]
fn thousands_of_flows_come_and_go() {
    let text = "duration = \"2s\"\nlink.rate = \"100mbit\"\n[[group]]\nname = \"A\"\ncc = \"reno\"\n\
                flows = 3000\nstart = { every = \"300us\" }\nsize = \"10kB\"\nrtt = \"10ms\"\n";
    let Some(lab) = lab(text, false) else { return };
    let (log, passed) = run(lab, |log| log.closed.len() == 3000);
    println!("{} of {} closed", log.closed.len(), log.opened.len());
    assert_eq!((log.opened.len(), log.closed.len()), (3000, 3000));
    assert!(passed[0].bytes > 30_000_000);
}

#[test]
fn bursts_are_as_long_as_the_plan_says() {
    // Without a limit, a segment of TCP shows how much was sent to the device at once.
    let scenario = l4s_scenario::Plan::parse("t.toml", SCENARIO, &[]).unwrap();
    let scenario = &scenario.points[0].scenario;
    for (largest_burst, expected) in [(None, 3000..=65_575), (Some(2), 2948..=2948)] {
        let options = LabOptions { largest_burst, ..LabOptions::default() };
        let plan = LabPlan::new(scenario, |group| group.cc.kind().to_owned(), &options).unwrap();
        let lab = match Lab::build(&plan, &agent()) {
            Ok(lab) => lab,
            Err(OsError::Machine(why)) => return println!("skipped: {why}"),
            Err(error) => panic!("{error}"),
        };
        let (log, passed) = run(lab, |log| log.closed.len() == 3);
        assert_eq!(log.closed.len(), 3);
        // 2 · 1448 B and 52 B of headers.
        let longest = passed[0].longest;
        println!("largest burst {largest_burst:?}: {longest} B");
        assert!(expected.contains(&longest), "{longest} B");
    }
}

#[test]
fn a_killed_agent_is_named_within_a_second() {
    let Some(mut lab) = lab(SCENARIO, false) else { return };
    let wire = Wire::new(lab.take_ports());
    lab.start(Clock::start());
    std::thread::sleep(Duration::from_millis(300));
    let victim = lab.agents()[2].clone();
    assert_eq!(victim.who, "the server of group `B`");
    let killed = Instant::now();
    kill(victim.pid);
    let error = lab.take_reports().iter().find_map(Result::err).expect("an error");
    println!("after {:?}: {error}", killed.elapsed());
    assert!(killed.elapsed() < Duration::from_secs(1));
    let expected = "the server of group `B` was killed by signal 9 before the run was over";
    assert_eq!(error, OsError::Run(expected.to_owned()));
    wire.take_down();
}

#[test]
fn nothing_is_left_of_a_dropped_lab() {
    // Two labs at a time, in mid-run, that share nothing.
    let (Some(mut first), Some(second)) = (lab(SCENARIO, false), lab(SCENARIO, false)) else {
        return;
    };
    let pids: Vec<u32> = [&first, &second].iter().flat_map(|lab| pids(lab)).collect();
    let namespaces: BTreeSet<_> = pids.iter().map(|pid| namespace(*pid).unwrap()).collect();
    assert_eq!(namespaces.len(), 12, "every agent has a namespace of its own");
    assert!(!namespaces.contains(&namespace(std::process::id()).unwrap()));
    // While these are open, no other test's namespaces get their numbers.
    let open = |pid: &u32| std::fs::File::open(format!("/proc/{pid}/ns/net")).unwrap();
    let held: Vec<_> = pids.iter().map(open).collect();
    let wire = Wire::new(first.take_ports());
    first.start(Clock::start());
    std::thread::sleep(Duration::from_millis(300));

    let dropping = Instant::now();
    drop(first);
    println!("a lab in its run is gone after {:?}", dropping.elapsed());
    drop(second);
    wire.take_down();
    // There is not even a zombie, and no process is in their namespaces.
    assert!(!pids.iter().any(|pid| std::fs::exists(format!("/proc/{pid}/stat")).unwrap()));
    let left: Vec<_> =
        processes().filter_map(namespace).filter(|n| namespaces.contains(n)).collect();
    assert_eq!(left, Vec::<String>::new());
    drop(held);
}

#[test]
fn agents_end_with_a_killed_command() {
    let mut command = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "holds_a_lab_for_another_test", "--nocapture"])
        .env("L4S_TEST_HOLDS_A_LAB", "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(command.stdout.take().unwrap()).lines();
    let line = lines.map_while(Result::ok).find_map(|line| {
        line.contains("skipped:")
            .then(|| line.clone())
            .or(line.split_once("held by ").map(|it| it.1.to_owned()))
    });
    let line = line.expect("its agents");
    if line.contains("skipped:") {
        println!("{line}");
        command.wait().unwrap();
        return;
    }
    let pids: Vec<u32> = line.split(' ').map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(alive(&pids).len(), 6);
    kill(command.id());
    let killed = Instant::now();
    command.wait().unwrap();
    while !alive(&pids).is_empty() {
        assert!(killed.elapsed() < Duration::from_secs(1), "{:?} live on", alive(&pids));
        std::thread::sleep(Duration::from_millis(1));
    }
    println!("no agent after {:?}", killed.elapsed());
}

/// The process that [`agents_end_with_a_killed_command`] kills.
#[test]
fn holds_a_lab_for_another_test() {
    if std::env::var_os("L4S_TEST_HOLDS_A_LAB").is_none() {
        return;
    }
    let Some(mut lab) = lab(SCENARIO, false) else { return };
    let _wire = Wire::new(lab.take_ports());
    lab.start(Clock::start());
    let pids: Vec<String> = pids(&lab).map(|pid| pid.to_string()).collect();
    println!("held by {}", pids.join(" "));
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn an_agent_that_cannot_says_why() {
    // ECT(1) needs a program that can attach BPF, and this one cannot.
    let text = SCENARIO.replace("ecn = \"classic\"", "ecn = \"l4s\"");
    match Lab::build(&plan(&text, false), &agent()) {
        Err(OsError::Machine(why)) if why.contains("ECT(1)") => {
            // Both ends of the group mark their packets; either may be the first.
            assert!(why.contains(" of group `B`: ECT(1) instead of ECT(0)"), "{why}");
        }
        Err(OsError::Machine(why)) => println!("skipped: {why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_congestion_control_that_the_kernel_lacks_is_named() {
    let plan_with = |cc: &'static str| {
        let plan = l4s_scenario::Plan::parse("t.toml", SCENARIO, &[]).unwrap();
        let scenario = &plan.points[0].scenario;
        LabPlan::new(scenario, |_| cc.to_owned(), &LabOptions::default()).unwrap()
    };
    match Lab::build(&plan_with("none-such"), &agent()) {
        Err(OsError::Machine(why)) if why.contains("none-such") => {
            println!("{why}");
            assert!(why.contains("no congestion control `none-such`; it has "), "{why}");
        }
        Err(OsError::Machine(why)) => println!("skipped: {why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_program_that_is_no_agent_is_an_error_with_the_end_of_its_stderr() {
    let args = vec!["-c".into(), "echo no such subcommand >&2; exit 2".into()];
    let shell = AgentCommand { program: "/bin/sh".into(), args };
    let Err(OsError::Run(why)) = Lab::build(&plan(SCENARIO, false), &shell) else { panic!() };
    println!("{why}");
    // Either of them may be the first.
    let ended = |group| why.contains(&format!("of group `{group}` ended with exit code 2"));
    assert!(ended("A") || ended("B"), "{why}");
    assert!(why.ends_with("the end of its stderr: no such subcommand"), "{why}");
}

fn pids(lab: &Lab) -> impl Iterator<Item = u32> {
    lab.agents().iter().map(|agent| agent.pid)
}

fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
}

/// The processes that run. A process that ended has no namespace any more, but it remains in /proc until its
/// parent, or the process that adopts orphans here, has reaped it.
fn alive(pids: &[u32]) -> Vec<u32> {
    pids.iter().copied().filter(|pid| namespace(*pid).is_some()).collect()
}

fn namespace(pid: u32) -> Option<String> {
    let link = std::fs::read_link(format!("/proc/{pid}/ns/net")).ok()?;
    Some(link.to_string_lossy().into_owned())
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}
