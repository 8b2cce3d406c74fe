//! `[link.wifi]` and `[link.cell]`: a radio in the place of a rate.

use l4s_model::{Cell, Direction, Group, Hop, Link, Radio, Slot, Standard, Udp, Uplink, Wifi};
use l4s_units::{Bytes, Duration};

use super::one_table;
use crate::advice::HEADERS;
use crate::fault::Gathered;
use crate::field::{Field, Refusal, count, duration, read_table, word, written};
use crate::tree::{Entry, Item, Node, Table, text};

/// The tables of radios, within the table of a link.
pub(crate) const RADIOS: [&str; 2] = ["wifi", "cell"];

const STANDARDS: [(&str, Standard); 3] =
    [("n", Standard::N), ("ac", Standard::Ac), ("ax", Standard::Ax)];

/// The most other stations. More than some tens leave no room between collisions.
const STATIONS: u64 = 50;

/// The highest chance that a transmission is lost. A station that loses more chooses a lower MCS.
const LOSS: f64 = 0.5;

pub(crate) const WIFI: &[Field<Wifi>] = &[
    Field {
        name: "standard",
        doc: "802.11n (WiFi 4), 802.11ac (WiFi 5) or 802.11ax (WiFi 6), at 5 GHz",
        required: false,
        read: |wifi, node| word(node, &STANDARDS).map(|standard| wifi.standard = standard),
        write: |wifi| written(&STANDARDS, wifi.standard),
    },
    Field {
        name: "width",
        doc: "the width of the channel in MHz: 20 or 40, and with ac and ax 80 or 160; with n 40 unless set",
        required: false,
        read: |wifi, node| of(node, &[20, 40, 80, 160]).map(|width| wifi.width = width),
        write: |wifi| Some(Item::Integer(wifi.width as i64)),
    },
    Field {
        name: "streams",
        doc: "spatial streams",
        required: false,
        read: |wifi, node| count(node, 1, 4).map(|streams| wifi.streams = streams),
        write: |wifi| Some(Item::Integer(wifi.streams as i64)),
    },
    Field {
        name: "mcs",
        doc: "modulation and coding of each stream: up to 7 with n, 9 with ac, 11 with ax",
        required: false,
        read: |wifi, node| {
            // Those of 802.11n with its streams, too, for the message of `of_standard`.
            count(node, 0, 31).map(|mcs| wifi.mcs = mcs).map_err(|_| {
                Refusal::expected("a whole number from 0 to 7 with n, 9 with ac, 11 with ax")
            })
        },
        write: |wifi| Some(Item::Integer(wifi.mcs as i64)),
    },
    Field {
        name: "guard",
        doc: "the guard interval: \"400ns\" or \"800ns\" with n and ac, \"800ns\", \"1.6us\" or \"3.2us\" with ax; the shortest unless set",
        required: false,
        read: |wifi, node| {
            duration(node, Duration::from_nanos(400), Duration::from_nanos(3_200))
                .map(|guard| wifi.guard = guard)
        },
        write: |wifi| Some(text(wifi.guard)),
    },
    Field {
        name: "airtime",
        doc: "the longest frame (PPDU), whose packets arrive together",
        required: false,
        read: |wifi, node| {
            duration(node, Wifi::SHORTEST, Wifi::LONGEST).map(|airtime| wifi.airtime = airtime)
        },
        write: |wifi| Some(text(wifi.airtime)),
    },
    Field {
        name: "stations",
        doc: "other stations on the channel, which always send frames as long as this one's may be",
        required: false,
        read: |wifi, node| count(node, 0, STATIONS).map(|stations| wifi.stations = stations),
        write: |wifi| Some(Item::Integer(wifi.stations as i64)),
    },
    Field {
        name: "loss",
        doc: "the chance that a packet of a frame (an MPDU) is lost and sent again, collisions aside",
        required: false,
        read: |wifi, node| loss(node).map(|loss| wifi.loss = loss),
        write: |wifi| Some(Item::Float(wifi.loss)),
    },
];

