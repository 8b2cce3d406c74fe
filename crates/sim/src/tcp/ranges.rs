//! Sets of bytes as a few ranges: data that arrived out of order.

/// Disjoint, non-adjacent ranges `[from, to)`, the lowest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Ranges {
    ranges: Vec<(u64, u64)>,
}

impl Ranges {
    /// Adds `[from, to)`; calls `new` with each part that was not in the set, and the range of which
    /// it is a part now.
    pub fn insert(&mut self, from: u64, to: u64, mut new: impl FnMut((u64, u64), (u64, u64))) {
        if from >= to {
            return;
        }
        // The ranges that touch or overlap the new one.
        let first = self.ranges.partition_point(|r| r.1 < from);
        let last = first + self.ranges[first..].partition_point(|r| r.0 <= to);
        let merged = match self.ranges[first..last] {
            [] => (from, to),
            // All of it is in the set, as most blocks that an acknowledgement repeats.
            [only] if only.0 <= from && to <= only.1 => return,
            [only] => (only.0.min(from), only.1.max(to)),
            [low, .., high] => (low.0.min(from), high.1.max(to)),
        };
        let mut at = from;
        for &(start, end) in &self.ranges[first..last] {
            if at < start {
                new((at, start), merged);
            }
            at = at.max(end);
        }
        if at < to {
            new((at, to), merged);
        }
        match self.ranges.get_mut(first) {
            Some(range) if first < last => {
                *range = merged;
                self.ranges.drain(first + 1..last);
            }
            _ => self.ranges.insert(first, merged),
        }
    }

    /// Removes everything below `limit`.
    pub fn remove_below(&mut self, limit: u64) {
        let gone = self.ranges.partition_point(|r| r.1 <= limit);
        self.ranges.drain(..gone);
        if let Some(first) = self.ranges.first_mut() {
            first.0 = first.0.max(limit);
        }
    }

    /// The range that holds `n`.
    pub fn containing(&self, n: u64) -> Option<(u64, u64)> {
        let at = self.ranges.partition_point(|r| r.1 <= n);
        self.ranges.get(at).copied().filter(|r| r.0 <= n)
    }

    /// The end of the highest range; 0 without any.
    #[inline]
    pub fn end(&self) -> u64 {
        self.ranges.last().map_or(0, |r| r.1)
    }

    /// From the first to the last of the set in `[from, to)`, which is not empty.
    pub fn hull_within(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        let first = self.ranges.partition_point(|r| r.1 <= from);
        let last = self.ranges.partition_point(|r| r.0 < to);
        let within = self.ranges.get(first..last)?;
        Some((within.first()?.0.max(from), within.last()?.1.min(to)))
    }

    /// How much is in the set.
    pub fn total(&self) -> u64 {
        self.ranges.iter().map(|(from, to)| to - from).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn behaves_as_a_set(steps in prop::collection::vec((0u64..60, 0u64..12, any::<bool>()), 0..60)) {
            let mut ranges = Ranges::default();
            let mut set = BTreeSet::new();
            for (from, length, remove) in steps {
                if remove && length == 0 {
                    ranges.remove_below(from);
                    set.retain(|n| *n >= from);
                } else {
                    let mut added = BTreeSet::new();
                    let mut merged = Vec::new();
                    ranges.insert(from, from + length, |(a, b), range| {
                        added.extend(a..b);
                        merged.push(range);
                    });
                    for range in merged {
                        prop_assert_eq!(Some(range), ranges.containing(from));
                    }
                    let expected: BTreeSet<u64> =
                        (from..from + length).filter(|n| !set.contains(n)).collect();
                    prop_assert_eq!(&added, &expected);
                    set.extend(added);
                }
                for n in 0..80 {
                    prop_assert_eq!(ranges.containing(n).is_some(), set.contains(&n));
                }
                let to = from + length.max(1);
                let within = set.range(from..to).copied();
                let hull = within.clone().next().zip(within.last().map(|last| last + 1));
                prop_assert_eq!(ranges.hull_within(from, to), hull);
                prop_assert_eq!(ranges.end(), set.last().map_or(0, |n| n + 1));
                // Disjoint and not adjacent.
                prop_assert!(ranges.ranges.windows(2).all(|w| w[0].1 < w[1].0));
            }
        }
    }
}
