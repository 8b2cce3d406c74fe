//! A lane in the simulator.

use l4s_model::Scenario;
use l4s_sim::Simulation;
use l4s_units::Time;

use crate::limits::DOWNLOADS_AT_A_TIME;
use crate::protocol::LaneState;
use crate::{Lane, Meter};

/// A lane in virtual time: as fast as it is asked to be.
pub struct SimLane {
    run: Simulation<Meter>,
}

impl SimLane {
    /// A run of `scenario` at time zero.
    pub fn new(scenario: &Scenario) -> SimLane {
        let run = Simulation::new(scenario, Meter::new(scenario));
        SimLane { run: run.with_most_downloads(DOWNLOADS_AT_A_TIME) }
    }
}

impl Lane for SimLane {
    fn advance(&mut self, to: Time) -> Result<(), String> {
        self.run.advance(to);
        Ok(())
    }

    fn become_like(&mut self, scenario: &Scenario) -> bool {
        self.run.adapt(scenario)
    }

    fn take(&mut self) -> LaneState {
        self.run.tell_state();
        let now = self.run.now();
        self.run.observer().take(now)
    }
}
