//! Losses, and the states that they and marks lead to: reduction, recovery, timeouts.

use l4s_cc::{Congestion, CongestionControl};
use l4s_units::{Duration, Time};

use super::{Output, Purpose, Sender, State, Timer};
use crate::tcp::prr::Prr;

/// Duplicate acknowledgements, or segments selectively acknowledged, that tell a loss.
const DUPTHRESH: u32 = 3;
/// The least time that a timer for reordering or a probe waits (two jiffies of a 1000 Hz kernel).
const TIMEOUT_MIN: Duration = Duration::from_millis(2);
/// A probe of a single segment in flight waits for a delayed acknowledgement (RFC 8985 §7.2).
const PROBE_DELAYED_ACK: Duration = Duration::from_millis(200);

impl Sender {
    pub(super) fn reducing(&self) -> bool {
        matches!(self.state, State::Cwr | State::Recovery)
    }

    /// Leaves and enters states for this acknowledgement; returns how many segments it showed to
    /// be lost.
    pub(super) fn decide_state(&mut self, una: u64, ece: bool, now: Time) -> u32 {
        if una >= self.high_seq {
            match self.state {
                // One segment more, so that the mark of the reduction itself reaches the client.
                State::Cwr if una > self.high_seq => self.end_reduction(),
                State::Recovery => self.end_reduction(),
                State::Loss => self.state = State::Open,
                _ => {}
            }
        }
        let lost = self.detect_losses(now);
        match self.state {
            State::Recovery | State::Loss => {}
            _ if self.board.lost_out() > 0 => self.enter_recovery(now),
            State::Open if ece => {
                self.start_reduction(Congestion::Ecn);
                self.state = State::Cwr;
            }
            _ => {}
        }
        lost
    }

    pub(super) fn detect_losses(&mut self, now: Time) -> u32 {
        if self.board.sacked_out() == 0 && !self.board.any_resent() && self.probe.is_none() {
            return 0;
        }
        // No reordering is expected until a quarter of the RTT, and none at all once enough
        // later segments arrived (RFC 8985 §6.2 step 4).
        let sure = self.board.sacked_out() >= DUPTHRESH || self.state == State::Recovery;
        let reo_wnd = if sure {
            Duration::ZERO
        } else {
            (self.rtt.min() / 4).min(self.rtt.smoothed().unwrap_or_default())
        };
        let (lost, wait) = self.board.detect_losses(now, reo_wnd);
        if let Some(wait) = wait {
            self.timer = Timer { due: now + wait + TIMEOUT_MIN, purpose: Purpose::Reordering };
        }
        lost
    }

    #[inline(never)]
    pub(super) fn enter_recovery(&mut self, now: Time) {
        self.steer(now);
        if self.reducing() {
            if let Some(ssthresh) = self.cc.loss_while_reducing(&self.window) {
                self.window.ssthresh = ssthresh;
            }
        } else if self.state != State::Loss {
            self.start_reduction(Congestion::Loss);
        } else {
            return;
        }
        self.state = State::Recovery;
        self.recovering = self.steered;
        self.steer(now);
    }

    pub(super) fn start_reduction(&mut self, congestion: Congestion) {
        self.high_seq = self.board.nxt();
        self.prr = Prr { prior_cwnd: self.window.cwnd, delivered: 0, out: 0 };
        self.window.forget_credit();
        self.window.ssthresh = self.cc.ssthresh(&self.window, congestion);
        self.cwr_pending = self.tells_reduction();
        self.probe = None;
    }

    /// Accurate ECN has another use for the flag.
    fn tells_reduction(&self) -> bool {
        self.ecn.is_some() && !self.accurate_ecn
    }

    pub(super) fn end_reduction(&mut self) {
        if !self.steered {
            self.window.cwnd = self.window.ssthresh;
        }
        self.state = State::Open;
    }

    /// Sets the window to what is in flight and may be added (RFC 6937 §3).
    pub(super) fn reduce(&mut self, delivered: u32, lost: u32, advanced: bool) {
        if delivered == 0 || self.prr.prior_cwnd == 0 {
            return;
        }
        let (ssthresh, in_flight) = (self.window.ssthresh, self.board.in_flight());
        self.window.cwnd = self.prr.window(ssthresh, in_flight, delivered, advanced && lost == 0);
    }

