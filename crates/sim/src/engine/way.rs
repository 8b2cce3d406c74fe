//! The parts of a way beside the bottleneck: further links, imperfect stretches, and the queues that messages of
//! clients pass before their return line.

use l4s_aqm::Departure;
use l4s_bottleneck::{Next, Successor, Where};
use l4s_model::Change;
use l4s_observe::{HopEvent, Observer};
use l4s_units::Time;

use super::{Engine, ForwardOfHop, Part};
use crate::imperfect::{ForwardOfPath, Letter, Wayfarer};
use crate::message::Message;
use crate::packet::{Owner, Packet};
use crate::schedule::Event;

impl<O: Observer<Packet>, P: Part<O>> Engine<O, P> {
    /// A packet that is so far along its path comes to the next queue there, or to the end of the queues.
    pub(super) fn pass_on(&mut self, mut packet: Packet, along: usize, now: Time) {
        packet.arrive();
        match self.hops.next(along, packet.flow(), packet.group()) {
            Next::Bottleneck => self.enqueue(packet, now),
            Next::End => self.end(packet, now),
            Next::Link(number) => {
                let link = self.hops.link(number);
                let (observer, mail) = (&mut self.observer, &mut self.mail);
                let mut watch = ForwardOfHop { observer, mail, hop: link.hop };
                link.enqueue(packet, now, &mut watch);
                self.transmit_on(number, now);
            }
        }
    }

    /// A packet has every queue behind it. A mark on a client's message has no effect: acknowledgements are
    /// not feedback on acknowledgements.
    fn end(&mut self, packet: Packet, now: Time) {
        let direction = self.hops.direction(packet.group());
        let (way, packet) = match packet.kept_at() {
            None => (direction, Wayfarer::Data(packet)),
            Some(place) => {
                let (owner, message) = (packet.owner(), self.mail.take(place));
                let (ecn, corrupt) = (packet.ecn(), packet.is_corrupt());
                let letter = Letter { owner, message, ecn, corrupt };
                (direction.reverse(), Wayfarer::Answer(letter))
            }
        };
        match Where::last(way) {
            Some(at) if !self.imperfect.is_perfect(at) => self.enter(at, packet, now),
            _ => self.hand_over(packet, now),
        }
    }

    /// As [`Engine::transmit`], on a link of a hop.
    pub(super) fn transmit_on(&mut self, number: usize, now: Time) {
        let (hop, behind) = (self.hops.link(number).hop, self.hops.link(number).behind);
        while let Some(packet) = self.hops.link(number).queue.land(now) {
            self.pass_on(packet, behind, now);
        }
        loop {
            let link = self.hops.link(number);
            let (observer, mail) = (&mut self.observer, &mut self.mail);
            let departure = link.queue.transmit(now, &mut ForwardOfHop { observer, mail, hop });
            let Some(Departure { packet, queue, sojourn }) = departure else { break };
            self.observer.at_hop(hop, &packet, queue, HopEvent::Departed(sojourn), now);
            if let Some(packet) = self.hops.link(number).queue.carry(packet, now) {
                self.pass_on(packet, behind, now);
            }
        }
        let next = self.hops.link(number).queue.next_transmission();
        self.schedule.update(Event::HopLink(number), next);
    }

    /// The uplink becomes different, if there is one.
    pub(super) fn change_uplink(&mut self, change: &Change, successor: Successor, now: Time) {
        let Some(number) = self.hops.uplink() else { return };
        let link = self.hops.link(number);
        if let Some(rate) = change.uplink_rate {
            link.queue.set_rate(rate, now);
        }
        if let Some(aqm) = &change.uplink_aqm {
            let (observer, mail, hop) = (&mut self.observer, &mut self.mail, link.hop);
            let mut watch = ForwardOfHop { observer, mail, hop };
            link.queue.replace_aqm(aqm, successor, now, &mut watch);
            let hop = usize::from(hop);
            self.schedule.set(Event::HopTick(hop), self.hops.next_tick(hop));
        }
        self.transmit_on(number, now);
    }

