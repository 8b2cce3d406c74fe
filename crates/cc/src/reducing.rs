//! Controls that say how a window grows and where a reduction ends, and the rest, which Linux does
//! for all of them: proportional rate reduction, timeouts, undo, pacing and the send quantum.

use crate::hystart_plus_plus::HyStartPlusPlus;
use crate::{
    Ack, Congestion, CongestionControl, Connection, Decision, Endpoint, Pause, Recovery, Window,
};

/// Fewer segments than this are no unit of segmentation offload (`tcp_min_tso_segs`).
const LEAST_QUANTUM: u32 = 2;
/// The longest burst of a QUIC stack is the initial window, ten packets (RFC 9002 §7.7, §7.2).
const QUIC_BURST: u32 = 10;

/// How a window grows and is reduced: a congestion control as Linux' `cong_avoid` and `ssthresh`.
///
/// Scalable TCP: a segment more for every hundred acknowledged, and an eighth less on congestion.
///
/// ```
/// use l4s_cc::{Ack, Congestion, CongestionControl, Connection, Reducing, Window, WindowRule};
/// use l4s_units::Duration;
///
/// struct Scalable;
///
/// impl WindowRule for Scalable {
///     fn grow(&mut self, window: &mut Window, ack: &Ack) {
///         window.additive_increase(window.cwnd.min(100), ack.delivered);
///     }
///
///     fn ssthresh(&mut self, window: &Window, _: Congestion) -> u32 {
///         (window.cwnd - window.cwnd / 8).max(2)
///     }
/// }
///
/// let connection = Connection { initial_window: 160, ..Connection::new(1448) };
/// let mut control = Reducing::new(Scalable, false, &connection);
/// let srtt = Duration::from_millis(10);
/// let ack = Ack { delivered: 100, advanced: true, srtt, una: 100, nxt: 260, ..Ack::default() };
/// assert_eq!(control.on_ack(&ack).window.cwnd, 161);
/// // An eighth of 161, rounded down, is 20.
/// let decision = control.on_congestion(Congestion::Loss, false, &ack);
/// assert_eq!(decision.window.ssthresh, 141);
/// ```
pub trait WindowRule {
    /// Sees every acknowledgement, in every state of the transport.
    fn observe(&mut self, _window: &mut Window, _ack: &Ack) {}

    /// Grows the window for segments that were acknowledged outside of a reduction.
    fn grow(&mut self, window: &mut Window, ack: &Ack);

    /// The slow-start threshold, in segments, that answers a mark, a loss or a timeout; at least 2.
    fn ssthresh(&mut self, window: &Window, congestion: Congestion) -> u32;

    /// The largest window that the acknowledgements of `flight` segments could lead to, where the window
    /// grows by slow start or not: twice as many, or one more (RFC 5681 §3.1).
    fn limit(&self, slow_start: bool, flight: u32) -> u32 {
        if slow_start { flight.saturating_mul(2) } else { flight + 1 }
    }

    /// A loss is detected while the window is being reduced for a mark: the threshold that answers
    /// it, where that needs an answer of its own.
    fn loss_while_reducing(&mut self, _window: &Window) -> Option<u32> {
        None
    }

    /// Sending starts again after a pause. A window that was not used for longer than a
    /// retransmission timeout no longer says anything about the path (RFC 5681 §4.1), but no new
    /// connection would begin with less than `initial_window` segments.
    fn restart(&mut self, window: &mut Window, pause: Pause, initial_window: u32) {
        window.restart(pause, initial_window);
    }

    /// Its estimate of the fraction of marked packets, if it keeps one.
    fn alpha(&self) -> Option<f64> {
        None
    }
}

/// A congestion control with the window of a rule.
///
/// Example: [`WindowRule`].
#[derive(Clone, Debug)]
pub struct Reducing<R> {
    rule: R,
    connection: Connection,
    paces: bool,
    /// The least send quantum.
    burst: u32,
    decision: Decision,
    reduction: Option<Reduction>,
    growth: Option<Box<Growth>>,
}

/// How a window grows otherwise than the rule says.
#[derive(Clone, Copy, Debug, Default)]
struct Growth {
    /// Where an unused window may grow.
    increase: Option<RateLimitedIncrease>,
    /// Where slow start ends before a loss.
    hystart: Option<HyStartPlusPlus>,
}

