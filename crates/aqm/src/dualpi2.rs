//! DualPI2: two queues, isolated in delay and coupled in capacity (DCttH §3, Qdisc §3,
//! RFC 9330 §4.2, RFC 9332).
//!
//! L4S packets wait in a shallow queue that marks early; Classic packets wait in a queue that a
//! PI controller holds at a target delay. The controller's base probability p' is squared for
//! Classic packets, p_C = p'², and multiplied for L4S packets, p_L = k·p', so that a flow of
//! either kind takes about the same window.
//!
//! One engine, orthogonal choices ([`Config`]): classification, scheduler, native L4S marker,
//! overload strategy, randomness. The order below is that of a packet's life: classify, enqueue,
//! schedule, decide, dequeue; and apart from packets, the update of p'. The engine is generic over
//! where p' comes from ([`Base`]): [`crate::curvy_red`] is this one with another base.

mod base;
mod busy_periods;
mod config;
mod gain;
pub mod kernel;

pub(crate) use base::Coupling;
pub use base::{Base, Coupled};

pub use config::{
    Classify, Config, DropAt, FloorAt, LAqm, LWait, Overload, Randomness, Scheduler, Step,
};
pub use gain::{Arithmetic, Gain};

use l4s_units::{Bytes, Duration, Ecn, Probability, Time};
use rand_core::Rng;

use crate::waiting::{Backlog, Fifo, Waiting};
use crate::{Departure, DropCause, MarkCause, Packet, Qdisc, Queue, Redundancy, Signal, Watch};
use busy_periods::BusyPeriods;

/// The state of DualPI2.
pub type Discipline<P> = Engine<P, Pi>;

/// The state of a coupled dual queue whose base probability comes from `B`.
///
/// ```
/// use l4s_aqm::{Qdisc, Queue, dualpi2::{Config, Engine, Pi}};
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
/// let mut aqm = Engine::<_, Pi>::new(Config::linux(), &mut rng);
/// for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
///     aqm.enqueue(Datagram(ecn), Time::ZERO, &mut rng, &mut ());
/// }
/// // The L4S packet arrived last and leaves first.
/// let departure = aqm.dequeue(Time::ZERO, &mut rng, &mut ()).unwrap();
/// assert_eq!((departure.queue, departure.packet.0), (Queue::L, Ecn::Ect1));
/// ```
#[derive(Clone, Debug)]
pub struct Engine<P, B> {
    config: Config,
    /// The low-latency queue.
    l: Fifo<P>,
    /// The Classic queue; in single-queue mode the only one.
    c: Fifo<P>,
    base: B,
    /// Credit of the weighted scheduler in byte·percent: L is served while it is not positive.
    credit: i64,
    sampler: Sampler,
    busy_periods: BusyPeriods,
}

/// The decision about a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Pass,
    Mark(MarkCause),
    Drop(DropCause),
}

impl<P: Packet> Engine<P, Pi> {
    /// Empty queues, and p' = 0.
    pub fn new(config: Config, _rng: &mut impl Rng) -> Self {
        let pi = Pi::new(&config);
        Engine::with_base(config, pi)
    }
}

impl<P: Packet, B: Base> Engine<P, B> {
    /// Empty queues. Of `config` the settings of the PI controller have no effect, unless `base`
    /// is that.
    pub fn with_base(config: Config, base: B) -> Self {
        Engine {
            l: Fifo::new(),
            c: Fifo::new(),
            base,
            credit: config.scheduler.initial_credit(),
            sampler: Sampler { recur: config.randomness == Randomness::Recur, sums: [0; 2] },
            busy_periods: BusyPeriods::default(),
            config,
        }
    }

    /// The name that a queue goes by in results: a single queue is neither L nor C.
    #[inline(always)]
    fn reported(&self, queue: Queue) -> Queue {
        if self.config.dualq == Classify::None { Queue::Q } else { queue }
    }

