//! A scenario that a substrate cannot run, with the place of the setting in its file.

use l4s_scenario::{Fault, Faults, Plan, bundled};
use l4s_substrate::{Engine, Error};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::failure::Failure;

/// The failure of an engine that refused one of the runs of a plan. `called` is the user's name of the scenario.
///
/// A message that begins with a key, such as `aqm.l_aqm`, gets the place of that key, or of the profile or kind that
/// decides it. Other messages get the name of the file.
pub fn refused(error: Error, engine: &Engine, plan: &Plan, called: &str) -> Failure {
    let Error::Unsupported(why) = error else { return error.into() };
    let on = engine.on();
    let option = format!("--on {}: ", on.name());
    let bare = why.strip_prefix(&option).unwrap_or(&why);
    let file = match bundled::find(called) {
        Some(bundled) => format!("{}.toml", bundled.name),
        None if called.contains('\n') => "scenario".to_owned(),
        None => called.to_owned(),
    };
    let Some(key) = key_of(bare) else { return Failure::input(format!("{file}: {why}")) };
    let keys = deciding(key);
    let is_this = |error: Error| error == Error::Unsupported(why.clone());
    let point = plan.points.iter().find(|point| on.check(&point.scenario).is_err_and(is_this));
    // The settings of a sweep and of the command line replace those of the text.
    let set = point.and_then(|point| {
        keys.iter().find_map(|key| point.set.iter().rev().find(|(set, _)| set == key))
    });
    if let Some((key, value)) = set {
        return Failure::input(format!("{file}: with {key} = {value}: {bare}"));
    }
    match keys.iter().find_map(|key| place(&plan.text, key)) {
        Some(at) => Failure::Scenario(Faults(vec![fault(file, &plan.text, at, bare)])),
        None => Failure::input(format!("{file}: {bare}")),
    }
}

/// The key that a message begins with.
fn key_of(message: &str) -> Option<&str> {
    let (key, _) = message.strip_prefix('`')?.split_once("`: ")?;
    Some(key)
}

/// The keys that may decide a setting, the nearest first: itself, the profile, the kind, the table.
fn deciding(key: &str) -> Vec<String> {
    let Some((table, _)) = key.rsplit_once('.') else { return vec![key.to_owned()] };
    let beside = ["profile", "kind"].map(|name| format!("{table}.{name}"));
    [key.to_owned()].into_iter().chain(beside).chain([table.to_owned()]).collect()
}

/// The bytes of a key's value in a text, which was read as a scenario before.
fn place(text: &str, key: &str) -> Option<std::ops::Range<usize>> {
    let mut table = DeTable::parse(text).ok()?.into_inner();
    let mut words = key.split('.').peekable();
    loop {
        let word = words.next()?;
        let (_, value): (_, Spanned<DeValue<'_>>) =
            table.into_iter().find(|(key, _)| key.get_ref() == word)?;
        if words.peek().is_none() {
            return Some(value.span());
        }
        let DeValue::Table(inner) = value.into_inner() else { return None };
        table = inner;
    }
}

fn fault(file: String, text: &str, at: std::ops::Range<usize>, message: &str) -> Fault {
    let start = text[..at.start].rfind('\n').map_or(0, |end| end + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let column = text[start..at.start].chars().count() + 1;
    let value = text[at].lines().next().unwrap_or_default();
    Fault {
        source_name: file,
        line: text[..start].matches('\n').count() + 1,
        column,
        excerpt: line.to_owned(),
        width: value.chars().count().max(1),
        message: message.to_owned(),
        help: None,
        note: None,
    }
}
