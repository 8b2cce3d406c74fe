//! How much of a flight was lost, and where that became too much (draft-ietf-ccwg-bbr §5.5.10.2).

use crate::LossSample;

/// The losses of a round trip that a probe may have, in percent (`BBR.LossThresh`, draft §2.8).
const MOST_PERCENT: u64 = 2;
/// Startup ends when this many ranges of segments were lost in a round trip (draft §5.3.1.3).
pub(super) const STARTUP_RANGES: u32 = 6;

/// Whether more than 2 % of a flight was lost (draft §5.5.10.2). Of an unknown flight it is not.
pub(super) fn is_too_high(lost: u64, in_flight: u32) -> bool {
    in_flight > 0 && lost * 100 > u64::from(in_flight) * MOST_PERCENT
}

/// How much could be in flight before 2 % of it was lost (draft §5.5.10.2): all before this
/// segment, and of it the part that brings the losses to 2 %. A segment counts whole.
pub(super) fn in_flight_at_loss(loss: &LossSample) -> u64 {
    let before = u64::from(loss.tx_in_flight).saturating_sub(1);
    let lost_before = loss.lost.saturating_sub(1);
    let room = (before * MOST_PERCENT).saturating_sub(lost_before * 100);
    before + room.div_ceil(100 - MOST_PERCENT)
}

/// The ranges of segments lost in a round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    ranges: u32,
    last: Option<u64>,
}

impl Losses {
    /// A segment was lost. The next one after it is in the same range.
    pub fn note(&mut self, seq: u64) {
        if self.last.is_none_or(|last| seq != last + 1) {
            self.ranges += 1;
        }
        self.last = Some(seq);
    }

    /// The round trip is over: how many ranges it lost.
    pub fn end_round(&mut self) -> u32 {
        self.last = None;
        core::mem::take(&mut self.ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_percent_are_not_too_much_and_more_are() {
        assert!(!is_too_high(2, 100));
        assert!(is_too_high(3, 100));
        assert!(is_too_high(1, 49));
        assert!(!is_too_high(1, 50));
        assert!(!is_too_high(7, 0));
    }

    /// Draft §5.5.10.2 with 101 in flight and the third loss: 2 of 100 are 2 %, so that
    /// nothing of this segment fits. Had one been lost before, (2 % of 100 − 1) / 0.98 would: one segment.
    #[test]
    fn the_flight_before_the_losses_crossed_two_percent_is_the_bound() {
        let loss = |lost| LossSample { lost, tx_in_flight: 101, ..LossSample::default() };
        assert_eq!(in_flight_at_loss(&loss(3)), 100);
        assert_eq!(in_flight_at_loss(&loss(2)), 101 + 1);
        assert_eq!(in_flight_at_loss(&loss(30)), 100);
    }

    #[test]
    fn neighbours_are_one_range() {
        let mut losses = Losses::default();
        [5, 6, 7, 9, 11, 12].iter().for_each(|seq| losses.note(*seq));
        assert_eq!(losses.end_round(), 3);
        assert_eq!(losses.end_round(), 0);
    }
}
