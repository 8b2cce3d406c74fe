//! The response to marks of Google's public v3 code (`net/ipv4/tcp_bbr.c`, branch v3 of google/bbr).
//!
//! The draft leaves it to experiments (§3.7). The code takes marks for those of a shallow threshold, in whose
//! proportion the flight is cut once per round trip. It does so where the lowest RTT is at most
//! 5 ms, as in a data centre, and where the receiver reports marks exactly. That asks for a route
//! with the flag `ecn_low` there, and for counted marks here (AccECN, or DCTCP's echo).
//! Without these it leaves marks without an answer.

use l4s_units::Duration;

use super::UNIT;
use crate::RateSample;

/// The longest RTT with a response (`bbr_ecn_max_rtt_us`).
const MOST_RTT: Duration = Duration::from_millis(5);
/// The gain of the mean, in 1/256 (`bbr_ecn_alpha_gain`: a sixteenth).
const GAIN: u64 = UNIT / 16;
/// A cut is this part of the mean, in 1/256 (`bbr_ecn_factor`: a third).
const FACTOR: u64 = UNIT / 3;
/// More than half of a flight marked is too much (`bbr_ecn_thresh`), in 1/256.
const THRESHOLD: u64 = UNIT / 2;
/// Startup ends after this many such round trips, one after the other (`bbr_full_ecn_cnt`).
const STARTUP_ROUNDS: u32 = 2;
/// A probe after marks begins with a growth by half the bound (`bbr_ecn_reprobe_gain`): 2^-1.
const REPROBE_SHIFT: u32 = 1;
/// No growth doubles more often than that.
const MOST_DOUBLINGS: u32 = 30;

/// The mean of marks, and the marks of the last round trip and cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ecn {
    /// Moving mean of the fraction of marks, in 1/256.
    alpha: u64,
    /// The response is in use.
    eligible: bool,
    /// The totals at the last update.
    delivered: u64,
    delivered_ce: u64,
    /// Round trips of startup with too many marks.
    startup_rounds: u32,
    /// A mark in this round trip, and in this cycle.
    pub in_round: bool,
    in_cycle: bool,
    lost_in_cycle: bool,
    /// The transport answers a mark: not all is acknowledged that was in flight then.
    pub reducing: bool,
}

impl Default for Ecn {
    /// The mean begins at 1, so that the first marks are answered at once.
    fn default() -> Self {
        Ecn {
            alpha: UNIT,
            eligible: false,
            delivered: 0,
            delivered_ce: 0,
            startup_rounds: 0,
            in_round: false,
            in_cycle: false,
            lost_in_cycle: false,
            reducing: false,
        }
    }
}

impl Ecn {
    /// The connection is established.
    pub fn begin(&mut self, sample: &RateSample) {
        (self.delivered, self.delivered_ce) = (sample.delivered, sample.delivered_ce);
    }

    /// An acknowledgement echoed congestion.
    pub fn note_mark(&mut self) {
        self.in_round |= self.eligible;
        self.in_cycle = true;
    }

    /// A segment was lost.
    pub fn note_loss(&mut self) {
        self.lost_in_cycle = true;
    }

    /// A cycle begins.
    pub fn forget_cycle(&mut self) {
        (self.in_round, self.in_cycle, self.lost_in_cycle) = (false, false, false);
    }

    /// A round trip is over, on a path of this RTT whose receiver `counts` marks.
    pub fn round(&mut self, sample: &RateSample, counts: bool, min_rtt: Option<Duration>) {
        self.eligible |= counts && min_rtt.is_some_and(|rtt| rtt <= MOST_RTT);
        let delivered = sample.delivered - self.delivered;
        if !self.eligible || delivered == 0 {
            return;
        }
        let ratio = ((sample.delivered_ce - self.delivered_ce) << 8) / delivered;
        // Each part rounds down, so that the mean reaches 0. It is at most 1, as the ratio is.
        let kept = ((UNIT - GAIN) * self.alpha) >> 8;
        self.alpha = (kept + ((GAIN * ratio) >> 8)).min(UNIT);
        (self.delivered, self.delivered_ce) = (sample.delivered, sample.delivered_ce);
        self.startup_rounds = if ratio >= THRESHOLD { self.startup_rounds + 1 } else { 0 };
    }

