//! `[[at]]`: a change in mid-run.

use std::collections::{BTreeMap, HashSet};

use l4s_model::{Change, Direction, Link, Path, PathChange, Udp, Uplink};
use l4s_units::{Bytes, Duration, Rate, Time};

use super::group::{LEAST_RTT, MOST_RTT};
use super::link::{HIGHEST_RATE, LINK, LOWEST_RATE, Room, discipline, limit_for_a_packet};
use super::path::{jitter, loss};
use super::{GROUP, Names, PATH, source_names, tables};
use crate::fault::{Gathered, Place, did_you_mean, listed};
use crate::field::{Field, LONGEST, Refusal, duration, quantity, unknown_key};
use crate::settings;
use crate::tree::{Entry, Node, Table};

/// The keys of an `[[at]]`.
const KEYS: &[&str] = &["time", "aqm", "link", "uplink", "group", "path"];

/// The most changes in one run, where each group whose round trip changes is one. A text has room for
/// some 200,000 `[[at]]`.
const MOST_CHANGES: usize = 1_000_000;

/// The object that an `[[at]]` changes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum What {
    Aqm,
    Rate,
    UplinkAqm,
    UplinkRate,
    /// Of the group in that place.
    Rtt(usize),
    /// Of the path in that place.
    Loss(usize),
    Jitter(usize),
}

impl What {
    fn name(self) -> &'static str {
        match self {
            What::Aqm => "`aqm`",
            What::Rate => "`link.rate`",
            What::UplinkAqm => "`uplink.aqm`",
            What::UplinkRate => "`uplink.rate`",
            What::Rtt(_) => "the `rtt` of a group",
            What::Loss(_) => "the `loss` of a path",
            What::Jitter(_) => "the `jitter` of a path",
        }
    }

    /// All that a change is of.
    fn of(change: &Change) -> impl Iterator<Item = What> {
        let aqm = change.aqm.iter().map(|_| What::Aqm);
        let rate = change.rate.iter().map(|_| What::Rate);
        let rtts = change.rtts.iter().map(|(group, _)| What::Rtt(*group));
        let up = change.uplink_aqm.iter().map(|_| What::UplinkAqm);
        let up = up.chain(change.uplink_rate.iter().map(|_| What::UplinkRate));
        let paths = change.paths.iter().flat_map(|(path, change)| {
            let loss = change.loss.iter().map(|_| What::Loss(*path));
            loss.chain(change.jitter.iter().map(|_| What::Jitter(*path)))
        });
        aqm.chain(rate).chain(up).chain(rtts).chain(paths)
    }
}

/// The parts of a scenario that changes are of, as far as they are right.
pub(super) struct Parts<'a> {
    pub link: Option<&'a Link>,
    pub uplink: Option<&'a Uplink>,
    pub paths: &'a [Path],
    pub udp: &'a [(Udp, &'a Table)],
    /// The largest one.
    pub frame: Bytes,
    pub names: &'a Names<'a>,
}

/// Every `[[at]]`, in order of time, in any order in the file.
pub(super) fn changes(
    root: &Table,
    end: Duration,
    parts: &Parts<'_>,
    gathered: &mut Gathered,
) -> Vec<Change> {
    let Parts { link, paths, udp, frame, names, .. } = *parts;
    let mut all: Vec<Change> = Vec::new();
    let (mut known, mut count) = (HashSet::new(), 0);
    for (node, table) in tables(root, "at", gathered) {
        let before = gathered.count();
        for entry in table.entries.iter().filter(|entry| !KEYS.contains(&entry.key.as_str())) {
            unknown_key(&format!("at.{}", entry.key), &entry.key, &entry.place, KEYS, gathered);
        }
        let time = time(table, &node.place, end, gathered);
        let room = Room::named(root, "link", link, frame);
        let all_udp = || udp.iter().map(|(udp, _)| udp);
        let own = table.entry("aqm");
        let own = own.and_then(|entry| aqm(entry, "at.aqm", room, all_udp(), gathered));
        let rate = table.entry("link").and_then(|entry| {
            let table = inner(entry, "at.link", "rate", gathered)?;
            only(table, "at.link", &["rate"], LINK, gathered);
            rate(table, "link", link, gathered)
        });
        let (uplink_rate, uplink_aqm) = match table.entry("uplink") {
            Some(entry) => up(entry, root, parts, gathered),
            None => (None, None),
        };
        let rtts = table.entry("group").map_or(Vec::new(), |e| rtts(e, names, gathered));
        let stretches = table.entry("path");
        let stretches =
            stretches.map_or(Vec::new(), |entry| stretches_of(entry, root, paths, gathered));
        if gathered.count() > before {
            continue;
        }
        let Some(time) = time else { continue };
        // Without a group or path that is wrong in itself, and was complained of.
        let all_are_right = names.groups.len() == names.sound
            && paths.len() == root.get("path").and_then(Node::list).map_or(0, <[Node]>::len);
        let change =
            Change { time, aqm: own, rate, uplink_aqm, uplink_rate, rtts, paths: stretches };
        if What::of(&change).next().is_none() && all_are_right {
            let help = "add `aqm`, `link.rate`, `uplink.rate`, `uplink.aqm`, `group.NAME.rtt`, \
                        `path.NAME.loss` or `path.NAME.jitter`";
            let help = help.to_owned();
            gathered.add(&node.place, "`at`: nothing changes", Some(help));
            continue;
        }
        count += What::of(&change).count();
        if count > MOST_CHANGES {
            let message = format!("`at`: more than {MOST_CHANGES} changes, each group counted");
            gathered.add(&node.place, message, None);
            return all;
        }
        let twice = What::of(&change).find(|what| known.contains(&(time, *what)));
        if let Some(what) = twice {
            let what = what.name();
            let message = format!("`at`: another `[[at]]` changes {what} at {time} too");
            gathered.add(&node.place, message, Some("keep one of the two".to_owned()));
        }
        known.extend(What::of(&change).map(|what| (time, what)));
        all.push(change);
    }
    all.sort_by_key(|change| change.time);
    all
}

