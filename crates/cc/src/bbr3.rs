//! BBR, version 3 (draft-ietf-ccwg-bbr, of August 2026), with the response to ECN of Google's public v3
//! code as an option.
//!
//! As version 1 it models the path by its bandwidth and its RTT without a queue, and paces at the
//! one with a window of twice their product. Beyond that losses bound both. The long-term bound is
//! the flight at which a probe lost more than 2 %. The short-term bounds, of rate and flight, hold from a
//! loss to the next probe.
//!
//! ```text
//! Startup ─no more bandwidth, or losses─▶ Drain ─queue is empty─▶ Down ─▶ Cruise
//!                                                                  ▲        │ 2 to 3 s, or as
//!                                                                  │        ▼ often as Reno
//!                                                                  Up ◀── Refill
//!
//! any ─no lower RTT for five seconds─▶ ProbeRtt ─200 ms and a round trip later─▶ Cruise
//! ```
//!
//! Data is counted in segments, as in all controls here, and gains of rates are multiples of 1/256.

mod bounds;
mod cycle;
mod ecn;
mod full_pipe;
mod latest;
mod losses;
mod min_rtt;
mod output;
mod probe_rtt;
mod startup;
#[cfg(test)]
mod tests;
mod undo;

use l4s_units::param;
use l4s_units::param::{Configurable, Kind, Param, Profile};
use l4s_units::{Duration, Rate};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use crate::bbr::aggregation::Epoch;
use crate::bbr::bandwidth::{Bandwidth, MaxFilter};
use crate::bbr::round::Round;
use crate::{
    Ack, Congestion, CongestionControl, Connection, Decision, Delivery, LossSample, Pause,
    RateSample, Recovery, Repair,
};
use bounds::{LongTerm, ShortTerm};
use cycle::Cycle;
use ecn::Ecn;
use full_pipe::FullPipe;
use latest::Latest;
use losses::{Losses, is_too_high};
use min_rtt::MinRtt;
use probe_rtt::ProbeRtt;
use undo::Saved;

/// A gain of 1.
const UNIT: u64 = 256;
/// Startup, draft §2.5: 2.77 is 4·ln 2, which doubles the rate of sending in each round trip.
const STARTUP_GAIN: u64 = UNIT * 277 / 100 + 1;
/// Drain, draft §2.5: half the rate empties within a round trip a queue of one product.
const DRAIN_GAIN: u64 = UNIT / 2;
/// ProbeBW, draft §5.3.3: give way, and look for more.
const DOWN_GAIN: u64 = UNIT * 90 / 100;
const UP_GAIN: u64 = UNIT * 5 / 4;
/// The window in products of bandwidth and RTT, draft §2.6; more of them while looking for more (§5.3.3.5),
/// and half while the RTT is measured (§2.16.2).
const WINDOW_GAIN: u64 = 2 * UNIT;
const UP_WINDOW_GAIN: u64 = UNIT * 9 / 4;
const PROBE_RTT_WINDOW_GAIN: u64 = UNIT / 2;
/// The fewest segments of a window that still are acknowledged in time (draft §2.8).
const LEAST_WINDOW: u32 = 4;
/// The filter of the bandwidth has the present cycle and the one before it (draft §2.11).
const OLDEST_CYCLE: u64 = 1;
/// The filter of aggregation has this many round trips, and one in startup (draft §2.12).
const AGGREGATION_ROUNDS: u64 = 10;
const AGGREGATION_ROUNDS_IN_STARTUP: u64 = 1;

/// The settings of BBR, version 3.
///
/// Example: [`Bbr3`].
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Config {
    /// Answer counted marks as Google's public v3 code does: in proportion to their fraction, and only
    /// where the lowest RTT is at most 5 ms. Otherwise a mark is a loss to the model.
    pub ecn: bool,
}

impl Config {
    /// It always paces.
    pub(crate) fn paces(&self) -> bool {
        true
    }
}

