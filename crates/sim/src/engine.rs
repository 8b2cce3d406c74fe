//! The event engine: servers, one bottleneck, clients, and a return path with a delay.
//!
//! ```text
//!  server A ──┐                         ┌── client A
//!             ├─▶ AQM ─▶ shaper ────────┤
//!  server B ──┘                         └── client B
//!      ▲                                      │
//!      └───────────── delay: the RTT ─────────┘
//! ```
//!
//! A `[[hop]]` is another queue and shaper before the bottleneck or behind it, and an `[uplink]` one on the
//! return path, before its delay ([`Route`]). A `[[path]]` is an imperfect stretch in front of the former and
//! behind the latter, or on the return path before the uplink ([`Imperfect`]). The connections of a group that
//! sends up are the mirror image: their servers are on the clients' side, their data passes the uplink, and
//! their acknowledgements the bottleneck.
//!
//! The extra delay that makes up the base RTT is on the return path, as in DCttH figure 3, and
//! the return path has no other queue. So only links, the heads of the return lines, timers and scheduled
//! actions need events; servers and clients act at once.

use std::collections::VecDeque;
use std::marker::PhantomData;

use l4s_aqm::{Departure, Packet as _};
use l4s_bottleneck::{
    Bottleneck, Download, Imperfect, Route, Straddling, Successor, Where, stream,
};
use l4s_model::{Change, FlowId, Group, Scenario};
use l4s_observe::{FrameEvent, Observer};
use l4s_units::{Bytes, Duration, Time};

use crate::ack_loss::AckLoss;
use crate::agenda::{Agenda, Item};
use crate::app::Writers;
use crate::connections::{Connections, Flow};
use crate::endpoint::{Answer, Server};
use crate::imperfect::Wayfarer;
use crate::kind::Kind;
use crate::line::Line;
use crate::mail::Mail;
use crate::message::{Message, Return};
use crate::packet::{Owner, Packet};
use crate::schedule::{Event, Schedule};
use crate::timers::Timers;
use crate::udp::Source;
use forward::{Forward, ForwardOfHop, Outbox};
use part::{Part, Turn, Whole};

/// A download of which nothing came for so long is given up. It is the patience of clients and
/// servers of the web: `timeoutIntervalForRequest` of Apple's URLSession and `send_timeout` of nginx
/// are 60 s, each from the last progress on.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often somebody looks.
const LOOK: Duration = Duration::from_secs(1);

/// Counts of the engine.
///
/// Example: [`Simulation`](crate::Simulation).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// Events processed.
    pub events: u64,
    /// Packets that the bottleneck forwarded.
    pub packets: u64,
}

/// The state of a run.
pub(crate) struct Engine<O, P = Whole> {
    part: PhantomData<P>,
    pub observer: O,
    schedule: Schedule,
    bottleneck: Bottleneck<Packet>,
    hops: Route<Packet>,
    imperfect: Imperfect<Wayfarer>,
    /// Whether there is nothing but the bottleneck on the way down.
    direct: bool,
    connections: Connections,
    /// Two per connection: the server's, the client's.
    timers: Timers,
    /// Return path of each group. Only its head needs an event.
    lines: Vec<Line>,
    ack_loss: AckLoss,
    agenda: Agenda,
    sources: Vec<Source>,
    writers: Writers,
    /// Packets that a sender hands down at once.
    outbox: Vec<Packet>,
    /// Messages that clients send now on a way that is not straight, and those that wait in queues.
    answers: VecDeque<(Owner, Message)>,
    mail: Mail,
    kinds: Vec<Kind>,
    /// The sizes that the long flows fetch, by group.
    sizes: Vec<Option<Bytes>>,
    /// Downloads at a time; those that would begin beyond it are turned away.
    pub most_downloads: usize,
    outcome: Outcome,
}

