//! The requirements on a DualQ Coupled AQM (RFC 9332 §2). They are about disciplines with a queue `L`.

use super::{DELAY, WHY};
use crate::{Accepted, Chapter, Criterion, Run, Subject};

pub(super) const CHAPTER: Chapter = Chapter {
    scenario: "evaluate-aqm-l4s",
    title: "L4S",
    subject: Subject::Discipline,
    quick: &["duration=40s", "warmup=15s"],
    criteria: &[LOW_DELAY, COUPLED, CLASSIC, ISOLATED, OVERLOAD],
};

const LOW_DELAY: Criterion = Criterion {
    id: "l-delay",
    section: "RFC 9332 §2.1",
    asks: "Does an L4S packet wait no longer than a millisecond or two?",
    measure: "99th percentile of the delay in the L queue, from 40 Mb/s",
    unit: " ms",
    accepted: Accepted::AtMost(2.0),
    because: "a packet in service and a step of 1 ms",
    of: |run| {
        let run = run.only("case", &["40 Mb/s", "200 Mb/s", "five each"])?;
        run.delay_in("L", "prague", |delay| delay.p99)
    },
};

const COUPLED: Criterion = Criterion {
    id: "coupling",
    section: "RFC 9332 §2.1",
    asks: "Are the windows of Prague and Cubic alike?",
    measure: "the larger of the two over the smaller one, from 40 Mb/s",
    unit: "",
    accepted: Accepted::AtMost(2.0),
    because: "they are equal in theory, if both are Reno's or its scalable counterpart",
    of: |run| {
        let run = dual(run)?.only("case", &["40 Mb/s", "200 Mb/s", "five each"])?;
        let window = |group| run.group(group)?.window_pkts;
        if run.is_starved("prague") || run.is_starved("cubic") {
            return Some(f64::INFINITY);
        }
        let (prague, cubic) = (window("prague")?, window("cubic")?);
        Some(prague.max(cubic) / prague.min(cubic))
    },
};

const CLASSIC: Criterion = Criterion {
    id: "classic-delay",
    section: "RFC 9332 §2.5.1",
    asks: "Is the Classic queue short too?",
    measure: "mean delay in the C queue",
    unit: " ms",
    accepted: Accepted::AtMost(DELAY),
    because: WHY,
    of: |run| {
        let run = dual(run)?.only("case", &["4 Mb/s", "40 Mb/s", "200 Mb/s", "five each"])?;
        run.delay_in("C", "cubic", |delay| delay.mean)
    },
};

const ISOLATED: Criterion = Criterion {
    id: "isolation",
    section: "RFC 9332 §2.5.1",
    asks: "Do L4S packets wait no longer when Classic UDP overloads the link?",
    measure: "99th percentile of the delay in the L queue, without end if next to nothing of Prague comes through",
    unit: " ms",
    accepted: Accepted::AtMost(2.0),
    because: "as without it",
    of: |run| {
        let run = run.only("case", &["UDP in the C queue"])?;
        run.delay_in("L", "prague", |delay| delay.p99)
    },
};

const OVERLOAD: Criterion = Criterion {
    id: "l-overload",
    section: "RFC 9332 §4.2.3",
    asks: "Is the delay of both queues bounded when UDP with ECT(1) overloads the link?",
    measure: "the longer mean delay of that UDP and of a Classic call, without end if next to nothing comes through",
    unit: " ms",
    accepted: Accepted::AtMost(2.0 * DELAY),
    because: "Classic packets may wait longer then by the head start of L4S packets, 50 ms in Linux",
    of: |run| {
        let run = dual(run)?.only("case", &["UDP in the L queue"])?;
        Some(run.delay("U")?.max(run.delay("call")?))
    },
};

/// The run, if its discipline has a queue for L4S.
fn dual(run: Run<'_>) -> Option<Run<'_>> {
    run.queue("L").map(|_| run)
}
