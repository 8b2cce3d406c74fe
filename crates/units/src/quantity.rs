//! Time, rate and size as integers with a unit.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};
use serde::{Deserialize, Serialize};

const NS_PER_S: u64 = 1_000_000_000;

/// An instant: nanoseconds since the start of the run.
///
/// ```
/// use l4s_units::{Duration, Time};
///
/// let start = Time::from_nanos(500);
/// assert_eq!((start + Duration::from_micros(2)).since(start), Duration::from_nanos(2_000));
/// ```
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(u64);

/// A span of time in nanoseconds, never negative; 584 years at most.
///
/// ```
/// use l4s_units::Duration;
///
/// let rtt: Duration = "10ms".parse()?;
/// assert_eq!(rtt / 8, Duration::from_micros(1_250));
/// # Ok::<(), l4s_units::ParseError>(())
/// ```
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Duration(u64);

/// A rate in bits per second.
///
/// ```
/// use l4s_units::{Bytes, Duration, Rate};
///
/// let rate = Rate::from_mbps(12);
/// assert_eq!(rate.time_of(Bytes::new(1500)), Duration::from_millis(1));
/// assert_eq!(rate.bytes_in(Duration::from_millis(2)), Bytes::new(3000));
/// ```
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Rate(u64);

/// A size in bytes.
///
/// ```
/// use l4s_units::{Bytes, ETHERNET};
///
/// let mut frame = Bytes::new(1500);
/// frame += ETHERNET;
/// assert_eq!(frame.get(), 1514);
/// ```
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(u64);

/// How often something happens: millionths per second.
///
/// ```
/// use l4s_units::{Duration, Frequency};
///
/// assert_eq!(Frequency::per_second(100).times_in(Duration::from_secs(3)), 300);
/// ```
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Frequency(u64);

/// The Ethernet header (IEEE 802.3): the part of a packet on the link that is not IP.
pub const ETHERNET: Bytes = Bytes(14);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than everything: "never", for a timer that is not set.
    pub const NEVER: Time = Time(u64::MAX);

    /// The instant `ns` nanoseconds after the start.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Self {
        Time(ns)
    }

    /// Nanoseconds since the start.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NS_PER_S as f64
    }

    /// Time that passed since `earlier`; zero when `earlier` is not earlier.
    #[inline]
    pub const fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// `self - span`, or the start of the run where that would be before it.
    #[inline]
    pub const fn saturating_sub(self, span: Duration) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);
    /// The longest span.
    pub const MAX: Duration = Duration(u64::MAX);

    /// `n` nanoseconds.
    #[inline]
    pub const fn from_nanos(n: u64) -> Self {
        Duration(n)
    }

    /// `n` microseconds.
    #[inline]
    pub const fn from_micros(n: u64) -> Self {
        Duration(n.saturating_mul(1_000))
    }

    /// `n` milliseconds.
    #[inline]
    pub const fn from_millis(n: u64) -> Self {
        Duration(n.saturating_mul(1_000_000))
    }

    /// `n` seconds.
    #[inline]
    pub const fn from_secs(n: u64) -> Self {
        Duration(n.saturating_mul(NS_PER_S))
    }

    /// The nearest span to `s` seconds; negative and NaN become zero.
    pub fn from_secs_f64(s: f64) -> Self {
        Duration((s * NS_PER_S as f64).round() as u64)
    }

    /// Nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds, rounded down.
    #[inline]
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Milliseconds with fraction.
    #[inline]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Seconds with fraction.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NS_PER_S as f64
    }

    /// `self - other`, at least zero.
    #[inline]
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }

    /// Whether this is no time at all.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Rate {
    /// Nothing at all.
    pub const ZERO: Rate = Rate(0);

    /// `bps` bits per second.
    #[inline]
    pub const fn from_bps(bps: u64) -> Self {
        Rate(bps)
    }

    /// `n` megabits (10⁶) per second.
    #[inline]
    pub const fn from_mbps(n: u64) -> Self {
        Rate(n * 1_000_000)
    }

    /// Bits per second.
    #[inline]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// How long `size` takes at this rate, to the nearest nanosecond.
    ///
    /// # Panics
    /// When the rate is zero.
    #[inline]
    pub const fn time_of(self, size: Bytes) -> Duration {
        let bits_ns = size.0 as u128 * 8 * NS_PER_S as u128;
        Duration(((bits_ns + self.0 as u128 / 2) / self.0 as u128) as u64)
    }

    /// How much passes at this rate in `span`, rounded down.
    #[inline]
    pub const fn bytes_in(self, span: Duration) -> Bytes {
        Bytes((self.0 as u128 * span.0 as u128 / (8 * NS_PER_S as u128)) as u64)
    }
}

impl Bytes {
    /// Nothing.
    pub const ZERO: Bytes = Bytes(0);

    /// `n` bytes.
    #[inline]
    pub const fn new(n: u64) -> Self {
        Bytes(n)
    }

    /// The number of bytes.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// `self - other`, at least zero.
    #[inline]
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
}

impl Frequency {
    /// Never.
    pub const ZERO: Frequency = Frequency(0);

    /// `n` times per second.
    #[inline]
    pub const fn per_second(n: u64) -> Self {
        Frequency(n * 1_000_000)
    }

