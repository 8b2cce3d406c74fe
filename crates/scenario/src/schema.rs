//! What may stand in a scenario, and what a whole one must satisfy.

use std::collections::HashSet;

use l4s_units::param::Configurable;
use l4s_units::{Bytes, Duration, Ecn, Rate, Time};

use crate::fault::{Gathered, Place, did_you_mean};
use crate::field::{
    Field, Refusal, bytes_text, codepoint, count, duration, instant, line, quantity, read_table,
    word,
};
use crate::tree::{Entry, Item, Node, Table, quoted};
use crate::{Buffer, EcnMode, Group, Link, Scenario, Udp, catalog, settings};

/// The longest run.
pub(crate) const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// The most TCP flows in one run.
const MOST_FLOWS: u64 = 100_000;
/// The most groups and UDP sources in one run.
const MOST_SOURCES: usize = 1000;
/// A full packet on the link: what the smallest buffer holds.
const PACKET: Bytes = l4s_aqm::MTU;
/// Ethernet's share of it.
const ETHERNET: Bytes = Bytes::new(14);

const KINDS_OF_ECN: [(&str, EcnMode); 4] = [
    ("off", EcnMode::Off),
    ("classic", EcnMode::Classic),
    ("l4s", EcnMode::L4s),
    ("auto", EcnMode::Auto),
];

/// The top of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub name: String,
    pub question: Option<String>,
    pub duration: Duration,
    pub warmup: Option<Duration>,
    pub seed: u64,
}

/// A group before its flows are counted out.
#[derive(Clone, Debug)]
pub(crate) struct GroupDraft {
    pub name: String,
    pub ecn: EcnMode,
    pub flows: u64,
    pub rtt: Duration,
    pub start: Start,
    pub size: Option<Bytes>,
}

/// When the flows of a group start.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Start {
    /// All at once.
    At(Time),
    /// One after the other, the first at 0.
    Every(Duration),
    /// Each at its own time.
    List(Vec<Time>),
}

pub(crate) const HEAD: &[Field<Head>] = &[
    Field {
        name: "name",
        doc: "what results call it",
        required: false,
        read: |head, node| line(node, 100).map(|name| head.name = name),
        write: |head| Some(quoted(&head.name)),
    },
    Field {
        name: "question",
        doc: "the question that it answers, for `l4s list`",
        required: false,
        read: |head, node| line(node, 200).map(|question| head.question = Some(question)),
        write: |head| head.question.as_deref().map(quoted),
    },
    Field {
        name: "duration",
        doc: "how long it runs, warm-up included",
        required: false,
        read: |head, node| {
            duration(node, Duration::from_millis(1), LONGEST).map(|d| head.duration = d)
        },
        write: |head| Some(quoted(&head.duration.to_string())),
    },
    Field {
        name: "warmup",
        doc: "the first part, which no statistic counts; a quarter of the duration unless set",
        required: false,
        read: |head, node| duration(node, Duration::ZERO, LONGEST).map(|d| head.warmup = Some(d)),
        write: |head| head.warmup.map(|warmup| quoted(&warmup.to_string())),
    },
    Field {
        name: "seed",
        doc: "of every random stream",
        required: false,
        read: |head, node| count(node, 0, i64::MAX as u64).map(|seed| head.seed = seed),
        write: |head| Some(head.seed.to_string()),
    },
];

pub(crate) const LINK: &[Field<Link>] = &[
    Field {
        name: "rate",
        doc: "bits per second, 14 B of Ethernet per packet included, such as \"40mbit\"",
        required: true,
        read: |link, node| {
            quantity(node, Rate::from_bps(1000), Rate::from_mbps(1_000_000))
                .map(|rate| link.rate = rate)
        },
        write: |link| Some(quoted(&link.rate.to_string())),
    },
    Field {
        name: "buffer",
        doc: "what may wait: packets (\"100p\"), bytes on the link, or time at the link's rate",
        required: false,
        read: |link, node| buffer(node).map(|buffer| link.buffer = buffer),
        write: |link| {
            Some(quoted(&match link.buffer {
                Buffer::Packets(n) => format!("{n}p"),
                Buffer::Bytes(size) => bytes_text(size),
                Buffer::Time(time) => time.to_string(),
            }))
        },
    },
    Field {
        name: "burst",
        doc: "what may be sent at once after idling: the bucket of the shaper, as htb's burst",
        required: false,
        read: |link, node| {
            quantity(node, Bytes::ZERO, Bytes::new(100_000_000)).map(|burst| link.burst = burst)
        },
        write: |link| Some(quoted(&bytes_text(link.burst))),
    },
];

