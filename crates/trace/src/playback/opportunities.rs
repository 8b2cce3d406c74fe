//! Delivery opportunities in the order of time.
//!
//! All opportunities since the start of the trace are numbered from 1 on, over all repetitions. A ratio f
//! of the mean rates turns the first n of them into ⌊n·f⌋, so an instant has as many as this
//! grows by. f is a fixed point number with 64 fractional bits, rounded up: if f is a fraction m/k,
//! the k-th opportunity is the m-th that is left, and not the one after it.

use l4s_units::{Bytes, Duration, Time};

use super::{Play, run_time, trace_time};
use crate::OPPORTUNITY;
use crate::opportunities::Schedule;

/// Nanoseconds of a millisecond.
const MS: u64 = 1_000_000;

/// Instants without an opportunity that are passed one by one, before a binary search is faster.
const FEW: usize = 8;

/// A trace of delivery opportunities that is played.
///
/// ```
/// use l4s_trace::{OPPORTUNITY, Play, Playback, Trace};
/// use l4s_units::{Bytes, Duration, Time};
///
/// let trace = Trace::read(b"2\n2\n5\n")?;
/// let Playback::Opportunities(mut link) = trace.play(&Play::default())? else { unreachable!() };
/// let ms = |n| Time::ZERO + Duration::from_millis(n);
/// assert_eq!(link.next(Time::ZERO), (ms(2), Bytes::new(2 * OPPORTUNITY.get())));
/// assert_eq!(link.next(ms(3)), (ms(5), OPPORTUNITY));
/// // The trace begins again after 5 ms.
/// assert_eq!(link.next(ms(6)).0, ms(7));
/// # Ok::<(), l4s_trace::TraceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Opportunities {
    schedule: Schedule,
    offset: Duration,
    factor: Factor,
    /// The period in nanoseconds.
    period: u64,
    /// The present instant: a repetition of the trace, from 0 on, and a place in it.
    cycle: u64,
    index: usize,
}

/// The ratio of the played mean rate and the trace's own, as Q64.64.
#[derive(Clone, Copy, Debug)]
struct Factor(u128);

impl Factor {
    const ONE: Factor = Factor(1 << 64);

    /// `wanted / own` of means, rounded up.
    fn new(schedule: &Schedule, play: &Play) -> Factor {
        let Some(mean) = play.mean else { return Factor::ONE };
        // f = mean · period / (count · 12,032 b): the numerator is below 2⁴⁰ · 2³², and the
        // denominator below 2²⁵ · 2¹⁴ · 2¹⁰.
        let wanted = u128::from(mean.as_bps()) * u128::from(schedule.period_ms());
        let own = u128::from(schedule.count()) * u128::from(OPPORTUNITY.get() * 8) * 1000;
        // The remainder is below 2⁴⁹, so that no shift overflows. The quotient is below 2⁷².
        let (whole, rest) = (wanted / own, wanted % own);
        Factor((whole << 64) | ((rest << 64) / own)).plus(u128::from((rest << 64) % own != 0))
    }

    fn plus(self, more: u128) -> Factor {
        Factor(self.0 + more)
    }

    /// ⌊n·f⌋: as a rate of at most 1 Tb/s has less than 2²⁷ opportunities per second and time less than
    /// 2³⁵ seconds, n and n·f are below 2⁶².
    fn of(self, n: u128) -> u128 {
        n.saturating_mul(self.0) >> 64
    }

    /// The least n with ⌊n·f⌋ = m or more.
    fn least(self, m: u128) -> u128 {
        (m << 64).div_ceil(self.0)
    }
}

impl Opportunities {
    pub(super) fn new(schedule: &Schedule, play: &Play) -> Opportunities {
        Opportunities {
            period: u64::from(schedule.period_ms()) * MS,
            factor: Factor::new(schedule, play),
            schedule: schedule.clone(),
            offset: play.offset,
            cycle: 0,
            index: 0,
        }
    }

    /// The first instant at or after a time at which packets may leave, and how many bytes. The next
    /// instant is that after a nanosecond more.
    pub fn next(&mut self, at_or_after: Time) -> (Time, Bytes) {
        let at = trace_time(at_or_after, self.offset);
        let lead = self.factor.of(u128::from(self.schedule.lead));
        if at == 0 && lead > 0 {
            return (Time::ZERO, bytes(lead));
        }
        self.seek(at);
        let mut passed = 0;
        loop {
            let (before, after) = self.count();
            let number = after - before;
            if number > 0 {
                return (run_time(self.time(self.index), self.offset), bytes(number));
            }
            if passed < FEW {
                self.advance();
                passed += 1;
            } else {
                self.jump(before + 1);
            }
        }
    }