impl Configurable for Config {
    const KIND: &'static str = "bbr3";
    const ABOUT: &'static str = "BBR, version 3 (draft-ietf-ccwg-bbr): paces at the bandwidth that it measures, and bounds it by losses";
    const PARAMS: &'static [Param<Self>] = &[param!(
        ecn,
        Kind::Bool,
        "answer counted marks (AccECN) in proportion, at RTTs up to 5 ms, as Google's v3 code"
    )];
    const PROFILES: &'static [Profile<Self>] =
        &[Profile { name: "draft", doc: "as the draft", make: Config::default }];
}

/// The state of version 3 (draft §5.1).
///
/// Example: [`Bbr3`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Doubles its rate in each round trip, until the bandwidth does not grow or too much is lost.
    Startup,
    /// Sends half the bandwidth until the queue of startup is gone.
    Drain,
    /// Probes now and then for more bandwidth.
    ProbeBw(Phase),
    /// Has half a product of bandwidth and RTT in flight, so that the RTT shows the path.
    ProbeRtt,
}

/// The phases of a probe for bandwidth, in order (draft §5.3.3).
///
/// Example: [`Bbr3`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Sends less than the bandwidth, until the queue is gone and some of the bound is free.
    Down,
    /// Sends at the bandwidth, until it is time to probe.
    Cruise,
    /// Fills the path for a round trip, without the short-term bounds.
    Refill,
    /// Sends faster than the bandwidth, until that does not grow or too much is lost.
    Up,
}

impl Mode {
    fn pacing_gain(self) -> u64 {
        match self {
            Mode::Startup => STARTUP_GAIN,
            Mode::Drain => DRAIN_GAIN,
            Mode::ProbeBw(Phase::Down) => DOWN_GAIN,
            Mode::ProbeBw(Phase::Up) => UP_GAIN,
            Mode::ProbeBw(Phase::Cruise | Phase::Refill) | Mode::ProbeRtt => UNIT,
        }
    }

    fn window_gain(self) -> u64 {
        match self {
            Mode::ProbeBw(Phase::Up) => UP_WINDOW_GAIN,
            Mode::ProbeRtt => PROBE_RTT_WINDOW_GAIN,
            Mode::Startup | Mode::Drain | Mode::ProbeBw(_) => WINDOW_GAIN,
        }
    }

    fn is_probe_bw(self) -> bool {
        matches!(self, Mode::ProbeBw(_))
    }

    /// Whether it looks for more bandwidth, so that short-term bounds do not hold (draft §5.5.10.3).
    fn is_probing(self) -> bool {
        matches!(self, Mode::Startup | Mode::ProbeBw(Phase::Refill | Phase::Up))
    }
}

/// The model of the path, for those that watch a connection.
///
/// Example: [`Bbr3`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Model {
    /// The highest delivery rate of this cycle and the one before (`BBR.max_bw`), as a rate of payload.
    pub max_bw: Rate,
    /// Its short-term bound, where there is one (`BBR.bw_shortterm`).
    pub bw_shortterm: Option<Rate>,
    /// The lowest RTT of the last ten seconds (`BBR.min_rtt`).
    pub min_rtt: Option<Duration>,
    /// The product of bandwidth and RTT, in segments (`BBR.bdp`).
    pub bdp: u64,
    /// The long-term bound of segments in flight, where there is one (`BBR.inflight_longterm`).
    pub inflight_longterm: Option<u64>,
    /// The short-term bound of segments in flight, where there is one (`BBR.inflight_shortterm`).
    pub inflight_shortterm: Option<u64>,
    /// Segments that acknowledgements deliver at once beyond the bandwidth (`BBR.extra_acked`).
    pub extra_acked: u64,
    /// Round trips without growth of the bandwidth (`BBR.full_bw_count`).
    pub full_bw_count: u32,
    /// The bandwidth does not grow any more (`BBR.full_bw_now`).
    pub full_bw_now: bool,
    /// It ever did not (`BBR.full_bw_reached`).
    pub full_bw_reached: bool,
    /// Round trips of the connection (`BBR.round_count`).
    pub round_count: u64,
    /// After a pause nothing was delivered yet (`BBR.idle_restart`).
    pub idle_restart: bool,
}

