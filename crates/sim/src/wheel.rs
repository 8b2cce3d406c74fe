//! A hierarchical timer wheel (Varghese and Lauck, 1987), whose order is exact.
//!
//! An entry that comes up later than the present tick waits in a slot, in no order. The slots of a level are 64
//! times as long as those of the level below. When the wheel comes to a slot, its entries move to levels below.
//! Those of the present tick are in a heap, which is small: it gives them in order of time, and then of
//! number. So adding and removing takes the same time for any number of entries.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use l4s_units::Time;

/// A tick has 2¹⁵ ns, 33 us.
const TICK: u32 = 15;
/// Bits of a tick's number that choose a slot of a level.
const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
/// All 49 bits of a tick's number.
const LEVELS: usize = (u64::BITS - TICK).div_ceil(BITS) as usize;
/// The end of a list.
const END: u32 = u32::MAX;

/// An entry in a slot, or a free place.
#[derive(Clone, Copy, Debug)]
struct Node {
    time: Time,
    number: u32,
    /// The next entry of the slot.
    next: u32,
}

/// Numbers, each with a time.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// The present tick. All entries up to it are in `near`.
    tick: u64,
    near: BinaryHeap<Reverse<(Time, u32)>>,
    /// Per level, which slots have entries.
    occupied: [u64; LEVELS],
    /// The first entry of each slot.
    first: [[u32; SLOTS]; LEVELS],
    nodes: Vec<Node>,
    /// The first free place in `nodes`.
    free: u32,
}

impl Default for Wheel {
    fn default() -> Wheel {
        Wheel {
            tick: 0,
            near: BinaryHeap::new(),
            occupied: [0; LEVELS],
            first: [[END; SLOTS]; LEVELS],
            nodes: Vec::new(),
            free: END,
        }
    }
}

impl Wheel {
    /// Adds an entry.
    pub fn push(&mut self, time: Time, number: u32) {
        let tick = time.as_nanos() >> TICK;
        if tick <= self.tick {
            return self.near.push(Reverse((time, number)));
        }
        let node = Node { time, number, next: END };
        let place = if self.free == END {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        } else {
            let place = self.free;
            self.free = self.nodes[place as usize].next;
            self.nodes[place as usize] = node;
            place
        };
        self.link(place, tick);
        if self.near.is_empty() {
            self.turn();
        }
    }

    /// The earliest entry, the lower number first.
    #[inline]
    pub fn next(&self) -> Option<(Time, u32)> {
        self.near.peek().map(|Reverse(entry)| *entry)
    }

    /// Removes the earliest entry.
    pub fn pop(&mut self) {
        self.near.pop();
        if self.near.is_empty() {
            self.turn();
        }
    }

    /// Puts the entry at a place of `nodes` into the slot for its tick, which is later than the present
    /// one. The level is that of the highest bits in which the two differ.
    fn link(&mut self, place: u32, tick: u64) {
        let level = ((tick ^ self.tick).ilog2() / BITS) as usize;
        let slot = (tick >> (BITS * level as u32)) as usize % SLOTS;
        self.nodes[place as usize].next = self.first[level][slot];
        self.first[level][slot] = place;
        self.occupied[level] |= 1 << slot;
    }

    /// Goes on to the next tick with an entry. The slots of a level come before those of the level above,
    /// and before the present slot there are none.
    fn turn(&mut self) {
        while self.near.is_empty() {
            let Some(level) = self.occupied.iter().position(|slots| *slots != 0) else { return };
            let slot = self.occupied[level].trailing_zeros();
            self.occupied[level] &= !(1 << slot);
            let shift = BITS * level as u32;
            self.tick = (self.tick >> shift >> BITS << BITS | u64::from(slot)) << shift;
            let mut place = core::mem::replace(&mut self.first[level][slot as usize], END);
            while place != END {
                let Node { time, number, next } = self.nodes[place as usize];
                let tick = time.as_nanos() >> TICK;
                if tick > self.tick {
                    self.link(place, tick);
                } else {
                    self.near.push(Reverse((time, number)));
                    self.nodes[place as usize].next = self.free;
                    self.free = place;
                }
                place = next;
            }
        }
    }

    /// How many entries there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        let free = core::iter::successors(Some(self.free), |place| {
            Some(self.nodes.get(*place as usize)?.next)
        });
        self.near.len() + self.nodes.len() - (free.count() - 1)
    }
}
