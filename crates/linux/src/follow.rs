//! From the packets seen at both ends of a link to the events in it: of the bottleneck, and of the
//! uplink, if there is one.
//!
//! Packets of one flow that wait in one queue leave in the order in which they came: every
//! discipline of the kernel keeps that. So the packet that leaves is the first of its flow and
//! queue that looks like it, and those before it were dropped.
//!
//! In real time a packet may be stamped first and queued second: the two were sent on different
//! cores (by an acknowledgement and by a timer, say), and the softirq of one core was late. So a
//! packet that is passed over was only dropped if it does not leave for some time after that. The same
//! uncertainty holds for packets that came just before their discipline was replaced.
//!
//! A filter of acknowledgements takes them out of the middle of a queue. The one that it should take out, by the rules of
//! [`redundant`], was dropped by it if it really does not leave. So the count of these follows the rules, and that of all
//! drops the packets. The kernel counts both.
//!
//! Where a scenario replaces the discipline, the kernel drops the backlog: packets that came before the
//! replacement began and have not left when it is over. Code takes no time in virtual time, except
//! for 256 ns to read a clock; packets that came in that moment are overtaken or never leave, if
//! they were dropped, too.

use std::collections::{BTreeMap, VecDeque};

use l4s_aqm::{DropCause, Packet, Queue};
use l4s_bottleneck::redundant;
use l4s_flows::{Key, Row};
use l4s_lab::ip::IpPacket;
use l4s_lab::{Buffer, End, Frame, Headers, Lateness, Owner, Pool, Recognised, end_of, pair_of};
use l4s_model::{AckFilter, Direction, FlowId, Scenario, SourceId};
use l4s_observe::{HopEvent, Observer, Traced};
use l4s_units::{Duration, Ecn, Time};

use crate::event::Passed;
use crate::qdisc;
use crate::schedule::Schedule;
use crate::tap::SNAP;

/// Room for the longest packet, and some more.
const BUFFER: usize = 2048;

/// Follows packets through the links.
#[derive(Debug)]
pub struct Follower {
    owners: Vec<Owner>,
    /// The way of each pair's data.
    directions: Vec<Direction>,
    /// Whether ports may be wrong, as an imperfect stretch before a link inverts bits.
    corrupted: bool,
    link: Followed,
    uplink: Option<Followed>,
    common: Common,
    /// How many came from the server of each pair.
    received: Vec<u64>,
}

/// One link, and the packets in it.
#[derive(Debug)]
struct Followed {
    /// The number of the hop that it is; none for the bottleneck.
    hop: Option<u16>,
    aqm: l4s_aqm::Config,
    /// Those that will take its place, the next one last.
    later: Vec<l4s_aqm::Config>,
    filter: AckFilter,
    /// The flow of the last packet that arrived.
    last: Option<Whose>,
    /// Packets that arrived and have not left, per flow with such packets, and per queue.
    waiting: BTreeMap<Whose, Queues>,
    /// When packets should leave, where they can be late.
    schedule: Option<Schedule>,
    /// The outcomes of all packets.
    counts: Counts,
}

/// The state that both links share.
#[derive(Debug)]
struct Common {
    pool: Pool,
    /// The flows of programs.
    recognised: Option<Recognised>,
    /// How long a packet may still leave that looks as if it was dropped.
    patience: Duration,
}

/// The outcomes of the packets that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Arrived.
    pub arrived: u64,
    /// Left.
    pub departed: u64,
    /// Were overtaken by a later one of their flow and queue.
    pub dropped: u64,
    /// Belonged to no flow: ICMP, say. Of the uplink too, these are counted at the bottleneck.
    pub stray: u64,
    /// Left without having arrived.
    pub unknown: u64,
}

impl Counts {
    /// How many packets were neither seen to leave nor overtaken.
    pub fn left_over(&self) -> u64 {
        self.arrived - self.departed - self.dropped
    }
}

/// Identifies the flow of a packet by its headers alone, so that arrival and departure give the
/// same value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Whose {
    /// A flow of the scenario's own.
    Own(FlowId),
    /// A flow of programs.
    Programs(Key),
}

