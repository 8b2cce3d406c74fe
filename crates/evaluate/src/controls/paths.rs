//! Paths that lose, delay, reorder and duplicate packets (RFC 9743 §6.4 and §7.7).

use super::{TESTED, goodput, sent_again};
use crate::{Accepted, Chapter, Criterion, Subject};

pub(super) const CHAPTER: Chapter = Chapter {
    scenario: "evaluate-paths",
    title: "loss, jitter and reordering",
    subject: Subject::Control(&[TESTED]),
    quick: &["duration=40s", "warmup=10s"],
    criteria: &[LOSS, JITTER, REORDERING, SPURIOUS],
};

const REORDERED: &[&str] = &["jitter that reorders", "1 % held back by 5 ms"];

const LOSS: Criterion = Criterion {
    id: "random-loss",
    section: "RFC 9743 §6.4",
    asks: "Does it use a lossy path as well as Cubic does?",
    measure: "goodput over that of Cubic, with loss of data and of acknowledgements",
    unit: "",
    accepted: Accepted::AtLeast(0.8),
    because: "a fifth less than the standard control",
    of: |run| {
        let losses =
            ["loss of 0.01 %", "loss of 0.1 %", "loss of 1 %", "loss in bursts", "ACKs lost, 10 %"];
        goodput(run.only("condition", &losses)?)
    },
};

const JITTER: Criterion = Criterion {
    id: "jitter",
    section: "RFC 9743 §7.3",
    asks: "Does it use a path with jitter or duplicates as well as Cubic does?",
    measure: "goodput over that of Cubic",
    unit: "",
    accepted: Accepted::AtLeast(0.8),
    because: "a fifth less than the standard control",
    of: |run| goodput(run.only("condition", &["jitter in order", "duplicates, 1 %"])?),
};

const REORDERING: Criterion = Criterion {
    id: "reordering",
    section: "RFC 9743 §7.7",
    asks: "Does it use a path that reorders as well as Cubic does?",
    measure: "goodput over that of Cubic",
    unit: "",
    accepted: Accepted::AtLeast(0.8),
    because: "a fifth less than the standard control",
    of: |run| goodput(run.only("condition", REORDERED)?),
};

const SPURIOUS: Criterion = Criterion {
    id: "spurious",
    section: "RFC 9743 §7.7",
    asks: "Does it send little again on a path that reorders and loses nothing?",
    measure: "segments sent again, of the packets forwarded, beyond the share of Cubic",
    unit: " %",
    accepted: Accepted::AtMost(1.0),
    because: "one packet in a hundred is held back",
    of: |run| {
        let run = run.only("condition", REORDERED)?.only("sender", &["tested"])?;
        let cubic = run.with("sender", "cubic")?;
        let cubic = sent_again(cubic, "cubic").filter(|share| share.is_finite())?;
        Some(sent_again(run, TESTED)? - cubic)
    },
};
