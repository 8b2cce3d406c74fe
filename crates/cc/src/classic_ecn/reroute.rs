//! Keeps a re-route out of moving averages (Fallback appendix C).
//!
//! After a step of the RTT the average converges slowly, and the mean deviation from it grows
//! meanwhile, although the RTT does not vary more than before. Therefore an outlier starts a second
//! pair of averages at its own value. The second pair is kept as long as its deviation is the smaller
//! one. That holds after a step, but not at the peak of a sawtooth.

/// A moving average and the mean deviation from it, to recognize outliers.
///
/// ```
/// use l4s_cc::classic_ecn::Smooth;
/// use l4s_cc::classic_ecn::reroute::{Averages, Factor, Side};
///
/// // An RTT of 20 ms that varies by 1 ms. Two of these are the bound of an outlier.
/// let average = Smooth { mdev: 1000, ..Smooth::new(20_000, 0, 0) };
/// assert_eq!(average.outlier(21_900, Factor::TWO), None);
/// assert_eq!(average.outlier(22_100, Factor::TWO), Some(Side::Above));
/// assert_eq!(average.restarted(22_100, Factor::TWO).srtt(), 22_100);
/// ```
pub trait Averages: Copy {
    /// The type of the averaged samples.
    type Sample: Copy;

    /// The side of the average on which a sample is, if its distance is more than `k2` mean
    /// deviations.
    fn outlier(&self, sample: Self::Sample, k2: Factor) -> Option<Side>;

    /// Adds a sample.
    fn update(&mut self, sample: Self::Sample);

    /// Averages with the same gains that start from `sample`, with this mean deviation inflated
    /// by [`k1`].
    fn restarted(&self, sample: Self::Sample, k2: Factor) -> Self;

    /// Whether this mean deviation is less than another's.
    fn is_tighter(&self, other: &Self) -> bool;
}

/// K1: the factor that inflates the mean deviation of new averages, so that an outlier just above the
/// bound, followed by the same sample, does not make the new averages the better ones.
///
/// The outlier is K2·m away from the average, where m is the mean deviation. It changes the original
/// deviation to m·(1 + G2·(K2 − 1)). The same sample again, which is then no outlier any more,
/// changes the new deviation from K1·m to K1·m·(1 − G2). They are equal for
///
/// K1 = (1 + G2·(K2 − 1)) / (1 − G2) = 1 + G2·K2 + …
///
/// The formula in appendix C is 1 + G2·(2·K2 − 2) + …. It is the same for K2 = 2, too small for a
/// smaller K2 and larger than needed for a larger one.
pub fn k1(g2: f64, k2: Factor) -> f64 {
    (1.0 + g2 * (k2.as_f64() - 1.0)) / (1.0 - g2)
}

/// A side of an average.
///
/// Example: [`Averages`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Less than the average.
    Below,
    /// More than the average.
    Above,
}

/// A factor from 1 to 16, in steps of 1/16.
///
/// ```
/// use l4s_cc::classic_ecn::reroute::Factor;
///
/// assert_eq!(Factor::from_f64(1.5).map(Factor::sixteenths), Some(24));
/// assert_eq!(Factor::from_f64(0.5), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Factor(u32);

impl Factor {
    /// The factor 1. With a smaller one about every second sample would be an outlier.
    pub const ONE: Factor = Factor(16);
    /// K2 of Fallback appendix C.
    pub const TWO: Factor = Factor(32);

    /// The nearest factor; `None` where that is below 1 or above 16.
    pub fn from_f64(value: f64) -> Option<Factor> {
        let sixteenths = (value * 16.0).round();
        (16.0..=256.0).contains(&sixteenths).then_some(Factor(sixteenths as u32))
    }

    /// The factor as a real number.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 16.0
    }

    /// The factor in 1/16: 16 to 256.
    pub const fn sixteenths(self) -> u32 {
        self.0
    }
}

/// Averages, and a second pair of them after an outlier.
///
/// ```
/// use l4s_cc::classic_ecn::reroute::{Alternative, Exact, Factor, Filter};
///
/// // Milliseconds. A re-route lengthens the path from 10 to 50 ms.
/// let gain = 1.0 / 64.0;
/// let average = Exact { mean: 10.0, deviation: 0.5, mean_gain: gain, deviation_gain: gain };
/// let mut filter = Filter::new(average, Some(Factor::TWO));
/// for _ in 0..10 {
///     filter.update(50.0);
/// }
/// assert!(filter.original().mean < 17.0);
/// assert_eq!(filter.best().mean, 50.0);
/// let Alternative { confirmed, .. } = filter.alternative.unwrap();
/// assert!(confirmed);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Filter<A> {
    /// The averages of all samples.
    pub original: A,
    /// The second pair of averages.
    pub alternative: Option<Alternative<A>>,
    /// The least distance of an outlier in mean deviations; `None` for no filter.
    pub k2: Option<Factor>,
}

