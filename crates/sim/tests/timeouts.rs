//! Timeouts when the RTT is longer than the timeout, or grows faster than it: long paths, slow links,
//! re-routes and dips of the link rate. Without loss, repeated retransmissions end soon, and throughput has no
//! step at an RTT of a second.

use l4s_measure::{EngineSummary, Origin, Recorder, Summary};
use l4s_model::{FlowId, SourceId};
use l4s_observe::{Observer, Traced};
use l4s_scenario::Plan;
use l4s_units::{Duration, Time};
use proptest::prelude::*;

/// The results of a run.
#[derive(Debug)]
struct Ran {
    summary: Summary,
    /// Retransmissions of the whole run, warm-up included.
    sent_again: u64,
    dropped: u64,
    /// The longest time without a departure after the first one.
    silence: Duration,
}

/// Counts events that are not in the summary.
struct Counter<'a> {
    recorder: &'a mut Recorder,
    sent_again: u64,
    dropped: u64,
    last: Option<Time>,
    silence: Duration,
}

impl<P: Traced> Observer<P> for Counter<'_> {
    fn departed(&mut self, packet: &P, queue: l4s_aqm::Queue, sojourn: Duration, now: Time) {
        self.silence = self.silence.max(self.last.map_or(Duration::ZERO, |last| now.since(last)));
        self.last = Some(now);
        Observer::<P>::departed(self.recorder, packet, queue, sojourn, now);
    }
    fn dropped(&mut self, packet: &P, queue: l4s_aqm::Queue, cause: l4s_aqm::DropCause, now: Time) {
        self.dropped += 1;
        Observer::<P>::dropped(self.recorder, packet, queue, cause, now);
    }
    fn opened(&mut self, flow: FlowId, group: SourceId, size: Option<l4s_units::Bytes>, now: Time) {
        Observer::<P>::opened(self.recorder, flow, group, size, now);
    }
    fn round_trip(&mut self, flow: FlowId, rtt: Duration, now: Time) {
        Observer::<P>::round_trip(self.recorder, flow, rtt, now);
    }
    fn retransmitted(&mut self, flow: FlowId, now: Time) {
        self.sent_again += 1;
        Observer::<P>::retransmitted(self.recorder, flow, now);
    }
}

/// One flow of this control, without jitter of hosts, as in the kernel.
fn run(cc: &str, rate: &str, buffer: &str, rtt_ms: u64, seconds: u64, more: &str) -> Ran {
    let text = format!(
        "host_jitter = false\nduration = \"{seconds}s\"\nwarmup = \"{}s\"\nlink = {{ rate = \"{rate}\", buffer = \
         \"{buffer}\" }}\naqm = {{ kind = \"fifo\" }}\n[[group]]\nname = \"A\"\ncc = \"{cc}\"\n\
         rtt = \"{rtt_ms}ms\"\n{more}",
        seconds / 2
    );
    let plan = Plan::parse("timeouts.toml", &text, &[]).unwrap();
    let scenario = &plan.points[0].scenario;
    let mut recorder = Recorder::new(scenario, Origin::default()).without_series();
    let mut counter = Counter {
        recorder: &mut recorder,
        sent_again: 0,
        dropped: 0,
        last: None,
        silence: Duration::ZERO,
    };
    l4s_sim::run(scenario, &mut counter);
    let Counter { sent_again, dropped, silence, .. } = counter;
    let summary = recorder.finish(EngineSummary::default()).summary;
    Ran { summary, sent_again, dropped, silence }
}

/// Linux 7.3 in virtual time has these rates in the second half of a minute: 6.17 Mb/s at 999 ms, 5.75 at 1050 ms,
/// 5.15 at 1100 ms, 4.59 at 1200 ms. At 1.5, 2 and 3 s they are 3.51, 2.16 and 1.07 Mb/s.
#[test]
fn a_long_path_carries_what_it_carries_in_linux() {
    for (rtt_ms, linux) in [(999, 6.17), (1050, 5.75), (1200, 4.59), (1500, 3.51), (2000, 2.16)] {
        let ran = run("cubic", "10mbit", "40p", rtt_ms, 60, "");
        let group = &ran.summary.groups[0];
        let rate = group.rate_bps / 1e6;
        assert!((rate / linux - 1.0).abs() < 0.15, "{rtt_ms} ms: {rate:.2} Mb/s, Linux {linux}");
        let measured = group.rtt_ms.unwrap();
        assert!((0.0..50.0).contains(&(measured - rtt_ms as f64)), "{measured} ms of {rtt_ms}");
    }
}

/// A path that changes at 15 s.
fn re_route(cc: &str, rate: &str, buffer: &str, (before, after): (u64, u64), seconds: u64) -> Ran {
    let at = format!("[[at]]\ntime = \"15s\"\ngroup.A.rtt = \"{after}ms\"\n");
    run(cc, rate, buffer, before, seconds, &at)
}

