//! The pace of a sender: its packets, or bursts of TCP's, leave one by one at the pacing rate.

use l4s_units::{Bytes, Duration, Rate, Spacing, Time};

/// The pace of one connection: a leaky bucket, in time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// The rate, and the part of the last packet's time below a nanosecond.
    spacing: Spacing,
    /// When the next packet may leave.
    pub free_at: Time,
    /// When to send it; `NEVER` while nothing waits for its turn.
    pub due: Time,
}

impl Pace {
    /// Nothing has left yet.
    pub fn new() -> Self {
        Pace { spacing: Spacing::new(Rate::ZERO), free_at: Time::ZERO, due: Time::NEVER }
    }

    /// Whether a packet must wait; then it is due at its time.
    pub fn holds_back(&mut self, now: Time) -> bool {
        let waits = now < self.free_at;
        if waits {
            self.due = self.free_at;
        }
        waits
    }

    /// `bytes` left, at `rate`. Where they could have left earlier the next ones may: as much, but by no more
    /// than the `credit` for the time that these take.
    pub fn charge(
        &mut self,
        bytes: Bytes,
        rate: Rate,
        credit: impl FnOnce(Duration) -> Duration,
        now: Time,
    ) {
        if rate == Rate::ZERO {
            return;
        }
        self.spacing.retime(rate);
        let span = self.spacing.next(bytes);
        self.free_at = self.free_at.max(now.saturating_sub(credit(span))) + span;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 1000 B at 8 Mb/s are a millisecond.
    const RATE: Rate = Rate::from_mbps(8);

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_micros(us)
    }

    /// How many packets of 1000 B leave at `now`.
    fn leave(pace: &mut Pace, burst: u32, now: Time) -> u32 {
        let mut count = 0;
        while !pace.holds_back(now) {
            pace.charge(Bytes::new(1000), RATE, |span| span * u64::from(burst - 1), now);
            count += 1;
        }
        count
    }

    /// RFC 9002 §7.7: no more than the burst at once, however long nothing was sent.
    #[test]
    fn a_pause_allows_one_burst() {
        for burst in [1, 2, 10] {
            let mut pace = Pace::new();
            assert_eq!(leave(&mut pace, burst, at(1_000_000)), burst);
            assert_eq!(pace.due, at(1_001_000), "and then a packet per millisecond");
            assert_eq!(leave(&mut pace, burst, at(1_001_000)), 1);
            assert_eq!(leave(&mut pace, burst, at(1_004_500)), 3.min(burst));
            assert_eq!(leave(&mut pace, burst, at(9_000_000)), burst);
        }
    }

    #[test]
    fn packets_leave_at_the_rate_in_the_long_run() {
        let mut pace = Pace::new();
        let sent: u32 = (0..10_000).map(|n| leave(&mut pace, 10, at(n * 700))).sum();
        // 7 s at a packet per millisecond, and the burst.
        assert!((7000..=7010).contains(&sent), "{sent}");
    }

    proptest! {
        /// Bursts that never wait for anything but their turn leave at exactly the pacing rate, at
        /// 50 GB/s as at 1 kB/s, also where the rate is another one for every burst.
        #[test]
        fn pacing_loses_nothing_to_whole_nanoseconds(
            bursts in prop::collection::vec((1u64..46, 1_000u64..125_000_000_000), 2..100),
            steady in any::<bool>(),
        ) {
            let mut pace = Pace::new();
            let (mut now, mut exact) = (Time::ZERO, 0.0);
            for (segments, rate) in &bursts {
                let rate = if steady { bursts[0].1 } else { *rate };
                prop_assert!(!pace.holds_back(now));
                pace.charge(Bytes::new(segments * 1448), Rate::from_bps(rate * 8), |span| span / 2, now);
                exact += (segments * 1448) as f64 / rate as f64 * 1e9;
                now = pace.free_at;
                prop_assert!(pace.holds_back(Time::from_nanos(now.as_nanos() - 1)));
            }
            let error = exact - now.as_nanos() as f64;
            prop_assert!(error.abs() <= 1.001 + exact * 1e-14, "{error} of {exact}");
        }
    }
}
