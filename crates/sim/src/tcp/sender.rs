//! The sending side of a connection.
//!
//! The order is that of an acknowledgement's way through Linux: scoreboard, RTT, losses and the
//! state they lead to, the window, and at last what may be sent. States are Linux' too:
//!
//! ```text
//! Open ─ECE─▶ Cwr ─all acknowledged─▶ Open         (window reduced for a mark)
//!   │ └─loss──▶ Recovery ─all acknowledged─▶ Open  (window reduced, losses sent again)
//!   └─timeout─▶ Loss ─all acknowledged─▶ Open      (slow start from one segment)
//! ```

use l4s_cc::classic_ecn::Report;
use l4s_cc::{Cc, Congestion, CongestionControl, Pause, Window};
use l4s_units::{Duration, Ecn, Time};

use super::pace::Pace;
use super::prr::Prr;
use super::rtt::Rtt;
use super::scoreboard::{Delivered, Scoreboard};
use super::supply::Supply;
use super::usage::Usage;
use crate::packet::{Ack, MSS, Segment};

/// RFC 6928.
const INITIAL_WINDOW: u32 = 10;
/// Duplicate acknowledgements, or segments selectively acknowledged, that tell a loss.
const DUPTHRESH: u32 = 3;
/// The least time that a timer for reordering or a probe waits (two jiffies of a 1000 Hz kernel).
const TIMEOUT_MIN: Duration = Duration::from_millis(2);
/// A probe of a single segment in flight waits for a delayed acknowledgement (RFC 8985 §7.2).
const PROBE_DELAYED_ACK: Duration = Duration::from_millis(200);
/// The most that one unit of segmentation offload holds.
const GSO_MAX: u64 = 65_536;
/// What counts as just now, or near, where bursts are concerned.
const MILLISECOND: Duration = Duration::from_millis(1);
/// The AccECN option with three counters (RFC 9768 §3.2.3), which is on every segment.
const ACCECN_OPTION: u64 = 12;
/// Segments per buffer that an application's data waits in: as many as offload can take.
const CHUNK: u32 = (GSO_MAX / MSS) as u32;

/// What a sender is made of.
#[derive(Clone, Debug)]
pub struct SenderConfig {
    /// The congestion control.
    pub cc: l4s_cc::Config,
    /// The codepoint of its data, where ECN was negotiated.
    pub ecn: Option<Ecn>,
    /// Whether retransmissions and control packets carry it too, as with DCTCP in Linux.
    pub ecn_on_everything: bool,
    /// Whether acknowledgements count marks (AccECN, RFC 9768) instead of echoing them.
    pub accurate_ecn: bool,
    /// How many bytes it sends; `None` for no end.
    pub size: Option<u64>,
}

/// What the sender does, as it does it.
pub trait Output {
    /// A segment goes out.
    fn send(&mut self, segment: Segment, retransmission: bool);
    /// A SYN-ACK goes out.
    fn send_syn_ack(&mut self, ecn: Ecn);
    /// A round trip was measured.
    fn round_trip(&mut self, rtt: Duration);
}

/// The state of the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// The client's SYN was answered.
    SynReceived,
    /// Growing; nothing is amiss, or something was selectively acknowledged but not lost yet.
    Open,
    /// Reducing, for a mark.
    Cwr,
    /// Reducing and sending again, for a loss.
    Recovery,
    /// After a timeout.
    Loss,
    /// All is acknowledged.
    Closed,
}

impl State {
    /// Whether data may flow.
    pub fn is_established(self) -> bool {
        !matches!(self, State::SynReceived | State::Closed)
    }
}

/// The sending side of a connection.
#[derive(Clone, Debug)]
pub struct Sender {
    cc: Cc,
    window: Window,
    state: State,
    board: Scoreboard,
    rtt: Rtt,
    supply: Supply,
    ecn: Option<Ecn>,
    ecn_on_everything: bool,
    accurate_ecn: bool,
    /// Marks that acknowledgements told of.
    marks: u32,
    /// The congestion control sets the window in every state, reductions included.
    steered: bool,
    /// Recovery began; the first retransmission must not wait for a steered window.
    recovering: bool,
    /// The next new segment tells that the window was reduced.
    cwr_pending: bool,

    /// A reduction ends when this segment is acknowledged.
    high_seq: u64,
    prr: Prr,
    usage: Usage,
    /// When the last segment went out.
    last_sent: Time,
    /// Segments left in the buffer from which new ones are taken.
    chunk_left: u32,
    /// Bytes per second at which the window would be spread, for the size of bursts.
    pacing_rate: u64,

