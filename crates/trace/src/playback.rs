//! Playing a trace in virtual time: which opportunity is next, or which rate is in force.

mod opportunities;
mod steps;

pub use opportunities::Opportunities;
pub use steps::{Segment, Steps};

use l4s_units::{Bytes, Duration, Rate, Time};
use serde::{Deserialize, Serialize};

use crate::error::Problem;
use crate::trace::{Course, argument};
use crate::{MAX_PERIOD, MAX_RATE, Trace};

/// How a trace is played.
///
/// ```
/// use l4s_trace::{Play, Playback, Trace};
/// use l4s_units::{Duration, Rate, Time};
///
/// // From 1 ms on, and as if the link had half its mean rate.
/// let trace = Trace::read(b"1\n2\n")?;
/// let half = Rate::from_bps(trace.mean_rate().as_bps() / 2);
/// let play = Play { offset: Duration::from_millis(1), mean: Some(half) };
/// let Playback::Opportunities(mut link) = trace.play(&play)? else { unreachable!() };
/// // Of 1, 2, 3, 4 ms in the trace each second one is left: 2 ms, which is 1 ms of the run, and 4 ms.
/// let (first, bytes) = link.next(Time::ZERO);
/// assert_eq!((first, bytes), (Time::ZERO + Duration::from_millis(1), l4s_trace::OPPORTUNITY));
/// # Ok::<(), l4s_trace::TraceError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Play {
    /// The time within the trace at which it starts. Time t of the run is time t + `offset` of the trace.
    pub offset: Duration,
    /// The mean rate over a period, if another than the trace's own. Rates are multiplied, and rounded to
    /// the nearest bit per second. Of opportunities, with f the ratio of the means, the first n of
    /// the trace become ⌊n·f⌋: some are left out or repeated, as evenly as whole numbers allow. The mean
    /// over many periods is right to 2⁻⁶⁴/f of itself.
    pub mean: Option<Rate>,
}

/// A trace that is played. It allocates nothing, and a query later than the last one takes constant time
/// on average; one that is earlier, or much later, takes a binary search.
///
/// ```
/// use l4s_trace::{Play, Playback, Trace};
/// use l4s_units::{Bytes, Duration, Time};
///
/// let trace = Trace::read(b"time_s,rate_mbps\n0,8\n1,16\n2,\n")?;
/// let mut link = trace.play(&Play::default())?;
/// let second = Time::ZERO + Duration::from_secs(1);
/// assert_eq!(link.bytes_between(Time::ZERO, second), Bytes::new(1_000_000));
/// assert_eq!(link.time_of(Bytes::new(3_000_000), Time::ZERO), Duration::from_secs(2));
/// let Playback::Steps(mut rates) = link else { unreachable!() };
/// assert_eq!(rates.at(Time::ZERO).until, second);
/// # Ok::<(), l4s_trace::TraceError>(())
/// ```
#[derive(Clone, Debug)]
pub enum Playback {
    /// Of delivery opportunities.
    Opportunities(Opportunities),
    /// Of rate steps.
    Steps(Steps),
}

impl Playback {
    pub(crate) fn new(trace: &Trace, play: &Play) -> Result<Playback, Problem> {
        if play.offset > MAX_PERIOD {
            return Err(argument("the offset", play.offset, "at most 49 days"));
        }
        if let Some(mean) = play.mean.filter(|mean| *mean == Rate::ZERO || *mean > MAX_RATE) {
            return Err(argument("the mean rate", mean, "above 0 and at most 1 Tb/s"));
        }
        Ok(match &trace.course {
            Course::Opportunities(schedule) => {
                Playback::Opportunities(Opportunities::new(schedule, play))
            }
            Course::Steps(table) => Playback::Steps(Steps::new(table, play)),
        })
    }

    /// At its own mean, from its start.
    pub(crate) fn plain(trace: &Trace) -> Playback {
        let play = Play::default();
        match &trace.course {
            Course::Opportunities(schedule) => {
                Playback::Opportunities(Opportunities::new(schedule, &play))
            }
            Course::Steps(table) => Playback::Steps(Steps::new(table, &play)),
        }
    }

    /// The bytes that may pass after `from` and until `to` of the run, as in [`Trace::bytes_between`].
    pub fn bytes_between(&mut self, from: Time, to: Time) -> Bytes {
        match self {
            Playback::Opportunities(opportunities) => opportunities.bytes_between(from, to),
            Playback::Steps(steps) => steps.bytes_between(from, to),
        }
    }

    /// How long it takes for this many bytes to pass after `from`, if nothing else does; [`Duration::MAX`] if it takes longer
    /// than a run may.
    pub fn time_of(&mut self, bytes: Bytes, from: Time) -> Duration {
        match self {
            Playback::Opportunities(opportunities) => opportunities.time_of(bytes, from),
            Playback::Steps(steps) => steps.time_of(bytes, from),
        }
    }
}

/// The time of the trace at a time of the run.
fn trace_time(now: Time, offset: Duration) -> u128 {
    u128::from(now.as_nanos()) + u128::from(offset.as_nanos())
}

/// The time of the run at a time of the trace, which may be later than any time of the run.
fn run_time(at: u128, offset: Duration) -> Time {
    let at = at.saturating_sub(u128::from(offset.as_nanos()));
    Time::from_nanos(u64::try_from(at).unwrap_or(u64::MAX))
}
