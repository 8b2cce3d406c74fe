//! Looks at a run: the state of its links and flows, as often as the observer asks for it.

use l4s_bottleneck::Bottleneck;
use l4s_observe::{FlowState, LinkState, Observer};
use l4s_units::Time;

use super::{Engine, Part};
use crate::packet::Packet;
use crate::schedule::Event;

impl<O: Observer<Packet>, P: Part<O>> Engine<O, P> {
    pub(super) fn sample(&mut self, now: Time) {
        // A look at a run is no event of it: its numbers do not depend on observers.
        self.outcome.events -= 1;
        let Some(interval) = self.observer.sampling_interval() else { return };
        self.schedule.set(Event::Sample, now + interval);
        self.tell_state(now);
    }

    /// Reports the state of the link and of every lasting flow.
    pub fn tell_state(&mut self, now: Time) {
        if P::BOTTLENECK {
            if let Some(number) = self.hops.uplink() {
                let state = link_state(&self.hops.link(number).queue, now);
                self.observer.sample_uplink(state, now);
            }
            self.observer.sample_link(link_state(&self.bottleneck, now), now);
        }
        if !P::SERVERS || !self.observer.wants().flows {
            return;
        }
        for flow in self.connections.lasting() {
            let server = &flow.server;
            if server.is_established() {
                let window = server.window();
                let state = FlowState {
                    flow: flow.owner.flow,
                    group: flow.owner.group,
                    is_app: self.writers.at(flow.owner.slot).is_some(),
                    cwnd: window.cwnd,
                    ssthresh: window.threshold(),
                    srtt: server.srtt(),
                    alpha: server.alpha(),
                    classic_ecn: server.classic_ecn(),
                    socket: None,
                };
                self.observer.sample_flow(state, now);
            }
        }
    }
}

/// A link now.
fn link_state(link: &Bottleneck<Packet>, now: Time) -> LinkState {
    LinkState::new(link.backlog(), link.owed(now), link.signal())
}
