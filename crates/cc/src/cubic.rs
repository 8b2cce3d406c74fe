//! Cubic (RFC 9438): a window that is a cubic function of the time since the last reduction, and
//! never slower than Reno would be.
//!
//! Integers, units and rounding are those of Linux, so that a window curve can be laid over a
//! kernel's: time in 1/1024 s, C = 410/1024, β = 717/1024.

use l4s_units::param;
use l4s_units::param::{Configurable, Kind, Param, Profile};
use l4s_units::{Duration, Time};
use serde::{Deserialize, Serialize};

use crate::connection::OFFLOAD_BYTES;
use crate::{
    Ack, Congestion, Connection, Endpoint, Pause, Reducing, Window, WindowRule, hystart_rise,
};

/// β of RFC 9438 §4.6, 0.7, in 1/1024.
const BETA: u64 = 717;
/// β on ECN with ABE, 0.85 (RFC 8511 §3), in 1/1024.
const BETA_ECN: u64 = 870;
/// C of RFC 9438 §5, 0.4, in 1/1024.
const C: u64 = 410;
/// How much Reno's equivalent grows per round trip, in segments: 3·(1 − β) / (1 + β)
/// (RFC 9438 §4.3).
const RENO_GROWTH: f64 = 3.0 * (1024 - BETA) as f64 / (1024 + BETA) as f64;
/// Time runs in units of 2⁻¹⁰ s.
const TIME_BITS: u32 = 10;

/// HyStart watches windows of at least this many segments.
const HYSTART_LOW_WINDOW: u32 = 16;
/// RTT samples per round before their minimum is trusted.
const HYSTART_SAMPLES: u32 = 8;
/// Acknowledgements closer than this belong to one train.
const HYSTART_TRAIN_GAP: Duration = Duration::from_millis(2);
/// Bytes of payload in a full segment, of a rule without a connection.
const MSS: u32 = 1448;
/// The most that offloads may add to the length of a train.
const HYSTART_TRAIN_SLACK: Duration = Duration::from_millis(1);
/// The bytes whose time at the pacing rate they may add: four units of offload (`hystart_ack_delay`).
const HYSTART_TRAIN_BYTES: u64 = 4 * OFFLOAD_BYTES;

/// The settings of Cubic.
///
/// Example: [`Rule`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Config {
    /// Reduce to 0.85 rather than 0.7 on ECN (ABE, RFC 8511 §3).
    pub abe: bool,
    /// Leave slow start when delay rises or an acknowledgement train is as long as half the RTT.
    pub hystart: bool,
    /// Release more when the window stopped growing before its last maximum (RFC 9438 §4.7).
    pub fast_convergence: bool,
    /// Never grow slower than Reno would (RFC 9438 §4.3).
    pub reno_friendly: bool,
    /// Segments per round trip that Reno's equivalent grows: 0.53 in RFC 9438 and Linux. The law
    /// of DCttH §3.2 for Cubic in this mode, 1.68 / √p, is that of growth by 1.
    pub reno_growth: f64,
    /// Resolution of its clock: a jiffy.
    pub tick: Duration,
    /// Let a window that is not used grow (draft-ietf-ccwg-ratelimited-increase).
    pub rate_limited_increase: bool,
    /// Leave the first slow start when the RTT rises and stays there (RFC 9406), in place of `hystart`.
    pub hystart_plus_plus: bool,
    /// Spread the window over the round trip instead of sending in bursts.
    pub pacing: bool,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            abe: false,
            hystart: true,
            fast_convergence: true,
            reno_friendly: true,
            reno_growth: RENO_GROWTH,
            tick: Duration::from_millis(1),
            rate_limited_increase: false,
            hystart_plus_plus: false,
            pacing: false,
        }
    }
}

impl Config {
    pub(crate) fn paces(&self) -> bool {
        self.pacing
    }
}

impl Configurable for Config {
    const KIND: &'static str = "cubic";
    const ABOUT: &'static str = "Cubic (RFC 9438) with HyStart, as in Linux";

