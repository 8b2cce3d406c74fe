//! Statistics of a trace: how high its rate is, how it varies, and how long nothing passes.

use l4s_units::{Duration, Rate, Time};
use serde::Serialize;

use crate::Trace;
use crate::playback::Playback;
use crate::trace::Course;

/// The percentiles of [`Windows`] and [`Gaps`].
pub const PERCENTILES: [u8; 7] = [1, 5, 25, 50, 75, 95, 99];

/// The window of the variation and the autocorrelation.
const WINDOW: Duration = Duration::from_millis(100);

/// The lags of the autocorrelation, in windows: 0.1 s to 10 s.
const LAGS: [usize; 7] = [1, 2, 5, 10, 20, 50, 100];

/// Statistics of one period of a trace.
///
/// ```
/// use l4s_trace::Trace;
/// use l4s_units::{Duration, Rate};
///
/// // 10 and 30 Mb/s in turn, a second each.
/// let trace = Trace::read(b"time_s,rate_mbps\n0,10\n1,30\n2,\n")?;
/// let statistics = trace.statistics();
/// assert_eq!(statistics.mean, Rate::from_mbps(20));
/// // The standard deviation is 10 Mb/s.
/// assert_eq!(statistics.tenth.variation, 0.5);
/// assert_eq!(statistics.tenth.percentiles[0], Rate::from_mbps(10));
/// assert_eq!(statistics.longest_gap, Duration::ZERO);
/// # Ok::<(), l4s_trace::TraceError>(())
/// ```
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Statistics {
    /// The period.
    pub length: Duration,
    /// Opportunities or steps.
    pub entries: u64,
    /// The mean rate.
    pub mean: Rate,
    /// The rate over windows of 100 ms.
    pub tenth: Windows,
    /// The rate over windows of 1 s.
    pub second: Windows,
    /// The correlation of the rate over a window of 100 ms with that of a later window, for lags of 0.1, 0.2,
    /// 0.5, 1, 2, 5 and 10 s below half the period. It is empty where the rate is constant.
    pub autocorrelation: Vec<Correlation>,
    /// The longest time without capacity, that at the end and the start of a period included.
    pub longest_gap: Duration,
    /// The times between instants with opportunities; `None` for rates.
    pub gaps: Option<Gaps>,
}

/// The rate over windows of equal length. The first one begins with the trace.
///
/// ```
/// use l4s_trace::{Statistics, Trace, Windows};
/// use l4s_units::Rate;
///
/// let statistics: Statistics = Trace::read(b"time_s,rate_mbps\n0,10\n9,50\n10,\n")?.statistics();
/// let seconds: Windows = statistics.second;
/// // The first nine of ten windows have 10 Mb/s.
/// assert_eq!(seconds.number, 10);
/// assert_eq!(seconds.percentiles[3], Rate::from_mbps(10));
/// assert_eq!(seconds.percentiles[6], Rate::from_mbps(50));
/// # Ok::<(), l4s_trace::TraceError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Windows {
    /// The number of whole windows of a period, or one where it is shorter.
    pub number: u64,
    /// The rate at each of [`PERCENTILES`]: the lowest one that as many per cent of the windows do not exceed.
    pub percentiles: [Rate; 7],
    /// The coefficient of variation: the standard deviation over the mean.
    pub variation: f64,
}

/// A correlation at a lag.
///
/// ```
/// use l4s_trace::{Correlation, Trace};
/// use l4s_units::Duration;
///
/// // 10 and 30 Mb/s in turn, for 1 s each: after 1 s the rate is the other one.
/// let trace = Trace::read(b"time_s,rate_mbps\n0,10\n1,30\n2,10\n3,30\n4,\n")?;
/// let after_a_second: Correlation = trace.statistics().autocorrelation[3];
/// assert_eq!(after_a_second.lag, Duration::from_secs(1));
/// assert_eq!(after_a_second.value, -0.75);
/// # Ok::<(), l4s_trace::TraceError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Correlation {
    /// The time between the windows.
    pub lag: Duration,
    /// The sum of the products of deviations from the mean, over that of their squares: there are fewer
    /// products than squares, so it tends to 0 where the lag nears the period.
    pub value: f64,
}

/// The times between instants with opportunities, that from the last to the first of the next period included.
///
/// ```
/// use l4s_trace::{Gaps, Trace};
/// use l4s_units::Duration;
///
/// let gaps: Gaps = Trace::read(b"1\n2\n2\n7\n")?.statistics().gaps.unwrap();
/// // 1, 5 and, where it begins again, 1 ms.
/// assert_eq!(gaps.number, 3);
/// assert_eq!(gaps.percentiles[3], Duration::from_millis(1));
/// assert_eq!(gaps.percentiles[6], Duration::from_millis(5));
/// # Ok::<(), l4s_trace::TraceError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Gaps {
    /// How many there are in a period.
    pub number: u64,
    /// The time at each of [`PERCENTILES`], as in [`Windows`].
    pub percentiles: [Duration; 7],
}

