//! The way up as a bottleneck of its own: acknowledgements queue there, and uploads.

use l4s_aqm::Queue;
use l4s_measure::{PacketTrace, Snap, Summary};
use l4s_model::Scenario;
use l4s_observe::{HopEvent, Observer, Traced};
use l4s_units::Time;

use crate::common::{group, summary_of};

fn scenario(text: &str) -> Scenario {
    crate::common::scenario(text, &[])
}

/// A download of 100 Mb/s and an uplink of this rate, with or without an upload.
fn access(up: &str, upload: &str) -> Scenario {
    scenario(&format!(
        "duration = \"20s\"\nlink = {{ rate = \"100mbit\", buffer = \"100ms\" }}\naqm = \"fifo\"\n\
         uplink = {{ rate = \"{up}\", buffer = \"200ms\", aqm = \"fifo\" }}\n\
         [[group]]\nname = \"down\"\ncc = \"cubic\"\nrtt = \"20ms\"\n{upload}"
    ))
}

const UPLOAD: &str =
    "[[group]]\nname = \"up\"\ndirection = \"up\"\ncc = \"cubic\"\nrtt = \"20ms\"\n";

/// All packets have a delay on the way up, and small ones are counted as they are on the way down.
#[test]
fn small_packets_are_counted_in_both_directions() {
    let voice = |direction: &str| {
        format!(
            "[[udp]]\nname = \"{direction}-udp\"\nrate = \"80kbit\"\npacket = \"100b\"\n\
             direction = \"{direction}\"\n"
        )
    };
    let found = summary_of(&access("10mbit", &(voice("down") + &voice("up"))));
    let [down, up] = [1, 2].map(|number| &found.groups[number]);
    assert_eq!((down.small_packets, &down.delay_ms), (Some(down.packets), &None));
    assert_eq!(up.small_packets, Some(up.packets));
    assert_eq!(up.delay_ms.map(|d| d.mean), up.small_delay_ms.map(|d| d.mean));
}

/// An acknowledgement of 52 B, and 14 B of Ethernet, for every second segment.
#[test]
fn acknowledgements_take_their_share_of_the_uplink() {
    let found = summary_of(&access("10mbit", ""));
    let uplink = &found.hops[0];
    assert_eq!((&*uplink.name, uplink.direction.as_deref()), ("uplink", Some("up")));
    assert!(found.link.utilization > 0.99, "{}", found.link.utilization);
    // 100 Mb/s / (2 · 1514 B) · 66 B = 2.18 Mb/s, and in recovery one with SACK for each segment.
    let used = uplink.utilization.unwrap();
    assert!((0.21..0.25).contains(&used), "{used}");
    assert_eq!(uplink.queues[0].drop, Some(0.0));
    // They are none of the group's data.
    assert!(group(&found, "down").rate_bps < 100e6);
}

/// What the acknowledgements of a download need, 2.18 Mb/s of 100, is more than there is: the uplink limits
/// the download to what it acknowledges.
#[test]
fn a_slow_uplink_limits_the_download() {
    let found = summary_of(&access("1mbit", ""));
    let used = found.hops[0].utilization.unwrap();
    assert!(used > 0.9, "{used}");
    assert!(found.link.utilization < 0.9, "{}", found.link.utilization);
    // Its queue is of acknowledgements alone, and most of the round trip.
    let queue = found.hops[0].queues[0].delay_ms.unwrap().mean;
    let rtt = group(&found, "down").rtt_ms.unwrap();
    assert!(queue > 20.0 && rtt > 20.0 + 0.8 * queue, "{rtt} ms with a queue of {queue} ms");
}

/// The same download with a filter, and one mode of its control and its discipline on the way up.
fn filtered(filter: &str, more: &str) -> Summary {
    summary_of(&scenario(&format!(
        "duration = \"20s\"\nlink = {{ rate = \"100mbit\", buffer = \"100ms\" }}\naqm = \"dualpi2\"\n\
         uplink = {{ rate = \"1mbit\", buffer = \"200ms\", ack_filter = \"{filter}\", aqm = \"fifo\" }}\n\
         [[group]]\nname = \"down\"\nrtt = \"20ms\"\n{more}"
    )))
}

