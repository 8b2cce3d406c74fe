//! The sending side of a connection.
//!
//! The order is that of an acknowledgement's way through Linux: scoreboard, RTT, losses and the
//! state they lead to, the window, and at last the segments to send. States are Linux' too:
//!
//! ```text
//! Open ─ECE─▶ Cwr ─all acknowledged─▶ Open         (window reduced for a mark)
//!   │ └─loss──▶ Recovery ─all acknowledged─▶ Open  (window reduced, losses sent again)
//!   └─timeout─▶ Loss ─all acknowledged─▶ Open      (slow start from one segment)
//! ```
//!
//! Recovery and Loss also end, and the reduction is taken back, where nothing was lost ([`undo`]).

mod answer;
mod negotiation;
mod recovery;
mod tracing;
mod transmission;
mod undo;

use l4s_cc::classic_ecn::Report;
use l4s_cc::{
    Cc, Congestion, CongestionControl, Connection, Decision, Marks, Pause, RateSample, Repair,
    WantedEcn, Window,
};
use l4s_model::Hold;
use l4s_units::{Duration, Ecn, Time};

use super::accecn::Decoder;
use super::buffer;
use super::rate::Sampler;
use super::reordering::Reordering;
use super::rtt::Rtt;
use super::scoreboard::{Arrival, Delivered, Scoreboard};
use super::supply::Supply;
use super::usage::Usage;
use crate::message::{Ack, Request, Syn};
use crate::pace::Pace;
use crate::packet::{AccEcn, Segment, Stamp, Stamps, SynAck, announced_mss};
use recovery::{Progress, Resend};
use tracing::Tracing;
#[cfg(test)]
pub(super) use tracing::{TRACER, front};
use transmission::chunk;
use undo::Undo;

/// The parameters of a sender.
///
/// Example: [`Sender`].
#[derive(Clone, Debug)]
pub struct SenderConfig {
    /// The congestion control.
    pub cc: l4s_cc::Config,
    /// The codepoint of its data, where the client takes part in ECN; none where the server does not.
    pub ecn: Option<Ecn>,
    /// Whether it does without ECN where the client has that of RFC 3168 only.
    pub refuses_rfc3168: bool,
    /// How the client reports marks where it does not count them.
    pub echo: Marks,
    /// How many bytes it sends; `None` for no end.
    pub size: Option<u64>,
    /// Bytes of payload in a full segment without the AccECN option.
    pub mss: u16,
    /// The initial window in segments, from 1.
    pub initial_window: u32,
    /// SO_RCVBUF of the client, where it is set.
    pub rcvbuf: Option<u64>,
    /// SO_SNDBUF of the server, where it is set.
    pub sndbuf: Option<u64>,
    /// The randomness of the congestion control.
    pub seed: u64,
}

/// The actions of a sender.
///
/// Example: [`Sender`].
pub trait Output {
    /// A segment goes out.
    fn send(&mut self, segment: Segment, retransmission: bool);
    /// A SYN-ACK goes out.
    fn send_syn_ack(&mut self, syn_ack: SynAck);
    /// A round trip was measured.
    fn round_trip(&mut self, rtt: Duration);
}

