//! When UDP sources send.
//!
//! The one place where the rate of a `[[udp]]` becomes the times of its packets, so that every
//! substrate has the same ones. Sending itself is the substrate's.
//!
//! Clocks that never err lock phases: of two sources with the same interval one would always find
//! the place in a full queue that a departure has just freed, and the other one never. No two
//! machines are like that. So packet k is sent at a random time of its own:
//!
//! ```text
//! k      |── T ──|
//! 0      [───────×───────)
//! 1              [─×─────────────)            T: packet over rate
//! 2                      [───────────×───)    ×: uniform in two intervals
//! 3                              [──×────────────)
//! ```
//!
//! - The mean rate is exact: chance moves a packet by less than 2·T and does not add up.
//! - The expected rate is the same at every instant, whenever the source started: two intervals
//!   cover the time evenly. In one interval each, of two sources on a queue in step with both the
//!   one would get 57 % and the other 43 %, by their phase.
//! - Packets leave in order: of two that overlap the earlier time is the earlier packet's. At most
//!   three can come together.

use l4s_units::{Bytes, Duration, Rate, Spacing, Time};
use rand_core::Rng;

use crate::{Stream, stream};

/// The times at which one source sends.
///
/// ```
/// use l4s_bottleneck::Datagrams;
/// use l4s_units::{Bytes, Duration, Rate, Time};
///
/// // Without chance: 1500 B at 12 Mb/s are one packet per millisecond.
/// let always = (Time::ZERO, Time::NEVER);
/// let mut datagrams = Datagrams::new(None, Rate::from_mbps(12), Bytes::new(1500), always);
/// datagrams.sent();
/// assert_eq!(datagrams.next(), Time::ZERO + Duration::from_millis(1));
/// ```
#[derive(Debug)]
pub struct Datagrams {
    spacing: Spacing,
    packet: Bytes,
    /// When the intervals of the next packet begin and end, and the one after them.
    begins: Time,
    ends: Time,
    stop: Time,
    /// When the next packet goes out.
    next: Time,
    /// The time of one that was drawn and is later.
    later: Time,
    chance: Option<Stream>,
}

impl Datagrams {
    /// Packets of `packet` bytes at `rate` from `start` until `stop`. Chance comes from the stream
    /// `udp` of a seed with the name of the source; without it packet k is sent at the start of its
    /// interval.
    pub fn new(
        chance: Option<(u64, &str)>,
        rate: Rate,
        packet: Bytes,
        (start, stop): (Time, Time),
    ) -> Datagrams {
        let mut datagrams = Datagrams {
            spacing: Spacing::new(rate),
            packet,
            begins: start,
            ends: start,
            stop,
            next: Time::NEVER,
            later: Time::NEVER,
            chance: chance.map(|(seed, name)| stream(seed, &format!("udp {name}"))),
        };
        datagrams.restart(rate, packet, (start, stop));
        datagrams
    }

    /// It is another source from `start` on.
    pub fn restart(&mut self, rate: Rate, packet: Bytes, (start, stop): (Time, Time)) {
        self.spacing = Spacing::new(rate);
        self.packet = packet;
        self.stop = if rate == Rate::ZERO { start } else { stop };
        self.begins = start;
        self.ends = start + self.spacing.next(packet);
        self.later = self.draw();
        self.sent();
    }

    /// When the next packet goes out; never after the end.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// It went out.
    #[inline]
    pub fn sent(&mut self) {
        let other = self.draw();
        let next = self.later.min(other);
        self.later = self.later.max(other);
        self.next = if next < self.stop { next } else { Time::NEVER };
    }