impl Trace {
    /// The statistics of a period. They take one pass for each size of window, and 16 bytes for each 100 ms.
    pub fn statistics(&self) -> Statistics {
        let tenths = rates(self, WINDOW);
        let (longest_gap, gaps) = match &self.course {
            Course::Opportunities(schedule) => {
                let gaps = gaps(schedule);
                (gaps.0, Some(gaps.1))
            }
            Course::Steps(table) => (longest_pause(table), None),
        };
        Statistics {
            length: self.period(),
            entries: self.entries() as u64,
            mean: self.mean_rate(),
            tenth: windows(&tenths),
            second: windows(&rates(self, Duration::from_secs(1))),
            autocorrelation: autocorrelation(&tenths),
            longest_gap,
            gaps,
        }
    }
}

/// The rate over each whole window of a period.
fn rates(trace: &Trace, window: Duration) -> Vec<Rate> {
    let number = (trace.period().as_nanos() / window.as_nanos()).max(1);
    let mut link = Playback::plain(trace);
    let end = |n: u64| Time::ZERO + window * n;
    let rate = |n| {
        let bits = u128::from(link.bytes_between(end(n), end(n + 1)).get()) * 8_000_000_000;
        Rate::from_bps((bits / u128::from(window.as_nanos())) as u64)
    };
    (0..number).map(rate).collect()
}

/// Mean and variance.
fn moments(rates: &[Rate]) -> (f64, f64) {
    let number = rates.len() as f64;
    let mean = rates.iter().map(|rate| rate.as_bps() as f64).sum::<f64>() / number;
    let squares =
        rates.iter().map(|rate| (rate.as_bps() as f64 - mean) * (rate.as_bps() as f64 - mean));
    (mean, squares.sum::<f64>() / number)
}

fn windows(rates: &[Rate]) -> Windows {
    let (mean, variance) = moments(rates);
    Windows {
        number: rates.len() as u64,
        percentiles: percentiles(rates.to_vec()),
        // Only windows that are cut off hold all the capacity where the mean is 0.
        variation: if mean > 0.0 { variance.sqrt() / mean } else { 0.0 },
    }
}

/// The nearest rank.
fn percentiles<T: Ord + Copy>(mut values: Vec<T>) -> [T; 7] {
    values.sort_unstable();
    PERCENTILES
        .map(|percent| values[(values.len() * usize::from(percent)).div_ceil(100).max(1) - 1])
}

fn autocorrelation(rates: &[Rate]) -> Vec<Correlation> {
    let (mean, variance) = moments(rates);
    if variance == 0.0 {
        return Vec::new();
    }
    let deviation = |rate: &Rate| rate.as_bps() as f64 - mean;
    let value = |lag: usize| {
        let products = rates.iter().zip(&rates[lag..]).map(|(a, b)| deviation(a) * deviation(b));
        products.sum::<f64>() / (variance * rates.len() as f64)
    };
    let lags = LAGS.into_iter().filter(|lag| 2 * lag < rates.len());
    lags.map(|lag| Correlation { lag: WINDOW * lag as u64, value: value(lag) }).collect()
}

/// The longest gap, and their distribution.
fn gaps(schedule: &crate::opportunities::Schedule) -> (Duration, Gaps) {
    let mut before = 0;
    let gaps: Vec<u32> = schedule
        .instants
        .iter()
        .map(|instant| {
            let gap = instant.at - before;
            before = instant.at;
            gap
        })
        .collect();
    let ms = |ms: u32| Duration::from_millis(u64::from(ms));
    let longest = gaps.iter().copied().max().unwrap_or_default();
    let number = gaps.len() as u64;
    (ms(longest), Gaps { number, percentiles: percentiles(gaps).map(ms) })
}

/// The longest time at rate 0.
fn longest_pause(table: &crate::steps::Table) -> Duration {
    let (mut longest, mut present) = (0, 0);
    // Twice, as the pause at the end goes on at the start. At least one rate is above 0.
    for index in (0..table.len()).chain(0..table.len()) {
        present = match table.rate(index) {
            Rate::ZERO => present + table.start(index + 1) - table.start(index),
            _ => 0,
        };
        longest = longest.max(present);
    }
    Duration::from_nanos(longest)
}