/// The state of the window.
///
/// Example: [`Sender`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// The client's SYN was answered.
    SynReceived,
    /// Growing; no loss, or something was selectively acknowledged but not lost yet.
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
///
/// ```
/// use l4s_cc::{Config, Marks, reno};
/// use l4s_observe::EcnFlags;
/// use l4s_sim::Segment;
/// use l4s_sim::tcp::{Output, Request, Sender, SenderConfig, Stamp, Stamps, State, Syn, SynAck};
/// use l4s_units::{Duration, Ecn, Time};
///
/// /// The packets of a server.
/// #[derive(Default)]
/// struct Sent { syn_acks: Vec<SynAck>, segments: Vec<Segment> }
///
/// impl Output for Sent {
///     fn send(&mut self, segment: Segment, _retransmission: bool) { self.segments.push(segment) }
///     fn send_syn_ack(&mut self, syn_ack: SynAck) { self.syn_acks.push(syn_ack) }
///     fn round_trip(&mut self, _: Duration) {}
/// }
///
/// let config = SenderConfig {
///     cc: Config::Reno(reno::Config::default()),
///     ecn: None,
///     refuses_rfc3168: false,
///     echo: Marks::Latched,
///     size: Some(1_000_000),
///     mss: 1448,
///     initial_window: 10,
///     rcvbuf: None,
///     sndbuf: None,
///     seed: 1,
/// };
/// let (mut server, mut sent) = (Sender::new(&config), Sent::default());
/// let (start, flags) = (Time::ZERO, EcnFlags::default());
/// server.on_syn(&Syn { ecn: Ecn::NotEct, flags, sent: Stamp::at(start) }, start, &mut sent);
/// assert_eq!(server.state(), State::SynReceived);
/// // The client's answer and its request come 10 ms later, and the initial window leaves.
/// let later = start + Duration::from_millis(10);
/// let stamps = Stamps { sent: Stamp::at(later), echo: sent.syn_acks[0].stamps.sent };
/// server.on_request(&Request { flags, option: false, stamps }, later, &mut sent);
/// assert_eq!(server.state(), State::Open);
/// assert_eq!(sent.segments.len(), 10);
/// ```
#[derive(Debug)]
pub struct Sender {
    /// Payload of a full segment in bytes, from the announced sizes (`mss_cache`).
    mss: u16,
    /// The same, less the AccECN option (`tcp_current_mss`).
    payload: u16,
    cc: Cc,
    decision: Decision,
    state: State,
    board: Scoreboard,
    reordering: Reordering,
    rtt: Rtt,
    supply: Supply,
    /// Its server has a small send buffer to fill.
    fills: bool,
    /// The codepoint of data; none for Not-ECT. With AccECN marks may be answered nevertheless.
    ecn: Option<Ecn>,
    refuses_rfc3168: bool,
    echo: Marks,
    /// The congestion control cannot do without ECN, and whether it paces.
    needs_ecn: bool,
    paces: bool,
    /// Retransmissions have the codepoint of data, too.
    ecn_on_everything: bool,
    /// Acknowledgements count marks (AccECN, RFC 9768) instead of echoing them.
    accurate_ecn: bool,
    accecn: Decoder,
    /// The report of marks in its own packets.
    accecn_fields: AccEcn,
    /// No counters have arrived since the handshake.
    counters_untested: bool,
    /// The codepoint of the client's last SYN.
    syn_ecn: Ecn,
    /// Sets of tracers.
    tracing: Tracing,
    /// The next new segment reports that the window was reduced (CWR).
    cwr_pending: bool,

    /// A reduction ends when this segment is acknowledged.
    high_seq: u64,
    usage: Usage,
    /// Segments sent, retransmissions included, probes not; wraps.
    sent: u32,
    /// When the last segment went out.
    last_sent: Time,
    /// Segments left in the buffer from which new ones are taken.
    chunk_left: u32,

    timer: Timer,
    pace: Pace,
    /// How often the timeout has doubled since the RTT was last measured (RFC 6298 §5.5).
    backoff: u32,
    /// Timeouts since something was last acknowledged.
    timeouts: u32,
    /// The last timeout may have been none: new segments come first (F-RTO, RFC 5682).
    frto: bool,
    undo: Undo,
    /// The time stamp of the client to echo.
    ts_recent: Stamp,
    /// When the first SYN-ACK went out, and how often it was sent.
    syn_ack: (Stamp, u32),
    /// The first byte for which the receiver has no room.
    room_end: u64,
    probe: Option<Probe>,
    /// When tests send sets of tracers.
    #[cfg(test)]
    script: Option<super::Script>,
}

/// A tail-loss probe that was not answered (RFC 8985 §7.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Probe {
    /// The first byte not sent when it went out.
    nxt: u64,
    /// Whether it is a retransmission.
    again: bool,
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
    /// A segment that is not full was held back for long enough.
    Hold,
}

