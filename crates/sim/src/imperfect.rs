//! The packets of the simulator on imperfect stretches.

use l4s_bottleneck::{Traveller, Wayside};
use l4s_model::{AccEcnMangling, PathEvent, SourceId};
use l4s_observe::{EcnFlags, Observer};
use l4s_units::{Ecn, Time};

use crate::packet::{Message, Owner, Packet};

/// A packet of a client on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Climber {
    pub owner: Owner,
    pub message: Message,
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

impl Traveller for Packet {
    fn source(&self) -> SourceId {
        self.group
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.become_ecn(ecn);
    }

    fn corrupt(&mut self, _: u32) {
        self.corrupt = true;
    }

    /// Nobody reads the ACE field of a server here, as clients send no data but their request.
    fn mangle_accecn(&mut self, mangling: AccEcnMangling) -> bool {
        mangling == AccEcnMangling::Strip && self.strip_option()
    }
}

impl Traveller for Climber {
    fn source(&self) -> SourceId {
        self.owner.group
    }

    /// Of a SYN. Nobody reads the codepoint of the others here, as no queue on the way up marks them.
    fn ecn(&self) -> Ecn {
        if let Message::Syn(syn) = &self.message { syn.ecn } else { Ecn::NotEct }
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        if let Message::Syn(syn) = &mut self.message {
            syn.ecn = ecn;
        }
    }

    fn corrupt(&mut self, _: u32) {
        self.corrupt = true;
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
            (AccEcnMangling::ClearAce, Message::Ack(ack)) => core::mem::take(&mut ack.ace) != 0,
        }
    }
}
