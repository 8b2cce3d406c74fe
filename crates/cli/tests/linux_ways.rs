//! An uplink and imperfect paths with the kernel in virtual time: numbers that arithmetic gives, conservation,
//! changes in mid-run, repeatability, and agreement with the simulator.
//!
//! Without a kernel (`make linux`) a test prints `skipped: ` and the reason.
#![cfg(target_os = "linux")]

mod real;
#[path = "kernel/trace.rs"]
mod trace;

use std::path::Path;

use l4s_measure::Summary;
use real::{done, folder};

/// The summary of a scenario on a substrate, with more arguments; `None` if it cannot run here. It is fit.
fn run(on: &str, folder: &Path, more: &[&str]) -> Option<Summary> {
    let output = real::l4s_on(on, folder, more).arg("--json").output().expect("l4s starts");
    let [summary] = &done(&output)?[..] else { panic!("one run") };
    // Among others: the kernel counted the drops that were seen at both links.
    assert_eq!(summary.engine.unfit, None, "{on} {more:?}");
    Some(summary.clone())
}

fn linux(text: &str, more: &[&str]) -> Option<Summary> {
    run("linux", folder(text).path(), more)
}

fn group<'a>(summary: &'a Summary, name: &str) -> &'a l4s_measure::GroupSummary {
    summary.groups.iter().find(|group| group.name == name).expect("a group")
}

/// The queue of the uplink, where that has one.
fn uplink(summary: &Summary) -> &l4s_measure::QueueSummary {
    let hop = summary.hops.iter().find(|hop| hop.name == "uplink").expect("an uplink");
    assert_eq!(hop.direction.as_deref(), Some("up"));
    &hop.queues[0]
}

/// A link of 20 Mb/s, an uplink of 5 Mb/s, and short queues.
const LINKS: &str = r#"
duration = "8s"
warmup   = "2s"
link     = { rate = "20mbit", buffer = "50p" }
aqm      = "fifo"
uplink   = { rate = "5mbit", buffer = "60p", aqm = "fifo" }
"#;

const UPLOAD: &str = r#"
[[group]]
name      = "up"
direction = "up"
cc        = "reno"
rtt       = "20ms"
"#;

const DOWNLOAD: &str = r#"
[[group]]
name = "A"
cc   = "reno"
rtt  = "20ms"
"#;

#[test]
fn an_upload_alone_has_the_uplink_and_its_acknowledgements_the_link() {
    for ip in ["kernel.ip=4", "kernel.ip=6"] {
        let text = format!("{LINKS}{UPLOAD}");
        let Some(summary) = linux(&text, &["--set", ip]) else { return };
        // 60 packets of 1514 B at 5 Mb/s are 145 ms. Reno halves a window of 68 packets, 26 of which still wait.
        let queue = uplink(&summary);
        let delay = queue.delay_ms.expect("delays");
        assert!(summary.hops[0].utilization.expect("a constant rate") > 0.999, "{summary:?}");
        assert!(delay.max <= 146.0 && delay.mean > 26.0 * 2.4, "{delay:?}");
        assert!(queue.drops.limit + queue.drops.aqm > 0, "{queue:?}");
        let up = group(&summary, "up");
        assert!((4.9e6..=5e6).contains(&up.rate_bps), "{}", up.rate_bps);
        assert_eq!(up.delay_ms.expect("delays").max, delay.max);
        // 2.4 ms for each packet on the uplink, and nothing for its acknowledgement.
        let rtt = up.rtt_ms.expect("sockets tell it");
        let expected = 20.0 + delay.mean + 2.4;
        assert!((rtt - expected).abs() < 0.1 * expected, "{ip}: {rtt} ms, not {expected} ms");
        // An acknowledgement of 66 B or more for one or two packets of 1514 B.
        assert!((0.005..0.02).contains(&summary.link.utilization), "{}", summary.link.utilization);
        // Delays are those of data.
        assert!(summary.queues[0].packets > 500 && summary.queues[0].delay_ms.is_none());
    }
}

