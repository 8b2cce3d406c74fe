//! All imperfect stretches of one direction on one side of the bottleneck, one behind the other.

use std::collections::VecDeque;

use l4s_model::{AccEcnMangling, Direction, Path, PathChange, PathEvent, Scenario, Side, SourceId};
use l4s_units::{Ecn, Time};

use crate::stretch::{Passage, Stretch};

/// A packet that an imperfect way may change.
///
/// Example: [`Stretches`].
pub trait Traveller {
    /// Whose it is.
    fn source(&self) -> SourceId;
    /// Its codepoint.
    fn ecn(&self) -> Ecn;
    /// Changes the codepoint.
    fn set_ecn(&mut self, ecn: Ecn);
    /// Inverts a bit behind the IP header, which the random number chooses.
    fn corrupt(&mut self, draw: u32);
    /// Changes the feedback of AccECN; returns whether there was any.
    fn mangle_accecn(&mut self, mangling: AccEcnMangling) -> bool;
    /// Sets the DSCP to 0; returns whether it was another.
    fn wash_dscp(&mut self) -> bool;
}

/// The owner of packets on a way.
///
/// Example: [`Stretches`].
pub trait Wayside<P> {
    /// Something happened to a packet on the path in that place of the scenario.
    fn happened(&mut self, path: u16, packet: &P, what: PathEvent, now: Time);
    /// A second one of a packet; `None` where there is no room for it.
    fn copy(&mut self, packet: &P) -> Option<P>;
    /// A packet is lost.
    fn lost(&mut self, packet: P);
}

/// The stretches, in the order in which packets pass.
///
/// ```
/// use l4s_bottleneck::{Stretches, Traveller, Wayside};
/// use l4s_model::{
///     AccEcnMangling, Direction, EcnMangling, Group, Link, Path, PathEvent, Scenario, Side, SourceId,
/// };
/// use l4s_units::{Duration, Ecn, Rate, Time};
///
/// struct Datagram(Ecn);
///
/// impl Traveller for Datagram {
///     fn source(&self) -> SourceId { SourceId::new(0) }
///     fn ecn(&self) -> Ecn { self.0 }
///     fn set_ecn(&mut self, ecn: Ecn) { self.0 = ecn }
///     fn corrupt(&mut self, _: u32) {}
///     fn mangle_accecn(&mut self, _: AccEcnMangling) -> bool { false }
///     fn wash_dscp(&mut self) -> bool { false }
/// }
///
/// /// Counts the packets that a middlebox changed.
/// struct Mangled(u32);
///
/// impl Wayside<Datagram> for Mangled {
///     fn happened(&mut self, _: u16, _: &Datagram, what: PathEvent, _: Time) {
///         self.0 += u32::from(what == PathEvent::Mangled);
///     }
///     fn copy(&mut self, packet: &Datagram) -> Option<Datagram> { Some(Datagram(packet.0)) }
///     fn lost(&mut self, _: Datagram) {}
/// }
///
/// let aqm = l4s_aqm::Config::Fifo(l4s_aqm::fifo::Config::dctth());
/// let link = Link::new(Rate::from_mbps(40));
/// let mut scenario = Scenario::new("bleached", Duration::from_secs(20), link, aqm);
/// let old = Path::new("old", Direction::Down, vec![0]);
/// scenario.paths.push(Path { ecn: EcnMangling::Bleach, ..old });
/// let (mut way, mut mangled) = (Stretches::new(&scenario, Direction::Down, Side::Behind), Mangled(0));
/// way.enter(Datagram(Ecn::Ect1), Time::ZERO, &mut mangled);
/// assert_eq!(way.out(Time::ZERO, &mut mangled).unwrap().ecn(), Ecn::NotEct);
/// assert_eq!(mangled.0, 1);
/// ```
#[derive(Debug)]
pub struct Stretches<P> {
    stops: Vec<Stop<P>>,
    /// Packets that have the whole way behind them.
    through: VecDeque<P>,
}

#[derive(Debug)]
struct Stop<P> {
    stretch: Stretch<P>,
    /// The place of the path in the scenario.
    path: u16,
    /// Whether the packets of each source pass it.
    passes: Vec<bool>,
    accecn: AccEcnMangling,
    wash_dscp: bool,
}

