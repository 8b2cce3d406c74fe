//! The negotiation of ECN in the handshake (RFC 3168 §6.1.1, RFC 9768 §3.1).
//!
//! A client offers ECN with the flags of its SYN, a server grants some of it with those of its
//! SYN-ACK, and each end enters a mode, which it keeps. Flags are AE, CWR, ECE (RFC 9768 table 2):
//!
//! | SYN | SYN-ACK | mode |
//! |---|---|---|
//! | 111 | 010, 011, 100 or 110: the codepoint of the SYN | Accurate |
//! | 111 | 101, reserved | the client's: Accurate (§3.1.3) |
//! | 111 or 011 | 001 | Classic |
//! | 111 or 011 | 000 | none |
//! | 111 | 111, from a server that repeats the flags | none |
//! | 000 | 000 | none |
//!
//! In Accurate mode the acknowledgement of the SYN-ACK reports its codepoint in the same way as the
//! SYN-ACK reports that of the SYN. Neither end sends both kinds, Classic and Accurate, in one
//! handshake, so that no server has to reset it (§3.1.5).

use l4s_model::Feedback;
use l4s_observe::EcnFlags;
use l4s_units::Ecn;

/// No ECN: in a SYN, in a SYN-ACK, or where something on the path cleared the flags.
pub const NO_FLAGS: EcnFlags = EcnFlags::of_ace(0b000);

/// How a host reports marks, and expects them to be reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Not at all.
    NotEcn,
    /// By ECE (RFC 3168).
    Classic,
    /// By counters (RFC 9768).
    Accurate,
}

impl Mode {
    /// The mode that a client with this feedback offers.
    pub fn offered(feedback: Feedback) -> Mode {
        match feedback {
            Feedback::None => Mode::NotEcn,
            Feedback::Classic | Feedback::Dctcp => Mode::Classic,
            Feedback::Accurate { .. } => Mode::Accurate,
        }
    }

    /// The flags of a SYN that offers it.
    pub fn syn(self) -> EcnFlags {
        EcnFlags::of_ace(match self {
            Mode::NotEcn => 0b000,
            Mode::Classic => 0b011,
            Mode::Accurate => 0b111,
        })
    }

    /// The mode that a SYN offers. A combination that no client sends yet counts as Accurate
    /// (RFC 9768 §3.1.3).
    pub fn of_syn(flags: EcnFlags) -> Mode {
        match flags.ace() {
            0b000 => Mode::NotEcn,
            0b011 => Mode::Classic,
            _ => Mode::Accurate,
        }
    }

    /// The mode that a SYN-ACK confirms to a client that offered this one.
    pub fn confirmed(self, flags: EcnFlags) -> Mode {
        match (self, flags.ace()) {
            (Mode::NotEcn, _) | (Mode::Accurate, 0b000 | 0b111) => Mode::NotEcn,
            // RFC 3168 §6.1.1: ECE without CWR.
            (Mode::Classic, _) if flags.ece && !flags.cwr => Mode::Classic,
            (Mode::Classic, _) => Mode::NotEcn,
            (Mode::Accurate, 0b001) => Mode::Classic,
            (Mode::Accurate, _) => Mode::Accurate,
        }
    }
}

/// The flags that encode the codepoint of a SYN or SYN-ACK (RFC 9768 tables 2 and 3).
pub fn reflect(ecn: Ecn) -> EcnFlags {
    EcnFlags::of_ace(match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    })
}

/// The codepoint that such flags encode; none for the other combinations (RFC 9768 table 4).
pub fn reflected(flags: EcnFlags) -> Option<Ecn> {
    [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].into_iter().find(|ecn| reflect(*ecn) == flags)
}

/// Whether a path may change a codepoint in this way: Not-ECT and CE stay, and ECT does not become
/// Not-ECT (RFC 9768 §3.2.2.3).
pub fn may_become(sent: Ecn, arrived: Ecn) -> bool {
    let is_ect = matches!(sent, Ecn::Ect0 | Ecn::Ect1);
    sent == arrived || (is_ect && arrived.is_capable())
}
