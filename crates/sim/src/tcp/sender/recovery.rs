//! Losses, and the states that they and marks lead to: reduction, recovery, timeouts, and back.

use l4s_cc::{Congestion, CongestionControl, Recovery, Window};
use l4s_units::{Duration, Time};

use super::{Output, Probe, Purpose, Sender, State, Timer};
use crate::message::Ack;
use crate::tcp::scoreboard::Delivered;

/// Number of duplicate acknowledgements, or of segments selectively acknowledged, that show a loss.
const DUPTHRESH: u32 = 3;
/// The least time that a timer for reordering or a probe waits (two jiffies of a 1000 Hz kernel).
const TIMEOUT_MIN: Duration = Duration::from_millis(2);
/// A probe of a single segment in flight waits for a delayed acknowledgement (RFC 8985 §7.2).
const PROBE_DELAYED_ACK: Duration = Duration::from_millis(200);

/// The results of an acknowledgement that may change the state.
pub(super) struct Progress<'a> {
    pub ack: &'a Ack,
    pub delivered: &'a Delivered,
    /// The first segment not acknowledged now.
    pub una: u64,
    /// Whether that is another one than before.
    pub advanced: bool,
    /// Whether it echoes a mark.
    pub ece: bool,
}

/// The segments to send first after an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Resend {
    /// Lost segments.
    Lost,
    /// New segments: their arrival, or that of lost ones, shows whether the timeout was spurious.
    NewFirst,
    /// New segments alone.
    Nothing,
}

impl Sender {
    pub(super) fn reducing(&self) -> bool {
        matches!(self.state, State::Cwr | State::Recovery)
    }

    /// Leaves and enters states for this acknowledgement; returns how many segments it showed to
    /// be lost, and the segments to send first.
    pub(super) fn decide_state(&mut self, progress: &Progress<'_>, now: Time) -> (u32, Resend) {
        let (una, echo) = (progress.una, progress.ack.stamps.echo);
        if progress.ece {
            self.undo.is_due_to_mark();
        }
        let mut resend = Resend::Lost;
        match self.state {
            // One segment more, so that the mark of the reduction itself reaches the client.
            State::Cwr if una > self.high_seq => self.end_reduction(),
            State::Recovery if una >= self.high_seq => {
                if self.undo.was_late(echo) || self.undo.all_came_twice() {
                    self.undo_reduction();
                } else {
                    self.reordering.recovered();
                    self.end_reduction();
                }
            }
            State::Recovery if progress.advanced && self.undo.was_late(echo) => {
                self.reordering.seen = true;
                if self.board.resent_out() > 0 {
                    // Nothing more is sent again until these arrive, too.
                    return (0, Resend::Nothing);
                }
                self.board.forget_losses();
                self.undo_reduction();
            }
            State::Loss => resend = self.process_loss(progress),
            _ => {}
        }
        if matches!(self.state, State::Open | State::Recovery) && self.undo.all_came_twice() {
            self.undo_reduction();
        }
        let resent_out = self.board.resent_out();
        let lost = self.detect_losses(now);
        match self.state {
            State::Recovery => {}
            // Only a lost retransmission ends it (`FLAG_LOST_RETRANS` in `tcp_fastretrans_alert`).
            State::Loss if self.board.resent_out() >= resent_out => {}
            _ if self.board.lost_out() > 0 => {
                self.enter_recovery(Congestion::Loss, progress.ece, now);
            }
            State::Open if progress.ece => {
                self.start_reduction(Congestion::Ecn, now);
                self.undo.end();
                self.state = State::Cwr;
            }
            _ => {}
        }
        if matches!(self.state, State::Open | State::Cwr) && !self.board.awaits_resent() {
            self.undo.forget_resent();
        }
        (lost, resend)
    }

    /// D-SACK reports bytes that came twice, which this sender may have sent twice. Says whether they are those of the
    /// probe that is out (`tcp_dsack_seen`).
    #[cold]
    pub(super) fn came_twice(&mut self, (from, end): (u64, u64)) -> bool {
        if self.tracing.has((from, end)) || !self.undo.is_own() {
            return false;
        }
        self.undo.came_twice(from);
        let is_probe = self.probe.is_some_and(|probe| end == probe.nxt);
        // No reordering led to a probe.
        if !is_probe {
            self.reordering.came_twice(self.board.una(), self.board.nxt());
        }
        is_probe
    }

