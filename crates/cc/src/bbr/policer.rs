//! The rate of a token-bucket policer (`bbr_lt_bw_sampling` of Linux).
//!
//! A policer lets bursts pass, and then drops all above its rate. The delivery rate of one round
//! trip shows the bursts; BBR would send at that rate and lose a large part. Two intervals with
//! many losses and the same rate, each of at least four round trips, show the policer: BBR then
//! sends at the rate of both.

use l4s_units::{Duration, Time};

use super::bandwidth::Bandwidth;
use crate::{Delivery, RateSample};

/// An interval has at least this many round trips, and at most four times as many
/// (`bbr_lt_intvl_min_rtts`).
const LEAST_ROUNDS: u32 = 4;
/// Losses in 1/256 of the deliveries that show a policer (`bbr_lt_loss_thresh`).
const LOSSES: u64 = 50;
/// Two intervals have the same rate if it differs by an eighth (`bbr_lt_bw_ratio`), or by 4 kb/s
/// (`bbr_lt_bw_diff`).
const RATIO: u64 = 256 / 8;
const DIFFERENCE: u64 = 4000 / 8;
/// Its rate holds for this many round trips, and then is looked for again (`bbr_lt_bw_max_rtts`).
const MOST_ROUNDS: u32 = 48;

/// The knowledge of a policer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    /// The rate of the last interval.
    rate: Option<Bandwidth>,
    /// Whether that is a policer's.
    found: bool,
    /// An interval with losses has begun.
    sampling: bool,
    rounds: u32,
    /// The totals at its begin.
    began: Time,
    delivered: u64,
    lost: u64,
}

/// The state of the transport when a sample comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct News {
    /// A round trip began.
    pub round_start: bool,
    /// Something was lost.
    pub lost: bool,
    /// The gain cycles, so that a new search may begin.
    pub cycles: bool,
}

impl Policer {
    /// The rate of the policer, where there is one.
    pub fn rate(&self) -> Option<Bandwidth> {
        self.rate.filter(|_| self.found)
    }

    /// Begins without knowledge.
    pub fn reset(&mut self, sample: &RateSample) {
        *self = Policer::default();
        self.begin(sample);
    }

    fn begin(&mut self, sample: &RateSample) {
        self.began = sample.delivered_at;
        (self.delivered, self.lost) = (sample.delivered, sample.lost);
        self.rounds = 0;
    }

    /// Takes a sample; `true` if the rate of a policer was given up, so that the cycle begins again.
    pub fn take(&mut self, sample: &RateSample, news: News, mss: u32) -> bool {
        if self.found {
            if news.cycles && news.round_start {
                self.rounds += 1;
                if self.rounds >= MOST_ROUNDS {
                    self.reset(sample);
                    return true;
                }
            }
            return false;
        }
        if !self.sampling {
            // The bucket is empty at the first loss: from then on the rate is the policer's.
            if !news.lost {
                return false;
            }
            self.begin(sample);
            self.sampling = true;
        }
        if sample.app_limited {
            self.reset(sample);
            return false;
        }
        self.rounds += u32::from(news.round_start);
        if self.rounds < LEAST_ROUNDS {
            return false;
        }
        if self.rounds > 4 * LEAST_ROUNDS {
            self.reset(sample);
            return false;
        }
        // An interval ends with a loss, when the bucket is empty again.
        let (lost, segments) = (sample.lost - self.lost, sample.delivered - self.delivered);
        if !news.lost || segments == 0 || (lost << 8) < LOSSES * segments {
            return false;
        }
        let millis = sample.delivered_at.since(self.began).as_micros() / 1000;
        if millis > 0 {
            let interval = Duration::from_millis(millis);
            self.end(Bandwidth::of(Delivery { segments, interval }), sample, mss);
        }
        false
    }

    fn end(&mut self, rate: Bandwidth, sample: &RateSample, mss: u32) {
        if let Some(before) = self.rate {
            let difference = rate.difference(before);
            if difference <= before.times(RATIO) || difference.pacing_rate(mss, 256) <= DIFFERENCE {
                self.rate = Some(rate.mean(before));
                self.found = true;
                self.rounds = 0;
                return;
            }
        }
        self.rate = Some(rate);
        self.begin(sample);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path that delivers this many segments in each round trip of 10 ms, and loses others.
    #[derive(Default)]
    struct Path {
        policer: Policer,
        sample: RateSample,
        gave_up: bool,
    }

    impl Path {
        fn round(&mut self, delivered: u64, lost: u64) -> &mut Self {
            self.sample.delivered += delivered;
            self.sample.lost += lost;
            self.sample.delivered_at += Duration::from_millis(10);
            let news = News { round_start: true, lost: lost > 0, cycles: true };
            self.gave_up |= self.policer.take(&self.sample, news, 1448);
            self
        }

        fn rounds(&mut self, count: u32, delivered: u64, lost: u64) -> &mut Self {
            for _ in 0..count {
                self.round(delivered, lost);
            }
            self
        }

        /// Segments per round trip.
        fn rate(&self) -> Option<u64> {
            self.policer.rate().map(|rate| rate.segments_in(Duration::from_millis(10), 256))
        }
    }

    /// Of 130 segments per round trip 30 are lost. An interval takes four round trips, from the first
    /// loss on.
    #[test]
    fn two_intervals_of_one_rate_with_losses_show_a_policer() {
        let mut path = Path::default();
        path.rounds(10, 130, 0);
        assert_eq!(path.rounds(7, 100, 30).rate(), None);
        assert_eq!(path.round(100, 30).rate(), Some(100));
    }

    /// A fifth of the deliveries, 50/256, is the threshold.
    #[test]
    fn fewer_losses_show_none() {
        assert_eq!(Path::default().rounds(100, 100, 15).rate(), None);
    }

    #[test]
    fn rates_that_differ_show_none() {
        let mut path = Path::default();
        for _ in 0..6 {
            path.rounds(4, 100, 30).rounds(4, 200, 60);
        }
        assert_eq!(path.rate(), None);
    }

    #[test]
    fn an_application_that_pauses_shows_none() {
        let mut path = Path::default();
        path.rounds(4, 100, 30);
        path.sample.app_limited = true;
        path.round(100, 30);
        path.sample.app_limited = false;
        assert_eq!(path.rounds(7, 100, 30).rate(), None);
        assert_eq!(path.round(100, 30).rate(), Some(100));
    }

    /// The rate holds for 48 round trips. Then the cycle begins again, and the search.
    #[test]
    fn the_rate_is_given_up_after_a_while() {
        let mut path = Path::default();
        assert_eq!(path.rounds(8, 100, 30).rate(), Some(100));
        assert_eq!(path.rounds(47, 100, 0).rate(), Some(100));
        assert!(!path.gave_up);
        assert_eq!(path.round(100, 0).rate(), None);
        assert!(path.gave_up);
    }
}
