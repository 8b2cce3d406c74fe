//! The numbers of a figure, the paper's and ours.

mod ratios;
mod scores;

pub use ratios::{dctth, fallback_1, fallback_7};
pub use scores::{fallback_8, fallback_9, fallback_12, switched};

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
