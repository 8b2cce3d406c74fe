//! BBR, version 1, as in Linux 7.3 (`tcp_bbr.c`; draft-cardwell-iccrg-bbr-congestion-control).
//!
//! BBR does not wait for a loss or a mark. It models the path by two values that cannot be
//! measured at the same time. The bandwidth is the highest delivery rate of the last ten round
//! trips. The round trip without a queue is the lowest RTT of the last ten seconds. BBR paces at the
//! bandwidth, and has at most two bandwidth-delay products in flight.
//!
//! ```text
//! Startup ─no more bandwidth─▶ Drain ─queue is empty─▶ ProbeBw ⟲ 1.25, 0.75, 1 × 6
//!                                                       │   ▲
//!                            no lower RTT for ten seconds   200 ms and a round trip later
//!                                                       ▼   │
//!                                                      ProbeRtt
//! ```
//!
//! Windows are whole segments and gains are multiples of 1/256, as in Linux.

pub(crate) mod aggregation;
pub(crate) mod bandwidth;
mod policer;
pub(crate) mod round;

use l4s_units::param::{Configurable, Param, Profile};
use l4s_units::{Duration, Rate, Time};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::{
    Ack, Congestion, CongestionControl, Connection, Decision, Delivery, INITIAL_WINDOW, Pause,
    RateSample, Recovery, Repair,
};
use aggregation::Aggregation;
use bandwidth::{Bandwidth, MaxFilter};
use policer::{News, Policer};
use round::Round;

/// A gain of 1.
const UNIT: u64 = 256;
/// 2/ln 2: the lowest gain that doubles the delivery rate in each round trip (`bbr_high_gain`).
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
/// Its inverse drains in a round trip the queue that it made (`bbr_drain_gain`).
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// The window allows for delayed and merged acknowledgements (`bbr_cwnd_gain`).
const WINDOW_GAIN: u64 = 2 * UNIT;
/// Look for more bandwidth, give the queue back that this made, and cruise (`bbr_pacing_gain`).
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// The cycle may begin with each phase except the one that drains (`bbr_cycle_rand`).
const BEGINNINGS: u64 = 7;
/// The filter of the bandwidth: a cycle and two round trips (`bbr_bw_rtts`).
const BANDWIDTH_ROUNDS: u64 = CYCLE.len() as u64 + 2;
/// How long the lowest RTT holds (`bbr_min_rtt_win_sec`).
const MIN_RTT_HOLDS: Duration = Duration::from_secs(10);
/// How long few segments are in flight to measure it (`bbr_probe_rtt_mode_ms`).
const PROBE_RTT_LASTS: Duration = Duration::from_millis(200);
/// The fewest segments of a window that still are acknowledged in time (`bbr_cwnd_min_target`).
const LEAST_WINDOW: u32 = 4;
/// Startup ends after three round trips without a growth by a quarter (`bbr_full_bw_cnt`).
const ROUNDS_WITHOUT_GROWTH: u32 = 3;
/// Below this rate, in bytes per second, segments leave one by one (`bbr_min_tso_rate`).
const ONE_BY_ONE: u64 = 1_200_000 / 8;
/// The most bytes of a burst in the window's allowance (`GSO_LEGACY_MAX_SIZE` less headers).
const BURST_BYTES: u64 = 65_535 - 320;

/// BBR has no settings.
///
/// Example: [`Bbr`].
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Config {}

impl Config {
    /// It always paces.
    pub(crate) fn paces(&self) -> bool {
        true
    }
}

impl Configurable for Config {
    const KIND: &'static str = "bbr";
    const ABOUT: &'static str =
        "BBR, version 1, as in Linux: paces at the bandwidth that it measures";
    const PARAMS: &'static [Param<Self>] = &[];
    const PROFILES: &'static [Profile<Self>] =
        &[Profile { name: "linux", doc: "as Linux", make: Config::default }];
}

