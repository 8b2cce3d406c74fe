//! The link as a token bucket like `htb`, because the papers' testbeds and the
//! reference kernel measurements use it. A packet leaves when the bucket is not in debt and is then
//! charged for; with a bucket of one full packet, two may leave together after idling.

use l4s_units::{Bytes, Duration, Rate, Spacing, Time};

/// A token bucket.
///
/// ```
/// use l4s_bottleneck::Shaper;
/// use l4s_units::{Bytes, Duration, Rate, Time};
///
/// let packet = Bytes::new(1500);
/// let mut shaper = Shaper::new(Rate::from_mbps(12), packet);
/// // After a second without packets the bucket is full: two leave at once, the next after 1 ms.
/// let now = Time::ZERO + Duration::from_secs(1);
/// shaper.charge(packet, now);
/// assert_eq!(shaper.free_at(), now);
/// shaper.charge(packet, now);
/// assert_eq!(shaper.free_at(), now + Duration::from_millis(1));
/// ```
#[derive(Debug)]
pub struct Shaper {
    /// The rate, and the part of the last packet's time below a nanosecond.
    spacing: Spacing,
    bucket: Bytes,
    /// The bucket, as time at the rate.
    burst: Duration,
    /// When the debt is paid.
    free_at: Time,
}

impl Shaper {
    /// A full bucket of `burst` that fills at `rate`.
    pub fn new(rate: Rate, burst: Bytes) -> Self {
        Shaper {
            spacing: Spacing::new(rate),
            bucket: burst,
            burst: rate.time_of(burst),
            free_at: Time::ZERO,
        }
    }

    /// Fills the bucket at `rate` from `now` on. Its content or debt in bytes is kept: the rest
    /// of a packet whose transmission began goes at the new rate.
    pub fn set_rate(&mut self, rate: Rate, now: Time) {
        self.free_at = if self.free_at < now {
            let saved = self.rate().bytes_in(now.since(self.free_at)).min(self.bucket);
            self.spacing = Spacing::new(rate);
            now.saturating_sub(rate.time_of(saved))
        } else {
            now + self.spacing.change(rate, self.free_at.since(now))
        };
        self.burst = rate.time_of(self.bucket);
    }

    /// The rate at which it fills.
    pub fn rate(&self) -> Rate {
        self.spacing.rate()
    }

    /// When the next packet may leave.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// The bytes that were charged for and are not transmitted yet at `now`.
    pub fn owed(&self, now: Time) -> Bytes {
        self.rate().bytes_in(self.free_at.since(now))
    }

    /// A packet of `size` leaves at `now`.
    #[inline]
    pub fn charge(&mut self, size: Bytes, now: Time) {
        let full = now.saturating_sub(self.burst);
        if self.free_at < full {
            self.free_at = full;
            self.spacing.forget();
        }
        self.free_at += self.spacing.next(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// With any rates, sizes and changes of the rate: a link that is never idle carries the
        /// bytes that its rates allow, and is at most one nanosecond of its rate ahead.
        #[test]
        fn a_busy_link_carries_exactly_its_rate(
            first in 1_000u64..1_000_000_000_000,
            packets in prop::collection::vec((64u64..9_000, 0u64..8, 0.0..1.0f64), 1..300),
        ) {
            let (mut rate, mut now) = (first, Time::ZERO);
            let mut shaper = Shaper::new(Rate::from_bps(rate), Bytes::ZERO);
            // In 10⁻⁹ bits: the bits that the link was given, and those that its rates allowed.
            let (mut sent, mut allowed) = (0u128, 0u128);
            for (size, change, part) in packets {
                let free_at = shaper.free_at();
                if change == 0 {
                    // Another rate while a packet is on the link, or just when it is free.
                    let span = (free_at.since(now).as_nanos() as f64 * part) as u64;
                    allowed += u128::from(span) * u128::from(rate);
                    now += Duration::from_nanos(span);
                    rate = 1_000 + (rate.rotate_left(7) ^ size) % 1_000_000_000_000;
                    shaper.set_rate(Rate::from_bps(rate), now);
                }
                let free_at = shaper.free_at();
                allowed += u128::from(free_at.since(now).as_nanos()) * u128::from(rate);
                now = free_at;
                // All data that was sent before is through, except for less than the bits of a
                // nanosecond.
                prop_assert!(allowed <= sent && sent - allowed < u128::from(rate));
                shaper.charge(Bytes::new(size), now);
                sent += u128::from(size) * 8_000_000_000;
            }
        }
    }

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
        // 1514 B · 8 / 4 Mb/s = 3.028 ms. Half of it is over; the rest takes twice as long.
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
