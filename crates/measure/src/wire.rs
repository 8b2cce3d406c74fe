//! A packet as bytes on a link: Ethernet, IPv4, and TCP or UDP with correct checksums.
//!
//! Group `g` sends from 10.g.0.1 to 10.g.1.1. Every flow has its own pair of ports, from the
//! range that no protocol owns (RFC 6335 §6), so that nobody dissects a payload of zeros.

use etherparse::{EtherType, Ethernet2Header, IpEcn, IpNumber, Ipv4Header, TcpHeader, UdpHeader};
use l4s_model::{FlowId, SourceId};
use l4s_observe::{Contents, Header, Tcp, Wire};
use l4s_units::Ecn;

/// IPv4 without options.
const IPV4: usize = 20;
/// The longest IPv4 packet.
const LONGEST: usize = 65_535;
/// The payload of every packet.
static ZEROS: [u8; LONGEST] = [0; LONGEST];
/// The window scale of both sides: the largest one (RFC 7323 §2.3), as the simulator's windows have no
/// limit.
const WINDOW_SCALE: u8 = 14;

/// Which way a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// From server to client.
    Down,
    /// From client to server.
    Up,
}

impl Way {
    /// Source and destination.
    fn ends<T>(self, server: T, client: T) -> (T, T) {
        match self {
            Way::Down => (server, client),
            Way::Up => (client, server),
        }
    }
}

/// Where the headers end, and the whole frame, in bytes from its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lengths {
    pub headers: usize,
    pub frame: usize,
}

/// Writes a packet into `bytes`, in place of their contents: the whole frame of a real packet, and the
/// headers of another one, whose payload is zeros. A payload that is too long for a packet is cut to the
/// longest possible one.
pub(crate) fn write_frame(wire: &Wire<'_>, way: Way, bytes: &mut Vec<u8>) -> Lengths {
    bytes.clear();
    let (ecn, header) = match wire.contents {
        Contents::Bytes(ip) => return write_real(wire.group, way, ip, bytes),
        Contents::Headers(ecn, header) => (ecn, header),
        Contents::Later => return Lengths { headers: 0, frame: 0 },
    };
    bytes.extend_from_slice(&ethernet(wire.group, way, EtherType::IPV4).to_bytes());
    let payload = match header {
        Header::Tcp(tcp) => write_tcp(wire, way, ecn, &tcp, bytes),
        Header::Udp { payload, .. } => write_udp(wire, way, ecn, payload, bytes),
    };
    Lengths { headers: bytes.len(), frame: bytes.len() + payload }
}

/// Writes a real IP packet behind a made-up Ethernet header.
fn write_real(group: SourceId, way: Way, ip: &[u8], bytes: &mut Vec<u8>) -> Lengths {
    let parsed = etherparse::PacketHeaders::from_ip_slice(ip);
    let payload = parsed.map_or(0, |packet| packet.payload.slice().len());
    let ether_type = match ip.first().map(|byte| byte >> 4) {
        Some(6) => EtherType::IPV6,
        _ => EtherType::IPV4,
    };
    bytes.extend_from_slice(&ethernet(group, way, ether_type).to_bytes());
    bytes.extend_from_slice(ip);
    Lengths { headers: bytes.len() - payload, frame: bytes.len() }
}

/// Writes IPv4 and UDP headers; gives the length of the payload.
fn write_udp(wire: &Wire<'_>, way: Way, ecn: Ecn, payload: u32, bytes: &mut Vec<u8>) -> usize {
    let payload = (payload as usize).min(LONGEST - IPV4 - UdpHeader::LEN);
    let ip = ipv4(wire.group, way, ecn, UdpHeader::LEN + payload, IpNumber::UDP);
    let (from, to) = ports(wire.flow, way);
    let header = UdpHeader::with_ipv4_checksum(from, to, &ip, &ZEROS[..payload])
        .expect("the payload fits an IPv4 packet");
    bytes.extend_from_slice(&ip.to_bytes());
    bytes.extend_from_slice(&header.to_bytes());
    payload
}

