//! A checked view of an IP packet, as it comes from a TUN device.
//!
//! [`IpPacket::new_checked`] looks once at every length that a later access relies on; after that
//! nothing can be out of bounds. Fields are named ranges, as in the RFCs' figures. Header fields
//! are checked where possible: a length field that claims more bytes than came is
//! [`Malformed::Cut`].

mod offload;
mod rewrite;
mod tcp_header;

pub use offload::{Cut, Joined, complete_checksum};
pub use rewrite::set_ecn;
pub use tcp_header::Tcp;

use std::net::{IpAddr, Ipv6Addr};
use std::ops::Range;

use l4s_units::Ecn;

/// Ranges of header fields, in bytes from the start of their header.
mod field {
    use core::ops::Range;

    /// IPv4 (RFC 791 §3.1).
    pub mod ipv4 {
        use super::Range;
        pub const VERSION_IHL: usize = 0;
        pub const TOS: usize = 1;
        pub const FIRST_WORD: Range<usize> = 0..2;
        pub const TOTAL_LENGTH: Range<usize> = 2..4;
        pub const IDENTIFICATION: Range<usize> = 4..6;
        pub const FRAGMENT: Range<usize> = 6..8;
        pub const TIME_TO_LIVE: usize = 8;
        pub const PROTOCOL: usize = 9;
        pub const CHECKSUM: Range<usize> = 10..12;
        pub const SOURCE: Range<usize> = 12..16;
        pub const DESTINATION: Range<usize> = 16..20;
        /// Both.
        pub const ADDRESSES: Range<usize> = 12..20;
        /// Without options.
        pub const LENGTH: usize = 20;
    }

    /// IPv6 (RFC 8200 §3).
    pub mod ipv6 {
        use super::Range;
        pub const TRAFFIC_CLASS_LOW: usize = 1;
        pub const PAYLOAD_LENGTH: Range<usize> = 4..6;
        pub const NEXT_HEADER: usize = 6;
        pub const HOP_LIMIT: usize = 7;
        pub const SOURCE: Range<usize> = 8..24;
        pub const DESTINATION: Range<usize> = 24..40;
        pub const LENGTH: usize = 40;
        /// The fragment header (§4.5).
        pub const FRAGMENT_LENGTH: usize = 8;
        pub const FRAGMENT_OFFSET: Range<usize> = 2..4;
        pub const FRAGMENT_IDENTIFICATION: Range<usize> = 4..8;
    }

    /// TCP (RFC 9293 §3.1).
    pub mod tcp {
        use super::Range;
        pub const SEQUENCE: Range<usize> = 4..8;
        pub const ACKNOWLEDGEMENT: Range<usize> = 8..12;
        pub const OFFSET: usize = 12;
        pub const FLAGS: Range<usize> = 12..14;
        pub const CHECKSUM: Range<usize> = 16..18;
        /// Without options.
        pub const LENGTH: usize = 20;
        /// Kinds of options that have no length (§3.2).
        pub const OPTION_END: u8 = 0;
        pub const OPTION_NOP: u8 = 1;
        /// Maximum segment size (§3.7.1).
        pub const OPTION_MSS: u8 = 2;
        /// Time stamps (RFC 7323 §3.2).
        pub const OPTION_STAMPS: u8 = 8;
        /// AccECN, in either order of its counters (RFC 9768 §3.2.3).
        pub const OPTION_ACCECN: [u8; 2] = [172, 174];
    }

    /// UDP (RFC 768).
    pub mod udp {
        use super::Range;
        pub const DATAGRAM_LENGTH: Range<usize> = 4..6;
        pub const CHECKSUM: Range<usize> = 6..8;
        pub const LENGTH: usize = 8;
    }

    /// ICMP (RFC 792) and ICMPv6 (RFC 4443 §4).
    pub mod icmp {
        use super::Range;
        pub const TYPE: usize = 0;
        pub const IDENTIFIER: Range<usize> = 4..6;
        /// Up to the data of an echo message.
        pub const LENGTH: usize = 8;
        /// Echo reply and echo (RFC 792).
        pub const ECHO: [u8; 2] = [0, 8];
        /// Echo request and echo reply (RFC 4443 §4.1 and §4.2).
        pub const ECHO_V6: [u8; 2] = [128, 129];
    }

