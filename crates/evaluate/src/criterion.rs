//! Criteria, and the chapters that they are in.

use std::fmt;

use l4s_scenario::{Plan, Refused};
use serde::Serialize;

use crate::Run;

/// Criteria that are judged by the runs of one scenario.
#[derive(Clone, Copy, Debug)]
pub struct Chapter {
    /// The bundled scenario.
    pub scenario: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// The groups that have the tested control.
    pub tested: &'static [&'static str],
    /// The settings of a quick evaluation.
    pub quick: &'static [&'static str],
    /// The criteria.
    pub criteria: &'static [Criterion],
}

/// A question about a congestion control.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Criterion {
    /// Its name, unlike any other.
    pub id: &'static str,
    /// The document and section that ask for it.
    pub section: &'static str,
    /// The question. The answer to strive for is yes.
    pub asks: &'static str,
    /// The measure in words.
    pub measure: &'static str,
    /// The unit of the measure, as it is printed behind the number.
    pub unit: &'static str,
    /// The range that is accepted.
    pub accepted: Accepted,
    /// The reason for that range.
    pub because: &'static str,
    /// The measure of a run; `None` where the run does not have it.
    #[serde(skip)]
    pub of: fn(Run<'_>) -> Option<f64>,
}

/// A range of a measure.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Accepted {
    /// Up to this.
    AtMost(f64),
    /// From this on.
    AtLeast(f64),
}

impl Accepted {
    /// Whether a value is in the range.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Accepted::AtMost(most) => value <= most,
            Accepted::AtLeast(least) => value >= least,
        }
    }

    /// Whether `a` is the worse one of two values.
    pub(crate) fn is_worse(self, a: f64, b: f64) -> bool {
        match self {
            Accepted::AtMost(_) => a > b,
            Accepted::AtLeast(_) => a < b,
        }
    }
}

impl fmt::Display for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Accepted::AtMost(most) => write!(f, "at most {most}"),
            Accepted::AtLeast(least) => write!(f, "at least {least}"),
        }
    }
}

/// Runs of a condition, with seeds from 1: a share of two flows, for one, differs from seed to seed.
const SEEDS: u64 = 3;

impl Chapter {
    /// The runs of the chapter. `control` is the value of `cc`, as in a scenario.
    ///
    /// # Errors
    /// The control is refused.
    pub fn plan(&self, control: &str, quick: bool) -> Result<Plan, Refused> {
        let quick = if quick { self.quick } else { &[] };
        let cc = self.tested.iter().map(|group| format!("group.{group}.cc={control}"));
        let set: Vec<String> = quick.iter().map(|set| (*set).to_owned()).chain(cc).collect();
        let plan = Plan::open(self.scenario, &set)?;
        Ok(plan.repeated(SEEDS).expect("a chapter has some hundred runs"))
    }
}
