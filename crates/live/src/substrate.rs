//! What runs lanes.

use l4s_model::Scenario;

use crate::{Lane, SimLane};

/// What runs lanes: the simulator, or real sockets.
pub trait Substrate: Send + Sync + 'static {
    /// Its name, as in `--on sim`.
    fn name(&self) -> &'static str;

    /// Whether its time is its own, so that sessions can pause, go at another speed and compare.
    fn bends_time(&self) -> bool;

    /// A lane at time zero.
    ///
    /// # Errors
    /// It cannot run this scenario, and says why.
    fn lane(&self, scenario: &Scenario) -> Result<Box<dyn Lane>, String>;
}

/// The simulator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simulator;

impl Substrate for Simulator {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn bends_time(&self) -> bool {
        true
    }

    fn lane(&self, scenario: &Scenario) -> Result<Box<dyn Lane>, String> {
        Ok(Box::new(SimLane::new(scenario)))
    }
}
