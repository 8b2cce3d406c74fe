//! The packets of a client, in their form on the wire.

use l4s_observe::{EcnFlags, Tcp};
use l4s_units::Ecn;

use super::Sender;
use crate::message::{Ack, ByteCounters, Message, Request, Syn};
use crate::packet::{REQUEST, Stamp, announced_mss};
use crate::tcp::accecn::INITIAL_BYTES;

impl Sender {
    /// The client's receive window as far as the server knows: before the first acknowledgement its
    /// first one.
    fn window_of_client(&self) -> u64 {
        self.room_end.saturating_sub(self.board.una_byte())
    }

    /// The ECN field of a client's message.
    pub(crate) fn ecn_of(&self, message: &Message) -> Ecn {
        match message {
            Message::Syn(syn) => syn.ecn,
            Message::Request(_) => self.ecn.unwrap_or_default(),
            Message::Ack(_) | Message::Quic(_) => self.retransmission_ecn(),
        }
    }

    /// The header of a client's message.
    pub(crate) fn answer(&self, message: &Message) -> Tcp {
        match *message {
            Message::Syn(Syn { flags, sent, .. }) => Tcp {
                syn: true,
                flags,
                // A SYN has no scale (RFC 7323 §2.2).
                window: self.window_of_client().min(u16::MAX.into()),
                stamps: Some((sent.word(), Stamp::default().word())),
                mss: Some(announced_mss(self.mss)),
                ..Tcp::default()
            },
            Message::Request(Request { flags, option, stamps }) => Tcp {
                seq: 1,
                ack: Some(1),
                payload: REQUEST as u32,
                push: true,
                flags,
                window: self.window_of_client(),
                stamps: Some(stamps.words()),
                accecn: option.then(|| INITIAL_BYTES.in_order()),
                ..Tcp::default()
            },
            Message::Ack(ack) => self.acknowledgement(&ack),
            Message::Quic(_) => Tcp::default(),
        }
    }

    /// The header of an acknowledgement: on the wire the stream begins behind the SYN.
    fn acknowledgement(&self, ack: &Ack) -> Tcp {
        // FIN takes a number, too.
        let fin = u64::from(self.supply.is_over(ack.cumulative));
        let mut sacks = [(0, 0); 3];
        sacks
            .iter_mut()
            .zip(ack.blocks())
            .for_each(|(sack, (from, to))| *sack = (1 + from, 1 + to));
        Tcp {
            seq: 1 + REQUEST,
            ack: Some(1 + ack.cumulative + fin),
            flags: if self.accurate_ecn {
                EcnFlags::of_ace(ack.ace)
            } else {
                EcnFlags { ece: ack.ece, ..EcnFlags::default() }
            },
            window: ack.window.into(),
            stamps: Some(ack.stamps.words()),
            sacks,
            accecn: ack.option.map(ByteCounters::in_order),
            ..Tcp::default()
        }
    }
}
