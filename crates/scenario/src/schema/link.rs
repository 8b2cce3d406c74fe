//! `[link]` and `[aqm]`: the bottleneck and its queue.

use l4s_aqm::Limit;
use l4s_model::{AckFilter, Buffer, Capacity, Direction, Group, Link, Udp};
use l4s_trace::{MAX_PERIOD, Play};
use l4s_units::param::{Configurable, Kind, Param, Value};
use l4s_units::{Bytes, Duration, ETHERNET, Rate, packets};

use super::radio::{RADIOS, radio, refuse_beside};
use super::{HEAD, TABLES, one_table};
use crate::advice::HEADERS;
use crate::fault::{Gathered, Place};
use crate::field::{
    Field, Refusal, bytes_text, duration, is_misspelt, quantity, read_table, without_unit,
};
use crate::files::{Readers, bundled_names};
use crate::tree::{Entry, Item, Node, Table, text};
use crate::{catalog, settings};

/// A full packet on the link: the smallest buffer.
const PACKET: Bytes = l4s_aqm::MTU;
/// The largest one, in bytes.
const LARGEST_BUFFER: Bytes = Bytes::new(1_000_000_000_000);

/// The longest airtime of an aggregate. Those of WiFi and of cable modems are a few milliseconds.
const LONGEST_AIRTIME: Duration = Duration::from_millis(100);

/// The longest path to a file.
const LONGEST_NAME: usize = 4096;

/// The slowest and the fastest link.
pub(super) const LOWEST_RATE: Rate = Rate::from_bps(1000);
pub(super) const HIGHEST_RATE: Rate = Rate::from_mbps(1_000_000);

/// The keys of a trace.
pub(crate) const TRACE: [&str; 3] = ["trace", "trace_offset", "trace_scale"];

/// A link whose trace is a name still.
#[derive(Clone, Debug)]
pub(crate) struct LinkDraft {
    pub rate: Option<Rate>,
    pub trace: Option<String>,
    /// Without a trace it means nothing.
    pub offset: Option<Duration>,
    pub scale: Option<Rate>,
    /// Without rate and trace.
    pub link: Link,
    /// Of the uplink alone.
    pub ack_filter: AckFilter,
}

impl LinkDraft {
    /// A link of a scenario.
    pub fn of(link: &Link) -> LinkDraft {
        let draft = LinkDraft { link: link.clone(), ..LinkDraft::unset() };
        match &link.trace {
            _ if link.radio.is_some() => draft,
            Some(capacity) => LinkDraft {
                trace: Some(capacity.file().to_owned()),
                offset: Some(capacity.play().offset),
                scale: capacity.play().mean,
                ..draft
            },
            None => LinkDraft { rate: Some(link.rate), ..draft },
        }
    }

    /// Nothing is said yet.
    fn unset() -> LinkDraft {
        let (link, ack_filter) = (unset(), AckFilter::Off);
        LinkDraft { rate: None, trace: None, offset: None, scale: None, link, ack_filter }
    }
}

pub(crate) const LINK: &[Field<LinkDraft>] = &[
    Field {
        name: "rate",
        doc: "bits per second, 14 B of Ethernet per packet included, such as \"40mbit\"; or `trace`, or a table `wifi` or `cell`",
        required: false,
        read: |draft, node| {
            quantity(node, LOWEST_RATE, HIGHEST_RATE).map(|rate| draft.rate = Some(rate))
        },
        write: |draft| draft.rate.map(text),
    },
    Field {
        name: "trace",
        doc: "the capacity over time, in the place of `rate`: a bundled trace or a file, which repeats",
        required: false,
        read: |draft, node| trace(node).map(|name| draft.trace = Some(name)),
        write: |draft| draft.trace.as_ref().map(text),
    },
    Field {
        name: "trace_offset",
        doc: "the time within the trace at which it starts",
        required: false,
        read: |draft, node| {
            duration(node, Duration::ZERO, MAX_PERIOD).map(|offset| draft.offset = Some(offset))
        },
        write: |draft| draft.offset.map(text),
    },
    Field {
        name: "trace_scale",
        doc: "scales the trace to this mean rate; its own mean unless set",
        required: false,
        read: |draft, node| {
            quantity(node, LOWEST_RATE, HIGHEST_RATE).map(|mean| draft.scale = Some(mean))
        },
        write: |draft| draft.scale.map(text),
    },
    Field {
        name: "buffer",
        doc: "the buffer: packets (\"100p\"), bytes on the link, or time at the link's rate",
        required: false,
        read: |draft, node| buffer(node).map(|buffer| draft.link.buffer = buffer),
        write: |draft| Some(text(buffer_text(draft.link.buffer))),
    },
    Field {
        name: "burst",
        doc: "the burst that may be sent after idling: the bucket of the shaper, as htb's burst",
        required: false,
        read: |draft, node| {
            quantity(node, Bytes::ZERO, Bytes::new(100_000_000))
                .map(|burst| draft.link.burst = burst)
        },
        write: |draft| Some(text(bytes_text(draft.link.burst))),
    },
    Field {
        name: "ack_loss",
        doc: "the chance that an acknowledgement is lost on its way back, from 0 to 0.9",
        required: false,
        read: |draft, node| ack_loss(node).map(|chance| draft.link.ack_loss = chance),
        write: |draft| Some(Item::Float(draft.link.ack_loss)),
    },
    Field {
        name: "aggregation",
        doc: "the longest airtime of a burst in which it delivers, as WiFi does; \"0s\" for none",
        required: false,
        read: |draft, node| {
            duration(node, Duration::ZERO, LONGEST_AIRTIME)
                .map(|airtime| draft.link.aggregation = airtime)
        },
        write: |draft| Some(text(draft.link.aggregation)),
    },
];

