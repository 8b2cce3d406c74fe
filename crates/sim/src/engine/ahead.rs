//! Memory for the events to come.
//!
//! With thousands of connections each event is of another one, whose state is not in the cache. The messages on a return line
//! say whose turn comes next, and so do the wheel of timers and the bottleneck: state is fetched while earlier events are processed.

use l4s_aqm::Queue;

use super::{Engine, Part};

/// This number of connections stays in the cache.
const FEW: usize = 64;
/// Messages before the turn of a sender when its state is fetched: memory takes about as long as they do.
const STATE: usize = 4;
/// Its state says where its segments in flight are, so those are fetched later.
const FLIGHT: usize = 2;
/// Messages themselves were written a round trip ago.
const MESSAGE: usize = 8;

impl<O, P: Part<O>> Engine<O, P> {
    /// Fetches memory for the client of the packet that follows in a queue.
    #[inline(always)]
    pub(super) fn look_ahead_of_departures(&self, queue: Queue) {
        if !P::CLIENTS || !self.direct || self.connections.places() <= FEW {
            return;
        }
        if let Some(next) = self.bottleneck.head(queue).filter(|next| !next.is_udp()) {
            self.connections.prefetch_client(next.slot());
        }
    }

    /// Fetches memory for the timer that comes up next, and for the sender of its connection.
    #[inline]
    pub(super) fn look_ahead_of_timers(&self) {
        if self.connections.places() <= FEW {
            return;
        }
        if let Some(timer) = self.timers.upcoming() {
            self.timers.prefetch(timer);
            self.connections.prefetch(timer / 2);
        }
    }

    /// Fetches memory for the next messages of a group's return line.
    #[inline]
    pub(super) fn look_ahead(&self, group: usize) {
        if self.connections.places() <= FEW {
            return;
        }
        let line = &self.lines[group];
        line.prefetch(MESSAGE);
        if let Some(slot) = line.slot(STATE) {
            self.timers.prefetch(2 * slot);
            self.connections.prefetch(slot);
        }
        if let Some(slot) = line.slot(FLIGHT) {
            self.connections.prefetch_flight(slot);
        }
    }
}
