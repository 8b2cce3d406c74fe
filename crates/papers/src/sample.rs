//! Samples: the numbers that a statement is about, an expression in each of the selected runs.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::course::series;
use crate::evidence::{Evidence, Subject, Table};
use crate::expression::{Call, Condition, Expression, Function, Is, Operator, Term};

/// A selection of runs, and an expression that is evaluated in each.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sample {
    /// The table of which a run is a row.
    #[serde(default)]
    pub table: Table,
    /// Their settings in the sweep. Alternatives are separated by `|`; one that ends with `*` accepts
    /// every setting that begins so.
    #[serde(default)]
    pub runs: BTreeMap<String, String>,
    /// Further conditions, all of which a run has to meet. One without a value is not met.
    #[serde(default)]
    pub when: Vec<Condition>,
    /// The number of each of these runs, or its numbers.
    pub value: Expression,
    /// The settings of the run in which `other(…)` is evaluated. All others are as in this run.
    #[serde(default)]
    pub other: BTreeMap<String, String>,
    /// The one of all these numbers that counts; absent if all do.
    pub take: Option<Take>,
    /// The expression that counts instead of that number, in the same run.
    pub at: Option<Expression>,
    /// The sample by whose numbers these are divided.
    pub over: Option<Box<Sample>>,
}

/// One number of many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Take {
    /// The lowest.
    Min,
    /// The highest.
    Max,
    /// The middle one; of an even number the upper one of two.
    Median,
}

impl Sample {
    /// The numbers.
    pub(crate) fn values(&self, evidence: &Evidence<'_>) -> Vec<f64> {
        let of = |subject| Scope { sample: self, evidence, subject };
        let mut found: Vec<(f64, &Subject)> = (evidence.rows(self.table).iter())
            .filter(|subject| subject.is(&self.runs))
            .filter(|subject| self.when.iter().all(|condition| of(subject).meets(condition)))
            .flat_map(|subject| {
                of(subject).values(&self.value.0).into_iter().zip(std::iter::repeat(subject))
            })
            .collect();
        if let Some(take) = self.take {
            found.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            let taken = match take {
                Take::Min => found.first(),
                Take::Max => found.last(),
                Take::Median => found.get(found.len() / 2),
            };
            found = taken.copied().into_iter().collect();
        }
        let values: Vec<f64> = match &self.at {
            None => found.into_iter().map(|(value, _)| value).collect(),
            Some(at) => {
                found.into_iter().flat_map(|(_, subject)| of(subject).values(&at.0)).collect()
            }
        };
        match &self.over {
            None => values,
            Some(over) => combined(&[values, over.values(evidence)], |v| Some(v[0] / v[1])),
        }
    }
}

/// Where an expression is evaluated: in a run of a sample.
#[derive(Clone, Copy)]
struct Scope<'a> {
    sample: &'a Sample,
    evidence: &'a Evidence<'a>,
    subject: &'a Subject,
}

impl Scope<'_> {
    fn meets(&self, Condition { left, is, right }: &Condition) -> bool {
        // Settings may be words: they are equal as such.
        if let (Term::Column(left), Is::Equal, Term::Column(right)) = (left, is, right) {
            let [left, right] = [left, right].map(|name| self.subject.row.get(name));
            return left.is_some() && left == right;
        }
        let compare = |v: &[f64]| {
            Some(match is {
                Is::Below => v[0] < v[1],
                Is::AtMost => v[0] <= v[1],
                Is::Above => v[0] > v[1],
                Is::AtLeast => v[0] >= v[1],
                Is::Equal => v[0] == v[1],
            })
        };
        combined(&[self.values(left), self.values(right)], compare).contains(&true)
    }

    fn values(&self, term: &Term) -> Vec<f64> {
        match term {
            Term::Number(number) => vec![*number],
            Term::Column(name) => self.subject.row.get(name).and_then(number).into_iter().collect(),
            Term::Change => vec![self.evidence.change_s(self.subject)],
            Term::Operation(left, operator, right) => {
                let operate = |v: &[f64]| {
                    Some(match operator {
                        Operator::Add => v[0] + v[1],
                        Operator::Subtract => v[0] - v[1],
                        Operator::Multiply => v[0] * v[1],
                        Operator::Divide => v[0] / v[1],
                    })
                };
                combined(&[self.values(left), self.values(right)], operate)
            }
            Term::Call(Call { function: Function::Other, terms, .. }) => {
                let other =
                    self.evidence.other(self.sample.table, self.subject, &self.sample.other);
                other.map_or(Vec::new(), |subject| Scope { subject, ..*self }.values(&terms[0]))
            }
            Term::Call(Call { function, names, terms }) => {
                let arguments: Vec<_> = terms.iter().map(|term| self.values(term)).collect();
                self.call(*function, names, &arguments)
            }
        }
    }

    fn call(&self, function: Function, names: &[String], arguments: &[Vec<f64>]) -> Vec<f64> {
        let course = || self.evidence.course(self.subject);
        let column = || names.first().and_then(|name| series(name).ok());
        let over_time = |v: &[f64]| match function {
            Function::First => course()?.first(v[0], v[1], column()?),
            Function::Last => course()?.last(v[0], v[1], column()?),
            Function::Most => course()?.most(v[0], v[1], column()?),
            Function::Least => course()?.least(v[0], v[1], column()?),
            Function::Rise => course()?.until(v[1], column()?, |value| value >= v[0]),
            Function::Fall => course()?.until(v[1], column()?, |value| value <= v[0]),
            Function::RateRatio => course()?.ratio(v[0], v[1]),
            _ => None,
        };
        match function {
            Function::Abs => combined(arguments, |v| Some(v[0].abs())),
            Function::Share => combined(arguments, |v| (v[1] > 0.0).then(|| 100.0 * v[0] / v[1])),
            Function::Average => {
                let values = &arguments[0];
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                Some(mean).filter(|_| !values.is_empty()).into_iter().collect()
            }
            Function::Completion => {
                let found = combined(arguments, |v| {
                    Some(self.evidence.completion(
                        self.subject,
                        &names[0],
                        &names[1],
                        [v[0], v[1], v[2]],
                    ))
                });
                found.concat()
            }
            _ => combined(arguments, over_time),
        }
    }
}

/// The function `of` for each choice of one value per list, where it is defined.
fn combined<T>(lists: &[Vec<f64>], of: impl Fn(&[f64]) -> Option<T>) -> Vec<T> {
    let mut choices = vec![Vec::new()];
    for list in lists {
        choices = (choices.iter())
            .flat_map(|choice: &Vec<f64>| {
                list.iter().map(|value| [choice.as_slice(), &[*value]].concat())
            })
            .collect();
    }
    choices.iter().filter_map(|choice| of(choice)).collect()
}

/// A value as a number: settings of time in milliseconds, rates in bit/s.
fn number(value: &Value) -> Option<f64> {
    let Value::String(text) = value else { return value.as_f64() };
    let time = || Some(text.parse::<l4s_units::Duration>().ok()?.as_millis_f64());
    let rate = || Some(text.parse::<l4s_units::Rate>().ok()?.as_bps() as f64);
    text.parse().ok().or_else(time).or_else(rate)
}

#[cfg(test)]
mod tests;
