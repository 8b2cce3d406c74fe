//! The numbers of a figure, the paper's and ours.

mod load;
mod ratios;
mod scores;

pub use load::{dynamic, overload};
pub use ratios::{dctth, fallback_1, fallback_7};
pub use scores::{fallback_8, fallback_9, fallback_12, switched};

use l4s_measure::{DelaySummary, Results, Summary};
use serde_json::Value;

use crate::table::aligned;

/// A quantity in the paper and here; absent where there is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    what: String,
    paper: Option<String>,
    here: Option<String>,
}

impl Row {
    /// A row of a table.
    pub fn new(what: impl Into<String>, paper: Option<String>, here: Option<String>) -> Row {
        Row { what: what.into(), paper, here }
    }

    /// A row with what the paper says.
    fn said(what: impl Into<String>, paper: &str, here: Option<String>) -> Row {
        Row::new(what, Some(paper.to_owned()), here)
    }
}

/// Rows as a table; a dash for what there is not.
pub fn table(rows: &[Row]) -> String {
    let cell = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let head = ["what", "paper", "here"].map(str::to_owned).to_vec();
    let rows = rows.iter().map(|row| vec![row.what.clone(), cell(&row.paper), cell(&row.here)]);
    aligned(&[head].into_iter().chain(rows).collect::<Vec<_>>(), &[])
}

/// The runs of each case, in the order of the scenario.
fn by_case(results: &Results) -> Vec<(String, Vec<&Summary>)> {
    let mut cases: Vec<(String, Vec<&Summary>)> = Vec::new();
    for run in results.summaries() {
        let case = run.set.get("case").and_then(Value::as_str).unwrap_or_default();
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

/// From the least to the most of many numbers.
fn range(values: impl Iterator<Item = f64>, unit: &str) -> Option<String> {
    let wider = |(low, high): (f64, f64), (l, h)| (low.min(l), high.max(h));
    let (low, high) = values.map(|value| (value, value)).reduce(wider)?;
    Some(format!("{} to {}{unit}", digits(low), digits(high)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_a_dash() {
        let rows = [Row::said("ratio", "4 to 16", None), Row::new("peak", None, Some("2".into()))];
        assert_eq!(table(&rows), "what   paper    here\nratio  4 to 16  -\npeak   -        2\n");
    }

    #[test]
    fn a_range_has_as_many_digits_as_it_needs() {
        assert_eq!(range([0.456, 15.97].into_iter(), " ms").unwrap(), "0.46 to 16.0 ms");
        assert_eq!(range(std::iter::empty(), ""), None);
    }
}
