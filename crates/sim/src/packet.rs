//! What crosses the bottleneck, and what comes back.

use l4s_model::{FlowId, SourceId};
use l4s_observe::{EcnFlags, Header, Traced};
use l4s_units::{Bytes, Duration, ETHERNET, Ecn, Time};

/// IP length of a full TCP segment.
pub(crate) const FULL_IP: u64 = 1500;
/// IP and TCP header, time stamps included.
pub(crate) const HEADER: u64 = 52;
/// Payload of a full segment.
pub(crate) const MSS: u64 = FULL_IP - HEADER;
/// Payload of the middle and the rear of a set of tracers: no device takes them for small
/// (Fallback §5.2).
pub(crate) const TRACER: u16 = 98;
/// Payload of its front: all three together are as long as a full packet.
pub(crate) const FRONT: u16 = (MSS - 2 * (HEADER + TRACER as u64)) as u16;
/// What the set carries behind the front. The rear has all of it, the middle all but the last byte.
pub(crate) const TAIL: u16 = TRACER - Part::Rear.lead() as u16;
/// What a set carries less than two full segments.
pub(crate) const SHORTFALL: u64 = 2 * MSS - (FRONT + TAIL) as u64;
/// Payload of the middle and the rear of a set of copies. The receiver says how much of the end of
/// a segment came again, so that a byte tells one from the other.
pub(crate) const MIDDLE_COPY: u16 = TRACER;
pub(crate) const REAR_COPY: u16 = TRACER - 1;
/// IP length of a SYN or SYN-ACK, with its options.
const SYN_IP: u64 = 60;
/// Bytes of the request that starts a flow, as in the lab.
const REQUEST: u64 = 100;
/// What the server counts of marked packets from the client, in three bits: it begins at 5 (RFC 9768
/// §3.2.2.1), and there is no queue on the way up that could mark one.
const ACE: u8 = 5;
/// IP and UDP header.
const UDP_HEADER: u64 = 28;

/// Whose a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Owner {
    /// The number of the flow.
    pub flow: FlowId,
    /// Where its connection is kept.
    pub slot: u32,
    /// Its group.
    pub group: SourceId,
}

/// A packet on its way to a client, in 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// TCP: number of the segment within its flow. UDP: number of the datagram.
    pub(crate) seq: u64,
    pub(crate) flow: FlowId,
    /// Where its connection is kept.
    pub(crate) slot: u32,
    pub(crate) group: SourceId,
    pub(crate) ip_length: u16,
    pub(crate) ecn: Ecn,
    flags: u8,
    /// TCP: how many segments before it are short; of a SYN-ACK, its ECN flags.
    short: u16,
    /// TCP: its time stamps.
    pub(crate) stamps: Stamps,
}

impl Packet {
    /// Two bits for what it is: 0 for data.
    const KIND: u8 = 0b11;
    const FIN: u8 = 1;
    const SYN: u8 = 2;
    const UDP: u8 = 3;
    const CWR: u8 = 1 << 2;
    const ARRIVED_CE: u8 = 1 << 3;
    const PSH: u8 = 1 << 4;
    /// Its ECN flags are a counter.
    const ACE: u8 = 1 << 5;
    /// Two bits for its part of a set of tracers.
    const PART: u8 = 6;

    #[inline]
    fn new(owner: Owner, seq: u64, ip_length: u16, ecn: Ecn, flags: u8) -> Packet {
        let Owner { flow, slot, group } = owner;
        let stamps = Stamps::default();
        Packet { seq, flow, slot, group, ip_length, ecn, flags, short: 0, stamps }
    }

    /// The SYN-ACK of a server.
    pub(crate) fn syn_ack(owner: Owner, ecn: Ecn, flags: EcnFlags, stamps: Stamps) -> Packet {
        let short = flags.ace().into();
        Packet { short, stamps, ..Packet::new(owner, 0, SYN_IP as u16, ecn, Packet::SYN) }
    }

