//! A hierarchical timer wheel (Varghese and Lauck, 1987), whose order is exact.
//!
//! An entry that comes up later than the present tick waits in a slot, in no order. The slots of a level are 64
//! times as long as those of the level below. When the wheel comes to a slot, its entries move to levels below.
//! Those of the present tick are in a heap, which is small: it gives them in order of time, and then of
//! number. So adding and removing takes the same time for any number of entries.
//!
//! The entries of a slot are side by side: a list of them through memory would miss the cache at each.

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

/// Entries for which a slot has room at first.
const ROOM: usize = 32;
/// The most room that is kept for the next slot. A slot with more entries allocates, but few times for all of them.
const KEPT: usize = 1024;

/// When a number comes up.
type Entry = (Time, u32);

/// Numbers, each with a time.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// The present tick. All entries up to it are in `near`.
    tick: u64,
    near: BinaryHeap<Reverse<Entry>>,
    /// Per level, which slots have entries.
    occupied: [u64; LEVELS],
    slots: [[Vec<Entry>; SLOTS]; LEVELS],
    /// The memory of slots that are empty, for those that have entries next.
    spare: Vec<Vec<Entry>>,
}

impl Default for Wheel {
    fn default() -> Wheel {
        Wheel {
            tick: 0,
            near: BinaryHeap::new(),
            occupied: [0; LEVELS],
            slots: core::array::from_fn(|_| core::array::from_fn(|_| Vec::new())),
            spare: Vec::new(),
        }
    }
}

impl Wheel {
    /// Adds an entry.
    pub fn push(&mut self, time: Time, number: u32) {
        self.place((time, number));
        if self.near.is_empty() {
            self.turn();
        }
    }

    /// The earliest entry, the lower number first.
    #[inline]
    pub fn next(&self) -> Option<Entry> {
        self.near.peek().map(|Reverse(entry)| *entry)
    }

    /// Removes the earliest entry.
    pub fn pop(&mut self) {
        self.near.pop();
        if self.near.is_empty() {
            self.turn();
        }
    }

    /// Puts an entry where it belongs. The level is that of the highest bits in which its tick and the present
    /// one differ.
    #[inline]
    fn place(&mut self, entry: Entry) {
        let tick = entry.0.as_nanos() >> TICK;
        if tick <= self.tick {
            return self.near.push(Reverse(entry));
        }
        let level = ((tick ^ self.tick).ilog2() / BITS) as usize;
        let number = (tick >> (BITS * level as u32)) as usize % SLOTS;
        let slot = &mut self.slots[level][number];
        if slot.capacity() == 0 {
            *slot = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(ROOM));
        }
        slot.push(entry);
        self.occupied[level] |= 1 << number;
    }

    /// Goes on to the next tick with an entry. The slots of a level come before those of the level above,
    /// and before the present slot there are none.
    fn turn(&mut self) {
        while self.near.is_empty() {
            let Some(level) = self.occupied.iter().position(|slots| *slots != 0) else { return };
            let number = self.occupied[level].trailing_zeros();
            self.occupied[level] &= !(1 << number);
            let shift = BITS * level as u32;
            self.tick = (self.tick >> shift >> BITS << BITS | u64::from(number)) << shift;
            let mut entries = core::mem::take(&mut self.slots[level][number as usize]);
            entries.drain(..).for_each(|entry| self.place(entry));
            if entries.capacity() <= KEPT {
                self.spare.push(entries);
            }
        }
    }

    /// How many entries there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.near.len() + self.slots.iter().flatten().map(Vec::len).sum::<usize>()
    }
}
