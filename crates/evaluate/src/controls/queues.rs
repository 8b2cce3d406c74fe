//! The response to AQMs (RFC 9743 §7.1).

use super::TESTED;
use crate::{Accepted, Chapter, Criterion, Run, Subject};

pub(super) const CHAPTER: Chapter = Chapter {
    scenario: "evaluate-queues",
    title: "AQMs",
    subject: Subject::Control(&[TESTED]),
    quick: &["link.rate=40mbit", "duration=40s", "warmup=15s"],
    criteria: &[USE, DELAY],
};

const USE: Criterion = Criterion {
    id: "aqm-use",
    section: "RFC 9743 §7.1",
    asks: "Does it use a link with an AQM as well as Cubic does?",
    measure: "utilization, over that of Cubic",
    unit: "",
    accepted: Accepted::AtLeast(0.9),
    because: "a tenth less than the standard control",
    of: |run| {
        let cubic = cubic(run)?.summary().link.utilization;
        Some(run.summary().link.utilization / cubic)
    },
};

const DELAY: Criterion = Criterion {
    id: "aqm-delay",
    section: "RFC 9743 §7.1",
    asks: "Does the AQM keep its delay as short as that of Cubic?",
    measure: "mean queueing delay beyond that of Cubic",
    unit: " ms",
    accepted: Accepted::AtMost(5.0),
    because: "the target of CoDel; a control that ignores marks or losses fills the buffer",
    of: |run| {
        let cubic = cubic(run)?.delay("cubic").filter(|delay| delay.is_finite())?;
        Some(run.delay(TESTED)? - cubic)
    },
};

/// The run with Cubic under the same condition; `None` for one that is of Cubic itself.
fn cubic(run: Run<'_>) -> Option<Run<'_>> {
    match run.set("sender") {
        "tested" => run.with("sender", "cubic"),
        "five of tested" => run.with("sender", "five of cubic"),
        _ => None,
    }
}
