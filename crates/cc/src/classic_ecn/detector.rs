//! The score of one connection (Fallback §4.2), in integers (§B).

use l4s_units::Duration;

use super::config::{Config, Rules};
use super::log::{CarryLog, lg};
use super::reroute::{Factor, Filter};
use super::sample::{QUICKACK_SEGMENTS, Sample};
use super::smooth::{RTT_MAX, Smooth, shift_of};
use super::spacing::Spacing;
use super::tracers::{Scores, Tracers};
use super::{Clock, Report, Verdict};

/// Weights are in 2^-8.
const WEIGHT_BITS: u32 = 8;
/// Shares of a round trip are in 2^-8.
const SHARE_BITS: u32 = 8;
/// Losses without a mark in between after which the bottleneck counts as one that does not mark
/// (Fallback §4.1.1: more than one).
const NON_ECN_LOSSES: u32 = 2;
/// Round trips without a mark after which the bottleneck counts as one that does not mark. The paper
/// says "a protracted period". This is the time to a decision in its figure 8.
const STALE_ROUNDS: u32 = 50;
/// M, in 2^-[`WEIGHT_BITS`]: the weight of unmarked packets from a deep queue
/// ([`Rules::Best`]).
const UNMARKED_WEIGHT: i64 = 2 << WEIGHT_BITS;
/// The part of V0, in 2^-[`SHARE_BITS`], below which a mean deviation counts as that part
/// ([`Rules::Best`]). The delay of a full queue does not vary, which must not outweigh its depth.
const V_FLOOR: u64 = 1 << (SHARE_BITS - 1);
/// The score only rises after this many round trips without a mark ([`Rules::Best`]).
/// An empty Classic queue has the same RTT as an L4S queue.
const HOLD_ROUNDS: u32 = 8;
/// A queue is deep if it delays packets by more than the time of this many packets and by more
/// than [`DEEP_MIN`].
const DEEP_PACKETS: u32 = 3;
/// The delay in microseconds above which every L4S queue marks all packets. It is a step of 1 ms or a
/// ramp up to 1.2 ms (RFC 9332 §2.5.1.1), doubled for the rest of the path.
const DEEP_MIN: u32 = 2400;
/// The target delay of a Classic queue in microseconds (DCttH §4.1, RFC 9332 §A.1). It is fifteen
/// times the step of an L4S queue and more than the variation of the rest of the path.
const CLASSIC_TARGET: u32 = 15_000;
/// The number of packets at the end of an L4S queue that its step does not mark (DCttH §3.3).
const FLOOR_PACKETS: u32 = 2;
/// A delayed acknowledgement is delayed by more than this, in microseconds. Linux delays it by 40 ms
/// (`TCP_DELACK_MIN`), others by more.
const DELAYED_ACK_MIN: u64 = 20_000;
/// The evidence of unmarked round trips before a mark is averaged over about 2^4 round trips.
const PENDING_SHIFT: u32 = 4;
/// The step of an L4S queue in microseconds (RFC 9332 §2.5.1.1). D0 is at least the time of two
/// packets and this.
const STEP: u32 = 1000;
/// The variation of a round trip in microseconds that is not due to the queue. V0 is at least the
/// time of two packets and this.
const JITTER: u32 = 300;