    /// After a timeout: whether all is repaired, or nothing was lost (`tcp_process_loss`).
    fn process_loss(&mut self, progress: &Progress<'_>) -> Resend {
        let recovered = progress.una >= self.high_seq;
        let late = self.undo.was_late(progress.ack.stamps.echo) || self.undo.all_came_twice();
        // RFC 5682 §3.1 step 3b.
        let original = progress.delivered.original.is_some_and(|seq| seq < self.high_seq);
        if (progress.advanced && late) || (self.frto && original) {
            self.board.forget_losses();
            self.undo_reduction();
            self.timeouts = 0;
            return Resend::Lost;
        }
        if recovered {
            if late {
                self.undo_reduction();
            } else {
                self.reordering.recovered();
            }
            self.state = State::Open;
        } else if self.frto && self.board.nxt() > self.high_seq {
            // Step 3a: the new data arrived, or nothing.
            if progress.delivered.selective || !progress.advanced {
                self.frto = false;
            }
        } else if self.frto && progress.advanced {
            // Step 2b.
            return Resend::NewFirst;
        }
        Resend::Lost
    }

    /// The loss was none: the window is the one before the reduction, unless a mark forbids it.
    fn undo_reduction(&mut self) {
        let prior = self.undo.end();
        if prior.is_some_and(|prior| prior.ssthresh > self.decision.window.ssthresh) {
            self.cwr_pending = false;
        }
        self.decision = self.cc.on_recovered(Recovery::Spurious(prior));
        self.state = State::Open;
    }

    /// A reduction for a loss begins.
    fn begin_undo(&mut self, prior: Option<Window>) {
        let probe = u32::from(self.probe.is_some_and(|probe| probe.again));
        if !self.board.awaits_resent() {
            self.undo.forget_resent();
        }
        self.undo.begin(self.board.una_byte(), self.board.resent_out() + probe, prior);
    }

    /// The window, and the threshold that leads back to three quarters of it at least
    /// (`tcp_current_ssthresh`).
    fn prior(&self) -> Window {
        let mut window = self.decision.window;
        if !self.reducing() {
            window.ssthresh = window.ssthresh.max(window.cwnd / 2 + window.cwnd / 4);
        }
        window
    }

    pub(super) fn detect_losses(&mut self, now: Time) -> u32 {
        let resent = self.board.resent_out() > 0;
        if self.board.sacked_out() == 0 && !resent && self.probe.is_none() {
            return 0;
        }
        // Where none was seen, no reordering is expected once enough later segments arrived (RFC 8985
        // §6.2 step 4).
        let repairing = matches!(self.state, State::Recovery | State::Loss);
        let sure = self.board.sacked_out() >= DUPTHRESH || repairing;
        let reo_wnd = if sure && !self.reordering.seen {
            Duration::ZERO
        } else {
            self.reordering.window(self.rtt.min(), self.rtt.smoothed().unwrap_or_default())
        };
        let (lost, wait) = self.board.detect_losses(now, reo_wnd);
        if let Some(wait) = wait {
            self.timer = Timer { due: now + wait + TIMEOUT_MIN, purpose: Purpose::Reordering };
        }
        lost
    }

    #[inline(never)]
    pub(super) fn enter_recovery(&mut self, loss: Congestion, ece: bool, now: Time) {
        let prior = (!self.reducing() && !ece).then(|| self.prior());
        self.begin_undo(prior);
        if self.reducing() {
            self.decision = self.cc.on_congestion(loss, true, &self.sample(now));
        } else {
            self.start_reduction(loss, now);
        }
        self.state = State::Recovery;
    }

    pub(super) fn start_reduction(&mut self, congestion: Congestion, now: Time) {
        self.high_seq = self.board.nxt();
        self.decision = self.cc.on_congestion(congestion, false, &self.sample(now));
        self.cwr_pending = self.tells_reduction();
        self.probe = None;
    }

    /// Accurate ECN has another use for the flag.
    fn tells_reduction(&self) -> bool {
        self.ecn.is_some() && !self.accurate_ecn
    }

    pub(super) fn end_reduction(&mut self) {
        self.decision = self.cc.on_recovered(Recovery::Complete);
        self.state = State::Open;
    }

