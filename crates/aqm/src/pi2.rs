//! PI2: one queue, held at a target delay by a PI controller whose output is squared for Classic
//! packets (De Schepper et al., CoNEXT 2016; DCttH §3.2).
//!
//! It is [`dualpi2`] with its single-queue choice (Qdisc §4), as a discipline of its own so that
//! the choices that need two queues do not show.

mod config;

pub use config::Config;

use l4s_units::Time;
use rand_core::Rng;

use crate::dualpi2::Classify;
use crate::{Backlog, Departure, Packet, Qdisc, Queue, Redundancy, Signal, Watch, dualpi2};

/// The state of PI2.
///
/// ```
/// use l4s_aqm::{Qdisc, pi2};
/// # use l4s_aqm::{MTU, Packet};
/// # use l4s_units::{Bytes, Duration, Ecn, Time};
/// # use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
/// # struct Datagram(Ecn);
/// # impl Packet for Datagram {
/// #     fn size(&self) -> Bytes { MTU }
/// #     fn ecn(&self) -> Ecn { self.0 }
/// #     fn set_ce(&mut self) { self.0 = Ecn::Ce }
/// #     fn flow_hash(&self) -> u32 { 0 }
/// # }
/// # let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
///
/// let mut aqm = pi2::Discipline::new(pi2::Config::coupled(), &mut rng);
/// aqm.enqueue(Datagram(Ecn::NotEct), Time::ZERO, &mut rng, &mut ());
/// // The head has waited for 40 ms, 25 ms above target: 0.3125 Hz · 25 ms + 3.125 Hz · 40 ms.
/// aqm.tick(Time::ZERO + Duration::from_millis(40));
/// let signal = aqm.signal().unwrap();
/// assert!((signal.base.as_f64() - 0.1328125).abs() < 1e-8);
/// assert!((signal.scalable.as_f64() - 0.265625).abs() < 1e-8);
/// assert!((signal.classic.as_f64() - 0.1328125f64.powi(2)).abs() < 1e-8);
/// ```
#[derive(Clone, Debug)]
pub struct Discipline<P> {
    engine: dualpi2::Discipline<P>,
    /// Some packets are marked with k·p'.
    scalable: bool,
}

impl<P: Packet> Discipline<P> {
    /// An empty queue, and p' = 0.
    pub fn new(config: Config, rng: &mut impl Rng) -> Self {
        let scalable = config.marking != Classify::None;
        Discipline { engine: dualpi2::Discipline::new(config.engine(), rng), scalable }
    }
}

impl<P: Packet> Qdisc<P> for Discipline<P> {
    #[inline]
    fn enqueue(&mut self, packet: P, now: Time, rng: &mut impl Rng, watch: &mut impl Watch<P>) {
        self.engine.enqueue(packet, now, rng, watch);
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Time,
        rng: &mut impl Rng,
        watch: &mut impl Watch<P>,
    ) -> Option<Departure<P>> {
        self.engine.dequeue(now, rng, watch)
    }

    fn evacuate(&mut self) -> Vec<(Time, P)> {
        self.engine.evacuate()
    }

    fn withdraw(&mut self, hash: u32, redundancy: &mut impl Redundancy<P>) -> Option<(P, Queue)> {
        self.engine.withdraw(hash, redundancy)
    }

    fn inherit(&mut self, old: &Self) {
        self.engine.inherit(&old.engine);
    }

    fn next_tick(&self) -> Option<Time> {
        self.engine.next_tick()
    }

    fn tick(&mut self, now: Time) {
        self.engine.tick(now);
    }

    fn backlog(&self) -> Backlog {
        self.engine.backlog()
    }

    #[inline]
    fn head(&self, queue: Queue) -> Option<&P> {
        self.engine.head(queue)
    }