    const PARAMS: &'static [Param<Self>] = &[
        param!(abe, Kind::Bool, "on ECN, reduce the window to 0.85 instead of 0.7 (RFC 8511)"),
        param!(hystart, Kind::Bool, "leave slow start before losses, on delay or on train length"),
        param!(fast_convergence, Kind::Bool, "release more to newcomers (RFC 9438 section 4.7)"),
        param!(reno_friendly, Kind::Bool, "never grow slower than Reno (RFC 9438 section 4.3)"),
        param!(
            reno_growth,
            Kind::Number { min: 0.1, max: 1.0, unit: "" },
            "growth of Reno's equivalent in segments per round trip: 0.53 in RFC 9438"
        ),
        param!(
            tick,
            Kind::Duration { min: Duration::from_nanos(1), max: Duration::from_millis(10) },
            "resolution of its clock, one jiffy"
        ),
        param!(
            rate_limited_increase,
            Kind::Bool,
            "let an unused window grow as far as the largest flight allows (IETF draft)"
        ),
        param!(
            hystart_plus_plus,
            Kind::Bool,
            "leave the first slow start as HyStart++ does (RFC 9406), in place of `hystart`"
        ),
        param!(
            pacing,
            Kind::Bool,
            "spread the window over the round trip, as behind fq, instead of sending in bursts"
        ),
    ];

    const PROFILES: &'static [Profile<Self>] =
        &[Profile { name: "linux", doc: "as Linux", make: Config::default }];
}

/// The state of a connection under Cubic.
///
/// ```
/// use l4s_cc::cubic::{Config, Rule};
/// use l4s_cc::{Congestion, Window, WindowRule};
///
/// // A mark says less than a loss: 0.85 of the window instead of 0.7 (RFC 8511).
/// let mut rule = Rule::new(&Config { abe: true, ..Config::default() });
/// let window = Window::new(100);
/// assert_eq!(rule.ssthresh(&window, Congestion::Loss), 70);
/// assert_eq!(rule.ssthresh(&window, Congestion::Ecn), 84);
/// ```
#[derive(Clone, Debug)]
pub struct Rule {
    config: Config,
    /// Bytes of payload in a full segment.
    mss: u32,
    /// Windows of acknowledgements per segment that Reno's equivalent grows, in eighths.
    reno_eighths: u64,
    /// The window at the last reduction; zero before the first.
    w_max: u32,
    /// The lowest RTT seen outside of the first second of an epoch; zero before the first.
    delay_min: Duration,
    /// The present growth curve; none after a reduction until the window grows again.
    epoch: Option<Epoch>,
    /// Segments to be acknowledged per segment of growth.
    per: u32,
    /// The window when `per` was last derived, and when.
    derived_at: (u32, Time),
    hystart: HyStart,
}

/// One growth curve, from a reduction to the next.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// When the curve reaches its plateau, in 2⁻¹⁰ s after `start`.
    k: u64,
    /// The window at the plateau.
    plateau: u32,
    /// The window that Reno would have by now.
    w_est: u32,
    /// Segments acknowledged that `w_est` has not used yet.
    acked: u32,
}

/// HyStart, as Linux has it: two ways to see that slow start filled the path.
#[derive(Clone, Copy, Debug)]
struct HyStart {
    /// Found, for the rest of this slow start.
    found: bool,
    /// The round ends when more than this is acknowledged.
    round_end: u64,
    round_start: Time,
    /// The last acknowledgement of the train.
    last_ack: Time,
    /// The lowest RTT of this round, and from how many samples.
    round_rtt: Duration,
    samples: u32,
}

impl Rule {
    /// The state of a new connection.
    pub fn new(config: &Config) -> Self {
        Rule {
            config: *config,
            mss: MSS,
            // Rounded down as Linux rounds it: 15 for 0.53.
            reno_eighths: (8.0 / config.reno_growth) as u64,
            w_max: 0,
            delay_min: Duration::ZERO,
            epoch: None,
            per: 1,
            derived_at: (0, Time::ZERO),
            hystart: HyStart {
                found: false,
                round_end: 0,
                round_start: Time::ZERO,
                last_ack: Time::ZERO,
                round_rtt: Duration::MAX,
                samples: 0,
            },
        }
    }

