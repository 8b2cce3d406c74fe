//! Links that do not send packet by packet at one rate: they aggregate, follow a trace, or are a radio.

use l4s_aqm::{Departure, DropCause, Packet, Qdisc, Watch};
use l4s_model::Link;
use l4s_units::{Bytes, Time};

use super::Bottleneck;
use crate::aggregate::Aggregate;
use crate::flight::Flight;
use crate::pacer::Pacer;
use crate::radio::Air;

/// How a link sends packets, if not one by one at one rate.
#[derive(Debug)]
pub(super) enum Way<P> {
    /// In aggregates, at the rate of the shaper.
    Aggregates(Aggregate<P>),
    /// By a trace, without the shaper.
    Trace(Pacer, Flight<P>),
    /// Over a radio, without the shaper.
    Radio(Air<P>),
}

impl<P: Packet> Way<P> {
    /// That of a link; `None` where it sends packet by packet at one rate. `name` is at the end of the names of its
    /// streams of chance.
    ///
    /// # Panics
    /// The link is two of these: one that follows a trace, aggregates, or is a radio.
    pub fn of(link: &Link, seed: u64, name: &str) -> Option<Way<P>> {
        let airtime = link.aggregation;
        assert!(link.trace.is_none() || airtime.is_zero(), "a trace has its own bursts");
        assert!(link.radio.is_none() || link.trace.is_none(), "a radio has its own rates");
        assert!(link.radio.is_none() || airtime.is_zero(), "a radio has its own aggregates");
        match (link.playback(), &link.radio) {
            (_, Some(radio)) => Some(Way::Radio(Air::new(radio, seed, name))),
            (Some(playback), None) => {
                let flight = Flight::over(&playback, seed, name);
                Some(Way::Trace(Pacer::new(playback, link.burst), flight))
            }
            (None, None) if airtime.is_zero() => None,
            (None, None) => {
                Some(Way::Aggregates(Aggregate::new(airtime, link.rate.bytes_in(airtime))))
            }
        }
    }
}

impl<P: Packet> Bottleneck<P> {
    /// A packet of this size comes to a link that may send it together with others.
    #[inline(never)]
    pub(super) fn expect(&mut self, size: Bytes, now: Time) {
        match self.way.as_deref_mut() {
            None | Some(Way::Trace(..)) => {}
            Some(Way::Aggregates(air)) => air.expect(size),
            Some(Way::Radio(air)) => air.expect(size, self.aqm.backlog().packets > 0, now),
        }
    }

    /// As [`Bottleneck::transmit`]: a packet of the aggregate that goes on the air now, or one that the
    /// trace has capacity for.
    #[inline(never)]
    pub(super) fn transmit_by_way(
        &mut self,
        now: Time,
        watch: &mut impl Watch<P>,
    ) -> Option<Departure<P>> {
        self.begin_to_count(now);
        match self.way.as_deref_mut()? {
            Way::Aggregates(air) => {
                if !air.may_take(now >= self.shaper.free_at()) {
                    return None;
                }
                let departure = self.aqm.dequeue(now, &mut self.rng, watch);
                match &departure {
                    Some(departure) => {
                        let size = departure.packet.size();
                        self.shaper.charge(size, now);
                        air.taken(size, self.shaper.free_at().max(now));
                    }
                    None => air.close(),
                }
                departure
            }
            Way::Trace(pacer, flight) => {
                if let Some((packet, queue)) = flight.lose() {
                    watch.dropped(packet, queue, DropCause::Radio, now);
                }
                if !pacer.is_free(now) || self.aqm.backlog().packets == 0 {
                    return None;
                }
                let departure = self.aqm.dequeue(now, &mut self.rng, watch)?;
                pacer.charge(departure.packet.size(), now);
                flight.take(departure.queue);
                Some(departure)
            }
            Way::Radio(air) => {
                while let Some((packet, queue)) = air.lose() {
                    watch.dropped(packet, queue, DropCause::Radio, now);
                }
                if !air.may_take(self.aqm.backlog().packets > 0, now) {
                    return None;
                }
                let departure = self.aqm.dequeue(now, &mut self.rng, watch);
                match &departure {
                    Some(departure) => air.take(departure.packet.size(), departure.queue),
                    None => air.close(now),
                }
                departure
            }
        }
    }

    #[cold]
    pub(super) fn land_by_way(&mut self, now: Time) -> Option<P> {
        self.begin_to_count(now);
        match self.way.as_deref_mut()? {
            Way::Aggregates(air) => air.land(now),
            Way::Radio(air) => air.land(now),
            Way::Trace(_, flight) => flight.land(now),
        }
    }

    #[inline(never)]
    pub(super) fn next_by_way(&self, way: &Way<P>, waits: bool) -> Time {
        let free_at = |at| if waits { at } else { Time::NEVER };
        match way {
            Way::Aggregates(air) => air.lands().unwrap_or_else(|| free_at(self.shaper.free_at())),
            Way::Trace(pacer, flight) => {
                flight.arrives().unwrap_or(Time::NEVER).min(free_at(pacer.free_at()))
            }
            Way::Radio(air) => air.next(waits),
        }
    }
}
