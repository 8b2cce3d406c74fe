//! `[[udp]]`: unresponsive sources.

use l4s_model::Udp;
use l4s_units::{Bytes, Duration, Rate, Time};

use super::uplink::{direction, direction_item};
use super::{MOST_SOURCES, source_name, tables};
use crate::fault::Gathered;
use crate::field::{Field, bytes_text, codepoint, instant, instant_or_end, quantity, read_table};
use crate::tree::{Table, text};

pub(crate) const UDP: &[Field<Udp>] = &[
    Field {
        name: "name",
        doc: "the source's name in results",
        required: true,
        read: |udp, node| source_name(node).map(|name| udp.name = name),
        write: |udp| Some(text(&udp.name)),
    },
    Field {
        name: "direction",
        doc: "down, up through the `[uplink]`, or both: then `A up` is a second source",
        required: false,
        read: |udp, node| direction(node).map(|direction| udp.direction = direction),
        write: |udp| direction_item(udp.direction),
    },
    Field {
        name: "rate",
        doc: "bits per second of IP, such as \"50mbit\"",
        required: true,
        read: |udp, node| {
            quantity(node, Rate::from_bps(0), Rate::from_mbps(1_000_000))
                .map(|rate| udp.rate = rate)
        },
        write: |udp| Some(text(udp.rate)),
    },
    Field {
        name: "ecn",
        doc: "the codepoint that its packets carry: not-ect, ect0, ect1 or ce",
        required: false,
        read: |udp, node| codepoint(node).map(|ecn| udp.ecn = ecn),
        write: |udp| Some(text(udp.ecn)),
    },
    Field {
        name: "packet",
        doc: "IP length of its packets",
        required: false,
        read: |udp, node| {
            quantity(node, Bytes::new(64), Bytes::new(9000)).map(|packet| udp.packet = packet)
        },
        write: |udp| Some(text(bytes_text(udp.packet))),
    },
    Field {
        name: "start",
        doc: "when it starts",
        required: false,
        read: |udp, node| instant(node).map(|start| udp.start = start),
        write: |udp| Some(text(udp.start)),
    },
    Field {
        name: "stop",
        doc: "when it stops, or \"end\" for the end of the run",
        required: false,
        read: |udp, node| instant_or_end(node).map(|stop| udp.stop = stop),
        write: |udp| Some(text(udp.stop.map_or("end".to_owned(), |stop| stop.to_string()))),
    },
];

/// Every UDP source, with the table it was read from.
pub(super) fn udp<'a>(
    root: &'a Table,
    end: Duration,
    gathered: &mut Gathered,
) -> Vec<(Udp, &'a Table)> {
    let tables = tables(root, "udp", gathered);
    let mut sources = Vec::new();
    for (node, table) in tables.into_iter().take(MOST_SOURCES + 1) {
        let before = gathered.count();
        let mut udp = Udp::new("", Rate::from_bps(0));
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