    /// How long a train of acknowledgements may be before the path is half full.
    fn longest_train(&self, window: &Window, ack: &Ack) -> Duration {
        let srtt = ack.srtt.max(Duration::from_micros(1));
        let rate = Connection::new(self.mss).pacing_rate(window, ack.nxt - ack.una, srtt);
        // Linux counts microseconds.
        let offloads = Duration::from_micros(HYSTART_TRAIN_BYTES * 1_000_000 / rate.max(1));
        let train = self.delay_min + offloads.min(HYSTART_TRAIN_SLACK);
        // Pacing alone may stretch it to half the RTT.
        if self.config.pacing { train } else { train / 2 }
    }

    /// How many acknowledged segments the next segment of growth takes, for another control that
    /// grows along this curve.
    pub(crate) fn acks_per_segment(&mut self, cwnd: u32, acked: u32, now: Time) -> u32 {
        self.update(cwnd, acked, now);
        self.per
    }

    /// That control reduced its window from `cwnd`.
    pub(crate) fn reduced_from(&mut self, cwnd: u32) {
        self.epoch = None;
        self.w_max = if cwnd < self.w_max && self.config.fast_convergence {
            (u64::from(cwnd) * (1024 + BETA) / 2048) as u32
        } else {
            cwnd
        };
    }

    /// `time` on the clock that the growth curve is read by.
    fn tick(&self, time: Time) -> Time {
        let tick = self.config.tick.as_nanos();
        Time::from_nanos(time.as_nanos() / tick * tick)
    }

    /// Derives how many acknowledged segments the next segment of growth takes
    /// (RFC 9438 §4.2 to §4.5).
    fn update(&mut self, cwnd: u32, acked: u32, now: Time) {
        let now = self.tick(now);
        let (last_cwnd, last_time) = self.derived_at;
        if let Some(epoch) = &mut self.epoch {
            epoch.acked += acked;
        }
        // The curve moves slowly: once per tick, or with an unchanged window 32 times a second.
        if cwnd == last_cwnd && now.since(last_time) <= Duration::from_nanos(31_250_000) {
            return;
        }
        let epoch = match self.epoch {
            Some(epoch) if now == last_time => epoch,
            Some(epoch) => {
                self.per = self.curve(&epoch, cwnd, now);
                self.derived_at = (cwnd, now);
                epoch
            }
            None => {
                let epoch = self.new_epoch(cwnd, acked, now);
                self.per = self.curve(&epoch, cwnd, now);
                self.derived_at = (cwnd, now);
                epoch
            }
        };
        self.epoch =
            Some(if self.config.reno_friendly { self.reno_region(epoch, cwnd) } else { epoch });
        self.per = self.per.max(2);
    }

    /// A growth curve from `cwnd` now to the window before the last reduction.
    fn new_epoch(&self, cwnd: u32, acked: u32, now: Time) -> Epoch {
        let (k, plateau) = if self.w_max <= cwnd {
            (0, cwnd)
        } else {
            // RFC 9438 §4.2: K = ∛((W_max − cwnd) / C), in 2⁻¹⁰ s: 2³⁰ for the unit, 2¹⁰ for C.
            let cube = (1u64 << (TIME_BITS * 3 + 10)) / C * u64::from(self.w_max - cwnd);
            (cube_root(cube), self.w_max)
        };
        Epoch { start: now, k, plateau, w_est: cwnd, acked }
    }

