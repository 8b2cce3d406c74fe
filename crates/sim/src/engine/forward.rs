//! Events of disciplines and senders, on their way to the observer.

use l4s_aqm::{DropCause, MarkCause, Queue, Watch};
use l4s_observe::{HopEvent, Observer};
use l4s_units::{Duration, Time};

use crate::mail::Mail;
use crate::packet::{Owner, Packet, Segment, SynAck};
use crate::quic;
use crate::tcp::Output;

/// Forwards the events of the bottleneck's discipline to the observer.
pub(super) struct Forward<'a, O> {
    pub observer: &'a mut O,
    pub mail: &'a mut Mail,
}

/// The message of a packet that was dropped is no longer kept.
#[cold]
fn discard(packet: &Packet, mail: &mut Mail) {
    if let Some(place) = packet.kept_at() {
        mail.take(place);
    }
}

impl<O: Observer<Packet>> Watch<Packet> for Forward<'_, O> {
    #[inline]
    fn marked(&mut self, packet: &Packet, queue: Queue, cause: MarkCause, now: Time) {
        self.observer.marked(packet, queue, cause, now);
    }

    #[inline]
    fn dropped(&mut self, packet: Packet, queue: Queue, cause: DropCause, now: Time) {
        self.observer.dropped(&packet, queue, cause, now);
        discard(&packet, self.mail);
    }
}

/// Forwards the events of a discipline of a hop to the observer.
pub(super) struct ForwardOfHop<'a, O> {
    pub observer: &'a mut O,
    pub mail: &'a mut Mail,
    pub hop: u16,
}

impl<O: Observer<Packet>> Watch<Packet> for ForwardOfHop<'_, O> {
    fn marked(&mut self, packet: &Packet, queue: Queue, cause: MarkCause, now: Time) {
        self.observer.at_hop(self.hop, packet, queue, HopEvent::Marked(cause), now);
    }

    fn dropped(&mut self, packet: Packet, queue: Queue, cause: DropCause, now: Time) {
        self.observer.at_hop(self.hop, &packet, queue, HopEvent::Dropped(cause), now);
        discard(&packet, self.mail);
    }
}

/// Where a sender's segments go.
pub(super) struct Outbox<'a, O> {
    pub packets: &'a mut Vec<Packet>,
    pub observer: &'a mut O,
    pub owner: Owner,
    pub now: Time,
}

impl<O: Observer<Packet>> Output for Outbox<'_, O> {
    #[inline(always)]
    fn send(&mut self, segment: Segment, retransmission: bool) {
        self.packets.push(Packet::segment(self.owner, segment));
        if retransmission {
            self.observer.retransmitted(self.owner.flow, self.now);
        }
    }

    fn send_syn_ack(&mut self, syn_ack: SynAck) {
        self.packets.push(Packet::syn_ack(self.owner, syn_ack));
    }

    #[inline]
    fn round_trip(&mut self, rtt: Duration) {
        self.observer.round_trip(self.owner.flow, rtt, self.now);
    }
}

impl<O: Observer<Packet>> quic::Output for Outbox<'_, O> {
    fn send_datagram(&mut self, datagram: quic::Datagram, again: bool) {
        self.packets.push(Packet::quic(self.owner, &datagram));
        if again {
            self.observer.retransmitted(self.owner.flow, self.now);
        }
    }

    fn measured(&mut self, rtt: Duration) {
        self.observer.round_trip(self.owner.flow, rtt, self.now);
    }
}
