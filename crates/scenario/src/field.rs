//! The keys of a table, declared once: how each is read, written and explained.

use std::fmt::Display;
use std::str::FromStr;

use l4s_units::param::Raw;
use l4s_units::{Bytes, Duration, Ecn, Frequency, ParseError, Rate, Time};

use crate::fault::{Gathered, Place, did_you_mean, listed, nearest};
use crate::keys::{Keys, keys};
use crate::tree::{Item, Node, Table, text};

/// The longest run.
pub(crate) const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// One key of a table that fills a `T`.
pub(crate) struct Field<T> {
    /// The key.
    pub name: &'static str,
    /// Its meaning, in one line.
    pub doc: &'static str,
    /// Whether the table is refused without it.
    pub required: bool,
    /// Takes the value over.
    pub read: fn(&mut T, &Node) -> Result<(), Refusal>,
    /// The value that reads back as the same; `None` where there is nothing to write.
    pub write: fn(&T) -> Option<Item>,
}

impl<T> Clone for Field<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Field<T> {}

/// Why a value does not fit its key.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// The accepted values.
    pub expected: String,
    /// The nearest spelling, or another way out, in words.
    pub help: Option<String>,
}

impl Refusal {
    pub fn expected(expected: impl Into<String>) -> Refusal {
        Refusal { expected: expected.into(), help: None }
    }

    /// Of a word that is none of these.
    pub fn word<'a>(
        expected: impl Into<String>,
        found: &str,
        words: impl IntoIterator<Item = &'a str>,
    ) -> Refusal {
        let help = nearest(found, words).map(|near| format!("did you mean \"{near}\"?"));
        Refusal { expected: expected.into(), help }
    }

    /// Adds the fault to `gathered`.
    pub fn report(self, path: &str, node: &Node, gathered: &mut Gathered) {
        gathered.add_with(&node.place, || {
            let Refusal { expected, help } = self;
            (format!("`{path}`: found {}, expected {expected}", node.found()), help)
        });
    }
}

/// Reads `table` by `fields`. `elsewhere` are keys that the caller reads by itself.
pub(crate) fn read_table<T>(
    table: &Table,
    place: &Place,
    path: &str,
    fields: &[Field<T>],
    elsewhere: &[&str],
    into: &mut T,
    gathered: &mut Gathered,
) {
    let full = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    let names: Vec<&str> = fields.iter().map(|f| f.name).chain(elsewhere.iter().copied()).collect();
    for entry in &table.entries {
        match fields.iter().find(|field| field.name == entry.key) {
            Some(field) => {
                if let Err(refusal) = (field.read)(into, &entry.value) {
                    refusal.report(&full(&entry.key), &entry.value, gathered);
                }
            }
            None if elsewhere.contains(&entry.key.as_str()) => {}
            None => unknown_key(&full(&entry.key), &entry.key, &entry.place, &names, gathered),
        }
    }
    for field in fields.iter().filter(|field| field.required && table.get(field.name).is_none()) {
        if is_misspelt(field.name, table, &names) {
            continue;
        }
        let message = format!("`{}` is missing: {}", full(field.name), field.doc);
        gathered.add(place, message, None);
    }
}

/// Whether a key of `table` that is none of `names` is probably meant to be `name`: then it is the
/// fault, and that `name` is missing is none.
pub(crate) fn is_misspelt(name: &str, table: &Table, names: &[&str]) -> bool {
    let unknown = table.entries.iter().filter(|entry| !names.contains(&entry.key.as_str()));
    unknown.take(100).any(|entry| nearest(&entry.key, names.iter().copied()) == Some(name))
}

/// Adds the fault of a key that is none of `names`.
pub(crate) fn unknown_key(
    path: &str,
    key: &str,
    place: &Place,
    names: &[&str],
    gathered: &mut Gathered,
) {
    gathered.add_with(place, || {
        let message = format!("`{path}`: unknown key, expected {}", listed(names));
        (message, elsewhere(key).or_else(|| did_you_mean(key, names.iter().copied())))
    });
}

/// The tables that have such a key.
fn elsewhere(key: &str) -> Option<String> {
    let has = |keys: &Keys| keys.keys.iter().any(|known| known.name == key);
    let tables = keys().into_iter().filter(has).map(|keys| match keys.table {
        "" => "the top of a scenario".to_owned(),
        table => format!("`{table}`"),
    });
    let tables: Vec<String> = tables.collect();
    let tables = match tables.as_slice() {
        [] => return None,
        [one] => one.clone(),
        [first, second] => format!("{first} and {second}"),
        [first, second, third] => format!("{first}, {second} and {third}"),
        [first, second, third, ..] => format!("{first}, {second}, {third} and others"),
    };
    Some(format!("`{key}` is a key of {tables}"))
}

/// A quantity with a unit, as its type reads it.
pub(crate) trait Quantity: FromStr<Err = ParseError> + PartialOrd + Display + Copy {
    /// Its name, with an example.
    const EXAMPLE: &'static str;
}

impl Quantity for Duration {
    const EXAMPLE: &'static str = "a time such as \"10ms\"";
}

