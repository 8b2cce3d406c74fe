//! What a session runs: a bottleneck with its traffic.

use l4s_model::Scenario;
use l4s_units::Time;

use crate::protocol::LaneState;

/// A bottleneck with its traffic, from time zero on and without an end: what a substrate brings.
pub trait Lane: Send {
    /// Runs to this time, inclusive; not before where it is.
    ///
    /// # Errors
    /// The run broke down, and says how: a lane of real sockets may.
    fn advance(&mut self, to: Time) -> Result<(), String>;

    /// Becomes this scenario from now on, and says whether it could: what only a new run can have
    /// it leaves all as it was. What did not change between the scenarios stays as it is, whatever
    /// an `[[at]]` made of it.
    fn become_like(&mut self, scenario: &Scenario) -> bool;

    /// What happened since it was asked last.
    fn take(&mut self) -> LaneState;
}
