//! A run on two cores has every event of the run on one, in its order.

use std::fmt::{Debug, Write};
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

use l4s_aqm::{DropCause, MarkCause, Queue};
use l4s_cc::classic_ecn::Report;
use l4s_model::{FlowId, Scenario, SourceId};
use l4s_observe::{FlowState, HopEvent, LinkState, Observer};
use l4s_scenario::bundled;
use l4s_sim::{Outcome, Packet, run, run_on_two_cores};
use l4s_units::{Bytes, Duration, Time};
use proptest::prelude::*;

use crate::common::scenario;

/// Of any observer, so that it is compiled once.
fn on_two_cores(scenario: &Scenario, mut observer: &mut dyn Observer<Packet>) -> Option<Outcome> {
    run_on_two_cores(scenario, &mut observer)
}

/// Every event of a run as a number, and some of them as text.
#[derive(Default)]
struct Transcript {
    events: Vec<u64>,
    wanted: Range<usize>,
    text: String,
}

impl Transcript {
    fn of(scenario: &Scenario, wanted: Range<usize>, two: bool) -> (Transcript, Outcome) {
        let mut transcript = Transcript { wanted, ..Transcript::default() };
        let on_two = if two { on_two_cores(scenario, &mut transcript) } else { None };
        let outcome = on_two.unwrap_or_else(|| run(scenario, &mut transcript));
        (transcript, outcome)
    }

    fn add(&mut self, now: Time, what: &dyn Debug) {
        /// Text that is hashed and not kept.
        struct Hashed(DefaultHasher);
        impl Write for Hashed {
            fn write_str(&mut self, text: &str) -> std::fmt::Result {
                self.0.write(text.as_bytes());
                Ok(())
            }
        }
        if self.wanted.contains(&self.events.len()) {
            writeln!(self.text, "{now} {what:?}").unwrap();
        }
        let mut hashed = Hashed(DefaultHasher::new());
        write!(hashed, "{} {what:?}", now.as_nanos()).unwrap();
        self.events.push(hashed.0.finish());
    }
}

impl Observer<Packet> for Transcript {
    fn arrived(&mut self, packet: &Packet, now: Time) {
        self.add(now, packet);
    }
    fn marked(&mut self, packet: &Packet, queue: Queue, cause: MarkCause, now: Time) {
        self.add(now, &(packet, queue, cause));
    }
    fn departed(&mut self, packet: &Packet, queue: Queue, sojourn: Duration, now: Time) {
        self.add(now, &(packet, queue, sojourn));
    }
    fn dropped(&mut self, packet: &Packet, queue: Queue, cause: DropCause, now: Time) {
        self.add(now, &(packet, queue, cause));
    }
    fn at_hop(&mut self, hop: u16, packet: &Packet, queue: Queue, what: HopEvent, now: Time) {
        self.add(now, &(hop, packet, queue, what));
    }
    fn straddled(&mut self, hop: Option<u16>, before: Bytes, after: Bytes) {
        self.add(Time::NEVER, &(hop, before, after));
    }
    fn opened(&mut self, flow: FlowId, group: SourceId, size: Option<Bytes>, now: Time) {
        self.add(now, &("opened", flow, group, size));
    }
    fn closed(&mut self, flow: FlowId, now: Time) {
        self.add(now, &("closed", flow));
    }
    fn detected(&mut self, flow: FlowId, report: Report, now: Time) {
        self.add(now, &(flow, report));
    }
    fn round_trip(&mut self, flow: FlowId, rtt: Duration, now: Time) {
        self.add(now, &(flow, rtt));
    }
    fn delivered(&mut self, flow: FlowId, group: SourceId, bytes: u64, now: Time) {
        self.add(now, &("delivered", flow, group, bytes));
    }
    fn retransmitted(&mut self, flow: FlowId, now: Time) {
        self.add(now, &("again", flow));
    }
    fn sample_link(&mut self, state: LinkState, now: Time) {
        self.add(now, &state);
    }
    fn sample_flow(&mut self, state: FlowState, now: Time) {
        self.add(now, &state);
    }
    fn sampling_interval(&self) -> Option<Duration> {
        Some(Duration::from_millis(7))
    }
}

