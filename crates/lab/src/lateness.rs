//! How late the data plane was, and whether its run can be trusted.
//!
//! Two measures show it. [`Lateness`] is of packets, and detects a machine that is always a little
//! too slow. It does not detect a stopped process: that has no packets, and those that waited for
//! it are few. [`Stalls`] is of time, and detects stops, in the data plane and in the agents.

use core::fmt;

use hdrhistogram::Histogram;
use l4s_units::{Duration, Time};
use serde::{Deserialize, Serialize};

/// Later than this distorts measurements, at any RTT: a tenth of a step threshold of 1 ms.
const TOO_LATE: Duration = Duration::from_micros(100);
/// As a fraction of the base RTT: 2 %.
const TOO_LATE_OF_RTT: u64 = 50;

/// A longer stall distorts a run, once: half of the shortest retransmission timeout
/// of Linux (TCP_RTO_MIN, 200 ms), after which senders repeat segments that were not lost.
const TOO_LONG: Duration = Duration::from_millis(100);
/// As a fraction of the time of a run: 1 %, for which the link may have been idle.
const TOO_LONG_OF_RUN: u64 = 100;
/// A shorter stall does not count: those of the data plane show in its lateness, and the agents' socket
/// buffers bridge theirs.
const LEAST_STALL: Duration = Duration::from_millis(20);

/// How long a loop in real time did nothing though it would have: it was stopped, or others had its
/// core.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub struct Stalls {
    /// The longest one.
    pub longest: Duration,
    /// All of those of 20 ms or more.
    pub total: Duration,
}

impl From<(u64, u64)> for Stalls {
    fn from((longest, total): (u64, u64)) -> Stalls {
        Stalls { longest: Duration::from_nanos(longest), total: Duration::from_nanos(total) }
    }
}

impl From<Stalls> for (u64, u64) {
    fn from(stalls: Stalls) -> (u64, u64) {
        (stalls.longest.as_nanos(), stalls.total.as_nanos())
    }
}

impl Stalls {
    /// From one look to the next `passed`, of which the loop meant to wait for `meant`.
    #[inline]
    pub fn record(&mut self, passed: Duration, meant: Duration) {
        let stall = passed.saturating_sub(meant);
        self.longest = self.longest.max(stall);
        if stall >= LEAST_STALL {
            self.total += stall;
        }
    }

    /// Why a run of `span` with these stalls says little; `None` when it is fine.
    pub fn unfit(&self, span: Duration) -> Option<String> {
        let most = span / TOO_LONG_OF_RUN;
        (self.longest > TOO_LONG || self.total > most).then(|| {
            format!(
                "it did not run for {:.3} s of {:.3} s, {:.3} s at a time; the limits are {most} \
                 and {TOO_LONG}. Something stopped it, or this machine is too busy for real time",
                self.total.as_secs_f64(),
                span.as_secs_f64(),
                self.longest.as_secs_f64(),
            )
        })
    }
}

/// Sees a loop that waits for events do not advance: it waits no longer than asked at a time, so that
/// it knows when it should have looked.
#[derive(Debug)]
pub struct Watchdog {
    /// When it looked last.
    looked: Time,
    stalls: Stalls,
}

impl Watchdog {
    /// How long a loop waits at most: often enough to detect stalls that are too long, and too rarely
    /// to cost anything.
    pub const PERIOD: Duration = Duration::from_millis(20);

    /// It looks for the first time.
    pub fn new(now: Time) -> Watchdog {
        Watchdog { looked: now, stalls: Stalls::default() }
    }

    /// It looks again, and meant to wait for `meant` at most.
    #[inline]
    pub fn look(&mut self, now: Time, meant: Duration) {
        self.stalls.record(now.since(self.looked), meant);
        self.looked = now;
    }

    /// The stalls that it saw.
    pub fn stalls(&self) -> Stalls {
        self.stalls
    }
}

/// How much later than due packets were written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lateness {
    /// Packets that had a time to meet.
    pub packets: u64,
    /// Half of them were not later.
    pub p50: Duration,
    /// 99 % of them were not later.
    pub p99: Duration,
    /// None was later.
    pub max: Duration,
}

