//! The measurement of the RTT without a queue (draft-ietf-ccwg-bbr §5.3.4).

use l4s_units::{Duration, Time};

use super::cycle::AckPhase;
use super::{Bbr3, LEAST_WINDOW, Mode, PROBE_RTT_WINDOW_GAIN};
use crate::Ack;

/// How long half a product is in flight, at least (`BBR.ProbeRTTDuration`, draft §2.16.2).
const LASTS: Duration = Duration::from_millis(200);

/// The flight is small enough.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeRtt {
    /// When it may end.
    until: Time,
    round_over: bool,
}

impl Bbr3 {
    /// Half a product of bandwidth and RTT (draft §5.6.4.5).
    pub(super) fn probe_rtt_window(&self) -> u64 {
        self.product(self.bw(), PROBE_RTT_WINDOW_GAIN).max(LEAST_WINDOW.into())
    }

    pub(super) fn check_probe_rtt(&mut self, ack: &Ack) {
        // A pause emptied the queue as well.
        if self.mode != Mode::ProbeRtt && self.min_rtt.expired && !self.restarts {
            self.save_window();
            self.mode = Mode::ProbeRtt;
            self.probe_rtt = None;
            self.cycle.ack_phase = AckPhase::Stopping;
            self.round.begin(self.sample.delivered);
        }
        if self.mode == Mode::ProbeRtt {
            self.measure_rtt(ack);
        }
        // A pause ends with the first delivery after it.
        if ack.delivered > 0 {
            self.restarts = false;
        }
    }

    /// For 200 ms and a round trip after the flight has become small.
    fn measure_rtt(&mut self, ack: &Ack) {
        let Some(probe) = &mut self.probe_rtt else {
            if u64::from(ack.in_flight) <= self.probe_rtt_window() {
                self.probe_rtt = Some(ProbeRtt { until: ack.now + LASTS, round_over: false });
                self.round.begin(self.sample.delivered);
            }
            return;
        };
        probe.round_over |= self.round.starts;
        if probe.round_over {
            self.end_probe_rtt(ack.now);
        }
    }

    /// Ends the measurement, where its time is over.
    pub(super) fn end_probe_rtt(&mut self, now: Time) {
        if self.probe_rtt.is_none_or(|probe| now <= probe.until) {
            return;
        }
        self.min_rtt.measured(now);
        self.restore_window();
        // The losses of so small a flight are no bound (draft §5.3.4.4).
        self.short_term = Default::default();
        if self.full.reached {
            // The next probe is some time away. The flight is already small enough to cruise.
            self.begin_down(now);
            self.begin_cruise();
        } else {
            self.enter_startup();
        }
    }
}
