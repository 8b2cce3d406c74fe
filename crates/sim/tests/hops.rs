//! Further links before and behind the bottleneck.

use l4s_aqm::Queue;
use l4s_measure::{HopSummary, Summary};
use l4s_model::Scenario;
use l4s_observe::{HopEvent, Observer, Traced};
use l4s_sim::Packet;
use l4s_units::{Duration, Time};
use proptest::prelude::*;

use crate::common::{scenario, summary_of};

fn summary(text: &str, set: &[&str]) -> Summary {
    summary_of(&scenario(text, set))
}

const TWO: &str = r#"
duration = "10s"
warmup = "2s"
link.rate = "40mbit"
[[group]]
name = "A"
cc = "prague"
rtt = "10ms"
[[group]]
name = "B"
cc = "cubic"
ecn = "classic"
rtt = "10ms"
"#;

/// Packets that arrived at the bottleneck, and packets that left each queue or were dropped there.
#[derive(Default, PartialEq, Debug)]
struct Ledger {
    arrived: u64,
    left: u64,
    dropped: u64,
    hops: [(u64, u64); 2],
    digest: u64,
}

impl Ledger {
    fn of(scenario: &Scenario) -> Ledger {
        let mut ledger = Ledger::default();
        l4s_sim::run(scenario, &mut ledger);
        ledger
    }

