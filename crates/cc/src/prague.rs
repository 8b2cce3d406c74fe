//! TCP Prague: DCTCP made fit for the Internet (RFC 9330 §4.3, RFC 9331 §4.3).
//!
//! The window has a fraction, growth does not depend on the RTT where that is short, and marks
//! are answered at most once per virtual RTT. It sets the window in every state of the transport, as
//! Linux' `cong_control` does.
//!
//! The same arithmetic runs in the kernel. `crates/bpf/src/c/prague.h` is its twin, and a test
//! compares the two integer by integer: change both together.

mod config;
mod growth;
pub mod kernel;
mod start;

pub use config::{
    BurstLimit, ClassicGrowth, Config, Fallback, Increase, LossResponse, RttIndependence,
    SlowStart, TracerSet,
};

use l4s_units::{Duration, Rate};

use crate::classic_ecn::{Clock, Detector, Report, Rules, Sample};
use crate::{
    Ack, Congestion, CongestionControl, Connection, Decision, INITIAL_WINDOW, Marks, Pause,
    Recovery, Window, hystart_rise,
};
use growth::Growth;

/// The RTT of which shorter paths get the rate, in microseconds (TCP Prague for Linux: 25 ms). Less
/// than 2^16, so that its square fits in 32 bits.
const RTT_VIRT_US: u64 = 25_000;

/// Bits of the window's fraction.
const CWND_BITS: u32 = 20;
/// Linux sends no less than this many packets per round trip, and no threshold is lower.
const THRESHOLD_MIN: u32 = 2;
/// Below this window segments ask for an acknowledgement at once, where it may be less than two:
/// a receiver that waits for a second segment would wait for its timer.
const PUSH_BELOW: u64 = 4 << CWND_BITS;
/// So that the window times alpha fits in 63 bits: 2^(19 + 20 + 24).
const CWND_MAX: u64 = 1 << (19 + CWND_BITS);
/// Bits of alpha's fraction.
const ALPHA_BITS: u32 = 24;
/// RFC 8257 §3.3: g = 1/16. The average keeps as many bits more, so that it never sticks.
const SHIFT_G: u32 = 4;
const AVERAGE_MAX: u32 = 1 << (ALPHA_BITS + SHIFT_G);
/// More than one acknowledgement can deliver; keeps the increase within 61 bits.
const DELIVERED_MAX: u32 = (1 << 20) - 1;

/// Prague's state of a connection, named as in `prague.h`.
///
/// Example: [`Control`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct State {
    /// The window in 2^-20 packets; 0 before the first acknowledgement.
    pub frac_cwnd: u64,
    /// The rest of the last increase, in 2^-40 packets times the window.
    pub credit: u64,
    /// The window before the last loss.
    pub prior_frac_cwnd: u64,
    /// When alpha was last updated, in microseconds.
    pub alpha_at: u64,
    /// When the window was last reduced for a mark, in microseconds.
    pub cut_at: u64,
    /// Moving average of the fraction of marks in 2^-28; alpha is its upper 24 bits.
    pub average: u32,
    /// The round trip of observation ends when this is acknowledged.
    pub window_end: u64,
    /// Recovery from a loss ends when this is acknowledged.
    pub recover: u64,
    /// Packets delivered in this time of observation.
    pub delivered: u32,
    /// Those of them that were marked.
    pub delivered_ce: u32,
    /// Slow start ends at this many packets.
    pub ssthresh: u32,
    /// The threshold before the last loss.
    pub prior_ssthresh: u32,
    /// Rounds that are left before the rate is independent of the RTT.
    pub transition: u32,
    /// Rounds of observation since the last mark.
    pub quiet: u16,
    /// Rounds for which it has been looking for room since then.
    pub looking: u16,
    /// Whether a mark was ever seen.
    pub saw_ce: bool,
    /// Whether a loss is being recovered from.
    pub in_loss: bool,
    /// Whether there was a loss since the last mark: the bottleneck may be one that does not mark.
    pub after_loss: bool,
}

/// `alpha` in a Classic queue, in 2^-24 (`ALPHA_ABE`): 2·(1 − 0.7), as RFC 8511 leaves 0.7 of the
/// window (Fallback §6.1). TCP Prague 0.6 for Linux has 5/8 for it.
fn alpha_classic(rules: Rules) -> u64 {
    let alpha: f64 = if rules == Rules::Linux { 0.625 } else { 0.6 };
    (alpha * f64::from(1u32 << ALPHA_BITS)).round() as u64
}

