//! RTP, recognized by headers that are plausible over several packets (RFC 3550 §A.1), as it has no
//! magic number.
//!
//! A datagram may be RTP if its header is whole, its version is 2, and its payload type is not one that
//! is left to RTCP on the same port (RFC 5761 §4). A conversation is RTP after eight plausible
//! steps of the sequence number within one SSRC of one direction. SRTP has the same header.

/// Where header fields are (RFC 3550 §5.1).
const SEQUENCE: usize = 2;
const SSRC: usize = 8;
const LENGTH: usize = 12;
/// The largest plausible step forward, and the largest one back of a packet that is late (RFC 3550
/// §A.1).
const MAX_DROPOUT: u16 = 3000;
const MAX_MISORDER: u16 = 100;
/// Plausible steps of a source that make the conversation RTP. RFC 3550 §A.1 asks for 2 of a stream that
/// signalling announced. Here nothing did, and 1 in 21 random numbers is a plausible step.
const STEPS: u8 = 8;
/// Sources of a direction that are followed at a time: audio, video, retransmissions and redundancy may
/// share a port (RFC 8843).
const SOURCES: usize = 4;

/// A source, by its SSRC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Source {
    ssrc: u32,
    sequence: u16,
    /// Plausible steps so far.
    steps: u8,
}

/// The sources of one direction of a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sources {
    sources: [Option<Source>; SOURCES],
    /// The one that the next new source replaces.
    next: u8,
}

impl Sources {
    /// A datagram passes. Returns whether the conversation is RTP.
    #[inline]
    pub fn observe(&mut self, payload: &[u8]) -> bool {
        match header(payload) {
            Some((ssrc, sequence)) => self.step(ssrc, sequence),
            None => false,
        }
    }

    fn step(&mut self, ssrc: u32, sequence: u16) -> bool {
        let new = Source { ssrc, sequence, steps: 0 };
        let Some(source) = self.sources.iter_mut().flatten().find(|known| known.ssrc == ssrc)
        else {
            self.sources[usize::from(self.next)] = Some(new);
            self.next = (self.next + 1) % SOURCES as u8;
            return false;
        };
        let step = sequence.wrapping_sub(source.sequence);
        if (1..=MAX_DROPOUT).contains(&step) {
            *source = Source { steps: source.steps + 1, ..new };
        } else if step.wrapping_neg() > MAX_MISORDER {
            *source = new;
        }
        source.steps >= STEPS
    }
}

/// SSRC and sequence number of a datagram that may be RTP.
#[inline]
fn header(payload: &[u8]) -> Option<(u32, u16)> {
    let header = payload.first_chunk::<LENGTH>()?;
    let [first, second] = [header[0], header[1]];
    let is_rtcp = (64..=95).contains(&(second & 0x7f));
    if first >> 6 != 2 || is_rtcp {
        return None;
    }
    let sources = usize::from(first & 0xf);
    let has_extension = first & 0x10 != 0;
    let mut length = LENGTH + 4 * sources;
    if has_extension {
        let words = payload.get(length + 2..length + 4)?;
        length += 4 + 4 * usize::from(u16::from_be_bytes([words[0], words[1]]));
    }
    let number = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let ssrc = u32::from(number(SSRC)) << 16 | u32::from(number(SSRC + 2));
    (payload.len() >= length).then_some((ssrc, number(SEQUENCE)))
}
