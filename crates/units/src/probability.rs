//! A probability in fixed point.

use core::fmt;
use serde::{Deserialize, Serialize};

/// A probability as a fraction of 2³² − 1, the resolution of one 32-bit random draw.
///
/// Q0.32: [`Probability::ONE`] is `u32::MAX`. Every operation saturates at 0 and 1; none wraps.
///
/// ```
/// use l4s_units::Probability;
///
/// let p = Probability::from_f64(0.25);
/// assert!(p.hits(0) && !p.hits(u32::MAX));
/// assert_eq!(p.saturating_mul(8), Probability::ONE);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Probability(u32);

impl Probability {
    /// Never.
    pub const ZERO: Probability = Probability(0);
    /// Always.
    pub const ONE: Probability = Probability(u32::MAX);

    /// From the raw Q0.32 number.
    #[inline]
    pub const fn from_raw(raw: u32) -> Self {
        Probability(raw)
    }

    /// The raw Q0.32 number.
    #[inline]
    pub const fn raw(self) -> u32 {
        self.0
    }

    /// From a ratio; below 0 (or not a number) is 0, above 1 is 1.
    pub fn from_f64(p: f64) -> Self {
        // The cast saturates, and takes NaN to 0.
        Probability((p * f64::from(u32::MAX)).round() as u32)
    }

    /// As a ratio in 0..=1.
    #[inline]
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(u32::MAX)
    }

    /// `self + delta` raw units, held in [0, 1] for any `delta`.
    #[inline]
    pub const fn saturating_add_raw(self, delta: i128) -> Self {
        let sum = (self.0 as i128).saturating_add(delta);
        if sum <= 0 {
            Probability::ZERO
        } else if sum >= u32::MAX as i128 {
            Probability::ONE
        } else {
            Probability(sum as u32)
        }
    }

    /// `k · self`, at most 1.
    #[inline]
    pub const fn saturating_mul(self, k: u32) -> Self {
        let product = self.0 as u64 * k as u64;
        if product > u32::MAX as u64 { Probability::ONE } else { Probability(product as u32) }
    }

    /// Whether a uniform 32-bit draw falls within the probability.
    ///
    /// A draw equal to the raw number counts, as in Linux: then ONE always hits. ZERO never does.
    #[inline]
    pub const fn hits(self, draw: u32) -> bool {
        draw <= self.0 && self.0 != 0
    }
}

impl fmt::Debug for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}", self.as_f64())
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.as_f64(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ends_are_certain() {
        assert!(Probability::ONE.hits(u32::MAX));
        assert!(!Probability::ZERO.hits(0));
        assert_eq!(Probability::from_f64(f64::NAN), Probability::ZERO);
        assert_eq!(Probability::from_f64(7.0), Probability::ONE);
    }

    proptest! {
        #[test]
        fn sums_and_products_stay_in_range(p: u32, delta: i128, k: u32) {
            let p = Probability::from_raw(p);
            let sum = p.saturating_add_raw(delta).as_f64();
            prop_assert!((0.0..=1.0).contains(&sum));
            let exact = f64::from(p.raw()) * f64::from(k) / f64::from(u32::MAX);
            prop_assert!((p.saturating_mul(k).as_f64() - exact.min(1.0)).abs() < 1e-9);
        }
    }
}
