//! A run of a radio link, driven by a test.

use l4s_aqm::{Config, DropCause, Limit, MarkCause, Packet, Queue, Watch, fifo};
use l4s_model::Link;
use l4s_units::{Bytes, Duration, Ecn, Time};

use crate::Bottleneck;

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Probe {
    number: u64,
    size: u64,
}

impl Packet for Probe {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }
    fn ecn(&self) -> Ecn {
        Ecn::Ect1
    }
    fn set_ce(&mut self) {}
    fn flow_hash(&self) -> u32 {
        0
    }
}

/// Drops: number and cause.
#[derive(Default)]
struct Drops(Vec<(u64, DropCause)>);

impl Watch<Probe> for Drops {
    fn marked(&mut self, _: &Probe, _: Queue, _: MarkCause, _: Time) {}
    fn dropped(&mut self, packet: Probe, _: Queue, cause: DropCause, _: Time) {
        self.0.push((packet.number, cause));
    }
}

pub(crate) struct Run {
    pub bottleneck: Bottleneck<Probe>,
    next: u64,
    /// The packets that left the queue: time, number, and delay.
    pub left: Vec<(Time, u64, Duration)>,
    /// The packets that arrived: time, number, and size.
    pub landed: Vec<(Time, u64, u64)>,
    /// The packets that were dropped: number and cause.
    pub drops: Vec<(u64, DropCause)>,
}

impl Run {
    /// An idle link with a long FIFO.
    pub fn new(link: &Link, seed: u64) -> Run {
        let fifo = Config::Fifo(fifo::Config { limit: Limit::packets(10_000) });
        let bottleneck = Bottleneck::new(link, &fifo, seed);
        Run { bottleneck, next: 0, left: vec![], landed: vec![], drops: vec![] }
    }

    pub fn send(&mut self, now: Time, size: u64) {
        self.advance(now);
        self.enqueue(now, size);
        self.act(now);
    }

    fn enqueue(&mut self, now: Time, size: u64) {
        self.bottleneck.enqueue(Probe { number: self.next, size }, now, &mut ());
        self.next += 1;
    }

    fn act(&mut self, now: Time) {
        while let Some(packet) = self.bottleneck.land(now) {
            self.landed.push((now, packet.number, packet.size));
        }
        let mut drops = Drops::default();
        while let Some(departure) = self.bottleneck.transmit(now, &mut drops) {
            self.left.push((now, departure.packet.number, departure.sojourn));
            assert!(self.bottleneck.carry(departure.packet, now).is_none(), "the radio keeps it");
        }
        self.drops.append(&mut drops.0);
    }

    /// Processes all events that are due by `now`.
    pub fn advance(&mut self, now: Time) {
        while self.bottleneck.next_transmission() <= now {
            self.act(self.bottleneck.next_transmission());
        }
    }

    /// The rate in bits per second of a queue with 1000 packets at all times, in this time. Full packets.
    pub fn saturated(&mut self, span: Duration) -> f64 {
        let end = Time::ZERO + span;
        let mut now = Time::ZERO;
        while now <= end {
            while self.bottleneck.backlog().packets < 1000 {
                self.enqueue(now, 1514);
            }
            self.act(now);
            now = self.bottleneck.next_transmission().max(now);
        }
        let bytes: u64 = self.landed.iter().map(|(_, _, size)| size).sum();
        bytes as f64 * 8.0 / span.as_secs_f64()
    }

    pub fn lost(&self) -> usize {
        self.drops.len()
    }

    /// The packets that arrived together: time, number of packets, number of bytes.
    pub fn bursts(&self) -> Vec<(Time, u64, u64)> {
        let mut bursts: Vec<(Time, u64, u64)> = Vec::new();
        for (at, _, size) in &self.landed {
            match bursts.last_mut() {
                Some(last) if last.0 == *at => (last.1, last.2) = (last.1 + 1, last.2 + size),
                _ => bursts.push((*at, 1, *size)),
            }
        }
        bursts
    }
}
