//! What a client sends, as it is on the wire.

use l4s_model::SourceId;
use l4s_observe::{Contents, EcnFlags, Header, OnWire, Tcp, Wire};
use l4s_units::Ecn;

use super::Sender;
use crate::packet::{ACE, Ack, Message, REQUEST, Return, Stamp};
use crate::tcp::buffer;

/// A message that arrives at its server.
pub(crate) struct Answer<'a> {
    pub returned: &'a Return,
    pub group: SourceId,
    pub server: &'a Sender,
}

impl OnWire for Answer<'_> {
    fn wire(&self) -> Wire<'_> {
        let (ecn, tcp) = self.server.answer(&self.returned.message);
        let contents = Contents::Headers(ecn, Header::Tcp(tcp));
        Wire { flow: self.returned.flow, group: self.group, contents }
    }
}

impl Sender {
    /// The ECN field and the header of a client's message.
    fn answer(&self, message: &Message) -> (Ecn, Tcp) {
        match *message {
            Message::Syn(sent) => {
                let syn = Tcp {
                    syn: true,
                    flags: self.offer(),
                    window: buffer::INITIAL,
                    stamps: Some((sent.word(), Stamp::default().word())),
                    ..Tcp::default()
                };
                (self.control_ecn(), syn)
            }
            Message::Request(stamps) => {
                // RFC 9768 §3.2.2.1, table 3: the first ACE field tells how the SYN-ACK arrived, by the
                // codes with which that tells of the SYN. Its mark is not modelled.
                let accurate = self.accurate_ecn;
                let flags = if accurate { self.answer_to_syn() } else { EcnFlags::default() };
                let request = Tcp {
                    seq: 1,
                    ack: Some(1),
                    payload: REQUEST as u32,
                    push: true,
                    flags,
                    window: buffer::INITIAL,
                    stamps: Some(stamps.words()),
                    ..Tcp::default()
                };
                (self.ecn.unwrap_or_default(), request)
            }
            Message::Ack(ack) => (self.control_ecn(), self.acknowledgement(&ack)),
        }
    }

    /// The ECN flags of the SYN (RFC 3168 §6.1.1, RFC 9768 §3.1.1).
    fn offer(&self) -> EcnFlags {
        match self.ecn {
            None => EcnFlags::default(),
            Some(_) => EcnFlags { ae: self.accurate_ecn, cwr: true, ece: true },
        }
    }

    /// The header of an acknowledgement: on the wire the stream begins behind the SYN.
    fn acknowledgement(&self, ack: &Ack) -> Tcp {
        // FIN takes a number, too.
        let fin = u64::from(self.supply.is_over(ack.cumulative));
        let first = 1 + ack.cumulative;
        let received = ack.sacks.iter().filter(|(from, to)| from < to);
        let received =
            received.map(|(from, to)| (first + u64::from(*from), first + u64::from(*to)));
        let duplicate = ack.duplicate_block().map(|(from, to)| (1 + from, 1 + to));
        let mut sacks = [(0, 0); 3];
        sacks
            .iter_mut()
            .zip(duplicate.into_iter().chain(received))
            .for_each(|(sack, block)| *sack = block);
        Tcp {
            seq: 1 + REQUEST,
            ack: Some(first + fin),
            flags: if self.accurate_ecn {
                EcnFlags::of_ace(ACE.wrapping_add(ack.ace))
            } else {
                EcnFlags { ece: ack.ece, ..EcnFlags::default() }
            },
            window: ack.window.into(),
            stamps: Some(ack.stamps.words()),
            sacks,
            // RFC 9768 §3.2.1: the counters of ECT begin at 1.
            accecn: ack.ce_bytes.map(|ce| {
                let [ect1, ect0] = ack.ect_bytes.map(|bytes| bytes.wrapping_add(1));
                [ect1, ce, ect0]
            }),
            ..Tcp::default()
        }
    }
}
