//! Verdicts on the criteria of a chapter.

use serde::Serialize;

use crate::{Chapter, Criterion, Run, Runs};

/// The judgement of one criterion.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// The criterion.
    #[serde(flatten)]
    pub criterion: &'static Criterion,
    /// The title of the chapter.
    pub chapter: &'static str,
    /// The outcome.
    pub outcome: Outcome,
    /// How many conditions have the measure, which is the mean over seeds.
    pub conditions: usize,
    /// In how many of them it is out of the range.
    pub failed: usize,
    /// The condition with the worst value; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst: Option<Worst>,
    /// Why it was not measured, or which runs are left out because they failed; absent if it has all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The outcome of a criterion.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every condition is in the range.
    Pass,
    /// Some condition is not.
    Fail,
    /// No run has the measure: the criterion is about controls of another kind.
    NotApplicable,
    /// The runs could not be made.
    NotMeasured,
}

/// The condition in which a control did worst.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Worst {
    /// The mean of the measure over seeds.
    pub value: f64,
    /// The settings of the sweep.
    pub set: serde_json::Map<String, serde_json::Value>,
    /// The command that repeats the run of the first seed.
    pub command: String,
}

impl Outcome {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Pass => "pass",
            Outcome::Fail => "fail",
            Outcome::NotApplicable => "not applicable",
            Outcome::NotMeasured => "not measured",
        }
    }
}

impl Verdict {
    /// The verdict without these runs, which failed. Where nothing else has the measure, they might have had it.
    pub(crate) fn without(self, failed: Option<&str>) -> Verdict {
        match (self.outcome, failed) {
            (_, None) | (Outcome::NotMeasured, _) => self,
            (outcome, Some(failed)) => Verdict {
                outcome: match outcome {
                    Outcome::NotApplicable => Outcome::NotMeasured,
                    judged => judged,
                },
                why: Some(failed.to_owned()),
                ..self
            },
        }
    }
}

/// Judges each criterion of a chapter by its runs, or by the reason why there are none.
pub fn judge(chapter: &Chapter, runs: Result<Runs<'_>, &str>) -> Vec<Verdict> {
    chapter.criteria.iter().map(|criterion| criterion.judge(chapter, runs)).collect()
}

impl Criterion {
    pub(crate) fn judge(&'static self, chapter: &Chapter, runs: Result<Runs<'_>, &str>) -> Verdict {
        let conditions = runs.map_or_else(|_| Vec::new(), |runs| self.conditions(runs));
        let failed = conditions.iter().filter(|(_, value)| !self.accepted.holds(*value)).count();
        let worst = conditions.iter().copied();
        let worst = worst.reduce(|a, b| if self.accepted.is_worse(b.1, a.1) { b } else { a });
        Verdict {
            criterion: self,
            chapter: chapter.title,
            outcome: match (runs, conditions.len(), failed) {
                (Err(_), ..) => Outcome::NotMeasured,
                (_, 0, _) => Outcome::NotApplicable,
                (.., 0) => Outcome::Pass,
                _ => Outcome::Fail,
            },
            conditions: conditions.len(),
            failed,
            worst: worst.map(|(run, value)| Worst {
                value,
                set: run.summary().set.clone(),
                command: run.judged().command.clone(),
            }),
            why: runs.err().map(str::to_owned),
        }
    }

    /// The measure under each condition that has it, with the first of its runs: the mean over seeds.
    /// Runs of a condition are next to each other.
    fn conditions<'a>(&self, runs: Runs<'a>) -> Vec<(Run<'a>, f64)> {
        let mut sums: Vec<(Run<'a>, f64, f64)> = Vec::new();
        for run in runs.iter() {
            let Some(value) = (self.of)(run).filter(|value| !value.is_nan()) else { continue };
            match sums.last_mut() {
                Some((first, sum, count)) if first.judged().point.set == run.judged().point.set => {
                    (*sum, *count) = (*sum + value, *count + 1.0);
                }
                _ => sums.push((run, value, 1.0)),
            }
        }
        sums.into_iter().map(|(run, sum, count)| (run, sum / count)).collect()
    }
}
