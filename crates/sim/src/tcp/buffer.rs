//! The receive window of a client: the bytes that its server may send beyond those received (RFC
//! 9293 §3.8.6).
//!
//! Linux' autotuning (dynamic right-sizing, `tcp_rcv_space_adjust`): the buffer holds 128 KiB at
//! first. Then it holds twice the bytes that arrived in order in the best round trip, and more
//! while these grow. The window follows the buffer by two segments for each one that arrives
//! (`tcp_grow_window`). The application reads at once. There is no upper limit: the buffers of the
//! other substrates are as large as their path needs, too. So the window never limits a flow that
//! makes progress. A flow that waits for a lost segment can send up to the window beyond it and no more.
//!
//! A buffer that the application set (SO_RCVBUF) holds twice as much memory and does not follow the
//! flow.

use l4s_units::{Bytes, Duration, ETHERNET, Time};

use super::ranges::Ranges;
use crate::packet::{HEADER, Stamp, Stamps, TIME_STAMPS};

/// Half of `tcp_rmem[1]`, 131,072 B: the window before the first segment, in whole segments
/// (`tcp_select_initial_window`).
const INITIAL: u64 = 65_536;
/// The capacity of `tcp_rmem[1]` in segments of 1448 B, each of which takes some 2180 B of memory
/// (`truesize`). Here it is the same for segments of any size.
const FIRST_LIMIT: u64 = 60 * 1448;
/// Growth of the window for each segment that arrives, in segments.
const GROWTH: u64 = 2;
/// Segments that a first round trip is to bring: the initial window of the sender (RFC 6928).
const FIRST_ROUND: u64 = 10;

/// The window before the first segment in bytes, where segments have at most `mss` of payload. Linux
/// counts the time stamps of a segment in here.
pub(super) fn initial_window(mss: u16, rcvbuf: Option<u64>) -> u32 {
    let with_stamps = advertised(mss);
    (rcvbuf.unwrap_or(INITIAL) / with_stamps * with_stamps) as u32
}

/// The payload that fits into `memory` in segments with `mss` each (`tcp_win_from_space`). Linux
/// keeps the share of a segment's memory that is payload in 256ths (`scaling_ratio`).
fn space(memory: u64, mss: u16) -> u64 {
    let mss = u64::from(mss);
    let packet = Bytes::new(mss + HEADER) + ETHERNET;
    memory * (256 * mss / l4s_bottleneck::skb_memory(packet).get()) / 256
}

/// The largest window that 16 bits can encode with the scale of the handshake (RFC 7323 §2.3).
/// Linux chooses the scale for the window that it expects then, SO_RCVBUF (`tcp_select_initial_window`).
fn scaled_most(rcvbuf: u64) -> u64 {
    u64::from(u16::MAX) << rcvbuf.ilog2().saturating_sub(15).min(14)
}

/// The maximum segment size that the client announces, which counts no time stamps (`advmss`).
fn advertised(mss: u16) -> u64 {
    u64::from(mss) + TIME_STAMPS
}

/// The window of one connection.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    /// Growth of the window for each segment, in bytes.
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
    /// A buffer that was set.
    fixed: Option<Box<Fixed>>,
}

/// A buffer that does not follow the flow.
#[derive(Clone, Debug)]
struct Fixed {
    /// Bytes that it holds.
    space: u64,
    /// The end of the bytes that the sender may send: this never moves back
    /// (`tcp_select_window`).
    edge: u64,
}

impl Buffer {
    /// The window of a client whose segments have at most `mss` bytes of payload, and with
    /// SO_RCVBUF where that is set.
    pub fn new(mss: u16, rcvbuf: Option<u64>) -> Buffer {
        let fixed = rcvbuf.map(|rcvbuf| Box::new(Fixed { space: space(2 * rcvbuf, mss), edge: 0 }));
        let limit = match (&fixed, rcvbuf) {
            // The window grows while a segment is in the buffer (`tcp_grow_window`).
            (Some(fixed), Some(rcvbuf)) => (fixed.space - u64::from(mss)).min(scaled_most(rcvbuf)),
            _ => FIRST_LIMIT,
        };
        Buffer {
            growth: (GROWTH * advertised(mss)) as u32,
            window: u64::from(initial_window(mss, rcvbuf)).min(limit),
            limit,
            // More than ever arrives in a round trip: the limit stays.
            most: if fixed.is_some() { u64::MAX } else { FIRST_ROUND * advertised(mss) },
            round: (0, Time::ZERO),
            rtt: Duration::MAX,
            echo: Stamp::default(),
            fixed,
        }
    }