/// The detector of one connection. The score has `BITS` bits of fraction, 16 to 31.
///
/// ```
/// use l4s_cc::classic_ecn::{Config, Detector, Report, Round, Sample, State, Verdict};
/// use l4s_units::Duration;
///
/// let mut detector: Detector = Detector::new(&Config::paper(), false);
/// assert_eq!(detector.verdict(), Verdict::L4s);
/// // Averages over a window of ten segments.
/// detector.on_threshold(10);
/// // Round trips of 20 to 40 ms over a path of 10 ms, with a mark in each.
/// for round in 0..100 {
///     detector.on_ack(&Sample {
///         now_us: round * 30_000,
///         rtt_us: Some(if round % 2 == 0 { 20_000 } else { 40_000 }),
///         min_rtt_us: 10_000,
///         delivered: 10,
///         delivered_ce: 1,
///         una: 10 * round,
///         nxt: 10 * (round + 1),
///         self_limited: false,
///         pushed: false,
///         rtt_virt_us: 0,
///     });
/// }
/// assert_eq!(detector.verdict(), Verdict::Classic);
/// let Report { depth, .. } = detector.report();
/// assert!(depth >= Duration::from_millis(10));
/// // Its state, for a comparison with that of a kernel.
/// let State { rounds, round: Round { acks, .. }, .. } = detector.state();
/// assert_eq!((rounds, acks), (100, 0));
/// ```
#[derive(Clone, Debug)]
pub struct Detector<const BITS: u32 = 24> {
    settings: Settings,
    /// The score, `classic_ecn`, in 2^-`BITS`.
    score: i64,
    /// The highest score so far.
    max: i64,
    /// Round trips with a score above the floor, since the bottleneck last counted as one that does not mark.
    rounds: u32,
    /// The averages of the RTT; `None` before the first round trip.
    rtt: Option<Filter<Smooth>>,
    /// The gain of the averages is 2^-`shift`.
    shift: u32,
    /// The smoothed RTT above the lowest one, in microseconds.
    depth: u32,
    /// Logarithms of the deviation.
    log_mdev: CarryLog,
    /// Logarithms of the depth, or of its product with the deviation.
    log_depth: CarryLog,
    /// Logarithms of V0, if it follows the spacing of packets.
    log_v0: CarryLog,
    /// Logarithms of D0, if it follows the spacing of packets.
    log_d0: CarryLog,
    /// The round trip that has not ended.
    round: Round,
    /// The bottleneck's time per packet.
    spacing: Spacing,
    /// The arrival time of the last acknowledgement, in microseconds.
    last_ack_us: u64,
    /// Losses since the last mark.
    losses: u32,
    /// Round trips since the last mark.
    unmarked_rounds: u32,
    /// The evidence of the round trips since the last mark, while the score is at its floor, in the
    /// unit of the score.
    pending_evidence: i64,
    /// The tests by tracers; `None` if detection is passive.
    tracers: Option<Tracers>,
}

/// The state of a detector, named as in `classic_ecn.h`.
///
/// Example: [`Detector`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the fields of Detector document them")]
pub struct State {
    pub score: i64,
    pub max: i64,
    pub rounds: u32,
    pub rtt: Option<Filter<Smooth>>,
    pub shift: u32,
    pub depth: u32,
    pub log_mdev: CarryLog,
    pub log_depth: CarryLog,
    pub log_v0: CarryLog,
    pub log_d0: CarryLog,
    pub round: Round,
    pub spacing: Spacing,
    pub last_ack_us: u64,
    pub losses: u32,
    pub unmarked_rounds: u32,
    pub pending_evidence: i64,
    pub tracers: Option<Tracers>,
}

/// The counts of a round trip.
///
/// Example: [`Detector`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Round {
    /// The first segment that was not sent at its start. The round trip ends when all segments before
    /// this one are acknowledged.
    pub end: u64,
    /// Its start, in microseconds. With [`Clock::Virtual`] it lasts at least a virtual RTT.
    pub began_us: u64,
    /// Acknowledgements.
    pub acks: u32,
    /// Acknowledgements that arrived while the sender had no data to send.
    pub limited_acks: u32,
    /// Delivered segments.
    pub delivered: u32,
    /// Delivered segments that were marked.
    pub marked: u32,
    /// Whether a loss was detected.
    pub lost: bool,
    /// Delivered segments that came unmarked from a deep queue.
    pub deep_unmarked: u32,
    /// Delivered segments that came unmarked and were delayed by more than `CLASSIC_TARGET`.
    pub unmarked_above_target: u32,
}

/// The configuration in the detector's units. All numbers that are scaled by `BITS` are computed
/// here.
#[derive(Clone, Copy, Debug)]
struct Settings {
    v: i64,
    d: i64,
    s: i64,
    v0_us: u32,
    d0_us: u32,
    lg_v0: i64,
    lg_d0: i64,
    l_sticky: i64,
    c_sticky: i64,
    clock: Clock,
    shift_max: u32,
    /// Whether re-routes are kept out of the averages (Fallback appendix C).
    filters: bool,
    /// Whether the rules are [`Rules::Best`].
    best: bool,
}