/// The name of a trace. Which trace that is, is said by [`follow`].
fn trace(node: &Node) -> Result<String, Refusal> {
    match node.text() {
        Some(name)
            if !name.trim().is_empty()
                && name.len() <= LONGEST_NAME
                && !name.chars().any(char::is_control) =>
        {
            Ok(name.to_owned())
        }
        _ => Err(Refusal::expected(format!(
            "a bundled trace ({}) or a file, relative to the folder of the scenario (set by \
             `--set`: to the current one)",
            bundled_names()
        ))),
    }
}

fn ack_loss(node: &Node) -> Result<f64, Refusal> {
    match node.item {
        Item::Float(chance) if (0.0..=0.9).contains(&chance) => Ok(chance.abs()),
        Item::Integer(0) => Ok(0.0),
        _ => Err(Refusal::expected("a chance such as 0.01, from 0 to 0.9")),
    }
}

/// A buffer as the file says it.
pub(super) fn buffer_text(buffer: Buffer) -> String {
    match buffer {
        Buffer::Packets(n) => format!("{n}p"),
        Buffer::Bytes(size) => bytes_text(size),
        Buffer::Time(time) => time.to_string(),
    }
}

pub(super) fn buffer(node: &Node) -> Result<Buffer, Refusal> {
    let refusal = |help| Refusal {
        expected:
            "packets such as \"100p\", a size such as \"150kb\", or a time such as \"50ms\", \
                   room for one packet at least"
                .to_owned(),
        help,
    };
    let text = node.text().ok_or_else(|| refusal(without_unit(node)))?;
    match (packets(text), text.parse::<Bytes>(), text.parse::<Duration>()) {
        (Ok(n @ 1..=100_000_000), ..) => Ok(Buffer::Packets(n)),
        (_, Ok(size), _) if size <= LARGEST_BUFFER => Ok(Buffer::Bytes(size)),
        (.., Ok(time)) if time <= Duration::from_secs(1000) => Ok(Buffer::Time(time)),
        (Err(packets), Err(size), Err(time)) => {
            Err(refusal(packets.help.or(size.help).or(time.help)))
        }
        _ => Err(refusal(None)),
    }
}

/// A link of which nothing is said yet.
pub(super) fn unset() -> Link {
    Link::new(Rate::from_bps(0))
}

pub(super) fn link(root: &Table, readers: &Readers<'_>, gathered: &mut Gathered) -> Option<Link> {
    let Some(node) = root.get("link") else {
        let names: Vec<&str> = HEAD.iter().map(|f| f.name).chain(TABLES.iter().copied()).collect();
        if is_misspelt("link", root, &names) {
            return None;
        }
        let help = "add\n  [link]\n  rate = \"40mbit\"".to_owned();
        gathered.add(&Place::default(), "`link` is missing: the bottleneck", Some(help));
        return None;
    };
    read(node, "link", LINK, &RADIOS, readers, gathered)
}

