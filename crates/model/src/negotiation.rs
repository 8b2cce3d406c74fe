//! The ECN that the two ends of a connection negotiate.

use l4s_cc::WantedEcn;
use l4s_units::Ecn;

use crate::{AccEcn, EcnMode, Group};

/// The ECN of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Negotiated {
    /// The codepoint of data; `None` for Not-ECT.
    pub codepoint: Option<Ecn>,
    /// How the receiver reports marks.
    pub feedback: Feedback,
}

/// How a receiver reports marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feedback {
    /// ECN was not negotiated.
    None,
    /// From a mark until the sender says that it reduced (RFC 3168 §6.1.3).
    Classic,
    /// On exactly the acknowledgements of marked segments (RFC 8257 §3.2).
    Dctcp,
    /// Counted: every acknowledgement says how many marks arrived so far, modulo 8 (RFC 9768
    /// §3.2.2), and with the option in how many bytes (§3.2.3).
    Accurate {
        /// Whether the AccECN option is in use.
        option: bool,
    },
}

impl EcnMode {
    /// The ECN of a connection whose congestion control `wants` it. Accurate ECN is negotiated where
    /// the congestion control cannot do without ECT(1); one that cannot do without ECN at all has
    /// DCTCP's feedback over ECT(0).
    pub fn negotiate(self, wants: WantedEcn, accecn: AccEcn) -> Negotiated {
        let codepoint = match (self, wants) {
            (EcnMode::Off, _) | (EcnMode::Auto, WantedEcn::Off) => {
                return Negotiated { codepoint: None, feedback: Feedback::None };
            }
            (EcnMode::Classic, _) | (EcnMode::Auto, WantedEcn::Classic) => Ecn::Ect0,
            (EcnMode::L4s, _) | (EcnMode::Auto, WantedEcn::L4s) => Ecn::Ect1,
        };
        let feedback = match wants {
            WantedEcn::Off => Feedback::Classic,
            WantedEcn::L4s if codepoint == Ecn::Ect1 => {
                Feedback::Accurate { option: accecn == AccEcn::Option }
            }
            _ => Feedback::Dctcp,
        };
        Negotiated { codepoint: Some(codepoint), feedback }
    }
}

impl Group {
    /// The ECN that this group's connections negotiate.
    pub fn negotiated(&self) -> Negotiated {
        self.ecn.negotiate(self.cc.wants(), self.accecn)
    }
}
