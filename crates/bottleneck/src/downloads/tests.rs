//! The distribution of arrivals and sizes, and their independence of everything else.

use super::*;
use l4s_scenario::Plan;
use proptest::prelude::*;
use rand_core::Rng;

/// Two groups, and the downloads of `web`.
fn scenario(seed: u64, web: &str) -> Scenario {
    let text = format!(
        "duration = \"100s\"\nlink.rate = \"40mbit\"\nseed = {seed}\n\
         [[group]]\nname = \"A\"\ncc = \"reno\"\nflows = 2\nrtt = \"10ms\"\n\
         [[group]]\nname = \"B\"\ncc = \"cubic\"\nrtt = \"10ms\"\n\
         [[udp]]\nname = \"U\"\nrate = \"1mbit\"\n{web}"
    );
    Plan::parse("t.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}")).points[0].scenario.clone()
}

fn entry(group: &str, rate: &str, more: &str) -> String {
    format!("[[web]]\ngroup = \"{group}\"\nrate = \"{rate}\"\n{more}\n")
}

fn first(scenario: &Scenario, nth: usize) -> Vec<(Time, Bytes)> {
    arrivals(scenario, nth).collect()
}

#[test]
fn times_between_downloads_are_exponential() {
    let downloads = first(&scenario(7, &entry("A", "1000/s", "")), 0);
    // A Poisson process of 100,000 has a standard deviation of 316.
    let n = downloads.len() as f64;
    assert!((n - 100_000.0).abs() < 4.0 * 316.3, "{n}");
    let starts = std::iter::once(Time::ZERO).chain(downloads.iter().map(|(start, _)| *start));
    let gaps = starts.zip(&downloads).map(|(last, (start, _))| start.since(last).as_secs_f64());
    let gaps: Vec<f64> = gaps.collect();
    // The fraction of gaps longer than t is e^(-t/mean).
    for t in [0.1, 0.5, 1.0, 2.0, 4.0] {
        let (share, expected) = (exceeding(&gaps, t / 1000.0), (-t).exp());
        let sigma = (expected * (1.0 - expected) / n).sqrt();
        assert!((share - expected).abs() < 4.0 * sigma, "{t}: {share}, expected {expected}");
    }
    // Gaps do not depend on the previous gap: no correlation.
    let deviations: Vec<f64> = gaps.iter().map(|gap| gap * 1000.0 - 1.0).collect();
    let product: f64 = deviations.windows(2).map(|pair| pair[0] * pair[1]).sum();
    assert!((product / n).abs() < 4.0 / n.sqrt(), "{}", product / n);
}

/// The share of `values` above `x`.
fn exceeding(values: &[f64], x: f64) -> f64 {
    values.iter().filter(|value| **value > x).count() as f64 / values.len() as f64
}

#[test]
fn sizes_are_a_pareto_distribution_without_what_is_above_its_bound() {
    let downloads = first(&scenario(7, &entry("A", "1000/s", "")), 0);
    let sizes: Vec<f64> = downloads.iter().map(|(_, size)| size.get() as f64).collect();
    let n = sizes.len() as f64;
    // P(size > x) = ((1000/x)^0.9 - 0.001^0.9) / (1 - 0.001^0.9), DCttH §4.5.
    let beyond = 0.001f64.powf(0.9);
    for x in [1_500.0f64, 3_000.0, 10_000.0, 100_000.0, 900_000.0] {
        let expected = ((1000.0 / x).powf(0.9) - beyond) / (1.0 - beyond);
        let sigma = (expected * (1.0 - expected) / n).sqrt();
        let share = exceeding(&sizes, x);
        assert!((share - expected).abs() < 4.0 * sigma, "{x}: {share}, expected {expected}");
    }
    // The mean is 0.9/0.1 · 1000^0.9 · (10^6^0.1 - 1000^0.1) / (1 - 0.001^0.9) = 8977 B. The tail is
    // heavy, so the mean of 100,000 differs from it by some hundred bytes.
    let mean = sizes.iter().sum::<f64>() / n;
    assert!((mean - 8977.0).abs() < 600.0, "{mean}");
}