    /// The time of one more packet.
    #[inline]
    fn draw(&mut self) -> Time {
        let ends = self.ends + self.spacing.next(self.packet);
        let width = u128::from(ends.since(self.begins).as_nanos());
        let chance = self.chance.as_mut().map_or(0, Rng::next_u64);
        let into = (u128::from(chance) * width) >> 64;
        let time = self.begins + Duration::from_nanos(into as u64);
        (self.begins, self.ends) = (self.ends, ends);
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn source(seed: u64, bps: u64, packet: u64, start: u64) -> Datagrams {
        let span = (Time::from_nanos(start), Time::NEVER);
        Datagrams::new(Some((seed, "U")), Rate::from_bps(bps), Bytes::new(packet), span)
    }

    proptest! {
        /// From 1 kb/s to 1 Tb/s: packet k is sent in the intervals k and k + 1, in order.
        #[test]
        fn a_packet_is_sent_in_its_intervals(
            seed: u64, bps in (10u32..40, 0.5..1.0f64), packet in 64u64..9_000,
            start in 0u64..1_000_000_000,
        ) {
            let bps = ((1u64 << bps.0) as f64 * bps.1 * 2.0).min(1e12) as u64;
            let mut source = source(seed, bps, packet, start);
            let mut last = Time::ZERO;
            for k in 0..2_000u64 {
                let at = |k: u64| start + (u128::from(k * packet) * 8_000_000_000 / u128::from(bps)) as u64;
                let next = source.next();
                prop_assert!(next >= last, "order");
                let ns = next.as_nanos();
                prop_assert!(at(k) <= ns && ns <= at(k + 2), "{k}: {} {ns}", at(k));
                last = next;
                source.sent();
            }
        }

        /// The rate is the same at any phase: of 40,000 packets each tenth of the interval gets a
        /// tenth. The deviation of a fair count is 60.
        #[test]
        fn no_phase_is_preferred(seed: u64, start in 0u64..1_200_000) {
            let mut source = source(seed, 10_000_000, 1_500, start);
            let mut counts = [0; 10];
            for _ in 0..40_000 {
                counts[(source.next().as_nanos() % 1_200_000 / 120_000) as usize] += 1;
                source.sent();
            }
            prop_assert!(counts.iter().all(|n| (3_600..4_400).contains(n)), "{counts:?}");
        }
    }

    #[test]
    fn a_source_has_chance_of_its_own_and_repeats_it() {
        let times = |seed, name: &str| -> Vec<Time> {
            let (rate, packet) = (Rate::from_mbps(10), Bytes::new(1500));
            let span = (Time::ZERO, Time::from_nanos(1_000_000_000));
            let mut source = Datagrams::new(Some((seed, name)), rate, packet, span);
            let next = || {
                let at = source.next();
                source.sent();
                (at != Time::NEVER).then_some(at)
            };
            std::iter::from_fn(next).collect()
        };
        let first = times(1, "U");
        assert_eq!(first, times(1, "U"));
        assert_ne!(first, times(1, "V"));
        assert_ne!(first, times(2, "U"));
        // 10 Mb/s in packets of 1500 B are 833 in a second, two fewer where the last ones come late.
        assert!((831..=834).contains(&first.len()), "{}", first.len());
    }

    #[test]
    fn without_chance_every_packet_is_sent_when_its_interval_begins() {
        let (rate, packet) = (Rate::from_mbps(12), Bytes::new(1500));
        let mut source = Datagrams::new(None, rate, packet, (Time::ZERO, Time::NEVER));
        for k in 0..1_000 {
            assert_eq!(source.next(), Time::ZERO + Duration::from_millis(k));
            source.sent();
        }
    }

    #[test]
    fn no_rate_sends_nothing_and_a_new_one_starts_when_it_is_set() {
        let mut source = source(1, 0, 1_500, 0);
        assert_eq!(source.next(), Time::NEVER);
        let start = Time::from_nanos(5_000_000_000);
        source.restart(Rate::from_mbps(12), Bytes::new(1500), (start, Time::NEVER));
        let first = source.next();
        assert!(start <= first && first < start + Duration::from_millis(2), "{first}");
    }
}