/// The phase of BBR.
///
/// Example: [`Bbr`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Doubles its rate in each round trip until the bandwidth does not grow.
    Startup,
    /// Sends less than the bandwidth until the queue of startup is gone.
    Drain,
    /// Cycles its rate around the bandwidth; this is the place in the cycle, from 0 to 7.
    ProbeBw(u8),
    /// Has four segments in flight, so that the queue empties and the RTT shows the path.
    ProbeRtt,
}

impl Mode {
    fn pacing_gain(self) -> u64 {
        match self {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBw(phase) => CYCLE[usize::from(phase)],
            Mode::ProbeRtt => UNIT,
        }
    }

    fn window_gain(self) -> u64 {
        match self {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBw(_) => WINDOW_GAIN,
            Mode::ProbeRtt => UNIT,
        }
    }
}

/// A connection under BBR.
///
/// ```
/// use l4s_cc::bbr::{Config, Mode, control};
/// use l4s_cc::{Ack, CongestionControl, Connection, Delivery, RateSample};
/// use l4s_units::{Duration, Rate, Time};
///
/// let rtt = Duration::from_millis(10);
/// let mut bbr = control(&Config::default(), &Connection::new(1500));
/// let established = Ack { now: Time::ZERO + rtt, srtt: rtt, min_rtt: rtt, ..Ack::default() };
/// // Ten segments per round trip are 12 Mb/s, and startup sends 2.89 times as much, less 1 %.
/// let pacing = bbr.on_ack(&established).pacing.unwrap();
/// assert_eq!(pacing.as_bps() / 100_000, 342);
///
/// // All ten were delivered within a round trip.
/// let delivery = Delivery { segments: 10, interval: rtt };
/// let now = Time::ZERO + rtt * 2;
/// bbr.sample_rate(&RateSample {
///     delivery: Some(delivery),
///     delivered: 11,
///     delivered_at: now,
///     prior_delivered: 1,
///     ..RateSample::default()
/// });
/// let ack = Ack { now, delivered: 10, advanced: true, rtt: Some(rtt), ..established };
/// assert_eq!(bbr.on_ack(&ack).window.cwnd, 20);
/// assert_eq!(bbr.mode(), Mode::Startup);
/// ```
#[derive(Clone, Debug)]
pub struct Bbr {
    connection: Connection,
    mode: Mode,
    bandwidth: MaxFilter<Bandwidth>,
    policer: Policer,
    aggregation: Aggregation,
    round: Round,
    full: FullPipe,
    /// The lowest RTT, once measured, and when it was.
    min_rtt: Option<Duration>,
    min_rtt_at: Time,
    /// When the RTT is known, where it is being measured.
    probe_rtt: Option<ProbeRtt>,
    /// When the phase of the cycle began.
    phase_at: Time,
    /// Sending starts again after a pause.
    restarts: bool,
    /// The window before a recovery or a measurement of the RTT.
    prior_cwnd: u32,
    prior_repair: Repair,
    /// For a round trip of recovery one segment leaves for each delivered one.
    conserves: bool,
    /// The rate in bytes per second; zero before the first RTT.
    pacing_rate: u64,
    has_rtt: bool,
    sample: RateSample,
    decision: Decision,
    chance: SplitMix64,
}

/// Whether the bandwidth has stopped growing.
#[derive(Clone, Copy, Debug, Default)]
struct FullPipe {
    reached: bool,
    bandwidth: Bandwidth,
    rounds: u32,
}

#[derive(Clone, Copy, Debug)]
struct ProbeRtt {
    /// When it may end.
    until: Time,
    round_over: bool,
}

/// A connection under BBR, whose state is twice that of others.
pub type Control = Box<Bbr>;