    timer: Timer,
    pace: Pace,
    /// Timeouts in a row.
    backoff: u32,
    /// Newest segment when a tail-loss probe went out, and whether it was a retransmission.
    probe: Option<(u64, bool)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Timer {
    due: Time,
    purpose: Purpose,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    Retransmit,
    /// A tail-loss probe.
    Probe,
    /// The end of the reordering window.
    Reordering,
}

impl Timer {
    const OFF: Timer = Timer { due: Time::NEVER, purpose: Purpose::Retransmit };
}

impl Sender {
    /// A sender that has answered nothing yet.
    pub fn new(config: &SenderConfig) -> Self {
        let cc = Cc::new(&config.cc);
        Sender {
            steered: cc.steers_alone(),
            cc,
            window: Window::new(INITIAL_WINDOW),
            state: State::SynReceived,
            board: Scoreboard::default(),
            rtt: Rtt::new(),
            supply: Supply::new(config.size),
            ecn: config.ecn,
            ecn_on_everything: config.ecn_on_everything,
            accurate_ecn: config.accurate_ecn,
            marks: 0,
            recovering: false,
            cwr_pending: false,
            high_seq: 0,
            prr: Prr::default(),
            usage: Usage::default(),
            last_sent: Time::ZERO,
            chunk_left: CHUNK,
            pacing_rate: 0,
            timer: Timer::OFF,
            pace: Pace::new(config.cc.paces()),
            backoff: 0,
            probe: None,
        }
    }

    /// When [`Sender::on_timer`] is due.
    pub fn deadline(&self) -> Time {
        self.timer.due.min(self.pace.due)
    }

    /// The state of the window.
    pub fn state(&self) -> State {
        self.state
    }

    /// Congestion window and threshold.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Smoothed RTT, once measured.
    pub fn srtt(&self) -> Option<Duration> {
        self.rtt.smoothed()
    }

    /// The congestion control's estimate of marking, where it keeps one.
    pub fn alpha(&self) -> Option<f64> {
        self.cc.alpha()
    }

    /// What the congestion control's detector of Classic ECN says, where it has one.
    pub fn classic_ecn(&self) -> Option<Report> {
        self.cc.classic_ecn()
    }

    /// How many segments the client must receive.
    pub fn segments(&self) -> u64 {
        self.supply.in_all()
    }

    /// From now on it sends what an application writes, and the connection stays open.
    pub fn serve_application(&mut self) {
        self.supply = Supply::written();
    }

    /// How many writes of the application have not been sent to their end.
    pub fn unsent_writes(&self) -> usize {
        self.supply.unsent_writes(self.board.nxt())
    }

    /// The application writes so many bytes, to be pushed.
    pub fn write(&mut self, bytes: u64, now: Time, out: &mut impl Output) {
        self.supply.write(bytes, self.board.una());
        if !self.state.is_established() {
            return;
        }
        if self.board.packets_out() == 0 {
            let (length, rto) = (now.since(self.last_sent), self.rtt.rto(self.backoff));
            self.cc.restart(&mut self.window, Pause { now, length, rto });
        }
        self.transmit(now, out);
    }

    /// The client's SYN arrived, perhaps again.
    pub fn on_syn(&mut self, now: Time, out: &mut impl Output) {
        if self.state != State::SynReceived {
            return;
        }
        out.send_syn_ack(self.control_ecn());
        self.last_sent = now;
        self.timer = Timer { due: now + self.rtt.rto(self.backoff), purpose: Purpose::Retransmit };
    }

    /// The third step of the handshake arrived, and with it the request.
    pub fn on_request(&mut self, now: Time, out: &mut impl Output) {
        if self.state != State::SynReceived {
            return;
        }
        // A SYN-ACK that was sent more than once tells no RTT (RFC 6298 §3); neither does the
        // connection start with the full window then (RFC 6928 §2).
        if self.backoff == 0 {
            let rtt = now.since(self.last_sent);
            self.rtt.sample(rtt, 0, 0);
            self.rtt.observe_min(rtt);
        } else {
            self.window.cwnd = 1;
        }
        self.backoff = 0;
        self.state = State::Open;
        self.timer = Timer::OFF;
        self.steer(now);
        self.update_pacing_rate();
        self.transmit(now, out);
    }

