//! The common part of the coupled dual queues: a base probability from any source, and the
//! probabilities derived from it for both kinds of packets.

use l4s_units::{Duration, Probability, Time};

use super::config::{Config, Overload};
use crate::Queue;

/// The source of the base probability p': the controller of DualPI2, or the curve of Curvy RED.
///
/// ```
/// use l4s_aqm::{Qdisc, Queue, dualpi2::{Base, Config, Coupled, Engine}};
/// use l4s_units::{Duration, Probability};
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
/// # let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
///
/// /// p' is the delay of the last Classic packet, in seconds; k is 2.
/// #[derive(Default)]
/// struct Line(Coupled);
///
/// impl Base for Line {
///     fn coupled(&self) -> Coupled { self.0 }
///
///     fn departs(&mut self, queue: Queue, sojourn: Duration, _: Duration) {
///         if queue == Queue::C {
///             let p_prime = Probability::from_f64(sojourn.as_secs_f64());
///             let p_l = p_prime.saturating_mul(2);
///             self.0 = Coupled { p_prime, p_l, overloaded: p_l == Probability::ONE };
///         }
///     }
/// }
///
/// let mut aqm = Engine::with_base(Config::rfc9332(), Line::default());
/// aqm.enqueue(Datagram(Ecn::NotEct), Time::ZERO, &mut rng, &mut ());
/// aqm.dequeue(Time::ZERO + Duration::from_millis(100), &mut rng, &mut ());
/// // L4S packets meet p_L = k·p'.
/// assert!((aqm.signal().unwrap().scalable.as_f64() - 0.2).abs() < 1e-9);
/// ```
pub trait Base {
    /// The present probabilities.
    fn coupled(&self) -> Coupled;

    /// A packet leaves `queue` after `sojourn`, and the Classic packet that waited longest, if
    /// any, has waited for `classic` (zero if none). Called before the decision about the packet.
    #[inline]
    fn departs(&mut self, _queue: Queue, _sojourn: Duration, _classic: Duration) {}

    /// It replaces `old` and takes over its learned state ([`crate::Qdisc::inherit`]).
    fn inherit(&mut self, _old: &Self)
    where
        Self: Sized,
    {
    }

    /// When an update is due; `None` for a base without a timer.
    fn due(&self) -> Option<Time> {
        None
    }

    /// The update: the queue that waits longest has waited for `q`.
    fn update(&mut self, _q: Duration, _now: Time) {}
}

/// A base probability and the probabilities derived from it.
///
/// Example: [`Base`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Coupled {
    /// The base probability p'. A Classic packet meets its square.
    pub p_prime: Probability,
    /// The coupled probability of L4S packets, k·p'.
    pub p_l: Probability,
    /// Marking saturates: both queues get the Classic drop.
    pub overloaded: bool,
}

/// The coupling: from a base probability to both signals.
#[derive(Clone, Debug)]
pub(crate) struct Coupling {
    k: u32,
    /// p' never exceeds this: 1, or 1/k when overload is left to the buffer.
    pub(super) cap: Probability,
    /// k·p' from which both queues get the Classic drop, in 2⁻³².
    pub(super) drop_from: u64,
}

impl Coupling {
    pub fn new(config: &Config) -> Coupling {
        let (cap, drop_from) = match config.overload {
            // With k = 1 the product never exceeds 1: it is enough that it reaches it (RFC 9332 §A.1).
            Overload::Drop(from) => (Probability::ONE, u64::from(from.raw())),
            // Uncoupled queues have no marking that saturates, and nothing to cap.
            Overload::Overflow => (Probability::from_raw(u32::MAX / config.k.max(1)), u64::MAX),
        };
        Coupling { k: config.k, cap, drop_from }
    }

    /// Both signals at the base probability `p_prime`.
    #[inline]
    pub fn of(&self, p_prime: Probability) -> Coupled {
        let p_prime = p_prime.min(self.cap);
        Coupled {
            p_prime,
            p_l: p_prime.saturating_mul(self.k),
            overloaded: u64::from(p_prime.raw()) * u64::from(self.k) >= self.drop_from,
        }
    }
}