    /// The queue to serve; `None` when both are empty.
    #[inline(always)]
    fn schedule(&self, now: Time) -> Option<Queue> {
        let (l, c) = match (self.l.head(), self.c.head()) {
            (None, None) => return None,
            (Some(_), None) => return Some(Queue::L),
            (None, Some(_)) => return Some(Queue::C),
            (Some(l), Some(c)) => (l, c),
        };
        let l_first = match self.config.scheduler {
            Scheduler::Strict => true,
            // The packet that waited longest, with a head start for L (DCttH §3.3, Qdisc §3.5).
            Scheduler::TsFifo { t_shift, t_speed } => {
                now.since(l.arrival) * (1 << t_speed) + t_shift >= now.since(c.arrival)
            }
            Scheduler::Wrr { .. } => self.credit <= 0,
        };
        Some(if l_first { Queue::L } else { Queue::C })
    }

    /// Charges the weighted scheduler for a packet of `queue` that goes out. The credit changes
    /// only while the other queue has packets.
    #[inline(always)]
    fn charge(&mut self, queue: Queue, size: Bytes) {
        let Scheduler::Wrr { classic_protection } = self.config.scheduler else { return };
        let (c_weight, size) = (i64::from(classic_protection), size.get() as i64);
        match queue {
            Queue::L if !self.c.is_empty() => self.credit += c_weight * size,
            Queue::C if !self.l.is_empty() => self.credit -= (100 - c_weight) * size,
            _ => {}
        }
    }

    /// The marking probability of the L queue's own AQM for a packet that leaves it now
    /// (DCttH §3.3, RFC 9332 §A.1).
    #[inline(always)]
    fn native(&self, apply_step: bool, arrival: Time, now: Time) -> Probability {
        let behind = self.l.backlog().packets as u64;
        let spared = match self.config.floor_at {
            FloorAt::Enqueue => !apply_step,
            FloorAt::Dequeue => behind < self.config.min_qlen_step,
        };
        let wait = match self.config.l_wait {
            LWait::Sojourn => now.since(arrival),
            LWait::Queue => self.busy_periods.wait(arrival, now),
        };
        let above = match self.config.l_aqm {
            _ if spared => false,
            LAqm::None => false,
            LAqm::Step(Step::Time(thresh)) => wait > thresh,
            LAqm::Step(Step::Packets(thresh)) => behind > thresh,
            LAqm::Ramp(low, high) => return ramp(wait, low, high),
        };
        if above { Probability::ONE } else { Probability::ZERO }
    }

    /// The signal to one packet (DCttH Algorithm 2 and §3.4), before or after its wait in
    /// `queue`; `native` is the probability of the L queue's own AQM.
    #[inline(always)]
    fn decide(
        &mut self,
        at: DropAt,
        ecn: Ecn,
        queue: Queue,
        native: Probability,
        rng: &mut impl Rng,
    ) -> Verdict {
        let waiting = self.l.backlog().bytes + self.c.backlog().bytes;
        let base_acts = at == self.config.drop_at && waiting >= self.config.min_backlog;
        let Coupled { p_prime, p_l, overloaded } = self.base.coupled();
        // Overload: a mark can signal no more, so both kinds get the Classic drop (RFC 9331 §5.1,
        // RFC 9332 §2.5.1.1).
        if base_acts && overloaded && self.sampler.twice(p_prime, queue, rng) {
            return Verdict::Drop(DropCause::Overload);
        }
        if self.config.marking.admits(ecn) {
            // The larger of the two AQMs' probabilities (RFC 9332 §2.5).
            let coupled = if base_acts { p_l } else { Probability::ZERO };
            let (p, cause) = if native > coupled {
                (native, MarkCause::Step)
            } else {
                (coupled, MarkCause::Coupled)
            };
            if self.sampler.once(p, queue, rng) {
                return Verdict::Mark(cause);
            }
        } else if base_acts && !overloaded && self.sampler.twice(p_prime, queue, rng) {
            return if self.config.classic_ecn && ecn.is_capable() {
                Verdict::Mark(MarkCause::Classic)
            } else {
                Verdict::Drop(DropCause::Aqm)
            };
        }
        Verdict::Pass
    }