/// Averages that started from an outlier.
///
/// Example: [`Filter`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alternative<A> {
    /// The averages.
    pub averages: A,
    /// The side of the original average that the outlier was on.
    pub side: Side,
    /// Whether a second sample followed. Otherwise one outlier that increases the original deviation by
    /// more than K1 would be the average.
    pub confirmed: bool,
}

impl<A: Averages> Filter<A> {
    /// A filter of outliers of more than `k2` mean deviations; `None` for no filter.
    pub fn new(original: A, k2: Option<Factor>) -> Self {
        Filter { original, alternative: None, k2 }
    }

    /// Adds a sample.
    #[inline]
    pub fn update(&mut self, sample: A::Sample) {
        if let Some(k2) = self.k2 {
            self.filter(sample, k2);
        }
        self.original.update(sample);
    }

    #[inline]
    fn filter(&mut self, sample: A::Sample, k2: Factor) {
        let outlier = self.original.outlier(sample, k2);
        match (&mut self.alternative, outlier) {
            (None, None) => {}
            (None, Some(side)) => {
                let averages = self.original.restarted(sample, k2);
                self.alternative = Some(Alternative { averages, side, confirmed: false });
            }
            // Outliers on the other side are no evidence of a step: the peak of a sawtooth is followed
            // by the minimum of the next.
            (Some(alternative), outlier) => {
                alternative.averages.update(sample);
                alternative.confirmed = true;
                let is_evidence = outlier == Some(alternative.side);
                if !is_evidence && !alternative.averages.is_tighter(&self.original) {
                    self.alternative = None;
                }
            }
        }
    }

    /// The averages with the smaller deviation.
    #[inline]
    pub fn best(&self) -> &A {
        match &self.alternative {
            Some(Alternative { averages, confirmed: true, .. })
                if averages.is_tighter(&self.original) =>
            {
                averages
            }
            _ => &self.original,
        }
    }

    /// The averages without the filter.
    pub fn original(&self) -> &A {
        &self.original
    }

    /// Whether there is a second pair.
    pub fn has_alternative(&self) -> bool {
        self.alternative.is_some()
    }

    /// Applies a change to both pairs.
    pub fn for_both(&mut self, mut change: impl FnMut(&mut A)) {
        change(&mut self.original);
        if let Some(alternative) = &mut self.alternative {
            change(&mut alternative.averages);
        }
    }
}

/// Averages of real numbers, for use outside of a kernel.
///
/// Example: [`Filter`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Exact {
    /// The average.
    pub mean: f64,
    /// The mean deviation from it.
    pub deviation: f64,
    /// The gain of the average: 0 to 1.
    pub mean_gain: f64,
    /// The gain of the mean deviation: 0 to 1.
    pub deviation_gain: f64,
}

impl Averages for Exact {
    type Sample = f64;

    fn outlier(&self, sample: f64, k2: Factor) -> Option<Side> {
        let error = sample - self.mean;
        let side = if error > 0.0 { Side::Above } else { Side::Below };
        (error.abs() > k2.as_f64() * self.deviation).then_some(side)
    }

    fn update(&mut self, sample: f64) {
        let error = sample - self.mean;
        self.deviation += self.deviation_gain * (error.abs() - self.deviation);
        self.mean += self.mean_gain * error;
    }

    fn restarted(&self, sample: f64, k2: Factor) -> Self {
        let deviation = self.deviation * k1(self.deviation_gain, k2);
        Exact { mean: sample, deviation, ..*self }
    }

