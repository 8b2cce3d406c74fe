//! The pace of packets: one by one at the pacing rate, and bursts where there was time for more (RFC 9002 §7.7).

use l4s_units::{Bytes, Duration, Rate, Spacing, Time};

/// A leaky bucket: packets that might have left earlier may leave together, up to a burst.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
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

    /// A packet of `bytes` left at `rate`, which allows bursts of `burst` packets, from 1.
    pub fn charge(&mut self, bytes: Bytes, rate: Rate, burst: u32, now: Time) {
        if rate == Rate::ZERO {
            return;
        }
        self.spacing.retime(rate);
        let span = self.spacing.next(bytes);
        let credit = span * u64::from(burst.saturating_sub(1));
        self.free_at = self.free_at.max(now.saturating_sub(credit)) + span;
    }
}

/// The time of a pause that no window restarts after: RFC 9002 has no rule for it.
pub(super) const NO_RESTART: Duration = Duration::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 B at 8 Mb/s are a millisecond.
    const RATE: Rate = Rate::from_mbps(8);

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_micros(us)
    }

    /// How many packets of 1000 B leave at `now`.
    fn leave(pace: &mut Pace, burst: u32, now: Time) -> u32 {
        let mut count = 0;
        while !pace.holds_back(now) {
            pace.charge(Bytes::new(1000), RATE, burst, now);
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
}
