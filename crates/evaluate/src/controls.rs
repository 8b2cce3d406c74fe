//! The chapters of the evaluation of a congestion control, in the order of RFC 9743.

mod alone;
mod app;
mod changes;
mod itself;
mod l4s;
mod links;
mod others;
mod overload;
mod paths;
mod queues;
mod short;

use crate::{Run, Suite};

/// The evaluation of congestion controls.
pub const CONTROLS: Suite = Suite {
    of: "congestion control",
    by: "By the criteria of RFC 9743 (BCP 133), and of RFC 9331 for senders of ECT(1).",
    chapters: &[
        alone::CHAPTER,
        overload::CHAPTER,
        itself::CHAPTER,
        others::CHAPTER,
        short::CHAPTER,
        app::CHAPTER,
        queues::CHAPTER,
        paths::CHAPTER,
        links::CHAPTER,
        changes::CHAPTER,
        l4s::CHAPTER,
    ],
};

/// The group with the tested control in every chapter.
const TESTED: &str = "tested";
/// Percent of a whole.
const PERCENT: f64 = 100.0;

/// Goodput of the run with the tested control over that of the run with Cubic; of a program the rates that left the
/// bottleneck.
fn goodput(run: Run<'_>) -> Option<f64> {
    let run = run.only("sender", &["tested"])?;
    let cubic = run.with("sender", "cubic")?;
    if run.is_of_program(TESTED) {
        return Some(run.rate(TESTED)? / cubic.rate("cubic")?);
    }
    Some(run.group(TESTED)?.goodput_bps? / cubic.group("cubic")?.goodput_bps?)
}

/// Segments of a group that were sent again, in percent of the packets forwarded; without end if it is starved.
fn sent_again(run: Run<'_>, name: &str) -> Option<f64> {
    let group = run.group(name)?;
    let share = PERCENT * group.retransmits as f64 / group.packets as f64;
    Some(if run.is_starved(name) { f64::INFINITY } else { share })
}
