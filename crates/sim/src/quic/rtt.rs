//! Round-trip times (RFC 9002 §5), and the times that follow from them.

use l4s_units::Duration;

use super::MAX_ACK_DELAY;

/// The RTT before anything is measured (RFC 9002 §6.2.2).
const INITIAL: Duration = Duration::from_millis(333);
/// The granularity of timers (RFC 9002 §6.1.2).
pub(super) const GRANULARITY: Duration = Duration::from_millis(1);
/// Probe timeouts that persistent congestion takes (RFC 9002 §7.6.1).
const PERSISTENT_CONGESTION_THRESHOLD: u64 = 3;

/// The estimates of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rtt {
    /// The last sample, with the delay of its acknowledgement (RFC 9002 §5.1).
    latest: Duration,
    /// The lowest of them; the longest duration before the first.
    min: Duration,
    /// Zero before the first sample.
    smoothed: Duration,
    variance: Duration,
}

impl Rtt {
    pub fn new() -> Self {
        let (latest, min) = (Duration::ZERO, Duration::MAX);
        Rtt { latest, min, smoothed: Duration::ZERO, variance: INITIAL / 2 }
    }

    /// Takes a sample whose acknowledgement says that it was delayed for `ack_delay`; gives the sample
    /// without that delay (RFC 9002 §5.3).
    pub fn sample(&mut self, rtt: Duration, ack_delay: Duration) -> Duration {
        self.latest = rtt;
        self.min = self.min.min(rtt);
        // No delay explains an RTT below the lowest one.
        let ack_delay = ack_delay.min(MAX_ACK_DELAY);
        let rtt = if rtt >= self.min + ack_delay { rtt.saturating_sub(ack_delay) } else { rtt };
        if self.smoothed.is_zero() {
            (self.smoothed, self.variance) = (rtt.max(Duration::from_nanos(1)), rtt / 2);
            return rtt;
        }
        let (smoothed, new) = (self.smoothed.as_nanos(), rtt.as_nanos());
        let (variance, error) = (self.variance.as_nanos(), smoothed.abs_diff(new));
        self.variance = Duration::from_nanos(variance - variance / 4 + error / 4);
        self.smoothed = Duration::from_nanos((smoothed - smoothed / 8 + new / 8).max(1));
        rtt
    }

    /// The smoothed RTT, once measured.
    pub fn smoothed(&self) -> Option<Duration> {
        (!self.smoothed.is_zero()).then_some(self.smoothed)
    }

    /// The lowest sample; before the first, the longest duration.
    pub fn min(&self) -> Duration {
        self.min
    }

    /// The lowest RTT is the last sample, after persistent congestion (RFC 9002 §5.2).
    pub fn forget_min(&mut self) {
        self.min = self.latest;
    }

    /// How long after its departure a packet is lost, where a later one is acknowledged: 9/8 of an RTT
    /// (RFC 9002 §6.1.2).
    pub fn loss_delay(&self) -> Duration {
        let rtt = self.smoothed.max(self.latest);
        (rtt + rtt / 8).max(GRANULARITY)
    }

    /// The base of all timeouts: an RTT that is as long as it may be.
    fn longest(&self) -> Duration {
        self.smoothed().unwrap_or(INITIAL) + (self.variance * 4).max(GRANULARITY)
    }

    /// How long after the last packet a probe is sent, after this many in a row (RFC 9002 §6.2.1). The
    /// delay of acknowledgements counts once the handshake is over.
    pub fn probe_timeout(&self, backoff: u32, established: bool) -> Duration {
        let ack_delay = if established { MAX_ACK_DELAY } else { Duration::ZERO };
        (self.longest() + ack_delay) * (1 << backoff.min(16))
    }

