//! The state of a flow.

use l4s_units::{Bytes, Duration, Ecn, Time};

use crate::delay::Delays;
use crate::ip::{Fragment, IpPacket, protocol};
use crate::rtt::Samples;
use crate::tcp::Tcp;
use crate::udp::Udp;
use crate::{Direction, Key};

/// Packets of one direction, as they arrived at the bottleneck.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Passed {
    /// IP bytes.
    pub bytes: Bytes,
    /// Packets by their ECN field (RFC 3168 §5): Not-ECT, ECT(1), ECT(0), CE.
    pub by_ecn: [u64; 4],
}

impl Passed {
    /// All packets.
    pub fn packets(&self) -> u64 {
        self.by_ecn.iter().sum()
    }

    /// Packets with this codepoint.
    pub fn with(&self, ecn: Ecn) -> u64 {
        self.by_ecn[usize::from(ecn.bits())]
    }

    /// Adds packets.
    #[inline]
    pub fn add(&mut self, ecn: Ecn, packets: u16, bytes: usize) {
        self.bytes += Bytes::new(bytes as u64);
        self.by_ecn[usize::from(ecn.bits())] += u64::from(packets);
    }
}

/// Counts of the measured time.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// The beginning of the measured time.
    pub since: Time,
    /// From the server, before the queue.
    pub down: Passed,
    /// From the client.
    pub up: Passed,
    /// Packets that arrived not CE and were marked in the queue.
    pub marks: u64,
    /// Packets that were dropped in the queue.
    pub drops: u64,
    /// IP bytes that left the queue.
    pub forwarded: Bytes,
    /// Delays of the packets that left the queue.
    pub delays: Delays,
}

/// State from the headers of the transport protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    Tcp(Tcp),
    Udp(Udp),
    /// None is kept.
    Other,
}

/// A flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its conversation; [`Key::NONE`] for `others` and `malformed`.
    pub key: Key,
    /// When its first packet passed; [`Time::NEVER`] without packets.
    pub first: Time,
    /// When its last packet passed.
    pub last: Time,
    /// Counts of the measured time.
    pub counts: Counts,
    /// State of its transport protocol.
    pub transport: Transport,
}

impl Flow {
    /// A flow without packets.
    pub fn new(key: Key) -> Flow {
        let transport = match key.protocol() {
            protocol::TCP => Transport::Tcp(Tcp::NEW),
            protocol::UDP => Transport::Udp(Udp::new()),
            _ => Transport::Other,
        };
        Flow { key, first: Time::NEVER, last: Time::NEVER, counts: Counts::default(), transport }
    }

    /// A packet passes, which is `segments` packets on the link.
    #[inline]
    pub fn observe<T: AsRef<[u8]>>(
        &mut self,
        packet: &IpPacket<T>,
        direction: Direction,
        segments: u16,
        now: Time,
    ) {
        self.pass(direction, packet.ecn(), segments, packet.wire_length(segments), now);
        match &mut self.transport {
            // The length of the segment is not known from a fragment.
            Transport::Tcp(tcp) if packet.fragment() == Fragment::Whole => {
                if let Some(header) = packet.tcp() {
                    tcp.observe(direction, &header, packet.payload_length(), segments, now);
                }
            }
            Transport::Udp(udp) => udp.observe(direction, packet.payload(), now),
            _ => {}
        }
    }

    /// Counts packets that arrive at the bottleneck.
    #[inline]
    pub fn pass(&mut self, direction: Direction, ecn: Ecn, packets: u16, bytes: usize, now: Time) {
        (self.first, self.last) = (self.first.min(now), now);
        match direction {
            Direction::Down => self.counts.down.add(ecn, packets, bytes),
            Direction::Up => self.counts.up.add(ecn, packets, bytes),
        }
    }

    /// Begins the measured time: counts are zero, and the state of the connection stays.
    pub fn clear_counts(&mut self, now: Time) {
        let mut delays = std::mem::take(&mut self.counts.delays);
        delays.clear();
        self.counts = Counts { since: now, delays, ..Counts::default() };
        match &mut self.transport {
            Transport::Tcp(tcp) => tcp.clear_counts(),
            Transport::Udp(udp) => udp.round_trips = Samples::NONE,
            Transport::Other => {}
        }
    }

    /// The first round trip, of TCP and QUIC.
    pub fn handshake(&self) -> Option<Duration> {
        match &self.transport {
            Transport::Tcp(tcp) => tcp.handshake.duration(),
            Transport::Udp(udp) => udp.handshake.duration(),
            Transport::Other => None,
        }
    }
}
