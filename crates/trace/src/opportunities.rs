//! Delivery opportunities in memory: 8 bytes for each instant.
//!
//! mahimahi's trace begins again at its last instant, so an opportunity at time 0 is at the last instant,
//! too, in every repetition but the first. Here an instant is in (0, period], and the opportunities at
//! time 0 of the first repetition are a number of their own.

use std::sync::Arc;

use l4s_units::Duration;

use crate::error::{Problem, TraceError};
use crate::{MAX_ENTRIES, MAX_PERIOD, MAX_RATE, OPPORTUNITY};

/// The opportunities of one period.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Schedule {
    /// In increasing order; the last one is at the end of the period. Never empty.
    pub instants: Arc<[Instant]>,
    /// Opportunities at time 0.
    pub lead: u32,
}

/// An instant with at least one opportunity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Instant {
    /// In milliseconds, above 0.
    pub at: u32,
    /// The number of opportunities in this period up to and including it.
    pub cumulative: u32,
}

/// Collects opportunities one by one.
#[derive(Default)]
pub(crate) struct Builder {
    instants: Vec<Instant>,
    lead: u32,
    last: u64,
    entries: usize,
}

impl Builder {
    /// Adds an opportunity.
    pub fn push(&mut self, ms: u64) -> Result<(), Problem> {
        if self.entries == MAX_ENTRIES {
            return Err(Problem::TooMany {
                hint: "cut the trace into parts, or convert it to rates",
            });
        }
        if ms < self.last {
            let (found, before) = (format!("{ms} ms"), format!("{} ms", self.last));
            return Err(Problem::Decreasing { found, before, help: None });
        }
        let Ok(at) = u32::try_from(ms) else {
            return Err(Problem::TooLong { found: format!("{ms} ms") });
        };
        self.entries += 1;
        self.last = ms;
        match self.instants.last_mut() {
            _ if at == 0 => self.lead += 1,
            Some(instant) if instant.at == at => instant.cumulative += 1,
            last => {
                let cumulative = last.map_or(0, |instant| instant.cumulative) + 1;
                self.instants.push(Instant { at, cumulative });
            }
        }
        Ok(())
    }

    /// The schedule, which repeats from the last instant on.
    pub fn finish(mut self) -> Result<Schedule, Problem> {
        if self.entries == 0 {
            return Err(Problem::Empty);
        }
        let Some(last) = self.instants.last_mut() else {
            return Err(Problem::ZeroPeriod);
        };
        last.cumulative += self.lead;
        let schedule = Schedule { instants: self.instants.into(), lead: self.lead };
        let mean = schedule.mean_bps();
        if mean > u128::from(MAX_RATE.as_bps()) {
            return Err(Problem::TooFast { found: format!("{mean}bit"), help: None });
        }
        Ok(schedule)
    }
}

impl Schedule {
    /// From instants in milliseconds, in order.
    pub fn new(instants: impl IntoIterator<Item = u64>) -> Result<Schedule, TraceError> {
        let mut builder = Builder::default();
        for ms in instants {
            builder.push(ms)?;
        }
        Ok(builder.finish()?)
    }

    /// The last instant, in milliseconds.
    pub fn period_ms(&self) -> u32 {
        self.instants[self.instants.len() - 1].at
    }

    pub fn period(&self) -> Duration {
        let period = Duration::from_millis(u64::from(self.period_ms()));
        debug_assert!(period <= MAX_PERIOD);
        period
    }

    /// The opportunities of each period.
    pub fn count(&self) -> u32 {
        self.instants[self.instants.len() - 1].cumulative
    }

    /// The mean rate, to the nearest bit per second.
    pub fn mean_bps(&self) -> u128 {
        // At most 2·10⁷ opportunities of 12,032 bits.
        let bits = u128::from(self.count()) * u128::from(OPPORTUNITY.get() * 8);
        let period = u128::from(self.period_ms());
        (bits * 1000 + period / 2) / period
    }

    /// Each instant in milliseconds as a file has it, with its number of opportunities.
    pub fn lines(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let mut before = 0;
        let last = self.instants.len() - 1;
        let first = (self.lead > 0).then_some((0, self.lead));
        first.into_iter().chain(self.instants.iter().enumerate().map(move |(index, instant)| {
            // Those of time 0 count at the end of the period, too.
            let repeated = if index == last { self.lead } else { 0 };
            let number = instant.cumulative - before - repeated;
            before = instant.cumulative;
            (instant.at, number)
        }))
    }
}
