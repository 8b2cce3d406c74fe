//! The chapters of the evaluation of a queue discipline, in the order of RFC 7928, and RFC 9332 for a
//! DualQ. Cost (§11) is no matter of a simulation: `cargo bench -p l4s-aqm` measures it.

mod bursts;
mod l4s;
mod mix;
mod rtts;
mod senders;
mod stability;
mod unresponsive;

use crate::{Run, Suite};

/// The evaluation of queue disciplines.
pub const DISCIPLINES: Suite = Suite {
    of: "queue discipline",
    by: "By the criteria of RFC 7928, and of RFC 9332 for disciplines with an L4S queue.",
    chapters: &[
        senders::CHAPTER,
        unresponsive::CHAPTER,
        rtts::CHAPTER,
        bursts::CHAPTER,
        stability::CHAPTER,
        mix::CHAPTER,
        l4s::CHAPTER,
    ],
};

/// Percent of a whole.
const PERCENT: f64 = 100.0;
/// The mean delay in milliseconds that is accepted, and the reason.
const DELAY: f64 = 30.0;
const WHY: &str = "twice the target of PIE and DualPI2";

/// The longest mean delay of any group in milliseconds; without end if one is starved.
fn delay(run: Run<'_>) -> Option<f64> {
    let delays = run.summary().groups.iter().filter_map(|group| run.delay(&group.name));
    delays.reduce(f64::max)
}
