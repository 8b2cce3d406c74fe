//! From opportunities to rates, and back.
//!
//! Both conserve the bytes of a period, with a rounding that each states.

use l4s_units::{Duration, Rate};

use crate::error::{Problem, TraceError};
use crate::opportunities::{Builder, Schedule};
use crate::playback::Playback;
use crate::steps::Table;
use crate::trace::{Course, argument};
use crate::{MAX_ENTRIES, OPPORTUNITY, Step, Trace};

/// Nanoseconds of a millisecond.
const MS: u64 = 1_000_000;

/// An opportunity in 10⁻⁹ bits.
const UNIT: u128 = OPPORTUNITY.get() as u128 * 8_000_000_000;

impl Trace {
    /// The same capacity as rates. Opportunities become steps of `interval`, a whole number of
    /// milliseconds; the last step ends with the trace. Each step has the bytes of the opportunities
    /// after its start and until its end. The rate is rounded to a bit per second, so a step of t seconds
    /// has the same bytes to t/16 B. A trace of rates is itself.
    ///
    /// ```
    /// use l4s_trace::{Step, Trace};
    /// use l4s_units::{Duration, Rate};
    ///
    /// let trace = Trace::read(b"1\n2\n2\n4\n")?.to_steps(Duration::from_millis(2))?;
    /// // 3 · 12,032 b in the first 2 ms, and one of them in the next.
    /// let rates: Vec<Rate> = trace.steps().unwrap().map(|step| step.rate).collect();
    /// assert_eq!(rates, [Rate::from_bps(18_048_000), Rate::from_bps(6_016_000)]);
    /// # Ok::<(), l4s_trace::TraceError>(())
    /// ```
    ///
    /// # Errors
    /// The interval is no whole number of milliseconds, or there are too many steps or a rate is too high.
    pub fn to_steps(&self, interval: Duration) -> Result<Trace, TraceError> {
        let Course::Opportunities(schedule) = &self.course else { return Ok(self.clone()) };
        let (step, period) = (interval.as_nanos(), schedule.period().as_nanos());
        if step == 0 || step % MS != 0 {
            return Err(argument(
                "the interval",
                interval,
                "a whole number of milliseconds above 0",
            )
            .into());
        }
        if period.div_ceil(step) > MAX_ENTRIES as u64 {
            return Err(Problem::TooMany { hint: "use a longer interval" }.into());
        }
        let mut link = Playback::plain(self);
        let steps = (0..period.div_ceil(step)).map(|index| {
            let (start, end) = (index * step, ((index + 1) * step).min(period));
            let time = l4s_units::Time::from_nanos;
            let bytes = link.bytes_between(time(start), time(end));
            let length = u128::from(end - start);
            // Below 2⁶⁴ B · 8·10⁹; the quotient is checked by the table.
            let bits = u128::from(bytes.get()) * 8_000_000_000;
            let rate = u64::try_from((bits + length / 2) / length).unwrap_or(u64::MAX);
            Step::new(Duration::from_nanos(start), Rate::from_bps(rate))
        });
        let steps: Vec<Step> = steps.collect();
        Ok(Trace::from(Table::new(steps, schedule.period())?))
    }

    /// The same capacity as delivery opportunities, without delay and loss. A period has the nearest whole
    /// number n of opportunities to its bytes, and at least one: so its bytes are right to 752 B. Opportunity
    /// k of n is at the first whole millisecond at which k/n of the bytes have passed. The last one is at
    /// the end of the period, because that is where such a trace repeats; the period is rounded to
    /// the nearest millisecond. A trace of opportunities is itself.
    ///
    /// ```
    /// use l4s_trace::{Format, Trace};
    ///
    /// // 3 · 12,032 b in 2 ms, and one of them in the next 2 ms.
    /// let rates = Trace::read(b"time_ms,rate_bps\n0,18048000\n2,6016000\n4,\n")?;
    /// assert_eq!(rates.to_opportunities()?.write(Format::Mahimahi)?, b"1\n2\n2\n4\n");
    /// # Ok::<(), l4s_trace::TraceError>(())
    /// ```
    ///
    /// # Errors
    /// There are more than [`MAX_ENTRIES`] opportunities in a period.
    pub fn to_opportunities(&self) -> Result<Trace, TraceError> {
        let Course::Steps(table) = &self.course else { return Ok(self.clone()) };
        Ok(Trace::from(opportunities(table)?))
    }
}

fn opportunities(table: &Table) -> Result<Schedule, Problem> {
    let total = table.total();
    let n = ((total + UNIT / 2) / UNIT).max(1);
    if n > MAX_ENTRIES as u128 {
        return Err(Problem::TooMany { hint: "cut the trace into parts" });
    }
    let last = ((table.period() + MS / 2) / MS).max(1);
    let mut builder = Builder::default();
    // The next opportunity, and the capacity before the present step.
    let (mut k, mut before) = (1u128, 0u128);
    for index in 0..table.len() {
        let (start, end) = (table.start(index), table.start(index + 1));
        let rate = u128::from(table.rate(index).as_bps());
        let after = before + rate * u128::from(end - start);
        // Of n equal parts the k-th is over when `capacity · n ≥ k · total`: 2⁹² times 2²⁵.
        while k < n && after * n >= k * total {
            let missing = (k * total).saturating_sub(before * n);
            let wait = if missing == 0 { 0 } else { missing.div_ceil(rate * n) };
            let ms = (start + wait as u64).div_ceil(MS);
            builder.push(ms.min(last))?;
            k += 1;
        }
        before = after;
    }
    builder.push(last)?;
    builder.finish()
}
