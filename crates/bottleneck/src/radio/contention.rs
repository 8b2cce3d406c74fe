//! EDCA: whose turn it is on a channel that stations share (IEEE 802.11-2020 §10.23.2).
//!
//! ```text
//! channel  ▏ exchange of another ▏ AIFS ▏slot▏slot▏slot▏ exchange of this station ▏ AIFS ▏slot▏ …
//! backoff          5             ▏      ▏ 3  ▏ 2  ▏ 1  ▏0                         ▏      ▏ drawn anew
//! ```
//!
//! At the end of an AIFS, and of each idle slot after it, a station whose backoff is zero transmits, and every other one
//! counts its backoff down by one. Two that transmit collide, and both double their window. A station draws a backoff
//! after each exchange, also when it has nothing more to send: a packet that comes later, to an idle channel, goes at once.

use l4s_model::Wifi;
use l4s_units::{Duration, Time};
use rand_core::Rng;

use crate::Stream;

/// The backoff of a station.
#[derive(Clone, Debug)]
struct Backoff {
    /// The contention window, less one.
    window: u32,
    /// Slots that are left.
    slots: u32,
    /// Exchanges that failed one after the other.
    failed: u32,
}

impl Backoff {
    fn new() -> Backoff {
        Backoff { window: Wifi::CW_MIN, slots: 0, failed: 0 }
    }

    /// An exchange is over. The window is the smallest one again after a success, and after as many failures as a frame has
    /// attempts.
    fn exchanged(&mut self, success: bool, rng: &mut Stream) {
        self.failed = if success { 0 } else { self.failed + 1 };
        if self.failed == Wifi::RETRY_LIMIT {
            self.failed = 0;
        }
        self.window = match self.failed {
            0 => Wifi::CW_MIN,
            _ => (self.window * 2 + 1).min(Wifi::CW_MAX),
        };
        self.draw(rng);
    }

    /// From zero to the window, each with the same chance.
    fn draw(&mut self, rng: &mut Stream) {
        self.slots = ((u64::from(rng.next_u32()) * u64::from(self.window + 1)) >> 32) as u32;
    }
}

/// This station's part in the contention, and the others.
#[derive(Debug)]
pub(crate) struct Contention {
    own: Backoff,
    others: Vec<Backoff>,
    /// An exchange of another station.
    exchange: Duration,
    /// The next instant at which stations transmit or count.
    boundary: Time,
    rng: Stream,
}

impl Contention {
    /// A channel that is idle at time zero. The others begin to contend then.
    pub fn new(stations: u64, exchange: Duration, mut rng: Stream) -> Contention {
        let other = |_| {
            let mut other = Backoff::new();
            other.draw(&mut rng);
            other
        };
        let others = (0..stations).map(other).collect();
        Contention { own: Backoff::new(), others, exchange, boundary: Time::ZERO, rng }
    }

    /// When this station transmits, which has had something to send since `from`.
    pub fn turn(&mut self, from: Time) -> Time {
        loop {
            let first = self.others.iter().map(|other| other.slots).min().unwrap_or(u32::MAX);
            if self.boundary >= from {
                if self.own.slots <= first {
                    self.idle(self.own.slots);
                    return self.boundary;
                }
                self.idle(first);
                self.others_transmit();
                continue;
            }
            // Before that time it counts down to zero, and waits there.
            let left = from.since(self.boundary).as_nanos().div_ceil(Wifi::SLOT.as_nanos());
            if u64::from(first) >= left {
                self.boundary += Wifi::SLOT * left;
                let left = u32::try_from(left).unwrap_or(u32::MAX);
                self.others.iter_mut().for_each(|other| other.slots -= left);
                self.own.slots = self.own.slots.saturating_sub(left);
                continue;
            }
            self.idle(first);
            let began = self.boundary;
            self.others_transmit();
            // To a busy channel: it waits for a backoff (IEEE 802.11-2020 §10.23.2).
            if began < from && from < self.boundary && self.own.slots == 0 {
                self.own.draw(&mut self.rng);
            }
        }
    }

    /// This station transmits at its turn, for an exchange of this length: whether it collides. The caller reports the end to
    /// [`Contention::exchanged`].
    pub fn transmit(&mut self, exchange: Duration) -> bool {
        let collides = self.others.iter().any(|other| other.slots == 0);
        // Stations wait for an acknowledgement that does not come as long as it would take.
        let busy = if collides { exchange.max(self.exchange) } else { exchange };
        for other in &mut self.others {
            match other.slots {
                0 => other.exchanged(false, &mut self.rng),
                _ => other.slots -= 1,
            }
        }
        self.boundary += busy + Wifi::aifs();
        collides
    }

    /// The exchange of this station is over.
    pub fn exchanged(&mut self, success: bool) {
        self.own.exchanged(success, &mut self.rng);
    }

    /// No station transmits for this number of slots, which is the smallest backoff at most.
    fn idle(&mut self, slots: u32) {
        self.boundary += Wifi::SLOT * u64::from(slots);
        self.own.slots = self.own.slots.saturating_sub(slots);
        self.others.iter_mut().for_each(|other| other.slots -= slots);
    }

