//! The common part of the coupled dual queues: a base probability from any source, and the
//! probabilities derived from it for both kinds of packets.

use l4s_units::{Duration, Probability, Time};

use super::config::{Config, Overload};
use crate::Queue;

/// The source of the base probability p': the controller of DualPI2, or the curve of Curvy RED.
///
/// ```
/// use l4s_aqm::{Queue, dualpi2::{Base, Coupled}};
/// use l4s_units::{Duration, Probability};
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
/// let mut line = Line::default();
/// line.departs(Queue::C, Duration::from_millis(100), Duration::from_millis(100));
/// assert!((line.coupled().p_l.as_f64() - 0.2).abs() < 1e-9);
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
