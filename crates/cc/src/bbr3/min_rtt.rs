//! The lowest RTT, and when it must be measured again (draft-ietf-ccwg-bbr §5.3.4.3).

use l4s_units::{Duration, Time};

/// How long the lowest RTT holds (`BBR.MinRTTFilterLen`, draft §2.16.1).
const HOLDS: Duration = Duration::from_secs(10);
/// The RTT is measured again when none as low was seen for this long (`BBR.ProbeRTTInterval`, §2.16.2).
const MEASURE_AFTER: Duration = Duration::from_secs(5);

/// Two filters, so that a measurement knows the last one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    /// The lowest of the last ten seconds, once measured.
    pub lowest: Option<Duration>,
    lowest_at: Time,
    /// The lowest of the last five seconds (`BBR.probe_rtt_min_delay`).
    recent: Option<Duration>,
    recent_at: Time,
    /// It is due for a measurement.
    pub expired: bool,
}

impl MinRtt {
    /// The connection is established with this RTT.
    pub fn begin(&mut self, rtt: Option<Duration>, now: Time) {
        (self.lowest, self.lowest_at) = (rtt, now);
        (self.recent, self.recent_at) = (rtt, now);
    }

    /// Takes the RTT of an acknowledgement.
    pub fn take(&mut self, rtt: Option<Duration>, now: Time) {
        self.expired = now > self.recent_at + MEASURE_AFTER;
        let is_lower = |rtt: &Duration| self.recent.is_none_or(|recent| *rtt < recent);
        if let Some(rtt) = rtt.filter(|rtt| self.expired || is_lower(rtt)) {
            (self.recent, self.recent_at) = (Some(rtt), now);
        }
        let Some(recent) = self.recent else { return };
        let is_old = now > self.lowest_at + HOLDS;
        if is_old || self.lowest.is_none_or(|lowest| recent < lowest) {
            (self.lowest, self.lowest_at) = (Some(recent), self.recent_at);
        }
    }

    /// A measurement is over: the next one is due after five seconds.
    pub fn measured(&mut self, now: Time) {
        self.recent_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    #[test]
    fn the_lowest_rtt_holds_for_ten_seconds_and_is_due_after_five() {
        let mut rtt = MinRtt::default();
        rtt.begin(Some(MS * 20), at(0));
        rtt.take(Some(MS * 30), at(5000));
        assert!(!rtt.expired);
        rtt.take(Some(MS * 30), at(5001));
        assert!(rtt.expired);
        // The measurement finds 25 ms.
        rtt.take(Some(MS * 25), at(5100));
        rtt.measured(at(5200));
        assert_eq!(rtt.lowest, Some(MS * 20));
        rtt.take(Some(MS * 30), at(10_001));
        assert_eq!(rtt.lowest, Some(MS * 25));
        // A lower one is known at once.
        rtt.take(Some(MS * 10), at(10_002));
        assert_eq!(rtt.lowest, Some(MS * 10));
    }
}
