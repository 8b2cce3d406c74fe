//! Pacing: bursts leave one by one, at the pacing rate, as behind Linux' `fq`.

use l4s_units::{Duration, Time};

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
    /// Segments at the start of a connection that are not paced, unless the congestion control has
    /// a rate for them.
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

    /// So many bytes left, at `rate` bytes per second. Where the last burst could have left sooner,
    /// the next one may: as much, but by no more than half (`tcp_update_skb_after_send`).
    pub fn charge(&mut self, bytes: u64, rate: u64, now: Time) {
        if self.on && rate > 0 {
            let span = u128::from(bytes) * 1_000_000_000 / u128::from(rate);
            let span = Duration::from_nanos(span as u64);
            let credit = now.since(self.free_at);
            self.free_at = self.free_at.max(now) + span.saturating_sub(credit.min(span / 2));
        }
    }
}
