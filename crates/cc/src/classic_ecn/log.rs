//! Binary logarithms in integers (Fallback §B.2).
//!
//! The score needs lg(v/V0) once per round trip, and a kernel has only the position of the highest
//! bit. That is wrong by up to one; the remainder is a factor between 1 and 2. [`CarryLog`]
//! keeps that factor and multiplies the next argument by it, so that the integer results
//! have the mean of the true logarithm.

/// Bits of the fraction of the factor that is carried.
///
/// The argument may be a product of two times of 24 bits (Fallback §B.3) and the factor is below
/// 2^16, so 64 bits are enough. With the factor scaled by the gain of the averages, as in the
/// appendix, that product takes up to 24 + 24 + 22 bits: it would overflow.
const CARRY_BITS: u32 = 15;
/// The largest argument: a product of two times of 24 bits.
pub const ARGUMENT_MAX: u64 = ((1 << 24) - 1) * ((1 << 24) - 1);

/// A logarithm in whole numbers that is right on average.
///
/// ```
/// use l4s_cc::classic_ecn::CarryLog;
///
/// // 1 or 2 each time, and on average lg 3 = 1.585.
/// let mut log = CarryLog::new();
/// let logs: Vec<u32> = (0..1000).map(|_| log.take(3)).collect();
/// assert!(logs.iter().all(|log| [1, 2].contains(log)));
/// assert_eq!(logs.iter().sum::<u32>(), 1585);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CarryLog {
    /// The remainder of the last results: a factor from 1 to below 2, in 2^-15.
    pub carry: u32,
}

impl CarryLog {
    /// In the middle of its range (Fallback §B.2: 3/2).
    pub const fn new() -> Self {
        CarryLog { carry: 3 << (CARRY_BITS - 1) }
    }

    /// The logarithm of `argument` to base 2, rounded so that the rounding errors sum to
    /// zero. 0 counts as 1; more than [`ARGUMENT_MAX`] counts as that.
    #[inline]
    pub fn take(&mut self, argument: u64) -> u32 {
        let scaled = argument.clamp(1, ARGUMENT_MAX) * u64::from(self.carry);
        // The factor is 1 at least, so the position of the highest bit is CARRY_BITS at least.
        let log = scaled.ilog2() - CARRY_BITS;
        // Rounded to the nearest, as the appendix does: truncation would lean to one side.
        let rest = (scaled + half(log)) >> log;
        self.carry = (rest as u32).min((2 << CARRY_BITS) - 1);
        log
    }
}

impl Default for CarryLog {
    fn default() -> Self {
        CarryLog::new()
    }
}

/// Half of 2^`bits`.
const fn half(bits: u32) -> u64 {
    if bits == 0 { 0 } else { 1 << (bits - 1) }
}