    /// An acknowledgement arrived.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack, now: Time, out: &mut impl Output) {
        if matches!(self.state, State::SynReceived | State::Closed) {
            return;
        }
        let prior_una = self.board.una();
        if ack.cumulative < prior_una {
            return;
        }
        let sacks = ack.sacks.iter().take_while(|s| s.0 < s.1);
        let sacks =
            sacks.map(|s| (ack.cumulative + u64::from(s.0), ack.cumulative + u64::from(s.1)));
        let delivered = self.board.acknowledge(ack.cumulative, sacks, now, self.rtt.min());
        let una = self.board.una();
        self.measure(&delivered, out);
        if delivered.cumulative {
            self.backoff = 0;
        }
        let (ece, delivered_ce) = if self.accurate_ecn {
            let marks = ack.marks.saturating_sub(self.marks);
            self.marks += marks;
            (marks > 0, marks)
        } else {
            let ece = ack.ece && self.ecn.is_some();
            (ece, if ece { delivered.segments } else { 0 })
        };
        let sample = l4s_cc::Ack {
            delivered: delivered.segments,
            delivered_ce,
            ece,
            rtt: delivered.rtt_newest,
            ..self.sample(now)
        };
        if !self.steered {
            self.cc.observe(&mut self.window, &sample);
        }
        if self.supply.is_over(una) {
            self.state = State::Closed;
            self.timer = Timer::OFF;
            self.pace.due = Time::NEVER;
            // Thousands of finished flows must not keep their buffers.
            self.board = Scoreboard::default();
            return;
        }
        if delivered.cumulative {
            self.set_timer(now);
        }
        self.end_probe(una, una > prior_una || delivered.selective, now);

        let mut lost = 0;
        let dubious = delivered.selective || ece || !delivered.cumulative;
        if dubious || self.state != State::Open || self.board.sacked_out() > 0 {
            lost = self.decide_state(una, ece, now);
        }
        // Control the window: shrink it in proportion, or let it grow.
        if self.steered {
            self.steer_alone(&sample);
        } else if self.reducing() {
            self.reduce(delivered.segments, lost, una > prior_una);
        } else if delivered.cumulative && delivered.segments > 0 {
            self.window.limited = self.usage.is_limited(&self.window);
            self.cc.grow(&mut self.window, &sample);
        }
        self.update_pacing_rate();
        self.retransmit_lost(now, out);
        self.transmit(now, out);
    }

    /// The timer is due.
    pub fn on_timer(&mut self, now: Time, out: &mut impl Output) {
        if now >= self.pace.due {
            self.pace.due = Time::NEVER;
            self.retransmit_lost(now, out);
            self.transmit(now, out);
        }
        if now < self.timer.due {
            return;
        }
        match self.timer.purpose {
            _ if self.state == State::SynReceived => {
                self.backoff += 1;
                self.on_syn(now, out);
            }
            Purpose::Retransmit => self.on_timeout(now, out),
            Purpose::Probe => self.send_probe(now, out),
            Purpose::Reordering => {
                self.timer = Timer::OFF;
                let lost = self.detect_losses(now);
                if lost > 0 {
                    self.enter_recovery(now);
                    if self.steered {
                        self.let_first_go();
                    } else {
                        self.reduce(1, lost, false);
                    }
                    self.retransmit_lost(now, out);
                }
                if self.timer == Timer::OFF {
                    self.set_retransmit_timer(now);
                }
            }
        }
    }

    fn measure(&mut self, delivered: &Delivered, out: &mut impl Output) {
        if let Some(newest) = delivered.rtt_newest {
            self.rtt.observe_min(newest);
        }
        if let Some(oldest) = delivered.rtt_oldest {
            self.rtt.sample(oldest, self.board.una(), self.board.nxt());
            out.round_trip(oldest);
        }
    }

    /// Where the connection is, without an acknowledgement.
    #[inline]
    fn sample(&self, now: Time) -> l4s_cc::Ack {
        l4s_cc::Ack {
            now,
            delivered: 0,
            delivered_ce: 0,
            ece: false,
            rtt: None,
            min_rtt: self.rtt.min(),
            srtt: self.rtt.smoothed().unwrap_or_default(),
            una: self.board.una(),
            nxt: self.board.nxt(),
            app_limited: self.supply.is_empty(self.board.nxt()),
        }
    }

    /// Shows a congestion control that steers alone where the connection is, before it is told of
    /// a loss, and lets its window take effect.
    #[inline(never)]
    fn steer(&mut self, now: Time) {
        if self.steered {
            let sample = self.sample(now);
            self.cc.observe(&mut self.window, &sample);
        }
    }

