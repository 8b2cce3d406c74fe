//! `[[hop]]`: further links that packets pass, before or behind the bottleneck.

use std::collections::{BTreeSet, HashSet};

use l4s_model::{Direction, Group, Hop, Link, Per, Scenario, Side, UPLINK, Udp, Web};
use l4s_units::{Bytes, Rate};

use super::link::{
    HIGHEST_RATE, LOWEST_RATE, Room, buffer, buffer_text, largest_frame, limit_for_a_packet,
    own_discipline, refuse_trace, room_for_a_packet, unset,
};
use super::radio::{RADIOS, radio, refuse_beside};
use super::{Names, few_tables, listed_groups, source_name};
use crate::fault::{Gathered, did_you_mean};
use crate::field::{Field, Refusal, bytes_text, quantity, read_table, word, written};
use crate::tree::{Node, Table, list, text};

pub(super) const SIDES: [(&str, Side); 2] = [("before", Side::Before), ("behind", Side::Behind)];

const PERS: [(&str, Per); 3] = [("all", Per::All), ("group", Per::Group), ("flow", Per::Flow)];

/// A hop whose sources are names still.
#[derive(Clone, Debug)]
pub(crate) struct HopDraft {
    name: String,
    side: Side,
    link: Link,
    /// `None` for all of them.
    sources: Option<Vec<String>>,
    per: Per,
}

impl HopDraft {
    /// A hop of a scenario.
    pub fn of(hop: &Hop, scenario: &Scenario) -> HopDraft {
        let groups = scenario.groups.iter().map(|group| &group.name);
        let names: Vec<_> = groups.chain(scenario.udp.iter().map(|udp| &udp.name)).collect();
        let Hop { name, side, link, per, sources, .. } = hop.clone();
        let sources = Some(sources.into_iter().map(|source| names[source].clone()).collect());
        HopDraft { name, side, link, sources, per }
    }
}

pub(crate) const HOP: &[Field<HopDraft>] = &[
    Field {
        name: "name",
        doc: "the link's name in results",
        required: true,
        read: |hop, node| source_name(node).map(|name| hop.name = name),
        write: |hop| Some(text(&hop.name)),
    },
    Field {
        name: "place",
        doc: "before the bottleneck, towards the servers, or behind it; several in this order",
        required: false,
        read: |hop, node| word(node, &SIDES).map(|side| hop.side = side),
        write: |hop| written(&SIDES, hop.side),
    },
    Field {
        name: "rate",
        doc: "bits per second, 14 B of Ethernet per packet included, such as \"120mbit\"",
        required: true,
        read: |hop, node| {
            quantity(node, LOWEST_RATE, HIGHEST_RATE).map(|rate| hop.link.rate = rate)
        },
        write: |hop| hop.link.radio.is_none().then(|| text(hop.link.rate)),
    },
    Field {
        name: "buffer",
        doc: "the buffer: packets (\"100p\"), bytes on the link, or time at the link's rate",
        required: false,
        read: |hop, node| buffer(node).map(|buffer| hop.link.buffer = buffer),
        write: |hop| Some(text(buffer_text(hop.link.buffer))),
    },
    Field {
        name: "burst",
        doc: "the burst that may be sent after idling: the bucket of the shaper, as htb's burst",
        required: false,
        read: |hop, node| {
            quantity(node, Bytes::ZERO, Bytes::new(100_000_000)).map(|burst| hop.link.burst = burst)
        },
        write: |hop| Some(text(bytes_text(hop.link.burst))),
    },
    Field {
        name: "groups",
        doc: "whose packets pass it: groups and UDP sources by name; all of them unless set",
        required: false,
        read: |hop, node| named(node).map(|sources| hop.sources = Some(sources)),
        write: |hop| Some(list(hop.sources.iter().flatten().map(text))),
    },
    Field {
        name: "per",
        doc: "the unit that has such a link to itself: all together, each group (or UDP source), each flow",
        required: false,
        read: |hop, node| word(node, &PERS).map(|per| hop.per = per),
        write: |hop| written(&PERS, hop.per),
    },
];

/// A list of names of groups and UDP sources.
pub(super) fn named(node: &Node) -> Result<Vec<String>, Refusal> {
    let names = node.list().unwrap_or_default();
    let names: Option<Vec<_>> = names.iter().map(|name| Some(name.text()?.to_owned())).collect();
    names.filter(|names| !names.is_empty()).ok_or_else(|| {
        Refusal::expected("a list of names of groups or UDP sources, such as [\"A\"]")
    })
}