    /// Carries a verdict out, except a drop: gives the cause of that.
    #[inline(always)]
    fn carry_out(
        &self,
        verdict: Verdict,
        packet: &mut P,
        queue: Queue,
        now: Time,
        watch: &mut impl Watch<P>,
    ) -> Option<DropCause> {
        match verdict {
            Verdict::Pass => None,
            Verdict::Mark(cause) => {
                if !packet.ecn().is_ce() {
                    packet.set_ce();
                    watch.marked(packet, self.reported(queue), cause, now);
                }
                None
            }
            Verdict::Drop(cause) => Some(cause),
        }
    }
}

impl<P: Packet, B: Base> Qdisc<P> for Engine<P, B> {
    #[inline(always)]
    fn enqueue(&mut self, mut packet: P, now: Time, rng: &mut impl Rng, watch: &mut impl Watch<P>) {
        let queue = if self.config.dualq.admits(packet.ecn()) { Queue::L } else { Queue::C };
        if let Some(cause) = self.config.limit.refuses(self.backlog(), &packet) {
            return watch.dropped(packet, self.reported(queue), cause, now);
        }
        let verdict = match self.config.drop_at {
            DropAt::Enqueue => {
                self.decide(DropAt::Enqueue, packet.ecn(), queue, Probability::ZERO, rng)
            }
            DropAt::Dequeue => Verdict::Pass,
        };
        if let Some(cause) = self.carry_out(verdict, &mut packet, queue, now, watch) {
            return watch.dropped(packet, self.reported(queue), cause, now);
        }
        let apply_step = self.l.backlog().packets as u64 >= self.config.min_qlen_step;
        match queue {
            Queue::L => self.l.push(packet, now, apply_step),
            _ => self.c.push(packet, now, false),
        }
    }

    #[inline(always)]
    fn dequeue(
        &mut self,
        now: Time,
        rng: &mut impl Rng,
        watch: &mut impl Watch<P>,
    ) -> Option<Departure<P>> {
        self.busy_periods.take(now);
        loop {
            let Some(queue) = self.schedule(now) else {
                // As in Linux, the scheduler starts again where the link asks and nothing waits.
                self.credit = self.config.scheduler.initial_credit();
                return None;
            };
            let fifo = if queue == Queue::L { &mut self.l } else { &mut self.c };
            let Waiting { mut packet, arrival, flag: apply_step } = fifo.pop()?;
            let sojourn = now.since(arrival);
            let classic = if queue == Queue::L { self.c.head_sojourn(now) } else { sojourn };
            self.base.departs(queue, sojourn, classic);
            let native = match queue {
                Queue::L => self.native(apply_step, arrival, now),
                _ => Probability::ZERO,
            };
            let verdict = self.decide(DropAt::Dequeue, packet.ecn(), queue, native, rng);
            if let Some(cause) = self.carry_out(verdict, &mut packet, queue, now, watch) {
                watch.dropped(packet, self.reported(queue), cause, now);
                continue;
            }
            self.charge(queue, packet.size());
            return Some(Departure { packet, queue: self.reported(queue), sojourn });
        }
    }

    fn evacuate(&mut self) -> Vec<(Time, P)> {
        let mut waiting = self.l.evacuate();
        waiting.append(&mut self.c.evacuate());
        waiting.sort_by_key(|(arrival, _)| *arrival);
        self.credit = self.config.scheduler.initial_credit();
        waiting
    }

    fn withdraw(&mut self, _: u32, redundancy: &mut impl Redundancy<P>) -> Option<(P, Queue)> {
        let of_l = self.l.withdraw(redundancy).map(|packet| (packet, Queue::L));
        let (packet, queue) =
            of_l.or_else(|| self.c.withdraw(redundancy).map(|packet| (packet, Queue::C)))?;
        Some((packet, self.reported(queue)))
    }

    fn inherit(&mut self, old: &Self) {
        self.base.inherit(&old.base);
    }

    fn next_tick(&self) -> Option<Time> {
        self.base.due()
    }

    fn tick(&mut self, now: Time) {
        // The queue that waits longest steers: normally C, and L when it alone is overloaded
        // (DCttH §3.4, RFC 9332 §A.1).
        let q = self.l.head_sojourn(now).max(self.c.head_sojourn(now));
        self.base.update(q, now);
    }

