//! A run over time, as its first long Prague flow meets it.

use l4s_measure::{ResultError, Results, RowsByRun, Scope, SeriesRow};
use l4s_scenario::Plan;

use crate::unknown::unknown;

/// A quantity of a row of the flow.
pub(crate) type Series = fn(&SeriesRow) -> Option<f64>;

/// The quantities, by their names in `series.parquet`.
const SERIES: [(&str, Series); 3] = [
    ("classic_ecn", |row| row.classic_ecn),
    ("fbk_depth_ms", |row| row.fbk_depth_ms),
    ("fbk_mdev_ms", |row| row.fbk_mdev_ms),
];

/// The quantity of that name.
pub(crate) fn series(name: &str) -> Result<Series, String> {
    let found = SERIES.iter().find(|(known, _)| *known == name);
    let names = SERIES.iter().map(|(name, _)| *name);
    found.map(|(_, series)| *series).ok_or_else(|| unknown("series", name, names))
}

/// A run of a figure over time.
pub(crate) struct Course {
    /// Of the first long flow of group A.
    flow: Vec<SeriesRow>,
    /// Of group B.
    b: Vec<SeriesRow>,
    /// How many long flows group B has.
    b_flows: Option<usize>,
}

impl Course {
    /// All runs of a figure.
    pub(crate) fn all(plan: &Plan, results: &Results) -> Result<Vec<Course>, ResultError> {
        let mut series = results.series()?;
        (0..plan.points.len()).map(|number| Course::next(plan, number, &mut series)).collect()
    }

    /// Run number `number`, whose series are the next of `series`.
    fn next(
        plan: &Plan,
        number: usize,
        series: &mut RowsByRun<SeriesRow>,
    ) -> Result<Course, ResultError> {
        let mut flow = series.next().transpose()?.map(|(_, rows)| rows).unwrap_or_default();
        let of_b = |row: &&SeriesRow| row.scope == Scope::Group && row.name == "B";
        let b = flow.iter().filter(of_b).cloned().collect();
        flow.retain(|row| row.scope == Scope::Flow && row.name == "A.0");
        let group = plan.points[number].scenario.groups.iter().find(|group| group.name == "B");
        Ok(Course { flow, b, b_flows: group.map(|group| group.starts.len()) })
    }

    /// A quantity of the flow from `from_s` to `to_s`, with its time.
    fn between(&self, from_s: f64, to_s: f64, of: Series) -> impl Iterator<Item = (f64, f64)> {
        let rows = self.flow.iter().filter(move |row| row.time_s > from_s && row.time_s <= to_s);
        rows.filter_map(move |row| Some((row.time_s, of(row)?)))
    }

    pub(crate) fn first(&self, from_s: f64, to_s: f64, of: Series) -> Option<f64> {
        self.between(from_s, to_s, of).next().map(|(_, value)| value)
    }

    pub(crate) fn last(&self, from_s: f64, to_s: f64, of: Series) -> Option<f64> {
        self.between(from_s, to_s, of).last().map(|(_, value)| value)
    }

    pub(crate) fn most(&self, from_s: f64, to_s: f64, of: Series) -> Option<f64> {
        self.between(from_s, to_s, of).map(|(_, value)| value).reduce(f64::max)
    }

    pub(crate) fn least(&self, from_s: f64, to_s: f64, of: Series) -> Option<f64> {
        self.between(from_s, to_s, of).map(|(_, value)| value).reduce(f64::min)
    }

    /// How many seconds after `from_s` the quantity first satisfies `wanted`.
    pub(crate) fn until(
        &self,
        from_s: f64,
        of: Series,
        wanted: impl Fn(f64) -> bool,
    ) -> Option<f64> {
        let mut values = self.between(from_s, f64::INFINITY, of);
        values.find(|(_, value)| wanted(*value)).map(|(time, _)| time - from_s)
    }

    /// Rate of the flow over that of one of B from `from_s` to `to_s`, downloads included.
    pub(crate) fn ratio(&self, from_s: f64, to_s: f64) -> Option<f64> {
        let mean = |rows: &[SeriesRow]| {
            let rows = rows.iter().filter(|row| row.time_s > from_s && row.time_s <= to_s);
            let rates: Vec<f64> = rows.filter_map(|row| row.rate_bps).collect();
            (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
        };
        let (a, b) = (mean(&self.flow)?, mean(&self.b)? / self.b_flows? as f64);
        (b > 0.0).then_some(a / b)
    }
}
