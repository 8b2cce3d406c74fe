//! The window that a congestion control steers.

use crate::Pause;

/// Congestion window and slow-start threshold of one connection, in whole segments.
///
/// ```
/// use l4s_cc::Window;
///
/// let mut window = Window::new(10);
/// window.ssthresh = 15;
/// // Slow start takes five of eight acknowledged segments, and congestion avoidance the others.
/// let left = window.slow_start(8);
/// assert_eq!((window.cwnd, left), (15, 3));
/// window.additive_increase(15, left);
/// assert_eq!(window.cwnd, 15);
/// window.additive_increase(15, 12);
/// assert_eq!(window.cwnd, 16);
/// ```
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
    /// `acked` are left for congestion avoidance (RFC 5681 §3.1, RFC 3465 with L unlimited). A
    /// window at or above the threshold stays, and all of `acked` are left.
    #[inline]
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let grown = self.cwnd.saturating_add(acked).min(self.ssthresh).max(self.cwnd);
        let left = acked - (grown - self.cwnd);
        self.cwnd = grown;
        left
    }

    /// Grows by one segment for every `per` segments acknowledged (RFC 5681 §3.1), up to
    /// `u32::MAX`.
    #[inline]
    pub fn additive_increase(&mut self, per: u32, acked: u32) {
        let per = per.max(1);
        // Credit gathered under a larger divisor is spent as one segment, not as a burst.
        if self.credit >= per {
            self.credit = 0;
            self.cwnd = self.cwnd.saturating_add(1);
        }
        self.credit = self.credit.saturating_add(acked);
        if self.credit >= per {
            self.cwnd = self.cwnd.saturating_add(self.credit / per);
            self.credit %= per;
        }
    }

    /// Half the window for each timeout that the pause lasted, but not less than a new connection
    /// has; slow start leads back to three quarters of it (RFC 5681 §4.1, RFC 2861 §3.1, and
    /// Linux' `tcp_cwnd_restart`).
    pub fn restart(&mut self, pause: Pause, initial_window: u32) {
        if pause.length <= pause.rto {
            return;
        }
        self.ssthresh = match self.threshold() {
            Some(ssthresh) => ssthresh.max(self.cwnd / 2 + self.cwnd / 4),
            None => Window::NO_THRESHOLD,
        };
        // Not below that of a new connection.
        let least = initial_window.min(self.cwnd);
        let mut left = pause.length.saturating_sub(pause.rto);
        while !left.is_zero() && self.cwnd > least {
            self.cwnd /= 2;
            left = left.saturating_sub(pause.rto);
        }
        self.cwnd = self.cwnd.max(least);
    }

    /// Returns to the window and the threshold before a reduction, where these were larger
    /// (RFC 4015 §3.2, RFC 9438 §4.9.2, `tcp_undo_cwnd_reduction`).
    pub fn undo(&mut self, prior: Window) {
        self.cwnd = self.cwnd.max(prior.cwnd);
        self.ssthresh = self.ssthresh.max(prior.ssthresh);
    }

    /// Drops credit towards the next increase, when a reduction starts.
    #[inline]
    pub fn forget_credit(&mut self) {
        self.credit = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use l4s_units::{Duration, Time};

    /// A window of 100 segments after a pause of `ms` milliseconds, with a timeout of 200 ms.
    fn after(ms: u64) -> (u32, u32) {
        let mut window = Window { ssthresh: 50, ..Window::new(100) };
        let (length, rto) = (Duration::from_millis(ms), Duration::from_millis(200));
        window.restart(Pause { now: Time::ZERO, length, rto }, 10);
        (window.cwnd, window.ssthresh)
    }

    #[test]
    fn a_pause_halves_the_window_for_each_timeout() {
        assert_eq!(after(200), (100, 50));
        // tcp_cwnd_restart subtracts a timeout before it looks: 201 ms leave 1 ms, 400 ms leave
        // 200 ms, one halving; 401 ms leave 201 ms, two.
        assert_eq!([201, 400, 401].map(after), [(50, 75), (50, 75), (25, 75)]);
        // 100, 50, 25, 12 and then 6, which is less than the initial window.
        assert_eq!([601, 801, 60_000].map(after), [(12, 75), (10, 75), (10, 75)]);
    }

    #[test]
    fn a_window_without_a_threshold_or_below_the_initial_one_stays_so() {
        let pause = |s| Pause {
            now: Time::ZERO,
            length: Duration::from_secs(s),
            rto: Duration::from_secs(1),
        };
        let mut window = Window::new(80);
        window.restart(pause(2), 10);
        assert_eq!((window.cwnd, window.threshold()), (40, None));
        let mut window = Window { ssthresh: 2, ..Window::new(4) };
        window.restart(pause(60), 10);
        assert_eq!((window.cwnd, window.ssthresh), (4, 3));
        // At any ssthresh of a new connection.
        let mut window = Window { ssthresh: 50, ..Window::new(100) };
        window.restart(pause(60), 32);
        assert_eq!(window.cwnd, 32);
    }

    /// RFC 9438 §4.9.2.
    #[test]
    fn what_is_larger_by_then_is_kept() {
        let mut window = Window { ssthresh: 15, ..Window::new(20) };
        window.undo(Window { ssthresh: 30, ..Window::new(10) });
        assert_eq!((window.cwnd, window.ssthresh), (20, 30));
    }

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

    #[test]
    fn slow_start_leaves_a_window_above_the_threshold_alone() {
        let mut window = Window { ssthresh: 12, ..Window::new(20) };
        assert_eq!(window.slow_start(5), 5);
        assert_eq!((window.cwnd, window.ssthresh), (20, 12));
    }

    #[test]
    fn growth_ends_at_the_largest_window() {
        let mut window = Window::new(10);
        window.additive_increase(1, u32::MAX);
        assert_eq!(window.cwnd, u32::MAX);
        window.additive_increase(u32::MAX, u32::MAX - 1);
        window.additive_increase(u32::MAX, u32::MAX);
        assert_eq!(window.cwnd, u32::MAX);
    }
}