impl Timer {
    const OFF: Timer = Timer { due: Time::NEVER, purpose: Purpose::Retransmit };
}

impl Sender {
    /// A sender that has answered nothing yet.
    pub fn new(config: &SenderConfig) -> Self {
        let mss = config.mss;
        let initial_window = config.initial_window;
        let seed = config.seed;
        let connection = Connection { initial_window, seed, ..Connection::new(mss.into()) };
        let cc = Cc::new(&config.cc, &connection);
        let sampler = cc.samples_rate().then(|| Box::new(Sampler::new()));
        Sender {
            mss,
            payload: mss,
            cc,
            decision: connection.initial(),
            state: State::SynReceived,
            board: Scoreboard::new(sampler),
            reordering: Reordering::new(),
            rtt: Rtt::new(),
            supply: match config.sndbuf {
                None => Supply::new(config.size, mss),
                Some(sndbuf) => Supply::buffered(config.size, sndbuf, mss),
            },
            fills: config.sndbuf.is_some(),
            ecn: config.ecn,
            refuses_rfc3168: config.refuses_rfc3168,
            echo: config.echo,
            needs_ecn: config.cc.wants() != WantedEcn::Off,
            paces: config.cc.paces(),
            ecn_on_everything: false,
            accurate_ecn: false,
            accecn: Decoder::new(mss),
            accecn_fields: AccEcn::NONE,
            counters_untested: false,
            syn_ecn: Ecn::NotEct,
            tracing: Tracing::new(config.cc.tracer_set()),
            cwr_pending: false,
            high_seq: 0,
            usage: Usage::default(),
            sent: 0,
            last_sent: Time::ZERO,
            chunk_left: chunk(mss),
            timer: Timer::OFF,
            pace: Pace::new(),
            backoff: 0,
            timeouts: 0,
            frto: false,
            undo: Undo::default(),
            ts_recent: Stamp::default(),
            syn_ack: (Stamp::default(), 0),
            room_end: buffer::initial_window(mss, config.rcvbuf).into(),
            probe: None,
            #[cfg(test)]
            script: None,
        }
    }