/// 1 Mb/s carries 1894 acknowledgements of 66 B per second, of 4128 that a full link makes. The filter takes the rest
/// out, and they are no loss of the queue.
#[test]
fn a_filter_lets_a_slow_uplink_acknowledge_a_full_link() {
    let of = |summary: &Summary| summary.hops[0].queues[0].clone();
    let off = filtered("off", "cc = \"cubic\"\n");
    assert!(off.link.utilization < 0.9, "{}", off.link.utilization);
    assert!(of(&off).drop.unwrap() > 0.1 && of(&off).drops.ack_filter.is_none(), "{:?}", of(&off));
    for filter in ["on", "aggressive"] {
        let found = filtered(filter, "cc = \"cubic\"\n");
        let (link, uplink) = (found.link.utilization, found.hops[0].utilization.unwrap());
        assert!(link > 0.99 && uplink > 0.99, "{filter}: {link}, {uplink}");
        let queue = of(&found);
        let seconds = (queue.packets + queue.drops.ack_filter.unwrap()) as f64 / 4100.0;
        assert!((14.0..16.5).contains(&seconds), "{filter}: 15 s of acknowledgements: {queue:?}");
        assert_eq!(queue.drop, Some(0.0), "{filter}");
        // Two acknowledgements wait at most, of a millisecond in two.
        let classic = found.queues.iter().find(|queue| queue.name == "C").unwrap();
        let rtt = found.groups[0].rtt_ms.unwrap() - classic.delay_ms.unwrap().mean;
        assert!((20.0..22.5).contains(&rtt), "{filter}: {rtt} ms");
    }
}

/// With the echo of RFC 3168 each mark of the link reaches the sender: there is no overload, and no loss.
#[test]
fn a_filter_keeps_the_echo_of_marks() {
    for filter in ["on", "aggressive"] {
        let found = filtered(filter, "cc = \"cubic\"\necn = \"classic\"\n");
        let down = group(&found, "down");
        assert_eq!((down.retransmits, down.drop), (0, Some(0.0)), "{filter}");
        assert!(down.mark.unwrap() > 0.0 && found.link.utilization > 0.99, "{filter}: {down:?}");
        assert!(found.hops[0].queues[0].drops.ack_filter.unwrap() > 10_000);
        assert!(down.delay_ms.unwrap().mean < 20.0, "the target is 15 ms: {down:?}");
    }
}

/// The option of AccECN is unknown to the filter, and so is AE: a flow whose ACE stays at its first value, 5, loses no
/// acknowledgement (RFC 9768 §3.2.1).
#[test]
fn a_filter_leaves_accurate_ecn_alone() {
    let counted = |more: &str| {
        let found = filtered("aggressive", &format!("cc = \"prague\"\n{more}"));
        (found.hops[0].queues[0].drops.ack_filter, group(&found, "down").mark)
    };
    let (with_option, _) = counted("accecn = \"option\"\n");
    assert_eq!(with_option, None);
    // A flow of 50 Mb/s at most meets no queue, and has no mark.
    let unmarked = counted(
        "accecn = \"ace\"\n[[hop]]\nname = \"access\"\nrate = \"50mbit\"\naqm = \"fifo\"\n",
    );
    assert_eq!(unmarked, (None, Some(0.0)));
}

/// Thousands of short flows complete, though acknowledgements of their ends are filtered too.
#[test]
fn with_a_filter_flows_of_a_size_complete() {
    let found = summary_of(&scenario(
        "duration = \"60s\"\nwarmup = \"0s\"\nlink = { rate = \"20mbit\", buffer = \"20p\" }\naqm = \"fifo\"\n\
         uplink = { rate = \"200kbit\", buffer = \"20p\", ack_filter = \"aggressive\", aqm = \"fifo\" }\n\
         [[group]]\nname = \"down\"\ncc = \"cubic\"\nrtt = \"10ms\"\nflows = 200\nsize = \"100kb\"\n\
         start = { every = \"100ms\" }\n",
    ));
    assert_eq!(found.completion.iter().map(|bin| bin.flows).sum::<u64>(), 200);
    let queue = &found.hops[0].queues[0];
    assert!(queue.drops.ack_filter.unwrap() > 1000, "{queue:?}");
}