    /// A TCP segment with `payload` bytes.
    #[inline]
    pub(crate) fn segment(owner: Owner, segment: &Segment) -> Packet {
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        let flags = flag(segment.fin, Packet::FIN)
            | flag(segment.cwr, Packet::CWR)
            | flag(segment.push, Packet::PSH)
            | flag(segment.accurate_ecn, Packet::ACE)
            | (segment.part as u8) << Packet::PART;
        let ip_length = (u64::from(segment.payload) + HEADER) as u16;
        let packet = Packet::new(owner, segment.seq, ip_length, segment.ecn, flags);
        Packet { short: segment.short, stamps: segment.stamps, ..packet }
    }

    /// A UDP datagram.
    pub(crate) fn datagram(
        flow: FlowId,
        group: SourceId,
        number: u64,
        ip_length: u16,
        ecn: Ecn,
    ) -> Packet {
        let born_ce = if ecn.is_ce() { Packet::ARRIVED_CE } else { 0 };
        let owner = Owner { flow, slot: 0, group };
        Packet::new(owner, number, ip_length, ecn, Packet::UDP | born_ce)
    }

    /// It comes to a queue.
    #[inline]
    pub(crate) fn arrive(&mut self) {
        if self.ecn.is_ce() {
            self.flags |= Packet::ARRIVED_CE;
        }
    }

    pub(crate) fn is_syn(&self) -> bool {
        self.flags & Packet::KIND == Packet::SYN
    }

    pub(crate) fn is_udp(&self) -> bool {
        self.flags & Packet::KIND == Packet::UDP
    }

    pub(crate) fn cwr(&self) -> bool {
        self.flags & Packet::CWR != 0
    }

    /// TCP: bytes of payload.
    pub(crate) fn payload(&self) -> u16 {
        self.ip_length - HEADER as u16
    }

    pub(crate) fn fin(&self) -> bool {
        self.flags & Packet::KIND == Packet::FIN
    }

    /// What it says of ECN to the client.
    fn ecn_flags(&self) -> EcnFlags {
        match self.flags {
            _ if self.is_syn() => EcnFlags::of_ace(self.short as u8),
            flags if flags & Packet::ACE != 0 => EcnFlags::of_ace(ACE),
            _ => EcnFlags { cwr: self.cwr(), ..EcnFlags::default() },
        }
    }

    /// Which of a set of tracers it is.
    #[inline]
    pub(crate) fn part(&self) -> Part {
        match self.flags >> Packet::PART {
            0 => Part::Whole,
            1 => Part::Middle,
            2 => Part::Rear,
            _ => Part::Copy,
        }
    }

    pub(crate) fn push(&self) -> bool {
        self.flags & Packet::PSH != 0
    }
}

/// How a packet carries its segment.
///
/// A set of tracers (Fallback §5.2) is two segments in three packets: its front as any other, and
/// 97 bytes that two packets of 98 carry, each with what it repeats of the front before them. In
/// the other form it is one segment in three packets: the front has all of it, and two packets
/// repeat its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Part {
    /// As it is.
    #[default]
    Whole = 0,
    /// All but its last byte, behind the last two of the front.
    Middle = 1,
    /// All of it, behind the last one of the front.
    Rear = 2,
    /// As many of its last bytes as the packet has, which are at most 255, of a full segment.
    Copy = 3,
}

impl Part {
    /// So many bytes before its segment the packet begins.
    pub const fn lead(self) -> u8 {
        match self {
            Part::Whole | Part::Copy => 0,
            Part::Middle => 2,
            Part::Rear => 1,
        }
    }

    /// How much of its segment a packet of so much payload has.
    pub fn share(self, payload: u16) -> Share {
        match self {
            Part::Whole | Part::Rear => Share::All,
            Part::Middle => Share::AllButLast,
            Part::Copy => Share::Last(payload as u8),
        }
    }
}

