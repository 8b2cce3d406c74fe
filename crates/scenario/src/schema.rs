//! The allowed contents of a scenario, and the conditions on a whole one.

mod app;
mod assert;
mod at;
mod group;
mod hop;
mod instances;
mod kernel;
mod link;
mod path;
mod program;
mod radio;
mod udp;
mod uplink;
mod web;

use std::collections::{HashMap, HashSet};

use l4s_model::{Group, Link, Scenario, Udp};
use l4s_units::Duration;

pub(crate) use app::{APP, AppDraft};
pub use assert::Assert;
pub(crate) use assert::{ASSERT, AssertDraft, assertion};
pub(crate) use group::{GROUP, GroupDraft, Start};
pub(crate) use hop::{HOP, HopDraft};
pub(crate) use instances::add_instances;
pub(crate) use kernel::KERNEL;
pub(crate) use link::{LINK, LinkDraft, TRACE, set_limit};
pub(crate) use path::{PATH, PathDraft, jitter_item, loss_item};
pub(crate) use program::{INSTEAD, PROGRAM, ProgramDraft, RUNNING};
pub(crate) use radio::{CELL, RADIOS, WIFI};
pub(crate) use udp::UDP;
pub(crate) use uplink::{add_other_halves, uplink_draft, uplink_fields};
pub(crate) use web::{WEB, WebDraft};

use crate::catalog;
use crate::fault::{Gathered, Place, Source, did_you_mean, listed};
use crate::field::{Field, LONGEST, Refusal, count, duration, flag, is_misspelt, line, read_table};
use crate::files::Readers;
use crate::tree::{self, Node, Table, text};

/// The shortest run.
const SHORTEST: Duration = Duration::from_millis(1);
/// The most TCP flows in one run.
const MOST_FLOWS: u64 = 1_000_000;
/// The most links of all `[[hop]]` in one run.
const MOST_LINKS: u64 = 100_000;
/// The most groups and UDP sources in one run; also the most `[[web]]`, `[[app]]`,
/// `[[hop]]` and `[[path]]`.
const MOST_SOURCES: usize = 1000;

/// The top of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub name: String,
    pub question: Option<String>,
    pub duration: Duration,
    pub warmup: Option<Duration>,
    pub seed: u64,
    pub host_jitter: bool,
}

pub(crate) const HEAD: &[Field<Head>] = &[
    Field {
        name: "name",
        doc: "its name in results",
        required: false,
        read: |head, node| line(node, 100).map(|name| head.name = name),
        write: |head| Some(text(&head.name)),
    },
    Field {
        name: "question",
        doc: "the question that it answers, for `l4s list`",
        required: false,
        read: |head, node| line(node, 200).map(|question| head.question = Some(question)),
        write: |head| head.question.as_deref().map(text),
    },
    Field {
        name: "duration",
        doc: "how long it runs, warm-up included",
        required: false,
        read: |head, node| duration(node, SHORTEST, LONGEST).map(|d| head.duration = d),
        write: |head| Some(text(head.duration)),
    },
    Field {
        name: "warmup",
        doc: "the first part, which no statistic counts; a quarter of the duration unless set",
        required: false,
        read: |head, node| duration(node, Duration::ZERO, LONGEST).map(|d| head.warmup = Some(d)),
        write: |head| head.warmup.map(text),
    },
    Field {
        name: "seed",
        doc: "of every random stream",
        required: false,
        read: |head, node| count(node, 0, i64::MAX as u64).map(|seed| head.seed = seed),
        write: |head| Some(head.seed.into()),
    },
    Field {
        name: "host_jitter",
        doc: "let hosts take a random time of some us for each acknowledgement, and UDP send at random times",
        required: false,
        read: |head, node| flag(node).map(|jitter| head.host_jitter = jitter),
        write: |head| Some(head.host_jitter.into()),
    },
];

/// Tables of the top, apart from [`HEAD`].
pub(crate) const TABLES: &[&str] = &[
    "link", "aqm", "uplink", "group", "web", "app", "program", "udp", "hop", "path", "at",
    "assert", "kernel", "sweep",
];

