//! Whether the bandwidth has stopped growing (draft-ietf-ccwg-bbr §5.3.1.2): the path is full.

use crate::bbr::bandwidth::Bandwidth;

/// Round trips without growth that show a full path: one or two may be those of a receiver's window.
const ROUNDS_WITHOUT_GROWTH: u32 = 3;
/// Growth is a quarter at least, in 1/256.
const GROWTH: u64 = 256 * 5 / 4;

/// The search for the end of growth.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// It was reached once in this connection.
    pub reached: bool,
    /// It was reached since the search began.
    pub now: bool,
    /// Round trips without growth.
    pub rounds: u32,
    /// The rate before them.
    baseline: Bandwidth,
}

impl FullPipe {
    /// The search begins again, from this rate on.
    pub fn restart(&mut self, baseline: Bandwidth) {
        (self.now, self.rounds, self.baseline) = (false, 0, baseline);
    }

    /// Takes the rate at the end of a round trip in which the application did not hold back.
    pub fn take(&mut self, rate: Bandwidth) {
        // A sample that is too short has no rate, and shows neither growth nor its end.
        if self.now || rate == Bandwidth::default() {
            return;
        }
        if rate >= self.baseline.times(GROWTH) {
            self.restart(rate);
            return;
        }
        self.rounds += 1;
        self.now = self.rounds >= ROUNDS_WITHOUT_GROWTH;
        self.reached |= self.now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Delivery;
    use l4s_units::Duration;

    fn rate(per_second: u64) -> Bandwidth {
        Bandwidth::of(Delivery { segments: per_second, interval: Duration::from_secs(1) })
    }

    fn after(rates: &[u64]) -> FullPipe {
        let mut full = FullPipe::default();
        rates.iter().for_each(|per_second| full.take(rate(*per_second)));
        full
    }

    #[test]
    fn three_round_trips_without_growth_by_a_quarter_show_a_full_path() {
        assert!(!after(&[1000, 1249, 1249]).reached);
        assert!(after(&[1000, 1249, 1249, 1249]).reached);
        // Growth in between begins the count again.
        assert!(!after(&[1000, 1100, 1100, 1300, 1300, 1300]).now);
    }

    #[test]
    fn a_search_that_begins_again_forgets_the_count_but_not_that_the_path_was_full() {
        let mut full = after(&[1000, 1000, 1000, 1000]);
        full.restart(rate(1000));
        assert!(full.reached && !full.now);
        (0..3).for_each(|_| full.take(rate(1000)));
        assert!(full.now);
    }
}
