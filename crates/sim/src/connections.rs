//! The connections that there are: those of long flows and of applications for good, those of downloads while they
//! last.
//!
//! A download's place is used again once its server has closed, so that memory follows how many
//! there are at a time, not how many there were. What still comes for a connection that is gone is
//! told by its number, and meets a closed port.

use crate::packet::Owner;
use crate::tcp::{Client, Sender};

/// A connection.
#[derive(Debug)]
pub(crate) struct Flow {
    pub owner: Owner,
    pub server: Sender,
    pub client: Client,
}

/// Connections by place.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    flows: Vec<Flow>,
    /// So many are those of long flows, each at the place of its number, and of applications.
    long: usize,
    /// Places of downloads that are over.
    free: Vec<u32>,
}

/// The number of a flow that no packet has.
const GONE: u32 = u32::MAX;

impl Connections {
    /// Adds the next long flow. Must not be called after [`Connections::begin`].
    pub fn add_long(&mut self, group: u16, server: Sender, client: Client) {
        let number = self.flows.len() as u32;
        let owner = Owner { flow: number, slot: number, group };
        self.flows.push(Flow { owner, server, client });
        self.long = self.flows.len();
    }

    /// Adds the connection of an application, after all long flows. Must not be
    /// called after [`Connections::begin`].
    pub fn add_app(&mut self, flow: u32, group: u16, server: Sender, client: Client) {
        let slot = self.flows.len() as u32;
        self.flows.push(Flow { owner: Owner { flow, slot, group }, server, client });
        self.long = self.flows.len();
    }

    /// A download begins; gives its place.
    pub fn begin(&mut self, flow: u32, group: u16, server: Sender, client: Client) -> u32 {
        let slot = self.free.pop().unwrap_or(self.flows.len() as u32);
        let new = Flow { owner: Owner { flow, slot, group }, server, client };
        match self.flows.get_mut(slot as usize) {
            Some(place) => *place = new,
            None => self.flows.push(new),
        }
        slot
    }

    /// The connection of a download is over.
    pub fn end(&mut self, slot: u32) {
        self.flows[slot as usize].owner.flow = GONE;
        self.free.push(slot);
    }

    /// Whether the connection at this place ends some time.
    #[inline]
    pub fn is_download(&self, slot: u32) -> bool {
        slot as usize >= self.long
    }

    /// The connection of flow `flow` at this place, unless it is gone.
    #[inline]
    pub fn of(&mut self, slot: u32, flow: u32) -> Option<&mut Flow> {
        Some(&mut self.flows[slot as usize]).filter(|found| found.owner.flow == flow)
    }

    /// The connection at this place, unless it is gone.
    #[inline]
    pub fn at(&mut self, slot: u32) -> Option<&mut Flow> {
        Some(&mut self.flows[slot as usize]).filter(|found| found.owner.flow != GONE)
    }

    /// Those of long flows, by number, and then those of applications.
    pub fn long(&self) -> &[Flow] {
        &self.flows[..self.long]
    }

    /// How many places there are: the most connections that there ever were at a time.
    pub fn places(&self) -> usize {
        self.flows.len()
    }
}