pub(crate) const CELL: &[Field<Cell>] = &[
    Field {
        name: "bandwidth",
        doc: "the bandwidth of the carrier in MHz",
        required: false,
        read: |cell, node| count(node, 5, 100).map(|bandwidth| cell.bandwidth = bandwidth),
        write: |cell| Some(Item::Integer(cell.bandwidth as i64)),
    },
    Field {
        name: "spacing",
        doc: "the subcarrier spacing in kHz: slots of 1, 0.5 or 0.25 ms",
        required: false,
        read: |cell, node| of(node, &Cell::SPACINGS).map(|spacing| cell.spacing = spacing),
        write: |cell| Some(Item::Integer(cell.spacing as i64)),
    },
    Field {
        name: "mcs",
        doc: "modulation and coding, of the table up to 256-QAM",
        required: false,
        read: |cell, node| count(node, 0, Cell::HIGHEST_MCS).map(|mcs| cell.mcs = mcs),
        write: |cell| Some(Item::Integer(cell.mcs as i64)),
    },
    Field {
        name: "layers",
        doc: "MIMO layers",
        required: false,
        read: |cell, node| count(node, 1, 4).map(|layers| cell.layers = layers),
        write: |cell| Some(Item::Integer(cell.layers as i64)),
    },
    Field {
        name: "pattern",
        doc: "the slots of TDD: D down, U up, S special (10 of 14 symbols down); \"fdd\" for slots of one direction",
        required: false,
        read: |cell, node| pattern(node).map(|pattern| cell.pattern = pattern),
        write: |cell| Some(text(pattern_text(&cell.pattern))),
    },
    Field {
        name: "loss",
        doc: "the chance that a block fails and is sent again, in the first slot of its size from 8 ms later on",
        required: false,
        read: |cell, node| loss(node).map(|loss| cell.loss = loss),
        write: |cell| Some(Item::Float(cell.loss)),
    },
    Field {
        name: "request",
        doc: "how often a terminal with an empty buffer may ask for a grant; without effect on the way down",
        required: false,
        read: |cell, node| {
            duration(node, Duration::from_millis(1), Duration::from_millis(80))
                .map(|request| cell.request = request)
        },
        write: |cell| Some(text(cell.request)),
    },
];

const SLOTS: [(char, Slot); 3] = [('D', Slot::Down), ('S', Slot::Special), ('U', Slot::Up)];

/// The most slots of a pattern: ten milliseconds of 60 kHz.
const PATTERN: usize = 40;

/// The pattern of FDD.
const FDD: &str = "fdd";

fn pattern(node: &Node) -> Result<Vec<Slot>, Refusal> {
    let slot = |letter| SLOTS.iter().find(|(name, _)| *name == letter).map(|(_, slot)| *slot);
    let slots = match node.text() {
        Some(FDD) => Some(Vec::new()),
        Some(text) if (1..=PATTERN).contains(&text.len()) => text.chars().map(slot).collect(),
        _ => None,
    };
    slots.ok_or_else(|| {
        Refusal::expected(format!("up to {PATTERN} of D, S and U such as \"DDDSU\", or \"{FDD}\""))
    })
}

fn pattern_text(pattern: &[Slot]) -> String {
    let letters = pattern.iter().flat_map(|slot| SLOTS.iter().find(|(_, other)| other == slot));
    match pattern {
        [] => FDD.to_owned(),
        _ => letters.map(|(letter, _)| *letter).collect(),
    }
}

/// One of these numbers.
fn of(node: &Node, numbers: &[u64]) -> Result<u64, Refusal> {
    let found = match node.item {
        Item::Integer(n) => u64::try_from(n).ok().filter(|n| numbers.contains(n)),
        _ => None,
    };
    found.ok_or_else(|| {
        let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
        Refusal::expected(format!("one of {}", numbers.join(", ")))
    })
}