#[test]
fn downloads_of_all_entries_are_in_order_and_numbered_after_all_other_flows() {
    let web = entry("A", "50/s", "") + &entry("B", "20/s", "start = \"10s\"\nstop = \"30s\"");
    let scenario = scenario(3, &web);
    let all: Vec<Download> = Downloads::new(&scenario).collect();
    // Two and one long flows, and a UDP source.
    assert!(all.iter().map(|download| download.flow.get()).eq(4..4 + all.len() as u32));
    assert!(all.windows(2).all(|pair| pair[0].start <= pair[1].start));
    for group in [0, 1] {
        let mine = all.iter().filter(|download| download.group.get() == group);
        let mine: Vec<_> = mine.map(|download| (download.start, download.size)).collect();
        assert_eq!(mine, first(&scenario, usize::from(group)));
    }
    let second = |s| Time::ZERO + Duration::from_secs(s);
    assert!(first(&scenario, 1).iter().all(|d| (second(10)..second(30)).contains(&d.0)));
    let mut one_by_one = Downloads::new(&scenario);
    for download in &all {
        assert_eq!(one_by_one.next_start(), download.start);
        assert_eq!(one_by_one.next(), Some(*download));
    }
    assert_eq!((one_by_one.next_start(), one_by_one.next()), (Time::NEVER, None));
}

#[test]
fn an_entry_shifts_no_other_and_no_other_component() {
    let (a, b) = (entry("A", "50/s", ""), entry("B", "20/s", ""));
    let alone = first(&scenario(3, &a), 0);
    assert_eq!(first(&scenario(3, &(a.clone() + &b)), 0), alone);
    assert_eq!(first(&scenario(3, &(b + &a)), 1), alone);
    // A second entry of the same group has its own random numbers.
    let twice = scenario(3, &(a.clone() + &a));
    assert_eq!(first(&twice, 0), alone);
    assert_ne!(first(&twice, 1), alone);
    // The random streams of the bottleneck have other names.
    let draws = |name: &str| stream(3, name).next_u64();
    assert!(["aqm", "aqm setup"].iter().all(|name| draws(name) != draws("web A.0")));
    // Other sizes, the same times.
    let fixed = first(&scenario(3, &entry("A", "50/s", "size = \"10kb\"")), 0);
    assert!(fixed.iter().zip(&alone).all(|(f, a)| f.0 == a.0 && f.1 == Bytes::new(10_000)));
    assert_eq!(fixed.len(), alone.len());
}

/// Pinned: every machine must produce these numbers.
#[test]
fn downloads_are_the_same_on_every_machine() {
    let found = first(&scenario(1, &entry("A", "100/s", "")), 0);
    let found: Vec<_> = found[..4].iter().map(|(t, size)| (t.as_nanos(), size.get())).collect();
    assert_eq!(found, FIRST);
}
const FIRST: [(u64, u64); 4] =
    [(4_023_111, 9820), (19_374_131, 1609), (28_469_094, 1263), (36_850_559, 1184)];

#[test]
fn no_download_begins_at_a_rate_of_zero() {
    let scenario = scenario(1, &entry("A", "0/s", ""));
    assert_eq!(Downloads::new(&scenario).next_start(), Time::NEVER);
    assert_eq!(Downloads::new(&scenario).next(), None);
}

proptest! {
    #[test]
    fn sizes_stay_within_their_bounds_and_the_rate_is_met(
        seed: u32, shape in 0.01f64..100.0, min in 1u64..1_000_000, span in 0u64..1_000_000_000,
    ) {
        let max = min + span;
        let size = format!("size = {{ pareto = {shape:?}, min = \"{min}b\", max = \"{max}b\" }}");
        let scenario = scenario(seed.into(), &entry("B", "20/s", &size));
        let downloads = first(&scenario, 0);
        prop_assert_eq!(&downloads, &first(&scenario, 0));
        prop_assert!(downloads.iter().all(|(_, size)| (min..=max).contains(&size.get())));
        prop_assert!(downloads.iter().all(|(start, _)| *start < Time::ZERO + scenario.duration));
        // 2000 expected; six standard deviations are 268.
        prop_assert!((1732..2268).contains(&downloads.len()), "{}", downloads.len());
    }

    #[test]
    fn a_smaller_share_means_a_larger_size(shape in 0.01f64..100.0, u in 0.0f64..1.0, v in 0.0f64..1.0) {
        let sizes = Sizes::Pareto { shape, min: Bytes::new(1000), max: Bytes::new(1_000_000) };
        let (low, high) = (u.min(v), u.max(v));
        prop_assert!(size(&sizes, low) >= size(&sizes, high));
        prop_assert_eq!(size(&sizes, 1.0), Bytes::new(1000));
        // As exact as the number in the exponent: within a millionth.
        prop_assert!(size(&sizes, 0.0).get() >= 999_999);
    }
}
