//! Which conversation a packet belongs to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::ip::{IpPacket, Version};

/// Which way a packet passes the bottleneck.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// From the server to the client, through the queue.
    Down,
    /// From the client to the server: the way back.
    Up,
}

/// The prefix of IPv4-mapped addresses, `::ffff:0:0/96` (RFC 4291 §2.5.5.2).
const MAPPED: u128 = 0xffff << 32;

/// A conversation: the same for both of its directions.
///
/// TCP and UDP have their two ports. ICMP echo has its identifier as the port of both ends, so that
/// two pings between the same hosts are two flows. Everything else is identified by its addresses
/// and protocol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key {
    /// Addresses; those of IPv4 as IPv4-mapped ones.
    client: u128,
    server: u128,
    /// Ports, protocol and IP version in one word, as it is hashed and compared for every packet.
    rest: u64,
}

/// The lowest bit of each field of [`Key::rest`]; bit 0 is set for IPv6.
mod shift {
    pub const CLIENT_PORT: u32 = 32;
    pub const SERVER_PORT: u32 = 16;
    pub const PROTOCOL: u32 = 8;
}

impl Key {
    /// The key of [`OTHERS`](crate::OTHERS) and [`MALFORMED`](crate::MALFORMED); it is not in the table.
    pub(crate) const NONE: Key = Key { client: 0, server: 0, rest: 0 };

    /// The conversation of a packet. The ports are 0 where the packet has none, as in a later fragment.
    #[inline]
    pub fn new<T: AsRef<[u8]>>(packet: &IpPacket<T>, direction: Direction) -> Key {
        let echo =
            || packet.echo_identifier().map_or((0, 0), |identifier| (identifier, identifier));
        let ports = packet.ports().unwrap_or_else(echo);
        let (source, destination) = packet.addresses();
        let word = |address| match address {
            IpAddr::V4(address) => MAPPED | u128::from(address.to_bits()),
            IpAddr::V6(address) => address.to_bits(),
        };
        let (source, destination) = ((word(source), ports.0), (word(destination), ports.1));
        let (client, server) = match direction {
            Direction::Down => (destination, source),
            Direction::Up => (source, destination),
        };
        let rest = u64::from(client.1) << shift::CLIENT_PORT
            | u64::from(server.1) << shift::SERVER_PORT
            | u64::from(packet.protocol()) << shift::PROTOCOL
            | u64::from(packet.version() == Version::V6);
        Key { client: client.0, server: server.0, rest }
    }

    /// Address and port of the client.
    pub fn client(&self) -> (IpAddr, u16) {
        (self.address(self.client), (self.rest >> shift::CLIENT_PORT) as u16)
    }

    /// Address and port of the server.
    pub fn server(&self) -> (IpAddr, u16) {
        (self.address(self.server), (self.rest >> shift::SERVER_PORT) as u16)
    }

    /// The protocol number (IANA, Assigned Internet Protocol Numbers).
    pub fn protocol(&self) -> u8 {
        (self.rest >> shift::PROTOCOL) as u8
    }

    /// Whether it has ports, or the identifier of ICMP echo in their place.
    pub fn has_ports(&self) -> bool {
        (self.client().1, self.server().1) != (0, 0)
    }

    fn address(&self, word: u128) -> IpAddr {
        match self.rest & 1 {
            0 => Ipv4Addr::from_bits(word as u32).into(),
            _ => Ipv6Addr::from_bits(word).into(),
        }
    }
}
