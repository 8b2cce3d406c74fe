//! The smoothed RTT and its mean deviation, over a sawtooth of the flow (Fallback §4.3, §B.1).
//!
//! Both are exponentially weighted moving averages per acknowledgement, `fbk_srtt` with gain 1/g
//! and `fbk_mdev` with half of that gain or the same. They are stored multiplied by g, so that an
//! update is a subtraction and a shift. They are rescaled if the slow-start threshold changes g.

use super::reroute::{Averages, Factor, Side};

/// Larger RTTs count as this one, in microseconds: 16.7 s (Fallback §B.1).
pub const RTT_MAX: u32 = (1 << 24) - 1;
/// g is 2^20 at most: two minutes at 200 Mb/s (Fallback §B.1).
pub const SHIFT_MAX: u32 = 20;

/// An average and the mean deviation from it, in microseconds.
///
/// ```
/// use l4s_cc::classic_ecn::Smooth;
///
/// // An eighth of the difference of 8 ms, and a sixteenth of it in the deviation.
/// let mut rtt = Smooth::new(20_000, 3, 1);
/// rtt.update(28_000);
/// assert_eq!((rtt.srtt(), rtt.mdev()), (21_000, 500));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Smooth {
    /// `fbk_srtt` · 2^`shift`: 24 + 20 bits.
    pub srtt: u64,
    /// `fbk_mdev` · 2^(`shift` + `ratio`): 24 + 21 bits.
    pub mdev: u64,
    /// The gain of `srtt` is 2^-`shift`.
    pub shift: u32,
    /// The gain of `mdev` is 2^-(`shift` + `ratio`).
    pub ratio: u32,
}

/// The shift of the gain for a slow-start threshold in segments: g = 2 · ssthresh^1.5, in powers of
/// two (Fallback §4.3, §B.1), `most` at most.
pub const fn shift_of(ssthresh: u32, most: u32) -> u32 {
    let lg = if ssthresh == 0 { 0 } else { ssthresh.ilog2() };
    let shift = lg + lg / 2 + 1;
    if shift < most { shift } else { most }
}

impl Smooth {
    /// Starts from a first RTT with a deviation of 1 µs, without the margin of a retransmission
    /// timeout (Fallback §4.4). `shift` is [`SHIFT_MAX`] at most, `ratio` 1.
    pub fn new(rtt: u32, shift: u32, ratio: u32) -> Self {
        Smooth { srtt: u64::from(rtt) << shift, mdev: 1 << (shift + ratio), shift, ratio }
    }

    /// An RTT was measured.
    #[inline]
    pub fn update(&mut self, rtt: u32) {
        let error = i64::from(rtt) - (self.srtt >> self.shift) as i64;
        // The average stays between its inputs: it is g times a mean of them.
        self.srtt = self.srtt.wrapping_add_signed(error);
        let mdev = self.mdev >> (self.shift + self.ratio);
        self.mdev = self.mdev + error.unsigned_abs() - mdev;
    }

    /// Changes the gain. The averages do not change.
    pub fn set_shift(&mut self, shift: u32) {
        if shift >= self.shift {
            self.srtt <<= shift - self.shift;
            self.mdev <<= shift - self.shift;
        } else {
            self.srtt >>= self.shift - shift;
            self.mdev >>= self.shift - shift;
        }
        self.shift = shift;
    }

    /// `fbk_srtt` in whole microseconds.
    #[inline]
    pub fn srtt(&self) -> u32 {
        (self.srtt >> self.shift) as u32
    }

    /// `fbk_mdev` in whole microseconds.
    #[inline]
    pub fn mdev(&self) -> u32 {
        (self.mdev >> (self.shift + self.ratio)) as u32
    }
}

impl Averages for Smooth {
    type Sample = u32;

    #[inline]
    fn outlier(&self, rtt: u32, k2: Factor) -> Option<Side> {
        let error = i64::from(rtt) - i64::from(self.srtt());
        let side = if error > 0 { Side::Above } else { Side::Below };
        let bound = u64::from(k2.sixteenths()) * u64::from(self.mdev()) / 16;
        (error.unsigned_abs() > bound).then_some(side)
    }

    #[inline]
    fn update(&mut self, rtt: u32) {
        Smooth::update(self, rtt);
    }

    fn restarted(&self, rtt: u32, k2: Factor) -> Self {
        // K1 − 1 = G2·K2 without the terms in G2². G2 times the scaled deviation is the deviation.
        // Rounded up, so that it is never too small.
        let inflation = (u64::from(k2.sixteenths()) * (u64::from(self.mdev()) + 1)).div_ceil(16);
        Smooth { srtt: u64::from(rtt) << self.shift, mdev: self.mdev + inflation, ..*self }
    }