impl<P: Traveller> Stretches<P> {
    /// An empty way.
    pub fn new(scenario: &Scenario, direction: Direction, side: Side) -> Stretches<P> {
        let sources = scenario.roster().sources();
        let here = |(_, path): &(u16, &Path)| path.direction == direction && path.side == side;
        let stop = |(number, path): (u16, &Path)| Stop {
            stretch: Stretch::new(path, scenario.seed),
            path: number,
            passes: (0..sources.max(1)).map(|source| path.sources.contains(&source)).collect(),
            accecn: path.accecn,
            wash_dscp: path.wash_dscp,
        };
        let stops = (0..).zip(&scenario.paths).filter(here).map(stop).collect();
        Stretches { stops, through: VecDeque::new() }
    }

    /// The path in that place of the scenario becomes different, if it is here.
    pub fn change(&mut self, path: usize, change: &PathChange) {
        for stop in self.stops.iter_mut().filter(|stop| usize::from(stop.path) == path) {
            stop.stretch.change(change);
        }
    }

    /// Whether it has no imperfect stretch.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.stops.is_empty()
    }

    /// When the next packet comes to the end of a stretch; never if none is on the way.
    #[inline]
    pub fn next(&self) -> Time {
        self.stops.iter().map(|stop| stop.stretch.next()).min().unwrap_or(Time::NEVER)
    }

    /// How many packets are on the way.
    pub fn packets(&self) -> usize {
        self.stops.iter().map(|stop| stop.stretch.len()).sum::<usize>() + self.through.len()
    }

    /// A packet comes to the beginning of the way. [`Stretches::out`] has those that are through.
    #[inline]
    pub fn enter(&mut self, packet: P, now: Time, wayside: &mut impl Wayside<P>) {
        self.go(packet, 0, now, wayside);
    }

    /// The next packet that has come out by `now`.
    #[inline]
    pub fn out(&mut self, now: Time, wayside: &mut impl Wayside<P>) -> Option<P> {
        while self.through.is_empty() {
            let next = (0..self.stops.len()).min_by_key(|n| self.stops[*n].stretch.next())?;
            let at = self.stops[next].stretch.next();
            let packet = self.stops[next].stretch.pop(now)?;
            self.go(packet, next + 1, at, wayside);
        }
        self.through.pop_front()
    }

    /// A packet has this number of stretches behind it.
    fn go(&mut self, mut packet: P, along: usize, now: Time, wayside: &mut impl Wayside<P>) {
        let source = packet.source().index();
        let passes = |stop: &Stop<P>| stop.passes.get(source).is_some_and(|passes| *passes);
        let Some(ahead) = self.stops[along..].iter().position(passes) else {
            return self.through.push_back(packet);
        };
        let number = along + ahead;
        let Stop { stretch, path, accecn, wash_dscp, .. } = &mut self.stops[number];
        let path = *path;
        wayside.happened(path, &packet, PathEvent::Arrived, now);
        let Some(passage) = stretch.meet(packet.ecn(), now) else {
            wayside.happened(path, &packet, PathEvent::Lost, now);
            return wayside.lost(packet);
        };
        let mut mangled = passage.ecn != packet.ecn();
        if mangled {
            packet.set_ecn(passage.ecn);
        }
        mangled |= *accecn != AccEcnMangling::Pass && packet.mangle_accecn(*accecn);
        mangled |= *wash_dscp && packet.wash_dscp();
        if mangled {
            wayside.happened(path, &packet, PathEvent::Mangled, now);
        }
        let Passage { at, corrupted, duplicated, held_back, .. } = passage;
        if let Some(draw) = corrupted {
            packet.corrupt(draw);
            wayside.happened(path, &packet, PathEvent::Corrupted, now);
        }
        if held_back {
            wayside.happened(path, &packet, PathEvent::HeldBack, now);
        }
        let copy = if duplicated { wayside.copy(&packet) } else { None };
        if copy.is_some() {
            wayside.happened(path, &packet, PathEvent::Duplicated, now);
        }
        let packet = stretch.pass(packet, at, now);
        // Both are delayed or neither is: nothing was due between the two.
        let copy = copy.and_then(|copy| stretch.pass(copy, at, now));
        for packet in packet.into_iter().chain(copy) {
            self.go(packet, number + 1, now, wayside);
        }
    }
}

#[cfg(test)]
mod tests;
