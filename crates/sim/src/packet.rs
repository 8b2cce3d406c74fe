//! Packets from servers and UDP sources, which cross the bottleneck.

use core::fmt;

use l4s_model::{FlowId, SourceId};
use l4s_observe::{Contents, EcnFlags, Header, Tcp, Traced};
use l4s_units::{Bytes, Duration, ETHERNET, Ecn, Time};

use crate::half::Half;
use crate::message::ByteCounters;
use crate::quic;
use crate::tcp::INITIAL_BYTES;

/// IP and TCP header, time stamps included. Those of QUIC take 52 B to 79 B: IP and UDP, a short header, the tag of
/// AEAD, and the STREAM frame. The model has these 52 B.
pub(crate) const HEADER: u64 = 40 + TIME_STAMPS;
/// Time stamps in a TCP header (RFC 7323 §3.2), padded.
pub(crate) const TIME_STAMPS: u64 = 12;
/// Payload of a full segment in tests: that of a packet of 1500 B.
#[cfg(test)]
pub(crate) const MSS: u64 = 1448;
/// IP length of a SYN or SYN-ACK, with its options.
pub(crate) const SYN_IP: u64 = 60;
/// Bytes of the request that starts a flow, as in the lab.
pub(crate) const REQUEST: u64 = 100;
/// The server's count of marked packets from the client, in three bits: its initial value (RFC 9768
/// §3.2.1), since no queue on the way up could mark one.
const ACE: u8 = 5;
/// The receive window of a server in bytes, which needs no more for a request (Linux: `tcp_rmem`).
const SERVER_WINDOW: u64 = 65_536;
/// IP and UDP header.
pub(crate) const UDP_HEADER: u64 = 28;

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
///
/// It is copied from queue to queue, so it is written in two halves, as it is copied.
///
/// ```
/// use l4s_aqm::{Packet as _, Queue};
/// use l4s_model::{Group, Link, Scenario};
/// use l4s_observe::{Observer, Traced};
/// use l4s_sim::Packet;
/// use l4s_units::{Duration, Ecn, Rate, Time};
///
/// /// Packets of each codepoint that left the bottleneck.
/// #[derive(Default)]
/// struct Codepoints([u64; 4]);
///
/// impl Observer<Packet> for Codepoints {
///     fn departed(&mut self, packet: &Packet, _: Queue, _: Duration, _: Time) {
///         self.0[usize::from(packet.ecn().bits())] += 1;
///         assert!(packet.ip_length().get() <= 1500);
///     }
/// }
///
/// let aqm = l4s_aqm::Config::DualPi2(l4s_aqm::dualpi2::Config::linux());
/// let link = Link::new(Rate::from_mbps(10));
/// let mut scenario = Scenario::new("Prague", Duration::from_secs(2), link, aqm);
/// let prague = l4s_cc::Config::Prague(l4s_cc::prague::Config::default());
/// scenario.groups.push(Group::new("A", prague, Duration::from_millis(10)));
/// let mut codepoints = Codepoints::default();
/// l4s_sim::run(&scenario, &mut codepoints);
/// // Most packets are ECT(1), some are CE, and none is ECT(0).
/// let [ect0, ect1, ce] =
///     [Ecn::Ect0, Ecn::Ect1, Ecn::Ce].map(|ecn| codepoints.0[usize::from(ecn.bits())]);
/// assert!(ect1 > ce && ce > 0 && ect0 == 0);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Packet(Half, Half);

/// A bit, if it is set.
#[inline(always)]
fn flag(is_set: bool, bit: u8) -> u8 {
    if is_set { bit } else { 0 }
}

