//! Bandwidth as BBR computes with it, and the filter for its maximum.

use l4s_units::Duration;

use crate::Delivery;

/// Bits of the fraction (`BW_SCALE`).
const BITS: u32 = 24;

/// Segments per microsecond, in 2^-24: 715 b/s for segments of 1500 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Bandwidth(u64);

impl Bandwidth {
    /// The delivery rate of a sample whose interval is not zero.
    pub fn of(delivery: Delivery) -> Self {
        Bandwidth((delivery.segments << BITS) / delivery.interval.as_micros())
    }

    /// The segments of a time, with this gain in 1/256, rounded up.
    pub fn segments_in(self, time: Duration, gain: u64) -> u64 {
        let scaled = (self.exactly_in(time) * u128::from(gain)) >> 8;
        scaled.div_ceil(1 << BITS) as u64
    }

    /// The whole segments of a time.
    pub fn whole_segments_in(self, time: Duration) -> u64 {
        (self.exactly_in(time) >> BITS) as u64
    }

    fn exactly_in(self, time: Duration) -> u128 {
        u128::from(self.0) * u128::from(time.as_micros())
    }

    /// Bytes per second with this gain in 1/256, 1 % below: the queue at the bottleneck drains
    /// (`bbr_pacing_margin_percent`).
    pub fn pacing_rate(self, mss: u32, gain: u64) -> u64 {
        let per_microsecond = (u128::from(self.0) * u128::from(mss) * u128::from(gain)) >> 8;
        ((per_microsecond * (1_000_000 / 100 * 99)) >> BITS) as u64
    }

    /// Bytes per second in segments of this size.
    pub fn bytes_per_second(self, segment: u32) -> u64 {
        ((u128::from(self.0) * u128::from(segment) * 1_000_000) >> BITS) as u64
    }

    pub fn mean(self, other: Bandwidth) -> Bandwidth {
        Bandwidth((self.0 + other.0) / 2)
    }

    pub fn difference(self, other: Bandwidth) -> Bandwidth {
        Bandwidth(self.0.abs_diff(other.0))
    }

    /// This many 256ths of it.
    pub fn times(self, gain: u64) -> Bandwidth {
        Bandwidth((self.0 * gain) >> 8)
    }

    /// This many tenths of it.
    pub fn tenths(self, tenths: u64) -> Bandwidth {
        Bandwidth(self.0 * tenths / 10)
    }
}

/// The highest value of the last round trips, kept as three samples (Kathleen Nichols'
/// algorithm, `lib/win_minmax.c` of Linux): the best, the best after that, and the best after
/// both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaxFilter<T> {
    /// Samples older than this many round trips leave.
    window: u64,
    best: [Sample<T>; 3],
}

#[derive(Clone, Copy, Debug, Default)]
struct Sample<T> {
    round: u64,
    value: T,
}

impl<T: Copy + Default + Ord> MaxFilter<T> {
    pub fn new(window: u64) -> Self {
        MaxFilter { window, best: [Sample::default(); 3] }
    }

    pub fn max(&self) -> T {
        self.best[0].value
    }

    /// From now on samples older than this leave.
    pub fn set_window(&mut self, window: u64) {
        self.window = window;
    }

    /// Takes the sample of a round trip.
    pub fn take(&mut self, value: T, round: u64) {
        let new = Sample { round, value };
        let [first, second, third] = &mut self.best;
        if value >= first.value || round - third.round > self.window {
            self.best = [new; 3];
            return;
        }
        if value >= second.value {
            (*second, *third) = (new, new);
        } else if value >= third.value {
            *third = new;
        }
        let age = round - first.round;
        if age > self.window {
            // The best one leaves, and perhaps the second one, too.
            self.best = [*second, *third, new];
            if round - self.best[0].round > self.window {
                self.best = [self.best[1], self.best[2], new];
            }
        } else if second.round == first.round && age > self.window / 4 {
            // A quarter of the window passed without a second choice: this one is it.
            (*second, *third) = (new, new);
        } else if third.round == second.round && age > self.window / 2 {
            *third = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 100 Mb/s in segments of 1250 bytes: 10 per millisecond.
    fn ten_per_millisecond() -> Bandwidth {
        Bandwidth::of(Delivery { segments: 100, interval: Duration::from_millis(10) })
    }

    #[test]
    fn a_bandwidth_is_segments_over_time() {
        let bandwidth = ten_per_millisecond();
        // The fraction of 24 bits rounds down: 99.99998 segments.
        assert_eq!(bandwidth.segments_in(Duration::from_millis(10), 256), 100);
        assert_eq!(bandwidth.segments_in(Duration::from_millis(10), 320), 125);
        assert_eq!(bandwidth.whole_segments_in(Duration::from_millis(10)), 99);
        // 12.5 MB/s less a hundredth.
        assert!(bandwidth.pacing_rate(1250, 256).abs_diff(12_375_000) < 100);
    }

    proptest! {
        /// The filter never says less than the best sample of the last three quarters of its
        /// window, and never more than the best one of the whole window.
        #[test]
        fn the_filter_has_the_maximum_of_its_window(
            samples in prop::collection::vec(1u64..1000, 1..200),
        ) {
            let mut filter = MaxFilter::new(10);
            for (round, rate) in samples.iter().enumerate() {
                filter.take(Bandwidth(*rate), round as u64);
                let best = |rounds: usize| {
                    samples[round.saturating_sub(rounds)..=round].iter().max().copied().unwrap()
                };
                prop_assert!(filter.max().0 <= best(10), "{filter:?}");
                prop_assert!(filter.max().0 >= *rate);
                if *rate == best(round) {
                    prop_assert_eq!(filter.max().0, *rate);
                }
            }
        }
    }
}