    /// Where both TCP and UDP have their ports.
    pub const PORTS: Range<usize> = 0..4;
}

use field::{icmp, ipv4, ipv6, tcp, udp};

/// Protocol numbers (IANA, Assigned Internet Protocol Numbers).
pub mod protocol {
    /// ICMP.
    pub const ICMP: u8 = 1;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// ICMPv6.
    pub const ICMP_V6: u8 = 58;
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(super) const AUTHENTICATION: u8 = 51;
    pub(super) const DESTINATION_OPTIONS: u8 = 60;
    pub(super) const MOBILITY: u8 = 135;
    pub(super) const HIP: u8 = 139;
    pub(super) const SHIM6: u8 = 140;
}

/// Why bytes are not a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Malformed {
    /// Neither version 4 nor version 6.
    #[error("neither IPv4 nor IPv6")]
    Version,
    /// A length says less than the header itself takes.
    #[error("a length field says less than the header takes")]
    Length,
    /// Fewer bytes than a length or a header needs.
    #[error("cut short")]
    Cut,
}

/// Version of the IP header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Version {
    /// RFC 791.
    V4,
    /// RFC 8200.
    V6,
}

/// Which part of a datagram a packet holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fragment {
    /// All of it.
    Whole,
    /// The beginning, with the transport header or at least its start.
    First,
    /// Something behind the beginning: no transport header.
    Later,
}

/// The results of the check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Facts {
    version: Version,
    fragment: Fragment,
    /// The protocol behind the IP headers.
    protocol: u8,
    /// Of the datagram that it is a part of; IPv6 has one in a fragment header only.
    identification: Option<u32>,
    /// Where the IP headers, extensions included, end.
    transport: usize,
    /// Where the transport header ends; `None` for neither TCP nor UDP, or where it is not here.
    payload: Option<usize>,
    /// The IP length.
    end: usize,
}

/// An IP packet whose lengths were checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpPacket<T> {
    bytes: T,
    facts: Facts,
}

impl<T: AsRef<[u8]>> IpPacket<T> {
    /// Checks that `bytes` begin with a whole IP packet, and with a whole transport header where
    /// one is due. Bytes behind the packet do no harm.
    // Always inlined: a result in memory is written field by field and copied 16 bytes at a time, and
    // such a load waits until both stores have left the store buffer.
    #[inline(always)]
    pub fn new_checked(bytes: T) -> Result<Self, Malformed> {
        let facts = check(bytes.as_ref())?;
        Ok(IpPacket { bytes, facts })
    }