/// The contents of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fields {
    /// TCP: the number of its first byte in the stream, from 0; of a SYN-ACK, the maximum segment size
    /// that it announces. UDP: the number of the datagram.
    seq: u64,
    flow: FlowId,
    /// Where its connection is kept.
    slot: u32,
    group: SourceId,
    ip_length: u16,
    ecn: Ecn,
    flags: u8,
    /// Of a SYN-ACK its ECN flags, and of a packet of QUIC [`Packet::QUIC`] and its frames.
    transport: u8,
    /// A bit of it is inverted: its receiver drops it.
    corrupt: bool,
    /// TCP: its time stamps. QUIC: its packet number.
    stamps: Stamps,
}

impl Fields {
    #[inline(always)]
    fn new(owner: Owner, seq: u64, ip_length: u16, ecn: Ecn, flags: u8) -> Fields {
        let Owner { flow, slot, group } = owner;
        let stamps = Stamps::default();
        let (transport, corrupt) = (0, false);
        Fields { seq, flow, slot, group, ip_length, ecn, flags, transport, corrupt, stamps }
    }

    /// The length is at the beginning of a word: disciplines read it first, and compilers then copy the rest of the packet
    /// by itself, in pieces that end there.
    #[inline(always)]
    fn pack(self) -> Packet {
        let last = u64::from(self.ip_length)
            | u64::from(self.group.get()) << 16
            | u64::from(self.ecn.bits()) << 32
            | u64::from(self.flags) << 40
            | u64::from(self.transport) << 48
            | u64::from(self.corrupt) << 56;
        let place = u64::from(self.flow.get()) | u64::from(self.slot) << 32;
        Packet(Half::new(self.seq, place), Half::new(self.stamps.number(), last))
    }
}

impl Packet {
    /// Two bits for its kind: 0 for data.
    const KIND: u8 = 0b11;
    const FIN: u8 = 1;
    const SYN: u8 = 2;
    const UDP: u8 = 3;
    const CWR: u8 = 1 << 2;
    const ARRIVED_CE: u8 = 1 << 3;
    const PSH: u8 = 1 << 4;
    /// A client's message: no stream of bytes, and pushed.
    const MESSAGE: u8 = Packet::UDP | Packet::PSH;
    /// ECN flags are three bits.
    const QUIC: u8 = 1 << 7;
    const IMMEDIATE_ACK: u8 = 1 << 6;
    const HANDSHAKE_DONE: u8 = 1 << 5;

    #[inline(always)]
    fn fields(&self) -> Fields {
        let (place, last) = (self.0.high(), self.1.high());
        Fields {
            seq: self.0.low(),
            flow: FlowId::new(place as u32),
            slot: (place >> 32) as u32,
            group: SourceId::new((last >> 16) as u16),
            ip_length: last as u16,
            ecn: Ecn::from_bits((last >> 32) as u8),
            flags: (last >> 40) as u8,
            transport: (last >> 48) as u8,
            corrupt: last >> 56 != 0,
            stamps: Stamps::of_number(self.1.low()),
        }
    }

    /// The number of its first byte, or of a datagram.
    #[inline(always)]
    pub(crate) fn seq(&self) -> u64 {
        self.fields().seq
    }

    #[inline(always)]
    pub(crate) fn flow(&self) -> FlowId {
        self.fields().flow
    }

    /// Where its connection is kept.
    #[inline(always)]
    pub(crate) fn slot(&self) -> u32 {
        self.fields().slot
    }

    #[inline(always)]
    pub(crate) fn group(&self) -> SourceId {
        self.fields().group
    }

    #[inline(always)]
    pub(crate) fn ecn(&self) -> Ecn {
        self.fields().ecn
    }

    #[inline(always)]
    pub(crate) fn is_corrupt(&self) -> bool {
        self.fields().corrupt
    }

    /// TCP: its time stamps.
    #[inline(always)]
    pub(crate) fn stamps(&self) -> Stamps {
        self.fields().stamps
    }

    #[inline(always)]
    fn flags(&self) -> u8 {
        self.fields().flags
    }

    #[inline(always)]
    fn transport(&self) -> u8 {
        self.fields().transport
    }