/// Writes IPv4 and TCP headers; gives the length of the payload.
fn write_tcp(wire: &Wire<'_>, way: Way, ecn: Ecn, tcp: &Tcp, bytes: &mut Vec<u8>) -> usize {
    let (from, to) = ports(wire.flow, way);
    // The window of a SYN is not scaled (RFC 7323 §2.2). Otherwise it is rounded up, as in Linux.
    let scale = if tcp.syn { 0 } else { WINDOW_SCALE };
    let window = tcp.window.div_ceil(1 << scale).min(u16::MAX.into()) as u16;
    // Numbers wrap (RFC 9293 §3.4).
    let mut header = TcpHeader::new(from, to, tcp.seq as u32, window);
    header.acknowledgment_number = tcp.ack.unwrap_or_default() as u32;
    header.ack = tcp.ack.is_some();
    (header.syn, header.fin, header.psh) = (tcp.syn, tcp.fin, tcp.push);
    (header.ns, header.cwr, header.ece) = (tcp.flags.ae, tcp.flags.cwr, tcp.flags.ece);
    let options = Options::of(tcp);
    header.set_options_raw(options.written()).expect("at most 40 bytes of options");
    let payload = (tcp.payload as usize).min(LONGEST - IPV4 - header.header_len());
    let ip = ipv4(wire.group, way, ecn, header.header_len() + payload, IpNumber::TCP);
    header.checksum =
        header.calc_checksum_ipv4(&ip, &ZEROS[..payload]).expect("the payload fits an IPv4 packet");
    bytes.extend_from_slice(&ip.to_bytes());
    bytes.extend_from_slice(&header.to_bytes());
    payload
}

fn ethernet(group: SourceId, way: Way, ether_type: EtherType) -> Ethernet2Header {
    let [high, low] = group.get().to_be_bytes();
    // Locally administered addresses, one for each end of a group.
    let end = |end| [0x02, 0, 0, high, low, end];
    let (source, destination) = way.ends(end(1), end(2));
    Ethernet2Header { source, destination, ether_type }
}

fn ipv4(group: SourceId, way: Way, ecn: Ecn, payload: usize, protocol: IpNumber) -> Ipv4Header {
    // 10.g.0.1 to 10.g.1.1; groups from 256 on use the next even third byte.
    let [high, low] = group.get().to_be_bytes();
    let third = high.wrapping_mul(2);
    let (source, destination) = way.ends([10, low, third, 1], [10, low, third.wrapping_add(1), 1]);
    let mut header = Ipv4Header::new(payload as u16, 64, protocol, source, destination)
        .expect("the payload fits an IPv4 packet");
    header.ecn = IpEcn::try_new(ecn.bits()).expect("ECN has two bits");
    header.dont_fragment = true;
    header.header_checksum = header.calc_header_checksum();
    header
}

/// Source and destination port of a flow.
fn ports(flow: FlowId, way: Way) -> (u16, u16) {
    const FIRST: u32 = 49_152;
    const PORTS: u32 = 16_384;
    let flow = flow.get();
    let port = |number: u32| (FIRST + number % PORTS) as u16;
    way.ends(port(flow / PORTS), port(flow))
}

/// The options of a TCP header, which Linux would send in the same order.
struct Options {
    bytes: [u8; Options::MOST],
    length: usize,
}

impl Options {
    const MOST: usize = 40;
    const NOOP: u8 = 1;

    fn of(tcp: &Tcp) -> Options {
        let mut options = Options { bytes: [Options::NOOP; Options::MOST], length: 0 };
        if let Some(mss) = tcp.mss.filter(|_| tcp.syn) {
            options.push(&[2, 4]);
            options.push(&mss.to_be_bytes());
        }
        if let Some((sent, echo)) = tcp.stamps {
            // In a SYN the option that permits SACK fills the word.
            options.push(if tcp.syn { &[4, 2] } else { &[Options::NOOP; 2] });
            options.push(&[8, 10]);
            options.push(&sent.to_be_bytes());
            options.push(&echo.to_be_bytes());
        }
        if tcp.syn {
            options.push(&[Options::NOOP, 3, 3, WINDOW_SCALE]);
        }
        // Nothing is selectively acknowledged by a SYN.
        let blocks = tcp.sacks.iter().filter(|(from, to)| !tcp.syn && from < to).count();
        let for_sack = if blocks > 0 { 4 + 8 * blocks } else { 0 };
        if let Some(counters) = tcp.accecn {
            options.push_accecn(counters, Options::MOST - options.length - for_sack);
        }
        if blocks > 0 {
            options.push(&[Options::NOOP, Options::NOOP, 5, (2 + 8 * blocks) as u8]);
            for (from, to) in tcp.sacks.iter().filter(|(from, to)| from < to) {
                options.push(&(*from as u32).to_be_bytes());
                options.push(&(*to as u32).to_be_bytes());
            }
        }
        options
    }

    /// The AccECN option of the order that begins with ECT(1), with as many of its counters of 24 bits
    /// as there is `room` for (RFC 9768 §3.2.3).
    fn push_accecn(&mut self, counters: [u32; 3], room: usize) {
        const KIND: u8 = 174;
        let fields = (1..=3_usize).rfind(|fields| (2 + 3 * fields).next_multiple_of(4) <= room);
        let Some(fields) = fields else { return };
        self.push(&[KIND, (2 + 3 * fields) as u8]);
        counters[..fields].iter().for_each(|counter| self.push(&counter.to_be_bytes()[1..]));
        self.length = self.length.next_multiple_of(4);
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.length..][..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    fn written(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}
