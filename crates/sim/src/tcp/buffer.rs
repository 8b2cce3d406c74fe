//! The receive window: how far beyond what it has a client lets its server send (RFC 9293 §3.8.6).
//!
//! Linux' autotuning (dynamic right-sizing, `tcp_rcv_space_adjust`): the buffer holds 128 KiB, and from
//! then on twice what arrived in order in the best round trip, and more while that grows. The window
//! follows the buffer by two segments for each one that arrives (`tcp_grow_window`). The application
//! reads at once. There is no upper limit: the buffers of the other substrates are as large as their
//! path needs, too. So the window is never what limits a flow that makes progress; one that waits for a
//! lost segment can send so much beyond it and no more.

use l4s_units::{Duration, Time};

use crate::packet::{Stamp, Stamps, TIME_STAMPS};

/// Half of `tcp_rmem[1]`, 131,072 B: the window before the first segment, in whole segments
/// (`tcp_select_initial_window`).
const INITIAL: u64 = 65_536;
/// What `tcp_rmem[1]` holds of segments of 1448 B, each of which takes some 2180 B of memory (`truesize`).
/// Here it is the same for segments of any size.
const FIRST_LIMIT: u64 = 60 * 1448;
/// Segments by which the window grows for each one that arrives.
const GROWTH: u64 = 2;
/// Segments that a first round trip is to bring: the initial window of the sender (RFC 6928).
const FIRST_ROUND: u64 = 10;

/// The window before the first segment in bytes, where segments have at most `mss` of payload. Linux
/// counts the time stamps of a segment in here.
pub(super) fn initial_window(mss: u16) -> u64 {
    let with_stamps = advertised(mss);
    INITIAL / with_stamps * with_stamps
}

/// The maximum segment size that the client announces, which counts no time stamps (`advmss`).
fn advertised(mss: u16) -> u64 {
    u64::from(mss) + TIME_STAMPS
}

/// The window of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    /// Bytes by which the window grows for each segment.
    growth: u32,
    /// Bytes from the first missing one on that the sender may send (`rcv_ssthresh`).
    window: u64,
    /// Bytes that the buffer holds (`window_clamp`).
    limit: u64,
    /// The most bytes that arrived in order in a round trip.
    most: u64,
    /// The first byte missing when this round trip began, and when that was.
    round: (u64, Time),
    /// The RTT by time stamps: at once where it falls, by an eighth where it rises
    /// (`tcp_rcv_rtt_update`).
    rtt: Duration,
    /// The time stamp that the last segment echoed: each gives one sample.
    echo: Stamp,
}

impl Buffer {
    /// The window of a client whose segments have at most `mss` bytes of payload.
    pub fn new(mss: u16) -> Buffer {
        Buffer {
            growth: (GROWTH * advertised(mss)) as u32,
            window: initial_window(mss),
            limit: FIRST_LIMIT,
            most: FIRST_ROUND * advertised(mss),
            round: (0, Time::ZERO),
            rtt: Duration::MAX,
            echo: Stamp::default(),
        }
    }

    /// Bytes from the first missing one on that the sender may send.
    #[inline]
    pub fn window(&self) -> u32 {
        u32::try_from(self.window).unwrap_or(u32::MAX)
    }

    /// The RTT by time stamps; the longest duration before the first.
    pub fn rtt(&self) -> Duration {
        self.rtt
    }

    /// A segment arrived; `next` is the first byte missing now, and `beyond` follows the last one
    /// received. Returns whether the window grew.
    #[inline]
    pub fn take(&mut self, stamps: Stamps, next: u64, beyond: u64, now: Time) -> bool {
        let grows = self.window < self.limit;
        if grows {
            self.window = self.limit.min(self.window + u64::from(self.growth));
        }
        if stamps.echo != self.echo {
            self.measure(stamps.echo, now);
        }
        if now.since(self.round.1) >= self.rtt {
            self.end_round(next, beyond, now);
        }
        grows
    }

    #[inline(never)]
    fn measure(&mut self, echo: Stamp, now: Time) {
        let sample = echo.age(now);
        self.rtt = if sample < self.rtt { sample } else { (self.rtt * 7 + sample) / 8 };
        self.echo = echo;
    }

    #[inline(never)]
    fn end_round(&mut self, next: u64, beyond: u64, now: Time) {
        let (arrived, most) = (next - self.round.0, self.most);
        if arrived > most {
            // This is told a round trip late, and a sender in slow start doubles in every one.
            let twice = 2 * arrived;
            let growth =
                (u128::from(2 * twice) * u128::from(arrived - most) / u128::from(most)) as u64;
            let limit = twice + growth + beyond.saturating_sub(next);
            (self.limit, self.most) = (self.limit.max(limit), arrived);
        }
        self.round = (next, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::MSS;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    /// Round trips of 50 ms in which this number of segments arrive in order, 10 us apart; window and limit
    /// after each.
    fn windows(rounds: &[u64]) -> Vec<(u64, u64)> {
        let (mut buffer, mut next, mut start) = (Buffer::new(MSS as u16), 0, Time::ZERO + MS * 75);
        let mut windows = Vec::new();
        for arrive in rounds {
            let (echo, sent) = (Stamp::at(start.saturating_sub(MS * 50)), Stamp::at(start));
            for n in 0..*arrive {
                next += MSS;
                let now = start + Duration::from_micros(10) * n;
                buffer.take(Stamps { sent, echo }, next, next, now);
            }
            windows.push((buffer.window, buffer.limit));
            start += MS * 50;
        }
        windows
    }

    #[test]
    fn it_follows_slow_start_and_does_not_shrink() {
        // Ten segments are expected at first, with the 12 B of time stamps that each has here.
        let (segment, expected) = (MSS, 10 * (MSS + TIME_STAMPS));
        assert_eq!(windows(&[10, 10]), [(FIRST_LIMIT, FIRST_LIMIT); 2]);
        // With the first segment of a round trip ends the one before: after 20 segments where 10 were
        // expected the buffer is 2·20 + 4·20·(20 − 10)/10 = 120.
        let arrived = 20 * segment;
        let limit = 2 * arrived + 4 * arrived * (arrived - expected) / expected;
        // Each segment adds 2 to the window: 10 of the 11, as the last limit is known with the first of them.
        let grown = FIRST_LIMIT + 10 * 2 * (MSS + TIME_STAMPS);
        assert_eq!(windows(&[10, 20, 11])[2], (grown, limit));
        let limits: Vec<u64> =
            windows(&[10, 20, 40, 80, 5]).iter().map(|w| w.1 / segment).collect();
        assert_eq!(limits, [60, 60, 118, 240, 480]);
    }

    proptest! {
        /// Whatever a sender that doubles at most per round trip sends is within the window at its end,
        /// and was within it at its beginning, with what arrived since.
        #[test]
        fn no_sender_that_makes_progress_is_limited(growth in prop::collection::vec(0.5..2.0_f64, 1..12)) {
            let mut rounds = vec![10_u64];
            for factor in growth {
                rounds.push((rounds[rounds.len() - 1] as f64 * factor) as u64 + 1);
            }
            for (arrive, (window, _)) in rounds.iter().zip(windows(&rounds)) {
                prop_assert!(arrive * MSS <= window, "{arrive} of {window}: {rounds:?}");
            }
        }
    }
}