/// An upload fills the uplink, and its queue delays the acknowledgements of the download. With little buffer
/// that costs it nothing; its round trip grows by the queue.
#[test]
fn an_upload_fills_the_uplink_and_delays_acknowledgements() {
    let found = summary_of(&access("10mbit", UPLOAD));
    let (down, up) = (group(&found, "down"), group(&found, "up"));
    assert_eq!((down.direction.as_deref(), up.direction.as_deref()), (None, Some("up")));
    let used = found.hops[0].utilization.unwrap();
    assert!(used > 0.99, "{used}");
    let queue = found.hops[0].queues[0].delay_ms.unwrap().mean;
    assert!(queue > 50.0, "{queue} ms");
    let own = found.queues[0].delay_ms.unwrap().mean;
    let rtt = down.rtt_ms.unwrap();
    assert!(rtt > 20.0 + 0.8 * (queue + own), "{rtt} ms with queues of {queue} and {own} ms");
    // Its goodput is what its clients, in the servers' place, pass on.
    let goodput = up.goodput_bps.unwrap();
    assert!(goodput > 0.9 * up.rate_bps && up.rate_bps < 10e6, "{goodput} of {}", up.rate_bps);
    assert!(up.normalized_rate.unwrap() > 0.7, "of the uplink: {:?}", up.normalized_rate);
}

/// The mirror image of a download is an upload of the same numbers.
#[test]
fn an_upload_alone_is_a_download_in_the_mirror() {
    let with = |link: &str, uplink: &str, direction: &str| {
        summary_of(&scenario(&format!(
            "duration = \"20s\"\nhost_jitter = false\n\
             link = {{ rate = \"{link}\", buffer = \"50p\" }}\naqm = \"fifo\"\n\
             uplink = {{ rate = \"{uplink}\", buffer = \"50p\", aqm = \"fifo\" }}\n\
             [[group]]\nname = \"A\"\ndirection = \"{direction}\"\ncc = \"reno\"\nrtt = \"20ms\"\n"
        )))
    };
    let (down, up) = (with("20mbit", "50mbit", "down"), with("50mbit", "20mbit", "up"));
    let (down_a, up_a) = (group(&down, "A"), group(&up, "A"));
    assert_eq!(down_a.packets, up_a.packets);
    assert_eq!(down_a.delay_ms, up_a.delay_ms);
    assert_eq!(down_a.rtt_ms, up_a.rtt_ms);
    assert_eq!(down_a.normalized_rate, up_a.normalized_rate);
    assert_eq!(Some(down.link.utilization), up.hops[0].utilization);
    assert_eq!(down.hops[0].utilization, Some(up.link.utilization));
}

/// So it is on imperfect stretches: those of its data and those of its acknowledgements, with their chances.
#[test]
fn imperfect_stretches_of_an_upload_are_those_of_a_download_in_the_mirror() {
    let with = |link: &str, uplink: &str, [data, answers]: [&str; 2]| {
        summary_of(&scenario(&format!(
            "duration = \"20s\"\nhost_jitter = false\n\
             link = {{ rate = \"{link}\", buffer = \"50p\" }}\naqm = \"fifo\"\n\
             uplink = {{ rate = \"{uplink}\", buffer = \"50p\", aqm = \"fifo\" }}\n\
             [[group]]\nname = \"A\"\ndirection = \"{data}\"\ncc = \"prague\"\nrtt = \"20ms\"\n\
             [[path]]\nname = \"D\"\ndirection = \"{data}\"\nplace = \"before\"\nloss = 0.002\n\
             ecn = \"ect1-to-ect0\"\ncorrupt = 0.001\n\
             [[path]]\nname = \"A\"\ndirection = \"{answers}\"\nplace = \"before\"\nloss = 0.01\n\
             jitter = \"2ms\"\naccecn = \"strip\"\nduplicate = 0.01\ncorrupt = 0.01\n"
        )))
    };
    let down = with("20mbit", "50mbit", ["down", "up"]);
    let up = with("50mbit", "20mbit", ["up", "down"]);
    let (down_a, up_a) = (group(&down, "A"), group(&up, "A"));
    assert_eq!(down_a.packets, up_a.packets);
    assert_eq!(down_a.delay_ms, up_a.delay_ms);
    assert_eq!(Some(down.link.utilization), up.hops[0].utilization);
    assert_eq!(down.hops[0].utilization, Some(up.link.utilization));
    assert_eq!(down.paths, up.paths);
    let [data, answers] = &*up.paths else { panic!("{:?}", up.paths) };
    assert!(data.lost > 20 && data.mangled > 10_000 && data.corrupted > 10, "{data:?}");
    assert!(answers.lost > 50 && answers.mangled > 5_000 && answers.corrupted > 50, "{answers:?}");
}