    /// As [`crate::Playback::bytes_between`].
    pub fn bytes_between(&mut self, from: Time, to: Time) -> Bytes {
        if to <= from {
            return Bytes::ZERO;
        }
        let before = self.until(trace_time(from, self.offset));
        bytes(self.until(trace_time(to, self.offset)) - before)
    }

    /// As [`crate::Playback::time_of`].
    pub fn time_of(&mut self, bytes: Bytes, from: Time) -> Duration {
        if bytes == Bytes::ZERO {
            return Duration::ZERO;
        }
        let before = self.until(trace_time(from, self.offset));
        self.jump(before + u128::from(bytes.get().div_ceil(OPPORTUNITY.get())));
        match run_time(self.time(self.index), self.offset) {
            Time::NEVER => Duration::MAX,
            last => last.since(from),
        }
    }

    /// The opportunities at `at` and before it, as played.
    fn until(&self, at: u128) -> u128 {
        let period = u128::from(self.period);
        let (cycle, within) = ((at / period) as u64, (at % period) as u64 / MS);
        let index =
            self.schedule.instants.partition_point(|instant| u64::from(instant.at) <= within);
        let cumulative =
            index.checked_sub(1).map_or(0, |last| self.schedule.instants[last].cumulative);
        self.factor.of(self.number(cycle, cumulative))
    }

    /// How many opportunities there are until one with this place in a repetition.
    fn number(&self, cycle: u64, cumulative: u32) -> u128 {
        let full = u128::from(cycle) * u128::from(self.schedule.count());
        full + u128::from(self.schedule.lead) + u128::from(cumulative)
    }

    /// The opportunities before the present instant, and those until after it, as played.
    fn count(&self) -> (u128, u128) {
        let instants = &self.schedule.instants;
        let before = self.index.checked_sub(1).map_or(0, |last| instants[last].cumulative);
        let after = instants[self.index].cumulative;
        let of = |cumulative| self.factor.of(self.number(self.cycle, cumulative));
        (of(before), of(after))
    }

    /// When an instant of the present repetition is, in nanoseconds of the trace.
    fn time(&self, index: usize) -> u128 {
        let start = u128::from(self.cycle) * u128::from(self.period);
        start + u128::from(u64::from(self.schedule.instants[index].at) * MS)
    }

    /// Goes to the first instant at `at` or later.
    fn seek(&mut self, at: u128) {
        for _ in 0..FEW {
            let previous = match self.index {
                0 => u128::from(self.cycle) * u128::from(self.period),
                index => self.time(index - 1),
            };
            // At the start of the trace there is no instant before the first.
            let is_first = self.index == 0 && self.cycle == 0;
            if previous >= at && !is_first {
                break;
            }
            if self.time(self.index) >= at {
                return;
            }
            self.advance();
        }
        // An instant is in (0, period] of its repetition.
        let period = u128::from(self.period);
        let cycle = at.saturating_sub(1) / period;
        let within = (at - cycle * period) as u64;
        self.cycle = cycle as u64;
        let is_before =
            |instant: &crate::opportunities::Instant| u64::from(instant.at) * MS < within;
        self.index = self.schedule.instants.partition_point(is_before);
    }

    fn advance(&mut self) {
        self.index += 1;
        if self.index == self.schedule.instants.len() {
            self.index = 0;
            self.cycle += 1;
        }
    }

    /// Goes to the instant of the m-th opportunity that is played.
    fn jump(&mut self, m: u128) {
        let number = self.factor.least(m) - u128::from(self.schedule.lead);
        let count = u128::from(self.schedule.count());
        let cycle = (number - 1) / count;
        let cumulative = number - cycle * count;
        self.cycle = u64::try_from(cycle).unwrap_or(u64::MAX);
        let is_before =
            |instant: &crate::opportunities::Instant| u128::from(instant.cumulative) < cumulative;
        self.index = self.schedule.instants.partition_point(is_before);
    }
}

fn bytes(opportunities: u128) -> Bytes {
    let bytes = opportunities * u128::from(OPPORTUNITY.get());
    Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
}