fn time(table: &Table, place: &Place, end: Duration, gathered: &mut Gathered) -> Option<Time> {
    let Some(node) = table.get("time") else {
        let message = "`at.time` is missing: when it changes, such as \"10s\"";
        gathered.add(place, message, None);
        return None;
    };
    match duration(node, Duration::from_nanos(1), LONGEST) {
        Ok(time) if time < end => Some(Time::ZERO + time),
        Ok(time) => {
            let message = format!("`at.time`: {time} is not before the end of the run at {end}");
            gathered.add(&node.place, message, None);
            None
        }
        Err(refusal) => {
            refusal.report("at.time", node, gathered);
            None
        }
    }
}

/// A discipline, for these UDP sources among others.
fn aqm<'a>(
    entry: &Entry,
    path: &str,
    link: Option<Room>,
    udp: impl Iterator<Item = &'a Udp>,
    gathered: &mut Gathered,
) -> Option<l4s_aqm::Config> {
    let Some(table) = settings::as_table(&entry.value) else {
        Refusal::expected("a name such as \"codel\", or a table such as { kind = \"codel\" }")
            .report(path, &entry.value, gathered);
        return None;
    };
    let place = &entry.value.place;
    let (config, limit) = discipline(&table, place, path, None, link, gathered)?;
    limit_for_a_packet(Some(&table), path, limit, udp, gathered);
    Some(config)
}

/// Rate and discipline of the uplink.
fn up(
    entry: &Entry,
    root: &Table,
    parts: &Parts<'_>,
    gathered: &mut Gathered,
) -> (Option<Rate>, Option<l4s_aqm::Config>) {
    if root.get("uplink").is_none() {
        let message = "`at.uplink`: there is no `[uplink]`";
        let help = "add\n  [uplink]\n  rate = \"10mbit\"".to_owned();
        gathered.add(&entry.place, message, Some(help));
        return (None, None);
    }
    let Some(table) = inner(entry, "at.uplink", "rate", gathered) else { return (None, None) };
    only(table, "at.uplink", &["rate", "aqm"], LINK, gathered);
    let Parts { uplink, udp, frame, .. } = *parts;
    let link = uplink.map(|uplink| &uplink.link);
    let passing = udp.iter().map(|(udp, _)| udp).filter(|udp| udp.direction == Direction::Up);
    let room = Room::named(root, "uplink", link, frame);
    let own = table.entry("aqm");
    let own = own.and_then(|entry| aqm(entry, "at.uplink.aqm", room, passing, gathered));
    (rate(table, "uplink", link, gathered), own)
}

/// The table of `at.link`, `at.uplink` or `at.group`.
fn inner<'a>(
    entry: &'a Entry,
    path: &str,
    inside: &str,
    gathered: &mut Gathered,
) -> Option<&'a Table> {
    let table = entry.value.table();
    if table.is_none() {
        let message =
            format!("`{path}`: found {}, expected `{path}.{inside}`", entry.value.found());
        gathered.add(&entry.value.place, message, None);
    }
    table
}

