//! Whether a sender used its window: one that was not used does not grow.

use l4s_cc::Window;

use super::scoreboard::Scoreboard;

/// Whether the window was used up (RFC 7661 §4.1).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// Most segments in flight at the end of a burst, in this round trip.
    max_packets_out: u32,
    /// The round trip ends when this segment is acknowledged.
    round_end: u64,
    limited: bool,
}

impl Usage {
    /// A burst ended; `limited` says whether by the window.
    #[inline]
    pub fn update(&mut self, board: &Scoreboard, limited: bool) {
        let packets_out = board.packets_out();
        let round_over = board.una() >= self.round_end;
        if round_over || limited || (!self.limited && packets_out > self.max_packets_out) {
            self.limited = limited;
            self.max_packets_out = packets_out;
            self.round_end = board.nxt();
        }
    }

    /// Whether the window may grow. In slow start, half the window is enough: it may double.
    #[inline]
    pub fn is_limited(&self, window: &Window) -> bool {
        self.limited
            || (window.in_slow_start() && window.cwnd < self.max_packets_out.saturating_mul(2))
    }
}