fn loss(node: &Node) -> Result<f64, Refusal> {
    match node.item {
        Item::Float(chance) if (0.0..=LOSS).contains(&chance) => Ok(chance.abs()),
        Item::Integer(0) => Ok(0.0),
        _ => Err(Refusal::expected(format!("a chance such as 0.01, from 0 to {LOSS}"))),
    }
}

/// The radio of the link in `table`, whose path is `path` and which carries data in this direction.
pub(super) fn radio(
    table: &Table,
    path: &str,
    direction: Direction,
    gathered: &mut Gathered,
) -> Option<Radio> {
    if let Some(node) = table.get("wifi") {
        return wifi(node, &format!("{path}.wifi"), gathered).map(Radio::Wifi);
    }
    let node = table.get("cell")?;
    cell(node, &format!("{path}.cell"), direction, gathered).map(Radio::Cell)
}

fn wifi(node: &Node, path: &str, gathered: &mut Gathered) -> Option<Wifi> {
    let table = one_table(node, path, gathered)?;
    let before = gathered.count();
    let standard = table.get("standard").and_then(|node| word(node, &STANDARDS).ok());
    let mut wifi = Wifi::new(standard.unwrap_or(Standard::Ax));
    read_table(table, &node.place, path, WIFI, &[], &mut wifi, gathered);
    if gathered.count() == before {
        of_standard(&wifi, table, path, gathered);
    }
    (gathered.count() == before).then_some(wifi)
}

fn cell(node: &Node, path: &str, direction: Direction, gathered: &mut Gathered) -> Option<Cell> {
    let table = one_table(node, path, gathered)?;
    let before = gathered.count();
    let mut cell = Cell::new(direction);
    read_table(table, &node.place, path, CELL, &[], &mut cell, gathered);
    if gathered.count() > before {
        return None;
    }
    if cell.resource_blocks().is_none() {
        let key = if table.get("bandwidth").is_some() { "bandwidth" } else { "spacing" };
        let place = table.get(key).map_or(&node.place, |node| &node.place);
        let bandwidths: Vec<String> =
            Cell::bandwidths(cell.spacing).map(|bandwidth| bandwidth.to_string()).collect();
        let (bandwidth, spacing) = (cell.bandwidth, cell.spacing);
        let message = format!(
            "`{path}.{key}`: there are no {bandwidth} MHz with {spacing} kHz, expected a bandwidth of {} MHz",
            bandwidths.join(", ")
        );
        gathered.add(place, message, None);
    } else if cell.blocks().iter().all(|block| block.get() == 0) {
        let (word, letter) = match direction {
            Direction::Down => ("downlink", 'D'),
            Direction::Up => ("uplink", 'U'),
        };
        let place = table.get("pattern").map_or(&node.place, |node| &node.place);
        let message = format!(
            "`{path}.pattern`: found \"{}\", expected a slot of the {word}: {letter}",
            pattern_text(&cell.pattern)
        );
        gathered.add(place, message, None);
    }
    (gathered.count() == before).then_some(cell)
}

