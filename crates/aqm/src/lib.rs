//! Queue disciplines as pure state machines.
//!
//! Each discipline takes packets, the time and a source of randomness as arguments and returns
//! decisions; it touches no clock, socket or file. It reports marks and drops to a
//! [`Watch`]. The same code runs in the simulator and in the lab.
//!
//! ```
//! use l4s_aqm::{Aqm, Config, Counters, Packet, Qdisc};
//! use l4s_units::{Bytes, Ecn, Time};
//! use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
//!
//! #[derive(Clone)]
//! struct Datagram(Ecn);
//! impl Packet for Datagram {
//!     fn size(&self) -> Bytes { Bytes::new(1514) }
//!     fn ecn(&self) -> Ecn { self.0 }
//!     fn set_ce(&mut self) { self.0 = Ecn::Ce }
//!     fn flow_hash(&self) -> u32 { 0 }
//! }
//!
//! let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
//! let mut counters = Counters::default();
//! let mut aqm = Aqm::new(&Config::default(), &mut rng);
//! aqm.enqueue(Datagram(Ecn::Ect1), Time::ZERO, &mut rng, &mut counters);
//! let departure = aqm.dequeue(Time::from_nanos(1_000), &mut rng, &mut counters).unwrap();
//! assert_eq!(departure.sojourn.as_nanos(), 1_000);
//! ```

/// The example of README.md, as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod cobalt;
pub mod codel;
mod config;
pub mod curvy_red;
pub mod dualpi2;
pub mod fifo;
pub mod foreign;
pub mod fq_codel;
mod limit;
pub mod pi2;
pub mod pie;
pub mod red;
#[cfg(test)]
mod testing;
mod waiting;
mod watch;

pub use config::{Aqm, Config};
pub use limit::{Footprint, Limit};
pub use waiting::{Backlog, Fifo, Redundancy, Waiting};
pub use watch::{Counters, DropCause, MarkCause, Queue, Watch};

use l4s_units::{Bytes, Duration, Ecn, Probability, Rate, Time};
use rand_core::Rng;

/// The full-sized frame that "two packets" and "one MTU" refer to: 1500 B of IP and 14 B of
/// Ethernet (Linux: `psched_mtu`).
pub const MTU: Bytes = Bytes::new(1514);

/// The properties of a packet that a discipline uses.
///
/// ```
/// use l4s_aqm::Packet;
/// use l4s_units::{Bytes, ETHERNET, Ecn};
///
/// /// An IPv4 packet, without its checksum.
/// struct Ipv4(Vec<u8>);
///
/// impl Packet for Ipv4 {
///     fn size(&self) -> Bytes { Bytes::new(self.0.len() as u64) + ETHERNET }
///     fn ecn(&self) -> Ecn { Ecn::from_bits(self.0[1] & 3) }
///     fn set_ce(&mut self) { self.0[1] |= 3 }
///     // Both addresses stand for the flow.
///     fn flow_hash(&self) -> u32 {
///         self.0[12..20].iter().fold(0, |hash: u32, byte| hash.rotate_left(5) ^ u32::from(*byte))
///     }
/// }
///
/// let mut packet = Ipv4(vec![0; 1500]);
/// packet.0[1] = 0b0000_0001;
/// assert_eq!((packet.size(), packet.ecn()), (l4s_aqm::MTU, Ecn::Ect1));
/// packet.set_ce();
/// assert_eq!(packet.ecn(), Ecn::Ce);
/// ```
pub trait Packet {
    /// Its length on the link, link-layer header included.
    fn size(&self) -> Bytes;

    /// Its ECN field now.
    fn ecn(&self) -> Ecn;

    /// Sets congestion experienced, the only change that its ECN field ever gets (RFC 9331 §5.1,
    /// §5.4.1.2). Called only on ECN-capable packets.
    fn set_ce(&mut self);

    /// A hash of its 5-tuple, for disciplines that separate flows.
    fn flow_hash(&self) -> u32;

    /// The memory that it occupies while it waits (`skb->truesize` in Linux).
    fn memory(&self) -> Bytes {
        self.size()
    }
}

/// A packet that leaves the discipline to be transmitted.
///
/// Example: [`Qdisc`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Departure<P> {
    /// The packet, CE if it was marked.
    pub packet: P,
    /// The queue it waited in.
    pub queue: Queue,
    /// How long it waited.
    pub sojourn: Duration,
}

/// The probabilities that a discipline applies now, for those that have any.
///
/// ```
/// use l4s_aqm::{Qdisc, Signal, curvy_red};
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
/// // A Classic packet after 100 ms, without smoothing.
/// let config = curvy_red::Config { f: 0, ..curvy_red::Config::rfc9332() };
/// let mut aqm = curvy_red::Discipline::new(config, &mut rng);
/// aqm.enqueue(Datagram(Ecn::NotEct), Time::ZERO, &mut rng, &mut ());
/// aqm.dequeue(Time::ZERO + Duration::from_millis(100), &mut rng, &mut ());
///
/// // Twice the base probability for L4S packets, its square for Classic ones (RFC 9332 §2.1).
/// let Signal { base, scalable, classic } = aqm.signal().unwrap();
/// assert_eq!(scalable, base.saturating_mul(2));
/// assert!((classic.as_f64() - base.as_f64().powi(2)).abs() < 1e-9);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Signal {
    /// The base probability p' of a coupled AQM, or the drop probability of a single one.
    pub base: Probability,
    /// The probability for an L4S packet, without the native L4S AQM.
    pub scalable: Probability,
    /// The probability for a Classic packet.
    pub classic: Probability,
}

