//! Is the queue that marks a Classic one? (Fallback §§2–5, appendices A–C.)
//!
//! A scalable congestion control in a queue of RFC 3168 takes the share of others, so it has to
//! find out and answer marks as they do. The detector watches the round trips from the first mark
//! on and keeps a score, `classic_ecn`: at 0 and below the queue is taken for an L4S one, at 1 and
//! above for a Classic one.

mod config;
mod detector;
mod log;
pub mod reroute;
mod sample;
mod smooth;
mod spacing;
pub mod tracers;

pub use config::{Clock, Config, Rules};
pub use detector::{Detector, Round, State};
pub use log::{ARGUMENT_MAX, CarryLog, lg};
pub use sample::Sample;
pub use smooth::{RTT_MAX, SHIFT_MAX, Smooth, shift_of};
pub use spacing::Spacing;

use l4s_units::Duration;

/// The detector's state of its connection at an instant.
///
/// Example: [`Detector`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Report {
    /// The score: 0 and below says L4S, 1 and above Classic (Fallback §3).
    pub score: f64,
    /// The highest that it ever was.
    pub max: f64,
    /// Round trips in which the score was above its floor: 0 before the first mark, and after a bottleneck that only drops.
    pub rounds: u32,
    /// The smoothed RTT (`fbk_srtt`).
    pub srtt: Duration,
    /// Its mean deviation (`fbk_mdev`).
    pub mdev: Duration,
    /// How far the smoothed RTT is above the lowest one: the likely depth of the queue.
    pub depth: Duration,
}

/// The verdict that a score stands for.
///
/// ```
/// use l4s_cc::classic_ecn::Verdict;
///
/// let verdicts = [-8.0, 0.0, 0.5, 1.0].map(Verdict::of);
/// let expected = [Verdict::L4s, Verdict::L4s, Verdict::Transition, Verdict::Classic];
/// assert_eq!(verdicts, expected);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// 0 and below.
    L4s,
    /// In between.
    Transition,
    /// 1 and above.
    Classic,
}

impl Verdict {
    /// The verdict of a score.
    pub fn of(score: f64) -> Verdict {
        if score >= 1.0 {
            Verdict::Classic
        } else if score <= 0.0 {
            Verdict::L4s
        } else {
            Verdict::Transition
        }
    }

    /// Its name in summaries.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::L4s => "l4s",
            Verdict::Transition => "transition",
            Verdict::Classic => "classic",
        }
    }
}
