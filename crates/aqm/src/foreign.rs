//! A discipline whose decisions come from outside: an experiment in another program or language.
//!
//! The queues, their limit and their counters are here. A [`Policy`] decides about each
//! packet, at its arrival and at its departure, and which of two queues is served.

use core::fmt;
use std::sync::Arc;

use l4s_units::{Bytes, Duration, Ecn, Time};
use rand_core::Rng;

use crate::waiting::{Fifo, Waiting};
use crate::{
    Backlog, Departure, DropCause, Limit, MarkCause, Packet, Qdisc, Queue, Redundancy, Signal,
    Watch,
};

/// The context of a decision about a packet.
///
/// Example: [`Policy`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Context {
    /// When it is asked.
    pub now: Time,
    /// The packet's length on the link.
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: Ecn,
    /// A hash of its 5-tuple.
    pub flow: u32,
    /// How long it has waited; zero at its arrival.
    pub sojourn: Duration,
    /// The backlog of its queue; of all queues, before it is in one.
    pub backlog: Backlog,
}

/// The decision about a packet.
///
/// Example: [`Policy`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Forward it unchanged.
    Forward,
    /// It is marked CE; one that cannot be marked is dropped (RFC 3168 §6.1).
    Mark,
    /// It is dropped.
    Drop,
}

/// Decides. `now` never runs backwards.
///
/// ```
/// use std::sync::Arc;
///
/// use l4s_aqm::foreign::{Config, Context, Discipline, Policy, Verdict};
/// use l4s_aqm::{Backlog, Limit, Qdisc, Queue};
/// use l4s_units::{Duration, Time};
/// # use l4s_aqm::{MTU, Packet};
/// # use l4s_units::{Bytes, Ecn};
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
/// /// Marks what waited for more than this, in one queue without a timer.
/// #[derive(Debug)]
/// struct Step(Duration);
///
/// impl Policy for Step {
///     fn depart(&mut self, context: &Context, _: Queue) -> Verdict {
///         if context.sojourn > self.0 { Verdict::Mark } else { Verdict::Forward }
///     }
///     fn arrive(&mut self, _: &Context, _: Queue) -> Verdict { Verdict::Forward }
///     fn classify(&mut self, _: &Context) -> Queue { Queue::Q }
///     fn l_goes_first(&mut self, _: Duration, _: Duration, _: Time) -> bool { true }
///     fn tick(&mut self, _: [Backlog; 2], _: [Duration; 2], _: Time) {}
/// }
///
/// let config = Config {
///     name: "step".into(),
///     dual: false,
///     limit: Limit::packets(1000),
///     tick: None,
///     factory: Arc::new(|_seed| Box::new(Step(Duration::from_millis(1)))),
/// };
/// let mut aqm = Discipline::new(config, &mut rng);
/// aqm.enqueue(Datagram(Ecn::Ect1), Time::ZERO, &mut rng, &mut ());
/// let late = Time::ZERO + Duration::from_millis(2);
/// assert!(aqm.dequeue(late, &mut rng, &mut ()).unwrap().packet.0.is_ce());
/// ```
pub trait Policy: fmt::Debug + Send {
    /// The queue of an arriving packet, of a discipline with two: L or C.
    fn classify(&mut self, context: &Context) -> Queue;

    /// The decision about an arriving packet, whose queue is known.
    fn arrive(&mut self, context: &Context, queue: Queue) -> Verdict;

    /// Both queues wait, their heads for so long: whether L goes first.
    fn l_goes_first(&mut self, l: Duration, c: Duration, now: Time) -> bool;

    /// The decision about the packet that is served next.
    fn depart(&mut self, context: &Context, queue: Queue) -> Verdict;

    /// Its timer is due. `waiting` is the backlog of L and of C, or of the only queue and zero.
    fn tick(&mut self, waiting: [Backlog; 2], heads: [Duration; 2], now: Time);

    /// The probabilities that it applies, where it keeps any.
    fn signal(&self) -> Option<Signal> {
        None
    }
}

/// Makes the policy of a run. The number is the run's seed.
pub type Factory = dyn Fn(u64) -> Box<dyn Policy> + Send + Sync;

/// The parts of a discipline of this kind.
///
/// Example: [`Policy`].
#[derive(Clone)]
pub struct Config {
    /// Its name in results.
    pub name: Arc<str>,
    /// Whether it has two queues, L and C.
    pub dual: bool,
    /// The maximum backlog.
    pub limit: Limit,
    /// Time between ticks; `None` for no timer.
    pub tick: Option<Duration>,
    /// Where its policy comes from.
    pub factory: Arc<Factory>,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Config { name, dual, limit, tick, .. } = self;
        write!(f, "foreign::Config({name}, dual: {dual}, {limit:?}, tick: {tick:?})")
    }
}

/// The same policies, under the same terms.
impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        let terms = |c: &Config| (c.name.clone(), c.dual, c.limit, c.tick);
        terms(self) == terms(other) && Arc::ptr_eq(&self.factory, &other.factory)
    }
}

