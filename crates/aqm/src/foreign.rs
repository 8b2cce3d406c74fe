//! A discipline that somebody else decides: an idea, in another program or language.
//!
//! The queues, their limit and what is told of them are here. A [`Judge`] says what becomes of each
//! packet, at its arrival and at its departure, and of two queues whose turn it is.

use core::fmt;
use std::sync::Arc;

use l4s_units::{Bytes, Duration, Ecn, Time};
use rand_core::Rng;

use crate::waiting::{Fifo, Waiting};
use crate::{Backlog, Departure, DropCause, Limit, MarkCause, Packet, Qdisc, Queue, Signal, Watch};

/// What a judge is told of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
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
    /// What else waits in its queue; in all queues, before it is in one.
    pub backlog: Backlog,
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It goes on as it is.
    Forward,
    /// It is marked CE; one that cannot be marked is dropped (RFC 3168 §6.1).
    Mark,
    /// It is dropped.
    Drop,
}

/// Decides. `now` never runs backwards.
pub trait Judge: fmt::Debug + Send {
    /// The queue of an arriving packet, of a discipline with two: L or C.
    fn classify(&mut self, case: &Case) -> Queue;

    /// What becomes of an arriving packet, whose queue is known.
    fn arrive(&mut self, case: &Case, queue: Queue) -> Verdict;

    /// Both queues wait, their heads for so long: whether L goes first.
    fn l_goes_first(&mut self, l: Duration, c: Duration, now: Time) -> bool;

    /// What becomes of a packet whose turn it is.
    fn depart(&mut self, case: &Case, queue: Queue) -> Verdict;

    /// Its timer is due; so much waits in L and in C, or in the only queue and in none.
    fn tick(&mut self, waiting: [Backlog; 2], heads: [Duration; 2], now: Time);

    /// The probabilities that it applies, where it keeps any.
    fn signal(&self) -> Option<Signal> {
        None
    }
}

/// Makes the judge of a run. The number is the run's own, for chance.
pub type Appoint = dyn Fn(u64) -> Box<dyn Judge> + Send + Sync;

/// What a discipline of that kind consists of.
#[derive(Clone)]
pub struct Config {
    /// What it is called in results.
    pub name: Arc<str>,
    /// Whether it has two queues, L and C.
    pub dual: bool,
    /// What may wait.
    pub limit: Limit,
    /// Time between ticks; `None` for no timer.
    pub tick: Option<Duration>,
    /// Where its judge comes from.
    pub appoint: Arc<Appoint>,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Config { name, dual, limit, tick, .. } = self;
        write!(f, "foreign::Config({name}, dual: {dual}, {limit:?}, tick: {tick:?})")
    }
}

/// The same judges, under the same terms.
impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        let terms = |c: &Config| (c.name.clone(), c.dual, c.limit, c.tick);
        terms(self) == terms(other) && Arc::ptr_eq(&self.appoint, &other.appoint)
    }
}

/// The queues and the judge.
#[derive(Debug)]
pub struct Discipline<P> {
    config: Config,
    judge: Box<dyn Judge>,
    /// L and C; of a single queue the first.
    queues: [Fifo<P>; 2],
    next_tick: Option<Time>,
}

impl<P: Packet> Discipline<P> {
    /// Empty queues.
    pub fn new(config: Config, rng: &mut impl Rng) -> Self {
        Discipline {
            judge: (config.appoint)(rng.next_u64()),
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
                Some(usize::from(!self.judge.l_goes_first(l, c, now)))
            }
        }
    }

    fn heads(&self, now: Time) -> [Duration; 2] {
        [self.queues[0].head_sojourn(now), self.queues[1].head_sojourn(now)]
    }
}

impl<P: Packet> Qdisc<P> for Discipline<P> {
    fn enqueue(&mut self, packet: P, now: Time, _: &mut impl Rng, watch: &mut impl Watch<P>) {
        let mut case = Case {
            now,
            size: packet.size(),
            ecn: packet.ecn(),
            flow: packet.flow_hash(),
            sojourn: Duration::ZERO,
            backlog: self.backlog(),
        };
        let place = usize::from(self.config.dual && self.judge.classify(&case) != Queue::L);
        let queue = self.name(place);
        if let Some(cause) = self.config.limit.refuses(case.backlog, &packet) {
            return watch.dropped(packet, queue, cause, now);
        }
        case.backlog = self.queues[place].backlog();
        let verdict = self.judge.arrive(&case, queue);
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
            let case = Case {
                now,
                size: packet.size(),
                ecn: packet.ecn(),
                flow: packet.flow_hash(),
                sojourn,
                backlog: self.queues[place].backlog(),
            };
            let verdict = self.judge.depart(&case, queue);
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

    fn next_tick(&self) -> Option<Time> {
        self.next_tick
    }

    fn tick(&mut self, now: Time) {
        let waiting = [self.queues[0].backlog(), self.queues[1].backlog()];
        let heads = self.heads(now);
        self.judge.tick(waiting, heads, now);
        self.next_tick = self.config.tick.map(|tick| now + tick);
    }

    fn backlog(&self) -> Backlog {
        self.queues[0].backlog() + self.queues[1].backlog()
    }

    fn signal(&self) -> Option<Signal> {
        self.judge.signal()
    }
}
