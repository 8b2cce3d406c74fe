//! The header of TCP, and the options that measurement reads.

use super::field::tcp;
use super::{number16, number32};

/// A TCP header whose length was checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tcp<'a> {
    pub(super) fixed: &'a [u8; tcp::LENGTH],
    pub(super) options: &'a [u8],
}

impl Tcp<'_> {
    /// Sequence number.
    #[inline]
    pub fn seq(&self) -> u32 {
        number32(self.fixed, tcp::SEQUENCE)
    }

    /// Acknowledgement number.
    #[inline]
    pub fn ack_number(&self) -> u32 {
        number32(self.fixed, tcp::ACKNOWLEDGEMENT)
    }

    #[inline]
    fn flag(&self, bit: u32) -> bool {
        number16(self.fixed, tcp::FLAGS) & 1 << bit != 0
    }

    /// FIN.
    #[inline]
    pub fn fin(&self) -> bool {
        self.flag(0)
    }

    /// SYN.
    #[inline]
    pub fn syn(&self) -> bool {
        self.flag(1)
    }

    /// RST.
    #[inline]
    pub fn rst(&self) -> bool {
        self.flag(2)
    }

    /// ACK.
    #[inline]
    pub fn ack(&self) -> bool {
        self.flag(4)
    }

    /// Echo of congestion experienced (RFC 3168 §6.1).
    #[inline]
    pub fn ece(&self) -> bool {
        self.flag(6)
    }

    /// Congestion window reduced (RFC 3168 §6.1).
    #[inline]
    pub fn cwr(&self) -> bool {
        self.flag(7)
    }

    /// Accurate ECN (RFC 9768 §3.1): the lowest of its three bits is the former NS.
    #[inline]
    pub fn ae(&self) -> bool {
        self.flag(8)
    }

    /// The maximum segment size that a SYN announces (RFC 9293 §3.7.1).
    pub fn mss(&self) -> Option<u16> {
        self.option::<2>(tcp::OPTION_MSS).map(u16::from_be_bytes)
    }

    /// The time stamp and the one that it echoes, TSval and TSecr (RFC 7323 §3.2).
    #[inline]
    pub fn stamps(&self) -> Option<(u32, u32)> {
        // As RFC 7323 §A recommends, and as every segment of Linux without other options has them.
        const FIRST: [u8; 4] = [tcp::OPTION_NOP, tcp::OPTION_NOP, tcp::OPTION_STAMPS, 10];
        let value = match self.options.split_first_chunk() {
            Some((first, rest)) if *first == FIRST => *rest.first_chunk()?,
            _ => self.option::<8>(tcp::OPTION_STAMPS)?,
        };
        Some((number32(&value, 0..4), number32(&value, 4..8)))
    }

    /// The value of an option of this kind and length. Options behind one that is malformed are
    /// not read.
    #[inline]
    fn option<const N: usize>(&self, kind: u8) -> Option<[u8; N]> {
        let mut rest = self.options;
        loop {
            rest = match *rest {
                [tcp::OPTION_NOP, ref next @ ..] => next,
                [tcp::OPTION_END, ..] => return None,
                [found, length, ..] => {
                    let value = rest.get(2..usize::from(length))?;
                    if found == kind {
                        return value.try_into().ok();
                    }
                    &rest[usize::from(length)..]
                }
                _ => return None,
            };
        }
    }
}
