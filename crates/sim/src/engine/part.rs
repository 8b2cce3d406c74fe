//! The part of a run that an engine does, and the order of events that all parts share.

use core::num::NonZero;

use l4s_units::Time;

use crate::packet::Packet;

/// The part of a run that an engine does: all of it, or one of the halves that run beside each other
/// ([`super::halves`]).
pub(crate) trait Part<O> {
    /// Whether it has the servers.
    const SERVERS: bool;
    /// Whether it has the bottleneck, and the path before it.
    const BOTTLENECK: bool;
    /// Whether it has the path behind the bottleneck, and the clients.
    const CLIENTS: bool;
    /// An event begins.
    #[inline(always)]
    fn begins(_: &mut O, _: Turn) {}
    /// A packet leaves its server, in a part without the bottleneck.
    #[inline(always)]
    fn sent(_: &mut O, _: &Packet) {}
    /// All of the long flow at this place is acknowledged.
    fn finished(_: &mut O, _: u32) {}
}

/// A run as a whole.
pub(crate) struct Whole;

impl<O> Part<O> for Whole {
    const SERVERS: bool = true;
    const BOTTLENECK: bool = true;
    const CLIENTS: bool = true;
}

/// When an event has its turn: events are in the order of this.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Turn {
    pub time: Time,
    /// The [number](crate::schedule::Schedule::number) of its source, and one: so `Option<Turn>` takes no more memory.
    source: NonZero<u32>,
    /// The number of the timer that fires, if one does.
    timer: u32,
}

impl Turn {
    #[inline(always)]
    pub fn new(time: Time, source: usize, timer: u32) -> Turn {
        Turn { time, source: NonZero::<u32>::MIN.saturating_add(source as u32), timer }
    }
}
