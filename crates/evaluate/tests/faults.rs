//! The evaluation finds controls with a fault, and does not accuse Reno of it.

use std::sync::Arc;

use l4s_cc::{
    Ack, Congestion, CongestionControl, Connection, Decision, Pause, Recovery, Reducing, WantedEcn,
    Window, WindowRule, foreign, reno,
};
use l4s_evaluate::{
    CONTROLS, Chapter, DISCIPLINES, Judged, Outcome, Runs, Subject, Suite, Verdict, judge,
};
use l4s_measure::{
    DelaySummary, EngineSummary, FlowRow, Origin, Recorder, Scope, SeriesRow, Spread,
};
use l4s_model::Scenario;
use l4s_scenario::Point;
use l4s_units::{Duration, Ecn, Frequency};

/// Reno, with a fault.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fault {
    None,
    /// It does not reduce for a loss.
    IgnoresLoss,
    /// It asks for ECT(1), and does not reduce for a mark.
    IgnoresMarks,
    /// It grows with the inverse cube of its round trip.
    UnfairToLongRtts,
}

#[derive(Debug)]
struct Faulty {
    fault: Fault,
    reno: reno::Rule,
    /// Growth that is due, in segments.
    growth: f64,
}

impl WindowRule for Faulty {
    fn grow(&mut self, window: &mut Window, ack: &Ack) {
        if self.fault != Fault::UnfairToLongRtts || window.in_slow_start() {
            return self.reno.grow(window, ack);
        }
        let slower = Duration::from_millis(20).as_secs_f64() / ack.min_rtt.as_secs_f64();
        self.growth += slower.powi(3) * f64::from(ack.delivered) / f64::from(window.cwnd);
        let whole = self.growth.floor();
        self.growth -= whole;
        window.cwnd += whole as u32;
    }

    fn ssthresh(&mut self, window: &Window, congestion: Congestion) -> u32 {
        match (self.fault, congestion) {
            (Fault::IgnoresLoss, Congestion::Loss) => window.cwnd,
            (Fault::IgnoresMarks, Congestion::Ecn) => window.cwnd,
            _ => self.reno.ssthresh(window, congestion),
        }
    }
}

/// A window of 200 segments, whatever happens.
#[derive(Debug)]
struct Constant;

impl Constant {
    const DECISION: Decision = Decision { window: Window::new(200), pacing: None, quantum: 1 };
}

impl CongestionControl for Constant {
    fn on_ack(&mut self, _: &Ack) -> Decision {
        Constant::DECISION
    }

    fn on_congestion(&mut self, _: Congestion, _: bool, _: &Ack) -> Decision {
        Constant::DECISION
    }

    fn on_recovered(&mut self, _: Recovery) -> Decision {
        Constant::DECISION
    }

    fn on_restart(&mut self, _: Pause) -> Decision {
        Constant::DECISION
    }
}

fn control(fault: Fault) -> l4s_cc::Config {
    let make = move |connection: &Connection| -> Box<dyn foreign::Control> {
        let reno = reno::Rule::new(&reno::Config::default());
        Box::new(Reducing::new(Faulty { fault, reno, growth: 0.0 }, false, connection))
    };
    let ecn = fault == Fault::IgnoresMarks;
    let wants = if ecn { WantedEcn::L4s } else { WantedEcn::Off };
    l4s_cc::Config::Foreign(foreign::Config { name: "faulty".into(), wants, make: Arc::new(make) })
}

fn constant() -> l4s_cc::Config {
    let make = |_: &Connection| -> Box<dyn foreign::Control> { Box::new(Constant) };
    let (name, wants) = ("constant".into(), WantedEcn::Off);
    l4s_cc::Config::Foreign(foreign::Config { name, wants, make: Arc::new(make) })
}

/// The verdict on each of these criteria, by the quick runs of their chapters with the first seed.
/// `set` puts a control into a scenario.
fn verdicts(
    suite: &Suite,
    entrant: Option<&str>,
    set: impl Fn(&Chapter, &mut Scenario),
    criteria: &[&str],
) -> Vec<Verdict> {
    let asked = |chapter: &&Chapter| {
        chapter.criteria.iter().any(|criterion| criteria.contains(&criterion.id))
    };
    let mut found = Vec::new();
    for chapter in suite.chapters.iter().filter(asked) {
        let plan = chapter.plan(entrant, true).unwrap();
        let mut runs = Vec::new();
        for mut point in plan.points.into_iter().filter(|point| point.scenario.seed == 1) {
            set(chapter, &mut point.scenario);
            let mut recorder = Recorder::new(&point.scenario, Origin::default());
            l4s_sim::run(&point.scenario, &mut recorder);
            runs.push(Judged::new(point, recorder.finish(EngineSummary::default())));
        }
        let verdicts = judge(chapter, Ok(Runs(&runs))).into_iter();
        found.extend(verdicts.filter(|verdict| criteria.contains(&verdict.criterion.id)));
    }
    assert_eq!(found.len(), criteria.len(), "{found:?}");
    found
}