/// Where in the stream a segment begins, `short` of those before it having been short ones: the two
/// of every set of tracers.
pub(crate) fn position(seq: u64, short: u16) -> u64 {
    let (sets, tail) = (u64::from(short / 2), u64::from(short % 2));
    seq * MSS - sets * SHORTFALL - tail * (MSS - u64::from(FRONT))
}

/// A TCP time stamp (RFC 7323 §3.2): milliseconds modulo 2³², as Linux counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stamp(u32);

impl Stamp {
    /// The time stamp of what is sent now.
    #[inline]
    pub fn at(now: Time) -> Stamp {
        Stamp((now.as_nanos() / 1_000_000) as u32)
    }

    /// Whether it was made before the other one.
    #[inline]
    pub fn is_before(self, other: Stamp) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// How long ago it was made: a millisecond at least, as nothing takes no time.
    pub fn age(self, now: Time) -> Duration {
        Duration::from_millis(u64::from(Stamp::at(now).0.wrapping_sub(self.0).max(1)))
    }
}

/// The time stamps of a TCP header (RFC 7323 §3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stamps {
    /// When it was sent (TSval).
    pub sent: Stamp,
    /// The time stamp of the other side that it answers (TSecr).
    pub echo: Stamp,
}

impl Stamps {
    /// As on the wire.
    fn words(self) -> (u32, u32) {
        (self.sent.0, self.echo.0)
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
    /// Whether its ECN flags are a counter instead (RFC 9768 §3.2.2).
    pub accurate_ecn: bool,
    /// Nothing follows at once: the receiver should pass it on, and acknowledge (PSH).
    pub push: bool,
    /// The last one of the flow.
    pub fin: bool,
    /// How it is carried.
    pub part: Part,
    /// How many segments before it are short: two for every set of tracers. So the tail of a set
    /// has an odd number.
    pub short: u16,
    /// When it was sent, and what it echoes.
    pub stamps: Stamps,
}

impl l4s_aqm::Packet for Packet {
    #[inline]
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.ip_length)) + ETHERNET
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
    fn flow_hash(&self) -> u32 {
        l4s_bottleneck::flow_hash(self.flow)
    }

    #[inline]
    fn memory(&self) -> Bytes {
        l4s_bottleneck::skb_memory(self.size())
    }
}

impl Traced for Packet {
    #[inline]
    fn flow(&self) -> FlowId {
        self.flow
    }

    #[inline]
    fn group(&self) -> SourceId {
        self.group
    }

    #[inline]
    fn ip_length(&self) -> Bytes {
        Bytes::new(self.ip_length.into())
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
        let (syn, payload) = (self.is_syn(), length - HEADER);
        let begin = position(self.seq, if syn { 0 } else { self.short });
        Header::Tcp {
            // The SYN takes number 0.
            seq: match self.part() {
                _ if syn => 0,
                Part::Copy => 1 + begin + MSS - payload,
                part => 1 + begin - u64::from(part.lead()),
            },
            // So does the client's; its request follows.
            ack: if syn { 1 } else { 1 + REQUEST },
            payload: if syn { 0 } else { payload as u32 },
            syn,
            fin: self.fin(),
            flags: self.ecn_flags(),
            stamps: Some(self.stamps.words()),
        }
    }
}

/// What a client sends back, on a path without loss or queue.
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
    /// A SYN, sent at this time.
    Syn(Stamp),
    /// The third step of the handshake, and the request that starts the flow.
    Request(Stamps),
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
    /// What arrived although it had been received before (D-SACK, RFC 2883); or above a hole, as a
    /// part of a segment, which `sacks` have whole.
    pub duplicate: Option<Duplicate>,
    /// Echo of congestion experienced.
    pub ece: bool,
    /// Marked packets received so far, in three bits (RFC 9768 §3.2.2).
    pub ace: u8,
    /// Bytes in them, in 24 bits, where the AccECN option is in use (RFC 9768 §3.2.3).
    pub ce_bytes: Option<u32>,
    /// The receive window: so many segments from `cumulative` on may be sent.
    pub window: u32,
    /// When it was sent, and which segment's time it echoes (RFC 7323 §4.3).
    pub stamps: Stamps,
}

