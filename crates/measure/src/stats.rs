//! Rates and distributions of numbers.

use l4s_units::Duration;

use crate::Spread;

/// IP bits per second; `None` for no time.
pub(crate) fn rate_bps(bytes: u64, span: Duration) -> Option<f64> {
    (!span.is_zero()).then(|| bytes as f64 * 8e9 / span.as_nanos() as f64)
}

/// First percentile, mean and 99th percentile, by nearest rank; `None` for no values.
pub(crate) fn spread(mut values: Vec<f64>) -> Option<Spread> {
    values.sort_by(f64::total_cmp);
    let rank = |percent: usize| values[(values.len() * percent).div_ceil(100).max(1) - 1];
    (!values.is_empty()).then(|| Spread {
        p1: rank(1),
        mean: values.iter().sum::<f64>() / values.len() as f64,
        p99: rank(99),
    })
}
