//! The common parts of the tests of disciplines: a packet, a clock and a record of events.
#![allow(dead_code, missing_docs)]

use l4s_aqm::{
    Aqm, Backlog, Config, Counters, Departure, DropCause, MTU, MarkCause, Packet, Qdisc, Queue,
    Signal, Watch,
};
use l4s_units::{Bytes, Duration, Ecn, Time};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

/// A packet with a number of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Probe {
    pub id: u64,
    pub size: Bytes,
    pub ecn: Ecn,
    pub flow: u32,
}

impl Probe {
    /// A full-sized packet of flow 0.
    pub fn full(id: u64, ecn: Ecn) -> Probe {
        Probe { id, size: MTU, ecn, flow: 0 }
    }

    pub fn size(self, bytes: u64) -> Probe {
        Probe { size: Bytes::new(bytes), ..self }
    }
}

impl Packet for Probe {
    fn size(&self) -> Bytes {
        self.size
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        assert!(self.ecn.is_capable(), "a Not-ECT packet was marked");
        self.ecn = Ecn::Ce;
    }
    fn flow_hash(&self) -> u32 {
        self.flow
    }
}

pub fn ms(n: u64) -> Time {
    Time::from_nanos(n * 1_000_000)
}

pub fn us(n: u64) -> Time {
    Time::from_nanos(n * 1_000)
}

pub const fn span_ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// The events that a discipline reports, packet by packet.
#[derive(Clone, Default, Debug)]
pub struct Events {
    pub counters: Counters,
    pub dropped: Vec<(Probe, Queue, DropCause)>,
    pub marked: Vec<(u64, Queue, MarkCause)>,
}

impl Watch<Probe> for Events {
    fn marked(&mut self, packet: &Probe, queue: Queue, cause: MarkCause, now: Time) {
        assert!(packet.ecn.is_ce(), "events before it was done");
        Watch::marked(&mut self.counters, packet, queue, cause, now);
        self.marked.push((packet.id, queue, cause));
    }

    fn dropped(&mut self, packet: Probe, queue: Queue, cause: DropCause, now: Time) {
        Watch::dropped(&mut self.counters, packet.clone(), queue, cause, now);
        self.dropped.push((packet, queue, cause));
    }
}

/// A discipline with the clock and the random numbers that it needs.
pub struct Rig {
    pub aqm: Aqm<Probe>,
    pub rng: Xoshiro256PlusPlus,
    pub events: Events,
    next_id: u64,
}

impl Rig {
    pub fn new(config: impl Into<Config>) -> Rig {
        Rig::seeded(config, 1)
    }

    pub fn seeded(config: impl Into<Config>, seed: u64) -> Rig {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let aqm = Aqm::new(&config.into(), &mut rng);
        Rig { aqm, rng, events: Events::default(), next_id: 0 }
    }

    pub fn put(&mut self, packet: Probe, now: Time) {
        self.aqm.enqueue(packet, now, &mut self.rng, &mut self.events);
    }

    /// Adds `n` full-sized packets of codepoint `ecn`.
    pub fn fill(&mut self, n: u64, ecn: Ecn, now: Time) {
        for _ in 0..n {
            self.put(Probe::full(self.next_id, ecn), now);
            self.next_id += 1;
        }
    }

    pub fn take(&mut self, now: Time) -> Option<Departure<Probe>> {
        self.aqm.dequeue(now, &mut self.rng, &mut self.events)
    }

    /// Takes all packets that are left.
    pub fn drain(&mut self, now: Time) -> Vec<Departure<Probe>> {
        std::iter::from_fn(|| self.take(now)).collect()
    }

    /// Calls each tick that is due until `until`, inclusive.
    pub fn tick_until(&mut self, until: Time) {
        while let Some(due) = self.aqm.next_tick().filter(|due| *due <= until) {
            self.aqm.tick(due);
        }
    }

    pub fn signal(&self) -> Signal {
        self.aqm.signal().expect("this discipline has a probability")
    }

    pub fn p_prime(&self) -> f64 {
        self.signal().base.as_f64()
    }

    pub fn backlog(&self) -> Backlog {
        self.aqm.backlog()
    }

    pub fn marks(&self, queue: Queue, cause: MarkCause) -> u64 {
        self.events.counters.marks(queue, cause)
    }

    pub fn drops(&self, queue: Queue, cause: DropCause) -> u64 {
        self.events.counters.drops(queue, cause)
    }

    /// Deletes the recorded events.
    pub fn forget(&mut self) {
        self.events = Events::default();
    }
}

/// Whether `hits` of `n` trials fit probability `p`: within five standard deviations. Random results
/// are outside once in two million times.
pub fn fits(hits: u64, n: u64, p: f64) -> bool {
    let (mean, variance) = (n as f64 * p, n as f64 * p * (1.0 - p));
    (hits as f64 - mean).abs() <= 5.0 * variance.sqrt() + 1e-9 * mean
}

#[track_caller]
pub fn assert_fits(hits: u64, n: u64, p: f64, what: &str) {
    assert!(fits(hits, n, p), "{what}: {hits} of {n} is {}, not {p}", hits as f64 / n as f64);
}
