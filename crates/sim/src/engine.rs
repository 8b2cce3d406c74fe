//! The event engine: servers, one bottleneck, clients, and a return path of constant delay.
//!
//! ```text
//!  server A ──┐                         ┌── client A
//!             ├─▶ AQM ─▶ shaper ────────┤
//!  server B ──┘                         └── client B
//!      ▲                                      │
//!      └──────── constant delay: the RTT ─────┘
//! ```
//!
//! The extra delay that makes up the base RTT is on the return path, as in DCttH figure 3, and
//! the return path has no queue. So only the link, the heads of the return lines and timers need
//! events; servers and clients act at once.

use std::collections::VecDeque;

use l4s_aqm::{Departure, DropCause, MarkCause, Queue, Watch};
use l4s_bottleneck::Bottleneck;
use l4s_measure::{FlowState, LinkState, Observer};
use l4s_scenario::{EcnMode, Group, Scenario};
use l4s_units::{Bytes, Duration, Ecn, Time};

use crate::calendar::Calendar;
use crate::packet::{Message, Packet, Return, Segment};
use crate::tcp::{Client, Echo, Output, Sender, SenderConfig};
use crate::timers::Timers;
use crate::udp::Source;

/// Fixed sources of events; the return lines of the groups follow, then the UDP sources. Where
/// several fall on the same instant they happen in this order.
const LINK: usize = 0;
const TICK: usize = 1;
const TIMERS: usize = 2;
const OPENINGS: usize = 3;
const SAMPLE: usize = 4;
const LINES: usize = 5;

/// What the engine did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// Events processed.
    pub events: u64,
    /// Packets that the bottleneck forwarded.
    pub packets: u64,
}

/// A connection.
struct Flow {
    group: u16,
    server: Sender,
    client: Client,
}

/// The state of a run.
pub(crate) struct Engine<'a, O> {
    observer: &'a mut O,
    calendar: Calendar,
    bottleneck: Bottleneck<Packet>,
    flows: Vec<Flow>,
    /// Two per flow: the server's, the client's.
    timers: Timers,
    /// Return path of each group: delay, and what is on its way. Its delay is constant, so that
    /// only the head needs an event.
    lines: Vec<(Duration, VecDeque<Return>)>,
    /// Flows to open, the next one last.
    openings: Vec<(Time, u32)>,
    sources: Vec<Source>,
    /// What a sender hands down in one go.
    outbox: Vec<Packet>,
    /// What the flows fetch, by group.
    sizes: Vec<Option<Bytes>>,
    outcome: Outcome,
}

impl<'a, O: Observer<Packet>> Engine<'a, O> {
    pub fn new(scenario: &Scenario, observer: &'a mut O) -> Self {
        let mut flows = Vec::new();
        let mut openings = Vec::new();
        for (number, group) in scenario.groups.iter().enumerate() {
            let (ecn, echo) = negotiated(group);
            let config = SenderConfig {
                cc: group.cc.clone(),
                ecn,
                ecn_on_everything: matches!(echo, Echo::Dctcp | Echo::Accurate),
                accurate_ecn: echo == Echo::Accurate,
                size: group.size.map(Bytes::get),
            };
            for start in &group.starts {
                openings.push((*start, flows.len() as u32));
                let server = Sender::new(&config);
                let client = Client::new(server.segments(), echo, group.rtt);
                flows.push(Flow { group: number as u16, server, client });
            }
        }
        openings.sort_unstable_by(|a, b| b.cmp(a));
        let (groups, connections) = (scenario.groups.len(), flows.len());
        let sources: Vec<Source> = scenario
            .udp
            .iter()
            .enumerate()
            .map(|(n, udp)| Source::new(udp, (connections + n) as u32, (groups + n) as u16))
            .collect();

        let mut calendar = Calendar::new(LINES + groups + sources.len());
        let bottleneck = Bottleneck::new(&scenario.link, &scenario.aqm, scenario.seed);
        calendar.set(TICK, bottleneck.next_tick());
        calendar.set(OPENINGS, openings.last().map_or(Time::NEVER, |o| o.0));
        let sampling = observer.sampling_interval();
        calendar.set(SAMPLE, sampling.map_or(Time::NEVER, |interval| Time::ZERO + interval));
        for (n, source) in sources.iter().enumerate() {
            calendar.set(LINES + groups + n, source.next());
        }
        Engine {
            observer,
            calendar,
            bottleneck,
            timers: Timers::with_capacity(2 * connections),
            lines: scenario.groups.iter().map(|g| (g.rtt, VecDeque::new())).collect(),
            sizes: scenario.groups.iter().map(|g| g.size).collect(),
            flows,
            openings,
            sources,
            outbox: Vec::new(),
            outcome: Outcome::default(),
        }
    }