    /// The packet, without bytes that may follow it.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes.as_ref()[..self.facts.end]
    }

    /// The IP length.
    #[inline]
    pub fn length(&self) -> usize {
        self.facts.end
    }

    /// The IP length of all `segments` packets that it becomes on the link: with segmentation
    /// offload the headers are repeated.
    #[inline]
    pub fn wire_length(&self, segments: u16) -> usize {
        let repeated = self.headers_length().unwrap_or(0) * usize::from(segments.saturating_sub(1));
        self.length() + repeated
    }

    /// Version of the IP header.
    #[inline]
    pub fn version(&self) -> Version {
        self.facts.version
    }

    /// The ECN field (RFC 3168 §5).
    #[inline]
    pub fn ecn(&self) -> Ecn {
        let bytes = self.bytes.as_ref();
        Ecn::from_bits(match self.facts.version {
            Version::V4 => bytes[ipv4::TOS],
            Version::V6 => bytes[ipv6::TRAFFIC_CLASS_LOW] >> 4,
        })
    }

    /// The identification of the datagram (RFC 791 §3.1), which IPv6 has in a fragment header only
    /// (RFC 8200 §4.5).
    #[inline]
    pub fn identification(&self) -> Option<u32> {
        self.facts.identification
    }

    /// The number of routers that may forward it: the time to live of IPv4, the hop limit of IPv6.
    #[inline]
    pub fn hops(&self) -> u8 {
        let place = match self.facts.version {
            Version::V4 => ipv4::TIME_TO_LIVE,
            Version::V6 => ipv6::HOP_LIMIT,
        };
        self.bytes.as_ref()[place]
    }

    /// Which part of a datagram this is.
    #[inline]
    pub fn fragment(&self) -> Fragment {
        self.facts.fragment
    }

    /// The protocol behind the IP headers.
    #[inline]
    pub fn protocol(&self) -> u8 {
        self.facts.protocol
    }

    /// Where the IP headers, extensions included, end.
    #[inline]
    pub fn ip_header_length(&self) -> usize {
        self.facts.transport
    }

    /// All headers of IP, TCP or UDP together; `None` for another protocol or a fragment that does
    /// not have them all.
    #[inline]
    pub fn headers_length(&self) -> Option<usize> {
        self.facts.payload
    }

    /// The payload of TCP or UDP, or of IP for any other protocol, in bytes.
    #[inline]
    pub fn payload_length(&self) -> usize {
        self.facts.end - self.facts.payload.unwrap_or(self.facts.transport)
    }

    /// The payload of TCP or UDP; empty for another protocol, or where the header is not here.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        self.facts.payload.map_or(&[], |start| &self.bytes()[start..])
    }

    /// Source and destination address.
    #[inline]
    pub fn addresses(&self) -> (IpAddr, IpAddr) {
        let bytes = self.bytes.as_ref();
        match self.facts.version {
            Version::V4 => (
                array::<4>(bytes, ipv4::SOURCE).into(),
                array::<4>(bytes, ipv4::DESTINATION).into(),
            ),
            Version::V6 => (
                array::<16>(bytes, ipv6::SOURCE).into(),
                array::<16>(bytes, ipv6::DESTINATION).into(),
            ),
        }
    }

    /// Source and destination address of IPv4 in one word, the source in its upper half.
    #[inline]
    pub(crate) fn addresses_v4(&self) -> u64 {
        u64::from_be_bytes(array(self.bytes.as_ref(), ipv4::ADDRESSES))
    }

    /// Source and destination address of IPv6.
    #[inline]
    pub(crate) fn addresses_v6(&self) -> (Ipv6Addr, Ipv6Addr) {
        let bytes = self.bytes.as_ref();
        let address = |at| Ipv6Addr::from(array::<16>(bytes, at));
        (address(ipv6::SOURCE), address(ipv6::DESTINATION))
    }

    /// Source and destination port, of TCP and UDP.
    #[inline]
    pub fn ports(&self) -> Option<(u16, u16)> {
        self.port_word().map(|ports| ((ports >> 16) as u16, ports as u16))
    }

    /// Source and destination port, of TCP and UDP, in one word, the source in its upper half.
    #[inline]
    pub(crate) fn port_word(&self) -> Option<u32> {
        self.facts.payload?;
        Some(number32(&self.bytes.as_ref()[self.facts.transport..], field::PORTS))
    }

    /// The identifier of an ICMP echo message, request or reply.
    #[inline]
    pub fn echo_identifier(&self) -> Option<u16> {
        let types = match self.facts.protocol {
            protocol::ICMP => icmp::ECHO,
            protocol::ICMP_V6 => icmp::ECHO_V6,
            _ => return None,
        };
        let message = &self.bytes()[self.facts.transport..];
        let is_echo = self.facts.fragment != Fragment::Later
            && message.len() >= icmp::LENGTH
            && types.contains(&message[icmp::TYPE]);
        is_echo.then(|| number16(message, icmp::IDENTIFIER))
    }

    /// The TCP header.
    #[inline]
    pub fn tcp(&self) -> Option<Tcp<'_>> {
        let header = &self.bytes.as_ref()[self.facts.transport..self.facts.payload?];
        let (fixed, options) = header.split_first_chunk()?;
        (self.facts.protocol == protocol::TCP).then_some(Tcp { fixed, options })
    }

    /// Whether it is for the neighbourhood only, such as router solicitations and multicast listener
    /// reports. Such a packet has no sender or receiver that a router may forward for
    /// (RFC 4291 §2.5.6 and §2.7, RFC 1122 §3.2.1.3, RFC 5735 §3).
    #[inline]
    pub fn is_local(&self) -> bool {
        let bytes = self.bytes.as_ref();
        match self.facts.version {
            Version::V4 => {
                let (source, destination) = (&bytes[ipv4::SOURCE], &bytes[ipv4::DESTINATION]);
                destination[0] >= 224 || [source, destination].iter().any(|a| local_v4(a))
            }
            Version::V6 => {
                let (source, destination) = (&bytes[ipv6::SOURCE], &bytes[ipv6::DESTINATION]);
                destination[0] == 0xff || [source, destination].iter().any(|a| local_v6(a))
            }
        }
    }
}

