//! The paths of the summary of a scenario, from the declaration of the summary.

use std::borrow::Cow;
use std::ops::Range;

use l4s_aqm::{Config, Queue};
use l4s_model::{Scenario, UPLINK};
use serde_json::Value;

use super::{Misread, Quantities};
use crate::Summary;
use crate::completion::bins;
use crate::conclude::ratio_names;
use crate::dictionary::{Measured, Part, Shape};
use crate::measured::queues_of;

/// A path to a number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Path {
    /// The text of the path.
    pub text: String,
    names: Vec<String>,
    /// The meaning of the quantity, or of the part of the summary that may be absent with it.
    pub meaning: &'static str,
}

/// The target of the names of a path that were read so far.
#[derive(Clone)]
enum Target<'a> {
    Number,
    Text,
    /// Members of the summary; of a hop, with its discipline.
    Members(&'static [Part], Option<&'a Config>),
    /// The hops of the scenario and the uplink, each with these members.
    Hops(&'static [Part]),
    /// Named things, and the target of each of them.
    Named(Names<'a>, Box<Target<'a>>),
    /// Numbers by names that only a run determines.
    Numbers,
}

/// Names that the scenario determines.
#[derive(Clone, Copy)]
enum Names<'a> {
    /// Of the queues of a hop, or of the bottleneck.
    Queues(Option<&'a Config>),
    /// Of groups and UDP sources.
    Sources,
    Groups,
    /// Of `[[path]]`.
    Paths,
    /// Of bins of sizes.
    Bins,
    Ratios,
}

/// The path with these names, each with its place in the text of the assertion. `text` is that of the
/// path alone.
pub(super) fn resolve(
    scenario: &Scenario,
    text: &str,
    names: &[(String, Range<usize>)],
) -> Result<Path, Misread> {
    let start = names[0].1.start;
    let (mut target, mut meaning) = (Target::Members(Summary::PARTS, None), "");
    let mut before = "the summary".to_owned();
    for (name, at) in names {
        let Some((next, part)) = target.member(scenario, name) else {
            let message = match target {
                Target::Number => format!("{before} is a number, without a `{name}`"),
                Target::Text => format!("{before} has no numbers"),
                _ => format!("there is no `{name}` in {before}"),
            };
            return Err(Misread { at: at.clone(), message, known: target.names(scenario) });
        };
        if let Some(part) = part.filter(|part| !says_absent(meaning) || says_absent(part.meaning)) {
            meaning = part.meaning.trim().trim_end_matches('.');
        }
        (target, before) = (next, format!("`{}`", &text[..at.end - start]));
    }
    let message = match target {
        Target::Number => {
            let names = names.iter().map(|(name, _)| name.clone()).collect();
            return Ok(Path { text: text.to_owned(), names, meaning });
        }
        Target::Text => format!("{before} is a text, expected a number"),
        _ => format!("{before} is not one number, but has several in it"),
    };
    Err(Misread { at: start..start + text.len(), message, known: target.names(scenario) })
}

/// Whether the meaning of a part says when it is absent.
fn says_absent(meaning: &str) -> bool {
    meaning.contains("absent")
}