/// A connection under BBR, version 3.
///
/// ```
/// use l4s_cc::bbr3::{Config, Mode, Model, Phase, control};
/// use l4s_cc::{Ack, CongestionControl, Connection, Delivery, RateSample};
/// use l4s_units::{Duration, Time};
///
/// let rtt = Duration::from_millis(10);
/// let mut bbr = control(&Config::default(), &Connection::new(1500));
/// let established = Ack { now: Time::ZERO + rtt, srtt: rtt, min_rtt: rtt, ..Ack::default() };
/// // Ten segments per round trip are 12 Mb/s, and startup sends 2.77 times as much, less 1 %.
/// let pacing = bbr.on_ack(&established).pacing.unwrap();
/// assert_eq!(pacing.as_bps() / 100_000, 329);
///
/// // All ten were delivered within a round trip.
/// let now = Time::ZERO + rtt * 2;
/// bbr.sample_rate(&RateSample {
///     delivery: Some(Delivery { segments: 10, interval: rtt }),
///     delivered: 11,
///     delivered_at: now,
///     prior_delivered: 1,
///     ..RateSample::default()
/// });
/// let ack = Ack { now, delivered: 10, advanced: true, rtt: Some(rtt), ..established };
/// assert_eq!(bbr.on_ack(&ack).window.cwnd, 20);
/// assert_eq!(bbr.mode(), Mode::Startup);
/// let Model { bdp, inflight_longterm, full_bw_now, .. } = bbr.model();
/// assert_eq!((bdp, inflight_longterm, full_bw_now), (10, None, false));
/// // It cannot probe before startup has found the bandwidth.
/// assert_ne!(bbr.mode(), Mode::ProbeBw(Phase::Up));
/// ```
#[derive(Clone, Debug)]
pub struct Bbr3 {
    config: Config,
    connection: Connection,
    mode: Mode,
    round: Round,
    /// The bandwidth, by cycles, and the number of the present one.
    max_bw: MaxFilter<Bandwidth>,
    cycle_count: u64,
    latest: Latest,
    short_term: ShortTerm,
    long_term: LongTerm,
    full: FullPipe,
    losses: Losses,
    min_rtt: MinRtt,
    /// Aggregation, by round trips.
    epoch: Epoch,
    extra_acked: MaxFilter<u64>,
    ecn: Ecn,
    /// The round trip in which drain began.
    drain_round: u64,
    cycle: Cycle,
    /// When the RTT is known, where it is being measured.
    probe_rtt: Option<ProbeRtt>,
    /// The model before the present repair of losses.
    saved: Option<Saved>,
    /// Sending starts again after a pause.
    restarts: bool,
    /// The window before a repair or a measurement of the RTT.
    prior_cwnd: u32,
    prior_repair: Repair,
    /// The rate in bytes per second; zero before the first RTT.
    pacing_rate: u64,
    quantum: u32,
    sample: RateSample,
    decision: Decision,
    chance: SplitMix64,
}

/// A connection under BBR, version 3, whose state is several times that of others.
pub type Control = Box<Bbr3>;

/// The state of a new connection.
pub fn control(config: &Config, connection: &Connection) -> Control {
    Box::new(Bbr3 {
        config: *config,
        connection: *connection,
        mode: Mode::Startup,
        round: Round::default(),
        max_bw: MaxFilter::new(OLDEST_CYCLE),
        cycle_count: 0,
        latest: Latest::default(),
        short_term: ShortTerm::default(),
        long_term: LongTerm::default(),
        full: FullPipe::default(),
        losses: Losses::default(),
        min_rtt: MinRtt::default(),
        epoch: Epoch::default(),
        extra_acked: MaxFilter::new(AGGREGATION_ROUNDS_IN_STARTUP),
        ecn: Ecn::default(),
        drain_round: 0,
        cycle: Cycle::default(),
        probe_rtt: None,
        saved: None,
        restarts: false,
        prior_cwnd: 0,
        prior_repair: Repair::None,
        pacing_rate: 0,
        quantum: 1,
        sample: RateSample::default(),
        decision: connection.initial(),
        chance: SplitMix64::seed_from_u64(connection.seed),
    })
}

