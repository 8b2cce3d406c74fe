//! A mix of traffic (RFC 7928 §9) and a second bottleneck (§10).

use super::{DELAY, PERCENT, WHY, delay};
use crate::{Accepted, Chapter, Criterion, Subject};

pub(super) const CHAPTER: Chapter = Chapter {
    scenario: "evaluate-aqm-mix",
    title: "traffic mix",
    subject: Subject::Discipline,
    quick: &["duration=45s"],
    criteria: &[VOICE, WEB, BOTH_WAYS, TWO],
};

const VOICE: Criterion = Criterion {
    id: "voice-in-mix",
    section: "RFC 7928 §9.1",
    asks: "Does a voice call wait little beside downloads and web traffic?",
    measure: "99th percentile of its queueing delay",
    unit: " ms",
    accepted: Accepted::AtMost(50.0),
    because: "half of the 100 ms that a conversation has for everything (ITU-T G.114)",
    of: |run| run.only("traffic", &["mix", "both ways"])?.delay_of("voice", |delay| delay.p99),
};

const WEB: Criterion = Criterion {
    id: "web-in-mix",
    section: "RFC 7928 §9.1",
    asks: "Are web objects soon there?",
    measure: "mean completion time over the base RTT",
    unit: " RTT",
    accepted: Accepted::AtMost(10.0),
    because: "four round trips of an empty path, and a retransmission timeout for some",
    of: |run| {
        let run = run.only("traffic", &["mix"])?;
        Some(run.completion("web")? / run.rtt("web")?)
    },
};

const BOTH_WAYS: Criterion = Criterion {
    id: "both-ways",
    section: "RFC 7928 §9.2",
    asks: "Is the link used while there are uploads?",
    measure: "utilization, with flows in both directions",
    unit: " %",
    accepted: Accepted::AtLeast(85.0),
    because: "acknowledgements wait in the other queue, which makes round trips longer",
    of: |run| Some(PERCENT * run.only("traffic", &["both ways"])?.summary().link.utilization),
};

const TWO: Criterion = Criterion {
    id: "two-bottlenecks",
    section: "RFC 7928 §10",
    asks: "Does it keep its delay short behind a link with FQ-CoDel that is 2.5 % wider?",
    measure: "mean queueing delay",
    unit: " ms",
    accepted: Accepted::AtMost(DELAY),
    because: WHY,
    of: |run| delay(run.only("traffic", &["two bottlenecks"])?),
};
