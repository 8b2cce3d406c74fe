//! The way of a packet between the devices of the lab: the engine of the simulator, with packets
//! that are real.
//!
//! ```text
//!  server g ──▶ bottleneck ──▶ client g
//!      ▲                          │
//!      └── delay line: base RTT ──┘
//! ```
//!
//! Further links, the `[uplink]` among them, are where the simulator has them ([`Route`]): a packet of a client
//! passes the uplink before its delay line. A pair that sends up is the mirror image: its server's packets pass the
//! uplink, and its client's the bottleneck. The stretches of a `[[path]]` are there too ([`Imperfect`]).
//!
//! It has no clock and no file. Its driver gives it packets with their times of arrival, and the
//! time for due events. Due events happen at the instant at which they were due, however late the
//! driver is: departures keep the rate of the link exactly, and the queue discipline sees ideal
//! times. So lateness costs no capacity and shifts no decision; the driver measures it apart.
//!
//! Where several things fall on the same instant they happen in the simulator's order: the link,
//! the timer of the discipline, changes of the scenario, the lines, further links, stretches, and then arrivals.

mod forward;

use l4s_aqm::{Backlog, Departure, Signal};
use l4s_bottleneck::{Bottleneck, Imperfect, Next, Route, Straddling, Successor, Where};
use l4s_flows::Row;
use l4s_model::{Change, Direction, FlowId, Scenario, SourceId};
use l4s_observe::{HopEvent, LinkState, Observer, Traced};
use l4s_units::{Duration, Time};

use crate::address::End;
use crate::frame::Frame;
use crate::line::Lines;
use crate::owner::Owner;
use crate::pool::{Buffer, Pool};
use crate::recognised::Recognised;
use forward::{Forward, ForwardOfHop, ForwardOfPath};

/// The longest packet of the link, the header of a device and some more: the MTU of Ethernet is 1500.
const BUFFER: usize = 2048;
/// The longest IP packet, and the header of a device.
pub(crate) const LARGE_BUFFER: usize = 66 * 1024;
/// The most memory that packets may take. The limits of a sensible scenario are far below; packets
/// beyond this one are dropped and counted apart.
const MEMORY: usize = 512 << 20;

/// A packet that is to be written to a device.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// The pair.
    pub pair: usize,
    /// The end that gets it.
    pub to: End,
    /// When it is due.
    pub due: Time,
    /// Whether it was queued until then. The driver knew the time of a queued packet in advance; a
    /// packet on an idle link leaves at once.
    pub waited: bool,
    /// The bytes for the device.
    pub bytes: &'a [u8],
}

/// The outcomes of the packets from one end of a pair.
///
/// `received` and `copied` are the sum of the others, without `stray`, and of the packets on their way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Read from the end's device.
    pub received: u64,
    /// Made of them by an imperfect stretch.
    pub copied: u64,
    /// Written to the other end's device.
    pub forwarded: u64,
    /// Not taken by the other end's device.
    pub refused: u64,
    /// Dropped by a queue discipline, or taken out by the filter of acknowledgements.
    pub dropped: u64,
    /// Lost on an imperfect stretch.
    pub lost: u64,
    /// Not whole IP packets.
    pub malformed: u64,
    /// For the neighbourhood only, such as router solicitations.
    pub local: u64,
    /// Dropped because buffers had run out.
    pub exhausted: u64,
    /// Came before the run began.
    pub early: u64,
    /// Of those that went on: of no known flow, such as ICMP and later fragments. They count for
    /// the pair's first flow.
    pub stray: u64,
}

impl Counters {
    /// Packets on their way.
    pub fn under_way(&self) -> u64 {
        self.received + self.copied - self.gone()
    }

    /// Packets that came and are gone.
    pub fn gone(&self) -> u64 {
        self.forwarded
            + self.refused
            + self.dropped
            + self.lost
            + self.malformed
            + self.local
            + self.exhausted
            + self.early
    }

    fn delivered(&mut self, taken: bool) {
        if taken {
            self.forwarded += 1;
        } else {
            self.refused += 1;
        }
    }
}

/// A group or a UDP source: its flows, and the packets that passed.
#[derive(Debug)]
struct Pair {
    owner: Owner,
    from_server: Counters,
    from_client: Counters,
}

impl Pair {
    fn from(&mut self, end: End) -> &mut Counters {
        match end {
            End::Server => &mut self.from_server,
            End::Client => &mut self.from_client,
        }
    }
}