impl<O: Observer<Packet>, P: Part<O>> Engine<O, P> {
    pub fn new(scenario: &Scenario, observer: O) -> Self {
        let roster = scenario.roster();
        let kind = |group: &Group| {
            Kind::of(group, stream(scenario.seed, &format!("controls {}", group.name)))
        };
        let mut kinds: Vec<Kind> = scenario.groups.iter().map(kind).collect();
        let mut connections = Connections::default();
        for (number, (group, kind)) in scenario.groups.iter().zip(&mut kinds).enumerate() {
            for _ in &group.starts {
                connections.add_long(roster.group(number), kind.seed());
            }
        }
        let (groups, flows) = (scenario.groups.len(), connections.places());
        let writers = Writers::new(scenario, flows as u32);
        for writer in writers.all() {
            let group = writer.group.index();
            let (mut server, client) = kinds[group].ends(None);
            server.serve_application(writer.hold);
            connections.add_app(writer.flow, writer.group, (server, client));
        }
        let source = |(place, udp)| {
            let id = roster.udp(place);
            Source::new(
                udp,
                scenario.host_jitter.then_some(scenario.seed),
                roster.listed(id).start,
                id,
            )
        };
        let sources: Vec<Source> = scenario.udp.iter().enumerate().map(source).collect();

        let (hops, imperfect) = (Route::new(scenario), Imperfect::new(scenario));
        let line = |(number, group): (usize, &Group)| {
            let chance = || stream(scenario.seed, &format!("hosts {}", group.name));
            let source = roster.group(number);
            let first = Where::first(hops.direction(source).reverse());
            let is_straight = hops.start_back(source).is_none() && imperfect.is_perfect(first);
            Line::new(group.rtt, scenario.host_jitter.then(chance), is_straight)
        };
        let lines = scenario.groups.iter().enumerate().map(line).collect();
        let (writing, links) = (writers.all().len(), hops.links());
        let ways = if scenario.paths.is_empty() { 0 } else { Where::ALL.len() };
        let mut schedule = Schedule::new(groups, sources.len(), writing, hops.count(), links, ways);
        let bottleneck = Bottleneck::new(&scenario.link, &scenario.aqm, scenario.seed)
            .counted_from(Time::ZERO + scenario.warmup);
        let agenda = Agenda::new(scenario, &writers);
        schedule.set(Event::Agenda, agenda.next());
        if P::BOTTLENECK {
            schedule.set(Event::Tick, bottleneck.next_tick());
        }
        if P::SERVERS || P::BOTTLENECK {
            let first = observer.sampling_interval().map(|interval| Time::ZERO + interval);
            schedule.set(Event::Sample, first.unwrap_or(Time::NEVER));
        }
        if !scenario.web.is_empty() {
            schedule.set(Event::Patience, Time::ZERO + LOOK);
        }
        for (n, source) in sources.iter().enumerate().filter(|_| P::SERVERS) {
            schedule.set(Event::Udp(n), source.next());
        }
        for hop in 0..hops.count() {
            let is_here = if hops.is_behind(hop) { P::CLIENTS } else { P::BOTTLENECK };
            if is_here {
                schedule.set(Event::HopTick(hop), hops.next_tick(hop));
            }
        }
        Engine {
            part: PhantomData,
            observer,
            schedule,
            bottleneck,
            direct: hops.is_empty()
                && imperfect.is_perfect(Where::Before)
                && imperfect.is_perfect(Where::Behind),
            hops,
            imperfect,
            timers: Timers::with_capacity(2 * connections.places()),
            lines,
            ack_loss: AckLoss::new(scenario),
            sizes: scenario.groups.iter().map(|group| group.size).collect(),
            kinds,
            connections,
            agenda,
            sources,
            writers,
            outbox: Vec::new(),
            answers: VecDeque::new(),
            mail: Mail::default(),
            most_downloads: usize::MAX,
            outcome: Outcome::default(),
        }
    }

    /// Is over, at `end`, to which it ran.
    pub fn finish(mut self, end: Time) -> (Outcome, O) {
        self.detect(end);
        let Straddling { before, after } = self.bottleneck.straddling(end);
        self.observer.straddled(None, before, after);
        for number in 0..self.hops.links() {
            let link = self.hops.link(number);
            let Straddling { before, after } = link.queue.straddling(end);
            self.observer.straddled(Some(link.hop), before, after);
        }
        (self.outcome, self.observer)
    }

