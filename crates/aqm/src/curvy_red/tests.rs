use super::*;
use proptest::prelude::*;

fn ns(n: u64) -> Duration {
    Duration::from_nanos(n)
}

/// A Classic packet leaves after a delay of `n` nanoseconds.
fn classic(curve: &mut Curve, n: u64) {
    curve.departs(Queue::C, ns(n), ns(n));
}

#[test]
fn the_line_is_a_shift_of_nanoseconds() {
    // RFC 9332 figure 11 with S_C = −1: Q << 3 in 2⁻³². 15 ms is 15,000,000 · 8.
    let curve = Curve::new(&Config::rfc9332());
    for (q, raw) in [
        (0, 0),
        (1, 8),
        (15_000_000, 120_000_000),
        (100_000_000, 800_000_000),
        // The ramp ends at 2²⁹ ns, half of the 2³⁰ ns that count as a second.
        ((1 << 29) - 1, u32::MAX - 7),
        (1 << 29, u32::MAX),
        (1_000_000_000, u32::MAX),
        (u64::MAX, u32::MAX),
    ] {
        assert_eq!(curve.base(ns(q)).raw(), raw, "{q} ns");
    }
    // Figure 10 has real seconds: 15 ms / 0.5 s = 0.03. A billion for 2³⁰ is 6.87 % less.
    let ratio = curve.base(ns(15_000_000)).as_f64() / 0.03;
    assert!((ratio - 1e9 / f64::from(1 << 30)).abs() < 1e-6, "{ratio}");
}

#[test]
fn a_minimum_threshold_shifts_the_line() {
    let min_th = Duration::from_millis(5);
    let curve = Curve::new(&Config { min_th, ..Config::rfc9332() });
    for (q, raw) in [(0, 0), (5_000_000, 0), (5_000_001, 8), (20_000_000, 120_000_000)] {
        assert_eq!(curve.base(ns(q)).raw(), raw, "{q} ns");
    }
}

#[test]
fn the_average_takes_a_thirty_second_of_the_difference() {
    // By hand, f = 5, each shift rounded down: 32 ms / 32 = 1,000,000; 31,000,000 / 32 = 968,750;
    // 30,031,250 / 32 = 938,476.6; and −2,907,226 / 32 = −90,850.8.
    let mut curve = Curve::new(&Config::rfc9332());
    for (q, average) in
        [(32_000_000, 1_000_000), (32_000_000, 1_968_750), (32_000_000, 2_907_226), (0, 2_816_375)]
    {
        classic(&mut curve, q);
        assert_eq!(curve.smoothed, average);
        assert_eq!(curve.coupled().p_prime.raw(), average as u32 * 8);
        assert_eq!(curve.coupled().p_l.raw(), average as u32 * 16, "k = 2");
    }
}

#[test]
fn the_average_ends_just_below_a_delay_that_stays_and_at_one_that_fell() {
    let mut curve = Curve::new(&Config::rfc9332());
    for _ in 0..2000 {
        classic(&mut curve, 15_000_000);
    }
    assert_eq!(curve.smoothed, 15_000_000 - 31);
    for _ in 0..2000 {
        classic(&mut curve, 0);
    }
    assert_eq!(curve.smoothed, 0);
}

proptest! {
    #[test]
    fn probabilities_follow_the_line_in_integers_of_any_size(
        s_c in 0u32..=20,
        more in 0u32..=20,
        f in 0u32..=16,
        min_th: u32,
        delays in prop::collection::vec(any::<u64>(), 1..50),
    ) {
        let s_l = (s_c + more).min(20);
        let min_th = ns(min_th.into());
        let config = Config { s_c, s_l, f, min_th, ..Config::rfc9332() };
        let mut curve = Curve::new(&config);
        for delay in delays {
            // Delays from nanoseconds to centuries.
            let delay = delay >> (delay % 64);
            classic(&mut curve, delay);
            prop_assert!(curve.smoothed >= 0);
            let above = u128::from(curve.smoothed as u64).saturating_sub(min_th.as_nanos().into());
            let most = u128::from(u32::MAX);
            let Coupled { p_prime, p_l, .. } = curve.coupled();
            prop_assert_eq!(u128::from(p_prime.raw()), (above << (s_c + 2)).min(most));
            // Both are on the ramp: k is a shift as well.
            if p_prime != Probability::ONE {
                prop_assert_eq!(u128::from(p_l.raw()), (above << (s_l + 2)).min(most));
            }
            prop_assert!(p_l >= p_prime);
        }
    }
}
