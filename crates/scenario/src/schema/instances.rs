//! Programs in the place of a group's flows: `instead_of_flows` of a `[[program]]`.
//!
//! A flow of TCP is one of many on the hosts of its group. A program may need a port, files or a host for
//! itself. So each flow is an instance of the program on hosts of its own, in a group of its own.

use l4s_units::Time;

use super::group::Start;
use super::program::INSTEAD;
use super::{MOST_FLOWS, MOST_SOURCES};
use crate::fault::Gathered;
use crate::field::count;
use crate::tree::{Entry, Item, Node, Table, text};

/// Replaces each `[[program]]` with `instead_of_flows` by an instance for every flow of its group, which
/// begins when the flow would.
///
/// The first is in the group itself. The others are in groups like it, `A 2` and so on, behind all others; they are on
/// the group's paths and further links, and have its changes. Malformed keys stay for those who read them.
pub(crate) fn add_instances(root: &mut Table, gathered: &mut Gathered) {
    let written = root.get("program").and_then(Node::list).unwrap_or_default();
    let mut replaced: Vec<(String, usize)> = Vec::new();
    let mut programs = Vec::new();
    for node in written {
        let Some((group, starts)) = flows_of(node, root) else {
            programs.push(node.clone());
            continue;
        };
        if let Some(start) = node.table().and_then(|program| program.get("start")) {
            let message = "`program.start`: the starts are those of the group's flows".to_owned();
            gathered.add(&start.place, message, Some("leave out one of them".to_owned()));
        }
        if replaced.iter().any(|(other, _)| *other == group) {
            let message = format!(
                "`program.{INSTEAD}`: another program has the place of the flows of `{group}`"
            );
            gathered.add(&node.place, message, None);
        }
        programs.extend((1..).zip(&starts).map(|(number, start)| {
            let mut instance = numbered(node, number, program_name);
            if let Item::Table(program) = &mut instance.item {
                program.remove(INSTEAD);
                program.set(Entry::new("group", text(name(&group, number))));
                program.set(Entry::new("start", text(start)));
            }
            instance
        }));
        replaced.push((group, starts.len()));
    }
    if replaced.is_empty() {
        return;
    }
    if let Some(Item::List(nodes)) = item_mut(root, "program") {
        *nodes = programs;
    }
    for (group, instances) in replaced {
        add_groups(root, &group, instances);
    }
}

/// `A`, `A 2`, `A 3` …
fn name(of: &str, number: usize) -> String {
    if number == 1 { of.to_owned() } else { format!("{of} {number}") }
}

/// `mine`, `mine-2`, `mine-3` …: folders, whose paths are in commands for a shell.
fn program_name(of: &str, number: usize) -> String {
    if number == 1 { of.to_owned() } else { format!("{of}-{number}") }
}

/// A table whose name has the number.
fn numbered(node: &Node, number: usize, name: fn(&str, usize) -> String) -> Node {
    let mut node = node.clone();
    if let Item::Table(table) = &mut node.item {
        let entry = table.entries.iter_mut().find(|entry| entry.key == "name");
        if let Some(Item::Text(text)) = entry.map(|entry| &mut entry.value.item) {
            *text = name(text, number);
        }
    }
    node
}

fn item_mut<'a>(table: &'a mut Table, key: &str) -> Option<&'a mut Item> {
    let entry = table.entries.iter_mut().find(|entry| entry.key == key)?;
    Some(&mut entry.value.item)
}

/// The group whose flows a program replaces, and their starts; `None` where it replaces none, or where
/// something of them is malformed.
fn flows_of(program: &Node, root: &Table) -> Option<(String, Vec<Time>)> {
    let program = program.table()?;
    matches!(program.get(INSTEAD)?.item, Item::Bool(true)).then_some(())?;
    let name = program.get("group")?.text()?;
    let groups = root.get("group")?.list()?.iter().filter_map(Node::table);
    let group =
        groups.clone().find(|group| group.get("name").and_then(Node::text) == Some(name))?;
    let flows = group.get("flows").map_or(Ok(1), |node| count(node, 0, MOST_FLOWS)).ok()?;
    // Of more groups nobody is made: that there are too many is reported with all groups.
    let flows = flows.min(MOST_SOURCES as u64 + 1);
    let start = group.get("start").map_or(Ok(Start::At(Time::ZERO)), Start::read).ok()?;
    let starts = start.of(flows);
    (starts.len() as u64 == flows).then(|| (name.to_owned(), starts))
}

/// Makes a group one of programs alone, and adds the groups of its further instances.
fn add_groups(root: &mut Table, group: &str, instances: usize) {
    let more: Vec<String> = (2..=instances).map(|number| name(group, number)).collect();
    if let Some(Item::List(nodes)) = item_mut(root, "group") {
        let is_it = |node: &&mut Node| {
            node.table().and_then(|table| table.get("name")).and_then(Node::text) == Some(group)
        };
        let Some(node) = nodes.iter_mut().find(is_it) else { return };
        if let Item::Table(table) = &mut node.item {
            table.set(Entry::new("flows", 0.into()));
            table.remove("start");
        }
        let node = node.clone();
        nodes.extend((2..=instances).map(|number| numbered(&node, number, name)));
    }
    for list in ["path", "hop"] {
        for table in tables_mut(root, list) {
            let Some(Item::List(names)) = item_mut(table, "groups") else { continue };
            if names.iter().any(|name| name.text() == Some(group)) {
                names.extend(more.iter().map(|name| Node::from(text(name))));
            }
        }
    }
    for at in tables_mut(root, "at") {
        let Some(Item::Table(groups)) = item_mut(at, "group") else { continue };
        let Some(change) = groups.entry(group).cloned() else { continue };
        for name in &more {
            groups.set(Entry { key: name.clone(), ..change.clone() });
        }
    }
}

/// The tables of a list.
fn tables_mut<'a>(root: &'a mut Table, list: &str) -> impl Iterator<Item = &'a mut Table> {
    let nodes = match item_mut(root, list) {
        Some(Item::List(nodes)) => nodes.as_mut_slice(),
        _ => &mut [],
    };
    nodes.iter_mut().filter_map(|node| match &mut node.item {
        Item::Table(table) => Some(table),
        _ => None,
    })
}
