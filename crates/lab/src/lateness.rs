//! How late the data plane was, and whether its run can be trusted.

use core::fmt;

use hdrhistogram::Histogram;
use l4s_units::Duration;

/// Later than this distorts what is measured, whatever the RTT: a tenth of a step threshold of 1 ms.
const TOO_LATE: Duration = Duration::from_micros(100);
/// As a fraction of the base RTT: 2 %.
const TOO_LATE_OF_RTT: u64 = 50;

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
            (TOO_LATE, "what any run may have".to_owned())
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