    /// The receive window in bytes, counted from `next`, the first missing byte. The data in `beyond`
    /// occupies a part of the buffer. Data before `next` occupies none, because the application has read
    /// it: Linux acknowledges a smaller window than the last one only after that
    /// (`__tcp_ack_snd_check`).
    #[inline]
    pub fn window(&mut self, next: u64, beyond: &Ranges) -> u32 {
        let window = match &mut self.fixed {
            None => self.window,
            Some(fixed) => {
                let free = fixed.space.saturating_sub(beyond.total());
                fixed.edge = fixed.edge.max(next + self.window.min(free));
                fixed.edge - next
            }
        };
        u32::try_from(window).unwrap_or(u32::MAX)
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
            // The sender receives this a round trip late, and doubles in every one in slow start.
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

    /// Round trips of 50 ms in which this number of segments arrive in order, 10 us apart; window
    /// and limit after each.
    fn windows(rounds: &[u64]) -> Vec<(u64, u64)> {
        let (mut buffer, mut next, mut start) =
            (Buffer::new(MSS as u16, None), 0, Time::ZERO + MS * 75);
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
        // Each segment adds 2 to the window: 10 of the 11, as the last limit is known with the
        // first of them.
        let grown = FIRST_LIMIT + 10 * 2 * (MSS + TIME_STAMPS);
        assert_eq!(windows(&[10, 20, 11])[2], (grown, limit));
        let limits: Vec<u64> =
            windows(&[10, 20, 40, 80, 5]).iter().map(|w| w.1 / segment).collect();
        assert_eq!(limits, [60, 60, 118, 240, 480]);
    }

    /// 1,000,000 are below 2²⁰, so that the scale is 4: of 1,250,000 B only 65,535 · 16 can be encoded.
    #[test]
    fn a_window_is_no_larger_than_its_scale_allows() {
        assert_eq!(Buffer::new(MSS as u16, Some(1_000_000)).limit, 1_048_560);
        assert_eq!(Buffer::new(MSS as u16, Some(60_000)).limit, 65_535);
        assert_eq!(scaled_most(i32::MAX as u64 / 2), 65_535 << 14);
    }

    /// 131,072 B of memory hold 131,072 · 160/256 B of payload in segments of 1448 B, which take
    /// 2304 B each; one of them is there while the window grows.
    #[test]
    fn a_buffer_of_a_fixed_size_does_not_follow_the_flow() {
        let mut buffer = Buffer::new(MSS as u16, Some(65_536));
        let (space, full) = (81_920, 81_920 - MSS as u32);
        let mut next = 0;
        for n in 0..1000 {
            next += MSS;
            let now = Time::ZERO + MS * n;
            buffer.take(Stamps { sent: Stamp::at(now), echo: Stamp::at(now) }, next, next, now);
        }
        let mut beyond = Ranges::default();
        assert_eq!(buffer.window(next, &beyond), full);
        // Data above a hole occupies memory, but the end of the window does not move back.
        beyond.insert(next + MSS, next + 21 * MSS, |_, _| {});
        assert_eq!(buffer.window(next, &beyond), full);
        // The hole becomes smaller: 20 segments are in the buffer still.
        assert_eq!(buffer.window(next + 1, &beyond), full - 1);
        beyond.remove_below(u64::MAX);
        next += 21 * MSS;
        assert_eq!(buffer.window(next, &beyond), full);
        beyond.insert(next + 10 * MSS, next + 30 * MSS, |_, _| {});
        assert_eq!(buffer.window(next + 9 * MSS, &beyond), full - 9 * MSS as u32);
        // Without a limit by the end of the earlier window: the free memory.
        let mut buffer = Buffer::new(MSS as u16, Some(65_536));
        buffer.window = full.into();
        assert_eq!(u64::from(buffer.window(next, &beyond)), space - 20 * MSS);
    }

    proptest! {
        /// All data of a sender that doubles at most per round trip is within the window at its end,
        /// and was within it at its beginning, with the data that arrived since.
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