    fn signal(&self) -> Option<Signal> {
        let signal = self.engine.signal()?;
        // Without scalable marking, an L4S packet gets the probability of a Classic one.
        let scalable = if self.scalable { signal.scalable } else { signal.classic };
        Some(Signal { scalable, ..signal })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Probe, SEED, ms, rng};
    use crate::{Counters, DropCause, MarkCause, Queue};
    use l4s_units::Ecn;

    /// Fates of 100,000 packets, and p' in the meantime.
    fn fates(config: Config, ecn: Ecn) -> (Counters, f64, Signal) {
        let (mut rng, mut seen) = (rng(SEED), Counters::default());
        let mut pi2 = Discipline::new(config, &mut rng);
        pi2.enqueue(Probe::full(0), ms(0), &mut rng, &mut seen);
        // From 0, with q = 79 and 95 ms: p' = 0.267 and 0.342.
        pi2.tick(ms(79));
        pi2.tick(ms(95));
        let p_prime = pi2.signal().unwrap().base.as_f64();
        let mut seen = Counters::default();
        for id in 0..10_000 {
            pi2.enqueue(Probe::full(id).ecn(ecn), ms(95), &mut rng, &mut seen);
        }
        while pi2.dequeue(ms(95), &mut rng, &mut seen).is_some() {}
        (seen, p_prime, pi2.signal().unwrap())
    }

    fn near(count: u64, p: f64) {
        let (mean, sigma) = (10_000.0 * p, (10_000.0 * p * (1.0 - p)).sqrt());
        assert!((count as f64 - mean).abs() < 5.0 * sigma, "{count}, expected {mean}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "many packets: minutes")]
    fn the_base_probability_is_squared_for_everyone() {
        for ecn in [Ecn::Ect0, Ecn::Ect1] {
            let (seen, p, signal) = fates(Config::dctth(), ecn);
            near(seen.marks(Queue::Q, MarkCause::Classic), p * p);
            assert_eq!(seen.dropped(Queue::Q), 0);
            assert_eq!(signal.scalable, signal.classic);
        }
        let (seen, p, _) = fates(Config::dctth(), Ecn::NotEct);
        near(seen.drops(Queue::Q, DropCause::Aqm), p * p);
    }

    #[test]
    #[cfg_attr(miri, ignore = "many packets: minutes")]
    fn without_ecn_all_are_dropped() {
        let config = Config { ecn: false, ..Config::coupled() };
        for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::NotEct] {
            let (seen, p, _) = fates(config.clone(), ecn);
            near(seen.drops(Queue::Q, DropCause::Aqm), p * p);
            assert_eq!(seen.marked(Queue::Q), 0);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "many packets: minutes")]
    fn coupled_marking_in_the_one_queue() {
        let (seen, p, signal) = fates(Config::coupled(), Ecn::Ect1);
        near(seen.marks(Queue::Q, MarkCause::Coupled), 2.0 * p);
        assert!((signal.scalable.as_f64() - 2.0 * p).abs() < 1e-6);
        let (seen, p, _) = fates(Config::coupled(), Ecn::Ect0);
        near(seen.marks(Queue::Q, MarkCause::Classic), p * p);
        let (seen, p, _) = fates(Config { marking: Classify::Dc, ..Config::dctth() }, Ecn::Ect0);
        near(seen.marks(Queue::Q, MarkCause::Coupled), 2.0 * p);
    }

    #[test]
    fn l4s_packets_do_not_overtake() {
        let (mut rng, mut seen) = (rng(SEED), Counters::default());
        let mut pi2 = Discipline::new(Config::coupled(), &mut rng);
        for id in 0..10 {
            let ecn = if id % 2 == 0 { Ecn::NotEct } else { Ecn::Ect1 };
            pi2.enqueue(Probe::full(id).ecn(ecn), ms(id), &mut rng, &mut seen);
        }
        for id in 0..10 {
            let out = pi2.dequeue(ms(20), &mut rng, &mut seen).unwrap();
            assert_eq!((out.packet.id, out.queue), (id, Queue::Q));
        }
    }
}