impl<'a> Target<'a> {
    /// A part of the summary; of a hop, with its discipline.
    fn of(part: &Part, hop: Option<&'a Config>) -> Target<'a> {
        let members = || Target::Members(part.parts, None);
        match (part.shape, part.name) {
            (Shape::Value, _) if part.kind == "Utf8" => Target::Text,
            (Shape::Value, _) => Target::Number,
            (Shape::Parts, _) => members(),
            (Shape::Named, "hops") => Target::Hops(part.parts),
            (Shape::Named, "paths") => Target::Named(Names::Paths, members().into()),
            (Shape::Named, "queues") => Target::Named(Names::Queues(hop), members().into()),
            (Shape::Named, "completion") => {
                let bins = Target::Named(Names::Bins, members().into());
                Target::Named(Names::Groups, bins.into())
            }
            (Shape::Named, _) => Target::Named(Names::Sources, members().into()),
            (Shape::Keys, "ratios") => Target::Named(Names::Ratios, Target::Number.into()),
            (Shape::Keys, "set") => Target::Text,
            (Shape::Keys, _) => Target::Numbers,
        }
    }

    /// The member `name`, and its declaration where it has one.
    fn member(
        &self,
        scenario: &'a Scenario,
        name: &str,
    ) -> Option<(Target<'a>, Option<&'static Part>)> {
        match self {
            Target::Number | Target::Text => None,
            Target::Members(parts, hop) => {
                let part = parts.iter().find(|part| part.key() == name)?;
                Some((Target::of(part, *hop), Some(part)))
            }
            Target::Hops(parts) => {
                let (_, aqm) = links(scenario).find(|(known, _)| *known == name)?;
                Some((Target::Members(parts, Some(aqm)), None))
            }
            Target::Named(names, each) => {
                names.of(scenario).any(|known| known == name).then(|| (each.as_ref().clone(), None))
            }
            Target::Numbers => Some((Target::Number, None)),
        }
    }

    /// The names that a path may go on with, as they are written in it.
    fn names(&self, scenario: &'a Scenario) -> Vec<String> {
        match self {
            Target::Number | Target::Text | Target::Numbers => Vec::new(),
            Target::Members(parts, hop) => (parts.iter())
                .filter(|part| !matches!(Target::of(part, *hop), Target::Text))
                .map(|part| part.key().to_owned())
                .collect(),
            Target::Hops(_) => links(scenario).map(|(name, _)| written(name)).collect(),
            Target::Named(names, _) => names.of(scenario).map(|name| written(&name)).collect(),
        }
    }
}

/// The names and disciplines of hops and uplink.
fn links(scenario: &Scenario) -> impl Iterator<Item = (&str, &Config)> {
    let hops = scenario.hops.iter().map(|hop| (&*hop.name, &hop.aqm));
    hops.chain(scenario.uplink.iter().map(|uplink| (UPLINK, &uplink.aqm)))
}

impl<'a> Names<'a> {
    fn of(self, scenario: &'a Scenario) -> Box<dyn Iterator<Item = Cow<'a, str>> + 'a> {
        let queues = |queues: Vec<Queue>| queues.into_iter().map(|queue| queue.name().into());
        match self {
            Names::Queues(None) => Box::new(queues(queues_of(scenario.aqms()))),
            Names::Queues(Some(aqm)) => Box::new(queues(queues_of([aqm]))),
            Names::Sources => Box::new(scenario.source_names().map(Cow::from)),
            Names::Groups => Box::new(scenario.groups.iter().map(|group| (&*group.name).into())),
            Names::Paths => Box::new(scenario.paths.iter().map(|path| (&*path.name).into())),
            Names::Bins => Box::new(bins().map(|bin| bin_name(bin).into())),
            Names::Ratios => Box::new(ratio_names(scenario).into_iter().map(Cow::from)),
        }
    }
}

impl Path {
    /// The value in a summary; `None` where it has none.
    pub fn value(&self, Quantities(summary): &Quantities) -> Option<f64> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let (from, names) = match names.as_slice() {
            ["completion", group, bin, rest @ ..] => {
                let is_it = |item: &&Value| {
                    let [low, high] = [0, 1].map(|edge| item["bin_bytes"][edge].as_u64());
                    let named = low.zip(high).map(|(low, high)| bin_name([low, high]));
                    item["group"] == **group && named.as_deref() == Some(bin)
                };
                (summary["completion"].as_array()?.iter().find(is_it)?, rest)
            }
            names => (summary, names),
        };
        let value = names.iter().try_fold(from, |value, name| match value {
            Value::Array(items) => items.iter().find(|item| item["name"] == **name),
            value => value.get(name),
        });
        value?.as_f64()
    }
}

/// The name of a bin of sizes: `1000_3000`, as in the columns of `runs.parquet`.
fn bin_name([low, high]: [u64; 2]) -> String {
    format!("{low}_{high}")
}

/// Whether a name with this character needs no quotes.
pub(super) fn is_bare(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

/// A name as it is written in a path: in quotes where it needs them.
fn written(name: &str) -> String {
    match name.chars().all(is_bare) {
        true => name.to_owned(),
        false if name.contains('"') => format!("'{name}'"),
        false => format!("\"{name}\""),
    }
}
