//! QUIC, from its headers: which conversations are QUIC, and round trips from the spin bit.
//!
//! A conversation is QUIC if one of its datagrams begins with a long header (RFC 8999 §5.1) that is
//! valid in every field an observer can check:
//! - Version 1 (RFC 9000 §17.2) or 2 (RFC 9369 §3.2): fixed bit set, connection IDs of up to 20 bytes,
//!   and the length field, behind the token of an Initial packet, within the datagram. A Retry packet
//!   has 16 bytes of integrity tag at least.
//! - version negotiation (RFC 9000 §17.2.1): version 0, and of the versions offered, 4 bytes each and
//!   nothing behind them, one is version 1, 2 or reserved;
//! - A reserved version (`0x?a?a?a?a`, RFC 9000 §15), as sent for greasing: only in the first
//!   datagram of the conversation. This has 1200 bytes or more (§14.1) and a destination connection
//!   ID of 8 to 20 bytes (§7.2).
//!
//! The header form bit excludes DTLS and STUN, the fixed bit excludes RTP (RFC 9443 §3), and the 32 bits
//! of a known version exclude nearly everything else. A random first datagram of 1200 bytes passes for a
//! reserved version with a probability of 2⁻²⁴. A connection that is first seen after its handshake, or
//! that migrated, has short headers only: it is counted as UDP.

use l4s_units::{Duration, Time};

use crate::rtt::{Handshake, Samples};

/// The bits of the first byte (RFC 9000 §17.2 and §17.3.1).
const LONG: u8 = 0x80;
const FIXED: u8 = 0x40;
const SPIN: u8 = 0x20;
/// The lowest bit of the long packet type.
const TYPE_SHIFT: u32 = 4;
/// The long packet types of version 1 (RFC 9000 §17.2) and of version 2 (RFC 9369 §3.2).
const INITIAL: [u8; 2] = [0, 1];
const RETRY: [u8; 2] = [3, 0];

/// Versions 1 and 2.
const VERSIONS: [u32; 2] = [0x0000_0001, 0x6b33_43cf];
const NEGOTIATION: u32 = 0;
/// The longest connection ID of versions 1 and 2 (RFC 9000 §17.2).
const LONGEST_ID: usize = 20;
/// The shortest destination connection ID of a client's first packet (RFC 9000 §7.2).
const SHORTEST_FIRST_ID: usize = 8;
/// The shortest datagram with an Initial packet of a client (RFC 9000 §14.1).
const FIRST_DATAGRAM: usize = 1200;
/// The retry integrity tag (RFC 9000 §17.2.5).
const TAG: usize = 16;

/// A datagram of QUIC with a long header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Long {
    /// An Initial packet, or the first one of a reserved version.
    Initial,
    /// Another packet with a long header.
    Other,
}

fn is_reserved(version: u32) -> bool {
    version & 0x0f0f_0f0f == 0x0a0a_0a0a
}

/// Takes the first `N` bytes away from `rest`.
fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*first)
}

/// Skips this number of bytes.
fn skip(rest: &mut &[u8], length: u64) -> Option<()> {
    *rest = rest.get(usize::try_from(length).ok()?..)?;
    Some(())
}

/// A variable-length integer (RFC 9000 §16).
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let [first] = take(rest)?;
    let mut value = u64::from(first & 0x3f);
    for _ in 1..1 << (first >> 6) {
        let [byte] = take(rest)?;
        value = value << 8 | u64::from(byte);
    }
    Some(value)
}

/// Whether the first byte of a packet of QUIC is that of a long header (RFC 8999 §5.1).
#[inline]
pub fn is_long(first: u8) -> bool {
    first & LONG != 0
}

/// The long header at the beginning of a UDP payload; `None` if there is none. `first`: it is the first
/// datagram of its conversation.
#[inline]
pub fn long_header(payload: &[u8], first: bool) -> Option<Long> {
    if is_long(*payload.first()?) { parse(payload, first) } else { None }
}

fn parse(payload: &[u8], first: bool) -> Option<Long> {
    let mut rest = payload;
    let [byte] = take(&mut rest)?;
    let version = u32::from_be_bytes(take(&mut rest)?);
    let mut connection_id = || {
        let [length] = take(&mut rest)?;
        skip(&mut rest, length.into())?;
        Some(usize::from(length)).filter(|length| *length <= LONGEST_ID)
    };
    let destination = connection_id()?;
    connection_id()?;
    if version == NEGOTIATION {
        let known = |version: &u32| VERSIONS.contains(version) || is_reserved(*version);
        let mut offered = rest.chunks_exact(4);
        let is_one = offered.remainder().is_empty()
            && offered.any(|v| v.try_into().is_ok_and(|v| known(&u32::from_be_bytes(v))));
        return is_one.then_some(Long::Other);
    }
    if byte & FIXED == 0 {
        return None;
    }
    if is_reserved(version) {
        let is_one = first && payload.len() >= FIRST_DATAGRAM && destination >= SHORTEST_FIRST_ID;
        return is_one.then_some(Long::Initial);
    }
    let known = VERSIONS.iter().position(|known| *known == version)?;
    let kind = byte >> TYPE_SHIFT & 3;
    if kind == RETRY[known] {
        return (rest.len() >= TAG).then_some(Long::Other);
    }
    let is_initial = kind == INITIAL[known];
    if is_initial {
        let token = varint(&mut rest)?;
        skip(&mut rest, token)?;
    }
    let length = varint(&mut rest)?;
    skip(&mut rest, length)?;
    Some(if is_initial { Long::Initial } else { Long::Other })
}

/// A packet with the old value within 1/4 of the round trip after an edge is late, and not an edge.
const HOLD: u64 = 4;
/// The fewest packets per change of the bit, on average since the handshake, with which it is a signal.
const PACKETS_PER_TURN: u64 = 8;

/// The spin bit of the packets from the server (RFC 9000 §17.4), which has an edge per round trip.
///
/// RFC 9312 §3.8.2 leaves the filter to the observer, and names the handshake as the first estimate
/// of the round trip. Without a handshake there are no samples. There are none either if the bit
/// changes often. Then the server sets it at random, as it may (RFC 9000 §17.4), or it sends so few
/// packets that the edges show the interval of an application.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spin {
    /// The value of the last packet.
    last: Option<bool>,
    /// The value since the last edge.
    value: bool,
    /// When the last edge passed.
    edge: Option<Time>,
    /// The last sample.
    period: Option<Duration>,
    /// Packets so far.
    packets: u64,
    /// How often successive packets had different values.
    turns: u64,
}

impl Spin {
    /// The first byte of a packet with a short header passes. `handshake` is the first round trip.
    #[inline]
    pub fn observe(&mut self, byte: u8, handshake: Handshake, now: Time, samples: &mut Samples) {
        let value = byte & SPIN != 0;
        self.packets += 1;
        let last = self.last.replace(value);
        self.turns += u64::from(last == Some(!value));
        if last.is_none() {
            self.value = value;
        } else if value != self.value {
            self.turn(value, handshake, now, samples);
        }
    }

    #[cold]
    fn turn(&mut self, value: bool, handshake: Handshake, now: Time, samples: &mut Samples) {
        let Some(round_trip) = handshake.duration() else { return };
        if let Some(edge) = self.edge {
            let period = now.since(edge);
            if period < self.period.map_or(round_trip, |last| last.min(round_trip)) / HOLD {
                return;
            }
            if self.turns * PACKETS_PER_TURN <= self.packets {
                samples.add(period);
                self.period = Some(period);
            }
        }
        (self.value, self.edge) = (value, Some(now));
    }
}