/// Refuses values that the standard of the link does not have.
fn of_standard(wifi: &Wifi, table: &Table, path: &str, gathered: &mut Gathered) {
    let [(standard, _)] =
        STANDARDS.iter().filter(|(_, s)| *s == wifi.standard).collect::<Vec<_>>()[..]
    else {
        unreachable!("each standard has a name")
    };
    let mut refuse = |key: &str, expected: String| {
        if let Some(node) = table.get(key) {
            let message = format!(
                "`{path}.{key}`: found {} with 802.11{standard}, expected {expected}",
                node.found()
            );
            gathered.add(&node.place, message, None);
        }
    };
    let (widths, guards) = (Wifi::widths(wifi.standard), Wifi::guards(wifi.standard));
    if !widths.contains(&wifi.width) {
        let widths: Vec<String> = widths.iter().map(u64::to_string).collect();
        refuse("width", format!("one of {}", widths.join(", ")));
    }
    if !guards.contains(&wifi.guard) {
        let guards: Vec<String> = guards.iter().map(|guard| format!("\"{guard}\"")).collect();
        refuse("guard", format!("one of {}", guards.join(", ")));
    }
    let highest = Wifi::highest_mcs(wifi.standard);
    if wifi.mcs > highest {
        // 802.11n counts on with each stream (IEEE 802.11-2020 §19.5).
        let (streams, mcs) = (wifi.mcs / 8 + 1, wifi.mcs % 8);
        let expected = match wifi.standard {
            Standard::N => format!(
                "0 to {highest} of each stream: MCS {} is `streams = {streams}, mcs = {mcs}`",
                wifi.mcs
            ),
            Standard::Ac | Standard::Ax => format!("at most {highest}"),
        };
        refuse("mcs", expected);
    } else if !wifi.has_rate() {
        let (streams, width) = (wifi.streams, wifi.width);
        let with = format!("another MCS: it has none such with {streams} streams at {width} MHz");
        refuse(if table.get("mcs").is_some() { "mcs" } else { "streams" }, with);
    }
}

/// The links of a scenario, as far as they are right.
#[derive(Clone, Copy)]
pub(super) struct Links<'a> {
    pub link: Option<&'a Link>,
    pub uplink: Option<&'a Uplink>,
    pub hops: &'a [Hop],
}

impl Links<'_> {
    /// The table of a link with WiFi that the data of the source in this place passes.
    fn wifi_of(self, source: usize, direction: Direction) -> Option<&'static str> {
        let is_wifi = |link: &Link| matches!(link.radio, Some(Radio::Wifi(_)));
        let passes = |hop: &Hop| is_wifi(&hop.link) && hop.sources.contains(&source);
        match direction {
            Direction::Up => self.uplink.filter(|up| is_wifi(&up.link)).map(|_| "uplink"),
            Direction::Down if self.link.is_some_and(is_wifi) => Some("link"),
            Direction::Down => self.hops.iter().any(passes).then_some("hop"),
        }
    }
}

/// Refuses sources with longer packets than WiFi carries, over WiFi.
pub(super) fn refuse_long_packets(
    links: Links<'_>,
    groups: &[(Group, &Table)],
    udp: &[(Udp, &Table)],
    gathered: &mut Gathered,
) {
    let groups = groups
        .iter()
        .map(|(group, table)| ("group", "mss", HEADERS, group.mss, group.direction, *table));
    let udp = udp
        .iter()
        .map(|(udp, table)| ("udp", "packet", Bytes::ZERO, udp.packet, udp.direction, *table));
    for (source, (list, key, headers, size, direction, table)) in groups.chain(udp).enumerate() {
        let most = Wifi::LONGEST_PACKET.saturating_sub(headers);
        let Some(node) = table.get(key).filter(|_| size > most) else { continue };
        let Some(path) = links.wifi_of(source, direction) else { continue };
        let message = format!(
            "`{list}.{key}`: found {} over `{path}.wifi`, expected at most {}: 802.11 carries packets of \
             {} B of IP",
            node.found(),
            most.get(),
            Wifi::LONGEST_PACKET.get()
        );
        gathered.add(&node.place, message, None);
    }
}

/// Refuses keys of the link in `table` that say something beside its radio.
pub(super) fn refuse_beside(table: &Table, path: &str, radio: &str, gathered: &mut Gathered) {
    let zero = |entry: &Entry| {
        entry.value.text().is_some_and(|text| {
            text.parse() == Ok(Duration::ZERO) || text.parse() == Ok(l4s_units::Bytes::ZERO)
        })
    };
    for (key, zero_text) in [("burst", "0b"), ("aggregation", "0s")] {
        if let Some(entry) = table.entry(key).filter(|entry| !zero(entry)) {
            let found = entry.value.found();
            let message = format!(
                "`{path}.{key}`: found {found} beside `{radio}`, expected \"{zero_text}\": a radio \
                 has frames of its own"
            );
            gathered.add(&entry.place, message, None);
        }
    }
}
