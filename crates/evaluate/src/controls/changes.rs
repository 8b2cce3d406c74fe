//! Changes of the link and of the path in mid-run (RFC 9743 §7.8 and §7.9).

use super::{PERCENT, TESTED};
use crate::run::mean;
use crate::{Accepted, Chapter, Criterion, Run, Subject};

pub(super) const CHAPTER: Chapter = Chapter {
    scenario: "evaluate-changes",
    title: "changes in mid-run",
    subject: Subject::Control(&[TESTED]),
    quick: &[],
    criteria: &[FOLLOWS, BURST, OUTAGE],
};

/// When the change is, in seconds.
const CHANGE: f64 = 20.0;
/// When the outage ends.
const OUTAGE_ENDS: f64 = 22.0;
const CHANGES: &[&str] = &["rate to a tenth", "rate times ten", "RTT to 100 ms", "RTT to 20 ms"];

const FOLLOWS: Criterion = Criterion {
    id: "follows",
    section: "RFC 9743 §7.9",
    asks: "Does it use the link soon after its rate or the path changed?",
    measure: "rate from 10 to 20 s after the change, over that of the link",
    unit: " %",
    accepted: Accepted::AtLeast(80.0),
    because: "ten seconds are 100 round trips of the longest path",
    of: |run| share_of_link(run.only("change", CHANGES)?, CHANGE + 10.0, CHANGE + 20.0),
};

const BURST: Criterion = Criterion {
    id: "burst-of-loss",
    section: "RFC 9743 §7.8",
    asks: "Does it lose few packets when the rate of the link falls to a tenth?",
    measure: "packets dropped in the 5 s after the change",
    unit: " %",
    accepted: Accepted::AtMost(10.0),
    because: "a window of two BDP meets a tenth of the rate: 120 packets too many, of 1700 in 5 s",
    of: |run| {
        let run = run.only("change", &["rate to a tenth"])?;
        Some(PERCENT * run.drop_over_time(TESTED, CHANGE, CHANGE + 5.0)?)
    },
};

const OUTAGE: Criterion = Criterion {
    id: "outage",
    section: "RFC 9743 §7.8",
    asks: "Does it come back soon after nothing came through for 2 s?",
    measure: "rate from 3 to 10 s after the outage, over that of the link",
    unit: " %",
    accepted: Accepted::AtLeast(80.0),
    because: "retransmission timeouts have doubled up to 2 s by then (RFC 6298 §5.5)",
    of: |run| {
        let run = run.only("change", &["outage of 2 s"])?;
        share_of_link(run, OUTAGE_ENDS + 3.0, OUTAGE_ENDS + 10.0)
    },
};

/// Mean rate of the flow over that of the link at its end, in percent.
fn share_of_link(run: Run<'_>, from_s: f64, to_s: f64) -> Option<f64> {
    let scenario = run.scenario();
    let changed = scenario.changes.iter().filter_map(|change| change.rate).next_back();
    let link = changed.unwrap_or(scenario.link.rate).as_bps() as f64;
    let rate =
        mean(run.over_time(TESTED, from_s, to_s).into_iter().filter_map(|row| row.rate_bps))?;
    Some(PERCENT * rate / link)
}
