//! The ECN field of the IP header.

use core::fmt;
use serde::{Deserialize, Serialize};

/// The two ECN bits of an IP header (RFC 3168 §5, RFC 9331 §2).
///
/// ```
/// use l4s_units::Ecn;
///
/// assert_eq!(Ecn::from_bits(0b01), Ecn::Ect1);
/// assert!(Ecn::Ce.is_capable() && !Ecn::NotEct.is_capable());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: congestion is signalled by dropping the packet.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, identifies an L4S sender (RFC 9331).
    Ect1 = 0b01,
    /// ECN-capable, Classic semantics (RFC 3168).
    Ect0 = 0b10,
    /// Congestion experienced.
    Ce = 0b11,
}

impl Ecn {
    /// Whether congestion may be signalled by a mark: every codepoint but Not-ECT.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }

    /// Whether the packet carries congestion experienced.
    #[inline]
    pub const fn is_ce(self) -> bool {
        matches!(self, Ecn::Ce)
    }

    /// The codepoint in the two low bits of `bits` (as in the IPv4 TOS byte).
    #[inline]
    pub const fn from_bits(bits: u8) -> Ecn {
        match bits & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// The two bits as they stand in the IP header.
    #[inline]
    pub const fn bits(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for Ecn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Ecn::NotEct => "not-ect",
            Ecn::Ect1 => "ect1",
            Ecn::Ect0 => "ect0",
            Ecn::Ce => "ce",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_round_trip() {
        for bits in 0..=3 {
            assert_eq!(Ecn::from_bits(bits).bits(), bits);
            // Only the two low bits count: the other six are the DS field.
            assert_eq!(Ecn::from_bits(bits | 0b1011_1000).bits(), bits);
        }
    }
}
