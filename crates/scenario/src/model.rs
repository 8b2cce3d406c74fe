//! A scenario with every choice made: what a substrate runs.

use l4s_units::{Bytes, Duration, Ecn, Rate, Time};

/// One run: which flows meet at which bottleneck, for how long.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// How long it runs, warm-up included.
    pub duration: Duration,
    /// The first part of it, which no statistic counts. Shorter than `duration`.
    pub warmup: Duration,
    /// The seed of every random stream.
    pub seed: u64,
    /// The bottleneck.
    pub link: Link,
    /// Its queue discipline, whose packet limit is `link.buffer` unless it sets its own.
    pub aqm: l4s_aqm::Config,
    /// Flows that behave alike.
    pub groups: Vec<Group>,
    /// Unresponsive sources.
    pub udp: Vec<Udp>,
    /// What only substrates with real sockets ask for.
    pub kernel: Kernel,
}

/// Choices that only real sockets have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Kernel {
    /// The version of IP between servers and clients.
    pub ip: Ip,
    /// Whether senders hand down bursts, which the queue sees as one packet each (generic
    /// segmentation offload).
    pub gso: bool,
}

/// A version of IP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ip {
    /// IPv4.
    #[default]
    V4,
    /// IPv6.
    V6,
}

/// The bottleneck link.
#[derive(Clone, PartialEq, Debug)]
pub struct Link {
    /// Its rate, link-layer header (14 B of Ethernet) included.
    pub rate: Rate,
    /// What may wait for it.
    pub buffer: Buffer,
    /// What it may send at once after it was idle: the bucket of the shaper (`htb burst`).
    pub burst: Bytes,
}

/// The size of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// So many packets, whatever their size.
    Packets(u64),
    /// So many bytes on the link.
    Bytes(Bytes),
    /// As many bytes as the link carries in this time.
    Time(Duration),
}

/// TCP flows that behave alike, between one server and one client.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    /// Its name, unique among groups and UDP sources.
    pub name: String,
    /// Its congestion control.
    pub cc: l4s_cc::Config,
    /// Which ECN it negotiates.
    pub ecn: EcnMode,
    /// The base round trip, queue excluded.
    pub rtt: Duration,
    /// When each flow starts; as long as the number of flows. Zero flows are allowed.
    pub starts: Vec<Time>,
    /// How much each flow sends; `None` for a flow that never ends.
    pub size: Option<Bytes>,
}

/// Which ECN a TCP connection negotiates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnMode {
    /// None: Not-ECT.
    Off,
    /// RFC 3168: ECT(0).
    Classic,
    /// L4S: ECT(1).
    L4s,
    /// What the congestion control asks for.
    Auto,
}

/// An unresponsive source of constant bit rate.
#[derive(Clone, PartialEq, Debug)]
pub struct Udp {
    /// Its name, unique among groups and UDP sources.
    pub name: String,
    /// Its rate, counted in IP length.
    pub rate: Rate,
    /// The codepoint that its packets carry.
    pub ecn: Ecn,
    /// The IP length of a packet.
    pub packet: Bytes,
    /// When it starts.
    pub start: Time,
    /// When it stops; `None` at the end of the run.
    pub stop: Option<Time>,
}
