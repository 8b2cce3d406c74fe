//! A link that sends in bursts, as a radio does that aggregates frames, or a cable modem that has
//! to ask for its turn.
//!
//! ```text
//! queue  ▏▏▏▏▏▏▏▏          ▏▏▏▏▏▏▏▏▏▏         taken at once, at an opportunity
//! link   └── airtime ──┘└── airtime ──┘       at the rate of the link
//! client               ▏▏▏▏▏▏▏▏          ▏▏▏  arrives at once, at the end
//! ```
//!
//! While an aggregate is on the air nothing leaves the queue. Then the next one takes what waits,
//! up to its longest airtime; a lone packet on an idle link waits for no other. The shaper charges
//! for each packet as ever, and an aggregate is on the air until that debt is paid: so the mean
//! rate is the link's, and a new rate holds for the rest of what is on the air.

use std::collections::VecDeque;

use l4s_aqm::MTU;
use l4s_units::{Bytes, Duration, Time};

/// What is on the air.
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
    /// The largest packet so far: for one of these there must be room, as a queue does not tell
    /// beforehand what comes next.
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

    /// The link has another rate: so much is the longest airtime now, and what is on the air
    /// arrives then.
    pub fn rate_changed(&mut self, limit: Bytes, lands: Time) {
        self.limit = limit;
        if !self.packets.is_empty() {
            self.lands = lands;
        }
    }

    /// Whether a packet may be taken, where the shaper is `free` or not. What was begun goes on
    /// until it is full or [`Aggregate::close`]d.
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

    /// Nothing more waits: the aggregate goes as it is.
    pub fn close(&mut self) {
        self.open = false;
    }

    /// The packet that was taken last goes on the air.
    pub fn push(&mut self, packet: P) {
        self.packets.push_back(packet);
    }

    /// When what is on the air arrives; `None` for nothing.
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
