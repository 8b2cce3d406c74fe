//! The distribution of the queueing delays of one flow, in little memory.
//!
//! A run may have 100,000 flows, and the delays of most of them are within a few doublings. So a
//! histogram has only the buckets from the shortest to the longest delay.

use l4s_units::Duration;

/// Binary logarithm of the number of buckets per doubling of the delay. The width of a bucket is at most
/// 1/8 of its lower end, so its middle is within 6.25 % of every delay in it.
const PRECISION: u32 = 3;

/// Queueing delays: count, sum and maximum exactly, percentiles from logarithmic buckets.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// The bucket of the first of `counts`.
    lowest: usize,
    counts: Vec<u32>,
    count: u64,
    sum: Duration,
    max: Duration,
}

impl Delays {
    /// Adds `packets` packets with this delay.
    #[inline]
    pub fn record(&mut self, delay: Duration, packets: u16) {
        let bucket = bucket(delay);
        if bucket.wrapping_sub(self.lowest) >= self.counts.len() {
            self.widen(bucket);
        }
        let count = &mut self.counts[bucket - self.lowest];
        *count = count.saturating_add(packets.into());
        self.count += u64::from(packets);
        self.sum += delay * u64::from(packets);
        self.max = self.max.max(delay);
    }

    /// Extends the histogram to a bucket outside of it.
    #[cold]
    fn widen(&mut self, bucket: usize) {
        if self.counts.is_empty() {
            self.lowest = bucket;
        }
        let below = self.lowest.saturating_sub(bucket);
        self.counts.splice(0..0, std::iter::repeat_n(0, below));
        self.lowest -= below;
        let length = self.counts.len().max(bucket + 1 - self.lowest);
        self.counts.resize(length, 0);
    }

    /// Clears the delays, and keeps the memory.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        (self.count, self.sum, self.max) = (0, Duration::ZERO, Duration::ZERO);
    }

    /// The mean; `None` without packets.
    pub fn mean(&self) -> Option<Duration> {
        (self.count > 0).then(|| self.sum / self.count)
    }

    /// The longest; `None` without packets.
    pub fn max(&self) -> Option<Duration> {
        (self.count > 0).then_some(self.max)
    }

    /// The delay that the fraction `quantile` of the packets did not exceed, precise to 6.25 %; `None`
    /// without packets.
    pub fn quantile(&self, quantile: f64) -> Option<Duration> {
        let rank = ((quantile * self.count as f64).ceil() as u64).max(1);
        let mut passed = 0;
        let place = self.counts.iter().position(|count| {
            passed += u64::from(*count);
            passed >= rank
        })?;
        Some(middle(self.lowest + place).min(self.max))
    }
}

/// The bucket of a delay: its highest bit and the three bits behind that; below 16 ns the delay itself.
#[inline]
fn bucket(delay: Duration) -> usize {
    let ns = delay.as_nanos();
    let shift = (63 - (ns | 1).leading_zeros()).saturating_sub(PRECISION);
    ((shift as usize) << PRECISION) + (ns >> shift) as usize
}

/// The middle of a bucket.
fn middle(bucket: usize) -> Duration {
    let shift = (bucket >> PRECISION).saturating_sub(1);
    let low = ((bucket - (shift << PRECISION)) as u64) << shift;
    Duration::from_nanos(low + (1 << shift) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_bucket_is_within_a_sixteenth_of_every_delay_in_it() {
        for ns in (0..100_000).chain((17..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit])) {
            let found = middle(bucket(Duration::from_nanos(ns))).as_nanos();
            assert!(found.abs_diff(ns) <= ns / 16, "{found} for {ns}");
        }
        let buckets: Vec<usize> = (0..4096).map(|ns| bucket(Duration::from_nanos(ns))).collect();
        assert!(buckets.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == pair[0] + 1));
    }

    #[test]
    fn percentiles_are_those_of_the_packet_at_that_rank() {
        let mut delays = Delays::default();
        // Downwards, so that the histogram grows at its lower end, and once at its upper end.
        (1..=999).rev().chain([1000]).for_each(|us| delays.record(Duration::from_micros(us), 1));
        for (quantile, us) in [(0.01, 10.0), (0.5, 500.0), (0.99, 990.0)] {
            let found = delays.quantile(quantile).unwrap().as_nanos() as f64 / 1000.0;
            assert!((found - us).abs() <= us / 16.0, "{found} for {us}");
        }
        // (1 + … + 1000) / 1000 us = 500.5 us.
        assert_eq!(delays.mean(), Some(Duration::from_nanos(500_500)));
        assert_eq!(delays.max(), Some(Duration::from_micros(1000)));
        assert_eq!(delays.quantile(1.0), delays.max().map(|max| max.min(middle(bucket(max)))));
    }

    #[test]
    fn a_super_packet_counts_as_its_packets() {
        let mut delays = Delays::default();
        delays.record(Duration::from_millis(10), 1);
        delays.record(Duration::from_millis(1), 44);
        assert_eq!(delays.mean(), Some(Duration::from_micros(1200)));
        let p90 = delays.quantile(0.9).unwrap().as_nanos();
        assert!(p90.abs_diff(1_000_000) < 62_500);
    }

    #[test]
    fn its_memory_is_that_of_the_delays_seen() {
        let mut delays = Delays::default();
        (0..1000).for_each(|n| delays.record(Duration::from_nanos(1_000_000 + n), 1));
        assert!(delays.counts.capacity() <= 4);
        delays.clear();
        assert_eq!((delays.quantile(0.5), delays.mean(), delays.max()), (None, None, None));
        // The longest and the shortest there can be: 8 buckets for each of 62 doublings.
        delays.record(Duration::MAX, 1);
        delays.record(Duration::ZERO, 1);
        assert!(delays.counts.len() <= 8 * 62);
    }
}