pub(crate) const GROUP: &[Field<GroupDraft>] = &[
    Field {
        name: "name",
        doc: "what results call the group",
        required: true,
        read: |group, node| source_name(node).map(|name| group.name = name),
        write: |group| Some(quoted(&group.name)),
    },
    Field {
        name: "ecn",
        doc: "off, classic (ECT(0)), l4s (ECT(1)) or auto (what the congestion control asks for)",
        required: false,
        read: |group, node| word(node, &KINDS_OF_ECN).map(|ecn| group.ecn = ecn),
        write: |group| {
            KINDS_OF_ECN.iter().find(|(_, ecn)| *ecn == group.ecn).map(|(name, _)| quoted(name))
        },
    },
    Field {
        name: "flows",
        doc: "how many connections",
        required: false,
        read: |group, node| count(node, 0, MOST_FLOWS).map(|flows| group.flows = flows),
        write: |group| Some(group.flows.to_string()),
    },
    Field {
        name: "rtt",
        doc: "the base round trip, queue excluded, such as \"10ms\"",
        required: true,
        read: |group, node| {
            duration(node, Duration::from_micros(1), Duration::from_secs(60))
                .map(|rtt| group.rtt = rtt)
        },
        write: |group| Some(quoted(&group.rtt.to_string())),
    },
    Field {
        name: "start",
        doc: "when the flows start: a time, a list with one per flow, or { every = \"1s\" }",
        required: false,
        read: |group, node| start(node).map(|start| group.start = start),
        write: |group| Some(start_text(&group.start)),
    },
    Field {
        name: "size",
        doc: "bytes that each flow sends, or \"unlimited\"",
        required: false,
        read: |group, node| size(node).map(|size| group.size = size),
        write: |group| Some(quoted(&group.size.map_or("unlimited".to_owned(), bytes_text))),
    },
];

pub(crate) const UDP: &[Field<Udp>] = &[
    Field {
        name: "name",
        doc: "what results call the source",
        required: true,
        read: |udp, node| source_name(node).map(|name| udp.name = name),
        write: |udp| Some(quoted(&udp.name)),
    },
    Field {
        name: "rate",
        doc: "bits per second of IP, such as \"50mbit\"",
        required: true,
        read: |udp, node| {
            quantity(node, Rate::from_bps(1), Rate::from_mbps(1_000_000))
                .map(|rate| udp.rate = rate)
        },
        write: |udp| Some(quoted(&udp.rate.to_string())),
    },
    Field {
        name: "ecn",
        doc: "the codepoint that its packets carry: not-ect, ect0, ect1 or ce",
        required: false,
        read: |udp, node| codepoint(node).map(|ecn| udp.ecn = ecn),
        write: |udp| Some(quoted(&udp.ecn.to_string())),
    },
    Field {
        name: "packet",
        doc: "IP length of its packets",
        required: false,
        read: |udp, node| {
            quantity(node, Bytes::new(64), Bytes::new(9000)).map(|packet| udp.packet = packet)
        },
        write: |udp| Some(quoted(&bytes_text(udp.packet))),
    },
    Field {
        name: "start",
        doc: "when it starts",
        required: false,
        read: |udp, node| instant(node).map(|start| udp.start = start),
        write: |udp| Some(quoted(&udp.start.to_string())),
    },
    Field {
        name: "stop",
        doc: "when it stops, or \"end\" for the end of the run",
        required: false,
        read: |udp, node| match node.text() {
            Some("end") => {
                udp.stop = None;
                Ok(())
            }
            _ => instant(node).map(|stop| udp.stop = Some(stop)),
        },
        write: |udp| Some(quoted(&udp.stop.map_or("end".to_owned(), |stop| stop.to_string()))),
    },
];

