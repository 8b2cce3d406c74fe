//! Timers of connections: many, often moved later, seldom fired.
//!
//! A retransmission timer moves with every acknowledgement. Moving an entry each time would cost
//! more than the packet. So an entry stays where it is, and when it comes up its owner says when
//! it is really due.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use l4s_units::Time;

/// A set of lazy timers, each known by a number.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Time, u32)>>,
    /// The earliest entry in the heap of each timer; `NEVER` where it has none.
    entry: Vec<Time>,
}

impl Timers {
    pub fn with_capacity(timers: usize) -> Self {
        Timers { heap: BinaryHeap::new(), entry: vec![Time::NEVER; timers] }
    }

    /// Makes room for so many timers, if there is less.
    pub fn grow(&mut self, timers: usize) {
        if timers > self.entry.len() {
            self.entry.resize(timers, Time::NEVER);
        }
    }

    /// Timer `timer` is due at `deadline`; `NEVER` stops it.
    #[inline]
    pub fn set(&mut self, timer: u32, deadline: Time) {
        // An entry that comes up too early is put right when it does.
        if deadline < self.entry[timer as usize] {
            self.entry[timer as usize] = deadline;
            self.heap.push(Reverse((deadline, timer)));
        }
    }

    /// When the next entry comes up.
    #[inline]
    pub fn next(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse((time, _))| *time)
    }

    /// Takes the entry that comes up; `None` where an earlier one of the same timer replaced it.
    pub fn pop(&mut self) -> Option<u32> {
        let Reverse((time, timer)) = self.heap.pop()?;
        let entry = &mut self.entry[timer as usize];
        if *entry != time {
            return None;
        }
        *entry = Time::NEVER;
        Some(timer)
    }
}