#[inline(always)]
fn check(bytes: &[u8]) -> Result<Facts, Malformed> {
    let ip = match bytes.first().map(|first| first >> 4) {
        Some(4) => check_v4(bytes)?,
        Some(6) => check_v6(bytes)?,
        Some(_) => return Err(Malformed::Version),
        None => return Err(Malformed::Cut),
    };
    let payload = match transport_header(&bytes[ip.transport..ip.end], ip.protocol, ip.fragment) {
        Ok(length) => length.map(|length| ip.transport + length),
        // A first fragment may be too short for all of the header (RFC 791 allows 8 bytes).
        Err(_) if ip.fragment == Fragment::First => None,
        Err(error) => return Err(error),
    };
    Ok(Facts { payload, ..ip })
}

#[inline(always)]
fn check_v4(bytes: &[u8]) -> Result<Facts, Malformed> {
    if bytes.len() < ipv4::LENGTH {
        return Err(Malformed::Cut);
    }
    let header = usize::from(bytes[ipv4::VERSION_IHL] & 0xf) * 4;
    let end = usize::from(number16(bytes, ipv4::TOTAL_LENGTH));
    if header < ipv4::LENGTH || end < header {
        return Err(Malformed::Length);
    }
    if end > bytes.len() {
        return Err(Malformed::Cut);
    }
    let word = number16(bytes, ipv4::FRAGMENT);
    Ok(Facts {
        version: Version::V4,
        fragment: fragment(word & 0x1fff, word & 0x2000 != 0),
        protocol: bytes[ipv4::PROTOCOL],
        identification: Some(number16(bytes, ipv4::IDENTIFICATION).into()),
        transport: header,
        payload: None,
        end,
    })
}

#[inline(always)]
fn check_v6(bytes: &[u8]) -> Result<Facts, Malformed> {
    if bytes.len() < ipv6::LENGTH {
        return Err(Malformed::Cut);
    }
    let end = ipv6::LENGTH + usize::from(number16(bytes, ipv6::PAYLOAD_LENGTH));
    if end > bytes.len() {
        return Err(Malformed::Cut);
    }
    let mut next = bytes[ipv6::NEXT_HEADER];
    let mut at = ipv6::LENGTH;
    let mut part = Fragment::Whole;
    let mut identification = None;
    // Every round moves on by at least 8 bytes, so this ends.
    while is_extension(next) && part != Fragment::Later {
        let Some(header) = bytes[..end].get(at..).filter(|rest| rest.len() >= 8) else {
            return Err(Malformed::Cut);
        };
        let length = match next {
            protocol::FRAGMENT => {
                let word = number16(header, ipv6::FRAGMENT_OFFSET);
                part = fragment(word >> 3, word & 1 != 0);
                identification = Some(number32(header, ipv6::FRAGMENT_IDENTIFICATION));
                ipv6::FRAGMENT_LENGTH
            }
            // In words of 4 bytes, less 2 (RFC 4302 §2.2).
            protocol::AUTHENTICATION => (usize::from(header[1]) + 2) * 4,
            // In words of 8 bytes, less 1 (RFC 8200 §4.2).
            _ => (usize::from(header[1]) + 1) * 8,
        };
        next = header[0];
        at += length;
        if at > end {
            return Err(Malformed::Cut);
        }
    }
    Ok(Facts {
        version: Version::V6,
        fragment: part,
        protocol: next,
        identification,
        transport: at,
        payload: None,
        end,
    })
}

