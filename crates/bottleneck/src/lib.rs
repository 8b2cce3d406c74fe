//! The bottleneck of every substrate: a queue discipline behind a shaper.
//!
//! What lies behind it is fast: a packet arrives at its client when its transmission starts. It
//! knows neither where packets come from nor what measures them; the simulator and the lab each
//! bring their own packets and their own [`Watch`].

mod packet;
mod random;
mod shaper;

pub use packet::{flow_hash, skb_memory};
pub use random::{Stream, stream};
pub use shaper::Shaper;

use l4s_aqm::{Aqm, Backlog, Departure, Packet, Qdisc, Signal, Watch};
use l4s_scenario::Link;
use l4s_units::Time;

/// A link and the queue in front of it.
#[derive(Debug)]
pub struct Bottleneck<P> {
    aqm: Aqm<P>,
    rng: Stream,
    shaper: Shaper,
}

impl<P: Packet> Bottleneck<P> {
    /// A link that is idle. Chance comes from the streams `aqm setup` and `aqm` of `seed`.
    pub fn new(link: &Link, aqm: &l4s_aqm::Config, seed: u64) -> Self {
        Bottleneck {
            aqm: Aqm::new(aqm, &mut stream(seed, "aqm setup")),
            rng: stream(seed, "aqm"),
            shaper: Shaper::new(link.rate, link.burst),
        }
    }

    /// A packet arrives.
    #[inline]
    pub fn enqueue(&mut self, packet: P, now: Time, watch: &mut impl Watch<P>) {
        self.aqm.enqueue(packet, now, &mut self.rng, watch);
    }

    /// The packet whose transmission starts now, if the link is free and one waits.
    #[inline]
    pub fn transmit(&mut self, now: Time, watch: &mut impl Watch<P>) -> Option<Departure<P>> {
        if now < self.shaper.free_at() {
            return None;
        }
        let departure = self.aqm.dequeue(now, &mut self.rng, watch)?;
        self.shaper.charge(departure.packet.size(), now);
        Some(departure)
    }

    /// When [`Bottleneck::transmit`] may have a packet next; never while none waits.
    #[inline]
    pub fn next_transmission(&self) -> Time {
        if self.aqm.backlog().packets == 0 { Time::NEVER } else { self.shaper.free_at() }
    }

    /// When [`Bottleneck::tick`] is due next; never for disciplines without a timer.
    pub fn next_tick(&self) -> Time {
        self.aqm.next_tick().unwrap_or(Time::NEVER)
    }

    /// Periodic work of the discipline.
    pub fn tick(&mut self, now: Time) {
        self.aqm.tick(now);
    }

    /// What waits now.
    pub fn backlog(&self) -> Backlog {
        self.aqm.backlog()
    }

    /// The probabilities applied now.
    pub fn signal(&self) -> Option<Signal> {
        self.aqm.signal()
    }
}
