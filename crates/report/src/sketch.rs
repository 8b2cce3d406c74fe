//! Runs in a few points, for matrices of small pictures: one for each pair of numbers of flows.

use std::collections::{BTreeMap, BTreeSet};

use l4s_measure::{DelayRow, GroupSummary, Scope, SeriesRow, Summary};

use crate::gather::{flow_name, lines};
use crate::{Sketch, thin};

/// More runs than this would make the page heavy: none gets a sketch.
const CELLS: usize = 400;
/// Points of each flow's rate.
const POINTS: usize = 25;
/// Points of each group's delays.
const QUANTILES: usize = 20;

/// Which runs get sketches: those of a sweep over the numbers of flows of two groups, one for each
/// setting.
pub(crate) fn cells(runs: &[&Summary]) -> BTreeSet<usize> {
    let mut counts: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (key, value) in runs.iter().flat_map(|run| &run.set) {
        if key.starts_with("group.") && key.ends_with(".flows") {
            counts.entry(key).or_default().insert(value.to_string());
        }
    }
    // Two values of each would make no matrix.
    if counts.values().filter(|values| values.len() > 2).count() != 2 {
        return BTreeSet::new();
    }
    let mut seen = BTreeSet::new();
    let firsts = runs.iter().enumerate().filter(|(_, run)| seen.insert(format!("{:?}", run.set)));
    let cells: BTreeSet<usize> = firsts.map(|(i, _)| i).collect();
    if cells.len() > CELLS { BTreeSet::new() } else { cells }
}

/// The groups of a run, without anything measured.
pub(crate) fn blank(summary: &Summary) -> Vec<Sketch> {
    let group =
        |name: &String| Sketch { group: name.clone(), share: Vec::new(), delay_ms: Vec::new() };
    responsive(summary).map(|of| group(&of.name)).collect()
}

/// Sets the rates from the time series of their run.
pub(crate) fn rates(groups: &mut [Sketch], summary: &Summary, series: &[SeriesRow]) {
    let flows: u64 = responsive(summary).map(|group| group.flows).sum();
    let equal = summary.link.rate_bps / flows.max(1) as f64;
    let rates = lines(series, Scope::Flow);
    for sketch in groups {
        let of = |name| matches!(flow_name(name), (group, Some(_)) if group == sketch.group);
        let flows = rates.iter().filter(|(name, _)| of(name));
        sketch.share = flows.map(|(_, rows)| shares(rows, equal)).collect();
    }
}

/// Sets the delays from the histograms of their run.
pub(crate) fn delays(groups: &mut [Sketch], delays: &[DelayRow]) {
    for sketch in groups {
        sketch.delay_ms = quantiles(&sketch.group, delays);
    }
}

fn responsive(summary: &Summary) -> impl Iterator<Item = &GroupSummary> {
    summary.groups.iter().filter(|group| group.cc != "udp")
}

/// Means of equal parts, in percent of an equal share.
fn shares(rows: &[&SeriesRow], equal: f64) -> Vec<Option<u32>> {
    let parts = POINTS.min(rows.len());
    (0..parts)
        .map(|i| &rows[i * rows.len() / parts..(i + 1) * rows.len() / parts])
        .map(|part| {
            let rates: Vec<f64> = part.iter().filter_map(|row| row.rate_bps).collect();
            let mean = rates.iter().sum::<f64>() / rates.len() as f64;
            (!rates.is_empty()).then(|| (100.0 * mean / equal).round() as u32)
        })
        .collect()
}

/// Delays at the middles of equal parts of a group's distribution.
fn quantiles(group: &str, delays: &[DelayRow]) -> Vec<f64> {
    let of = |row: &&DelayRow| row.scope == Scope::Group && row.name == group;
    let mut rows: Vec<&DelayRow> = delays.iter().filter(of).collect();
    rows.sort_by(|a, b| a.low_ms.total_cmp(&b.low_ms));
    let all: u64 = rows.iter().map(|row| row.count).sum();
    let mut rows = rows.into_iter().peekable();
    let mut below = 0;
    (0..QUANTILES)
        .map_while(|i| {
            let wanted = all as f64 * (i as f64 + 0.5) / QUANTILES as f64;
            while let Some(row) = rows.next_if(|row| ((below + row.count) as f64) < wanted) {
                below += row.count;
            }
            rows.peek().map(|row| thin::round(row.high_ms))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(set: &[(&str, i64)]) -> Summary {
        let json = include_str!("../tests/data/sweep.json");
        let data: crate::Data = serde_json::from_str(json).unwrap();
        let mut summary = data.folders[0].runs[0].summary.clone();
        summary.set = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
        summary
    }

    fn grid(a: i64, b: i64) -> Vec<Summary> {
        let pairs = (0..a).flat_map(|i| (0..b).map(move |k| (i, k)));
        pairs.map(|(i, k)| summary(&[("group.A.flows", i), ("group.B.flows", k)])).collect()
    }

    #[test]
    fn a_sweep_over_two_numbers_of_flows_is_sketched_whole_and_seeds_once() {
        let runs = grid(3, 4);
        let twice: Vec<&Summary> = runs.iter().chain(&runs).collect();
        assert_eq!(cells(&twice), (0..12).collect());
    }

    #[test]
    fn other_sweeps_and_very_big_ones_are_not() {
        for (a, b) in [(11, 1), (3, 2), (21, 21)] {
            assert!(cells(&grid(a, b).iter().collect::<Vec<_>>()).is_empty(), "{a} by {b}");
        }
    }

    #[test]
    fn shares_are_means_in_percent_of_an_equal_share() {
        let row = |rate_bps| SeriesRow { rate_bps, ..SeriesRow::default() };
        // 50 rows in 25 parts of two; an equal share is 2 Mb/s.
        let rows: Vec<SeriesRow> =
            (0..50).map(|i| row((i > 1).then_some(if i % 2 == 0 { 1e6 } else { 2e6 }))).collect();
        let shares = shares(&rows.iter().collect::<Vec<_>>(), 2e6);
        assert_eq!(shares.len(), 25);
        assert_eq!(shares[..2], [None, Some(75)]);
    }

    #[test]
    fn delays_are_at_the_middles_of_equal_parts() {
        let row = |i: u32| DelayRow {
            scope: Scope::Group,
            name: "A".to_owned(),
            low_ms: f64::from(i),
            high_ms: f64::from(i + 1),
            count: 1,
        };
        let rows: Vec<DelayRow> = (0..40).map(row).collect();
        // Of 40 packets the 1st, 3rd and so on: two in each twentieth.
        assert_eq!(quantiles("A", &rows)[..3], [1.0, 3.0, 5.0]);
        assert!(quantiles("B", &rows).is_empty());
    }
}
