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

    /// Its flags, FIN the lowest of them, and the reserved bits above AE: 12 bits (RFC 9293 §3.1, RFC 9768 §3.1).
    #[inline]
    pub fn flags(&self) -> u16 {
        number16(self.fixed, tcp::FLAGS) & 0x0fff
    }

    #[inline]
    fn flag(&self, bit: u32) -> bool {
        self.flags() & 1 << bit != 0
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

    /// The value of an option of this kind and length.
    #[inline]
    fn option<const N: usize>(&self, kind: u8) -> Option<[u8; N]> {
        let (_, value) = self.options().find(|(found, _)| *found == kind)?;
        value.try_into().ok()
    }

    /// Kind and value of each option, without padding. Options behind one that is malformed are not read.
    ///
    /// ```
    /// use l4s_flows::ip::IpPacket;
    ///
    /// // An acknowledgement with a block of SACK (kind 5, RFC 2018 §3) behind two bytes of padding.
    /// let mut packet = [0; 52];
    /// (packet[0], packet[3], packet[9]) = (0x45, 52, 6);
    /// (packet[32], packet[33]) = (8 << 4, 1 << 4);
    /// packet[40..44].copy_from_slice(&[1, 1, 5, 10]);
    /// let packet = IpPacket::new_checked(packet).unwrap();
    /// let tcp = packet.tcp().unwrap();
    /// assert_eq!(tcp.flags(), 1 << 4);
    /// assert_eq!(tcp.options().collect::<Vec<_>>(), [(5, &[0; 8][..])]);
    /// ```
    #[inline]
    pub fn options(&self) -> impl Iterator<Item = (u8, &[u8])> {
        let mut rest = self.options;
        core::iter::from_fn(move || {
            loop {
                match *rest {
                    [tcp::OPTION_NOP, ref next @ ..] => rest = next,
                    [tcp::OPTION_END, ..] => return None,
                    [kind, length, ..] => {
                        let value = rest.get(2..usize::from(length))?;
                        rest = &rest[usize::from(length)..];
                        return Some((kind, value));
                    }
                    _ => return None,
                }
            }
        })
    }
}
