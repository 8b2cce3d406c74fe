//! Curvy RED: two queues, isolated in delay and coupled in capacity, without a controller: the
//! base probability is a straight line over the Classic queue's delay (Slides "Detailed
//! Implementation"; RFC 9332 §B).
//!
//! A Classic packet is dropped when the smoothed delay, shifted left by S_C, exceeds the larger of
//! two random numbers: with the square of the base probability, the curve that gives the AQM its
//! name. An L4S packet is marked when the delay, shifted by S_L, exceeds one random number, or when
//! its own queue is above a threshold. With S_L = S_C + log₂ k that is k times the base
//! probability. So the queues are those of [`dualpi2`](crate::dualpi2), with this line as their base; unlike there,
//! the Classic delay rises with the load.
//!
//! All of it is additions and shifts of integers. Time is in nanoseconds. A second counts as 2³⁰ of
//! them, so that a shift by 2 more turns time into a probability in 2⁻³² (RFC 9332 §B.2).

mod config;

pub use config::{Config, Smoothing, SteeredBy};

use l4s_units::{Duration, Probability};
use rand_core::Rng;

use crate::dualpi2::{Base, Coupled, Coupling, Engine};
use crate::{Packet, Queue};

/// The state of Curvy RED.
pub type Discipline<P> = Engine<P, Curve>;

impl<P: Packet> Engine<P, Curve> {
    /// Empty queues, and base probability 0.
    pub fn new(config: Config, _rng: &mut impl Rng) -> Self {
        let curve = Curve::new(&config);
        Engine::with_base(config.engine(), curve)
    }
}

/// From nanoseconds to 2⁻³² per 2³⁰ ns (RFC 9332 §B.2).
const SECONDS_TO_PROBABILITY: u32 = 2;

/// The line from the queueing delay to the base probability.
///
/// ```
/// use l4s_aqm::{Qdisc, curvy_red::{Config, Curve}, dualpi2::Engine};
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
/// // Without smoothing, 15 ms shifted left by 1 + 2 bits, in 2⁻³².
/// let mut aqm = Engine::<_, Curve>::new(Config { f: 0, ..Config::rfc9332() }, &mut rng);
/// aqm.enqueue(Datagram(Ecn::NotEct), Time::ZERO, &mut rng, &mut ());
/// aqm.dequeue(Time::ZERO + Duration::from_millis(15), &mut rng, &mut ());
/// assert_eq!(aqm.signal().unwrap().base.raw(), 15_000_000 << 3);
/// ```
#[derive(Clone, Debug)]
pub struct Curve {
    /// The smoothed queueing delay Q in nanoseconds; never negative.
    smoothed: i64,
    coupled: Coupled,

    /// From nanoseconds to the base probability in 2⁻³², as a left shift: 2 to 22.
    slope: u32,
    /// The weight of a new sample of the delay: 2^-this.
    f: u32,
    min_th: Duration,
    smoothing: Smoothing,
    steered_by: SteeredBy,
    coupling: Coupling,
}

impl Curve {
    fn new(config: &Config) -> Curve {
        Curve {
            smoothed: 0,
            coupled: Coupled::default(),
            slope: config.s_c + SECONDS_TO_PROBABILITY,
            f: config.f,
            min_th: config.min_th,
            smoothing: config.smoothing,
            steered_by: config.steered_by,
            coupling: Coupling::new(&config.engine()),
        }
    }

    /// The base probability at a queueing delay of `q`, the square root of a Classic packet's.
    #[inline]
    fn base(&self, q: Duration) -> Probability {
        // At the least slope the line ends at 2³⁰ ns, and at the greatest 2³² ns become 2⁵⁴: within
        // 64 bits.
        let above = q.saturating_sub(self.min_th).as_nanos().min(1 << 32);
        Probability::from_raw(u32::try_from(above << self.slope).unwrap_or(u32::MAX))
    }

    /// Q += (q − Q) / 2^f. The shift rounds down: below a constant delay Q stops 2^f − 1 ns short of
    /// it, and from above it reaches it. Q is never below 0 (Slides; RFC 9332 §B.2).
    #[inline]
    fn smooth(&mut self, q: Duration) {
        let q = i64::try_from(q.as_nanos()).unwrap_or(i64::MAX);
        self.smoothed += (q - self.smoothed) >> self.f;
    }
}

impl Base for Curve {
    #[inline]
    fn coupled(&self) -> Coupled {
        self.coupled
    }

    #[inline]
    fn departs(&mut self, queue: Queue, sojourn: Duration, classic: Duration) {
        let q = match self.steered_by {
            SteeredBy::Classic => classic,
            SteeredBy::Longest => classic.max(sojourn),
        };
        let alone = classic == Duration::ZERO;
        if queue != Queue::L || (alone && self.steered_by == SteeredBy::Longest) {
            self.smooth(q);
        }
        let smoothed = Duration::from_nanos(self.smoothed as u64);
        self.coupled = match self.smoothing {
            Smoothing::Both => self.coupling.of(self.base(smoothed)),
            Smoothing::Least => self.coupling.of(self.base(smoothed.min(q))),
            // "No smoothing for L4S" (Slides).
            Smoothing::Classic => Coupled {
                p_l: self.coupling.of(self.base(q)).p_l,
                ..self.coupling.of(self.base(smoothed))
            },
        };
    }
}

#[cfg(test)]
mod tests;
