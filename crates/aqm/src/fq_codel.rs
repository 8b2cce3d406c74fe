//! FQ-CoDel: a CoDel queue for each of many flows, served in turn; flows that send little go
//! first (RFC 8290), as `sch_fq_codel` in Linux does it.

mod config;
mod flows;

pub use config::Config;

use l4s_units::Time;
use rand_core::Rng;

use crate::codel::{Control, Law};
use crate::{Backlog, Departure, DropCause, Footprint, Packet, Qdisc, Queue, Redundancy, Watch};
use flows::{Flows, Line};

/// The state of FQ-CoDel.
///
/// ```
/// use l4s_aqm::{MTU, Packet, Qdisc, fq_codel};
/// use l4s_units::{Bytes, Ecn, Time};
/// # use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
/// # let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
///
/// struct OfFlow(u32);
///
/// impl Packet for OfFlow {
///     fn size(&self) -> Bytes { MTU }
///     fn ecn(&self) -> Ecn { Ecn::NotEct }
///     fn set_ce(&mut self) {}
///     fn flow_hash(&self) -> u32 { self.0 }
/// }
///
/// let mut aqm = fq_codel::Discipline::new(fq_codel::Config::linux(), &mut rng);
/// for flow in [1, 1, 1, 1, 2] {
///     aqm.enqueue(OfFlow(flow), Time::ZERO, &mut rng, &mut ());
/// }
/// // The only packet of flow 2 passes three of flow 1.
/// let order = std::iter::from_fn(|| aqm.dequeue(Time::ZERO, &mut rng, &mut ()));
/// assert_eq!(order.map(|departure| departure.packet.0).collect::<Vec<_>>(), [1, 2, 1, 1, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct Discipline<P> {
    config: Config,
    law: Law,
    /// Makes the choice of queues differ from one instance to the next.
    perturbation: u32,
    flows: Flows<P>,
    /// The CoDel of each flow.
    controls: Vec<Control>,
    /// Bytes that each flow may still send in this round.
    deficits: Vec<i64>,
    /// Flows that had no queue until now.
    new: Line,
    /// The others that have one.
    old: Line,
}

impl<P: Packet> Discipline<P> {
    /// Empty queues. `rng` chooses which flows collide.
    pub fn new(config: Config, rng: &mut impl Rng) -> Self {
        let flows = config.flows as usize;
        Discipline {
            law: Law::new(config.target, config.interval, config.ecn)
                .with_ce_threshold(config.ce_threshold, config.ce_l4s_only),
            perturbation: rng.next_u32(),
            flows: Flows::new(flows),
            controls: vec![Control::default(); flows],
            deficits: vec![0; flows],
            new: Line::default(),
            old: Line::default(),
            config,
        }
    }

    /// The queue of packets with this hash (RFC 8290 §4.1.1): the hash perturbed, and scaled to the number of queues.
    #[inline]
    fn queue_of(&self, flow_hash: u32) -> u32 {
        // The finalizer of MurmurHash3: every bit of the input changes half of the output.
        let mut hash = flow_hash ^ self.perturbation;
        hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
        hash ^= hash >> 16;
        ((u64::from(hash) * u64::from(self.config.flows)) >> 32) as u32
    }

    /// Drops from the head of the longest queue, half of it or a batch (RFC 8290 §4.1, Linux).
    fn drop_batch(&mut self, cause: DropCause, now: Time, watch: &mut impl Watch<P>) {
        let fattest = self.flows.fattest();
        let half = self.flows.bytes(fattest) / 2;
        let (mut packets, mut bytes) = (0, 0);
        while packets == 0 || (packets < self.config.drop_batch && bytes < half) {
            let Some(dropped) = self.flows.pop(fattest) else { break };
            packets += 1;
            bytes += dropped.packet.size().get();
            watch.dropped(dropped.packet, Queue::Q, cause, now);
        }
        self.controls[fattest as usize].add_drops(packets);
    }

    /// The flow whose turn it is, and whether it is a new one (RFC 8290 §4.2).
    #[inline]
    fn schedule(&mut self) -> Option<(u32, bool)> {
        loop {
            let new = self.new.first();
            let flow = new.or(self.old.first())?;
            let deficit = &mut self.deficits[flow as usize];
            if *deficit > 0 {
                return Some((flow, new.is_some()));
            }
            *deficit += self.config.quantum as i64;
            self.take_first(new.is_some());
            self.flows.append(&mut self.old, flow);
        }
    }

    fn take_first(&mut self, new: bool) {
        let line = if new { &mut self.new } else { &mut self.old };
        self.flows.remove_first(line);
    }
}

/// The memory that it takes.
pub(crate) fn footprint<P>(config: &Config) -> Footprint {
    let state = size_of::<Control>() + size_of::<i64>();
    Footprint {
        queues: config.flows.into(),
        queue: (flows::QUEUE + state) as u64,
        lists: 1,
        packet: flows::place::<P>() as u64,
    }
}

impl<P: Packet> Qdisc<P> for Discipline<P> {
    #[inline]
    fn enqueue(&mut self, packet: P, now: Time, _: &mut impl Rng, watch: &mut impl Watch<P>) {
        let flow = self.queue_of(packet.flow_hash());
        self.flows.push(flow, packet, now);
        if !self.flows.is_lined_up(flow) {
            self.flows.append(&mut self.new, flow);
            self.deficits[flow as usize] = self.config.quantum as i64;
        }
        if let Some(cause) = self.config.limit.exceeded_by(self.flows.backlog()) {
            self.drop_batch(cause, now, watch);
        }
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Time,
        _: &mut impl Rng,
        watch: &mut impl Watch<P>,
    ) -> Option<Departure<P>> {
        loop {
            let (flow, new) = self.schedule()?;
            let source = &mut self.flows.only(flow);
            let head = self.controls[flow as usize].dequeue(&self.law, source, now, watch);
            if let Some(head) = head {
                self.deficits[flow as usize] -= head.packet.size().get() as i64;
                return Some(head.depart(now));
            }
            // An empty queue leaves the line; a new one passes through the old ones first, or a
            // flow that sends a packet at a time would always be new (RFC 8290 §4.2).
            self.take_first(new);
            if new && self.old.first().is_some() {
                self.flows.append(&mut self.old, flow);
            }
        }
    }

    fn evacuate(&mut self) -> Vec<(Time, P)> {
        self.flows.evacuate()
    }

    fn withdraw(&mut self, hash: u32, redundancy: &mut impl Redundancy<P>) -> Option<(P, Queue)> {
        let flow = self.queue_of(hash);
        self.flows.withdraw(flow, redundancy).map(|packet| (packet, Queue::Q))
    }

    fn backlog(&self) -> Backlog {
        self.flows.backlog()
    }
}

#[cfg(test)]
mod tests;
