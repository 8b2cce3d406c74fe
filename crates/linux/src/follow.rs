//! From the packets seen at both ends of the bottleneck to the events in it.
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
//! Where a scenario replaces the discipline, the kernel drops the backlog: packets that came before the
//! replacement began and have not left when it is over. Code takes no time in virtual time, except
//! for 256 ns to read a clock; packets that came in that moment are overtaken or never leave, if
//! they were dropped, too.

use std::collections::{BTreeMap, VecDeque};

use l4s_aqm::{DropCause, Packet, Queue};
use l4s_flows::{Key, Row};
use l4s_lab::ip::IpPacket;
use l4s_lab::{Buffer, End, Frame, Lateness, Owner, Pool, Recognised, end_of, pair_of};
use l4s_model::{FlowId, Scenario, SourceId};
use l4s_observe::{Observer, Traced};
use l4s_units::{Duration, Ecn, Time};

use crate::event::Passed;
use crate::qdisc;
use crate::schedule::Schedule;
use crate::tap::SNAP;

/// Room for the longest packet, and some more.
const BUFFER: usize = 2048;

/// Follows packets through the bottleneck.
#[derive(Debug)]
pub struct Follower {
    aqm: l4s_aqm::Config,
    /// Those that will take its place, the next one last.
    later: Vec<l4s_aqm::Config>,
    owners: Vec<Owner>,
    pool: Pool,
    /// Packets that arrived and have not left, per flow with such packets, and per queue.
    waiting: BTreeMap<Whose, Queues>,
    /// The flows of programs.
    recognised: Option<Recognised>,
    /// How long a packet may still leave that looks as if it was dropped.
    patience: Duration,
    /// When packets should leave, where they can be late.
    schedule: Option<Schedule>,
    /// How many came from the server of each pair.
    received: Vec<u64>,
    /// The outcomes of all packets.
    pub counts: Counts,
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
    /// Belonged to no flow: ICMP, say.
    pub stray: u64,
    /// Left without having arrived.
    pub unknown: u64,
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

impl Follower {
    /// For the packets of a scenario.
    pub fn new(scenario: &Scenario) -> Follower {
        let later = scenario.changes.iter().rev();
        let later = later.filter_map(|change| change.aqm.clone());
        let owners = Owner::all(scenario);
        Follower {
            aqm: scenario.aqm.clone(),
            later: later.collect(),
            patience: Duration::ZERO,
            schedule: None,
            received: vec![0; owners.len()],
            owners,
            pool: Pool::new(BUFFER, usize::MAX),
            waiting: BTreeMap::new(),
            recognised: Recognised::new(scenario),
            counts: Counts::default(),
        }
    }

    /// The same in real time: it has patience with overtaken packets, and compares departures with
    /// a schedule.
    pub(crate) fn in_real_time(self, schedule: Schedule, patience: Duration) -> Follower {
        Follower { schedule: Some(schedule), patience, ..self }
    }

    /// How late departures were, where that is measured.
    pub fn lateness(&self) -> Option<Lateness> {
        self.schedule.as_ref().map(Schedule::lateness)
    }

    /// How many packets came from the server of a pair.
    pub fn received(&self, pair: usize) -> u64 {
        self.received.get(pair).copied().unwrap_or(0)
    }