impl<R: WindowRule> Reducing<R> {
    /// The state of a new connection. `paces` says whether it spreads its window over the RTT.
    pub fn new(rule: R, paces: bool, connection: &Connection) -> Self {
        let decision = connection.initial();
        let burst = match connection.endpoint {
            Endpoint::LinuxTcp => LEAST_QUANTUM,
            Endpoint::Quic => QUIC_BURST,
        };
        let (reduction, growth) = (None, None);
        Reducing { rule, connection: *connection, paces, burst, decision, reduction, growth }
    }

    /// It begins with this window and threshold, those of a control before it.
    pub fn with_window(mut self, window: Window) -> Self {
        self.decision.window = window;
        self
    }

    /// An unused window may grow up to the limit that the largest flight allows, if this is `on`
    /// (draft-ietf-ccwg-ratelimited-increase); otherwise it does not grow, as in Linux.
    pub fn rate_limited_increase(self, on: bool) -> Self {
        let initial_window = self.connection.initial_window;
        let increase = on.then(|| RateLimitedIncrease::new(initial_window));
        self.grown(|growth| growth.increase = increase)
    }

    /// The first slow start ends as HyStart++ says (RFC 9406), if this is `on`.
    pub fn hystart_plus_plus(self, on: bool) -> Self {
        let paces = self.paces || self.connection.endpoint == Endpoint::Quic;
        let hystart = on.then(|| HyStartPlusPlus::new(paces));
        self.grown(|growth| growth.hystart = hystart)
    }

    /// Changes how its window grows. The usual growth takes no memory.
    fn grown(mut self, change: impl FnOnce(&mut Growth)) -> Self {
        let mut growth = self.growth.take().unwrap_or_default();
        change(&mut growth);
        let is_usual = growth.increase.is_none() && growth.hystart.is_none();
        self.growth = Some(growth).filter(|_| !is_usual);
        self
    }

    fn start(&mut self, congestion: Congestion, at: &Ack) {
        let window = &mut self.decision.window;
        self.reduction = Some(Reduction { prior_cwnd: window.cwnd, delivered: 0, sent: at.sent });
        window.forget_credit();
        window.ssthresh = self.rule.ssthresh(window, congestion);
        if self.connection.endpoint == Endpoint::Quic {
            // RFC 9002 §7.3.2.
            window.cwnd = window.ssthresh;
        }
    }

