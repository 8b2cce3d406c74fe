//! `[link]` and `[aqm]`: the bottleneck and its queue.

use l4s_model::{Buffer, Link, Udp};
use l4s_units::param::Configurable;
use l4s_units::{Bytes, Duration, ETHERNET, Rate, packets};

use super::{HEAD, TABLES, one_table};
use crate::fault::{Gathered, Place};
use crate::field::{
    Field, Refusal, bytes_text, duration, is_misspelt, quantity, read_table, without_unit,
};
use crate::tree::{Item, Node, Table, text};
use crate::{catalog, settings};

/// A full packet on the link: the smallest buffer.
const PACKET: Bytes = l4s_aqm::MTU;

/// The longest airtime of an aggregate. Those of WiFi and of cable modems are a few milliseconds.
const LONGEST_AIRTIME: Duration = Duration::from_millis(100);

/// The slowest and the fastest link.
pub(super) const LOWEST_RATE: Rate = Rate::from_bps(1000);
pub(super) const HIGHEST_RATE: Rate = Rate::from_mbps(1_000_000);

pub(crate) const LINK: &[Field<Link>] = &[
    Field {
        name: "rate",
        doc: "bits per second, 14 B of Ethernet per packet included, such as \"40mbit\"",
        required: true,
        read: |link, node| quantity(node, LOWEST_RATE, HIGHEST_RATE).map(|rate| link.rate = rate),
        write: |link| Some(text(link.rate)),
    },
    Field {
        name: "buffer",
        doc: "the buffer: packets (\"100p\"), bytes on the link, or time at the link's rate",
        required: false,
        read: |link, node| buffer(node).map(|buffer| link.buffer = buffer),
        write: |link| Some(text(buffer_text(link.buffer))),
    },
    Field {
        name: "burst",
        doc: "the burst that may be sent after idling: the bucket of the shaper, as htb's burst",
        required: false,
        read: |link, node| {
            quantity(node, Bytes::ZERO, Bytes::new(100_000_000)).map(|burst| link.burst = burst)
        },
        write: |link| Some(text(bytes_text(link.burst))),
    },
    Field {
        name: "ack_loss",
        doc: "the chance that an acknowledgement is lost on its way back, from 0 to 0.9",
        required: false,
        read: |link, node| ack_loss(node).map(|chance| link.ack_loss = chance),
        write: |link| Some(Item::Float(link.ack_loss)),
    },
    Field {
        name: "aggregation",
        doc: "the longest airtime of a burst in which it delivers, as WiFi does; \"0s\" for none",
        required: false,
        read: |link, node| {
            duration(node, Duration::ZERO, LONGEST_AIRTIME)
                .map(|airtime| link.aggregation = airtime)
        },
        write: |link| Some(text(link.aggregation)),
    },
];

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
        (_, Ok(size), _) if size <= Bytes::new(1_000_000_000_000) => Ok(Buffer::Bytes(size)),
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

pub(super) fn link(root: &Table, gathered: &mut Gathered) -> Option<Link> {
    let Some(node) = root.get("link") else {
        let names: Vec<&str> = HEAD.iter().map(|f| f.name).chain(TABLES.iter().copied()).collect();
        if is_misspelt("link", root, &names) {
            return None;
        }
        let help = "add\n  [link]\n  rate = \"40mbit\"".to_owned();
        gathered.add(&Place::default(), "`link` is missing: the bottleneck", Some(help));
        return None;
    };
    let table = one_table(node, "link", gathered)?;
    let before = gathered.count();
    let mut link = unset();
    read_table(table, &node.place, "link", LINK, &[], &mut link, gathered);
    // A link that is on the air or not saves no airtime for later, unless it is to.
    if !link.aggregation.is_zero() && table.get("burst").is_none() {
        link.burst = Bytes::ZERO;
    }
    (gathered.count() == before).then_some(link)
}

