//! Controls that say how a window grows and where a reduction ends, and the rest, which Linux does
//! for all of them: proportional rate reduction, timeouts, undo, pacing and the send quantum.

use crate::{Ack, Congestion, CongestionControl, Connection, Decision, Pause, Recovery, Window};

/// Fewer segments than this are no unit of segmentation offload (`tcp_min_tso_segs`).
const LEAST_QUANTUM: u32 = 2;

/// How a window grows and is reduced: a congestion control as Linux' `cong_avoid` and `ssthresh`.
pub trait WindowRule {
    /// Sees every acknowledgement, in every state of the transport.
    fn observe(&mut self, _window: &mut Window, _ack: &Ack) {}

    /// Grows the window for segments that were acknowledged outside of a reduction.
    fn grow(&mut self, window: &mut Window, ack: &Ack);

    /// The slow-start threshold, in segments, that answers a mark, a loss or a timeout; at least 2.
    fn ssthresh(&mut self, window: &Window, congestion: Congestion) -> u32;

    /// A loss is detected while the window is being reduced for a mark: the threshold that answers
    /// it, where that needs an answer of its own.
    fn loss_while_reducing(&mut self, _window: &Window) -> Option<u32> {
        None
    }

    /// Sending starts again after a pause. A window that was not used for longer than a
    /// retransmission timeout no longer says anything about the path (RFC 5681 §4.1), but no new connection
    /// would begin with less than `initial_window` segments.
    fn restart(&mut self, window: &mut Window, pause: Pause, initial_window: u32) {
        window.restart(pause, initial_window);
    }

    /// The fraction of marks that it believes in, where it keeps one.
    fn alpha(&self) -> Option<f64> {
        None
    }
}

/// A congestion control with the window of a rule.
#[derive(Clone, Debug)]
pub struct Reducing<R> {
    rule: R,
    connection: Connection,
    paces: bool,
    decision: Decision,
    reduction: Option<Reduction>,
}

impl<R: WindowRule> Reducing<R> {
    /// The state of a new connection. `paces` says whether it spreads its window over the RTT.
    pub fn new(rule: R, paces: bool, connection: &Connection) -> Self {
        let decision = connection.initial();
        Reducing { rule, connection: *connection, paces, decision, reduction: None }
    }

    fn start(&mut self, congestion: Congestion, at: &Ack) {
        let window = &mut self.decision.window;
        self.reduction = Some(Reduction { prior_cwnd: window.cwnd, delivered: 0, sent: at.sent });
        window.forget_credit();
        window.ssthresh = self.rule.ssthresh(window, congestion);
    }
}

impl<R: WindowRule> CongestionControl for Reducing<R> {
    fn on_established(&mut self, connection: &Connection) {
        self.connection = *connection;
    }

    #[inline]
    fn observe(&mut self, ack: &Ack) {
        self.rule.observe(&mut self.decision.window, ack);
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack) -> Decision {
        let window = &mut self.decision.window;
        if let Some(reduction) = &mut self.reduction {
            if ack.delivered > 0 {
                window.cwnd = reduction.window(window.ssthresh, ack);
            }
        } else if ack.advanced && ack.delivered > 0 {
            window.limited = ack.limited;
            self.rule.grow(window, ack);
        }
        let rate = self.connection.pacing_rate(window, ack.nxt - ack.una, ack.srtt);
        let quantum = self.connection.quantum(rate, ack.min_rtt, LEAST_QUANTUM);
        self.decision = self.connection.decide(*window, rate, self.paces, quantum);
        self.decision
    }

    fn on_congestion(&mut self, congestion: Congestion, answered: bool, at: &Ack) -> Decision {
        match congestion {
            Congestion::Handshake => self.decision.window.cwnd = 1,
            Congestion::Timeout => {
                let window = &mut self.decision.window;
                let ssthresh = self.rule.ssthresh(window, congestion);
                if !answered {
                    window.ssthresh = ssthresh;
                }
                window.cwnd = at.in_flight + 1;
                window.forget_credit();
                self.reduction = None;
            }
            Congestion::Ecn | Congestion::Loss | Congestion::LossByTimer if !answered => {
                self.start(congestion, at);
            }
            Congestion::Ecn | Congestion::Loss | Congestion::LossByTimer => {
                let window = &mut self.decision.window;
                window.ssthresh = self.rule.loss_while_reducing(window).unwrap_or(window.ssthresh);
            }
        }
        if let (Congestion::LossByTimer, Some(reduction)) = (congestion, &mut self.reduction) {
            // One segment's step, as there will be no acknowledgement (`tcp_rack_reo_timeout`).
            let window = &mut self.decision.window;
            let step = Ack { delivered: 1, lost: 1, ..*at };
            window.cwnd = reduction.window(window.ssthresh, &step);
        }
        self.decision
    }

    fn on_recovered(&mut self, recovery: Recovery) -> Decision {
        let window = &mut self.decision.window;
        self.reduction = None;
        match recovery {
            Recovery::Complete => window.cwnd = window.ssthresh,
            Recovery::Spurious(Some(prior)) => window.undo(prior),
            Recovery::Spurious(None) => {}
        }
        self.decision
    }

    fn on_restart(&mut self, pause: Pause) -> Decision {
        let initial_window = self.connection.initial_window;
        self.rule.restart(&mut self.decision.window, pause, initial_window);
        self.decision
    }

    fn alpha(&self) -> Option<f64> {
        self.rule.alpha()
    }
}

/// Proportional rate reduction (RFC 9937): a window that shrinks as data are delivered.
#[derive(Clone, Copy, Debug)]
struct Reduction {
    /// The window before it, from 1.
    prior_cwnd: u32,
    /// Segments delivered since.
    delivered: u32,
    /// [`Ack::sent`] when it began.
    sent: u32,
}

impl Reduction {
    /// The window after an acknowledgement, on the way to `ssthresh`. It grows back
    /// where losses took more than that, by a segment more for an acknowledgement without further loss (SafeACK).
    fn window(&mut self, ssthresh: u32, ack: &Ack) -> u32 {
        self.delivered += ack.delivered;
        let sent = ack.sent.wrapping_sub(self.sent);
        let may_send = if ack.in_flight > ssthresh {
            // Proportional: as the window goes from prior_cwnd to ssthresh.
            let goal = (u64::from(ssthresh) * u64::from(self.delivered))
                .div_ceil(u64::from(self.prior_cwnd)) as u32;
            goal.saturating_sub(sent)
        } else {
            // Slow start up to ssthresh, when losses took more than the reduction asked for.
            let limit = self.delivered.saturating_sub(sent).max(ack.delivered);
            let limit = if ack.advanced && ack.lost == 0 { limit + 1 } else { limit };
            limit.min(ssthresh - ack.in_flight)
        };
        // A reduction begins with one segment at least, so that a loss is sent again.
        let at_least = u32::from(sent == 0);
        ack.in_flight + may_send.max(at_least)
    }
}
