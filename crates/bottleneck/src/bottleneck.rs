//! A queue discipline behind a shaper.

mod way;

use l4s_aqm::{Aqm, Backlog, Departure, DropCause, MarkCause, Packet, Qdisc, Queue, Signal, Watch};
use l4s_model::{AckFilter, Link};
use l4s_units::{Bytes, Rate, Time};

use crate::ack_filter::{Acknowledgements, Redundant};
use crate::random::{Stream, stream};
use crate::shaper::Shaper;
use way::Way;

/// The initial state of a discipline that replaces another.
///
/// Example: [`Bottleneck`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Successor {
    /// Nothing.
    Fresh,
    /// The learned state of a discipline of its kind ([`Qdisc::inherit`]).
    Inherit,
}

/// Bytes on the link whose packets count in another span of time ([`Bottleneck::straddling`]).
///
/// Example: [`Bottleneck`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Straddling {
    /// Left before counting began, and transmitted after that.
    pub before: Bytes,
    /// Left before the end, and to be transmitted after that.
    pub after: Bytes,
}

/// A link and the queue in front of it.
///
/// ```
/// use l4s_aqm::{Counters, Packet, fifo, pie};
/// use l4s_bottleneck::{Bottleneck, Straddling, Successor};
/// use l4s_model::Link;
/// use l4s_units::{Bytes, Duration, Ecn, Rate, Time};
///
/// struct Datagram;
///
/// impl Packet for Datagram {
///     fn size(&self) -> Bytes { Bytes::new(1500) }
///     fn ecn(&self) -> Ecn { Ecn::NotEct }
///     fn set_ce(&mut self) {}
///     fn flow_hash(&self) -> u32 { 0 }
/// }
///
/// // 12 Mb/s: a packet per millisecond. Without a burst the second one waits for the first.
/// let link = Link { burst: Bytes::ZERO, ..Link::new(Rate::from_mbps(12)) };
/// let fifo = l4s_aqm::Config::Fifo(fifo::Config::dctth());
/// let (mut bottleneck, mut counters) = (Bottleneck::new(&link, &fifo, 1), Counters::default());
/// for _ in 0..2 {
///     bottleneck.enqueue(Datagram, Time::ZERO, &mut counters);
/// }
/// assert!(bottleneck.transmit(Time::ZERO, &mut counters).is_some());
/// assert!(bottleneck.transmit(Time::ZERO, &mut counters).is_none());
///
/// // PIE takes the place of the FIFO, and the packet that waits moves into it.
/// let at = bottleneck.next_transmission();
/// assert_eq!(at, Time::ZERO + Duration::from_millis(1));
/// let pie = l4s_aqm::Config::Pie(pie::Config::dctth());
/// bottleneck.replace_aqm(&pie, Successor::Fresh, at, &mut counters);
/// let departure = bottleneck.transmit(at, &mut counters).unwrap();
/// assert_eq!(departure.sojourn, Duration::from_millis(1));
///
/// // At the end of a run its transmission is not over.
/// let Straddling { after, .. } = bottleneck.straddling(at);
/// assert_eq!(after, Bytes::new(1500));
/// ```
#[derive(Debug)]
pub struct Bottleneck<P> {
    aqm: Aqm<P>,
    rng: Stream,
    shaper: Shaper,
    /// Random choices that a discipline makes once.
    setup: Stream,
    /// The first tick, until it is over. A discipline is there before the run: its first period ends
    /// at time zero. For one that begins in mid-run it ends later (Linux' PIE: half a second).
    first_tick: Option<Time>,
    /// Where the link does not send packet by packet at one rate.
    way: Option<Box<Way<P>>>,
    /// When counting begins; never again when it has.
    counts_from: Time,
    /// The debt at that time.
    owed_before: Bytes,
}

impl<P: Packet> Bottleneck<P> {
    /// A link that is idle. Chance comes from the streams `aqm setup` and `aqm` of `seed`.
    pub fn new(link: &Link, aqm: &l4s_aqm::Config, seed: u64) -> Self {
        Bottleneck::named(link, aqm, seed, "")
    }