/// The name of a group or source: part of keys such as `group.A.rtt`.
fn source_name(node: &Node) -> Result<String, Refusal> {
    match line(node, 64) {
        Ok(name) if !name.contains(['.', '*', '=']) && name.trim() == name => Ok(name),
        _ => Err(Refusal::expected(
            "a name of 1 to 64 characters without `.`, `*`, `=`, control characters or outer blanks",
        )),
    }
}

/// The one table of a name; a list of tables is refused.
fn one_table<'a>(node: &'a Node, path: &str, gathered: &mut Gathered) -> Option<&'a Table> {
    if node.table().is_none() {
        let message = format!("`{path}`: found {}, expected one table `[{path}]`", node.found());
        gathered.add(&node.place, message, None);
    }
    node.table()
}

/// The tables of a name that may occur often.
fn tables<'a>(root: &'a Table, path: &str, gathered: &mut Gathered) -> Vec<(&'a Node, &'a Table)> {
    let Some(node) = root.get(path) else { return Vec::new() };
    let items = node.list().unwrap_or_default();
    let tables: Vec<_> = items.iter().filter_map(|n| n.table().map(|table| (n, table))).collect();
    if node.list().is_none() || tables.len() < items.len() {
        let found = if node.table().is_some() { "one table".to_owned() } else { node.found() };
        let message = format!("`{path}`: found {found}, expected a list of tables");
        gathered.add(&node.place, message, Some(format!("write `[[{path}]]`")));
    }
    tables
}

/// As [`tables`]; none where there are more than anybody needs.
fn few_tables<'a>(
    root: &'a Table,
    path: &str,
    gathered: &mut Gathered,
) -> Vec<(&'a Node, &'a Table)> {
    let tables = tables(root, path, gathered);
    match tables.get(MOST_SOURCES) {
        Some((first_too_many, _)) => {
            let message = format!("more than {MOST_SOURCES} `[[{path}]]`");
            gathered.add(&first_too_many.place, message, None);
            Vec::new()
        }
        None => tables,
    }
}

/// The contents of a text.
pub(crate) struct Described {
    pub scenario: Scenario,
    pub asserts: Vec<Assert>,
    pub question: Option<String>,
}