/// Whether the rise of the RTT shows that a queue builds (RFC 9406 §4.2).
fn rose(ack: &Ack) -> bool {
    ack.rtt.is_some_and(|rtt| rtt > ack.min_rtt + hystart_rise(ack.min_rtt))
}

/// A connection under Prague.
///
/// ```
/// use l4s_cc::prague::{Config, Control, State};
/// use l4s_cc::{Ack, CongestionControl, Connection};
/// use l4s_units::{Duration, Time};
///
/// let mut control = Control::new(&Config::linux(), &Connection::new(1448));
/// let rtt = Duration::from_millis(10);
/// let start = Ack { now: Time::ZERO + rtt, min_rtt: rtt, srtt: rtt, nxt: 10, ..Ack::default() };
/// assert_eq!(control.on_ack(&start).window.cwnd, 10);
/// // The first mark halves the window: one of ten segments, while the RTT has risen by 5 ms.
/// let marked = Ack {
///     now: Time::ZERO + rtt * 2,
///     delivered: 10,
///     delivered_ce: 1,
///     rtt: Some(rtt + Duration::from_millis(5)),
///     una: 10,
///     nxt: 20,
///     ..start
/// };
/// assert_eq!(control.on_ack(&marked).window.cwnd, 5);
/// let State { frac_cwnd, saw_ce, .. } = *control.state();
/// assert_eq!((frac_cwnd >> 20, saw_ce), (5, true));
/// ```
#[derive(Clone, Debug)]
pub struct Control {
    settings: Settings,
    state: State,
    growth: Growth,
    /// Absent if [`Config::fallback`] is off.
    detector: Option<Box<Detector>>,
    connection: Connection,
    decision: Decision,
    /// A loss was just found: the first lost segment is sent again, independent of the flight (RFC 6675
    /// §5 step 4.3).
    repairing: bool,
    /// The number of times that slow start may begin again.
    restarts: u32,
    /// Packets in flight when the round trip of observation began.
    flight: u64,
}

/// The configuration in the units of [`State`].
#[derive(Clone, Copy, Debug)]
struct Settings {
    rtt_independence: RttIndependence,
    rtt_transition: u32,
    /// Whether marks are averaged per virtual RTT.
    alpha_per_virtual: bool,
    alpha_on_init: u32,
    cwnd_min: u64,
    sets_psh: bool,
    slow_start: SlowStart,
    alpha_classic: u64,
    cubic_on_loss: bool,
    burst: BurstLimit,
    pacing: bool,
}

impl Settings {
    fn new(config: &Config) -> Settings {
        Settings {
            rtt_independence: config.rtt_independence,
            rtt_transition: config.rtt_transition,
            alpha_per_virtual: config.alpha_clock == Clock::Virtual,
            alpha_on_init: config.alpha_on_init,
            cwnd_min: (config.min_window * f64::from(1u32 << CWND_BITS)) as u64,
            sets_psh: config.min_window < 2.0,
            slow_start: config.slow_start,
            alpha_classic: alpha_classic(config.detector.rules),
            cubic_on_loss: config.loss == LossResponse::Cubic,
            burst: config.burst,
            pacing: config.pacing,
        }
    }

    /// How long a flow of this RTT waits at least between two answers to marks: the RTT that its
    /// rate is to be that of. 0 where that is its own.
    fn rtt_virt_us(&self, srtt: u64) -> u64 {
        match self.rtt_independence {
            RttIndependence::Off => 0,
            RttIndependence::Rate | RttIndependence::Scalable => RTT_VIRT_US,
            RttIndependence::Additive => RTT_VIRT_US + srtt,
        }
    }
}

impl Control {
    /// The state of a new connection.
    pub fn new(config: &Config, connection: &Connection) -> Self {
        let detects = config.fallback != Fallback::Off;
        let traces = config.fallback == Fallback::Active;
        Control {
            settings: Settings::new(config),
            state: State::default(),
            growth: Growth::new(config),
            detector: detects.then(|| Box::new(Detector::new(&config.detector, traces))),
            connection: *connection,
            decision: connection.initial(),
            repairing: false,
            restarts: start::restarts(config.slow_start),
            flight: 0,
        }
    }

