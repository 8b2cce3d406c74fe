//! Few points that say what many do: a line of 1,000 pixels needs no 10,000 points.

use l4s_measure::DelayRow;

use crate::Cdf;

/// The most points of a time series.
const SERIES: usize = 300;
/// Steps of a distribution between 0 and 1; its tail has finer ones.
const STEPS: f64 = 100.0;

/// A number to four significant digits, which is more than a pixel can show.
pub(crate) fn round(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// A histogram, in order of delay, as a cumulative distribution. A step is kept when the share has
/// grown by a hundredth, or what remains has shrunk by a tenth: the tail stays exact.
pub(crate) fn cdf(queue: &str, rows: &[&DelayRow]) -> Cdf {
    let all: u64 = rows.iter().map(|row| row.count).sum();
    let mut cdf = Cdf { queue: queue.to_owned(), ms: Vec::new(), share: Vec::new() };
    let (mut below, mut kept) = (0, 0.0);
    if let Some(first) = rows.first() {
        cdf.ms.push(round(first.low_ms));
        cdf.share.push(0.0);
    }
    for row in rows {
        below += row.count;
        let share = below as f64 / all as f64;
        if below == all || share - kept >= 1.0 / STEPS || 1.0 - share <= (1.0 - kept) * 0.9 {
            kept = share;
            cdf.ms.push(round(row.high_ms));
            // Six decimals: one packet in a million still shows.
            cdf.share.push((share * 1e6).round() / 1e6);
        }
    }
    cdf
}

/// A series with at most [`SERIES`] points: means over neighbours, each at the last one's time.
pub(crate) fn series(points: &[(f64, Option<f64>)]) -> (Vec<f64>, Vec<Option<f64>>) {
    let together = points.len().div_ceil(SERIES).max(1);
    points
        .chunks(together)
        .map(|chunk| {
            let there: Vec<f64> = chunk.iter().filter_map(|(_, value)| *value).collect();
            let mean = there.iter().sum::<f64>() / there.len() as f64;
            let time = chunk[chunk.len() - 1].0;
            (round(time), (!there.is_empty()).then(|| round(mean)))
        })
        .unzip()
}

#[cfg(test)]
mod tests {
    use super::*;
    use l4s_measure::Scope;

    fn row(low_ms: f64, count: u64) -> DelayRow {
        DelayRow { scope: Scope::Queue, name: "L".to_owned(), low_ms, high_ms: low_ms + 1.0, count }
    }

    #[test]
    fn a_distribution_rises_from_zero_to_one() {
        let rows = [row(1.0, 1), row(2.0, 2), row(3.0, 1)];
        let cdf = cdf("L", &rows.iter().collect::<Vec<_>>());
        assert_eq!(cdf.ms, [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(cdf.share, [0.0, 0.25, 0.75, 1.0]);
    }

    #[test]
    fn a_fine_histogram_thins_out_but_keeps_its_tail() {
        let rows: Vec<DelayRow> = (0..5000).map(|i| row(f64::from(i), 1)).collect();
        let cdf = cdf("L", &rows.iter().collect::<Vec<_>>());
        assert!(cdf.ms.len() < 200, "{} points", cdf.ms.len());
        // The last ten packets of 5000 are told apart in steps of a tenth of what remains.
        assert!(cdf.share.iter().filter(|share| **share > 0.998).count() >= 8);
    }

    #[test]
    fn a_long_series_becomes_means_of_neighbours() {
        let points: Vec<_> = (0..900).map(|i| (f64::from(i), Some(f64::from(i % 3)))).collect();
        let (times, values) = series(&points);
        assert_eq!(times.len(), 300);
        assert_eq!(times[0], 2.0);
        assert!(values.iter().all(|value| *value == Some(1.0)));
    }

    #[test]
    fn a_gap_stays_a_gap() {
        assert_eq!(series(&[(1.0, None), (2.0, Some(5.0))]).1, [None, Some(5.0)]);
    }
}