    /// Acknowledged segments per segment of growth along the curve.
    fn curve(&self, epoch: &Epoch, cwnd: u32, now: Time) -> u32 {
        // The window that the curve will have one RTT from now.
        // Both in whole ticks, the RTT rounded up.
        let tick = self.config.tick.as_nanos();
        let rtt = Duration::from_nanos(self.delay_min.as_nanos().next_multiple_of(tick));
        let t = now.since(epoch.start) + rtt;
        let t = ((u128::from(t.as_nanos()) << TIME_BITS) / 1_000_000_000) as u64;
        let off = u128::from(t.abs_diff(epoch.k));
        let delta = (u128::from(C) * off * off * off) >> (10 + 3 * TIME_BITS);
        let delta = u32::try_from(delta).unwrap_or(u32::MAX);
        let target = if t < epoch.k {
            epoch.plateau.saturating_sub(delta)
        } else {
            epoch.plateau.saturating_add(delta)
        };
        let per = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
        // Before the first reduction nothing is known of the path: 5 % per RTT at least.
        if self.w_max == 0 { per.min(20) } else { per }
    }

    /// Follows the window that Reno would have, and grows at least as fast (RFC 9438 §4.3).
    fn reno_region(&mut self, mut epoch: Epoch, cwnd: u32) -> Epoch {
        let per_segment = ((u64::from(cwnd) * self.reno_eighths) >> 3).max(1) as u32;
        if epoch.acked > per_segment {
            // As many whole steps as leave at least one segment of credit.
            let steps = (epoch.acked - 1) / per_segment;
            epoch.acked -= steps * per_segment;
            epoch.w_est += steps;
        }
        if epoch.w_est > cwnd {
            self.per = self.per.min(cwnd / (epoch.w_est - cwnd));
        }
        epoch
    }
}

impl HyStart {
    fn new_round(&mut self, now: Time, nxt: u64) {
        self.round_start = now;
        self.last_ack = now;
        self.round_end = nxt;
        self.round_rtt = Duration::MAX;
        self.samples = 0;
    }

    /// Whether slow start should end with this acknowledgement.
    fn update(
        &mut self,
        ack: &Ack,
        rtt: Duration,
        delay_min: Duration,
        cwnd: u32,
        longest_train: Duration,
    ) -> bool {
        if ack.una > self.round_end {
            self.new_round(ack.now, ack.nxt);
        }
        if cwnd < HYSTART_LOW_WINDOW {
            return false;
        }
        // An unbroken train of acknowledgements longer than half the RTT: the path is half full.
        if ack.now.since(self.last_ack) <= HYSTART_TRAIN_GAP {
            self.last_ack = ack.now;
            self.found |= ack.now.since(self.round_start) > longest_train;
        }
        // Delay rose by an eighth: a queue builds.
        self.round_rtt = self.round_rtt.min(rtt);
        if self.samples < HYSTART_SAMPLES {
            self.samples += 1;
        } else {
            self.found |= self.round_rtt > delay_min + hystart_rise(delay_min);
        }
        self.found
    }
}

/// A connection under Cubic.
pub type Control = Reducing<Rule>;

/// The state of a new connection.
///
/// QUIC stacks have HyStart++ where Linux has its own HyStart (RFC 9438 §4.10).
pub fn control(config: &Config, connection: &Connection) -> Control {
    let in_place = config.hystart && connection.endpoint == Endpoint::Quic;
    let plus_plus = config.hystart_plus_plus || in_place;
    let config = &Config { hystart: config.hystart && !plus_plus, ..*config };
    let rule = Rule { mss: connection.mss, ..Rule::new(config) };
    Reducing::new(rule, config.pacing, connection)
        .rate_limited_increase(config.rate_limited_increase)
        .hystart_plus_plus(plus_plus)
}