/// The scenario that `root` describes; `None` where `gathered` says why there is none.
pub(crate) fn scenario(
    root: &Table,
    default_name: &str,
    readers: &Readers<'_>,
    gathered: &mut Gathered,
) -> Option<Described> {
    let before = gathered.count();
    let top = Place::default();
    let mut head = Head {
        name: default_name.to_owned(),
        question: None,
        duration: Duration::from_secs(60),
        warmup: None,
        seed: 1,
        host_jitter: true,
    };
    read_table(root, &top, "", HEAD, TABLES, &mut head, gathered);
    // Nothing is said to be too late for a duration that is none.
    let is_refused = |node: &Node| duration(node, SHORTEST, LONGEST).is_err();
    let end = match root.get("duration").is_some_and(is_refused) {
        true => Duration::MAX,
        false => head.duration,
    };

    let link = link::link(root, readers, gathered);
    let groups = group::groups(root, end, gathered);
    let udp = udp::udp(root, end, gathered);
    let frame = link::largest_frame(&groups, &udp);
    let kernel = kernel::kernel(root, gathered);
    let uplink = uplink::uplink(root, &groups, &udp, readers, gathered);
    let aqm = link::aqm(root, link.as_ref(), frame, gathered);
    let names = Names::new(root, &groups, &udp);
    let before_web = gathered.count();
    let web = web::web(root, end, link.as_ref(), &names, gathered);
    let apps = app::apps(root, end, &groups, &names, gathered);
    let programs = program::programs(root, end, &groups, &names, gathered);
    let web_is_right = gathered.count() == before_web;
    let hops = hop::hops(root, &groups, &udp, &web, &names, gathered);
    let links = radio::Links { link: link.as_ref(), uplink: uplink.as_ref(), hops: &hops };
    radio::refuse_long_packets(links, &groups, &udp, gathered);
    let paths = path::paths(root, &groups, &udp, &names, gathered);
    let parts = at::Parts {
        link: link.as_ref(),
        uplink: uplink.as_ref(),
        paths: &paths,
        udp: &udp,
        frame,
        names: &names,
    };
    let changes = at::changes(root, end, &parts, gathered);
    if let Some((_, limit)) = &aqm {
        let table = root.get("aqm").and_then(Node::table);
        link::limit_for_a_packet(table, "aqm", *limit, udp.iter().map(|(udp, _)| udp), gathered);
    }
    sources(root, link.as_ref(), &groups, &udp, web_is_right, gathered);

    let warmup = head.warmup.unwrap_or(head.duration / 4);
    if warmup >= end {
        let place = ["warmup", "duration"].iter().find_map(|key| root.get(key));
        let message = format!(
            "`warmup`: {warmup} leave nothing of the duration of {} to measure",
            head.duration
        );
        let help = "a warmup shorter than the duration; without `warmup` it is a quarter of it";
        gathered.add(place.map_or(&top, |node| &node.place), message, Some(help.to_owned()));
    }
    if gathered.count() > before {
        return None;
    }
    let (mut link, (aqm, limit)) = (link?, aqm?);
    // Without `link.buffer` the profile's own limit is the buffer.
    if root.get("link").and_then(Node::table).is_some_and(|table| table.get("buffer").is_none()) {
        link.buffer = limit;
    }
    let scenario = Scenario {
        name: head.name,
        duration: head.duration,
        warmup,
        seed: head.seed,
        host_jitter: head.host_jitter,
        link,
        aqm,
        uplink,
        hops,
        paths,
        groups: groups.into_iter().map(|(group, _)| group).collect(),
        udp: udp.into_iter().map(|(udp, _)| udp).collect(),
        web,
        apps,
        programs,
        changes,
        kernel,
    };
    let roster = scenario.roster();
    let links = scenario.hops.iter().map(|hop| roster.links_of(hop) as u64).sum::<u64>();
    if links > MOST_LINKS {
        let place = root.get("hop").map_or(&top, |node| &node.place);
        let message = format!("`hop`: {links} links in all, expected at most {MOST_LINKS}");
        gathered.add(place, message, None);
        return None;
    }
    let asserts = assert::asserts(root, &scenario, gathered);
    Some(Described { scenario, asserts, question: head.question })
}

/// The discipline that `table` describes by itself, of this kind unless it names one.
pub(crate) fn discipline(
    table: &Table,
    kind: &'static str,
    gathered: &mut Gathered,
) -> Option<l4s_aqm::Config> {
    let place = Place::default();
    let (config, limit) = link::discipline(table, &place, "aqm", Some(kind), None, gathered)?;
    link::limit_for_a_packet(Some(table), "aqm", limit, [].iter(), gathered);
    Some(config)
}

