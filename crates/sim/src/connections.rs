//! The present connections. The places of long flows and of applications stay theirs; those of downloads do not.
//!
//! A long flow has a connection from when it opens until all is acknowledged, so that a million flows of which few are open
//! take little memory.
//!
//! A download's slot is reused once its server has closed, so that memory follows the number of
//! concurrent downloads. Packets of a connection that is gone are recognized by its number, and meet
//! a closed port.

use l4s_model::{FlowId, SourceId};
use l4s_units::Time;

use crate::endpoint::{Client, Server};
use crate::packet::Owner;
use crate::prefetch::prefetch;

/// A connection.
#[derive(Debug)]
pub(crate) struct Flow {
    pub owner: Owner,
    /// It is of a long flow or of an application.
    pub lasts: bool,
    /// When it began.
    pub began: Time,
    pub server: Server,
    pub client: Client,
}

/// The state of a place.
#[derive(Debug)]
pub(crate) enum Place {
    /// Its long flow has not opened.
    Unopened,
    /// A connection, or one that is gone, whose memory the next one uses.
    Open(Box<Flow>),
    /// All of its long flow is acknowledged.
    Over(FlowId, SourceId),
    /// Nothing.
    Free,
}

/// Connections by place.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    places: Vec<Place>,
    /// The long flows that the scenario begins with, by place: the group, and the seed of the connection.
    long: Vec<(SourceId, u64)>,
    /// Places of connections that are over.
    free: Vec<u32>,
    /// How many do not last.
    downloads: usize,
}

/// The number of a flow that no packet has.
const GONE: FlowId = FlowId::new(u32::MAX);

impl Connections {
    /// Adds the next long flow of those that the scenario begins with, each at the place of its
    /// number, without a connection.
    pub fn add_long(&mut self, group: SourceId, seed: u64) {
        self.long.push((group, seed));
        self.places.push(Place::Unopened);
    }

    /// Adds the connection of an application, behind all long flows. Neither must be called after
    /// [`Connections::begin`].
    pub fn add_app(&mut self, flow: FlowId, group: SourceId, ends: (Server, Client)) {
        self.places.push(Place::Free);
        self.replace(self.places.len() as u32 - 1, flow, group, ends);
    }

    /// The group and the seed of the long flow at this place, if it has not opened.
    pub fn unopened(&self, slot: u32) -> Option<(SourceId, u64)> {
        match self.places[slot as usize] {
            Place::Unopened => self.long.get(slot as usize).copied(),
            _ => None,
        }
    }

    /// A connection begins in mid-run, for as long as it is needed or as a download; gives its
    /// place.
    pub fn begin(
        &mut self,
        flow: FlowId,
        group: SourceId,
        lasts: bool,
        ends: (Server, Client),
        began: Time,
    ) -> u32 {
        self.downloads += usize::from(!lasts);
        let slot = self.free.pop().unwrap_or(self.places.len() as u32);
        let (server, client) = ends;
        let new = Flow { owner: Owner { flow, slot, group }, lasts, began, server, client };
        match self.places.get_mut(slot as usize) {
            Some(Place::Open(place)) => **place = new,
            Some(place) => *place = Place::Open(Box::new(new)),
            None => self.places.push(Place::Open(Box::new(new))),
        }
        slot
    }

    /// A connection has this place from now on, which lasts.
    pub fn replace(&mut self, slot: u32, flow: FlowId, group: SourceId, ends: (Server, Client)) {
        let (server, client) = ends;
        let owner = Owner { flow, slot, group };
        let new = Flow { owner, lasts: true, began: Time::ZERO, server, client };
        self.places[slot as usize] = Place::Open(Box::new(new));
    }

    /// All of a long flow is acknowledged.
    pub fn finish(&mut self, slot: u32) {
        if let Place::Open(flow) = &self.places[slot as usize] {
            self.places[slot as usize] = Place::Over(flow.owner.flow, flow.owner.group);
        }
    }

    /// A connection is over, and its place is free.
    pub fn end(&mut self, slot: u32) {
        let place = &mut self.places[slot as usize];
        match place {
            Place::Open(flow) => {
                flow.owner.flow = GONE;
                self.downloads -= usize::from(!flow.lasts);
            }
            _ => *place = Place::Free,
        }
        self.free.push(slot);
    }

    /// How many downloads there are.
    pub fn downloads(&self) -> usize {
        self.downloads
    }

    /// Whether the connection at this place is one of a long flow or of an application.
    #[inline]
    pub fn is_lasting(&self, slot: u32) -> bool {
        matches!(&self.places[slot as usize], Place::Open(flow) if flow.lasts)
    }

    /// The connection of flow `flow` at this place, unless it is gone.
    #[inline]
    pub fn of(&mut self, slot: u32, flow: FlowId) -> Option<&mut Flow> {
        match &mut self.places[slot as usize] {
            Place::Open(found) if found.owner.flow == flow => Some(found),
            _ => None,
        }
    }

    /// The connection at this place, unless it is gone.
    #[inline]
    pub fn at(&mut self, slot: u32) -> Option<&mut Flow> {
        match &mut self.places[slot as usize] {
            Place::Open(found) if found.owner.flow != GONE => Some(found),
            _ => None,
        }
    }

    /// Asks for the memory of the server at this place.
    #[inline]
    pub fn prefetch(&self, slot: u32) {
        if let Place::Open(flow) = &self.places[slot as usize] {
            prefetch(&flow.owner);
            prefetch(&flow.server);
        }
    }

    /// Asks for the memory of its segments in flight.
    #[inline]
    pub fn prefetch_flight(&self, slot: u32) {
        if let Place::Open(flow) = &self.places[slot as usize] {
            flow.server.prefetch_flight();
        }
    }

    /// Those of long flows and of applications, by place.
    pub fn lasting(&self) -> impl Iterator<Item = &Flow> {
        self.places.iter().filter_map(|place| match place {
            Place::Open(flow) if flow.lasts && flow.owner.flow != GONE => Some(&**flow),
            _ => None,
        })
    }

    /// The long flows and those of applications of a group that have opened, over or not, by place.
    pub fn opened(&self, group: SourceId) -> impl Iterator<Item = (FlowId, u32)> {
        (0..).zip(&self.places).filter_map(move |(slot, place)| match place {
            Place::Open(flow) if flow.lasts && flow.owner.flow != GONE => {
                Some((flow.owner.flow, slot)).filter(|_| flow.owner.group == group)
            }
            Place::Over(flow, of) => Some((*flow, slot)).filter(|_| *of == group),
            _ => None,
        })
    }

    /// How many places there are: the most connections that there ever were at a time.
    pub fn places(&self) -> usize {
        self.places.len()
    }
}
