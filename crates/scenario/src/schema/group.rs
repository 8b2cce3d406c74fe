//! `[[group]]`: TCP flows that behave alike.

use l4s_cc::Endpoint;
use l4s_model::{
    AccEcn, DEFAULT_ACK_ELICITING_THRESHOLD, DEFAULT_MSS, Direction, EcnMode, Feedback, Group,
    LEAST_BUFFER, LEAST_MSS, MOST_BUFFER, MOST_MSS, Peer,
};
use l4s_units::param::Configurable;
use l4s_units::{Bytes, Duration, Time};

use super::uplink::{direction, direction_item};
use super::{MOST_FLOWS, MOST_SOURCES, source_name, tables};
use crate::fault::{Gathered, Place};
use crate::field::{
    Field, LONGEST, Refusal, bytes_text, count, duration, instant, quantity, read_table, word,
    written,
};
use crate::tree::{Item, Node, Table, list, table_of, text};
use crate::{catalog, settings};

/// The shortest and the longest base round trip.
pub(super) const LEAST_RTT: Duration = Duration::from_micros(1);
pub(super) const MOST_RTT: Duration = Duration::from_secs(60);

const KINDS_OF_ECN: [(&str, EcnMode); 4] = [
    ("off", EcnMode::Off),
    ("classic", EcnMode::Classic),
    ("l4s", EcnMode::L4s),
    ("auto", EcnMode::Auto),
];

/// The largest initial window in segments.
const MOST_INITIAL_WINDOW: u64 = 1000;
const KINDS_OF_PEER: [(&str, Peer); 4] = [
    ("auto", Peer::Auto),
    ("accecn", Peer::AccEcn),
    ("rfc3168", Peer::Rfc3168),
    ("none", Peer::None),
];

/// More than the windows of most paths.
const MOST_THRESHOLD: u64 = 1000;

const KINDS_OF_ENDPOINT: [(&str, Endpoint); 2] =
    [("linux-tcp", Endpoint::LinuxTcp), ("quic", Endpoint::Quic)];

const KINDS_OF_ACCECN: [(&str, AccEcn); 2] = [("option", AccEcn::Option), ("ace", AccEcn::Ace)];

