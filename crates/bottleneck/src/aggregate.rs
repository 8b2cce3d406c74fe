//! A link that sends in bursts, as a radio does that aggregates frames, or a cable modem that has
//! to ask for its turn.
//!
//! ```text
//! queue  ▏▏▏▏▏▏▏▏          ▏▏▏▏▏▏▏▏▏▏         taken at once, at an opportunity
//! link   └── airtime ──┘└── airtime ──┘       at the rate of the link
//! client               ▏▏▏▏▏▏▏▏          ▏▏▏  arrives at once, at the end
//! ```
//!
//! While an aggregate is transmitted nothing leaves the queue. Then the next one takes the backlog,
//! up to its longest airtime; a lone packet on an idle link waits for no other. The shaper charges
//! for each packet as usual, and an aggregate is in transmission until that debt is paid. So the mean
//! rate is the link's, and a new rate holds for the rest of the aggregate in transmission.

use std::collections::VecDeque;

use l4s_aqm::MTU;
use l4s_units::{Bytes, Duration, Time};

/// The aggregate in transmission.
#[derive(Debug)]
pub(crate) struct Aggregate<P> {
    /// The longest airtime.
    airtime: Duration,
    /// As much at the rate of the link.
    limit: Bytes,
    packets: VecDeque<P>,
    /// Bytes of them.
    size: Bytes,
    /// Whether more may join.
    open: bool,
    /// When they arrive.
    lands: Time,
    /// The largest packet so far. There must be room for one of this size, since a queue does not reveal
    /// the size of its next packet.
    largest: Bytes,
}

impl<P> Aggregate<P> {
    /// Nothing is on the air.
    pub fn new(airtime: Duration, limit: Bytes) -> Self {
        Aggregate {
            airtime,
            limit,
            packets: VecDeque::new(),
            size: Bytes::ZERO,
            open: false,
            lands: Time::ZERO,
            largest: MTU,
        }
    }

    /// The longest airtime.
    pub fn airtime(&self) -> Duration {
        self.airtime
    }

    /// A packet of this size may come out of the queue some time.
    pub fn expect(&mut self, size: Bytes) {
        self.largest = self.largest.max(size);
    }

    /// The link has another rate: `limit` is the longest airtime now, and the aggregate in transmission
    /// arrives at `lands`.
    pub fn rate_changed(&mut self, limit: Bytes, lands: Time) {
        self.limit = limit;
        if !self.packets.is_empty() {
            self.lands = lands;
        }
    }

    /// Whether a packet may be taken, where the shaper is `free` or not. An aggregate that was begun
    /// takes packets until it is full or [`Aggregate::close`]d.
    pub fn may_take(&mut self, free: bool) -> bool {
        if !self.open {
            self.open = free && self.packets.is_empty();
            self.size = Bytes::ZERO;
        }
        // A packet that is longer than any aggregate goes alone.
        let room = self.size == Bytes::ZERO || self.size + self.largest <= self.limit;
        self.open &= room;
        self.open
    }

    /// A packet of this size was taken; now all arrive at `lands`.
    pub fn taken(&mut self, size: Bytes, lands: Time) {
        self.size += size;
        self.lands = lands;
    }

    /// Nothing more waits: the aggregate is complete.
    pub fn close(&mut self) {
        self.open = false;
    }

    /// The packet that was taken last goes on the air.
    pub fn push(&mut self, packet: P) {
        self.packets.push_back(packet);
    }

    /// When the aggregate in transmission arrives; `None` for nothing.
    pub fn lands(&self) -> Option<Time> {
        (!self.packets.is_empty()).then_some(self.lands)
    }

    /// The next packet that arrived.
    pub fn land(&mut self, now: Time) -> Option<P> {
        if now < self.lands { None } else { self.packets.pop_front() }
    }
}

#[cfg(test)]
mod tests;