/// Tables of the top, apart from [`HEAD`].
pub(crate) const TABLES: &[&str] = &["link", "aqm", "group", "udp", "sweep"];
/// Tables of the design that this version does not have.
const LATER: &[&str] = &["web", "app", "at"];

/// The name of a group or source: part of keys such as `group.A.rtt`.
fn source_name(node: &Node) -> Result<String, Refusal> {
    match line(node, 64) {
        Ok(name) if !name.contains(['.', '*', '=']) && name.trim() == name => Ok(name),
        _ => Err(Refusal::expected(
            "a name of 1 to 64 characters without `.`, `*`, `=`, control characters or outer blanks",
        )),
    }
}

fn buffer(node: &Node) -> Result<Buffer, Refusal> {
    let refusal = || {
        Refusal::expected(
            "packets such as \"100p\", a size such as \"150kb\", or a time such as \"50ms\", \
             room for one packet at least",
        )
    };
    let text = node.text().ok_or_else(refusal)?;
    if let Some(packets) = text.trim().strip_suffix(['p', 'P']) {
        return match packets.trim().parse() {
            Ok(n @ 1..=100_000_000) => Ok(Buffer::Packets(n)),
            _ => Err(refusal()),
        };
    }
    match (text.parse::<Bytes>(), text.parse::<Duration>()) {
        (Ok(size), _) if size <= Bytes::new(1_000_000_000_000) => Ok(Buffer::Bytes(size)),
        (_, Ok(time)) if time <= Duration::from_secs(1000) => Ok(Buffer::Time(time)),
        _ => Err(refusal()),
    }
}

fn start(node: &Node) -> Result<Start, Refusal> {
    let refusal = || {
        Refusal::expected(format!(
            "a time such as \"0s\", a list of times, or {{ every = \"1s\" }}, up to {LONGEST}"
        ))
    };
    match &node.item {
        Item::Text(_) => instant(node).map(Start::At),
        Item::List(items) => items
            .iter()
            .map(instant)
            .collect::<Result<_, _>>()
            .map(Start::List)
            .map_err(|_| refusal()),
        Item::Table(table) => match table.entries.as_slice() {
            [entry] if entry.key == "every" => duration(&entry.value, Duration::ZERO, LONGEST)
                .map(Start::Every)
                .map_err(|_| refusal()),
            _ => Err(refusal()),
        },
        _ => Err(refusal()),
    }
}

fn start_text(start: &Start) -> String {
    match start {
        Start::At(time) => quoted(&time.to_string()),
        Start::Every(span) => format!("{{ every = \"{span}\" }}"),
        Start::List(times) => {
            let times: Vec<_> = times.iter().map(|time| quoted(&time.to_string())).collect();
            format!("[{}]", times.join(", "))
        }
    }
}

fn size(node: &Node) -> Result<Option<Bytes>, Refusal> {
    if node.text() == Some("unlimited") {
        return Ok(None);
    }
    let most = Bytes::new(1_000_000_000_000_000);
    quantity(node, Bytes::new(1), most).map(Some).map_err(|refusal| Refusal {
        expected: format!("\"unlimited\" or {}", refusal.expected),
        ..refusal
    })
}

