//! One flow on a link with a FIFO (RFC 9743 §5.1.2, §5.1.3, §6.1 and §6.3).

use super::{PERCENT, TESTED};
use crate::{Accepted, Chapter, Criterion, Run, Subject};

pub(super) const CHAPTER: Chapter = Chapter {
    scenario: "evaluate-alone",
    title: "one flow, FIFO",
    subject: Subject::Control(&[TESTED]),
    quick: &["link.rate=40mbit", "duration=60s", "warmup=30s"],
    criteria: &[FULL_LINK, SHALLOW, START, DELAY, LOSS],
};

const FULL_LINK: Criterion = Criterion {
    id: "full-link",
    section: "RFC 9743 §6.1",
    asks: "Does it fill a link whose buffer has a bandwidth-delay product?",
    measure: "utilization, in buffers from 1 BDP",
    unit: " %",
    accepted: Accepted::AtLeast(90.0),
    because: "Reno, which halves its window, just keeps such a link busy",
    of: |run| (run.buffer_bdp(TESTED)? >= 1.0).then_some(utilization(run)),
};

const SHALLOW: Criterion = Criterion {
    id: "shallow-buffer",
    section: "RFC 9743 §6.1",
    asks: "Does it use a link with a shallow buffer?",
    measure: "utilization, in buffers of 0.1 and 0.5 BDP",
    unit: " %",
    accepted: Accepted::AtLeast(70.0),
    because: "without any buffer Reno has 75 % on average; bursts cost some",
    of: |run| (run.buffer_bdp(TESTED)? < 1.0).then_some(utilization(run)),
};

const START: Criterion = Criterion {
    id: "start",
    section: "RFC 9743 §5.1.5",
    asks: "Does a new flow soon use the link?",
    measure: "time until the link is used to 80 % for 200 ms, in buffers from 1 BDP",
    unit: " s",
    accepted: Accepted::AtMost(5.0),
    because: "slow start takes a second at 200 Mb/s and 100 ms; four more for its errors",
    of: start,
};

const DELAY: Criterion = Criterion {
    id: "bufferbloat",
    section: "RFC 9743 §5.1.2",
    asks: "Does it leave a large buffer mostly empty?",
    measure: "median queueing delay over the base RTT, in buffers from 4 BDP",
    unit: " RTT",
    accepted: Accepted::AtMost(1.0),
    because: "a full link needs a queue of one RTT at most, with Reno's reduction",
    of: |run| {
        let delay = run.delay_of(TESTED, |delay| delay.p50)?;
        Some(delay / run.rtt(TESTED)?)
            .filter(|_| run.buffer_bdp(TESTED).is_some_and(|bdp| bdp >= 4.0))
    },
};

const LOSS: Criterion = Criterion {
    id: "loss",
    section: "RFC 9743 §5.1.3",
    asks: "Does it cause few losses?",
    measure: "packets dropped, where a BDP has 20 packets or more",
    unit: " %",
    accepted: Accepted::AtMost(1.0),
    because: "Reno with a window of W loses 1.5 / W² of its packets: 0.4 % with 20",
    of: |run| (run.bdp_packets(TESTED)? >= 20.0).then_some(PERCENT * run.drop(TESTED)?),
};

fn utilization(run: Run<'_>) -> f64 {
    PERCENT * run.summary().link.utilization
}

/// Seconds until the flow has 80 % of the link; the whole run if it never has.
fn start(run: Run<'_>) -> Option<f64> {
    run.buffer_bdp(TESTED).filter(|bdp| *bdp >= 1.0)?;
    let scenario = run.scenario();
    let enough = 0.8 * scenario.link.rate.as_bps() as f64;
    let end = scenario.duration.as_secs_f64();
    let mut rows = run.over_time(TESTED, 0.0, end).into_iter();
    let first = rows.find(|row| row.rate_bps.is_some_and(|rate| rate >= enough));
    Some(first.map_or(end, |row| row.time_s))
}
