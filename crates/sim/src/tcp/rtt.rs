//! Round-trip times and the retransmission timeout (RFC 6298, with Linux' bounds).

use l4s_units::Duration;

/// The lowest variance that the timeout assumes: the least timeout above the RTT.
const RTO_MIN: Duration = Duration::from_millis(200);
/// The timeout before anything is measured (RFC 6298 §2.1).
const RTO_INITIAL: Duration = Duration::from_secs(1);
/// The longest timeout.
const RTO_MAX: Duration = Duration::from_secs(120);

/// The estimates of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rtt {
    /// Smoothed RTT, gain 1/8; zero before the first sample.
    srtt: Duration,
    /// Mean deviation, gain 1/4.
    mdev: Duration,
    /// The highest deviation of the present round trip.
    mdev_max: Duration,
    /// The variation in the timeout: the highest deviation of recent round trips.
    rttvar: Duration,
    /// The present round trip ends when this segment is acknowledged.
    round_end: u64,
    /// The lowest sample.
    min: Duration,
}

impl Rtt {
    pub fn new() -> Self {
        Rtt {
            srtt: Duration::ZERO,
            mdev: Duration::ZERO,
            mdev_max: RTO_MIN,
            rttvar: RTO_MIN,
            round_end: 0,
            min: Duration::MAX,
        }
    }

    /// Takes a sample; `una` and `nxt` delimit the data in flight.
    #[inline]
    pub fn sample(&mut self, rtt: Duration, una: u64, nxt: u64) {
        if self.srtt.is_zero() {
            self.srtt = rtt.max(Duration::from_nanos(1));
            self.mdev = rtt / 2;
            self.mdev_max = self.mdev_max.max(rtt * 2);
            self.rttvar = self.mdev_max;
            self.round_end = nxt;
            return;
        }
        let (old, new) = (self.srtt.as_nanos(), rtt.as_nanos());
        self.srtt = Duration::from_nanos((old - old / 8 + new / 8).max(1));
        let error = old.abs_diff(new);
        let mdev = self.mdev.as_nanos();
        // A fall in RTT is no reason for a longer timeout: it weighs an eighth as much.
        let weight = if new < old && error > mdev { 32 } else { 4 };
        self.mdev = Duration::from_nanos(mdev - mdev / weight + error / weight);
        let four = self.mdev * 4;
        if four > self.mdev_max {
            self.mdev_max = four;
            self.rttvar = self.rttvar.max(four);
        }
        // Once per round trip the allowance sinks towards the highest deviation seen in it.
        if una > self.round_end {
            if self.mdev_max < self.rttvar {
                self.rttvar =
                    self.rttvar.saturating_sub(self.rttvar.saturating_sub(self.mdev_max) / 4);
            }
            self.round_end = nxt;
            self.mdev_max = RTO_MIN;
        }
    }

    /// Takes a sample for the minimum only.
    #[inline]
    pub fn observe_min(&mut self, rtt: Duration) {
        self.min = self.min.min(rtt);
    }

    #[inline]
    pub fn smoothed(&self) -> Option<Duration> {
        (!self.srtt.is_zero()).then_some(self.srtt)
    }

    /// The lowest sample; before the first, the longest duration.
    pub fn min(&self) -> Duration {
        self.min
    }

    /// The retransmission timeout after `backoff` timeouts in a row (RFC 6298 §5.5).
    #[inline]
    pub fn rto(&self, backoff: u32) -> Duration {
        let base = self.smoothed().map_or(RTO_INITIAL, |srtt| srtt + self.rttvar);
        (base * (1 << backoff.min(16))).min(RTO_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_timeout_is_never_less_than_200_ms_above_the_rtt() {
        let mut rtt = Rtt::new();
        assert_eq!(rtt.rto(0), Duration::from_secs(1));
        for n in 0..1000 {
            rtt.sample(MS * 10, n, n + 10);
        }
        assert_eq!(rtt.rto(0), MS * 210);
        assert_eq!(rtt.rto(3), MS * 1680);
        assert_eq!(rtt.rto(60), Duration::from_secs(120));
    }

    #[test]
    fn a_fall_in_rtt_hardly_moves_the_deviation() {
        let mut rtt = Rtt::new();
        rtt.sample(MS * 100, 0, 10);
        let before = rtt.mdev;
        rtt.sample(MS * 10, 1, 11);
        // 50 − 50/32 + 90/32 ms.
        assert_eq!(rtt.mdev.as_micros(), before.as_micros() + 1250);
    }
}
