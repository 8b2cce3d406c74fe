//! Squares from a result folder. Tables are read run by run: a few dozen numbers of each
//! are kept.

use std::collections::BTreeMap;
use std::path::Path;

use l4s_measure::{FlowRow, Results, Run, Scope, SeriesRow};
use l4s_model::{FlowId, FlowKind, Scenario};
use l4s_scenario::Plan;

use super::{Heard, Lights, Said, Schedule, Since, Square, tally, verdict};
use crate::ReportError;

/// The most samples of a score, and the most short flows, that a square shows.
const POINTS: usize = 40;
/// The axes of the scenario, in the order of [`Square::at`]. Round trips that differ from group to
/// group are an axis of their own.
const AXES: [&[&str]; 4] = [&["schedule"], &["traffic"], &["link.rate"], &["group.*.rtt", "rtt"]];

/// The squares of a result folder that holds the runs of `plan`, with the counts of a paper.
pub fn read_lights(plan: &Plan, folder: &Path, paper: Vec<Said>) -> Result<Lights, ReportError> {
    let results = Results::open(folder)?;
    let axes: Option<Vec<&Vec<String>>> = AXES.iter().map(|axis| values(plan, axis)).collect();
    let (Some(axes), Some(first)) = (axes, results.runs().first()) else {
        return Err(ReportError::Empty { path: folder.to_owned() });
    };
    let [schedules, traffic, rates, rtts] = [axes[0], axes[1], axes[2], axes[3]];
    let mut squares: Vec<Square> = (plan.points.iter().zip(results.runs()))
        .map(|(point, run)| square(&point.set, [schedules, traffic, rates, rtts], run))
        .collect();
    let duration_s = plan.points[0].scenario.duration.as_secs_f64();
    let at = |run: u32| plan.points.get(run as usize).map(|point| &point.scenario);
    for rows in results.series()? {
        let (run, rows) = rows?;
        if let Some(square) = squares.get_mut(run as usize) {
            scores(square, &rows, duration_s);
        }
    }
    for rows in results.flows()? {
        let (run, rows) = rows?;
        if let (Some(square), Some(scenario)) = (squares.get_mut(run as usize), at(run)) {
            judge(square, &rows, scenario);
        }
    }
    let scenarios = (0..schedules.len()).map(|number| {
        let place = squares.iter().position(|square| square.at[0] == number).unwrap_or(0);
        schedule(&schedules[number], &plan.points[place].scenario)
    });
    Ok(Lights {
        name: plan.name.clone(),
        version: first.summary.version.clone(),
        seed: first.summary.seed,
        duration_s,
        schedules: scenarios.collect(),
        traffic: traffic.clone(),
        rates: rates.clone(),
        rtts: rtts.clone(),
        times: (1..=POINTS).map(|i| tenth(i as f64 * duration_s / POINTS as f64)).collect(),
        tallies: (0..schedules.len()).map(|n| tally(&squares, n, traffic, rates)).collect(),
        paper,
        squares,
    })
}

fn values<'a>(plan: &'a Plan, axis: &[&str]) -> Option<&'a Vec<String>> {
    plan.sweep.iter().find(|(key, _)| axis.contains(&key.as_str())).map(|(_, values)| values)
}

fn square(set: &[(String, String)], axes: [&Vec<String>; 4], run: &Run) -> Square {
    let place = |i: usize| {
        let value =
            set.iter().find(|(key, _)| AXES[i].contains(&key.as_str())).map(|(_, value)| value);
        axes[i].iter().position(|known| Some(known) == value).unwrap_or(0)
    };
    let ratio = run.summary.ratios.get("rate_A_B").and_then(serde_json::Value::as_f64);
    Square {
        at: [0, 1, 2, 3].map(place),
        verdict: None,
        score: None,
        short: None,
        ratio: ratio.map(crate::thin::round),
        command: run.command.clone(),
        mean: Vec::new(),
        low: Vec::new(),
        high: Vec::new(),
        ends: Vec::new(),
    }
}

/// The kinds of queue of a run's disciplines, and since when.
fn schedule(name: &str, scenario: &Scenario) -> Schedule {
    let aggregation = scenario.link.aggregation;
    let aqms: Vec<String> = scenario.aqms().map(|aqm| aqm.kind().to_owned()).collect();
    let Since { s: since_s, truth } = Since::last(scenario);
    Schedule {
        name: name.to_owned(),
        truth,
        since_s,
        aggregation_ms: (!aggregation.is_zero()).then(|| aggregation.as_secs_f64() * 1e3),
        aqms,
    }
}