impl Ack {
    /// Whether a block has the segment so far from the cumulative acknowledgement.
    pub(crate) fn sacks_have(&self, distance: i32) -> bool {
        u32::try_from(distance).is_ok_and(|at| self.sacks.iter().any(|s| s.0 <= at && at < s.1))
    }
}

/// A block of bytes that came twice (RFC 2883 §4) or is part of a segment: one segment or a part of
/// it, and where that is the tail of a set of tracers, perhaps something of the front before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Duplicate {
    /// The segment, as a distance from the cumulative acknowledgement; below it where negative.
    pub segment: i32,
    /// So many bytes before the segment the block begins.
    pub lead: u8,
    /// How much of the segment is in it.
    pub share: Share,
}

/// How much of a segment, in this order where both are of one form of set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Share {
    /// Nothing.
    Nothing,
    /// All but the last byte.
    AllButLast,
    /// So many bytes at its end.
    Last(u8),
    /// All.
    All,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of a flow with a set at 3 and another at 5, and what follows each other in bytes.
    #[test]
    fn byte_numbers_have_no_gap_where_sets_are() {
        let owner = Owner { flow: FlowId::new(0), slot: 0, group: SourceId::new(0) };
        let packet = |seq, payload, part, short| {
            let segment = Segment {
                seq,
                payload,
                ecn: Ecn::Ect1,
                cwr: false,
                accurate_ecn: true,
                push: false,
                fin: false,
                part,
                short,
                stamps: Stamps::default(),
            };
            match Packet::segment(owner, &segment).header() {
                Header::Tcp { seq, payload, .. } => (seq, seq + u64::from(payload)),
                Header::Udp { .. } => panic!(),
            }
        };
        let full = MSS as u16;
        let mut next = 1;
        for (seq, payload, short) in [
            (0, full, 0),
            (1, full, 0),
            (2, full, 0),
            (3, FRONT, 0),
            (4, TAIL, 1),
            (5, FRONT, 2),
            (6, TAIL, 3),
            (7, full, 4),
        ] {
            let (from, to) = packet(seq, payload, Part::Whole, short);
            assert_eq!(from, next, "{seq}");
            if payload == full {
                // Copies end where their segment ends.
                for copy in [MIDDLE_COPY, REAR_COPY] {
                    let expected = (to - u64::from(copy), to);
                    assert_eq!(packet(seq, copy, Part::Copy, short), expected);
                }
            }
            if short % 2 == 1 {
                // Fallback §5.2: two bytes, and one, of the front; the middle ends a byte short.
                assert_eq!(packet(seq, TRACER, Part::Middle, short), (from - 2, to - 1));
                assert_eq!(packet(seq, TRACER, Part::Rear, short), (from - 1, to));
            }
            next = to;
        }
        assert_eq!(next, 1 + 8 * MSS - 2 * SHORTFALL);
        let lengths = u64::from(FRONT) + 2 * u64::from(TRACER) + 3 * HEADER;
        assert_eq!(lengths, FULL_IP);
        assert_eq!(size_of::<Packet>(), 32);
    }

    #[test]
    fn time_stamps_wrap_and_age() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let (before, after) = (Stamp::at(at((1 << 32) - 2)), Stamp::at(at((1 << 32) + 3)));
        assert!(before.is_before(after) && !after.is_before(before) && !after.is_before(after));
        assert_eq!(before.age(at((1 << 32) + 3)), Duration::from_millis(5));
        assert_eq!(after.age(at((1 << 32) + 3)), Duration::from_millis(1));
    }
}
