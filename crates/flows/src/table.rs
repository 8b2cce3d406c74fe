//! The table of flows.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use l4s_units::{Bytes, Duration, Ecn, Time};

use crate::flow::Flow;
use crate::fragments::Fragments;
use crate::ip::{Fragment, IpPacket, Version};
use crate::{Direction, Key};

/// The number of all flows beyond the cap together.
pub const OTHERS: u32 = 0;
/// The number for bytes that are not an IP packet.
pub const MALFORMED: u32 = 1;
/// The number of the first flow.
const FIRST: usize = 2;

/// The table of flows. A flow is given the next number when its first packet passes, from 2 on.
///
/// The address space for all flows is reserved at the beginning, so that the table is never copied to a
/// larger one while packets wait. The system gives it memory page by page, as flows come.
#[derive(Clone, Debug)]
pub struct Flows {
    /// The number of each flow by the hash of its key; the key itself is in the flow.
    by_key: HashTable<u32>,
    /// With a random seed a sender cannot choose addresses and ports that collide. The numbers of flows
    /// do not depend on the seed.
    hasher: FixedState,
    flows: Vec<Flow>,
    /// The longest that `flows` may be.
    room: usize,
    fragments: Fragments,
}

impl Flows {
    /// The default cap: how many flows have a number of their own.
    pub const CAP: usize = 100_000;

    /// An empty table for up to `cap` flows, with this seed of the hash function.
    pub fn new(cap: usize, seed: u64) -> Flows {
        let room = cap + FIRST;
        let mut flows = Vec::with_capacity(room);
        flows.resize(FIRST, Flow::new(Key::NONE));
        Flows {
            by_key: HashTable::with_capacity(cap),
            hasher: FixedState::with_seed(seed),
            flows,
            room,
            fragments: Fragments::new(),
        }
    }

    /// A packet passes the bottleneck: from the server when it arrives at the queue, from the client at any
    /// one point of the way back. `segments` is the number of packets on the link that it becomes: 1
    /// without segmentation offload. Returns the number of its flow.
    #[inline]
    pub fn observe<T: AsRef<[u8]>>(
        &mut self,
        packet: &IpPacket<T>,
        direction: Direction,
        segments: u16,
        now: Time,
    ) -> u32 {
        let flow = self.flow_of(packet, direction, now);
        self.flows[flow as usize].observe(packet, direction, segments, now);
        flow
    }

    /// The number of a packet's flow, for a packet that passes a second point and is counted already.
    #[inline]
    pub fn flow_of<T: AsRef<[u8]>>(
        &mut self,
        packet: &IpPacket<T>,
        direction: Direction,
        now: Time,
    ) -> u32 {
        match packet.fragment() {
            Fragment::Whole => self.number(packet, direction),
            part => self.number_of_fragment(packet, part, direction, now),
        }
    }

    /// Bytes that are not an IP packet arrive.
    pub fn observe_malformed(&mut self, direction: Direction, length: usize, now: Time) -> u32 {
        self.flows[MALFORMED as usize].pass(direction, Ecn::NotEct, 1, length, now);
        MALFORMED
    }

    /// A packet of this flow was marked in the queue.
    #[inline]
    pub fn marked(&mut self, flow: u32, packets: u16) {
        self.flows[flow as usize].counts.marks += u64::from(packets);
    }

    /// A packet of this flow was dropped in the queue.
    #[inline]
    pub fn dropped(&mut self, flow: u32, packets: u16) {
        self.flows[flow as usize].counts.drops += u64::from(packets);
    }

    /// A packet of this flow leaves the queue, `sojourn` after its arrival. `length` is the IP length of all
    /// its segments ([`IpPacket::wire_length`]).
    #[inline]
    pub fn departed(&mut self, flow: u32, packets: u16, length: Bytes, sojourn: Duration) {
        let counts = &mut self.flows[flow as usize].counts;
        counts.forwarded += length;
        counts.delays.record(sojourn, packets);
    }

    /// The warm-up is over: counts begin at zero. Flows, their numbers and the state of their connections
    /// stay.
    pub fn end_warmup(&mut self, now: Time) {
        self.flows.iter_mut().for_each(|flow| flow.clear_counts(now));
    }

    /// How many numbers are given, [`OTHERS`] and [`MALFORMED`] included.
    pub fn numbers(&self) -> u32 {
        self.flows.len() as u32
    }

    /// The conversation of a flow; `None` for [`OTHERS`], [`MALFORMED`] and numbers not given yet.
    pub fn key(&self, flow: u32) -> Option<&Key> {
        self.flows[FIRST..].get((flow as usize).checked_sub(FIRST)?).map(|flow| &flow.key)
    }

    pub(crate) fn get(&self, flow: u32) -> &Flow {
        &self.flows[flow as usize]
    }

    /// The number of the flow of a packet, which may be a new one. Each version has a lookup of its own,
    /// so that the words of a key stay in registers.
    #[inline(always)]
    fn number<T: AsRef<[u8]>>(&mut self, packet: &IpPacket<T>, direction: Direction) -> u32 {
        match packet.version() {
            Version::V4 => self.find(Key::v4(packet, direction)),
            Version::V6 => self.find(Key::v6(packet, direction)),
        }
    }

    /// The number of the flow with this key, which may be a new one.
    #[inline(always)]
    fn find(&mut self, key: Key) -> u32 {
        let hash = self.hasher.hash_one(key);
        let is_it = |flow: &u32| self.flows[*flow as usize].key == key;
        match self.by_key.find(hash, is_it) {
            Some(flow) => *flow,
            None => self.insert(key, hash),
        }
    }

    #[cold]
    fn insert(&mut self, key: Key, hash: u64) -> u32 {
        if self.flows.len() == self.room {
            return OTHERS;
        }
        let flow = self.numbers();
        self.flows.push(Flow::new(key));
        let rehash = |flow: &u32| self.hasher.hash_one(self.flows[*flow as usize].key);
        self.by_key.insert_unique(hash, flow, rehash);
        flow
    }

    #[cold]
    fn number_of_fragment<T: AsRef<[u8]>>(
        &mut self,
        packet: &IpPacket<T>,
        part: Fragment,
        direction: Direction,
        now: Time,
    ) -> u32 {
        let known = match part {
            Fragment::Later => self.fragments.later(packet, now),
            _ => None,
        };
        let flow = known.unwrap_or_else(|| self.find(Key::new(packet, direction)));
        if part == Fragment::First {
            self.fragments.first(packet, flow, now);
        }
        flow
    }
}