/// The conditions on all sources of a run together, and the buffer for them.
fn sources(
    root: &Table,
    link: Option<&Link>,
    groups: &[(Group, &Table)],
    udp: &[(Udp, &Table)],
    web_is_right: bool,
    gathered: &mut Gathered,
) {
    let place = |key: &str| root.get(key).map(|node| node.place.clone()).unwrap_or_default();
    let written = |key: &str| root.get(key).and_then(Node::list).map_or(0, <[Node]>::len);
    let malformed = |key: &str| root.get(key).is_some_and(|node| node.list().is_none());
    let names: Vec<&str> = HEAD.iter().map(|f| f.name).chain(TABLES.iter().copied()).collect();
    let misspelt = |name: &str| is_misspelt(name, root, &names);
    if malformed("group") || malformed("udp") || misspelt("group") || misspelt("udp") {
        // Said already.
    } else if written("group") + written("udp") == 0 {
        let key = if root.get("group").is_some() { "group" } else { "udp" };
        let help = "add\n  [[group]]\n  name = \"A\"\n  cc   = \"cubic\"\n  rtt  = \"10ms\"";
        let message = "nothing sends: expected at least one `[[group]]` or `[[udp]]`";
        gathered.add(&place(key), message, Some(help.to_owned()));
    } else if written("group") == groups.len()
        && ["udp", "web", "app", "program"].iter().all(|key| written(key) == 0)
        && web_is_right
        && groups.iter().all(|(group, _)| group.starts.is_empty())
    {
        let message = "nothing sends: every `flows` is 0 and there is no `[[web]]`, `[[app]]`, \
             `[[program]]` or `[[udp]]`";
        gathered.add(&place("group"), message, None);
    }
    if written("group") + written("udp") > MOST_SOURCES {
        let message = format!("more than {MOST_SOURCES} groups and UDP sources");
        gathered.add(&place("group"), message, Some("let a group have more `flows`".to_owned()));
    }
    let mut flows = 0;
    for (group, table) in groups {
        let before = flows;
        flows += group.starts.len() as u64;
        if flows > MOST_FLOWS && before <= MOST_FLOWS {
            let place = table.get("flows").map(|node| node.place.clone()).unwrap_or_default();
            let message = format!("`group.flows`: more than {MOST_FLOWS} flows in all groups");
            gathered.add(&place, message, None);
        }
    }
    let mut names = HashSet::new();
    let named = groups.iter().map(|(group, table)| (&group.name, table));
    for (name, table) in named.chain(udp.iter().map(|(udp, table)| (&udp.name, table))) {
        if !names.insert(name) {
            let message = format!("two groups or UDP sources are called `{name}`");
            let place = table.get("name").map(|node| node.place.clone()).unwrap_or_default();
            gathered.add(&place, message, Some("give each its own name".to_owned()));
        }
    }
    if let Some(table) = root.get("link").and_then(Node::table) {
        let udp = udp.iter().map(|(udp, _)| udp);
        link::room_for_a_packet(table, "link", link.map(|link| link.rate), udp, gathered);
    }
}

/// Every key that a sweep or `--set` may set, as the groups and sources of `root` have them.
pub(crate) fn settable(root: &Table) -> Vec<String> {
    let mut keys: Vec<String> = HEAD.iter().map(|f| f.name.to_owned()).collect();
    keys.extend(LINK.iter().map(|f| format!("link.{}", f.name)));
    for link in ["link", "uplink"] {
        keys.extend(RADIOS.iter().map(|radio| format!("{link}.{radio}")));
        keys.extend(WIFI.iter().map(|f| format!("{link}.wifi.{}", f.name)));
        keys.extend(CELL.iter().map(|f| format!("{link}.cell.{}", f.name)));
    }
    keys.extend(KERNEL.iter().map(|f| format!("kernel.{}", f.name)));
    keys.extend(["aqm", "aqm.kind", "aqm.profile"].map(str::to_owned));
    let mut settings = Vec::new();
    for setting in
        catalog::disciplines().into_iter().flat_map(|d| d.profiles).flat_map(|p| p.settings)
    {
        if !settings.contains(&setting.name) {
            settings.push(setting.name);
        }
    }
    keys.extend(settings.iter().map(|name| format!("aqm.{name}")));
    keys.extend(uplink_fields().iter().map(|f| format!("uplink.{}", f.name)));
    keys.extend(["uplink.aqm", "uplink.aqm.kind", "uplink.aqm.profile"].map(str::to_owned));
    keys.extend(settings.iter().map(|name| format!("uplink.aqm.{name}")));
    let fields = [
        ("group", GROUP.iter().map(|f| f.name).chain(["cc"]).collect::<Vec<_>>()),
        ("web", WEB.iter().map(|f| f.name).collect()),
        ("app", APP.iter().map(|f| f.name).collect()),
        ("program", PROGRAM.iter().map(|f| f.name).collect()),
        ("udp", UDP.iter().map(|f| f.name).collect()),
        ("hop", HOP.iter().map(|f| f.name).chain(["aqm"]).collect()),
        ("path", PATH.iter().map(|f| f.name).collect()),
    ];
    for (list, fields) in fields {
        let mut names = source_names(root, list);
        if !names.is_empty() {
            names.push("*");
        }
        for name in names {
            keys.extend(fields.iter().map(|field| format!("{list}.{name}.{field}")));
        }
    }
    let changes = root.get("at").and_then(Node::list).map_or(0, <[Node]>::len);
    for at in 1..=changes {
        keys.extend(
            ["time", "aqm", "link.rate", "uplink.rate", "uplink.aqm"]
                .map(|key| format!("at.{at}.{key}")),
        );
        let groups = source_names(root, "group").into_iter();
        keys.extend(groups.map(|name| format!("at.{at}.group.{name}.rtt")));
        for name in source_names(root, "path") {
            keys.extend(["loss", "jitter"].map(|key| format!("at.{at}.path.{name}.{key}")));
        }
    }
    keys
}

