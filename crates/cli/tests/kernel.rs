//! Real TCP from the command line: what arrives, what is counted, what is refused, and what is
//! left when anything dies.
//!
//! Where the machine does not allow it, a test says `skipped: ` and why.
#![cfg(target_os = "linux")]

#[path = "kernel/machine.rs"]
mod machine;
mod real;
#[path = "kernel/trace.rs"]
mod trace;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::{Duration, Instant};

use l4s_lab::{AgentCommand, Clock, End, Lab, LabError, LabOptions, LabPlan, Ledger, Plane};
use l4s_lab::{Settings, pump};
use l4s_measure::{GroupSummary, Results, Scope, SeriesRow, Summary};
use l4s_units::Time;

use machine::{L4S, ended_within, within};
use real::{done, folder, stderr};
use trace::{CE, Checksum, ECT0, ECT1, NOT_ECT, Seen};

/// Real time needs the machine for itself: one lab at a time.
fn alone() -> MutexGuard<'static, ()> {
    static LAB: Mutex<()> = Mutex::new(());
    LAB.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `l4s run s.toml --on kernel`, and more.
fn l4s(folder: &Path, more: &[&str]) -> Command {
    real::l4s_on("kernel", folder, more)
}

/// Runs a scenario of one run.
fn run(scenario: &str) -> Option<Summary> {
    let _alone = alone();
    let folder = folder(scenario);
    done(&l4s(folder.path(), &["--json"]).output().expect("l4s starts"))?.pop()
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
        // A packet takes 0.6 ms, an ACK is at once; a smoothed RTT is some RTTs behind the queue.
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

/// Where Prague by BPF is held by a run, and where no process holds one.
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
    // Two processes of this test or of others may hold one: it is looked for among all.
    let mut row = None;
    let seen = within(Duration::from_secs(60), || {
        let found = status();
        if found.status.success() {
            let page = String::from_utf8_lossy(&found.stdout).into_owned();
            let sender = |line: &&str| line.starts_with("10.0.0.1:");
            row = page.lines().find(sender).map(|line| (line.to_owned(), page.clone()));
        }
        row.is_some() || run.try_wait().expect("a process").is_some()
    });
    assert!(seen, "neither a connection nor the end of the run");
    let output = run.wait_with_output().expect("output");
    if done(&output).is_none() {
        // Without Prague there is nothing to tell, and the reason is said.
        let refused = status();
        assert_eq!(refused.status.code(), Some(3), "{refused:?}");
        assert!(stderr(&refused).starts_with("error: l4s host status: "), "{refused:?}");
        return;
    }
    let (row, page) = row.expect("a connection while the run went on");
    assert!(page.starts_with("prague  "), "{page}");
    let words: Vec<&str> = row.split_whitespace().collect();
    let [_, peer, cwnd, alpha, score, verdict, srtt, mdev, depth] = words[..] else {
        panic!("{row}")
    };
    assert!(peer.starts_with("10."), "{row}");
    assert!((2..1000).contains(&cwnd.parse::<u32>().unwrap()), "{row}");
    let number = |word: &str| word.parse::<f64>().unwrap();
    assert!((0.0..=1.0).contains(&number(alpha)) && (-8.0..=8.0).contains(&number(score)), "{row}");
    assert!(["-", "l4s", "transition", "classic"].contains(&verdict), "{row}");
    assert!(number(srtt) < 1000.0 && number(mdev) < 1000.0 && number(depth) < 1000.0, "{row}");
    // Nothing is left behind, unless another process has one.
    let after = status();
    if after.status.code() == Some(3) {
        let words = stderr(&after);
        assert!(words.contains("no Prague by BPF is loaded on this machine"), "{words}");
    } else {
        assert!(after.status.success(), "{after:?}");
    }
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

/// The codepoint that each of them sends, in the same order.
const SENT: [u8; 7] = [NOT_ECT, ECT0, ECT1, NOT_ECT, ECT1, ECT0, CE];

/// A run with everything that is kept of it.
struct Kept {
    summary: Summary,
    series: Vec<SeriesRow>,
    /// `None` without tshark.
    packets: Option<Vec<Seen>>,
}

/// The run of [`ALL`] with IPv4 and the one with IPv6: one each for all tests.
fn kept() -> impl Iterator<Item = (u8, &'static Kept)> {
    static KEPT: [OnceLock<Option<Kept>>; 2] = [const { OnceLock::new() }; 2];
    let run = |ip: u8| keep(&ALL.replace("{ip}", &ip.to_string()));
    let kept = move |(ip, kept): (u8, &'static OnceLock<Option<Kept>>)| {
        Some((ip, kept.get_or_init(|| run(ip)).as_ref()?))
    };
    [4, 6].into_iter().zip(&KEPT).filter_map(kept)
}

fn keep(scenario: &str) -> Option<Kept> {
    let _alone = alone();
    let folder = folder(scenario);
    let more = ["--json", "--out", "out", "--trace", "pcapng-full"];
    let summary = done(&l4s(folder.path(), &more).output().expect("l4s starts"))?.pop()?;
    let out = folder.path().join("out");
    let results = Results::open(&out).expect("results");
    let (_, series) = results.series().expect("series").next().expect("a run").expect("rows");
    Some(Kept { summary, series, packets: trace::read(&out.join("trace.pcapng")) })
}

/// Those whose packets could be read.
fn traced() -> impl Iterator<Item = (u8, &'static [Seen])> {
    kept().filter_map(|(ip, kept)| Some((ip, kept.packets.as_deref()?)))
}

#[test]
fn series_hold_what_the_sockets_tell() {
    for (ip, kept) in kept() {
        for (name, has_ecn) in [("cubic.0", false), ("dctcp.1", true), ("prague.2", true)] {
            let is_ours = |row: &&SeriesRow| row.scope == Scope::Flow && row.name == name;
            let rows: Vec<&SeriesRow> = kept.series.iter().filter(is_ours).collect();
            assert!(rows.len() >= 10, "IPv{ip} {name}: {} rows", rows.len());
            assert!(rows.is_sorted_by_key(|row| row.delivered), "IPv{ip} {name}");
            let last = rows.last().expect("a row");
            assert!(last.delivered.is_some_and(|n| n > 100), "IPv{ip} {last:?}");
            assert_eq!(last.delivered_ce.is_some_and(|n| n > 0), has_ecn, "IPv{ip} {last:?}");
            assert!(last.delivered_ce <= last.delivered, "IPv{ip} {last:?}");
            assert!(last.retransmits.is_some() && last.cwnd_pkts.is_some(), "IPv{ip} {last:?}");
            assert!(last.srtt_ms.is_some_and(|rtt| rtt >= 10.0), "IPv{ip} {last:?}");
        }
    }
}

#[test]
fn datagrams_of_each_codepoint_arrive() {
    for (ip, kept) in kept() {
        for name in ["not-ect", "ect1", "ect0", "ce"] {
            // 400 kb/s in packets of 4000 bits for 1.5 s, some of which the AQM may drop.
            let packets = group(&kept.summary, name).packets;
            println!("IPv{ip}: {packets} packets of {name}");
            assert!((100..=152).contains(&packets), "IPv{ip} {name}: {packets}");
        }
    }
}

#[test]
fn no_packet_has_a_bad_checksum() {
    for (ip, packets) in traced() {
        assert!(packets.len() > 4000, "{} packets", packets.len());
        for packet in packets {
            let header = if ip == 4 { Checksum::Good } else { Checksum::Absent };
            let (tcp, udp) = match packet.tcp_payload {
                Some(_) => (Checksum::Good, Checksum::Absent),
                None => (Checksum::Absent, Checksum::Good),
            };
            assert_eq!(packet.checksums, [header, tcp, udp], "IPv{ip} {packet:?}");
        }
    }
}

#[test]
fn each_sender_has_its_codepoint() {
    for (ip, packets) in traced() {
        for (pair, codepoint) in SENT.into_iter().enumerate() {
            // A handshake has codepoints of its own.
            let is_data = |p: &&Seen| p.pair == pair && p.tcp_payload.is_none_or(|n| n > 0);
            let data = || packets.iter().filter(is_data);
            let came = data().filter(|packet| packet.on == "in").collect::<Vec<_>>();
            assert!(came.len() > 100, "IPv{ip} pair {pair}: {}", came.len());
            let other = came.iter().find(|packet| packet.ecn != codepoint);
            assert!(other.is_none(), "IPv{ip}: {codepoint:02b} expected of {other:?}");
            let other = data().find(|p| ![codepoint, CE].contains(&p.ecn));
            assert!(other.is_none(), "IPv{ip}: {codepoint:02b} or CE expected of {other:?}");
        }
    }
}

#[test]
fn a_mark_is_all_that_changes_and_is_noted_where_it_is() {
    for (ip, packets) in traced() {
        let followed = trace::followed(packets);
        marks_are_right(&followed);
        for pair in [1, 2] {
            let marked = followed.iter().filter(|(_, left)| left.pair == pair && left.marked);
            assert!(marked.count() > 0, "IPv{ip}: no mark for pair {pair}");
        }
    }
}

/// Packets that all look alike, marked as they arrive at a queue of many.
#[test]
fn a_mark_is_noted_at_the_datagram_that_has_it() {
    let text = "duration = \"1s\"\nlink = { rate = \"10mbit\", buffer = \"200p\" }\n\
                aqm = { kind = \"pie\" }\n\
                udp = [{ name = \"U\", rate = \"11mbit\", packet = \"1000b\", ecn = \"ect0\" }]\n";
    let Some(kept) = keep(text) else { return };
    let Some(packets) = &kept.packets else { return };
    let followed = trace::followed(packets);
    let marked = followed.iter().filter(|(_, left)| left.ecn == CE).count();
    println!("{marked} of {} datagrams are CE", followed.len());
    assert!(marked > 0, "{:?}", kept.summary.queues);
    marks_are_right(&followed);
}

fn marks_are_right(followed: &[(&Seen, &Seen)]) {
    for (came, left) in followed {
        if left.marked {
            assert!(left.on == "out" && left.ecn == CE && came.ecn != NOT_ECT, "{came:?} {left:?}");
        } else {
            assert_eq!(left.ecn, came.ecn, "{left:?}");
        }
    }
}

/// What of a packet's way can be counted twice: by the data plane, and by the interfaces of the
/// namespaces, where a TUN device counts as sent what was read from it.
#[test]
fn what_the_plane_counts_is_what_the_interfaces_count() {
    let _alone = alone();
    let text = "duration = \"1500ms\"\nlink = { rate = \"20mbit\", buffer = \"50p\" }\n\
                aqm = { kind = \"pie\" }\n\
                [[group]]\nname = \"A\"\ncc = \"cubic\"\nflows = 3\nrtt = \"10ms\"\n\
                [[group]]\nname = \"B\"\ncc = \"reno\"\necn = \"classic\"\nsize = \"50kB\"\n\
                flows = 20\nstart = { every = \"20ms\" }\nrtt = \"20ms\"\n\
                [[udp]]\nname = \"U\"\nrate = \"5mbit\"\npacket = \"200B\"\n";
    let scenario = l4s_scenario::Plan::parse("t", text, &[]).expect("a plan");
    let scenario = &scenario.points[0].scenario;
    let stock = |group: &l4s_scenario::Group| group.cc.kind().to_owned();
    let plan = LabPlan::new(scenario, stock, &LabOptions::default()).expect("a plan");
    let agent = AgentCommand { program: L4S.into(), args: vec!["agent".into()] };
    let mut lab = match Lab::build(&plan, &agent) {
        Ok(lab) => lab,
        Err(LabError::Machine(why)) => return println!("skipped: {why}"),
        Err(error) => panic!("{error}"),
    };

    let (ports, mut plane) = (lab.take_ports(), Plane::new(scenario));
    let (_nobody_tells, reports) = mpsc::channel();
    let mut ledger = Ledger::new(scenario, reports);
    let clock = Clock::starting_in(l4s_units::Duration::from_millis(50));
    let stop = AtomicBool::new(false);
    let settings = Settings::new(clock, Time::ZERO + scenario.duration, &stop);
    lab.start(clock);
    pump(&ports, &mut plane, settings, &mut ledger, &mut ()).expect("a run");

    let mut waiting = plane.backlog().packets as u64;
    let (mut dropped, mut passed) = (0, 0);
    for (agent, number) in lab.agents().iter().zip(0..) {
        let (pair, end) = (number / 2, [End::Server, End::Client][number % 2]);
        let (sent, back) = (plane.counters(pair, end), plane.counters(pair, end.other()));
        let interface = Interface::of(agent.pid);
        println!("{}: {interface:?}, {sent:?}", agent.who);
        assert_eq!(interface.sent, sent.received, "{}", agent.who);
        assert_eq!(interface.received, back.forwarded, "{}", agent.who);
        assert_eq!(interface.not_received, back.refused, "{}", agent.who);
        // What the plane did not take in time would be a loss that no queue discipline made.
        assert_eq!(interface.not_sent, 0, "{}", agent.who);
        let under_way = sent.received - sent.gone();
        match end {
            End::Server => waiting -= under_way,
            End::Client => assert_eq!(under_way, plane.on_line(pair) as u64, "{}", agent.who),
        }
        dropped += sent.dropped;
        passed += sent.forwarded;
    }
    assert_eq!(waiting, 0, "what came and is not gone waits in the bottleneck");
    assert!(dropped > 0 && passed > 1000, "{dropped} dropped, {passed} passed");
}

/// The packets that the kernel counts at an agent's device.
#[derive(Debug)]
struct Interface {
    received: u64,
    not_received: u64,
    sent: u64,
    not_sent: u64,
}

impl Interface {
    fn of(agent: u32) -> Interface {
        let text = fs::read_to_string(format!("/proc/{agent}/net/dev")).expect("its interfaces");
        let line = text.lines().find_map(|line| line.trim().strip_prefix("l4s0:"));
        // Received: bytes packets errs drop fifo frame compressed multicast; then sent, likewise.
        let numbers: Vec<u64> = line
            .expect("its device")
            .split_whitespace()
            .map(|number| number.parse().expect("a number"))
            .collect();
        Interface {
            received: numbers[1],
            not_received: numbers[2] + numbers[3],
            sent: numbers[9],
            not_sent: numbers[10] + numbers[11],
        }
    }
}

#[test]
fn two_hundred_short_flows_complete() {
    let web = "duration = \"2s\"\nwarmup = \"0s\"\nlink = { rate = \"40mbit\" }\n\
               aqm = { kind = \"dualpi2\" }\n\
               [[group]]\nname = \"web\"\ncc = \"cubic\"\nflows = 200\nsize = \"20kB\"\n\
               start = { every = \"5ms\" }\nrtt = \"10ms\"\n";
    let Some(summary) = run(web) else { return };
    let completed: u64 = summary.completion.iter().map(|bin| bin.flows).sum();
    println!("{completed} complete: {:?}", summary.completion);
    assert_eq!(completed, 200);
    // A handshake, and twenty thousand bytes in windows from ten packets on: at least two RTTs.
    assert!(summary.completion.iter().all(|bin| bin.time_ms.p1 >= 20.0), "{summary:?}");
}

#[test]
fn downloads_complete_and_are_counted_apart() {
    let web = "duration = \"3s\"\nwarmup = \"0s\"\nlink = { rate = \"40mbit\" }\n\
               aqm = { kind = \"dualpi2\" }\n\
               [[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"10ms\"\n\
               [[group]]\nname = \"B\"\ncc = \"reno\"\nflows = 0\nrtt = \"10ms\"\n\
               [[web]]\ngroup = \"B\"\nrate = \"100/s\"\nsize = \"10kb\"\nstop = \"2s\"\n";
    let Some(summary) = run(web) else { return };
    let [a, b] = [group(&summary, "A"), group(&summary, "B")];
    println!("{:?}, {:?}", b.downloads, summary.completion);
    let completed: u64 = summary.completion.iter().map(|bin| bin.flows).sum();
    assert!((150..250).contains(&completed), "some 200 in 2 s: {completed}");
    assert_eq!(b.downloads, Some(completed), "all of them, a second after the last began");
    assert!(summary.completion.iter().all(|bin| bin.group == "B" && bin.time_ms.p1 >= 20.0));
    assert!(a.cwnd_pkts.is_some() && b.cwnd_pkts.is_none(), "downloads are not sampled");
    // What the long flow leaves of the link is what the downloads took: 200 times 10 kB.
    assert!(b.rate_bps > 1e6 && a.rate_bps > 20e6, "{a:?} {b:?}");
}

#[test]
fn an_application_has_its_rate_on_an_idle_link() {
    // Frames of 10,000 B, which are seven segments with 52 B of headers each.
    let video = "duration = \"3s\"\nwarmup = \"0s\"\n\
                 link = { rate = \"40mbit\", burst = \"0b\" }\naqm = { kind = \"fifo\" }\n\
                 [[group]]\nname = \"A\"\ncc = \"cubic\"\nflows = 0\nrtt = \"10ms\"\n\
                 [[app]]\ngroup = \"A\"\nrate = \"4mbit\"\nfps = 50\nflows = 2\n";
    let Some(summary) = run(video) else { return };
    let a = group(&summary, "A");
    let app = a.app.as_ref().expect("an application");
    println!("{app:?}");
    assert_eq!((app.flows, a.flows, app.skipped), (2, 0, 0));
    // Fifty a second each, after two round trips; the last ones are under way.
    assert!((240..=300).contains(&app.written), "{app:?}");
    assert!(app.delivered <= app.written && app.written - app.delivered < 30, "{app:?}");
    let bytes = app.rate_bps * 3.0 / 8.0;
    let frames = |n: u64| (n * (10_000 + 7 * 52)) as f64;
    assert!(bytes >= frames(app.delivered), "{bytes} B in {app:?}");
    // A handshake has 60 B, and the answer to the request 52. Nothing is lost on this link, but
    // where the machine pauses a sender may think so and send again: the end of a frame, or one of
    // its segments.
    let again = (a.retransmits * (1500 + 52)) as f64;
    assert!(bytes <= frames(app.written) + 500.0 + again, "{bytes} B in {app:?}, {a:?}");
    // What is before the last segment of a frame takes 6 · 1514 B of the link.
    assert!(app.delay_ms.is_some_and(|delay| delay.p1 >= 1.816), "{app:?}");
    assert!(a.cwnd_pkts.is_some() && a.rtt_ms.is_some(), "it is sampled: {a:?}");
}

#[test]
fn an_application_that_adapts_skips_what_the_link_does_not_carry() {
    // 4 Mb/s of frames through 2 Mb/s.
    let video = |adapt: bool| {
        format!(
            "duration = \"4s\"\nwarmup = \"0s\"\nlink.rate = \"2mbit\"\naqm = \"codel\"\n\
             [[group]]\nname = \"A\"\ncc = \"cubic\"\nflows = 0\nrtt = \"10ms\"\n\
             [[app]]\ngroup = \"A\"\nrate = \"4mbit\"\nfps = 50\nadapt = {adapt}\n"
        )
    };
    let Some(patient) = run(&video(false)) else { return };
    let Some(adapting) = run(&video(true)) else { return };
    let [patient, adapting] =
        [&patient, &adapting].map(|summary| group(summary, "A").app.clone().expect("one"));
    println!("{patient:?}\n{adapting:?}");
    // 200 are due, but for two round trips; 2 Mb/s carry 23.9 a second.
    for app in [&patient, &adapting] {
        assert!((160..=200).contains(&(app.written + app.skipped)), "{app:?}");
        assert!(app.delivered <= app.written.min(96), "{app:?}");
    }
    assert_eq!(patient.skipped, 0);
    assert!(adapting.skipped >= 90, "{adapting:?}");
    // What is not delivered is no more than waits in the socket and in the queue, and so soon.
    assert!(adapting.written - adapting.delivered < 20, "{adapting:?}");
    let mean = |app: &l4s_measure::AppSummary| app.delay_ms.expect("delays").mean;
    assert!(mean(&adapting) < mean(&patient), "{adapting:?} {patient:?}");
}

#[test]
fn the_link_the_path_and_the_discipline_change_in_mid_run() {
    let changes = "duration = \"4s\"\nwarmup = \"0s\"\nlink = { rate = \"40mbit\" }\n\
                   aqm = { kind = \"dualpi2\" }\n\
                   [[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"10ms\"\n\
                   [[at]]\ntime = \"1s\"\nlink.rate = \"10mbit\"\n\
                   [[at]]\ntime = \"2s\"\ngroup.A.rtt = \"60ms\"\n\
                   [[at]]\ntime = \"3s\"\naqm = { kind = \"codel\" }\n";
    let Some(summary) = run(changes) else { return };
    let a = group(&summary, "A");
    println!("{} of {} b/s, RTT {:?} ms", a.rate_bps, summary.link.rate_bps, a.rtt_ms);
    // A second at 40 and three at 10 Mb/s.
    assert_eq!(summary.link.rate_bps, 17.5e6);
    assert!((0.6..1.01).contains(&summary.link.utilization), "{}", summary.link.utilization);
    // Half the time at 10 ms and half at 60 ms, and the queue.
    assert!(a.rtt_ms.is_some_and(|rtt| rtt > 35.0), "{a:?}");
    let queue = |name: &str| summary.queues.iter().find(|queue| queue.name == name);
    assert!(["C", "Q"].iter().all(|name| queue(name).is_some_and(|q| q.packets > 200)));
}

#[test]
fn a_flood_of_small_packets_is_dropped_and_counted() {
    let flood = "duration = \"1s\"\nwarmup = \"200ms\"\n\
                 link = { rate = \"10mbit\", buffer = \"100p\" }\naqm = { kind = \"fifo\" }\n\
                 udp = [{ name = \"U\", rate = \"200mbit\", packet = \"64b\" }]\n";
    let Some(summary) = run(flood) else { return };
    let (queue, flood) = (&summary.queues[0], group(&summary, "U"));
    println!("{} passed, {:?} dropped", flood.packets, queue.drops);
    // 64 B and 14 B of Ethernet at 10 Mb/s for 0.8 s: 12,820 at most. It is less where the machine
    // pauses for longer than the 6 ms that 100 packets take.
    assert!((6_000..12_900).contains(&flood.packets), "{flood:?}");
    assert!(queue.drops.limit > flood.packets, "{queue:?}");
    assert!(flood.drop.is_some_and(|drop| drop > 0.5), "{flood:?}");
}

/// Starts a command that nobody reads.
fn start(folder: &Path, more: &[&str]) -> Child {
    let quiet = Stdio::null();
    l4s(folder, more).stdout(quiet).stderr(Stdio::piped()).spawn().expect("l4s starts")
}

/// What a command that has ended said.
fn said(command: &mut Child) -> String {
    let stderr = command.stderr.take().expect("a pipe");
    std::io::read_to_string(stderr).expect("text")
}

/// [`TWO`] for long enough to be killed in it; without DCTCP where that cannot be.
fn long() -> Option<String> {
    let text = TWO.replace("2s", "20s");
    let _alone = alone();
    for (text, short) in [&text, &text.replace("dctcp", "reno")].map(|t| (t, "duration=100ms")) {
        let folder = folder(text);
        let more = ["--set", short, "--set", "warmup=0s", "--json"];
        let output = l4s(folder.path(), &more).output().expect("l4s starts");
        if done(&output).is_some() {
            return Some(text.clone());
        }
    }
    None
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Victim {
    Command,
    OneAgent,
    All,
}

#[test]
fn nothing_is_left_of_what_is_killed() {
    let rounds = std::env::var("L4S_KILL_ROUNDS").map_or(12, |n| n.parse().expect("a number"));
    let Some(text) = long() else { return };
    let _alone = alone();
    let folder = folder(&text);
    let mut random = std::process::id();
    let mut next = |below: u32| {
        // Any sequence will do; this one is of Numerical Recipes.
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) % below
    };
    let start = Instant::now();
    for round in 0..rounds {
        let victim = [Victim::Command, Victim::OneAgent, Victim::All][round % 3];
        kill_one(folder.path(), victim, Duration::from_micros(next(600_000).into()), next(4));
    }
    println!("{rounds} rounds in {:?}", start.elapsed());
}

/// That everything goes is ours to see to; how soon, the kernel's and the machine's: under load the
/// end of a process that holds a network namespace and BPF programs can take seconds.
const GONE_WITHIN: Duration = Duration::from_secs(60);

/// One lab, killed at `moment` after its start.
fn kill_one(folder: &Path, victim: Victim, moment: Duration, which: u32) {
    let (interfaces, namespaces) = (machine::interfaces(), machine::namespaces());
    assert_eq!(machine::agents(), Vec::<u32>::new());
    let mut command = start(folder, &[]);
    let pid = command.id();
    std::thread::sleep(moment);
    // Of what it started, the last may not be what it will be yet.
    let mut agents = machine::agents_of(pid);
    if victim == Victim::OneAgent {
        assert!(within(Duration::from_secs(5), || {
            agents = machine::agents_of(pid);
            !agents.is_empty()
        }));
    }
    let theirs: Vec<String> = agents
        .iter()
        .filter_map(|agent| machine::namespace(*agent))
        .filter(|namespace| !namespaces.contains(namespace))
        .collect();
    let told = format!("{victim:?} of 1 + {} after {moment:?}", agents.len());
    println!("{told}");

    let killed = Instant::now();
    match victim {
        Victim::Command => machine::kill(&[pid]),
        Victim::OneAgent => machine::kill(&[agents[which as usize % agents.len()]]),
        Victim::All => machine::kill(&[&[pid], agents.as_slice()].concat()),
    }
    let status = ended_within(&mut command, GONE_WITHIN).expect(&told);
    if victim == Victim::OneAgent {
        let words = said(&mut command);
        println!("  after {:?}: {}", killed.elapsed(), words.lines().last().unwrap_or_default());
        assert_eq!(status.code(), Some(1), "{told}: {words}");
        let named = ["the server of", "the client of"].iter().any(|end| words.contains(end));
        assert!(named && (words.contains("`A`") || words.contains("`B`")), "{told}: {words}");
    }

    let no_agents = || machine::agents().is_empty();
    assert!(within(GONE_WITHIN, no_agents), "{told}: {:?}", machine::agents());
    let inhabited = || machine::namespaces().into_iter().any(|it| theirs.contains(&it));
    assert!(within(GONE_WITHIN, || !inhabited()), "{told}: a namespace is left");
    let control = format!("dctcp{pid}");
    assert!(within(GONE_WITHIN, || !machine::has_control(&control)), "{told}: {control} is left");
    assert_eq!(machine::interfaces(), interfaces, "{told}");
    println!("  all gone after {:?}", killed.elapsed());
}

#[test]
fn two_labs_at_once_do_not_meet() {
    let _alone = alone();
    let folder = folder(TWO);
    let start = |()| {
        let mut command = l4s(folder.path(), &["--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("l4s starts")
    };
    let commands = [(); 2].map(start);
    let pids = [commands[0].id(), commands[1].id()];
    let all = || pids.iter().flat_map(|pid| machine::agents_of(*pid));
    let complete = within(Duration::from_secs(3), || {
        all().count() == 8 && all().all(|agent| machine::agents().contains(&agent))
    });
    if complete {
        std::thread::sleep(Duration::from_millis(500));
        let namespaces: Vec<_> = all().filter_map(machine::namespace).collect();
        let different: std::collections::BTreeSet<_> = namespaces.iter().collect();
        assert_eq!((namespaces.len(), different.len()), (8, 8), "each agent has its own");
        if !machine::has_control("dctcp") {
            let both = pids.map(|pid| machine::has_control(&format!("dctcp{pid}")));
            assert_eq!(both, [true, true], "each command has its own DCTCP");
        }
    }
    for command in commands {
        let output = command.wait_with_output().expect("output");
        let Some(summaries) = done(&output) else { return };
        assert!(complete, "each command has four agents");
        let summary = &summaries[0];
        println!("{}, unfit: {:?}", summary.link.utilization, summary.engine.unfit);
        assert!(summary.link.utilization > 0.5, "{summary:?}");
        assert!(summary.groups.iter().all(|group| group.rate_bps > 0.0), "{summary:?}");
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

/// A command as nobody, in a folder where nobody may write; `None` where that cannot be.
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

/// Without rights and without a result, there are words and no folder.
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
        assert!(summary.link.utilization > 0.8, "{summary:?}");
    } else {
        refused_with_words(folder.path(), &output, &["run as root", "modprobe"]);
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

#[test]
fn an_interrupted_sweep_goes_on_where_it_was() {
    let Some(_) = long() else { return };
    let _alone = alone();
    let sweep = TWO.replace("dctcp", "reno").replace("2s", "1s");
    let folder = folder(&format!("{sweep}[sweep]\n\"link.rate\" = [\"10mbit\", \"20mbit\"]\n"));
    let first = folder.path().join("out/runs/0000000");
    let mut command = start(folder.path(), &["--out", "out"]);
    assert!(within(Duration::from_secs(5), || first.exists()), "the first run is kept");
    std::thread::sleep(Duration::from_millis(300));
    machine::kill(&[command.id()]);
    command.wait().expect("a process");
    let kept: serde_json::Value =
        serde_json::from_slice(&fs::read(&first).expect("a run")).expect("a record");

    let more = ["--json", "--out", "out", "--resume"];
    let output = l4s(folder.path(), &more).output().expect("l4s starts");
    let summaries = done(&output).expect("it ran before");
    assert!(stderr(&output).contains("1 runs were done before"), "{}", stderr(&output));
    let rates: Vec<_> = summaries.iter().map(|summary| summary.link.rate_bps).collect();
    assert_eq!(rates, [10e6, 20e6]);
    assert_eq!(serde_json::to_value(&summaries[0]).expect("JSON"), kept["summary"]);
    let results = Results::open(&folder.path().join("out")).expect("results");
    assert_eq!(results.runs().len(), 2);
    for run in results.runs() {
        println!("{} of {} b/s", run.summary.link.utilization, run.summary.link.rate_bps);
        assert!(run.summary.link.utilization > 0.5, "{:?}", run.summary);
    }
}
