//! Round trips of different length (RFC 7928 §6).

use crate::{Accepted, Chapter, Criterion, Subject};

pub(super) const CHAPTER: Chapter = Chapter {
    scenario: "evaluate-aqm-rtts",
    title: "round trips",
    subject: Subject::Discipline,
    quick: &["duration=60s", "warmup=25s"],
    criteria: &[FAIRNESS],
};

const FAIRNESS: Criterion = Criterion {
    id: "rtt-fairness",
    section: "RFC 7928 §6",
    asks: "Do flows of Reno from far away get what their round trip lets them?",
    measure: "ratio of the rates, over the inverse ratio of the base round trips",
    unit: "",
    accepted: Accepted::AtMost(1.25),
    because: "Reno's rate is inverse to its round trip; the queue makes round trips more alike",
    of: |run| {
        let rates = run.rate_over("near", "far")?;
        Some(rates / (run.rtt("far")? / run.rtt("near")?))
    },
};