type Queues = [VecDeque<Waiting>; Queue::ALL.len()];

#[derive(Debug)]
struct Waiting {
    frame: Frame,
    arrived: Time,
    /// Since when it looks dropped, if it does, and the cause.
    missed: Option<(Time, DropCause)>,
}

impl Followed {
    /// A link whose disciplines are these, one after the other, with this filter.
    fn new(hop: Option<u16>, mut aqms: Vec<l4s_aqm::Config>, filter: AckFilter) -> Followed {
        let aqm = aqms.remove(0);
        aqms.reverse();
        Followed {
            hop,
            aqm,
            later: aqms,
            filter,
            last: None,
            waiting: BTreeMap::new(),
            schedule: None,
            counts: Counts::default(),
        }
    }

    /// A packet arrived.
    fn arrived(
        &mut self,
        frame: Frame,
        whose: Whose,
        now: Time,
        observer: &mut dyn Observer<Frame>,
    ) {
        self.counts.arrived += 1;
        if self.hop.is_none() {
            observer.arrived(&frame, now);
        }
        self.wait(whose, Waiting { frame, arrived: now, missed: None });
        if !self.filter.is_off() {
            self.filter(whose, now);
        }
    }

    /// Notes the acknowledgement that the last packet of a flow, which arrived just now, makes redundant.
    fn filter(&mut self, whose: Whose, now: Time) {
        // The one queue of CAKE has all flows, and a packet of another one separates two of this one.
        let is_next = self.last.replace(whose) == Some(whose);
        let filter = if is_next { self.filter } else { AckFilter::On };
        // CAKE has one queue for all ECN fields.
        let waiting = self.waiting.get_mut(&whose).map(|queues| &mut queues[Queue::Q as usize]);
        let Some((newest, older)) =
            waiting.and_then(|waiting| waiting.make_contiguous().split_last_mut())
        else {
            return;
        };
        let here = older.iter().filter(|packet| packet.missed.is_none());
        let found = redundant(&Headers, filter, &newest.frame, here.map(|packet| &packet.frame));
        let mut here = older.iter_mut().filter(|packet| packet.missed.is_none());
        if let Some(packet) = found.and_then(|place| here.nth(place)) {
            packet.missed = Some((now, DropCause::AckFilter));
        }
    }

    fn wait(&mut self, whose: Whose, packet: Waiting) {
        let queue = qdisc::queue_of(&self.aqm, packet.frame.ecn());
        self.waiting.entry(whose).or_default()[queue as usize].push_back(packet);
    }

    /// A packet left.
    fn departed(
        &mut self,
        left: Frame,
        whose: Whose,
        now: Time,
        common: &mut Common,
        observer: &mut dyn Observer<Frame>,
    ) {
        let marked = left.ecn() == Ecn::Ce;
        let found = self.take(&left, whose, now, common, observer);
        common.pool.give(left.into_buffer());
        let Some((queue, Waiting { mut frame, arrived, .. })) = found else {
            self.counts.unknown += 1;
            return;
        };
        let sojourn = now.since(arrived);
        let recognised = common.recognised.as_mut().filter(|_| self.hop.is_none());
        if marked && !frame.arrived_ce() {
            frame.set_ce();
            let cause = qdisc::cause_of_mark(&self.aqm, queue, sojourn);
            match self.hop {
                None => observer.marked(&frame, queue, cause, now),
                Some(hop) => observer.at_hop(hop, &frame, queue, HopEvent::Marked(cause), now),
            }
        }
        if let Some(schedule) = &mut self.schedule {
            schedule.departed(arrived, now, Packet::size(&frame));
        }
        match self.hop {
            None => observer.departed(&frame, queue, sojourn, now),
            Some(hop) => observer.at_hop(hop, &frame, queue, HopEvent::Departed(sojourn), now),
        }
        if let Some(recognised) = recognised {
            if marked && !frame.arrived_ce() {
                recognised.marked(&frame);
            }
            recognised.departed(&frame, sojourn);
        }
        self.counts.departed += 1;
        common.pool.give(frame.into_buffer());
    }