    /// Its state, without that of its detector.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Its detector of Classic ECN, where it has one.
    pub fn detector(&self) -> Option<&Detector> {
        self.detector.as_deref()
    }

    /// The window in whole packets, rounded to the nearest, and one at least.
    fn cwnd(&self) -> u32 {
        (((self.state.frac_cwnd + (1 << (CWND_BITS - 1))) >> CWND_BITS) as u32).max(1)
    }

    /// Puts the present window into the decision.
    #[inline]
    fn decide_window(&mut self) {
        self.decision.window.cwnd = self.cwnd();
        self.decision.window.ssthresh = self.state.ssthresh;
    }

    /// Allows the first retransmission of a recovery.
    #[inline]
    fn let_first_retransmission_go(&mut self, in_flight: u32) {
        if core::mem::take(&mut self.repairing) {
            let window = &mut self.decision.window;
            window.cwnd = window.cwnd.max(in_flight + 1);
        }
    }

    fn start(&mut self, nxt: u64, now: u64) {
        let cwnd = self.decision.window.cwnd;
        self.state = State {
            frac_cwnd: (u64::from(cwnd) << CWND_BITS).clamp(self.settings.cwnd_min, CWND_MAX),
            alpha_at: now,
            average: self.settings.alpha_on_init << (ALPHA_BITS - 10 + SHIFT_G),
            window_end: nxt,
            ssthresh: Window::NO_THRESHOLD,
            prior_ssthresh: Window::NO_THRESHOLD,
            transition: self.settings.rtt_transition,
            ..State::default()
        };
        self.flight = cwnd.into();
    }

    /// Slow start ends at the present window.
    fn set_threshold(&mut self) {
        let ssthresh = (self.state.frac_cwnd >> CWND_BITS) as u32;
        self.state.ssthresh = ssthresh.max(THRESHOLD_MIN);
        if let Some(detector) = &mut self.detector {
            detector.on_threshold(self.state.ssthresh);
        }
    }

    /// Slow start ends at this window instead, if that is more.
    fn raise_threshold(&mut self, ssthresh: u32) {
        self.state.ssthresh = self.state.ssthresh.max(ssthresh);
        if let Some(detector) = &mut self.detector {
            detector.on_threshold(self.state.ssthresh);
        }
    }

    /// How much it should behave as in a Classic queue, in 2^-24.
    #[inline]
    fn classic(&self) -> u64 {
        self.detector.as_ref().map_or(0, |detector| detector.classic().into())
    }

    /// Folds the fraction of marks since the last update into the average.
    fn update_alpha(&mut self) {
        let s = &mut self.state;
        let delivered = s.delivered.max(1);
        // Marks on packets that arrived twice are reported, their delivery is not.
        let marked = s.delivered_ce.min(delivered);
        let fraction = ((u64::from(marked) << ALPHA_BITS) / u64::from(delivered)) as u32;
        // RFC 8257 §3.3 step 6, with the average in units of g.
        s.average = (s.average - (s.average >> SHIFT_G) + fraction).min(AVERAGE_MAX);
    }

    /// Ends the time of observation after a round trip, but not before a virtual RTT passed; and at
    /// once where the marks end slow start.
    fn observe_marks(&mut self, ack: &Ack, srtt: u64, now: u64) {
        self.state.delivered = self.state.delivered.wrapping_add(ack.delivered);
        self.state.delivered_ce = self.state.delivered_ce.wrapping_add(ack.delivered_ce);
        let per_virtual = self.settings.alpha_per_virtual && !self.in_first_slow_start();
        let least = if per_virtual { self.settings.rtt_virt_us(srtt) } else { 0 };
        let is_over = ack.una >= self.state.window_end && now - self.state.alpha_at >= least;
        if !is_over && !self.exit_now(ack) {
            return;
        }
        if self.state.saw_ce && self.in_first_slow_start() {
            self.leave_slow_start(ack, now);
        } else if self.state.saw_ce {
            // Before the first mark there is nothing to average: alpha keeps its first value.
            self.update_alpha();
        }
        self.restart_slow_start();
        self.state.end_round();
        self.state.window_end = ack.nxt;
        self.flight = ack.nxt - ack.una;
        self.state.alpha_at = now;
        self.state.delivered = 0;
        self.state.delivered_ce = 0;
    }

