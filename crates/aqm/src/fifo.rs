//! FIFO: one queue, tail drop, no AQM (`pfifo` of Linux).

use l4s_units::Time;
use l4s_units::param::{Configurable, Param, Profile, Value};
use rand_core::Rng;
use serde::{Deserialize, Serialize};

use crate::waiting::Fifo;
use crate::{Backlog, Departure, Limit, Packet, Qdisc, Queue, Redundancy, Watch};

/// The settings of a FIFO.
///
/// ```
/// use l4s_aqm::{Limit, fifo};
/// use l4s_units::{Duration, Rate};
///
/// // A buffer of 100 ms at 40 Mb/s.
/// let bytes = Rate::from_mbps(40).bytes_in(Duration::from_millis(100));
/// let config = fifo::Config { limit: Limit::bytes(bytes) };
/// assert_eq!(config.limit.bytes.get(), 500_000);
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Config {
    /// The maximum backlog.
    pub limit: Limit,
}

impl Config {
    /// The buffer of DCttH Table 1.
    pub fn dctth() -> Config {
        Config { limit: Limit::packets(40_000) }
    }

    /// The queue of an Ethernet interface in Linux, `txqueuelen 1000`.
    pub fn linux() -> Config {
        Config { limit: Limit::packets(1000) }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::dctth()
    }
}

impl Configurable for Config {
    const KIND: &'static str = "fifo";
    const ABOUT: &'static str = "one queue that drops packets beyond its limit: no AQM";

    const PARAMS: &'static [Param<Self>] = &[
        Limit::packets_param(|c| c.limit.packets_value(), |c, v| c.limit.set_packets(v.packets())),
        Limit::memory_param(
            |c| c.limit.memory.map(Value::Bytes),
            |c, v| c.limit.memory = Some(v.bytes()),
        ),
    ];

    const PROFILES: &'static [Profile<Self>] = &[
        Profile { name: "dctth", doc: "the buffer of DCttH 2017, Table 1", make: Config::dctth },
        Profile { name: "linux", doc: "pfifo of Linux, txqueuelen 1000", make: Config::linux },
    ];
}

/// The state of a FIFO.
///
/// ```
/// use l4s_aqm::{Qdisc, fifo};
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
/// let mut fifo = fifo::Discipline::new(fifo::Config::linux(), &mut rng);
/// for ecn in [Ecn::NotEct, Ecn::Ect1] {
///     fifo.enqueue(Datagram(ecn), Time::ZERO, &mut rng, &mut ());
/// }
/// // First in, first out, and after a second without a mark.
/// let now = Time::ZERO + Duration::from_secs(1);
/// let [first, second] = [(); 2].map(|()| fifo.dequeue(now, &mut rng, &mut ()).unwrap());
/// assert_eq!((first.packet.0, second.packet.0), (Ecn::NotEct, Ecn::Ect1));
/// ```
#[derive(Clone, Debug)]
pub struct Discipline<P> {
    config: Config,
    queue: Fifo<P>,
}

impl<P: Packet> Discipline<P> {
    /// An empty queue.
    pub fn new(config: Config, _rng: &mut impl Rng) -> Self {
        Discipline { config, queue: Fifo::new() }
    }
}

impl<P: Packet> Qdisc<P> for Discipline<P> {
    #[inline]
    fn enqueue(&mut self, packet: P, now: Time, _: &mut impl Rng, watch: &mut impl Watch<P>) {
        match self.config.limit.refuses(self.backlog(), &packet) {
            Some(cause) => watch.dropped(packet, Queue::Q, cause, now),
            None => self.queue.push(packet, now, false),
        }
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Time,
        _: &mut impl Rng,
        _: &mut impl Watch<P>,
    ) -> Option<Departure<P>> {
        self.queue.pop().map(|head| head.depart(now))
    }

    fn evacuate(&mut self) -> Vec<(Time, P)> {
        self.queue.evacuate()
    }

    fn withdraw(&mut self, _: u32, redundancy: &mut impl Redundancy<P>) -> Option<(P, Queue)> {
        self.queue.withdraw(redundancy).map(|packet| (packet, Queue::Q))
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    #[inline]
    fn head(&self, _: Queue) -> Option<&P> {
        self.queue.head().map(|head| head.packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Probe, SEED, ms, rng};
    use crate::{Counters, DropCause};
    use l4s_units::Duration;

    #[test]
    fn what_does_not_fit_is_dropped_and_the_rest_leaves_in_order() {
        let (mut rng, mut seen) = (rng(SEED), Counters::default());
        let mut fifo = Discipline::new(Config { limit: Limit::packets(3) }, &mut rng);
        for id in 0..5 {
            fifo.enqueue(Probe::full(id), ms(id), &mut rng, &mut seen);
        }
        assert_eq!(seen.drops(Queue::Q, DropCause::Limit), 2);
        for id in 0..3 {
            let out = fifo.dequeue(ms(10), &mut rng, &mut seen).unwrap();
            assert_eq!((out.packet.id, out.sojourn), (id, Duration::from_millis(10 - id)));
        }
        assert!(fifo.dequeue(ms(10), &mut rng, &mut seen).is_none());
    }
}