/// Every `[[hop]]`, in the order of the file.
pub(super) fn hops(
    root: &Table,
    groups: &[(Group, &Table)],
    udp: &[(Udp, &Table)],
    web: &[Web],
    known: &Names<'_>,
    gathered: &mut Gathered,
) -> Vec<Hop> {
    let mut hops: Vec<Hop> = Vec::new();
    let mut names = HashSet::new();
    let frame = largest_frame(groups, udp);
    let with_web: HashSet<usize> = web.iter().map(|web| web.group).collect();
    for (node, table) in few_tables(root, "hop", gathered) {
        if refuse_trace(table, "hop", gathered) {
            continue;
        }
        let before = gathered.count();
        let mut draft = HopDraft {
            name: String::new(),
            side: Side::default(),
            link: unset(),
            sources: None,
            per: Per::default(),
        };
        let own_rate = RADIOS.iter().find(|radio| table.get(radio).is_some());
        let required = |field: &Field<HopDraft>| {
            let required = field.required && (field.name != "rate" || own_rate.is_none());
            Field { required, ..*field }
        };
        let fields: Vec<_> = HOP.iter().map(required).collect();
        let elsewhere: Vec<&str> = RADIOS.into_iter().chain(["aqm"]).collect();
        read_table(table, &node.place, "hop", &fields, &elsewhere, &mut draft, gathered);
        if let Some(kind) = own_rate {
            if let Some(entry) = table.entry("rate") {
                let message = format!("`hop.rate`: the link has a `{kind}` already");
                gathered.add(&entry.place, message, Some("leave out one of them".to_owned()));
            }
            refuse_beside(table, "hop", kind, gathered);
            if let Some(radio) = radio(table, "hop", Direction::Down, gathered) {
                draft.link = Link { burst: Bytes::ZERO, ..draft.link }.by(radio);
            }
        }
        let room = Room::of(table, &draft.link, frame);
        let aqm = own_discipline(table, &node.place, "hop.aqm", Some(room), gathered);
        let HopDraft { name, side, mut link, sources, per } = draft;
        if !name.is_empty() && !names.insert(name.clone()) {
            let place = table.get("name").map_or(&node.place, |node| &node.place);
            let message = format!("two `[[hop]]` are called `{name}`");
            gathered.add(place, message, Some("give each its own name".to_owned()));
        }
        if name == UPLINK {
            let place = table.get("name").map_or(&node.place, |node| &node.place);
            let message = format!("`hop.name`: `{UPLINK}` is the name of the way up in results");
            gathered.add(place, message, Some("choose another name".to_owned()));
        }
        let sources = places(table, "hop", sources, known, groups.len() + udp.len(), gathered);
        let passing = sources.iter().filter_map(|place| place.checked_sub(groups.len()));
        let passing = passing.map(|number| &udp[number].0);
        let rate = Some(link.rate).filter(|rate| *rate > Rate::ZERO);
        room_for_a_packet(table, "hop", rate, passing.clone(), gathered);
        if let Some((_, limit)) = &aqm {
            let table = table.get("aqm").and_then(Node::table);
            limit_for_a_packet(table, "hop.aqm", *limit, passing, gathered);
        }
        let web = sources.iter().copied().find(|source| with_web.contains(source));
        if let Some(source) = web.filter(|_| per == Per::Flow) {
            let place = table.get("per").map_or(&node.place, |node| &node.place);
            let message = format!(
                "`hop.per`: found \"flow\", but group `{}` has a `[[web]]`, whose downloads have \
                 no link of their own",
                groups[source].0.name
            );
            let help = "per = \"group\", or name the other `groups`".to_owned();
            gathered.add(place, message, Some(help));
        }
        let Some((aqm, limit)) = aqm.filter(|_| gathered.count() == before) else { continue };
        // Without a buffer the profile's own limit is one.
        if table.get("buffer").is_none() {
            link.buffer = limit;
        }
        hops.push(Hop { name, side, link, aqm, sources, per });
    }
    hops
}

/// The places of the sources of these names in `groups` of a hop or path, in order: first groups, then UDP sources; without names
/// those of all `count`.
pub(super) fn places(
    table: &Table,
    path: &str,
    names: Option<Vec<String>>,
    known: &Names<'_>,
    count: usize,
    gathered: &mut Gathered,
) -> Vec<usize> {
    let Some(names) = names else { return (0..count).collect() };
    let items = table.get("groups").and_then(Node::list).unwrap_or_default();
    let is_unknown = |(name, _): &(&String, &Node)| !known.written.contains(name.as_str());
    for (name, node) in names.iter().zip(items).filter(is_unknown) {
        gathered.add_with(&node.place, || {
            let among = listed_groups(&known.sources);
            let message =
                format!("`{path}.groups`: there is no group or UDP source `{name}`{among}");
            (message, did_you_mean(name, known.sources.iter().copied()))
        });
    }
    // One that is wrong in itself was complained of already.
    let places = names.iter().filter_map(|name| known.places.get(name.as_str()).copied());
    places.collect::<BTreeSet<_>>().into_iter().collect()
}
