//! Only the changes in `[[at]]` take place.

use l4s_aqm::Packet as _;
use l4s_aqm::{DropCause, Queue};
use l4s_measure::{EngineSummary, Origin, Recorder};
use l4s_model::{FlowId, Scenario, SourceId};
use l4s_observe::{LinkState, Observer};
use l4s_scenario::{Plan, disciplines};
use l4s_sim::Packet;
use l4s_units::{Duration, Time};

const SECOND: Duration = Duration::from_secs(1);

fn scenario(text: &str) -> Scenario {
    let plan = Plan::parse("changes.toml", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    plan.points[0].scenario.clone()
}

/// Observations per second.
#[derive(Default)]
struct Seconds {
    now: Time,
    arrived: u64,
    dropped: u64,
    departed: u64,
    waiting: u64,
    /// Bits on the link.
    bits: Vec<u64>,
    /// Departures with their queue and sojourn.
    departures: Vec<(Time, Queue, Duration)>,
    /// Opening and completion time of each connection, by number.
    opened: Vec<Time>,
    took: Vec<(Time, Duration)>,
    base: Vec<(Time, Option<f64>)>,
}

impl Seconds {
    /// Checks that time never runs backwards.
    fn clock(&mut self, now: Time) {
        assert!(now >= self.now, "{now} after {}", self.now);
        self.now = now;
    }
}

impl Observer<Packet> for Seconds {
    fn arrived(&mut self, _: &Packet, now: Time) {
        self.clock(now);
        self.arrived += 1;
    }
    fn departed(&mut self, packet: &Packet, queue: Queue, sojourn: Duration, now: Time) {
        self.clock(now);
        self.departed += 1;
        let second = now.as_secs_f64() as usize;
        self.bits.resize(self.bits.len().max(second + 1), 0);
        self.bits[second] += 8 * packet.size().get();
        self.departures.push((now, queue, sojourn));
    }
    fn dropped(&mut self, _: &Packet, _: Queue, _: DropCause, now: Time) {
        self.clock(now);
        self.dropped += 1;
    }
    fn opened(&mut self, _: FlowId, _: SourceId, _: Option<l4s_units::Bytes>, now: Time) {
        self.clock(now);
        self.opened.push(now);
    }
    fn closed(&mut self, flow: FlowId, now: Time) {
        self.clock(now);
        let opened = self.opened[flow.index()];
        self.took.push((opened, now.since(opened)));
    }
    fn sample_link(&mut self, state: LinkState, now: Time) {
        self.clock(now);
        self.waiting = state.packets.into();
        self.base.push((now, state.base.map(|p| p.as_f64())));
    }
    fn sampling_interval(&self) -> Option<Duration> {
        Some(Duration::from_millis(100))
    }
}

fn run(scenario: &Scenario) -> Seconds {
    let mut seconds = Seconds::default();
    l4s_sim::run(scenario, &mut seconds);
    seconds
}

/// A flood of 60 Mb/s into 40 Mb/s for four seconds, with these changes.
fn flood(aqm: &str, changes: &str) -> Scenario {
    scenario(&format!(
        "duration = \"4s\"\nwarmup = \"1s\"\nlink.rate = \"40mbit\"\nlink.buffer = \"2000p\"\n\
         aqm = \"{aqm}\"\n[[udp]]\nname = \"U\"\nrate = \"30mbit\"\necn = \"ect1\"\n\
         [[udp]]\nname = \"V\"\nrate = \"30mbit\"\n{changes}"
    ))
}

#[test]
fn the_link_carries_what_its_rate_is_at_the_time() {
    let changes = "[[at]]\ntime = \"1s\"\nlink.rate = \"10mbit\"\n\
                   [[at]]\ntime = \"2s\"\nlink.rate = \"20mbit\"\n\
                   [[at]]\ntime = \"3s\"\nlink.rate = \"100mbit\"";
    let scenario = flood("fifo", changes);
    let seen = run(&scenario);
    // The last second has first the queued packets, 2000 or 24.2 Mb, then the arriving ones, 60.6 Mb
    // with Ethernet. In all that is less than 100 Mb.
    let expected = [40e6, 10e6, 20e6, 24.2e6 + 60.56e6];
    for (bits, expected) in seen.bits.iter().zip(expected) {
        assert!((*bits as f64 - expected).abs() < 3.0 * 1514.0 * 8.0, "{bits}, not {expected}");
    }
    // Utilization is relative to the capacity of the link: 10, 20 and 100 Mb in the three seconds.
    let mut recorder = Recorder::new(&scenario, Origin::default());
    l4s_sim::run(&scenario, &mut recorder);
    let link = recorder.finish(EngineSummary::default()).summary.link;
    assert!((link.rate_bps - 130e6 / 3.0).abs() < 1e-3);
    let carried = seen.bits[1..].iter().sum::<u64>() as f64;
    assert!((link.utilization - carried / 130e6).abs() < 1e-3, "{}", link.utilization);
}

#[test]
fn a_change_of_aqm_loses_no_packet_and_no_time_of_waiting() {
    let kinds: Vec<_> = disciplines().into_iter().map(|described| described.kind).collect();
    for before in &kinds {
        for after in &kinds {
            let what = format!("{before} to {after}");
            let change = format!("[[at]]\ntime = \"2s\"\naqm = \"{after}\"");
            let scenario = flood(before, &change);
            let seen = run(&scenario);
            // The last sample is at the end of the run, before other events of that instant.
            let left = seen.arrived - seen.departed - seen.dropped;
            assert!(left.abs_diff(seen.waiting) <= 20, "{what}: {left} {}", seen.waiting);
            // Packets leave through the queues of the present discipline.
            let is_dual = |kind: &str| ["dualpi2", "curvy-red"].contains(&kind);
            for (now, queue, sojourn) in &seen.departures {
                let late = *now > Time::ZERO + SECOND * 2;
                let kind = if late { after } else { before };
                if *now != Time::ZERO + SECOND * 2 {
                    assert_eq!(is_dual(kind), *queue != Queue::Q, "{what} at {now}");
                }
                // No delay is longer than the time since the start.
                assert!(*sojourn <= now.since(Time::ZERO), "{what}: {sojourn} at {now}");
            }
        }
    }
}

#[test]
fn a_standing_queue_stands_on_in_the_new_discipline() {
    // A full FIFO of 2000 packets has 605 ms of delay, and CoDel does not shorten it at once.
    let seen = run(&flood("fifo", "[[at]]\ntime = \"2s\"\naqm = \"codel\""));
    let after = seen.departures.iter().find(|(now, ..)| *now > Time::ZERO + SECOND * 2);
    let (_, _, sojourn) = after.unwrap();
    assert!((590..=606).contains(&(sojourn.as_micros() / 1000)), "{sojourn}");
}

#[test]
fn a_new_controller_starts_from_nothing_and_gets_to_work() {
    let seen = run(&flood("fifo", "[[at]]\ntime = \"2s\"\naqm = \"pi2\""));
    let base = |s: u64, ms: u64| {
        let at = Time::ZERO + SECOND * s + Duration::from_millis(ms);
        seen.base.iter().find(|(now, _)| *now == at).unwrap().1
    };
    assert_eq!((base(1, 900), base(2, 0)), (None, Some(0.0)));
    // A third of all packets must be dropped. These are two thirds of the half that cannot be marked, so
    // p'² is 2/3.
    assert!(base(3, 900) > Some(0.5), "{:?}", base(3, 900));
    let late = seen.departures.iter().filter(|(now, ..)| *now > Time::ZERO + SECOND * 3);
    let longest = late.map(|(_, _, sojourn)| *sojourn).max().unwrap();
    assert!(longest < Duration::from_millis(60), "{longest}");
}

#[test]
fn a_reroute_is_felt_by_what_sets_out_after_it() {
    let scenario = scenario(
        "duration = \"30s\"\nlink.rate = \"1gbit\"\n\
         [[group]]\nname = \"A\"\ncc = \"cubic\"\nflows = 0\nrtt = \"10ms\"\n\
         [[web]]\ngroup = \"A\"\nrate = \"100/s\"\nsize = \"1kb\"\n\
         [[at]]\ntime = \"10s\"\ngroup.A.rtt = \"50ms\"\n\
         [[at]]\ntime = \"20s\"\ngroup.A.rtt = \"10ms\"",
    );
    let seen = run(&scenario);
    let (first, second) = (Time::ZERO + SECOND * 10, Time::ZERO + SECOND * 20);
    let mut between = [0, 0];
    for (opened, took) in &seen.took {
        // Two round trips, SYN and request. Each has the path of its start, and at most 12 µs of
        // transmission for each packet that it meets.
        let syn = if *opened < first || *opened >= second { 10 } else { 50 };
        let request = *opened + Duration::from_millis(syn);
        let answer = if request < first || request >= second { 10 } else { 50 };
        between[usize::from(*opened > second)] += u32::from(syn != answer);
        let expected = Duration::from_millis(syn + answer);
        assert!(
            *took >= expected && *took < expected + Duration::from_micros(100),
            "{took} at {opened}, expected {expected}"
        );
    }
    assert!(between[0] > 0, "some were under way");
    // The theoretical time follows the path, so the mean ratio is always a little above 1.
    let mut recorder = Recorder::new(&scenario, Origin::default());
    l4s_sim::run(&scenario, &mut recorder);
    let summary = recorder.finish(EngineSummary::default()).summary;
    assert!(summary.completion[0].efficiency.mean < 1.01, "{:?}", summary.completion);
}

/// Acknowledgements on the shorter path overtake others. The flow continues, and no segment counts as lost
/// because of it.
#[test]
fn a_shorter_path_does_not_break_a_flow() {
    for cc in ["cubic", "dctcp", "prague", "bbr", "bbr3"] {
        let seen = run(&scenario(&format!(
            "duration = \"20s\"\nlink.rate = \"40mbit\"\n\
             [[group]]\nname = \"A\"\ncc = \"{cc}\"\nrtt = \"100ms\"\n\
             [[at]]\ntime = \"10s\"\ngroup.A.rtt = \"5ms\""
        )));
        let bits: u64 = seen.bits[11..20].iter().sum();
        assert!(bits > 9 * 36_000_000, "{cc}: {bits}");
    }
}
