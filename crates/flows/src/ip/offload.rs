//! The work of a network card for the kernel: completing checksums, cutting a large packet to those of the link, and
//! joining packets that follow each other.

use core::ops::Range;

use super::field::{ipv4, ipv6, tcp, udp};
use super::rewrite::behind;
use super::{Fragment, IpPacket, Version, number16, number32, protocol};

/// The longest packet that lengths of 16 bits allow.
const LONGEST: usize = 65_535;
/// FIN, SYN, RST, PSH, URG and CWR, in the second byte of TCP's flags.
const FIN: u8 = 1;
const PSH: u8 = 1 << 3;
const ACK: u8 = 1 << 4;
const CWR: u8 = 1 << 7;

/// Completes a checksum that the kernel left to the device (virtio 1.2 §5.1.6.2). It covers the bytes from `start` on,
/// and its place, `at` bytes behind `start`, has the sum of the pseudo-header. Returns whether both are in the packet.
pub fn complete_checksum(bytes: &mut [u8], start: usize, at: usize) -> bool {
    let Some(covered) = bytes.get_mut(start..).filter(|covered| at + 2 <= covered.len()) else {
        return false;
    };
    let checksum = non_zero(!fold(sum(covered)));
    covered[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    true
}

impl IpPacket<&[u8]> {
    /// Number `number` of the packets that a network card cuts this one to, with `size` bytes of payload each, written
    /// to `into`. Returns its length; `None` if there is no such packet, or this one is not to be cut: a fragment,
    /// neither TCP nor UDP, or longer than `into` even when it is cut.
    ///
    /// Of TCP (as `tcp_gso_segment` of Linux): sequence numbers go on, FIN and PSH are the last packet's, CWR is the
    /// first one's (RFC 3168 §6.1.2). The identification of IPv4 counts.
    pub fn segment(&self, size: usize, number: usize, into: &mut [u8]) -> Option<usize> {
        let headers = self.facts.payload.filter(|_| self.facts.fragment == Fragment::Whole)?;
        let (bytes, transport) = (self.bytes(), self.facts.transport);
        let begin = headers + number.checked_mul(size)?;
        let end = (begin + size).min(bytes.len());
        if begin >= end {
            return None;
        }
        let (is_first, is_last) = (number == 0, end == bytes.len());
        let segment = into.get_mut(..headers + end - begin)?;
        segment[..headers].copy_from_slice(&bytes[..headers]);
        segment[headers..].copy_from_slice(&bytes[begin..end]);
        if self.facts.version == Version::V4 {
            let count = number16(bytes, ipv4::IDENTIFICATION).wrapping_add(number as u16);
            segment[ipv4::IDENTIFICATION].copy_from_slice(&count.to_be_bytes());
        }
        set_ip_length(segment, self.facts.version, transport);
        let checksum = if self.facts.protocol == protocol::TCP {
            let sequence = behind(transport, tcp::SEQUENCE);
            let first = number32(bytes, sequence.clone());
            let own = first.wrapping_add((begin - headers) as u32);
            segment[sequence].copy_from_slice(&own.to_be_bytes());
            let flags = &mut segment[transport + tcp::FLAGS.start + 1];
            *flags &= !(if is_last { 0 } else { FIN | PSH } | if is_first { 0 } else { CWR });
            tcp::CHECKSUM
        } else {
            let length = (segment.len() - transport) as u16;
            segment[behind(transport, udp::DATAGRAM_LENGTH)].copy_from_slice(&length.to_be_bytes());
            udp::CHECKSUM
        };
        let pseudo = pseudo_header(segment, self.facts.version, self.facts.protocol, transport);
        segment[behind(transport, checksum.clone())].copy_from_slice(&pseudo.to_be_bytes());
        complete_checksum(segment, transport, checksum.start);
        Some(segment.len())
    }
}

/// Packets of one TCP connection that follow each other, joined to one by receive offload.
///
/// Their headers differ only in sequence number, length, identification, PSH and checksums, so that they can be cut
/// again to the same packets. That is stricter than the kernel, which lets the window differ. A packet with a mark of
/// congestion stays alone, because the receiver's kernel counts the marks of a joined packet once: `gso_segs` of a packet
/// from a device is 0, and AccECN (`tcp_ecn_received_counters`) counts at least 1.
#[derive(Debug, Default)]
pub struct Joined {
    bytes: Vec<u8>,
    version: Option<Version>,
    transport: usize,
    headers: usize,
    /// Payload of each packet; the last one may have less.
    size: usize,
    packets: usize,
    /// Whether no packet may follow.
    closed: bool,
}

/// How a joined packet is to be cut again, for the header of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// Version of IP.
    pub version: Version,
    /// Where TCP begins.
    pub transport: usize,
    /// Where its payload begins.
    pub headers: usize,
    /// Payload of each packet.
    pub size: usize,
}