/// A queue discipline.
///
/// `now` must never run backwards between calls. Nothing is allocated per packet: queues grow to
/// their longest and stay there.
///
/// A queue that marks every packet that waited for more than 1 ms:
///
/// ```
/// use l4s_aqm::{Backlog, Departure, Fifo, MarkCause, Packet, Qdisc, Queue, Watch};
/// use l4s_units::{Duration, Time};
/// use rand_core::Rng;
/// # use l4s_aqm::{Counters, MTU};
/// # use l4s_units::{Bytes, Ecn};
/// # use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
/// # struct Datagram(Ecn);
/// # impl Packet for Datagram {
/// #     fn size(&self) -> Bytes { MTU }
/// #     fn ecn(&self) -> Ecn { self.0 }
/// #     fn set_ce(&mut self) { self.0 = Ecn::Ce }
/// #     fn flow_hash(&self) -> u32 { 0 }
/// # }
///
/// struct Step<P>(Fifo<P>);
///
/// impl<P: Packet> Qdisc<P> for Step<P> {
///     fn enqueue(&mut self, packet: P, now: Time, _: &mut impl Rng, _: &mut impl Watch<P>) {
///         self.0.push(packet, now, false);
///     }
///
///     fn dequeue(
///         &mut self,
///         now: Time,
///         _: &mut impl Rng,
///         watch: &mut impl Watch<P>,
///     ) -> Option<Departure<P>> {
///         let head = self.0.pop()?;
///         let (mut packet, sojourn) = (head.packet, now.since(head.arrival));
///         if sojourn > Duration::from_millis(1) && packet.ecn().is_capable() {
///             packet.set_ce();
///             watch.marked(&packet, Queue::Q, MarkCause::Step, now);
///         }
///         Some(Departure { packet, queue: Queue::Q, sojourn })
///     }
///
///     fn evacuate(&mut self) -> Vec<(Time, P)> {
///         self.0.evacuate()
///     }
///
///     fn backlog(&self) -> Backlog {
///         self.0.backlog()
///     }
/// }
///
/// # let (mut rng, mut counters) = (Xoshiro256PlusPlus::seed_from_u64(1), Counters::default());
/// let mut aqm = Step(Fifo::new());
/// aqm.enqueue(Datagram(Ecn::Ect1), Time::ZERO, &mut rng, &mut counters);
/// aqm.dequeue(Time::ZERO + Duration::from_millis(2), &mut rng, &mut counters);
/// assert_eq!(counters.marks(Queue::Q, MarkCause::Step), 1);
/// ```
pub trait Qdisc<P: Packet> {
    /// Takes a packet, or drops it (and perhaps others); reports to `watch`.
    fn enqueue(&mut self, packet: P, now: Time, rng: &mut impl Rng, watch: &mut impl Watch<P>);

    /// The next packet to transmit; `None` only when no packet is left.
    fn dequeue(
        &mut self,
        now: Time,
        rng: &mut impl Rng,
        watch: &mut impl Watch<P>,
    ) -> Option<Departure<P>>;

    /// Takes everything that waits out, in order of arrival and each with its arrival, and signals
    /// to none of it: for a discipline that is replaced.
    fn evacuate(&mut self) -> Vec<(Time, P)>;

    /// Takes out one packet that `redundancy` finds in the queue of packets with this flow hash, and signals to
    /// nobody. Only the packets before the newest of a queue are in question, so no queue becomes empty. A
    /// discipline without this has no redundant packets.
    ///
    /// Example: [`Redundancy`].
    fn withdraw(
        &mut self,
        _flow_hash: u32,
        _redundancy: &mut impl Redundancy<P>,
    ) -> Option<(P, Queue)> {
        None
    }

    /// It replaces `old`, of the same kind with other settings, and takes over its learned
    /// state: the probability of a controller. Its clock restarts.
    fn inherit(&mut self, _old: &Self)
    where
        Self: Sized,
    {
    }

    /// Sets the rate of the link behind it: called before the first packet, and at each
    /// change. Most disciplines ignore it.
    fn set_rate(&mut self, _rate: Rate) {}

    /// When [`Qdisc::tick`] is due next; `None` for disciplines without a timer.
    fn next_tick(&self) -> Option<Time> {
        None
    }

    /// Periodic work that needs no packet.
    fn tick(&mut self, _now: Time) {}

    /// The backlog now, in all queues together.
    fn backlog(&self) -> Backlog;

    /// The packet at the head of `queue`, which leaves that queue next unless it is dropped; `None` where it is empty, and
    /// where each flow has a queue.
    fn head(&self, _queue: Queue) -> Option<&P> {
        None
    }

    /// The probabilities applied now.
    fn signal(&self) -> Option<Signal> {
        None
    }
}
