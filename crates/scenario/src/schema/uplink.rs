//! `[uplink]`: the way up, and which sources send their data along it.

use l4s_model::{AckFilter, Direction, Group, Udp, Uplink};

use super::link::{
    LINK, LinkDraft, Room, largest_frame, limit_for_a_packet, own_discipline, read,
    room_for_a_packet,
};
use super::one_table;
use super::radio::RADIOS;
use crate::fault::Gathered;
use crate::field::{Field, Refusal, word, written};
use crate::files::Readers;
use crate::tree::{Entry, Item, Node, Table, text};

/// The words for directions.
pub(super) const DIRECTIONS: [(&str, Direction); 2] =
    [("down", Direction::Down), ("up", Direction::Up)];

/// For both directions.
const BOTH: &str = "both";

/// The same for the data of a source. [`add_other_halves`] has made the half that sends up.
const DIRECTIONS_OF_DATA: [(&str, Direction); 3] =
    [DIRECTIONS[0], DIRECTIONS[1], (BOTH, Direction::Down)];

/// Reads the way of a source's data.
pub(super) fn direction(node: &Node) -> Result<Direction, Refusal> {
    word(node, &DIRECTIONS_OF_DATA)
}

/// A source in both directions is two, each with rows of its own in the results: for each `A` this adds `A up`,
/// behind all others.
pub(crate) fn add_other_halves(root: &mut Table) {
    let lists = root.entries.iter_mut().filter(|entry| ["group", "udp"].contains(&&*entry.key));
    for entry in lists {
        if let Item::List(nodes) = &mut entry.value.item {
            let halves: Vec<Node> = nodes.iter().filter_map(other_half).collect();
            nodes.extend(halves);
        }
    }
}

/// The half that sends up, of a source in both directions.
fn other_half(node: &Node) -> Option<Node> {
    node.table()?.get("direction").filter(|direction| direction.text() == Some(BOTH))?;
    let mut half = node.clone();
    if let Item::Table(table) = &mut half.item {
        for Entry { key, value, .. } in &mut table.entries {
            match (&**key, &mut value.item) {
                ("name", Item::Text(name)) => name.push_str(" up"),
                ("direction", direction) => *direction = text("up"),
                _ => {}
            }
        }
    }
    Some(half)
}

/// The way of a source's data, as [`direction`] reads it.
pub(super) fn direction_item(direction: Direction) -> Option<Item> {
    written(&DIRECTIONS, direction)
}

/// The words for filters of acknowledgements.
const ACK_FILTERS: [(&str, AckFilter); 3] =
    [named(AckFilter::Off), named(AckFilter::On), named(AckFilter::Aggressive)];

const fn named(filter: AckFilter) -> (&'static str, AckFilter) {
    (filter.name(), filter)
}

/// Reads a filter of acknowledgements.
fn ack_filter(node: &Node) -> Result<AckFilter, Refusal> {
    word(node, &ACK_FILTERS).map_err(|refusal| match node.item {
        Item::Bool(on) => {
            let near = if on { AckFilter::On } else { AckFilter::Off };
            Refusal { help: Some(format!("did you mean \"{}\"?", near.name())), ..refusal }
        }
        _ => refusal,
    })
}

const ACK_FILTER: Field<LinkDraft> = Field {
    name: "ack_filter",
    doc: "takes acknowledgements out of its queue that later ones replace, as CAKE does",
    required: false,
    read: |draft, node| ack_filter(node).map(|filter| draft.ack_filter = filter),
    write: |draft| written(&ACK_FILTERS, draft.ack_filter),
};

/// The keys of `[uplink]`: those of `[link]` without `ack_loss`, and `ack_filter`.
pub(crate) fn uplink_fields() -> Vec<Field<LinkDraft>> {
    let of_both = LINK.iter().filter(|field| field.name != "ack_loss").copied();
    of_both.chain([ACK_FILTER]).collect()
}

/// The settings of the way up, to be written.
pub(crate) fn uplink_draft(uplink: &Uplink) -> LinkDraft {
    LinkDraft { ack_filter: uplink.ack_filter, ..LinkDraft::of(&uplink.link) }
}

/// The way up, if it has a queue; refuses sources that send up if it has none.
pub(super) fn uplink(
    root: &Table,
    groups: &[(Group, &Table)],
    udp: &[(Udp, &Table)],
    readers: &Readers<'_>,
    gathered: &mut Gathered,
) -> Option<Uplink> {
    let Some(node) = root.get("uplink") else {
        let groups = groups.iter().map(|(group, table)| ("group", group.direction, *table));
        let udp = udp.iter().map(|(udp, table)| ("udp", udp.direction, *table));
        for (list, direction, table) in groups.chain(udp) {
            if let Some(node) = table.get("direction").filter(|_| direction == Direction::Up) {
                let message =
                    format!("`{list}.direction`: nothing sends up where there is no `[uplink]`");
                let help = "add\n  [uplink]\n  rate = \"10mbit\"".to_owned();
                gathered.add(&node.place, message, Some(help));
            }
        }
        return None;
    };
    let table = one_table(node, "uplink", gathered)?;
    let before = gathered.count();
    let elsewhere: Vec<&str> = RADIOS.into_iter().chain(["aqm"]).collect();
    let link = read(node, "uplink", &uplink_fields(), &elsewhere, readers, gathered);
    let rate = link.as_ref().map(|link| link.rate);
    let frame = largest_frame(groups, udp);
    let room = link.as_ref().map(|link| Room::of(table, link, frame));
    let aqm = own_discipline(table, &node.place, "uplink.aqm", room, gathered);
    let passing = || udp.iter().map(|(udp, _)| udp).filter(|udp| udp.direction == Direction::Up);
    room_for_a_packet(table, "uplink", rate, passing(), gathered);
    if let Some((_, limit)) = &aqm {
        let table = table.get("aqm").and_then(Node::table);
        limit_for_a_packet(table, "uplink.aqm", *limit, passing(), gathered);
    }
    let (aqm, limit) = aqm.filter(|_| gathered.count() == before)?;
    let mut link = link?;
    // Without a buffer the profile's own limit is one.
    if table.get("buffer").is_none() {
        link.buffer = limit;
    }
    // One that is none of the words was refused above.
    let ack_filter = table.get("ack_filter").and_then(|node| ack_filter(node).ok());
    Some(Uplink { link, aqm, ack_filter: ack_filter.unwrap_or_default() })
}