/// The state of a new connection.
pub fn control(_config: &Config, connection: &Connection) -> Control {
    Box::new(Bbr {
        connection: *connection,
        mode: Mode::Startup,
        bandwidth: MaxFilter::new(BANDWIDTH_ROUNDS),
        policer: Policer::default(),
        aggregation: Aggregation::default(),
        round: Round::default(),
        full: FullPipe::default(),
        min_rtt: None,
        min_rtt_at: Time::ZERO,
        probe_rtt: None,
        phase_at: Time::ZERO,
        restarts: false,
        prior_cwnd: 0,
        prior_repair: Repair::None,
        conserves: false,
        pacing_rate: 0,
        has_rtt: false,
        sample: RateSample::default(),
        decision: connection.initial(),
        chance: SplitMix64::seed_from_u64(connection.seed),
    })
}

impl Bbr {
    /// The phase that it is in.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The bandwidth: of a policer, where one was found.
    fn bandwidth(&self) -> Bandwidth {
        self.policer.rate().unwrap_or(self.bandwidth.max())
    }

    fn pacing_gain(&self) -> u64 {
        match self.mode {
            Mode::ProbeBw(_) if self.policer.rate().is_some() => UNIT,
            mode => mode.pacing_gain(),
        }
    }

    // --- The model --------------------------------------------------------------------------

    /// The connection is established, and the RTT of the handshake may be known.
    fn begin(&mut self, ack: &Ack) {
        self.round.begin(self.sample.delivered);
        self.min_rtt = (ack.min_rtt < Duration::MAX).then_some(ack.min_rtt);
        self.min_rtt_at = ack.now;
        self.policer.reset(&self.sample);
        self.aggregation.restart(ack.now);
        self.pace_the_initial_window(ack.srtt);
    }

    fn update_model(&mut self, ack: &Ack) {
        self.update_bandwidth(ack);
        if let (Some(_), true) = (self.delivery(), ack.delivered > 0) {
            let (expected, cwnd) = (self.bandwidth(), self.decision.window.cwnd);
            let Bbr { aggregation, sample, round, .. } = self;
            aggregation.take(ack.delivered, sample, expected, round.starts, cwnd);
        }
        match self.mode {
            Mode::ProbeBw(phase) if self.is_phase_over(phase, ack) => {
                self.begin_phase((phase + 1) % CYCLE.len() as u8);
            }
            _ => {}
        }
        self.look_for_full_pipe();
        self.drain(ack);
        self.update_min_rtt(ack);
    }

    fn delivery(&self) -> Option<Delivery> {
        self.sample.delivery.filter(|delivery| delivery.interval.as_micros() > 0)
    }

    fn update_bandwidth(&mut self, ack: &Ack) {
        self.round.starts = false;
        let Some(delivery) = self.delivery() else { return };
        if self.round.take(&self.sample) {
            self.conserves = false;
        }
        self.look_for_policer(ack.lost > 0);
        let bandwidth = Bandwidth::of(delivery);
        // While the application holds back, a low rate says nothing about the path.
        if !self.sample.app_limited || bandwidth >= self.bandwidth.max() {
            self.bandwidth.take(bandwidth, self.round.count);
        }
    }

    fn look_for_policer(&mut self, lost: bool) {
        let cycles = matches!(self.mode, Mode::ProbeBw(_));
        let news = News { round_start: self.round.starts, lost, cycles };
        if self.policer.take(&self.sample, news, self.connection.mss) {
            self.begin_cycle();
        }
    }

    fn look_for_full_pipe(&mut self) {
        let full = &mut self.full;
        if full.reached || !self.round.starts || self.sample.app_limited {
            return;
        }
        let bandwidth = self.bandwidth.max();
        if bandwidth >= full.bandwidth.times(UNIT * 5 / 4) {
            (full.bandwidth, full.rounds) = (bandwidth, 0);
            return;
        }
        full.rounds += 1;
        full.reached = full.rounds >= ROUNDS_WITHOUT_GROWTH;
    }

    fn drain(&mut self, ack: &Ack) {
        let target = |control: &Bbr| control.in_flight_at(control.bandwidth.max(), UNIT);
        if self.mode == Mode::Startup && self.full.reached {
            self.mode = Mode::Drain;
            self.decision.window.ssthresh = target(self);
        }
        if self.mode == Mode::Drain && self.in_network(ack.in_flight, ack.now) <= target(self) {
            self.begin_cycle();
        }
    }

