//! The repair of losses, and the way back where nothing was lost (draft-ietf-ccwg-bbr §5.5.11).

use super::bounds::{ShortTerm, larger};
use super::{Bbr3, Mode, Phase};
use crate::bbr::bandwidth::Bandwidth;

const UP: Mode = Mode::ProbeBw(Phase::Up);

/// The model when a repair began.
///
/// The draft's text saves it when an episode of recovery starts. Its pseudocode does so again at every first
/// loss of a round trip, and the first loss of a probe begins one. The second loss would overwrite the state to
/// return to. So it is saved once here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Saved {
    short_term: ShortTerm,
    in_flight_longterm: Option<u64>,
    /// The state that was left because of losses: startup, or the probe for bandwidth.
    pub left: Option<Mode>,
}

impl Bbr3 {
    /// The transport begins to repair losses (draft §5.5.11.1, §5.6.4.4).
    pub(super) fn begin_repair(&mut self) {
        self.save_window();
        self.saved = Some(Saved {
            short_term: self.short_term,
            in_flight_longterm: self.long_term.in_flight,
            left: None,
        });
    }

    /// Nothing was lost (draft §5.5.11.2).
    pub(super) fn take_back(&mut self) {
        self.restore_window();
        self.latest.lost = false;
        self.full.restart(Bandwidth::default());
        let Some(saved) = self.saved.take() else { return };
        self.short_term = self.short_term.or_larger(saved.short_term);
        self.long_term.in_flight = larger(self.long_term.in_flight, saved.in_flight_longterm);
        let may_return = self.mode != Mode::ProbeRtt;
        if saved.left == Some(Mode::Startup) && self.mode != Mode::Startup {
            self.full.reached = false;
            if may_return {
                self.enter_startup();
            }
        } else if saved.left == Some(UP) && self.mode != UP && may_return {
            // The probe begins again.
            self.begin_refill(0);
        }
    }
}
