//! Criteria, and the chapters that they are in.

use std::fmt;

use l4s_scenario::{Plan, Refused};
use serde::Serialize;

use crate::Run;

/// An evaluation: its chapters, and words for its page.
#[derive(Clone, Copy, Debug)]
pub struct Suite {
    /// The word for one of those that are evaluated.
    pub of: &'static str,
    /// The documents that the criteria are from, in words.
    pub by: &'static str,
    /// The chapters.
    pub chapters: &'static [Chapter],
}

/// The place in a scenario of that which is evaluated.
#[derive(Clone, Copy, Debug)]
pub enum Subject {
    /// The control of these groups.
    Control(&'static [&'static str]),
    /// The discipline of the link.
    Discipline,
}

/// Criteria that are judged by the runs of one scenario.
#[derive(Clone, Copy, Debug)]
pub struct Chapter {
    /// The bundled scenario.
    pub scenario: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// The place of the control or discipline in it.
    pub subject: Subject,
    /// The settings of a quick evaluation.
    pub quick: &'static [&'static str],
    /// The criteria.
    pub criteria: &'static [Criterion],
}

/// A question about a congestion control or a discipline.
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
    /// The reason why the range is that.
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
pub(crate) const SEEDS: u64 = 3;

impl Suite {
    /// The names of its chapters.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.chapters.iter().map(Chapter::name)
    }
}

impl Chapter {
    /// Its name, unlike any other of its suite: that of its scenario without `evaluate-` or
    /// `evaluate-aqm-`.
    pub fn name(&self) -> &'static str {
        let name = self.scenario.trim_start_matches("evaluate-");
        name.strip_prefix("aqm-").unwrap_or(name)
    }

    /// The runs of the chapter. `entrant` is `KIND`, `KIND:PROFILE` or a table such as
    /// `{ kind = "cubic", abe = true }`; of a control `+classic` or another `ecn` of a group may follow. Without it the scenario keeps its own, in whose place another is
    /// put later.
    ///
    /// # Errors
    /// The entrant is refused.
    pub fn plan(&self, entrant: Option<&str>, quick: bool) -> Result<Plan, Refused> {
        let mut set = self.set(quick);
        match (entrant, self.subject) {
            (Some(control), Subject::Control(groups)) => {
                let (cc, ecn) = with_ecn(control);
                let cc = value(cc);
                for group in groups {
                    set.push(format!("group.{group}.cc={cc}"));
                    set.extend(ecn.map(|ecn| format!("group.{group}.ecn={ecn}")));
                }
            }
            (Some(aqm), Subject::Discipline) => set.push(format!("aqm={}", value(aqm))),
            (None, _) => {}
        }
        let plan = Plan::open(self.scenario, &set)?;
        Ok(plan.repeated(SEEDS).expect("a chapter has some hundred runs"))
    }

    /// The settings of its runs, apart from the entrant.
    pub(crate) fn set(&self, quick: bool) -> Vec<String> {
        let quick = if quick { self.quick } else { &[] };
        quick.iter().map(|set| (*set).to_owned()).collect()
    }
}

/// The control and the ECN of its flows, where `+ECN` is behind it.
fn with_ecn(control: &str) -> (&str, Option<&str>) {
    match control.rsplit_once('+') {
        // A sign within a table is one of a number.
        Some((cc, ecn)) if !ecn.contains('}') => (cc, Some(ecn)),
        _ => (control, None),
    }
}

/// The value of `cc` or `aqm`, as in a scenario.
fn value(entrant: &str) -> String {
    match entrant.trim().split_once(':') {
        Some((kind, profile)) if !entrant.contains('{') => {
            format!("{{ kind = {kind:?}, profile = {profile:?} }}")
        }
        _ => entrant.trim().to_owned(),
    }
}