impl Round {
    /// Whether every packet was marked. Both kinds of queue do that if they have too many flows, so it
    /// is no evidence.
    fn is_all_marked(&self) -> bool {
        self.marked == self.delivered
    }
}

impl Settings {
    fn new(config: &Config, bits: u32) -> Settings {
        let weight = |w: f64| (w * f64::from(1 << WEIGHT_BITS)).round() as i64;
        let score = |x: f64| (x * (1u64 << bits) as f64).round() as i64;
        let micros = |d: Duration| (d.as_micros() as u32).clamp(1, RTT_MAX);
        let (v0_us, d0_us) = (micros(config.v0), micros(config.d0));
        Settings {
            v: weight(config.v),
            d: weight(config.d),
            s: weight(config.s),
            v0_us,
            d0_us,
            lg_v0: lg(v0_us.into(), bits),
            lg_d0: lg(d0_us.into(), bits),
            l_sticky: score(config.l_sticky),
            c_sticky: score(config.c_sticky),
            clock: if config.rules == Rules::Linux { Clock::Virtual } else { Clock::Rtt },
            shift_max: config.shift_max,
            filters: matches!(config.rules, Rules::Filtered | Rules::Best),
            best: config.rules == Rules::Best,
        }
    }

    /// The first averages of the RTT.
    fn averages(&self, rtt: u32, shift: u32) -> Filter<Smooth> {
        // The gain of the deviation is half of that of the RTT (Fallback §4.3); with the best rules
        // it is the same.
        let ratio = if self.best { 0 } else { 1 };
        Filter::new(Smooth::new(rtt, shift, ratio), self.filters.then_some(Factor::TWO))
    }
}

impl<const BITS: u32> Detector<BITS> {
    /// The score 1: at it and above the queue is Classic (`CLASSIC_ECN`).
    pub const CLASSIC: i64 = 1 << BITS;
    /// A weight times a share.
    const UNIT: u32 = BITS - WEIGHT_BITS - SHARE_BITS;

    /// The detector of a new connection, at rest. `tracers`: whether it also tests by tracers.
    pub fn new(config: &Config, tracers: bool) -> Self {
        // Weights and shares need 16 bits. The score 1 has to fit in 32 bits.
        const { assert!(16 <= BITS && BITS <= 31) };
        let settings = Settings::new(config, BITS);
        Detector {
            score: -settings.l_sticky,
            max: -settings.l_sticky,
            rounds: 0,
            rtt: None,
            shift: settings.shift_max,
            depth: 0,
            log_mdev: CarryLog::new(),
            log_depth: CarryLog::new(),
            log_v0: CarryLog::new(),
            log_d0: CarryLog::new(),
            round: Round::default(),
            spacing: Spacing::default(),
            last_ack_us: 0,
            losses: 0,
            unmarked_rounds: 0,
            pending_evidence: 0,
            tracers: tracers.then(|| {
                let scores = Scores { l_sticky: settings.l_sticky, classic: Self::CLASSIC };
                Tracers::new(settings.best, scores)
            }),
            settings,
        }
    }

    /// Its state.
    pub fn state(&self) -> State {
        State {
            score: self.score,
            max: self.max,
            rounds: self.rounds,
            rtt: self.rtt,
            shift: self.shift,
            depth: self.depth,
            log_mdev: self.log_mdev,
            log_depth: self.log_depth,
            log_v0: self.log_v0,
            log_d0: self.log_d0,
            round: self.round,
            spacing: self.spacing,
            last_ack_us: self.last_ack_us,
            losses: self.losses,
            unmarked_rounds: self.unmarked_rounds,
            pending_evidence: self.pending_evidence,
            tracers: self.tracers,
        }
    }

    /// The score in 2^-`BITS`.
    #[inline]
    pub fn score(&self) -> i64 {
        self.score
    }

    /// How much the flow should behave as a Classic one: 0 to [`Detector::CLASSIC`]
    /// (Fallback §3).
    #[inline]
    pub fn classic(&self) -> u32 {
        self.score.clamp(0, Self::CLASSIC) as u32
    }

