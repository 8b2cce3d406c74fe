//! The rate of a group's long flows over time, as the testbed of Fallback §7.1 measures it: in
//! windows of one second. Its windows roll by a packet, these by a tenth of a second.

use l4s_scenario::Scenario;
use l4s_units::{Duration, Time};

use crate::Spread;
use crate::conclude::{rate_bps, spread};

/// By so much a window rolls.
const STEP: Duration = Duration::from_millis(100);
/// Steps in a window.
const STEPS: usize = 10;
/// Steps for which there is room from the start.
const ROOM: usize = 10_000;

/// Bytes of each group's long flows, step by step from the end of the warm-up on.
#[derive(Debug)]
pub(crate) struct Rates {
    /// Flows below this number are long.
    long: u32,
    /// When the current step ends.
    ends: Time,
    /// In the current step, per group.
    bytes: Vec<u64>,
    /// In every complete step, those of its groups side by side.
    steps: Vec<u64>,
}

impl Rates {
    pub fn new(scenario: &Scenario, groups: usize) -> Self {
        let span = scenario.duration.saturating_sub(scenario.warmup);
        let steps = usize::try_from(span.as_nanos() / STEP.as_nanos()).unwrap_or(ROOM);
        Rates {
            long: scenario.first_app(),
            ends: Time::NEVER,
            bytes: vec![0; groups],
            steps: Vec::with_capacity(steps.min(ROOM) * groups),
        }
    }

    /// The first step begins.
    pub fn end_warmup(&mut self, now: Time) {
        self.bytes.fill(0);
        self.ends = now + STEP;
    }

    #[inline]
    pub fn forwarded(&mut self, flow: u32, group: u16, length: u64, now: Time) {
        if now >= self.ends {
            self.settle(now);
        }
        if flow < self.long {
            self.bytes[usize::from(group)] += length;
        }
    }

    /// Ends every step that is over.
    #[cold]
    pub fn settle(&mut self, now: Time) {
        while now >= self.ends {
            self.steps.extend_from_slice(&self.bytes);
            self.bytes.fill(0);
            self.ends += STEP;
        }
    }

    /// The rate of a group's long flows, divided by `flows`; `None` without a whole window.
    pub fn spread(&self, group: usize, flows: u64) -> Option<Spread> {
        let steps: Vec<u64> =
            self.steps.iter().skip(group).step_by(self.bytes.len()).copied().collect();
        let span = STEP * STEPS as u64;
        let rate = |window: &[u64]| Some(rate_bps(window.iter().sum(), span)? / flows as f64);
        (flows > 0).then(|| spread(steps.windows(STEPS).filter_map(rate).collect()))?
    }
}
