//! HyStart++ (RFC 9406): the first slow start gives way to a slower one when the RTT rises, and that to congestion
//! avoidance unless the RTT falls again.
//!
//! ```text
//! slow start ─RTT of a round rose─▶ conservative slow start ─five rounds─▶ congestion avoidance
//!      ▲                                │
//!      └──RTT of a round fell below that┘
//! ```

use l4s_units::Duration;

use crate::{Ack, hystart_rise};

/// RTT samples of a round before their minimum is judged (RFC 9406 §4.3, `N_RTT_SAMPLE`).
const SAMPLES: u32 = 8;
/// Conservative slow start grows by this part of slow start (`CSS_GROWTH_DIVISOR`).
const GROWTH_DIVISOR: u32 = 4;
/// Rounds of conservative slow start (`CSS_ROUNDS`).
const ROUNDS: u32 = 5;
/// Segments that an acknowledgement may add where the sender does not pace (`L`).
const UNPACED_STEP: u32 = 8;

/// The state of one slow start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HyStartPlusPlus {
    /// Segments that an acknowledgement may add.
    step: u32,
    /// The round ends when more than this is acknowledged.
    round_end: u64,
    /// The lowest RTT of the present round and of the one before; the longest duration where it is unknown.
    rtt: Duration,
    last_rtt: Duration,
    /// RTT samples of this round.
    samples: u32,
    conservative: Option<Conservative>,
}

/// The state of conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// The lowest RTT of the round in which it began.
    baseline: Duration,
    /// Rounds so far, with the one in which it began.
    rounds: u32,
    /// Segments acknowledged that the window has not grown for.
    credit: u32,
}

impl HyStartPlusPlus {
    /// A slow start begins; `paces` says whether its bursts are limited otherwise.
    pub fn new(paces: bool) -> Self {
        HyStartPlusPlus {
            step: if paces { u32::MAX } else { UNPACED_STEP },
            round_end: 0,
            rtt: Duration::MAX,
            last_rtt: Duration::MAX,
            samples: 0,
            conservative: None,
        }
    }

    /// How many of the segments that an acknowledgement delivered the window may grow by (RFC 9406 §4.2).
    pub fn allowed(&mut self, ack: &Ack) -> u32 {
        let delivered = ack.delivered.min(self.step);
        let Some(conservative) = &mut self.conservative else { return delivered };
        let credit = conservative.credit + delivered;
        conservative.credit = credit % GROWTH_DIVISOR;
        credit / GROWTH_DIVISOR
    }

    /// Takes the RTT of an acknowledgement; says whether slow start is over with it.
    pub fn is_over(&mut self, ack: &Ack) -> bool {
        if ack.una > self.round_end && self.end_round(ack.nxt) {
            return true;
        }
        let Some(rtt) = ack.rtt else { return false };
        self.rtt = self.rtt.min(rtt);
        self.samples += 1;
        if self.samples < SAMPLES {
            return false;
        }
        match self.conservative {
            Some(Conservative { baseline, .. }) if self.rtt < baseline => self.conservative = None,
            Some(_) => {}
            // RFC 9406 §4.2: the first round has none to compare with.
            None if self.last_rtt == Duration::MAX => {}
            None if self.rtt >= self.last_rtt + hystart_rise(self.last_rtt) => {
                self.conservative = Some(Conservative { baseline: self.rtt, rounds: 0, credit: 0 });
            }
            None => {}
        }
        false
    }

    /// A round ends, and the next one ends with `nxt`; says whether it was the last one.
    fn end_round(&mut self, nxt: u64) -> bool {
        self.round_end = nxt;
        (self.last_rtt, self.rtt, self.samples) = (self.rtt, Duration::MAX, 0);
        let Some(conservative) = &mut self.conservative else { return false };
        // The part of a round in which it began counts.
        conservative.rounds += 1;
        conservative.rounds >= ROUNDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Congestion, CongestionControl, Connection, Recovery, cubic, reno};

    const MS: Duration = Duration::from_millis(1);

    /// A sender with Reno and HyStart++ that uses its window.
    struct Sender {
        control: reno::Control,
        nxt: u64,
    }

    impl Sender {
        fn new(pacing: bool) -> Sender {
            let config = reno::Config { hystart_plus_plus: true, pacing, ..Default::default() };
            Sender { control: reno::control(&config, &Connection::new(1448)), nxt: 10 }
        }

        /// A window of acknowledgements of two segments each, with this RTT. Returns the window after them.
        fn round(&mut self, rtt: Duration) -> u32 {
            let (una, mut cwnd) = (self.nxt, 0);
            self.nxt +=
                u64::from(self.control.on_ack(&Ack { srtt: rtt, ..Ack::default() }).window.cwnd);
            for n in 1..=(self.nxt - una) / 2 {
                let ack = Ack {
                    delivered: 2,
                    advanced: true,
                    limited: true,
                    una: una + 2 * n,
                    nxt: self.nxt,
                    rtt: Some(rtt),
                    srtt: rtt,
                    ..Ack::default()
                };
                cwnd = self.control.on_ack(&ack).window.cwnd;
            }
            cwnd
        }

        fn ssthresh(&mut self) -> Option<u32> {
            self.control.on_ack(&Ack { srtt: MS, ..Ack::default() }).window.threshold()
        }
    }

