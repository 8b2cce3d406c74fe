//! TCP Prague: DCTCP made fit for the Internet (RFC 9331 §4.3).
//!
//! The window has a fraction, growth does not depend on the RTT where that is short, and marks
//! are answered at most once per virtual RTT. It steers the window by itself in every state of
//! the transport, as Linux' `cong_control` does.
//!
//! The same arithmetic runs in the kernel. `crates/bpf/src/c/prague.h` is its twin, and a test
//! holds the two against each other integer by integer: whoever changes one changes both.

use l4s_units::Duration;
use l4s_units::param::{Configurable, Kind, Param, Profile, Value};

use crate::{Ack, Congestion, CongestionControl, Pause, Window};

/// Bits of the window's fraction.
const CWND_BITS: u32 = 20;
/// Feedback of one round trip needs two packets in flight.
const CWND_MIN: u64 = 2 << CWND_BITS;
/// So that the window times alpha fits in 63 bits: 2^(19 + 20 + 24).
const CWND_MAX: u64 = 1 << (19 + CWND_BITS);
/// Bits of alpha's fraction.
const ALPHA_BITS: u32 = 24;
/// RFC 8257 §3.3: g = 1/16. The average keeps as many bits more, so that it never sticks.
const SHIFT_G: u32 = 4;
const AVERAGE_MAX: u32 = 1 << (ALPHA_BITS + SHIFT_G);
/// More than one acknowledgement can deliver; keeps the increase within 61 bits.
const DELIVERED_MAX: u32 = (1 << 20) - 1;
/// RFC 6928.
const INITIAL_WINDOW: u64 = 10;

/// Whether the rate depends on the RTT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RttIndependence {
    /// One packet per round trip, however short.
    Off,
    /// Below the virtual RTT the rate is that of a path of the virtual RTT.
    Rate,
}

/// The settings of Prague.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// Whether the rate depends on the RTT (RFC 9331 §4.3).
    pub rtt_independence: RttIndependence,
    /// The RTT that shorter ones are taken for.
    pub rtt_virt: Duration,
    /// `alpha` before the first mark, in 1/1024. The first mark halves the window in any case.
    pub alpha_on_init: u32,
    /// Spread the window over the round trip instead of sending in bursts.
    pub pacing: bool,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            rtt_independence: RttIndependence::Rate,
            rtt_virt: Duration::from_millis(25),
            alpha_on_init: 0,
            pacing: true,
        }
    }
}

impl Configurable for Config {
    const KIND: &'static str = "prague";
    const ABOUT: &'static str = "TCP Prague, the scalable congestion control of L4S (RFC 9331)";

    const PARAMS: &'static [Param<Self>] = &[
        Param::new(
            "rtt_independence",
            "rate: short paths get the rate of a path of rtt_virt; off: one packet per RTT",
            Kind::Choice(&["rate", "off"]),
            |c| {
                Some(Value::Word(match c.rtt_independence {
                    RttIndependence::Off => "off",
                    RttIndependence::Rate => "rate",
                }))
            },
            |c, v| {
                c.rtt_independence = match v.word() {
                    "off" => RttIndependence::Off,
                    _ => RttIndependence::Rate,
                }
            },
        ),
        Param::new(
            "rtt_virt",
            "the RTT that shorter ones are taken for",
            // Less than 2^16 µs, so that its square fits in 32 bits.
            Kind::Duration { min: Duration::from_millis(1), max: Duration::from_millis(60) },
            |c| {
                (c.rtt_independence == RttIndependence::Rate).then_some(Value::Duration(c.rtt_virt))
            },
            |c, v| c.rtt_virt = v.duration(),
        ),
        Param::new(
            "alpha_on_init",
            "the average of marks before the first one, in 1/1024",
            Kind::Count { min: 0, max: 1 << 10 },
            |c| Some(Value::Count(c.alpha_on_init.into())),
            |c, v| c.alpha_on_init = v.count() as u32,
        ),
        Param::new(
            "pacing",
            "spread the window over the round trip, as behind fq, instead of sending in bursts",
            Kind::Bool,
            |c| Some(Value::Bool(c.pacing)),
            |c, v| c.pacing = v.bool(),
        ),
    ];

    const PROFILES: &'static [Profile<Self>] =
        &[Profile { name: "linux", doc: "as the L4S kernel's", make: Config::default }];
}

/// What Prague knows of a connection, named as in `prague.h`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct State {
    /// The window in 2^-20 packets; 0 before the first acknowledgement.
    pub frac_cwnd: u64,
    /// What is left of the last increase, in 2^-40 packets times the window.
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
    /// Whether a mark was ever seen.
    pub saw_ce: bool,
    /// Whether a loss is being recovered from.
    pub in_loss: bool,
}

/// A connection under Prague.
#[derive(Clone, Debug)]
pub struct Control {
    /// The virtual RTT where the real one is shorter; 0 for growth that depends on the RTT.
    rtt_virt_us: u64,
    /// In 1/1024.
    alpha_on_init: u32,
    state: State,
    /// The next segment that was to be sent when the last acknowledgement arrived.
    nxt: u64,
}

