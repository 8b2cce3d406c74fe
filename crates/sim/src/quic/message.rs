//! Packets and acknowledgements of QUIC, as far as the other side reads them.

use l4s_units::{Duration, Ecn};

/// Ranges below the newest one that an acknowledgement has room for here.
pub(super) const OLDER_RANGES: usize = 8;
/// Acknowledgements count their delay in 8 us (RFC 9000 §18.2, the default of `ack_delay_exponent`).
const DELAY_UNIT: Duration = Duration::from_micros(8);
/// UDP payload of a datagram of the handshake (RFC 9000 §14.1), with IP and UDP header.
const HANDSHAKE_IP: u16 = 1200 + UDP_IP;
/// IP and UDP header.
const UDP_IP: u16 = 28;
/// A short header with a connection ID of 8 B and a packet number of 2 B (RFC 9000 §17.3.1), and the tag of
/// AEAD (RFC 9001 §5.3).
const SHORT_HEADER: u16 = 1 + 8 + 2 + 16;
/// An ACK frame with one range, a range more, and the counts of ECN (RFC 9000 §19.3): integers of 1, 2 or 4 B.
const ACK_FRAME: u16 = 10;
const ACK_RANGE: u16 = 3;
const ECN_COUNTS: u16 = 9;

/// A packet of the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Datagram {
    /// Its packet number. In the handshake it is the time of sending in nanoseconds, which is as good.
    pub number: u64,
    /// It is of the handshake, and has no data.
    pub handshake: bool,
    /// The first byte of the stream that it carries; in the handshake, the number of the packet that it answers.
    pub from: u64,
    /// Bytes of payload.
    pub payload: u16,
    /// Its ECN field.
    pub ecn: Ecn,
    /// It ends the stream; or the handshake, for the client too (HANDSHAKE_DONE, RFC 9000 §19.20).
    pub fin: bool,
    /// It has an IMMEDIATE_ACK frame.
    pub immediate_ack: bool,
}

impl Datagram {
    /// IP length of a packet of the handshake.
    pub const fn handshake_length() -> u16 {
        HANDSHAKE_IP
    }
}

/// A packet of the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Message {
    /// Opens the connection.
    Initial {
        /// The time of sending in nanoseconds, as of a packet of the server.
        number: u64,
    },
    /// Ends the handshake, with the request.
    Request {
        /// The number of the server's packet that it answers.
        answers: u64,
    },
    Ack(Acknowledgement),
}

impl Message {
    /// Its IP length; `request` is the length of a request.
    pub fn ip_length(&self, request: u16) -> u16 {
        match self {
            Message::Initial { .. } => HANDSHAKE_IP,
            Message::Request { .. } => UDP_IP + SHORT_HEADER + request,
            Message::Ack(ack) => {
                let older = ack.older.iter().filter(|(_, received)| *received > 0).count() as u16;
                let counts = if ack.counts.is_some() { ECN_COUNTS } else { 0 };
                UDP_IP + SHORT_HEADER + ACK_FRAME + ACK_RANGE * older + counts
            }
        }
    }
}

/// An ACK frame (RFC 9000 §19.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Acknowledgement {
    /// The largest packet number received.
    pub largest: u64,
    /// How long ago that arrived, in units of 8 us.
    pub delay: u32,
    /// How many packets were received from there down without a gap, from 1.
    pub first: u32,
    /// Further down: how many are missing, and how many were received below them. Empty ones are last.
    pub older: [(u16, u16); OLDER_RANGES],
    /// Packets received by codepoint, where it counts them.
    pub counts: Option<EcnCounts>,
}

/// Packets received so far by codepoint (RFC 9000 §19.3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct EcnCounts {
    pub ect0: u32,
    pub ect1: u32,
    pub ce: u32,
}

impl EcnCounts {
    /// A packet with this codepoint was received.
    pub fn add(&mut self, ecn: Ecn) {
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.ect0 = self.ect0.wrapping_add(1),
            Ecn::Ect1 => self.ect1 = self.ect1.wrapping_add(1),
            Ecn::Ce => self.ce = self.ce.wrapping_add(1),
        }
    }

    /// Those of this codepoint.
    pub fn of(&self, ecn: Ecn) -> u32 {
        match ecn {
            Ecn::NotEct => 0,
            Ecn::Ect0 => self.ect0,
            Ecn::Ect1 => self.ect1,
            Ecn::Ce => self.ce,
        }
    }
}

impl Acknowledgement {
    /// The field for a delay, which it rounds down.
    pub fn delay_field(delay: Duration) -> u32 {
        u32::try_from(delay.as_nanos() / DELAY_UNIT.as_nanos()).unwrap_or(u32::MAX)
    }

    /// The delay of its field.
    pub fn delay(&self) -> Duration {
        DELAY_UNIT * u64::from(self.delay)
    }

    /// The received packet numbers as ranges `[from, to)`, the highest first.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        let to = self.largest + 1;
        let first = (to.saturating_sub(self.first.into()), to);
        let mut low = first.0;
        let older = self.older.into_iter().take_while(|(_, received)| *received > 0);
        core::iter::once(first).chain(older.map(move |(missing, received)| {
            let to = low.saturating_sub(missing.into());
            low = to.saturating_sub(received.into());
            (low, to)
        }))
    }
}
