//! Reports of agents on the detector of Classic ECN, and the observer's view of them.

use std::sync::mpsc::{Sender, channel};

use l4s_cc::classic_ecn;
use l4s_cc::prague::kernel::Reading;
use l4s_lab::{Frame, Ledger, PragueSample, Report, TcpSample};
use l4s_model::FlowId;
use l4s_observe::{FlowState, Observer};
use l4s_units::{Duration, Time};

/// Flow 0 has a detector, flow 1 has Prague without one, flow 2 has neither; downloads belong to A.
const SCENARIO: &str = r#"
duration = "2s"
link.rate = "40mbit"

[[group]]
name = "A"
cc = { kind = "prague", profile = "linux", fallback = "passive" }
rtt = "10ms"

[[group]]
name = "B"
cc = "prague"
rtt = "10ms"

[[group]]
name = "C"
cc = "cubic"
rtt = "10ms"

[[web]]
group = "A"
rate = "20/s"
size = "10kB"
"#;

const WITH: FlowId = FlowId::new(0);
const WITHOUT: FlowId = FlowId::new(1);
const CUBIC: FlowId = FlowId::new(2);
/// The first of the downloads.
const DOWNLOAD: FlowId = FlowId::new(3);

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// A socket whose detector has scored this number of round trips; its score is an eighth of that number.
fn sample(rounds: u32) -> TcpSample {
    let detector = Reading {
        score: i64::from(rounds) << 21,
        max: i64::from(rounds + 8) << 21,
        rounds,
        srtt_us: 1000 + rounds,
        mdev_us: 100 + rounds,
        depth_us: 500 + rounds,
    };
    let prague = PragueSample { detector, alpha: Some(1 << 23) };
    TcpSample { cwnd: 10, prague: Some(prague), ..TcpSample::default() }
}

fn report(rounds: u32) -> classic_ecn::Report {
    let micros = |us: u32| Duration::from_micros(us.into());
    classic_ecn::Report {
        score: f64::from(rounds) / 8.0,
        max: f64::from(rounds + 8) / 8.0,
        rounds,
        srtt: micros(1000 + rounds),
        mdev: micros(100 + rounds),
        depth: micros(500 + rounds),
    }
}

/// The calls of the observer.
#[derive(Default)]
struct Heard {
    detected: Vec<(FlowId, classic_ecn::Report, Time)>,
    sampled: Vec<FlowState>,
}

impl Observer<Frame> for Heard {
    fn detected(&mut self, flow: FlowId, report: classic_ecn::Report, now: Time) {
        self.detected.push((flow, report, now));
    }

    fn sample_flow(&mut self, state: FlowState, _: Time) {
        self.sampled.push(state);
    }
}

struct Agents {
    reports: Sender<Report>,
    ledger: Ledger,
    heard: Heard,
}

impl Agents {
    fn new() -> Agents {
        let plan = l4s_scenario::Plan::parse("t.toml", SCENARIO, &[]).unwrap();
        let (reports, receiver) = channel();
        let ledger = Ledger::new(&plan.points[0].scenario, receiver);
        Agents { reports, ledger, heard: Heard::default() }
    }

    fn sampled(&mut self, flow: FlowId, ms: u64, sample: TcpSample) {
        self.say(Report::Sample { flow, at: at(ms), sample });
    }

    fn closed(&mut self, flow: FlowId, ms: u64) {
        self.say(Report::Closed { flow, at: at(ms) });
    }

    fn say(&mut self, report: Report) {
        self.reports.send(report).unwrap();
        self.ledger.pass_on(&mut self.heard);
    }

    /// The final reports, after the end of the run.
    fn concluded(mut self) -> Vec<(FlowId, classic_ecn::Report, Time)> {
        self.ledger.conclude(at(2000), &mut self.heard);
        self.heard.detected
    }
}

#[test]
fn samples_show_the_detector_of_those_that_have_one() {
    let mut agents = Agents::new();
    for flow in [WITH, WITHOUT] {
        agents.sampled(flow, 100, sample(3));
    }
    agents.sampled(CUBIC, 100, TcpSample { prague: None, ..sample(3) });
    agents.ledger.sample(at(200), &mut agents.heard);
    let seen: Vec<_> =
        agents.heard.sampled.iter().map(|s| (s.flow, s.classic_ecn, s.alpha)).collect();
    let expected =
        [(WITH, Some(report(3)), Some(0.5)), (WITHOUT, None, Some(0.5)), (CUBIC, None, None)];
    assert_eq!(seen, expected);
    // There is no final report while a flow is open.
    assert_eq!(agents.heard.detected, []);
}

#[test]
fn the_last_word_is_that_at_the_close() {
    let mut agents = Agents::new();
    agents.sampled(WITH, 100, sample(1));
    agents.sampled(WITH, 200, sample(2));
    agents.closed(WITH, 300);
    // A later sample of the server replaces the report, and is no sample of an open flow.
    agents.sampled(WITH, 310, sample(9));
    agents.ledger.sample(at(400), &mut agents.heard);
    assert_eq!(agents.heard.sampled.len(), 0);
    let expected = [(WITH, report(2), at(300)), (WITH, report(9), at(310))];
    assert_eq!(agents.concluded(), expected);
}

#[test]
fn a_flow_that_is_open_in_the_end_has_its_last_word_then() {
    let mut agents = Agents::new();
    agents.sampled(WITH, 100, sample(1));
    agents.sampled(WITH, 200, sample(2));
    // A sample without Prague does not change the report.
    agents.sampled(WITH, 300, TcpSample { prague: None, ..sample(7) });
    agents.sampled(WITHOUT, 300, sample(7));
    assert_eq!(agents.concluded(), [(WITH, report(2), at(2000))]);
}

#[test]
fn a_download_has_one_look_and_that_is_its_last() {
    let mut agents = Agents::new();
    agents.closed(DOWNLOAD, 100);
    agents.sampled(DOWNLOAD, 110, sample(4));
    // There is no such download.
    agents.sampled(DOWNLOAD + 100_000, 120, sample(5));
    assert_eq!(agents.concluded(), [(DOWNLOAD, report(4), at(110))]);
}