impl Lateness {
    /// Why a run with this lateness says little, where `base_rtt` is the smallest of the run;
    /// `None` when it is fine.
    pub fn unfit(&self, base_rtt: Duration) -> Option<String> {
        let share = base_rtt / TOO_LATE_OF_RTT;
        let (limit, what) = if share < TOO_LATE {
            (share, format!("2 % of the smallest base RTT, {base_rtt}"))
        } else {
            (TOO_LATE, "the limit of any run".to_owned())
        };
        (self.p99 > limit).then(|| {
            format!(
                "one packet in a hundred was written {} late or later; the limit is {} ({what}). \
                 This machine is too busy or has too few cores for this scenario: a lower rate \
                 or fewer flows may fit",
                Micros(self.p99),
                Micros(limit),
            )
        })
    }
}

impl fmt::Display for Lateness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (p50, p99, max) = (Micros(self.p50), Micros(self.p99), Micros(self.max));
        write!(f, "p50 {p50}, p99 {p99}, max {max} of {} packets", self.packets)
    }
}

/// Prints in microseconds with one decimal.
struct Micros(Duration);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} us", self.0.as_nanos() as f64 / 1e3)
    }
}

/// Counts how late packets are, to 1 %.
#[derive(Debug)]
pub struct Meter {
    histogram: Histogram<u64>,
}

impl Default for Meter {
    fn default() -> Self {
        Meter::new()
    }
}

impl Meter {
    /// Nothing was late yet.
    pub fn new() -> Meter {
        // Nobody waits for a packet for a minute.
        let histogram = Histogram::new_with_bounds(1, 60_000_000_000, 2);
        Meter { histogram: histogram.expect("1 to 6e10 with two digits is a valid range") }
    }

    /// A packet was so late.
    #[inline]
    pub fn record(&mut self, late: Duration) {
        self.histogram.saturating_record(late.as_nanos());
    }

    /// How late they were.
    pub fn lateness(&self) -> Lateness {
        let at = |quantile| Duration::from_nanos(self.histogram.value_at_quantile(quantile));
        let (p50, p99) = (at(0.5), at(0.99));
        Lateness { packets: self.histogram.len(), p50, p99, max: at(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(p99: u64) -> Lateness {
        Lateness { p99: Duration::from_micros(p99), ..Lateness::default() }
    }

    #[test]
    fn the_limit_is_100_us_or_2_percent_of_the_rtt() {
        // 2 % of 10 ms are 200 us, so 100 us it is; 2 % of 1 ms are 20 us.
        assert_eq!(late(100).unfit(Duration::from_millis(10)), None);
        assert!(late(101).unfit(Duration::from_millis(10)).is_some());
        assert_eq!(late(20).unfit(Duration::from_millis(1)), None);
        let why = late(21).unfit(Duration::from_millis(1)).unwrap();
        assert!(why.contains("21.0 us late") && why.contains("20.0 us"), "{why}");
    }

    #[test]
    fn a_stall_counts_once_it_is_long_or_often() {
        let (ms, second) = (Duration::from_millis, Duration::from_secs(1));
        let stalls = |each: &[u64]| {
            let mut stalls = Stalls::default();
            each.iter().for_each(|stall| stalls.record(ms(20) + ms(*stall), ms(20)));
            stalls
        };
        // 3 s of 10 s at a time; 100 ms are half of a retransmission timeout.
        assert!(stalls(&[3000]).unfit(second * 10).is_some());
        assert_eq!(stalls(&[100]).unfit(second * 10), None);
        assert!(stalls(&[101]).unfit(second * 60).is_some());
        // Often: 1 % of 10 s are 100 ms.
        assert_eq!(stalls(&[25; 4]).unfit(second * 10), None);
        assert!(stalls(&[25; 5]).unfit(second * 10).is_some());
        // Timers and threads cause shorter stalls; a loop that waits less than intended does not stall.
        let mut short = Stalls::default();
        (0..100_000).for_each(|_| short.record(ms(19), Duration::ZERO));
        (0..100_000).for_each(|_| short.record(ms(1), ms(20)));
        assert_eq!((short.unfit(second * 10), short.total), (None, Duration::ZERO));
    }

    #[test]
    fn quantiles_are_precise_to_a_percent() {
        let mut meter = Meter::new();
        for n in 1..=100 {
            meter.record(Duration::from_micros(n));
        }
        let Lateness { packets, p50, p99, max } = meter.lateness();
        assert_eq!(packets, 100);
        assert!(p50.as_nanos().abs_diff(50_000) <= 500, "{p50}");
        assert!(p99.as_nanos().abs_diff(99_000) <= 990, "{p99}");
        assert!(max.as_nanos().abs_diff(100_000) <= 1_000, "{max}");
    }
}
