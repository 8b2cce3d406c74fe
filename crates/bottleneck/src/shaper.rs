//! The link as a token bucket, as `htb` is, because that is what the papers' testbeds and the
//! reference kernel measurements have. A packet leaves when the bucket is not in debt and is then
//! charged for; with a bucket of one full packet, two may leave together after idling.

use l4s_units::{Bytes, Duration, Rate, Time};

/// A token bucket.
#[derive(Debug)]
pub struct Shaper {
    rate: Rate,
    bucket: Bytes,
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
        Shaper {
            rate,
            bucket: burst,
            burst: rate.time_of(burst),
            free_at: Time::ZERO,
            last: Default::default(),
        }
    }

    /// Fills the bucket at `rate` from `now` on. What is in it or owed is so many bytes: the rest
    /// of a packet whose transmission began goes at the new rate.
    pub fn set_rate(&mut self, rate: Rate, now: Time) {
        let owed = self.rate.bytes_in(self.free_at.since(now));
        let saved = self.rate.bytes_in(now.since(self.free_at)).min(self.bucket);
        self.free_at = (now + rate.time_of(owed)).saturating_sub(rate.time_of(saved));
        (self.rate, self.burst, self.last) = (rate, rate.time_of(self.bucket), Default::default());
    }

    /// The rate at which it fills.
    pub fn rate(&self) -> Rate {
        self.rate
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

    #[test]
    fn the_rest_of_a_packet_goes_at_the_new_rate_and_the_bucket_keeps_its_bytes() {
        let packet = Bytes::new(1514);
        let mut shaper = Shaper::new(Rate::from_mbps(4), packet);
        let now = Time::from_nanos(1_000_000_000);
        shaper.charge(packet, now);
        shaper.charge(packet, now);
        // 1514 B · 8 / 4 Mb/s = 3.028 ms, of which half is over; the rest takes twice as long.
        let half = Duration::from_micros(1514);
        shaper.set_rate(Rate::from_mbps(2), now + half);
        assert_eq!(shaper.free_at, now + half + half * 2);
        // At 2 Mb/s a full bucket takes 6.056 ms to fill, and is worth one packet at 8 Mb/s too.
        let later = now + Duration::from_secs(1);
        shaper.set_rate(Rate::from_mbps(8), later);
        shaper.charge(packet, later);
        assert_eq!(shaper.free_at, later);
        shaper.charge(packet, later);
        assert_eq!(shaper.free_at, later + half);
    }
}