#[test]
fn acknowledgements_queue_in_the_uplink() {
    let text = format!("{LINKS}{UPLOAD}{DOWNLOAD}");
    let folder = folder(&text);
    let Some(kernel) = run("linux", folder.path(), &[]) else { return };
    let sim = run("sim", folder.path(), &[]).expect("the simulator runs anywhere");
    for summary in [&kernel, &sim] {
        let (down, up) = (summary.queues[0].delay_ms.expect("delays"), uplink(summary));
        let delay = up.delay_ms.expect("delays");
        let rtt = group(summary, "A").rtt_ms.expect("an RTT");
        // The base RTT, both queues, and the time of a packet on the link.
        let expected = 20.0 + down.mean + delay.mean + 0.6;
        println!("{}: {rtt:.1} ms, of which {:.1} ms uplink", summary.on, delay.mean);
        assert!(delay.mean > 15.0, "{delay:?}");
        assert!((rtt - expected).abs() < 0.1 * expected, "{rtt} ms, not {expected} ms");
    }
    let means = [&kernel, &sim].map(|summary| uplink(summary).delay_ms.expect("delays").mean);
    assert!((means[0] - means[1]).abs() < 0.15 * means[1], "{means:?}");
}

/// Of a run without warm-up every packet counts: those that left are those that the kernel let go, and those
/// that came are these, the drops, and the backlog.
#[test]
fn every_packet_is_accounted_for_in_both_directions() {
    let text = format!(
        "{LINKS}{UPLOAD}{DOWNLOAD}\
         [[udp]]\nname = \"call\"\ndirection = \"up\"\nrate = \"200kbit\"\npacket = \"250b\"\n\
         [[path]]\nname = \"near\"\nplace = \"before\"\ngroups = [\"A\"]\nloss = 0.002\nduplicate = 0.002\n\
         [[path]]\nname = \"home\"\ndirection = \"up\"\ngroups = [\"A\"]\nloss = 0.02\n\
         [[path]]\nname = \"far\"\ngroups = [\"A\"]\ncorrupt = 0.002\n"
    );
    for ip in ["kernel.ip=4", "kernel.ip=6"] {
        let Some(summary) = linux(&text, &["--set", "warmup=0s", "--set", ip]) else { return };
        let counted = |name: &str| summary.engine.qdisc[name];
        let drops = |queue: &l4s_measure::QueueSummary| queue.drops.aqm + queue.drops.limit;
        let (link, up) = (&summary.queues[0], uplink(&summary));
        // A packet may leave between the end of the run and the reading of the counters.
        for (seen, counted) in
            [(link.packets, counted("packets")), (up.packets, counted("uplink_packets"))]
        {
            assert!((seen..=seen + 1).contains(&counted), "{seen} of {counted}");
        }
        // The last drops of each flow are seen when a later packet of it leaves.
        assert!(counted("dropped") - drops(link) < 10, "{summary:?}");
        assert!(counted("uplink_dropped") - drops(up) < 10, "{summary:?}");
        assert!(drops(link) > 0 && drops(up) > 0, "{summary:?}");

        let path =
            |name: &str| summary.paths.iter().find(|path| path.name == name).expect("a path");
        let (near, far, home) = (path("near"), path("far"), path("home"));
        assert!(near.lost > 0 && near.duplicated > 0 && home.lost > 0 && far.corrupted > 0);
        // What left the link and is no acknowledgement of the upload came to the path behind it.
        let data = group(&summary, "A").packets;
        // The run may end while one is between the two.
        assert!((0..=1).contains(&(data - far.packets)), "{} of {data}", far.packets);
        // What came to the link left it, was dropped there, or waits, or is among the last drops.
        let came = near.packets - near.lost + near.duplicated;
        let share = group(&summary, "A").drop.expect("packets");
        let gone = data + (share / (1.0 - share) * data as f64).round() as u64;
        let most = gone + counted("waiting") + 10;
        assert!((gone..=most).contains(&came), "{came} came, {gone} are gone");
    }
}

