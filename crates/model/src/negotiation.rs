//! The ECN that the two ends of a connection negotiate.

use l4s_cc::{Endpoint, WantedEcn};
use l4s_units::Ecn;

use crate::{AccEcn, EcnMode, Group, Peer};

/// The ECN of a connection.
///
/// ```
/// use l4s_cc::{Config, dctcp, prague};
/// use l4s_model::{Feedback, Group, Negotiated, Peer};
/// use l4s_units::{Duration, Ecn};
///
/// let rtt = Duration::from_millis(10);
/// let dctcp = Group::new("A", Config::Dctcp(dctcp::Config::default()), rtt);
/// let expected = Negotiated { codepoint: Some(Ecn::Ect0), feedback: Feedback::Dctcp };
/// assert_eq!(dctcp.negotiated(), expected);
///
/// // A client of RFC 3168 cannot count marks, so Prague does without ECN (RFC 9331 §4.2).
/// let mut prague = Group::new("B", Config::Prague(prague::Config::default()), rtt);
/// assert_eq!(prague.negotiated().feedback, Feedback::Accurate { option: true });
/// prague.peer = Peer::Rfc3168;
/// assert_eq!(prague.negotiated().codepoint, None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Negotiated {
    /// The codepoint of data; `None` for Not-ECT.
    pub codepoint: Option<Ecn>,
    /// How the receiver reports marks.
    pub feedback: Feedback,
}

/// How a receiver reports marks.
///
/// Example: [`Negotiated`].
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

impl Group {
    /// The codepoint of data where the client takes part in ECN; `None` where the server does not.
    pub fn codepoint(&self) -> Option<Ecn> {
        match (self.ecn, self.cc.wants()) {
            (EcnMode::Off, _) | (EcnMode::Auto, WantedEcn::Off) => None,
            (EcnMode::Classic, _) | (EcnMode::Auto, WantedEcn::Classic) => Some(Ecn::Ect0),
            (EcnMode::L4s, _) | (EcnMode::Auto, WantedEcn::L4s) => Some(Ecn::Ect1),
        }
    }

    /// The feedback that a client offers with its SYN. With [`Peer::Auto`] it is Accurate ECN where
    /// the congestion control cannot do without ECT(1), and DCTCP's where it cannot do without ECN
    /// and its data is ECT(0).
    pub fn offer(&self) -> Feedback {
        let accurate = Feedback::Accurate { option: self.accecn == AccEcn::Option };
        if self.endpoint == Endpoint::Quic && self.peer != Peer::None {
            // RFC 9000 §13.4.1: a client counts the codepoints of all packets.
            return accurate;
        }
        match (self.peer, self.codepoint(), self.cc.wants()) {
            (Peer::AccEcn, ..) => accurate,
            (Peer::Rfc3168, ..) | (Peer::Auto, Some(_), WantedEcn::Off) => Feedback::Classic,
            (Peer::None, ..) | (Peer::Auto, None, _) => Feedback::None,
            (Peer::Auto, Some(Ecn::Ect1), WantedEcn::L4s) => accurate,
            (Peer::Auto, ..) => Feedback::Dctcp,
        }
    }

    /// Whether the server does without ECN where the client has only that of RFC 3168. ECT(1) of a
    /// scalable control takes exact feedback (RFC 9330 §4.1, RFC 9331 §4.2); Linux' Prague asks for this with the
    /// flag `TCP_CONG_NO_FALLBACK_RFC3168`.
    pub fn refuses_rfc3168(&self) -> bool {
        self.cc.wants() == WantedEcn::L4s && self.codepoint() == Some(Ecn::Ect1)
    }

    /// The ECN that this group's connections negotiate, where nothing on the path changes the flags of
    /// the handshake.
    pub fn negotiated(&self) -> Negotiated {
        match (self.codepoint(), self.offer()) {
            (Some(_), Feedback::Classic | Feedback::Dctcp) if self.refuses_rfc3168() => {
                Negotiated { codepoint: None, feedback: Feedback::None }
            }
            (codepoint @ Some(_), feedback) if feedback != Feedback::None => {
                Negotiated { codepoint, feedback }
            }
            _ => Negotiated { codepoint: None, feedback: Feedback::None },
        }
    }
}
