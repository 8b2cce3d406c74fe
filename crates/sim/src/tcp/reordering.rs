//! The reordering window of RACK: how long a later segment may overtake one before that counts as lost
//! (RFC 8985 §6.2 step 4). It is a time, not a number of packets (RFC 9331 §4.3).

use l4s_units::Duration;

/// The reordering that any path may have, in segments (`tcp_reordering`).
const USUAL: u32 = 3;
/// The most that is kept (`tcp_max_reordering`).
const MOST: u32 = 300;
/// Recoveries for which the window stays as it is after a retransmission that was not needed.
const PERSIST: u8 = 16;

/// The state of reordering on the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reordering {
    /// Whether a segment was overtaken: from then on there is a window also where duplicates show a
    /// loss, and in recovery.
    pub seen: bool,
    /// By how many segments one was overtaken, at most (`tp->reordering`).
    degree: u32,
    /// The window in quarters of the lowest RTT.
    quarters: u8,
    /// Recoveries left before the window is a quarter again.
    persist: u8,
    /// The window grows once before this segment is acknowledged.
    round_end: u64,
}

impl Reordering {
    pub fn new() -> Self {
        Reordering { seen: false, degree: USUAL, quarters: 1, persist: 0, round_end: 0 }
    }

    /// The window, where there is one.
    pub fn window(&self, min_rtt: Duration, srtt: Duration) -> Duration {
        (min_rtt / 4 * u64::from(self.quarters)).min(srtt)
    }

    /// A segment arrived after `segments` that were sent later; none for 0.
    #[inline]
    pub fn overtaken_by(&mut self, segments: u32) {
        if segments > 0 {
            self.seen = true;
            self.degree = self.degree.max(segments.min(MOST));
        }
    }

    /// Whether segments arrive in so little order that the window may grow with any of them, and not
    /// only with those up to the first hole (`tcp_may_raise_cwnd`).
    #[inline]
    pub fn is_common(&self) -> bool {
        self.degree > USUAL
    }

    /// A timeout, though later segments were delivered: it was loss and no reordering (`tcp_enter_loss`).
    pub fn timed_out(&mut self, sacked: u32) {
        if sacked >= USUAL {
            self.degree = USUAL;
        }
    }

    /// D-SACK reports a retransmission that was not needed; `una` and `nxt` delimit the data in flight.
    pub fn came_twice(&mut self, una: u64, nxt: u64) {
        if self.seen && una >= self.round_end {
            self.quarters = self.quarters.saturating_add(1);
            self.persist = PERSIST;
            self.round_end = nxt;
        }
    }

    /// A recovery came to its end.
    pub fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.quarters = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// RFC 8985 §6.2 step 4, with D-SACK of retransmissions in round trips of 10 segments.
    #[test]
    fn it_grows_by_a_quarter_per_round_trip_and_lasts_for_16_recoveries() {
        let mut reordering = Reordering::new();
        let window = |reordering: &Reordering| reordering.window(MS * 40, MS * 100);
        reordering.came_twice(0, 10);
        assert_eq!(window(&reordering), MS * 10, "nothing was overtaken");
        reordering.seen = true;
        for (una, expected) in
            [(0, 20), (9, 20), (10, 30), (15, 30), (20, 40), (100, 50), (110, 60)]
        {
            reordering.came_twice(una, una + 10);
            assert_eq!(window(&reordering), MS * expected, "D-SACK at {una}");
        }
        for _ in 0..15 {
            reordering.recovered();
        }
        assert_eq!(window(&reordering), MS * 60);
        reordering.recovered();
        assert_eq!(window(&reordering), MS * 10);
        for una in 0..300 {
            reordering.came_twice(una * 10 + 200, una * 10 + 210);
        }
        assert_eq!(window(&reordering), MS * 100, "no longer than the RTT");
    }

    #[test]
    fn more_than_three_segments_are_common_reordering_until_a_timeout_shows_loss() {
        let mut reordering = Reordering::new();
        for segments in [0, 3] {
            reordering.overtaken_by(segments);
            assert_eq!((reordering.seen, reordering.is_common()), (segments > 0, false));
        }
        reordering.overtaken_by(4);
        reordering.overtaken_by(1);
        reordering.timed_out(2);
        assert!(reordering.is_common());
        reordering.timed_out(3);
        assert!(reordering.seen && !reordering.is_common());
    }
}