    /// Changes fields of the second half.
    #[inline(always)]
    fn change(&mut self, change: impl FnOnce(&mut Fields)) {
        let mut fields = self.fields();
        change(&mut fields);
        self.1 = fields.pack().1;
    }

    /// The SYN-ACK of a server.
    pub(crate) fn syn_ack(owner: Owner, syn_ack: SynAck) -> Packet {
        let SynAck { ecn, flags, accecn, mss, stamps } = syn_ack;
        let ip_length = SYN_IP as u16 + accecn.option_length();
        let fields = Fields::new(owner, mss.into(), ip_length, ecn, Packet::SYN | accecn.0);
        Fields { transport: flags.ace(), stamps, ..fields }.pack()
    }

    /// A TCP segment with `payload` bytes.
    #[inline(always)]
    pub(crate) fn segment(owner: Owner, segment: Segment) -> Packet {
        let Segment { seq, payload, ecn, cwr, accecn, push, fin, stamps } = segment;
        let flags =
            flag(fin, Packet::FIN) | flag(cwr, Packet::CWR) | flag(push, Packet::PSH) | accecn.0;
        let ip_length = payload + HEADER as u16 + accecn.option_length();
        Fields { stamps, ..Fields::new(owner, seq, ip_length, ecn, flags) }.pack()
    }

    /// A packet of QUIC from a server.
    pub(crate) fn quic(owner: Owner, datagram: &quic::Datagram) -> Packet {
        let quic::Datagram { number, handshake, from, payload, ecn, fin, immediate_ack } =
            *datagram;
        let transport = Packet::QUIC
            | flag(immediate_ack, Packet::IMMEDIATE_ACK)
            | flag(handshake && fin, Packet::HANDSHAKE_DONE);
        let (flags, ip_length) = match (handshake, fin) {
            (true, false) => (Packet::SYN, quic::Datagram::handshake_length()),
            (true, true) => (Packet::SYN, HEADER as u16),
            (false, true) => (Packet::FIN, payload + HEADER as u16),
            (false, false) => (0, payload + HEADER as u16),
        };
        let fields = Fields::new(owner, from, ip_length, ecn, flags);
        Fields { transport, stamps: Stamps::of_number(number), ..fields }.pack()
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
        Fields::new(owner, number, ip_length, ecn, Packet::UDP | born_ce).pack()
    }

    /// A client's message that waits in a queue. `number` is where it is kept.
    pub(crate) fn message(owner: Owner, number: u32, ip_length: u16, ecn: Ecn) -> Packet {
        Fields::new(owner, number.into(), ip_length, ecn, Packet::MESSAGE).pack()
    }

    /// Where its message is kept, if it is a client's.
    #[inline]
    pub(crate) fn kept_at(&self) -> Option<u32> {
        (self.flags() & Packet::MESSAGE == Packet::MESSAGE).then_some(self.seq() as u32)
    }

    /// Whose it is.
    #[inline]
    pub(crate) fn owner(&self) -> Owner {
        Owner { flow: self.flow(), slot: self.slot(), group: self.group() }
    }

    /// It comes to a queue.
    #[inline]
    pub(crate) fn arrive(&mut self) {
        if self.ecn().is_ce() {
            self.change(|fields| fields.flags |= Packet::ARRIVED_CE);
        }
    }

    /// A bit of it is inverted.
    pub(crate) fn corrupt(&mut self) {
        self.change(|fields| fields.corrupt = true);
    }

    /// A middlebox changed its codepoint: a mark of an earlier queue is gone with it.
    pub(crate) fn become_ecn(&mut self, ecn: Ecn) {
        self.change(|fields| {
            fields.ecn = ecn;
            if !ecn.is_ce() {
                fields.flags &= !Packet::ARRIVED_CE;
            }
        });
    }

