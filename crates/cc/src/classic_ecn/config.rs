//! The settings of the detector.

use l4s_units::Duration;
use serde::{Deserialize, Serialize};

l4s_units::words! {
    /// The period of an average or of the score.
    ///
    /// Example: [`prague::Config`](crate::prague::Config).
    Clock {
        /// The flow's own round trip (Fallback §4.5.1).
        Rtt = "rtt",
        /// The flow's own round trip, but at least the virtual RTT, as in Linux.
        Virtual = "virtual",
    }

    /// The rules for the score of a round trip.
    ///
    /// Example: [`Config`].
    Rules {
        /// Fallback §4 and §5.
        Paper = "paper",
        /// The paper's with the filter of re-routes of its appendix C.
        Filtered = "paper-filtered",
        /// TCP Prague 0.6 for Linux: the paper's, without self-limitation and scored per virtual RTT.
        Linux = "linux",
        /// The paper's and those of docs/explanation/detector.md.
        Best = "best",
    }
}

/// The settings of a detector of Classic ECN. A scenario chooses the rules; the numbers belong to
/// them, and only a study of the detector sets them one by one.
///
/// ```
/// use l4s_cc::classic_ecn::{Config, Rules};
///
/// // TCP Prague 0.6 for Linux pays no regard to self-limitation.
/// assert_eq!((Config::paper().s, Config::linux().s), (0.25, 0.0));
/// // A study of the weight of depth alone.
/// let config = Config { v: 0.0, ..Config::of(Rules::Paper) };
/// assert_eq!(config.d, 0.5);
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Config {
    /// The rules.
    pub rules: Rules,
    /// V: the weight of variability (Fallback §4.4). 0 to 16.
    pub v: f64,
    /// D: the weight of depth (Fallback §4.4). 0 to 16.
    pub d: f64,
    /// S: the weight of self-limitation (Fallback §4.4). 0 to 16.
    pub s: f64,
    /// V0: the mean deviation of the RTT above which the queue looks Classic (Fallback §4.4). 1 µs
    /// to 16 s.
    pub v0: Duration,
    /// D0: the depth of the queue above which it looks Classic (Fallback §4.4). 1 µs to 16 s.
    pub d0: Duration,
    /// `L_STICKY`: the score starts this far below 0, and falls no lower (Fallback §4.4). 0 to 1000.
    pub l_sticky: f64,
    /// `C_STICKY`: the score rises no higher than this (Fallback §4.4). 1 to 1000.
    pub c_sticky: f64,
    /// The RTT is smoothed over 2^`shift_max` acknowledgements at most. 1 to 20.
    pub shift_max: u32,
}

impl Config {
    /// The rules with their numbers.
    pub fn of(rules: Rules) -> Self {
        let paper = Config {
            rules,
            v: 0.5,
            d: 0.5,
            s: 0.25,
            v0: Duration::from_micros(750),
            d0: Duration::from_micros(2000),
            l_sticky: 8.0,
            c_sticky: 8.0,
            shift_max: 19,
        };
        match rules {
            Rules::Paper | Rules::Filtered => paper,
            // Its score runs from 0 to 17; here it is the same less 8.
            Rules::Linux => Config { s: 0.0, c_sticky: 9.0, shift_max: 18, ..paper },
            Rules::Best => Config { shift_max: 13, ..paper },
        }
    }

    /// [`Rules::Paper`] with its numbers.
    pub fn paper() -> Self {
        Config::of(Rules::Paper)
    }

    /// [`Rules::Linux`] with its numbers.
    pub fn linux() -> Self {
        Config::of(Rules::Linux)
    }

    /// [`Rules::Best`] with its numbers.
    pub fn best() -> Self {
        Config::of(Rules::Best)
    }
}
