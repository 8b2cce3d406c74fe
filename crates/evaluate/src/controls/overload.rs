//! Congestion that does not end (RFC 9743 §5.1.1).

use super::{PERCENT, TESTED};
use crate::{Accepted, Chapter, Criterion, Run, Subject};

pub(super) const CHAPTER: Chapter = Chapter {
    scenario: "evaluate-overload",
    title: "persistent congestion",
    subject: Subject::Control(&[TESTED]),
    quick: &[],
    criteria: &[COLLAPSE, FULL_BACKOFF],
};

const COLLAPSE: Criterion = Criterion {
    id: "collapse",
    section: "RFC 9743 §5.1.1",
    asks: "Do fifty flows at 4 Mb/s send most of their packets to good effect?",
    measure: "packets dropped",
    unit: " %",
    accepted: Accepted::AtMost(50.0),
    because: "otherwise most packets are sent in vain",
    of: |run| Some(PERCENT * run.only("overload", &["50 flows"])?.drop(TESTED)?),
};

const FULL_BACKOFF: Criterion = Criterion {
    id: "full-backoff",
    section: "RFC 9743 §5.1.1",
    asks: "Does it slow down to a packet per round trip where half of the packets are lost, or nine tenths?",
    measure: "packets sent per base RTT of 20 ms",
    unit: "",
    accepted: Accepted::AtMost(1.0),
    because: "full backoff reduces to one packet per round trip, and to less if the congestion persists",
    of: |run| packets_per_rtt(run.only("overload", &["loss of 50 %", "loss of 90 %"])?),
};

/// Packets of the group that arrived at the bottleneck in a base round trip after the warm-up.
fn packets_per_rtt(run: Run<'_>) -> Option<f64> {
    let (group, scenario) = (run.group(TESTED)?, run.scenario());
    // Of all that arrived the fraction `drop` was dropped; where none was forwarded, all were.
    let arrived = group.packets as f64 / (1.0 - group.drop.unwrap_or(0.0)).max(1e-9);
    let round_trips =
        (scenario.duration.as_millis_f64() - scenario.warmup.as_millis_f64()) / run.rtt(TESTED)?;
    Some(arrived / round_trips)
}