    /// `n` times in a million seconds.
    #[inline]
    pub const fn from_micros(n: u64) -> Self {
        Frequency(n)
    }

    /// Times per second, with fraction.
    #[inline]
    pub fn as_per_second_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// How often it happens in `span`, rounded down.
    #[inline]
    pub const fn times_in(self, span: Duration) -> u64 {
        (self.0 as u128 * span.0 as u128 / (1_000_000 * NS_PER_S as u128)) as u64
    }

    /// As often for each megabit per second of `rate`.
    #[inline]
    pub const fn per_mbit(self, rate: Rate) -> Frequency {
        let times = self.0 as u128 * rate.0 as u128 / 1_000_000;
        Frequency(if times > u64::MAX as u128 { u64::MAX } else { times as u64 })
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    /// Saturates at [`Time::NEVER`].
    #[inline]
    fn add(self, span: Duration) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Add for Duration {
    type Output = Duration;
    #[inline]
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, other: Duration) {
        *self = *self + other;
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    #[inline]
    fn mul(self, n: u64) -> Duration {
        Duration(self.0.saturating_mul(n))
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    #[inline]
    fn div(self, n: u64) -> Duration {
        Duration(self.0 / n)
    }
}

impl Add for Bytes {
    type Output = Bytes;
    #[inline]
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    #[inline]
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    #[inline]
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0 - other.0)
    }
}

impl SubAssign for Bytes {
    #[inline]
    fn sub_assign(&mut self, other: Bytes) {
        self.0 -= other.0;
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(iter: I) -> Bytes {
        Bytes(iter.map(|b| b.0).sum())
    }
}

/// Prints `value` in the largest unit that keeps it exact to three decimals or fewer.
fn exact(f: &mut fmt::Formatter<'_>, value: u64, units: &[(u64, &str)]) -> fmt::Result {
    let (scale, unit) = *units
        .iter()
        .find(|(scale, _)| value >= *scale && value % (scale / 1000).max(1) == 0)
        .unwrap_or(&units[units.len() - 1]);
    let mut text = format!("{}", value / scale);
    let fraction = value % scale;
    if fraction != 0 {
        let digits = format!("{:03}", fraction / (scale / 1000).max(1));
        text = format!("{text}.{}", digits.trim_end_matches('0'));
    }
    f.pad(&(text + unit))
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.pad("0s");
        }
        exact(f, self.0, &[(NS_PER_S, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")])
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.0).fmt(f)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1_000_000_000, "gbit"), (1_000_000, "mbit"), (1_000, "kbit"), (1, "bit")];
        exact(f, self.0, &units)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        exact(f, self.0, &[(1_000_000_000, "gb"), (1_000_000, "mb"), (1_000, "kb"), (1, "b")])
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = match self.0 % 1_000_000 {
            0 => String::new(),
            micros => format!(".{}", format!("{micros:06}").trim_end_matches('0')),
        };
        f.pad(&format!("{}{fraction}/s", self.0 / 1_000_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_packet_takes_its_time() {
        // 1514 B · 8 / 4 Mb/s = 3.028 ms; at 12 Mb/s 1.009333 ms.
        let packet = Bytes::new(1514);
        assert_eq!(Rate::from_mbps(4).time_of(packet), Duration::from_micros(3028));
        assert_eq!(Rate::from_mbps(12).time_of(packet), Duration::from_nanos(1_009_333));
        assert_eq!(Rate::from_mbps(4).bytes_in(Duration::from_micros(3028)), packet);
    }

    #[test]
    fn printing_is_exact() {
        assert_eq!(Duration::from_micros(15_500).to_string(), "15.5ms");
        assert_eq!(Duration::from_nanos(1_009_333).to_string(), "1009.333us");
        assert_eq!(Duration::from_secs(250).to_string(), "250s");
        assert_eq!(Rate::from_bps(1_500_000).to_string(), "1.5mbit");
        assert_eq!(Rate::from_bps(1_500_001).to_string(), "1500.001kbit");
        assert_eq!(Bytes::new(1514).to_string(), "1.514kb");
        assert_eq!(Duration::ZERO.to_string(), "0s");
        assert_eq!(Frequency::per_second(100).to_string(), "100/s");
        assert_eq!(Frequency::from_micros(500_000).to_string(), "0.5/s");
    }

    #[test]
    fn a_hundred_per_second_are_250_in_two_and_a_half_seconds() {
        assert_eq!(Frequency::per_second(100).times_in(Duration::from_millis(2500)), 250);
        // 0.3 in 3 s is less than one; no product overflows.
        assert_eq!(Frequency::from_micros(300_000).times_in(Duration::from_secs(3)), 0);
        assert_eq!(Frequency(u64::MAX).times_in(Duration::from_secs(1)), u64::MAX / 1_000_000);
    }

    #[test]
    fn a_quarter_per_megabit_is_one_per_second_at_four_megabits() {
        assert_eq!(
            Frequency::from_micros(250_000).per_mbit(Rate::from_mbps(4)),
            Frequency::per_second(1)
        );
    }

    #[test]
    fn time_never_runs_backwards() {
        let (early, late) = (Time::from_nanos(5), Time::from_nanos(9));
        assert_eq!(late.since(early), Duration::from_nanos(4));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(Time::NEVER + Duration::from_secs(1), Time::NEVER);
    }
}