    /// Removes the AccECN option; returns whether there was one.
    pub(crate) fn strip_option(&mut self) -> bool {
        let length = if self.is_udp() { 0 } else { self.accecn().option_length() };
        self.change(|fields| {
            fields.ip_length -= length;
            fields.flags &= !AccEcn::OPTIONS;
        });
        length > 0
    }

    #[inline]
    pub(crate) fn is_syn(&self) -> bool {
        self.flags() & Packet::KIND == Packet::SYN
    }

    #[inline]
    pub(crate) fn is_udp(&self) -> bool {
        self.flags() & Packet::MESSAGE == Packet::UDP
    }

    /// QUIC: whether it has an IMMEDIATE_ACK frame.
    #[inline]
    pub(crate) fn immediate_ack(&self) -> bool {
        self.transport() & Packet::IMMEDIATE_ACK != 0
    }

    /// QUIC: whether it has a HANDSHAKE_DONE frame.
    #[inline]
    pub(crate) fn handshake_done(&self) -> bool {
        self.transport() & (Packet::QUIC | Packet::HANDSHAKE_DONE)
            == Packet::QUIC | Packet::HANDSHAKE_DONE
    }

    /// QUIC: its packet number.
    #[inline]
    pub(crate) fn number(&self) -> u64 {
        self.stamps().number()
    }

    #[inline]
    pub(crate) fn cwr(&self) -> bool {
        self.flags() & Packet::CWR != 0
    }

    /// TCP: bytes of payload.
    #[inline]
    pub(crate) fn payload(&self) -> u16 {
        self.fields().ip_length - HEADER as u16 - self.accecn().option_length()
    }

    /// TCP: its report of marks to the client.
    #[inline]
    pub(crate) fn accecn(&self) -> AccEcn {
        AccEcn(self.flags() & AccEcn::MASK)
    }

    #[inline]
    pub(crate) fn fin(&self) -> bool {
        self.flags() & Packet::KIND == Packet::FIN
    }

    /// Its ECN flags for the client.
    pub(crate) fn ecn_flags(&self) -> EcnFlags {
        match self.flags() {
            _ if self.is_syn() => EcnFlags::of_ace(self.transport()),
            _ if self.accecn() != AccEcn::NONE => EcnFlags::of_ace(ACE),
            _ => EcnFlags { cwr: self.cwr(), ..EcnFlags::default() },
        }
    }

    #[inline]
    pub(crate) fn push(&self) -> bool {
        self.flags() & Packet::PSH != 0
    }
}

/// A TCP time stamp (RFC 7323 §3.2): milliseconds modulo 2³², as Linux counts them.
///
/// ```
/// use l4s_sim::tcp::Stamp;
/// use l4s_units::{Duration, Time};
///
/// let sent = Time::ZERO + Duration::from_millis(100);
/// let stamp = Stamp::at(sent);
/// assert_eq!(stamp.word(), 100);
/// assert_eq!(stamp.age(sent + Duration::from_millis(25)), Duration::from_millis(25));
/// assert!(stamp.is_before(Stamp::at(sent + Duration::from_millis(1))));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stamp(u32);

impl Stamp {
    /// The time stamp of packets that are sent now.
    #[inline]
    pub fn at(now: Time) -> Stamp {
        Stamp((now.as_nanos() / 1_000_000) as u32)
    }

    /// As on the wire.
    pub fn word(self) -> u32 {
        self.0
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
///
/// Example: [`Sender`](crate::tcp::Sender).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stamps {
    /// When it was sent (TSval).
    pub sent: Stamp,
    /// The time stamp of the other side that it answers (TSecr).
    pub echo: Stamp,
}

impl Stamps {
    /// The 64 bits of a packet number in their place.
    fn of_number(number: u64) -> Stamps {
        Stamps { sent: Stamp(number as u32), echo: Stamp((number >> 32) as u32) }
    }

    fn number(self) -> u64 {
        u64::from(self.sent.0) | u64::from(self.echo.0) << 32
    }