    // --- Timers -----------------------------------------------------------------------------

    /// After progress: a probe of the tail, or else the retransmission timer.
    pub(super) fn set_timer(&mut self, now: Time) {
        if self.board.packets_out() == 0 {
            self.timer = Timer::OFF;
        } else if !self.schedule_probe(now) {
            self.set_retransmit_timer(now);
        }
    }

    pub(super) fn set_retransmit_timer(&mut self, now: Time) {
        if self.board.packets_out() == 0 {
            self.timer = Timer::OFF;
            return;
        }
        // A shorter timer that ran in its place must not delay the timeout.
        let from = match self.timer.purpose {
            Purpose::Retransmit => now,
            _ => self.board.head_sent_at().unwrap_or(now),
        };
        let due = (from + self.rtt.rto(self.backoff)).max(now);
        self.timer = Timer { due, purpose: Purpose::Retransmit };
    }

    /// Sets the timer for a tail-loss probe (RFC 8985 §7.2), where one makes sense.
    pub(super) fn schedule_probe(&mut self, now: Time) -> bool {
        let calm = matches!(self.state, State::Open | State::Cwr);
        if !calm || self.board.sacked_out() > 0 || self.probe.is_some() {
            return false;
        }
        let Some(srtt) = self.rtt.smoothed() else { return false };
        let delayed_ack =
            if self.board.packets_out() == 1 { PROBE_DELAYED_ACK } else { TIMEOUT_MIN };
        let timeout = (srtt * 2 + delayed_ack).min(self.rtt.rto(0));
        self.timer = Timer { due: now + timeout, purpose: Purpose::Probe };
        true
    }

    /// Sends a new segment, or the last one again, to have the tail acknowledged (RFC 8985 §7.3).
    pub(super) fn send_probe(&mut self, now: Time, out: &mut impl Output) {
        self.timer = Timer::OFF;
        if self.probe.is_none() && self.board.packets_out() > 0 {
            let new = !self.supply.is_empty(self.board.nxt());
            let seq =
                if new { Some(self.send_new(false, now, out)) } else { self.board.probe(now) };
            if let Some(seq) = seq {
                if !new {
                    self.send_again(seq, now, out);
                }
                self.probe = Some((self.board.nxt(), !new));
            }
        }
        self.set_retransmit_timer(now);
    }

    /// Whether a probe was answered, and whether it repaired a loss (RFC 8985 §7.4).
    #[inline]
    pub(super) fn end_probe(&mut self, una: u64, progress: bool, now: Time) {
        let Some((nxt, retransmission)) = self.probe else { return };
        if una < nxt {
            return;
        }
        if !retransmission || !progress {
            // New data, or both the original and the probe arrived: nothing was lost.
            self.probe = None;
        } else if una > nxt {
            // Only the probe arrived. The window must answer that loss too.
            self.steer(now);
            self.start_reduction(Congestion::Loss);
            self.end_reduction();
        }
    }

    /// A retransmission timeout (RFC 6298 §5.4, RFC 5681 §3.1).
    pub(super) fn on_timeout(&mut self, now: Time, out: &mut impl Output) {
        if self.board.packets_out() == 0 {
            self.timer = Timer::OFF;
            return;
        }
        // One answer per window of data. Until the next acknowledgement the window is ours even
        // where it is steered.
        self.steer(now);
        let ssthresh = self.cc.ssthresh(&self.window, Congestion::Timeout);
        let first = self.state == State::Open || self.high_seq <= self.board.una();
        if first || (self.state == State::Loss && self.backoff == 0) {
            self.window.ssthresh = ssthresh;
        }
        self.high_seq = self.board.nxt();
        self.board.timeout(now);
        self.window.cwnd = self.board.in_flight() + 1;
        self.window.forget_credit();
        self.cwr_pending = self.tells_reduction();
        self.state = State::Loss;
        self.probe = None;
        self.backoff += 1;
        self.retransmit_lost(now, out);
        self.set_retransmit_timer(now);
    }
}
