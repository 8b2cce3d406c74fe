//! Figures over time: when the score of a detector crosses a line.

use l4s_measure::{ResultError, Results, RowsByRun, Scope, SeriesRow};
use l4s_report::lights::Truth;
use l4s_scenario::Plan;

use super::{Row, digits};
use crate::failure::Failure;

/// A run of a figure over time.
struct Course {
    /// Of the only long Prague flow.
    flow: Vec<SeriesRow>,
    /// Of each group.
    groups: Vec<SeriesRow>,
    /// When what changes does, in seconds.
    change_s: Option<f64>,
    /// How many long flows the groups have.
    flows: Vec<(String, usize)>,
}

impl Course {
    /// Run number `number`, whose series are the next of `series`.
    fn next(
        plan: &Plan,
        number: usize,
        series: &mut RowsByRun<SeriesRow>,
    ) -> Result<Course, Failure> {
        let scenario = &plan.points[number].scenario;
        let mut rows = match series.next() {
            Some(next) => next.map_err(failed)?.1,
            None => Vec::new(),
        };
        let groups: Vec<SeriesRow> =
            rows.iter().filter(|row| row.scope == Scope::Group).cloned().collect();
        rows.retain(|row| row.scope == Scope::Flow && row.name == "A.0");
        Ok(Course {
            flow: rows,
            groups,
            change_s: scenario.changes.first().map(|change| change.time.as_secs_f64()),
            flows: (scenario.groups.iter())
                .map(|group| (group.name.clone(), group.starts.len()))
                .collect(),
        })
    }

    /// The first run, where a figure has no other.
    fn only(plan: &Plan, results: &Results) -> Result<Course, Failure> {
        Course::next(plan, 0, &mut results.series().map_err(failed)?)
    }

    /// The score and its time from `from_s` on.
    fn scores(&self, from_s: f64) -> impl Iterator<Item = (f64, f64)> + Clone {
        let rows = self.flow.iter().filter(move |row| row.time_s > from_s);
        rows.filter_map(|row| Some((row.time_s, row.classic_ecn?)))
    }

    /// How long after `from_s` the score first satisfies `wanted`.
    fn after(&self, from_s: f64, wanted: impl Fn(f64) -> bool) -> Option<String> {
        let (time, _) = self.scores(from_s).find(|(_, score)| wanted(*score))?;
        Some(format!("{:.1} s", time - from_s))
    }

    /// The last score before `to_s`.
    fn last(&self, to_s: f64) -> Option<f64> {
        self.scores(0.0).take_while(|(time, _)| *time <= to_s + 1e-6).last().map(|(_, score)| score)
    }

