//! How a run becomes another scenario while it goes on.

use l4s_bottleneck::Successor;
use l4s_model::{Change, FlowId, Group, Scenario, SourceId};
use l4s_observe::Observer;
use l4s_units::Time;

use super::{Engine, Part};
use crate::packet::Packet;
use crate::schedule::Event;

impl<O: Observer<Packet>, P: Part<O>> Engine<O, P> {
    /// Takes over the differences of `new`, which [`Scenario::adaptable`] allows.
    pub fn adapt(&mut self, old: &Scenario, new: &Scenario, now: Time) {
        self.change(&Change::between(old, new, now), Successor::Inherit, now);
        for (number, (old, new)) in old.groups.iter().zip(&new.groups).enumerate() {
            self.adapt_group(SourceId::new(number as u16), old, new, now);
        }
        for (number, (old, new)) in old.web.iter().zip(&new.web).enumerate() {
            if new != old {
                self.agenda.adapt_web(number, new, now);
            }
        }
        self.schedule.set(Event::Agenda, self.agenda.next());
        self.adapt_writers(new, now);
        for (number, (old, new)) in old.udp.iter().zip(&new.udp).enumerate() {
            if new != old {
                self.sources[number].adapt(new, now);
                self.schedule.set(Event::Udp(number), self.sources[number].next());
            }
        }
        self.observer.adapted(new, now);
    }

    fn adapt_group(&mut self, number: SourceId, old: &Group, new: &Group, now: Time) {
        let others = !old.keeps_connections(new);
        if !others && old.starts.len() == new.starts.len() {
            return;
        }
        let place = number.index();
        (0..self.connections.places() as u32).for_each(|slot| {
            if self.connections.unopened(slot).is_some_and(|(group, _)| group == number) {
                self.connect(slot);
            }
        });
        if others {
            self.kinds[place] = self.kinds[place].adapted(new);
            self.sizes[place] = new.size;
        }
        let (mut apps, mut long): (Vec<_>, Vec<_>) = (self.connections.opened(number))
            .partition(|(_, slot)| self.writers.at(*slot).is_some());
        if others {
            for (flow, slot) in long.iter_mut().chain(&mut apps) {
                *flow = self.open_anew(*slot, number, new, now);
            }
        }
        // The youngest have the highest numbers, not the highest places.
        long.sort_unstable();
        for &(_, slot) in long.iter().skip(new.starts.len()) {
            self.give_up(slot, now);
        }
        for _ in long.len()..new.starts.len() {
            let flow = self.agenda.next_flow();
            let ends = self.kinds[place].ends(new.size);
            let slot = self.connections.begin(flow, number, true, ends, now);
            self.timers.grow(2 * self.connections.places());
            self.open(slot, new.size, now);
        }
    }

    fn adapt_writers(&mut self, new: &Scenario, now: Time) {
        for number in 0..self.writers.all().len() {
            let writer = self.writers.get(number);
            if writer.adapt(&new.apps[writer.app], now) {
                let next = self.writers.get(number).frames.next();
                self.schedule.set(Event::Writer(number), next);
            }
        }
    }

    /// Closes a connection on both ends at once: its packets on the way are dropped.
    pub(super) fn give_up(&mut self, slot: u32, now: Time) {
        self.conclude(slot, now);
        self.connections.end(slot);
    }

    /// Another connection takes the place of a lasting one, as the group's are now; its flow.
    fn open_anew(&mut self, slot: u32, number: SourceId, group: &Group, now: Time) -> FlowId {
        self.conclude(slot, now);
        let writer = self.writers.at(slot);
        let size = group.size.filter(|_| writer.is_none());
        let (mut server, client) = self.kinds[number.index()].ends(size);
        if let Some(writer) = writer {
            server.serve_application(self.writers.get(writer).hold);
        }
        let flow = self.agenda.next_flow();
        self.connections.replace(slot, flow, number, (server, client));
        if let Some(writer) = writer {
            self.writers.get(writer).begin_anew(flow);
            self.schedule.set(Event::Writer(writer), Time::NEVER);
        }
        self.open(slot, size, now);
        flow
    }
}