/// The link in a table of this name, which has these keys and others `elsewhere`.
pub(super) fn read(
    node: &Node,
    path: &str,
    fields: &[Field<LinkDraft>],
    elsewhere: &[&str],
    readers: &Readers<'_>,
    gathered: &mut Gathered,
) -> Option<Link> {
    let table = one_table(node, path, gathered)?;
    let before = gathered.count();
    let mut draft = LinkDraft::unset();
    read_table(table, &node.place, path, fields, elsewhere, &mut draft, gathered);
    one_capacity(table, &node.place, path, gathered);
    let direction = if path == "uplink" { Direction::Up } else { Direction::Down };
    let radio = radio(table, path, direction, gathered);
    if gathered.count() > before {
        return None;
    }
    let mut link = match (draft.trace, radio) {
        (_, Some(radio)) => Link { burst: Bytes::ZERO, ..draft.link }.by(radio),
        (None, None) => Link { rate: draft.rate?, ..draft.link },
        (Some(_), None) => {
            let offset = draft.offset.unwrap_or(Duration::ZERO);
            let play = Play { offset, mean: draft.scale };
            draft.link.following(follow(table, path, play, readers, gathered)?)
        }
    };
    // A link that is on the air or not saves no airtime for later, unless it is to.
    if !link.aggregation.is_zero() && table.get("burst").is_none() {
        link.burst = Bytes::ZERO;
    }
    Some(link)
}

/// Refuses keys that a trace or a radio excludes, and a link without any of rate, trace and radio.
fn one_capacity(table: &Table, place: &Place, path: &str, gathered: &mut Gathered) {
    let names: Vec<&str> = LINK.iter().map(|field| field.name).chain(RADIOS).collect();
    let kinds: Vec<&str> = ["rate", "trace"].into_iter().chain(RADIOS).collect();
    let found: Vec<&Entry> = kinds.iter().filter_map(|kind| table.entry(kind)).collect();
    let trace = table.entry("trace");
    match found[..] {
        [one, two, ..] => {
            // A setting says more than the text.
            let (entry, other) = match one.place.source > two.place.source {
                true => (one, two),
                false => (two, one),
            };
            let (key, other) = (&entry.key, &other.key);
            let message = format!("`{path}.{key}`: the link has a `{other}` already");
            let help = match RADIOS.iter().any(|radio| radio == key || radio == other) {
                true => "leave out one of them",
                false => "leave out one of them; `trace_scale` gives a trace another mean rate",
            };
            gathered.add(&entry.place, message, Some(help.to_owned()));
        }
        [] if kinds.iter().all(|name| !is_misspelt(name, table, &names)) => {
            let message = format!("`{path}.rate` is missing: {}", LINK[0].doc);
            gathered.add(place, message, None);
        }
        _ => {}
    }
    if let Some(radio) = RADIOS.iter().find(|radio| table.entry(radio).is_some()) {
        refuse_beside(table, path, radio, gathered);
    }
    let without_trace = TRACE[1..].iter().filter_map(|name| table.entry(name));
    for entry in without_trace.filter(|_| trace.is_none()) {
        let message = format!("`{path}.{}` has no effect without `trace`", entry.key);
        gathered.add(&entry.place, message, None);
    }
    let aggregation = table.entry("aggregation").filter(|_| trace.is_some());
    let none =
        |entry: &&Entry| entry.value.text().is_some_and(|text| text.parse() == Ok(Duration::ZERO));
    if let Some(entry) = aggregation.filter(|entry| !none(entry)) {
        let found = entry.value.found();
        let message = format!(
            "`{path}.aggregation`: found {found} beside `trace`, expected \"0s\": a trace has \
             pauses of its own"
        );
        gathered.add(&entry.place, message, None);
    }
}

/// The capacity that the trace in a table of this name has, played so.
fn follow(
    table: &Table,
    path: &str,
    play: Play,
    readers: &Readers<'_>,
    gathered: &mut Gathered,
) -> Option<Capacity> {
    let node = table.get("trace")?;
    let capacity = match readers.capacity(node, play) {
        Ok(capacity) => capacity,
        Err((message, help)) => {
            gathered.add(&node.place, format!("`{path}.trace`: {message}"), help);
            return None;
        }
    };
    if capacity.mean() < LOWEST_RATE {
        let (found, mean) = (node.found(), capacity.mean());
        let message = format!(
            "`{path}.trace`: {found} has a mean rate of {mean}, expected {LOWEST_RATE} or more"
        );
        let help = "`trace_scale` gives it another".to_owned();
        gathered.add(&node.place, message, Some(help));
        return None;
    }
    Some(capacity)
}

/// Refuses the keys of a trace in a table of another kind of link: whether there are any.
pub(super) fn refuse_trace(table: &Table, path: &str, gathered: &mut Gathered) -> bool {
    let entries = TRACE.iter().filter_map(|name| table.entry(name));
    let before = gathered.count();
    for entry in entries {
        let message =
            format!("`{path}.{}`: only the bottleneck and the uplink follow a trace", entry.key);
        let help = "give it a `rate` here, or let `link.trace` be the varying link".to_owned();
        gathered.add(&entry.place, message, Some(help));
    }
    gathered.count() > before
}