/// The queues and the policy.
///
/// Example: [`Policy`].
#[derive(Debug)]
pub struct Discipline<P> {
    config: Config,
    policy: Box<dyn Policy>,
    /// L and C; of a single queue the first.
    queues: [Fifo<P>; 2],
    next_tick: Option<Time>,
}

impl<P: Packet> Discipline<P> {
    /// Empty queues.
    pub fn new(config: Config, rng: &mut impl Rng) -> Self {
        Discipline {
            policy: (config.factory)(rng.next_u64()),
            queues: [Fifo::new(), Fifo::new()],
            next_tick: config.tick.map(|tick| Time::ZERO + tick),
            config,
        }
    }

    fn name(&self, place: usize) -> Queue {
        match (self.config.dual, place) {
            (false, _) => Queue::Q,
            (true, 0) => Queue::L,
            (true, _) => Queue::C,
        }
    }

    /// Carries a verdict out; the packet, unless that is its end.
    fn carry_out(
        verdict: Verdict,
        mut packet: P,
        queue: Queue,
        now: Time,
        watch: &mut impl Watch<P>,
    ) -> Option<P> {
        let ecn = packet.ecn();
        match verdict {
            Verdict::Mark if ecn.is_capable() => {
                if !ecn.is_ce() {
                    packet.set_ce();
                    let cause = match queue {
                        Queue::L => MarkCause::Step,
                        Queue::C | Queue::Q => MarkCause::Classic,
                    };
                    watch.marked(&packet, queue, cause, now);
                }
                Some(packet)
            }
            Verdict::Forward => Some(packet),
            Verdict::Mark | Verdict::Drop => {
                watch.dropped(packet, queue, DropCause::Aqm, now);
                None
            }
        }
    }

    /// Whose turn it is.
    fn turn(&mut self, now: Time) -> Option<usize> {
        match (self.queues[0].is_empty(), self.queues[1].is_empty()) {
            (true, true) => None,
            (false, true) => Some(0),
            (true, false) => Some(1),
            (false, false) => {
                let [l, c] = self.heads(now);
                Some(usize::from(!self.policy.l_goes_first(l, c, now)))
            }
        }
    }

    fn heads(&self, now: Time) -> [Duration; 2] {
        [self.queues[0].head_sojourn(now), self.queues[1].head_sojourn(now)]
    }
}

impl<P: Packet> Qdisc<P> for Discipline<P> {
    fn enqueue(&mut self, packet: P, now: Time, _: &mut impl Rng, watch: &mut impl Watch<P>) {
        let mut context = Context {
            now,
            size: packet.size(),
            ecn: packet.ecn(),
            flow: packet.flow_hash(),
            sojourn: Duration::ZERO,
            backlog: self.backlog(),
        };
        let place = usize::from(self.config.dual && self.policy.classify(&context) != Queue::L);
        let queue = self.name(place);
        if let Some(cause) = self.config.limit.refuses(context.backlog, &packet) {
            return watch.dropped(packet, queue, cause, now);
        }
        context.backlog = self.queues[place].backlog();
        let verdict = self.policy.arrive(&context, queue);
        if let Some(packet) = Self::carry_out(verdict, packet, queue, now, watch) {
            self.queues[place].push(packet, now, false);
        }
    }

    fn dequeue(
        &mut self,
        now: Time,
        _: &mut impl Rng,
        watch: &mut impl Watch<P>,
    ) -> Option<Departure<P>> {
        while let Some(place) = self.turn(now) {
            let queue = self.name(place);
            let Waiting { packet, arrival, .. } = self.queues[place].pop()?;
            let sojourn = now.since(arrival);
            let context = Context {
                now,
                size: packet.size(),
                ecn: packet.ecn(),
                flow: packet.flow_hash(),
                sojourn,
                backlog: self.queues[place].backlog(),
            };
            let verdict = self.policy.depart(&context, queue);
            if let Some(packet) = Self::carry_out(verdict, packet, queue, now, watch) {
                return Some(Departure { packet, queue, sojourn });
            }
        }
        None
    }

    fn evacuate(&mut self) -> Vec<(Time, P)> {
        let mut all: Vec<_> = self.queues.iter_mut().flat_map(Fifo::evacuate).collect();
        all.sort_by_key(|(arrival, _)| *arrival);
        all
    }

    fn withdraw(&mut self, _: u32, redundancy: &mut impl Redundancy<P>) -> Option<(P, Queue)> {
        (0..self.queues.len()).find_map(|place| {
            let packet = self.queues[place].withdraw(redundancy)?;
            Some((packet, self.name(place)))
        })
    }

    fn next_tick(&self) -> Option<Time> {
        self.next_tick
    }

    fn tick(&mut self, now: Time) {
        let waiting = [self.queues[0].backlog(), self.queues[1].backlog()];
        let heads = self.heads(now);
        self.policy.tick(waiting, heads, now);
        self.next_tick = self.config.tick.map(|tick| now + tick);
    }

    fn backlog(&self) -> Backlog {
        self.queues[0].backlog() + self.queues[1].backlog()
    }

    fn signal(&self) -> Option<Signal> {
        self.policy.signal()
    }
}
