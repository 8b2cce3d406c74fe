//! The numbers of a figure.

mod load;
mod profiles;
mod ratios;

pub use load::{dynamic, unresponsive};
pub use profiles::profiles;
pub use ratios::overview;

use l4s_measure::{DelaySummary, Results, Summary};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A quantity, and its measured value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The quantity.
    pub what: String,
    /// Its value, or the range of it over all runs, with its unit.
    pub here: String,
}

impl Row {
    /// A row of a table.
    pub(crate) fn new(what: impl Into<String>, here: String) -> Row {
        Row { what: what.into(), here }
    }
}

/// The runs of each case, in the order of the scenario.
fn by_case(results: &Results) -> Vec<(String, Vec<&Summary>)> {
    let mut cases: Vec<(String, Vec<&Summary>)> = Vec::new();
    for run in results.summaries() {
        let case = set(run, "case").unwrap_or_default();
        match cases.iter_mut().find(|(known, _)| known == case) {
            Some((_, runs)) => runs.push(run),
            None => cases.push((case.to_owned(), vec![run])),
        }
    }
    cases
}

/// The delays of a queue, where the discipline has it and packets came through.
fn delay(run: &Summary, queue: &str) -> Option<DelaySummary> {
    run.queues.iter().find(|known| known.name == queue)?.delay_ms
}

/// The value that the sweep or the figure set.
fn set<'a>(run: &'a Summary, key: &str) -> Option<&'a str> {
    run.set.get(key)?.as_str()
}

/// A ratio of a run, where it was measured.
fn ratio(run: &Summary, name: &str) -> Option<f64> {
    run.ratios.get(name).and_then(Value::as_f64)
}

/// Three significant digits or so.
fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        x if x >= 99.5 => format!("{value:.0}"),
        x if x >= 9.95 => format!("{value:.1}"),
        x if x >= 0.0995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// From the least to the most of many numbers; one where all are printed alike.
pub(crate) fn range(values: impl Iterator<Item = f64>, unit: &str) -> Option<String> {
    let wider = |(low, high): (f64, f64), (l, h)| (low.min(l), high.max(h));
    let (low, high) = values.map(|value| (value, value)).reduce(wider)?;
    let (low, high) = (digits(low), digits(high));
    Some(if low == high { low + unit } else { format!("{low} to {high}{unit}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_as_many_digits_as_it_needs() {
        assert_eq!(range([0.456, 15.97].into_iter(), " ms").unwrap(), "0.46 to 16.0 ms");
        assert_eq!(range([2.0, 2.001].into_iter(), " s").unwrap(), "2.00 s");
        assert_eq!(range(std::iter::empty(), ""), None);
    }
}
