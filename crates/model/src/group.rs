//! TCP flows that behave alike.

use l4s_cc::Endpoint;
use l4s_units::{Bytes, Duration, Time};
use serde::{Deserialize, Serialize};

use crate::Direction;

/// TCP flows that behave alike, between one server and one client.
///
/// ```
/// use l4s_cc::{Config, cubic, prague};
/// use l4s_model::{AccEcn, EcnMode, Group, Peer};
/// use l4s_units::{Duration, Ecn, Time};
///
/// let rtt = Duration::from_millis(20);
/// // Three Prague flows, one second apart; something on their path strips the AccECN option.
/// let mut group = Group::new("A", Config::Prague(prague::Config::default()), rtt);
/// group.starts = (0..3).map(|n| Time::ZERO + Duration::from_secs(n)).collect();
/// group.accecn = AccEcn::Ace;
/// assert_eq!(group.codepoint(), Some(Ecn::Ect1));
///
/// // Cubic asks for no ECN by itself, and with a client that has none it gets none.
/// let mut classic = Group::new("B", Config::Cubic(cubic::Config::default()), rtt);
/// classic.ecn = EcnMode::Classic;
/// assert_eq!(classic.negotiated().codepoint, Some(Ecn::Ect0));
/// classic.peer = Peer::None;
/// assert_eq!(classic.negotiated().codepoint, None);
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Group {
    /// Its name, unique among groups and UDP sources.
    pub name: String,
    /// Which way its data goes.
    pub direction: Direction,
    /// Its congestion control.
    pub cc: l4s_cc::Config,
    /// The transport of both ends.
    pub endpoint: Endpoint,
    /// Of QUIC: packets that its clients leave without an acknowledgement, at most, as an ACK_FREQUENCY frame asks for
    /// (draft-ietf-quic-ack-frequency section 4). 1 is that of RFC 9000: every second packet is acknowledged.
    pub ack_eliciting_threshold: u32,
    /// Which ECN it negotiates.
    pub ecn: EcnMode,
    /// The capabilities of its clients.
    pub peer: Peer,
    /// The fields in which its acknowledgements report marks, where they count them.
    pub accecn: AccEcn,
    /// The base round trip, queue excluded.
    pub rtt: Duration,
    /// When each flow starts; as long as the number of flows. Zero flows are allowed.
    pub starts: Vec<Time>,
    /// How much each flow sends; `None` for a flow that never ends.
    pub size: Option<Bytes>,
    /// Payload of a full segment, [`LEAST_MSS`] to [`MOST_MSS`]: the MSS option of the client's SYN
    /// (RFC 9293 §3.7.1), less 12 B of time stamps.
    pub mss: Bytes,
    /// The initial window in segments, from 1 (RFC 6928).
    pub initial_window: u32,
    /// The receive buffer of its clients as SO_RCVBUF sets it, [`LEAST_BUFFER`] and four segments to
    /// [`MOST_BUFFER`]; `None` where it follows the flow (Linux' autotuning).
    pub rcvbuf: Option<Bytes>,
    /// The send buffer of each connection of its server as SO_SNDBUF sets it, [`LEAST_BUFFER`] to
    /// [`MOST_BUFFER`]; `None` where it follows the flow (Linux' autotuning).
    pub sndbuf: Option<Bytes>,
}

/// The payload of a full segment on a path of 1500 B packets.
pub const DEFAULT_MSS: Bytes = Bytes::new(1448);
/// Packets that clients of QUIC leave without an acknowledgement, where no frame asks for others (RFC 9000 §13.2.2).
pub const DEFAULT_ACK_ELICITING_THRESHOLD: u32 = 1;
/// The smallest: RFC 9293 §3.7.1 takes 536 B where a peer says nothing.
pub const LEAST_MSS: Bytes = Bytes::new(536);
/// The largest: of packets of 9000 B.
pub const MOST_MSS: Bytes = Bytes::new(8948);

/// The smallest buffer of a socket that can be set.
pub const LEAST_BUFFER: Bytes = Bytes::new(4096);
/// The largest: Linux keeps twice of it in 31 bits.
pub const MOST_BUFFER: Bytes = Bytes::new(i32::MAX as u64 / 2);

/// Which ECN a TCP connection negotiates.
///
/// Example: [`Group`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum EcnMode {
    /// None: Not-ECT.
    Off,
    /// RFC 3168: ECT(0).
    Classic,
    /// L4S: ECT(1).
    L4s,
    /// The mode that the congestion control requests.
    Auto,
}

/// The most ECN that the client of a TCP connection supports and requests in its SYN.
///
/// Example: [`Group`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Peer {
    /// The mode that the server's congestion control requires: the client has the same one.
    #[default]
    Auto,
    /// Accurate ECN (RFC 9768).
    AccEcn,
    /// The ECN of RFC 3168.
    Rfc3168,
    /// No ECN.
    None,
}

/// How acknowledgements count marks, where Accurate ECN was negotiated (RFC 9768).
///
/// Example: [`Group`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum AccEcn {
    /// Packets in three bits of the header, and bytes in the TCP option.
    #[default]
    Option,
    /// Packets in three bits of the header alone, as where something strips the option.
    Ace,
}

impl Group {
    /// One flow that starts at once and never ends, with the ECN that its congestion control asks for.
    pub fn new(name: &str, cc: l4s_cc::Config, rtt: Duration) -> Group {
        Group {
            name: name.to_owned(),
            direction: Direction::Down,
            cc,
            endpoint: Endpoint::LinuxTcp,
            ack_eliciting_threshold: DEFAULT_ACK_ELICITING_THRESHOLD,
            ecn: EcnMode::Auto,
            peer: Peer::Auto,
            accecn: AccEcn::Option,
            rtt,
            starts: vec![Time::ZERO],
            size: None,
            mss: DEFAULT_MSS,
            initial_window: l4s_cc::INITIAL_WINDOW,
            rcvbuf: None,
            sndbuf: None,
        }
    }
}
