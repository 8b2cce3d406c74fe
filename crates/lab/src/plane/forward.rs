//! The ends of packets on the way, as disciplines and stretches report them: to the observer, to the counters of
//! their pair, and back to the pool.

use l4s_aqm::{DropCause, MarkCause, Queue, Watch};
use l4s_bottleneck::{Ack, Acknowledgements, Wayside};
use l4s_model::PathEvent;
use l4s_observe::{HopEvent, Observer, Traced};
use l4s_units::Time;

use super::Pair;
use crate::acks::Headers;
use crate::frame::Frame;
use crate::pool::Pool;
use crate::recognised::Recognised;

/// Forwards the events of the bottleneck's discipline to the observer.
pub(super) struct Forward<'a> {
    pub observer: &'a mut dyn Observer<Frame>,
    pub pairs: &'a mut [Pair],
    pub pool: &'a mut Pool,
    pub recognised: Option<&'a mut Recognised>,
    pub now: Time,
}

impl Watch<Frame> for Forward<'_> {
    #[inline]
    fn marked(&mut self, packet: &Frame, queue: Queue, cause: MarkCause, now: Time) {
        self.observer.marked(packet, queue, cause, now);
        if let Some(recognised) = &mut self.recognised {
            recognised.marked(packet);
        }
    }

    #[inline]
    fn dropped(&mut self, packet: Frame, queue: Queue, cause: DropCause, now: Time) {
        self.observer.dropped(&packet, queue, cause, now);
        if let Some(recognised) = &mut self.recognised {
            recognised.dropped(&packet);
        }
        discard(packet, self.pairs, self.pool);
    }
}

/// Forwards the events of the discipline of a further link.
pub(super) struct ForwardOfHop<'a> {
    pub hop: u16,
    pub observer: &'a mut dyn Observer<Frame>,
    pub pairs: &'a mut [Pair],
    pub pool: &'a mut Pool,
}

impl Watch<Frame> for ForwardOfHop<'_> {
    fn marked(&mut self, packet: &Frame, queue: Queue, cause: MarkCause, now: Time) {
        self.observer.at_hop(self.hop, packet, queue, HopEvent::Marked(cause), now);
    }

    fn dropped(&mut self, packet: Frame, queue: Queue, cause: DropCause, now: Time) {
        self.observer.at_hop(self.hop, &packet, queue, HopEvent::Dropped(cause), now);
        discard(packet, self.pairs, self.pool);
    }
}

impl Acknowledgements<Frame> for ForwardOfHop<'_> {
    #[inline]
    fn are_of_one_flow(&self, one: &Frame, other: &Frame) -> bool {
        Headers.are_of_one_flow(one, other)
    }

    fn acknowledgement(&self, packet: &Frame) -> Option<Ack> {
        Headers.acknowledgement(packet)
    }
}

/// Forwards the events of imperfect stretches, and has the buffers of their packets.
pub(super) struct ForwardOfPath<'a> {
    pub observer: &'a mut dyn Observer<Frame>,
    pub pairs: &'a mut [Pair],
    pub pool: &'a mut Pool,
}

impl Wayside<Frame> for ForwardOfPath<'_> {
    fn happened(&mut self, path: u16, packet: &Frame, what: PathEvent, now: Time) {
        self.observer.at_path(path, packet.group(), what, now);
    }

    fn copy(&mut self, packet: &Frame) -> Option<Frame> {
        let buffer = self.pool.take();
        if self.pool.is_exhausted() {
            self.pool.give(buffer);
            return None;
        }
        self.pairs[packet.group().index()].from(packet.from()).copied += 1;
        Some(packet.copy_into(buffer))
    }

    fn lost(&mut self, packet: Frame) {
        self.pairs[packet.group().index()].from(packet.from()).lost += 1;
        self.pool.give(packet.into_buffer());
    }
}

/// Counts a packet that was dropped, and reuses its buffer.
fn discard(packet: Frame, pairs: &mut [Pair], pool: &mut Pool) {
    pairs[packet.group().index()].from(packet.from()).dropped += 1;
    pool.give(packet.into_buffer());
}