/// The scenario that `root` describes; `None` where `gathered` says why there is none.
pub(crate) fn scenario(
    root: &Table,
    default_name: &str,
    gathered: &mut Gathered,
) -> Option<(Scenario, Option<String>)> {
    let before = gathered.count();
    let top = Place::default();
    let mut head = Head {
        name: default_name.to_owned(),
        question: None,
        duration: Duration::from_secs(60),
        warmup: None,
        seed: 1,
    };
    for later in root.entries.iter().filter(|entry| LATER.contains(&entry.key.as_str())) {
        let message = format!("`{}` comes with a later version of l4s", later.key);
        gathered.add(&later.place, message, Some(format!("this is {}", env!("CARGO_PKG_VERSION"))));
    }
    let is_later = |entry: &&Entry| LATER.contains(&entry.key.as_str());
    let known = root.entries.iter().filter(|entry| !is_later(entry)).cloned().collect();
    let known = Table { entries: known, dotted: false };
    read_table(&known, &top, "", HEAD, TABLES, &mut head, gathered);

    let link = link(root, gathered);
    let groups = groups(root, head.duration, gathered);
    let udp = udp(root, head.duration, gathered);
    let aqm = aqm(root, link.as_ref(), gathered);
    sources(root, &groups, &udp, gathered);

    let warmup = head.warmup.unwrap_or(head.duration / 4);
    if warmup >= head.duration {
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
        link,
        aqm,
        groups: groups.into_iter().map(|(group, _)| group).collect(),
        udp: udp.into_iter().map(|(udp, _)| udp).collect(),
    };
    Some((scenario, head.question))
}

fn link(root: &Table, gathered: &mut Gathered) -> Option<Link> {
    let Some(node) = root.get("link") else {
        let help = "add\n  [link]\n  rate = \"40mbit\"".to_owned();
        gathered.add(&Place::default(), "`link` is missing: the bottleneck", Some(help));
        return None;
    };
    let table = one_table(node, "link", gathered)?;
    let before = gathered.count();
    let mut link = Link { rate: Rate::from_bps(0), buffer: Buffer::Packets(40_000), burst: PACKET };
    read_table(table, &node.place, "link", LINK, &[], &mut link, gathered);
    (gathered.count() == before).then_some(link)
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

/// The discipline, and what it lets wait.
fn aqm(
    root: &Table,
    link: Option<&Link>,
    gathered: &mut Gathered,
) -> Option<(l4s_aqm::Config, Buffer)> {
    let node = root.get("aqm");
    let place = node.map_or(Place::default(), |node| node.place.clone());
    let table = match node {
        None => Table::default(),
        Some(node) => match settings::as_table(node) {
            Some(table) => table,
            None => {
                one_table(node, "aqm", gathered);
                return None;
            }
        },
    };
    let kinds = catalog::discipline_kinds();
    let default = <l4s_aqm::dualpi2::Config as Configurable>::KIND;
    let kind = settings::kind(&table, &place, "aqm", &kinds, Some(default), gathered)?;
    let own_limit = table.get("limit").is_some();
    let has_buffer =
        root.get("link").and_then(Node::table).is_some_and(|table| table.get("buffer").is_some());
    let limit = link.filter(|_| has_buffer && !own_limit).map(|link| (link.buffer, link.rate));
    macro_rules! read {
        ($variant:ident, $module:ident) => {
            if kind == <l4s_aqm::$module::Config as Configurable>::KIND {
                let prepare = |config: &mut l4s_aqm::$module::Config| match limit {
                    Some((buffer, rate)) => set_limit(&mut config.limit, buffer, rate),
                    None => {}
                };
                return settings::configure(&table, &place, "aqm", prepare, gathered).map(
                    |config: l4s_aqm::$module::Config| {
                        let limit = as_buffer(&config.limit);
                        (l4s_aqm::Config::$variant(config), limit)
                    },
                );
            }
        };
    }
    l4s_aqm::for_each_discipline!(read);
    None
}

/// Lets `buffer` wait, and no more.
pub(crate) fn set_limit(limit: &mut l4s_aqm::Limit, buffer: Buffer, rate: Rate) {
    match buffer {
        Buffer::Packets(n) => limit.set_packets(n),
        Buffer::Bytes(size) => *limit = l4s_aqm::Limit::bytes(size),
        Buffer::Time(time) => *limit = l4s_aqm::Limit::bytes(rate.bytes_in(time)),
    }
}

fn as_buffer(limit: &l4s_aqm::Limit) -> Buffer {
    match limit.packets {
        u64::MAX => Buffer::Bytes(limit.bytes),
        n => Buffer::Packets(n),
    }
}

/// Every group, with the table it was read from.
fn groups<'a>(root: &'a Table, end: Duration, gathered: &mut Gathered) -> Vec<(Group, &'a Table)> {
    let tables = tables(root, "group", gathered);
    let mut groups = Vec::new();
    for (node, table) in tables.into_iter().take(MOST_SOURCES + 1) {
        let before = gathered.count();
        let mut draft = GroupDraft {
            name: String::new(),
            ecn: EcnMode::Auto,
            flows: 1,
            rtt: Duration::ZERO,
            start: Start::At(Time::ZERO),
            size: None,
        };
        read_table(table, &node.place, "group", GROUP, &["cc"], &mut draft, gathered);
        let cc = control(table, &node.place, gathered);
        if gathered.count() == before
            && let Some(cc) = cc
            && let Some(group) = counted_out(draft, cc, table, end, gathered)
        {
            groups.push((group, table));
        }
    }
    groups
}