/// The bottleneck, the delay lines, and everything that is in them.
#[derive(Debug)]
pub struct Plane {
    bottleneck: Bottleneck<Frame>,
    route: Route<Frame>,
    imperfect: Imperfect<Frame>,
    lines: Lines<Frame>,
    pairs: Vec<Pair>,
    pool: Pool,
    recognised: Option<Recognised>,
    /// The changes in mid-run, the next one last.
    changes: Vec<Change>,
    /// The last instant at which something happened.
    now: Time,
}

impl Plane {
    /// An idle network for `scenario`: a pair for each group, then one for each UDP source.
    pub fn new(scenario: &Scenario) -> Plane {
        let idle = |owner| Pair {
            owner,
            from_server: Counters::default(),
            from_client: Counters::default(),
        };
        let pairs = Owner::all(scenario).into_iter().map(idle).collect();
        let delays = scenario.groups.iter().map(|g| g.rtt);
        let delays = delays.chain(scenario.udp.iter().map(|_| Duration::ZERO));
        let size = if scenario.kernel.gso { LARGE_BUFFER } else { BUFFER };
        Plane {
            bottleneck: Bottleneck::new(&scenario.link, &scenario.aqm, scenario.seed)
                .counted_from(Time::ZERO + scenario.warmup),
            route: Route::new(scenario),
            imperfect: Imperfect::new(scenario),
            lines: Lines::new(delays),
            pairs,
            pool: Pool::new(size, MEMORY / size),
            recognised: Recognised::new(scenario),
            changes: scenario.changes.iter().rev().cloned().collect(),
            now: Time::ZERO,
        }
    }

    /// The same network, with room for this number of flows in addition to those of the scenario.
    pub(crate) fn expecting(mut self, flows: u32) -> Plane {
        self.pairs.iter_mut().for_each(|pair| pair.owner.expect(flows));
        self.recognised.iter_mut().for_each(|recognised| recognised.begin_after(flows));
        self
    }

    /// How many pairs there are.
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Whether its queues see segments of TCP uncut (`kernel.gso`).
    pub fn takes_whole_segments(&self) -> bool {
        self.pool.size() >= LARGE_BUFFER
    }

    /// A buffer to read a packet into, for [`Plane::receive`].
    #[inline]
    pub fn buffer(&mut self) -> Buffer {
        self.pool.take()
    }

    /// Takes back a buffer that no packet was read into.
    #[inline]
    pub fn give_back(&mut self, buffer: Buffer) {
        self.pool.give(buffer);
    }

    /// The next instant at which something must happen; never for an idle network whose
    /// discipline has no timer.
    #[inline]
    pub fn due(&self) -> Time {
        let bottleneck = self.bottleneck.next_transmission().min(self.bottleneck.next_tick());
        bottleneck.min(self.next_change()).min(self.lines.next()).min(self.next_elsewhere())
    }

    /// When something is due beside bottleneck, changes and lines.
    #[inline]
    fn next_elsewhere(&self) -> Time {
        let stretches = Where::ALL.iter().map(|at| self.imperfect.next(*at));
        stretches.fold(self.route.due(), Time::min)
    }

    #[inline]
    fn next_change(&self) -> Time {
        self.changes.last().map_or(Time::NEVER, |change| change.time)
    }

