//! The rate of a group's long flows over time, as the testbed of Fallback §7.1 measures it: in
//! windows of one second. Its windows roll by a packet, these by a tenth of a second.

use l4s_model::{FlowId, Scenario};
use l4s_units::{Duration, Time};

use crate::Spread;
use crate::flows::Flows;
use crate::stats::{rate_bps, spread};

/// The step of the rolling window.
const STEP: Duration = Duration::from_millis(100);
/// Steps in a window.
const STEPS: usize = 10;
/// Steps for which there is room from the start.
const ROOM: usize = 10_000;

/// How much each group's long flows had sent at the end of the warm-up, and after every step since.
/// Nothing is counted per packet: [`Flows`] does that.
#[derive(Debug)]
pub(crate) struct Rates {
    /// Flows below this number are long.
    long: FlowId,
    groups: usize,
    /// When the next step ends; the end of the warm-up first.
    ends: Time,
    /// Bytes since the start of the run; the groups side by side, one instant after the other.
    sent: Vec<u64>,
}

impl Rates {
    pub fn new(scenario: &Scenario, groups: usize) -> Self {
        let span = scenario.duration.saturating_sub(scenario.warmup);
        let steps = usize::try_from(span.as_nanos() / STEP.as_nanos()).unwrap_or(ROOM);
        Rates {
            long: scenario.roster().apps().start,
            groups,
            ends: Time::ZERO + scenario.warmup,
            sent: Vec::with_capacity((steps.min(ROOM) + 1) * groups),
        }
    }

    /// When [`Rates::step`] is due.
    #[inline]
    pub fn due(&self) -> Time {
        self.ends
    }

    /// A step is over.
    pub fn step(&mut self, flows: &Flows) {
        self.ends += STEP;
        let first = self.sent.len();
        self.sent.resize(first + self.groups, 0);
        for (_, group, bytes) in flows.sent().take_while(|(flow, ..)| *flow < self.long) {
            self.sent[first + group.index()] += bytes;
        }
    }

    /// The rate of a group's long flows, divided by `flows`; `None` without a whole window.
    pub fn spread(&self, group: usize, flows: u64) -> Option<Spread> {
        let sent: Vec<u64> = self.sent.chunks(self.groups).map(|groups| groups[group]).collect();
        let span = STEP * STEPS as u64;
        let rate = |ends: &[u64]| Some(rate_bps(ends[STEPS] - ends[0], span)? / flows as f64);
        (flows > 0).then(|| spread(sent.windows(STEPS + 1).filter_map(rate).collect()))?
    }
}