    /// Flows that begin together look for bandwidth at different times.
    fn begin_cycle(&mut self) {
        let phase = CYCLE.len() as u64 - self.chance.next_u64() % BEGINNINGS;
        self.begin_phase((phase % CYCLE.len() as u64) as u8);
    }

    fn begin_phase(&mut self, phase: u8) {
        self.mode = Mode::ProbeBw(phase);
        self.phase_at = self.sample.delivered_at;
    }

    fn is_phase_over(&self, phase: u8, ack: &Ack) -> bool {
        let min_rtt = self.min_rtt.unwrap_or(Duration::MAX);
        let lasted = self.sample.delivered_at.since(self.phase_at) > min_rtt;
        let in_network = || self.in_network(self.sample.prior_in_flight, ack.now);
        let at_gain = |gain| self.in_flight_at(self.bandwidth.max(), gain);
        match (self.policer.rate(), phase) {
            // It lasts until a quarter more is in flight. A loss ends it, too: there is no room for more.
            (None, 0) => lasted && (ack.lost > 0 || in_network() >= at_gain(CYCLE[0])),
            // It ends as soon as the queue is gone.
            (None, 1) => lasted || in_network() <= at_gain(UNIT),
            _ => lasted,
        }
    }

    fn update_min_rtt(&mut self, ack: &Ack) {
        let expired = ack.now > self.min_rtt_at + MIN_RTT_HOLDS;
        let lower = ack.rtt.filter(|rtt| expired || self.min_rtt.is_none_or(|min| *rtt < min));
        if lower.is_some() {
            (self.min_rtt, self.min_rtt_at) = (lower, ack.now);
        }
        if expired && !self.restarts && self.mode != Mode::ProbeRtt {
            self.save_window();
            self.mode = Mode::ProbeRtt;
            self.probe_rtt = None;
        }
        if self.mode == Mode::ProbeRtt {
            match &mut self.probe_rtt {
                None if ack.in_flight <= LEAST_WINDOW => {
                    let until = ack.now + PROBE_RTT_LASTS;
                    self.probe_rtt = Some(ProbeRtt { until, round_over: false });
                    self.round.begin(self.sample.delivered);
                }
                None => {}
                Some(probe) => {
                    probe.round_over |= self.round.starts;
                    if probe.round_over {
                        self.end_probe_rtt(ack.now);
                    }
                }
            }
        }
        // A pause ends with the first delivery after it.
        if self.sample.delivery.is_some_and(|delivery| delivery.segments > 0) {
            self.restarts = false;
        }
    }

    fn end_probe_rtt(&mut self, now: Time) {
        if self.probe_rtt.is_none_or(|probe| now <= probe.until) {
            return;
        }
        self.min_rtt_at = now;
        let window = &mut self.decision.window;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        if self.full.reached { self.begin_cycle() } else { self.mode = Mode::Startup }
    }

    // --- The window -------------------------------------------------------------------------

    /// The segments of a bandwidth-delay product times a gain.
    fn product(&self, bandwidth: Bandwidth, gain: u64) -> u64 {
        match self.min_rtt {
            Some(min_rtt) => bandwidth.segments_in(min_rtt, gain),
            None => INITIAL_WINDOW.into(),
        }
    }

    /// With the bursts at both ends beyond that: three of this sender, and an even number for
    /// delayed acknowledgements (`bbr_quantization_budget`).
    fn with_bursts(&self, segments: u64) -> u32 {
        let segments = segments + 3 * u64::from(self.burst());
        let segments = segments + segments % 2;
        // Looking for bandwidth needs more in flight, also on the shortest path.
        let extra = if self.mode == Mode::ProbeBw(0) { 2 } else { 0 };
        (segments + extra).min(u32::MAX.into()) as u32
    }

    fn in_flight_at(&self, bandwidth: Bandwidth, gain: u64) -> u32 {
        self.with_bursts(self.product(bandwidth, gain))
    }