impl Quantity for Rate {
    const EXAMPLE: &'static str = "a rate such as \"40mbit\"";
}

impl Quantity for Bytes {
    const EXAMPLE: &'static str = "a size such as \"1514b\"";
}

impl Quantity for Frequency {
    const EXAMPLE: &'static str = "a number of times per second such as \"100/s\"";
}

/// The message for a number without a unit.
pub(crate) fn without_unit(node: &Node) -> Option<String> {
    let number = matches!(node.item, Item::Integer(_) | Item::Float(_));
    number.then(|| "a number needs its unit".to_owned())
}

/// A quantity from `low` to `high`.
pub(crate) fn quantity<Q: Quantity>(node: &Node, low: Q, high: Q) -> Result<Q, Refusal> {
    let refusal = |what, help| Refusal { expected: format!("{what}, from {low} to {high}"), help };
    match node.text().map(str::parse::<Q>) {
        Some(Ok(value)) if low <= value && value <= high => Ok(value),
        Some(Ok(_)) => Err(refusal(Q::EXAMPLE, None)),
        None => Err(refusal(Q::EXAMPLE, without_unit(node))),
        Some(Err(error)) => Err(refusal(error.expected, error.help)),
    }
}

/// A time from `low` to `high`.
pub(crate) fn duration(node: &Node, low: Duration, high: Duration) -> Result<Duration, Refusal> {
    quantity(node, low, high)
}

/// An instant within the longest run.
pub(crate) fn instant(node: &Node) -> Result<Time, Refusal> {
    duration(node, Duration::ZERO, LONGEST).map(|d| Time::ZERO + d)
}

/// An instant within the longest run, or `None` for the end of the run.
pub(crate) fn instant_or_end(node: &Node) -> Result<Option<Time>, Refusal> {
    if node.text() == Some("end") { Ok(None) } else { instant(node).map(Some) }
}

/// A whole number from `low` to `high`.
pub(crate) fn count(node: &Node, low: u64, high: u64) -> Result<u64, Refusal> {
    match node.item {
        Item::Integer(n) if u64::try_from(n).is_ok_and(|n| (low..=high).contains(&n)) => {
            Ok(n as u64)
        }
        _ => Err(Refusal::expected(format!("a whole number from {low} to {high}"))),
    }
}

/// Yes or no.
pub(crate) fn flag(node: &Node) -> Result<bool, Refusal> {
    match node.item {
        Item::Bool(value) => Ok(value),
        _ => Err(Refusal::expected("true or false")),
    }
}

/// One of these words, as the value that it stands for.
pub(crate) fn word<V: Copy>(node: &Node, words: &[(&'static str, V)]) -> Result<V, Refusal> {
    let names = || words.iter().map(|(name, _)| *name);
    let found = node.text().unwrap_or("");
    words.iter().find(|(name, _)| *name == found).map(|(_, v)| *v).ok_or_else(|| {
        let listed: Vec<_> = names().map(|name| format!("\"{name}\"")).collect();
        Refusal::word(format!("one of {}", listed.join(", ")), found, names())
    })
}

/// The word that stands for a value: the inverse of [`word`].
pub(crate) fn written<V: Copy + PartialEq>(words: &[(&'static str, V)], value: V) -> Option<Item> {
    words.iter().find(|(_, meant)| *meant == value).map(|(name, _)| text(name))
}

/// A name that fits a line of print: no control characters, not empty, at most `most` long.
pub(crate) fn line(node: &Node, most: usize) -> Result<String, Refusal> {
    match node.text() {
        Some(text)
            if !text.trim().is_empty()
                && text.chars().count() <= most
                && !text.chars().any(char::is_control) =>
        {
            Ok(text.to_owned())
        }
        _ => Err(Refusal::expected(format!(
            "a text of 1 to {most} characters without line breaks or other control characters"
        ))),
    }
}

/// A codepoint.
pub(crate) fn codepoint(node: &Node) -> Result<Ecn, Refusal> {
    let words = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce].map(|ecn| match ecn {
        Ecn::NotEct => ("not-ect", ecn),
        Ecn::Ect0 => ("ect0", ecn),
        Ecn::Ect1 => ("ect1", ecn),
        Ecn::Ce => ("ce", ecn),
    });
    word(node, &words)
}

/// The value for a declared setting; `None` for a type that no setting has.
pub(crate) fn raw(node: &Node) -> Option<Raw> {
    Some(match &node.item {
        Item::Text(text) => Raw::Text(text.clone()),
        Item::Integer(n) => Raw::Integer(*n),
        Item::Float(x) => Raw::Float(*x),
        Item::Bool(b) => Raw::Bool(*b),
        Item::List(items) => Raw::List(items.iter().map(raw).collect::<Option<_>>()?),
        Item::Other(_) | Item::Table(_) => return None,
    })
}

/// A size as people write it: `1514b` rather than `1.514kb`.
pub(crate) fn bytes_text(size: Bytes) -> String {
    let n = size.get();
    if n < 1_000_000 && n % 1000 != 0 { format!("{n}b") } else { size.to_string() }
}
