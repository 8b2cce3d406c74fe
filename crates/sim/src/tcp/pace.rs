//! Pacing: bursts leave one by one, at the pacing rate, as behind Linux' `fq`.

use l4s_units::{Duration, Time};

use crate::packet::MSS;

/// The pace of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    on: bool,
    /// When the next burst may leave.
    free_at: Time,
    /// When to send it; `NEVER` while nothing waits for its turn.
    pub due: Time,
}

impl Pace {
    /// Segments at the start of a connection that are not paced.
    pub const FREE_SEGMENTS: u64 = 10;

    /// Nothing has left yet.
    pub fn new(on: bool) -> Self {
        Pace { on, free_at: Time::ZERO, due: Time::NEVER }
    }

    /// Whether a burst must wait; then it is due at its time.
    pub fn holds_back(&mut self, now: Time) -> bool {
        let wait = self.on && now < self.free_at;
        if wait {
            self.due = self.free_at;
        }
        wait
    }

    /// `segments` left, at `rate` bytes per second.
    pub fn charge(&mut self, segments: u32, rate: u64, now: Time) {
        if self.on && rate > 0 {
            let bytes = u64::from(segments) * MSS;
            let span = u128::from(bytes) * 1_000_000_000 / u128::from(rate);
            self.free_at = self.free_at.max(now) + Duration::from_nanos(span as u64);
        }
    }
}