    /// Answers marks, at most once per virtual RTT.
    fn answer(&mut self, ack: &Ack, srtt: u64, now: u64, first: bool) {
        if self.in_first_slow_start() && !rose(ack) {
            return;
        }
        if first || self.in_first_slow_start() {
            // It ends slow start: half the window, at any alpha.
            self.state.frac_cwnd =
                (self.state.frac_cwnd - self.state.frac_cwnd / 2).max(self.settings.cwnd_min);
            self.state.cut_at = now;
            self.set_threshold();
        } else if now - self.state.cut_at >= srtt.max(self.settings.rtt_virt_us(srtt)) {
            self.reduce(self.alpha_now(), now);
        }
    }

    /// The fraction of marks to answer, in 2^-24: between a scalable and a Classic control's
    /// (Fallback §6.1).
    fn alpha_now(&self) -> u64 {
        let alpha = u64::from(self.state.average >> SHIFT_G);
        // Alternative 2: the larger of both.
        alpha.max((self.classic() * self.settings.alpha_classic) >> ALPHA_BITS)
    }

    /// RFC 8257 §3.3 step 9: cwnd·(1 − alpha/2), rounded to the nearest.
    fn reduce(&mut self, alpha: u64, now: u64) {
        let before = self.state.frac_cwnd;
        let reduction = (before * alpha + (1 << ALPHA_BITS)) >> (ALPHA_BITS + 1);
        self.state.frac_cwnd = (before - reduction).max(self.settings.cwnd_min);
        self.state.cut_at = now;
        self.growth.reduced(before);
        self.set_threshold();
    }

    fn grow_by(&mut self, ack: &Ack, srtt: u64, limited: bool) {
        let delivered = ack.delivered.min(DELIVERED_MAX);
        let marked = if self.ignores_marks(ack) { 0 } else { ack.delivered_ce };
        if !limited || delivered <= marked {
            return;
        }
        let mut unmarked = delivered - marked;
        let threshold = u64::from(self.state.ssthresh) << CWND_BITS;
        if self.state.frac_cwnd < threshold {
            // RFC 5681 §3.1: slow start, up to the threshold.
            let room = threshold - self.state.frac_cwnd;
            let growth = self.start_growth(ack);
            if growth == 0 {
                return;
            }
            let grown = ((u64::from(unmarked) * growth) << CWND_BITS).min(room);
            self.state.frac_cwnd += grown;
            unmarked -= ((grown / growth) >> CWND_BITS) as u32;
        }
        // After a loss the window first has to show that it fits.
        if unmarked > 0 && !self.state.in_loss {
            let classic = self.classic();
            self.growth.grow(&mut self.state, unmarked, srtt, ack.now, classic);
        }
        self.state.frac_cwnd = self.state.frac_cwnd.min(CWND_MAX);
    }

    /// A loss: half the window, or as Cubic, once until all that was sent before it is
    /// acknowledged (RFC 9331 §4.3, RFC 5681 §3.2, RFC 9438 §4.6). After a timeout it starts again
    /// from two packets, and slow start leads to the threshold (RFC 5681 §3.1).
    fn on_loss(&mut self, timeout: bool, nxt: u64) {
        let least = self.settings.cwnd_min;
        if !self.state.in_loss {
            let before = self.state.frac_cwnd;
            self.state.prior_frac_cwnd = before;
            self.state.prior_ssthresh = self.state.ssthresh;
            self.growth.reduced(before);
            self.state.lost();
            let reduced = if self.settings.cubic_on_loss { before / 10 * 7 } else { before / 2 };
            self.state.frac_cwnd = reduced.max(least);
            self.state.in_loss = true;
            self.state.recover = nxt;
            self.set_threshold();
            if let Some(detector) = &mut self.detector {
                detector.on_loss();
            }
        }
        if timeout {
            self.state.frac_cwnd = least.max(u64::from(THRESHOLD_MIN) << CWND_BITS);
            self.state.recover = nxt;
        }
    }