/// Behind the link, answers to an upload pass the stretches of a download's data.
#[test]
fn answers_to_an_upload_pass_the_stretches_behind_the_link() {
    let found = summary_of(&scenario(
        "duration = \"10s\"\nwarmup = \"0s\"\nlink.rate = \"50mbit\"\n\
         uplink = { rate = \"20mbit\", aqm = \"fifo\" }\n\
         [[group]]\nname = \"A\"\ndirection = \"up\"\ncc = \"reno\"\nrtt = \"20ms\"\n\
         [[udp]]\nname = \"call\"\ndirection = \"up\"\nrate = \"1mbit\"\n\
         [[path]]\nname = \"near\"\nloss = 0.05\n",
    ));
    let (near, a) = (&found.paths[0], group(&found, "A"));
    // An acknowledgement for two segments, and none of a datagram.
    assert!(near.packets > a.packets / 2 && near.packets < a.packets, "{near:?} of {}", a.packets);
    let share = near.lost as f64 / near.packets as f64;
    assert!((0.04..0.06).contains(&share), "{share}");
    // Cumulative acknowledgements make up for it.
    assert!(found.hops[0].utilization.unwrap() > 0.95, "{:?}", found.hops[0].utilization);
}

/// Datagrams up, through the queue and no further.
#[test]
fn datagrams_go_up() {
    let found = summary_of(&scenario(
        "duration = \"10s\"\nlink.rate = \"10mbit\"\nuplink = { rate = \"2mbit\", aqm = \"fifo\" }\n\
         [[udp]]\nname = \"call\"\ndirection = \"up\"\nrate = \"1mbit\"\npacket = \"500b\"\n",
    ));
    let call = group(&found, "call");
    assert!((call.rate_bps - 1e6).abs() < 0.02e6, "{}", call.rate_bps);
    // 514 B of 500 on the link, of 2 Mb/s.
    let used = found.hops[0].utilization.unwrap();
    assert!((used - 0.514).abs() < 0.01, "{used}");
    assert_eq!(found.link.utilization, 0.0);
}

/// A thousand short uploads and downloads at once lose nothing on the way: each completes.
#[test]
fn flows_of_a_size_complete_in_both_directions() {
    let found = summary_of(&scenario(
        "duration = \"60s\"\nwarmup = \"0s\"\nlink = { rate = \"20mbit\", buffer = \"20p\" }\naqm = \"fifo\"\n\
         uplink = { rate = \"10mbit\", buffer = \"20p\", aqm = \"fifo\" }\n\
         [[group]]\nname = \"down\"\ncc = \"cubic\"\nrtt = \"10ms\"\nflows = 200\nsize = \"100kb\"\n\
         start = { every = \"50ms\" }\n\
         [[group]]\nname = \"up\"\ndirection = \"up\"\ncc = \"cubic\"\nrtt = \"10ms\"\nflows = 200\n\
         size = \"50kb\"\nstart = { every = \"50ms\" }\n",
    ));
    assert!(found.hops[0].queues[0].drop.unwrap() > 0.0 && found.queues[0].drop.unwrap() > 0.0);
    for name in ["down", "up"] {
        let completed = found.completion.iter().filter(|bin| bin.group == name);
        assert_eq!(completed.map(|bin| bin.flows).sum::<u64>(), 200, "{name}");
    }
}

/// Bits on the uplink per second, and packets that left it in a queue of two.
#[derive(Default)]
struct Seconds {
    bits: Vec<u64>,
    sorted: Vec<Time>,
}

impl<P: Traced> Observer<P> for Seconds {
    fn at_hop(&mut self, _: u16, packet: &P, queue: Queue, what: HopEvent, now: Time) {
        if matches!(what, HopEvent::Departed(_)) {
            let second = now.as_secs_f64() as usize;
            self.bits.resize(self.bits.len().max(second + 1), 0);
            self.bits[second] += 8 * packet.size().get();
            if queue != Queue::Q {
                self.sorted.push(now);
            }
        }
    }
}

