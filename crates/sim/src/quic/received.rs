//! The packet numbers that a client received, as far as it still acknowledges them.

use super::message::OLDER_RANGES;

/// The newest ranges `[from, to)` of packet numbers, the highest first. Older ones are dropped, since
/// every acknowledgement had them (RFC 9000 §13.2.3).
#[derive(Clone, Debug, Default)]
pub(super) struct Received {
    ranges: [(u64, u64); OLDER_RANGES + 1],
    count: usize,
}

impl Received {
    /// Adds a packet number; says whether it was new.
    pub fn add(&mut self, number: u64) -> bool {
        let ranges = &mut self.ranges[..self.count];
        let Some(at) = ranges.iter().position(|range| range.0 <= number + 1) else {
            // Below all of them: it is kept where there is room.
            return self.insert(self.count, number);
        };
        let (from, to) = ranges[at];
        if (from..to).contains(&number) {
            return false;
        }
        if number + 1 == from {
            ranges[at].0 = number;
            // It may have filled the gap to the range below.
            if ranges.get(at + 1).is_some_and(|below| below.1 == number) {
                ranges[at].0 = ranges[at + 1].0;
                self.ranges.copy_within(at + 2.., at + 1);
                self.count -= 1;
            }
            return true;
        }
        if number == to {
            ranges[at].1 = to + 1;
            return true;
        }
        self.insert(at, number)
    }

    /// A range of its own at this place.
    fn insert(&mut self, at: usize, number: u64) -> bool {
        if at == self.ranges.len() {
            return true;
        }
        self.ranges.copy_within(at..OLDER_RANGES, at + 1);
        self.ranges[at] = (number, number + 1);
        self.count = (self.count + 1).min(self.ranges.len());
        true
    }

    /// The number after the largest one; 0 before the first.
    pub fn end(&self) -> u64 {
        self.ranges[..self.count].first().map_or(0, |range| range.1)
    }

    /// The fields of an acknowledgement: how many were received down from the largest one, and gaps and
    /// ranges below. A number that is too large for its field ends the list; of such a range the upper part is in it.
    pub fn fields(&self) -> (u32, [(u16, u16); OLDER_RANGES]) {
        let mut older = [(0, 0); OLDER_RANGES];
        let ranges = &self.ranges[..self.count];
        let first = ranges.first().map_or(0, |range| range.1 - range.0);
        for (field, pair) in older.iter_mut().zip(ranges.windows(2)) {
            let [above, (from, to)] = *pair else { break };
            let Ok(missing) = u16::try_from(above.0 - to) else { break };
            let received = u16::try_from(to - from);
            *field = (missing, received.unwrap_or(u16::MAX));
            if received.is_err() {
                break;
            }
        }
        (u32::try_from(first).unwrap_or(u32::MAX), older)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quic::message::Acknowledgement;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// In any order of arrival the acknowledgement has the newest nine ranges.
        #[test]
        fn it_reports_the_newest_ranges(numbers in prop::collection::vec(0u64..60, 1..80)) {
            let (mut received, mut set) = (Received::default(), BTreeSet::new());
            // A packet below the ranges that are kept has no place.
            let mut forgotten = 0;
            for number in numbers {
                if number < forgotten {
                    continue;
                }
                prop_assert_eq!(received.add(number), set.insert(number));
                let mut expected: Vec<(u64, u64)> = Vec::new();
                for &n in set.iter().rev() {
                    match expected.last_mut() {
                        Some(last) if last.0 == n + 1 => last.0 = n,
                        _ => expected.push((n, n + 1)),
                    }
                }
                if let Some(&(_, end)) = expected.get(OLDER_RANGES + 1) {
                    forgotten = forgotten.max(end + 1);
                    set.retain(|n| *n >= end);
                }
                expected.truncate(OLDER_RANGES + 1);
                let (first, older) = received.fields();
                let largest = received.end() - 1;
                let ack = Acknowledgement { largest, delay: 0, first, older, counts: None };
                prop_assert_eq!(ack.ranges().collect::<Vec<_>>(), expected);
            }
        }
    }

    /// Two packets are missing, before and behind 70,000. Fields of 16 bits hold the upper part of those.
    #[test]
    fn of_a_long_range_the_upper_part_is_reported() {
        let mut received = Received::default();
        (0..70_003).filter(|number| ![1, 70_001].contains(number)).for_each(|number| {
            assert!(received.add(number));
        });
        let (first, older) = received.fields();
        assert_eq!((first, older[..2].to_vec()), (1, vec![(1, u16::MAX), (0, 0)]));
    }
}