/// Compares the two runs of a scenario.
fn check(name: &str, scenario: &Scenario) {
    let (one, outcome) = Transcript::of(scenario, 0..0, false);
    let (two, other) = Transcript::of(scenario, 0..0, true);
    let differs = one.events.iter().zip(&two.events).position(|(one, two)| one != two);
    if let Some(at) = differs {
        let [one, two] = [false, true]
            .map(|two| Transcript::of(scenario, at.saturating_sub(3)..at + 4, two).0.text);
        panic!("{name}: event {at}: on one core\n{one}on two\n{two}");
    }
    assert_eq!(one.events.len(), two.events.len(), "{name}");
    assert_eq!(outcome, other, "{name}");
    assert!(outcome.packets > 0, "{name}");
}

/// The first 0.9 s of each bundled scenario.
#[test]
fn bundled_scenarios_are_the_same_on_two_cores() {
    let mut names = 0;
    for each in bundled::ALL {
        let mut point = each.plan(&[]).unwrap().points.swap_remove(0);
        let scenario = &mut point.scenario;
        scenario.duration = scenario.duration.min(Duration::from_millis(900));
        scenario.warmup = scenario.duration / 3;
        scenario.changes.retain(|change| change.time < Time::ZERO + scenario.duration);
        names += usize::from(l4s_sim::lookahead(scenario).is_some());
        if scenario.programs.is_empty() {
            check(each.name, scenario);
        }
    }
    assert!(names >= 40, "{names} of {}", bundled::ALL.len());
}

/// A client's timer expires with the timer of another flow's server, whose number is higher. Both lost a SYN-ACK, so that one sends
/// its SYN again and the other a SYN-ACK, which is answered at once. The two messages are on one line.
#[test]
fn timers_of_both_halves_that_expire_together_are_in_order() {
    let text = "duration = \"1500ms\"\nwarmup = \"100ms\"\nhost_jitter = false\naqm = \"fifo\"\n\
                link.rate = \"10mbit\"\nlink.buffer = \"66p\"\n\
                [[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"20ms\"\nflows = 2\n\
                [[udp]]\nname = \"U\"\nrate = \"500mbit\"\nstop = \"500ms\"\n";
    let mut scenario = scenario(text, &[]);
    scenario.groups[0].starts = [120, 100].map(|ms| Time::ZERO + Duration::from_millis(ms)).into();
    check("timers", &scenario);
}

/// Clients open at time zero. Their messages arrive at the end of the first lookahead, with a packet of a source that has its
/// turn after them.
#[test]
fn messages_of_time_zero_arrive_before_the_servers_go_on() {
    let text = "duration = \"1s\"\nwarmup = \"100ms\"\nhost_jitter = false\nlink.rate = \"40mbit\"\n\
                [[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"4800us\"\n\
                [[udp]]\nname = \"U\"\nrate = \"5mbit\"\npacket = \"1500b\"\n";
    check("time zero", &scenario(text, &[]));
}

/// The panic of one half ends the other.
#[test]
#[should_panic = "the thousandth packet"]
fn an_observer_that_panics_ends_the_run() {
    struct Panics(u32);
    impl Observer<Packet> for Panics {
        fn departed(&mut self, _: &Packet, _: Queue, _: Duration, _: Time) {
            self.0 += 1;
            assert!(self.0 < 1000, "the thousandth packet");
        }
    }
    let text = "duration = \"9s\"\nlink.rate = \"40mbit\"\n[[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"10ms\"\n";
    on_two_cores(&scenario(text, &[]), &mut Panics(0));
}