/// 60 Mb/s of datagrams into an uplink whose rate and discipline change.
#[test]
fn a_step_of_the_uplinks_rate_takes_effect_at_its_time() {
    let scenario = scenario(
        "duration = \"4s\"\nwarmup = \"1s\"\nlink.rate = \"100mbit\"\n\
         uplink = { rate = \"40mbit\", buffer = \"200p\", aqm = \"fifo\" }\n\
         [[udp]]\nname = \"U\"\ndirection = \"up\"\nrate = \"60mbit\"\necn = \"ect1\"\n\
         [[at]]\ntime = \"1s\"\nuplink.rate = \"10mbit\"\n\
         [[at]]\ntime = \"2s\"\nuplink.rate = \"30mbit\"\n\
         [[at]]\ntime = \"3s\"\nlink.rate = \"1mbit\"\nuplink.aqm = \"dualpi2\"\n",
    );
    let mut seen = Seconds::default();
    l4s_sim::run(&scenario, &mut seen);
    // The first datagrams come within two intervals of 0.2 ms.
    for (bits, expected) in seen.bits.iter().zip([40e6, 10e6, 30e6, 30e6]) {
        assert!((*bits as f64 - expected).abs() < 4.0 * 1514.0 * 8.0, "{:?}", seen.bits);
    }
    // Both of its disciplines were there, each in its time, and their queues are in the summary.
    let at = Time::ZERO + l4s_units::Duration::from_secs(3);
    assert!(!seen.sorted.is_empty() && seen.sorted.iter().all(|left| *left >= at));
    let uplink = &summary_of(&scenario).hops[0];
    let names: Vec<_> = uplink.queues.iter().map(|queue| queue.name.as_str()).collect();
    assert_eq!(names, ["L", "C", "Q"]);
    assert!(uplink.queues[0].packets > 1000 && uplink.queues[2].packets > 1000, "{uplink:?}");
    // 10, 30 and 30 Mb in the three seconds: it was never idle.
    assert!(uplink.utilization.unwrap() > 0.998, "{uplink:?}");
}

/// The IP lengths of packets that left the uplink.
#[derive(Default)]
struct Lengths(Vec<u64>);

impl<P: Traced> Observer<P> for Lengths {
    fn at_hop(&mut self, _: u16, packet: &P, _: Queue, what: HopEvent, _: Time) {
        if matches!(what, HopEvent::Departed(_)) {
            self.0.push(packet.ip_length().get());
        }
    }
}

/// The interface and the IP length of each frame of a trace.
fn frames(mut trace: &[u8]) -> Vec<(u32, u64)> {
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut found = Vec::new();
    while !trace.is_empty() {
        let (block, rest) = trace.split_at(word(trace, 4) as usize);
        // An enhanced packet block, and Ethernet.
        if word(block, 0) == 6 {
            found.push((word(block, 8), u64::from(word(block, 24)) - 14));
        }
        trace = rest;
    }
    found
}

const UP: u32 = 2;

/// SYN, request, and acknowledgements with up to three blocks of SACK beside the counters of AccECN.
#[test]
fn messages_take_as_much_of_the_uplink_as_they_have_on_the_wire() {
    for (cc, most) in [("prague", 80), ("cubic", 80), ("reno", 80)] {
        let scenario = scenario(&format!(
            "duration = \"8s\"\nwarmup = \"0s\"\nlink = {{ rate = \"20mbit\", buffer = \"20p\" }}\n\
             aqm = \"fifo\"\nuplink = {{ rate = \"10mbit\", aqm = \"fifo\" }}\n\
             [[group]]\nname = \"A\"\ncc = \"{cc}\"\nrtt = \"20ms\"\nflows = 3\n"
        ));
        let trace = PacketTrace::new(Vec::new(), Snap::Headers).unwrap().of(&scenario);
        let mut both = (Lengths::default(), trace);
        l4s_sim::run(&scenario, &mut both);
        let (Lengths(left), trace) = both;
        let answers = frames(&trace.finish().unwrap()).into_iter().filter(|(on, _)| *on == UP);
        let answers: Vec<u64> = answers.map(|(_, length)| length).collect();
        // The last ones are still on their way.
        assert!(answers.len() > 1000 && left.len() - answers.len() < 100, "{cc}");
        assert_eq!(left[..answers.len()], answers, "{cc}");
        assert_eq!(answers.iter().filter(|length| **length < 100).max(), Some(&most), "{cc}");
    }
}

/// The data of an upload is on the interface `up` once, and its acknowledgements are on `down`.
#[test]
fn a_trace_has_each_packet_of_an_upload_once() {
    let mut scenario = access("10mbit", UPLOAD);
    scenario.groups.remove(0);
    let trace = PacketTrace::new(Vec::new(), Snap::Headers).unwrap().of(&scenario);
    let mut both = (Lengths::default(), trace);
    l4s_sim::run(&scenario, &mut both);
    let (Lengths(left), trace) = both;
    let frames = frames(&trace.finish().unwrap());
    let up: Vec<u64> =
        frames.iter().filter(|(on, _)| *on == UP).map(|(_, length)| *length).collect();
    assert_eq!(up, left);
    let down = frames.iter().filter(|(on, _)| *on == 0);
    assert!(down.clone().count() > up.len() / 4 && down.clone().all(|(_, length)| *length <= 152));
}
