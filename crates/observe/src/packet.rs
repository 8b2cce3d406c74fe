//! A packet, as measurement sees it.

use l4s_model::{FlowId, SourceId};
use l4s_units::Bytes;

/// A packet that is observed: a packet of a queue discipline that knows its flow and its headers.
pub trait Traced: l4s_aqm::Packet {
    /// The flow.
    fn flow(&self) -> FlowId;
    /// The group or UDP source.
    fn group(&self) -> SourceId;
    /// The IP length.
    fn ip_length(&self) -> Bytes;
    /// Whether it was CE when it arrived at the queue that it is in.
    fn arrived_ce(&self) -> bool;
    /// Whether it arrived there not CE and is CE now.
    #[inline]
    fn newly_marked(&self) -> bool {
        self.ecn().is_ce() && !self.arrived_ce()
    }
    /// Its transport header.
    fn header(&self) -> Header;
    /// The IP packet as it is on the wire, for packets that are real.
    fn bytes(&self) -> Option<&[u8]> {
        None
    }
}

/// A transport header, enough to write the packet down.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Header {
    /// A TCP segment from server to client.
    Tcp {
        /// Sequence number of the first byte of payload, counted from 0 at the SYN.
        seq: u64,
        /// Acknowledgement number, counted from 0 at the client's SYN.
        ack: u64,
        /// Bytes of payload.
        payload: u32,
        /// SYN.
        syn: bool,
        /// FIN.
        fin: bool,
        /// What it says of ECN.
        flags: EcnFlags,
        /// Its time stamp and the one that it echoes (RFC 7323 §3.2), where the substrate knows them.
        stamps: Option<(u32, u32)>,
    },
    /// A UDP datagram.
    Udp {
        /// Bytes of payload.
        payload: u32,
        /// Number of the datagram within its source.
        number: u64,
    },
}

/// The ECN flags of a TCP header: those of RFC 3168, and what became of the NS bit (RFC 9768 §3.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct EcnFlags {
    /// Accurate ECN.
    pub ae: bool,
    /// Congestion window reduced.
    pub cwr: bool,
    /// Echo of congestion experienced.
    pub ece: bool,
}

impl EcnFlags {
    /// The flags as the counter ACE: AE, CWR, ECE, the most significant first (RFC 9768 §3.2.2).
    pub const fn of_ace(ace: u8) -> EcnFlags {
        EcnFlags { ae: ace & 4 != 0, cwr: ace & 2 != 0, ece: ace & 1 != 0 }
    }

    /// The counter that they are.
    pub const fn ace(self) -> u8 {
        (self.ae as u8) << 2 | (self.cwr as u8) << 1 | self.ece as u8
    }
}
