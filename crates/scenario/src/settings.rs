//! Disciplines and congestion controls by the settings that they declare.
//!
//! A table has a `kind`, perhaps a `profile` to start from, and any of the kind's settings. They
//! are applied in the order of their declaration, so their order in the file means nothing.

use l4s_units::param::{Configurable, Param, Profile, Value};

use crate::fault::{Gathered, Place, did_you_mean, listed};
use crate::field::{Refusal, raw};
use crate::tree::{Entry, Item, Node, Table, list, text};

/// `kind = …` as a table with nothing else in it, or the table itself.
pub(crate) fn as_table(node: &Node) -> Option<Table> {
    match &node.item {
        Item::Table(table) => Some(table.clone()),
        Item::Text(_) => Some(Table {
            entries: vec![Entry {
                key: "kind".to_owned(),
                place: node.place.clone(),
                value: node.clone(),
            }],
            dotted: false,
        }),
        _ => None,
    }
}

/// The kind that a table names, when it is one of `kinds`; `default` where it names none.
pub(crate) fn kind(
    table: &Table,
    place: &Place,
    path: &str,
    kinds: &[&'static str],
    default: Option<&'static str>,
    gathered: &mut Gathered,
) -> Option<&'static str> {
    let full = format!("{path}.kind");
    let Some(Entry { place: key, value: node, .. }) = table.entry("kind") else {
        if default.is_none() {
            gathered.add(place, format!("`{full}` is missing: {}", listed(kinds)), None);
        }
        return default;
    };
    let is_word = *key == node.place;
    let found = kinds.iter().find(|kind| Some(**kind) == node.text());
    if found.is_none() {
        let expected = format!("one of {}", listed(kinds));
        Refusal::word(expected, node.text().unwrap_or(""), kinds.iter().copied())
            // A bare word is the value of the table's own key.
            .report(if is_word { path } else { &full }, node, gathered);
    }
    found.copied()
}

/// Reads a configuration. `prepare` gets the profile's values, before any setting is applied.
pub(crate) fn configure<C: Configurable>(
    table: &Table,
    place: &Place,
    path: &str,
    prepare: impl FnOnce(&mut C),
    gathered: &mut Gathered,
) -> Option<C> {
    let profile = profile::<C>(table, path, gathered)?;
    let mut config = (profile.make)();
    prepare(&mut config);
    let faults_before = gathered.count();

    let names: Vec<_> = C::PARAMS.iter().map(|p| p.name).chain(["kind", "profile"]).collect();
    for Entry { key, place, .. } in table.entries.iter().filter(|e| !names.contains(&&*e.key)) {
        gathered.add_with(place, || {
            let (kind, listed) = (C::KIND, listed(&names));
            match C::REMOVED.iter().find(|(name, _)| name == key) {
                Some((_, instead)) => {
                    let message = format!("`{path}.{key}` is no longer a setting of {kind}");
                    (message, Some((*instead).to_owned()))
                }
                None => {
                    let message =
                        format!("`{path}.{key}`: unknown setting of {kind}, expected {listed}");
                    (message, did_you_mean(key, names.iter().copied()))
                }
            }
        });
    }

    let mut applied: Vec<(&Param<C>, Value, &Entry)> = Vec::new();
    for param in C::PARAMS {
        let Some(entry) = table.entry(param.name) else { continue };
        let path = format!("{path}.{}", param.name);
        let Some(value) = read(param, &path, &entry.value, gathered) else { continue };
        (param.set)(&mut config, value);
        // Beside a setting that is refused another may seem to have no effect.
        if gathered.count() > faults_before {
            continue;
        }
        if !keeps(param, &config, value) {
            let message = format!("`{path}` has no effect beside the other settings");
            gathered.add(&entry.place, message, Some(param.doc.to_owned()));
        }
        for (earlier, value, _) in &applied {
            if !keeps(earlier, &config, *value) {
                let message = format!("`{path}` contradicts `{} = {value}`", earlier.name);
                let help = "keep one of the two".to_owned();
                gathered.add(&entry.place, message, Some(help));
            }
        }
        applied.push((param, value, entry));
    }

    // Values that settings derive or leave in others must be accepted by these: they are shown, and
    // read back.
    let sound = gathered.count() == faults_before;
    for param in C::PARAMS.iter().filter(|_| sound) {
        let value = (param.get)(&config).filter(|value| !param.kind.admits(*value));
        if let Some(value) = value {
            let place = table.entry(param.name).map_or(place, |entry| &entry.place);
            let (name, kind) = (param.name, param.kind);
            let message = format!(
                "`{path}.{name}`: {value} follows from the other settings, expected {kind}"
            );
            gathered.add(place, message, None);
        }
    }

    if gathered.count() == faults_before {
        if let Err(conflict) = config.check() {
            let place = table.entry(conflict.key).map_or(place, |entry| &entry.place);
            gathered.add(place, format!("`{path}.{}`: {}", conflict.key, conflict.message), None);
        }
    }
    (gathered.count() == faults_before).then_some(config)
}

fn profile<C: Configurable>(
    table: &Table,
    path: &str,
    gathered: &mut Gathered,
) -> Option<&'static Profile<C>> {
    let Some(node) = table.get("profile") else { return C::PROFILES.first() };
    let found = C::PROFILES.iter().find(|profile| Some(profile.name) == node.text());
    if found.is_none() {
        let names: Vec<_> = C::PROFILES.iter().map(|profile| profile.name).collect();
        let expected = format!("a profile of {}: {}", C::KIND, listed(&names));
        Refusal::word(expected, node.text().unwrap_or(""), names).report(
            &format!("{path}.profile"),
            node,
            gathered,
        );
    }
    found
}

fn read<C>(param: &Param<C>, path: &str, node: &Node, gathered: &mut Gathered) -> Option<Value> {
    let result = match raw(node) {
        Some(raw) => param.kind.read(&raw).map_err(|misfit| {
            let (found, words) = (node.text().unwrap_or(""), misfit.words.iter().copied());
            let refusal = Refusal::word(misfit.expected, found, words);
            Refusal { help: misfit.help.or(refusal.help), ..refusal }
        }),
        None => Err(Refusal::expected(param.kind.to_string())),
    };
    result.map_err(|refusal| refusal.report(path, node, gathered)).ok()
}

/// Whether the setting still has the value that it was given. A probability is a fraction of
/// 2³² and keeps a number only nearly.
fn keeps<C>(param: &Param<C>, config: &C, value: Value) -> bool {
    match ((param.get)(config), value) {
        (Some(Value::Number(kept)), Value::Number(given)) => {
            (kept - given).abs() <= 1e-6 * given.abs().max(1e-3)
        }
        (kept, given) => kept == Some(given),
    }
}

/// A value as [`configure`] reads it.
pub(crate) fn item(value: Value) -> Item {
    match value {
        Value::Bool(b) => b.into(),
        Value::Count(n) => n.into(),
        Value::Number(x) => Item::Float(x),
        Value::Durations(low, high) => list([text(low), text(high)]),
        Value::Bytes(size) => text(crate::field::bytes_text(size)),
        Value::Duration(_) | Value::Packets(_) | Value::Word(_) => text(value),
    }
}
