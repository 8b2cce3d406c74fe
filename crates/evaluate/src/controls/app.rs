//! An application that writes at a rate of its own (RFC 9743 §5.1.4).

use super::TESTED;
use crate::{Accepted, Chapter, Criterion, Subject};

pub(super) const CHAPTER: Chapter = Chapter {
    scenario: "evaluate-app",
    title: "application-limited",
    subject: Subject::Control(&[TESTED]),
    quick: &["duration=40s", "warmup=10s"],
    criteria: &[DELAY],
};

const DELAY: Criterion = Criterion {
    id: "app-delay",
    section: "RFC 9743 §5.1.4",
    asks: "Does video of 4 Mb/s get its share beside a download, as soon as with Cubic?",
    measure: "mean delay of a frame, beyond that with Cubic",
    unit: " ms",
    accepted: Accepted::AtMost(16.7),
    because: "half of the time between two frames",
    of: |run| {
        let run = run.only("sender", &["tested"])?;
        if run.is_starved(TESTED) {
            return Some(f64::INFINITY);
        }
        let cubic = run.with("sender", "cubic")?.group("cubic")?.app.as_ref()?.delay_ms?;
        Some(run.group(TESTED)?.app.as_ref()?.delay_ms?.mean - cubic.mean)
    },
};
