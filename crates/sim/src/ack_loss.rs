//! The loss of acknowledgements on their way back.
//!
//! Each is lost independently of the others, with one chance for all groups. SYN and request are
//! exempt: the model is about feedback, and a lost handshake costs a second.

use l4s_bottleneck::{Stream, stream};
use l4s_model::Scenario;
use l4s_units::Probability;
use rand_core::Rng;

use crate::message::Message;

/// The process that drops acknowledgements.
#[derive(Debug)]
pub(crate) struct AckLoss {
    chance: Probability,
    rng: Stream,
}

impl AckLoss {
    pub fn new(scenario: &Scenario) -> AckLoss {
        AckLoss {
            chance: Probability::from_f64(scenario.link.ack_loss),
            rng: stream(scenario.seed, "ack loss"),
        }
    }

    /// Whether this message is lost.
    #[inline]
    pub fn takes(&mut self, message: &Message) -> bool {
        self.chance != Probability::ZERO
            && message.is_acknowledgement()
            && self.chance.hits(self.rng.next_u32())
    }
}
