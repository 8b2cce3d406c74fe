//! Timers of connections: many, often moved later, seldom fired.
//!
//! A retransmission timer moves with every acknowledgement. Moving an entry each time would cost
//! more than the packet. So an entry stays where it is, and when it comes up it moves to where its
//! timer is really due. The connection is not touched before that.

use l4s_units::Time;

use crate::prefetch::prefetch;
use crate::wheel::Wheel;

/// A timer, and its entries in the wheel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    due: Time,
    /// The earliest entries, two at most; `NEVER` where there are fewer. A pacing timer alternates
    /// between a moment and a second. Its entry for the second stays, and is used again.
    entries: [Time; 2],
}

impl Timer {
    const OFF: Timer = Timer { due: Time::NEVER, entries: [Time::NEVER; 2] };
}

/// A set of lazy timers, each known by a number. Of those that are due at the same time the lower number
/// comes first.
#[derive(Debug)]
pub(crate) struct Timers {
    timers: Vec<Timer>,
    wheel: Wheel,
}

impl Timers {
    pub fn with_capacity(timers: usize) -> Self {
        Timers { timers: vec![Timer::OFF; timers], wheel: Wheel::default() }
    }

    /// Allocates this number of timers, if there are fewer.
    pub fn grow(&mut self, timers: usize) {
        if timers > self.timers.len() {
            self.timers.resize(timers, Timer::OFF);
        }
    }

    /// Asks for the memory of a timer.
    #[inline]
    pub fn prefetch(&self, timer: u32) {
        self.timers.get(timer as usize).into_iter().for_each(prefetch);
    }

    /// Timer `timer` is due at `deadline`; `NEVER` stops it. Returns whether [`Timers::next`] may
    /// be another one now.
    #[inline]
    pub fn set(&mut self, timer: u32, deadline: Time) -> bool {
        let Timer { due, entries } = &mut self.timers[timer as usize];
        *due = deadline;
        let is_earlier = deadline < entries[0];
        if is_earlier {
            *entries = [deadline, entries[0]];
            self.wheel.push(deadline, timer);
        }
        is_earlier
    }

    /// When the next entry comes up: no timer is due before it.
    #[inline]
    pub fn next(&self) -> Time {
        self.wheel.next().map_or(Time::NEVER, |(time, _)| time)
    }

    /// The timer of the next entry.
    #[inline]
    pub fn upcoming(&self) -> Option<u32> {
        self.wheel.next().map(|(_, timer)| timer)
    }

    /// The next timer that is due at `now` or before it, which is off from then on.
    pub fn pop(&mut self, now: Time) -> Option<u32> {
        let number = self.due(now)?;
        self.wheel.pop();
        let Timer { entries, .. } = &mut self.timers[number as usize];
        *entries = [entries[1], Time::NEVER];
        Some(number)
    }

    /// The same timer, without a change. Entries that came up before their timer is due go to where it is.
    #[inline]
    pub fn due(&mut self, now: Time) -> Option<u32> {
        while let Some((time, number)) = self.wheel.next().filter(|(time, _)| *time <= now) {
            let Timer { entries, due } = &mut self.timers[number as usize];
            let due = *due;
            let is_first = entries[0] == time;
            if is_first && due <= time {
                return Some(number);
            }
            self.wheel.pop();
            // An earlier entry of the same timer may have replaced it.
            if is_first {
                *entries = [entries[1], Time::NEVER];
                self.set(number, due);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use l4s_units::Duration;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// As a sender that paces: its timer is due in a moment, fires, and is due for a retransmission
    /// until the next acknowledgement comes.
    #[test]
    fn a_timer_that_alternates_keeps_two_entries() {
        let mut timers = Timers::with_capacity(1);
        let mut now = Time::ZERO;
        for _ in 0..10_000 {
            timers.set(0, now + Duration::from_micros(20));
            now += Duration::from_micros(20);
            assert_eq!((timers.next(), timers.pop(now)), (now, Some(0)));
            timers.set(0, now + Duration::from_secs(1));
            assert!(timers.wheel.len() <= 2, "{}", timers.wheel.len());
        }
    }

    #[test]
    fn one_that_was_moved_later_comes_up_when_it_is_due() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut timers = Timers::with_capacity(2);
        for ms in [50, 30, 40, 10, 20] {
            timers.set(0, at(ms));
        }
        timers.set(1, at(25));
        assert_eq!((timers.next(), timers.pop(at(10))), (at(10), None));
        assert_eq!((timers.next(), timers.pop(at(20))), (at(20), Some(0)));
        assert_eq!((timers.next(), timers.pop(at(25))), (at(25), Some(1)));
        // The entries for 30, 40 and 50 ms are of a timer that is not running.
        timers.set(0, Time::NEVER);
        assert_eq!((timers.pop(at(100)), timers.next()), (None, Time::NEVER));
    }

    proptest! {
        /// Steps: a timer is set to a time from now on or stopped, or time passes until then.
        #[test]
        fn they_fire_when_they_are_due_and_the_lower_number_first(
            steps in prop::collection::vec((0u32..20, prop::bool::ANY, 0u32..40, 0u64..32), 1..300),
        ) {
            let mut timers = Timers::with_capacity(20);
            let mut due = [Time::NEVER; 20];
            let mut now = Time::ZERO;
            for (timer, passes, exponent, mantissa) in steps {
                let time = now + Duration::from_nanos(mantissa << exponent);
                if !passes {
                    let time = if mantissa == 31 { Time::NEVER } else { time };
                    timers.set(timer, time);
                    due[timer as usize] = time;
                    continue;
                }
                let mut expected = BTreeSet::new();
                for (number, due) in (0..).zip(&mut due).filter(|(_, due)| **due <= time) {
                    expected.insert((*due, number));
                    *due = Time::NEVER;
                }
                let mut fired = Vec::new();
                while timers.next() <= time {
                    now = now.max(timers.next());
                    if let Some(number) = timers.pop(now) {
                        fired.push((now, number));
                        timers.set(number, Time::NEVER);
                    }
                }
                now = time;
                prop_assert_eq!(fired, expected.into_iter().collect::<Vec<_>>());
            }
        }
    }
}
