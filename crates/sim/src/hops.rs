//! Further links that packets pass before or behind the bottleneck, each with a queue of its own.
//!
//! As at the bottleneck, a packet is at the next thing on its path when its transmission starts.

use core::ops::Range;

use l4s_bottleneck::Bottleneck;
use l4s_model::{Hop, Per, Roster, Scenario, Side, SourceId};
use l4s_units::Time;

use crate::packet::Packet;

/// All further links of a run, and which of them each packet passes.
pub(crate) struct Hops {
    /// From servers to clients.
    path: Vec<Stop>,
    /// The position on the path behind the bottleneck.
    pub behind_bottleneck: usize,
    /// Hop after hop, in the order of the scenario.
    links: Vec<Link>,
    /// Those of each hop.
    of: Vec<Range<usize>>,
}

/// One link.
pub(crate) struct Link {
    pub queue: Bottleneck<Packet>,
    /// The place in the scenario of its hop.
    pub hop: u16,
    /// The position on the path behind it.
    pub behind: usize,
}

enum Stop {
    Hop {
        /// Whether links go by flow, and not by group or source.
        per_flow: bool,
        /// The link of each; none for those that do not pass here.
        links: Vec<Option<u32>>,
    },
    Bottleneck,
}

/// Where a packet goes next.
pub(crate) enum Next {
    /// Into the queue of this link.
    Link(usize),
    Bottleneck,
    Client,
}

impl Hops {
    pub fn new(scenario: &Scenario) -> Hops {
        let before = scenario.hops.iter().filter(|hop| hop.side == Side::Before).count();
        let mut hops = Hops {
            path: (0..=scenario.hops.len()).map(|_| Stop::Bottleneck).collect(),
            behind_bottleneck: before + 1,
            links: Vec::new(),
            of: Vec::new(),
        };
        let mut next = [0, before + 1];
        let roster = scenario.roster();
        for (number, hop) in (0..).zip(&scenario.hops) {
            let at = &mut next[usize::from(hop.side == Side::Behind)];
            let first = hops.links.len();
            hops.path[*at] = stop(&roster, hop, first as u32);
            *at += 1;
            for n in 0..roster.links_of(hop) {
                let streams = format!(" hop {} {n}", hop.name);
                let queue = Bottleneck::named(&hop.link, &hop.aqm, scenario.seed, &streams)
                    .counted_from(Time::ZERO + scenario.warmup);
                hops.links.push(Link { queue, hop: number, behind: *at });
            }
            hops.of.push(first..hops.links.len());
        }
        hops
    }

    /// Whether there is nothing but the bottleneck.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// How many hops there are.
    pub fn count(&self) -> usize {
        self.of.len()
    }

    /// How many links there are in all of them.
    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// A link by its number.
    #[inline]
    pub fn link(&mut self, number: usize) -> &mut Link {
        &mut self.links[number]
    }

    /// Where a packet goes that is so far along the path: 0 at its server.
    #[inline]
    pub fn next(&self, along: usize, packet: &Packet) -> Next {
        for stop in &self.path[along..] {
            let Stop::Hop { per_flow, links } = stop else { return Next::Bottleneck };
            let key = if *per_flow { packet.flow.index() } else { packet.group.index() };
            // Downloads, whose numbers are higher, have no links to themselves.
            if let Some(Some(link)) = links.get(key) {
                return Next::Link(*link as usize);
            }
        }
        Next::Client
    }

    /// When [`Hops::tick`] of a hop is due next. Its links have one clock.
    pub fn next_tick(&self, hop: usize) -> Time {
        let first = self.links[self.of[hop].clone()].first();
        first.map_or(Time::NEVER, |link| link.queue.next_tick())
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