    /// The next discipline takes the place of the present one, which began at `began` and is over.
    fn replaced(&mut self, began: Time, common: &mut Common, observer: &mut dyn Observer<Frame>) {
        let Some(aqm) = self.later.pop() else { return };
        self.aqm = aqm;
        for (whose, queues) in std::mem::take(&mut self.waiting) {
            for (queue, waiting) in Queue::ALL.into_iter().zip(queues) {
                for mut packet in waiting {
                    let missed = packet.arrived < began;
                    if missed && common.patience.is_zero() {
                        let cause = DropCause::Limit;
                        self.dropped(packet.frame, queue, cause, began, common, observer);
                        continue;
                    }
                    if missed {
                        packet.missed.get_or_insert((began, DropCause::Limit));
                    }
                    self.wait(whose, packet);
                }
            }
        }
    }

    fn dropped(
        &mut self,
        frame: Frame,
        queue: Queue,
        cause: DropCause,
        at: Time,
        common: &mut Common,
        observer: &mut dyn Observer<Frame>,
    ) {
        match self.hop {
            None => {
                observer.dropped(&frame, queue, cause, at);
                if let Some(recognised) = &mut common.recognised {
                    recognised.dropped(&frame);
                }
            }
            Some(hop) => observer.at_hop(hop, &frame, queue, HopEvent::Dropped(cause), at),
        }
        self.counts.dropped += 1;
        common.pool.give(frame.into_buffer());
    }

    /// Takes the packet that left out of its queue, and with it packets that were missed for too long.
    fn take(
        &mut self,
        left: &Frame,
        whose: Whose,
        now: Time,
        common: &mut Common,
        observer: &mut dyn Observer<Frame>,
    ) -> Option<(Queue, Waiting)> {
        let queues = self.waiting.get_mut(&whose)?;
        let (queue, place) = Queue::ALL.into_iter().find_map(|queue| {
            let waiting = &queues[queue as usize];
            Some((queue, waiting.iter().position(|other| is_same(&other.frame, left))?))
        })?;
        let waiting = &mut queues[queue as usize];
        let overtaken = (now, DropCause::Aqm);
        for packet in waiting.range_mut(..place) {
            packet.missed.get_or_insert(overtaken);
        }
        // Those that were missed first are first.
        let for_long = |packet: &&Waiting| {
            packet.missed.is_some_and(|(since, _)| now.since(since) >= common.patience)
        };
        let gone = waiting.iter().take(place).take_while(for_long).count();
        let found = waiting.remove(place)?;
        let gone: Vec<_> = waiting.drain(..gone).collect();
        // A hundred thousand downloads leave nothing behind.
        if queues.iter().all(VecDeque::is_empty) {
            self.waiting.remove(&whose);
        }
        for Waiting { frame, missed, .. } in gone {
            let cause = missed.map_or(DropCause::Aqm, |(_, cause)| cause);
            self.dropped(frame, queue, cause, now, common, observer);
        }
        Some((queue, found))
    }
}

impl Follower {
    /// For the packets of a scenario.
    pub fn new(scenario: &Scenario) -> Follower {
        let owners = Owner::all(scenario);
        let later = scenario.changes.iter().filter_map(|change| change.aqm.clone());
        let aqms = [scenario.aqm.clone()].into_iter().chain(later).collect();
        let link = Followed::new(None, aqms, AckFilter::Off);
        // Its number is that behind all hops.
        let up = Some(scenario.hops.len() as u16);
        let aqms = scenario.uplink_aqms().cloned().collect();
        let uplink = scenario.uplink.as_ref();
        Follower {
            directions: (0..owners.len()).map(|pair| scenario.direction_of(pair)).collect(),
            corrupted: scenario.paths.iter().any(|path| path.corrupt > 0.0),
            link,
            uplink: uplink.map(|uplink| Followed::new(up, aqms, uplink.ack_filter)),
            common: Common {
                pool: Pool::new(BUFFER, usize::MAX),
                recognised: Recognised::new(scenario),
                patience: Duration::ZERO,
            },
            received: vec![0; owners.len()],
            owners,
        }
    }

