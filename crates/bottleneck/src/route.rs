//! Further links that packets pass, each with a queue of its own: before the bottleneck, behind it, and on
//! the way up.
//!
//! ```text
//! down: hops before, bottleneck, hops behind
//! up:   uplink
//! ```
//!
//! As at the bottleneck, a packet is at the next thing on its path when its transmission starts.

use core::ops::Range;

use l4s_aqm::{Packet, Watch};
use l4s_model::{AckFilter, Direction, FlowId, Hop, Per, Roster, Scenario, Side, SourceId};
use l4s_units::Time;

use crate::{Acknowledgements, Bottleneck};

/// All further links of a run, and which of them each packet passes.
///
/// ```
/// use l4s_aqm::fifo;
/// use l4s_bottleneck::{Next, Route, RouteLink};
/// use l4s_model::{AckFilter, FlowId, Group, Link, Scenario, SourceId, Uplink};
/// use l4s_units::{Bytes, Duration, Ecn, Rate};
///
/// # struct Datagram;
/// # impl l4s_aqm::Packet for Datagram {
/// #     fn size(&self) -> Bytes { Bytes::new(1500) }
/// #     fn ecn(&self) -> Ecn { Ecn::NotEct }
/// #     fn set_ce(&mut self) {}
/// #     fn flow_hash(&self) -> u32 { 0 }
/// # }
/// let fifo = l4s_aqm::Config::Fifo(fifo::Config::dctth());
/// let link = Link::new(Rate::from_mbps(100));
/// let mut scenario = Scenario::new("access", Duration::from_secs(20), link.clone(), fifo.clone());
/// let cubic = l4s_cc::Config::Cubic(l4s_cc::cubic::Config::default());
/// scenario.groups.push(Group::new("A", cubic, Duration::from_millis(10)));
/// scenario.uplink = Some(Uplink { link, aqm: fifo, ack_filter: AckFilter::Off });
///
/// let mut route: Route<Datagram> = Route::new(&scenario);
/// let (flow, group) = (FlowId::new(0), SourceId::new(0));
/// // Data meets the bottleneck alone, and an acknowledgement the uplink, which is behind all route.
/// assert_eq!(route.next(route.start(group), flow, group), Next::Bottleneck);
/// let back = route.start_back(group).unwrap();
/// let Next::Link(uplink) = route.next(back, flow, group) else { unreachable!() };
/// let RouteLink { behind, .. } = route.link(uplink);
/// let behind = *behind;
/// assert_eq!(route.uplink(), Some(uplink));
/// assert_eq!(route.next(behind, flow, group), Next::End);
/// ```
#[derive(Debug)]
pub struct Route<P> {
    /// The way down, and behind its end the way up.
    path: Vec<Stop>,
    /// Where the way up begins.
    up: usize,
    /// Whether there is anything but the bottleneck.
    any: bool,
    /// The way of each source's data.
    directions: Vec<Direction>,
    /// The position on the path behind the bottleneck.
    pub behind_bottleneck: usize,
    /// Hop after hop, in the order of the scenario.
    links: Vec<RouteLink<P>>,
    /// Those of each hop, and of the uplink, which is the last one.
    of: Vec<Range<usize>>,
}

/// One link of a [`Route`].
///
/// Example: [`Route`].
#[derive(Debug)]
pub struct RouteLink<P> {
    /// Its queue and shaper.
    pub queue: Bottleneck<P>,
    /// The place in the scenario of its hop; the number of hops for the uplink.
    pub hop: u16,
    /// The position on the path behind it.
    pub behind: usize,
    /// The filter of acknowledgements in its queue.
    pub ack_filter: AckFilter,
}

impl<P: Packet> RouteLink<P> {
    /// A packet arrives, and acknowledgements that it makes redundant leave the queue.
    #[inline]
    pub fn enqueue<W>(&mut self, packet: P, now: Time, watch: &mut W)
    where
        W: Watch<P> + Acknowledgements<P>,
    {
        if self.ack_filter.is_off() {
            return self.queue.enqueue(packet, now, watch);
        }
        self.queue.enqueue_and_filter(packet, now, self.ack_filter, watch);
    }
}

#[derive(Debug)]
enum Stop {
    Hop {
        /// Whether links go by flow, and not by group or source.
        per_flow: bool,
        /// The link of each; none for those that do not pass here.
        links: Vec<Option<u32>>,
    },
    Bottleneck,
    /// The one link of the way up.
    Uplink(usize),
    End,
}

/// Where a packet goes next.
///
/// Example: [`Route`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Into the queue of this link.
    Link(usize),
    /// Into that of the bottleneck.
    Bottleneck,
    /// It is at its receiver.
    End,
}