    /// The next discipline takes the place of the present one, which began at `began` and is over.
    pub fn replaced(&mut self, began: Time, observer: &mut impl Observer<Frame>) {
        let Some(aqm) = self.later.pop() else { return };
        self.aqm = aqm;
        for (whose, queues) in std::mem::take(&mut self.waiting) {
            for (queue, waiting) in Queue::ALL.into_iter().zip(queues) {
                for mut packet in waiting {
                    let missed = packet.arrived < began;
                    if missed && self.patience.is_zero() {
                        self.dropped(packet.frame, queue, DropCause::Limit, began, observer);
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

    fn wait(&mut self, whose: Whose, packet: Waiting) {
        let queue = qdisc::queue_of(&self.aqm, packet.frame.ecn());
        self.waiting.entry(whose).or_default()[queue as usize].push_back(packet);
    }

    fn dropped(
        &mut self,
        frame: Frame,
        queue: Queue,
        cause: DropCause,
        at: Time,
        observer: &mut impl Observer<Frame>,
    ) {
        observer.dropped(&frame, queue, cause, at);
        if let Some(recognised) = &mut self.recognised {
            recognised.dropped(&frame);
        }
        self.counts.dropped += 1;
        self.pool.give(frame.into_buffer());
    }

    /// A packet arrived.
    pub fn arrived(&mut self, packet: Passed<'_>, observer: &mut impl Observer<Frame>) {
        let Some((frame, whose)) = self.entering(packet, End::Server) else { return };
        self.counts.arrived += 1;
        self.received[usize::from(packet.pair)] += 1;
        observer.arrived(&frame, packet.at);
        self.wait(whose, Waiting { frame, arrived: packet.at, missed: None });
    }

    /// A packet left.
    pub fn departed(&mut self, packet: Passed<'_>, observer: &mut impl Observer<Frame>) {
        let Some(left) = self.frame(packet.bytes) else { return };
        let whose = {
            let packet = left.ip();
            self.whose(&packet, pair_of(packet.addresses().1), End::Server)
        };
        let Some(whose) = whose else { return self.stray(left.into_buffer()) };
        let now = packet.at;
        let marked = left.ecn() == Ecn::Ce;
        let found = self.take(&left, whose, now, observer);
        self.pool.give(left.into_buffer());
        let Some((queue, Waiting { mut frame, arrived, .. })) = found else {
            self.counts.unknown += 1;
            return;
        };
        let sojourn = now.since(arrived);
        if marked && !frame.arrived_ce() {
            frame.set_ce();
            let cause = qdisc::cause_of_mark(&self.aqm, queue, sojourn);
            observer.marked(&frame, queue, cause, now);
            if let Some(recognised) = &mut self.recognised {
                recognised.marked(&frame);
            }
        }
        if let Some(schedule) = &mut self.schedule {
            schedule.departed(arrived, now, Packet::size(&frame));
        }
        observer.departed(&frame, queue, sojourn, now);
        if let Some(recognised) = &mut self.recognised {
            recognised.departed(&frame, sojourn);
        }
        self.counts.departed += 1;
        self.pool.give(frame.into_buffer());
    }

    /// A packet from a client reached its server.
    pub fn answered(&mut self, packet: Passed<'_>, observer: &mut impl Observer<Frame>) {
        let Some((frame, _)) = self.entering(packet, End::Client) else { return };
        observer.answered(&frame, packet.at);
        self.pool.give(frame.into_buffer());
    }

    /// Takes the packet that left out of its queue, and with it packets that were missed for too long.
    fn take(
        &mut self,
        left: &Frame,
        whose: Whose,
        now: Time,
        observer: &mut impl Observer<Frame>,
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
            packet.missed.is_some_and(|(since, _)| now.since(since) >= self.patience)
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
            self.dropped(frame, queue, cause, now, observer);
        }
        Some((queue, found))
    }

    /// The flows of programs, by their numbers in the run.
    pub fn recognised(&self) -> impl Iterator<Item = (FlowId, Row)> {
        self.recognised.iter().flat_map(Recognised::rows)
    }

    /// How many packets were neither seen to leave nor overtaken.
    pub fn left_over(&self) -> u64 {
        self.counts.arrived - self.counts.departed - self.counts.dropped
    }

    /// The packet of which these are the first bytes. The rest is payload, which agents send as zeros.
    fn frame(&mut self, bytes: &[u8]) -> Option<Frame> {
        let mut buffer: Buffer = self.pool.take();
        let length = ip_length(bytes).filter(|length| *length <= buffer.len());
        let Some(length) = length else {
            self.stray(buffer);
            return None;
        };
        let known = bytes.len().min(length);
        buffer[..known].copy_from_slice(&bytes[..known]);
        buffer[known..length].fill(0);
        match Frame::read(buffer, length, false) {
            Ok(frame) => Some(frame),
            Err((buffer, _)) => {
                self.stray(buffer);
                None
            }
        }
    }

    /// A packet that comes from an end of its pair, and its flow.
    fn entering(&mut self, passed: Passed<'_>, from: End) -> Option<(Frame, Whose)> {
        let mut frame = self.frame(passed.bytes)?;
        let packet = frame.ip();
        let flow = match (self.whose(&packet, passed.pair, from), &mut self.recognised) {
            (Some(whose @ Whose::Own(flow)), _) => Some((flow, whose)),
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
        owner.flow(packet, from).map(Whose::Own).or_else(programs)
    }

    fn stray(&mut self, buffer: Buffer) {
        self.pool.give(buffer);
        self.counts.stray += 1;
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
mod web;
