//! Samples of the delivery rate, for a congestion control that models the path (`tcp_rate.c` of
//! Linux, draft-cheng-iccrg-delivery-rate-estimation, draft-ietf-ccwg-bbr §4.1).
//!
//! A departure has the number of segments delivered until then. When it is delivered itself, the
//! difference is the data of about one round trip. Its time is the longer one of two: from the
//! first of that data sent to the segment, and from the delivery before it to the segment's.

use std::collections::VecDeque;

use l4s_cc::{Delivery, LossSample, RateSample};
use l4s_units::{Duration, Time};

/// The totals of a connection when a segment left.
#[derive(Clone, Copy, Debug)]
struct Departure {
    delivered: u64,
    delivered_at: Time,
    /// When the last segment had left that was delivered then.
    first_sent_at: Time,
    lost: u64,
    delivered_ce: u64,
    /// Segments in flight, itself included.
    in_flight: u32,
    app_limited: bool,
}

/// The newest segment that an acknowledgement delivered.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent_at: Time,
    seq: u64,
    departure: Departure,
}

/// The state of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    /// Segments delivered. The SYN-ACK counts.
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    /// Segments lost, retransmissions included.
    lost: u64,
    /// Segments delivered that met congestion.
    delivered_ce: u64,
    /// The application had nothing to send; samples say so until this many are delivered.
    app_limited: Option<u64>,
    /// In the order of the segments in flight.
    departures: VecDeque<Departure>,
    /// Segments in flight before the present acknowledgement.
    prior_in_flight: u32,
    newest: Option<Newest>,
    /// Losses that were not reported to the congestion control.
    losses: Vec<LossSample>,
}

impl Sampler {
    /// Before the first segment: the application has written nothing.
    pub fn new() -> Self {
        Sampler {
            delivered: 1,
            delivered_at: Time::ZERO,
            first_sent_at: Time::ZERO,
            lost: 0,
            delivered_ce: 0,
            app_limited: Some(1),
            departures: VecDeque::new(),
            prior_in_flight: 0,
            newest: None,
            losses: Vec::new(),
        }
    }

    /// A segment leaves for the first time, as the newest one of `in_flight`.
    pub fn sends(&mut self, in_flight: u32, now: Time) {
        if self.departures.is_empty() {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        self.departures.push_back(self.departure(in_flight));
    }

    /// A segment leaves again, which is at this place, as one of `in_flight`.
    pub fn sends_again(&mut self, place: usize, in_flight: u32) {
        self.departures[place] = self.departure(in_flight);
    }

    fn departure(&self, in_flight: u32) -> Departure {
        Departure {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost: self.lost,
            delivered_ce: self.delivered_ce,
            in_flight,
            app_limited: self.app_limited.is_some(),
        }
    }

    /// An acknowledgement came, with this many segments in flight: nothing is known of it yet.
    pub fn begin(&mut self, in_flight: u32) {
        self.prior_in_flight = in_flight;
        self.newest = None;
    }

    /// It delivered segment `seq`, which is at this place in flight and last left at `sent_at`.
    pub fn delivers(&mut self, place: usize, seq: u64, sent_at: Time) {
        self.delivered += 1;
        if self.newest.is_none_or(|newest| (sent_at, seq) > (newest.sent_at, newest.seq)) {
            self.newest = Some(Newest { sent_at, seq, departure: self.departures[place] });
            self.first_sent_at = sent_at;
        }
    }

    /// The oldest segment in flight is acknowledged.
    pub fn forget_oldest(&mut self) {
        self.departures.pop_front();
    }

    /// Segment `seq` was lost, or its retransmission, which is at this place in flight.
    pub fn loses(&mut self, place: usize, seq: u64, now: Time) {
        self.lost += 1;
        let Departure { lost, in_flight, app_limited, .. } = self.departures[place];
        self.losses.push(LossSample {
            now,
            seq,
            lost: self.lost - lost,
            tx_in_flight: in_flight,
            app_limited,
            delivered: self.delivered,
        });
    }

    /// The losses since this was last called.
    pub fn take_losses(&mut self) -> impl Iterator<Item = LossSample> + '_ {
        self.losses.drain(..)
    }

    /// This number of the segments delivered met congestion.
    pub fn marks(&mut self, segments: u32) {
        self.delivered_ce += u64::from(segments);
    }

    /// The application has nothing to send, with this many segments in flight; or the congestion
    /// control holds it back.
    pub fn is_limited(&mut self, in_flight: u32) {
        self.app_limited = Some(self.delivered + u64::from(in_flight));
    }