    // --- Timers -----------------------------------------------------------------------------

    /// After progress: a probe of the tail, or else the retransmission timer.
    #[inline(always)]
    pub(super) fn set_timer(&mut self, now: Time) {
        if self.board.packets_out() == 0 {
            self.timer = Timer::OFF;
        } else if !self.schedule_probe(now, now) {
            self.set_retransmit_timer(now);
        }
    }

    #[inline(always)]
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

    /// Sets the timer for a tail-loss probe (RFC 8985 §7.2), where one makes sense. The timeout
    /// counts from `since`.
    #[inline(always)]
    pub(super) fn schedule_probe(&mut self, since: Time, now: Time) -> bool {
        let calm = matches!(self.state, State::Open | State::Cwr);
        if !calm || self.board.sacked_out() > 0 || self.probe.is_some() {
            return false;
        }
        let Some(srtt) = self.rtt.smoothed() else { return false };
        let delayed_ack =
            if self.board.packets_out() == 1 { PROBE_DELAYED_ACK } else { TIMEOUT_MIN };
        let due = now + srtt * 2 + delayed_ack;
        let timeout = since + self.rtt.rto(self.backoff);
        let due = if timeout > now { due.min(timeout) } else { due };
        self.timer = Timer { due, purpose: Purpose::Probe };
        true
    }

    /// Sends a new segment, or the last one again, to have the tail acknowledged (RFC 8985 §7.3).
    pub(super) fn send_probe(&mut self, now: Time, out: &mut impl Output) {
        self.timer = Timer::OFF;
        if self.probe.is_none() && self.board.packets_out() > 0 {
            let new = !self.supply.is_empty(self.board.nxt_byte()) && self.room_for(1) > 0;
            let seq =
                if new { Some(self.send_new(false, now, out)) } else { self.board.probe(now) };
            if let Some(seq) = seq {
                if !new {
                    self.send_again(seq, now, out);
                }
                self.probe = Some(Probe { nxt: self.board.nxt_byte(), again: !new });
            }
        }
        self.set_retransmit_timer(now);
    }

    /// Whether a probe was answered, and whether it repaired a loss (RFC 8985 §7.4): not where it `came_twice`.
    #[inline(always)]
    pub(super) fn end_probe(&mut self, progress: bool, came_twice: bool, now: Time) {
        let una = self.board.una_byte();
        let Some(Probe { nxt, again }) = self.probe else { return };
        if una < nxt {
            return;
        }
        if !again || came_twice || !progress {
            // New data, or both the original and the probe arrived: nothing was lost.
            self.probe = None;
        } else if una > nxt {
            // Only the probe arrived. The window must answer that loss too.
            self.start_reduction(Congestion::Loss, now);
            self.end_reduction();
        }
    }

    /// A retransmission timeout (RFC 6298 §5.4, RFC 5681 §3.1).
    pub(super) fn on_timeout(&mut self, now: Time, out: &mut impl Output) {
        if self.board.packets_out() == 0 {
            self.timer = Timer::OFF;
            return;
        }
        // One answer per window of data.
        let first = self.state == State::Open || self.high_seq <= self.board.una();
        let answered = !first && (self.state != State::Loss || self.timeouts > 0);
        if !answered {
            self.begin_undo(Some(self.prior()));
        }
        // RFC 5682 §3.1 step 1: no recovery is under way, or nothing but timeouts of this segment.
        self.frto = matches!(self.state, State::Open | State::Cwr) || self.timeouts > 0;
        if self.state == State::Open {
            self.reordering.timed_out(self.board.sacked_out());
        }
        self.high_seq = self.board.nxt();
        let in_flight = self.board.in_flight();
        self.board.timeout(now);
        if let Some(sampler) = &mut self.board.sampler {
            sampler.begin(in_flight);
        }
        self.sample_rate(0, 0, now);
        self.decision = self.cc.on_congestion(Congestion::Timeout, answered, &self.sample(now));
        self.report_losses();
        self.cwr_pending = self.tells_reduction();
        self.state = State::Loss;
        self.probe = None;
        self.backoff += 1;
        self.timeouts += 1;
        self.retransmit_lost(now, out);
        self.set_retransmit_timer(now);
    }
}