impl Joined {
    /// Begins with a packet, whose checksums must be right. Returns whether others may follow; otherwise nothing changes.
    #[inline]
    pub fn begin(&mut self, packet: &IpPacket<&[u8]>) -> bool {
        let Some(headers) = joinable(packet) else { return false };
        self.bytes.clear();
        self.bytes.extend_from_slice(packet.bytes());
        (self.version, self.transport) = (Some(packet.facts.version), packet.facts.transport);
        (self.headers, self.size) = (headers, packet.payload_length());
        (self.packets, self.closed) = (1, ends(packet));
        true
    }

    /// Whether a packet is of the same connection and direction.
    #[inline]
    pub fn is_of_connection(&self, packet: &IpPacket<&[u8]>) -> bool {
        let (mine, other) = (&self.bytes[..], packet.bytes());
        self.version == Some(packet.facts.version)
            && self.transport == packet.facts.transport
            && packet.facts.payload.is_some()
            && packet.facts.protocol == protocol::TCP
            && addresses(mine, packet.facts.version) == addresses(other, packet.facts.version)
            && mine[self.transport..][..4] == other[self.transport..][..4]
    }

    /// Adds a packet of the same connection, whose checksums must be right, if it goes on where this one ends. Returns
    /// whether it did.
    #[inline]
    pub fn push(&mut self, packet: &IpPacket<&[u8]>) -> bool {
        let (bytes, payload) = (packet.bytes(), packet.payload());
        let follows = !self.closed
            && joinable(packet) == Some(self.headers)
            && payload.len() <= self.size
            && self.bytes.len() + payload.len() <= LONGEST
            && self.next() == number32(bytes, behind(self.transport, tcp::SEQUENCE))
            && self.has_headers_of(packet);
        if follows {
            self.bytes.extend_from_slice(payload);
            self.packets += 1;
            self.closed = payload.len() < self.size || ends(packet);
            let flags = self.transport + tcp::FLAGS.start + 1;
            self.bytes[flags] |= bytes[flags] & PSH;
        }
        follows
    }

    /// Whether no other packet may follow.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.closed || self.bytes.len() + self.size > LONGEST
    }

    /// The packet, and how it is to be cut; `None` where it is one packet, unchanged. A joined one has the sum of its
    /// pseudo-header in place of TCP's checksum.
    pub fn finish(&mut self) -> (&[u8], Option<Cut>) {
        let Some(version) = self.version.filter(|_| self.packets > 1) else {
            return (&self.bytes, None);
        };
        let (transport, headers, size) = (self.transport, self.headers, self.size);
        set_ip_length(&mut self.bytes, version, transport);
        let pseudo = pseudo_header(&self.bytes, version, protocol::TCP, transport);
        self.bytes[behind(transport, tcp::CHECKSUM)].copy_from_slice(&pseudo.to_be_bytes());
        (&self.bytes, Some(Cut { version, transport, headers, size }))
    }

    /// The sequence number that goes on.
    #[inline]
    fn next(&self) -> u32 {
        let first = number32(&self.bytes, behind(self.transport, tcp::SEQUENCE));
        first.wrapping_add((self.bytes.len() - self.headers) as u32)
    }

    /// Whether a packet has the same headers, except for the fields that differ in each segment.
    #[inline]
    fn has_headers_of(&self, packet: &IpPacket<&[u8]>) -> bool {
        let same = |range: Range<usize>| self.bytes[range.clone()] == packet.bytes()[range];
        let (first, rest) = match packet.facts.version {
            Version::V4 => (ipv4::FIRST_WORD, ipv4::FRAGMENT.start..ipv4::CHECKSUM.start),
            Version::V6 => (0..ipv6::PAYLOAD_LENGTH.start, ipv6::NEXT_HEADER..ipv6::SOURCE.start),
        };
        let flags = self.transport + tcp::FLAGS.start + 1;
        // Acknowledgement number and header length; flags except for PSH; window; urgent pointer and options.
        same(first)
            && same(rest)
            && same(self.transport + tcp::ACKNOWLEDGEMENT.start..flags)
            && (self.bytes[flags] ^ packet.bytes()[flags]) & !PSH == 0
            && same(flags + 1..self.transport + tcp::CHECKSUM.start)
            && same(self.transport + tcp::CHECKSUM.end..self.headers)
    }
}