/// The discipline, and its limit.
pub(super) fn aqm(
    root: &Table,
    link: Option<&Link>,
    frame: Bytes,
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
    let default = <l4s_aqm::dualpi2::Config as Configurable>::KIND;
    discipline(
        &table,
        &place,
        "aqm",
        Some(default),
        Room::named(root, "link", link, frame),
        gathered,
    )
}

/// The properties of its link that a discipline depends on.
#[derive(Clone, Copy)]
pub(super) struct Room {
    rate: Rate,
    /// Where `buffer` says something.
    buffer: Option<Buffer>,
    /// The largest frame.
    frame: Bytes,
}

impl Room {
    /// That of the link in this table.
    pub(super) fn of(table: &Table, link: &Link, frame: Bytes) -> Room {
        Room { rate: link.rate, buffer: table.get("buffer").map(|_| link.buffer), frame }
    }

    /// That of the link in the table of this name.
    pub(super) fn named(
        root: &Table,
        path: &str,
        link: Option<&Link>,
        frame: Bytes,
    ) -> Option<Room> {
        let table = root.get(path).and_then(Node::table)?;
        link.map(|link| Room::of(table, link, frame))
    }
}

/// The largest frame of a scenario: `psched_mtu` of a device for these packets (Linux).
pub(super) fn largest_frame(groups: &[(Group, &Table)], udp: &[(Udp, &Table)]) -> Bytes {
    let segments = groups.iter().map(|(group, _)| group.mss + HEADERS + ETHERNET);
    segments.fold(largest_packet(udp.iter().map(|(udp, _)| udp)), Bytes::max)
}

/// The discipline that `table` describes, and its limit: the link's `buffer`,
/// if that is set, unless it has a limit of its own.
pub(super) fn discipline(
    table: &Table,
    place: &Place,
    path: &str,
    default: Option<&'static str>,
    link: Option<Room>,
    gathered: &mut Gathered,
) -> Option<(l4s_aqm::Config, Buffer)> {
    let kinds = catalog::discipline_kinds();
    let kind = settings::kind(table, place, path, &kinds, default, gathered)?;
    let room = link.filter(|_| table.get("limit").is_none());
    let (rate, buffer) = (room.map(|room| room.rate), room.and_then(|room| room.buffer));
    macro_rules! read {
        ($variant:ident, $module:ident) => {
            if kind == <l4s_aqm::$module::Config as Configurable>::KIND {
                let prepare = |config: &mut l4s_aqm::$module::Config| match rate.zip(buffer) {
                    Some((rate, buffer)) => set_limit(config, |c| &mut c.limit, buffer, rate),
                    None => {}
                };
                let config = settings::configure(table, place, path, prepare, gathered)?;
                let mut config = l4s_aqm::Config::$variant(config);
                if let Some(rate) = rate.filter(|_| buffer.is_none()) {
                    scale_limit(&mut config, rate);
                }
                if let Some(link) = link {
                    fit_frames(&mut config, link.frame, |key| table.get(key).is_some());
                }
                let limit = as_buffer(&config.limit());
                return Some((config, limit));
            }
        };
    }
    l4s_aqm::for_each_discipline!(read);
    None
}

/// The discipline of a further link: `aqm` of its `table`, whose path is `path`.
pub(super) fn own_discipline(
    table: &Table,
    place: &Place,
    path: &str,
    link: Option<Room>,
    gathered: &mut Gathered,
) -> Option<(l4s_aqm::Config, Buffer)> {
    let default = <l4s_aqm::dualpi2::Config as Configurable>::KIND;
    let Some(node) = table.get("aqm") else {
        return discipline(&Table::default(), place, path, Some(default), link, gathered);
    };
    let Some(table) = settings::as_table(node) else {
        Refusal::expected("a name such as \"fifo\", or a table such as { kind = \"fifo\" }")
            .report(path, node, gathered);
        return None;
    };
    discipline(&table, &node.place, path, Some(default), link, gathered)
}

