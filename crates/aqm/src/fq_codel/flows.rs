//! The queues of all flows over one pool of packets, linked by index: nothing is allocated per
//! packet or per flow, and an idle flow costs a few words.

use l4s_units::{Bytes, Time};

use crate::codel::Source;
use crate::waiting::Waiting;
use crate::{Backlog, Packet, Redundancy};

/// Stands for "no packet" or "no flow" in a link.
const NONE: u32 = u32::MAX;

/// A line of flows that wait for their turn, linked through [`Flows`].
#[derive(Clone, Copy, Debug)]
pub struct Line {
    first: u32,
    last: u32,
}

impl Default for Line {
    fn default() -> Self {
        Line { first: NONE, last: NONE }
    }
}

impl Line {
    /// The flow at the head.
    #[inline]
    pub fn first(self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }
}

/// A flow: the ends of its queue, and its place in a line.
#[derive(Clone, Copy, Debug)]
struct Flow {
    head: u32,
    tail: u32,
    /// The next flow in the line.
    next: u32,
    lined_up: bool,
}

/// A slot of the pool: a packet and the next in its queue, or a free slot and the next free one.
#[derive(Clone, Debug)]
struct Place<P> {
    waiting: Option<Waiting<P>>,
    next: u32,
}

/// The queues of all flows.
#[derive(Clone, Debug)]
pub struct Flows<P> {
    flows: Vec<Flow>,
    /// The bytes in each queue, side by side because finding the fattest reads them all.
    bytes: Vec<u64>,
    /// Grows to the most packets that ever waited.
    pool: Vec<Place<P>>,
    free: u32,
    backlog: Backlog,
}

/// Bytes of an empty queue.
pub const QUEUE: usize = size_of::<Flow>() + size_of::<u64>();

/// Bytes of a place for a packet.
pub const fn place<P>() -> usize {
    size_of::<Place<P>>()
}

impl<P: Packet> Flows<P> {
    /// This number of empty queues, at least one.
    pub fn new(flows: usize) -> Self {
        let empty = Flow { head: NONE, tail: NONE, next: NONE, lined_up: false };
        Flows {
            flows: vec![empty; flows],
            bytes: vec![0; flows],
            pool: Vec::new(),
            free: NONE,
            backlog: Backlog::default(),
        }
    }

    /// The backlog of all queues.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Packets that there is room for without allocation.
    #[cfg(test)]
    pub fn places(&self) -> usize {
        self.pool.len()
    }

    /// The backlog in the queue of `flow`, in bytes.
    #[inline]
    pub fn bytes(&self, flow: u32) -> u64 {
        self.bytes[flow as usize]
    }

    /// The flow with most bytes; of several, the first.
    pub fn fattest(&self) -> u32 {
        let mut fattest = 0;
        for (flow, bytes) in self.bytes.iter().enumerate() {
            if *bytes > self.bytes[fattest] {
                fattest = flow;
            }
        }
        fattest as u32
    }

    /// Adds a packet at the tail of the queue of `flow`.
    #[inline]
    pub fn push(&mut self, flow: u32, packet: P, arrival: Time) {
        self.backlog.packets += 1;
        self.backlog.bytes += packet.size();
        self.backlog.memory += packet.memory();
        self.bytes[flow as usize] += packet.size().get();
        let place = self.occupy(Waiting { packet, arrival, flag: false });
        let flow = &mut self.flows[flow as usize];
        match flow.tail {
            NONE => flow.head = place,
            tail => self.pool[tail as usize].next = place,
        }
        flow.tail = place;
    }

    #[inline]
    fn occupy(&mut self, waiting: Waiting<P>) -> u32 {
        let place = self.free;
        if place == NONE {
            self.pool.push(Place { waiting: Some(waiting), next: NONE });
            return (self.pool.len() - 1) as u32;
        }
        let free = &mut self.pool[place as usize];
        self.free = free.next;
        *free = Place { waiting: Some(waiting), next: NONE };
        place
    }

