//! The changes that routers and middleboxes make to a packet, with its checksums, and bit errors without them.

use core::ops::Range;

use l4s_units::Ecn;

use super::field::{ipv4, ipv6, tcp, udp};
use super::{IpPacket, Version, number16, protocol};

/// Sets the codepoint of a checked packet of this version.
#[inline]
pub fn set_ecn(bytes: &mut [u8], version: Version, ecn: Ecn) {
    match version {
        Version::V4 => {
            let word = number16(bytes, ipv4::FIRST_WORD) & !3 | u16::from(ecn.bits());
            replace(bytes, ipv4::FIRST_WORD, word, ipv4::CHECKSUM);
        }
        // IPv6 has no checksum, and those of TCP and UDP leave the traffic class out.
        Version::V6 => {
            let rest = bytes[ipv6::TRAFFIC_CLASS_LOW] & !0x30;
            bytes[ipv6::TRAFFIC_CLASS_LOW] = rest | ecn.bits() << 4;
        }
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> IpPacket<T> {
    /// Sets congestion experienced.
    #[inline]
    pub fn set_ce(&mut self) {
        set_ecn(self.bytes.as_mut(), self.facts.version, Ecn::Ce);
    }

    /// Sets the DSCP to 0, the default. Returns whether it was another.
    pub fn wash_dscp(&mut self) -> bool {
        let bytes = self.bytes.as_mut();
        let word = number16(bytes, ipv4::FIRST_WORD);
        match self.facts.version {
            Version::V4 => {
                let washed = word & !0x00fc;
                replace(bytes, ipv4::FIRST_WORD, washed, ipv4::CHECKSUM);
                washed != word
            }
            // Six bits behind the version (RFC 8200 §3); no checksum has them.
            Version::V6 => {
                let washed = word & !0x0fc0;
                bytes[ipv4::FIRST_WORD].copy_from_slice(&washed.to_be_bytes());
                washed != word
            }
        }
    }

    /// Inverts a bit of the payload, or of the sequence numbers where TCP has no payload, or of the checksum where
    /// UDP has none: lengths stay right, and so does every result of the check. `draw` chooses it: 0 the first bit,
    /// and 2³² would be the one behind the last. Nothing is changed where there is no such bit.
    pub fn invert_bit(&mut self, draw: u32) {
        let transport = self.facts.transport;
        let payload = self.facts.payload.unwrap_or(transport)..self.facts.end;
        let bytes = match self.facts.protocol {
            _ if !payload.is_empty() => payload,
            protocol::TCP => behind(transport, tcp::SEQUENCE.start..tcp::ACKNOWLEDGEMENT.end),
            protocol::UDP => behind(transport, udp::CHECKSUM),
            _ => return,
        };
        // Below 2³² · 2¹⁹.
        let bit = (u64::from(draw) * (bytes.len() as u64 * 8)) >> 32;
        let (byte, bit) = ((bit / 8) as usize, bit % 8);
        self.bytes.as_mut()[bytes][byte] ^= 0x80 >> bit;
    }

    /// Replaces the AccECN option of TCP by padding (RFC 9293 §3.2: No-Operation). Options behind one that is
    /// malformed stay. Returns whether there was one; never if this is no TCP.
    pub fn strip_accecn(&mut self) -> bool {
        let Some((header, options)) = self.tcp_parts() else { return false };
        let (mut at, mut stripped) = (options.start, false);
        while at < options.end {
            let bytes = self.bytes.as_ref();
            let (kind, second) = (bytes[at], bytes[..options.end].get(at + 1));
            let length = match (kind, second) {
                (tcp::OPTION_NOP, _) => 1,
                (tcp::OPTION_END, _) | (_, None | Some(0 | 1)) => break,
                (_, Some(length)) => usize::from(*length),
            };
            if at + length > options.end {
                break;
            }
            if tcp::OPTION_ACCECN.contains(&kind) {
                self.fill(header, at..at + length, tcp::OPTION_NOP);
                stripped = true;
            }
            at += length;
        }
        stripped
    }

    /// Clears the ACE field of TCP, which is AE, CWR and ECE (RFC 9768 §3.1), unless it is a SYN. Returns whether a
    /// bit was set; never if this is no TCP.
    pub fn clear_ace(&mut self) -> bool {
        const SYN: u16 = 1 << 1;
        const ACE: u16 = 0b111 << 6;
        let Some((header, _)) = self.tcp_parts() else { return false };
        let bytes = self.bytes.as_mut();
        let flags = number16(bytes, behind(header, tcp::FLAGS));
        if flags & SYN != 0 || flags & ACE == 0 {
            return false;
        }
        replace(bytes, behind(header, tcp::FLAGS), flags & !ACE, behind(header, tcp::CHECKSUM));
        true
    }

    /// Where the TCP header begins, and where its options are; `None` where there is no whole header.
    fn tcp_parts(&self) -> Option<(usize, Range<usize>)> {
        let header = self.facts.transport;
        let end = self.facts.payload.filter(|_| self.facts.protocol == protocol::TCP)?;
        Some((header, header + tcp::LENGTH..end))
    }

    /// Sets bytes of a TCP header that begins at `header`.
    fn fill(&mut self, header: usize, at: Range<usize>, value: u8) {
        let bytes = self.bytes.as_mut();
        // The checksum covers words from the start of the header, and options begin anywhere.
        let first = at.start - (at.start - header) % 2;
        for start in (first..at.end).step_by(2) {
            let word =
                [start, start + 1].map(|byte| if at.contains(&byte) { value } else { bytes[byte] });
            let (word, checksum) = (u16::from_be_bytes(word), behind(header, tcp::CHECKSUM));
            replace(bytes, start..start + 2, word, checksum);
        }
    }
}

/// A field of a header that begins at `header`.
pub(super) fn behind(header: usize, field: Range<usize>) -> Range<usize> {
    header + field.start..header + field.end
}

/// Replaces a word that a checksum covers.
#[inline]
fn replace(bytes: &mut [u8], word: Range<usize>, new: u16, checksum: Range<usize>) {
    let old = number16(bytes, word.clone());
    let sum = updated_checksum(number16(bytes, checksum.clone()), old, new);
    bytes[word].copy_from_slice(&new.to_be_bytes());
    bytes[checksum].copy_from_slice(&sum.to_be_bytes());
}

/// The checksum after one of the words that it covers went from `old` to `new`: HC' = ~(~HC + ~m +
/// m') (RFC 1624 §3). Unlike the other equations there, this one never gives a wrong zero.
#[inline]
fn updated_checksum(checksum: u16, old: u16, new: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    // Three 16-bit words carry at most 2, and folding that carries at most once more.
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1624() {
        // §4: HC = 0xDD2F, m = 0x5555, m' = 0x3285 gives 0x0000.
        assert_eq!(updated_checksum(0xdd2f, 0x5555, 0x3285), 0x0000);
    }
}
