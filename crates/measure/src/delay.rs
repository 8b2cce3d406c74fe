//! The distribution of queueing delays: a log-linear histogram of nanoseconds, as HdrHistogram has them.

use crate::DelaySummary;
use crate::counts::DelaySums;
use crate::record::{DelayRow, Scope};

/// The longest delay that is resolved, 100 s; longer ones count as that in percentiles.
const LONGEST: u64 = 100_000_000_000;

/// Bits of a delay below its highest one that choose its bucket. So a bucket is at most 1/128 of its value wide, and a
/// value read from the middle of its bucket is within 0.4 %.
const BITS: u32 = 7;

/// As many as the highest bit of [`LONGEST`] needs: 31 KB. A run touches a small part of them.
const BUCKETS: usize = bucket_of(LONGEST.next_power_of_two() - 1) + 1;

/// The number of packets per bucket.
#[derive(Debug, Clone)]
pub(crate) struct Delays(Box<[u64; BUCKETS]>);

/// The bucket of a delay. Below 2⁸ each nanosecond has its own.
#[inline]
const fn bucket_of(nanoseconds: u64) -> usize {
    let shift = (nanoseconds | 1 << BITS).ilog2() - BITS;
    ((shift as usize) << BITS) + (nanoseconds >> shift) as usize
}

/// The shortest delay of a bucket, and how many it has.
fn delays_of(bucket: usize) -> (u64, u64) {
    let shift = (bucket >> BITS).saturating_sub(1);
    (((bucket - (shift << BITS)) as u64) << shift, 1 << shift)
}

impl Delays {
    pub fn new() -> Self {
        Delays(Box::new([0; BUCKETS]))
    }

    #[inline]
    pub fn record(&mut self, nanoseconds: u64) {
        let bucket = bucket_of(nanoseconds);
        self.0[if bucket < BUCKETS { bucket } else { bucket_of(LONGEST) }] += 1;
    }

    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    pub fn merged<'a>(parts: impl IntoIterator<Item = &'a Delays>) -> Self {
        let mut all = Delays::new();
        for part in parts {
            all.0.iter_mut().zip(&part.0[..]).for_each(|(sum, packets)| *sum += packets);
        }
        all
    }

    /// The middle of the bucket of the packet at this rank, the shortest delay having rank 1.
    fn at_rank(&self, rank: u64) -> u64 {
        let mut sum: u64 = 0;
        let reaches = |packets: &u64| {
            sum += packets;
            sum >= rank
        };
        let (low, width) = delays_of(self.0.iter().position(reaches).unwrap_or(0));
        low + width / 2
    }

    /// Percentiles from the histogram; mean and maximum, which are exact, from the `sums` of the
    /// same packets. `None` without packets.
    pub fn summary(&self, sums: &DelaySums) -> Option<DelaySummary> {
        let max = sums.max_ms()?;
        let packets: u64 = self.0.iter().sum();
        let at = |quantile: f64| {
            let rank = (quantile * packets as f64).ceil() as u64;
            (self.at_rank(rank.max(1)) as f64 / 1e6).min(max)
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
        let counts = self.0.iter().enumerate().filter(|(_, count)| **count > 0);
        counts.map(move |(bucket, count)| {
            let (low, width) = delays_of(bucket);
            DelayRow {
                scope,
                name: name.to_owned(),
                low_ms: low as f64 / 1e6,
                high_ms: (low + width) as f64 / 1e6,
                count: *count,
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
