//! The messages between the server and its viewers: `docs/reference/live-protocol.md` as types.

mod command;
mod greeting;
mod settings;

use l4s_model::{FlowId, SourceId};
use serde::Serialize;

pub use command::{Changes, Command, Opening, Request, Start};
pub use greeting::{Bucketing, Control, Discipline, Greeting, Limits, Parameter, Preset, Span};
pub use settings::{App, Aqm, Group, Lane, Link, Path, Settings, Udp, Uplink, Web};

/// The version of the contract.
pub const PROTOCOL: u32 = 1;

/// The fault of a message, or of its request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, thiserror::Error)]
#[serde(tag = "type", rename = "error")]
#[error("{message}")]
pub struct Fault {
    /// The `id` of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// The key, or the part of the message.
    pub field: String,
    /// The value that was found and the accepted ones.
    pub message: String,
    /// The nearest spelling, or another way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl Fault {
    /// A fault of a field.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Fault {
        Fault { id: None, field: field.into(), message: message.into(), help: None }
    }

    /// The same, as the answer to a command.
    pub fn to(self, id: Option<u64>) -> Fault {
        Fault { id, ..self }
    }
}

/// A command was carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "type", rename = "done")]
pub struct Done {
    /// The `id` of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
}

/// The session is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "type", rename = "over")]
pub struct Over {}

/// The events in a session since the last state.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "type", rename = "state")]
pub struct State {
    /// Counts states.
    pub number: u64,
    /// How often the lanes began at time zero, from 1.
    pub run: u64,
    /// Virtual time.
    pub time_s: f64,
    /// The part of it since the last state.
    pub span_s: f64,
    /// Virtual seconds per second, as asked for.
    pub speed: f64,
    /// By how much virtual time lies behind that.
    pub late_s: f64,
    /// The lanes, one or two.
    pub lanes: Vec<LaneState>,
}

/// The events at a lane in a span of time.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct LaneState {
    /// The link.
    pub link: LinkState,
    /// Each queue that its discipline has, or had in the span.
    pub queues: Vec<QueueState>,
    /// The uplink, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink: Option<UplinkState>,
    /// Groups, then UDP sources.
    pub groups: Vec<GroupState>,
    /// Long flows and those of applications.
    pub flows: Vec<FlowState>,
    /// Downloads that were completed.
    pub downloads: Vec<Download>,
    /// Downloads of which nothing came for so long that they were given up.
    #[serde(skip_serializing_if = "is_none")]
    pub gave_up: u64,
    /// Downloads that did not begin, as there were as many as a session may have.
    #[serde(skip_serializing_if = "is_none")]
    pub turned_away: u64,
    /// Frames that applications skipped because their send buffer was full.
    #[serde(skip_serializing_if = "is_none")]
    pub skipped: u64,
    /// Frames of applications that arrived.
    pub frames: Vec<Frame>,
    /// A sample of packets.
    pub packets: Vec<PacketEvent>,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

/// The uplink in a span of time.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct UplinkState {
    /// Its link.
    pub link: LinkState,
    /// Each queue that its discipline has, or had in the span. Delays are those of data packets; where no
    /// source sends up, those of acknowledgements.
    pub queues: Vec<QueueState>,
    /// A sample of its packets.
    pub packets: Vec<PacketEvent>,
}

/// The link.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct LinkState {
    /// Its rate; where it follows a trace, the bytes that could pass in the span, as a rate.
    pub rate_bps: f64,
    /// The bytes that it carried with the headers of its packets, over the bytes that it could have
    /// carried.
    pub utilization: f64,
    /// Packets that wait.
    pub backlog_packets: u64,
    /// Bytes that wait.
    pub backlog_bytes: u64,
    /// The base probability p', where the discipline has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_base: Option<f64>,
}

/// A queue.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct QueueState {
    /// `L`, `C` or `Q`.
    pub name: &'static str,
    /// Packets forwarded.
    pub packets: u64,
    /// Those of them that were marked here.
    pub marked: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Mean queueing delay of data packets; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_mean_ms: Option<f64>,
    /// The longest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_max_ms: Option<f64>,
    /// Their histogram: [`bucket`] and packets.
    pub delays: Vec<(u16, u32)>,
}

/// A group or UDP source.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct GroupState {
    /// Its name.
    pub name: String,
    /// IP bits forwarded per second, by the bottleneck or, for a source that sends up, by the uplink; so are
    /// packets, marks and drops.
    pub rate_bps: f64,
    /// Bits that the clients passed on to their applications per second, each once and in order; absent
    /// for a UDP source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_bps: Option<f64>,
    /// Packets forwarded.
    pub packets: u64,
    /// Packets marked.
    pub marked: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Rate of a long flow times smoothed RTT over packet size; absent without long flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_pkts: Option<f64>,
    /// The mean smoothed RTT of its long flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_ms: Option<f64>,
}

/// A long flow, or one of an application.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct FlowState {
    /// Its number in the run.
    pub flow: FlowId,
    /// Its group.
    pub group: SourceId,
    /// It is one of an application.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub app: bool,
    /// IP bits forwarded per second.
    pub rate_bps: f64,
    /// Congestion window.
    pub cwnd_pkts: u32,
    /// Smoothed RTT.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub srtt_ms: Option<f64>,
    /// Its congestion control's own marking estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// The score of its detector of Classic ECN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classic_ecn: Option<f64>,
}

/// A download that was completed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Download {
    /// Its group.
    pub group: SourceId,
    /// The bytes that it fetched.
    pub bytes: u64,
    /// From just before the SYN until the close was seen.
    pub time_ms: f64,
    /// The theoretical time.
    pub ideal_ms: f64,
}

/// A frame of an application that arrived.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Frame {
    /// Its group.
    pub group: SourceId,
    /// From its write to its last byte's arrival.
    pub delay_ms: f64,
}

/// The event of a packet: when in ms since the last state, group, queue (0 L, 1 C, 2 Q), fate
/// (0 forwarded, 1 marked, 2 dropped), sojourn in ms.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct PacketEvent(pub f32, pub SourceId, pub u8, pub u8, pub f32);

/// Buckets of the histogram per decade.
pub const BUCKETS_PER_DECADE: f64 = 40.0;
/// Where the first bucket begins, in ms.
pub const FIRST_BUCKET_MS: f64 = 0.001;
/// How many there are: up to ten seconds.
pub const BUCKETS: usize = 281;

/// The bucket of a delay.
pub fn bucket(delay_ms: f64) -> u16 {
    let at = (delay_ms / FIRST_BUCKET_MS).log10() * BUCKETS_PER_DECADE;
    // The cast saturates: values below the first bucket belong there.
    (at.max(0.0) as u16).min(BUCKETS as u16 - 1)
}