impl Bbr3 {
    /// The state that it is in.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The model after the last acknowledgement.
    pub fn model(&self) -> Model {
        let rate = |bandwidth: Bandwidth| {
            Rate::from_bps(bandwidth.bytes_per_second(self.connection.payload).saturating_mul(8))
        };
        Model {
            max_bw: rate(self.max_bw.max()),
            bw_shortterm: self.short_term.bandwidth.map(rate),
            min_rtt: self.min_rtt.lowest,
            bdp: self.bdp(),
            inflight_longterm: self.long_term.in_flight,
            inflight_shortterm: self.short_term.in_flight,
            extra_acked: self.extra_acked.max(),
            full_bw_count: self.full.rounds,
            full_bw_now: self.full.now,
            full_bw_reached: self.full.reached,
            round_count: self.round.count,
            idle_restart: self.restarts,
        }
    }

    // --- The model --------------------------------------------------------------------------

    /// The connection is established, and the RTT of the handshake is known (draft §5.2.1).
    fn begin(&mut self, ack: &Ack) {
        self.round.begin(self.sample.delivered);
        self.latest.begin(self.sample.delivered);
        self.ecn.begin(&self.sample);
        self.min_rtt.begin((!ack.srtt.is_zero()).then_some(ack.srtt), ack.now);
        self.epoch.restart(ack.now);
        let rtt = if ack.srtt.is_zero() { Duration::from_millis(1) } else { ack.srtt };
        let segments = self.decision.window.cwnd.into();
        let interval = rtt.max(Duration::from_micros(1));
        let bandwidth = Bandwidth::of(Delivery { segments, interval });
        self.pacing_rate = bandwidth.pacing_rate(self.connection.mss, STARTUP_GAIN);
    }

    /// The steps of an acknowledgement, in the order of draft §5.2.3.
    fn update_model(&mut self, ack: &Ack) {
        let rate = self.rate(ack);
        (self.round.starts, self.latest.round_starts) = (false, false);
        if ack.delivered > 0 {
            self.latest.take(rate, &self.sample);
            if self.round.take(&self.sample) {
                self.cycle.rounds_since_up += 1;
                self.note_marks_of_round();
            }
        }
        self.note_marks(ack);
        self.update_max_bw(rate);
        if self.latest.round_starts {
            self.adapt_short_term();
        }
        self.update_aggregation(ack);
        if self.round.starts && !self.sample.app_limited {
            self.full.take(rate);
        }
        self.leave_startup();
        self.leave_drain(ack);
        self.update_cycle(ack, rate);
        self.min_rtt.take(ack.rtt, ack.now);
        self.check_probe_rtt(ack);
        if self.latest.round_starts {
            self.latest.advance(rate, &self.sample);
        }
    }

    /// The delivery rate; zero where the acknowledgement shows none.
    fn rate(&self, ack: &Ack) -> Bandwidth {
        let is_measurable = |delivery: &Delivery| delivery.interval.as_micros() > 0;
        let delivery = self.sample.delivery.filter(|_| ack.delivered > 0);
        delivery.filter(is_measurable).map(Bandwidth::of).unwrap_or_default()
    }

    /// Draft §5.5.5: while the application holds back, a low rate says nothing about the path.
    fn update_max_bw(&mut self, rate: Bandwidth) {
        let is_evidence = !self.sample.app_limited || rate >= self.max_bw.max();
        if rate > Bandwidth::default() && is_evidence {
            self.max_bw.take(rate, self.cycle_count);
        }
    }

    /// The rate that suits the path at present (`BBR.bw`).
    fn bw(&self) -> Bandwidth {
        let max = self.max_bw.max();
        self.short_term.bandwidth.map_or(max, |bound| bound.min(max))
    }

    /// Takes the mark that an acknowledgement echoes.
    fn note_marks(&mut self, ack: &Ack) {
        if !ack.ece {
            return;
        }
        if self.config.ecn {
            self.ecn.note_mark();
        } else {
            // Draft §3.7: who sends ECT has to treat a mark as congestion. There is no other answer than
            // that to losses.
            self.latest.note_loss(self.sample.delivered);
        }
    }

