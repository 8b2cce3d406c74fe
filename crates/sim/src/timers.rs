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
    /// The earliest entries in the heap of each timer, two at most; `NEVER` where there are fewer. A
    /// timer that alternates between a moment and a second has one entry for each, and not a new one
    /// for that second each time.
    entries: Vec<[Time; 2]>,
}

impl Timers {
    pub fn with_capacity(timers: usize) -> Self {
        Timers { heap: BinaryHeap::new(), entries: vec![[Time::NEVER; 2]; timers] }
    }

    /// Allocates this number of timers, if there are fewer.
    pub fn grow(&mut self, timers: usize) {
        if timers > self.entries.len() {
            self.entries.resize(timers, [Time::NEVER; 2]);
        }
    }

    /// Timer `timer` is due at `deadline`; `NEVER` stops it. Returns whether [`Timers::next`] may
    /// be another one now.
    #[inline]
    pub fn set(&mut self, timer: u32, deadline: Time) -> bool {
        // An entry that comes up too early is put right when it does.
        let entries = &mut self.entries[timer as usize];
        let is_earlier = deadline < entries[0];
        if is_earlier {
            *entries = [deadline, entries[0]];
            self.heap.push(Reverse((deadline, timer)));
        }
        is_earlier
    }

    /// When the next entry comes up.
    #[inline]
    pub fn next(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse((time, _))| *time)
    }

    /// Takes the entry that comes up; `None` where earlier ones of the same timer replaced it.
    pub fn pop(&mut self) -> Option<u32> {
        let Reverse((time, timer)) = self.heap.pop()?;
        let entries = &mut self.entries[timer as usize];
        if entries[0] != time {
            return None;
        }
        *entries = [entries[1], Time::NEVER];
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use l4s_units::Duration;

    /// As a sender that paces: its timer is due in a moment, fires, and is due for a retransmission
    /// until the next acknowledgement comes.
    #[test]
    fn a_timer_that_alternates_keeps_two_entries() {
        let mut timers = Timers::with_capacity(1);
        let mut now = Time::ZERO;
        for _ in 0..10_000 {
            timers.set(0, now + Duration::from_micros(20));
            now += Duration::from_micros(20);
            assert_eq!((timers.next(), timers.pop()), (now, Some(0)));
            timers.set(0, now + Duration::from_secs(1));
            assert!(timers.heap.len() <= 2, "{}", timers.heap.len());
        }
    }

    #[test]
    fn it_is_never_later_than_it_was_set_for() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut timers = Timers::with_capacity(2);
        for ms in [50, 30, 40, 10, 20] {
            timers.set(0, at(ms));
        }
        timers.set(1, at(25));
        let fired: Vec<_> = std::iter::from_fn(|| {
            let time = timers.next();
            (time != Time::NEVER).then(|| (time, timers.pop()))
        })
        .collect();
        // 40 and 20 were set when it was due earlier, and who owns it says so when it comes up.
        let expected = [(at(10), Some(0)), (at(25), Some(1)), (at(30), Some(0)), (at(50), None)];
        assert_eq!(fired, expected);
    }
}
