//! A session's present scenario.

use std::collections::BTreeMap;

use serde::Serialize;

/// The present scenario. Texts are those of `--set`.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "type", rename = "settings")]
pub struct Settings {
    /// Counts changes.
    pub number: u64,
    /// The name of the scenario.
    pub name: String,
    /// The preset that was loaded; absent where it was a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub point: Option<usize>,
    /// TOML that `l4s run` reads.
    pub text: String,
    /// The command that runs it, where it is a bundled one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The settings since it was loaded.
    pub set: BTreeMap<String, String>,
    /// Whether virtual time does not advance.
    pub paused: bool,
    /// Virtual seconds per second, as asked for.
    pub speed: f64,
    /// The lanes, one or two.
    pub lanes: Vec<Lane>,
    /// The groups.
    pub groups: Vec<Group>,
    /// The UDP sources.
    pub udp: Vec<Udp>,
    /// The imperfect stretches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Path>,
}

/// A lane.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Lane {
    /// The settings of its own.
    pub set: BTreeMap<String, String>,
    /// Its link.
    pub link: Link,
    /// Its discipline.
    pub aqm: Aqm,
    /// The way up, if that has a queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink: Option<Uplink>,
}

/// The uplink.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Uplink {
    /// Its link.
    pub link: Link,
    /// Its discipline.
    pub aqm: Aqm,
}

/// A link.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Link {
    /// Its rate; empty where it follows a trace.
    pub rate: String,
    /// The same in bits per second; the mean of the trace.
    pub rate_bps: f64,
    /// The trace that it follows, or the kind of radio that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// The maximum backlog for it.
    pub buffer: String,
}

/// A discipline.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Aqm {
    /// Its name.
    pub kind: String,
    /// The profile that differs least.
    pub profile: String,
    /// The parameters that have a meaning beside the others.
    pub values: BTreeMap<String, String>,
    /// `L` and `C`, or `Q`.
    pub queues: Vec<&'static str>,
}

/// A group.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// It sends through the uplink.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub up: bool,
    /// Its congestion control.
    pub cc: String,
    /// The profile that differs least.
    pub cc_profile: String,
    /// Which ECN it negotiates.
    pub ecn: String,
    /// How many long flows.
    pub flows: usize,
    /// Its base round trip.
    pub rtt: String,
    /// The same in milliseconds.
    pub rtt_ms: f64,
    /// Its downloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web: Option<Web>,
    /// Its application.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app: Option<App>,
}

/// Downloads.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Web {
    /// How many begin per second.
    pub rate: String,
    /// The same as a number.
    pub per_s: f64,
}

/// An application.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct App {
    /// The rate that it writes into each flow.
    pub rate: String,
    /// The same in bits per second.
    pub rate_bps: f64,
    /// Frames per second.
    pub fps: u64,
    /// Whether it skips frames.
    pub adapt: bool,
    /// How many flows.
    pub flows: u64,
}

/// A UDP source.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Udp {
    /// Its name.
    pub name: String,
    /// It sends through the uplink.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub up: bool,
    /// Its rate.
    pub rate: String,
    /// The same in bits per second.
    pub rate_bps: f64,
    /// The codepoint of its packets.
    pub ecn: String,
    /// The IP length of a packet.
    pub packet: String,
}

/// An imperfect stretch of the way.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Path {
    /// Its name.
    pub name: String,
    /// It is on the way up.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub up: bool,
    /// Which packets it loses.
    pub loss: String,
    /// The same as a chance, where each is lost independently.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_chance: Option<f64>,
    /// Its random delay.
    pub jitter: String,
    /// The longest in milliseconds, where it is uniform and keeps the order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter_ms: Option<f64>,
}
