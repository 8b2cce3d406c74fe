//! The window, the pacing rate and the send quantum (draft-ietf-ccwg-bbr §5.6).

use super::{Bbr3, LEAST_WINDOW, Mode, Phase, UNIT};
use crate::bbr::bandwidth::Bandwidth;
use crate::{Ack, Decision, Endpoint, Repair};

impl Bbr3 {
    /// The segments of a product of bandwidth and RTT, times a gain (draft §5.6.4.2).
    pub(super) fn product(&self, bandwidth: Bandwidth, gain: u64) -> u64 {
        match self.min_rtt.lowest {
            Some(min_rtt) => bandwidth.segments_in(min_rtt, gain),
            None => self.connection.initial_window.into(),
        }
    }

    pub(super) fn bdp(&self) -> u64 {
        self.product(self.bw(), UNIT)
    }

    /// The product, unless the window is smaller (draft §5.3.3.8.3).
    pub(super) fn target(&self) -> u64 {
        self.bdp().min(self.decision.window.cwnd.into())
    }

    /// Draft §5.6.4.2 and §5.5.8: three bursts, at the sender, in its offload, and at the receiver. QUIC has no offload,
    /// so that it needs one.
    fn with_bursts(&self, segments: u64) -> u64 {
        let bursts = match self.connection.endpoint {
            Endpoint::LinuxTcp => 3,
            Endpoint::Quic => 1,
        };
        let least = (bursts * u64::from(self.quantum)).max(LEAST_WINDOW.into());
        // Looking for bandwidth needs more in flight, also on the shortest path.
        let extra = if self.mode == Mode::ProbeBw(Phase::Up) { 2 } else { 0 };
        segments.max(least) + extra
    }

    pub(super) fn in_flight_at(&self, bandwidth: Bandwidth, gain: u64) -> u64 {
        self.with_bursts(self.product(bandwidth, gain))
    }

    /// The last window that neither a repair nor a measurement of the RTT reduced (draft §5.6.4.4).
    pub(super) fn save_window(&mut self) {
        let cwnd = self.decision.window.cwnd;
        let is_whole = self.prior_repair == Repair::None && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if is_whole { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    pub(super) fn restore_window(&mut self) {
        let window = &mut self.decision.window;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
    }

    /// Draft §5.6.4.6.
    pub(super) fn set_window(&mut self, ack: &Ack) {
        let target = self.product(self.bw(), self.mode.window_gain()) + self.extra_acked.max();
        let target = self.with_bursts(target);
        let (cwnd, acked) = (u64::from(self.decision.window.cwnd), u64::from(ack.delivered));
        let cwnd = if self.full.reached {
            (cwnd + acked).min(target)
        } else if cwnd < target || self.sample.delivered < u64::from(self.connection.initial_window)
        {
            cwnd + acked
        } else {
            cwnd
        };
        let cwnd = cwnd.max(LEAST_WINDOW.into()).min(self.window_bound());
        self.decision.window.cwnd = cwnd.min(u32::MAX.into()) as u32;
    }

    /// Draft §5.6.4.5 and §5.6.4.7: half a product while the RTT is measured, the long-term bound, of
    /// which cruising leaves some free, and the short-term one.
    fn window_bound(&self) -> u64 {
        let none = u64::MAX;
        let bound = match self.mode {
            Mode::Startup | Mode::Drain => none,
            Mode::ProbeBw(Phase::Cruise) => self.long_term.with_headroom().unwrap_or(none),
            Mode::ProbeBw(_) => self.long_term.in_flight.unwrap_or(none),
            Mode::ProbeRtt => {
                self.long_term.with_headroom().unwrap_or(none).min(self.probe_rtt_window())
            }
        };
        bound.min(self.short_term.in_flight.unwrap_or(none)).max(LEAST_WINDOW.into())
    }

    // --- The pacing rate --------------------------------------------------------------------

    /// Draft §5.6.2.
    pub(super) fn set_pacing_rate(&mut self, gain: u64) {
        let rate = self.bw().pacing_rate(self.connection.mss, gain);
        // A first sample below the rate of the initial window only says that it was sent slowly.
        if self.full.reached || rate > self.pacing_rate {
            self.pacing_rate = rate.max(1);
        }
    }

    /// Draft §5.6.3: the segments of a millisecond leave together, and at least two.
    pub(super) fn set_quantum(&mut self) {
        self.quantum = self.connection.whole_segments(self.pacing_rate / 1000, 2);
    }

    pub(super) fn decide(&mut self) -> Decision {
        let (window, rate) = (self.decision.window, self.pacing_rate);
        self.decision = self.connection.decide(window, rate, true, self.quantum);
        self.decision
    }
}
