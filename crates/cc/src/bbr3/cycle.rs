//! The probes for more bandwidth (draft-ietf-ccwg-bbr §5.3.3).
//!
//! The next one begins 2 to 3 s after the last one. It begins earlier if as many round trips have passed as
//! there are segments in a product of bandwidth and RTT: then Reno would probe, too.

use l4s_units::{Duration, Time};
use rand_xoshiro::rand_core::Rng;

use super::bounds::BETA_TENTHS;
use super::{Bbr3, Mode, Phase, UNIT};
use crate::bbr::bandwidth::Bandwidth;
use crate::{Ack, RateSample, Repair};

/// The shortest time between probes, and how much longer it may be by chance (draft §5.3.3.8.2).
const LEAST_WAIT: Duration = Duration::from_secs(2);
const WAIT_BY_CHANCE: u64 = 1_000_000_000;
/// The most round trips between probes; one of them is left out by chance.
const MOST_ROUNDS: u64 = 63;

/// How acknowledgements are related to the last probe (draft §2.14).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum AckPhase {
    /// Nothing.
    #[default]
    Init,
    /// The path is being filled.
    Refilling,
    /// The probe began less than a round trip ago.
    Starting,
    /// They answer the probe.
    Feedback,
    /// The probe is over, and they answer it for another round trip.
    Stopping,
}

/// The state of the probes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cycle {
    pub ack_phase: AckPhase,
    /// Losses are those of segments sent in a probe that was not answered yet (`BBR.is_bw_probe_sample`).
    pub samples_probe: bool,
    /// Round trips since the last probe.
    pub rounds_since_up: u64,
    /// When the present cycle began, and how long it lasts at most.
    began: Time,
    wait: Duration,
    /// The last probe lost too much.
    prev_too_high: bool,
    /// The last probe ended where the one before it had lost too much.
    prev_precautionary: bool,
}

impl Bbr3 {
    // --- The phases (draft §5.3.3.9) --------------------------------------------------------

    pub(super) fn begin_down(&mut self, now: Time) {
        self.latest.forget();
        self.ecn.forget_cycle();
        self.long_term.hold();
        // Flows that share a path probe at different times.
        self.cycle.rounds_since_up = self.chance.next_u64() % 2;
        self.cycle.wait =
            LEAST_WAIT + Duration::from_nanos(self.chance.next_u64() % WAIT_BY_CHANCE);
        self.cycle.began = now;
        self.cycle.ack_phase = AckPhase::Stopping;
        self.round.begin(self.sample.delivered);
        self.mode = Mode::ProbeBw(Phase::Down);
    }

    pub(super) fn begin_cruise(&mut self) {
        self.mode = Mode::ProbeBw(Phase::Cruise);
    }

    /// `doublings` of the growth that the probe begins with.
    pub(super) fn begin_refill(&mut self, doublings: u32) {
        self.short_term = Default::default();
        self.long_term.prepare(doublings);
        self.cycle.prev_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.round.begin(self.sample.delivered);
        self.mode = Mode::ProbeBw(Phase::Refill);
    }

    fn begin_up(&mut self, rate: Bandwidth) {
        self.cycle.samples_probe = true;
        self.cycle.ack_phase = AckPhase::Starting;
        self.round.begin(self.sample.delivered);
        self.full.restart(rate);
        self.mode = Mode::ProbeBw(Phase::Up);
        self.long_term.steepen(self.decision.window.cwnd.into());
    }

    /// Begins the next phase when it is due.
    pub(super) fn update_cycle(&mut self, ack: &Ack, rate: Bandwidth) {
        if !self.full.reached || self.adapt_long_term(ack) {
            return;
        }
        let Mode::ProbeBw(phase) = self.mode else { return };
        match phase {
            Phase::Down | Phase::Cruise => {
                let probes = self.probe_where_due(ack.now);
                if !probes && phase == Phase::Down && self.may_cruise(ack) {
                    self.begin_cruise();
                }
            }
            // From now on acknowledgements are those of a full path.
            Phase::Refill => {
                if self.round.starts {
                    self.begin_up(rate);
                }
            }
            Phase::Up => {
                if self.is_probed(ack, rate) {
                    self.cycle.prev_too_high = false;
                    self.begin_down(ack.now);
                }
            }
        }
    }