    fn fold(&mut self, what: u64, now: Time) {
        self.digest = (self.digest.rotate_left(5) ^ what ^ now.as_nanos())
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Observer<Packet> for Ledger {
    fn arrived(&mut self, packet: &Packet, now: Time) {
        self.arrived += 1;
        self.fold(u64::from(packet.flow().get()), now);
    }
    fn departed(&mut self, _: &Packet, _: Queue, sojourn: Duration, now: Time) {
        self.left += 1;
        self.fold(sojourn.as_nanos(), now);
    }
    fn dropped(&mut self, _: &Packet, _: Queue, cause: l4s_aqm::DropCause, now: Time) {
        self.dropped += 1;
        self.fold(200 + cause as u64, now);
    }
    fn at_hop(&mut self, hop: u16, _: &Packet, _: Queue, what: HopEvent, now: Time) {
        let (left, dropped) = &mut self.hops[usize::from(hop)];
        match what {
            HopEvent::Departed(_) => *left += 1,
            HopEvent::Dropped(_) => *dropped += 1,
            HopEvent::Marked(_) => {}
        }
        self.fold(300 + u64::from(hop), now);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn packets_are_conserved_from_link_to_link(
        before in 1u64..100, behind in 1u64..100, buffer in 5u64..100, seed in 0u64..1000,
        aqm in prop::sample::select(vec!["fifo", "dualpi2", "codel", "fq_codel"]),
        per in prop::sample::select(vec!["all", "group", "flow"]),
    ) {
        let hop = |name, place, rate| format!(
            "[[hop]]\nname = \"{name}\"\nplace = \"{place}\"\nrate = \"{rate}mbit\"\n\
             buffer = \"{buffer}p\"\naqm = \"{aqm}\"\nper = \"{per}\"\n"
        );
        let text = format!("{TWO}size = \"2mb\"\nflows = 2\n{}{}",
            hop("H", "behind", behind), hop("G", "before", before));
        let scenario = scenario(&text, &[&format!("seed={seed}"), "duration=4s", "warmup=1s"]);
        let ledger = Ledger::of(&scenario);
        let [h, g] = ledger.hops;
        // A packet that leaves one link arrives at the next at once.
        prop_assert_eq!(g.0, ledger.arrived);
        // At most a queue for each of three flows, and the default limit of the bottleneck.
        let waits = ledger.arrived - ledger.left - ledger.dropped;
        prop_assert!(waits <= 40_000);
        prop_assert!((0..=3 * buffer).contains(&(ledger.left - h.0 - h.1)));
        prop_assert_eq!(Ledger::of(&scenario), ledger);
    }
}

#[test]
fn what_leaves_a_link_waits_for_no_other_of_the_same_rate() {
    // Both have a bucket of one packet, so a packet that passes one passes the other at once.
    for place in ["before", "behind"] {
        let hop = format!("[[hop]]\nname = \"H\"\nplace = \"{place}\"\nrate = \"40mbit\"\n");
        let found = summary(&format!("{TWO}{hop}"), &[]);
        let (first, second) = match place {
            "before" => (&found.hops[0].queues, &found.queues),
            _ => (&found.queues, &found.hops[0].queues),
        };
        let longest = |queues: &[l4s_measure::QueueSummary]| {
            queues.iter().filter_map(|queue| queue.delay_ms).map(|d| d.max).fold(0.0, f64::max)
        };
        assert!(longest(first) > 10.0, "{place}");
        assert_eq!(longest(second), 0.0, "{place}");
        assert!(found.link.utilization > 0.99);
    }
}

#[test]
fn the_slower_link_has_the_queue() {
    let hop = "[[hop]]\nname = \"H\"\nplace = \"behind\"\nrate = \"20mbit\"\naqm = \"fifo\"\n\
               buffer = \"50p\"\n";
    let found = summary(&format!("{TWO}{hop}"), &[]);
    let [HopSummary { name, links, utilization, queues, .. }] = &found.hops[..] else { panic!() };
    assert_eq!((name.as_str(), *links), ("H", 1));
    assert!(utilization.unwrap() > 0.99, "{utilization:?}");
    // A packet takes 0.6 ms at 20 Mb/s, so 50 of them take 30 ms. The bottleneck sends a burst to
    // the client in the time that it takes at 40 Mb/s.
    let delay = queues[0].delay_ms.unwrap();
    assert!(delay.mean > 10.0 && delay.max < 31.0, "{delay:?}");
    for queue in &found.queues {
        let delay = queue.delay_ms.unwrap();
        assert!(delay.mean < 1.0, "{} {delay:?}", queue.name);
        assert_eq!(queue.drop, Some(0.0));
    }
    assert!((found.link.utilization - 0.5).abs() < 0.01, "{}", found.link.utilization);
}

#[test]
fn each_flow_has_the_rate_of_its_own_link() {
    let hop = "[[hop]]\nname = \"access\"\nplace = \"behind\"\nrate = \"5mbit\"\nper = \"flow\"\n\
               groups = [\"A\"]\n";
    let found = summary(&format!("{TWO}{hop}"), &["group.A.flows=3"]);
    assert_eq!(found.hops[0].links, 3);
    // 5 Mb/s of the link are 5 · 1500/1514 = 4.954 of IP.
    let rates = found.groups[0].flow_rates_bps.unwrap();
    assert!(rates.p1 > 4.85e6 && rates.p99 < 4.96e6, "{rates:?}");
    // B has the remaining rate.
    let rest = (40e6 - 15e6) * 1500.0 / 1514.0;
    assert!(found.groups[1].rate_bps > 0.97 * rest, "{}", found.groups[1].rate_bps);
    // The group shares a single link.
    let found = summary(&format!("{TWO}{hop}"), &["group.A.flows=3", "hop.access.per=group"]);
    assert_eq!(found.hops[0].links, 1);
    assert!((found.groups[0].rate_bps / 4.954e6 - 1.0).abs() < 0.02);
}

/// DCttH §5.1: a packet that was marked upstream is in the L queue downstream, from any sender. That is not
/// a mark of the bottleneck.
#[test]
fn what_is_marked_upstream_is_taken_for_l4s_downstream() {
    let hop = "[[hop]]\nname = \"H\"\nrate = \"20mbit\"\naqm = \"pie\"\n";
    let text = format!("{TWO}{hop}");
    let found = summary(&text, &["group.A.flows=0", "group.B.flows=5"]);
    let upstream = &found.hops[0].queues[0];
    // Only packets that left after the warm-up count: PIE marks at arrival.
    let marks = (upstream.mark.unwrap() * upstream.packets as f64).round() as u64;
    assert!(marks > 100, "{marks}");
    let [l, c] = &found.queues[..] else { panic!() };
    assert_eq!((l.packets, l.mark), (marks, Some(0.0)));
    assert_eq!(c.packets + l.packets, upstream.packets);
    assert_eq!(found.groups[1].mark, Some(0.0));
}

#[test]
fn only_the_named_pass_and_each_side_in_the_order_of_the_file() {
    let udp = "[[udp]]\nname = \"U\"\nrate = \"2mbit\"\n";
    let hops = "[[hop]]\nname = \"first\"\nrate = \"10mbit\"\ngroups = [\"U\", \"B\"]\n\
                [[hop]]\nname = \"second\"\nrate = \"10mbit\"\ngroups = [\"B\"]\n";
    let found = summary(&format!("{TWO}{udp}{hops}"), &[]);
    let packets = |hop: usize| found.hops[hop].queues.iter().map(|q| q.packets).sum::<u64>();
    let [_, b, u] = &found.groups[..] else { panic!() };
    // Some are between the two queues at the start or at the end of the measurement; A passes neither.
    assert!(packets(0).abs_diff(b.packets + u.packets) < 100);
    assert!(packets(1).abs_diff(b.packets) < 100);
    assert!(found.groups[0].rate_bps > 25e6);
    let longest = |hop: usize| {
        found.hops[hop].queues.iter().filter_map(|q| q.delay_ms).map(|d| d.max).fold(0.0, f64::max)
    };
    assert!(longest(0) > 1.0 && longest(1) == 0.0);
}

#[test]
fn downloads_pass_the_link_of_their_group() {
    let more = "[[web]]\ngroup = \"A\"\nrate = \"50/s\"\nsize = \"20kb\"\n\
                [[hop]]\nname = \"H\"\nplace = \"behind\"\nrate = \"2mbit\"\nper = \"group\"\n";
    let found = summary(&format!("{TWO}{more}"), &["group.A.flows=0"]);
    assert_eq!(found.hops[0].links, 2);
    // 50 · 20 kB are 8 Mb/s: the downloads fill one of the links, and B fills the other.
    assert!(found.hops[0].utilization.unwrap() > 0.9, "{:?}", found.hops[0].utilization);
}