/// Linux 7.3 in virtual time. On a shorter path later packets overtake earlier ones: that is reordering,
/// and no packet counts as lost because of it (RFC 8985 §6.2 step 4).
#[test]
fn a_re_route_sends_again_what_it_does_in_linux() {
    for (cc, rate, buffer, path, linux) in [
        ("cubic", "7220kbit", "1000p", (1058, 20), 255),
        ("cubic", "5mbit", "1000p", (400, 20), 468),
        ("reno", "8mbit", "200p", (200, 100), 337),
        ("reno", "6mbit", "1000p", (100, 600), 1054),
        ("cubic", "4mbit", "1000p", (20, 999), 732),
        ("cubic", "10mbit", "100p", (500, 400), 195),
    ] {
        let ran = re_route(cc, rate, buffer, path, 40);
        let off = ran.sent_again.abs_diff(linux);
        assert!(off <= 5 + linux / 20, "{path:?}: {} sent again, Linux {linux}", ran.sent_again);
    }
}

/// HyStart leaves slow start after half an RTT of acknowledgements that are less than 2 ms apart. At
/// 7.22 Mb/s they are, because the client acknowledges every segment while its window grows. Linux
/// leaves at 961 segments, for which path and buffer have room.
#[test]
fn slow_start_on_a_long_path_ends_where_it_does_in_linux() {
    let ran = run("cubic", "7220kbit", "1000p", 1058, 15, "");
    assert_eq!(ran.dropped, 0, "{ran:?}");
}

/// The number of packets that may be sent again without a drop: a probe or a timeout each time that the RTT
/// grew, before it is measured again.
const MISTAKEN: u64 = 8;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// On any path, only dropped packets are sent again, and the RTT is measured.
    #[test]
    fn a_long_path_sends_nothing_twice(rtt_ms in 300_u64..4000, kbit in 500_u64..20_000, cc in 0..3) {
        let cc = ["cubic", "reno", "prague"][cc as usize];
        let ran = run(cc, &format!("{kbit}kbit"), "4000p", rtt_ms, 12 * rtt_ms / 1000 + 4, "");
        prop_assert!(ran.sent_again <= ran.dropped, "{ran:?}");
        prop_assert!(ran.summary.groups[0].rtt_ms.unwrap() >= rtt_ms as f64, "{ran:?}");
    }

    /// The first window of a connection takes longer than its timeout.
    #[test]
    fn a_slow_link_carries_each_packet_once(rtt_ms in 5_u64..400, kbit in 30_u64..400, buffer in 20..100) {
        let ran = run("cubic", &format!("{kbit}kbit"), &format!("{buffer}p"), rtt_ms, 60, "");
        prop_assert!(ran.sent_again <= ran.dropped + MISTAKEN, "{ran:?}");
        prop_assert!(ran.summary.link.utilization > 0.95, "{ran:?}");
    }

    /// A re-route makes the RTT up to a hundred times as long.
    #[test]
    fn a_re_route_costs_a_timeout(before in 20_u64..1000, more in 1_u64..1000, kbit in 1000_u64..10_000) {
        let after = before + more;
        let ran = re_route("cubic", &format!("{kbit}kbit"), "1000p", (before, after), 40);
        prop_assert!(ran.sent_again <= ran.dropped + MISTAKEN, "{ran:?}");
        let longest = Duration::from_millis(3 * after) + Duration::from_secs(1);
        prop_assert!(ran.silence < longest, "{ran:?}");
    }

    /// A re-route makes the RTT up to a hundred times as short. Packets in flight arrive after later ones, and
    /// may be sent again once; no timeout follows.
    #[test]
    fn a_re_route_to_a_shorter_path_costs_what_was_in_flight(
        after in 10_u64..200, less in 1_u64..1000, kbit in 1000_u64..10_000,
    ) {
        let before = after + less;
        let ran = re_route("cubic", &format!("{kbit}kbit"), "1000p", (before, after), 40);
        let in_flight = kbit * less / 8 / 1514;
        prop_assert!(ran.sent_again <= ran.dropped + in_flight + MISTAKEN, "{in_flight}: {ran:?}");
        // The first round trips, from the SYN on, are the longest time without a departure.
        let longest = Duration::from_millis(before) + Duration::from_millis(300);
        prop_assert!(ran.silence < longest, "{ran:?}");
    }

    /// The queue takes seconds to drain after the link becomes slower.
    #[test]
    fn a_dip_of_the_rate_costs_a_timeout(rtt_ms in 10_u64..200, factor in 3_u64..50) {
        let slow = 10_000 / factor;
        let at = |seconds, kbit| format!("[[at]]\ntime = \"{seconds}s\"\nlink.rate = \"{kbit}kbit\"\n");
        let more = format!("{}{}", at(12, slow), at(20, 10_000));
        let ran = run("cubic", "10000kbit", "300p", rtt_ms, 30, &more);
        prop_assert!(ran.sent_again <= ran.dropped + 2 * MISTAKEN, "{ran:?}");
        prop_assert!(ran.summary.link.utilization > 0.9, "{ran:?}");
    }
}