    /// A packet leaves its server, on a way with more than the bottleneck.
    pub(super) fn set_out(&mut self, packet: Packet, now: Time) {
        let way = self.hops.direction(packet.group());
        self.leave(Where::first(way), Wayfarer::Data(packet), now);
    }

    /// A packet leaves the host that sent it.
    fn leave(&mut self, at: Where, packet: Wayfarer, now: Time) {
        if self.imperfect.is_perfect(at) {
            self.come_to_queues(packet, now);
        } else {
            self.enter(at, packet, now);
        }
    }

    /// A packet comes to an imperfect place.
    fn enter(&mut self, at: Where, packet: Wayfarer, now: Time) {
        self.imperfect.enter(at, packet, now, &mut ForwardOfPath(&mut self.observer));
        self.come_out(at, now);
    }

    /// Packets that have come to the end of a place go on.
    pub(super) fn come_out(&mut self, at: Where, now: Time) {
        while let Some(packet) = self.imperfect.out(at, now, &mut ForwardOfPath(&mut self.observer))
        {
            match at {
                Where::Before | Where::Up => self.come_to_queues(packet, now),
                Where::Behind => self.hand_over(packet, now),
            }
        }
        self.schedule.update(Event::Stretch(at as usize), self.imperfect.next(at));
    }

    /// A packet has the imperfect stretches before every queue behind it.
    fn come_to_queues(&mut self, packet: Wayfarer, now: Time) {
        match packet {
            Wayfarer::Data(packet) => self.pass_on(packet, self.hops.start(packet.group()), now),
            Wayfarer::Answer(letter) => match self.hops.start_back(letter.owner.group) {
                None => self.hand_over(packet, now),
                Some(start) => {
                    let Letter { owner, message, ecn, corrupt } = letter;
                    let length = message.ip_length();
                    let mut packet = Packet::message(owner, self.mail.put(message), length, ecn);
                    if corrupt {
                        packet.corrupt();
                    }
                    self.pass_on(packet, start, now);
                }
            },
        }
    }

    /// A packet is at its host, which drops it if its checksum is wrong, or at the line to that.
    fn hand_over(&mut self, packet: Wayfarer, now: Time) {
        match packet {
            Wayfarer::Data(packet) if !packet.is_udp() && !packet.is_corrupt() => {
                self.deliver(&packet, now);
            }
            Wayfarer::Answer(Letter { owner, message, corrupt: false, .. }) => {
                self.send_on_line(owner, message, now);
            }
            _ => {}
        }
    }

    pub(super) fn send_back(&mut self, from: Owner, message: Message, now: Time) {
        if self.ack_loss.takes(&message) {
            return;
        }
        if self.lines[from.group.index()].is_straight {
            return self.send_on_line(from, message, now);
        }
        self.answers.push_back((from, message));
        self.send_answers(now);
    }

    /// Messages of clients set out on a way with imperfect stretches or queues. A queue may let data pass, whose
    /// clients answer in turn.
    #[inline(never)]
    pub(super) fn send_answers(&mut self, now: Time) {
        while let Some((owner, message)) = self.answers.pop_front() {
            let Some(flow) = self.connections.of(owner.slot, owner.flow) else { continue };
            let ecn = flow.server.ecn_of(&message);
            let letter = Letter { owner, message, ecn, corrupt: false };
            let way = self.hops.direction(owner.group).reverse();
            self.leave(Where::first(way), Wayfarer::Answer(letter), now);
        }
    }

    /// A message sets out on its return line.
    fn send_on_line(&mut self, from: Owner, message: Message, now: Time) {
        let group = from.group.index();
        let line = &mut self.lines[group];
        line.send(from.flow, from.slot, message, now);
        if P::SERVERS {
            self.schedule.set(Event::Line(group), line.next());
        }
    }
}
