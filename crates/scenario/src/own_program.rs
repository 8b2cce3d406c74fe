//! A program by itself: a text with one `[[program]]`, which takes the place of flows in scenarios.

use std::fmt::Write;

use crate::fault::{Gathered, Place, Source};
use crate::field::{Field, read_table};
use crate::open::read;
use crate::schema::{INSTEAD, PROGRAM, ProgramDraft, RUNNING};
use crate::tree::{self, Entry, Node, Table, key, text};
use crate::{Faults, Refused};

/// The keys that follow from the scenario into which a program is put.
const OF_SCENARIO: [&str; 3] = ["group", "start", INSTEAD];

/// A program that takes the place of flows.
///
/// ```
/// let text = "[[program]]\nname = \"mine\"\nserver = \"./mine server\"\nclient = \"./mine $SERVER\"\n";
/// let mine = l4s_scenario::OwnProgram::parse("mine.toml", text).unwrap();
/// assert_eq!(mine.name, "mine");
/// // The end of the run ends its clients.
/// assert!(mine.instead_of("A", "mine").ends_with("stop = \"term\"\nexpect = \"running\"\n"));
///
/// let faults = l4s_scenario::OwnProgram::parse("mine.toml", "program = 1").unwrap_err();
/// assert!(faults.to_string().contains("expected one `[[program]]`"));
/// ```
#[derive(Clone, Debug)]
pub struct OwnProgram {
    /// Its name.
    pub name: String,
    table: Table,
}

impl OwnProgram {
    /// Reads a file with one `[[program]]`.
    ///
    /// # Errors
    /// It cannot be read, or is refused.
    pub fn open(path: &str) -> Result<OwnProgram, Refused> {
        let text = read(path, |path, error| Refused::Unreadable {
            message: format!("{}: cannot read this program: {error}", l4s_units::printable(path)),
            help: Some("expected a file with one `[[program]]`".to_owned()),
        })?;
        Ok(OwnProgram::parse(path, &text)?)
    }

    /// Reads a text with one `[[program]]`. `name` is the text's name in messages.
    ///
    /// # Errors
    /// Something else is in it, or the program is refused.
    pub fn parse(name: &str, text: &str) -> Result<OwnProgram, Faults> {
        let source = Source { name: name.to_owned(), text: text.to_owned() };
        let mut gathered = Gathered::default();
        let root = tree::parse(&source, 0, &mut gathered);
        let table = if gathered.is_empty() { of(&root, &mut gathered) } else { None };
        let name = |table: &Table| Some(table.get("name")?.text()?.to_owned());
        match table.and_then(|table| Some((name(&table)?, table))) {
            Some((name, table)) if gathered.is_empty() => Ok(OwnProgram { name, table }),
            _ => Err(gathered.finish(&[&source])),
        }
    }

    /// A `[[program]]` called `name`, of which each flow of this group is an instance.
    pub fn instead_of(&self, group: &str, name: &str) -> String {
        let mut written = String::from("\n[[program]]\n");
        let ours = [("name", text(name)), ("group", text(group)), (INSTEAD, true.into())];
        let mut line = |name: &str, value: &dyn std::fmt::Display| {
            let _ = writeln!(written, "{} = {value}", key(name));
        };
        ours.iter().for_each(|(name, value)| line(name, value));
        let theirs = self.table.entries.iter().filter(|entry| entry.key != "name");
        theirs.for_each(|Entry { key, value, .. }| line(key, value));
        written
    }
}

/// The table of the one program. Unless it says otherwise its clients run until the end of the run ends them: the
/// flows in whose place they are have no end.
fn of(root: &Table, gathered: &mut Gathered) -> Option<Table> {
    for Entry { key, place, .. } in root.entries.iter().filter(|entry| entry.key != "program") {
        let message = format!("`{key}`: expected one `[[program]]` and nothing else");
        let help = "links, groups and times are those of the evaluation".to_owned();
        gathered.add(place, message, Some(help));
    }
    let node = match root.get("program").map(|node| (node, node.list())) {
        Some((_, Some([node]))) if node.table().is_some() => node,
        found => {
            let place = found.map_or(Place::default(), |(node, _)| node.place.clone());
            gathered.add(&place, "`program`: expected one `[[program]]`", None);
            return None;
        }
    };
    let mut table = node.table()?.clone();
    for Entry { key, place, .. } in
        table.entries.iter().filter(|entry| OF_SCENARIO.contains(&entry.key.as_str()))
    {
        let message = format!("`program.{key}`: the evaluation sets it");
        gathered.add(place, message, Some("leave it out".to_owned()));
    }
    let required = |name: &str| ["name", "client"].contains(&name);
    let fields = PROGRAM.iter().map(|f| Field { required: required(f.name), ..*f });
    let fields: Vec<Field<ProgramDraft>> = fields.collect();
    read_table(&table, &node.place, "program", &fields, &[], &mut ProgramDraft::unset(), gathered);
    if table.get("server").is_none() && table.get("ready").is_some() {
        let place = table.get("ready").map_or(Place::default(), |node: &Node| node.place.clone());
        gathered.add(&place, "`program.ready`: there is no `server` that could be ready", None);
    }
    for (name, unset) in [("stop", "term"), ("expect", RUNNING)] {
        if table.get(name).is_none() {
            table.set(Entry::new(name, text(unset)));
        }
    }
    Some(table)
}