    /// The sample of the acknowledgement that arrived now, and the totals after it.
    pub fn sample(&mut self, segments: u32, min_rtt: Duration, now: Time) -> RateSample {
        if self.app_limited.is_some_and(|until| self.delivered > until) {
            self.app_limited = None;
        }
        if segments > 0 {
            self.delivered_at = now;
        }
        let totals = RateSample {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            prior_in_flight: self.prior_in_flight,
            lost: self.lost,
            delivered_ce: self.delivered_ce,
            ..RateSample::default()
        };
        let Some(Newest { departure, .. }) = self.newest else { return totals };
        let interval = self.first_sent_at.since(departure.first_sent_at);
        let interval = interval.max(now.since(departure.delivered_at));
        let segments = self.delivered - departure.delivered;
        RateSample {
            delivery: (interval >= min_rtt).then_some(Delivery { segments, interval }),
            prior_delivered: departure.delivered,
            prior_lost: departure.lost,
            prior_delivered_ce: departure.delivered_ce,
            tx_in_flight: departure.in_flight,
            app_limited: departure.app_limited,
            ..totals
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    /// One segment leaves per millisecond, and each is delivered ten milliseconds later.
    fn steady(sampler: &mut Sampler, ms: u64) -> RateSample {
        sampler.sends(10, at(ms));
        let Some(seq) = ms.checked_sub(10) else { return RateSample::default() };
        sampler.begin(0);
        sampler.delivers(0, seq, at(seq));
        sampler.forget_oldest();
        sampler.sample(1, MS * 10, at(ms))
    }

    /// After this many milliseconds of that.
    fn after(ms: u64) -> Sampler {
        let mut sampler = Sampler::new();
        for ms in 0..ms {
            steady(&mut sampler, ms);
        }
        sampler
    }

    #[test]
    fn a_steady_flow_has_its_rate() {
        let mut sampler = Sampler::new();
        for ms in 0..100 {
            let sample = steady(&mut sampler, ms);
            if ms > 20 {
                let delivery = sample.delivery.expect("a sample");
                assert_eq!((delivery.segments, delivery.interval), (11, MS * 11), "{ms}");
                assert!(!sample.app_limited);
            }
        }
    }

    /// Ten acknowledgements were held up and come at once: the rate is that of sending.
    #[test]
    fn a_burst_of_acknowledgements_is_no_rate() {
        let mut sampler = after(40);
        (40..50).for_each(|ms| sampler.sends(10, at(ms)));
        let rate = |sample: RateSample| {
            sample.delivery.map(|d| d.segments as f64 / d.interval.as_micros() as f64 * 1e3)
        };
        for seq in 30..40 {
            sampler.begin(0);
            sampler.delivers(0, seq, at(seq));
            sampler.forget_oldest();
            let rate = rate(sampler.sample(1, MS * 10, at(49))).expect("a sample");
            assert!(rate <= 1.0, "{rate} per millisecond");
        }
    }

    /// An acknowledgement that is earlier than any before is of another transmission.
    #[test]
    fn a_sample_shorter_than_the_lowest_rtt_has_no_rate() {
        for (ms, has_rate) in [(9, false), (10, true)] {
            let mut sampler = Sampler::new();
            sampler.sends(1, at(0));
            sampler.begin(1);
            sampler.delivers(0, 0, at(0));
            sampler.forget_oldest();
            let sample = sampler.sample(1, MS * 10, at(ms));
            assert_eq!(sample.delivery.is_some(), has_rate, "{ms} ms");
            assert_eq!(sample.delivered, 2);
        }
    }

    /// A retransmission has the totals of its own departure.
    #[test]
    fn a_retransmission_begins_again() {
        let mut sampler = after(30);
        // Segment 20 is lost, and 21 to 29 arrive.
        for seq in 21..30 {
            sampler.begin(0);
            sampler.delivers(seq as usize - 20, seq, at(seq));
            sampler.sample(1, MS * 10, at(seq + 10));
        }
        sampler.loses(0, 20, at(39));
        let losses: Vec<LossSample> = sampler.take_losses().collect();
        assert_eq!((losses[0].seq, losses[0].lost, losses[0].tx_in_flight), (20, 1, 10));
        assert_eq!(sampler.take_losses().count(), 0);
        sampler.sends_again(0, 1);
        sampler.begin(0);
        sampler.delivers(0, 20, at(40));
        let sample = sampler.sample(1, MS * 10, at(50));
        assert_eq!((sample.lost, sample.delivery.expect("a sample").segments), (1, 1));
        assert_eq!((sample.prior_lost, sample.tx_in_flight), (1, 1));
    }

    #[test]
    fn an_idle_application_is_seen_until_its_last_segment_is_delivered() {
        let mut sampler = after(30);
        sampler.is_limited(10);
        let limited = (30..60).filter(|ms| steady(&mut sampler, *ms).app_limited).count();
        // Those in flight left before. The next ten leave while these are delivered, and one more
        // before the acknowledgement that ends it.
        assert_eq!(limited, 11);
    }
}
