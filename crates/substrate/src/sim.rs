//! The simulator, in virtual time.

use l4s_model::Scenario;
use l4s_sim::Simulation;
use l4s_units::Time;

use crate::{Capabilities, Error, Lane, MOST_DOWNLOADS, Observe, Ran, Substrate};

/// `--on sim`: the simulator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sim;

impl<O: Observe> Substrate<O> for Sim {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { virtual_time: true, live: true }
    }

    fn check(&self, _: &Scenario) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    fn prepare(&self, _: &[&Scenario]) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    fn run(&self, scenario: &Scenario, observer: &mut O) -> Result<Ran, Error> {
        let outcome = l4s_sim::run(scenario, observer);
        Ok(Ran {
            time: scenario.duration,
            packets: outcome.packets,
            events: Some(outcome.events),
            ..Ran::default()
        })
    }

    fn lane(&self, scenario: &Scenario, observer: O) -> Result<Box<dyn Lane<O>>, Error> {
        Ok(Box::new(Simulation::new(scenario, observer).with_most_downloads(MOST_DOWNLOADS)))
    }
}

impl<O: Observe> Lane<O> for Simulation<O> {
    fn advance(&mut self, to: Time) -> Result<(), Error> {
        Simulation::advance(self, to);
        Ok(())
    }

    fn adapt(&mut self, scenario: &Scenario) -> bool {
        Simulation::adapt(self, scenario)
    }

    fn observe(&mut self, read: &mut dyn FnMut(&mut O, Time)) {
        self.tell_state();
        let now = self.now();
        read(self.observer(), now);
    }
}
