//! COBALT: CoDel for flows that listen to signals and BLUE for those that do not, side by side on
//! one queue (COBALT), as each queue of `sch_cake` in Linux has it.

mod config;
mod law;

pub use config::Config;

use l4s_units::{Bytes, Rate, Time};
use rand_core::Rng;

use crate::waiting::{Fifo, Waiting};
use crate::watch::mark;
use crate::{
    Backlog, Departure, DropCause, Limit, MTU, MarkCause, Packet, Qdisc, Queue, Redundancy, Signal,
    Watch,
};
use law::{Blue, Codel};

/// The state of COBALT.
///
/// ```
/// use l4s_aqm::{Counters, DropCause, Limit, Qdisc, Queue, cobalt};
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
///
/// let config = cobalt::Config { limit: Limit::packets(1), ..cobalt::Config::linux() };
/// let mut aqm = cobalt::Discipline::new(config, &mut rng);
/// aqm.enqueue(Datagram(Ecn::Ect0), Time::ZERO, &mut rng, &mut counters);
/// aqm.enqueue(Datagram(Ecn::NotEct), Time::ZERO, &mut rng, &mut counters);
/// // An overflow drops the head: its receiver learns of the loss soonest.
/// assert_eq!(counters.drops(Queue::Q, DropCause::Limit), 1);
/// let departure = aqm.dequeue(Time::ZERO, &mut rng, &mut counters).unwrap();
/// assert_eq!(departure.packet.0, Ecn::NotEct);
/// ```
#[derive(Clone, Debug)]
pub struct Discipline<P> {
    config: Config,
    limit: Limit,
    ecn: bool,
    queue: Fifo<P>,
    codel: Codel,
    blue: Blue,
    /// Since when the queue is empty.
    idle_since: Option<Time>,
    /// The rate of the link, where it shapes to that.
    rate: Option<Rate>,
    /// The longest packet seen, or a full one of Ethernet: the MTU of the device (Linux).
    longest: Bytes,
}

impl<P: Packet> Discipline<P> {
    /// An empty queue.
    pub fn new(config: Config, _rng: &mut impl Rng) -> Self {
        Discipline {
            limit: config.limit,
            ecn: config.ecn,
            queue: Fifo::new(),
            codel: Codel::new(&config),
            blue: Blue::new(&config),
            idle_since: None,
            rate: None,
            longest: MTU,
            config,
        }
    }

    /// The settings that follow the rate of the link.
    fn shape(&mut self) {
        let Some(rate) = self.rate else { return };
        let config = self.config.with(rate, self.longest);
        self.limit = config.limit;
        self.codel.configure(&config);
        self.blue.configure(&config);
    }

    /// The head, if there is one, and notes when it was the last.
    #[inline]
    fn pop(&mut self, now: Time) -> Option<Waiting<P>> {
        let head = self.queue.pop()?;
        if self.queue.is_empty() {
            self.idle_since = Some(now);
        }
        Some(head)
    }
}

impl<P: Packet> Qdisc<P> for Discipline<P> {
    #[inline]
    fn enqueue(&mut self, packet: P, now: Time, _: &mut impl Rng, watch: &mut impl Watch<P>) {
        if packet.size() > self.longest {
            self.longest = packet.size();
            self.shape();
        }
        // CAKE polls an empty queue as long as others have packets and its state is not at rest. The
        // effect of these polls is applied here at once.
        if let Some(since) = self.idle_since.take() {
            self.codel.idle(now);
            self.blue.idle(since, now);
        }
        self.queue.push(packet, now, false);
        while let Some(cause) = self.limit.exceeded_by(self.backlog()) {
            let Some(head) = self.pop(now) else { return };
            self.codel.overflow(now);
            self.blue.overflow(now);
            watch.dropped(head.packet, Queue::Q, cause, now);
        }
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Time,
        rng: &mut impl Rng,
        watch: &mut impl Watch<P>,
    ) -> Option<Departure<P>> {
        loop {
            let mut head = self.pop(now)?;
            let markable = self.ecn && head.packet.ecn().is_capable();
            let due = self.codel.is_due(now.since(head.arrival), now);
            // Those whom BLUE is for do not listen to marks either (Linux).
            let hit = self.blue.hits(rng);
            let refused = hit || (due && !markable);
            self.codel.settle(refused, now);
            // The last packet is not dropped: no later one would reveal the loss to its receiver
            // (Linux).
            if refused && !self.queue.is_empty() {
                let cause = if markable { DropCause::Overload } else { DropCause::Aqm };
                watch.dropped(head.packet, Queue::Q, cause, now);
                continue;
            }
            if due && markable {
                mark(&mut head.packet, MarkCause::Classic, now, watch);
            }
            return Some(head.depart(now));
        }
    }

    fn inherit(&mut self, old: &Self) {
        self.blue.inherit(&old.blue);
    }

    fn set_rate(&mut self, rate: Rate) {
        self.rate = Some(rate).filter(|_| self.config.shaped);
        self.shape();
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

    fn signal(&self) -> Option<Signal> {
        let p = self.blue.probability();
        Some(Signal { base: p, scalable: p, classic: p })
    }
}

#[cfg(test)]
mod tests;
