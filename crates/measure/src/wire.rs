//! A packet as bytes on a link: Ethernet, IPv4, and TCP or UDP with correct checksums.
//!
//! Group `g` sends from 10.g.0.1 to 10.g.1.1. Every flow has its own pair of ports, from the
//! range that no protocol owns (RFC 6335 §6), so that nobody dissects a payload of zeros.

use etherparse::{EtherType, Ethernet2Header, IpEcn, IpNumber, Ipv4Header};
use etherparse::{TcpHeader, TcpOptionElement, UdpHeader};
use l4s_model::{FlowId, SourceId};
use l4s_observe::{Header, Traced};
use l4s_units::{ETHERNET, Time};

/// IPv4 without options.
const IPV4: usize = 20;
/// TCP without options.
const TCP: usize = 20;
/// The most options of a TCP header.
const TCP_OPTIONS: usize = 40;
/// The longest IPv4 packet.
const LONGEST: usize = 65_535;
/// The payload of every packet.
static ZEROS: [u8; LONGEST] = [0; LONGEST];

/// Where the headers end, and the whole frame, in bytes from its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lengths {
    pub headers: usize,
    pub frame: usize,
}

/// Writes `packet`, sent at `sent`, into `bytes` in place of what they held.
///
/// Its IP length and payload say how long the TCP options are; lengths that no packet can have
/// become the nearest that one can.
pub(crate) fn write_frame(packet: &impl Traced, sent: Time, bytes: &mut Vec<u8>) -> Lengths {
    if let Some(ip) = packet.bytes() {
        return real_frame(packet.group(), ip, bytes);
    }
    let length = (packet.ip_length().get() as usize).min(LONGEST);
    let Headers { ip, transport, payload } = match packet.header() {
        Header::Tcp { .. } => tcp(packet, length, sent),
        Header::Udp { .. } => udp(packet, length),
    };
    bytes.clear();
    bytes.extend_from_slice(&ethernet(packet.group()).to_bytes());
    debug_assert_eq!(bytes.len() as u64, ETHERNET.get());
    bytes.extend_from_slice(&ip.to_bytes());
    bytes.extend_from_slice(&transport);
    let headers = bytes.len();
    bytes.extend_from_slice(&ZEROS[..payload]);
    Lengths { headers, frame: bytes.len() }
}

/// Writes a real IP packet behind a made-up Ethernet header.
fn real_frame(group: SourceId, ip: &[u8], bytes: &mut Vec<u8>) -> Lengths {
    let parsed = etherparse::PacketHeaders::from_ip_slice(ip);
    let payload = parsed.map_or(0, |packet| packet.payload.slice().len());
    let ether_type = match ip.first().map(|byte| byte >> 4) {
        Some(6) => EtherType::IPV6,
        _ => EtherType::IPV4,
    };
    bytes.clear();
    bytes.extend_from_slice(&Ethernet2Header { ether_type, ..ethernet(group) }.to_bytes());
    bytes.extend_from_slice(ip);
    Lengths { headers: bytes.len() - payload, frame: bytes.len() }
}

/// What a frame has behind its Ethernet header.
struct Headers {
    ip: Ipv4Header,
    transport: Vec<u8>,
    /// Bytes of payload.
    payload: usize,
}

fn udp(packet: &impl Traced, length: usize) -> Headers {
    let payload = length.saturating_sub(IPV4 + UdpHeader::LEN);
    let ip = ipv4(packet, UdpHeader::LEN + payload, IpNumber::UDP);
    let (from, to) = ports(packet.flow());
    let header = UdpHeader::with_ipv4_checksum(from, to, &ip, &ZEROS[..payload])
        .expect("the payload fits an IPv4 packet");
    Headers { ip, transport: header.to_bytes().to_vec(), payload }
}