/// 1 % of loss behind the bottleneck: TCP sends what is lost again, and hardly anything else.
#[test]
fn a_kernels_tcp_sees_the_losses_of_a_path() {
    let text = format!(
        "duration = \"20s\"\nwarmup = \"0s\"\nlink = {{ rate = \"20mbit\", buffer = \"500p\" }}\naqm = \"fifo\"\n\
         {DOWNLOAD}[[path]]\nname = \"far\"\nloss = 0.01\n"
    );
    let folder = folder(&text);
    let Some(kernel) = run("linux", folder.path(), &[]) else { return };
    let sim = run("sim", folder.path(), &[]).expect("the simulator runs anywhere");
    for summary in [&kernel, &sim] {
        let (path, group) = (&summary.paths[0], &summary.groups[0]);
        // Three standard deviations of a binomial distribution.
        let (packets, lost) = (path.packets as f64, path.lost as f64);
        let spread = 3.0 * (0.01 * 0.99 * packets).sqrt();
        println!("{}: {lost} of {packets} lost, {} sent again", summary.on, group.retransmits);
        assert!(packets > 4000.0 && (lost - 0.01 * packets).abs() < spread, "{path:?}");
        let again = group.retransmits as f64;
        assert!((0.95 * lost..=1.2 * lost).contains(&again), "{again} of {lost}");
        // Nothing is lost in the queue, whose buffer Reno does not fill.
        assert_eq!(summary.queues[0].drop, Some(0.0));
    }
    let rates = [&kernel, &sim].map(|summary| summary.groups[0].rate_bps);
    assert!((rates[0] / rates[1] - 1.0).abs() < 0.15, "{rates:?}");
}

/// Data of an upload passes the stretches of the way up, and its acknowledgements those of the way down.
#[test]
fn an_upload_meets_the_stretches_of_both_directions() {
    let text = format!(
        "{LINKS}{UPLOAD}\
         [[path]]\nname = \"home\"\ndirection = \"up\"\nloss = 0.005\n\
         [[path]]\nname = \"near\"\nplace = \"before\"\njitter = \"2ms\"\n\
         [[path]]\nname = \"far\"\nloss = 0.1\n"
    );
    let folder = folder(&text);
    let warm = ["--set", "warmup=0s", "--set", "duration=20s"];
    let Some(kernel) = run("linux", folder.path(), &warm) else { return };
    let sim = run("sim", folder.path(), &warm).expect("the simulator runs anywhere");
    for summary in [&kernel, &sim] {
        let [home, near, far] = &*summary.paths else { panic!("{:?}", summary.paths) };
        let (up, answers) = (group(summary, "up"), summary.queues[0].packets);
        println!("{}: {} data, {answers} answers, {far:?}", summary.on, home.packets);
        // All data came to the one, and all of its answers to the other two.
        assert!(up.packets <= home.packets && up.packets + 200 > home.packets, "{summary:?}");
        assert_eq!((near.lost, home.lost > 10, far.lost > 50), (0, true, true), "{summary:?}");
        assert!(near.packets >= answers && answers >= far.packets, "{summary:?}");
        assert!(near.packets - far.packets < 5, "{summary:?}");
    }
    let rates = [&kernel, &sim].map(|summary| group(summary, "up").rate_bps);
    assert!((rates[0] / rates[1] - 1.0).abs() < 0.15, "{rates:?}");
}

/// CAKE takes out what our filter would, and its own counter says so.
#[test]
fn the_filter_of_cake_takes_out_what_ours_does() {
    let text = "duration = \"8s\"\nwarmup = \"0s\"\nlink = { rate = \"100mbit\", buffer = \"1000p\" }\n\
                aqm = \"fifo\"\n\
                uplink = { rate = \"1mbit\", buffer = \"1000p\", ack_filter = \"on\", aqm = \"cobalt\" }\n\
                [[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"20ms\"\nflows = 2\n";
    for filter in ["on", "aggressive"] {
        let folder = folder(text);
        let filter = format!("uplink.ack_filter={filter}");
        let Some(kernel) = run("linux", folder.path(), &["--set", &filter]) else { return };
        let sim =
            run("sim", folder.path(), &["--set", &filter]).expect("the simulator runs anywhere");
        let filtered = [&kernel, &sim].map(|summary| {
            assert!(summary.link.utilization > 0.98, "{summary:?}");
            uplink(summary).drops.ack_filter.expect("the uplink is too slow for all")
        });
        let counted = kernel.engine.qdisc["uplink_dropped_ack_filter"];
        println!("{filter}: {filtered:?}, of which the kernel counted {counted}");
        // Those of the last instants may not have been overtaken.
        assert!(counted.abs_diff(filtered[0]) < counted / 200, "{counted} of {filtered:?}");
        assert!(filtered[1].abs_diff(counted) < counted / 20, "{counted} of {filtered:?}");
    }
}

