//! The link as a token bucket, as `htb` is, because that is what the papers' testbeds and the
//! reference kernel measurements have. A packet leaves when the bucket is not in debt and is then
//! charged for; with a bucket of one full packet, two may leave together after idling.

use l4s_units::{Bytes, Duration, Rate, Time};

/// A token bucket.
#[derive(Debug)]
pub struct Shaper {
    rate: Rate,
    /// The bucket, as time at the rate.
    burst: Duration,
    /// When the debt is paid.
    free_at: Time,
    /// The last size and its time at the rate: most packets are alike.
    last: (Bytes, Duration),
}

impl Shaper {
    /// A full bucket of `burst` that fills at `rate`.
    pub fn new(rate: Rate, burst: Bytes) -> Self {
        Shaper { rate, burst: rate.time_of(burst), free_at: Time::ZERO, last: Default::default() }
    }

    /// When the next packet may leave.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// A packet of `size` leaves at `now`.
    #[inline]
    pub fn charge(&mut self, size: Bytes, now: Time) {
        if self.last.0 != size {
            self.last = (size, self.rate.time_of(size));
        }
        self.free_at = self.free_at.max(now.saturating_sub(self.burst)) + self.last.1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_idling_two_packets_leave_together_and_then_one_per_transmission_time() {
        let packet = Bytes::new(1514);
        let mut shaper = Shaper::new(Rate::from_mbps(4), packet);
        let now = Time::from_nanos(1_000_000_000);
        shaper.charge(packet, now);
        assert!(shaper.free_at <= now, "the bucket held one packet");
        shaper.charge(packet, now);
        // 1514 B · 8 / 4 Mb/s.
        assert_eq!(shaper.free_at, now + Duration::from_micros(3028));
        shaper.charge(packet, shaper.free_at);
        assert_eq!(shaper.free_at, now + Duration::from_micros(6056));
    }
}
