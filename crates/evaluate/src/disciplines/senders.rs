//! Senders that respond to congestion (RFC 7928 §5.1 and §5.2), ECN (§4.5) and one configuration for all
//! links (§12).

use super::{DELAY, PERCENT, WHY, delay};
use crate::{Accepted, Chapter, Criterion, Run, Subject};

pub(super) const CHAPTER: Chapter = Chapter {
    scenario: "evaluate-aqm-senders",
    title: "senders",
    subject: Subject::Discipline,
    quick: &["link.rate=40mbit", "duration=40s", "warmup=20s"],
    criteria: &[SHORT, USE, ONE, AGGRESSIVE, ECN],
};

const FRIENDLY: &[&str] = &["one Cubic", "five Cubic", "five Reno", "with ECN"];

const SHORT: Criterion = Criterion {
    id: "queue-delay",
    section: "RFC 7928 §5.1",
    asks: "Does it keep the delay of Cubic and Reno short, with one configuration for every link (§12)?",
    measure: "mean queueing delay",
    unit: " ms",
    accepted: Accepted::AtMost(DELAY),
    because: WHY,
    of: |run| delay(run.only("senders", FRIENDLY)?),
};

const USE: Criterion = Criterion {
    id: "utilization",
    section: "RFC 7928 §5.1",
    asks: "Do five flows fill the link?",
    measure: "utilization",
    unit: " %",
    accepted: Accepted::AtLeast(90.0),
    because: "losses of five flows at different times leave a tenth of the window of all",
    of: |run| Some(used(run.only("senders", &["five Cubic", "five Reno", "with ECN"])?)),
};

const ONE: Criterion = Criterion {
    id: "utilization-of-one",
    section: "RFC 7928 §5.1",
    asks: "Does one flow of Cubic use most of the link?",
    measure: "utilization",
    unit: " %",
    accepted: Accepted::AtLeast(75.0),
    because: "without any queue Reno has 75 % on average",
    of: |run| Some(used(run.only("senders", &["one Cubic"])?)),
};

const AGGRESSIVE: Criterion = Criterion {
    id: "aggressive",
    section: "RFC 7928 §5.2",
    asks: "Does it keep the delay short beside BBR, which does not slow down for a loss?",
    measure: "mean queueing delay",
    unit: " ms",
    accepted: Accepted::AtMost(DELAY),
    because: WHY,
    of: |run| delay(run.only("senders", &["Cubic and BBR"])?),
};

const ECN: Criterion = Criterion {
    id: "ecn",
    section: "RFC 7928 §4.5",
    asks: "Does it mark packets with ECN instead of dropping them?",
    measure: "packets dropped, of those dropped or marked, from 40 Mb/s",
    unit: " %",
    accepted: Accepted::AtMost(10.0),
    because: "few signals are left to drop, as in overload",
    of: |run| {
        let run = run.only("senders", &["with ECN"])?;
        let group = run.group("tcp").filter(|_| run.scenario().link.rate.as_bps() >= 40_000_000)?;
        if run.is_starved("tcp") {
            return Some(PERCENT);
        }
        let (mark, drop) = (group.mark?, group.drop?);
        Some(PERCENT * drop / (mark + drop))
    },
};

fn used(run: Run<'_>) -> f64 {
    PERCENT * run.summary().link.utilization
}