    /// The same in real time: it has patience with overtaken packets, and compares departures with the
    /// schedules of the links.
    pub(crate) fn in_real_time(mut self, scenario: &Scenario, patience: Duration) -> Follower {
        self.common.patience = patience;
        self.link.schedule = Some(Schedule::of_link(scenario));
        if let Some(uplink) = &mut self.uplink {
            uplink.schedule = Schedule::of_uplink(scenario);
        }
        self
    }

    fn followed(&self, link: Direction) -> Option<&Followed> {
        match link {
            Direction::Down => Some(&self.link),
            Direction::Up => self.uplink.as_ref(),
        }
    }

    /// How late departures from a link were, where that is measured.
    pub fn lateness(&self, link: Direction) -> Option<Lateness> {
        self.followed(link)?.schedule.as_ref().map(Schedule::lateness)
    }

    /// The outcomes of the packets at a link; none where there is no such link.
    pub fn counts(&self, link: Direction) -> Counts {
        self.followed(link).map_or_else(Counts::default, |followed| followed.counts)
    }

    /// How many packets came from the server of a pair.
    pub fn received(&self, pair: usize) -> u64 {
        self.received.get(pair).copied().unwrap_or(0)
    }

    /// The next discipline of a link takes the place of the present one, which began at `began` and is
    /// over.
    pub fn replaced(&mut self, link: Direction, began: Time, observer: &mut dyn Observer<Frame>) {
        let Follower { link: down, uplink, common, .. } = self;
        match (link, uplink) {
            (Direction::Down, _) => down.replaced(began, common, observer),
            (Direction::Up, Some(uplink)) => uplink.replaced(began, common, observer),
            (Direction::Up, None) => {}
        }
    }

    /// The link on the way of packets from an end to the other end of a pair.
    fn link_between(&mut self, from: End, pair: u16) -> Option<&mut Followed> {
        let direction = *self.directions.get(usize::from(pair))?;
        match (from, direction) {
            (End::Server, Direction::Down) | (End::Client, Direction::Up) => Some(&mut self.link),
            (End::Server, Direction::Up) | (End::Client, Direction::Down) => self.uplink.as_mut(),
        }
    }

    /// A packet from an end arrived.
    pub fn arrived(&mut self, from: End, packet: Passed<'_>, observer: &mut dyn Observer<Frame>) {
        let Some((frame, whose)) = self.entering(packet, from, false) else { return };
        if from == End::Server {
            self.received[usize::from(packet.pair)] += 1;
        }
        let to = pair_of(frame.ip().addresses().1);
        match self.link_between(from, to) {
            Some(link) => link.arrived(frame, whose, packet.at, observer),
            None => self.stray(frame.into_buffer()),
        }
    }

    /// A packet left a link.
    pub fn departed(
        &mut self,
        link: Direction,
        packet: Passed<'_>,
        observer: &mut dyn Observer<Frame>,
    ) {
        let Some(left) = self.frame(packet.bytes) else { return };
        let whose = {
            let packet = left.ip();
            let pair = pair_of(packet.addresses().1);
            let from = match self.directions.get(usize::from(pair)) {
                Some(data) if *data != link => End::Client,
                _ => End::Server,
            };
            self.whose(&packet, pair, from)
        };
        let Follower { link: down, uplink, common, .. } = self;
        let followed = match link {
            Direction::Down => Some(down),
            Direction::Up => uplink.as_mut(),
        };
        match followed.zip(whose) {
            Some((followed, whose)) => followed.departed(left, whose, packet.at, common, observer),
            None => self.stray(left.into_buffer()),
        }
    }

    /// A packet from a client reached its server.
    pub fn answered(&mut self, packet: Passed<'_>, observer: &mut dyn Observer<Frame>) {
        let Some((frame, _)) = self.entering(packet, End::Client, true) else { return };
        observer.answered(&frame, packet.at);
        self.common.pool.give(frame.into_buffer());
    }

    /// The flows of programs, by their numbers in the run.
    pub fn recognised(&self) -> impl Iterator<Item = (FlowId, Row)> {
        self.common.recognised.iter().flat_map(Recognised::rows)
    }

