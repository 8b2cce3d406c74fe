//! Which conversation a packet belongs to.

use std::hash::{Hash, Hasher};
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

/// A conversation: the same for both of its directions.
///
/// TCP and UDP have their two ports. ICMP echo has its identifier as the port of both ends, so that
/// two pings between the same hosts are two flows. Everything else is identified by its addresses
/// and protocol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Key {
    addresses: Addresses,
    /// Ports and protocol in one word, as it is hashed and compared for every packet.
    rest: u64,
}

/// Client and server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Addresses {
    /// In one word, the client in its upper half.
    V4(u64),
    V6(Ipv6Addr, Ipv6Addr),
}

/// The lowest bit of each port in [`Key::rest`].
mod shift {
    pub const CLIENT_PORT: u32 = 24;
    pub const SERVER_PORT: u32 = 8;
}

/// Two words of IPv4 and five of IPv6. The derived hash would take the variant, and addresses as slices,
/// each with its length.
impl Hash for Key {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.addresses {
            Addresses::V4(both) => state.write_u64(both),
            Addresses::V6(client, server) => {
                state.write_u128(client.to_bits());
                state.write_u128(server.to_bits());
            }
        }
        state.write_u64(self.rest);
    }
}

impl Key {
    /// The key of [`OTHERS`](crate::OTHERS) and [`MALFORMED`](crate::MALFORMED); it is not in the table.
    pub(crate) const NONE: Key = Key { addresses: Addresses::V4(0), rest: 0 };

    /// The conversation of a packet. The ports are 0 where the packet has none, as in a later fragment.
    #[inline]
    pub fn new<T: AsRef<[u8]>>(packet: &IpPacket<T>, direction: Direction) -> Key {
        match packet.version() {
            Version::V4 => Key::v4(packet, direction),
            Version::V6 => Key::v6(packet, direction),
        }
    }

    /// [`Key::new`] for a packet of IPv4.
    #[inline(always)]
    pub(crate) fn v4<T: AsRef<[u8]>>(packet: &IpPacket<T>, direction: Direction) -> Key {
        let both = packet.addresses_v4();
        let addresses = match direction {
            Direction::Down => both.rotate_left(32),
            Direction::Up => both,
        };
        Key { addresses: Addresses::V4(addresses), rest: Key::rest(packet, direction) }
    }

    /// [`Key::new`] for a packet of IPv6.
    #[inline(always)]
    pub(crate) fn v6<T: AsRef<[u8]>>(packet: &IpPacket<T>, direction: Direction) -> Key {
        let (source, destination) = packet.addresses_v6();
        let addresses = match direction {
            Direction::Down => Addresses::V6(destination, source),
            Direction::Up => Addresses::V6(source, destination),
        };
        Key { addresses, rest: Key::rest(packet, direction) }
    }

    /// Ports and protocol of a packet.
    #[inline(always)]
    fn rest<T: AsRef<[u8]>>(packet: &IpPacket<T>, direction: Direction) -> u64 {
        let echo = || packet.echo_identifier().map_or(0, |id| u32::from(id) << 16 | u32::from(id));
        let ports = packet.port_word().unwrap_or_else(echo);
        let ports = match direction {
            Direction::Down => ports.rotate_left(16),
            Direction::Up => ports,
        };
        u64::from(ports) << shift::SERVER_PORT | u64::from(packet.protocol())
    }

    /// Address and port of the client.
    pub fn client(&self) -> (IpAddr, u16) {
        let address = match self.addresses {
            Addresses::V4(both) => Ipv4Addr::from_bits((both >> 32) as u32).into(),
            Addresses::V6(client, _) => client.into(),
        };
        (address, (self.rest >> shift::CLIENT_PORT) as u16)
    }

    /// Address and port of the server.
    pub fn server(&self) -> (IpAddr, u16) {
        let address = match self.addresses {
            Addresses::V4(both) => Ipv4Addr::from_bits(both as u32).into(),
            Addresses::V6(_, server) => server.into(),
        };
        (address, (self.rest >> shift::SERVER_PORT) as u16)
    }

    /// The protocol number (IANA, Assigned Internet Protocol Numbers).
    pub fn protocol(&self) -> u8 {
        self.rest as u8
    }

    /// Whether it has ports, or the identifier of ICMP echo in their place.
    pub fn has_ports(&self) -> bool {
        self.rest >> shift::SERVER_PORT != 0
    }
}
