//! A run of which a test sees every acknowledgement, and which it changes when the connection gets somewhere.

use std::sync::{Arc, Mutex};

use l4s_cc::bbr3::{self, Mode, Model, Phase};
use l4s_cc::foreign::{self, Control};
use l4s_cc::{
    Ack, Congestion, CongestionControl, Connection, Decision, LossSample, Pause, RateSample,
    Recovery, WantedEcn,
};
use l4s_model::{Loss, Scenario};
use l4s_sim::Simulation;
use l4s_units::{Duration, Rate, Time};

use crate::common::scenario;

pub const MS: Duration = Duration::from_millis(1);
pub const RTT: Duration = Duration::from_millis(20);
pub const SECOND: Duration = Duration::from_secs(1);
pub const DOWN: Mode = Mode::ProbeBw(Phase::Down);
pub const CRUISE: Mode = Mode::ProbeBw(Phase::Cruise);
pub const REFILL: Mode = Mode::ProbeBw(Phase::Refill);
pub const UP: Mode = Mode::ProbeBw(Phase::Up);
/// TCP paces payload, and the link's rate counts the Ethernet header.
pub const PAYLOAD: f64 = 1448.0 / 1514.0;

/// One flow at 40 Mb/s and 20 ms: 67 segments of 1500 bytes per round trip.
pub const ALONE: &str = r#"
    duration = "60s"
    warmup = "5s"
    link = { rate = "40mbit", buffer = "1000p" }
    aqm = "fifo"
    [[group]]
    name = "A"
    cc = "bbr3"
    rtt = "20ms"
    [[path]]
    name = "far"
    loss = 0.0
"#;

/// The same as the connection of an application, which writes more than the link carries, and waits
/// while two of its writes do: the test says when it writes less.
pub const WRITTEN: &str = r#"
    [[app]]
    group = "A"
    fps = 250
    rate = "200mbit"
    adapt = true
"#;

/// The connection after an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub at: Time,
    pub mode: Mode,
    pub pacing: Rate,
    pub cwnd: u64,
    pub in_flight: u64,
    /// What this acknowledgement says.
    pub app_limited: bool,
    pub delivered: u64,
    pub lost: u32,
    pub model: Model,
}

/// A repair of losses: the mode and model when it began, when it turned out to be spurious, and after that.
#[derive(Clone, Copy, Debug)]
pub struct Repaired {
    pub congestion: Congestion,
    pub began: (Mode, Model),
    pub reduced: (Mode, Model),
    pub spurious: Option<(Mode, Model)>,
}

#[derive(Debug, Default)]
pub struct Log {
    pub steps: Vec<Step>,
    pub repairs: Vec<Repaired>,
    /// The modes before and after each loss that changed them.
    pub by_loss: Vec<(Mode, Mode)>,
    /// Whether the model knew of each restart after a pause.
    pub restarts: Vec<bool>,
}

/// BBR that keeps a log.
#[derive(Debug)]
pub struct Logged {
    pub bbr: bbr3::Control,
    pub sample: RateSample,
    pub log: Arc<Mutex<Log>>,
}

impl Logged {
    pub fn state(&self) -> (Mode, Model) {
        (self.bbr.mode(), self.bbr.model())
    }

    pub fn log(&self) -> std::sync::MutexGuard<'_, Log> {
        self.log.lock().expect("no panic")
    }
}

impl CongestionControl for Logged {
    fn on_established(&mut self, connection: &Connection) {
        self.bbr.on_established(connection);
    }
    fn on_ack(&mut self, ack: &Ack) -> Decision {
        let decision = self.bbr.on_ack(ack);
        let step = Step {
            at: ack.now,
            mode: self.bbr.mode(),
            pacing: decision.pacing.expect("BBR paces"),
            cwnd: decision.window.cwnd.into(),
            in_flight: ack.in_flight.into(),
            app_limited: self.sample.app_limited,
            delivered: self.sample.delivered,
            lost: ack.lost,
            model: self.bbr.model(),
        };
        self.log().steps.push(step);
        decision
    }
    fn on_congestion(&mut self, congestion: Congestion, answered: bool, at: &Ack) -> Decision {
        let began = self.state();
        let decision = self.bbr.on_congestion(congestion, answered, at);
        if congestion != Congestion::Ecn {
            let repair = Repaired { congestion, began, reduced: began, spurious: None };
            self.log().repairs.push(repair);
        }
        decision
    }
    fn on_recovered(&mut self, recovery: Recovery) -> Decision {
        let reduced = self.state();
        let decision = self.bbr.on_recovered(recovery);
        let after = self.state();
        if let Some(repair) = self.log().repairs.last_mut() {
            repair.reduced = reduced;
            repair.spurious = matches!(recovery, Recovery::Spurious(_)).then_some(after);
        }
        decision
    }
    fn on_restart(&mut self, pause: Pause) -> Decision {
        let decision = self.bbr.on_restart(pause);
        let knows = self.bbr.model().idle_restart;
        self.log().restarts.push(knows);
        decision
    }
    fn samples_rate(&self) -> bool {
        self.bbr.samples_rate()
    }
    fn sample_rate(&mut self, sample: &RateSample) {
        self.sample = *sample;
        self.bbr.sample_rate(sample);
    }
    fn sample_loss(&mut self, loss: &LossSample) {
        let before = self.bbr.mode();
        self.bbr.sample_loss(loss);
        let after = self.bbr.mode();
        if after != before {
            self.log().by_loss.push((before, after));
        }
    }
    fn limits_itself(&self) -> bool {
        self.bbr.limits_itself()
    }
}

