//! The capacity of a link over time, as a value.

use l4s_units::{Bytes, Duration, Probability, Rate, Time};

use crate::error::{Problem, TraceError};
use crate::opportunities::Schedule;
use crate::playback::{Play, Playback};
use crate::steps::Table;

/// The capacity of a link over time. It never changes, and a clone shares its memory.
///
/// ```
/// use l4s_trace::{Kind, Trace};
/// use l4s_units::{Bytes, Duration, Rate, Time};
///
/// // Two packets after 1 ms and one after 3 ms, again and again.
/// let trace = Trace::read(b"1\n1\n3\n")?;
/// assert_eq!(trace.kind(), Kind::Opportunities);
/// assert_eq!(trace.period(), Duration::from_millis(3));
/// // 3 · 1504 B · 8 / 3 ms.
/// assert_eq!(trace.mean_rate(), Rate::from_bps(12_032_000));
/// let two_periods = Time::ZERO + Duration::from_millis(6);
/// assert_eq!(trace.bytes_between(Time::ZERO, two_periods), Bytes::new(6 * 1504));
/// # Ok::<(), l4s_trace::TraceError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    pub(crate) course: Course,
}

/// Either form of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Course {
    Opportunities(Schedule),
    Steps(Table),
}

/// The form of a trace.
///
/// Example: [`Trace`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Instants at which 1504 bytes may leave.
    Opportunities,
    /// Rates, each from a time on.
    Steps,
}

/// A rate from a time on, until the next step or the end of the trace.
///
/// ```
/// use l4s_trace::{Step, Trace};
/// use l4s_units::{Duration, Rate};
///
/// let second = Duration::from_secs(1);
/// let steps = [
///     Step::new(Duration::ZERO, Rate::from_mbps(10)),
///     Step { delay: None, ..Step::new(second, Rate::from_mbps(40)) },
/// ];
/// let trace = Trace::from_steps(steps, second * 3)?;
/// // (10 + 2 · 40) / 3.
/// assert_eq!(trace.mean_rate(), Rate::from_mbps(30));
/// # Ok::<(), l4s_trace::TraceError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Its start, from the start of the trace.
    pub at: Duration,
    /// The rate, at most [`crate::MAX_RATE`].
    pub rate: Rate,
    /// The one-way delay, at most [`crate::MAX_DELAY`]. All steps of a trace have one, or none has.
    pub delay: Option<Duration>,
    /// The chance that a packet is lost. All steps of a trace have one, or none has.
    pub loss: Option<Probability>,
}

impl Step {
    /// A step without delay and loss.
    pub const fn new(at: Duration, rate: Rate) -> Step {
        Step { at, rate, delay: None, loss: None }
    }
}

impl Trace {
    /// A trace of delivery opportunities: each an instant in whole milliseconds, in order. Several at one
    /// instant add. The trace begins again at its last instant.
    ///
    /// # Errors
    /// There is none, a time decreases, all are 0, or a limit is passed.
    pub fn from_opportunities(
        milliseconds: impl IntoIterator<Item = u64>,
    ) -> Result<Trace, TraceError> {
        Schedule::new(milliseconds).map(Trace::from)
    }

    /// A trace of rate steps, in order. The first one begins at 0, and the trace begins again after `period`.
    ///
    /// # Errors
    /// There is none, a time does not increase, the period ends before the last step begins, all rates
    /// are 0, or a limit is passed.
    pub fn from_steps(
        steps: impl IntoIterator<Item = Step>,
        period: Duration,
    ) -> Result<Trace, TraceError> {
        Ok(Trace::from(Table::new(steps, period)?))
    }

    /// Its form.
    pub fn kind(&self) -> Kind {
        match &self.course {
            Course::Opportunities(_) => Kind::Opportunities,
            Course::Steps(_) => Kind::Steps,
        }
    }

    /// The time after which it repeats.
    pub fn period(&self) -> Duration {
        match &self.course {
            Course::Opportunities(schedule) => schedule.period(),
            Course::Steps(table) => Duration::from_nanos(table.period()),
        }
    }

    /// The number of opportunities or of steps.
    pub fn entries(&self) -> usize {
        match &self.course {
            Course::Opportunities(schedule) => schedule.count() as usize,
            Course::Steps(table) => table.len(),
        }
    }

    /// The bytes of memory that its clones share: 8 for each instant with opportunities, and 5 to 21 for
    /// each step.
    pub fn memory(&self) -> Bytes {
        Bytes::new(match &self.course {
            Course::Opportunities(schedule) => size_of_val(&*schedule.instants),
            Course::Steps(table) => table.memory(),
        } as u64)
    }

    /// The mean rate over a period, to the nearest bit per second.
    pub fn mean_rate(&self) -> Rate {
        let bps = match &self.course {
            Course::Opportunities(schedule) => schedule.mean_bps(),
            Course::Steps(table) => {
                let period = u128::from(table.period());
                (table.total() + period / 2) / period
            }
        };
        // No mean is above the highest rate, which is below 2⁴⁰.
        Rate::from_bps(bps as u64)
    }

    /// The bytes that may pass after `from` and until `to`, when it is played from its start: opportunities
    /// at `to` count, those at `from` do not. Rates give whole bytes, rounded down. For many times of a trace of
    /// rates a [`Playback`] is faster: here each takes a pass over the steps.
    pub fn bytes_between(&self, from: Time, to: Time) -> Bytes {
        Playback::plain(self).bytes_between(from, to)
    }

    /// The opportunities as a file has them: instant and number. `None` for steps.
    pub fn opportunities(&self) -> Option<impl Iterator<Item = (Duration, u32)> + '_> {
        let Course::Opportunities(schedule) = &self.course else { return None };
        Some(schedule.lines().map(|(ms, number)| (Duration::from_millis(u64::from(ms)), number)))
    }

    /// The steps of a period. `None` for opportunities.
    pub fn steps(&self) -> Option<impl ExactSizeIterator<Item = Step> + '_> {
        let Course::Steps(table) = &self.course else { return None };
        Some((0..table.len()).map(|index| table.step(index)))
    }

    /// Plays it.
    ///
    /// # Errors
    /// The mean rate is 0 or above [`crate::MAX_RATE`], or the offset is above [`crate::MAX_PERIOD`].
    pub fn play(&self, play: &Play) -> Result<Playback, TraceError> {
        Ok(Playback::new(self, play)?)
    }
}

impl From<Schedule> for Trace {
    fn from(schedule: Schedule) -> Trace {
        Trace { course: Course::Opportunities(schedule) }
    }
}

impl From<Table> for Trace {
    fn from(table: Table) -> Trace {
        Trace { course: Course::Steps(table) }
    }
}

/// Of the arguments of a public operation.
pub(crate) fn argument(
    what: &'static str,
    found: impl ToString,
    accepted: &'static str,
) -> Problem {
    Problem::Argument { what, found: found.to_string(), accepted }
}
