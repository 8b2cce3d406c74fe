//! Acknowledgements of real packets, as a filter reads them.

use l4s_bottleneck::{Ack, Acknowledgements};
use l4s_observe::Traced as _;

use crate::frame::Frame;

/// Flags of TCP (RFC 9293 §3.1).
const SYN: u16 = 1 << 1;
const ACK: u16 = 1 << 4;
/// Those that an acknowledgement may have (RFC 3168 §6.1).
const ECE: u16 = 1 << 6;
const CWR: u16 = 1 << 7;
/// AE (RFC 9768 §3.1).
const AE: u16 = 1 << 8;

/// Options of TCP (IANA, TCP Option Kind Numbers): SACK, time stamps, MD5 signature.
const OPTION_SACK: u8 = 5;
const OPTION_STAMPS: u8 = 8;
const OPTION_MD5: u8 = 19;

/// Reads acknowledgements out of the headers of packets, as an [`l4s_model::AckFilter`] needs them.
#[derive(Clone, Copy, Debug)]
pub struct Headers;

impl Acknowledgements<Frame> for Headers {
    #[inline]
    fn are_of_one_flow(&self, one: &Frame, other: &Frame) -> bool {
        // Packets of no known flow count for the first one of their pair.
        if (one.flow(), one.group(), one.from()) != (other.flow(), other.group(), other.from()) {
            return false;
        }
        let (one, other) = (one.ip(), other.ip());
        one.addresses() == other.addresses()
            && one.ports() == other.ports()
            && one.protocol() == other.protocol()
    }

    fn acknowledgement(&self, frame: &Frame) -> Option<Ack> {
        let packet = frame.ip();
        let tcp = packet.tcp().filter(|tcp| tcp.flags() & (ACK | SYN) == ACK)?;
        let mut is_pure = tcp.flags() & !(ECE | CWR) == ACK && packet.payload_length() == 0;
        let ace = (tcp.flags() & (AE | CWR | ECE)) >> ECE.trailing_zeros();
        let mut ack = Ack { number: tcp.ack_number(), ace: ace as u8, ..Ack::default() };
        for (kind, value) in tcp.options() {
            match (kind, value.len()) {
                (OPTION_MD5, _) => {}
                (OPTION_STAMPS, 8) => ack.stamps = tcp.stamps(),
                (OPTION_SACK, length) if length % 8 == 0 => {
                    let blocks = value.chunks_exact(8);
                    ack.blocks =
                        blocks.map(|block| (number(&block[..4]), number(&block[4..]))).collect();
                }
                _ => is_pure = false,
            }
        }
        Some(Ack { is_pure, ..ack })
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}
