//! Packets from clients: the messages of a handshake, and acknowledgements.

use l4s_model::FlowId;
use l4s_observe::EcnFlags;
use l4s_units::{Ecn, Time};

use crate::packet::{AccEcn, HEADER, REQUEST, SYN_IP, Stamp, Stamps, UDP_HEADER};
use crate::quic;

/// A packet from a client, on a path without loss or queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Return {
    pub arrives: Time,
    pub flow: FlowId,
    /// Where its connection is kept.
    pub slot: u32,
    pub message: Message,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Message {
    Syn(Syn),
    Request(Request),
    Ack(Ack),
    Quic(quic::Message),
}

impl Message {
    /// QUIC: bytes of payload of its UDP datagram.
    pub(crate) fn udp_payload(&self) -> u32 {
        u32::from(self.ip_length()).saturating_sub(UDP_HEADER as u32)
    }

    /// Whether it ends the handshake and has the request.
    pub(crate) fn is_request(&self) -> bool {
        matches!(self, Message::Request(_) | Message::Quic(quic::Message::Request { .. }))
    }

    /// Whether it only acknowledges.
    pub(crate) fn is_acknowledgement(&self) -> bool {
        matches!(self, Message::Ack(_) | Message::Quic(quic::Message::Ack(_)))
    }

    /// Its IP length. As many counters of AccECN are in it as blocks of SACK leave room for: TCP options have
    /// 40 B at most (RFC 9293 §3.1), 28 beside time stamps.
    pub(crate) fn ip_length(&self) -> u16 {
        let option = |has: bool| if has { u64::from(AccEcn::LENGTH) } else { 0 };
        let length = match self {
            Message::Syn(_) => SYN_IP,
            Message::Request(request) => HEADER + REQUEST + option(request.option),
            Message::Ack(ack) => {
                let (sack, room) = ack.room();
                HEADER + sack + option(ack.option.is_some()).min(room)
            }
            Message::Quic(message) => message.ip_length(REQUEST as u16).into(),
        };
        length as u16
    }
}

/// A client's SYN.
///
/// Example: [`Sender`](crate::tcp::Sender).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Syn {
    /// Its ECN field.
    pub ecn: Ecn,
    /// The ECN that it offers (RFC 9768 §3.1.1).
    pub flags: EcnFlags,
    /// When it was sent.
    pub sent: Stamp,
}

/// The third step of the handshake, and the request that starts the flow.
///
/// Example: [`Sender`](crate::tcp::Sender).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// With AccECN they encode the codepoint of the SYN-ACK (RFC 9768 §3.2.2.1).
    pub flags: EcnFlags,
    /// Whether it has the AccECN option.
    pub option: bool,
    /// When it was sent, and which SYN-ACK it answers.
    pub stamps: Stamps,
}

/// A TCP acknowledgement (RFC 9293, RFC 2018).
///
/// Example: [`Receiver`](crate::tcp::Receiver).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    /// The first byte not received.
    pub cumulative: u64,
    /// Received blocks above it, as distances `[from, to)` from `cumulative`; the newest first,
    /// empty ones last.
    pub sacks: [(u32, u32); 3],
    /// Bytes that arrived although they had been received before (D-SACK, RFC 2883).
    pub duplicate: Option<Duplicate>,
    /// Echo of congestion experienced.
    pub ece: bool,
    /// Marked packets received so far, in three bits (RFC 9768 §3.2.2); 0 without AccECN.
    pub ace: u8,
    /// The AccECN option, where it is in use.
    pub option: Option<ByteCounters>,
    /// The receive window: bytes from `cumulative` on that may be sent.
    pub window: u32,
    /// When it was sent, and which segment's time it echoes (RFC 7323 §4.3).
    pub stamps: Stamps,
}

/// The counters of the AccECN option (RFC 9768 §3.2.3): payload by codepoint, in 24 bits each.
///
/// Example: [`Receiver`](crate::tcp::Receiver).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByteCounters {
    /// Of ECT(1): EE1B.
    pub ect1: u32,
    /// Of marked packets: ECEB.
    pub ce: u32,
    /// Of ECT(0): EE0B.
    pub ect0: u32,
}

impl ByteCounters {
    /// The fields of an option that begins with ECT(1), in their order.
    pub(crate) fn in_order(self) -> [u32; 3] {
        let ByteCounters { ect1, ce, ect0 } = self;
        [ect1, ce, ect0]
    }
}

impl Ack {
    /// Bytes that its SACK takes, and that it leaves for the option of AccECN.
    fn room(&self) -> (u64, u64) {
        let blocks = self.sacks.iter().filter(|(from, to)| from < to).count();
        match blocks + usize::from(self.duplicate.is_some()) {
            0 => (0, AccEcn::LENGTH.into()),
            1 => (12, AccEcn::LENGTH.into()),
            2 => (20, 8),
            _ => (28, 0),
        }
    }

    /// Whether it has the option of AccECN on the wire.
    pub(crate) fn has_option(&self) -> bool {
        self.option.is_some() && self.room().1 > 0
    }

    /// The blocks of its SACK option in the order of the wire, from the first byte of the stream on.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (u64, u64)> {
        let received = self.sacks.iter().filter(|(from, to)| from < to);
        let received = received.map(|(from, to)| {
            (self.cumulative + u64::from(*from), self.cumulative + u64::from(*to))
        });
        self.duplicate_block().into_iter().chain(received).take(self.sacks.len())
    }

    /// The first and newest of its selectively acknowledged blocks.
    pub(crate) fn newest_block(&self) -> Option<(u64, u64)> {
        let (from, to) = self.sacks[0];
        (from < to).then(|| (self.cumulative + u64::from(from), self.cumulative + u64::from(to)))
    }

    /// The block of D-SACK.
    pub(crate) fn duplicate_block(&self) -> Option<(u64, u64)> {
        let Duplicate { distance, length } = self.duplicate?;
        let from = self.cumulative.checked_add_signed(distance.into())?;
        Some((from, from + u64::from(length)))
    }
}

/// A block of bytes that came twice (RFC 2883 §4): a segment or a part of it.
///
/// Example: [`Receiver`](crate::tcp::Receiver).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Duplicate {
    /// Where it begins, as a distance from the cumulative acknowledgement; below it where negative.
    pub distance: i32,
    /// How many bytes it has, from 1.
    pub length: u16,
}
