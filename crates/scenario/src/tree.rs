//! TOML as a tree in which everything knows where it was written.

use std::fmt;

use toml::de::{DeTable, DeValue};

use crate::fault::{Gathered, Place, Source};

/// A value.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub item: Item,
    pub place: Place,
}

/// The type of a value.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    /// Types that no key has: dates, and integers of more than 64 bits.
    Other(String),
    List(Vec<Node>),
    Table(Table),
}

/// Keys and values in the order in which they were written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub entries: Vec<Entry>,
    /// Whether it came about only by a dotted key: `link.rate = …` makes a `link`.
    pub dotted: bool,
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub place: Place,
    pub value: Node,
}

impl Table {
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub fn remove(&mut self, key: &str) -> Option<Node> {
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(at).value)
    }

    /// How many values there are in it.
    pub fn size(&self) -> usize {
        self.entries.iter().map(|entry| entry.value.size()).sum()
    }

    /// Sets a key, in its old position where it has one.
    pub fn set(&mut self, entry: Entry) {
        match self.entries.iter_mut().find(|old| old.key == entry.key) {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
    }

    /// Adds an empty table to the list under `key`, which is made where there is none.
    pub fn push(&mut self, key: &str) {
        if self.entry(key).is_none() {
            self.set(Entry::new(key, Item::List(Vec::new())));
        }
        let entry = self.entries.iter_mut().find(|entry| entry.key == key);
        if let Some(Item::List(nodes)) = entry.map(|entry| &mut entry.value.item) {
            nodes.push(Item::Table(Table::default()).into());
        }
    }

    /// The table under `key`, made where there is none, or the last of the list under it.
    ///
    /// # Panics
    /// Something else is there.
    pub fn last_mut(&mut self, key: &str) -> &mut Table {
        if self.entry(key).is_none() {
            self.set(Entry::new(key, Item::Table(Table::default())));
        }
        let entry = self.entries.iter_mut().find(|entry| entry.key == key);
        match entry.map(|entry| &mut entry.value.item) {
            Some(Item::Table(table)) => table,
            Some(Item::List(nodes)) => match nodes.last_mut().map(|node| &mut node.item) {
                Some(Item::Table(table)) => table,
                _ => panic!("`{key}` is an empty list"),
            },
            _ => panic!("`{key}` is no table"),
        }
    }

    /// The table under `key`, made where there is none; `None` where something else is there.
    pub fn table_mut(&mut self, key: &str, place: &Place) -> Option<&mut Table> {
        if self.entry(key).is_none() {
            let value = Node { item: Item::Table(Table::default()), place: place.clone() };
            self.set(Entry { key: key.to_owned(), place: place.clone(), value });
        }
        match self.entries.iter_mut().find(|entry| entry.key == key) {
            Some(Entry { value: Node { item: Item::Table(table), .. }, .. }) => Some(table),
            _ => None,
        }
    }
}

impl Node {
    pub fn text(&self) -> Option<&str> {
        if let Item::Text(text) = &self.item { Some(text) } else { None }
    }

    pub fn table(&self) -> Option<&Table> {
        if let Item::Table(table) = &self.item { Some(table) } else { None }
    }

    pub fn list(&self) -> Option<&[Node]> {
        if let Item::List(items) = &self.item { Some(items) } else { None }
    }

    /// The value as results and people write it: a text without its quotes.
    pub fn plain(&self) -> String {
        match &self.item {
            Item::Text(text) => text.clone(),
            _ => self.to_string(),
        }
    }

    /// How many values it is, those within it counted.
    pub fn size(&self) -> usize {
        match &self.item {
            Item::List(items) => 1 + items.iter().map(Node::size).sum::<usize>(),
            Item::Table(table) => 1 + table.size(),
            _ => 1,
        }
    }