    /// Does all that is due by `now`, in order of time. `deliver` says whether the device took the
    /// packet.
    pub fn advance(
        &mut self,
        now: Time,
        observer: &mut dyn Observer<Frame>,
        deliver: &mut impl FnMut(Delivery<'_>) -> bool,
    ) {
        loop {
            let (departure, tick) =
                (self.bottleneck.next_transmission(), self.bottleneck.next_tick());
            let change = self.next_change();
            let due = self.due();
            if due > now {
                break;
            }
            // Time does not advance where the shaper's debt was paid before something happened.
            self.now = self.now.max(due);
            if departure == due {
                self.transmit(self.now, true, observer, deliver);
            } else if tick == due {
                self.bottleneck.tick(self.now);
            } else if change == due {
                self.change(observer, deliver);
            } else if self.lines.next() == due {
                self.arrive_at_server(due, observer, deliver);
            } else {
                self.attend_links(due, observer, deliver);
                self.attend_stretches(due, observer, deliver);
            }
        }
        self.now = self.now.max(now);
    }

    /// Further links transmit or tick.
    #[cold]
    fn attend_links(
        &mut self,
        due: Time,
        observer: &mut dyn Observer<Frame>,
        deliver: &mut impl FnMut(Delivery<'_>) -> bool,
    ) {
        for number in 0..self.route.links() {
            if self.route.link(number).queue.next_transmission() == due {
                self.transmit_on(number, observer, deliver);
            }
        }
        for hop in 0..self.route.count() {
            if self.route.next_tick(hop) == due {
                self.route.tick(hop, self.now);
            }
        }
    }

    /// Packets come to the end of stretches.
    #[cold]
    fn attend_stretches(
        &mut self,
        due: Time,
        observer: &mut dyn Observer<Frame>,
        deliver: &mut impl FnMut(Delivery<'_>) -> bool,
    ) {
        for at in Where::ALL {
            if self.imperfect.next(at) == due {
                self.come_out(at, true, observer, deliver);
            }
        }
    }

    /// A packet came from the device of an end of a pair at `now`: the first `length` bytes of `buffer`, behind its
    /// [`Offload`](l4s_os::Offload). Earlier due events happen first.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "pair, end, bytes, time, and the observer")]
    pub fn receive(
        &mut self,
        pair: usize,
        from: End,
        buffer: Buffer,
        length: usize,
        now: Time,
        observer: &mut dyn Observer<Frame>,
        deliver: &mut impl FnMut(Delivery<'_>) -> bool,
    ) {
        if self.due() <= now {
            self.advance(now, observer, deliver);
        }
        self.now = self.now.max(now);
        self.pairs[pair].from(from).received += 1;
        let Some(frame) = self.admit(pair, from, buffer, length) else { return };
        self.set_out(frame, observer, deliver);
    }

    /// A packet leaves the host that sent it.
    #[inline]
    fn set_out(
        &mut self,
        frame: Frame,
        observer: &mut dyn Observer<Frame>,
        deliver: &mut impl FnMut(Delivery<'_>) -> bool,
    ) {
        let at = Where::first(self.way_of(&frame));
        if self.imperfect.is_perfect(at) {
            return self.come_to_first_queue(frame, observer, deliver);
        }
        let now = self.now;
        let (imperfect, mut wayside) = self.beside_path(observer);
        imperfect.enter(at, frame, now, &mut wayside);
        self.come_out(at, false, observer, deliver);
    }

    /// The way that a packet goes.
    #[inline]
    fn way_of(&self, frame: &Frame) -> Direction {
        let way_of_data = self.route.direction(frame.group());
        match frame.from() {
            End::Server => way_of_data,
            End::Client => way_of_data.reverse(),
        }
    }

    /// A packet has the imperfect stretches before every queue behind it.
    #[inline]
    fn come_to_first_queue(
        &mut self,
        frame: Frame,
        observer: &mut dyn Observer<Frame>,
        deliver: &mut impl FnMut(Delivery<'_>) -> bool,
    ) {
        let source = frame.group();
        let along = match frame.from() {
            End::Server => Some(self.route.start(source)),
            End::Client => self.route.start_back(source),
        };
        match along {
            Some(along) => self.pass_on(frame, along, self.now, false, observer, deliver),
            None => self.send_back(frame, observer, deliver),
        }
    }

    /// A packet has every queue behind it, and comes to its client, or to its delay line, at `due`.
    #[inline]
    fn leave_queues(
        &mut self,
        frame: Frame,
        due: Time,
        waited: bool,
        observer: &mut dyn Observer<Frame>,
        deliver: &mut impl FnMut(Delivery<'_>) -> bool,
    ) {
        match Where::last(self.way_of(&frame)) {
            Some(at) if !self.imperfect.is_perfect(at) => {
                let now = self.now;
                let (imperfect, mut wayside) = self.beside_path(observer);
                imperfect.enter(at, frame, now, &mut wayside);
                self.come_out(at, waited, observer, deliver);
            }
            _ => self.hand_over(frame, due, waited, observer, deliver),
        }
    }

    /// A packet comes to its client, or to its delay line.
    #[inline]
    fn hand_over(
        &mut self,
        frame: Frame,
        due: Time,
        waited: bool,
        observer: &mut dyn Observer<Frame>,
        deliver: &mut impl FnMut(Delivery<'_>) -> bool,
    ) {
        match frame.from() {
            End::Server => self.arrive_at_client(frame, due, waited, deliver),
            End::Client => self.send_back(frame, observer, deliver),
        }
    }

    /// Packets that have come to the end of an imperfect place go on.
    fn come_out(
        &mut self,
        at: Where,
        waited: bool,
        observer: &mut dyn Observer<Frame>,
        deliver: &mut impl FnMut(Delivery<'_>) -> bool,
    ) {
        let now = self.now;
        loop {
            let (imperfect, mut wayside) = self.beside_path(observer);
            let Some(frame) = imperfect.out(at, now, &mut wayside) else { return };
            match at {
                Where::Before | Where::Up => self.come_to_first_queue(frame, observer, deliver),
                Where::Behind => self.hand_over(frame, now, waited, observer, deliver),
            }
        }
    }

    /// A packet that is so far along its path comes to the next queue there, or to its end at `due`.
    #[inline]
    fn pass_on(
        &mut self,
        packet: Frame,
        along: usize,
        due: Time,
        waited: bool,
        observer: &mut dyn Observer<Frame>,
        deliver: &mut impl FnMut(Delivery<'_>) -> bool,
    ) {
        match self.route.next(along, packet.flow(), packet.group()) {
            Next::Bottleneck => self.enqueue(packet, waited, observer, deliver),
            Next::Link(number) => self.enqueue_on(number, packet, observer, deliver),
            Next::End => self.leave_queues(packet, due, waited, observer, deliver),
        }
    }

    /// A packet comes to the bottleneck.
    #[inline]
    fn enqueue(
        &mut self,
        mut packet: Frame,
        waited: bool,
        observer: &mut dyn Observer<Frame>,
        deliver: &mut impl FnMut(Delivery<'_>) -> bool,
    ) {
        packet.arrive();
        observer.arrived(&packet, self.now);
        let (bottleneck, mut told) = self.forward(observer);
        let now = told.now;
        bottleneck.enqueue(packet, now, &mut told);
        self.transmit(now, waited, observer, deliver);
    }

    /// A packet comes to a further link.
    fn enqueue_on(
        &mut self,
        number: usize,
        mut packet: Frame,
        observer: &mut dyn Observer<Frame>,
        deliver: &mut impl FnMut(Delivery<'_>) -> bool,
    ) {
        packet.arrive();
        let Plane { route, pairs, pool, now, .. } = self;
        let link = route.link(number);
        let mut watch = ForwardOfHop { hop: link.hop, observer, pairs, pool };
        link.enqueue(packet, *now, &mut watch);
        self.transmit_on(number, observer, deliver);
    }

    /// As [`Plane::transmit`], over a further link.
    fn transmit_on(
        &mut self,
        number: usize,
        observer: &mut dyn Observer<Frame>,
        deliver: &mut impl FnMut(Delivery<'_>) -> bool,
    ) {
        let now = self.now;
        let behind = self.route.link(number).behind;
        while let Some(packet) = self.route.link(number).queue.land(now) {
            self.pass_on(packet, behind, now, true, observer, deliver);
        }
        loop {
            let Plane { route, pairs, pool, .. } = self;
            let link = route.link(number);
            let hop = link.hop;
            let mut watch = ForwardOfHop { hop, observer, pairs, pool };
            let Some(departure) = link.queue.transmit(now, &mut watch) else { return };
            let Departure { packet, queue, sojourn } = departure;
            observer.at_hop(hop, &packet, queue, HopEvent::Departed(sojourn), now);
            if let Some(packet) = link.queue.carry(packet, now) {
                self.pass_on(packet, behind, now, true, observer, deliver);
            }
        }
    }

    /// A client's packet sets out on the delay line of its pair.
    #[inline]
    fn send_back(
        &mut self,
        packet: Frame,
        observer: &mut dyn Observer<Frame>,
        deliver: &mut impl FnMut(Delivery<'_>) -> bool,
    ) {
        self.lines.push(packet.group().index(), packet, self.now);
        // A line without delay delivers at once.
        while self.lines.next() <= self.now {
            self.arrive_at_server(self.now, observer, deliver);
        }
    }

    /// Packets that counted as delivered to an end, whose device then refused them.
    pub fn refused(&mut self, pair: usize, to: End, packets: u64) {
        let counters = self.pairs[pair].from(to.other());
        counters.forwarded -= packets;
        counters.refused += packets;
    }

    /// A packet that came before the run began: it is not observed.
    pub fn receive_early(&mut self, pair: usize, from: End, buffer: Buffer) {
        let counters = self.pairs[pair].from(from);
        counters.received += 1;
        counters.early += 1;
        self.pool.give(buffer);
    }

    /// The outcomes of the packets that one end of a pair sent.
    pub fn counters(&self, pair: usize, from: End) -> Counters {
        match from {
            End::Server => self.pairs[pair].from_server,
            End::Client => self.pairs[pair].from_client,
        }
    }

    /// The backlog in the bottleneck.
    pub fn backlog(&self) -> Backlog {
        self.bottleneck.backlog()
    }

    /// The probabilities that the discipline applies now.
    pub fn signal(&self) -> Option<Signal> {
        self.bottleneck.signal()
    }

    /// The bottleneck now, for [`Observer::sample_link`].
    pub fn link_state(&self, now: Time) -> LinkState {
        link_state(&self.bottleneck, now)
    }

    /// The uplink now, for [`Observer::sample_uplink`]; `None` where there is none.
    pub fn uplink_state(&mut self, now: Time) -> Option<LinkState> {
        let number = self.route.uplink()?;
        Some(link_state(&self.route.link(number).queue, now))
    }

    /// The run is over at `end`, which is reported as [`Observer::straddled`].
    pub fn end(&mut self, end: Time, observer: &mut dyn Observer<Frame>) {
        let Straddling { before, after } = self.bottleneck.straddling(end);
        observer.straddled(None, before, after);
        for number in 0..self.route.links() {
            let link = self.route.link(number);
            let Straddling { before, after } = link.queue.straddling(end);
            observer.straddled(Some(link.hop), before, after);
        }
    }

    /// How many packets are on the delay line of a pair.
    pub fn on_line(&self, pair: usize) -> usize {
        self.lines.waiting(pair)
    }

    /// The flows of programs, with their numbers in the run.
    pub fn recognised(&self) -> impl Iterator<Item = (FlowId, Row)> {
        self.recognised.iter().flat_map(Recognised::rows)
    }

    /// How many buffers are out: a packet each, and those that were taken to read into.
    pub fn buffers_out(&self) -> usize {
        self.pool.out()
    }

    /// The packet in `buffer`, and whose it is; `None` if it goes no further.
    #[inline]
    fn admit(&mut self, pair: usize, from: End, buffer: Buffer, length: usize) -> Option<Frame> {
        let end = &mut self.pairs[pair];
        let mut frame = match Frame::read(buffer, length) {
            Ok(frame) => frame,
            Err((buffer, _)) => {
                end.from(from).malformed += 1;
                self.pool.give(buffer);
                return None;
            }
        };
        let packet = frame.ip();
        let (local, mut flow) = (packet.is_local(), end.owner.flow(&packet, from));
        if flow.is_none() && !local && end.owner.has_programs {
            if let Some(recognised) = &mut self.recognised {
                flow = Some(recognised.observe(&packet, frame.segments(), from, self.now));
            }
        }
        // A pair without flows has none that a stray packet could count for.
        if local || (flow.is_none() && end.owner.listed.is_empty()) {
            end.from(from).local += 1;
            self.pool.give(frame.into_buffer());
            return None;
        }
        if self.pool.is_exhausted() {
            end.from(from).exhausted += 1;
            self.pool.give(frame.into_buffer());
            return None;
        }
        if flow.is_none() {
            end.from(from).stray += 1;
        }
        let flow = flow.unwrap_or(end.owner.listed.start);
        frame.belongs_to(flow, SourceId::new(pair as u16), from);
        Some(frame)
    }

    /// Delivers the packets in transmission, and starts transmissions while the link allows them.
    #[inline]
    fn transmit(
        &mut self,
        now: Time,
        waited: bool,
        observer: &mut dyn Observer<Frame>,
        deliver: &mut impl FnMut(Delivery<'_>) -> bool,
    ) {
        while let Some(packet) = self.bottleneck.land(now) {
            self.behind_bottleneck(packet, now, true, observer, deliver);
        }
        loop {
            let (bottleneck, mut told) = self.forward(observer);
            let Some(departure) = bottleneck.transmit(now, &mut told) else { return };
            let Departure { packet, queue, sojourn } = departure;
            observer.departed(&packet, queue, sojourn, now);
            if let Some(recognised) = &mut self.recognised {
                recognised.departed(&packet, sojourn);
            }
            if let Some(packet) = self.bottleneck.carry(packet, now) {
                self.behind_bottleneck(packet, now, waited, observer, deliver);
            }
        }
    }

    /// A packet has the bottleneck behind it.
    #[inline]
    fn behind_bottleneck(
        &mut self,
        packet: Frame,
        now: Time,
        waited: bool,
        observer: &mut dyn Observer<Frame>,
        deliver: &mut impl FnMut(Delivery<'_>) -> bool,
    ) {
        if self.route.is_empty() {
            self.leave_queues(packet, now, waited, observer, deliver);
        } else {
            self.pass_on(packet, self.route.behind_bottleneck, now, waited, observer, deliver);
        }
    }

    #[inline]
    fn arrive_at_client(
        &mut self,
        packet: Frame,
        due: Time,
        waited: bool,
        deliver: &mut impl FnMut(Delivery<'_>) -> bool,
    ) {
        let pair = packet.group().index();
        let bytes = packet.for_device();
        let taken = deliver(Delivery { pair, to: End::Client, due, waited, bytes });
        self.pairs[pair].from_server.delivered(taken);
        self.pool.give(packet.into_buffer());
    }

    /// Makes the changes of the scenario that are due now.
    #[cold]
    fn change(
        &mut self,
        observer: &mut dyn Observer<Frame>,
        deliver: &mut impl FnMut(Delivery<'_>) -> bool,
    ) {
        if let Some(change) = self.changes.pop() {
            self.apply(&change, Successor::Fresh, observer, deliver);
        }
    }

    /// The bottleneck or a path becomes different now.
    pub(crate) fn apply(
        &mut self,
        change: &Change,
        successor: Successor,
        observer: &mut dyn Observer<Frame>,
        deliver: &mut impl FnMut(Delivery<'_>) -> bool,
    ) {
        let (bottleneck, mut told) = self.forward(observer);
        let now = told.now;
        if let Some(rate) = change.rate {
            bottleneck.set_rate(rate, now);
        }
        if let Some(aqm) = &change.aqm {
            bottleneck.replace_aqm(aqm, successor, now, &mut told);
        }
        for (group, rtt) in &change.rtts {
            self.lines.set_delay(*group, *rtt);
        }
        for (path, change) in &change.paths {
            self.imperfect.change(*path, change);
        }
        // The new rate may have paid the debt, or the new discipline released packets.
        self.transmit(now, false, observer, deliver);
        if change.uplink_rate.is_some() || change.uplink_aqm.is_some() {
            self.apply_to_uplink(change, successor, observer, deliver);
        }
    }

    /// The uplink becomes different now, if there is one.
    fn apply_to_uplink(
        &mut self,
        change: &Change,
        successor: Successor,
        observer: &mut dyn Observer<Frame>,
        deliver: &mut impl FnMut(Delivery<'_>) -> bool,
    ) {
        let Some(number) = self.route.uplink() else { return };
        let Plane { route, pairs, pool, now, .. } = self;
        let link = route.link(number);
        if let Some(rate) = change.uplink_rate {
            link.queue.set_rate(rate, *now);
        }
        if let Some(aqm) = &change.uplink_aqm {
            let mut watch = ForwardOfHop { hop: link.hop, observer, pairs, pool };
            link.queue.replace_aqm(aqm, successor, *now, &mut watch);
        }
        self.transmit_on(number, observer, deliver);
    }

    #[inline]
    fn arrive_at_server(
        &mut self,
        due: Time,
        observer: &mut dyn Observer<Frame>,
        deliver: &mut impl FnMut(Delivery<'_>) -> bool,
    ) {
        let Some((pair, packet)) = self.lines.pop() else { return };
        observer.answered(&packet, self.now);
        let bytes = packet.for_device();
        let taken = deliver(Delivery { pair, to: End::Server, due, waited: true, bytes });
        self.pairs[pair].from_client.delivered(taken);
        self.pool.give(packet.into_buffer());
    }

    #[inline]
    fn beside_path<'a>(
        &'a mut self,
        observer: &'a mut dyn Observer<Frame>,
    ) -> (&'a mut Imperfect<Frame>, ForwardOfPath<'a>) {
        let Plane { imperfect, pairs, pool, .. } = self;
        (imperfect, ForwardOfPath { observer, pairs, pool })
    }

    #[inline]
    fn forward<'a>(
        &'a mut self,
        observer: &'a mut dyn Observer<Frame>,
    ) -> (&'a mut Bottleneck<Frame>, Forward<'a>) {
        let Plane { bottleneck, pairs, pool, recognised, now, .. } = self;
        (bottleneck, Forward { observer, pairs, pool, recognised: recognised.as_mut(), now: *now })
    }
}

/// A link now.
fn link_state(link: &Bottleneck<Frame>, now: Time) -> LinkState {
    LinkState::new(link.backlog(), link.owed(now), link.signal())
}