    /// When [`Sender::on_timer`] is due.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.timer.due.min(self.pace.due)
    }

    /// Asks for the memory of its segments in flight.
    #[inline]
    pub(crate) fn prefetch_flight(&self) {
        self.board.prefetch();
    }

    /// The state of the window.
    pub fn state(&self) -> State {
        self.state
    }

    /// Congestion window and threshold.
    pub fn window(&self) -> Window {
        self.decision.window
    }

    /// Smoothed RTT, once measured.
    pub fn srtt(&self) -> Option<Duration> {
        self.rtt.smoothed()
    }

    /// The congestion control's estimate of marking, where it keeps one.
    pub fn alpha(&self) -> Option<f64> {
        self.cc.alpha()
    }

    /// The report of the congestion control's detector of Classic ECN, if it has one.
    pub fn classic_ecn(&self) -> Option<Report> {
        self.cc.prague()?.classic_ecn()
    }

    /// From now on it sends the writes of an application, and the connection stays open.
    pub fn serve_application(&mut self, hold: Hold) {
        self.supply = Supply::written(hold, self.mss);
    }

    /// How many writes of the application have not been sent to their end.
    pub fn unsent_writes(&self) -> usize {
        self.supply.writes_left(self.board.nxt_byte())
    }

    /// How many of them the client has not received to their end, where it has all bytes before
    /// `received`.
    #[inline]
    pub fn undelivered_writes(&self, received: u64) -> usize {
        self.supply.writes_left(received)
    }

    /// The application writes `bytes`, and pushes them.
    pub fn write(&mut self, bytes: u64, now: Time, out: &mut impl Output) {
        self.notice_idle_application();
        self.supply.write(bytes, self.board.una_byte());
        if !self.state.is_established() {
            return;
        }
        if self.board.packets_out() == 0 {
            let (length, rto) = (now.since(self.last_sent), self.rtt.rto(self.backoff));
            self.decision = self.cc.on_restart(Pause { now, length, rto });
        }
        self.transmit(now, out);
    }

    /// The client's SYN arrived, perhaps again.
    pub fn on_syn(&mut self, syn: &Syn, now: Time, out: &mut impl Output) {
        if self.state != State::SynReceived {
            return;
        }
        self.ts_recent = syn.sent;
        self.negotiate(syn);
        self.send_syn_ack(now, out);
    }

    fn send_syn_ack(&mut self, now: Time, out: &mut impl Output) {
        let (first, times) = self.syn_ack;
        self.syn_ack = (if times == 0 { Stamp::at(now) } else { first }, times + 1);
        let flags = self.answer_to_syn();
        let (ecn, mss) = (self.syn_ack_ecn(), announced_mss(self.mss));
        // As in Linux, the first one alone has the option (`tcp_synack_options`).
        let has_option = self.accurate_ecn && times == 0;
        let accecn = if has_option { AccEcn::with_option(Ecn::Ce) } else { AccEcn::NONE };
        out.send_syn_ack(SynAck { ecn, flags, accecn, mss, stamps: self.stamps(now) });
        self.last_sent = now;
        self.timer = Timer { due: now + self.rtt.rto(self.backoff), purpose: Purpose::Retransmit };
    }

    /// The third step of the handshake arrived, and with it the request.
    pub fn on_request(&mut self, request: &Request, now: Time, out: &mut impl Output) {
        if self.state != State::SynReceived {
            return;
        }
        self.establish(request);
        let stamps = request.stamps;
        self.ts_recent = stamps.sent;
        let (first, times) = self.syn_ack;
        // Of a SYN-ACK that was sent more than once the time stamp says which one arrived (RFC 6298
        // §3, RFC 7323 §4.1).
        let rtt = if times == 1 { now.since(self.last_sent) } else { stamps.echo.age(now) };
        self.rtt.sample(rtt, 0, 0);
        self.rtt.observe_min(rtt);
        // RFC 5681 §3.1, except after one retransmission, and if that was spurious: the first SYN-ACK
        // arrived (`tcp_init_transfer`, `tcp_try_undo_spurious_syn`).
        if times > 2 && self.backoff > 0 && stamps.echo != first {
            self.decision = self.cc.on_congestion(Congestion::Handshake, false, &self.sample(now));
        }
        self.backoff = 0;
        self.state = State::Open;
        self.timer = Timer::OFF;
        self.sample_rate(0, 0, now);
        self.decision = self.cc.on_ack(&self.sample(now));
        self.transmit(now, out);
        if self.fills {
            self.refill(now, out);
        }
    }

    /// An acknowledgement arrived.
    #[inline(always)]
    pub fn on_ack(&mut self, ack: &Ack, now: Time, out: &mut impl Output) {
        if matches!(self.state, State::SynReceived | State::Closed) {
            return;
        }
        let prior_una = self.board.una();
        if ack.cumulative < self.board.una_byte() {
            return self.on_old_ack(ack, now, out);
        }
        let delivered = self.deliver(ack, now);
        let una = self.board.una();
        if self.ts_recent.is_before(ack.stamps.sent) {
            self.ts_recent = ack.stamps.sent;
        }
        self.room_end = self.room_end.max(ack.cumulative + u64::from(ack.window));
        let head_sent_at = self.board.head_sent_at();
        self.measure(&delivered, out);
        if delivered.cumulative {
            self.timeouts = 0;
        }
        let (ece, delivered_ce) = if self.accurate_ecn {
            if self.counters_untested {
                self.test_counters(ack, delivered.segments);
            }
            let progress = una > prior_una || delivered.selective;
            let news = self.accecn.take(ack.ace, ack.option, delivered.segments, progress);
            let marks = news.marks - self.tracing.idle_marks(ack, news, self.payload);
            (marks > 0, marks)
        } else {
            let ece = ack.ece && self.ecn.is_some();
            (ece, if ece { delivered.segments } else { 0 })
        };
        let mut sample = l4s_cc::Ack {
            delivered: delivered.segments,
            delivered_ce,
            ece,
            advanced: una > prior_una,
            rtt: delivered.rtt_newest,
            ..self.sample(now)
        };
        self.cc.observe(&sample);
        if let Some(overtook) = self.tracing.answer(ack) {
            self.traced(overtook);
        }
        if self.supply.is_over(self.board.una_byte()) {
            self.state = State::Closed;
            self.timer = Timer::OFF;
            self.pace.due = Time::NEVER;
            // Thousands of finished flows must not keep their buffers.
            self.board = Scoreboard::default();
            return;
        }
        // Nothing that was sent after the oldest segment in flight puts off the timeout for that.
        let is_older = |rtt| head_sent_at.is_some_and(|at| rtt > now.since(at));
        if delivered.cumulative || delivered.rtt_oldest.is_some_and(is_older) {
            self.set_timer(now);
        }
        let twice = ack.duplicate_block();
        let probe_came_twice = twice.is_some_and(|twice| self.came_twice(twice));
        self.end_probe(una > prior_una || delivered.selective, probe_came_twice, now);

        let mut resend = Resend::Lost;
        let dubious = delivered.selective || ece || twice.is_some() || !delivered.cumulative;
        if dubious || self.state != State::Open || self.board.sacked_out() > 0 {
            let advanced = una > prior_una;
            let progress = Progress { ack, delivered: &delivered, una, advanced, ece };
            (sample.lost, resend) = self.decide_state(&progress, now);
            self.report_losses();
            sample.in_flight = self.board.in_flight();
        }
        sample.limited = self.usage.is_limited(&self.decision.window);
        self.sample_rate(delivered.segments, delivered_ce, now);
        self.decision = self.cc.on_ack(&sample);
        self.notice_idle_control();
        self.send_after(resend, now, out);
        // The socket has room again (`tcp_check_space`).
        if self.fills {
            self.refill(now, out);
        }
    }

    /// An acknowledgement arrived that a later one overtook. It may report blocks that no other one
    /// reported; the congestion control does not see it (`old_ack` in Linux' `tcp_ack`).
    #[cold]
    fn on_old_ack(&mut self, ack: &Ack, now: Time, out: &mut impl Output) {
        let una_byte = self.board.una_byte();
        // The receive window never shrinks: this is its maximum (RFC 5961 §5.2).
        let is_too_old = ack.cumulative + self.room_end.saturating_sub(una_byte) < una_byte;
        if is_too_old || (ack.newest_block().is_none() && ack.duplicate.is_none()) {
            return;
        }
        let delivered = self.deliver(ack, now);
        let una = self.board.una();
        if let Some(twice) = ack.duplicate_block() {
            self.came_twice(twice);
        }
        let progress = Progress { ack, delivered: &delivered, una, advanced: false, ece: false };
        let (_, resend) = self.decide_state(&progress, now);
        self.report_losses();
        self.send_after(resend, now, out);
    }

    /// Updates the scoreboard from an acknowledgement.
    #[inline(always)]
    fn deliver(&mut self, ack: &Ack, now: Time) -> Delivered {
        let sacks = ack.sacks.iter().take_while(|s| s.0 < s.1);
        let sacks =
            sacks.map(|s| (ack.cumulative + u64::from(s.0), ack.cumulative + u64::from(s.1)));
        let arrival = Arrival { now, echo: ack.stamps.echo, min_rtt: self.rtt.min() };
        let delivered = self.board.acknowledge(ack.cumulative, sacks, arrival);
        self.reordering.overtaken_by(delivered.overtaken);
        delivered
    }

    /// Gives the congestion control a sample of the delivery rate, where it asks for them.
    #[inline(always)]
    fn sample_rate(&mut self, delivered: u32, marks: u32, now: Time) {
        let Some(sampler) = &mut self.board.sampler else { return };
        sampler.marks(marks);
        let sample = RateSample {
            next_departure: self.pace.free_at,
            repair: match self.state {
                State::Recovery => Repair::Recovery,
                State::Loss => Repair::Timeout,
                _ => Repair::None,
            },
            ..sampler.sample(delivered, self.rtt.min(), now)
        };
        self.cc.sample_rate(&sample);
    }

    /// Reports each loss to the congestion control, where it asks for samples of the delivery rate.
    #[inline]
    fn report_losses(&mut self) {
        let Some(sampler) = &mut self.board.sampler else { return };
        for loss in sampler.take_losses() {
            self.cc.sample_loss(&loss);
        }
    }

    /// Rates are low while the congestion control measures something else.
    #[inline]
    fn notice_idle_control(&mut self) {
        let in_flight = self.board.in_flight();
        let Some(sampler) = &mut self.board.sampler else { return };
        if self.cc.limits_itself() {
            sampler.is_limited(in_flight);
        }
    }

    /// Rates are low where all that was written had been sent, though the window allowed more
    /// (`tcp_rate_check_app_limited`).
    fn notice_idle_application(&mut self) {
        let in_flight = self.board.in_flight();
        let is_idle = self.supply.segments_left(self.board.nxt_byte()) == 0
            && in_flight < self.decision.window.cwnd
            && !self.board.has_to_resend();
        if let (Some(sampler), true) = (&mut self.board.sampler, is_idle) {
            sampler.is_limited(in_flight);
        }
    }

    /// Sends the segments that an acknowledgement allows.
    #[inline(always)]
    fn send_after(&mut self, resend: Resend, now: Time, out: &mut impl Output) {
        if resend == Resend::NewFirst {
            self.transmit(now, out);
            // Where nothing new may be sent, nothing is learnt from it (RFC 5682 §2.1 step 2).
            self.frto = self.board.nxt() > self.high_seq;
        }
        let may_resend = resend == Resend::Lost || (resend == Resend::NewFirst && !self.frto);
        if may_resend && self.board.has_to_resend() {
            self.retransmit_lost(now, out);
        }
        self.transmit_units::<false>(now, out);
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
                self.send_syn_ack(now, out);
            }
            Purpose::Retransmit => self.on_timeout(now, out),
            Purpose::Probe => self.send_probe(now, out),
            Purpose::Hold => self.send_held(now, out),
            Purpose::Reordering => {
                self.timer = Timer::OFF;
                let lost = self.detect_losses(now);
                if lost > 0 && self.state != State::Recovery {
                    self.enter_recovery(Congestion::LossByTimer, false, now);
                }
                self.report_losses();
                self.retransmit_lost(now, out);
                if self.timer == Timer::OFF {
                    self.set_retransmit_timer(now);
                }
            }
        }
    }

    #[inline(always)]
    fn measure(&mut self, delivered: &Delivered, out: &mut impl Output) {
        if let Some(newest) = delivered.rtt_newest {
            self.rtt.observe_min(newest);
        }
        if let Some(oldest) = delivered.rtt_oldest {
            // RFC 6298 §5.7: the timeout is as long as before until the RTT is measured.
            self.backoff = 0;
            self.rtt.sample(oldest, self.board.una(), self.board.nxt());
            out.round_trip(oldest);
        }
    }

    /// The time stamps of segments that are sent now.
    #[inline]
    fn stamps(&self, now: Time) -> Stamps {
        Stamps { sent: Stamp::at(now), echo: self.ts_recent }
    }

    /// Where the connection is, without an acknowledgement.
    #[inline]
    fn sample(&self, now: Time) -> l4s_cc::Ack {
        let (una, nxt) = (self.board.una(), self.board.nxt());
        l4s_cc::Ack {
            now,
            min_rtt: self.rtt.min(),
            srtt: self.rtt.smoothed().unwrap_or_default(),
            una,
            nxt,
            in_flight: self.board.in_flight(),
            sent: self.sent,
            unsent: self.supply.segments_left(self.board.nxt_byte()),
            reordering: self.reordering.is_common(),
            ..l4s_cc::Ack::default()
        }
    }
}