/// None of the criteria is failed, or all of them are.
fn expect(fails: bool, verdicts: Vec<Verdict>) {
    for verdict in verdicts {
        let is_failed = verdict.outcome == Outcome::Fail;
        assert_eq!(is_failed, fails, "{}: {}", verdict.criterion.id, verdict.value());
    }
}

fn of_control(cc: &l4s_cc::Config, criteria: &[&str]) -> Vec<Verdict> {
    let set = |chapter: &Chapter, scenario: &mut Scenario| {
        let Subject::Control(tested) = chapter.subject else { return };
        for group in scenario.groups.iter_mut().filter(|g| tested.contains(&g.name.as_str())) {
            group.cc = cc.clone();
        }
    };
    verdicts(&CONTROLS, None, set, criteria)
}

/// The control fails each of these criteria, and Reno passes it or is not asked.
fn is_called(cc: &l4s_cc::Config, criteria: &[&str]) {
    expect(true, of_control(cc, criteria));
    expect(false, of_control(&control(Fault::None), criteria));
}

#[test]
fn who_ignores_loss_is_called_so() {
    is_called(&control(Fault::IgnoresLoss), &["loss", "loss-of-many", "harm-to-cubic"]);
}

#[test]
fn who_ignores_marks_is_called_so() {
    is_called(&control(Fault::IgnoresMarks), &["aqm-delay", "coexists"]);
}

/// With ECN Cubic has marks in the place of drops, and with ECT(1) it is asked for more than it does.
#[test]
fn a_control_has_the_ecn_that_is_behind_it() {
    let of = |control, criteria| verdicts(&CONTROLS, Some(control), |_, _| (), criteria);
    let [plain, classic] = ["cubic", "cubic+classic"].map(|control| of(control, &["ect1"]));
    let outcomes = [plain[0].outcome, classic[0].outcome];
    assert_eq!(outcomes, [Outcome::NotApplicable; 2]);
    let l4s = of("{ kind = \"cubic\", abe = true }+l4s", &["ect1", "scalable"]);
    assert_eq!([l4s[0].outcome, l4s[1].outcome], [Outcome::Pass, Outcome::Fail]);
    // Cubic without it sends Not-ECT.
    let chapter = CONTROLS.chapters.first().unwrap();
    let codepoint = |control| {
        let plan = chapter.plan(Some(control), true).unwrap();
        plan.points[0].scenario.groups[0].codepoint()
    };
    assert_eq!([codepoint("cubic"), codepoint("cubic+classic")], [None, Some(Ecn::Ect0)]);
}

#[test]
fn who_never_backs_off_in_overload_is_called_so() {
    is_called(&constant(), &["full-backoff", "collapse"]);
}

#[test]
fn who_is_unfair_to_long_round_trips_is_called_so() {
    is_called(&control(Fault::UnfairToLongRtts), &["round-trips"]);
}

fn of_discipline(aqm: &str, criteria: &[&str]) -> Vec<Verdict> {
    verdicts(&DISCIPLINES, Some(aqm), |_, _| (), criteria)
}

#[test]
fn a_queue_that_nobody_manages_is_called_so() {
    let criteria = [
        "queue-delay",
        "ecn",
        "overload-delay",
        "levels",
        "capacity",
        "voice-in-mix",
        "two-bottlenecks",
    ];
    expect(true, of_discipline("fifo", &criteria));
    expect(false, of_discipline("dualpi2", &criteria));
}

#[test]
fn a_queue_without_room_for_a_burst_is_called_so() {
    expect(true, of_discipline("{ kind = \"fifo\", limit = \"10p\" }", &["burst-absorption"]));
    expect(false, of_discipline("pie", &["burst-absorption"]));
}

#[test]
fn a_dualq_without_coupling_or_priority_is_called_so() {
    expect(true, of_discipline("{ kind = \"dualpi2\", k = 0 }", &["coupling"]));
    expect(
        true,
        of_discipline("{ kind = \"dualpi2\", step_thresh = \"20ms\", k = 0 }", &["l-delay"]),
    );
    expect(false, of_discipline("dualpi2", &["coupling", "l-delay"]));
}

/// It drops every packet that is not CE, so that nothing of Prague and Cubic comes through the overload.
#[test]
fn a_queue_that_lets_nothing_through_is_called_so() {
    let aqm = "{ kind = \"dualpi2\", dualq = \"l4s\", target = \"0s\", alpha = 100000, beta = 100000, \
               classic_ecn = false, tupdate = \"4s\", min_backlog = \"0b\" }";
    expect(true, of_discipline(aqm, &["isolation"]));
    expect(false, of_discipline("dualpi2", &["isolation"]));
}