    /// The packet of which these are the first bytes. The rest is payload, which agents send as zeros.
    fn frame(&mut self, bytes: &[u8]) -> Option<Frame> {
        let mut buffer: Buffer = self.common.pool.take();
        let length = ip_length(bytes).filter(|length| Frame::START + length <= buffer.len());
        let Some(length) = length else {
            self.stray(buffer);
            return None;
        };
        let known = bytes.len().min(length);
        let (header, packet) = buffer[..Frame::START + length].split_at_mut(Frame::START);
        header.fill(0);
        packet[..known].copy_from_slice(&bytes[..known]);
        packet[known..].fill(0);
        match Frame::read(buffer, Frame::START + length) {
            Ok(frame) => Some(frame),
            Err((buffer, _)) => {
                self.stray(buffer);
                None
            }
        }
    }

    /// A packet that comes from an end of its pair, and its flow. It may have been seen before, in a
    /// link `behind` it.
    fn entering(&mut self, passed: Passed<'_>, from: End, behind: bool) -> Option<(Frame, Whose)> {
        let mut frame = self.frame(passed.bytes)?;
        let packet = frame.ip();
        let seen = behind && self.link_between(from, pair_of(packet.addresses().1)).is_some();
        let flow = match (self.whose(&packet, passed.pair, from), &mut self.common.recognised) {
            (Some(whose @ Whose::Own(flow)), _) => Some((flow, whose)),
            (Some(whose), Some(flows)) if seen => {
                Some((flows.flow_of(&packet, from, passed.at), whose))
            }
            (Some(whose), Some(flows)) if packet.hops() > 1 => {
                Some((flows.observe(&packet, 1, from, passed.at), whose))
            }
            // The router discards a packet whose hop limit is used up.
            _ => None,
        };
        let Some((flow, whose)) = flow else {
            self.stray(frame.into_buffer());
            return None;
        };
        frame.belongs_to(flow, SourceId::new(passed.pair), from);
        Some((frame, whose))
    }

    /// The flow of a packet from an end of a pair. A packet of programs has a flow only if it is
    /// from a host to a host at the other end. The router neither forwards packets for itself or
    /// the neighbourhood, nor receives the ICMP errors that it sends.
    fn whose(&self, packet: &IpPacket<&[u8]>, pair: u16, from: End) -> Option<Whose> {
        let owner = self.owners.get(usize::from(pair))?;
        let programs = || {
            let (source, destination) = packet.addresses();
            let has_programs = |pair: u16| {
                self.owners.get(usize::from(pair)).is_some_and(|owner| owner.has_programs)
            };
            let is_forwarded = has_programs(pair_of(source))
                && has_programs(pair_of(destination))
                && end_of(source) == Some(from)
                && end_of(destination) == Some(from.other());
            is_forwarded.then(|| Whose::Programs(Key::new(packet, from.direction())))
        };
        let first = || {
            let is_a_flows = self.corrupted && !packet.is_local() && !owner.listed.is_empty();
            is_a_flows.then_some(Whose::Own(owner.listed.start))
        };
        owner.flow(packet, from).map(Whose::Own).or_else(programs).or_else(first)
    }

    fn stray(&mut self, buffer: Buffer) {
        self.common.pool.give(buffer);
        self.link.counts.stray += 1;
    }
}

/// The IP length that a header says.
fn ip_length(bytes: &[u8]) -> Option<usize> {
    let number =
        |at: usize| Some(usize::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)));
    match bytes.first()? >> 4 {
        4 => number(2),
        6 => number(4).map(|payload| 40 + payload),
        _ => None,
    }
}

/// Whether a packet that left is the one that arrived: a router changes its ECN field, its hop
/// limit and, in IPv4, its checksum. All that both show of it is compared, payload too: packets of QUIC
/// differ in nothing else.
fn is_same(arrived: &Frame, left: &Frame) -> bool {
    let (a, b) = (arrived.ip(), left.ip());
    let (headers, other) = (a.ip_header_length(), b.ip_header_length());
    let shown = a.length().min(SNAP).max(headers);
    headers == other
        && a.length() == b.length()
        && a.identification() == b.identification()
        && a.bytes()[headers..shown] == b.bytes()[other..shown]
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod uplink;
#[cfg(test)]
mod web;
