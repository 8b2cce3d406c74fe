//! What an enqueue and a dequeue cost, with warm caches and a standing queue.

// `criterion_group!` makes functions that have none.
#![allow(missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use l4s_aqm::{Aqm, Config, MTU, Packet, Qdisc, for_each_discipline};
use l4s_units::param::{Configurable, Value};
use l4s_units::{Bytes, Duration, Ecn, Time};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

/// As small as a simulator's packet may be.
#[derive(Clone)]
struct Datagram {
    flow: u32,
    ecn: Ecn,
}

impl Packet for Datagram {
    fn size(&self) -> Bytes {
        MTU
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

/// Packets that wait throughout.
const STANDING: usize = 50;

/// Time between departures. A PI controller sees a Classic delay of about its target of 15 ms, as
/// 100 packets leave while one passes the 50; the others see what they leave alone.
const GAPS: [Duration; 2] = [Duration::from_micros(150), Duration::from_micros(10)];

/// A discipline at work: half of the packets ECT(1), half Not-ECT, of eight flows.
struct Work {
    aqm: Aqm<Datagram>,
    rng: Xoshiro256PlusPlus,
    now: Time,
    tick: Time,
    gap: Duration,
    n: u32,
}

impl Work {
    fn new(config: &Config, gap: Duration) -> Work {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let aqm = Aqm::new(config, &mut rng);
        let mut work = Work { aqm, rng, now: Time::ZERO, tick: Time::ZERO, gap, n: 0 };
        while work.aqm.backlog().packets < STANDING {
            work.arrive();
        }
        work
    }

    #[inline]
    fn arrive(&mut self) {
        let ecn = if self.n & 1 == 0 { Ecn::Ect1 } else { Ecn::NotEct };
        let packet = Datagram { flow: self.n & 7, ecn };
        self.n = self.n.wrapping_add(1);
        self.aqm.enqueue(packet, self.now, &mut self.rng, &mut ());
    }

    /// A packet leaves and another comes; and more, where some were dropped.
    #[inline]
    fn step(&mut self) -> bool {
        self.now += self.gap;
        if self.now >= self.tick {
            self.tick = self.now + Duration::from_millis(16);
            self.aqm.tick(self.now);
        }
        let out = self.aqm.dequeue(self.now, &mut self.rng, &mut ());
        while self.aqm.backlog().packets < STANDING {
            self.arrive();
        }
        out.is_some()
    }
}

fn enqueue_and_dequeue(c: &mut Criterion) {
    let mut group = c.benchmark_group("enqueue and dequeue");
    group.throughput(Throughput::Elements(1));
    macro_rules! bench {
        ($variant:ident, $module:ident) => {
            for profile in <l4s_aqm::$module::Config as Configurable>::PROFILES {
                let kind = <l4s_aqm::$module::Config as Configurable>::KIND;
                let mut config = (profile.make)();
                // Without integral gain a probability stays where it is.
                let params = <l4s_aqm::$module::Config as Configurable>::PARAMS;
                let alpha = params.iter().find(|param| param.name == "alpha");
                if let Some(alpha) = alpha {
                    (alpha.set)(&mut config, Value::Number(0.0));
                }
                let gap = GAPS[usize::from(alpha.is_none())];
                let mut work = Work::new(&Config::$variant(config), gap);
                let name = format!("{kind} {}", profile.name);
                group.bench_function(name, |b| b.iter(|| work.step()));
            }
        };
    }
    for_each_discipline!(bench);
    group.finish();
}

criterion_group!(benches, enqueue_and_dequeue);
criterion_main!(benches);
