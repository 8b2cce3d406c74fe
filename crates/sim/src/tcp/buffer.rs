//! The receive window: how far beyond what it has a client lets its server send (RFC 9293 §3.8.6).
//!
//! Linux' autotuning (dynamic right-sizing, `tcp_rcv_space_adjust`): a buffer of 128 KiB, half of
//! which is for payload, and from then on twice what arrived in order in the best round trip, and
//! more while that grows. The application reads at once. There is no upper limit: the buffers of
//! the other substrates are as large as their path needs, too. So the window is never what limits
//! a flow that makes progress; one that waits for a lost segment can send so much beyond it and no
//! more.

use l4s_units::Time;

use crate::packet::{Stamp, Stamps};

/// Half of `tcp_rmem[1]`, 131,072 B, in segments of 1448 B.
pub(super) const INITIAL: u32 = 45;
/// What a first round trip is to bring: the initial window of the sender (RFC 6928).
const FIRST_ROUND: u64 = 10;

/// The window of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    /// Segments that it has room for.
    window: u32,
    /// The most segments that arrived in order in a round trip.
    most: u64,
    /// The first segment missing when this round trip began, and when that was.
    round: (u64, Stamp),
}

impl Buffer {
    pub fn new() -> Buffer {
        Buffer { window: INITIAL, most: FIRST_ROUND, round: (0, Stamp::default()) }
    }

    /// Segments from the first missing one on that the sender may send.
    #[inline]
    pub fn window(&self) -> u32 {
        self.window
    }

    /// A segment arrived; `next` is the first one missing now, and `beyond` follows the last one
    /// received.
    #[inline]
    pub fn take(&mut self, stamps: Stamps, next: u64, beyond: u64, now: Time) {
        // It answers what was sent after the round trip began.
        if self.round.1.is_before(stamps.echo) {
            self.end_round(next, beyond, now);
        }
    }

    #[inline(never)]
    fn end_round(&mut self, next: u64, beyond: u64, now: Time) {
        let arrived = next - self.round.0;
        if arrived > self.most {
            // This is told a round trip late, and a sender in slow start doubles in every one.
            let twice = 2 * arrived;
            let growth = 2 * twice * (arrived - self.most) / self.most;
            let window = twice + growth + beyond.saturating_sub(next);
            self.window = self.window.max(u32::try_from(window).unwrap_or(u32::MAX));
            self.most = arrived;
        }
        self.round = (next, Stamp::at(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use l4s_units::Duration;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    /// Rounds of 50 ms in which so many segments arrive in order; the window after each.
    fn windows(rounds: &[u64]) -> Vec<u32> {
        let (mut buffer, mut next, mut now) = (Buffer::new(), 0, Time::ZERO + MS * 50);
        let mut windows = Vec::new();
        for arrive in rounds {
            // What was sent in the last round trip answers the acknowledgements of the one before.
            let echo = Stamp::at(now.saturating_sub(MS * 49));
            let sent = Stamp::at(now);
            buffer.take(Stamps { sent, echo }, next, next, now);
            windows.push(buffer.window());
            next += arrive;
            now += MS * 50;
        }
        windows
    }

    #[test]
    fn it_follows_slow_start_and_does_not_shrink() {
        // After 20 segments where 10 were expected: 2·20 + 4·20·10/10 = 120.
        assert_eq!(windows(&[10, 20, 40, 5, 5, 0]), [45, 45, 120, 240, 240, 240]);
    }

    proptest! {
        /// Whatever a sender that doubles at most per round trip sends is within the window.
        #[test]
        fn no_sender_that_makes_progress_is_limited(growth in prop::collection::vec(0.0..2.0_f64, 1..12)) {
            let mut rounds = vec![10_u64];
            for factor in growth {
                rounds.push((rounds[rounds.len() - 1] as f64 * factor) as u64);
            }
            for (arrive, window) in rounds.iter().zip(windows(&rounds)) {
                prop_assert!(*arrive <= window.into(), "{arrive} of {window}: {rounds:?}");
            }
        }
    }
}