    /// Begins a probe after its wait, or when Reno would (draft §5.3.3.8.3). After marks it does so as
    /// soon as there are none, as Google's code: others may have left.
    fn probe_where_due(&mut self, now: Time) -> bool {
        if self.ecn.asks_for_probe(self.sample.repair == Repair::None) {
            let doublings = self.ecn.doublings(self.long_term.in_flight);
            self.begin_refill(doublings);
            return true;
        }
        let waited = now > self.cycle.began + self.cycle.wait;
        let is_due = waited || self.cycle.rounds_since_up >= self.target().min(MOST_ROUNDS);
        if is_due {
            self.begin_refill(0);
        }
        is_due
    }

    /// Neither a queue is left, nor is the room of others in use.
    fn may_cruise(&self, ack: &Ack) -> bool {
        let in_flight = u64::from(ack.in_flight);
        let has_headroom = self.long_term.with_headroom().is_none_or(|most| in_flight <= most);
        has_headroom && in_flight <= self.in_flight_at(self.max_bw.max(), UNIT)
    }

    /// Whether a probe is over that lost little (draft §5.3.3.7).
    fn is_probed(&mut self, ack: &Ack, rate: Bandwidth) -> bool {
        let bound = self.long_term.in_flight.unwrap_or(u64::MAX);
        // A flight that lost too much the last time is not held for a round trip (draft §5.3.3.6).
        if self.cycle.prev_too_high && u64::from(ack.in_flight) >= bound {
            self.cycle.prev_precautionary = true;
            return true;
        }
        if self.uses_bound(ack) {
            // The rate did not grow because the bound did not let it.
            self.full.restart(rate);
            return false;
        }
        self.full.now
    }

    /// Whether the window is used up, and is the long-term bound.
    fn uses_bound(&self, ack: &Ack) -> bool {
        let cwnd = u64::from(self.decision.window.cwnd);
        ack.limited && self.long_term.in_flight.is_some_and(|bound| cwnd >= bound)
    }

    // --- The long-term model ----------------------------------------------------------------

    /// Takes the answers to a probe; `true` if they led to the next phase.
    fn adapt_long_term(&mut self, ack: &Ack) -> bool {
        if self.round.starts && self.cycle.ack_phase == AckPhase::Starting {
            self.cycle.ack_phase = AckPhase::Feedback;
        }
        let is_answered = self.round.starts && self.cycle.ack_phase == AckPhase::Stopping;
        if is_answered && self.end_answers() {
            return true;
        }
        let lost_too_much = self.sample_lost_too_much();
        let marked_too_much = self.ecn.is_too_high(&self.sample);
        if !lost_too_much && !marked_too_much {
            self.raise_long_term(ack);
        } else if marked_too_much && self.cycle.samples_probe {
            let RateSample { tx_in_flight, app_limited, .. } = self.sample;
            self.bound_by_probe(tx_in_flight.into(), app_limited, ack.now);
        }
        false
    }

    /// The last answers to a probe have come; `true` if another one begins at once.
    fn end_answers(&mut self) -> bool {
        self.cycle.samples_probe = false;
        self.cycle.ack_phase = AckPhase::Init;
        if !self.mode.is_probe_bw() {
            return false;
        }
        // The best measurement of the cycle is made: those of the cycle before leave (draft §5.5.6).
        if !self.sample.app_limited {
            self.cycle_count += 1;
        }
        // A careful probe lost little (draft §5.3.3.6): a real one follows.
        let may_go_on = self.cycle.prev_precautionary && !self.cycle.prev_too_high;
        if may_go_on {
            self.begin_refill(0);
        }
        may_go_on
    }

    fn raise_long_term(&mut self, ack: &Ack) {
        self.long_term.admit(self.sample.tx_in_flight.into());
        if self.mode != Mode::ProbeBw(Phase::Up) || !self.uses_bound(ack) {
            return;
        }
        self.long_term.grow(ack.delivered.into());
        if self.round.starts {
            self.long_term.steepen(self.decision.window.cwnd.into());
        }
    }

    /// A probe lost or was marked too much, with this many segments in flight: they are the bound, but
    /// that goes down by no more than Cubic would (draft §5.5.10.2). Once per probe.
    pub(super) fn bound_by_probe(&mut self, in_flight: u64, app_limited: bool, now: Time) {
        self.cycle.prev_too_high = true;
        self.cycle.samples_probe = false;
        if !app_limited {
            let least = self.target() * BETA_TENTHS / 10;
            self.long_term.in_flight = Some(in_flight.max(least));
        }
        if self.mode == Mode::ProbeBw(Phase::Up) {
            if let Some(saved) = &mut self.saved {
                saved.left = Some(self.mode);
            }
            self.begin_down(now);
        }
    }
}