    /// As Linux' cong_control: after losses were told.
    #[inline(never)]
    fn steer_alone(&mut self, sample: &l4s_cc::Ack) {
        self.window.limited = self.usage.is_limited(&self.window);
        self.cc.observe(&mut self.window, sample);
        self.let_first_go();
    }

    /// The first lost segment is sent again whatever is in flight (RFC 6675 §5 step 4.3).
    fn let_first_go(&mut self) {
        if core::mem::take(&mut self.recovering) {
            self.window.cwnd = self.window.cwnd.max(self.board.in_flight() + 1);
        }
    }

    // --- State -------------------------------------------------------------------------------

    fn reducing(&self) -> bool {
        matches!(self.state, State::Cwr | State::Recovery)
    }

    /// Leaves and enters states for this acknowledgement; returns how many segments it showed to
    /// be lost.
    fn decide_state(&mut self, una: u64, ece: bool, now: Time) -> u32 {
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

    fn detect_losses(&mut self, now: Time) -> u32 {
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
    fn enter_recovery(&mut self, now: Time) {
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

    fn start_reduction(&mut self, congestion: Congestion) {
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

    fn end_reduction(&mut self) {
        if !self.steered {
            self.window.cwnd = self.window.ssthresh;
        }
        self.state = State::Open;
    }

    /// Sets the window to what is in flight and may be added (RFC 6937 §3).
    fn reduce(&mut self, delivered: u32, lost: u32, advanced: bool) {
        if delivered == 0 || self.prr.prior_cwnd == 0 {
            return;
        }
        let (ssthresh, in_flight) = (self.window.ssthresh, self.board.in_flight());
        self.window.cwnd = self.prr.window(ssthresh, in_flight, delivered, advanced && lost == 0);
    }

    // --- Timers ------------------------------------------------------------------------------

    /// After progress: a probe of the tail, or else the retransmission timer.
    fn set_timer(&mut self, now: Time) {
        if self.board.packets_out() == 0 {
            self.timer = Timer::OFF;
        } else if !self.schedule_probe(now) {
            self.set_retransmit_timer(now);
        }
    }

    fn set_retransmit_timer(&mut self, now: Time) {
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
    fn schedule_probe(&mut self, now: Time) -> bool {
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
    fn send_probe(&mut self, now: Time, out: &mut impl Output) {
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
    fn end_probe(&mut self, una: u64, progress: bool, now: Time) {
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
    fn on_timeout(&mut self, now: Time, out: &mut impl Output) {
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

    // --- Sending -----------------------------------------------------------------------------

    fn control_ecn(&self) -> Ecn {
        if self.ecn_on_everything { self.ecn.unwrap_or_default() } else { Ecn::NotEct }
    }

    fn send_new(&mut self, push: bool, now: Time, out: &mut impl Output) -> u64 {
        let seq = self.board.nxt();
        self.board.push(now);
        let cwr = core::mem::take(&mut self.cwr_pending);
        let ecn = self.ecn.unwrap_or_default();
        let (payload, pushed, fin) = self.supply.segment(seq);
        self.last_sent = now;
        out.send(Segment { seq, payload, ecn, cwr, push: push || pushed, fin }, false);
        seq
    }

    fn send_again(&mut self, seq: u64, now: Time, out: &mut impl Output) {
        self.last_sent = now;
        let (payload, push, fin) = self.supply.segment(seq);
        let ecn = self.control_ecn();
        out.send(Segment { seq, payload, ecn, cwr: false, push, fin }, true);
    }

    /// Sends lost segments again, as far as the window allows.
    fn retransmit_lost(&mut self, now: Time, out: &mut impl Output) {
        if !self.board.has_to_resend() {
            return;
        }
        while self.board.in_flight() < self.window.cwnd && !self.pace.holds_back(now) {
            let Some(seq) = self.board.resend(now) else { break };
            self.send_again(seq, now, out);
            self.pace.charge(self.full_payload(), self.pacing_rate, now);
            if self.reducing() {
                self.prr.out += 1;
            }
            if seq == self.board.una() && self.timer.purpose != Purpose::Reordering {
                self.set_retransmit_timer(now);
            }
        }
    }

    /// Sends new segments, as far as the window allows and waiting is not better.
    fn transmit(&mut self, now: Time, out: &mut impl Output) {
        let burst = self.burst_segments();
        let (mut sent, mut limited) = (0, false);
        loop {
            let left = self.supply.left(self.board.nxt());
            let quota = self.window.cwnd.saturating_sub(self.board.in_flight());
            if left == 0 || quota == 0 || self.pace.holds_back(now) {
                break;
            }
            // Waiting makes no larger burst of what the application wrote in one piece.
            let rest_fits = left.min(self.chunk_left.into()) <= u64::from(quota);
            if !rest_fits && self.should_defer(quota, burst, now) {
                limited = true;
                break;
            }
            // At least two units in flight, for a smoother return of acknowledgements.
            let unit = quota.min((self.window.cwnd / 2).max(1)).min(burst);
            let unit = unit.min(u32::try_from(left).unwrap_or(u32::MAX));
            // What a unit has beyond its chunk it takes from the next one.
            self.chunk_left = match self.chunk_left.checked_sub(unit) {
                Some(0) => CHUNK,
                Some(rest) => rest,
                None => CHUNK + self.chunk_left - unit,
            };
            for n in 1..=unit {
                // The last segment of an offloaded unit says "push", a lone segment does not,
                // unless nothing would follow that lets the receiver acknowledge it at once.
                let push = (unit > 1 && n == unit) || self.cc.pushes();
                self.send_new(push, now, out);
            }
            sent += unit;
            if self.board.nxt() > Pace::FREE_SEGMENTS {
                self.pace.charge(u64::from(unit) * self.full_payload(), self.pacing_rate, now);
            }
        }
        limited |= self.board.in_flight() >= self.window.cwnd;
        if sent > 0 || limited {
            self.usage.update(&self.board, limited);
        }
        if sent > 0 {
            if self.reducing() {
                self.prr.out += sent;
            }
            if !self.schedule_probe(now) && self.timer == Timer::OFF {
                self.set_retransmit_timer(now);
            }
        }
    }

    /// Segments per burst: what a millisecond of the window takes, as Linux sizes its units of
    /// segmentation offload; more on short paths.
    fn burst_segments(&self) -> u32 {
        if self.steered
            && let Some(burst) = self.cc.burst()
        {
            let nanos = u128::from(burst.time.as_nanos());
            let bytes = (u128::from(self.pacing_rate) * nanos / 1_000_000_000) as u64;
            return ((bytes.min(GSO_MAX) / self.full_payload()) as u32).max(burst.least);
        }
        let short_path = (self.rtt.min().as_micros() >> 9).min(63) as u32;
        let bytes = (self.pacing_rate >> 10) + (GSO_MAX >> short_path);
        ((bytes.min(GSO_MAX) / self.full_payload()) as u32).max(if self.steered { 1 } else { 2 })
    }

    /// Whether to wait for a larger burst: when the last one just went out, less than a third of
    /// the window is free, and the next acknowledgement is near.
    fn should_defer(&self, quota: u32, burst: u32, now: Time) -> bool {
        if self.state == State::Recovery || self.state == State::Loss {
            return false;
        }
        if now.since(self.last_sent) > MILLISECOND {
            return false;
        }
        if quota >= burst || quota >= self.window.cwnd / 3 {
            return false;
        }
        let Some(head) = self.board.head_sent_at() else { return false };
        let srtt = self.rtt.smoothed().unwrap_or_default();
        let next_ack = (head + srtt).since(now);
        next_ack <= (srtt / 2).min(MILLISECOND)
    }

    /// What pacing and bursts count of a full segment. The pacing rate itself is that of whole
    /// `MSS`, as in Linux, whose `mss_cache` does not know of the option.
    fn full_payload(&self) -> u64 {
        if self.accurate_ecn { MSS - ACCECN_OPTION } else { MSS }
    }

    fn update_pacing_rate(&mut self) {
        let Some(srtt) = self.rtt.smoothed() else { return };
        if self.steered
            && let Some(rate) = self.cc.pacing_rate(self.board.in_flight(), MSS as u32, srtt)
        {
            self.pacing_rate = rate;
            return;
        }
        // Twice the window per RTT early in slow start, 1.2 times later.
        let percent = if self.window.cwnd < self.window.ssthresh / 2 { 200 } else { 120 };
        let window = u64::from(self.window.cwnd.max(self.board.packets_out()));
        let bytes = u128::from(window * MSS) * percent / 100;
        self.pacing_rate = (bytes * 1_000_000_000 / u128::from(srtt.as_nanos())) as u64;
    }
}
