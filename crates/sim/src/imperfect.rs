//! The packets of the simulator on imperfect stretches.

use l4s_bottleneck::{Traveller, Wayside};
use l4s_model::{AccEcnMangling, PathEvent, SourceId};
use l4s_observe::{EcnFlags, Observer};
use l4s_units::{Ecn, Time};

use crate::message::Message;
use crate::packet::{Owner, Packet};

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wayfarer {
    /// Of a server, or of a UDP source.
    Data(Packet),
    /// Of a client.
    Answer(Letter),
}

/// A message of a client, and its IP packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Letter {
    pub owner: Owner,
    pub message: Message,
    pub ecn: Ecn,
    /// A bit of it is inverted: the server drops it.
    pub corrupt: bool,
}

/// Forwards the events of stretches to the observer. Packets are values here, so that there is room for any
/// copy.
pub(crate) struct ForwardOfPath<'a, O>(pub &'a mut O);

impl<O: Observer<Packet>, P: Traveller + Copy> Wayside<P> for ForwardOfPath<'_, O> {
    fn happened(&mut self, path: u16, packet: &P, what: PathEvent, now: Time) {
        self.0.at_path(path, packet.source(), what, now);
    }

    fn copy(&mut self, packet: &P) -> Option<P> {
        Some(*packet)
    }

    fn lost(&mut self, _: P) {}
}

impl Traveller for Wayfarer {
    fn source(&self) -> SourceId {
        match self {
            Wayfarer::Data(packet) => packet.group(),
            Wayfarer::Answer(letter) => letter.owner.group,
        }
    }

    fn ecn(&self) -> Ecn {
        match self {
            Wayfarer::Data(packet) => packet.ecn(),
            Wayfarer::Answer(letter) => letter.ecn,
        }
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        match self {
            Wayfarer::Data(packet) => packet.become_ecn(ecn),
            Wayfarer::Answer(letter) => letter.become_ecn(ecn),
        }
    }

    fn corrupt(&mut self, _: u32) {
        match self {
            Wayfarer::Data(packet) => packet.corrupt(),
            Wayfarer::Answer(letter) => letter.corrupt = true,
        }
    }

    fn mangle_accecn(&mut self, mangling: AccEcnMangling) -> bool {
        match self {
            // Nobody reads the ACE field of a server here, as clients send no data but their request.
            Wayfarer::Data(packet) => mangling == AccEcnMangling::Strip && packet.strip_option(),
            Wayfarer::Answer(letter) => letter.mangle_accecn(mangling),
        }
    }

    /// Every packet has the default DSCP here.
    fn wash_dscp(&mut self) -> bool {
        false
    }
}

impl Letter {
    /// The server reads the codepoint of a SYN alone.
    fn become_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
        if let Message::Syn(syn) = &mut self.message {
            syn.ecn = ecn;
        }
    }

    fn mangle_accecn(&mut self, mangling: AccEcnMangling) -> bool {
        match (mangling, &mut self.message) {
            (AccEcnMangling::Pass, _) | (_, Message::Syn(_)) => false,
            (AccEcnMangling::Strip, Message::Request(request)) => {
                core::mem::take(&mut request.option)
            }
            (AccEcnMangling::Strip, Message::Ack(ack)) => ack.option.take().is_some(),
            (AccEcnMangling::ClearAce, Message::Request(request)) => {
                core::mem::take(&mut request.flags) != EcnFlags::default()
            }
            // It is encrypted.
            (_, Message::Quic(_)) => false,
            (AccEcnMangling::ClearAce, Message::Ack(ack)) => core::mem::take(&mut ack.ace) != 0,
        }
    }
}
