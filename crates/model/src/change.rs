//! Changes of the bottleneck and of paths during a run.

use l4s_units::{Duration, Rate, Time};
use serde::{Deserialize, Serialize};

/// A change of the scenario at an instant, for the rest of the run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Change {
    /// When: after the start of the run and before its end.
    pub time: Time,
    /// The discipline that takes the place of the present one. Its packet limit is `link.buffer`
    /// unless it sets its own.
    pub aqm: Option<l4s_aqm::Config>,
    /// The rate of the link.
    pub rate: Option<Rate>,
    /// The base round trip of some groups, by their place among the groups: a re-route.
    pub rtts: Vec<(usize, Duration)>,
}