    /// How far apart two lost packets with nothing delivered in between are in persistent congestion
    /// (RFC 9002 §7.6.1).
    pub fn persistent_congestion(&self) -> Duration {
        (self.longest() + MAX_ACK_DELAY) * PERSISTENT_CONGESTION_THRESHOLD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// RFC 9002 §6.2.2: 333 + 4 · 166.5 ms, and twice that for each probe.
    #[test]
    fn a_probe_is_due_after_a_second_before_anything_is_measured() {
        let rtt = Rtt::new();
        assert_eq!(rtt.probe_timeout(0, false), MS * 999);
        assert_eq!(rtt.probe_timeout(2, false), MS * 3996);
    }

    /// RFC 9002 §6.2.1: 100 + 4 · 50 + 25 ms after the first sample; with a steady RTT the variance goes, down to
    /// the granularity.
    #[test]
    fn a_probe_timeout_has_variance_and_delay_of_acknowledgements() {
        let mut rtt = Rtt::new();
        rtt.sample(MS * 100, Duration::ZERO);
        assert_eq!(rtt.probe_timeout(0, true), MS * 325);
        assert_eq!(rtt.persistent_congestion(), MS * 325 * 3);
        (0..100).for_each(|_| _ = rtt.sample(MS * 100, Duration::ZERO));
        assert_eq!(rtt.probe_timeout(0, true), MS * 126);
        assert_eq!(rtt.probe_timeout(3, true), MS * 126 * 8);
    }

    /// RFC 9002 §5.3.
    #[test]
    fn the_delay_of_an_acknowledgement_is_no_round_trip_time() {
        let mut rtt = Rtt::new();
        rtt.sample(MS * 100, Duration::ZERO);
        assert_eq!(rtt.sample(MS * 120, MS * 20), MS * 100);
        assert_eq!(rtt.sample(MS * 140, MS * 40), MS * 115, "no more than max_ack_delay");
        assert_eq!(rtt.sample(MS * 110, MS * 20), MS * 110, "not below the lowest one");
        assert_eq!(rtt.min(), MS * 100);
    }

    /// RFC 9002 §6.1.2: 9/8 of the larger one of smoothed and last RTT, and a millisecond at least.
    #[test]
    fn a_packet_has_nine_eighths_of_a_round_trip() {
        let mut rtt = Rtt::new();
        rtt.sample(MS * 80, Duration::ZERO);
        assert_eq!(rtt.loss_delay(), MS * 90);
        rtt.sample(MS * 160, Duration::ZERO);
        assert_eq!(rtt.loss_delay(), MS * 180);
        let mut short = Rtt::new();
        short.sample(MS / 10, Duration::ZERO);
        assert_eq!(short.loss_delay(), MS);
        // The last RTT has the delay of its acknowledgement, and the smoothed one has not: 9/8 of 100 ms, not of 80.
        let mut delayed = Rtt::new();
        delayed.sample(MS * 80, Duration::ZERO);
        delayed.sample(MS * 100, MS * 20);
        assert_eq!(delayed.smoothed(), Some(MS * 80));
        assert_eq!(delayed.loss_delay(), Duration::from_micros(112_500));
    }

    /// RFC 9002 §5.3, in the order of appendix A.7. After 80 ms and 160 ms: 7/8 · 80 + 160/8 = 90 ms, and a variation of
    /// 3/4 · 40 + (160 − 80)/4 = 50 ms. A probe is due after 90 + 4 · 50 + 25 ms.
    #[test]
    fn an_eighth_of_a_sample_is_smoothed() {
        let mut rtt = Rtt::new();
        rtt.sample(MS * 80, Duration::ZERO);
        rtt.sample(MS * 160, Duration::ZERO);
        assert_eq!(rtt.smoothed(), Some(MS * 90));
        assert_eq!(rtt.probe_timeout(0, true), MS * 315);
    }

    /// RFC 9002 §5.2.
    #[test]
    fn the_lowest_round_trip_time_has_the_delay_of_its_acknowledgement() {
        let mut rtt = Rtt::new();
        let lowest = [(120, 0), (110, 20), (130, 0)].map(|(ms, delay)| {
            rtt.sample(MS * ms, MS * delay);
            rtt.min()
        });
        assert_eq!(lowest, [MS * 120, MS * 110, MS * 110]);
        rtt.forget_min();
        assert_eq!(rtt.min(), MS * 130);
    }
}