/// Runs without the tested control, with which others are compared.
const REFERENCES: &[(&str, &str)] = &[
    ("beside", "same"),
    ("beside", "nobody"),
    ("sender", "cubic"),
    ("sender", "five of cubic"),
    ("flows", "long: cubic"),
    ("flows", "short: cubic"),
];

/// Verdicts on quick runs in which three packets of each sender come through, soon and unmarked, and three of a hundred
/// downloads are soon over. All goes well in the runs that they are compared with.
fn starved(suite: &Suite, entrant: &str) -> Vec<Verdict> {
    let ms = 0.1;
    let short =
        DelaySummary { mean: ms, p1: ms, p25: ms, p50: ms, p75: ms, p99: ms, p999: ms, max: ms };
    let mut found = Vec::new();
    for chapter in suite.chapters {
        let mut runs = Vec::new();
        for point in chapter.plan(Some(entrant), true).unwrap().points {
            let is = |(key, value): &(String, String)| REFERENCES.contains(&(key, value));
            let goes_well = point.set.iter().any(is);
            let (packets, rate_bps) = if goes_well { (100_000, 1e7) } else { (3, 1e3) };
            let recorder = Recorder::new(&point.scenario, Origin::default());
            let mut run = Judged::new(point, recorder.finish(EngineSummary::default()));
            run.summary.link.utilization = if goes_well { 1.0 } else { 0.0 };
            for group in &mut run.summary.groups {
                (group.packets, group.rate_bps, group.goodput_bps) =
                    (packets, rate_bps, Some(rate_bps));
                (group.delay_ms, group.mark, group.drop) = (Some(short), Some(0.0), Some(0.0));
                (group.window_pkts, group.downloads) = (Some(1.0), group.downloads.map(|_| 1));
                if let Some(app) = &mut group.app {
                    (app.written, app.delay_ms) = (1, Some(Spread { mean: ms, p1: ms, p99: ms }));
                }
                run.series.extend((1..60).map(|second| SeriesRow {
                    time_s: f64::from(second),
                    scope: Scope::Group,
                    name: group.name.clone(),
                    rate_bps: Some(0.0),
                    packets: Some(0),
                    ..SeriesRow::default()
                }));
            }
            for queue in &mut run.summary.queues {
                (queue.packets, queue.delay_ms) = (packets, Some(short));
            }
            run.flows.iter_mut().for_each(|flow| flow.rate_bps = Some(rate_bps));
            let scenario = &run.point.scenario;
            for web in scenario.web.iter().filter(|web| web.rate > Frequency::default()) {
                run.flows.extend((0..100).map(|number| FlowRow {
                    group: scenario.groups[web.group].name.clone(),
                    start_s: scenario.duration.as_secs_f64() - 15.0,
                    size: Some(10_000),
                    completion_ms: (goes_well || number < 3).then_some(100.0),
                    ..FlowRow::default()
                }));
            }
            runs.push(run);
        }
        found.extend(judge(chapter, Ok(Runs(&runs))));
    }
    found
}

#[test]
fn who_gets_next_to_nothing_through_passes_no_criterion() {
    for (suite, entrant) in [(&CONTROLS, "prague"), (&DISCIPLINES, "dualpi2")] {
        for verdict in starved(suite, entrant) {
            let expected = match verdict.criterion.id {
                // It slowed down.
                "full-backoff" => Outcome::Pass,
                _ => Outcome::Fail,
            };
            assert_eq!(verdict.outcome, expected, "{}: {}", verdict.criterion.id, verdict.value());
        }
    }
}

/// In one interval of 5 s all of 100 packets are dropped, and in each of the others 100 are forwarded: 20 %.
#[test]
fn an_interval_in_which_every_packet_is_dropped_is_a_burst_of_loss() {
    let is_changes = |chapter: &&Chapter| chapter.name() == "changes";
    let chapter = CONTROLS.chapters.iter().find(is_changes).unwrap();
    let plan = chapter.plan(Some("reno"), true).unwrap();
    let run = |point: Point| {
        let record = Recorder::new(&point.scenario, Origin::default());
        let mut run = Judged::new(point, record.finish(EngineSummary::default()));
        run.series = (21..=25)
            .map(|second| SeriesRow {
                time_s: f64::from(second),
                scope: Scope::Group,
                name: "tested".into(),
                packets: Some(if second == 21 { 0 } else { 100 }),
                drop: Some(if second == 21 { 1.0 } else { 0.0 }),
                drops: Some(if second == 21 { 100 } else { 0 }),
                ..SeriesRow::default()
            })
            .collect();
        run
    };
    let runs: Vec<Judged> = plan.points.into_iter().map(run).collect();
    let verdicts = judge(chapter, Ok(Runs(&runs)));
    let burst = verdicts.iter().find(|verdict| verdict.criterion.id == "burst-of-loss").unwrap();
    assert_eq!(burst.value(), "20.0 %");
}