    /// As on the wire.
    pub fn words(self) -> (u32, u32) {
        (self.sent.word(), self.echo.word())
    }
}

/// A segment as the sender hands it down.
///
/// Example: [`Sender`](crate::tcp::Sender).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// The number of its first byte in the stream, from 0.
    pub seq: u64,
    /// Bytes of payload, from 1.
    pub payload: u16,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Congestion window reduced (RFC 3168 §6.1.2).
    pub cwr: bool,
    /// Its feedback on marks (RFC 9768 §3.2).
    pub accecn: AccEcn,
    /// Nothing follows at once: the receiver should pass it on, and acknowledge (PSH).
    pub push: bool,
    /// The last one of the flow.
    pub fin: bool,
    /// Its time of sending, and the time stamp that it echoes.
    pub stamps: Stamps,
}

/// The AccECN fields of a server's packet (RFC 9768 §3.2), as bits of a packet's flags.
///
/// ```
/// use l4s_sim::tcp::AccEcn;
/// use l4s_units::Ecn;
///
/// // Three counters of bytes take 12 B of a packet.
/// assert_eq!(AccEcn::with_option(Ecn::Ect1).option_length(), 12);
/// assert_eq!(AccEcn::ACE.option_length(), 0);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AccEcn(u8);

impl AccEcn {
    /// None: it does not count marks.
    pub const NONE: AccEcn = AccEcn(0);
    /// The counter ACE in its flags, without the option.
    pub const ACE: AccEcn = AccEcn(1 << 5);
    /// Where the bits of the option are.
    const OPTION: u32 = 6;
    const OPTIONS: u8 = 0b11 << AccEcn::OPTION;
    const MASK: u8 = AccEcn::ACE.0 | AccEcn::OPTIONS;
    /// Bytes of the option with its three counters (§3.2.3), padded.
    pub(crate) const LENGTH: u16 = 12;

    /// ACE and the option, after a request of this codepoint. CE stands for none yet.
    pub const fn with_option(request: Ecn) -> AccEcn {
        let code = match request {
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::NotEct | Ecn::Ce => 3,
        };
        AccEcn(AccEcn::ACE.0 | code << AccEcn::OPTION)
    }

    /// Bytes that the option takes of a packet.
    #[inline]
    pub fn option_length(self) -> u16 {
        if self.0 >> AccEcn::OPTION != 0 { AccEcn::LENGTH } else { 0 }
    }

    /// The counters of the option. The request is all that a client sends.
    fn counters(self) -> Option<ByteCounters> {
        let mut bytes = INITIAL_BYTES;
        match self.0 >> AccEcn::OPTION {
            0 => return None,
            1 => bytes.ect1 += REQUEST as u32,
            2 => bytes.ect0 += REQUEST as u32,
            _ => {}
        }
        Some(bytes)
    }
}

#[cfg(test)]
impl Segment {
    /// How many full segments are before it.
    pub fn number(&self) -> u64 {
        self.seq / (MSS - u64::from(self.accecn.option_length()))
    }
}

impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl l4s_aqm::Packet for Packet {
    #[inline]
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.fields().ip_length)) + ETHERNET
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.ecn()
    }

    #[inline]
    fn set_ce(&mut self) {
        self.change(|fields| fields.ecn = Ecn::Ce);
    }

    #[inline]
    fn flow_hash(&self) -> u32 {
        l4s_bottleneck::flow_hash(self.flow())
    }

    #[inline]
    fn memory(&self) -> Bytes {
        l4s_bottleneck::skb_memory(self.size())
    }
}

impl Traced for Packet {
    #[inline]
    fn flow(&self) -> FlowId {
        self.flow()
    }

    #[inline]
    fn group(&self) -> SourceId {
        self.group()
    }

    #[inline]
    fn ip_length(&self) -> Bytes {
        Bytes::new(self.fields().ip_length.into())
    }