fn group(name: &str) -> impl Strategy<Value = String> {
    let cc = prop::sample::select(vec!["prague", "cubic", "dctcp", "bbr", "bbr3", "reno"]);
    let size = prop::option::of(1u32..3_000_000);
    let rest = ("", "endpoint = \"quic\"\n", "ecn = \"classic\"\n");
    let rest = prop::sample::select(vec![rest.0, rest.1, rest.2]);
    let name = name.to_owned();
    (cc, 1u32..8, 1u32..60_000, size, 0u32..40, rest).prop_map(
        move |(cc, flows, rtt_us, size, every, rest)| {
            let classic = matches!(cc, "cubic" | "reno") || !rest.starts_with("ecn");
            let rest = if classic { rest } else { "" };
            let size = size.map_or(String::new(), |size| format!("size = \"{size}b\"\n"));
            format!(
                "[[group]]\nname = \"{name}\"\ncc = \"{cc}\"\nflows = {flows}\nrtt = \"{rtt_us}us\"\n\
                 start = {{ every = \"{every}ms\" }}\n{size}{rest}"
            )
        },
    )
}

fn hops() -> impl Strategy<Value = String> {
    let hop = (
        prop::bool::ANY,
        5u32..80,
        prop::sample::select(vec!["all", "group", "flow"]),
        prop::sample::select(vec!["dualpi2", "fifo", "fq_codel", "pie"]),
    );
    prop::collection::vec(hop, 0..3).prop_map(|hops| {
        let mut text = String::new();
        for (number, (before, rate, per, aqm)) in hops.into_iter().enumerate() {
            let place = if before { "before" } else { "behind" };
            write!(
                text,
                "[[hop]]\nname = \"h{number}\"\nplace = \"{place}\"\nrate = \"{rate}mbit\"\nper = \"{per}\"\n\
                 aqm = \"{aqm}\"\n"
            )
            .unwrap();
        }
        text
    })
}

/// A link of this many Mb/s, or one that carries several packets at a time.
fn link() -> impl Strategy<Value = String> {
    let plain = (2u32..200).prop_map(|rate| format!("rate = \"{rate}mbit\""));
    let others = prop::sample::select(vec![
        "rate = \"30mbit\"\naggregation = \"4ms\"",
        "trace = \"cable-1\"\ntrace_scale = \"20mbit\"",
        "wifi = { standard = \"n\", mcs = 3 }",
        "cell = { layers = 1, loss = 0.1 }",
    ]);
    prop_oneof![2 => plain, 1 => others.prop_map(str::to_owned)]
}

fn changes() -> impl Strategy<Value = String> {
    let what = prop::sample::select(vec![
        "link.rate = \"11mbit\"",
        "aqm = \"codel\"",
        "aqm = \"dualpi2\"",
        "group.A.rtt = \"3ms\"",
        "group.B.rtt = \"70ms\"",
    ]);
    prop::collection::vec((150u32..700, what), 0..4).prop_map(|mut changes| {
        changes.sort_unstable();
        changes.dedup_by_key(|(ms, _)| *ms);
        let text = |(ms, what)| format!("[[at]]\ntime = \"{ms}ms\"\n{what}\n");
        changes.into_iter().map(text).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_scenario_is_the_same_on_two_cores(
        seed in 1u32..1000,
        link in link(),
        aqm in prop::sample::select(vec!["dualpi2", "pie", "codel", "fq_codel", "fifo", "red"]),
        host_jitter: bool,
        ack_loss in prop::sample::select(vec!["0", "0.05"]),
        (a, b) in (group("A"), group("B")),
        hops in hops(),
        udp in prop::option::of(1u32..40),
        changes in changes(),
    ) {
        // Such a link has no other rate.
        let changes = if link.starts_with("rate") { changes } else { String::new() };
        let udp = udp.map_or(String::new(), |rate| {
            format!("[[udp]]\nname = \"U\"\nrate = \"{rate}mbit\"\necn = \"ect1\"\n")
        });
        let text = format!(
            "duration = \"800ms\"\nwarmup = \"100ms\"\nseed = {seed}\nhost_jitter = {host_jitter}\naqm = \"{aqm}\"\n\
             [link]\n{link}\nack_loss = {ack_loss}\n{a}{b}{hops}{udp}{changes}"
        );
        let scenario = scenario(&text, &[]);
        prop_assert!(l4s_sim::lookahead(&scenario).is_some());
        check(&text, &scenario);
    }
}
