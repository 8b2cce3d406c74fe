//! The imperfect stretches of a run, and the packets on them.
//!
//! ```text
//! server ─▶ before ─▶ hops ─▶ bottleneck ─▶ hops ─▶ behind ─▶ client
//!    ▲                                                          │
//!    └────────── delay ◀───── uplink ◀───────── up ◀────────────┘
//! ```
//!
//! On the way up a stretch before the bottleneck and one behind it are in one place, before the uplink if there is
//! one: the former first.

use l4s_bottleneck::{Stretches, Traveller, Wayside};
use l4s_model::{AccEcnMangling, Direction, PathEvent, Scenario, Side, SourceId};
use l4s_observe::{EcnFlags, Observer};
use l4s_units::{Ecn, Time};

use crate::packet::{Message, Owner, Packet};

/// Where a group of stretches is. Its number is that of its event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Where {
    Before,
    Behind,
    Up,
}

impl Where {
    pub const ALL: [Where; 3] = [Where::Before, Where::Behind, Where::Up];
}

/// A packet of a client on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Climber {
    pub owner: Owner,
    pub message: Message,
    /// A bit of it is inverted: the server drops it.
    pub corrupt: bool,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Imperfect {
    /// Down, before the bottleneck and behind it.
    pub before: Stretches<Packet>,
    pub behind: Stretches<Packet>,
    up: [Stretches<Climber>; 2],
    /// Whether nothing on the way up is imperfect.
    pub up_is_perfect: bool,
}

impl Imperfect {
    pub fn new(scenario: &Scenario) -> Imperfect {
        let down = |side| Stretches::new(scenario, Direction::Down, side);
        let up = |side| Stretches::new(scenario, Direction::Up, side);
        let up = [up(Side::Before), up(Side::Behind)];
        Imperfect {
            before: down(Side::Before),
            behind: down(Side::Behind),
            up_is_perfect: up.iter().all(Stretches::is_empty),
            up,
        }
    }

    /// Whether nothing on the way down is imperfect.
    pub fn down_is_perfect(&self) -> bool {
        self.before.is_empty() && self.behind.is_empty()
    }

    /// When the next packet comes to the end of a stretch there.
    pub fn next(&self, at: Where) -> Time {
        match at {
            Where::Before => self.before.next(),
            Where::Behind => self.behind.next(),
            Where::Up => self.up[0].next().min(self.up[1].next()),
        }
    }

    /// A packet of a client sets out.
    pub fn climb<O: Observer<Packet>>(&mut self, packet: Climber, now: Time, observer: &mut O) {
        self.up[0].enter(packet, now, &mut ForwardOfPath(observer));
    }

    /// The next packet that has come to the end of the way up.
    pub fn top<O: Observer<Packet>>(&mut self, now: Time, observer: &mut O) -> Option<Climber> {
        let [first, second] = &mut self.up;
        while let Some(packet) = first.out(now, &mut ForwardOfPath(observer)) {
            second.enter(packet, now, &mut ForwardOfPath(observer));
        }
        second.out(now, &mut ForwardOfPath(observer))
    }
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
