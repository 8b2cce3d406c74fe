//! Lines of constant delay: one per pair, from its client back to its server.
//!
//! A re-route gives a line another delay for packets that are sent from then on; packets on it arrive at
//! their time. So after a change to a shorter path, later packets overtake.

use std::collections::VecDeque;

use l4s_units::{Duration, Time};

/// A line. Its packets are in order of arrival, and only the head needs attention.
#[derive(Debug)]
struct Line<T> {
    delay: Duration,
    /// When each arrives, earliest first.
    on_it: VecDeque<(Time, T)>,
}

impl<T> Line<T> {
    fn next(&self) -> Time {
        self.on_it.front().map_or(Time::NEVER, |head| head.0)
    }
}

/// Lines, and which of them delivers next.
#[derive(Debug)]
pub struct Lines<T> {
    lines: Vec<Line<T>>,
    /// The earliest arrival and its line.
    next: (Time, usize),
}

impl<T> Lines<T> {
    /// One empty line for each delay.
    pub fn new(delays: impl IntoIterator<Item = Duration>) -> Lines<T> {
        let lines = delays.into_iter().map(|delay| Line { delay, on_it: VecDeque::new() });
        Lines { lines: lines.collect(), next: (Time::NEVER, 0) }
    }

    /// When the next one arrives; never while all lines are empty.
    #[inline]
    pub fn next(&self) -> Time {
        self.next.0
    }

    /// How many lines there are.
    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// How many are on line `line`.
    pub fn waiting(&self, line: usize) -> usize {
        self.lines[line].on_it.len()
    }

    /// From now on, packets along line `line` take `delay`.
    pub fn set_delay(&mut self, line: usize, delay: Duration) {
        self.lines[line].delay = delay;
    }

    /// Sends `what` along line `line` at `now`, which must not run backwards.
    #[inline]
    pub fn push(&mut self, line: usize, what: T, now: Time) {
        let Line { delay, on_it } = &mut self.lines[line];
        let arrives = now + *delay;
        match on_it.back() {
            Some(last) if last.0 > arrives => overtake(on_it, arrives, what),
            _ => on_it.push_back((arrives, what)),
        }
        self.next = self.next.min((arrives, line));
    }

    /// The packet that arrives at [`Lines::next`], and its line. Of several at that
    /// instant, the one of the first line.
    #[inline]
    pub fn pop(&mut self) -> Option<(usize, T)> {
        let line = self.next.1;
        let (_, what) = self.lines.get_mut(line)?.on_it.pop_front()?;
        // A scenario has few pairs; looking at all heads is cheaper than keeping a heap.
        let heads = self.lines.iter().map(Line::next).zip(0..);
        self.next = heads.min().unwrap_or((Time::NEVER, 0));
        Some((line, what))
    }
}

/// Of those that arrive at one instant, the one sent first comes first.
#[cold]
fn overtake<T>(on_it: &mut VecDeque<(Time, T)>, arrives: Time, what: T) {
    let at = on_it.partition_point(|other| other.0 <= arrives);
    on_it.insert(at, (arrives, what));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Everything arrives after exactly its delay, in order of time; from one line in order.
        #[test]
        fn delays_are_exact(
            delays in prop::collection::vec(0u64..1_000, 1..5),
            sent in prop::collection::vec((0u64..100, any::<prop::sample::Index>()), 0..200),
        ) {
            let mut lines = Lines::new(delays.iter().map(|d| Duration::from_nanos(*d)));
            let (mut now, mut expected) = (0, Vec::new());
            for (n, (gap, line)) in sent.iter().enumerate() {
                now += gap;
                let line = line.index(delays.len());
                lines.push(line, n, Time::from_nanos(now));
                expected.push((now + delays[line], line, n));
            }
            expected.sort_unstable();
            let mut seen = Vec::new();
            while lines.next() != Time::NEVER {
                let at = lines.next().as_nanos();
                let (line, n) = lines.pop().unwrap();
                seen.push((at, line, n));
            }
            prop_assert_eq!(seen, expected);
            prop_assert!(lines.pop().is_none());
        }
    }

    #[test]
    fn what_takes_a_shorter_path_overtakes_and_nothing_is_sped_up() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let mut lines = Lines::new([50, 5].map(Duration::from_millis));
        lines.push(0, 'a', at(0));
        lines.push(0, 'b', at(10));
        lines.set_delay(0, Duration::from_millis(10));
        lines.push(0, 'c', at(20));
        lines.push(1, 'd', at(30));
        lines.push(0, 'e', at(40));
        lines.push(0, 'f', at(45));
        let mut seen = Vec::new();
        while lines.next() != Time::NEVER {
            let next = lines.next();
            seen.push((lines.pop().unwrap().1, next));
        }
        let expected = [('c', 30), ('d', 35), ('a', 50), ('e', 50), ('f', 55), ('b', 60)];
        assert_eq!(seen, expected.map(|(what, ms)| (what, at(ms))));
    }
}
