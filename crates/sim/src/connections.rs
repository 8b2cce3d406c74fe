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

impl Flow {
    /// Whether it is one that lasts, and not gone.
    fn is_lasting(&self) -> bool {
        self.lasts && self.owner.flow != GONE
    }
}

/// Why a place has no connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Vacant {
    /// Its long flow has not opened.
    Unopened,
    /// All of its long flow is acknowledged.
    Over(FlowId, SourceId),
    /// It is of none.
    Free,
}

/// Connections by place.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    /// A connection, or one that is gone, whose memory the next one uses. Nothing else is here: with thousands of
    /// connections each packet looks at another place.
    places: Vec<Option<Box<Flow>>>,
    /// For the places without one.
    vacant: Vec<Vacant>,
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
        self.add(None, Vacant::Unopened);
    }

    /// Adds the connection of an application, behind all long flows. Neither must be called after
    /// [`Connections::begin`].
    pub fn add_app(&mut self, flow: FlowId, group: SourceId, ends: (Server, Client)) {
        self.add(None, Vacant::Free);
        self.replace(self.places.len() as u32 - 1, flow, group, ends);
    }

    fn add(&mut self, flow: Option<Box<Flow>>, vacant: Vacant) {
        self.places.push(flow);
        self.vacant.push(vacant);
    }

    /// The group and the seed of the long flow at this place, if it has not opened.
    pub fn unopened(&self, slot: u32) -> Option<(SourceId, u64)> {
        let slot = slot as usize;
        match self.vacant[slot] {
            Vacant::Unopened if self.places[slot].is_none() => self.long.get(slot).copied(),
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
            Some(Some(place)) => **place = new,
            Some(place) => *place = Some(Box::new(new)),
            None => self.add(Some(Box::new(new)), Vacant::Free),
        }
        slot
    }

    /// A connection has this place from now on, which lasts.
    pub fn replace(&mut self, slot: u32, flow: FlowId, group: SourceId, ends: (Server, Client)) {
        let (server, client) = ends;
        let owner = Owner { flow, slot, group };
        let new = Flow { owner, lasts: true, began: Time::ZERO, server, client };
        self.places[slot as usize] = Some(Box::new(new));
    }

    /// All of a long flow is acknowledged.
    pub fn finish(&mut self, slot: u32) {
        let slot = slot as usize;
        if let Some(flow) = self.places[slot].take() {
            self.vacant[slot] = Vacant::Over(flow.owner.flow, flow.owner.group);
        }
    }

    /// A connection is over, and its place is free.
    pub fn end(&mut self, slot: u32) {
        match &mut self.places[slot as usize] {
            Some(flow) => {
                flow.owner.flow = GONE;
                self.downloads -= usize::from(!flow.lasts);
            }
            None => self.vacant[slot as usize] = Vacant::Free,
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
        self.places[slot as usize].as_ref().is_some_and(|flow| flow.is_lasting())
    }

    /// The connection of flow `flow` at this place, unless it is gone.
    #[inline]
    pub fn of(&mut self, slot: u32, flow: FlowId) -> Option<&mut Flow> {
        self.places[slot as usize].as_deref_mut().filter(|found| found.owner.flow == flow)
    }

    /// The connection at this place, unless it is gone.
    #[inline]
    pub fn at(&mut self, slot: u32) -> Option<&mut Flow> {
        self.places[slot as usize].as_deref_mut().filter(|found| found.owner.flow != GONE)
    }

    /// Asks for the memory of the server at this place.
    #[inline]
    pub fn prefetch(&self, slot: u32) {
        if let Some(flow) = &self.places[slot as usize] {
            prefetch(&flow.owner);
            prefetch(&flow.server);
        }
    }

    /// Asks for the memory of the client at this place.
    #[inline]
    pub fn prefetch_client(&self, slot: u32) {
        if let Some(flow) = &self.places[slot as usize] {
            prefetch(&flow.owner);
            prefetch(&flow.client);
        }
    }

    /// Asks for the memory of its segments in flight.
    #[inline]
    pub fn prefetch_flight(&self, slot: u32) {
        if let Some(flow) = &self.places[slot as usize] {
            flow.server.prefetch_flight();
        }
    }

    /// Those of long flows and of applications, by place.
    pub fn lasting(&self) -> impl Iterator<Item = &Flow> {
        self.places.iter().flatten().map(|flow| &**flow).filter(|flow| flow.is_lasting())
    }

    /// The long flows and those of applications of a group that have opened, over or not, by place.
    pub fn opened(&self, group: SourceId) -> impl Iterator<Item = (FlowId, u32)> {
        let places = (0..).zip(self.places.iter().zip(&self.vacant));
        places.filter_map(move |(slot, (place, vacant))| {
            let (flow, of) = match (place, vacant) {
                (Some(flow), _) if flow.is_lasting() => (flow.owner.flow, flow.owner.group),
                (None, Vacant::Over(flow, of)) => (*flow, *of),
                _ => return None,
            };
            (of == group).then_some((flow, slot))
        })
    }

    /// How many places there are: the most connections that there ever were at a time.
    pub fn places(&self) -> usize {
        self.places.len()
    }
}
