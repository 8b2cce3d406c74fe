//! The meaning of every column of the tables, its unit, and the time that it covers.
//!
//! These are declared with the column, in `rows!` and `measures!`: a column without them does not
//! compile. Files, docs/reference/results.md and the Python package have them from here.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

use crate::{DelayRow, FlowRow, Row, SeriesRow, Summary};

/// Of which time a quantity is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    /// It identifies the row.
    Row,
    /// The sampling interval.
    Interval,
    /// The end of the sampling interval.
    Instant,
    /// From the start of the run on.
    Start,
    /// From the end of the warm-up on.
    Warm,
    /// The end of the run, or of the flow.
    End,
    /// The run or flow as a whole.
    Run,
    /// As its parts say.
    Part,
}

impl Over {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Over::Row => "the row",
            Over::Interval => "the sampling interval",
            Over::Instant => "end of the sampling interval",
            Over::Start => "since the start",
            Over::Warm => "after the warm-up",
            Over::End => "at the end",
            Over::Run | Over::Part => "the whole run",
        }
    }
}

/// One column of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its table: `runs`, `series`, `delays` or `flows`.
    pub table: String,
    /// Its name; names of a scenario stand in braces, as in `queue_{name}_mark`.
    pub name: String,
    /// Its type, as Arrow calls it.
    pub kind: String,
    /// Its unit; empty for a column without one.
    pub unit: String,
    /// Of which time it is.
    pub over: Over,
    /// Its meaning.
    pub meaning: String,
}

impl Column {
    pub(crate) fn new(
        file: &str,
        name: &str,
        kind: String,
        unit: &str,
        over: Over,
        meaning: &str,
    ) -> Column {
        Column {
            table: file.trim_end_matches(".parquet").to_owned(),
            name: name.to_owned(),
            kind,
            unit: unit.to_owned(),
            over,
            meaning: meaning.trim().to_owned(),
        }
    }
}

/// The metadata of a column in a file, beside its type: JSON, under one key. With several keys the order
/// in the file would be a hash map's.
pub(crate) fn metadata(unit: &str, over: Over, meaning: &str) -> HashMap<String, String> {
    let said = json!({ "unit": unit, "interval": over.name(), "meaning": meaning.trim() });
    [("l4s".to_owned(), said.to_string())].into()
}

/// Every column of every table, in order.
pub fn dictionary() -> Vec<Column> {
    let number = |table: &str| {
        let meaning = "The number of the run, from 0: its place in `runs.parquet`.";
        Column::new(table, "run", "UInt32".to_owned(), "", Over::Row, meaning)
    };
    let mut columns = vec![number("runs")];
    walk(&mut columns, &Place::default(), Summary::PARTS);
    for (name, meaning) in [
        ("command", "The command that repeats the run, except for algorithms of one's own."),
        ("summary_json", "The whole summary, as `--json` prints it except for the time it took."),
    ] {
        columns.push(Column::new("runs", name, "Utf8".to_owned(), "", Over::Run, meaning));
    }
    for (table, rows) in [
        ("series", SeriesRow::dictionary()),
        ("delays", DelayRow::dictionary()),
        ("flows", FlowRow::dictionary()),
    ] {
        columns.push(number(table));
        columns.extend(rows);
    }
    columns
}

/// A member of the summary.
pub(crate) struct Part {
    pub name: &'static str,
    pub unit: &'static str,
    pub over: Over,
    pub meaning: &'static str,
    pub kind: &'static str,
    pub shape: Shape,
    pub parts: &'static [Part],
}

impl Part {
    /// Its key in the JSON of the summary.
    pub fn key(&self) -> &'static str {
        self.name.trim_start_matches("r#")
    }
}

/// How a member of the summary becomes columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// One column.
    Value,
    /// A column for each of its parts.
    Parts,
    /// Things with parts and a name each.
    Named,
    /// A column for each of its keys.
    Keys,
}

/// The type of a member of the summary.
pub(crate) trait Measured {
    const KIND: &'static str = "";
    const SHAPE: Shape = Shape::Parts;
    const PARTS: &'static [Part] = &[];
}

/// Types that are one column.
macro_rules! values {
    ($($type:ty: $kind:literal,)+) => {$(
        impl Measured for $type {
            const KIND: &'static str = $kind;
            const SHAPE: Shape = Shape::Value;
        }
    )+};
}

values! {
    f64: "Float64",
    u64: "UInt64",
    String: "Utf8",
    [u64; 2]: "Utf8",
}

