//! A run over time, as its long Prague flow lives through it: when the score of its detector crosses
//! a line.

use l4s_measure::{ResultError, Results, RowsByRun, Scope, SeriesRow};
use l4s_scenario::Plan;

/// Later than any run.
pub const END: f64 = f64::INFINITY;

/// A run of a figure over time.
pub struct Course {
    /// What distinguishes the run from the others of its figure.
    pub set: Vec<(String, String)>,
    /// When what changes does, in seconds; the start, where nothing does.
    pub change_s: f64,
    /// Of the first long flow of group A.
    flow: Vec<SeriesRow>,
    /// Of each group.
    groups: Vec<SeriesRow>,
    /// How many long flows the groups have.
    flows: Vec<(String, usize)>,
}

impl Course {
    /// All runs of a figure.
    pub fn all(plan: &Plan, results: &Results) -> Result<Vec<Course>, ResultError> {
        let mut series = results.series()?;
        (0..plan.points.len()).map(|number| Course::next(plan, number, &mut series)).collect()
    }

    /// Run number `number`, whose series are the next of `series`.
    fn next(
        plan: &Plan,
        number: usize,
        series: &mut RowsByRun<SeriesRow>,
    ) -> Result<Course, ResultError> {
        let point = &plan.points[number];
        let scenario = &point.scenario;
        let mut rows = series.next().transpose()?.map(|(_, rows)| rows).unwrap_or_default();
        let groups = rows.iter().filter(|row| row.scope == Scope::Group).cloned().collect();
        rows.retain(|row| row.scope == Scope::Flow && row.name == "A.0");
        Ok(Course {
            set: point.set.clone(),
            change_s: scenario.changes.first().map_or(0.0, |change| change.time.as_secs_f64()),
            flow: rows,
            groups,
            flows: (scenario.groups.iter())
                .map(|group| (group.name.clone(), group.starts.len()))
                .collect(),
        })
    }

    /// The score and its time from `from_s` on.
    fn scores(&self, from_s: f64) -> impl Iterator<Item = (f64, f64)> + Clone {
        let rows = self.flow.iter().filter(move |row| row.time_s > from_s);
        rows.filter_map(|row| Some((row.time_s, row.classic_ecn?)))
    }

    /// How many seconds after `from_s` the score first satisfies `wanted`.
    pub fn after(&self, from_s: f64, wanted: impl Fn(f64) -> bool) -> Option<f64> {
        let (time, _) = self.scores(from_s).find(|(_, score)| wanted(*score))?;
        Some(time - from_s)
    }

    /// The first score.
    pub fn first(&self) -> Option<f64> {
        self.scores(0.0).next().map(|(_, score)| score)
    }

    /// The last score before `to_s`.
    pub fn last(&self, to_s: f64) -> Option<f64> {
        self.scores(0.0).take_while(|(time, _)| *time <= to_s + 1e-6).last().map(|(_, score)| score)
    }

    /// The highest score.
    pub fn highest(&self) -> Option<f64> {
        self.most(0.0, END, |row| row.classic_ecn)
    }

    /// Rate of a flow of group A over that of one of B from `from_s` to `to_s`, downloads included.
    pub fn ratio(&self, from_s: f64, to_s: f64) -> Option<f64> {
        let within = |row: &&SeriesRow| row.time_s > from_s && row.time_s <= to_s;
        let mean = |rates: Vec<f64>| {
            (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
        };
        let a = mean(self.flow.iter().filter(within).filter_map(|row| row.rate_bps).collect())?;
        let of = |row: &&SeriesRow| row.name == "B";
        let b = self.groups.iter().filter(of).filter(within).filter_map(|row| row.rate_bps);
        let flows = self.flows.iter().find(|(name, _)| name == "B")?.1;
        let b = mean(b.collect())? / flows as f64;
        (b > 0.0).then_some(a / b)
    }

    /// The highest of a quantity between two times.
    pub fn most(&self, from_s: f64, to_s: f64, of: fn(&SeriesRow) -> Option<f64>) -> Option<f64> {
        let rows = self.flow.iter().filter(|row| row.time_s > from_s && row.time_s <= to_s);
        rows.filter_map(of).reduce(f64::max)
    }

    /// The lowest of a quantity between two times.
    pub fn least(&self, from_s: f64, to_s: f64, of: fn(&SeriesRow) -> Option<f64>) -> Option<f64> {
        let rows = self.flow.iter().filter(|row| row.time_s > from_s && row.time_s <= to_s);
        rows.filter_map(of).reduce(f64::min)
    }
}