    /// The last reports of detectors of Classic ECN.
    fn detect(&mut self, end: Time) {
        (0..self.connections.places() as u32).for_each(|slot| self.conclude(slot, end));
        let fresh = |kind: &Kind| kind.ends_of(None, 0).0.classic_ecn();
        let fresh: Vec<_> = self.kinds.iter().map(fresh).collect();
        for slot in 0..self.connections.places() as u32 {
            let Some((group, _)) = self.connections.unopened(slot) else { continue };
            if let Some(report) = fresh[group.index()] {
                self.observer.detected(FlowId::new(slot), report, end);
            }
        }
    }

    /// Runs to `end`, inclusive.
    ///
    /// On its usual way a packet makes no call: the functions of that way are `inline(always)`, in all crates, and come
    /// here once. Where they are rarely needed, a function that is not inlined has them.
    pub fn advance(&mut self, end: Time) {
        loop {
            let (now, event) = self.schedule.next();
            if now > end {
                return;
            }
            self.happen(event, now);
        }
    }

    /// The next event.
    #[inline(always)]
    fn happen(&mut self, event: Event, now: Time) {
        let source = self.schedule.number(event);
        P::begins(&mut self.observer, Turn::new(now, source, 0));
        self.outcome.events += 1;
        match event {
            Event::Link => self.transmit(now),
            Event::Tick => {
                self.bottleneck.tick(now);
                self.schedule.set(Event::Tick, self.bottleneck.next_tick());
            }
            Event::Timers => self.fire(now),
            Event::Agenda => self.take_up(now),
            Event::Sample => self.sample(now),
            Event::Patience => self.end_idle_downloads(now),
            Event::Line(group) => self.receive(group, now),
            Event::Udp(source) => self.emit(source, now),
            Event::Writer(number) => self.write(number, now),
            Event::HopTick(hop) => {
                self.hops.tick(hop, now);
                self.schedule.set(Event::HopTick(hop), self.hops.next_tick(hop));
            }
            Event::HopLink(link) => self.transmit_on(link, now),
            Event::Stretch(way) => self.come_out(Where::ALL[way], now),
        }
    }

    // --- The way down: server, bottleneck, client --------------------------------------------

    /// A server or a source sends a packet.
    #[inline(always)]
    pub(super) fn send(&mut self, packet: Packet, now: Time) {
        if !P::BOTTLENECK {
            P::sent(&mut self.observer, &packet);
        } else if self.direct {
            self.enqueue(packet, now);
        } else {
            self.set_out(packet, now);
        }
    }

    /// A packet comes to the bottleneck, and may start at once on a free link.
    #[inline(always)]
    fn enqueue(&mut self, packet: Packet, now: Time) {
        self.observer.arrived(&packet, now);
        let mut watch = Forward { observer: &mut self.observer, mail: &mut self.mail };
        self.bottleneck.enqueue(packet, now, &mut watch);
        // To a link that is busy until its next event one more packet makes no difference.
        let next = self.schedule.get(Event::Link);
        if next <= now || next == Time::NEVER || self.bottleneck.overlaps() {
            self.transmit_at_once(now);
        }
    }

    /// [`Engine::transmit`], where the link was idle.
    #[inline(never)]
    fn transmit_at_once(&mut self, now: Time) {
        self.transmit(now);
    }

    /// Delivers the packets in transmission, and starts transmissions while the link allows them.
    #[inline(always)]
    fn transmit(&mut self, now: Time) {
        let carries = self.bottleneck.carries();
        if carries {
            self.land(now);
        }
        loop {
            let mut watch = Forward { observer: &mut self.observer, mail: &mut self.mail };
            // It stays where it is returned, without a copy.
            let departure = self.bottleneck.dequeue(now, &mut watch);
            let Some(Departure { packet, queue, sojourn }) = &departure else { break };
            self.look_ahead_of_departures(*queue);
            self.outcome.packets += 1;
            self.observer.departed(packet, *queue, *sojourn, now);
            if carries {
                self.carry(*packet, now);
            } else {
                self.bottleneck.start(packet.size(), now);
                self.arrive(packet, now);
            }
        }
        self.schedule.update(Event::Link, self.bottleneck.next_transmission());
    }