impl WindowRule for Rule {
    fn observe(&mut self, window: &mut Window, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        // Right after a reduction the queue drains and the samples deceive.
        let young = |e: &Epoch| self.tick(ack.now).since(e.start) < Duration::from_secs(1);
        if self.epoch.as_ref().is_some_and(young) {
            return;
        }
        // Linux counts microseconds.
        let rtt = Duration::from_micros(rtt.as_micros().max(1));
        if self.delay_min.is_zero() || rtt < self.delay_min {
            self.delay_min = rtt;
        }
        if self.config.hystart
            && !self.hystart.found
            && window.in_slow_start()
            && self.hystart.update(
                ack,
                rtt,
                self.delay_min,
                window.cwnd,
                self.longest_train(window, ack),
            )
        {
            window.ssthresh = window.cwnd;
        }
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack) {
        if !window.limited {
            return;
        }
        let mut acked = ack.delivered;
        if window.in_slow_start() {
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        self.update(window.cwnd, acked, ack.now);
        window.additive_increase(self.per, acked);
    }

    /// Outside of slow start the curve says how many segments a window of acknowledgements adds.
    fn limit(&self, slow_start: bool, flight: u32) -> u32 {
        flight.saturating_add(if slow_start { flight } else { (flight / self.per).max(1) })
    }

    fn ssthresh(&mut self, window: &Window, congestion: Congestion) -> u32 {
        let cwnd = u64::from(window.cwnd);
        let beta = match congestion {
            Congestion::Ecn if self.config.abe => BETA_ECN,
            _ => BETA,
        };
        self.reduced_from(window.cwnd);
        if congestion == Congestion::Timeout {
            // After a timeout nothing learnt about the path holds any more.
            *self = Rule { mss: self.mss, ..Rule::new(&self.config) };
        }
        ((cwnd * beta / 1024) as u32).max(2)
    }

    /// The growth curve does not advance while nothing is sent (`cubictcp_cwnd_event`), however short
    /// the pause.
    fn restart(&mut self, window: &mut Window, pause: Pause, initial_window: u32) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + pause.length).min(pause.now);
        }
        window.restart(pause, initial_window);
    }
}