    /// RFC 9406 §4.3: an eighth of the RTT before, but from 4 ms to 16 ms.
    #[test]
    fn a_round_trip_time_that_rose_by_an_eighth_slows_it_down() {
        for (before, rise, slower) in [
            (MS * 80, MS * 9, false),
            (MS * 80, MS * 10, true),
            (MS * 8, MS * 3, false),
            (MS * 8, MS * 4, true),
            (MS * 400, MS * 15, false),
            (MS * 400, MS * 16, true),
        ] {
            let mut sender = Sender::new(true);
            let windows =
                [before, before, before + rise, before + rise].map(|rtt| sender.round(rtt));
            assert_eq!(windows[..2], [20, 40]);
            // The eighth acknowledgement of the round shows it, after 16 segments: 24 more add 6 segments.
            assert_eq!(windows[2], if slower { 40 + 16 + 6 } else { 80 }, "{before} + {rise}");
            // A quarter of a window more per round from then on.
            assert_eq!(windows[3], if slower { 62 + 15 } else { 160 }, "{before} + {rise}");
        }
    }

    #[test]
    fn fewer_than_eight_samples_show_nothing() {
        let mut sender = Sender::new(true);
        sender.round(MS * 20);
        // Ten acknowledgements; two of them are judged, and the lowest one decides.
        let windows = [MS * 20, MS * 20].map(|rtt| sender.round(rtt));
        assert_eq!(windows, [40, 80]);
        let mut young = HyStartPlusPlus::new(true);
        (young.last_rtt, young.round_end) = (MS * 20, 100);
        let ack = Ack { rtt: Some(MS * 40), ..Ack::default() };
        (0..7).for_each(|_| assert!(!young.is_over(&ack)));
        assert!(young.conservative.is_none());
        young.is_over(&ack);
        assert!(young.conservative.is_some());
    }

    /// RFC 9406 §4.2: five rounds, the one in which it began included.
    #[test]
    fn five_rounds_of_conservative_slow_start_end_it() {
        let mut sender = Sender::new(true);
        (0..2).for_each(|_| _ = sender.round(MS * 20));
        let mut rounds = 0;
        while sender.ssthresh().is_none() {
            sender.round(MS * 30);
            rounds += 1;
            assert!(rounds < 10);
        }
        // The first acknowledgement of the sixth round ends the fifth.
        assert_eq!(rounds, 6);
    }

    #[test]
    fn slow_start_resumes_when_the_round_trip_time_falls() {
        let mut sender = Sender::new(true);
        (0..2).for_each(|_| _ = sender.round(MS * 20));
        assert_eq!(sender.round(MS * 30), 62);
        // Eight acknowledgements of a round below 30 ms: 16 segments add 4, and 46 add 46.
        assert_eq!(sender.round(MS * 29), 62 + 4 + 46);
        assert_eq!(sender.round(MS * 29), 224);
        assert_eq!(sender.ssthresh(), None);
    }

    /// RFC 9406 §4.3: L is 8 without pacing.
    #[test]
    fn an_acknowledgement_adds_eight_segments_without_pacing() {
        for (pacing, cwnd) in [(true, 30), (false, 18)] {
            let mut sender = Sender::new(pacing);
            let ack =
                Ack { delivered: 20, advanced: true, limited: true, srtt: MS, ..Ack::default() };
            assert_eq!(sender.control.on_ack(&ack).window.cwnd, cwnd);
        }
    }

    /// RFC 9406 §4.3: a later slow start has a threshold.
    #[test]
    fn only_the_first_slow_start_is_watched() {
        let mut sender = Sender::new(true);
        (0..3).for_each(|_| _ = sender.round(MS * 20));
        let at = Ack { in_flight: 7, ..Ack::default() };
        sender.control.on_congestion(Congestion::Timeout, false, &at);
        // Half of 80 is the threshold.
        let windows = [20, 40, 60].map(|ms| sender.round(MS * ms));
        assert_eq!(windows, [16, 32, 40]);
    }

    /// RFC 9406 §4.2: from either phase a mark or a loss leads to congestion avoidance.
    #[test]
    fn congestion_ends_both_phases() {
        for (rtt, cwnd) in [(MS * 20, 80), (MS * 30, 62)] {
            for congestion in [Congestion::Ecn, Congestion::Loss] {
                let mut sender = Sender::new(true);
                (0..2).for_each(|_| _ = sender.round(MS * 20));
                assert_eq!(sender.round(rtt), cwnd);
                sender.control.on_congestion(congestion, false, &Ack::default());
                sender.control.on_recovered(Recovery::Complete);
                assert_eq!(sender.ssthresh(), Some(cwnd / 2));
                // No segment, or one, as two acknowledgements less than a window may come; slow start would add half.
                assert!((cwnd / 2..=cwnd / 2 + 1).contains(&sender.round(rtt)));
            }
        }
    }

    /// RFC 9438 §4.10.
    #[test]
    fn cubic_of_a_quic_stack_has_it_in_place_of_hystart() {
        let quic = Connection { endpoint: crate::Endpoint::Quic, ..Connection::new(1448) };
        let config = cubic::Config::default();
        let mut control = cubic::control(&config, &quic);
        let mut nxt = 20;
        // 20 acknowledgements in a row without a rise of the RTT: Linux would take the train for a full path.
        for n in 1..=400u64 {
            nxt += 2;
            let ack = Ack {
                now: l4s_units::Time::ZERO + MS * n,
                delivered: 1,
                advanced: true,
                limited: true,
                una: n,
                nxt,
                rtt: Some(MS * 20),
                srtt: MS * 20,
                ..Ack::default()
            };
            control.observe(&ack);
            assert_eq!(control.on_ack(&ack).window.threshold(), None, "{n}");
        }
    }
}
