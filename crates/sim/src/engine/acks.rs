//! Acknowledgements in the queue of a link, as a filter reads them.

use l4s_bottleneck::{Ack, Acknowledgements};
use l4s_observe::EcnFlags;

use super::ForwardOfHop;
use crate::message::Message;
use crate::packet::Packet;

/// Messages of clients alone: servers send no pure acknowledgements.
impl<O> Acknowledgements<Packet> for ForwardOfHop<'_, O> {
    #[inline]
    fn are_of_one_flow(&self, one: &Packet, other: &Packet) -> bool {
        one.flow() == other.flow() && one.kept_at().is_some() == other.kept_at().is_some()
    }

    fn acknowledgement(&self, packet: &Packet) -> Option<Ack> {
        let ack = match self.mail.look(packet.kept_at()?) {
            // Those of QUIC are encrypted.
            Message::Syn(_) | Message::Quic(_) => return None,
            Message::Request(request) => {
                return Some(Ack { number: 1, ace: request.flags.ace(), ..Ack::default() });
            }
            Message::Ack(ack) => ack,
        };
        // Without AccECN ACE is zero, and with it there is no echo.
        let flags = EcnFlags::of_ace(ack.ace | u8::from(ack.ece));
        Some(Ack {
            number: (1 + ack.cumulative) as u32,
            is_pure: !flags.ae && !ack.has_option(),
            ace: flags.ace(),
            stamps: Some(ack.stamps.words()),
            blocks: ack.blocks().map(|(from, to)| ((1 + from) as u32, (1 + to) as u32)).collect(),
        })
    }
}
