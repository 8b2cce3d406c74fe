//! An unresponsive source of constant bit rate.

use l4s_bottleneck::Datagrams;
use l4s_model::{FlowId, SourceId, Udp};
use l4s_units::{Bytes, Ecn, Time};

use crate::packet::Packet;

/// A source that sends independent of congestion.
#[derive(Debug)]
pub(crate) struct Source {
    datagrams: Datagrams,
    ecn: Ecn,
    packet: Bytes,
    flow: FlowId,
    group: SourceId,
    /// The number of the next packet.
    number: u64,
}

impl Source {
    pub fn new(udp: &Udp, seed: Option<u64>, flow: FlowId, group: SourceId) -> Self {
        let span = (udp.start, udp.stop.unwrap_or(Time::NEVER));
        let chance = seed.map(|seed| (seed, udp.name.as_str()));
        Source {
            datagrams: Datagrams::new(chance, udp.rate, udp.packet, span),
            ecn: udp.ecn,
            packet: udp.packet,
            flow,
            group,
            number: 0,
        }
    }

    /// It becomes another source from now on; its packets are counted on.
    pub fn adapt(&mut self, udp: &Udp, now: Time) {
        let span = (udp.start.max(now), udp.stop.unwrap_or(Time::NEVER));
        self.datagrams.restart(udp.rate, udp.packet, span);
        (self.ecn, self.packet) = (udp.ecn, udp.packet);
    }

    /// When the next packet goes out.
    pub fn next(&self) -> Time {
        self.datagrams.next()
    }

    /// The packet that goes out.
    pub fn emit(&mut self) -> Packet {
        let number = self.number;
        self.number += 1;
        self.datagrams.sent();
        Packet::datagram(self.flow, self.group, number, self.packet.get() as u16, self.ecn)
    }
}