impl Control {
    /// The state of a new connection. The window is the transport's until the first
    /// acknowledgement.
    pub fn new(config: &Config) -> Self {
        let rtt_virt_us = match config.rtt_independence {
            RttIndependence::Off => 0,
            RttIndependence::Rate => config.rtt_virt.as_micros().min((1 << 16) - 1),
        };
        Control {
            rtt_virt_us,
            alpha_on_init: config.alpha_on_init,
            state: State::default(),
            nxt: 0,
        }
    }

    /// What it knows.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The window in whole packets, rounded to the nearest.
    fn cwnd(&self) -> u32 {
        ((self.state.frac_cwnd + (1 << (CWND_BITS - 1))) >> CWND_BITS) as u32
    }

    fn show(&self, window: &mut Window) {
        window.cwnd = self.cwnd();
        window.ssthresh = self.state.ssthresh;
    }

    fn start(&mut self, cwnd: u32, nxt: u64, now: u64) {
        self.state = State {
            frac_cwnd: (u64::from(cwnd) << CWND_BITS).clamp(CWND_MIN, CWND_MAX),
            alpha_at: now,
            average: self.alpha_on_init << (ALPHA_BITS - 10 + SHIFT_G),
            window_end: nxt,
            ssthresh: Window::NO_THRESHOLD,
            prior_ssthresh: Window::NO_THRESHOLD,
            ..State::default()
        };
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

    /// Ends the time of observation after a round trip, but not before a virtual RTT passed.
    fn observe_marks(&mut self, ack: &Ack, now: u64) {
        self.state.delivered = self.state.delivered.wrapping_add(ack.delivered);
        self.state.delivered_ce = self.state.delivered_ce.wrapping_add(ack.delivered_ce);
        if ack.una < self.state.window_end || now - self.state.alpha_at < self.rtt_virt_us {
            return;
        }
        // Before the first mark there is nothing to average: alpha keeps its first value.
        if self.state.saw_ce {
            self.update_alpha();
        }
        self.state.window_end = ack.nxt;
        self.state.alpha_at = now;
        self.state.delivered = 0;
        self.state.delivered_ce = 0;
    }

    /// Answers marks, at most once per virtual RTT.
    fn answer(&mut self, srtt: u64, now: u64, first: bool) {
        let s = &mut self.state;
        let reduction = if first {
            // It ends slow start: half the window, whatever alpha is.
            s.frac_cwnd / 2
        } else if now - s.cut_at < srtt.max(self.rtt_virt_us) {
            return;
        } else {
            // RFC 8257 §3.3 step 9: cwnd·(1 − alpha/2), rounded to the nearest.
            let alpha = u64::from(s.average >> SHIFT_G);
            (s.frac_cwnd * alpha + (1 << ALPHA_BITS)) >> (ALPHA_BITS + 1)
        };
        s.frac_cwnd = (s.frac_cwnd - reduction).max(CWND_MIN);
        s.ssthresh = (s.frac_cwnd >> CWND_BITS) as u32;
        s.cut_at = now;
    }

    /// One packet per round trip for unmarked packets, and less where the RTT is shorter than
    /// the virtual one: the square of their ratio makes the rate grow as on a path of the
    /// virtual RTT (RFC 9331 §4.3). The remainder of the division waits, so that no increase is
    /// too small.
    fn increase(&mut self, srtt: u64, unmarked: u32) {
        let rtt = srtt.max(1);
        let scale = if rtt < self.rtt_virt_us {
            ((rtt * rtt) << 32) / (self.rtt_virt_us * self.rtt_virt_us)
        } else {
            1 << 32
        };
        let s = &mut self.state;
        // 2^(20 + 32 + 8), and the credit of a window that was larger: 2^39 at most.
        let gained = s.credit + ((u64::from(unmarked) * scale) << 8);
        s.credit = gained % s.frac_cwnd;
        s.frac_cwnd += gained / s.frac_cwnd;
    }

    fn grow_by(&mut self, ack: &Ack, srtt: u64, limited: bool) {
        let delivered = ack.delivered.min(DELIVERED_MAX);
        if !limited || delivered <= ack.delivered_ce {
            return;
        }
        let mut unmarked = delivered - ack.delivered_ce;
        let threshold = u64::from(self.state.ssthresh) << CWND_BITS;
        if self.state.frac_cwnd < threshold {
            // RFC 5681 §3.1: slow start, up to the threshold.
            let room = threshold - self.state.frac_cwnd;
            let grown = (u64::from(unmarked) << CWND_BITS).min(room);
            self.state.frac_cwnd += grown;
            unmarked -= (grown >> CWND_BITS) as u32;
        }
        // After a loss the window first has to show that it fits.
        if unmarked > 0 && !self.state.in_loss {
            self.increase(srtt, unmarked);
        }
        self.state.frac_cwnd = self.state.frac_cwnd.min(CWND_MAX);
    }

    /// A loss: half the window, once until all that was sent before it is acknowledged (RFC 9331
    /// §4.3, RFC 5681 §3.2). After a timeout it starts again from the least window, and slow
    /// start leads to the half (RFC 5681 §3.1).
    fn on_loss(&mut self, timeout: bool) {
        let s = &mut self.state;
        if !s.in_loss {
            s.prior_frac_cwnd = s.frac_cwnd;
            s.prior_ssthresh = s.ssthresh;
            s.frac_cwnd = (s.frac_cwnd / 2).max(CWND_MIN);
            s.ssthresh = (s.frac_cwnd >> CWND_BITS) as u32;
            s.in_loss = true;
            s.recover = self.nxt;
        }
        if timeout {
            s.frac_cwnd = CWND_MIN;
            s.recover = self.nxt;
        }
    }

    /// The last loss was none: packets were late.
    pub fn undo(&mut self, window: &mut Window) {
        let s = &mut self.state;
        s.frac_cwnd = s.frac_cwnd.max(s.prior_frac_cwnd);
        s.ssthresh = s.ssthresh.max(s.prior_ssthresh);
        s.in_loss = false;
        self.show(window);
    }

    /// Sending starts again after a pause: half the window for each retransmission timeout of
    /// it, but not less than a new connection has (RFC 5681 §4.1, RFC 7661 §4).
    pub fn restart(&mut self, window: &mut Window, idle: Duration, rto: Duration) {
        let halvings = idle.as_micros() / rto.as_micros().max(1);
        if halvings == 0 {
            return;
        }
        let s = &mut self.state;
        s.ssthresh = s.ssthresh.max(((s.frac_cwnd - s.frac_cwnd / 4) >> CWND_BITS) as u32);
        let reduced = (s.frac_cwnd >> halvings.min(32)).max(INITIAL_WINDOW << CWND_BITS);
        s.frac_cwnd = s.frac_cwnd.min(reduced);
        self.show(window);
    }
}

impl CongestionControl for Control {
    fn observe(&mut self, window: &mut Window, ack: &Ack) {
        let (now, srtt) = (ack.now.as_nanos() / 1000, ack.srtt.as_micros());
        if self.state.frac_cwnd == 0 {
            self.start(window.cwnd, ack.nxt, now);
        }
        self.nxt = ack.nxt;
        if self.state.in_loss && ack.una >= self.state.recover {
            self.state.in_loss = false;
        }
        if ack.delivered_ce > 0 {
            let first = !self.state.saw_ce;
            self.state.saw_ce = true;
            self.observe_marks(ack, now);
            self.answer(srtt, now, first);
        } else {
            self.observe_marks(ack, now);
        }
        self.grow_by(ack, srtt, window.limited);
        self.show(window);
    }