    /// As [`Bottleneck::new`], one of several: with `name` at the end of the names of its streams.
    ///
    /// # Panics
    /// The link is two of these: one that follows a trace, aggregates, or is a radio.
    pub fn named(link: &Link, aqm: &l4s_aqm::Config, seed: u64, name: &str) -> Self {
        let mut setup = stream(seed, &format!("aqm setup{name}"));
        let mut aqm = Aqm::new(aqm, &mut setup);
        aqm.set_rate(link.rate);
        let first_tick = aqm.next_tick().map(|_| Time::ZERO);
        Bottleneck {
            aqm,
            rng: stream(seed, &format!("aqm{name}")),
            shaper: Shaper::new(link.rate, link.burst),
            setup,
            first_tick,
            way: Way::of(link, seed, name).map(Box::new),
            counts_from: Time::NEVER,
            owed_before: Bytes::ZERO,
        }
    }

    /// The same, where counting begins at `from`: it includes the packets that leave from
    /// then on. See [`Bottleneck::straddling`].
    pub fn counted_from(mut self, from: Time) -> Self {
        self.counts_from = from;
        self
    }

    /// A packet counts when its transmission starts, and the link is busy with it for longer. These
    /// are the corrections for data that the link carried before or carries later: the part of packets
    /// that had left when counting began and was still to be transmitted then, and the same
    /// at `end`.
    pub fn straddling(&mut self, end: Time) -> Straddling {
        self.begin_to_count(end);
        Straddling { before: self.owed_before, after: self.owed(end) }
    }

    /// The part of packets that left which is still to be transmitted.
    pub fn owed(&self, now: Time) -> Bytes {
        match self.way.as_deref() {
            Some(Way::Trace(pacer, _)) => pacer.owed(now),
            Some(Way::Radio(air)) => air.held(),
            Some(Way::Aggregates(_)) | None => self.shaper.owed(now),
        }
    }

    /// Called before the first change of the shaper's debt at `now` or later.
    #[inline]
    fn begin_to_count(&mut self, now: Time) {
        if now >= self.counts_from {
            self.owed_before = self.owed(self.counts_from);
            self.counts_from = Time::NEVER;
        }
    }

    /// The link has another rate from now on ([`Shaper::set_rate`]).
    ///
    /// # Panics
    /// It follows a trace, or is a radio.
    pub fn set_rate(&mut self, rate: Rate, now: Time) {
        self.begin_to_count(now);
        self.shaper.set_rate(rate, now);
        self.aqm.set_rate(rate);
        match self.way.as_deref_mut() {
            None => {}
            Some(Way::Aggregates(air)) => {
                air.rate_changed(rate.bytes_in(air.airtime()), self.shaper.free_at().max(now));
            }
            Some(Way::Trace(..)) => panic!("a trace has its own rates"),
            Some(Way::Radio(_)) => panic!("a radio has its own rates"),
        }
    }

    /// Another discipline replaces the present one, its clock starting now. The backlog
    /// moves into it in order of arrival, with the same times of arrival, so that its delay counts on.
    /// The new discipline decides about each packet as at arrival (its limit may drop some). Marks
    /// stay. Linux would drop the whole backlog.
    pub fn replace_aqm(
        &mut self,
        aqm: &l4s_aqm::Config,
        successor: Successor,
        now: Time,
        watch: &mut impl Watch<P>,
    ) {
        let mut next = Aqm::new(aqm, &mut self.setup);
        next.set_rate(self.shaper.rate());
        if successor == Successor::Inherit {
            next.inherit(&self.aqm);
        }
        let waiting = core::mem::replace(&mut self.aqm, next).evacuate();
        self.first_tick = self.aqm.next_tick().map(|first| now + first.since(Time::ZERO));
        for (arrival, packet) in waiting {
            self.aqm.enqueue(packet, arrival, &mut self.rng, &mut ForwardNow { watch, now });
        }
    }