    /// The value, for a message: as TOML, long ones cut.
    pub fn found(&self) -> String {
        let text = match &self.item {
            Item::Table(table) if !table.entries.is_empty() => "a table".to_owned(),
            _ => self.to_string(),
        };
        match text.char_indices().nth(60) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

impl fmt::Display for Node {
    /// As a TOML value on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.item.fmt(f)
    }
}

/// A value that was written nowhere.
impl From<Item> for Node {
    fn from(item: Item) -> Node {
        Node { item, place: Place::default() }
    }
}

impl From<bool> for Item {
    fn from(value: bool) -> Item {
        Item::Bool(value)
    }
}

/// A number of at most [`i64::MAX`]: TOML has no larger ones.
impl From<u64> for Item {
    fn from(n: u64) -> Item {
        Item::Integer(n as i64)
    }
}

/// A text.
pub(crate) fn text(value: impl fmt::Display) -> Item {
    Item::Text(value.to_string())
}

/// A list of values.
pub(crate) fn list(items: impl IntoIterator<Item = Item>) -> Item {
    Item::List(items.into_iter().map(Node::from).collect())
}

/// A table of keys and values.
pub(crate) fn table_of<const N: usize>(pairs: [(&str, Item); N]) -> Item {
    let mut table = Table::default();
    pairs.into_iter().for_each(|(key, value)| table.set(Entry::new(key, value)));
    Item::Table(table)
}

impl Entry {
    /// A key with its value, which were written nowhere.
    pub fn new(key: &str, value: Item) -> Entry {
        Entry { key: key.to_owned(), place: Place::default(), value: value.into() }
    }
}

impl fmt::Display for Item {
    /// As a TOML value on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = |parts: Vec<String>| parts.join(", ");
        match self {
            Item::Text(text) => f.write_str(&quoted(text)),
            Item::Integer(n) => write!(f, "{n}"),
            Item::Float(x) => f.write_str(&number(*x)),
            Item::Bool(b) => write!(f, "{b}"),
            Item::Other(text) => f.write_str(text),
            Item::List(items) => {
                write!(f, "[{}]", parts(items.iter().map(Node::to_string).collect()))
            }
            Item::Table(table) if table.entries.is_empty() => write!(f, "{{}}"),
            Item::Table(table) => {
                let pairs = table.entries.iter();
                let pairs = pairs.map(|entry| format!("{} = {}", key(&entry.key), entry.value));
                write!(f, "{{ {} }}", parts(pairs.collect()))
            }
        }
    }
}

/// A text as a TOML string.
pub fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if l4s_units::steers(c) => out += &format!("\\u{:04X}", c as u32),
            c => out.push(c),
        }
    }
    out + "\""
}

/// A TOML float: Rust's notation, with a point where TOML needs one.
pub(crate) fn number(x: f64) -> String {
    match format!("{x:?}") {
        nan if x.is_nan() => nan.to_lowercase(),
        text => text,
    }
}

/// A TOML key: bare where it can be.
pub(crate) fn key(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !key.is_empty() && key.chars().all(bare) { key.to_owned() } else { quoted(key) }
}

/// The longest text, in bytes. Larger ones are no scenarios.
pub(crate) const MOST_BYTES: usize = 16 << 20;
/// The most values in a text: one takes some 200 bytes of memory while it is read.
const MOST_VALUES: usize = 1_000_000;
/// The most words, blanks and signs in a text: one takes some 50 bytes.
const MOST_WORDS: usize = 6_000_000;
/// In texts up to this every error is looked for: one takes a kilobyte or two.
const SHORT: usize = 64 << 10;

/// The tree of a file, `sources[number]`.
pub(crate) fn parse(source: &Source, number: usize, gathered: &mut Gathered) -> Table {
    let text = &source.text;
    let place = |bytes| Place { source: number, bytes };
    if let Some(message) = too_long(text) {
        gathered.add(&place(0..0), message, None);
        return Table::default();
    }
    let (table, errors) = match DeTable::parse(text) {
        Ok(table) => (table, Vec::new()),
        Err(_) if text.len() <= SHORT => DeTable::parse_recoverable(text),
        Err(first) => {
            let bytes = first.span().unwrap_or(0..0);
            gathered.add(&place(bytes), format!("not TOML: {}", first.message()), None);
            return Table::default();
        }
    };
    for error in errors {
        let bytes = error.span().unwrap_or(0..0);
        gathered.add(&place(bytes), format!("not TOML: {}", error.message()), None);
    }
    from_table(table.into_inner(), source, number, false)
}

