//! Senders that respond to nothing (RFC 7928 §5.3).

use super::{DELAY, WHY, delay};
use crate::{Accepted, Chapter, Criterion, Subject};

pub(super) const CHAPTER: Chapter = Chapter {
    scenario: "evaluate-aqm-unresponsive",
    title: "unresponsive senders",
    subject: Subject::Discipline,
    quick: &["duration=40s", "warmup=20s"],
    criteria: &[OVERLOAD, ROOM],
};

const OVERLOAD: Criterion = Criterion {
    id: "overload-delay",
    section: "RFC 7928 §5.3",
    asks: "Does it keep the delay short when UDP overloads the link?",
    measure: "mean queueing delay, beside UDP of 1.5 times the rate of the link",
    unit: " ms",
    accepted: Accepted::AtMost(DELAY),
    because: WHY,
    of: |run| delay(run.only("udp.U.rate", &["60mbit"])?),
};

const ROOM: Criterion = Criterion {
    id: "room-for-tcp",
    section: "RFC 7928 §5.3",
    asks: "Do five TCP flows get the half of the link that UDP leaves?",
    measure: "their rate over that half",
    unit: "",
    accepted: Accepted::AtLeast(0.8),
    because: "headers of Ethernet and the changes of the window cost some",
    of: |run| {
        let run = run.only("udp.U.rate", &["20mbit"])?;
        Some(run.rate("tcp")? / (run.scenario().link.rate.as_bps() as f64 / 2.0))
    },
};