    /// ECE of a receiver that repeats it until CWR arrives, for a round trip. How many packets were
    /// marked is not known, so it is answered as a loss (RFC 3168 §5), once until the packet with CWR,
    /// the next one, is acknowledged. Growth is Reno's from then on (RFC 9331 §4.3).
    #[cold]
    fn answer_echo(&mut self, nxt: u64, now: u64) {
        if !self.state.in_loss {
            self.on_loss(false, nxt + 1);
            // A loss that turns out to be none does not take it back.
            self.state.prior_frac_cwnd = self.state.frac_cwnd;
            self.state.prior_ssthresh = self.state.ssthresh;
        }
        self.settings.rtt_independence = RttIndependence::Off;
        self.growth.set_rtt_independence(RttIndependence::Off);
        self.state.saw_ce = true;
        self.state.cut_at = now;
    }

    /// Shows the detector an acknowledgement.
    #[inline]
    fn detect(&mut self, ack: &Ack, srtt: u64, now: u64) {
        let rtt_virt_us = self.settings.rtt_virt_us(srtt);
        let pushed = self.settings.sets_psh && self.cwnd() < 2;
        if let Some(detector) = &mut self.detector {
            let micros = |rtt: Duration| u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX);
            detector.on_ack(&Sample {
                now_us: now,
                rtt_us: ack.rtt.map(micros),
                min_rtt_us: micros(ack.min_rtt),
                delivered: ack.delivered,
                delivered_ce: ack.delivered_ce,
                una: ack.una,
                nxt: ack.nxt,
                self_limited: ack.unsent == 0,
                pushed,
                rtt_virt_us,
            });
        }
    }

    /// Reads the state of the connection, and grows the window for delivered packets.
    fn update(&mut self, ack: &Ack) {
        let (now, srtt) = (ack.now.as_nanos() / 1000, ack.srtt.as_micros());
        if self.state.frac_cwnd == 0 {
            self.start(ack.nxt, now);
        }
        if self.state.in_loss && ack.una >= self.state.recover {
            self.state.in_loss = false;
        }
        let latched = self.connection.marks == Marks::Latched;
        if ack.ece && latched {
            self.answer_echo(ack.nxt, now);
        }
        self.detect(ack, srtt, now);
        if ack.delivered_ce > 0 {
            let first = !self.state.saw_ce;
            self.state.saw_ce = true;
            self.state.marked();
            // Without counted marks it grows as after a loss.
            self.state.after_loss = latched;
            self.observe_marks(ack, srtt, now);
            self.answer(ack, srtt, now, first);
        } else {
            self.observe_marks(ack, srtt, now);
        }
        if self.in_first_slow_start() && rose(ack) {
            self.set_threshold();
        }
        self.grow_by(ack, srtt, ack.limited);
        self.decide_window();
    }

    /// The pacing rate in bytes per second.
    #[inline]
    pub fn pacing_rate(&self, ack: &Ack) -> u64 {
        let mss = self.connection.mss;
        if let Some(rate) = self.last_segments_rate(ack.in_flight, ack.unsent, mss) {
            return rate;
        }
        // 1/16 packets are precise enough: 2^(20 + 4 + 16 + 20 + 3) fits.
        let in_flight = u64::from(ack.in_flight.min(DELIVERED_MAX)) << 4;
        let window = (self.state.frac_cwnd >> (CWND_BITS - 4)).max(in_flight);
        // As Linux: a millisecond where nothing is known.
        let srtt = if ack.srtt.as_micros() == 0 { 1000 } else { ack.srtt.as_micros() };
        let rate = window * u64::from(mss & 0xffff) * 1_000_000 / srtt;
        let early = self.state.frac_cwnd >> CWND_BITS < u64::from(self.state.ssthresh / 2);
        let windows = match early {
            true if self.in_first_slow_start() => self.windows_per_rtt(),
            true => 2,
            false => 1,
        };
        let wanted = (rate * windows) >> 4;
        self.probe_rate(mss).map_or(wanted, |most| wanted.min(most.max(rate >> 4)))
    }

    /// The pacing rate of the initial window, one segment at a time; `None` where it leaves at once.
    pub fn initial_pacing(&self, srtt: Duration) -> Option<Rate> {
        let quick = self.settings.slow_start == SlowStart::Quick && self.settings.pacing;
        quick.then(|| start::initial_window_rate(self.connection.mss, srtt))
    }

    /// Whether each segment should be acknowledged at once: with so few in flight a delayed
    /// acknowledgement would be most of the round trip.
    #[inline]
    pub fn sets_psh(&self) -> bool {
        self.settings.sets_psh && self.state.frac_cwnd < PUSH_BELOW
    }

    /// The report of its detector of Classic ECN, where it has one.
    pub fn classic_ecn(&self) -> Option<Report> {
        self.detector.as_ref().map(|detector| detector.report())
    }

    /// Whether a set of tracers should go out with the next full segment (Fallback §5.2), in the form
    /// of [`Config::tracer_set`]. Asked once before each segment that could; a set for which this
    /// says yes is sent.
    #[inline]
    pub fn wants_tracers(&mut self) -> bool {
        self.detector.as_mut().is_some_and(|detector| detector.wants_tracers())
    }

    /// A set of tracers came back: whether it was in another order than it was sent in, as only a
    /// bottleneck that distinguishes ECT(1) from ECT(0) can make it.
    pub fn traced(&mut self, overtook: bool) {
        if let Some(detector) = &mut self.detector {
            detector.on_traced(overtook);
        }
    }
}

