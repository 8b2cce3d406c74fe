//! Startup and drain (draft-ietf-ccwg-bbr §5.3.1, §5.3.2): how the bandwidth is found, and the queue emptied that
//! this made.

use super::losses::{self, is_too_high};
use super::{Bbr3, LEAST_WINDOW, Mode, UNIT};
use crate::{Ack, Repair, Window};

/// Drain ends after this many round trips, also where the queue did not (draft §5.3.2).
const MOST_DRAIN_ROUNDS: u64 = 3;

impl Bbr3 {
    pub(super) fn enter_startup(&mut self) {
        self.mode = Mode::Startup;
        self.decision.window.ssthresh = Window::NO_THRESHOLD;
    }

    /// Draft §5.3.1.
    pub(super) fn leave_startup(&mut self) {
        if self.latest.round_starts {
            let ranges = self.losses.end_round();
            if !self.full.reached && ranges >= losses::STARTUP_RANGES {
                self.check_losses_of_startup();
            }
        }
        if self.mode == Mode::Startup && self.full.reached {
            self.mode = Mode::Drain;
            self.drain_round = self.round.count;
            // There is no threshold. With a lower one than any window only a window that was used
            // up counts as used (`C.is_cwnd_limited`), and not one that was half used.
            self.decision.window.ssthresh = LEAST_WINDOW;
        }
    }

    /// Draft §5.3.1.3: a round trip of fast recovery is over that lost more than 2 %, in at least six
    /// places.
    fn check_losses_of_startup(&mut self) {
        if self.sample.repair == Repair::Recovery && self.sample_lost_too_much() {
            if let Some(saved) = &mut self.saved {
                saved.left = Some(Mode::Startup);
            }
            self.find_queue_in_startup();
        }
    }

    pub(super) fn find_queue_in_startup(&mut self) {
        (self.full.reached, self.full.now) = (true, true);
        self.long_term.in_flight = Some(self.bdp().max(self.latest.in_flight));
    }

    /// Whether more than 2 % of the flight was lost since the newest segment delivered was sent.
    pub(super) fn sample_lost_too_much(&self) -> bool {
        is_too_high(self.sample.lost - self.sample.prior_lost, self.sample.tx_in_flight)
    }

    /// Draft §5.3.2: the queue is gone, or the bandwidth was overestimated.
    pub(super) fn leave_drain(&mut self, ack: &Ack) {
        if self.mode != Mode::Drain {
            return;
        }
        let is_empty = u64::from(ack.in_flight) <= self.in_flight_at(self.bw(), UNIT);
        if is_empty || self.round.count > self.drain_round + MOST_DRAIN_ROUNDS {
            self.begin_down(ack.now);
        }
    }
}
