//! Downloads, applications and changes in mid-run with the kernel in virtual time, compared with the
//! simulator.
//!
//! Without a kernel (`make linux`) a test prints `skipped: ` and the reason.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::Command;

use l4s_linux::Kernel;
use l4s_measure::Summary;

/// A scenario's summary on a substrate; `None` if it cannot run here.
fn run(scenario: &str, on: &str) -> Option<Summary> {
    if let Err(why) = Kernel::find() {
        println!("skipped: {why}");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder for the test");
    fs::write(folder.path().join("s.toml"), scenario).expect("a scenario");
    let mut command = Command::new(env!("CARGO_BIN_EXE_l4s"));
    command.current_dir(folder.path()).args(["run", "s.toml", "--json", "--on", on]);
    let output = command.output().expect("l4s starts");
    let words = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(3) {
        println!("skipped: {}", words.trim());
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{words}");
    let summary: Summary = serde_json::from_slice(&output.stdout).expect("a summary");
    assert_eq!(summary.engine.unfit, None, "{on}");
    Some(summary)
}

/// Both substrates: the simulator, and the kernel in virtual time.
fn both(scenario: &str) -> Option<[Summary; 2]> {
    let linux = run(scenario, "linux")?;
    Some([run(scenario, "sim")?, linux])
}

fn near(what: &str, sim: f64, linux: f64, share: f64) {
    println!("{what}: {sim:.3} simulated, {linux:.3} by Linux");
    assert!((sim - linux).abs() <= share * sim, "{what}: {sim} simulated, {linux} by Linux");
}

const LIGHT: &str = r#"
duration = "4s"
warmup   = "0s"
link     = { rate = "40mbit" }
aqm      = { kind = "dualpi2", profile = "linux" }
[[group]]
name  = "A"
cc    = "cubic"
rtt   = "10ms"
flows = 0
[[web]]
group = "A"
rate  = "100/s"
size  = { pareto = 0.9, min = "1kb", max = "100kb" }
"#;

#[test]
fn downloads_take_as_long_as_in_the_simulator() {
    for ip in [4, 6] {
        let Some([sim, linux]) = both(&format!("{LIGHT}[kernel]\nip = {ip}\n")) else { return };
        assert_eq!(linux.groups[0].downloads, sim.groups[0].downloads);
        assert_eq!(linux.completion.len(), sim.completion.len());
        let of = |summary: &Summary| summary.completion.iter().map(|bin| bin.flows).sum::<u64>();
        assert_eq!(of(&linux), of(&sim), "as many are complete");
        for (sim, linux) in sim.completion.iter().zip(&linux.completion) {
            assert_eq!((sim.bin_bytes, sim.flows), (linux.bin_bytes, linux.flows));
            let what = format!("{} of {:?} B", sim.flows, sim.bin_bytes);
            near(&what, sim.time_ms.mean, linux.time_ms.mean, 0.05);
        }
    }
}

#[test]
fn long_flows_and_downloads_share_a_link() {
    let long = LIGHT.replace("flows = 0", "flows = 1");
    let Some([sim, linux]) = both(&long) else { return };
    for summary in [&sim, &linux] {
        let group = &summary.groups[0];
        println!("{}: {:?}", summary.on, group.downloads);
        assert!(summary.link.utilization > 0.9, "{}", summary.link.utilization);
    }
    // The sampled windows of sockets are those of the long flow.
    assert!(linux.groups[0].cwnd_pkts.is_some_and(|cwnd| cwnd > 10.0), "{linux:?}");
    let delay = |summary: &Summary| summary.groups[0].delay_ms.as_ref().expect("delays").mean;
    near("delay in ms", delay(&sim), delay(&linux), 0.3);
}

/// An application alone on a link without a bucket, and one on a link with too low a rate.
const VIDEO: &str = r#"
duration = "12s"
warmup   = "2s"
link     = { rate = "40mbit", burst = "0b" }
aqm      = "fifo"
[[group]]
name  = "A"
cc    = "reno"
flows = 0
rtt   = "5ms"
[[app]]
group = "A"
rate  = "9267200bit"
fps   = 100
start = "1ms"
"#;

#[test]
fn a_frame_takes_what_the_link_takes_for_what_is_before_its_last_segment() {
    let Some([sim, linux]) = both(VIDEO) else { return };
    let app = |summary: &Summary| summary.groups[0].app.clone().expect("an application");
    let (sim, linux) = (app(&sim), app(&linux));
    println!("{sim:?}\n{linux:?}");
    let count = |app: &l4s_measure::AppSummary| (app.written, app.delivered, app.skipped);
    assert_eq!(count(&linux), (1000, 1000, 0));
    assert_eq!(count(&linux), count(&sim));
    // Eight full segments fit into the window: the last one starts after seven are sent,
    // 7 · 302.8 us.
    let delay = linux.delay_ms.expect("delays");
    for ms in [delay.p1, delay.mean, delay.p99] {
        assert!((ms - 2.1196).abs() < 0.02, "{delay:?}");
    }
    near("rate in b/s", sim.rate_bps, linux.rate_bps, 0.001);
}

#[test]
fn an_application_that_adapts_skips_as_many_frames_as_in_the_simulator() {
    let text = VIDEO
        .replace("link     = { rate = \"40mbit\", burst = \"0b\" }", "link.rate = \"2mbit\"")
        .replace("\"fifo\"", "\"codel\"")
        .replace("rate  = \"9267200bit\"\nfps   = 100", "rate  = \"4mbit\"\nadapt = true");
    let Some([sim, linux]) = both(&text) else { return };
    let app = |summary: &Summary| summary.groups[0].app.clone().expect("an application");
    let (sim, linux) = (app(&sim), app(&linux));
    println!("{sim:?}\n{linux:?}");
    assert_eq!(linux.written + linux.skipped, sim.written + sim.skipped, "as many were due");
    near("frames skipped", sim.skipped as f64, linux.skipped as f64, 0.1);
    let delay = |app: &l4s_measure::AppSummary| app.delay_ms.expect("delays").mean;
    near("delay in ms", delay(&sim), delay(&linux), 0.2);
}

const CHANGES: &str = r#"
duration = "8s"
warmup   = "0s"
link     = { rate = "40mbit" }
aqm      = { kind = "dualpi2", profile = "linux" }
[[group]]
name = "A"
cc   = "cubic"
rtt  = "10ms"
[[at]]
time = "2s"
link.rate = "10mbit"
[[at]]
time = "4s"
group.A.rtt = "40ms"
[[at]]
time = "6s"
aqm  = { kind = "codel", profile = "linux" }
"#;

#[test]
fn the_link_the_path_and_the_discipline_change_in_mid_run() {
    let Some([sim, linux]) = both(CHANGES) else { return };
    // 2 s at 40 Mb/s and 6 s at 10 Mb/s, both nearly full.
    near("rate in Mb/s", sim.groups[0].rate_bps / 1e6, linux.groups[0].rate_bps / 1e6, 0.05);
    // Simulated, it is the mean over all ACKs. Most of them arrived while the link was fast. A real
    // socket is sampled ten times a second: 4 s with 10 ms and 4 s with 40 ms, plus the queueing delay.
    let rtt = linux.groups[0].rtt_ms.unwrap();
    assert!((25.0..50.0).contains(&rtt), "{rtt} ms");
    let names = |summary: &Summary| {
        summary.queues.iter().map(|queue| queue.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&sim), names(&linux));
    let count = |name| linux.engine.qdisc.get(name).copied().unwrap_or(0);
    // The kernel drops queued packets; the queues' counters include each of them.
    assert!(count("dropped_replaced") > 0, "{:?}", linux.engine.qdisc);
    let drops = linux.queues.iter().map(|queue| &queue.drops);
    let seen: u64 = drops.map(|d| d.overload + d.aqm + d.limit + d.memory).sum();
    println!("{:?}, {seen} seen", linux.engine.qdisc);
    assert!(count("dropped") - seen <= 2, "{seen} of {} drops", count("dropped"));
    // Both disciplines forwarded packets.
    assert!(linux.queues.iter().filter(|queue| queue.packets > 0).count() >= 2, "{linux:?}");
}

#[test]
fn what_linux_has_not_is_refused_before_anything_runs() {
    let text = CHANGES.replace("kind = \"codel\", profile = \"linux\"", "kind = \"pi2\"");
    let folder = tempfile::tempdir().expect("a folder for the test");
    fs::write(folder.path().join("s.toml"), text).expect("a scenario");
    let mut command = Command::new(env!("CARGO_BIN_EXE_l4s"));
    command.current_dir(folder.path()).args(["run", "s.toml", "--on", "linux", "--out", "out"]);
    let output = command.output().expect("l4s starts");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(words.contains("from 6s on: Linux has no `pi2`"), "{words}");
    assert!(!folder.path().join("out").exists());
}