    /// Whether a reduction is spread over the data that it delivers.
    fn is_proportional(&self) -> bool {
        self.connection.endpoint == Endpoint::LinuxTcp
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
        let is_proportional = self.is_proportional();
        let window = &mut self.decision.window;
        if let Some(reduction) = &mut self.reduction {
            if ack.delivered > 0 && is_proportional {
                window.cwnd = reduction.window(window.ssthresh, ack);
            }
        } else if (ack.advanced || ack.reordering) && ack.delivered > 0 {
            window.limited = ack.limited;
            match &mut self.growth {
                None => self.rule.grow(window, ack),
                Some(growth) => growth.grow(&mut self.rule, window, ack),
            }
        }
        let rate = self.connection.pacing_rate(window, ack.nxt - ack.una, ack.srtt);
        let quantum = self.connection.quantum(rate, ack.min_rtt, self.burst);
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
                window.cwnd = match self.connection.endpoint {
                    Endpoint::LinuxTcp => at.in_flight + 1,
                    // RFC 9002 §7.6.2.
                    Endpoint::Quic => self.connection.endpoint.least_window(),
                };
                window.forget_credit();
                self.reduction = None;
            }
            Congestion::Ecn | Congestion::Loss | Congestion::LossByTimer if !answered => {
                self.start(congestion, at);
            }
            Congestion::Ecn | Congestion::Loss | Congestion::LossByTimer => {
                let is_proportional = self.is_proportional();
                let window = &mut self.decision.window;
                window.ssthresh = self.rule.loss_while_reducing(window).unwrap_or(window.ssthresh);
                if !is_proportional {
                    window.cwnd = window.cwnd.min(window.ssthresh);
                }
            }
        }
        let is_proportional = self.is_proportional();
        let reduction = self.reduction.as_mut().filter(|_| is_proportional);
        if let (Congestion::LossByTimer, Some(reduction)) = (congestion, reduction) {
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

impl Growth {
    #[inline(never)]
    fn grow(&mut self, rule: &mut impl WindowRule, window: &mut Window, ack: &Ack) {
        // Only the first slow start has no threshold (RFC 9406 §4.3).
        let first = window.threshold().is_none();
        let mut allowed = *ack;
        if let Some(hystart) = self.hystart.as_mut().filter(|_| first) {
            allowed.delivered = hystart.allowed(ack);
        }
        match &mut self.increase {
            None => rule.grow(window, &allowed),
            Some(increase) => increase.grow(rule, window, &allowed),
        }
        if let Some(hystart) = self.hystart.as_mut().filter(|_| first) {
            if hystart.is_over(ack) {
                window.ssthresh = window.cwnd;
            }
        }
    }
}

/// How far the window of a rate-limited sender may grow (draft-ietf-ccwg-ratelimited-increase §3).
#[derive(Clone, Copy, Debug)]
struct RateLimitedIncrease {
    /// The largest flight since the window was last reduced, in segments (`maxFS`).
    max_flight: u32,
    /// The window after the last growth: a lower one was reduced since.
    cwnd: u32,
}

impl RateLimitedIncrease {
    fn new(initial_window: u32) -> Self {
        RateLimitedIncrease { max_flight: initial_window, cwnd: initial_window }
    }

    fn grow(&mut self, rule: &mut impl WindowRule, window: &mut Window, ack: &Ack) {
        let before = window.cwnd;
        if before < self.cwnd {
            self.max_flight = 0;
        }
        // The flight when the acknowledgement came (RFC 5681 §2).
        let flight = (ack.nxt - ack.una) as u32 + ack.delivered;
        self.max_flight = self.max_flight.max(flight);
        let slow_start = window.in_slow_start();
        window.limited = true;
        rule.grow(window, ack);
        if flight < before {
            // The draft limits growth; a window that is larger stays (RFC 7661 reduces that).
            let limit = rule.limit(slow_start, self.max_flight);
            window.cwnd = window.cwnd.min(limit.max(before));
        }
        self.cwnd = window.cwnd;
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
    /// where losses took more than that, by a segment more for an acknowledgement without further
    /// loss (SafeACK).
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno;

    /// A sender that pauses whenever it has sent all data of its application.
    struct Sender<R> {
        control: Reducing<R>,
        nxt: u64,
    }

    impl<R: WindowRule> Sender<R> {
        /// Sends this number of segments. Two acknowledgements come; returns the window after each.
        fn round(&mut self, segments: u64) -> Vec<u32> {
            let una = self.nxt;
            self.nxt += segments;
            let acks = (1..=segments / 2).map(|n| Ack {
                delivered: 2,
                advanced: true,
                una: una + 2 * n,
                nxt: self.nxt,
                in_flight: (segments - 2 * n) as u32,
                srtt: l4s_units::Duration::from_millis(10),
                ..Ack::default()
            });
            acks.map(|ack| self.control.on_ack(&ack).window.cwnd).collect()
        }
    }

    fn reno() -> Sender<reno::Rule> {
        let control = reno::control(&reno::Config::default(), &Connection::new(1000));
        Sender { control: control.rate_limited_increase(true), nxt: 0 }
    }

    /// The example of draft-ietf-ccwg-ratelimited-increase, appendix A: four rounds of 4, 8, 4 and 20
    /// segments in slow start. At last the window is used.
    #[test]
    fn slow_start_grows_to_twice_the_largest_flight() {
        let mut sender = reno();
        assert_eq!(sender.round(4), [12, 14]);
        assert_eq!(sender.round(8), [16, 18, 20, 20]);
        assert_eq!(sender.round(4), [20, 20]);
        assert_eq!(sender.round(20), [22, 24, 26, 28, 30, 32, 34, 36, 38, 40]);
        // As Linux: without the draft a window that is not used does not grow.
        let mut sender = reno();
        sender.control = sender.control.rate_limited_increase(false);
        assert_eq!(sender.round(4), [10, 10]);
    }

    /// Draft §3: in congestion avoidance to one segment more than the largest flight since the last
    /// reduction. A larger window stays.
    #[test]
    fn congestion_avoidance_grows_to_one_more_than_the_largest_flight() {
        let mut sender = reno();
        sender.round(10);
        let at = Ack { una: sender.nxt, nxt: sender.nxt, ..Ack::default() };
        sender.control.on_congestion(Congestion::Loss, false, &at);
        assert_eq!(sender.control.on_recovered(Recovery::Complete).window.cwnd, 10);
        // The flight of 10 was before the reduction from 20: only those of 8 count.
        for _ in 0..10 {
            assert!(sender.round(8).iter().all(|cwnd| *cwnd == 10));
        }
        for _ in 0..10 {
            sender.round(10);
        }
        assert_eq!(sender.control.decision.window.cwnd, 11, "flights of 10 allow 11");
    }
}