fn tcp(packet: &impl Traced, length: usize, sent: Time) -> Headers {
    let Header::Tcp { seq, ack, payload, syn, fin, flags, stamps } = packet.header() else {
        unreachable!("only called for TCP");
    };
    let options = tcp_options(length, payload as usize);
    let payload = length.saturating_sub(IPV4 + TCP + options);
    let ip = ipv4(packet, TCP + options + payload, IpNumber::TCP);
    let (from, to) = ports(packet.flow());
    // Numbers wrap, as on the wire (RFC 9293 §3.4).
    let mut header = TcpHeader::new(from, to, seq as u32, u16::MAX);
    header.acknowledgment_number = ack as u32;
    header.ack = true;
    (header.syn, header.fin) = (syn, fin);
    (header.ns, header.cwr, header.ece) = (flags.ae, flags.cwr, flags.ece);
    let milliseconds = (sent.as_nanos() / 1_000_000) as u32;
    let stamps = stamps.unwrap_or((milliseconds, milliseconds));
    header.set_options(&option_list(options, syn, stamps)).expect("at most 40 bytes of options");
    header.checksum =
        header.calc_checksum_ipv4(&ip, &ZEROS[..payload]).expect("the payload fits an IPv4 packet");
    Headers { ip, transport: header.to_bytes().to_vec(), payload }
}

/// Bytes of TCP options: what the IP length leaves beside the payload, in whole words.
fn tcp_options(length: usize, payload: usize) -> usize {
    length.saturating_sub(IPV4 + TCP).saturating_sub(payload).min(TCP_OPTIONS) & !3
}

fn ethernet(group: SourceId) -> Ethernet2Header {
    let [high, low] = group.get().to_be_bytes();
    // Locally administered addresses, one for each end of a group.
    let end = |end| [0x02, 0, 0, high, low, end];
    Ethernet2Header { source: end(1), destination: end(2), ether_type: EtherType::IPV4 }
}

fn ipv4(packet: &impl Traced, payload: usize, protocol: IpNumber) -> Ipv4Header {
    // 10.g.0.1 to 10.g.1.1; groups from 256 on use the next even third byte.
    let [high, low] = packet.group().get().to_be_bytes();
    let third = high.wrapping_mul(2);
    let mut header = Ipv4Header::new(
        payload as u16,
        64,
        protocol,
        [10, low, third, 1],
        [10, low, third.wrapping_add(1), 1],
    )
    .expect("the payload fits an IPv4 packet");
    header.ecn = IpEcn::try_new(packet.ecn().bits()).expect("ECN has two bits");
    header.dont_fragment = true;
    header.header_checksum = header.calc_header_checksum();
    header
}

/// The server's and the client's port of a flow.
fn ports(flow: FlowId) -> (u16, u16) {
    const FIRST: u32 = 49_152;
    const PORTS: u32 = 16_384;
    let flow = flow.get();
    ((FIRST + flow / PORTS % PORTS) as u16, (FIRST + flow % PORTS) as u16)
}

/// What Linux would send in `room` bytes of options, filled with no-operations.
fn option_list(room: usize, opens: bool, stamps: (u32, u32)) -> Vec<TcpOptionElement> {
    use TcpOptionElement::{
        MaximumSegmentSize, Noop, SelectiveAcknowledgementPermitted, Timestamp, WindowScale,
    };
    let timestamp = Timestamp(stamps.0, stamps.1);
    let mut list = Vec::new();
    let mut left = room;
    let mut offer = |bytes: usize, options: &[TcpOptionElement]| {
        if left >= bytes {
            left -= bytes;
            list.extend_from_slice(options);
        }
    };
    if opens {
        offer(4, &[MaximumSegmentSize(1460)]);
        offer(12, &[SelectiveAcknowledgementPermitted, timestamp]);
        offer(4, &[Noop, WindowScale(7)]);
    } else {
        offer(12, &[Noop, Noop, timestamp]);
    }
    list.extend(std::iter::repeat_n(Noop, left));
    list
}
