//! A run without an end, whose scenario may change while it goes on: for live viewers.

use l4s_model::Scenario;
use l4s_observe::Observer;
use l4s_units::Time;

use crate::engine::{Engine, Outcome};
use crate::packet::Packet;

/// A run that advances in steps. Its events depend on the scenario and on the times of changes, not on
/// the steps.
///
/// ```
/// use l4s_model::{Group, Link, Scenario};
/// use l4s_sim::{Outcome, Simulation};
/// use l4s_units::{Duration, Rate, Time};
///
/// let aqm = l4s_aqm::Config::Fifo(l4s_aqm::fifo::Config::dctth());
/// let link = Link::new(Rate::from_mbps(12));
/// let mut scenario = Scenario::new("Reno", Duration::from_secs(20), link, aqm);
/// let reno = l4s_cc::Config::Reno(l4s_cc::reno::Config::default());
/// scenario.groups.push(Group::new("A", reno, Duration::from_millis(10)));
///
/// // A second at 12 Mb/s, and one at half of that.
/// let mut simulation = Simulation::new(&scenario, ());
/// simulation.advance(Time::ZERO + Duration::from_secs(1));
/// scenario.link.rate = Rate::from_mbps(6);
/// assert!(simulation.adapt(&scenario));
/// simulation.advance(Time::ZERO + Duration::from_secs(2));
/// let (Outcome { packets, .. }, ()) = simulation.finish();
/// // At most 1500 packets of 1514 B fit, and slow start takes some of them.
/// assert!((1400..1500).contains(&packets), "{packets}");
/// ```
pub struct Simulation<O> {
    engine: Engine<O>,
    scenario: Scenario,
    now: Time,
}

impl<O: Observer<Packet>> Simulation<O> {
    /// A run at time zero, which reports every event to `observer`. Only its
    /// `[[web]]` ends with the scenario's duration.
    pub fn new(scenario: &Scenario, observer: O) -> Self {
        let engine = Engine::new(scenario, observer);
        Simulation { engine, scenario: scenario.clone(), now: Time::ZERO }
    }

    /// The same with a maximum of concurrent downloads: further ones are turned away.
    pub fn with_most_downloads(mut self, most: usize) -> Self {
        self.engine.most_downloads = most;
        self
    }

    /// How far it is.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The present scenario.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The observer.
    pub fn observer(&mut self) -> &mut O {
        &mut self.engine.observer
    }

    /// Goes on to `to`, inclusive; to where it is, if that is later.
    pub fn advance(&mut self, to: Time) {
        self.engine.advance(to);
        self.now = self.now.max(to);
    }

    /// Reports the state of link and flows to the observer, as at a sampling instant.
    pub fn tell_state(&mut self) {
        self.engine.tell_state(self.now);
    }

    /// Ends the run; returns its counts, and the observer, to which the end is reported.
    pub fn finish(self) -> (Outcome, O) {
        self.engine.finish(self.now)
    }

    /// Changes to another scenario from now on, and returns whether it could. A scenario that differs in
    /// more than [`adaptable`](Scenario::adaptable) leaves the run unchanged.
    ///
    /// Settings that are the same in both are not touched, even if an `[[at]]` changed them. A
    /// discipline of the same kind keeps its controller's state. Surplus flows are given up, the
    /// youngest first; flows of another congestion control, ECN or size are opened again.
    pub fn adapt(&mut self, scenario: &Scenario) -> bool {
        let adaptable = self.scenario.adaptable(scenario);
        if adaptable {
            self.engine.adapt(&self.scenario, scenario, self.now);
            self.scenario = scenario.clone();
        }
        adaptable
    }
}