/// Judges a run by its flows.
fn judge(square: &mut Square, rows: &[FlowRow], scenario: &Scenario) {
    let roster = scenario.roster();
    let is_download = |row: &FlowRow| roster.kind(FlowId::new(row.flow)) == FlowKind::Download;
    let heard = |row: &FlowRow| {
        Some(Heard {
            long: !is_download(row),
            start_s: row.start_s,
            ended: row.end_s.is_some(),
            score: row.classic_ecn?,
            rounds: row.classic_ecn_rounds.unwrap_or_default(),
        })
    };
    let flows: Vec<Heard> = rows.iter().filter_map(heard).collect();
    let Since { s: since_s, truth } = Since::last(scenario);
    square.verdict = verdict(truth, since_s, &flows);
    let long: Vec<f64> = flows.iter().filter(|flow| flow.long).map(|flow| flow.score).collect();
    square.score = mean(&long).map(hundredth);
    square.short = Heard::short(&flows, truth, since_s);
    let ends: Vec<[f64; 2]> = rows
        .iter()
        .filter(|row| is_download(row))
        .filter(|row| row.classic_ecn_rounds.is_some_and(|rounds| rounds > 0))
        .filter_map(|row| Some([tenth(row.end_s?), hundredth(row.classic_ecn?)]))
        .collect();
    square.ends = ends.iter().step_by(ends.len().div_ceil(POINTS).max(1)).copied().collect();
}

/// The score of long flows over time: the last sample in each of [`POINTS`] intervals.
fn scores(square: &mut Square, rows: &[SeriesRow], duration_s: f64) {
    let mut cells: Vec<BTreeMap<&str, f64>> = vec![BTreeMap::new(); POINTS];
    for row in rows.iter().filter(|row| row.scope == Scope::Flow) {
        let Some(score) = row.classic_ecn else { continue };
        // A sample ends its interval; the small amount absorbs the rounding of a float.
        let cell = (row.time_s / duration_s * POINTS as f64 - 1e-6).floor().max(0.0) as usize;
        cells[cell.min(POINTS - 1)].insert(&row.name, score);
    }
    if cells.iter().all(BTreeMap::is_empty) {
        return;
    }
    let several = cells.iter().any(|cell| cell.len() > 1);
    let line = |of: fn(&[f64]) -> Option<f64>| -> Vec<Option<f64>> {
        let values = |cell: &BTreeMap<&str, f64>| cell.values().copied().collect::<Vec<_>>();
        cells.iter().map(|cell| of(&values(cell)).map(hundredth)).collect()
    };
    square.mean = line(mean);
    if several {
        square.low = line(|values| values.iter().copied().reduce(f64::min));
        square.high = line(|values| values.iter().copied().reduce(f64::max));
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn hundredth(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(name: &str, time_s: f64, score: f64) -> SeriesRow {
        SeriesRow {
            scope: Scope::Flow,
            name: name.to_owned(),
            time_s,
            classic_ecn: Some(score),
            ..SeriesRow::default()
        }
    }

    fn empty() -> Square {
        Square {
            at: [0; 4],
            verdict: None,
            score: None,
            short: None,
            ratio: None,
            command: String::new(),
            mean: Vec::new(),
            low: Vec::new(),
            high: Vec::new(),
            ends: Vec::new(),
        }
    }

    #[test]
    fn a_score_is_thinned_to_the_last_sample_of_each_interval() {
        let mut square = empty();
        let rows: Vec<SeriesRow> =
            (1..=200).map(|i| sample("A.0", f64::from(i) / 10.0, f64::from(i))).collect();
        scores(&mut square, &rows, 20.0);
        assert_eq!(square.mean.len(), POINTS);
        assert_eq!((square.mean[0], square.mean[39]), (Some(5.0), Some(200.0)));
        assert!(square.low.is_empty());
    }

    #[test]
    fn several_flows_have_a_band_and_nobody_leaves_a_gap() {
        let mut square = empty();
        scores(&mut square, &[sample("A.0", 20.0, -1.0), sample("A.1", 20.0, 4.0)], 20.0);
        assert_eq!(square.mean[39], Some(1.5));
        assert_eq!((square.low[39], square.high[39]), (Some(-1.0), Some(4.0)));
        assert_eq!(square.mean[0], None);
    }
}
