//! COBALT: CoDel for flows that listen to signals and BLUE for those that do not, side by side on
//! one queue (COBALT), as each queue of `sch_cake` in Linux has it.

mod config;
mod law;

pub use config::Config;

use l4s_units::{Rate, Time};
use rand_core::Rng;

use crate::waiting::{Fifo, Waiting};
use crate::watch::mark;
use crate::{Backlog, Departure, DropCause, Limit, MarkCause, Packet, Qdisc, Queue, Signal, Watch};
use law::{Blue, Codel};

/// The state of COBALT.
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
            config,
        }
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

    fn set_rate(&mut self, rate: Rate) {
        if self.config.shaped {
            let config = self.config.at(rate);
            self.limit = config.limit;
            self.codel.configure(&config);
            self.blue.configure(&config);
        }
    }

    fn evacuate(&mut self) -> Vec<(Time, P)> {
        self.queue.evacuate()
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn signal(&self) -> Option<Signal> {
        let p = self.blue.probability();
        Some(Signal { base: p, scalable: p, classic: p })
    }
}

#[cfg(test)]
mod tests;