/// The logarithm of `x` to base 2 in 2^-`bits`, rounded down. `x` is 1 to 2^32 − 1 and `bits` 50
/// at most.
///
/// Constants of the score are computed by it from the width of the score. A kernel with literal
/// constants kept them when the width changed, and took every queue for a Classic one from then on.
pub const fn lg(x: u64, bits: u32) -> i64 {
    let whole = x.ilog2();
    // The rest is a factor from 1 to below 2, in 2^-62. Each squaring gives the next bit.
    let mut rest = (x as u128) << (62 - whole);
    let mut result = whole as i64;
    let mut bit = 0;
    while bit < bits {
        rest = (rest * rest) >> 62;
        let one = rest >> 63;
        rest >>= one;
        result = 2 * result + one as i64;
        bit += 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// How often each result comes when the argument stays the same.
    fn shares(argument: u64, rounds: u32) -> (f64, f64) {
        let low = argument.ilog2();
        let mut log = CarryLog::new();
        let lows = (0..rounds).filter(|_| log.take(argument) == low).count();
        let share = lows as f64 / f64::from(rounds);
        (share, 1.0 - share)
    }

    #[test]
    fn the_example_of_500_us_is_8_in_3_422_and_9_in_96_578_percent_of_rounds() {
        // Fallback §B.2: lg(500) = 8.965784.
        let (eight, nine) = shares(500, 1_000_000);
        assert!((eight - 0.034_22).abs() < 2e-5, "{eight}");
        assert!((nine - 0.965_78).abs() < 2e-5, "{nine}");
    }

    #[test]
    fn a_power_of_two_needs_no_carry() {
        for power in 0..48 {
            assert_eq!(shares(1 << power, 1000), (1.0, 0.0));
        }
    }

    #[test]
    fn the_largest_argument_and_the_largest_carry_fit() {
        let mut log = CarryLog { carry: (2 << CARRY_BITS) - 1 };
        assert_eq!(log.take(u64::MAX), 48);
        assert_eq!(CarryLog::new().take(0), 0);
    }

    #[test]
    fn the_largest_argument_is_that_of_the_two_longest_times() {
        assert_eq!(ARGUMENT_MAX, u64::from(crate::classic_ecn::RTT_MAX).pow(2));
        // Larger arguments count as that: the remaining factor is the same, too.
        let [mut most, mut more] = [CarryLog::new(); 2];
        most.take(ARGUMENT_MAX);
        more.take(ARGUMENT_MAX + 1);
        assert_eq!(most, more);
    }

    /// Truncation would lose 1.5e-5 of each logarithm on average: half of a 2^-15th of the factor.
    #[test]
    fn rounding_leans_to_no_side() {
        let (mut log, mut random, rounds) = (CarryLog::new(), 1u64, 1_000_000);
        let (mut sum, mut exact) = (0u64, 0.0);
        for _ in 0..rounds {
            // Knuth's MMIX generator; 48 bits of it.
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let argument = (random >> 16).clamp(1, ARGUMENT_MAX);
            sum += u64::from(log.take(argument));
            exact += (argument as f64).log2();
        }
        let off = (sum as f64 - exact) / f64::from(rounds);
        // The last carry accounts for 1/rounds.
        assert!(off.abs() < 3e-6, "{off}");
    }

    #[test]
    fn a_factor_that_rounds_up_to_two_stays_below_it() {
        // (2^16 − 1)·(2^32 + 2^16 + 1) = 2^48 − 1: a factor of 2 less 2^-47, which 15 bits call 2.
        let mut log = CarryLog { carry: (2 << CARRY_BITS) - 1 };
        assert_eq!(log.take((1 << 32) + (1 << 16) + 1), 32);
        assert_eq!(log.carry, (2 << CARRY_BITS) - 1);
    }

    #[test]
    fn the_constants_of_20_and_24_bits_are_the_published_ones() {
        // Fallback §B.2 rounds lg(750)·2^20 = 10014683.9 up; L4STeam/linux#38 has those of 24.
        assert_eq!([lg(750, 20), lg(2000, 20)], [10_014_683, 11_498_458]);
        assert_eq!([lg(750, 24), lg(2000, 24)], [160_234_941, 183_975_331]);
    }

    proptest! {
        /// The mean of many results is the logarithm, independent of earlier arguments.
        #[test]
        fn results_have_the_mean_of_the_logarithm(
            argument in 1u64..=ARGUMENT_MAX,
            carry in 1u32 << CARRY_BITS..2 << CARRY_BITS,
        ) {
            let rounds = 10_000;
            let mut log = CarryLog { carry };
            let sum: u64 = (0..rounds).map(|_| u64::from(log.take(argument))).sum();
            let mean = sum as f64 / rounds as f64;
            // The carry itself accounts for 1/rounds; rounding it to 2^-16, for 2e-5 a round.
            prop_assert!((mean - (argument as f64).log2()).abs() < 2e-4, "{mean}");
        }

        #[test]
        fn constants_are_rounded_down(x in 1u64..1 << 32, bits in 0u32..=40) {
            let exact = (x as f64).log2() * 2f64.powi(bits as i32);
            // A double holds 53 bits, 5 of them before the point.
            let slack = 1.0 + exact * 1e-15;
            let found = lg(x, bits) as f64;
            prop_assert!(found <= exact + slack - 1.0 && found > exact - slack, "{found} {exact}");
        }
    }
}
