//! CoDel: drop the head of a queue whose delay stays above target for an interval, and then ever
//! more often until it does not (RFC 8289), in the arithmetic of `codel_impl.h` in Linux.

mod law;

pub(crate) use law::{Control, Law, Source, newton_step};

use l4s_units::param;
use l4s_units::param::{Configurable, Kind, Param, Profile};
use l4s_units::{Bytes, Duration, Time};
use rand_core::Rng;
use serde::{Deserialize, Serialize};

use crate::waiting::{Fifo, Waiting};
use crate::{Backlog, Departure, Limit, Packet, Qdisc, Queue, Redundancy, Watch};

/// The settings of CoDel.
///
/// ```
/// use l4s_aqm::codel::Config;
/// use l4s_units::Duration;
///
/// // For a data centre whose longest RTT is 1 ms: 5 % of it may persist (RFC 8289 §4.4).
/// let interval = Duration::from_millis(1);
/// let config = Config { target: interval / 20, interval, ..Config::linux() };
/// assert_eq!(config.target, Duration::from_micros(50));
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Config {
    /// The delay that a queue may have for ever.
    pub target: Duration,
    /// How long it may be above that before the first drop: a long RTT.
    pub interval: Duration,
    /// ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Mark every ECN-capable packet that waited longer.
    pub ce_threshold: Option<Duration>,
    /// The maximum backlog.
    pub limit: Limit,
}

impl Config {
    /// The defaults of `sch_codel`.
    pub fn linux() -> Config {
        Config {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: false,
            ce_threshold: None,
            limit: Limit::packets(1000),
        }
    }

    /// The Classic ECN bottleneck of Fallback §4.6: the defaults, with ECN and a buffer that
    /// plays no part.
    pub fn fallback() -> Config {
        Config { ecn: true, limit: Limit::packets(40_000), ..Config::linux() }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::fallback()
    }
}

/// A delay that CoDel counts in units of 1024 ns.
pub(crate) const DELAY: Kind =
    Kind::Duration { min: Duration::from_micros(2), max: Duration::from_secs(4) };

impl Configurable for Config {
    const KIND: &'static str = "codel";
    const ABOUT: &'static str = "drops from the head while the queue does not empty for an RTT";

    const PARAMS: &'static [Param<Self>] = &[
        param!(target, DELAY, "queueing delay that may persist"),
        param!(interval, DELAY, "how long the delay may be above target before the first signal"),
        param!(ecn, Kind::Bool, "mark ECN-capable packets instead of dropping them"),
        param!(ce_threshold, DELAY, "mark every ECN-capable packet that was queued longer"),
        Limit::packets_param(|c| c.limit.packets_value(), |c, v| c.limit.set_packets(v.packets())),
    ];

    const PROFILES: &'static [Profile<Self>] = &[
        Profile { name: "fallback", doc: "Fallback, section 4.6", make: Config::fallback },
        Profile { name: "linux", doc: "sch_codel", make: Config::linux },
    ];
}

/// The state of CoDel.
///
/// ```
/// use l4s_aqm::{Counters, Qdisc, Queue, codel};
/// # use l4s_aqm::{MTU, Packet};
/// # use l4s_units::{Bytes, Ecn, Time};
/// # use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
/// # struct Datagram(Ecn);
/// # impl Packet for Datagram {
/// #     fn size(&self) -> Bytes { MTU }
/// #     fn ecn(&self) -> Ecn { self.0 }
/// #     fn set_ce(&mut self) { self.0 = Ecn::Ce }
/// #     fn flow_hash(&self) -> u32 { 0 }
/// # }
/// # let (mut rng, mut counters) = (Xoshiro256PlusPlus::seed_from_u64(1), Counters::default());
/// let config = codel::Config { ecn: true, ..codel::Config::linux() };
/// let mut aqm = codel::Discipline::new(config, &mut rng);
/// let mut marked_at = Vec::new();
/// // A packet arrives each millisecond, and leaves 10 ms later: twice the target.
/// for ms in 0..300 {
///     let now = Time::from_nanos(ms * 1_000_000);
///     aqm.enqueue(Datagram(Ecn::Ect0), now, &mut rng, &mut counters);
///     if ms >= 10 && aqm.dequeue(now, &mut rng, &mut counters).unwrap().packet.0.is_ce() {
///         marked_at.push(ms);
///     }
/// }
/// // First after an interval of 100 ms above target, and then ever more often.
/// assert_eq!(marked_at, [111, 211, 261]);
/// assert_eq!(counters.marked(Queue::Q), 3);
/// ```
#[derive(Clone, Debug)]
pub struct Discipline<P> {
    limit: Limit,
    law: Law,
    control: Control,
    queue: Fifo<P>,
}

impl<P: Packet> Discipline<P> {
    /// An empty queue.
    pub fn new(config: Config, _rng: &mut impl Rng) -> Self {
        Discipline {
            limit: config.limit,
            law: Law::new(config.target, config.interval, config.ecn)
                .with_ce_threshold(config.ce_threshold, false),
            control: Control::default(),
            queue: Fifo::new(),
        }
    }
}

impl<P: Packet> Source<P> for Fifo<P> {
    #[inline]
    fn pop(&mut self) -> Option<Waiting<P>> {
        Fifo::pop(self)
    }

    #[inline]
    fn left(&self) -> Bytes {
        self.backlog().bytes
    }
}

impl<P: Packet> Qdisc<P> for Discipline<P> {
    #[inline]
    fn enqueue(&mut self, packet: P, now: Time, _: &mut impl Rng, watch: &mut impl Watch<P>) {
        match self.limit.refuses(self.backlog(), &packet) {
            Some(cause) => watch.dropped(packet, Queue::Q, cause, now),
            None => self.queue.push(packet, now, false),
        }
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Time,
        _: &mut impl Rng,
        watch: &mut impl Watch<P>,
    ) -> Option<Departure<P>> {
        self.control.dequeue(&self.law, &mut self.queue, now, watch).map(|head| head.depart(now))
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
mod tests;
