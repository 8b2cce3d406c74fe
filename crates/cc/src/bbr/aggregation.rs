//! How many more segments than expected acknowledgements deliver at once
//! (`bbr_update_ack_aggregation` of Linux).
//!
//! Wireless and cable links, and receivers that merge segments, acknowledge in bursts. A window of
//! two bandwidth-delay products may be in flight before the next burst comes; the largest burst
//! of the last ten round trips is added to it.

use l4s_units::{Duration, Time};

use super::bandwidth::Bandwidth;
use crate::RateSample;

/// Each of two windows has this many round trips (`bbr_extra_acked_win_rtts`).
const ROUNDS: u32 = 5;
/// An epoch ends when it delivered this much (`bbr_ack_epoch_acked_reset_thresh`).
const EPOCH: u64 = 1 << 20;
/// No more is allowed for than this time delivers (`bbr_extra_acked_max_us`).
const LONGEST: Duration = Duration::from_millis(100);

/// An epoch, in which acknowledgements deliver faster than expected.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Epoch {
    /// When it began, and the segments that it delivered.
    since: Time,
    acked: u64,
}

impl Epoch {
    /// One begins.
    pub fn restart(&mut self, now: Time) {
        (self.since, self.acked) = (now, 0);
    }

    /// Takes `acked` segments that arrived now, at an expected rate; gives how many came beyond that,
    /// at most a window.
    pub fn extra(&mut self, acked: u32, now: Time, expected: Bandwidth, cwnd: u32) -> u64 {
        let mut due = expected.whole_segments_in(now.since(self.since));
        let acked = u64::from(acked);
        if self.acked <= due || self.acked + acked >= EPOCH {
            self.restart(now);
            due = 0;
        }
        self.acked = (self.acked + acked).min(EPOCH - 1);
        (self.acked - due.min(self.acked)).min(cwnd.into())
    }
}

/// The bursts of the last round trips.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    /// The largest of the present window and of the one before, in segments.
    largest: [u64; 2],
    /// Round trips of the present window.
    rounds: u32,
    epoch: Epoch,
}

impl Aggregation {
    /// An epoch begins.
    pub fn restart(&mut self, now: Time) {
        self.epoch.restart(now);
    }

    /// Takes `acked` segments that arrived at an expected rate.
    pub fn take(
        &mut self,
        acked: u32,
        sample: &RateSample,
        expected: Bandwidth,
        round: bool,
        cwnd: u32,
    ) {
        if round {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.largest = [0, self.largest[0]];
            }
        }
        let extra = self.epoch.extra(acked, sample.delivered_at, expected, cwnd);
        self.largest[0] = self.largest[0].max(extra);
    }

    /// The allowance at this bandwidth, in segments.
    pub fn allowance(&self, bandwidth: Bandwidth) -> u64 {
        self.largest[0].max(self.largest[1]).min(bandwidth.whole_segments_in(LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Delivery;

    const MS: Duration = Duration::from_millis(1);

    /// One segment per millisecond, acknowledged `burst` at a time, for this many bursts.
    fn after(bursts: u64, burst: u32) -> Aggregation {
        let expected = Bandwidth::of(Delivery { segments: 1000, interval: MS * 1000 });
        let mut aggregation = Aggregation::default();
        for n in 1..=bursts {
            let delivered_at = Time::ZERO + MS * (n * u64::from(burst));
            let sample = RateSample { delivered_at, ..RateSample::default() };
            aggregation.take(burst, &sample, expected, n % 10 == 0, 1000);
        }
        aggregation
    }

    fn bandwidth(per_second: u64) -> Bandwidth {
        Bandwidth::of(Delivery { segments: per_second, interval: MS * 1000 })
    }

    #[test]
    fn the_largest_burst_is_allowed_for() {
        let allowance = |burst| after(100, burst).allowance(bandwidth(10_000));
        assert!((1..=2).contains(&allowance(1)), "{}", allowance(1));
        assert!((30..=31).contains(&allowance(30)), "{}", allowance(30));
    }

    /// Ten round trips without a burst, and it leaves. A tenth of a second is the most.
    #[test]
    fn it_leaves_and_is_bounded() {
        assert_eq!(after(100, 30).allowance(bandwidth(100)), 9);
        let mut aggregation = after(100, 30);
        let expected = bandwidth(1000);
        for n in 1..=11 {
            let delivered_at = Time::ZERO + MS * (3100 + n);
            let sample = RateSample { delivered_at, ..RateSample::default() };
            aggregation.take(1, &sample, expected, true, 1000);
        }
        assert!(aggregation.allowance(bandwidth(10_000)) < 30);
    }
}