/// Where the payload begins of a packet that may be joined with others.
#[inline]
fn joinable(packet: &IpPacket<&[u8]>) -> Option<usize> {
    let headers = packet.facts.payload?;
    let plain = match packet.facts.version {
        Version::V4 => ipv4::LENGTH,
        Version::V6 => ipv6::LENGTH,
    };
    let flags = packet.tcp()?.flags();
    // Only ACK, and the two bits of AccECN beside CWR, which all packets of an acknowledgement number may have.
    let ordinary = flags & !u16::from(PSH | 1 << 6) & !(1 << 8) == u16::from(ACK);
    let may = ordinary
        && packet.facts.fragment == Fragment::Whole
        && packet.facts.transport == plain
        && packet.payload_length() > 0
        && !packet.ecn().is_ce();
    may.then_some(headers)
}

/// Whether the sender has nothing behind it (PSH, RFC 9293 §3.9.1).
#[inline]
fn ends(packet: &IpPacket<&[u8]>) -> bool {
    packet.bytes()[packet.facts.transport + tcp::FLAGS.start + 1] & PSH != 0
}

#[inline]
fn addresses(bytes: &[u8], version: Version) -> &[u8] {
    match version {
        Version::V4 => &bytes[ipv4::ADDRESSES],
        Version::V6 => &bytes[ipv6::SOURCE.start..ipv6::DESTINATION.end],
    }
}

/// Sets the length of a packet to that of its bytes, with the checksum of its header.
fn set_ip_length(bytes: &mut [u8], version: Version, header: usize) {
    match version {
        Version::V4 => {
            let length = (bytes.len() as u16).to_be_bytes();
            bytes[ipv4::TOTAL_LENGTH].copy_from_slice(&length);
            bytes[ipv4::CHECKSUM].fill(0);
            let checksum = !fold(sum(&bytes[..header]));
            bytes[ipv4::CHECKSUM].copy_from_slice(&checksum.to_be_bytes());
        }
        Version::V6 => {
            let length = ((bytes.len() - ipv6::LENGTH) as u16).to_be_bytes();
            bytes[ipv6::PAYLOAD_LENGTH].copy_from_slice(&length);
        }
    }
}

/// The sum of the pseudo-header of TCP and UDP (RFC 9293 §3.1, RFC 8200 §8.1).
fn pseudo_header(bytes: &[u8], version: Version, protocol: u8, transport: usize) -> u16 {
    let length = (bytes.len() - transport) as u64;
    fold(sum(addresses(bytes, version)) + swapped(length) + swapped(protocol.into()))
}

/// A number below 2¹⁶ in the order in which [`sum`] reads words.
fn swapped(number: u64) -> u64 {
    u16::from_ne_bytes((number as u16).to_be_bytes()).into()
}

/// The sum of the words of `bytes`, as this machine reads them: the order of bytes does not matter to a sum whose
/// carries come round (RFC 1071 §2).
#[inline]
fn sum(bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(4);
    let sum: u64 = words
        .by_ref()
        .map(|word| u64::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]])))
        .sum();
    let mut last = [0; 4];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    sum + u64::from(u32::from_ne_bytes(last))
}

/// A sum with its carries, in the order of the network.
#[inline]
fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::from_be_bytes((sum as u16).to_ne_bytes())
}

/// UDP's checksum 0 means that there is none, so that the other zero takes its place (RFC 768). TCP takes either.
fn non_zero(checksum: u16) -> u16 {
    if checksum == 0 { 0xffff } else { checksum }
}