/// Lets `buffer` wait, and no more. In packets it is the setting `limit`.
pub(crate) fn set_limit<C: Configurable>(
    config: &mut C,
    limit: fn(&mut C) -> &mut Limit,
    buffer: Buffer,
    rate: Rate,
) {
    let size = match buffer {
        Buffer::Packets(n) => {
            let packets = |param: &&Param<C>| matches!(param.kind, Kind::Packets { .. });
            let param = C::PARAMS.iter().filter(packets).find(|param| param.name == "limit");
            return match param {
                Some(param) => (param.set)(config, Value::Packets(n)),
                // RED's is in bytes.
                None => *limit(config) = Limit::packets(n),
            };
        }
        Buffer::Bytes(size) => size,
        Buffer::Time(time) => rate.bytes_in(time),
    };
    // A limit of memory that follows that of packets is gone with it. FQ-CoDel's is one of its own.
    let is_own = C::KIND == l4s_aqm::fq_codel::Config::KIND;
    let memory = limit(config).memory.filter(|_| is_own);
    *limit(config) = Limit { memory, ..Limit::bytes(size) };
}

/// The limit of a RED that is set for the rate of its link, where nobody said another.
fn scale_limit(config: &mut l4s_aqm::Config, rate: Rate) {
    if let l4s_aqm::Config::Red(red) = config {
        if red.scaled {
            red.limit.bytes = red.at(rate).limit.bytes.min(LARGEST_BUFFER);
        }
    }
}

/// Gives the settings that Linux counts in full frames of the device those of `frame`, where nobody said them.
fn fit_frames(config: &mut l4s_aqm::Config, frame: Bytes, said: impl Fn(&str) -> bool) {
    use l4s_aqm::Config;
    // Profiles are for the frames of Ethernet.
    let two = |size: &mut Bytes| {
        if *size == PACKET + PACKET && !said("min_backlog") {
            *size = frame + frame;
        }
    };
    let memory = |limit: &mut Limit, frames: u64| {
        if limit.memory.is_some() && !said("memlimit") {
            let bytes = Bytes::new((frames * frame.get()).saturating_mul(limit.packets));
            limit.memory = Some(bytes.min(LARGEST_BUFFER));
        }
    };
    match config {
        Config::DualPi2(c) => {
            two(&mut c.min_backlog);
            memory(&mut c.limit, 2);
        }
        Config::Pi2(c) => two(&mut c.min_backlog),
        Config::FqCodel(c) if !said("quantum") => c.quantum = frame.get(),
        // One that shapes computes its own.
        Config::Cobalt(c) if !c.shaped => memory(&mut c.limit, 1),
        _ => {}
    }
}

pub(super) fn as_buffer(limit: &Limit) -> Buffer {
    match limit.packets {
        u64::MAX => Buffer::Bytes(limit.bytes),
        n => Buffer::Packets(n),
    }
}

/// Whether the buffer of the link in this table, which has this rate, holds the largest packet there is,
/// of TCP or of these sources.
pub(super) fn room_for_a_packet<'a>(
    table: &Table,
    path: &str,
    rate: Option<Rate>,
    udp: impl Iterator<Item = &'a Udp>,
    gathered: &mut Gathered,
) {
    let Some(node) = table.get("buffer") else { return };
    let (room, at) = match (buffer(node), rate) {
        (Ok(Buffer::Bytes(size)), _) => (size, String::new()),
        (Ok(Buffer::Time(time)), Some(rate)) => {
            let room = rate.bytes_in(time);
            (room, format!(": at {rate} it has {}", bytes_text(room)))
        }
        _ => return,
    };
    let largest = largest_packet(udp);
    if room < largest {
        let (found, largest) = (node.found(), bytes_text(largest));
        let message =
            format!("`{path}.buffer`: found {found}, expected room for a packet of {largest}{at}");
        gathered.add(&node.place, message, None);
    }
}

/// Whether the limit of its own that a discipline in this table has, in bytes, holds the largest
/// packet there is. `limit` is its limit.
pub(super) fn limit_for_a_packet<'a>(
    table: Option<&Table>,
    path: &str,
    limit: Buffer,
    udp: impl Iterator<Item = &'a Udp>,
    gathered: &mut Gathered,
) {
    let Some(node) = table.and_then(|table| table.get("limit")) else { return };
    let largest = largest_packet(udp);
    if matches!(limit, Buffer::Bytes(room) if room < largest) {
        let (found, largest) = (node.found(), bytes_text(largest));
        let message =
            format!("`{path}.limit`: found {found}, expected room for a packet of {largest}");
        gathered.add(&node.place, message, None);
    }
}

/// The largest packet of TCP or of these sources, on the link.
fn largest_packet<'a>(udp: impl Iterator<Item = &'a Udp>) -> Bytes {
    udp.map(|udp| udp.packet + ETHERNET).fold(PACKET, Bytes::max)
}