/// The state of a new connection.
pub fn control(config: &Config, connection: &Connection) -> Control {
    Control::new(config, connection)
}

impl CongestionControl for Control {
    fn on_established(&mut self, connection: &Connection) {
        self.connection = *connection;
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        self.update(ack);
        self.let_first_retransmission_go(ack.in_flight);
        let rate = self.pacing_rate(ack);
        let quantum = self.settings.burst.quantum(rate, ack.min_rtt, &self.connection);
        let (window, paces) = (self.decision.window, self.settings.pacing);
        self.decision = self.connection.decide(window, rate, paces, quantum);
        self.decision
    }

    fn on_congestion(&mut self, congestion: Congestion, _answered: bool, at: &Ack) -> Decision {
        match congestion {
            Congestion::Handshake => self.decision.window.cwnd = 1,
            // Answered with each acknowledgement, where it is to be answered. Slow start is over for
            // the transport (`prague_ssthresh`).
            Congestion::Ecn => self.decision.window.ssthresh = self.decision.window.cwnd,
            Congestion::Loss | Congestion::LossByTimer => {
                self.update(at);
                self.on_loss(false, at.nxt);
                self.decide_window();
                self.repairing = true;
                if congestion == Congestion::LossByTimer {
                    self.let_first_retransmission_go(at.in_flight);
                }
            }
            Congestion::Timeout => {
                self.update(at);
                self.on_loss(true, at.nxt);
                // Until the next acknowledgement only the first lost segment goes.
                self.decision.window.cwnd = at.in_flight + 1;
                self.decision.window.ssthresh = self.state.ssthresh;
            }
        }
        self.decision
    }

    /// The window needs no change when a reduction is complete: it was reduced when that began.
    fn on_recovered(&mut self, recovery: Recovery) -> Decision {
        self.repairing = false;
        if let Recovery::Spurious(Some(prior)) = recovery {
            let s = &mut self.state;
            s.frac_cwnd = s.frac_cwnd.max(s.prior_frac_cwnd);
            s.in_loss = false;
            let before = s.prior_ssthresh;
            self.raise_threshold(before);
            self.decide_window();
            let window = &mut self.decision.window;
            window.ssthresh = window.ssthresh.max(prior.ssthresh);
        }
        self.decision
    }

    /// Half the window for each retransmission timeout of the pause, but not less than a new
    /// connection has (RFC 5681 §4.1, RFC 7661 §4).
    fn on_restart(&mut self, pause: Pause) -> Decision {
        let halvings = pause.length.as_micros() / pause.rto.as_micros().max(1);
        if halvings == 0 {
            return self.decision;
        }
        let before = self.state.frac_cwnd;
        self.raise_threshold(((before - before / 4) >> CWND_BITS) as u32);
        let s = &mut self.state;
        // The BPF program has Linux' initial window as a constant, and must decide the same.
        let least = u64::from(INITIAL_WINDOW) << CWND_BITS;
        let reduced = (s.frac_cwnd >> halvings.min(32)).max(least);
        s.frac_cwnd = s.frac_cwnd.min(reduced);
        if let Some(detector) = &mut self.detector {
            detector.on_idle(u32::try_from(halvings).unwrap_or(u32::MAX));
        }
        self.decide_window();
        self.decision
    }

    fn alpha(&self) -> Option<f64> {
        Some(f64::from(self.state.average >> SHIFT_G) / f64::from(1u32 << ALPHA_BITS))
    }
}