/// Why a text is too long to be read.
fn too_long(text: &str) -> Option<String> {
    if text.len() > MOST_BYTES {
        return Some(format!("{} bytes, expected at most {MOST_BYTES}", text.len()));
    }
    // Each value has one of these before or behind it.
    let values = text.bytes().filter(|byte| matches!(byte, b'=' | b',' | b'[' | b'{')).count();
    if values > MOST_VALUES {
        let signs = "`=`, `,`, `[` and `{`";
        return Some(format!("{values} of the signs {signs}, expected at most {MOST_VALUES}"));
    }
    let words = words(text);
    (words > MOST_WORDS)
        .then(|| format!("{words} words, blanks and signs, expected at most {MOST_WORDS}"))
}

/// How many words, runs of blanks and single signs there are. A point takes twice the memory of another
/// sign.
fn words(text: &str) -> usize {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte >= 0x80 || b"_-+".contains(&byte);
    let is_blank = |byte: u8| matches!(byte, b' ' | b'\t');
    let before = [b'\n'].into_iter().chain(text.bytes());
    let cost = |(before, byte): (u8, u8)| match byte {
        b'.' => 2,
        _ if is_word(byte) => usize::from(!is_word(before)),
        _ if is_blank(byte) => usize::from(!is_blank(before)),
        _ => 1,
    };
    before.zip(text.bytes()).map(cost).sum()
}

/// The value written in `source.text[from..]`: as TOML, or as a bare text where it is none.
pub(crate) fn parse_value(source: &Source, number: usize, from: usize) -> Node {
    let text = &source.text[from..];
    let place = Place { source: number, bytes: from..source.text.len() };
    let bare = || Item::Text(text.trim().to_owned());
    // A line break would end the value for a shell but not for TOML.
    let item = match DeValue::parse(text) {
        Ok(value) => match from_value(value.into_inner(), source, number, false).item {
            Item::Other(_) => bare(),
            item => item,
        },
        Err(_) => bare(),
    };
    let mut node = Node { item, place: place.clone() };
    set_place(&mut node, &place);
    node
}

/// Everything within a `--set` stands where its value stands.
pub(crate) fn set_place(node: &mut Node, place: &Place) {
    node.place = place.clone();
    match &mut node.item {
        Item::List(items) => items.iter_mut().for_each(|item| set_place(item, place)),
        Item::Table(table) => table.entries.iter_mut().for_each(|entry| {
            entry.place = place.clone();
            set_place(&mut entry.value, place);
        }),
        _ => {}
    }
}

fn from_table(table: DeTable<'_>, source: &Source, number: usize, dotted: bool) -> Table {
    let entries = table.into_iter().map(|(key, value)| {
        let place = Place { source: number, bytes: key.span() };
        let bytes = value.span();
        // A table's span starts at its `[` or `{`, unless a dotted key made it.
        let dotted = !source.text.get(bytes.start..).is_some_and(|t| t.starts_with(['[', '{']));
        let item = from_value(value.into_inner(), source, number, dotted).item;
        let value = Node { item, place: Place { source: number, bytes } };
        Entry { key: key.into_inner().into_owned(), place, value }
    });
    Table { entries: entries.collect(), dotted }
}

fn from_value(value: DeValue<'_>, source: &Source, number: usize, dotted: bool) -> Node {
    let item = match value {
        DeValue::String(text) => Item::Text(text.into_owned()),
        DeValue::Integer(n) => match i64::from_str_radix(n.as_str(), n.radix()) {
            Ok(n) => Item::Integer(n),
            Err(_) => Item::Other(n.to_string()),
        },
        DeValue::Float(x) => match x.as_str().parse() {
            Ok(x) => Item::Float(x),
            Err(_) => Item::Other(x.to_string()),
        },
        DeValue::Boolean(b) => Item::Bool(b),
        DeValue::Datetime(date) => Item::Other(date.to_string()),
        DeValue::Array(items) => Item::List(
            items
                .into_iter()
                .map(|item| {
                    let bytes = item.span();
                    let node = from_value(item.into_inner(), source, number, false);
                    Node { place: Place { source: number, bytes }, ..node }
                })
                .collect(),
        ),
        DeValue::Table(table) => Item::Table(from_table(table, source, number, dotted)),
    };
    Node { item, place: Place::default() }
}
