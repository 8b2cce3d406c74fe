//! A run that continues until it is stopped, and whose scenario changes meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use l4s_aqm::Queue;
use l4s_measure::{EngineSummary, Origin, Recorder, RunRecord};
use l4s_model::{FlowId, Scenario, SourceId};
use l4s_observe::{FlowState, FrameEvent, Observer, Traced};
use l4s_scenario::Plan;
use l4s_sim::{Packet, Simulation};
use l4s_units::{Bytes, Duration, Rate, Time};

const BASE: &str = r#"
duration = "20s"
warmup = "1s"
link = { rate = "20mbit", burst = "0b" }
aqm = { kind = "dualpi2" }
[[group]]
name = "A"
cc = "prague"
rtt = "10ms"
[[group]]
name = "B"
cc = "cubic"
rtt = "20ms"
[[web]]
group = "B"
rate = "5/s"
[[app]]
group = "A"
rate = "1mbit"
[[udp]]
name = "U"
rate = "1mbit"
"#;

fn scenario(set: &[&str]) -> Scenario {
    let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
    Plan::parse("t.toml", BASE, &set).expect("a scenario").points[0].scenario.clone()
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// A run of 20 s in steps of `step`, which becomes each scenario at its time.
fn run(first: &Scenario, step: Duration, later: &[(Time, Scenario)]) -> RunRecord {
    let mut recorder = Recorder::new(first, Origin::default());
    let mut run = Simulation::new(first, &mut recorder);
    let mut later = later.iter().peekable();
    while run.now() < at(20_000) {
        run.advance(run.now() + step);
        if let Some((_, next)) = later.next_if(|(time, _)| *time == run.now()) {
            assert!(run.adapt(next));
        }
    }
    run.finish();
    recorder.finish(EngineSummary::default())
}

#[test]
fn in_which_steps_it_goes_on_makes_no_difference() {
    let scenario = scenario(&[]);
    let mut whole = Recorder::new(&scenario, Origin::default());
    l4s_sim::run(&scenario, &mut whole);
    let whole = whole.finish(EngineSummary::default()).summary;
    for step in [Duration::from_micros(100), Duration::from_millis(50), Duration::from_secs(20)] {
        assert_eq!(run(&scenario, step, &[]).summary, whole, "in steps of {step}");
    }
}

#[test]
fn what_does_not_change_is_left_alone() {
    let same = scenario(&[]);
    let step = Duration::from_millis(50);
    let again = [(at(5_000), same.clone()), (at(6_000), same.clone())];
    assert_eq!(run(&same, step, &again), run(&same, step, &[]));
}

/// The other way to change a rate and a path in mid-run must have the same result.
#[test]
fn a_change_is_that_of_an_at() {
    let at_five = "\n[[at]]\ntime = \"5s\"\nlink.rate = \"10mbit\"\ngroup.A.rtt = \"30ms\"\n\
                   aqm = { kind = \"pie\" }\n";
    let text = format!("{BASE}{at_five}");
    let written = Plan::parse("t.toml", &text, &[]).expect("a scenario").points[0].scenario.clone();
    let mut expected = Recorder::new(&written, Origin::default());
    l4s_sim::run(&written, &mut expected);
    let expected = expected.finish(EngineSummary::default());
    let other = scenario(&["link.rate=10mbit", "group.A.rtt=30ms", "aqm=pie"]);
    let found = run(&scenario(&[]), Duration::from_millis(50), &[(at(5_000), other)]);
    // The recorder of the changed run does not have the queues of the other scenario.
    let of_groups = |record: &RunRecord| -> Vec<_> {
        let rows = record.series.iter().filter(|row| ["A", "B", "U"].contains(&row.name.as_str()));
        rows.map(|row| (row.time_s.to_bits(), row.name.clone(), row.rate_bps, row.mark)).collect()
    };
    let (found, expected) = (of_groups(&found), of_groups(&expected));
    assert!(found.len() > 500 && found.len() == expected.len());
    let differs = found.iter().zip(&expected).find(|(found, expected)| found != expected);
    assert_eq!(differs, None);
}

/// The same of the uplink, with uploads.
#[test]
fn a_change_of_the_uplink_is_that_of_an_at() {
    let base = format!(
        "{BASE}[[group]]\nname = \"up\"\ndirection = \"up\"\ncc = \"cubic\"\nrtt = \"20ms\"\n\
         [uplink]\nrate = \"8mbit\"\n"
    );
    let read = |text: &str, set: &[&str]| {
        let set: Vec<String> = set.iter().map(|&set| set.to_owned()).collect();
        Plan::parse("t.toml", text, &set).expect("a scenario").points[0].scenario.clone()
    };
    let at_five =
        "[[at]]\ntime = \"5s\"\nuplink.rate = \"3mbit\"\nuplink.aqm = { kind = \"pie\" }\n";
    let written = read(&format!("{base}{at_five}"), &[]);
    let mut expected = Recorder::new(&written, Origin::default());
    l4s_sim::run(&written, &mut expected);
    let expected = expected.finish(EngineSummary::default());
    let other = read(&base, &["uplink.rate=3mbit", "uplink.aqm=pie"]);
    let found = run(&read(&base, &[]), Duration::from_millis(50), &[(at(5_000), other)]);
    assert_eq!(found.summary.groups, expected.summary.groups);
    assert_eq!(found.summary.hops, expected.summary.hops);
    assert_eq!(found.summary.hops[0].queues.len(), 3);
}

/// The events since the last query.
#[derive(Default)]
struct Watcher {
    bytes: BTreeMap<u16, u64>,
    datagrams: u64,
    flows: BTreeSet<(u16, u32)>,
    delays: [Vec<Duration>; 3],
    frames: u64,
    closed: u64,
    opened: Vec<(u16, Option<Bytes>)>,
    cwnd: BTreeMap<u32, u32>,
}

impl Observer<Packet> for Watcher {
    fn arrived(&mut self, packet: &Packet, _: Time) {
        self.datagrams += u64::from(packet.group().get() == 2);
    }
    fn departed(&mut self, packet: &Packet, queue: Queue, sojourn: Duration, _: Time) {
        *self.bytes.entry(packet.group().get()).or_default() += packet.ip_length().get();
        self.delays[queue as usize].push(sojourn);
    }
    fn opened(&mut self, _: FlowId, group: SourceId, size: Option<Bytes>, _: Time) {
        self.opened.push((group.get(), size));
    }
    fn closed(&mut self, _: FlowId, _: Time) {
        self.closed += 1;
    }
    fn frame(&mut self, _: FlowId, _: SourceId, what: FrameEvent, _: Time) {
        self.frames += u64::from(matches!(what, FrameEvent::Delivered(_)));
    }
    fn sample_flow(&mut self, state: FlowState, _: Time) {
        self.flows.insert((state.group.get(), state.flow.get()));
        self.cwnd.insert(state.flow.get(), state.cwnd);
    }
}

struct Live {
    run: Simulation<Watcher>,
}

impl Live {
    fn new(set: &[&str]) -> Live {
        Live { run: Simulation::new(&scenario(set), Watcher::default()) }
    }

    /// Switches to another scenario, and runs for two seconds until it settles.
    fn becomes(&mut self, set: &[&str]) {
        assert!(self.run.adapt(&scenario(set)), "{set:?}");
        self.during(2_000);
    }

    /// The events in this time.
    fn during(&mut self, ms: u64) -> Watcher {
        *self.run.observer() = Watcher::default();
        self.run.advance(self.run.now() + Duration::from_millis(ms));
        self.run.tell_state();
        std::mem::take(self.run.observer())
    }
}

#[test]
fn flows_come_and_go() {
    let mut live = Live::new(&["app.A.rate=100kbit"]);
    let of = |seen: &Watcher, group| seen.flows.iter().filter(|flow| flow.0 == group).count();
    // This includes the flow of the application.
    let first = live.during(2_000);
    assert_eq!([of(&first, 0), of(&first, 1)], [2, 1]);
    live.becomes(&["app.A.rate=100kbit", "group.B.flows=4"]);
    let more = live.during(4_000);
    assert_eq!([of(&more, 0), of(&more, 1)], [2, 4]);
    let rate = |seen: &Watcher, group: u16| seen.bytes[&group] as f64 * 8.0 / 4e6;
    assert!(rate(&more, 1) > 9.0, "four of five: {} Mb/s", rate(&more, 1));
    live.becomes(&["app.A.rate=100kbit", "group.B.flows=0"]);
    let none = live.during(4_000);
    assert_eq!([of(&none, 0), of(&none, 1)], [2, 0]);
    assert!(rate(&none, 0) > 15.0, "it has the link: {} Mb/s", rate(&none, 0));
    // The old flow remains: it had the number 0.
    assert!(none.flows.contains(&(0, 0)));
    live.becomes(&["app.A.rate=100kbit", "group.B.flows=2"]);
    let back = live.during(1_000);
    assert_eq!(of(&back, 1), 2);
    // No number is used twice.
    assert!(
        back.flows.iter().all(|flow| flow.0 == 0 || !more.flows.contains(flow)),
        "{:?}",
        back.flows
    );
}

#[test]
fn the_youngest_flow_goes_first() {
    let mut live = Live::new(&["group.B.flows=2"]);
    let two = live.during(1_000).flows;
    live.becomes(&["group.B.flows=3"]);
    live.becomes(&["group.B.flows=2"]);
    assert_eq!(live.during(100).flows, two);
}

#[test]
fn another_congestion_control_opens_the_groups_connections_anew() {
    let mut live = Live::new(&[]);
    let before = live.during(3_000);
    assert!(before.delays[Queue::L as usize].len() > 1_000);
    live.becomes(&["group.A.cc=reno"]);
    let after = live.during(3_000);
    assert_eq!(after.delays[Queue::L as usize].len(), 0, "Reno is Classic");
    let of = |seen: &Watcher, group: u16| -> BTreeSet<_> {
        seen.flows.iter().filter(|flow| flow.0 == group).copied().collect()
    };
    assert!(of(&before, 0).is_disjoint(&of(&after, 0)), "all are new, the application's too");
    assert_eq!(of(&before, 1), of(&after, 1), "the other group's are not");
    assert!(after.frames > 60, "the application writes on: {}", after.frames);
}

#[test]
fn downloads_sources_and_applications_are_switched_on_and_off() {
    let off = |mut scenario: Scenario| {
        scenario.udp[0].rate = Rate::ZERO;
        scenario.apps[0].rate = Rate::ZERO;
        scenario
    };
    let quiet = off(scenario(&["web.B.rate=0/s"]));
    let mut live = Live { run: Simulation::new(&quiet, Watcher::default()) };
    let nothing = live.during(3_000);
    assert_eq!([nothing.datagrams, nothing.frames, nothing.closed], [0, 0, 0]);
    assert_eq!(nothing.opened.len(), 3, "two long flows and the application's connection");
    live.becomes(&["web.B.rate=50/s", "web.B.size=10kb", "udp.U.rate=2mbit", "udp.U.packet=500b"]);
    let all = live.during(4_000);
    // 2 Mb/s of 500 B are 500 per second; 30 frames; 50 downloads within four standard deviations.
    assert!((1_998..=2_000).contains(&all.datagrams), "{}", all.datagrams);
    assert!((115..=125).contains(&all.frames), "{}", all.frames);
    assert!((140..=260).contains(&all.closed), "{}", all.closed);
    assert!(all.opened.iter().all(|opened| *opened == (1, Some(Bytes::new(10_000)))));
    assert!(live.run.adapt(&quiet));
    // A download that lost its last segment waits for a timeout.
    live.during(5_000);
    let nothing = live.during(2_000);
    assert_eq!([nothing.datagrams, nothing.frames, nothing.closed], [0, 0, 0]);
}

#[test]
fn a_controller_keeps_what_it_learned_when_a_setting_changes() {
    for aqm in ["dualpi2", "pi2", "pie"] {
        let kind = format!("aqm={{ kind = \"{aqm}\" }}");
        let mut live = Live::new(&[&kind, "group.A.flows=5", "group.B.flows=5"]);
        live.during(8_000);
        let longest = |seen: &Watcher| *seen.delays.iter().flatten().max().expect("packets");
        let settled = longest(&live.during(2_000));
        // A setting changes twenty times, as with a slider.
        let mut moved = Duration::ZERO;
        for ms in 0..20 {
            let kind = format!("aqm={{ kind = \"{aqm}\", target = \"{}ms\" }}", 15 + ms % 2);
            assert!(live.run.adapt(&scenario(&[&kind, "group.A.flows=5", "group.B.flows=5"])));
            moved = moved.max(longest(&live.during(100)));
        }
        // A controller that restarted at p = 0 each time would let the queue grow without a bound.
        assert!(moved < settled * 2, "{aqm}: {moved} against {settled}");
    }
}

#[test]
fn what_cannot_change_leaves_all_as_it_was() {
    let mut live = Live::new(&[]);
    live.during(1_000);
    assert!(!live.run.adapt(&scenario(&["seed=2", "group.A.flows=5"])));
    assert_eq!(live.during(1_000).flows.len(), 3);
}