    /// Whether the last round trips had too many marks for startup to go on.
    pub fn fills_startup(&self) -> bool {
        self.startup_rounds >= STARTUP_ROUNDS
    }

    /// The part of the flight that the marks of a round trip cut, in 1/256.
    pub fn cut(&self) -> Option<u64> {
        self.in_round.then_some((self.alpha * FACTOR) >> 8)
    }

    /// Whether more than half of the sample was marked.
    pub fn is_too_high(&self, sample: &RateSample) -> bool {
        let marked = sample.delivered_ce - sample.prior_delivered_ce;
        let delivered = sample.delivered - sample.prior_delivered;
        self.eligible && sample.tx_in_flight > 0 && marked > (delivered * THRESHOLD) >> 8
    }

    /// Whether a cycle that had marks and no losses has none any more. `is_whole`: nothing is repaired.
    pub fn asks_for_probe(&self, is_whole: bool) -> bool {
        let is_open = is_whole && !self.reducing;
        self.eligible && self.in_cycle && !self.lost_in_cycle && is_open
    }

    /// How often the growth of that probe has doubled already, towards half of the bound.
    pub fn doublings(&self, bound: Option<u64>) -> u32 {
        let growth = bound.map_or(MOST_DOUBLINGS, |bound| (bound >> REPROBE_SHIFT).max(1).ilog2());
        growth.min(MOST_DOUBLINGS)
    }

    /// The mean, where it is in use.
    pub fn alpha(&self) -> Option<f64> {
        self.eligible.then_some(self.alpha as f64 / UNIT as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Round trips of 100 segments, each with this number of marks, at this RTT.
    fn after(rounds: u64, marked: u64, rtt: Duration) -> Ecn {
        let mut ecn = Ecn::default();
        for n in 1..=rounds {
            let (delivered, delivered_ce) = (n * 100, n * marked);
            let sample = RateSample { delivered, delivered_ce, ..RateSample::default() };
            ecn.round(&sample, true, Some(rtt));
        }
        ecn
    }

    /// (15/16)^16 of the 1 that it begins with is 0.36. Rounding down makes it a little less, and 0 in the end.
    #[test]
    fn the_mean_follows_the_fraction_of_marks_by_a_sixteenth_per_round_trip() {
        let alpha = after(16, 0, MS).alpha().unwrap();
        assert!((0.32..0.36).contains(&alpha), "{alpha}");
        assert_eq!(after(200, 0, MS).alpha(), Some(0.0));
        let alpha = after(200, 50, MS).alpha().unwrap();
        assert!((0.48..0.53).contains(&alpha), "{alpha}");
    }

    #[test]
    fn above_five_milliseconds_there_is_no_response() {
        for (rtt, answered) in [(MS * 5, true), (MS * 6, false)] {
            let mut ecn = after(2, 100, rtt);
            ecn.note_mark();
            assert_eq!(ecn.cut().is_some(), answered, "{rtt:?}");
            assert_eq!(ecn.fills_startup(), answered);
        }
    }

    #[test]
    fn a_receiver_that_does_not_count_gets_no_response() {
        let mut ecn = Ecn::default();
        ecn.round(&RateSample { delivered: 10, ..RateSample::default() }, false, Some(MS));
        ecn.note_mark();
        assert_eq!((ecn.cut(), ecn.alpha()), (None, None));
    }

    /// A third of a mean of 1, rounded down in 1/256.
    #[test]
    fn all_marked_cuts_a_third() {
        let mut ecn = after(1, 100, MS);
        assert_eq!(ecn.cut(), None);
        ecn.note_mark();
        assert_eq!(ecn.cut(), Some(85));
    }

    /// Half of 100 is 50, whose power of two is 2^5.
    #[test]
    fn a_probe_after_marks_begins_with_half_the_bound() {
        assert_eq!(Ecn::default().doublings(Some(100)), 5);
        assert_eq!(Ecn::default().doublings(None), MOST_DOUBLINGS);
    }
}
