//! The distribution of queueing delays: an HdrHistogram of nanoseconds.

use hdrhistogram::Histogram;

use crate::DelaySummary;
use crate::counts::DelaySums;
use crate::record::{DelayRow, Scope};

/// The longest delay that is resolved, 100 s; longer ones count as that in percentiles.
const LONGEST: u64 = 100_000_000_000;

/// Two significant digits: a bucket is at most 1/128 of its value wide, so that a value read
/// from the middle of its bucket is within 0.4 %. A histogram has 31 KB, and a run touches
/// a small part of it.
const DIGITS: u8 = 2;

#[derive(Debug, Clone)]
pub(crate) struct Delays(Histogram<u64>);

impl Delays {
    pub fn new() -> Self {
        Delays(Histogram::new_with_bounds(1, LONGEST, DIGITS).expect("the bounds are in order"))
    }

    #[inline]
    pub fn record(&mut self, nanoseconds: u64) {
        self.0.saturating_record(nanoseconds);
    }

    pub fn clear(&mut self) {
        self.0.reset();
    }

    pub fn merged<'a>(parts: impl IntoIterator<Item = &'a Delays>) -> Self {
        let mut all = Delays::new();
        for part in parts {
            all.0.add(&part.0).expect("all have the same bounds");
        }
        all
    }

    /// Percentiles from the histogram; mean and maximum, which are exact, from the `sums` of the
    /// same packets. `None` without packets.
    pub fn summary(&self, sums: &DelaySums) -> Option<DelaySummary> {
        let max = sums.max_ms()?;
        let at = |quantile| {
            let ns = self.0.median_equivalent(self.0.value_at_quantile(quantile));
            (ns as f64 / 1e6).min(max)
        };
        Some(DelaySummary {
            mean: sums.mean_ms()?,
            p1: at(0.01),
            p25: at(0.25),
            p50: at(0.5),
            p75: at(0.75),
            p99: at(0.99),
            p999: at(0.999),
            max,
        })
    }

    /// The buckets that are not empty, shortest delay first.
    pub fn rows(&self, scope: Scope, name: &str) -> impl Iterator<Item = DelayRow> {
        self.0.iter_recorded().map(move |step| {
            let value = step.value_iterated_to();
            DelayRow {
                scope,
                name: name.to_owned(),
                low_ms: self.0.lowest_equivalent(value) as f64 / 1e6,
                high_ms: self.0.next_non_equivalent(value) as f64 / 1e6,
                count: step.count_at_value(),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(delays: &[u64]) -> (Delays, DelaySums) {
        let mut distribution = Delays::new();
        let mut sums = DelaySums::default();
        for &ns in delays {
            distribution.record(ns);
            sums.add(ns);
        }
        (distribution, sums)
    }

    #[test]
    fn percentiles_are_within_half_a_percent_of_the_packet_at_that_rank() {
        // 1..=1000 µs: the packet of rank ceil(q · 1000) waited that many microseconds.
        let delays: Vec<u64> = (1..=1000).map(|us| us * 1000).collect();
        let (distribution, sums) = of(&delays);
        let d = distribution.summary(&sums).unwrap();
        for (found, exact) in
            [(d.p1, 0.010), (d.p25, 0.25), (d.p50, 0.5), (d.p75, 0.75), (d.p99, 0.99)]
        {
            assert!((found - exact).abs() <= 0.005 * exact, "{found} for {exact}");
        }
        // Exact: (1 + … + 1000) / 1000 µs = 500.5 µs.
        assert_eq!((d.mean, d.max), (0.5005, 1.0));
    }

    #[test]
    fn no_percentile_exceeds_the_maximum() {
        let (distribution, sums) = of(&[1_000_000]);
        let d = distribution.summary(&sums).unwrap();
        assert!(d.p999 <= d.max);
        assert_eq!(d.max, 1.0);
    }

    #[test]
    fn a_delay_beyond_the_bound_keeps_its_exact_mean_and_maximum() {
        let (distribution, sums) = of(&[200_000_000_000]);
        let d = distribution.summary(&sums).unwrap();
        assert_eq!((d.mean, d.max), (200_000.0, 200_000.0));
        assert!(d.p50 >= 99_000.0);
    }

    #[test]
    fn without_packets_there_is_no_delay() {
        let (distribution, sums) = of(&[]);
        assert_eq!(distribution.summary(&sums), None);
        assert_eq!(distribution.rows(Scope::Queue, "L").count(), 0);
    }

    #[test]
    fn rows_tile_the_delays_they_hold() {
        let (distribution, _) = of(&[100, 1_000_000, 1_000_000, 30_000_000]);
        let rows: Vec<_> = distribution.rows(Scope::Queue, "L").collect();
        assert_eq!(rows.iter().map(|r| r.count).collect::<Vec<_>>(), [1, 2, 1]);
        for (row, ms) in rows.iter().zip([0.0001, 1.0, 30.0]) {
            assert!(row.low_ms <= ms && ms < row.high_ms);
            // One nanosecond at least, 1 % at most.
            assert!(row.high_ms - row.low_ms <= (0.01 * ms).max(1.001e-6));
        }
    }
}