    /// Runs to `end`, inclusive.
    pub fn run(mut self, end: Time) -> Outcome {
        loop {
            let (now, source) = self.calendar.next();
            if now > end {
                return self.outcome;
            }
            self.outcome.events += 1;
            match source {
                LINK => self.transmit(now),
                TICK => {
                    self.bottleneck.tick(now);
                    self.calendar.set(TICK, self.bottleneck.next_tick());
                }
                TIMERS => self.fire(now),
                OPENINGS => self.open(now),
                SAMPLE => self.sample(now),
                _ if source < LINES + self.lines.len() => self.receive(source - LINES, now),
                _ => self.emit(source - LINES - self.lines.len(), now),
            }
        }
    }

    // --- The way down: server, bottleneck, client --------------------------------------------

    /// Enqueues what a server or a source sent; each packet may start at once on a free link.
    #[inline]
    fn enqueue(&mut self, packet: Packet, now: Time) {
        self.observer.arrived(&packet, now);
        self.bottleneck.enqueue(packet, now, &mut Told(self.observer));
        self.transmit(now);
    }

    /// Starts transmissions while the link allows it.
    #[inline]
    fn transmit(&mut self, now: Time) {
        while let Some(departure) = self.bottleneck.transmit(now, &mut Told(self.observer)) {
            let Departure { packet, queue, sojourn } = departure;
            self.outcome.packets += 1;
            self.observer.departed(&packet, queue, sojourn, now);
            if !packet.is_udp() {
                self.deliver(&packet, now);
            }
        }
        let next = self.bottleneck.next_transmission();
        if next != self.calendar.get(LINK) {
            self.calendar.set(LINK, next);
        }
    }

    #[inline]
    fn deliver(&mut self, packet: &Packet, now: Time) {
        let flow = &mut self.flows[packet.flow as usize];
        let was_closed = flow.client.is_closed();
        let line = &mut self.lines[usize::from(flow.group)];
        let was_empty = line.1.is_empty();
        let arrives = now + line.0;
        flow.client.on_packet(packet, now, |message| {
            line.1.push_back(Return { arrives, flow: packet.flow, message });
        });
        if was_empty && !line.1.is_empty() {
            self.calendar.set(LINES + usize::from(flow.group), arrives);
        }
        if flow.client.is_closed() && !was_closed {
            self.observer.closed(packet.flow, now);
        }
        let deadline = flow.client.deadline();
        self.set_timer(2 * packet.flow + 1, deadline);
    }

    // --- The way back: client, return line, server -------------------------------------------

    fn send_back(&mut self, flow: u32, message: Message, now: Time) {
        let group = usize::from(self.flows[flow as usize].group);
        let (delay, line) = &mut self.lines[group];
        let arrives = now + *delay;
        line.push_back(Return { arrives, flow, message });
        if line.len() == 1 {
            self.calendar.set(LINES + group, arrives);
        }
    }

    /// The head of a return line arrives at its server.
    #[inline]
    fn receive(&mut self, group: usize, now: Time) {
        let line = &mut self.lines[group].1;
        let Some(Return { flow, message, .. }) = line.pop_front() else { return };
        let next = line.front().map_or(Time::NEVER, |r| r.arrives);
        self.calendar.set(LINES + group, next);
        self.serve(flow, now, |server, out| match message {
            Message::Syn => server.on_syn(now, out),
            Message::Request => server.on_request(now, out),
            Message::Ack(ack) => server.on_ack(&ack, now, out),
        });
    }

