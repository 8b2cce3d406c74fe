//! A packet, as measurement sees it.

use l4s_model::{FlowId, SourceId};
use l4s_units::{Bytes, Ecn};

/// A packet that is observed: a packet of a queue discipline that knows its flow and its headers.
///
/// ```
/// use l4s_model::{FlowId, SourceId};
/// use l4s_observe::{Contents, Header, Traced};
/// use l4s_units::{Bytes, ETHERNET, Ecn};
///
/// /// A UDP datagram of the first source, whose payload is zeros.
/// struct Datagram { ecn: Ecn, number: u64 }
///
/// impl l4s_aqm::Packet for Datagram {
///     fn size(&self) -> Bytes { self.ip_length() + ETHERNET }
///     fn ecn(&self) -> Ecn { self.ecn }
///     fn set_ce(&mut self) { self.ecn = Ecn::Ce }
///     fn flow_hash(&self) -> u32 { 0 }
/// }
///
/// impl Traced for Datagram {
///     fn flow(&self) -> FlowId { FlowId::new(0) }
///     fn group(&self) -> SourceId { SourceId::new(0) }
///     fn ip_length(&self) -> Bytes { Bytes::new(1500) }
///     fn arrived_ce(&self) -> bool { false }
///     fn contents(&self) -> Contents<'_> {
///         Contents::Headers(self.ecn, Header::Udp { payload: 1472, number: self.number })
///     }
/// }
///
/// let mut packet = Datagram { ecn: Ecn::Ect1, number: 0 };
/// assert!(!packet.newly_marked());
/// l4s_aqm::Packet::set_ce(&mut packet);
/// assert!(packet.newly_marked());
/// ```
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
    /// Its contents on the wire.
    fn contents(&self) -> Contents<'_>;
}

/// A packet with a form on the wire: every packet that is observed.
///
/// ```
/// use l4s_observe::{Contents, Header, Observer, OnWire, Tcp, Traced, Wants, Wire};
/// use l4s_units::Time;
///
/// /// The highest acknowledgement that arrived at a server of the simulator.
/// #[derive(Default)]
/// struct Acknowledged(u64);
///
/// impl<P: Traced> Observer<P> for Acknowledged {
///     fn answered(&mut self, packet: &dyn OnWire, _: Time) {
///         let Wire { contents, .. } = packet.wire();
///         if let Contents::Headers(_, Header::Tcp(Tcp { ack: Some(ack), .. })) = contents {
///             self.0 = self.0.max(ack);
///         }
///     }
///     fn wants(&self) -> Wants {
///         Wants { answers: true, ..Wants::NOTHING }
///     }
/// }
/// ```
pub trait OnWire {
    /// Its form there.
    fn wire(&self) -> Wire<'_>;
}

impl<P: Traced> OnWire for P {
    fn wire(&self) -> Wire<'_> {
        let (flow, group, contents) = (self.flow(), self.group(), self.contents());
        Wire { flow, group, contents }
    }
}

/// A packet on the wire.
///
/// Example: [`OnWire`].
#[derive(Clone, Copy, Debug)]
pub struct Wire<'a> {
    /// The flow.
    pub flow: FlowId,
    /// The group or UDP source.
    pub group: SourceId,
    /// The packet.
    pub contents: Contents<'a>,
}

/// An IP packet.
///
/// Example: [`OnWire`].
#[derive(Clone, Copy, Debug)]
pub enum Contents<'a> {
    /// ECN field and transport header of a packet whose payload is zeros.
    Headers(Ecn, Header),
    /// The bytes of a real packet.
    Bytes(&'a [u8]),
    /// Unknown before [`Observer::answered`](crate::Observer::answered) has it: a simulated client's packet in
    /// a queue.
    Later,
}

/// A transport header, enough to write the packet down.
///
/// Example: [`OnWire`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header {
    /// A TCP segment.
    Tcp(Tcp),
    /// A UDP datagram.
    Udp {
        /// Bytes of payload.
        payload: u32,
        /// Number of the datagram within its source.
        number: u64,
    },
}

/// A TCP header (RFC 9293 §3.1). Its numbers do not wrap: they count from 0 at the SYN of the side
/// that they number.
///
/// ```
/// use l4s_observe::{EcnFlags, Tcp};
///
/// // A SYN that asks for Accurate ECN has AE, CWR and ECE (RFC 9768 §3.1.1).
/// let flags = EcnFlags { ae: true, cwr: true, ece: true };
/// let syn = Tcp { syn: true, flags, window: 65_535, mss: Some(1460), ..Tcp::default() };
/// assert_eq!((syn.ack, syn.flags.ace()), (None, 0b111));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tcp {
    /// Sequence number of the SYN, or of the first byte of payload.
    pub seq: u64,
    /// Acknowledgement number; a client's SYN has none.
    pub ack: Option<u64>,
    /// Bytes of payload.
    pub payload: u32,
    /// SYN.
    pub syn: bool,
    /// FIN.
    pub fin: bool,
    /// PSH.
    pub push: bool,
    /// Its ECN flags.
    pub flags: EcnFlags,
    /// The receive window in bytes.
    pub window: u64,
    /// Its time stamp and the one that it echoes (RFC 7323 §3.2), where the substrate knows them.
    pub stamps: Option<(u32, u32)>,
    /// SACK blocks `[from, to)`, the first of which may be a D-SACK block (RFC 2018, RFC 2883); empty
    /// ones last.
    pub sacks: [(u64, u64); 3],
    /// The counters of the AccECN option: bytes that arrived as ECT(1), CE and ECT(0), each with its
    /// initial value (RFC 9768 §3.2.3).
    pub accecn: Option<[u32; 3]>,
    /// The maximum segment size that a SYN announces (RFC 9293 §3.7.1).
    pub mss: Option<u16>,
}

/// The ECN flags of a TCP header: those of RFC 3168, and AE, the former NS bit (RFC 9768 §3.1).
///
/// ```
/// use l4s_observe::EcnFlags;
///
/// // A client starts to count CE packets at 5 (RFC 9768 §3.2.1).
/// let flags = EcnFlags { ae: true, cwr: false, ece: true };
/// assert_eq!(flags.ace(), 5);
/// assert_eq!(EcnFlags::of_ace(5), flags);
/// ```
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