impl<P: Packet> Route<P> {
    /// The idle links of a scenario.
    pub fn new(scenario: &Scenario) -> Self {
        let before = scenario.hops.iter().filter(|hop| hop.side == Side::Before).count();
        let mut route = Route {
            path: (0..=scenario.hops.len()).map(|_| Stop::Bottleneck).collect(),
            up: scenario.hops.len() + 2,
            any: !scenario.hops.is_empty() || scenario.uplink.is_some(),
            directions: (0..scenario.roster().sources())
                .map(|source| scenario.direction_of(source))
                .collect(),
            behind_bottleneck: before + 1,
            links: Vec::new(),
            of: Vec::new(),
        };
        let mut next = [0, before + 1];
        let roster = scenario.roster();
        for (number, hop) in (0..).zip(&scenario.hops) {
            let at = &mut next[usize::from(hop.side == Side::Behind)];
            let first = route.links.len();
            route.path[*at] = stop(&roster, hop, first as u32);
            *at += 1;
            for n in 0..roster.links_of(hop) {
                let streams = format!(" hop {} {n}", hop.name);
                let queue = Bottleneck::named(&hop.link, &hop.aqm, scenario.seed, &streams)
                    .counted_from(Time::ZERO + scenario.warmup);
                route.links.push(RouteLink {
                    queue,
                    hop: number,
                    behind: *at,
                    ack_filter: AckFilter::Off,
                });
            }
            route.of.push(first..route.links.len());
        }
        route.path.push(Stop::End);
        if let Some(uplink) = &scenario.uplink {
            let first = route.links.len();
            route.path.push(Stop::Uplink(first));
            let queue = Bottleneck::named(&uplink.link, &uplink.aqm, scenario.seed, " uplink")
                .counted_from(Time::ZERO + scenario.warmup);
            let (hop, behind) = (scenario.hops.len() as u16, route.path.len());
            route.links.push(RouteLink { queue, hop, behind, ack_filter: uplink.ack_filter });
            route.of.push(first..first + 1);
        }
        route.path.push(Stop::End);
        route
    }

    /// Whether there is nothing but the bottleneck.
    #[inline]
    pub fn is_empty(&self) -> bool {
        !self.any
    }

    /// The way of a source's data.
    #[inline]
    pub fn direction(&self, source: SourceId) -> Direction {
        self.directions[source.index()]
    }

    /// Where the data of a source begins its path.
    #[inline]
    pub fn start(&self, source: SourceId) -> usize {
        match self.directions[source.index()] {
            Direction::Down => 0,
            Direction::Up => self.up,
        }
    }

    /// Where messages of its clients begin their path; `None` where no queue is on that.
    #[inline]
    pub fn start_back(&self, source: SourceId) -> Option<usize> {
        match self.directions[source.index()] {
            Direction::Down if matches!(self.path[self.up], Stop::End) => None,
            Direction::Down => Some(self.up),
            Direction::Up => Some(0),
        }
    }

    /// How many hops there are, the uplink included.
    pub fn count(&self) -> usize {
        self.of.len()
    }

    /// Whether a hop is behind the bottleneck, on the way down.
    pub fn is_behind(&self, hop: usize) -> bool {
        let first = self.links[self.of[hop].clone()].first();
        first.is_some_and(|link| (self.behind_bottleneck..self.up).contains(&(link.behind - 1)))
    }

    /// How many links there are in all of them.
    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// The number of the uplink among the links, if there is one.
    pub fn uplink(&self) -> Option<usize> {
        match self.path[self.up] {
            Stop::Uplink(link) => Some(link),
            _ => None,
        }
    }

    /// A link by its number.
    #[inline]
    pub fn link(&mut self, number: usize) -> &mut RouteLink<P> {
        &mut self.links[number]
    }

    /// Where a packet goes that is so far along the path.
    #[inline]
    pub fn next(&self, along: usize, flow: FlowId, group: SourceId) -> Next {
        for stop in &self.path[along..] {
            let (per_flow, links) = match stop {
                Stop::Hop { per_flow, links } => (per_flow, links),
                Stop::Bottleneck => return Next::Bottleneck,
                Stop::Uplink(link) => return Next::Link(*link),
                Stop::End => break,
            };
            let key = if *per_flow { flow.index() } else { group.index() };
            // Downloads, whose numbers are higher, have no links to themselves.
            if let Some(Some(link)) = links.get(key) {
                return Next::Link(*link as usize);
            }
        }
        Next::End
    }

    /// When [`Route::tick`] of a hop is due next. Its links have one clock.
    pub fn next_tick(&self, hop: usize) -> Time {
        let first = self.links[self.of[hop].clone()].first();
        first.map_or(Time::NEVER, |link| link.queue.next_tick())
    }

    /// When a link transmits or ticks next; never if none does. It asks every link.
    pub fn due(&self) -> Time {
        let transmits = self.links.iter().map(|link| link.queue.next_transmission());
        let ticks = (0..self.count()).map(|hop| self.next_tick(hop));
        transmits.chain(ticks).fold(Time::NEVER, Time::min)
    }

    /// Periodic work of the disciplines of a hop.
    pub fn tick(&mut self, hop: usize, now: Time) {
        self.links[self.of[hop].clone()].iter_mut().for_each(|link| link.queue.tick(now));
    }
}

/// A hop on the path, whose links are those from number `first` on.
fn stop(roster: &Roster, hop: &Hop, first: u32) -> Stop {
    let sources = roster.sources();
    let passes = |source: &usize| hop.sources.contains(source);
    let mut next = first..;
    let own = |source: usize| if passes(&source) { next.next() } else { None };
    let links = match hop.per {
        Per::All => (0..sources).map(|source| passes(&source).then_some(first)).collect(),
        Per::Group => (0..sources).map(own).collect(),
        Per::Flow => roster.sources_of_flows().map(SourceId::index).map(own).collect(),
    };
    Stop::Hop { per_flow: hop.per == Per::Flow, links }
}
