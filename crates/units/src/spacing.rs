//! From a rate and sizes to times, exact in sum.
//!
//! Time is in whole nanoseconds, and a packet of 78 B takes 1.56 ns at 400 Gb/s. If each time were
//! rounded by itself, such a link would carry 0.78 of its rate. So the remainder below a nanosecond is
//! carried to the next packet: after any number of packets the sum of the times is the exact time
//! of all their bits, rounded down once.

use crate::{Bytes, Duration, Rate};

/// Bits of a byte times nanoseconds of a second: bytes times this are in 10⁻⁹ bits, and so many
/// of those divided by a rate are nanoseconds.
const NANOBITS: u64 = 8_000_000_000;

/// How far apart packets are at a rate: the time of one after the other, with a carried rest.
///
/// ```
/// use l4s_units::{Bytes, Rate, Spacing};
///
/// // 78 B take 1.56 ns at 400 Gb/s: 39 ns for 25 packets.
/// let mut spacing = Spacing::new(Rate::from_mbps(400_000));
/// let sum: u64 = (0..25).map(|_| spacing.next(Bytes::new(78)).as_nanos()).sum();
/// assert_eq!(sum, 39);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spacing {
    rate: Rate,
    /// The part that has no time yet, in 10⁻⁹ bits: less than the bits of a nanosecond, which are
    /// less than the rate's own number.
    rest: u64,
    /// The last size, its whole nanoseconds, and the remainder: most packets are
    /// alike, so a packet costs no division.
    last: (Bytes, u64, u64),
}

impl Spacing {
    /// Nothing is carried yet.
    pub const fn new(rate: Rate) -> Self {
        Spacing { rate, rest: 0, last: (Bytes::ZERO, 0, 0) }
    }

    /// The rate.
    #[inline]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// The time of the next packet, of `size`. [`Duration::MAX`] where nothing passes.
    #[inline]
    pub fn next(&mut self, size: Bytes) -> Duration {
        if self.last.0 != size {
            self.last = divide(size, self.rate);
        }
        let (_, whole, left) = self.last;
        // Both are less than the rate, and so is the new rest.
        let room = self.rate.as_bps().saturating_sub(left);
        if self.rest >= room && room > 0 {
            self.rest -= room;
            Duration::from_nanos(whole.saturating_add(1))
        } else {
            self.rest += left;
            Duration::from_nanos(whole)
        }
    }

    /// Carries nothing: the link was idle.
    #[inline]
    pub fn forget(&mut self) {
        self.rest = 0;
    }

    /// Continues at another rate for further data. The times so far stay, and with them the carried part
    /// of a nanosecond.
    #[inline]
    pub fn retime(&mut self, rate: Rate) {
        if rate != self.rate {
            let rest = rescale(self.rest, self.rate.as_bps(), rate.as_bps());
            *self = Spacing { rest, ..Spacing::new(rate) };
        }
    }

    /// Continues at another rate, also for data that was sent already. The data that takes `owed`
    /// and the carried rest at the old rate takes another time at the new one: that time, and a new
    /// rest.
    pub fn change(&mut self, rate: Rate, owed: Duration) -> Duration {
        let bps = u128::from(rate.as_bps());
        let data =
            u128::from(owed.as_nanos()) * u128::from(self.rate.as_bps()) + u128::from(self.rest);
        *self = Spacing::new(rate);
        if bps == 0 {
            return if data == 0 { Duration::ZERO } else { Duration::MAX };
        }
        self.rest = (data % bps) as u64;
        Duration::from_nanos(u64::try_from(data / bps).unwrap_or(u64::MAX))
    }
}

/// The part of a nanosecond that `rest` takes at the rate `old`, in data at `new`: down
/// to 2⁻²⁴ ns and whole 10⁻⁹ bits.
fn rescale(rest: u64, old: u64, new: u64) -> u64 {
    const BITS: u32 = 24;
    const SMALL: u64 = 1 << (64 - BITS);
    if old <= SMALL && new <= SMALL {
        // The rest is less than the old rate, the quotient than 2²⁴.
        return ((rest << BITS) / old.max(1) * new) >> BITS;
    }
    (u128::from(rest) * u128::from(new) / u128::from(old.max(1))) as u64
}