    /// Rate of a flow of group A over that of one of B from `from_s` to `to_s`, downloads included.
    fn ratio(&self, from_s: f64, to_s: f64) -> Option<f64> {
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
    fn most(&self, from_s: f64, to_s: f64, of: fn(&SeriesRow) -> Option<f64>) -> Option<f64> {
        let rows = self.flow.iter().filter(|row| row.time_s > from_s && row.time_s <= to_s);
        rows.filter_map(of).reduce(f64::max)
    }

    /// The lowest of a quantity from `from_s` on.
    fn least(&self, from_s: f64, of: fn(&SeriesRow) -> Option<f64>) -> Option<f64> {
        self.flow.iter().filter(|row| row.time_s > from_s).filter_map(of).reduce(f64::min)
    }
}

/// Later than any run.
const END: f64 = f64::INFINITY;

/// How soon a flow knows (Fallback §7.2).
pub fn fallback_8(plan: &Plan, results: &Results) -> Result<Vec<Row>, Failure> {
    let course = Course::only(plan, results)?;
    let low = course.scores(0.0).next().map_or(0.0, |(_, score)| score);
    Ok(vec![
        Row::said("score leaves its lowest after", "0.5 s", course.after(0.0, |s| s > low + 0.01)),
        Row::said("Classic (score 1) after", "1 s", course.after(0.0, |s| s >= 1.0)),
        Row::said("as high as it gets (the paper: 9) after", "1.5 s", highest(&course)),
        Row::said("rates, Prague over ECN-Cubic", "about 1", course.ratio(5.0, END).map(digits)),
    ])
}

/// When the score first is what it is at most.
fn highest(course: &Course) -> Option<String> {
    let most = course.most(0.0, END, |row| row.classic_ecn)?;
    course.after(0.0, |score| score >= most).map(|time| format!("{time}, at {}", digits(most)))
}

/// How soon a flow knows that joins a standing queue, and by what (Fallback §7.3).
pub fn fallback_9(plan: &Plan, results: &Results) -> Result<Vec<Row>, Failure> {
    let course = Course::only(plan, results)?;
    let began = 10.0;
    let settled = began + 2.0;
    let ms = |value: Option<f64>| value.map(|value| format!("{} ms", digits(value)));
    Ok(vec![
        Row::said("Classic (score 1) after", "0.75 s", course.after(began, |s| s >= 1.0)),
        Row::said("score in the end", "1 or more", course.last(END).map(digits)),
        Row::said(
            "rates, Prague over ECN-Cubic",
            "1.75 apart",
            course.ratio(settled, END).map(digits),
        ),
        Row::said(
            "estimated depth, least",
            "above 2 ms",
            ms(course.least(settled, |row| row.fbk_depth_ms)),
        ),
        Row::said(
            "mean deviation, least",
            "above 0.75 ms",
            ms(course.least(settled, |row| row.fbk_mdev_ms)),
        ),
    ])
}

/// How soon a flow knows of another AQM (Fallback §7.4, figures 10 and 11).
pub fn switched(plan: &Plan, results: &Results) -> Result<Vec<Row>, Failure> {
    let course = Course::only(plan, results)?;
    let change = course.change_s.unwrap_or_default();
    let aqms: Vec<&str> = plan.points[0].scenario.aqms().map(|aqm| aqm.kind()).collect();
    let right = |aqm: &str| -> (fn(f64) -> bool, &str) {
        match Truth::of(aqm) {
            Truth::L4s => (|score| score <= 0.0, "0 or less"),
            Truth::Classic => (|score| score >= 1.0, "1 or more"),
        }
    };
    let (first, last) = (aqms[0], aqms[aqms.len() - 1]);
    Ok(vec![
        Row::said(
            format!("score in {first}, last"),
            right(first).1,
            course.last(change).map(digits),
        ),
        Row::said(format!("{last} known after"), "soon", course.after(change, right(last).0)),
        Row::said(format!("score in {last}, last"), right(last).1, course.last(END).map(digits)),
        Row::said(
            format!("rates, Prague over ECN-Cubic, {first}"),
            "hardly changes",
            course.ratio(change / 2.0, change).map(digits),
        ),
        Row::said(
            format!("rates, Prague over ECN-Cubic, {last}"),
            "hardly changes",
            course.ratio(change + 1.0, END).map(digits),
        ),
    ])
}

/// What a re-route does to the detector, without the filter and with it (Fallback appendix C).
pub fn fallback_12(plan: &Plan, results: &Results) -> Result<Vec<Row>, Failure> {
    let mut series = results.series().map_err(failed)?;
    let mut rows = Vec::new();
    for (number, point) in plan.points.iter().enumerate() {
        let course = Course::next(plan, number, &mut series)?;
        let filtered =
            point.set.iter().any(|(key, value)| key.ends_with("filter") && value == "true");
        let how = if filtered { "filtered" } else { "unfiltered" };
        let change = course.change_s.unwrap_or_default();
        let mdev = |from, to| {
            course
                .most(from, to, |row| row.fbk_mdev_ms)
                .map(|value| format!("{} ms", digits(value)))
        };
        let before = format!("mean deviation before the re-route, {how}, most");
        rows.push(Row::new(before, None, mdev(change / 2.0, change)));
        let paper = if filtered { "hardly more" } else { "much more" };
        let after = format!("mean deviation after it, {how}, most");
        rows.push(Row::said(after, paper, mdev(change, END)));
        let score = course.most(change / 2.0, END, |row| row.classic_ecn);
        let paper = filtered.then(|| "0 or less".to_owned());
        rows.push(Row::new(format!("highest score, {how}"), paper, score.map(digits)));
    }
    Ok(rows)
}

fn failed(error: ResultError) -> Failure {
    Failure::Run(error.to_string())
}
