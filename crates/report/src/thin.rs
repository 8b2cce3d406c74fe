//! Fewer points for the same picture: a line of 1,000 pixels needs no 10,000 points.

use std::collections::BTreeMap;

use l4s_measure::{DelayRow, Scope, SeriesRow};

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
/// grown by a hundredth, or the remainder has shrunk by a tenth: the tail stays exact.
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

/// Maximum number of lines of a scope, in order of appearance: groups, say. More cannot be distinguished
/// in a figure.
pub(crate) const LINES: usize = 64;

/// The time series of a run as they are read: first counted, then thinned to the rows that
/// [`series`] leaves of them.
#[derive(Clone, Default)]
pub(crate) struct Lines {
    places: BTreeMap<(Scope, String), usize>,
    lines: Vec<Line>,
    /// How many there are of each scope.
    scopes: BTreeMap<Scope, usize>,
}

/// One of them.
#[derive(Clone, Default)]
struct Line {
    /// Samples, and those of them that were read again.
    count: usize,
    seen: usize,
    rows: Vec<SeriesRow>,
    /// Samples that have not become a row yet, and their sums.
    waiting: usize,
    sums: [Mean; 6],
}

/// A sum of values that are there.
#[derive(Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    fn take(&mut self) -> Option<f64> {
        let Mean { sum, count } = std::mem::take(self);
        (count > 0).then(|| sum / count as f64)
    }
}

impl Lines {
    /// A sample of a line.
    pub fn count(&mut self, scope: Scope, name: &str) {
        if matches!(scope, Scope::Link | Scope::Hop) {
            return;
        }
        let key = (scope, name.to_owned());
        if let Some(place) = self.places.get(&key) {
            self.lines[*place].count += 1;
            return;
        }
        let of_scope = self.scopes.entry(scope).or_default();
        if *of_scope < LINES {
            *of_scope += 1;
            self.places.insert(key, self.lines.len());
            self.lines.push(Line { count: 1, ..Line::default() });
        }
    }

    /// The same sample, when it is read again.
    pub fn add(&mut self, row: SeriesRow) {
        let key = (row.scope, row.name.clone());
        if let Some(place) = self.places.get(&key) {
            self.lines[*place].add(row);
        }
    }

    /// The remaining rows, of one line after the other.
    pub fn into_rows(self) -> Vec<SeriesRow> {
        self.lines.into_iter().flat_map(|line| line.rows).collect()
    }
}

impl Line {
    fn add(&mut self, row: SeriesRow) {
        let values = [
            row.rate_bps,
            row.goodput_bps,
            row.delay_mean_ms,
            row.classic_ecn,
            row.fbk_depth_ms,
            row.fbk_mdev_ms,
        ];
        for (mean, value) in self.sums.iter_mut().zip(values) {
            if let Some(value) = value {
                mean.sum += value;
                mean.count += 1;
            }
        }
        self.waiting += 1;
        self.seen += 1;
        let together = self.count.div_ceil(SERIES).max(1);
        if self.waiting < together && self.seen < self.count {
            return;
        }
        self.waiting = 0;
        let [rate_bps, goodput_bps, delay_mean_ms, classic_ecn, fbk_depth_ms, fbk_mdev_ms] =
            self.sums.each_mut().map(Mean::take);
        self.rows.push(SeriesRow {
            rate_bps,
            goodput_bps,
            delay_mean_ms,
            classic_ecn,
            fbk_depth_ms,
            fbk_mdev_ms,
            ..row
        });
    }
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
        // The last ten packets of 5000 are kept in steps of a tenth of the remainder.
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

    /// However many samples there are, only drawable points of a line are kept.
    #[test]
    fn lines_that_are_thinned_as_they_are_read_are_drawn_alike() {
        for count in [1, 299, 300, 301, 1000, 12_345] {
            let rate = |i: usize| (i % 7 != 3).then(|| (i * i % 1013) as f64);
            let row = |name: &str, i: usize| SeriesRow {
                time_s: i as f64 / 10.0,
                scope: Scope::Group,
                name: name.to_owned(),
                rate_bps: rate(i),
                ..SeriesRow::default()
            };
            let rows = || (0..count).flat_map(|i| [row("A", i), row("B", i)]);
            let mut lines = Lines::default();
            rows().for_each(|row| lines.count(row.scope, &row.name));
            rows().for_each(|row| lines.add(row));
            let kept = lines.into_rows();
            let of_a = |rows: &[SeriesRow]| -> Vec<(f64, Option<f64>)> {
                let of_a = rows.iter().filter(|row| row.name == "A");
                of_a.map(|row| (row.time_s, row.rate_bps)).collect()
            };
            assert!(kept.len() <= 2 * SERIES);
            let whole: Vec<_> = rows().collect();
            assert_eq!(series(&of_a(&kept)), series(&of_a(&whole)), "{count} samples");
        }
    }

    #[test]
    fn of_very_many_lines_the_first_are_kept() {
        let mut lines = Lines::default();
        for round in 0..2 {
            for i in 0..1000 {
                let name = format!("G{i}");
                match round {
                    0 => lines.count(Scope::Group, &name),
                    _ => lines.add(SeriesRow { scope: Scope::Group, name, ..SeriesRow::default() }),
                }
            }
        }
        assert_eq!(lines.into_rows().len(), LINES);
    }

    #[test]
    fn a_gap_stays_a_gap() {
        assert_eq!(series(&[(1.0, None), (2.0, Some(5.0))]).1, [None, Some(5.0)]);
    }
}
