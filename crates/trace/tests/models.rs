//! Each model has the statistics of its source, and is the same on every machine.

use l4s_trace::{Format, Model, Statistics, make};
use l4s_units::{Duration, Rate};

/// The statistics of a model over a time that is long against its memory.
fn statistics(model: Model, seconds: u64) -> Statistics {
    make(model, 1, Duration::from_secs(seconds)).unwrap().statistics()
}

fn mbps(rate: Rate) -> f64 {
    rate.as_bps() as f64 / 1e6
}

/// The correlation at a lag.
fn correlation(statistics: &Statistics, lag: Duration) -> f64 {
    statistics.autocorrelation.iter().find(|correlation| correlation.lag == lag).unwrap().value
}

#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found}, expected {expected} ± {tolerance}");
}

/// The time constant is 7.5 s, so 40,000 s have 2,700 independent values: the mean has a standard error of 1.7 %.
#[test]
fn lte_has_the_statistics_of_the_trace() {
    let found = statistics(Model::Lte, 40_000);
    near(mbps(found.mean), 12.80, 0.05 * 12.80);
    near(found.tenth.variation, 0.886, 0.05);
    near(correlation(&found, Duration::from_millis(100)), 0.832, 0.03);
    near(correlation(&found, Duration::from_secs(5)), 0.380, 0.06);
    // These the model was not made of: the trace has 0.620 and 0.207 at 1 and 10 s, and percentiles.
    near(correlation(&found, Duration::from_secs(1)), 0.620, 0.12);
    near(correlation(&found, Duration::from_secs(10)), 0.207, 0.06);
    for (place, expected) in [(3, 10.11), (5, 33.45), (6, 53.78)] {
        near(mbps(found.tenth.percentiles[place]), expected, 0.12 * expected);
    }
}

/// The time constant is 71 s, so 400,000 s have 2,800 independent values.
#[test]
fn five_g_has_the_statistics_of_the_data() {
    let found = statistics(Model::FiveG, 400_000);
    near(mbps(found.mean), 110.9, 0.05 * 110.9);
    near(found.second.variation, 0.899, 0.06);
    near(correlation(&found, Duration::from_secs(1)), 0.956, 0.02);
    near(correlation(&found, Duration::from_secs(10)), 0.812, 0.04);
    // Not made of these: 0.872 at 5 s, and the percentiles.
    near(correlation(&found, Duration::from_secs(5)), 0.872, 0.04);
    for (place, expected) in [(3, 82.0), (5, 298.0)] {
        near(mbps(found.second.percentiles[place]), expected, 0.1 * expected);
    }
}

#[test]
fn starlink_has_the_statistics_of_the_data_and_its_jumps() {
    let trace = make(Model::Starlink, 1, Duration::from_secs(150_000)).unwrap();
    let found = trace.statistics();
    near(mbps(found.mean), 127.7, 0.03 * 127.7);
    near(found.second.variation, 0.706, 0.03);
    near(correlation(&found, Duration::from_secs(5)), 0.746, 0.03);
    let rates: Vec<f64> = trace.steps().unwrap().map(|step| mbps(step.rate)).collect();
    let zero = rates.iter().filter(|rate| **rate == 0.0).count() as f64 / rates.len() as f64;
    // The normal distribution below −122.5/99.3 is 0.109.
    near(zero, 0.109, 0.01);
    let change = |is_jump: bool| {
        let changes = (1..rates.len()).filter(|second| (second % 15 == 0) == is_jump);
        let squares: Vec<f64> = changes.map(|n| (rates[n] - rates[n - 1]).powi(2)).collect();
        (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
    };
    near(change(false), 40.2, 1.5);
    near(change(true), 63.5, 2.0);
    // Not made of this: 0.591 at 15 s.
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let products = |lag: usize| {
        let pairs = rates.iter().zip(&rates[lag..]).map(|(a, b)| (a - mean) * (b - mean));
        pairs.sum::<f64>()
    };
    near(products(15) / products(0), 0.591, 0.07);
}

/// Two stations that share the channel equally: the mean is that of Bianchi (a unit test), and the longest time
/// without the channel is that of some transmissions of the other one.
#[test]
fn wifi_has_the_channel_for_less_than_half_of_the_time() {
    let found = statistics(Model::Wifi, 60);
    // 86,298 B in 2.496 ms are 276.6 Mb/s; a contention takes 43 µs and a few slots.
    let busy = mbps(found.mean) / 276.6;
    assert!((0.40..0.49).contains(&busy), "{busy}");
    assert!(found.longest_gap > Duration::from_millis(5), "{}", found.longest_gap);
    let trace = make(Model::Wifi, 1, Duration::from_secs(60)).unwrap();
    let rates: Vec<Rate> = trace.steps().unwrap().map(|step| step.rate).collect();
    assert!(
        rates
            .chunks(2)
            .all(|pair| pair[0] == Rate::ZERO && pair[1..].iter().all(|on| *on > Rate::ZERO))
    );
}

#[test]
fn cable_has_the_rate_of_its_plan_and_a_grant_in_every_interval() {
    let found = statistics(Model::Cable, 60);
    // A grant of a whole number of nanoseconds is right to 1/121,176, and the last interval may be cut.
    near(mbps(found.mean), 50.0, 0.005);
    // From a grant at the start of an interval to one at the end of the next.
    let most = Duration::from_nanos(2 * (2_025_000 - 121_176));
    assert!(found.longest_gap < most && found.longest_gap > most / 2, "{}", found.longest_gap);
    let trace = make(Model::Cable, 1, Duration::from_secs(60)).unwrap();
    let starts = trace.steps().unwrap().filter(|step| step.rate > Rate::ZERO);
    for (map, step) in (0u64..).zip(starts) {
        assert_eq!(step.at.as_nanos() / 2_025_000, map);
    }
}

/// FNV-1a of the trace as CSV.
fn digest(model: Model, seed: u64) -> u64 {
    let trace = make(model, seed, Duration::from_secs(20)).unwrap();
    let csv = trace.write(Format::Csv).unwrap();
    csv.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_every_machine() {
    let digests = Model::ALL.map(|model| (model.name(), digest(model, 1)));
    let expected = [
        ("lte", 0xa34b_06a0_1cd3_64a8),
        ("5g", 0x698f_49d2_82d3_2a77),
        ("wifi", 0x209b_003b_88f9_7d63),
        ("starlink", 0x72aa_582c_c02b_1e43),
        ("cable", 0x7b49_0925_d10c_f5f1),
    ];
    assert_eq!(digests, expected);
}

#[test]
fn other_seeds_give_other_traces() {
    for model in Model::ALL {
        assert_ne!(digest(model, 1), digest(model, 2), "{}", model.name());
    }
}

#[test]
fn a_model_of_no_length_or_too_long_or_unknown_is_refused() {
    let error = make(Model::Lte, 1, Duration::ZERO).unwrap_err();
    assert_eq!(error.to_string(), "the length is 0s; accepted is above 0 and at most 49 days");
    assert!(make(Model::Lte, 1, Duration::from_secs(50 * 86_400)).is_err());
    let error = make(Model::Wifi, 1, Duration::from_secs(86_400)).unwrap_err();
    assert!(error.to_string().starts_with("there are more than 20000000 entries"), "{error}");
    let error = Model::parse("4g").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("`4g` is no model; accepted are lte, 5g, wifi, starlink and cable")
    );
}
