//! Bursts into an idle queue (RFC 7928 §7).

use super::PERCENT;
use crate::{Accepted, Chapter, Criterion, Subject};

pub(super) const CHAPTER: Chapter = Chapter {
    scenario: "evaluate-aqm-bursts",
    title: "bursts",
    subject: Subject::Discipline,
    quick: &["duration=30s"],
    criteria: &[ABSORBS],
};

const ABSORBS: Criterion = Criterion {
    id: "burst-absorption",
    section: "RFC 7928 §7",
    asks: "Does a burst of 40 packets pass an idle queue whole?",
    measure: "packets dropped",
    unit: " %",
    accepted: Accepted::AtMost(0.1),
    because: "it is over in 12 ms, which is less than any target and interval",
    of: |run| Some(PERCENT * run.drop("tcp")?),
};