/// A scenario whose first group has one connection of BBR, which keeps this log.
pub fn logged(mut scenario: Scenario) -> (Scenario, Arc<Mutex<Log>>) {
    let log = Arc::new(Mutex::new(Log::default()));
    let shared = Arc::clone(&log);
    let make = move |connection: &Connection| -> Box<dyn Control> {
        let bbr = bbr3::control(&bbr3::Config::default(), connection);
        Box::new(Logged { bbr, sample: RateSample::default(), log: Arc::clone(&shared) })
    };
    scenario.groups[0].cc = l4s_cc::Config::Foreign(foreign::Config {
        name: "bbr3".into(),
        wants: WantedEcn::Off,
        make: Arc::new(make),
    });
    (scenario, log)
}

/// A run that a test watches, and changes when the connection gets somewhere.
pub struct Run {
    pub simulation: Simulation<()>,
    pub log: Arc<Mutex<Log>>,
    pub seen: usize,
}

impl Run {
    pub fn of(text: &str, set: &[&str]) -> Run {
        let (scenario, log) = logged(scenario(text, set));
        Run { simulation: Simulation::new(&scenario, ()), log, seen: 0 }
    }

    /// One connection without an end.
    pub fn bulk(set: &[&str]) -> Run {
        Run::of(ALONE, set)
    }

    /// The connection of an application.
    pub fn written(set: &[&str]) -> Run {
        let mut all = vec!["group.A.flows=0"];
        all.extend(set);
        Run::of(&format!("{ALONE}{WRITTEN}"), &all)
    }

    /// Goes on until an acknowledgement after which this is so; panics after a minute.
    pub fn until(&mut self, what: &str, is_it: impl Fn(&Step) -> bool) -> Step {
        let end = self.simulation.now() + SECOND * 60;
        while self.simulation.now() < end {
            let (seen, found) = {
                let log = self.log.lock().expect("no panic");
                let found = log.steps[self.seen..].iter().find(|step| is_it(step)).copied();
                (log.steps.len(), found)
            };
            self.seen = seen;
            if let Some(step) = found {
                return step;
            }
            self.simulation.advance(self.simulation.now() + MS / 4);
        }
        panic!("no {what} within a minute: {:?}", self.last());
    }

    pub fn until_mode(&mut self, mode: Mode) -> Step {
        self.until(&format!("{mode:?}"), |step| step.mode == mode)
    }

    pub fn until_it_leaves(&mut self, mode: Mode) -> Step {
        self.until(&format!("end of {mode:?}"), |step| step.mode != mode)
    }

    pub fn go_on(&mut self, time: Duration) -> &mut Run {
        self.simulation.advance(self.simulation.now() + time);
        self
    }

    pub fn change(&mut self, change: impl FnOnce(&mut Scenario)) {
        let mut scenario = self.simulation.scenario().clone();
        change(&mut scenario);
        assert!(self.simulation.adapt(&scenario));
    }

    pub fn link(&mut self, mbps: f64) {
        self.change(|scenario| scenario.link.rate = Rate::from_bps((mbps * 1e6) as u64));
    }

    pub fn write(&mut self, mbps: u64) {
        self.change(|scenario| scenario.apps[0].rate = Rate::from_mbps(mbps));
    }

    pub fn lose(&mut self, chance: f64) {
        self.change(|scenario| scenario.paths[0].loss = Loss::Independent(chance));
    }

    pub fn steps(&self) -> Vec<Step> {
        self.log.lock().expect("no panic").steps.clone()
    }

    pub fn steps_since(&self, at: Time) -> Vec<Step> {
        self.steps().into_iter().filter(|step| step.at > at).collect()
    }

    /// The modes before and after the last loss that changed them.
    pub fn last_by_loss(&self) -> Option<(Mode, Mode)> {
        self.log.lock().expect("no panic").by_loss.last().copied()
    }

    pub fn last(&self) -> Step {
        *self.log.lock().expect("no panic").steps.last().expect("a step")
    }
}

/// In `ProbeBW`, where it begins: the acknowledgement that ends drain may end `Down`, too.
pub fn begins_cycle(mode: Mode) -> bool {
    matches!(mode, DOWN | CRUISE)
}

/// The first step in each mode, in order.
pub fn phases(steps: &[Step]) -> Vec<Step> {
    let mut phases: Vec<Step> = Vec::new();
    for step in steps {
        if phases.last().is_none_or(|last| last.mode != step.mode) {
            phases.push(*step);
        }
    }
    phases
}

/// A rate as a part of what a link of this rate delivers of payload.
pub fn part_of(rate: Rate, mbps: f64) -> f64 {
    rate.as_bps() as f64 / (mbps * 1e6 * PAYLOAD)
}

/// The pacing rate as a multiple of the bandwidth; it is a hundredth less.
pub fn gain(step: &Step) -> f64 {
    let bw =
        step.model.bw_shortterm.map_or(step.model.max_bw, |bound| bound.min(step.model.max_bw));
    step.pacing.as_bps() as f64 / bw.as_bps() as f64 / 0.99
}

/// `Inflight(1.0)`: the product, but no less than three bursts of a millisecond, of at least two.
pub fn target_of(step: &Step) -> u64 {
    let burst = (step.pacing.as_bps() / 8 / 1000 / 1448).max(2);
    step.model.bdp.max(3 * burst).max(4)
}
