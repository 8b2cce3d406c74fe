//! An unresponsive source of constant bit rate.

use l4s_scenario::Udp;
use l4s_units::{Bytes, Duration, Rate, Time};

use crate::packet::Packet;

/// A source that sends whatever happens.
#[derive(Debug)]
pub(crate) struct Source {
    rate: Rate,
    ecn: l4s_units::Ecn,
    packet: Bytes,
    flow: u32,
    group: u16,
    start: Time,
    stop: Time,
    /// Since the start.
    sent: u64,
    /// The number of the next packet.
    number: u64,
}

impl Source {
    pub fn new(udp: &Udp, flow: u32, group: u16) -> Self {
        Source {
            rate: udp.rate,
            ecn: udp.ecn,
            packet: udp.packet,
            flow,
            group,
            start: udp.start,
            stop: udp.stop.unwrap_or(Time::NEVER),
            sent: 0,
            number: 0,
        }
    }

    /// It becomes another source from now on; its packets are counted on.
    pub fn adapt(&mut self, udp: &Udp, now: Time) {
        let start = udp.start.max(now);
        *self = Source { start, number: self.number, ..Source::new(udp, self.flow, self.group) };
    }

    /// When the next packet goes out.
    pub fn next(&self) -> Time {
        if self.rate == Rate::ZERO {
            return Time::NEVER;
        }
        // From the start each time, so that rounding does not add up.
        let sent = Bytes::new(self.sent * self.packet.get());
        let at: Duration = self.rate.time_of(sent);
        let at = self.start + at;
        if at < self.stop { at } else { Time::NEVER }
    }

    /// The packet that goes out.
    pub fn emit(&mut self) -> Packet {
        let number = self.number;
        self.number += 1;
        self.sent += 1;
        Packet::datagram(self.flow, self.group, number, self.packet.get() as u16, self.ecn)
    }
}