fn control(table: &Table, place: &Place, gathered: &mut Gathered) -> Option<l4s_cc::Config> {
    let kinds = catalog::control_kinds();
    let path = "group.cc";
    let Some(node) = table.get("cc") else {
        let message = format!("`{path}` is missing: the congestion control");
        let help = format!("one of {}", crate::fault::listed(&kinds));
        gathered.add(place, message, Some(help));
        return None;
    };
    let Some(table) = settings::as_table(node) else {
        Refusal::expected("a name such as \"cubic\", or a table such as { kind = \"cubic\" }")
            .report(path, node, gathered);
        return None;
    };
    let kind = settings::kind(&table, &node.place, path, &kinds, None, gathered)?;
    macro_rules! read {
        ($variant:ident, $module:ident) => {
            if kind == <l4s_cc::$module::Config as Configurable>::KIND {
                return settings::configure(&table, &node.place, path, |_| {}, gathered)
                    .map(l4s_cc::Config::$variant);
            }
        };
    }
    l4s_cc::for_each_control!(read);
    None
}

/// The group with a start for each of its flows.
fn counted_out(
    draft: GroupDraft,
    cc: l4s_cc::Config,
    table: &Table,
    end: Duration,
    gathered: &mut Gathered,
) -> Option<Group> {
    let before = gathered.count();
    let place = |key: &str| table.get(key).map(|node| node.place.clone()).unwrap_or_default();
    let starts: Vec<Time> = match draft.start {
        Start::At(time) => vec![time; draft.flows as usize],
        Start::Every(span) => (0..draft.flows).map(|i| Time::ZERO + span * i).collect(),
        Start::List(times) => {
            if times.len() as u64 != draft.flows {
                let message = format!(
                    "`group.start`: found {} times, expected one for each of {} flows",
                    times.len(),
                    draft.flows
                );
                gathered.add(&place("start"), message, None);
            }
            times
        }
    };
    if let Some(late) = starts.iter().find(|start| start.since(Time::ZERO) >= end) {
        let message = format!("`group.start`: {late} is not before the end of the run at {end}");
        gathered.add(&place("start"), message, None);
    }
    if draft.ecn == EcnMode::Off && cc.wants() != l4s_cc::WantedEcn::Off {
        let message = format!("`group.ecn`: {} cannot do without ECN", cc.kind());
        let help = "leave `ecn` out, or choose another `cc`".to_owned();
        gathered.add(&place("ecn"), message, Some(help));
    }
    (gathered.count() == before).then_some(Group {
        name: draft.name,
        cc,
        ecn: draft.ecn,
        rtt: draft.rtt,
        starts,
        size: draft.size,
    })
}

/// Every UDP source, with the table it was read from.
fn udp<'a>(root: &'a Table, end: Duration, gathered: &mut Gathered) -> Vec<(Udp, &'a Table)> {
    let tables = tables(root, "udp", gathered);
    let mut sources = Vec::new();
    for (node, table) in tables.into_iter().take(MOST_SOURCES + 1) {
        let before = gathered.count();
        let mut udp = Udp {
            name: String::new(),
            rate: Rate::from_bps(0),
            ecn: Ecn::NotEct,
            packet: Bytes::new(1500),
            start: Time::ZERO,
            stop: None,
        };
        read_table(table, &node.place, "udp", UDP, &[], &mut udp, gathered);
        let place = |key: &str| table.get(key).map(|node| node.place.clone()).unwrap_or_default();
        if udp.start.since(Time::ZERO) >= end {
            let message =
                format!("`udp.start`: {} is not before the end of the run at {end}", udp.start);
            gathered.add(&place("start"), message, None);
        }
        if let Some(stop) = udp.stop.filter(|stop| *stop <= udp.start) {
            let message = format!("`udp.stop`: {stop} is not after the start at {}", udp.start);
            gathered.add(&place("stop"), message, None);
        }
        if gathered.count() == before {
            sources.push((udp, table));
        }
    }
    sources
}

