//! Pacing: bursts leave one by one, at the pacing rate, as behind Linux' `fq`.

use l4s_units::{Bytes, Rate, Spacing, Time};

/// The pace of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// The rate, and the part of the last burst's time below a nanosecond.
    spacing: Spacing,
    /// When the next burst may leave.
    pub free_at: Time,
    /// When to send it; `NEVER` while nothing waits for its turn.
    pub due: Time,
}

impl Pace {
    /// Segments at the start of a connection that are not paced, unless the congestion control has
    /// a rate for them.
    pub const FREE_SEGMENTS: u64 = 10;

    /// Nothing has left yet.
    pub fn new() -> Self {
        Pace { spacing: Spacing::new(Rate::ZERO), free_at: Time::ZERO, due: Time::NEVER }
    }

    /// Whether a burst must wait; then it is due at its time.
    pub fn holds_back(&mut self, now: Time) -> bool {
        let wait = now < self.free_at;
        if wait {
            self.due = self.free_at;
        }
        wait
    }

    /// `bytes` left, at `rate`. Where the last burst could have left sooner,
    /// the next one may: as much, but by no more than half (`tcp_update_skb_after_send`).
    pub fn charge(&mut self, bytes: Bytes, rate: Rate, now: Time) {
        if rate == Rate::ZERO {
            return;
        }
        self.spacing.retime(rate);
        let span = self.spacing.next(bytes);
        let credit = now.since(self.free_at);
        self.free_at = self.free_at.max(now) + span.saturating_sub(credit.min(span / 2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
                pace.charge(Bytes::new(segments * 1448), Rate::from_bps(rate * 8), now);
                exact += (segments * 1448) as f64 / rate as f64 * 1e9;
                now = pace.free_at;
                prop_assert!(pace.holds_back(Time::from_nanos(now.as_nanos() - 1)));
            }
            let error = exact - now.as_nanos() as f64;
            prop_assert!(error.abs() <= 1.001 + exact * 1e-14, "{error} of {exact}");
        }
    }
}