impl Measured for Map<String, Value> {
    const KIND: &'static str = "as the value";
    const SHAPE: Shape = Shape::Keys;
}

impl Measured for BTreeMap<String, u64> {
    const KIND: &'static str = "UInt64";
    const SHAPE: Shape = Shape::Keys;
}

impl<T: Measured> Measured for Option<T> {
    const KIND: &'static str = T::KIND;
    const SHAPE: Shape = T::SHAPE;
    const PARTS: &'static [Part] = T::PARTS;
}

impl<T: Measured> Measured for Vec<T> {
    const KIND: &'static str = T::KIND;
    const SHAPE: Shape = match T::SHAPE {
        Shape::Value => Shape::Value,
        _ => Shape::Named,
    };
    const PARTS: &'static [Part] = T::PARTS;
}

/// Declares a part of the summary: of each member its meaning, type, unit, and of which time it is.
macro_rules! measures {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $meaning:literal])+
                $(#[serde($($serde:tt)+)])?
                pub $field:ident: $type:ty => $unit:literal $over:ident,
            )+
        }
    ) => {
        $(#[$attribute])*
        pub struct $name {
            $(
                $(#[doc = $meaning])+
                $(#[serde($($serde)+)])?
                pub $field: $type,
            )+
        }

        impl $crate::dictionary::Measured for $name {
            const PARTS: &'static [$crate::dictionary::Part] = &[$($crate::dictionary::Part {
                name: stringify!($field),
                unit: $unit,
                over: $crate::Over::$over,
                meaning: concat!($($meaning),+),
                kind: <$type as $crate::dictionary::Measured>::KIND,
                shape: <$type as $crate::dictionary::Measured>::SHAPE,
                parts: <$type as $crate::dictionary::Measured>::PARTS,
            },)+];
        }
    };
}
pub(crate) use measures;

/// How far a walk through the summary has come.
#[derive(Clone, Default)]
struct Place {
    /// The name of a column begins with this.
    prefix: String,
    /// And ends with this: `delay_ms: { mean }` says the unit before the statistic, a column after.
    suffix: &'static str,
    unit: &'static str,
    meaning: String,
}

/// The columns of a row of `runs.parquet`, named as `flatten` names them.
fn walk(columns: &mut Vec<Column>, place: &Place, parts: &[Part]) {
    for part in parts {
        let key = part.key();
        let known =
            ["_ms", "_us", "_bps"].into_iter().find_map(|u| Some((key.strip_suffix(u)?, u)));
        let (quantity, suffix) = known.unwrap_or((key, place.suffix));
        let begins = match (place.prefix.is_empty(), key) {
            (true, "queues") => "queue_{name}".to_owned(),
            (true, "groups") => "group_{name}".to_owned(),
            (true, "hops") => "hop_{name}".to_owned(),
            (true, "paths") => "path_{name}".to_owned(),
            (true, "completion") => "completion_{group}_{from}_{to}".to_owned(),
            (true, "ratios") => "ratio".to_owned(),
            (true, _) => quantity.to_owned(),
            (false, "queues") => format!("{}_queue_{{queue}}", place.prefix),
            (false, _) => format!("{}_{quantity}", place.prefix),
        };
        // They are in the names of the columns.
        if matches!(key, "name" | "bin_bytes") || key == "group" && !place.prefix.is_empty() {
            continue;
        }
        let own = part.meaning.trim();
        let meaning = match place.meaning.trim_end_matches('.') {
            "" => own.to_owned(),
            of => format!("{of}: {}{}", own[..1].to_lowercase(), &own[1..]),
        };
        let unit = if part.unit.is_empty() { place.unit } else { part.unit };
        let mut column = |name: &str| {
            columns.push(Column::new(
                "runs",
                name,
                part.kind.to_owned(),
                unit,
                part.over,
                &meaning,
            ));
        };
        match part.shape {
            Shape::Value => column(&format!("{begins}{suffix}")),
            Shape::Keys => column(&format!("{begins}_{{key}}")),
            // A column of a queue or a group is identified by its name.
            Shape::Named => {
                let inner = Place { prefix: begins, ..Place::default() };
                walk(columns, &inner, part.parts);
            }
            Shape::Parts => {
                let meaning = if part.unit.is_empty() { String::new() } else { meaning };
                walk(columns, &Place { prefix: begins, suffix, unit, meaning }, part.parts);
            }
        }
    }
}