/// The rate in the table of the link of this name.
fn rate(table: &Table, name: &str, link: Option<&Link>, gathered: &mut Gathered) -> Option<Rate> {
    let node = table.get("rate")?;
    let path = format!("at.{name}.rate");
    if link.is_some_and(|link| link.trace.is_some()) {
        let message =
            format!("`{path}`: the link follows `{name}.trace`, which has rates of its own");
        let help = "leave out one of them, or write the change into the trace".to_owned();
        gathered.add(&node.place, message, Some(help));
        return None;
    }
    if let Some(radio) = link.and_then(|link| link.radio.as_ref()) {
        let radio = radio.name();
        let message =
            format!("`{path}`: the link is `{name}.{radio}`, which has a rate of its own");
        gathered.add(&node.place, message, Some("leave out one of them".to_owned()));
        return None;
    }
    let rate = quantity(node, LOWEST_RATE, HIGHEST_RATE);
    rate.map_err(|refusal| refusal.report(&path, node, gathered)).ok()
}

fn rtts(entry: &Entry, names: &Names<'_>, gathered: &mut Gathered) -> Vec<(usize, Duration)> {
    let Some(table) = inner(entry, "at.group", "NAME.rtt", gathered) else { return Vec::new() };
    let (mut of_all, mut rtts) = (None, BTreeMap::new());
    for entry in &table.entries {
        let path = format!("at.group.{}", entry.key);
        let before = gathered.count();
        let group = match entry.key.as_str() {
            "*" => None,
            name => names.group(name, &path, &entry.place, gathered),
        };
        if gathered.count() > before {
            continue;
        }
        let Some(table) = inner(entry, &path, "rtt", gathered) else { continue };
        only(table, &path, &["rtt"], GROUP, gathered);
        let Some(node) = table.get("rtt") else { continue };
        match duration(node, LEAST_RTT, MOST_RTT) {
            Ok(rtt) if entry.key == "*" => of_all = Some(rtt),
            Ok(rtt) => rtts.extend(group.map(|group| (group, rtt))),
            Err(refusal) => refusal.report(&format!("{path}.rtt"), node, gathered),
        }
    }
    // A name says more than `*`, whichever comes first.
    for group in (0..names.sound).filter(|_| of_all.is_some()) {
        rtts.entry(group).or_insert_with(|| of_all.unwrap_or_default());
    }
    rtts.into_iter().collect()
}

/// Loss and jitter of paths.
fn stretches_of(
    entry: &Entry,
    root: &Table,
    paths: &[Path],
    gathered: &mut Gathered,
) -> Vec<(usize, PathChange)> {
    let Some(table) = inner(entry, "at.path", "NAME.loss", gathered) else { return Vec::new() };
    let written = source_names(root, "path");
    let mut changes: BTreeMap<usize, PathChange> = BTreeMap::new();
    // A name says more than `*`, whichever comes first.
    let (all, named): (Vec<_>, Vec<_>) = table.entries.iter().partition(|entry| entry.key == "*");
    for entry in all.into_iter().chain(named) {
        let name = entry.key.as_str();
        let path = format!("at.path.{name}");
        if written.is_empty() || (name != "*" && !written.contains(&name)) {
            let among = match &written[..] {
                [] => String::new(),
                names => format!(", expected {}", listed(names)),
            };
            let message = format!("`{path}`: there is no `[[path]]` `{name}`{among}");
            gathered.add(&entry.place, message, did_you_mean(name, written.iter().copied()));
            continue;
        }
        let Some(table) = inner(entry, &path, "loss", gathered) else { continue };
        only(table, &path, &["loss", "jitter"], PATH, gathered);
        let loss = read_key(table, &path, "loss", loss, gathered);
        let jitter = read_key(table, &path, "jitter", jitter, gathered);
        if loss.is_none() && jitter.is_none() {
            continue;
        }
        let places = paths.iter().enumerate().filter(|(_, path)| name == "*" || path.name == name);
        for (place, _) in places {
            let change = changes.entry(place).or_default();
            change.loss = loss.clone().or(change.loss.take());
            change.jitter = jitter.or(change.jitter);
        }
    }
    changes.into_iter().collect()
}

/// The value of a key, if the table has it and it is one.
fn read_key<T>(
    table: &Table,
    path: &str,
    key: &str,
    read: impl Fn(&Node) -> Result<T, Refusal>,
    gathered: &mut Gathered,
) -> Option<T> {
    let node = table.get(key)?;
    read(node).map_err(|refusal| refusal.report(&format!("{path}.{key}"), node, gathered)).ok()
}

/// Refuses every key but `keys`: the other `fields` of that table in words of their own.
fn only<T>(table: &Table, path: &str, keys: &[&str], fields: &[Field<T>], gathered: &mut Gathered) {
    for entry in table.entries.iter().filter(|entry| !keys.contains(&entry.key.as_str())) {
        let full = format!("{path}.{}", entry.key);
        if fields.iter().any(|field| field.name == entry.key) {
            let message = format!("`{full}` cannot change in mid-run, expected {}", listed(keys));
            gathered.add(&entry.place, message, None);
        } else {
            unknown_key(&full, &entry.key, &entry.place, keys, gathered);
        }
    }
}