    #[inline]
    fn is_tighter(&self, other: &Self) -> bool {
        self.mdev < other.mdev
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_gain_follows_the_threshold() {
        // 2 · ssthresh^1.5 in powers of two: 2·2^1.5 = 5.7 -> 2^2; 2·16^1.5 = 128; 2·100^1.5 =
        // 2000 -> 2^10; at 2^12 the limit of §B.1, 2·2^18 = 2^19.
        let shifts = [1, 2, 16, 100, 1 << 12].map(|ssthresh| shift_of(ssthresh, SHIFT_MAX));
        assert_eq!(shifts, [1, 2, 7, 10, 19]);
        assert_eq!(shift_of(u32::MAX, SHIFT_MAX), SHIFT_MAX);
    }

    #[test]
    fn the_widest_averages_have_44_and_45_bits() {
        // Fallback §B.1 has 23 + 19 bits for a gain of 2^-19; ours is one wider in each.
        let mut smooth = Smooth::new(RTT_MAX, SHIFT_MAX, 1);
        for i in 0..100_000 {
            smooth.update(if i & 1 == 0 { 0 } else { RTT_MAX });
            assert!(smooth.srtt < 1 << 44 && smooth.mdev < 1 << 45);
        }
    }

    /// An average of 10 ms with a mean deviation of 100 µs.
    fn settled() -> Smooth {
        Smooth { srtt: 10_000 << 8, mdev: 100 << 9, shift: 8, ratio: 1 }
    }

    #[test]
    fn an_outlier_is_further_away_than_k2_deviations() {
        // 2·100 = 200; 1.0625·100 = 106.25, in whole microseconds 106.
        for (k2, bound) in [(2.0, 200), (1.0625, 106), (16.0, 1600)] {
            let k2 = Factor::from_f64(k2).unwrap();
            let outlier = |rtt: u32| settled().outlier(rtt, k2);
            assert_eq!([outlier(10_000), outlier(10_000 + bound)], [None; 2]);
            assert_eq!(outlier(10_000 - bound), None);
            assert_eq!(outlier(10_000 + bound + 1), Some(Side::Above));
            assert_eq!(outlier(10_000 - bound - 1), Some(Side::Below));
        }
        // Fractions of a microsecond do not count.
        let uneven = Smooth { srtt: (10_000 << 8) + 255, mdev: (100 << 9) + 511, ..settled() };
        assert_eq!(uneven.outlier(10_200, Factor::TWO), None);
        assert_eq!(uneven.outlier(10_201, Factor::TWO), Some(Side::Above));
    }

    #[test]
    fn new_averages_start_at_the_outlier_with_more_deviation() {
        // K2·(100 + 1) = 202, and 107.3 rounded up, beside the deviation with its scale.
        for (k2, inflation) in [(2.0, 202), (1.0625, 108)] {
            let new = settled().restarted(12_345, Factor::from_f64(k2).unwrap());
            let mdev = (100 << 9) + inflation;
            assert_eq!(new, Smooth { srtt: 12_345 << 8, mdev, shift: 8, ratio: 1 });
            assert!(settled().is_tighter(&new) && !new.is_tighter(&settled()));
        }
        assert!(!settled().is_tighter(&settled()));
    }

    /// The detector's filter of re-routes, with averages in integers.
    #[test]
    fn a_re_route_is_taken_up_within_a_few_samples_and_a_spike_is_not() {
        let mut filter = crate::classic_ecn::reroute::Filter::new(settled(), Some(Factor::TWO));
        let wobble = |i: u32| 150 * (i % 3);
        (0..10_000).for_each(|i| filter.update(10_000 + wobble(i)));
        let before = *filter.best();
        assert!(before.mdev() > 80 && before.mdev() < 120, "{before:?}");
        // One spike, however large, is in the average without the filter's second pair.
        let mut spiked = filter;
        spiked.update(200_000);
        assert!(spiked.has_alternative() && spiked.best() == spiked.original());
        (0..20).for_each(|i| filter.update(30_000 + wobble(i)));
        assert!(filter.best().srtt().abs_diff(30_150) < 160, "{:?}", filter.best());
        assert!(filter.best().mdev() < 2 * before.mdev(), "{:?}", filter.best());
        assert!(filter.original().mdev() > 3 * before.mdev(), "{:?}", filter.original());
    }

    #[test]
    fn a_step_is_followed_by_63_percent_after_g_updates() {
        // Fallback §4.3: 1 − 1/e = 0.632 of the step from 10 to 20 ms after 2^10 updates.
        let mut smooth = Smooth::new(10_000, 10, 1);
        (0..1 << 10).for_each(|_| smooth.update(20_000));
        assert!((i64::from(smooth.srtt()) - 16_321).abs() < 10, "{}", smooth.srtt());
    }

    proptest! {
        /// The averages equal those of real numbers to about a microsecond, also when the gain
        /// changes.
        #[test]
        fn integers_follow_real_numbers(
            first in 1u32..RTT_MAX,
            ratio in 0u32..=1,
            steps in prop::collection::vec((0u32..RTT_MAX, prop::option::weighted(0.02, 1u32..=16)), 1..2000),
        ) {
            let mut smooth = Smooth::new(first, 8, ratio);
            let (mut srtt, mut mdev, mut g) = (f64::from(first), 1.0, 256.0);
            // Rounding an average down by up to 1 µs changes each later one by 1/g of that: 1 µs in
            // all. The deviation is rounded as well. Each change of the gain rounds once more.
            let mut bound = 3.0;
            for (rtt, shift) in steps {
                if let Some(shift) = shift {
                    smooth.set_shift(shift);
                    g = f64::from(1u32 << shift);
                    bound += 1.0;
                }
                smooth.update(rtt);
                let error = f64::from(rtt) - srtt;
                srtt += error / g;
                mdev += (error.abs() - mdev) / (g * f64::from(1u32 << ratio));
                prop_assert!((f64::from(smooth.srtt()) - srtt).abs() < bound, "{smooth:?} {srtt}");
                prop_assert!((f64::from(smooth.mdev()) - mdev).abs() < 2.0 * bound, "{smooth:?} {mdev}");
            }
        }
    }
}