#[test]
fn uplink_and_paths_change_in_mid_run() {
    let text = format!(
        "{LINKS}{UPLOAD}{DOWNLOAD}\
         [[path]]\nname = \"far\"\nloss = 0.5\n\
         [[path]]\nname = \"near\"\nplace = \"before\"\njitter = \"4ms\"\n\
         [[at]]\ntime = \"100ms\"\npath.far.loss = 0.0\n\
         [[at]]\ntime = \"3s\"\nuplink.rate = \"2mbit\"\npath.near.jitter = \"0s\"\n\
         [[at]]\ntime = \"4s\"\ngroup.up.rtt = \"60ms\"\n\
         [[at]]\ntime = \"5s\"\nuplink.aqm = {{ kind = \"fifo\", limit = \"30p\" }}\n"
    );
    let folder = folder(&text);
    let Some(kernel) = run("linux", folder.path(), &[]) else { return };
    let sim = run("sim", folder.path(), &[]).expect("the simulator runs anywhere");
    let qdisc = &kernel.engine.qdisc;
    assert!(qdisc["uplink_dropped"] > qdisc["uplink_dropped_replaced"], "{qdisc:?}");
    for summary in [&kernel, &sim] {
        // 5 Mb/s for one second of six, and then 2.
        let capacity = (5.0 + 5.0 * 2.0) / 6.0 * 1e6;
        let rate = group(summary, "up").rate_bps;
        println!("{}: {rate:.0} bit/s of {capacity:.0}", summary.on);
        assert!((0.8 * capacity..capacity).contains(&rate), "{}: {rate}", summary.on);
        assert_eq!(summary.paths[0].lost, 0, "after the warm-up");
        // Half of the first packets of the download are lost, and none of the later ones.
        assert!(group(summary, "A").rate_bps > 1e6, "{summary:?}");
    }
}

#[test]
fn a_seed_repeats_to_the_packet_over_uplink_and_paths() {
    let text = format!(
        "{LINKS}{UPLOAD}{DOWNLOAD}\
         [[path]]\nname = \"near\"\nplace = \"before\"\nloss = 0.001\njitter = \"1ms\"\n\
         [[path]]\nname = \"far\"\nreorder = {{ chance = 0.01, by = \"5ms\" }}\n\
         [[path]]\nname = \"home\"\ndirection = \"up\"\nloss = 0.01\n"
    );
    let folder = folder(&text);
    let short = ["--set", "duration=3s", "--set", "warmup=1s"];
    trace::a_seed_repeats(folder.path(), |more| {
        run("linux", folder.path(), &[&short[..], more].concat()).map(drop)
    });
}

/// What a middlebox does to ECN is all that it does: checksums are right, and nothing is sent again.
#[test]
fn a_middlebox_changes_nothing_else() {
    let text = "duration = \"3s\"\nwarmup = \"0s\"\nlink = { rate = \"20mbit\", buffer = \"1000p\" }\n\
                aqm = \"fifo\"\n\
                [[group]]\nname = \"A\"\ncc = \"prague\"\nrtt = \"10ms\"\nsize = \"2MB\"\n\
                [[path]]\nname = \"near\"\nplace = \"before\"\necn = \"ect1-to-ect0\"\njitter = \"1ms\"\n";
    for ip in ["kernel.ip=4", "kernel.ip=6"] {
        let folder = folder(text);
        let more = ["--out", "out", "--trace", "pcapng", "--set", ip];
        let Some(summary) = run("linux", folder.path(), &more) else { return };
        // 2 MB in segments of at most 1448 B. The receiver's kernel takes none whose checksum is wrong.
        let path = &summary.paths[0];
        assert!(path.mangled >= 2_000_000 / 1448, "{path:?}");
        assert_eq!(summary.groups[0].retransmits, 0, "{summary:?}");
        let Some(seen) = trace::read(&folder.path().join("out/trace.pcapng")) else { return };
        let data =
            trace::segments(&seen).filter(|(packet, tcp)| packet.on == "down" && tcp.payload > 0);
        let (mut bytes, ect0) = (0, 0b10);
        for (packet, tcp) in data {
            assert_eq!(packet.ecn, ect0, "the bottleneck is behind the stretch: {packet:?}");
            assert_ne!(packet.checksums[0], trace::Checksum::Bad, "{packet:?}");
            bytes += tcp.payload;
        }
        assert_eq!(bytes, 2_000_000);
    }
}
