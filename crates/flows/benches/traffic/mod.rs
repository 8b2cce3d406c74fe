//! The packets that the benchmark and the example `packets` pass through the table.

use etherparse::{IpHeaders, Ipv4Header, Ipv6Header, PacketBuilder, PacketBuilderStep};
use etherparse::{TcpHeader, TcpOptionElement, ip_number};
use l4s_flows::Direction;
use l4s_flows::ip::Version;
use l4s_units::{Duration, Ecn, Time};

/// An IP header from the server to the client, or from the client to the server; ECT(1).
fn ip(version: Version, direction: Direction) -> PacketBuilderStep<IpHeaders> {
    // Addresses for private use.
    let v4 = |end| [10, 0, end, 1];
    let v6 = |end| [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, end, 0, 1];
    let (from, to) = match direction {
        Direction::Down => (0, 1),
        Direction::Up => (1, 0),
    };
    PacketBuilder::ip(match version {
        Version::V4 => {
            let mut header = Ipv4Header::new(0, 64, ip_number::UDP, v4(from), v4(to)).unwrap();
            header.ecn = Ecn::Ect1.bits().try_into().unwrap();
            IpHeaders::Ipv4(header, Default::default())
        }
        Version::V6 => IpHeaders::Ipv6(
            Ipv6Header {
                traffic_class: Ecn::Ect1.bits(),
                hop_limit: 64,
                source: v6(from),
                destination: v6(to),
                ..Default::default()
            },
            Default::default(),
        ),
    })
}

/// A segment as Linux sends it, with time stamps. Its sequence and acknowledgement numbers and time
/// stamps are 0.
pub fn tcp(version: Version, direction: Direction, port: u16, payload: usize) -> Vec<u8> {
    let (source, destination) = match direction {
        Direction::Down => (443, port),
        Direction::Up => (port, 443),
    };
    let mut header = TcpHeader::new(source, destination, 0, 1000);
    header.ack = true;
    let stamps = TcpOptionElement::Timestamp(0, 0);
    header
        .set_options(&[TcpOptionElement::Noop, TcpOptionElement::Noop, stamps])
        .expect("12 bytes of options");
    let mut bytes = Vec::new();
    ip(version, direction).tcp_header(header).write(&mut bytes, &vec![0; payload]).unwrap();
    bytes
}

/// A datagram of the server.
pub fn udp(version: Version, port: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    ip(version, Direction::Down).udp(443, port).write(&mut bytes, payload).unwrap();
    bytes
}

/// A download in which every second segment is acknowledged. The benchmark writes the headers of each
/// packet, and the table reads them.
pub struct Download {
    data: Vec<u8>,
    ack: Vec<u8>,
    /// Where the TCP header begins.
    header: usize,
    seq: u32,
}

impl Download {
    const PAYLOAD: u32 = 1448;
    /// Where sequence and acknowledgement numbers and the time stamps are in the TCP header.
    const NUMBERS: usize = 4;
    const STAMPS: usize = 20 + 4;

    /// A download to this port of the client.
    pub fn new(version: Version, port: u16) -> Download {
        let header = match version {
            Version::V4 => 20,
            Version::V6 => 40,
        };
        let data = tcp(version, Direction::Down, port, Self::PAYLOAD as usize);
        Download { data, ack: tcp(version, Direction::Up, port, 0), header, seq: 0 }
    }

    /// Two segments and an acknowledgement, with time stamps of milliseconds. The acknowledgement is 20 ms
    /// late, as on a path with that round trip.
    #[inline]
    pub fn round(&mut self, now: &mut Time, mut observe: impl FnMut(&[u8], Direction, Time)) {
        let ms = now.as_nanos() / 1_000_000;
        let stamps = (ms << 32 | ms.saturating_sub(20)).to_be_bytes();
        for _ in 0..2 {
            *now += Duration::from_nanos(12_000);
            let header = &mut self.data[self.header..];
            header[Self::NUMBERS..][..4].copy_from_slice(&self.seq.to_be_bytes());
            header[Self::STAMPS..][..8].copy_from_slice(&stamps);
            observe(&self.data, Direction::Down, *now);
            self.seq = self.seq.wrapping_add(Self::PAYLOAD);
        }
        let acked = self.seq.wrapping_sub(1_666 * Self::PAYLOAD);
        let header = &mut self.ack[self.header..];
        header[Self::NUMBERS + 4..][..4].copy_from_slice(&acked.to_be_bytes());
        header[Self::STAMPS..][..8].copy_from_slice(&stamps);
        observe(&self.ack, Direction::Up, *now);
    }
}