/// The discipline, and its limit.
pub(super) fn aqm(
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
    let default = <l4s_aqm::dualpi2::Config as Configurable>::KIND;
    discipline(&table, &place, "aqm", Some(default), buffer_of(root, link), gathered)
}

/// The buffer of the bottleneck and its rate, where `link.buffer` says something.
pub(super) fn buffer_of(root: &Table, link: Option<&Link>) -> Option<(Buffer, Rate)> {
    let table = root.get("link").and_then(Node::table)?;
    link.filter(|_| table.get("buffer").is_some()).map(|link| (link.buffer, link.rate))
}

/// The discipline that `table` describes, and its limit: the link's `buffer`,
/// if that is set, unless it has a limit of its own.
pub(super) fn discipline(
    table: &Table,
    place: &Place,
    path: &str,
    default: Option<&'static str>,
    buffer: Option<(Buffer, Rate)>,
    gathered: &mut Gathered,
) -> Option<(l4s_aqm::Config, Buffer)> {
    let kinds = catalog::discipline_kinds();
    let kind = settings::kind(table, place, path, &kinds, default, gathered)?;
    let own_limit = table.get("limit").is_some();
    let limit = buffer.filter(|_| !own_limit);
    macro_rules! read {
        ($variant:ident, $module:ident) => {
            if kind == <l4s_aqm::$module::Config as Configurable>::KIND {
                let prepare = |config: &mut l4s_aqm::$module::Config| match limit {
                    Some((buffer, rate)) => set_limit(&mut config.limit, buffer, rate),
                    None => {}
                };
                return settings::configure(table, place, path, prepare, gathered).map(
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

/// The discipline of a further link: `aqm` of its `table`, whose path is `path`.
pub(super) fn own_discipline(
    table: &Table,
    place: &Place,
    path: &str,
    buffer: Option<(Buffer, Rate)>,
    gathered: &mut Gathered,
) -> Option<(l4s_aqm::Config, Buffer)> {
    let default = <l4s_aqm::dualpi2::Config as Configurable>::KIND;
    let Some(node) = table.get("aqm") else {
        return discipline(&Table::default(), place, path, Some(default), buffer, gathered);
    };
    let Some(table) = settings::as_table(node) else {
        Refusal::expected("a name such as \"fifo\", or a table such as { kind = \"fifo\" }")
            .report(path, node, gathered);
        return None;
    };
    discipline(&table, &node.place, path, Some(default), buffer, gathered)
}

/// Lets `buffer` wait, and no more.
pub(crate) fn set_limit(limit: &mut l4s_aqm::Limit, buffer: Buffer, rate: Rate) {
    match buffer {
        Buffer::Packets(n) => limit.set_packets(n),
        Buffer::Bytes(size) => *limit = l4s_aqm::Limit::bytes(size),
        Buffer::Time(time) => *limit = l4s_aqm::Limit::bytes(rate.bytes_in(time)),
    }
}

pub(super) fn as_buffer(limit: &l4s_aqm::Limit) -> Buffer {
    match limit.packets {
        u64::MAX => Buffer::Bytes(limit.bytes),
        n => Buffer::Packets(n),
    }
}

/// Whether the buffer of the link in this table holds the largest packet there is, of TCP or of
/// these sources.
pub(super) fn room_for_a_packet<'a>(
    table: &Table,
    path: &str,
    udp: impl Iterator<Item = &'a Udp>,
    gathered: &mut Gathered,
) {
    let (Some(node), Some(rate)) = (table.get("buffer"), table.get("rate")) else { return };
    let rate = rate.text().and_then(|text| text.parse::<Rate>().ok());
    let room = match (buffer(node), rate) {
        (Ok(Buffer::Bytes(size)), _) => size,
        (Ok(Buffer::Time(time)), Some(rate)) => rate.bytes_in(time),
        _ => return,
    };
    let largest = largest_packet(udp);
    if room < largest {
        let (found, largest) = (node.found(), bytes_text(largest));
        let message =
            format!("`{path}.buffer`: found {found}, expected room for a packet of {largest}");
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
