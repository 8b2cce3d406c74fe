//! The window that a congestion control steers.

/// Congestion window and slow-start threshold of one connection, in whole segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// How many segments may be in flight. At least 1.
    pub cwnd: u32,
    /// Below this the window grows by slow start; `u32::MAX` before the first reduction.
    pub ssthresh: u32,
    /// Segments acknowledged since the last additive increase.
    credit: u32,
    /// Whether the last flight was as large as the window allowed (RFC 7661 §4.1).
    pub limited: bool,
}

impl Window {
    /// Before the first reduction there is no threshold.
    pub const NO_THRESHOLD: u32 = u32::MAX;

    /// A new connection's window of `cwnd` segments.
    pub const fn new(cwnd: u32) -> Self {
        Window { cwnd, ssthresh: Window::NO_THRESHOLD, credit: 0, limited: false }
    }

    /// The slow-start threshold; `None` before the first reduction.
    pub fn threshold(&self) -> Option<u32> {
        (self.ssthresh != Window::NO_THRESHOLD).then_some(self.ssthresh)
    }

    /// Whether the window grows by slow start.
    #[inline]
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows by one segment per segment acknowledged, up to the threshold; returns how many of
    /// `acked` are left for congestion avoidance (RFC 5681 §3.1, RFC 3465 with L unlimited).
    #[inline]
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let grown = self.cwnd.saturating_add(acked).min(self.ssthresh);
        let left = acked - (grown - self.cwnd);
        self.cwnd = grown;
        left
    }

    /// Grows by one segment for every `per` segments acknowledged (RFC 5681 §3.1).
    #[inline]
    pub fn additive_increase(&mut self, per: u32, acked: u32) {
        let per = per.max(1);
        // Credit gathered under a larger divisor is spent as one segment, not as a burst.
        if self.credit >= per {
            self.credit = 0;
            self.cwnd += 1;
        }
        self.credit += acked;
        if self.credit >= per {
            self.cwnd += self.credit / per;
            self.credit %= per;
        }
    }

    /// Forgets credit towards the next increase, when a reduction starts.
    #[inline]
    pub fn forget_credit(&mut self) {
        self.credit = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_stops_at_the_threshold_and_returns_the_rest() {
        let mut window = Window { ssthresh: 12, ..Window::new(10) };
        assert_eq!(window.slow_start(5), 3);
        assert_eq!(window.cwnd, 12);
    }

    #[test]
    fn additive_increase_is_one_segment_per_window() {
        let mut window = Window::new(10);
        for _ in 0..9 {
            window.additive_increase(10, 1);
            assert_eq!(window.cwnd, 10);
        }
        window.additive_increase(10, 1);
        assert_eq!(window.cwnd, 11);
    }
}