    fn least_burst(&self) -> u32 {
        if self.pacing_rate < ONE_BY_ONE { 1 } else { 2 }
    }

    /// Segments that leave together at this rate (`bbr_tso_segs_goal`).
    fn burst(&self) -> u32 {
        let bytes = (self.pacing_rate >> 10).min(BURST_BYTES);
        ((bytes / u64::from(self.connection.mss)) as u32).max(self.least_burst()).min(0x7f)
    }

    /// How many of `in_flight` will be in the network when the next segment may leave
    /// (`bbr_packets_in_net_at_edt`).
    fn in_network(&self, in_flight: u32, now: Time) -> u32 {
        let wait = self.sample.next_departure.since(now);
        let delivered = self.bandwidth().whole_segments_in(wait).min(u32::MAX.into()) as u32;
        let burst = if self.pacing_gain() > UNIT { self.burst() } else { 0 };
        (in_flight + burst).saturating_sub(delivered)
    }

    fn save_window(&mut self) {
        let cwnd = self.decision.window.cwnd;
        let is_whole = self.prior_repair == Repair::None && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if is_whole { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    fn set_window(&mut self, ack: &Ack) {
        if ack.delivered > 0 {
            // Packet conservation has no least window (`bbr_set_cwnd_to_recover_or_restore`).
            let (cwnd, is_final) = self.recover(ack);
            let grown = || self.grow(cwnd, ack.delivered).max(LEAST_WINDOW);
            self.decision.window.cwnd = if is_final { cwnd } else { grown() };
        }
        if self.mode == Mode::ProbeRtt {
            let window = &mut self.decision.window;
            window.cwnd = window.cwnd.min(LEAST_WINDOW);
        }
    }

    /// Conserves packets in the first round trip of a recovery, and returns to the window before
    /// it when it is over; `true` if that is all.
    fn recover(&mut self, ack: &Ack) -> (u32, bool) {
        let mut cwnd = self.decision.window.cwnd.saturating_sub(ack.lost).max(1);
        let (before, present) = (self.prior_repair, self.sample.repair);
        if present == Repair::Recovery && before != Repair::Recovery {
            self.conserves = true;
            self.round.begin(self.sample.delivered);
            cwnd = ack.in_flight + ack.delivered;
        } else if before != Repair::None && present == Repair::None {
            cwnd = cwnd.max(self.prior_cwnd);
            self.conserves = false;
        }
        self.prior_repair = present;
        if self.conserves { (cwnd.max(ack.in_flight + ack.delivered), true) } else { (cwnd, false) }
    }

    fn grow(&self, cwnd: u32, acked: u32) -> u32 {
        let bandwidth = self.bandwidth();
        let mut target = self.product(bandwidth, self.mode.window_gain());
        if self.full.reached {
            target += self.aggregation.allowance(bandwidth);
        }
        let target = self.with_bursts(target);
        if self.full.reached {
            (cwnd + acked).min(target)
        } else if cwnd < target || self.sample.delivered < INITIAL_WINDOW.into() {
            cwnd + acked
        } else {
            cwnd
        }
    }

    // --- The pacing rate --------------------------------------------------------------------

    /// Before the first sample: the window per RTT, with the gain of startup.
    fn pace_the_initial_window(&mut self, srtt: Duration) {
        self.has_rtt = !srtt.is_zero();
        let rtt = if self.has_rtt {
            srtt.max(Duration::from_micros(1))
        } else {
            Duration::from_millis(1)
        };
        let segments = self.decision.window.cwnd.into();
        let bandwidth = Bandwidth::of(Delivery { segments, interval: rtt });
        self.pacing_rate = bandwidth.pacing_rate(self.connection.mss, HIGH_GAIN);
    }

    fn set_pacing_rate(&mut self, gain: u64, srtt: Duration) {
        if !self.has_rtt && !srtt.is_zero() {
            self.pace_the_initial_window(srtt);
        }
        let rate = self.bandwidth().pacing_rate(self.connection.mss, gain);
        // A first sample below the rate of the initial window only says that it was sent slowly.
        if self.full.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn decide(&mut self, min_rtt: Duration) -> Decision {
        let quantum = self.connection.quantum(self.pacing_rate, min_rtt, self.least_burst());
        let window = self.decision.window;
        self.decision = self.connection.decide(window, self.pacing_rate, true, quantum);
        self.decision
    }
}

impl CongestionControl for Bbr {
    fn on_established(&mut self, connection: &Connection) {
        self.connection = *connection;
    }

    fn sample_rate(&mut self, sample: &RateSample) {
        self.sample = *sample;
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if self.pacing_rate == 0 {
            self.begin(ack);
        } else {
            self.update_model(ack);
            self.set_pacing_rate(self.pacing_gain(), ack.srtt);
            self.set_window(ack);
        }
        self.decide(ack.min_rtt)
    }

    fn on_congestion(&mut self, congestion: Congestion, answered: bool, at: &Ack) -> Decision {
        match congestion {
            Congestion::Handshake => self.decision.window.cwnd = 1,
            Congestion::Ecn | Congestion::Loss | Congestion::LossByTimer if answered => {}
            // The threshold, which BBR does not use, is asked for: it notes the window.
            Congestion::Ecn | Congestion::Loss | Congestion::LossByTimer => self.save_window(),
            Congestion::Timeout => {
                if !answered {
                    self.save_window();
                }
                self.decision.window.cwnd = at.in_flight + 1;
                self.prior_repair = Repair::Timeout;
                self.full.bandwidth = Bandwidth::default();
                self.round.starts = true;
                self.look_for_policer(true);
            }
        }
        self.decision
    }

    /// A loss that was none is no sign of a full pipe, nor of a policer. The window returns with
    /// the next acknowledgement.
    fn on_recovered(&mut self, recovery: Recovery) -> Decision {
        if let Recovery::Spurious(_) = recovery {
            self.full.bandwidth = Bandwidth::default();
            self.full.rounds = 0;
            self.policer.reset(&self.sample);
        }
        self.decision
    }

    /// A pause says nothing about the path: the rate is that of the model at once, without a burst.
    fn on_restart(&mut self, pause: Pause) -> Decision {
        self.restarts = true;
        self.aggregation.restart(pause.now);
        match self.mode {
            Mode::ProbeBw(_) => self.set_pacing_rate(UNIT, Duration::ZERO),
            Mode::ProbeRtt => self.end_probe_rtt(pause.now),
            Mode::Startup | Mode::Drain => {}
        }
        self.decision.pacing = Some(Rate::from_bps(self.pacing_rate.saturating_mul(8)));
        self.decision
    }

    fn samples_rate(&self) -> bool {
        true
    }

    fn limits_itself(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Delivery;

    /// The first acknowledgement of a repair, where one segment is in flight behind one that was delivered: both may be
    /// sent again, and no more. The least window of four comes with growth only.
    #[test]
    fn packet_conservation_sends_as_much_as_was_delivered() {
        let rtt = Duration::from_millis(20);
        let mut bbr = control(&Config::default(), &Connection::new(1448));
        let established = Ack { now: Time::ZERO + rtt, srtt: rtt, min_rtt: rtt, ..Ack::default() };
        bbr.on_ack(&established);
        let sample = RateSample {
            delivery: Some(Delivery { segments: 1, interval: rtt }),
            delivered: 2,
            delivered_at: Time::ZERO + rtt * 2,
            prior_delivered: 1,
            ..RateSample::default()
        };
        let ack = Ack { now: Time::ZERO + rtt * 2, delivered: 1, in_flight: 1, ..established };
        bbr.sample_rate(&RateSample { repair: Repair::Recovery, ..sample });
        assert_eq!(bbr.on_ack(&ack).window.cwnd, 2);
        bbr.sample_rate(&sample);
        assert!(bbr.on_ack(&ack).window.cwnd >= LEAST_WINDOW);
    }
}
