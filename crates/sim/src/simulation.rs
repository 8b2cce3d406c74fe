//! A run without an end, whose scenario may change while it goes on: for whoever looks on.

use l4s_model::Scenario;
use l4s_observe::Observer;
use l4s_units::Time;

use crate::engine::{Engine, Outcome};
use crate::packet::Packet;

/// A run that goes as far as it is told to. What it does depends on the scenario and on when that
/// was changed, not on the steps in which it went on.
pub struct Simulation<O> {
    engine: Engine<O>,
    scenario: Scenario,
    now: Time,
}

impl<O: Observer<Packet>> Simulation<O> {
    /// A run at time zero, which tells `observer` everything that happens. Nothing but its
    /// `[[web]]` ends with the scenario's duration.
    pub fn new(scenario: &Scenario, observer: O) -> Self {
        let engine = Engine::new(scenario, observer);
        Simulation { engine, scenario: scenario.clone(), now: Time::ZERO }
    }

    /// The same with so many downloads at a time: those that would begin beyond it are turned away.
    pub fn with_most_downloads(mut self, most: usize) -> Self {
        self.engine.most_downloads = most;
        self
    }

    /// How far it is.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The scenario as it stands.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Whoever is told.
    pub fn observer(&mut self) -> &mut O {
        &mut self.engine.observer
    }

    /// Goes on to `to`, inclusive; to where it is, if that is later.
    pub fn advance(&mut self, to: Time) {
        self.engine.advance(to);
        self.now = self.now.max(to);
    }

    /// Tells the observer the state of link and flows, as at a sampling instant.
    pub fn tell_state(&mut self) {
        self.engine.tell_state(self.now);
    }

    /// Ends here: what it did, and whoever was told, who hears of the end too.
    pub fn finish(self) -> (Outcome, O) {
        self.engine.finish(self.now)
    }

    /// Becomes another scenario from now on, and says whether it could: a scenario that differs in
    /// more than [`adaptable`](Scenario::adaptable) leaves all as it was.
    ///
    /// What is the same in both stays as it is, whatever an `[[at]]` made of it. A discipline of
    /// the same kind keeps its controller's state. A flow that is one too many is given up, the
    /// youngest first; flows of another congestion control, ECN or size are opened anew.
    pub fn adapt(&mut self, scenario: &Scenario) -> bool {
        let adaptable = self.scenario.adaptable(scenario);
        if adaptable {
            self.engine.adapt(&self.scenario, scenario, self.now);
            self.scenario = scenario.clone();
        }
        adaptable
    }
}