    /// Delivers the packets that the link carried.
    #[inline(never)]
    fn land(&mut self, now: Time) {
        while let Some(packet) = self.bottleneck.land(now) {
            self.arrive(&packet, now);
        }
    }

    /// A link that may carry several packets at a time has one more.
    #[inline(never)]
    fn carry(&mut self, packet: Packet, now: Time) {
        if let Some(packet) = self.bottleneck.carry(packet, now) {
            self.arrive(&packet, now);
        }
    }

    /// A packet has the bottleneck behind it.
    #[inline(always)]
    fn arrive(&mut self, packet: &Packet, now: Time) {
        if !P::CLIENTS {
            return;
        }
        if !self.direct {
            self.pass_on(*packet, self.hops.behind_bottleneck, now);
        } else if !packet.is_udp() {
            self.deliver(packet, now);
        }
    }

    #[inline(always)]
    fn deliver(&mut self, packet: &Packet, now: Time) {
        let Some(flow) = self.connections.of(packet.slot(), packet.flow()) else { return };
        let group = packet.group().index();
        let line = &mut self.lines[group];
        let next = line.next();
        let (ack_loss, answers) = (&mut self.ack_loss, &mut self.answers);
        let is_straight = line.is_straight;
        let arrival = flow.client.on_packet(packet, now, |message| {
            if ack_loss.takes(&message) {
                return;
            }
            if is_straight {
                return line.send(packet.flow(), packet.slot(), message, now);
            }
            answers.push_back((packet.owner(), message));
        });
        if P::SERVERS && line.next() != next {
            self.schedule.set(Event::Line(group), line.next());
        }
        if arrival.read > 0 {
            self.observer.delivered(packet.flow(), packet.group(), arrival.read, now);
        }
        if arrival.closes {
            self.observer.closed(packet.flow(), now);
        }
        self.set_timer(2 * packet.slot() + 1, arrival.deadline);
        if let Some(writer) = self.writers.at(packet.slot()) {
            self.count_frames(writer, packet.slot(), now);
        }
        if !is_straight {
            self.send_answers(now);
        }
    }

    // --- The end of the way back -------------------------------------------------------------

    /// The head of a return line arrives at its server, which reads it where it is.
    #[inline(always)]
    fn receive(&mut self, group: usize, now: Time) {
        self.look_ahead(group);
        let Some(returned) = self.lines[group].head() else { return };
        let Return { flow, slot, message, .. } = returned;
        let (slot, is_request) = (*slot, message.is_request());
        let open = self.connections.of(slot, *flow);
        let is_open = open.is_some();
        if let Some(Flow { owner, server, .. }) = open {
            self.observer.answered(&Answer { returned, group: owner.group, server }, now);
            let (packets, observer) = (&mut self.outbox, &mut self.observer);
            server.on_message(message, now, &mut Outbox { packets, observer, owner: *owner, now });
        }
        let line = &mut self.lines[group];
        line.advance();
        self.schedule.set(Event::Line(group), line.next());
        if !is_open {
            return;
        }
        self.acted(slot, now);
        if is_request {
            let Some(writer) = self.writers.at(slot) else { return };
            let frames = &mut self.writers.get(writer).frames;
            if frames.begin(now) && frames.next() <= now {
                self.write(writer, now);
            }
        }
    }

