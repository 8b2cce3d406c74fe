//! `[uplink]`: the way up, and which sources send their data along it.

use l4s_model::{Direction, Group, Udp, Uplink};

use super::link::{LINK, LinkDraft, limit_for_a_packet, own_discipline, read, room_for_a_packet};
use super::one_table;
use super::radio::RADIOS;
use crate::fault::Gathered;
use crate::field::{Field, Refusal, word, written};
use crate::files::Readers;
use crate::tree::{Item, Node, Table};

/// The words for directions.
pub(super) const DIRECTIONS: [(&str, Direction); 2] =
    [("down", Direction::Down), ("up", Direction::Up)];

/// Reads the way of a source's data.
pub(super) fn direction(node: &Node) -> Result<Direction, Refusal> {
    word(node, &DIRECTIONS)
}

/// The way of a source's data, as [`direction`] reads it.
pub(super) fn direction_item(direction: Direction) -> Option<Item> {
    written(&DIRECTIONS, direction)
}

/// The keys of `[uplink]`: those of `[link]` without `ack_loss`.
pub(crate) fn uplink_fields() -> Vec<Field<LinkDraft>> {
    LINK.iter().filter(|field| field.name != "ack_loss").copied().collect()
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
                    format!("`{list}.direction`: found \"up\", but there is no `[uplink]`");
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
    let limit = link.as_ref().map(|link| (link.buffer, link.rate));
    let limit = limit.filter(|_| table.get("buffer").is_some());
    let aqm = own_discipline(table, &node.place, "uplink.aqm", limit, gathered);
    let passing = || udp.iter().map(|(udp, _)| udp).filter(|udp| udp.direction == Direction::Up);
    room_for_a_packet(table, "uplink", rate, passing(), gathered);
    if let Some((_, limit)) = &aqm {
        let table = table.get("aqm").and_then(Node::table);
        limit_for_a_packet(table, "uplink.aqm", *limit, passing(), gathered);
    }
    let (aqm, room) = aqm.filter(|_| gathered.count() == before)?;
    let mut link = link?;
    // Without a buffer the profile's own limit is one.
    if limit.is_none() {
        link.buffer = room;
    }
    Some(Uplink { link, aqm })
}
