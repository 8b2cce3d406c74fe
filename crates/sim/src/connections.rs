//! The present connections. Those of long flows and of applications stay; those of downloads end.
//!
//! A download's slot is reused once its server has closed, so that memory follows the number of
//! concurrent downloads. Packets of a connection that is gone are recognized by its number, and meet
//! a closed port.

use l4s_model::{FlowId, SourceId};
use l4s_units::Time;

use crate::endpoint::{Client, Server};
use crate::packet::Owner;

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

/// Connections by place.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    flows: Vec<Flow>,
    /// Places of connections that are over.
    free: Vec<u32>,
    /// How many do not last.
    downloads: usize,
}

/// The number of a flow that no packet has.
const GONE: FlowId = FlowId::new(u32::MAX);

impl Connections {
    /// Adds the next long flow of those that the scenario begins with, each at the place of its
    /// number.
    pub fn add_long(&mut self, group: SourceId, server: Server, client: Client) {
        self.add_app(FlowId::new(self.flows.len() as u32), group, server, client);
    }

    /// Adds the connection of an application, behind all long flows. Neither must be called after
    /// [`Connections::begin`].
    pub fn add_app(&mut self, flow: FlowId, group: SourceId, server: Server, client: Client) {
        let owner = Owner { flow, slot: self.flows.len() as u32, group };
        self.flows.push(Flow { owner, lasts: true, began: Time::ZERO, server, client });
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
        let slot = self.free.pop().unwrap_or(self.flows.len() as u32);
        let (server, client) = ends;
        let new = Flow { owner: Owner { flow, slot, group }, lasts, began, server, client };
        match self.flows.get_mut(slot as usize) {
            Some(place) => *place = new,
            None => self.flows.push(new),
        }
        slot
    }

    /// Another connection takes the place of one that lasts.
    pub fn replace(&mut self, slot: u32, flow: FlowId, (server, client): (Server, Client)) {
        let place = &mut self.flows[slot as usize];
        let owner = Owner { flow, ..place.owner };
        let began = place.began;
        *place = Flow { owner, lasts: true, began, server, client };
    }

    /// A connection is over.
    pub fn end(&mut self, slot: u32) {
        let flow = &mut self.flows[slot as usize];
        flow.owner.flow = GONE;
        self.downloads -= usize::from(!flow.lasts);
        self.free.push(slot);
    }

    /// How many downloads there are.
    pub fn downloads(&self) -> usize {
        self.downloads
    }

    /// Whether the connection at this place stays there when it is over: one of a long flow or of
    /// an application.
    #[inline]
    pub fn is_lasting(&self, slot: u32) -> bool {
        self.flows[slot as usize].lasts
    }

    /// The connection of flow `flow` at this place, unless it is gone.
    #[inline]
    pub fn of(&mut self, slot: u32, flow: FlowId) -> Option<&mut Flow> {
        Some(&mut self.flows[slot as usize]).filter(|found| found.owner.flow == flow)
    }

    /// The connection at this place, unless it is gone.
    #[inline]
    pub fn at(&mut self, slot: u32) -> Option<&mut Flow> {
        Some(&mut self.flows[slot as usize]).filter(|found| found.owner.flow != GONE)
    }

    /// Those of long flows and of applications, by place.
    pub fn lasting(&self) -> impl Iterator<Item = &Flow> {
        self.flows.iter().filter(|flow| flow.lasts && flow.owner.flow != GONE)
    }

    /// How many places there are: the most connections that there ever were at a time.
    pub fn places(&self) -> usize {
        self.flows.len()
    }
}