    /// All is done in [`Control::observe`]: Prague also grows while the transport reduces.
    fn grow(&mut self, window: &mut Window, _: &Ack) {
        self.show(window);
    }

    fn ssthresh(&mut self, window: &Window, congestion: Congestion) -> u32 {
        if self.state.frac_cwnd == 0 {
            self.start(window.cwnd, 0, 0);
        }
        match congestion {
            // Answered already, where it was to be answered.
            Congestion::Ecn => self.cwnd(),
            Congestion::Loss => {
                self.on_loss(false);
                self.state.ssthresh
            }
            Congestion::Timeout => {
                self.on_loss(true);
                self.state.ssthresh
            }
        }
    }

    fn loss_while_reducing(&mut self, _: &Window) -> Option<u32> {
        self.on_loss(false);
        Some(self.state.ssthresh)
    }

    fn alpha(&self) -> Option<f64> {
        Some(f64::from(self.state.average >> SHIFT_G) / f64::from(1u32 << ALPHA_BITS))
    }

    fn steers_alone(&self) -> bool {
        true
    }

    fn restart(&mut self, window: &mut Window, pause: Pause) {
        Control::restart(self, window, pause.length, pause.rto);
    }

    fn pacing_rate(&self, in_flight: u32, mss: u32, srtt: Duration) -> Option<u64> {
        // 1/16 packets are precise enough: 2^(20 + 4 + 16 + 20 + 1) fits.
        let in_flight = u64::from(in_flight.min(DELIVERED_MAX)) << 4;
        let window = (self.state.frac_cwnd >> (CWND_BITS - 4)).max(in_flight);
        // As Linux: a millisecond where nothing is known.
        let srtt = if srtt.as_micros() == 0 { 1000 } else { srtt.as_micros() };
        let rate = window * u64::from(mss & 0xffff) * 1_000_000 / srtt;
        let early = self.state.frac_cwnd >> CWND_BITS < u64::from(self.state.ssthresh / 2);
        Some(if early { rate * 2 } else { rate } >> 4)
    }
}