/// Whether the tables of the list go by the name of their group: then several may have one name.
fn is_of_group(list: &str) -> bool {
    matches!(list, "web" | "app")
}

/// The key that names a table of the list.
pub(crate) fn naming_key(list: &str) -> &'static str {
    if is_of_group(list) { "group" } else { "name" }
}

/// The names of the groups, UDP sources, further links or paths of `root`, or of the groups that have
/// downloads or applications.
pub(crate) fn source_names<'a>(root: &'a Table, list: &str) -> Vec<&'a str> {
    let nodes = root.get(list).and_then(Node::list).unwrap_or_default();
    let names = nodes.iter().filter_map(|node| node.table()?.get(naming_key(list))?.text());
    let mut known = HashSet::new();
    names.filter(|name| !is_of_group(list) || known.insert(*name)).collect()
}

/// The names of the groups of a scenario, as they are written, whether or not the rest of it is right.
pub fn group_names(text: &str) -> Vec<String> {
    let source = Source { name: String::new(), text: text.to_owned() };
    let root = tree::parse(&source, 0, &mut Gathered::default());
    source_names(&root, "group").into_iter().map(str::to_owned).collect()
}

/// Whether a scenario says its name, whether or not the rest of it is right.
pub fn has_name(text: &str) -> bool {
    let source = Source { name: String::new(), text: text.to_owned() };
    tree::parse(&source, 0, &mut Gathered::default()).get("name").is_some()
}

/// The groups and UDP sources by name, for references.
pub(crate) struct Names<'a> {
    /// Groups, as they are written.
    groups: Vec<&'a str>,
    /// Groups and then UDP sources, as they are written.
    sources: Vec<&'a str>,
    written_groups: HashSet<&'a str>,
    written: HashSet<&'a str>,
    /// Of those that are right in themselves the place, among the groups and then the UDP sources.
    places: HashMap<&'a str, usize>,
    /// How many groups are right in themselves.
    sound: usize,
}

impl<'a> Names<'a> {
    fn new(root: &'a Table, groups: &'a [(Group, &Table)], udp: &'a [(Udp, &Table)]) -> Names<'a> {
        let named = source_names(root, "group");
        let mut sources = named.clone();
        sources.extend(source_names(root, "udp"));
        let all = groups.iter().map(|(group, _)| group.name.as_str());
        let all = all.chain(udp.iter().map(|(udp, _)| udp.name.as_str()));
        let mut places = HashMap::new();
        for (place, name) in all.enumerate() {
            places.entry(name).or_insert(place);
        }
        let set = |names: &[&'a str]| names.iter().copied().collect();
        let (written_groups, written) = (set(&named), set(&sources));
        Names { groups: named, sources, written_groups, written, places, sound: groups.len() }
    }

    /// The place of a group. `None` where there is none of that name, which is reported at `node`
    /// as a fault of `path`, or where it has faults itself, which were reported already.
    fn group(
        &self,
        name: &str,
        path: &str,
        place: &Place,
        gathered: &mut Gathered,
    ) -> Option<usize> {
        if !self.written_groups.contains(name) {
            gathered.add_with(place, || {
                let among = listed_groups(&self.groups);
                let message = format!("`{path}`: there is no group `{name}`{among}");
                (message, did_you_mean(name, self.groups.iter().copied()))
            });
            return None;
        }
        self.places.get(name).copied().filter(|place| *place < self.sound)
    }
}

/// `, expected one of these`, where there are any.
fn listed_groups(names: &[&str]) -> String {
    if names.is_empty() { String::new() } else { format!(", expected {}", listed(names)) }
}

/// `did you mean …?` among the settable keys.
pub(crate) fn near_key(found: &str, root: &Table) -> Option<String> {
    let keys = settable(root);
    did_you_mean(found, keys.iter().map(String::as_str))
}