    /// A packet arrives.
    #[inline(always)]
    pub fn enqueue(&mut self, packet: P, now: Time, watch: &mut impl Watch<P>) {
        if self.way.is_some() {
            self.expect(packet.size(), now);
        }
        self.aqm.enqueue(packet, now, &mut self.rng, watch);
    }

    /// As [`Bottleneck::enqueue`]; then an acknowledgement leaves the queue that this packet makes redundant.
    pub(crate) fn enqueue_and_filter<W>(
        &mut self,
        packet: P,
        now: Time,
        filter: AckFilter,
        watch: &mut W,
    ) where
        W: Watch<P> + Acknowledgements<P>,
    {
        let flow_hash = packet.flow_hash();
        self.enqueue(packet, now, watch);
        let mut redundant = Redundant { read: &*watch, now, filter };
        if let Some((packet, queue)) = self.aqm.withdraw(flow_hash, &mut redundant) {
            watch.dropped(packet, queue, DropCause::AckFilter, now);
        }
    }

    /// The packet whose transmission starts now, if the link is free and one waits. To be asked
    /// until there is none, and each packet to be handed to [`Bottleneck::carry`].
    #[inline]
    pub fn transmit(&mut self, now: Time, watch: &mut impl Watch<P>) -> Option<Departure<P>> {
        let departure = self.dequeue(now, watch)?;
        if !self.carries() {
            self.start(departure.packet.size(), now);
        }
        Some(departure)
    }

    /// As [`Bottleneck::transmit`], but without a copy of the departure. Where the link does not
    /// [carry](Bottleneck::carries), its transmission begins with [`Bottleneck::start`].
    #[inline(always)]
    pub fn dequeue(&mut self, now: Time, watch: &mut impl Watch<P>) -> Option<Departure<P>> {
        if self.way.is_some() {
            return self.transmit_by_way(now, watch);
        }
        // As `htb`, it asks no empty discipline, so a state that this would reset outlasts idle times.
        if now < self.shaper.free_at() || self.aqm.backlog().packets == 0 {
            return None;
        }
        self.begin_to_count(now);
        self.aqm.dequeue(now, &mut self.rng, watch)
    }

    /// A packet of this size, from [`Bottleneck::dequeue`], takes the link.
    #[inline(always)]
    pub fn start(&mut self, size: Bytes, now: Time) {
        self.shaper.charge(size, now);
    }

    /// Whether a packet may leave before [`Bottleneck::next_transmission`] if it arrives before that: others go on
    /// the air together, or are under way while the link is free.
    #[inline]
    pub fn overlaps(&self) -> bool {
        match self.way.as_deref() {
            None => false,
            Some(Way::Trace(_, flight)) => flight.delays(),
            Some(Way::Aggregates(_) | Way::Radio(_)) => true,
        }
    }

    /// Whether [`Bottleneck::carry`] may keep a packet.
    #[inline]
    pub fn carries(&self) -> bool {
        self.way.is_some()
    }

    /// A packet whose transmission just started. Gives it back where it arrives at once. Keeps it until
    /// [`Bottleneck::land`] where the link aggregates, or follows a trace that delays packets or has not
    /// transmitted the last byte.
    pub fn carry(&mut self, packet: P, now: Time) -> Option<P> {
        match self.way.as_deref_mut() {
            None => Some(packet),
            Some(Way::Aggregates(air)) => {
                air.push(packet);
                None
            }
            Some(Way::Radio(air)) => {
                air.push(packet);
                None
            }
            Some(Way::Trace(pacer, flight)) => flight.send(packet, pacer.arrives_at(now), now),
        }
    }

    /// The next packet that [`Bottleneck::carry`] kept and that arrives now. To be asked until there is
    /// none, before the next transmission.
    #[inline(always)]
    pub fn land(&mut self, now: Time) -> Option<P> {
        self.way.as_ref()?;
        self.land_by_way(now)
    }

    /// When [`Bottleneck::land`] or [`Bottleneck::transmit`] may have a packet next; never while
    /// none waits.
    #[inline(always)]
    pub fn next_transmission(&self) -> Time {
        let waits = self.aqm.backlog().packets > 0;
        match self.way.as_deref() {
            None if waits => self.shaper.free_at(),
            None => Time::NEVER,
            Some(way) => self.next_by_way(way, waits),
        }
    }