/// What the sources of a run must satisfy together, and the buffer for them.
fn sources(
    root: &Table,
    groups: &[(Group, &Table)],
    udp: &[(Udp, &Table)],
    gathered: &mut Gathered,
) {
    let place = |key: &str| root.get(key).map(|node| node.place.clone()).unwrap_or_default();
    let written = |key: &str| root.get(key).and_then(Node::list).map_or(0, <[Node]>::len);
    let malformed = |key: &str| root.get(key).is_some_and(|node| node.list().is_none());
    if malformed("group") || malformed("udp") {
        // Said already.
    } else if written("group") + written("udp") == 0 {
        let key = if root.get("group").is_some() { "group" } else { "udp" };
        let help = "add\n  [[group]]\n  name = \"A\"\n  cc   = \"cubic\"\n  rtt  = \"10ms\"";
        let message = "nothing sends: expected at least one `[[group]]` or `[[udp]]`";
        gathered.add(&place(key), message, Some(help.to_owned()));
    } else if written("group") == groups.len()
        && udp.is_empty()
        && groups.iter().all(|(group, _)| group.starts.is_empty())
    {
        let message = "nothing sends: every `flows` is 0 and there is no `[[udp]]`";
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
    room_for_a_packet(root, udp, gathered);
}

/// Whether the buffer holds the largest packet there is.
fn room_for_a_packet(root: &Table, udp: &[(Udp, &Table)], gathered: &mut Gathered) {
    let Some(table) = root.get("link").and_then(Node::table) else { return };
    let (Some(node), Some(rate)) = (table.get("buffer"), table.get("rate")) else { return };
    let rate = rate.text().and_then(|text| text.parse::<Rate>().ok());
    let room = match (buffer(node), rate) {
        (Ok(Buffer::Bytes(size)), _) => size,
        (Ok(Buffer::Time(time)), Some(rate)) => rate.bytes_in(time),
        _ => return,
    };
    let largest = udp.iter().map(|(udp, _)| udp.packet + ETHERNET).max();
    let largest = largest.map_or(PACKET, |packet| packet.max(PACKET));
    if room < largest {
        let (found, largest) = (node.found(), bytes_text(largest));
        let message =
            format!("`link.buffer`: found {found}, expected room for a packet of {largest}");
        gathered.add(&node.place, message, None);
    }
}

/// Every key that a sweep or `--set` may set, as the groups and sources of `root` have them.
pub(crate) fn settable(root: &Table) -> Vec<String> {
    let mut keys: Vec<String> = HEAD.iter().map(|f| f.name.to_owned()).collect();
    keys.extend(LINK.iter().map(|f| format!("link.{}", f.name)));
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
    let fields = [
        ("group", GROUP.iter().map(|f| f.name).chain(["cc"]).collect::<Vec<_>>()),
        ("udp", UDP.iter().map(|f| f.name).collect()),
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
    keys
}

/// The names of the groups or UDP sources of `root`.
pub(crate) fn source_names<'a>(root: &'a Table, list: &str) -> Vec<&'a str> {
    let nodes = root.get(list).and_then(Node::list).unwrap_or_default();
    nodes.iter().filter_map(|node| node.table()?.get("name")?.text()).collect()
}

/// `did you mean …?` among the settable keys.
pub(crate) fn near_key(found: &str, root: &Table) -> Option<String> {
    let keys = settable(root);
    did_you_mean(found, keys.iter().map(String::as_str))
}