/// A group before its flows are counted out.
#[derive(Clone, Debug)]
pub(crate) struct GroupDraft {
    pub name: String,
    pub direction: Direction,
    pub endpoint: Endpoint,
    pub ack_eliciting_threshold: u64,
    pub ecn: EcnMode,
    pub peer: Peer,
    pub accecn: AccEcn,
    pub flows: u64,
    pub rtt: Duration,
    pub start: Start,
    pub size: Option<Bytes>,
    pub mss: Bytes,
    pub initial_window: u64,
    pub rcvbuf: Option<Bytes>,
    pub sndbuf: Option<Bytes>,
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

pub(crate) const GROUP: &[Field<GroupDraft>] = &[
    Field {
        name: "name",
        doc: "the group's name in results",
        required: true,
        read: |group, node| source_name(node).map(|name| group.name = name),
        write: |group| Some(text(&group.name)),
    },
    Field {
        name: "direction",
        doc: "down, up through the `[uplink]` (its servers are where clients are otherwise), or both: then `A up` is a second group",
        required: false,
        read: |group, node| direction(node).map(|direction| group.direction = direction),
        write: |group| direction_item(group.direction),
    },
    Field {
        name: "endpoint",
        doc: "the transport: linux-tcp, or quic as RFC 9002 has it, on `sim` alone",
        required: false,
        read: |group, node| {
            word(node, &KINDS_OF_ENDPOINT).map(|endpoint| group.endpoint = endpoint)
        },
        write: |group| written(&KINDS_OF_ENDPOINT, group.endpoint),
    },
    Field {
        name: "ack_eliciting_threshold",
        doc: "packets that a client of `endpoint = \"quic\"` leaves without an acknowledgement, as the server's ACK_FREQUENCY frame asks for",
        required: false,
        read: |group, node| {
            count(node, 0, MOST_THRESHOLD).map(|packets| group.ack_eliciting_threshold = packets)
        },
        write: |group| Some(group.ack_eliciting_threshold.into()),
    },
    Field {
        name: "ecn",
        doc: "off, classic (ECT(0)), l4s (ECT(1)) or auto (as the congestion control requires)",
        required: false,
        read: |group, node| word(node, &KINDS_OF_ECN).map(|ecn| group.ecn = ecn),
        write: |group| written(&KINDS_OF_ECN, group.ecn),
    },
    Field {
        name: "peer",
        doc: "the ECN of the clients: none, rfc3168, accecn or auto (that of the same congestion control)",
        required: false,
        read: |group, node| word(node, &KINDS_OF_PEER).map(|peer| group.peer = peer),
        write: |group| written(&KINDS_OF_PEER, group.peer),
    },
    Field {
        name: "accecn",
        doc: "how AccECN counts marks: option (its TCP option too) or ace (three bits alone)",
        required: false,
        read: |group, node| word(node, &KINDS_OF_ACCECN).map(|accecn| group.accecn = accecn),
        write: |group| written(&KINDS_OF_ACCECN, group.accecn),
    },
    Field {
        name: "flows",
        doc: "how many connections",
        required: false,
        read: |group, node| count(node, 0, MOST_FLOWS).map(|flows| group.flows = flows),
        write: |group| Some(group.flows.into()),
    },
    Field {
        name: "rtt",
        doc: "the base round trip, queue excluded, such as \"10ms\"",
        required: true,
        read: |group, node| duration(node, LEAST_RTT, MOST_RTT).map(|rtt| group.rtt = rtt),
        write: |group| Some(text(group.rtt)),
    },
    Field {
        name: "start",
        doc: "when the flows start: a time, a list with one per flow, or { every = \"1s\" }",
        required: false,
        read: |group, node| Start::read(node).map(|start| group.start = start),
        write: |group| Some(start_item(&group.start)),
    },
    Field {
        name: "size",
        doc: "bytes that each flow sends, or \"unlimited\"",
        required: false,
        read: |group, node| size(node).map(|size| group.size = size),
        write: |group| Some(text(group.size.map_or("unlimited".to_owned(), bytes_text))),
    },
    Field {
        name: "mss",
        doc: "bytes of payload in a full segment, 52 less than its packet",
        required: false,
        read: |group, node| {
            count(node, LEAST_MSS.get(), MOST_MSS.get()).map(|mss| group.mss = Bytes::new(mss))
        },
        write: |group| Some(group.mss.get().into()),
    },
    Field {
        name: "initial_window",
        doc: "segments that a flow may send before the first acknowledgement",
        required: false,
        read: |group, node| {
            count(node, 1, MOST_INITIAL_WINDOW).map(|window| group.initial_window = window)
        },
        write: |group| Some(group.initial_window.into()),
    },
    Field {
        name: "rcvbuf",
        doc: "receive buffer of each client as SO_RCVBUF sets it, such as \"64kb\", or \"auto\"",
        required: false,
        read: |group, node| buffer(node).map(|buffer| group.rcvbuf = buffer),
        write: |group| Some(text(group.rcvbuf.map_or("auto".to_owned(), bytes_text))),
    },
    Field {
        name: "sndbuf",
        doc: "send buffer of each connection of its server as SO_SNDBUF sets it, or \"auto\"",
        required: false,
        read: |group, node| buffer(node).map(|buffer| group.sndbuf = buffer),
        write: |group| Some(text(group.sndbuf.map_or("auto".to_owned(), bytes_text))),
    },
];

impl Start {
    pub fn read(node: &Node) -> Result<Start, Refusal> {
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

    /// The start of each flow, where the group has this number of them; a list has its own number.
    pub fn of(self, flows: u64) -> Vec<Time> {
        match self {
            Start::At(time) => vec![time; flows as usize],
            Start::Every(span) => (0..flows).map(|i| Time::ZERO + span * i).collect(),
            Start::List(times) => times,
        }
    }
}

fn start_item(start: &Start) -> Item {
    match start {
        Start::At(time) => text(time),
        Start::Every(span) => table_of([("every", text(span))]),
        Start::List(times) => list(times.iter().map(text)),
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

fn buffer(node: &Node) -> Result<Option<Bytes>, Refusal> {
    if node.text() == Some("auto") {
        return Ok(None);
    }
    quantity(node, LEAST_BUFFER, MOST_BUFFER).map(Some).map_err(|refusal| Refusal {
        expected: format!("\"auto\" or {}", refusal.expected),
        ..refusal
    })
}

/// Every group, with the table it was read from.
pub(super) fn groups<'a>(
    root: &'a Table,
    end: Duration,
    gathered: &mut Gathered,
) -> Vec<(Group, &'a Table)> {
    let tables = tables(root, "group", gathered);
    let mut groups = Vec::new();
    let mut flows: u64 = 0;
    for (node, table) in tables.into_iter().take(MOST_SOURCES + 1) {
        let before = gathered.count();
        let mut draft = GroupDraft {
            name: String::new(),
            direction: Direction::Down,
            endpoint: Endpoint::LinuxTcp,
            ack_eliciting_threshold: DEFAULT_ACK_ELICITING_THRESHOLD.into(),
            ecn: EcnMode::Auto,
            peer: Peer::default(),
            accecn: AccEcn::default(),
            flows: 1,
            rtt: Duration::ZERO,
            start: Start::At(Time::ZERO),
            size: None,
            mss: DEFAULT_MSS,
            initial_window: l4s_cc::INITIAL_WINDOW.into(),
            rcvbuf: None,
            sndbuf: None,
        };
        read_table(table, &node.place, "group", GROUP, &["cc"], &mut draft, gathered);
        if flows > MOST_FLOWS {
            // Too many already, which is said elsewhere: no memory for more.
            (draft.flows, draft.start) = (0, Start::At(Time::ZERO));
        }
        flows += draft.flows;
        let cc = control(table, &node.place, gathered).filter(|_| gathered.count() == before);
        if let Some(group) = cc.and_then(|cc| counted_out(draft, cc, table, end, gathered)) {
            groups.push((group, table));
        }
    }
    groups
}

pub(super) fn control(
    table: &Table,
    place: &Place,
    gathered: &mut Gathered,
) -> Option<l4s_cc::Config> {
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
pub(super) fn counted_out(
    draft: GroupDraft,
    cc: l4s_cc::Config,
    table: &Table,
    end: Duration,
    gathered: &mut Gathered,
) -> Option<Group> {
    let before = gathered.count();
    let place = |key: &str| table.get(key).map(|node| node.place.clone()).unwrap_or_default();
    let starts = draft.start.of(draft.flows);
    if starts.len() as u64 != draft.flows {
        let message = format!(
            "`group.start`: found {} times, expected one for each of {} flows",
            starts.len(),
            draft.flows
        );
        gathered.add(&place("start"), message, None);
    }
    if let Some(late) = starts.iter().find(|start| start.since(Time::ZERO) >= end) {
        let message = format!("`group.start`: {late} is not before the end of the run at {end}");
        gathered.add(&place("start"), message, None);
    }
    if draft.ecn == EcnMode::Off && cc.wants() != l4s_cc::WantedEcn::Off {
        let message = format!("`group.ecn`: {} cannot do without ECN", cc.kind());
        let help = "leave `ecn` out, or choose another `cc`".to_owned();
        gathered.add(&place("ecn"), message, Some(help));
    }
    let group = Group {
        name: draft.name,
        direction: draft.direction,
        cc,
        endpoint: draft.endpoint,
        ack_eliciting_threshold: draft.ack_eliciting_threshold as u32,
        ecn: draft.ecn,
        peer: draft.peer,
        accecn: draft.accecn,
        rtt: draft.rtt,
        starts,
        size: draft.size,
        mss: draft.mss,
        initial_window: draft.initial_window as u32,
        rcvbuf: draft.rcvbuf,
        sndbuf: draft.sndbuf,
    };
    let least = Bytes::new(4 * group.mss.get());
    if let Some(rcvbuf) = group.rcvbuf.filter(|rcvbuf| *rcvbuf < least) {
        let (rcvbuf, least, mss) = (bytes_text(rcvbuf), bytes_text(least), group.mss.get());
        let message = format!(
            "`group.rcvbuf`: found {rcvbuf}, expected {least} or more: four segments of {mss} B (`mss`)"
        );
        gathered.add(&place("rcvbuf"), message, None);
    }
    if group.endpoint == Endpoint::Quic {
        refuse_tcp_settings(&group, place, gathered);
    } else if group.ack_eliciting_threshold != DEFAULT_ACK_ELICITING_THRESHOLD {
        let message = "`group.ack_eliciting_threshold`: TCP has no ACK_FREQUENCY frame".to_owned();
        let help = "leave it out, or set `endpoint = \"quic\"`";
        gathered.add(&place("ack_eliciting_threshold"), message, Some(help.to_owned()));
    }
    let accurate = matches!(group.negotiated().feedback, Feedback::Accurate { .. });
    if group.accecn == AccEcn::Ace && !accurate {
        let kind = group.cc.kind();
        let message = format!("`group.accecn`: {kind} over this ECN has no AccECN");
        let help =
            "leave `accecn` out; prague over ECT(1) has it, and all with `peer = \"accecn\"`";
        gathered.add(&place("accecn"), message, Some(help.to_owned()));
    }
    (gathered.count() == before).then_some(group)
}

/// Settings of TCP that no QUIC connection has.
fn refuse_tcp_settings(group: &Group, place: impl Fn(&str) -> Place, gathered: &mut Gathered) {
    let mut refuse = |key: &str, found: String, help: &str| {
        let message = format!("`group.{key}`: {found} with `endpoint = \"quic\"`");
        gathered.add(&place(key), message, Some(help.to_owned()));
    };
    let window = "leave it out: flow control of QUIC limits no sender here; or set `endpoint = \"linux-tcp\"`";
    if group.rcvbuf.is_some() {
        refuse("rcvbuf", "no receive window of TCP".to_owned(), window);
    }
    if group.sndbuf.is_some() {
        refuse("sndbuf", "no send buffer of TCP".to_owned(), window);
    }
    if group.accecn == AccEcn::Ace {
        let help = "leave `accecn` out: ACK frames count marks exactly (RFC 9000 section 13.4.1)";
        refuse("accecn", "no AccECN".to_owned(), help);
    }
    if let Some((name, _)) = KINDS_OF_PEER
        .iter()
        .find(|(_, peer)| *peer == group.peer && !matches!(peer, Peer::Auto | Peer::None))
    {
        let help = "\"auto\" has clients that count marks in ACK frames, and \"none\" clients that report no ECN";
        refuse("peer", format!("no \"{name}\""), help);
    }
    if let l4s_cc::Config::Prague(prague) = &group.cc {
        if prague.fallback == l4s_cc::prague::Fallback::Active {
            let help = "`fallback = \"passive\"`, or `endpoint = \"linux-tcp\"`: tracers are read from D-SACK";
            refuse("cc", "no tracers (`fallback = \"active\"`)".to_owned(), help);
        }
    }
}