/// The whole nanoseconds that `size` takes at `rate`, and the rest.
fn divide(size: Bytes, rate: Rate) -> (Bytes, u64, u64) {
    let bps = rate.as_bps();
    if bps == 0 {
        return (size, u64::MAX, 0);
    }
    let (whole, left) = match size.get().checked_mul(NANOBITS) {
        Some(data) => (data / bps, data % bps),
        None => {
            let (data, bps) = (u128::from(size.get()) * u128::from(NANOBITS), u128::from(bps));
            (u64::try_from(data / bps).unwrap_or(u64::MAX), (data % bps) as u64)
        }
    };
    (size, whole, left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_packets_at_400_gigabits_take_exactly_their_share() {
        // 78 B · 8 / 400 Gb/s = 1.56 ns: 39 ns for 25 packets.
        let mut spacing = Spacing::new(Rate::from_mbps(400_000));
        let times: Vec<u64> = (0..25).map(|_| spacing.next(Bytes::new(78)).as_nanos()).collect();
        assert_eq!(times[..5], [1, 2, 1, 2, 1]);
        assert_eq!(times.iter().sum::<u64>(), 39);
        assert_eq!(spacing.rest, 0);
    }

    #[test]
    fn nothing_passes_at_no_rate() {
        let mut spacing = Spacing::new(Rate::ZERO);
        assert_eq!(spacing.next(Bytes::new(1500)), Duration::MAX);
        assert_eq!(spacing.change(Rate::from_mbps(12), Duration::ZERO), Duration::ZERO);
        assert_eq!(spacing.next(Bytes::new(1500)), Duration::from_millis(1));
        assert_eq!(spacing.change(Rate::ZERO, Duration::from_millis(1)), Duration::MAX);
    }

    /// From 1 kb/s to 1 Tb/s, as many of each magnitude.
    fn rates() -> impl Strategy<Value = u64> {
        (10u32..40, 0.0..1.0f64)
            .prop_map(|(bits, more)| ((1u64 << bits) as f64 * (1.0 + more)).clamp(1e3, 1e12) as u64)
    }

    proptest! {
        /// The sum of the times is the exact time of all the bits, rounded down.
        #[test]
        fn the_time_of_n_packets_is_exact(
            bps in rates(),
            sizes in prop::collection::vec((1u64..70_000, 1usize..20), 1..50),
        ) {
            let mut spacing = Spacing::new(Rate::from_bps(bps));
            let (mut time, mut sum) = (0u128, 0u128);
            for (size, times) in sizes {
                for _ in 0..times {
                    time += u128::from(spacing.next(Bytes::new(size)).as_nanos());
                    sum += u128::from(size);
                    prop_assert_eq!(time, sum * 8_000_000_000 / u128::from(bps));
                }
            }
        }

        /// With a rate for each packet the sum of the exact times, to a nanosecond.
        #[test]
        fn a_rate_for_each_packet_loses_no_time(
            packets in prop::collection::vec((rates(), 64u64..70_000), 1..200),
        ) {
            let mut spacing = Spacing::new(Rate::ZERO);
            // In 2⁻³² ns.
            let (mut time, mut exact, mut cut) = (0u128, 0u128, 0);
            for (bps, size) in &packets {
                spacing.retime(Rate::from_bps(*bps));
                time += u128::from(spacing.next(Bytes::new(*size)).as_nanos());
                exact += (u128::from(size * NANOBITS) << 32) / u128::from(*bps);
                let behind = exact as i128 - (time << 32) as i128;
                // A new rate cuts off less than 2⁻²³ ns, and a whole 10⁻⁹ bit.
                cut += (1 << 9) + (1 << 32) / i128::from(*bps);
                prop_assert!((-cut..(1 << 32) + cut).contains(&behind), "{behind}");
            }
        }

        /// With any rates in between, no data is lost and none is made. The data sent is the data that
        /// the rates allow in the time that it took, less the carried part of a nanosecond.
        #[test]
        fn a_new_rate_takes_over_what_is_owed(
            first in rates(),
            steps in prop::collection::vec((rates(), 1u64..70_000, 0.0..1.0f64), 1..50),
        ) {
            let mut spacing = Spacing::new(Rate::from_bps(first));
            let (mut sent, mut passed, mut rate) = (0u128, 0u128, first);
            let mut owed = Duration::ZERO;
            for (next, size, share) in steps {
                owed += spacing.next(Bytes::new(size));
                sent += u128::from(size) * u128::from(NANOBITS);
                // Some of the owed time passes at this rate, and the rest at the next.
                let now = Duration::from_nanos((owed.as_nanos() as f64 * share) as u64);
                passed += u128::from(now.as_nanos()) * u128::from(rate);
                owed = spacing.change(Rate::from_bps(next), owed.saturating_sub(now));
                rate = next;
                let left = u128::from(owed.as_nanos()) * u128::from(rate);
                prop_assert_eq!(passed + left + u128::from(spacing.rest), sent);
                prop_assert!(spacing.rest < rate);
            }
        }
    }
}
