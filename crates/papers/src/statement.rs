//! The statements of the papers about their figures, and whether they hold here.
//!
//! There is a file of statements for each paper. `l4s paper FIGURE` prints those of a figure as a
//! checklist and leaves them as a table in its folder, `statements.md`; docs/results/papers.md has
//! those tables of all figures.

use std::fmt::Write;
use std::sync::OnceLock;

use serde::Deserialize;

use crate::beside::range;
use crate::sample::Sample;
use crate::{DataError, Error, Evidence};

/// A claim about a figure.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The figure, as `l4s paper` takes it.
    pub figure: String,
    /// Its name, unlike any other of the figure.
    pub id: String,
    /// Document and section.
    pub source: String,
    /// The claim.
    pub says: String,
    /// The numbers that are measured.
    of: Sample,
    /// Further numbers.
    #[serde(default)]
    and: Vec<Sample>,
    /// Unit of the numbers, as it is printed behind them.
    #[serde(default)]
    pub unit: String,
    /// It holds if all numbers are in this range, ends included.
    pub within: [f64; 2],
    /// Why the range is that.
    pub because: String,
    /// Why it is known not to hold at seed 1; absent if it holds.
    pub does_not_hold: Option<String>,
}

/// The files of statements, in the order of the papers.
const FILES: [(&str, &str); 5] = [
    ("statements/dctth.toml", include_str!("../statements/dctth.toml")),
    ("statements/slides.toml", include_str!("../statements/slides.toml")),
    ("statements/qdisc.toml", include_str!("../statements/qdisc.toml")),
    ("statements/fallback.toml", include_str!("../statements/fallback.toml")),
    ("statements/ietf97.toml", include_str!("../statements/ietf97.toml")),
];

/// All statements, by paper.
///
/// # Errors
/// A file of them is wrong.
pub fn statements() -> Result<&'static [Statement], DataError> {
    static ALL: OnceLock<Result<Vec<Statement>, DataError>> = OnceLock::new();
    let read = || {
        FILES.iter().try_fold(Vec::new(), |mut all, (file, text)| {
            all.extend(parse(file, text)?);
            Ok(all)
        })
    };
    ALL.get_or_init(read).as_deref().map_err(Clone::clone)
}

/// The statements of a file.
fn parse(file: &'static str, text: &str) -> Result<Vec<Statement>, DataError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        statement: Vec<Statement>,
    }
    let read = toml::from_str::<File>(text).map_err(|error| DataError { file, error })?;
    Ok(read.statement)
}

/// A statement beside the runs of its figure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checked {
    /// The name of the statement.
    pub id: &'static str,
    /// `holds` or `does not hold`, with `but not as recorded` if the file says otherwise; or `not
    /// measured`.
    pub verdict: &'static str,
    /// The range of the numbers, `-` of none.
    pub here: String,
    /// The range that is accepted.
    pub accepted: String,
    /// Why it is that range.
    pub because: &'static str,
    /// The statement and its source, with the reason where it is known not to hold.
    pub says: String,
}

impl Checked {
    /// Whether the statement holds.
    pub fn holds(&self) -> bool {
        self.verdict.starts_with("holds")
    }

    /// Whether there is a number that it is about.
    pub fn is_measured(&self) -> bool {
        self.verdict != "not measured"
    }
}

/// The statements about a figure, beside its results.
///
/// # Errors
/// A file of statements is wrong.
pub fn check(figure: &str, evidence: &Evidence<'_>) -> Result<Vec<Checked>, Error> {
    let ours = statements()?.iter().filter(|statement| statement.figure == figure);
    Ok(ours.map(|statement| statement.check(evidence)).collect())
}

/// Statements as a table in Markdown, with the reasons for their tolerances.
pub fn page(statements: &[Checked]) -> String {
    let mut page =
        "| | the paper says | here | accepted | verdict |\n|---|---|---|---|---|\n".to_owned();
    for Checked { id, verdict, here, accepted, because, says } in statements {
        writeln!(page, "| {id} | {says} | {here} | {accepted}: {because} | {verdict} |")
            .expect("a String takes all");
    }
    page
}

impl Statement {
    /// The numbers that the statement is about.
    pub fn values(&self, evidence: &Evidence<'_>) -> Vec<f64> {
        let samples = [&self.of].into_iter().chain(&self.and);
        samples.flat_map(|sample| sample.values(evidence)).collect()
    }

    fn check(&'static self, evidence: &Evidence<'_>) -> Checked {
        let found = self.values(evidence);
        let [low, high] = self.within;
        let holds = found.iter().all(|value| (low..=high).contains(value));
        let here = range(found.into_iter(), &self.unit);
        let verdict = match (here.is_some(), holds, &self.does_not_hold) {
            (false, ..) => "not measured",
            (_, true, None) => "holds",
            (_, false, Some(_)) => "does not hold",
            (_, true, Some(_)) => "holds, but not as recorded",
            (_, false, None) => "does not hold, but not as recorded",
        };
        let why = match (verdict, &self.does_not_hold) {
            ("does not hold", Some(why)) => format!(": {why}"),
            _ => String::new(),
        };
        Checked {
            id: &self.id,
            verdict,
            here: here.unwrap_or_else(|| "-".to_owned()),
            accepted: self.accepted(),
            because: &self.because,
            says: format!("{} ({}){why}", self.says, self.source),
        }
    }

    /// The range, as words.
    fn accepted(&self) -> String {
        let unit = &self.unit;
        match self.within {
            [low, f64::INFINITY] => format!("at least {low}{unit}"),
            [low, high] if low == high => format!("{low}{unit}"),
            [low, high] if low <= 0.0 => format!("at most {high}{unit}"),
            [low, high] => format!("{low} to {high}{unit}"),
        }
    }
}

#[cfg(test)]
mod tests;