/// The length of a TCP or UDP header behind the IP headers; `None` for other protocols, and in a later
/// fragment.
#[inline(always)]
fn transport_header(
    segment: &[u8],
    protocol: u8,
    part: Fragment,
) -> Result<Option<usize>, Malformed> {
    let (length, least) = match protocol {
        _ if part == Fragment::Later => return Ok(None),
        protocol::TCP if segment.len() >= tcp::LENGTH => {
            (usize::from(segment[tcp::OFFSET] >> 4) * 4, tcp::LENGTH)
        }
        protocol::UDP if segment.len() >= udp::LENGTH => {
            let datagram = usize::from(number16(segment, udp::DATAGRAM_LENGTH));
            if datagram < udp::LENGTH {
                return Err(Malformed::Length);
            }
            // The first fragment of a datagram holds less than all of it.
            if datagram > segment.len() && part == Fragment::Whole {
                return Err(Malformed::Cut);
            }
            (udp::LENGTH, udp::LENGTH)
        }
        protocol::TCP | protocol::UDP => return Err(Malformed::Cut),
        _ => return Ok(None),
    };
    if length < least {
        return Err(Malformed::Length);
    }
    if length > segment.len() {
        return Err(Malformed::Cut);
    }
    Ok(Some(length))
}

#[inline]
fn fragment(offset: u16, more: bool) -> Fragment {
    match (offset, more) {
        (0, false) => Fragment::Whole,
        (0, true) => Fragment::First,
        _ => Fragment::Later,
    }
}

/// Whether an IPv6 header of this kind has another one behind it (RFC 8200 §4, RFC 7045 §3).
#[inline]
fn is_extension(protocol: u8) -> bool {
    use protocol::{
        AUTHENTICATION, DESTINATION_OPTIONS, FRAGMENT, HIP, HOP_BY_HOP, MOBILITY, ROUTING, SHIM6,
    };
    matches!(
        protocol,
        HOP_BY_HOP
            | ROUTING
            | FRAGMENT
            | AUTHENTICATION
            | DESTINATION_OPTIONS
            | MOBILITY
            | HIP
            | SHIM6
    )
}

/// Unspecified, loopback or link-local.
#[inline]
fn local_v4(address: &[u8]) -> bool {
    address[0] == 0 || address[0] == 127 || address[..2] == [169, 254]
}

/// Unspecified, loopback or link-local.
#[inline]
fn local_v6(address: &[u8]) -> bool {
    let link_local = address[0] == 0xfe && address[1] & 0xc0 == 0x80;
    link_local || (address[..15].iter().all(|byte| *byte == 0) && address[15] <= 1)
}

#[inline]
fn number16(bytes: &[u8], at: Range<usize>) -> u16 {
    u16::from_be_bytes(array(bytes, at))
}

#[inline]
fn number32(bytes: &[u8], at: Range<usize>) -> u32 {
    u32::from_be_bytes(array(bytes, at))
}

/// The bytes of a field, with one check of the length.
#[inline]
fn array<const N: usize>(bytes: &[u8], at: Range<usize>) -> [u8; N] {
    bytes[at].try_into().expect("a range of the field's length")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_cut_short() {
        assert_eq!(IpPacket::new_checked([]).unwrap_err(), Malformed::Cut);
    }

    #[test]
    fn router_solicitations_are_local_and_connections_are_not() {
        let mut packet = [0; 40];
        packet[0] = 0x60;
        packet[6] = 59;
        packet[8..10].copy_from_slice(&[0xfe, 0x80]);
        packet[24..26].copy_from_slice(&[0xff, 0x02]);
        assert!(IpPacket::new_checked(packet).unwrap().is_local());
        packet[8..10].copy_from_slice(&[0xfd, 0x00]);
        packet[24..26].copy_from_slice(&[0xfd, 0x00]);
        assert!(!IpPacket::new_checked(packet).unwrap().is_local());
    }
}