    /// Lets a server act, and sends what it hands down.
    #[inline]
    fn serve(&mut self, number: u32, now: Time, act: impl FnOnce(&mut Sender, &mut Outbox<'_, O>)) {
        let flow = &mut self.flows[number as usize];
        let mut outbox = core::mem::take(&mut self.outbox);
        let mut out = Outbox {
            packets: &mut outbox,
            observer: self.observer,
            flow: number,
            group: flow.group,
            now,
        };
        act(&mut flow.server, &mut out);
        let deadline = flow.server.deadline();
        self.set_timer(2 * number, deadline);
        for packet in outbox.drain(..) {
            self.enqueue(packet, now);
        }
        self.outbox = outbox;
    }

    // --- Everything else ---------------------------------------------------------------------

    #[inline]
    fn set_timer(&mut self, timer: u32, deadline: Time) {
        self.timers.set(timer, deadline);
        let next = self.timers.next();
        if next != self.calendar.get(TIMERS) {
            self.calendar.set(TIMERS, next);
        }
    }

    /// A timer came up: it is due, or its owner moved it.
    fn fire(&mut self, now: Time) {
        let timer = self.timers.pop();
        self.calendar.set(TIMERS, self.timers.next());
        let Some(timer) = timer else { return };
        let number = timer / 2;
        if timer % 2 == 0 {
            // Not due yet means moved: the server does nothing and its deadline is set anew.
            self.serve(number, now, |server, out| server.on_timer(now, out));
            return;
        }
        let client = &mut self.flows[number as usize].client;
        let message = if client.deadline() <= now { client.on_timer(now) } else { None };
        let deadline = client.deadline();
        self.set_timer(timer, deadline);
        if let Some(message) = message {
            self.send_back(number, message, now);
        }
    }

    fn open(&mut self, now: Time) {
        let Some((_, number)) = self.openings.pop() else { return };
        self.calendar.set(OPENINGS, self.openings.last().map_or(Time::NEVER, |o| o.0));
        let flow = &mut self.flows[number as usize];
        self.observer.opened(number, flow.group, self.sizes[usize::from(flow.group)], now);
        let message = flow.client.open(now);
        let deadline = flow.client.deadline();
        self.set_timer(2 * number + 1, deadline);
        if let Some(message) = message {
            self.send_back(number, message, now);
        }
    }

    fn emit(&mut self, source: usize, now: Time) {
        let packet = self.sources[source].emit();
        self.calendar.set(LINES + self.lines.len() + source, self.sources[source].next());
        self.enqueue(packet, now);
    }

    fn sample(&mut self, now: Time) {
        let Some(interval) = self.observer.sampling_interval() else { return };
        self.calendar.set(SAMPLE, now + interval);
        let backlog = self.bottleneck.backlog();
        let link = LinkState {
            packets: backlog.packets as u32,
            bytes: backlog.bytes,
            base: self.bottleneck.signal().map(|s| s.base),
        };
        self.observer.sample_link(link, now);
        for (number, flow) in self.flows.iter().enumerate() {
            let server = &flow.server;
            if server.state().is_established() {
                let window = server.window();
                let state = FlowState {
                    flow: number as u32,
                    group: flow.group,
                    cwnd: window.cwnd,
                    ssthresh: window.threshold(),
                    srtt: server.srtt(),
                    alpha: server.alpha(),
                    socket: None,
                };
                self.observer.sample_flow(state, now);
            }
        }
    }
}

/// What the two ends of a group's connections negotiate: the codepoint of data, and the echo.
fn negotiated(group: &Group) -> (Option<Ecn>, Echo) {
    let wants = group.cc.wants();
    let ecn = match (group.ecn, wants) {
        (EcnMode::Off, _) | (EcnMode::Auto, l4s_cc::WantedEcn::Off) => return (None, Echo::None),
        (EcnMode::Classic, _) | (EcnMode::Auto, l4s_cc::WantedEcn::Classic) => Ecn::Ect0,
        (EcnMode::L4s, _) | (EcnMode::Auto, l4s_cc::WantedEcn::L4s) => Ecn::Ect1,
    };
    let echo = match wants {
        l4s_cc::WantedEcn::Off => Echo::Classic,
        l4s_cc::WantedEcn::L4s if ecn == Ecn::Ect1 => Echo::Accurate,
        _ => Echo::Dctcp,
    };
    (Some(ecn), echo)
}

/// Passes on what a discipline tells.
struct Told<'a, O>(&'a mut O);

impl<O: Observer<Packet>> Watch<Packet> for Told<'_, O> {
    #[inline]
    fn marked(&mut self, packet: &Packet, queue: Queue, cause: MarkCause, now: Time) {
        self.0.marked(packet, queue, cause, now);
    }

    #[inline]
    fn dropped(&mut self, packet: Packet, queue: Queue, cause: DropCause, now: Time) {
        self.0.dropped(&packet, queue, cause, now);
    }
}

/// Where a sender's segments go.
struct Outbox<'a, O> {
    packets: &'a mut Vec<Packet>,
    observer: &'a mut O,
    flow: u32,
    group: u16,
    now: Time,
}

impl<O: Observer<Packet>> Output for Outbox<'_, O> {
    #[inline]
    fn send(&mut self, segment: Segment, retransmission: bool) {
        self.packets.push(Packet::segment(self.flow, self.group, &segment));
        if retransmission {
            self.observer.retransmitted(self.flow, self.now);
        }
    }

    fn send_syn_ack(&mut self, ecn: Ecn) {
        self.packets.push(Packet::syn_ack(self.flow, self.group, ecn));
    }

    #[inline]
    fn round_trip(&mut self, rtt: Duration) {
        self.observer.round_trip(self.flow, rtt, self.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow that waits for its turn costs its structure, two timer slots and nothing else: no
    /// buffer is allocated before the first segment.
    #[test]
    fn an_idle_flow_takes_less_than_two_kibibytes() {
        let flow = size_of::<Flow>() + 2 * size_of::<Time>() + size_of::<(Time, u32)>();
        assert!(flow <= 1024, "{flow} B");
    }
}