    #[inline]
    fn arrived_ce(&self) -> bool {
        self.flags() & Packet::ARRIVED_CE != 0
    }

    fn contents(&self) -> Contents<'_> {
        match self.kept_at() {
            Some(_) => Contents::Later,
            None => Contents::Headers(self.ecn(), self.header()),
        }
    }
}

impl Packet {
    /// Its transport header.
    fn header(&self) -> Header {
        let length = u64::from(self.fields().ip_length);
        if self.is_udp() {
            let payload = length.saturating_sub(UDP_HEADER) as u32;
            return Header::Udp { payload, number: self.seq() };
        }
        if self.transport() & Packet::QUIC != 0 {
            let payload = length.saturating_sub(UDP_HEADER) as u32;
            return Header::Udp { payload, number: self.number() };
        }
        let syn = self.is_syn();
        Header::Tcp(Tcp {
            // The SYN takes number 0.
            seq: if syn { 0 } else { 1 + self.seq() },
            // So does the client's; its request follows.
            ack: Some(if syn { 1 } else { 1 + REQUEST }),
            payload: if syn { 0 } else { self.payload().into() },
            syn,
            fin: self.fin(),
            push: self.push(),
            flags: self.ecn_flags(),
            window: SERVER_WINDOW,
            stamps: Some(self.stamps().words()),
            mss: syn.then_some(self.seq() as u16),
            accecn: self.accecn().counters().map(ByteCounters::in_order),
            ..Tcp::default()
        })
    }
}

/// A server's SYN-ACK.
///
/// Example: [`Sender`](crate::tcp::Sender).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SynAck {
    /// Its ECN field.
    pub ecn: Ecn,
    /// The ECN that it grants (RFC 9768 §3.1.1).
    pub flags: EcnFlags,
    /// Whether it has the AccECN option.
    pub accecn: AccEcn,
    /// The maximum segment size that it announces.
    pub mss: u16,
    /// When it was sent, and which SYN it answers.
    pub stamps: Stamps,
}

/// The maximum segment size that an end announces whose full segments have `mss` bytes of payload:
/// it ignores time stamps (RFC 6691 §2).
pub(crate) fn announced_mss(mss: u16) -> u16 {
    mss + TIME_STAMPS as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_packet_takes_half_a_cache_line() {
        assert_eq!(size_of::<Packet>(), 32);
    }

    proptest! {
        #[test]
        fn fields_come_back_and_change_alone(
            (seq, flow, slot, stamps) in any::<(u64, u32, u32, u64)>(),
            (group, ip_length, flags, transport) in any::<(u16, u16, u8, u8)>(),
            (ecn, corrupt) in (0u8..4, any::<bool>()),
        ) {
            let (flow, group) = (FlowId::new(flow), SourceId::new(group));
            let (ecn, stamps) = (Ecn::from_bits(ecn), Stamps::of_number(stamps));
            let fields = Fields { seq, flow, slot, group, ip_length, ecn, flags, transport, corrupt, stamps };
            let mut packet = fields.pack();
            prop_assert_eq!(packet.fields(), fields);
            l4s_aqm::Packet::set_ce(&mut packet);
            packet.corrupt();
            prop_assert_eq!(packet.fields(), Fields { ecn: Ecn::Ce, corrupt: true, ..fields });
        }
    }

    /// Also one that asks for an acknowledgement at once.
    #[test]
    fn a_packet_of_quic_is_a_udp_datagram() {
        let owner = Owner { flow: FlowId::new(0), slot: 0, group: SourceId::new(0) };
        for immediate_ack in [false, true] {
            let datagram = quic::Datagram {
                number: 5,
                handshake: false,
                from: 0,
                payload: 1448,
                ecn: Ecn::NotEct,
                fin: false,
                immediate_ack,
            };
            let header = Packet::quic(owner, &datagram).header();
            assert_eq!(header, Header::Udp { payload: 1472, number: 5 });
        }
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