    fn is_tighter(&self, other: &Self) -> bool {
        self.deviation < other.deviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn settled() -> Exact {
        Exact { mean: 100.0, deviation: 5.0, mean_gain: 1.0 / 64.0, deviation_gain: 1.0 / 128.0 }
    }

    /// With K1 both deviations are equal after the second sample.
    #[test]
    fn k1_makes_the_deviations_equal() {
        for (g2, k2, expected) in [(0.25, 48, 2.0), (0.5, 32, 3.0), (0.125, 16, 8.0 / 7.0)] {
            let k2 = Factor(k2);
            assert_eq!(k1(g2, k2), expected);
            // Fallback appendix C: the original takes in an outlier of K2, the new one none.
            let original = 1.0 + g2 * (k2.as_f64() - 1.0);
            assert!((k1(g2, k2) * (1.0 - g2) - original).abs() < 1e-12);
        }
    }

    proptest! {
        /// The purpose of K1.
        #[test]
        fn the_same_sample_twice_is_no_step_if_it_was_only_just_an_outlier(
            k2 in 1.0f64..8.0,
            above: bool,
        ) {
            let k2 = Factor::from_f64(k2).unwrap();
            let mut filter = Filter::new(settled(), Some(k2));
            let away = 5.0 * k2.as_f64() + 1e-9;
            let at = |away: f64| if above { 100.0 + away } else { 100.0 - away };
            filter.update(at(away));
            prop_assert!(filter.has_alternative());
            // Nearer by a millionth, so that rounding does not decide between equals.
            filter.update(at(away - 1e-6));
            prop_assert!(!filter.has_alternative());
        }

        /// This holds for any distance.
        #[test]
        fn one_outlier_alone_changes_nothing(distance in 0.001f64..1e6, rest in -5.0f64..5.0) {
            let mut filter = Filter::new(settled(), Some(Factor::TWO));
            filter.update(110.0 + distance);
            prop_assert!(filter.has_alternative());
            prop_assert_eq!(*filter.best(), *filter.original());
            filter.update(100.0 + rest);
            prop_assert_eq!(*filter.best(), *filter.original());
            prop_assert!(!filter.has_alternative());
        }
    }

    #[test]
    fn a_step_is_taken_up_within_a_few_samples_and_the_deviation_stays() {
        let mut filter = Filter::new(settled(), Some(Factor::TWO));
        let wobble = |i: i32| f64::from(i % 5 - 2) * 3.0;
        (0..1000).for_each(|i| filter.update(100.0 + wobble(i)));
        let before = filter.best().deviation;
        (0..20).for_each(|i| filter.update(200.0 + wobble(i)));
        assert!((filter.best().mean - 200.0).abs() < 6.0, "{:?}", filter.best());
        assert!(filter.best().deviation < 2.0 * before);
        // Without the filter the average has moved by a quarter of the step: 1 − e^(−20/64) = 0.27.
        assert!((filter.original().mean - 127.0).abs() < 3.0, "{:?}", filter.original());
        assert!(filter.original().deviation > 2.0 * before);
        // Both converge, and the second pair ends.
        (0..2000).for_each(|i| filter.update(200.0 + wobble(i)));
        assert!(!filter.has_alternative());
    }

    #[test]
    fn a_sawtooth_is_no_re_route() {
        let mut filter = Filter::new(settled(), Some(Factor::TWO));
        let mut taken = 0;
        for i in 0..20_000 {
            filter.update(100.0 + f64::from(i % 20));
            taken += u32::from(i > 4000 && filter.best() != filter.original());
        }
        // Its deviation covers it.
        assert_eq!(taken, 0);
    }

    #[test]
    fn outliers_on_the_other_side_do_not_keep_it() {
        let mut filter = Filter::new(settled(), Some(Factor::TWO));
        filter.update(150.0);
        assert!(filter.has_alternative());
        filter.update(50.0);
        assert!(!filter.has_alternative());
    }

    /// Averages that follow a script: a sample says whether it is an outlier, and the deviations after
    /// it.
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Scripted {
        deviation: i32,
        restarted: bool,
    }

    impl Averages for Scripted {
        type Sample = (Option<Side>, i32, i32);

        fn outlier(&self, sample: Self::Sample, _: Factor) -> Option<Side> {
            sample.0
        }
        fn update(&mut self, (_, original, restarted): Self::Sample) {
            self.deviation = if self.restarted { restarted } else { original };
        }
        fn restarted(&self, _: Self::Sample, _: Factor) -> Self {
            Scripted { restarted: true, ..*self }
        }
        fn is_tighter(&self, other: &Self) -> bool {
            self.deviation < other.deviation
        }
    }

    /// Whether there is a second pair after an outlier above and these samples, and whether it is the
    /// best.
    fn after(samples: &[(Option<Side>, i32, i32)]) -> (bool, bool) {
        let original = Scripted { deviation: 10, restarted: false };
        let mut filter = Filter::new(original, Some(Factor::TWO));
        filter.update((Some(Side::Above), 10, 10));
        samples.iter().for_each(|sample| filter.update(*sample));
        (filter.has_alternative(), filter.best().restarted)
    }

    #[test]
    fn a_second_pair_stays_while_it_is_tighter_or_outliers_confirm_it() {
        let (above, below) = (Some(Side::Above), Some(Side::Below));
        for other in [None, below] {
            assert_eq!(after(&[(other, 10, 9)]), (true, true));
            // The two are compared before the sample is added to the original.
            assert_eq!(after(&[(other, 10, 10)]), (false, false));
            assert_eq!(after(&[(other, 10, 11)]), (false, false));
        }
        // It stays, but has the larger deviation.
        assert_eq!(after(&[(above, 10, 11)]), (true, false));
        assert_eq!(after(&[(above, 12, 11)]), (true, true));
    }

    #[test]
    fn an_outlier_is_further_than_k2_deviations() {
        let side = |sample| settled().outlier(sample, Factor::TWO);
        assert_eq!([side(110.0), side(90.0)], [None, None]);
        assert_eq!([side(110.1), side(89.9)], [Some(Side::Above), Some(Side::Below)]);
        let restarted = settled().restarted(200.0, Factor::TWO);
        assert_eq!(restarted.mean, 200.0);
        assert_eq!(restarted.deviation, 5.0 * k1(1.0 / 128.0, Factor::TWO));
        assert!(!settled().is_tighter(&settled()));
    }

    #[test]
    fn factors_below_one_are_refused() {
        assert_eq!(Factor::from_f64(0.9), None);
        assert_eq!(Factor::from_f64(1.0), Some(Factor::ONE));
        assert_eq!(Factor::from_f64(2.0), Some(Factor::TWO));
        assert_eq!(Factor::from_f64(17.0), None);
    }
}
