//! The bounds of the model: a short-term one of rate and flight, which losses lower when nothing
//! is probed, and a long-term one of the flight, which probes find (draft-ietf-ccwg-bbr §5.5.10).

use super::latest::Latest;
use super::{LEAST_WINDOW, UNIT};
use crate::bbr::bandwidth::Bandwidth;

/// A bound is lowered to no less than this much of itself (β of draft §2.8), in tenths.
pub(super) const BETA_TENTHS: u64 = 7;
/// Free of the long-term bound for others while cruising, in percent (draft §2.8).
const HEADROOM_PERCENT: u64 = 15;
/// The growth of a probe doubles this many times at most (draft §5.3.3.9).
const MOST_DOUBLINGS: u32 = 30;

/// The short-term bounds; none from a probe to the next loss.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct ShortTerm {
    pub bandwidth: Option<Bandwidth>,
    /// In segments.
    pub in_flight: Option<u64>,
}

impl ShortTerm {
    /// The answer to a round trip: to losses in it, and to marks by a `cut` in 1/256 of the flight.
    pub fn adapt(&mut self, latest: &Latest, cut: Option<u64>, max_bw: Bandwidth, cwnd: u64) {
        let marked = cut.map(|cut| {
            let bound = *self.in_flight.get_or_insert(cwnd);
            (bound * (UNIT - cut)) >> 8
        });
        if latest.lost {
            let bandwidth = self.bandwidth.unwrap_or(max_bw).tenths(BETA_TENTHS);
            self.bandwidth = Some(bandwidth.max(latest.bandwidth));
            let in_flight = self.in_flight.unwrap_or(cwnd) * BETA_TENTHS / 10;
            self.in_flight = Some(in_flight.max(latest.in_flight));
        }
        // The lower one of the two answers.
        if let (Some(marked), Some(bound)) = (marked, &mut self.in_flight) {
            *bound = marked.min(*bound);
        }
    }

    /// The larger one of each bound (draft §5.5.11.2).
    pub fn or_larger(self, other: ShortTerm) -> ShortTerm {
        ShortTerm {
            bandwidth: larger(self.bandwidth, other.bandwidth),
            in_flight: larger(self.in_flight, other.in_flight),
        }
    }
}

/// The larger bound; there is none where one of the two is none.
pub(super) fn larger<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    Some(one?.max(other?))
}

/// The long-term bound, and how a probe raises it (draft §5.3.3.9).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongTerm {
    /// In segments; none before a probe lost too much.
    pub in_flight: Option<u64>,
    /// Segments acknowledged per segment of growth; none where no probe raises it.
    per: Option<u64>,
    /// Segments acknowledged since the last growth.
    acked: u64,
    /// How often the growth per round trip has doubled.
    doublings: u32,
}

impl LongTerm {
    /// The bound less the room for others.
    pub fn with_headroom(&self) -> Option<u64> {
        let bound = self.in_flight?;
        let headroom = (bound * HEADROOM_PERCENT / 100).max(1);
        Some(bound.saturating_sub(headroom).max(LEAST_WINDOW.into()))
    }

    /// A probe is near, whose first round trip grows by 2^`doublings` segments.
    pub fn prepare(&mut self, doublings: u32) {
        (self.doublings, self.acked) = (doublings, 0);
    }

    /// The growth of the next round trip of a probe, of a window of `cwnd`, is twice that of the last one.
    pub fn steepen(&mut self, cwnd: u64) {
        self.per = Some((cwnd >> self.doublings).max(1));
        self.doublings = (self.doublings + 1).min(MOST_DOUBLINGS);
    }

    /// The probe is over.
    pub fn hold(&mut self) {
        self.per = None;
    }

    /// A flight of this size had few losses.
    pub fn admit(&mut self, in_flight: u64) {
        self.in_flight = self.in_flight.map(|bound| bound.max(in_flight));
    }

    /// Segments were acknowledged in a probe that used the bound up.
    pub fn grow(&mut self, acked: u64) {
        let (Some(bound), Some(per)) = (&mut self.in_flight, self.per) else { return };
        self.acked += acked;
        *bound += self.acked / per;
        self.acked %= per;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delivery, RateSample};
    use l4s_units::Duration;

    fn rate(per_second: u64) -> Bandwidth {
        Bandwidth::of(Delivery { segments: per_second, interval: Duration::from_secs(1) })
    }

    /// A round trip that delivered this many segments at this rate.
    fn round(segments: u64, bandwidth: Bandwidth, lost: bool) -> Latest {
        let mut latest = Latest::default();
        latest.take(bandwidth, &RateSample { delivered: segments, ..RateSample::default() });
        latest.lost = lost;
        latest
    }

    /// 0.7 of 100 segments, unless the path delivered more.
    #[test]
    fn a_round_trip_with_losses_lowers_the_bounds_to_what_it_delivered() {
        let mut bounds = ShortTerm::default();
        bounds.adapt(&round(90, rate(900), false), None, rate(1000), 100);
        assert_eq!(bounds, ShortTerm::default());
        bounds.adapt(&round(90, rate(900), true), None, rate(1000), 100);
        assert_eq!((bounds.in_flight, bounds.bandwidth), (Some(90), Some(rate(900))));
        bounds.adapt(&round(10, rate(100), true), None, rate(1000), 100);
        assert_eq!(bounds.in_flight, Some(63));
    }

    /// A third of an alpha of 1 is cut from 90: 60.
    #[test]
    fn marks_cut_the_flight_alone() {
        let mut bounds = ShortTerm::default();
        bounds.adapt(&round(90, rate(900), false), Some(UNIT / 3), rate(1000), 90);
        assert_eq!((bounds.in_flight, bounds.bandwidth), (Some(60), None));
    }

    /// 1, 2, 4, 8 segments in four round trips of 64.
    #[test]
    fn the_growth_of_a_probe_doubles_per_round_trip() {
        let mut bound = LongTerm { in_flight: Some(64), ..LongTerm::default() };
        bound.prepare(0);
        let mut grown = Vec::new();
        for _ in 0..4 {
            bound.steepen(64);
            (0..32).for_each(|_| bound.grow(2));
            grown.push(bound.in_flight.unwrap());
        }
        assert_eq!(grown, [65, 67, 71, 79]);
        bound.hold();
        bound.grow(1000);
        assert_eq!(bound.in_flight, Some(79));
    }

    #[test]
    fn a_seventh_of_the_bound_is_left_to_others() {
        let with = |in_flight| LongTerm { in_flight, ..LongTerm::default() }.with_headroom();
        assert_eq!(with(None), None);
        assert_eq!(with(Some(100)), Some(85));
        // One segment at least, and four stay.
        assert_eq!((with(Some(6)), with(Some(3))), (Some(5), Some(4)));
    }
}
