//! Common parts of the disciplines' unit tests.

use l4s_units::{Bytes, Ecn, Time};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

use crate::{MTU, Packet};

/// The seed of tests in which chance plays no part.
pub const SEED: u64 = 1;

/// A packet with an identity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Probe {
    pub id: u64,
    pub size: Bytes,
    pub ecn: Ecn,
    pub flow: u32,
}

impl Probe {
    /// A full-sized Not-ECT packet of flow 0.
    pub fn full(id: u64) -> Probe {
        Probe { id, size: MTU, ecn: Ecn::NotEct, flow: 0 }
    }

    pub fn ecn(self, ecn: Ecn) -> Probe {
        Probe { ecn, ..self }
    }

    pub fn size(self, bytes: u64) -> Probe {
        Probe { size: Bytes::new(bytes), ..self }
    }

    pub fn flow(self, flow: u32) -> Probe {
        Probe { flow, ..self }
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
        self.ecn = Ecn::Ce;
    }
    fn flow_hash(&self) -> u32 {
        self.flow
    }
}

pub fn rng(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

pub fn ms(n: u64) -> Time {
    Time::from_nanos(n * 1_000_000)
}

pub fn us(n: u64) -> Time {
    Time::from_nanos(n * 1_000)
}