    /// The bottleneck's time per packet, in microseconds, measured by acknowledgements: 3028 at most,
    /// and 0 if it is not known. Only [`Rules::Best`] measure it.
    #[inline]
    pub fn packet_us(&self) -> u32 {
        self.spacing.micros()
    }

    /// The present state as numbers with units.
    pub fn report(&self) -> Report {
        let unit = (1u64 << BITS) as f64;
        let micros = |us: u32| Duration::from_micros(us.into());
        let smooth = self.rtt.as_ref().map(Filter::best);
        Report {
            score: self.score as f64 / unit,
            max: self.max as f64 / unit,
            rounds: self.rounds,
            srtt: micros(smooth.map_or(0, Smooth::srtt)),
            mdev: micros(smooth.map_or(0, Smooth::mdev)),
            depth: micros(self.depth),
        }
    }

    /// The verdict of the present score.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self.report().score)
    }

    /// An acknowledgement arrived. Returns whether it ended a round trip.
    #[inline]
    pub fn on_ack(&mut self, sample: &Sample) -> bool {
        if sample.delivered_ce > 0 {
            self.on_mark();
        }
        if let Some(rtt) = sample.rtt_us.filter(|_| !self.is_non_ecn()) {
            let undelayed = !self.settings.best || self.is_undelayed_ack(sample);
            self.update_tracers(rtt, undelayed, sample);
            if undelayed {
                self.on_rtt(rtt.min(RTT_MAX), sample);
            }
        }
        self.last_ack_us = sample.now_us;
        self.round.acks += 1;
        self.round.limited_acks += u32::from(sample.self_limited);
        self.round.delivered += sample.delivered;
        self.round.marked += sample.delivered_ce.min(sample.delivered);
        let over = sample.una >= self.round.end
            && match self.settings.clock {
                Clock::Rtt => true,
                Clock::Virtual => sample.now_us >= self.round.began_us + sample.rtt_virt_us,
            };
        if over {
            self.end_round(sample);
        }
        over
    }

    /// Whether the receiver did not delay the acknowledgement by its timer. It delays one from the
    /// acknowledgement before it on, so one that follows soon was not delayed.
    #[inline]
    fn is_undelayed_ack(&self, sample: &Sample) -> bool {
        sample.is_immediate_ack() || sample.now_us < self.last_ack_us + DELAYED_ACK_MIN
    }

    /// Whether the bottleneck counts as one that does not mark. Earlier marks are no evidence then.
    #[inline]
    fn is_non_ecn(&self) -> bool {
        self.losses >= NON_ECN_LOSSES && self.unmarked_rounds >= STALE_ROUNDS
    }

    /// A mark wakes the detector (Fallback §4.1.1).
    fn on_mark(&mut self) {
        if self.is_non_ecn() {
            // Another bottleneck may mark now.
            self.rtt = None;
        }
        self.losses = 0;
        self.unmarked_rounds = 0;
        let floor = -self.settings.l_sticky;
        if self.score <= floor {
            let evidence = if self.is_dual_queue() { 0 } else { self.pending_evidence };
            self.score = (floor + 1 + evidence).min(self.settings.c_sticky);
            self.max = self.max.max(self.score);
        }
        self.pending_evidence = 0;
    }

    /// Passes an RTT on to the tracers. The RTT of a set is that of its front, which its middle makes
    /// the receiver acknowledge without delay. It contains queueing delay if it is above the lowest RTT
    /// by more than one packet and the jitter. The sets of the first segments are no evidence: they
    /// are acknowledged one by one, and their small packets would suggest a faster link.
    #[inline]
    fn update_tracers(&mut self, rtt: u32, undelayed: bool, sample: &Sample) {
        let queued = rtt.saturating_sub(sample.min_rtt_us);
        if let Some(tracers) = &mut self.tracers {
            let started = sample.una > QUICKACK_SEGMENTS;
            let is_queued = started && queued > self.spacing.micros() + JITTER;
            tracers.on_rtt(is_queued, undelayed && sample.delivered_ce == 0 && queued > STEP);
        }
    }

    #[inline]
    fn on_rtt(&mut self, rtt: u32, sample: &Sample) {
        match &mut self.rtt {
            Some(filter) => filter.update(rtt),
            None => self.rtt = Some(self.settings.averages(rtt, self.shift)),
        }
        if !self.settings.best {
            return;
        }
        self.spacing.update(sample);
        let queued = rtt.saturating_sub(sample.min_rtt_us);
        let unmarked = sample.delivered.saturating_sub(sample.delivered_ce);
        if queued > self.deep_threshold() {
            self.round.deep_unmarked += unmarked;
        }
        if queued > CLASSIC_TARGET {
            self.round.unmarked_above_target += unmarked;
        }
    }

    /// The queueing delay above which an L4S queue marks every packet, in microseconds.
    #[inline]
    fn deep_threshold(&self) -> u32 {
        if self.is_single_queue() {
            return STEP + JITTER;
        }
        DEEP_MIN.max(self.reference_spacing().saturating_mul(DEEP_PACKETS))
    }

    /// The spacing that V0 and D0 follow, in microseconds; 0 if it is not known.
    #[inline]
    fn reference_spacing(&self) -> u32 {
        if self.is_single_queue() { 0 } else { self.packet_us() }
    }

    /// Whether tracers found a single queue. The packets that the step of an L4S queue does not mark
    /// are then no excuse.
    #[inline]
    fn is_single_queue(&self) -> bool {
        self.tracers.as_ref().is_some_and(Tracers::is_single_queue)
    }

    /// Scores a round trip.
    #[inline(never)]
    fn end_round(&mut self, sample: &Sample) {
        let round = core::mem::take(&mut self.round);
        self.round.end = sample.nxt;
        self.round.began_us = sample.now_us;
        self.unmarked_rounds = self.unmarked_rounds.saturating_add(1);
        let smooth = self.rtt.as_ref().map(Filter::best);
        let (mdev, srtt) = smooth.map_or((0, 0), |smooth| (smooth.mdev(), smooth.srtt()));
        self.depth = srtt.saturating_sub(sample.min_rtt_us);
        let (floor, ceiling) = (-self.settings.l_sticky, self.settings.c_sticky);
        if self.score <= floor {
            self.pending_evidence +=
                self.evidence(&round) - (self.pending_evidence >> PENDING_SHIFT);
        }
        if self.is_non_ecn() {
            // The bottleneck changed (Fallback §4.1.1). A Classic queue drops packets too, so that the
            // best rules keep a score above 0.
            if !self.settings.best || self.score <= 0 {
                (self.score, self.rounds) = (floor, 0);
            }
        } else if self.score > floor {
            self.rounds += 1;
            if !self.is_dual_queue() && (!self.settings.best || !round.is_all_marked()) {
                let mut delta = self.delta(mdev, &round);
                if self.settings.best && self.unmarked_rounds > HOLD_ROUNDS {
                    delta = delta.max(0);
                }
                self.score = (self.score + delta).clamp(floor, ceiling);
                self.max = self.max.max(self.score);
            }
        }
        if let Some(tracers) = &mut self.tracers {
            let before = self.score;
            self.score = tracers.on_round(before, round.marked > 0);
            if self.score > before {
                // A single queue was found.
                self.max = self.max.max(self.score);
            }
        }
    }

    /// Whether tracers found a dual queue. The RTT is then no evidence.
    #[inline]
    fn is_dual_queue(&self) -> bool {
        self.tracers.as_ref().is_some_and(Tracers::is_dual_queue)
    }

    /// V·lg(v/V0) + D·lg(max(d/D0, 1)) − S·s (Fallback §4.2), and the evidence of unmarked packets.
    fn delta(&mut self, mdev: u32, round: &Round) -> i64 {
        let Settings { s, v0_us, d0_us, best, .. } = self.settings;
        // The RTT varies by whole packets in any queue (Fallback §9). A step of 1 ms with a floor of
        // two packets allows the delay of both.
        let packets = 2 * self.reference_spacing();
        let (v0, d0) = match packets {
            0 => (v0_us, d0_us),
            _ => (v0_us.max(packets + JITTER), d0_us.max(packets + STEP)),
        };
        let least = if best { (u64::from(v0) * V_FLOOR) >> SHARE_BITS } else { 0 };
        let mdev = mdev.max(least as u32);
        let mut delta = self.logs(mdev, v0, d0);
        delta -= (s * share(round.limited_acks, round.acks)) << Self::UNIT;
        delta + self.evidence(round)
    }

    /// The evidence of packets that were unmarked or lost where an L4S queue marks all packets.
    fn evidence(&self, round: &Round) -> i64 {
        if !self.settings.best {
            return 0;
        }
        // The whole range of the score: one round trip is enough.
        if round.unmarked_above_target > FLOOR_PACKETS {
            return self.settings.l_sticky + self.settings.c_sticky;
        }
        let mut evidence = share(round.deep_unmarked, round.delivered);
        // An L4S queue marks everything before it drops anything (RFC 9332 §4.2.3).
        if round.lost && round.marked < round.delivered {
            evidence += share(1, 1);
        }
        (UNMARKED_WEIGHT * evidence) << Self::UNIT
    }

    /// The logarithms of deviation and depth over their references, weighted.
    fn logs(&mut self, mdev: u32, v0: u32, d0: u32) -> i64 {
        let Settings { v, d, v0_us, d0_us, lg_v0, lg_d0, .. } = self.settings;
        let depth = self.depth;
        // The logarithms of the configured V0 and D0 are exact.
        let lg_v0 = if v0 == v0_us { lg_v0 } else { scaled(self.log_v0.take(v0.into()), BITS) };
        let weighted = |weight: i64, log: u32, reference: i64| {
            (weight * (scaled(log, BITS) - reference)) >> WEIGHT_BITS
        };
        if depth <= d0 {
            return weighted(v, self.log_mdev.take(mdev.into()), lg_v0);
        }
        let lg_d0 = if d0 == d0_us { lg_d0 } else { scaled(self.log_d0.take(d0.into()), BITS) };
        if v == d {
            // One logarithm of the product replaces two (Fallback §B.3).
            let product = u64::from(mdev.max(1)) * u64::from(depth);
            weighted(v, self.log_depth.take(product), lg_v0 + lg_d0)
        } else {
            weighted(v, self.log_mdev.take(mdev.into()), lg_v0)
                + weighted(d, self.log_depth.take(depth.into()), lg_d0)
        }
    }

    /// The slow-start threshold changed, in segments.
    pub fn on_threshold(&mut self, ssthresh: u32) {
        self.shift = shift_of(ssthresh, self.settings.shift_max);
        if let Some(filter) = &mut self.rtt {
            filter.for_both(|smooth| smooth.set_shift(self.shift));
        }
    }

    /// A loss was detected.
    pub fn on_loss(&mut self) {
        self.losses = self.losses.saturating_add(1);
        self.round.lost = true;
    }

    /// The sender was idle for this many retransmission timeouts. Each halves a positive score
    /// (Fallback §4.2, `C_FRAC_IDLE`).
    pub fn on_idle(&mut self, timeouts: u32) {
        if self.score > 0 {
            self.score >>= timeouts.min(63);
        }
    }

    /// Whether the next segment is to be sent as a set of tracers (Fallback §5.2). If so, that set
    /// counts as sent.
    #[inline]
    pub fn wants_tracers(&mut self) -> bool {
        self.tracers.as_mut().is_some_and(Tracers::take_set)
    }

    /// A set of tracers was answered. `overtaken`: whether the order changed (Fallback §5.3).
    pub fn on_traced(&mut self, overtaken: bool) {
        if let Some(tracers) = &mut self.tracers {
            self.score = tracers.on_answer(overtaken, self.score);
        }
    }
}

/// A part of a whole in 2^-8.
fn share(part: u32, whole: u32) -> i64 {
    i64::from((part << SHARE_BITS) / whole.max(1))
}

/// A whole number in 2^-`bits`.
fn scaled(whole: u32, bits: u32) -> i64 {
    i64::from(whole) << bits
}

#[cfg(test)]
mod tests;