    fn backlog(&self) -> Backlog {
        self.l.backlog() + self.c.backlog()
    }

    #[inline]
    fn head(&self, queue: Queue) -> Option<&P> {
        let fifo = if queue == Queue::L { &self.l } else { &self.c };
        fifo.head().map(|head| head.packet)
    }

    fn signal(&self) -> Option<Signal> {
        let Coupled { p_prime, p_l, .. } = self.base.coupled();
        Some(Signal { base: p_prime, scalable: p_l, classic: gain::squared(p_prime) })
    }
}

/// The PI controller: p' and the values derived from it (DCttH Algorithm 3).
///
/// Example: [`Engine`].
#[derive(Clone, Debug)]
pub struct Pi {
    coupled: Coupled,
    /// The queueing delay at the last update.
    q_prev: Duration,
    /// When the next update is due.
    due: Time,

    target: Duration,
    tupdate: Duration,
    gains: (Gain, Gain),
    coupling: Coupling,
}

impl Pi {
    fn new(config: &Config) -> Pi {
        Pi {
            coupled: Coupled::default(),
            q_prev: Duration::ZERO,
            due: Time::ZERO + config.tupdate,
            target: config.target,
            tupdate: config.tupdate,
            gains: config.effective_gains(),
            coupling: Coupling::new(config),
        }
    }
}

impl Base for Pi {
    #[inline(always)]
    fn coupled(&self) -> Coupled {
        self.coupled
    }

    fn inherit(&mut self, old: &Self) {
        self.coupled = self.coupling.of(old.coupled.p_prime);
        self.q_prev = old.q_prev;
    }

    fn due(&self) -> Option<Time> {
        Some(self.due)
    }

    fn update(&mut self, q: Duration, now: Time) {
        let delta = gain::pi_delta(self.gains, q, self.target, self.q_prev);
        self.coupled = self.coupling.of(self.coupled.p_prime.saturating_add_raw(delta));
        self.q_prev = q;
        self.due = now + self.tupdate;
    }
}

/// Chance: independent draws, or probability that accumulates per queue (RFC 9332 §A.1).
#[derive(Clone, Debug)]
struct Sampler {
    recur: bool,
    /// Accumulated probability of the L and of the Classic queue, in 2⁻³².
    sums: [u64; 2],
}

impl Sampler {
    /// A hit with probability `p`.
    #[inline(always)]
    fn once(&mut self, p: Probability, queue: Queue, rng: &mut impl Rng) -> bool {
        if self.recur {
            return self.accumulate(p, queue);
        }
        p != Probability::ZERO && p.hits(rng.next_u32())
    }

    /// A hit with probability `p²`: think twice to drop (Slides).
    #[inline(always)]
    fn twice(&mut self, p: Probability, queue: Queue, rng: &mut impl Rng) -> bool {
        if self.recur {
            return self.accumulate(gain::squared(p), queue);
        }
        p != Probability::ZERO && p.hits(rng.next_u32()) && p.hits(rng.next_u32())
    }

    fn accumulate(&mut self, p: Probability, queue: Queue) -> bool {
        if p == Probability::ONE {
            // Certain, and nothing is left to accumulate.
            return true;
        }
        let sum = &mut self.sums[usize::from(queue != Queue::L)];
        *sum += u64::from(p.raw());
        let hit = *sum > u64::from(u32::MAX);
        if hit {
            *sum -= u64::from(u32::MAX);
        }
        hit
    }
}

/// A probability that rises from 0 at `low` to 1 at `high`; just above `low` where they are equal.
#[inline]
fn ramp(sojourn: Duration, low: Duration, high: Duration) -> Probability {
    if sojourn <= low {
        Probability::ZERO
    } else if sojourn >= high {
        Probability::ONE
    } else {
        let (above, span) = (sojourn.saturating_sub(low), high.saturating_sub(low));
        let raw = u128::from(above.as_nanos()) * u128::from(u32::MAX) / u128::from(span.as_nanos());
        Probability::from_raw(raw as u32)
    }
}
