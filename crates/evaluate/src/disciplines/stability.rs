//! Levels of congestion, and changes of load and capacity (RFC 7928 §8).

use super::{DELAY, WHY, delay};
use crate::{Accepted, Chapter, Criterion, Run, Subject};

pub(super) const CHAPTER: Chapter = Chapter {
    scenario: "evaluate-aqm-stability",
    title: "stability",
    subject: Subject::Discipline,
    quick: &[],
    criteria: &[LEVELS, TAIL, MORE, CAPACITY],
};

const LOADS: &[&str] = &["2 flows", "10 flows", "100 flows"];
/// When load and capacity change, in seconds.
const CHANGE: f64 = 40.0;

const LEVELS: Criterion = Criterion {
    id: "levels",
    section: "RFC 7928 §8.2",
    asks: "Is the delay short in mild, medium and heavy congestion?",
    measure: "mean queueing delay with 2, 10 and 100 flows",
    unit: " ms",
    accepted: Accepted::AtMost(DELAY),
    because: WHY,
    of: |run| delay(run.only("load", LOADS)?),
};

const TAIL: Criterion = Criterion {
    id: "variation",
    section: "RFC 7928 §8.2",
    asks: "Does the delay vary little at each of these levels?",
    measure: "99th percentile of the queueing delay",
    unit: " ms",
    accepted: Accepted::AtMost(2.0 * DELAY),
    because: "twice the mean that is accepted",
    of: |run| run.only("load", LOADS)?.delay_of("tcp", |delay| delay.p99),
};

const MORE: Criterion = Criterion {
    id: "more-flows",
    section: "RFC 7928 §8.2.5",
    asks: "Is the delay short again 5 s after fifty flows came to ten?",
    measure: "mean queueing delay, 5 to 15 s after",
    unit: " ms",
    accepted: Accepted::AtMost(DELAY),
    because: WHY,
    of: |run| delay_after(run.only("load", &["10, then 60"])?),
};

const CAPACITY: Criterion = Criterion {
    id: "capacity",
    section: "RFC 7928 §8.2.6",
    asks: "Is the delay short again 5 s after the link fell to a tenth of its rate?",
    measure: "mean queueing delay, 5 to 15 s after",
    unit: " ms",
    accepted: Accepted::AtMost(1.5 * DELAY),
    because: "a packet takes 3 ms there, and ten flows have at least one each in the queue",
    of: |run| delay_after(run.only("load", &["40, 4, 40 Mb/s"])?),
};

fn delay_after(run: Run<'_>) -> Option<f64> {
    run.delay_over_time("tcp", CHANGE + 5.0, CHANGE + 15.0)
}