    /// A round trip of the mean of marks is over.
    fn note_marks_of_round(&mut self) {
        if !self.config.ecn {
            return;
        }
        let counts = self.connection.marks == crate::Marks::Counted;
        self.ecn.round(&self.sample, counts, self.min_rtt.lowest);
        if !self.full.reached && self.ecn.fills_startup() {
            self.find_queue_in_startup();
        }
    }

    /// Draft §5.5.10.3: once per round trip with losses, towards the rate and flight that it delivered.
    fn adapt_short_term(&mut self) {
        if !self.mode.is_probing() {
            let (max_bw, cwnd) = (self.max_bw.max(), self.decision.window.cwnd.into());
            let cut = self.ecn.cut();
            self.short_term.adapt(&self.latest, cut, max_bw, cwnd);
        }
        self.latest.lost = false;
        self.ecn.in_round = false;
    }

    /// Draft §5.5.9.
    fn update_aggregation(&mut self, ack: &Ack) {
        if ack.delivered == 0 {
            return;
        }
        let rounds =
            if self.full.reached { AGGREGATION_ROUNDS } else { AGGREGATION_ROUNDS_IN_STARTUP };
        self.extra_acked.set_window(rounds);
        let (expected, cwnd) = (self.bw(), self.decision.window.cwnd);
        let extra = self.epoch.extra(ack.delivered, self.sample.delivered_at, expected, cwnd);
        self.extra_acked.take(extra, self.round.count);
    }
}

impl CongestionControl for Bbr3 {
    fn on_established(&mut self, connection: &Connection) {
        self.connection = *connection;
    }

    fn sample_rate(&mut self, sample: &RateSample) {
        self.sample = *sample;
    }

    /// Draft §5.5.10.2: the flight in which a probe lost more than 2 % was too large.
    fn sample_loss(&mut self, loss: &LossSample) {
        self.latest.note_loss(loss.delivered);
        self.losses.note(loss.seq);
        self.ecn.note_loss();
        if self.cycle.samples_probe && is_too_high(loss.lost, loss.tx_in_flight) {
            let in_flight = losses::in_flight_at_loss(loss);
            self.bound_by_probe(in_flight, loss.app_limited, loss.now);
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if self.pacing_rate == 0 {
            self.begin(ack);
            self.set_quantum();
            return self.decide();
        }
        // The repair of losses is over (draft §5.6.4.4).
        if self.prior_repair != Repair::None && self.sample.repair == Repair::None {
            self.restore_window();
        }
        self.update_model(ack);
        self.set_pacing_rate(self.mode.pacing_gain());
        self.set_quantum();
        self.set_window(ack);
        self.prior_repair = self.sample.repair;
        self.decide()
    }

    fn on_congestion(&mut self, congestion: Congestion, answered: bool, at: &Ack) -> Decision {
        match congestion {
            Congestion::Handshake => self.decision.window.cwnd = 1,
            Congestion::Ecn => self.ecn.reducing = true,
            Congestion::Loss | Congestion::LossByTimer => self.begin_repair(),
            Congestion::Timeout => {
                if !answered {
                    self.begin_repair();
                }
                // Draft §5.6.4.4: one segment more may leave.
                self.decision.window.cwnd = at.in_flight + 1;
                self.prior_repair = Repair::Timeout;
            }
        }
        self.decision
    }

    fn on_recovered(&mut self, recovery: Recovery) -> Decision {
        self.ecn.reducing = false;
        if let Recovery::Spurious(_) = recovery {
            self.take_back();
        }
        self.decision
    }

    /// Draft §5.4.1: the rate is that of the model at once, without a burst.
    fn on_restart(&mut self, pause: Pause) -> Decision {
        self.restarts = true;
        self.epoch.restart(pause.now);
        match self.mode {
            Mode::ProbeBw(_) => self.set_pacing_rate(UNIT),
            Mode::ProbeRtt => self.end_probe_rtt(pause.now),
            Mode::Startup | Mode::Drain => {}
        }
        self.decision.pacing = Some(Rate::from_bps(self.pacing_rate.saturating_mul(8)));
        self.decision
    }

    fn samples_rate(&self) -> bool {
        true
    }

    /// While it measures the RTT (draft §5.3.4.3).
    fn limits_itself(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    fn alpha(&self) -> Option<f64> {
        self.ecn.alpha()
    }
}
