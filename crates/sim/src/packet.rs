//! What crosses the bottleneck, and what comes back.

use l4s_measure::{Header, Traced};
use l4s_units::{Bytes, Ecn, Time};

/// IP length of a full TCP segment.
pub(crate) const FULL_IP: u64 = 1500;
/// IP and TCP header, time stamps included.
pub(crate) const HEADER: u64 = 52;
/// Payload of a full segment.
pub(crate) const MSS: u64 = FULL_IP - HEADER;
/// IP length of a SYN or SYN-ACK, with its options.
const SYN_IP: u64 = 60;
/// Ethernet header, which the link carries too.
const ETHERNET: u64 = 14;
/// IP and UDP header.
const UDP_HEADER: u64 = 28;

/// Whose a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Owner {
    /// The number of the flow.
    pub flow: u32,
    /// Where its connection is kept.
    pub slot: u32,
    /// Its group.
    pub group: u16,
}

/// A packet on its way to a client, in 24 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// TCP: number of the segment within its flow. UDP: number of the datagram.
    pub(crate) seq: u64,
    pub(crate) flow: u32,
    /// Where its connection is kept.
    pub(crate) slot: u32,
    pub(crate) group: u16,
    pub(crate) ip_length: u16,
    pub(crate) ecn: Ecn,
    flags: u8,
}

impl Packet {
    const SYN: u8 = 1;
    const FIN: u8 = 1 << 1;
    const CWR: u8 = 1 << 2;
    const UDP: u8 = 1 << 3;
    const ARRIVED_CE: u8 = 1 << 4;
    const PSH: u8 = 1 << 5;

    #[inline]
    fn new(owner: Owner, seq: u64, ip_length: u16, ecn: Ecn, flags: u8) -> Packet {
        let Owner { flow, slot, group } = owner;
        Packet { seq, flow, slot, group, ip_length, ecn, flags }
    }

    /// The SYN-ACK of a server.
    pub(crate) fn syn_ack(owner: Owner, ecn: Ecn) -> Packet {
        Packet::new(owner, 0, SYN_IP as u16, ecn, Packet::SYN)
    }

    /// A TCP segment with `payload` bytes.
    #[inline]
    pub(crate) fn segment(owner: Owner, segment: &Segment) -> Packet {
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        let flags = flag(segment.fin, Packet::FIN)
            | flag(segment.cwr, Packet::CWR)
            | flag(segment.push, Packet::PSH);
        let ip_length = (u64::from(segment.payload) + HEADER) as u16;
        Packet::new(owner, segment.seq, ip_length, segment.ecn, flags)
    }

    /// A UDP datagram.
    pub(crate) fn datagram(flow: u32, group: u16, number: u64, ip_length: u16, ecn: Ecn) -> Packet {
        let born_ce = if ecn.is_ce() { Packet::ARRIVED_CE } else { 0 };
        let owner = Owner { flow, slot: 0, group };
        Packet::new(owner, number, ip_length, ecn, Packet::UDP | born_ce)
    }

    pub(crate) fn is_syn(&self) -> bool {
        self.flags & Packet::SYN != 0
    }

    pub(crate) fn is_udp(&self) -> bool {
        self.flags & Packet::UDP != 0
    }

    pub(crate) fn cwr(&self) -> bool {
        self.flags & Packet::CWR != 0
    }

    /// TCP: bytes of payload.
    pub(crate) fn payload(&self) -> u16 {
        self.ip_length - HEADER as u16
    }

    pub(crate) fn push(&self) -> bool {
        self.flags & Packet::PSH != 0
    }
}

/// A segment as the sender hands it down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Its number within the flow.
    pub seq: u64,
    /// Bytes of payload.
    pub payload: u16,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Congestion window reduced (RFC 3168 §6.1.2).
    pub cwr: bool,
    /// Nothing follows at once: the receiver should pass it on, and acknowledge (PSH).
    pub push: bool,
    /// The last one of the flow.
    pub fin: bool,
}

impl l4s_aqm::Packet for Packet {
    #[inline]
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.ip_length) + ETHERNET)
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.ecn
    }

    #[inline]
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }

    #[inline]
    fn flow(&self) -> u32 {
        l4s_bottleneck::flow_hash(self.flow)
    }

    #[inline]
    fn memory(&self) -> Bytes {
        l4s_bottleneck::skb_memory(self.size())
    }
}

impl Traced for Packet {
    #[inline]
    fn flow(&self) -> u32 {
        self.flow
    }

    #[inline]
    fn group(&self) -> u16 {
        self.group
    }

    #[inline]
    fn ip_length(&self) -> Bytes {
        Bytes::new(self.ip_length.into())
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.ecn
    }

    #[inline]
    fn arrived_ce(&self) -> bool {
        self.flags & Packet::ARRIVED_CE != 0
    }

    fn header(&self) -> Header {
        let length = u64::from(self.ip_length);
        if self.is_udp() {
            let payload = length.saturating_sub(UDP_HEADER) as u32;
            return Header::Udp { payload, number: self.seq };
        }
        let syn = self.is_syn();
        Header::Tcp {
            // The SYN takes number 0.
            seq: if syn { 0 } else { 1 + self.seq * MSS },
            ack: 1,
            payload: if syn { 0 } else { (length - HEADER) as u32 },
            syn,
            fin: self.flags & Packet::FIN != 0,
            ece: false,
            cwr: self.cwr(),
        }
    }
}

/// What a client sends back, on a path without loss or queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Return {
    pub arrives: Time,
    pub flow: u32,
    /// Where its connection is kept.
    pub slot: u32,
    pub message: Message,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Message {
    Syn,
    /// The third step of the handshake, and the request that starts the flow.
    Request,
    Ack(Ack),
}

/// A TCP acknowledgement (RFC 9293, RFC 2018).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    /// The first segment not received.
    pub cumulative: u64,
    /// Received blocks above it, as distances `[from, to)` from `cumulative`; the newest first,
    /// empty ones last.
    pub sacks: [(u32, u32); 3],
    /// Echo of congestion experienced.
    pub ece: bool,
    /// Marked packets received so far, in three bits (RFC 9768 §3.2.2).
    pub ace: u8,
    /// Bytes in them, in 24 bits, where the AccECN option is in use (RFC 9768 §3.2.3).
    pub ce_bytes: Option<u32>,
}
