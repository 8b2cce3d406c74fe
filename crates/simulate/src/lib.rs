//! A simulation with the recorder of its results, as nearly all are run.
//!
//! The simulator is generic over its observer, so that the compiler removes the events that nobody looks at. Its
//! code is made where the type of the observer is known. That is here, in one unit, and not among the code of
//! the command line or of the Python package, whose growth would change how it is optimized.

use l4s_measure::Recorder;
use l4s_model::Scenario;
use l4s_substrate::{Ran, Sim, Watch};

/// Runs a scenario in the simulator, and records it. `watch` may end it early.
pub fn simulate(scenario: &Scenario, recorder: &mut Recorder, watch: &mut Watch) -> Ran {
    Sim.simulate(scenario, recorder, watch)
}