    /// Lets a server act.
    #[inline]
    fn serve(&mut self, slot: u32, now: Time, act: impl FnOnce(&mut Server, &mut Outbox<'_, O>)) {
        let Some(flow) = self.connections.at(slot) else { return };
        let (packets, observer) = (&mut self.outbox, &mut self.observer);
        act(&mut flow.server, &mut Outbox { packets, observer, owner: flow.owner, now });
        self.acted(slot, now);
    }

    /// A server acted: its packets leave.
    #[inline(always)]
    fn acted(&mut self, slot: u32, now: Time) {
        let Some(flow) = self.connections.at(slot) else { return };
        let (deadline, is_over) = flow.server.status();
        self.set_timer(2 * slot, deadline);
        // Most acknowledgements let nothing leave: segments go in bursts.
        if !self.outbox.is_empty() {
            self.send_all(now);
        }
        if !is_over {
            return;
        }
        self.conclude(slot, now);
        if !self.connections.is_lasting(slot) {
            self.connections.end(slot);
        } else if self.writers.at(slot).is_none() {
            self.connections.finish(slot);
            P::finished(&mut self.observer, slot);
        }
    }

    /// Sends the packets of a server.
    #[inline(always)]
    fn send_all(&mut self, now: Time) {
        let mut outbox = core::mem::take(&mut self.outbox);
        for packet in &outbox {
            self.send(*packet, now);
        }
        outbox.clear();
        self.outbox = outbox;
    }

    /// A connection is over, or the run is.
    #[inline(never)]
    fn conclude(&mut self, slot: u32, now: Time) {
        let Some(flow) = self.connections.at(slot) else { return };
        if let Some(report) = flow.server.classic_ecn() {
            self.observer.detected(flow.owner.flow, report, now);
        }
    }

    // --- Everything else ---------------------------------------------------------------------

    #[inline(always)]
    fn set_timer(&mut self, timer: u32, deadline: Time) {
        if self.timers.set(timer, deadline) {
            self.schedule.set(Event::Timers, self.timers.next());
        }
    }

    /// A timer came up: it is due, or was moved.
    fn fire(&mut self, now: Time) {
        let timer = self.timers.pop(now);
        self.schedule.set(Event::Timers, self.timers.next());
        self.look_ahead_of_timers();
        let Some(timer) = timer else {
            // Whether a timer that was moved has an event of its own depends on the others.
            self.outcome.events -= 1;
            return;
        };
        let source = self.schedule.number(Event::Timers);
        P::begins(&mut self.observer, Turn::new(now, source, timer));
        let slot = timer / 2;
        if timer % 2 == 0 {
            self.serve(slot, now, |server, out| server.on_timer(now, out));
            return;
        }
        let Some(Flow { client, owner, .. }) = self.connections.at(slot) else { return };
        let owner = *owner;
        let due = client.deadline() <= now;
        let message = if due { client.on_timer(now) } else { None };
        let gave_up = due && client.is_closed();
        let deadline = client.deadline();
        self.set_timer(timer, deadline);
        if let Some(message) = message {
            self.send_back(owner, message, now);
        }
        if gave_up && !self.connections.is_lasting(slot) {
            self.connections.end(slot);
        }
    }

    /// Runs the actions that the scenario schedules for this time.
    fn take_up(&mut self, now: Time) {
        let Some(item) = self.agenda.take() else { return };
        self.schedule.set(Event::Agenda, self.agenda.next());
        if !P::CLIENTS {
            // The other half has the same event.
            self.outcome.events -= 1;
        }
        match item {
            Item::Open { slot: number, flow } => {
                self.connect(number);
                if !P::CLIENTS {
                    return;
                }
                // It may have been given up, and its place taken by another.
                let Some(flow) = self.connections.of(number, flow) else { return };
                let size = self.sizes[flow.owner.group.index()];
                // The total size of an application's writes is unknown.
                let size = size.filter(|_| self.writers.at(number).is_none());
                self.open(number, size, now);
            }
            Item::Begin(download) => self.begin(download, now),
            Item::Change(change) => self.change(&change, Successor::Fresh, now),
        }
    }

    fn begin(&mut self, download: Download, now: Time) {
        let Download { flow, group, size, .. } = download;
        if self.connections.downloads() >= self.most_downloads {
            return self.observer.turned_away(flow, group, now);
        }
        let ends = self.kinds[group.index()].ends(Some(size));
        let slot = self.connections.begin(flow, group, false, ends, now);
        self.timers.grow(2 * self.connections.places());
        self.open(slot, Some(size), now);
    }

    /// Downloads that nothing comes of any more are given up.
    #[cold]
    fn end_idle_downloads(&mut self, now: Time) {
        self.schedule.set(Event::Patience, now + LOOK);
        for slot in 0..self.connections.places() as u32 {
            let Some(flow) = self.connections.at(slot) else { continue };
            let progress = flow.began.max(flow.client.last_arrival());
            if flow.lasts || now.since(progress) < PATIENCE {
                continue;
            }
            if !flow.client.is_closed() {
                self.observer.gave_up(flow.owner.flow, now);
            }
            self.give_up(slot, now);
        }
    }

    /// Gives the long flow at this place its connection, unless it had one.
    fn connect(&mut self, slot: u32) {
        let Some((group, seed)) = self.connections.unopened(slot) else { return };
        let ends = self.kinds[group.index()].ends_of(self.sizes[group.index()], seed);
        self.connections.replace(slot, FlowId::new(slot), group, ends);
    }

    fn open(&mut self, slot: u32, size: Option<Bytes>, now: Time) {
        let Some(flow) = self.connections.at(slot) else { return };
        let owner = flow.owner;
        self.observer.opened(owner.flow, owner.group, size, now);
        let message = flow.client.open(now);
        let deadline = flow.client.deadline();
        self.set_timer(2 * slot + 1, deadline);
        if let Some(message) = message {
            self.send_back(owner, message, now);
        }
    }

    fn change(&mut self, change: &Change, successor: Successor, now: Time) {
        for (group, rtt) in &change.rtts {
            self.lines[*group].route(*rtt);
        }
        if !P::BOTTLENECK {
            return;
        }
        if let Some(rate) = change.rate {
            self.bottleneck.set_rate(rate, now);
        }
        if let Some(aqm) = &change.aqm {
            let mut watch = Forward { observer: &mut self.observer, mail: &mut self.mail };
            self.bottleneck.replace_aqm(aqm, successor, now, &mut watch);
            self.schedule.set(Event::Tick, self.bottleneck.next_tick());
        }
        for (path, change) in &change.paths {
            self.imperfect.change(*path, change);
        }
        self.transmit_at_once(now);
        if change.uplink_rate.is_some() || change.uplink_aqm.is_some() {
            self.change_uplink(change, successor, now);
        }
    }

    fn emit(&mut self, source: usize, now: Time) {
        let packet = self.sources[source].emit();
        self.schedule.set(Event::Udp(source), self.sources[source].next());
        self.send(packet, now);
    }

    // --- Applications ------------------------------------------------------------------------

    /// A frame is due: an application writes it, or skips it.
    fn write(&mut self, number: usize, now: Time) {
        let writer = self.writers.get(number);
        let (slot, flow, group, size) = (writer.slot, writer.flow, writer.group, writer.size);
        let Some(connection) = self.connections.at(slot) else { return };
        let is_written = writer.frames.take(connection.server.unsent_writes());
        self.schedule.set(Event::Writer(number), writer.frames.next());
        if !is_written {
            self.observer.frame(flow, group, FrameEvent::Skipped, now);
            return;
        }
        // On a free link it arrives while it is written.
        writer.write(now);
        self.observer.frame(flow, group, FrameEvent::Written, now);
        self.serve(slot, now, |server, out| server.write(size, now, out));
    }

    /// Something arrived at the client of an application, perhaps the end of frames.
    fn count_frames(&mut self, number: usize, slot: u32, now: Time) {
        let Some(Flow { server, client, .. }) = self.connections.at(slot) else { return };
        let undelivered = server.undelivered_writes(client.read());
        let writer = self.writers.get(number);
        while let Some(delay) = writer.delivered(undelivered, now) {
            self.observer.frame(writer.flow, writer.group, FrameEvent::Delivered(delay), now);
        }
    }
}

mod acks;
mod adapt;
mod ahead;
mod forward;
pub(crate) mod halves;
#[cfg(test)]
mod outcomes;
mod part;
mod samples;
mod way;

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow that waits for its turn costs its structure, two timer slots and nothing else: no
    /// buffer is allocated before the first segment.
    #[test]
    fn an_idle_flow_takes_little_more_than_a_kibibyte() {
        let flow = size_of::<Flow>() + 2 * size_of::<crate::timers::Timer>();
        assert!(flow <= 1240, "{flow} B");
    }
}
