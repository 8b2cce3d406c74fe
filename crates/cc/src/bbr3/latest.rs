//! The data that the last round trip delivered, and whether it lost any (draft-ietf-ccwg-bbr §5.5.10.3).

use crate::RateSample;
use crate::bbr::bandwidth::Bandwidth;

/// The last round trip. It begins with the first loss in it, so that it has one whole round trip
/// of the path's answers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Latest {
    /// The highest delivery rate (`BBR.bw_latest`).
    pub bandwidth: Bandwidth,
    /// The most segments delivered in the flight of one (`BBR.inflight_latest`).
    pub in_flight: u64,
    /// Something was lost, or taken for lost.
    pub lost: bool,
    /// The present acknowledgement begins a round trip.
    pub round_starts: bool,
    /// The next one begins when a segment is acknowledged that was sent after this many deliveries.
    next: u64,
}

impl Latest {
    /// The first round trip begins.
    pub fn begin(&mut self, delivered: u64) {
        self.next = delivered;
    }

    /// A probe is over, and its results are answered.
    pub fn forget(&mut self) {
        (self.bandwidth, self.in_flight, self.lost) = (Bandwidth::default(), 0, false);
    }

    /// A loss was detected when this much was delivered.
    pub fn note_loss(&mut self, delivered: u64) {
        if !self.lost {
            self.next = delivered;
        }
        self.lost = true;
    }

    /// Takes the sample of an acknowledgement that delivered something.
    pub fn take(&mut self, rate: Bandwidth, sample: &RateSample) {
        self.bandwidth = self.bandwidth.max(rate);
        self.in_flight = self.in_flight.max(sample.delivered - sample.prior_delivered);
        self.round_starts = sample.prior_delivered >= self.next;
        if self.round_starts {
            self.next = sample.delivered;
        }
    }

    /// A round trip is over, and answered.
    pub fn advance(&mut self, rate: Bandwidth, sample: &RateSample) {
        self.bandwidth = rate;
        self.in_flight = sample.delivered - sample.prior_delivered;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Delivery;
    use l4s_units::Duration;

    fn sample(prior_delivered: u64, delivered: u64) -> (Bandwidth, RateSample) {
        let segments = delivered - prior_delivered;
        let delivery = Delivery { segments, interval: Duration::from_millis(10) };
        let sample = RateSample { delivered, prior_delivered, ..RateSample::default() };
        (Bandwidth::of(delivery), sample)
    }

    /// The first loss, at 50 deliveries, begins a round trip: it is over with a segment sent after that.
    #[test]
    fn a_round_trip_begins_with_its_first_loss() {
        let mut latest = Latest::default();
        latest.begin(1);
        for (lost_at, prior, delivered, starts) in [
            (None, 1, 40, true),
            (Some(50), 40, 50, false),
            (Some(60), 45, 60, false),
            (None, 50, 70, true),
        ] {
            if let Some(delivered) = lost_at {
                latest.note_loss(delivered);
            }
            let (rate, sample) = sample(prior, delivered);
            latest.take(rate, &sample);
            assert_eq!(latest.round_starts, starts, "{prior}");
        }
        assert!(latest.lost);
        // The most of one sample was 39 segments, before the round trip that starts now.
        assert_eq!(latest.in_flight, 39);
        let (rate, sample) = sample(50, 70);
        latest.advance(rate, &sample);
        assert_eq!((latest.in_flight, latest.bandwidth), (20, rate));
    }
}
