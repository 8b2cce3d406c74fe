//! Packets made by hand, and the table that counts them.
#![allow(dead_code, reason = "each test file uses a part of it")]

use etherparse::{PacketBuilder, PacketBuilderStep, TcpHeader, TcpOptionElement, ip_number};
use l4s_flows::ip::IpPacket;
use l4s_flows::{Direction, Flows, Row};
use l4s_units::{Duration, Time};

pub use Direction::{Down, Up};

pub const CLIENT: [u8; 4] = [10, 0, 1, 1];
pub const SERVER: [u8; 4] = [10, 0, 0, 1];
pub const CLIENT_V6: [u8; 16] = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1];
pub const SERVER_V6: [u8; 16] = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

/// Source and destination of a packet.
pub fn ends<T>(direction: Direction, client: T, server: T) -> (T, T) {
    match direction {
        Down => (server, client),
        Up => (client, server),
    }
}

pub fn ip(direction: Direction) -> PacketBuilderStep<etherparse::IpHeaders> {
    let (source, destination) = ends(direction, CLIENT, SERVER);
    PacketBuilder::ip(etherparse::IpHeaders::Ipv4(
        etherparse::Ipv4Header::new(0, 64, ip_number::UDP, source, destination).unwrap(),
        Default::default(),
    ))
}

pub fn ip_v6(direction: Direction) -> PacketBuilderStep<etherparse::IpHeaders> {
    let (source, destination) = ends(direction, CLIENT_V6, SERVER_V6);
    let header =
        etherparse::Ipv6Header { source, destination, hop_limit: 64, ..Default::default() };
    PacketBuilder::ip(etherparse::IpHeaders::Ipv6(header, Default::default()))
}

/// A datagram between port 5000 of the client and port 443 of the server.
pub fn udp(direction: Direction, payload: &[u8]) -> Vec<u8> {
    let (source, destination) = ends(direction, 5000, 443);
    let mut bytes = Vec::new();
    ip(direction).udp(source, destination).write(&mut bytes, payload).unwrap();
    bytes
}

/// A segment between port 5000 of the client and port 443 of the server.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    pub seq: u32,
    pub ack: Option<u32>,
    pub payload: usize,
    pub syn: bool,
    pub fin: bool,
    pub rst: bool,
    pub stamps: Option<(u32, u32)>,
    pub mss: Option<u16>,
}

impl Segment {
    pub fn data(seq: u32, payload: usize) -> Segment {
        Segment { seq, payload, ack: Some(1), ..Segment::default() }
    }

    pub fn ack(ack: u32) -> Segment {
        Segment { seq: 1, ack: Some(ack), ..Segment::default() }
    }

    pub fn stamps(self, value: u32, echo: u32) -> Segment {
        Segment { stamps: Some((value, echo)), ..self }
    }

    pub fn bytes(&self, direction: Direction) -> Vec<u8> {
        let (source, destination) = ends(direction, 5000, 443);
        let mut header = TcpHeader::new(source, destination, self.seq, 1000);
        (header.syn, header.fin, header.rst) = (self.syn, self.fin, self.rst);
        (header.ack, header.acknowledgment_number) = (self.ack.is_some(), self.ack.unwrap_or(0));
        let mss = self.mss.map(TcpOptionElement::MaximumSegmentSize);
        let stamps = self.stamps.map(|(value, echo)| TcpOptionElement::Timestamp(value, echo));
        let options: Vec<_> = mss.into_iter().chain(stamps).collect();
        header.set_options(&options).unwrap();
        let mut bytes = Vec::new();
        ip(direction).tcp_header(header).write(&mut bytes, &vec![0; self.payload]).unwrap();
        bytes
    }
}

/// A table, and a clock that the test sets.
pub struct Seen {
    pub flows: Flows,
    pub now: Time,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen { flows: Flows::new(1000, 1), now: Time::ZERO }
    }
}

impl Seen {
    /// Sets the time since the start, in microseconds.
    pub fn at(&mut self, us: u64) -> &mut Seen {
        self.now = Time::ZERO + Duration::from_micros(us);
        self
    }

    pub fn packet(&mut self, direction: Direction, bytes: &[u8]) -> u32 {
        let packet = IpPacket::new_checked(bytes).unwrap();
        self.flows.observe(&packet, direction, 1, self.now)
    }

    pub fn segment(&mut self, direction: Direction, segment: &Segment) -> u32 {
        self.packet(direction, &segment.bytes(direction))
    }

    pub fn rows(&self) -> Vec<Row> {
        self.flows.rows().collect()
    }

    /// The row of the only flow.
    pub fn row(&self) -> Row {
        let rows = self.rows();
        assert_eq!(rows.len(), 1, "{rows:#?}");
        rows.into_iter().next().unwrap()
    }
}