    /// When [`Bottleneck::tick`] is due next; never for disciplines without a timer.
    pub fn next_tick(&self) -> Time {
        self.first_tick.or(self.aqm.next_tick()).unwrap_or(Time::NEVER)
    }

    /// Periodic work of the discipline.
    pub fn tick(&mut self, now: Time) {
        self.first_tick = None;
        self.aqm.tick(now);
    }

    /// The backlog now.
    pub fn backlog(&self) -> Backlog {
        self.aqm.backlog()
    }

    /// The packet at the head of one of the discipline's queues ([`Qdisc::head`]).
    #[inline]
    pub fn head(&self, queue: Queue) -> Option<&P> {
        self.aqm.head(queue)
    }

    /// The probabilities applied now.
    pub fn signal(&self) -> Option<Signal> {
        self.aqm.signal()
    }
}

/// Forwards the events of packets that arrived earlier with the present time.
struct ForwardNow<'a, W> {
    watch: &'a mut W,
    now: Time,
}

impl<P, W: Watch<P>> Watch<P> for ForwardNow<'_, W> {
    fn marked(&mut self, packet: &P, queue: Queue, cause: MarkCause, _: Time) {
        self.watch.marked(packet, queue, cause, self.now);
    }

    fn dropped(&mut self, packet: P, queue: Queue, cause: DropCause, _: Time) {
        self.watch.dropped(packet, queue, cause, self.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use l4s_aqm::{Config, Counters, Limit, cobalt, codel, dualpi2, fifo, pie};
    use l4s_model::Buffer;
    use l4s_units::{Duration, Ecn};
    use proptest::prelude::*;

    #[derive(Clone, PartialEq, Debug)]
    struct Probe(u64, Ecn);

    impl Packet for Probe {
        fn size(&self) -> Bytes {
            l4s_aqm::MTU
        }
        fn ecn(&self) -> Ecn {
            self.1
        }
        fn set_ce(&mut self) {
            self.1 = Ecn::Ce;
        }
        fn flow_hash(&self) -> u32 {
            0
        }
    }

    fn ms(n: u64) -> Time {
        Time::ZERO + Duration::from_millis(n)
    }

    /// A link of 12 Mb/s with twenty packets in a FIFO, one every millisecond from 1000 ms on.
    fn loaded() -> Bottleneck<Probe> {
        let (rate, burst) = (Rate::from_mbps(12), Bytes::ZERO);
        let (buffer, aggregation) = (Buffer::Packets(100), Duration::ZERO);
        let link = Link { burst, buffer, aggregation, ..Link::new(rate) };
        let mut bottleneck = Bottleneck::new(&link, &Config::Fifo(fifo::Config::dctth()), 1);
        for n in 0..20 {
            let ecn = if n % 2 == 0 { Ecn::Ect1 } else { Ecn::NotEct };
            bottleneck.enqueue(Probe(n, ecn), ms(1000 + n), &mut ());
        }
        bottleneck
    }

    #[test]
    fn a_discipline_is_there_before_the_run_and_a_later_one_begins_anew() {
        let pie = Config::Pie(pie::Config::linux());
        let mut bottleneck = loaded();
        bottleneck.replace_aqm(&pie, Successor::Fresh, ms(3000), &mut ());
        assert_eq!(bottleneck.next_tick(), ms(3500));
        let mut bottleneck = Bottleneck::<Probe>::new(&Link::new(Rate::from_mbps(12)), &pie, 1);
        assert_eq!(bottleneck.next_tick(), Time::ZERO);
        bottleneck.tick(Time::ZERO);
        assert_eq!(bottleneck.next_tick(), ms(16));
    }

    #[derive(Clone, PartialEq, Debug)]
    struct Sized(Bytes);

    impl Packet for Sized {
        fn size(&self) -> Bytes {
            self.0
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn set_ce(&mut self) {}
        fn flow_hash(&self) -> u32 {
            0
        }
    }

    proptest! {
        /// From 1 kb/s to 1 Tb/s, with aggregates or without. For a link that is never idle, the
        /// bytes that left between two instants, corrected by those that straddle them, are the
        /// bytes of its rate between them.
        #[test]
        fn what_left_and_what_straddles_is_what_the_rate_carries(
            bps in (10u32..40, 0.5..1.0f64), sizes in prop::collection::vec(64u64..9_000, 1..4),
            from in 0.0..1.0f64, more in 10u64..500, airtime in 0u64..10,
        ) {
            let rate = Rate::from_bps(((1u64 << bps.0) as f64 * 2.0 * bps.1).min(1e12) as u64);
            let each = rate.time_of(Bytes::new(9_000));
            let link = Link {
                burst: Bytes::ZERO,
                buffer: Buffer::Packets(100),
                aggregation: (each * airtime).min(Duration::from_millis(100)),
                ..Link::new(rate)
            };
            let from = Time::from_nanos((each.as_nanos() as f64 * 10.0 * from) as u64);
            let end = from + each * more;
            let fifo = Config::Fifo(fifo::Config { limit: Limit::packets(100) });
            let mut bottleneck = Bottleneck::new(&link, &fifo, 1).counted_from(from);
            let (mut now, mut left, mut next) = (Time::ZERO, 0, sizes.iter().cycle());
            while now <= end {
                while bottleneck.backlog().packets < 20 {
                    let size = Bytes::new(*next.next().unwrap());
                    bottleneck.enqueue(Sized(size), now, &mut ());
                }
                while bottleneck.land(now).is_some() {}
                while let Some(departure) = bottleneck.transmit(now, &mut ()) {
                    left += if now >= from { departure.packet.size().get() } else { 0 };
                    let _ = bottleneck.carry(departure.packet, now);
                    if bottleneck.backlog().packets == 0 {
                        break;
                    }
                }
                // At the same instant again where an aggregate has room left.
                now = bottleneck.next_transmission().max(now);
            }
            let Straddling { before, after } = bottleneck.straddling(end);
            let carried = left + before.get() - after.get();
            let expected = rate.bytes_in(end.since(from)).get();
            // Edges are in whole bytes, and a nanosecond holds some at the highest rates.
            let edge = 2 + rate.bytes_in(Duration::from_nanos(2)).get();
            prop_assert!(carried.abs_diff(expected) <= edge, "{carried} {expected}");
        }
    }

    #[test]
    fn what_waits_moves_into_the_new_discipline_and_its_delay_counts_on() {
        let mut bottleneck = loaded();
        bottleneck.replace_aqm(
            &Config::DualPi2(dualpi2::Config::dctth()),
            Successor::Fresh,
            ms(1030),
            &mut (),
        );
        assert_eq!(bottleneck.backlog().packets, 20);
        let out = |b: &mut Bottleneck<Probe>, now| b.transmit(now, &mut ()).unwrap();
        // L goes before C that came 30 ms earlier at most, and each as if it had come here.
        let first = out(&mut bottleneck, ms(1030));
        assert_eq!((first.packet.0, first.queue), (0, Queue::L));
        assert_eq!(first.sojourn, Duration::from_millis(30));
        let second = out(&mut bottleneck, ms(1032));
        assert_eq!((second.packet.0, second.queue), (2, Queue::L));
        assert_eq!(second.sojourn, Duration::from_millis(30));
    }

    #[test]
    fn a_discipline_that_shapes_knows_the_rate_whenever_it_comes() {
        let (rate, burst) = (Rate::from_mbps(1), Bytes::ZERO);
        let (buffer, aggregation) = (Buffer::Packets(100), Duration::ZERO);
        let link = Link { burst, buffer, aggregation, ..Link::new(rate) };
        let shaped = Config::Cobalt(cobalt::Config::shaped());
        // The number of marked packets of 1000 behind a standing backlog of this size.
        let marks = |bottleneck: &mut Bottleneck<Probe>, standing: usize| {
            let mut counters = Counters::default();
            let mut now = bottleneck.shaper.free_at();
            for n in 0..1000 {
                while bottleneck.backlog().packets < standing {
                    bottleneck.enqueue(Probe(n, Ecn::Ect0), now, &mut counters);
                }
                bottleneck.transmit(now, &mut counters).unwrap();
                now = bottleneck.shaper.free_at();
            }
            counters.marked(Queue::Q)
        };
        // Three packets wait for 36 ms at 1 Mb/s, less than four of them take, and for 3.6 ms at 10
        // Mb/s. Ten at that rate wait for 12 ms: more than the target, and than four.
        let mut first = Bottleneck::new(&link, &shaped, 1);
        assert_eq!(marks(&mut first, 4), 0);
        first.set_rate(Rate::from_mbps(10), ms(20_000));
        assert!(marks(&mut first, 11) > 10);
        let mut later = Bottleneck::new(&link, &Config::Cobalt(cobalt::Config::linux()), 1);
        assert!(marks(&mut later, 4) > 10);
        later.replace_aqm(&shaped, Successor::Fresh, ms(20_000), &mut ());
        assert_eq!(marks(&mut later, 4), 0);
    }

    /// Every 10 ms at 12 Mb/s three Classic packets and an L4S packet, and the link is idle in between. As in
    /// Linux below `htb`, the credit of the scheduler is kept: L pays 10 for its packet each time, and Classic 90
    /// for one that goes before it. That is every ninth time, after the initial credit.
    #[test]
    fn the_credit_of_dualpi2s_scheduler_outlasts_idle_times() {
        let (rate, burst) = (Rate::from_mbps(12), Bytes::ZERO);
        let (buffer, aggregation) = (Buffer::Packets(100), Duration::ZERO);
        let link = Link { burst, buffer, aggregation, ..Link::new(rate) };
        let linux = Config::DualPi2(dualpi2::Config::linux());
        let mut bottleneck = Bottleneck::new(&link, &linux, 1);
        let mut behind_classic = 0;
        for n in 0..100 {
            let mut now = ms(1000 + 10 * n);
            for ecn in [Ecn::NotEct, Ecn::NotEct, Ecn::NotEct, Ecn::Ect1] {
                bottleneck.enqueue(Probe(n, ecn), now, &mut ());
            }
            let mut order = vec![];
            while bottleneck.backlog().packets > 0 {
                order.push(bottleneck.transmit(now, &mut ()).unwrap().queue);
                assert!(bottleneck.transmit(now, &mut ()).is_none());
                now = bottleneck.shaper.free_at();
            }
            behind_classic += usize::from(order[0] == Queue::C);
        }
        assert_eq!(behind_classic, 1 + (100 - 10) / 9);
    }

    #[test]
    fn the_clock_of_the_new_discipline_starts_with_it() {
        let mut bottleneck = loaded();
        assert_eq!(bottleneck.next_tick(), Time::NEVER);
        bottleneck.replace_aqm(
            &Config::Pie(pie::Config::linux()),
            Successor::Fresh,
            ms(1030),
            &mut (),
        );
        // sch_pie: the first update after half a second, then every 16 ms.
        assert_eq!(bottleneck.next_tick(), ms(1530));
        bottleneck.tick(ms(1530));
        assert_eq!(bottleneck.next_tick(), ms(1546));
        bottleneck.replace_aqm(
            &Config::Codel(codel::Config::linux()),
            Successor::Fresh,
            ms(1540),
            &mut (),
        );
        assert_eq!(bottleneck.next_tick(), Time::NEVER);
    }

    #[test]
    fn what_does_not_fit_into_the_new_discipline_is_dropped_from_the_tail() {
        let mut bottleneck = loaded();
        let mut seen = Counters::default();
        let small = fifo::Config { limit: Limit::packets(5) };
        bottleneck.replace_aqm(&Config::Fifo(small), Successor::Fresh, ms(1030), &mut seen);
        assert_eq!(seen.drops(Queue::Q, DropCause::Limit), 15);
        assert_eq!(bottleneck.transmit(ms(1030), &mut ()).unwrap().packet.0, 0);
    }
}