    /// The others whose backoff is zero transmit, and this station does not.
    fn others_transmit(&mut self) {
        let success = self.others.iter().filter(|other| other.slots == 0).count() == 1;
        for other in &mut self.others {
            match other.slots {
                0 => other.exchanged(success, &mut self.rng),
                _ => other.slots -= 1,
            }
        }
        self.own.slots = self.own.slots.saturating_sub(1);
        self.boundary += self.exchange + Wifi::aifs();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;
    use proptest::prelude::*;

    const EXCHANGE: Duration = Duration::from_millis(2);

    fn contention(stations: u64, seed: u64) -> Contention {
        Contention::new(stations, EXCHANGE, stream(seed, "test"))
    }

    /// Turns of a station that always sends: those without a collision, all, and when the last one is over.
    fn saturated(stations: u64, turns: u64) -> (u64, u64, Time) {
        let (mut contention, mut won) = (contention(stations, 1), 0);
        for _ in 0..turns {
            contention.turn(contention.boundary);
            let collides = contention.transmit(EXCHANGE);
            contention.exchanged(!collides);
            won += u64::from(!collides);
        }
        (won, turns, contention.boundary)
    }

    #[test]
    fn a_packet_goes_at_once_on_an_idle_channel() {
        let mut contention = contention(0, 1);
        assert_eq!(contention.turn(Time::ZERO), Time::ZERO);
        contention.transmit(EXCHANGE);
        contention.exchanged(true);
        // Later by at most the rest of a slot.
        let from = Time::ZERO + Duration::from_millis(100);
        assert!(contention.turn(from).since(from) < Wifi::SLOT);
    }

    #[test]
    fn alone_a_turn_takes_an_aifs_and_seven_and_a_half_slots() {
        let (won, turns, end) = saturated(0, 100_000);
        assert_eq!(won, turns);
        let mean = end.since(Time::ZERO).as_secs_f64() / turns as f64;
        // 16 us + 3 · 9 us, and the mean of 0 to 15 slots of 9 us.
        let expected = EXCHANGE.as_secs_f64() + 43e-6 + 67.5e-6;
        assert!((mean - expected).abs() < 0.2e-6, "{mean} {expected}");
    }

    /// Bianchi's model, with the chance that a PPDU collides and the share of the channel, for equal stations.
    #[test]
    fn equal_stations_collide_and_share_as_bianchi_computed() {
        for stations in [1, 2, 5, 10, 20] {
            let (won, turns, end) = saturated(stations, 60_000);
            let wifi = Wifi { stations, ..Wifi::new(l4s_model::Standard::Ax) };
            let (transmits, collides) = wifi.contention();
            let found = 1.0 - won as f64 / turns as f64;
            // He takes the backoffs of stations as independent, which those of two are not quite.
            assert!((found - collides).abs() < 0.01, "{found} {collides}");
            let idle = (1.0 - transmits) * (1.0 - collides);
            let busy = (EXCHANGE + Wifi::aifs()).as_secs_f64();
            let per_s = transmits * (1.0 - collides) / (idle * 9e-6 + (1.0 - idle) * busy);
            let found = won as f64 / end.since(Time::ZERO).as_secs_f64();
            assert!((found / per_s - 1.0).abs() < 0.03, "{stations}: {found} {per_s}");
        }
    }

    #[test]
    fn a_packet_that_comes_to_a_busy_channel_waits_for_its_end_and_a_backoff() {
        let mut first = 0;
        for seed in 0..2_000 {
            let mut contention = contention(1, seed);
            // The other one's first exchange begins within 15 slots, and takes 2 ms.
            let turn = contention.turn(Time::ZERO + Duration::from_micros(200));
            assert!(turn.since(Time::ZERO) >= EXCHANGE + Wifi::aifs(), "{turn}");
            first += u32::from(turn.since(Time::ZERO) < EXCHANGE * 2);
        }
        // Of two backoffs from 0 to 15 its own is the smaller or the same one in 17 of 32 cases.
        let share = f64::from(first) / 2_000.0;
        assert!((share - 17.0 / 32.0).abs() < 0.035, "{share}");
    }

    proptest! {
        /// A turn is never before the station has something to send, and never in an exchange of another one.
        #[test]
        fn turns_come_one_after_the_other(
            stations in 0u64..6, seed: u64, gaps in prop::collection::vec(0u64..10_000, 1..40),
        ) {
            let (mut contention, mut free) = (contention(stations, seed), Time::ZERO);
            for gap in gaps {
                let from = free + Duration::from_micros(gap);
                let turn = contention.turn(from);
                prop_assert!(turn >= from);
                let collides = contention.transmit(EXCHANGE);
                contention.exchanged(!collides);
                free = turn + EXCHANGE;
                prop_assert_eq!(contention.boundary, free + Wifi::aifs());
            }
        }
    }
}
