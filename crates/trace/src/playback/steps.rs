//! Rate steps in the order of time.

use l4s_units::{Bytes, Duration, Probability, Rate, Time};

use super::{Play, run_time, trace_time};
use crate::steps::Table;

/// 10⁻⁹ bits of a byte.
const BYTE: u128 = 8_000_000_000;

/// Steps that are passed one by one, before a binary search is faster.
const FEW: usize = 8;

/// A trace of rate steps that is played.
///
/// ```
/// use l4s_trace::{Play, Playback, Segment, Step, Trace};
/// use l4s_units::{Duration, Rate, Time};
///
/// let second = Duration::from_secs(1);
/// let steps = [
///     Step::new(Duration::ZERO, Rate::from_mbps(10)),
///     Step::new(second, Rate::from_mbps(30)),
/// ];
/// let trace = Trace::from_steps(steps, second * 2)?;
/// // The mean is 20 Mb/s; at 40 Mb/s each rate is twice as high.
/// let play = Play { mean: Some(Rate::from_mbps(40)), ..Play::default() };
/// let Playback::Steps(mut link) = trace.play(&play)? else { unreachable!() };
/// let segment: Segment = link.at(Time::ZERO + second * 3);
/// assert_eq!(segment.rate, Rate::from_mbps(60));
/// assert_eq!(segment.until, Time::ZERO + second * 4);
/// # Ok::<(), l4s_trace::TraceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Steps {
    table: Table,
    offset: Duration,
    /// The ratio of the played mean rate and the trace's own, if it is not 1.
    factor: Option<f64>,
    /// The capacity of a period as played, in 10⁻⁹ bits.
    total: u128,
    /// The present step, and its start and end in the trace. The end may be later than any time.
    index: usize,
    from: u128,
    to: u128,
    /// A step, and the capacity of those before it in a period, for the sums of bytes.
    summed: (usize, u128),
}

/// The state of a link for a time.
///
/// Example: [`Steps`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// The rate.
    pub rate: Rate,
    /// The one-way delay, if the trace has one.
    pub delay: Option<Duration>,
    /// The chance that a packet is lost, if the trace has one.
    pub loss: Option<Probability>,
    /// When the next step begins; never for a trace of a single step. The next step may have the same
    /// rate.
    pub until: Time,
}

impl Steps {
    pub(super) fn new(table: &Table, play: &Play) -> Steps {
        let own = table.total() as f64 / table.period() as f64;
        // IEEE 754 defines one result of each of these operations, so it is the same on every machine.
        let factor = play.mean.map(|mean| mean.as_bps() as f64 / own);
        let mut steps = Steps {
            table: table.clone(),
            offset: play.offset,
            factor,
            total: table.total(),
            index: 0,
            from: 0,
            to: u128::from(table.start(1)),
            summed: (0, 0),
        };
        if factor.is_some() {
            steps.total = (0..table.len()).map(|index| steps.capacity(index)).sum();
        }
        steps
    }

    /// The state in force at a time.
    pub fn at(&mut self, now: Time) -> Segment {
        self.seek(trace_time(now, self.offset));
        Segment {
            rate: self.rate(self.index),
            delay: self.table.delay(self.index),
            loss: self.table.loss(self.index),
            until: match self.table.len() {
                1 => Time::NEVER,
                _ => run_time(self.to, self.offset),
            },
        }
    }

    /// As [`crate::Playback::bytes_between`].
    pub fn bytes_between(&mut self, from: Time, to: Time) -> Bytes {
        if to <= from {
            return Bytes::ZERO;
        }
        let before = self.until(trace_time(from, self.offset));
        let capacity = self.until(trace_time(to, self.offset)) - before;
        Bytes::new(u64::try_from(capacity / BYTE).unwrap_or(u64::MAX))
    }

    /// As [`crate::Playback::time_of`].
    pub fn time_of(&mut self, bytes: Bytes, from: Time) -> Duration {
        let mut left = u128::from(bytes.get()) * BYTE;
        // Whole periods at once: there may be 10¹⁰ of them, where most steps have rate 0.
        let periods = left.saturating_sub(1) / self.total;
        let skipped = periods.saturating_mul(u128::from(self.table.period()));
        let mut now = from + Duration::from_nanos(u64::try_from(skipped).unwrap_or(u64::MAX));
        left -= periods * self.total;
        while left > 0 {
            let Segment { rate, until, .. } = self.at(now);
            let rate = u128::from(rate.as_bps());
            let capacity = rate * u128::from(until.since(now).as_nanos());
            if left <= capacity {
                // At most the length of the step.
                now += Duration::from_nanos(left.div_ceil(rate) as u64);
                break;
            }
            if until == Time::NEVER {
                return Duration::MAX;
            }
            (now, left) = (until, left - capacity);
        }
        now.since(from)
    }

    /// The capacity until a time of the trace, in 10⁻⁹ bits.
    fn until(&mut self, at: u128) -> u128 {
        let period = u128::from(self.table.period());
        let (cycle, within) = (at / period, (at % period) as u64);
        let index = self.table.index(within);
        let full = self.before(index);
        let part =
            u128::from(within - self.table.start(index)) * u128::from(self.rate(index).as_bps());
        // Below 2⁶⁵ ns · 2⁶³ b/s, as long as rates are not multiplied by more than 2²³.
        cycle.saturating_mul(self.total).saturating_add(full + part)
    }

    /// The capacity of the steps before one, in 10⁻⁹ bits. It goes there from the last one, so that a sum
    /// for each of many windows takes no longer than one over all of them.
    fn before(&mut self, index: usize) -> u128 {
        if index < self.summed.0 / 2 {
            self.summed = (0, 0);
        }
        while self.summed.0 < index {
            self.summed = (self.summed.0 + 1, self.summed.1 + self.capacity(self.summed.0));
        }
        while self.summed.0 > index {
            self.summed = (self.summed.0 - 1, self.summed.1 - self.capacity(self.summed.0 - 1));
        }
        self.summed.1
    }

    /// The capacity of a step, in 10⁻⁹ bits.
    fn capacity(&self, index: usize) -> u128 {
        let length = self.table.start(index + 1) - self.table.start(index);
        u128::from(self.rate(index).as_bps()) * u128::from(length)
    }

    /// The rate of a step as played.
    fn rate(&self, index: usize) -> Rate {
        let rate = self.table.rate(index);
        match self.factor {
            None => rate,
            // Below 2⁴⁰ times the factor; the cast saturates.
            Some(factor) => Rate::from_bps((rate.as_bps() as f64 * factor).round() as u64),
        }
    }

    /// Goes to the step in force at a time of the trace.
    fn seek(&mut self, at: u128) {
        for _ in 0..FEW {
            if at < self.from {
                break;
            }
            if at < self.to {
                return;
            }
            self.advance();
        }
        if at >= self.from && at < self.to {
            return;
        }
        let period = u128::from(self.table.period());
        let start = at / period * period;
        self.index = self.table.index((at - start) as u64);
        self.from = start + u128::from(self.table.start(self.index));
        self.to = start + u128::from(self.table.start(self.index + 1));
    }

    fn advance(&mut self) {
        self.index = (self.index + 1) % self.table.len();
        let length = self.table.start(self.index + 1) - self.table.start(self.index);
        self.from = self.to;
        self.to += u128::from(length);
    }
}