    /// Removes the packet at the head of the queue of `flow`.
    #[inline]
    pub fn pop(&mut self, flow: u32) -> Option<Waiting<P>> {
        let queue = &mut self.flows[flow as usize];
        let head = queue.head;
        let place = self.pool.get_mut(head as usize)?;
        let waiting = place.waiting.take()?;
        queue.head = place.next;
        if queue.head == NONE {
            queue.tail = NONE;
        }
        place.next = self.free;
        self.free = head;
        self.removed(flow, &waiting.packet);
        Some(waiting)
    }

    #[inline]
    fn removed(&mut self, flow: u32, packet: &P) {
        self.backlog.packets -= 1;
        self.backlog.bytes -= packet.size();
        self.backlog.memory -= packet.memory();
        self.bytes[flow as usize] -= packet.size().get();
    }

    /// The places of the queue of `flow`, the head first.
    fn places_of(&self, flow: u32) -> impl Iterator<Item = u32> {
        let exists = |place: u32| (place != NONE).then_some(place);
        core::iter::successors(exists(self.flows[flow as usize].head), move |place| {
            exists(self.pool[*place as usize].next)
        })
    }

    /// Removes the packet that `redundancy` finds in the queue of `flow` before the one at the tail.
    pub fn withdraw(&mut self, flow: u32, redundancy: &mut impl Redundancy<P>) -> Option<P> {
        let Flow { head, tail, .. } = self.flows[flow as usize];
        if head == tail {
            return None;
        }
        let newest = self.pool.get(tail as usize)?.waiting.as_ref()?;
        let older = self.places_of(flow).take_while(|place| *place != tail);
        let older =
            older.filter_map(|place| Some(&self.pool[place as usize].waiting.as_ref()?.packet));
        let found = redundancy.find(&newest.packet, newest.arrival, older)?;
        let at = |place| self.places_of(flow).nth(place);
        let before = found.checked_sub(1).and_then(at);
        let place = at(found).filter(|place| *place != tail)?;
        let removed = &mut self.pool[place as usize];
        let (waiting, next) = (removed.waiting.take()?, removed.next);
        removed.next = self.free;
        self.free = place;
        match before {
            Some(before) => self.pool[before as usize].next = next,
            None => self.flows[flow as usize].head = next,
        }
        self.removed(flow, &waiting.packet);
        Some(waiting.packet)
    }

    /// Removes all packets of all flows, in order of arrival. Flows stay in their lines.
    pub fn evacuate(&mut self) -> Vec<(Time, P)> {
        let mut waiting = Vec::with_capacity(self.backlog.packets);
        for flow in 0..self.flows.len() as u32 {
            let packets = core::iter::from_fn(|| self.pop(flow));
            waiting.extend(packets.map(|waiting| (waiting.arrival, waiting.packet)));
        }
        waiting.sort_by_key(|(arrival, _)| *arrival);
        waiting
    }

    /// The queue of `flow` alone, for its CoDel.
    #[inline]
    pub fn only(&mut self, flow: u32) -> Only<'_, P> {
        Only { flows: self, flow }
    }

    /// Whether `flow` stands in a line.
    #[inline]
    pub fn is_lined_up(&self, flow: u32) -> bool {
        self.flows[flow as usize].lined_up
    }

    /// Puts `flow`, which stands in no line, at the end of one.
    #[inline]
    pub fn append(&mut self, line: &mut Line, flow: u32) {
        let entry = &mut self.flows[flow as usize];
        entry.lined_up = true;
        entry.next = NONE;
        match line.last {
            NONE => line.first = flow,
            last => self.flows[last as usize].next = flow,
        }
        line.last = flow;
    }

    /// Takes the first flow out of a line.
    #[inline]
    pub fn remove_first(&mut self, line: &mut Line) {
        let Some(flow) = self.flows.get_mut(line.first as usize) else { return };
        flow.lined_up = false;
        line.first = flow.next;
        if line.first == NONE {
            line.last = NONE;
        }
    }
}

/// One queue of many.
pub struct Only<'a, P> {
    flows: &'a mut Flows<P>,
    flow: u32,
}

impl<P: Packet> Source<P> for Only<'_, P> {
    #[inline]
    fn pop(&mut self) -> Option<Waiting<P>> {
        self.flows.pop(self.flow)
    }

    /// As in Linux: the CoDel of a flow spares it only when all flows together have no more than
    /// one packet left.
    #[inline]
    fn left(&self) -> Bytes {
        self.flows.backlog.bytes
    }
}