/// ⌊∛n⌋.
fn cube_root(n: u64) -> u64 {
    // Newton's iteration from above: 2^⌈bits/3⌉ is never below the root.
    if n == 0 {
        return 0;
    }
    let mut x = 1u64 << (64 - n.leading_zeros()).div_ceil(3);
    loop {
        let next = (2 * x + n / (x * x)) / 3;
        if next >= x {
            return x;
        }
        x = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cube_root_is_exact(n in 0u64..1 << 52) {
            let root = u128::from(cube_root(n));
            prop_assert!(root.pow(3) <= u128::from(n));
            prop_assert!((root + 1).pow(3) > u128::from(n));
        }
    }

    #[test]
    fn acknowledgements_of_a_flight_add_what_the_curve_says() {
        let limit = |per| Rule { per, ..Rule::new(&Config::default()) }.limit(false, 100);
        assert_eq!([2, 50, 1000].map(limit), [150, 102, 101]);
        assert_eq!(Rule::new(&Config::default()).limit(true, 100), 200);
    }

    /// The microseconds after which an unbroken train of acknowledgements ends slow start, on a path of 200 us.
    fn longest_train(cwnd: u32) -> u64 {
        let (mut rule, mut window) = (Rule::new(&Config::default()), Window::new(cwnd));
        let srtt = Duration::from_micros(200);
        let ends = |us: &u64| {
            let now = Time::from_nanos(1_000_000_000 + us * 1000);
            // The first one begins a round.
            let una = u64::from(*us == 0);
            let ack = Ack { now, una, nxt: 16, rtt: Some(srtt), srtt, ..Ack::default() };
            rule.observe(&mut window, &ack);
            !window.in_slow_start()
        };
        (0..2000).find(ends).unwrap()
    }

    /// More than half of the RTT and of the time of 256 KiB at two windows per RTT, as `hystart_ack_delay`. That time is
    /// 226 us with 80 segments (9.3 Gb/s). With 16 it is more than the millisecond that is allowed.
    #[test]
    fn offloads_stretch_a_train_by_their_time_at_the_pacing_rate() {
        assert_eq!([80, 16].map(longest_train), [(200 + 226) / 2 + 1, (200 + 1000) / 2 + 1]);
    }

    const RTT: Duration = Duration::from_millis(100);

    /// A window of 1000 segments after a loss, over a path of 100 ms.
    fn reduced(config: Config) -> (Rule, Window) {
        let mut rule = Rule::new(&Config { hystart: false, ..config });
        let mut window = Window::new(1000);
        window.limited = true;
        rule.observe(&mut window, &Ack { rtt: Some(RTT), ..Ack::default() });
        window.ssthresh = rule.ssthresh(&window, Congestion::Loss);
        window.cwnd = window.ssthresh;
        (rule, window)
    }

    /// RFC 9438 §4.2: from 700 back to 1000 in ∛(300 / 0.4) = 9.086 s. W(t) = 1000 + 0.4·(t − 9.086)³:
    /// 4.586 s before the plateau 961.4, and 4.514 s after it 1036.8.
    #[test]
    fn the_window_follows_the_curve() {
        let (mut rule, mut window) = reduced(Config { reno_friendly: false, ..Config::default() });
        assert_eq!(window.cwnd, 700);
        let mut found = Vec::new();
        for tenth in 0..=136u64 {
            if [45, 91, 136].contains(&tenth) {
                found.push(window.cwnd);
            }
            let flight = window.cwnd;
            for n in 0..10u64 {
                let now = Time::from_nanos((100 * tenth + 10 * n) * 1_000_000);
                let delivered = flight / 10;
                rule.grow(&mut window, &Ack { now, delivered, ..Ack::default() });
            }
        }
        for (cwnd, expected) in found.iter().zip([961, 1000, 1037]) {
            assert!(cwnd.abs_diff(expected) <= 5, "{found:?}");
        }
    }

    /// RFC 9438 §4.2: the target is 1.5 windows at most.
    #[test]
    fn a_window_grows_by_half_in_a_round_trip_at_most() {
        let mut rule = Rule::new(&Config::default());
        rule.update(10, 1, Time::ZERO);
        rule.update(10, 1, Time::ZERO + Duration::from_secs(1000));
        assert_eq!(rule.per, 2);
    }

    /// RFC 9438 §4.6, RFC 8511 §3.
    #[test]
    fn a_loss_leaves_seven_tenths_of_the_window() {
        let mut rule = Rule::new(&Config { abe: true, ..Config::default() });
        let window = Window::new(1000);
        assert_eq!(rule.ssthresh(&window, Congestion::Loss), 700);
        assert_eq!(rule.ssthresh(&window, Congestion::Ecn), 849);
    }

    /// RFC 9438 §4.7: a window that stopped growing at 800, below its last maximum, has one of
    /// 800 · (1 + 0.7) / 2.
    #[test]
    fn a_smaller_maximum_is_taken_as_smaller_still() {
        for (fast_convergence, expected) in [(true, [1000, 680, 900]), (false, [1000, 800, 900])] {
            let mut rule = Rule::new(&Config { fast_convergence, ..Config::default() });
            let maxima = [1000, 800, 900].map(|cwnd| {
                rule.reduced_from(cwnd);
                rule.w_max
            });
            assert_eq!(maxima, expected);
        }
    }

    /// RFC 9438 §4.8: the curve and Reno's window begin at the window of congestion avoidance.
    #[test]
    fn after_a_timeout_nothing_is_known() {
        let (mut rule, window) = reduced(Config::default());
        assert_eq!(rule.ssthresh(&window, Congestion::Timeout), 490);
        assert_eq!((rule.w_max, rule.delay_min), (0, Duration::ZERO));
        rule.update(20, 1, Time::ZERO);
        assert_eq!(
            rule.epoch.map(|epoch| (epoch.k, epoch.plateau, epoch.w_est)),
            Some((0, 20, 20))
        );
    }

    /// RFC 9438 §4.2.
    #[test]
    fn a_pause_does_not_count_on_the_curve() {
        let (mut rule, mut window) = reduced(Config::default());
        let s = Duration::from_secs;
        rule.update(700, 1, Time::ZERO + s(1));
        let pause = Pause { now: Time::ZERO + s(5), length: s(2), rto: s(1) };
        rule.restart(&mut window, pause, 10);
        assert_eq!(rule.epoch.map(|epoch| epoch.start), Some(Time::ZERO + s(3)));
    }

    #[test]
    fn reno_steps_as_rfc_9438_has_them() {
        // (1 + 0.7) / (3·0.3) = 1.89 windows of acknowledgements per segment, in eighths: 15.
        assert_eq!(Rule::new(&Config::default()).reno_eighths, 15);
    }
}
