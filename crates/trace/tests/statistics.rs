//! Statistics by hand, and those of random traces against definitions that are written out.

use l4s_trace::{PERCENTILES, Step, Trace};
use l4s_units::{Duration, Rate, Time};
use proptest::prelude::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Rates in Mb/s, each for 100 ms.
fn tenths(rates: &[u64]) -> Trace {
    let steps = (0u64..).zip(rates).map(|(n, rate)| Step::new(ms(100 * n), Rate::from_mbps(*rate)));
    Trace::from_steps(steps, ms(100 * rates.len() as u64)).unwrap()
}

#[test]
fn percentiles_are_those_of_the_nearest_rank() {
    // 1 to 100 Mb/s: p per cent of the windows do not exceed p Mb/s.
    let trace = tenths(&(1..=100).rev().collect::<Vec<_>>());
    let statistics = trace.statistics();
    assert_eq!(statistics.tenth.number, 100);
    assert_eq!(statistics.tenth.percentiles, PERCENTILES.map(|p| Rate::from_mbps(u64::from(p))));
    // The mean of 1 to 100 is 50.5, and the variance (100² − 1)/12 = 833.25.
    assert_eq!(statistics.mean, Rate::from_bps(50_500_000));
    assert!((statistics.tenth.variation - 833.25f64.sqrt() / 50.5).abs() < 1e-12);
    // Ten windows of 1 s: 95.5, 85.5, … 5.5 Mb/s. The 25th per cent is the third of ten.
    assert_eq!(statistics.second.number, 10);
    assert_eq!(statistics.second.percentiles[2], Rate::from_bps(25_500_000));
}

#[test]
fn the_autocorrelation_is_that_of_the_definition() {
    // 0, 2 Mb/s in turn: deviations −1, 1. At 0.1 s n − 1 products are −1, at 0.2 s n − 2 are 1.
    let trace = tenths(&[0, 2].repeat(500));
    let statistics = trace.statistics();
    let found: Vec<(Duration, f64)> =
        statistics.autocorrelation.iter().map(|value| (value.lag, value.value)).collect();
    let lags = [1u64, 2, 5, 10, 20, 50, 100];
    let expected = lags.map(|lag| {
        let sign = if lag % 2 == 0 { 1.0 } else { -1.0 };
        (ms(100 * lag), sign * (1_000 - lag) as f64 / 1_000.0)
    });
    assert_eq!(found.len(), 7);
    for ((lag, value), (expected_lag, expected)) in found.into_iter().zip(expected) {
        assert_eq!(lag, expected_lag);
        assert!((value - expected).abs() < 1e-9, "{value} {expected}");
    }
}

#[test]
fn lags_are_below_half_of_the_trace() {
    // Ten windows: 0.1 and 0.2 s, and not 0.5 s.
    let lags = tenths(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]).statistics().autocorrelation;
    assert_eq!(lags.iter().map(|value| value.lag).collect::<Vec<_>>(), [ms(100), ms(200)]);
}

#[test]
fn a_constant_rate_has_no_variation_and_no_autocorrelation() {
    let statistics = tenths(&[7; 50]).statistics();
    assert_eq!(statistics.tenth.variation, 0.0);
    assert!(statistics.autocorrelation.is_empty());
    assert_eq!(statistics.tenth.percentiles, [Rate::from_mbps(7); 7]);
}

#[test]
fn the_longest_gap_includes_the_end_and_the_start() {
    // 100 ms at the start and 200 ms at the end are 300 ms in a row.
    let statistics = tenths(&[0, 5, 0, 0, 5, 0, 0]).statistics();
    assert_eq!(statistics.longest_gap, ms(300));
    assert_eq!(statistics.gaps, None);
    // From 7 ms to 10 ms, and 4 ms from the end to the first instant.
    let trace = Trace::from_opportunities([4, 5, 7, 7, 10]).unwrap();
    let statistics = trace.statistics();
    assert_eq!(statistics.longest_gap, ms(4));
    let gaps = statistics.gaps.unwrap();
    // 1, 2, 3, 4 ms.
    assert_eq!((gaps.number, gaps.percentiles), (4, [1, 1, 1, 2, 3, 4, 4].map(ms)));
    // An opportunity at time 0 is one at the end.
    let statistics = Trace::from_opportunities([0, 9]).unwrap().statistics();
    assert_eq!((statistics.longest_gap, statistics.entries), (ms(9), 2));
}

#[test]
fn a_trace_that_is_shorter_than_a_window_has_one() {
    let statistics = Trace::from_opportunities([1]).unwrap().statistics();
    // 100 packets in 100 ms: 12.032 Mb/s.
    assert_eq!(statistics.tenth.percentiles, [Rate::from_bps(12_032_000); 7]);
    assert_eq!((statistics.tenth.number, statistics.second.number), (1, 1));
}

proptest! {
    /// The windows of an odd trace have its bytes, and the mean is that of all whole windows.
    #[test]
    fn windows_have_the_bytes_of_the_trace(
        list in prop::collection::vec((1u64..300_000_000, 0u64..100), 2..100),
    ) {
        let mut at = 0;
        let mut steps = vec![Step::new(Duration::ZERO, Rate::from_mbps(1))];
        for (length, rate) in list {
            at += length;
            steps.push(Step::new(Duration::from_nanos(at), Rate::from_mbps(rate)));
        }
        let trace = Trace::from_steps(steps, Duration::from_nanos(at + 1)).unwrap();
        let number = ((at + 1) / 100_000_000).max(1);
        let mut rates: Vec<u64> = (0..number)
            .map(|n| {
                let end = |n| Time::ZERO + ms(100 * n);
                trace.bytes_between(end(n), end(n + 1)).get() * 80
            })
            .collect();
        rates.sort_unstable();
        let found = trace.statistics().tenth;
        prop_assert_eq!(found.number, number);
        for (percent, rate) in PERCENTILES.into_iter().zip(found.percentiles) {
            // Some rate that p per cent of the windows do not exceed, and no lower one.
            let upto = rates.iter().filter(|other| **other <= rate.as_bps()).count() as u64;
            let below = rates.iter().filter(|other| **other < rate.as_bps()).count() as u64;
            prop_assert!(upto * 100 >= u64::from(percent) * number);
            prop_assert!(below * 100 < u64::from(percent) * number);
        }
    }
}
