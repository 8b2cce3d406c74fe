//! When packets may leave a link that follows a trace, and when their last byte has left.

use l4s_trace::Playback;
use l4s_units::{Bytes, Time};

use crate::opportunities::Opportunities;
use crate::steps::Steps;

/// It knows when a packet may leave, and when its last byte has left.
#[derive(Debug)]
pub(crate) enum Pacer {
    /// A trace of rates.
    Steps(Steps),
    /// A trace of delivery opportunities.
    Opportunities(Opportunities),
}

impl Pacer {
    /// The pacer of an idle link.
    pub fn new(playback: Playback, burst: Bytes) -> Pacer {
        match playback {
            Playback::Steps(steps) => Pacer::Steps(Steps::new(steps, burst)),
            Playback::Opportunities(trace) => Pacer::Opportunities(Opportunities::new(trace)),
        }
    }

    /// When the next packet may leave, if it came before the last call of [`Pacer::is_free`].
    pub fn free_at(&self) -> Time {
        match self {
            Pacer::Steps(steps) => steps.free_at(),
            Pacer::Opportunities(opportunities) => opportunities.free_at(),
        }
    }

    /// Whether a packet may leave at `now`. Opportunities before it are lost.
    pub fn is_free(&mut self, now: Time) -> bool {
        match self {
            Pacer::Steps(steps) => steps.pass(now),
            Pacer::Opportunities(opportunities) => opportunities.pass(now),
        }
        now >= self.free_at()
    }

    /// A packet of `size` leaves at `now`, when the link is free.
    pub fn charge(&mut self, size: Bytes, now: Time) {
        match self {
            Pacer::Steps(steps) => steps.charge(size, now),
            Pacer::Opportunities(opportunities) => opportunities.charge(size, now),
        }
    }

    /// When the last packet that left arrives at the other end. A link with a rate hands it over at once,
    /// as its transmission starts; opportunities hand it over with its last byte.
    pub fn arrives_at(&self, now: Time) -> Time {
        match self {
            Pacer::Steps(_) => now,
            Pacer::Opportunities(opportunities) => opportunities.done_at(),
        }
    }

    /// The bytes that were charged for and are not transmitted yet at `now`.
    pub fn owed(&self, now: Time) -> Bytes {
        match self {
            Pacer::Steps(steps) => steps.owed(now),
            Pacer::Opportunities(opportunities) => opportunities.owed(now),
        }
    }
}
