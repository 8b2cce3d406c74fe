//! The flow of a later fragment, which has no ports: it is that of the first fragment.

use std::net::IpAddr;

use l4s_units::{Duration, Time};

use crate::ip::{IpPacket, Version};

/// Datagrams that are kept at a time. A newer one replaces an older one whose identification has
/// the same low 8 bits.
const DATAGRAMS: usize = 256;
/// Time within which the fragments of a datagram follow the first one: the reassembly timeout of Linux
/// (`net.ipv4.ipfrag_time`). RFC 791 §3.2 suggests 15 s, RFC 8200 §4.5 requires 60 s.
const LIFETIME: Duration = Duration::from_secs(30);

/// The identity of a fragmented datagram. In IPv4 the protocol is a part of it (RFC 791 §3.2); in IPv6
/// it is not, and a later fragment may name an extension header there (RFC 8200 §4.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Datagram {
    addresses: (IpAddr, IpAddr),
    protocol: Option<u8>,
    identification: u32,
}

impl Datagram {
    fn of<T: AsRef<[u8]>>(packet: &IpPacket<T>) -> Option<Datagram> {
        let protocol = (packet.version() == Version::V4).then(|| packet.protocol());
        let identification = packet.identification()?;
        Some(Datagram { addresses: packet.addresses(), protocol, identification })
    }

    fn place(&self) -> usize {
        self.identification as usize % DATAGRAMS
    }
}

/// The flows of the datagrams whose first fragment passed.
#[derive(Clone, Debug)]
pub struct Fragments(Box<[Option<(Datagram, u32, Time)>]>);

impl Fragments {
    /// No datagrams yet.
    pub fn new() -> Fragments {
        Fragments(vec![None; DATAGRAMS].into())
    }

    /// The first fragment of a datagram of this flow passed.
    pub fn first<T: AsRef<[u8]>>(&mut self, packet: &IpPacket<T>, flow: u32, now: Time) {
        if let Some(datagram) = Datagram::of(packet) {
            self.0[datagram.place()] = Some((datagram, flow, now));
        }
    }

    /// The flow of a later fragment; `None` if its first one did not pass before it.
    pub fn later<T: AsRef<[u8]>>(&self, packet: &IpPacket<T>, now: Time) -> Option<u32> {
        let datagram = Datagram::of(packet)?;
        let (known, flow, at) = self.0[datagram.place()]?;
        (known == datagram && now.since(at) <= LIFETIME).then_some(flow)
    }
}
