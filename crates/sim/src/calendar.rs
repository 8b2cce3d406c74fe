//! When something happens next, among a fixed set of sources.
//!
//! Few things in the simulator need an event of their own: a link has one next departure, a
//! constant-delay line one head, a set of timers one earliest. Each such source owns a leaf of a
//! tournament tree; the root knows the winner. Changing a source's time costs log₂ n comparisons
//! and touches one or two cache lines, where a heap of all packets in flight would touch many.

use l4s_units::Time;

/// The next event of each source; ties go to the lower source.
#[derive(Debug)]
pub(crate) struct Calendar {
    /// A power of two.
    leaves: usize,
    /// Implicit binary tree: node `n` has children `2n` and `2n + 1`; leaves follow the inner
    /// nodes. Each holds time and source of the winner below it.
    tree: Vec<(Time, u32)>,
}

impl Calendar {
    /// `sources` sources, none of which has an event.
    pub fn new(sources: usize) -> Self {
        let leaves = sources.next_power_of_two().max(2);
        let tree =
            (0..2 * leaves).map(|n| (Time::NEVER, n.saturating_sub(leaves) as u32)).collect();
        Calendar { leaves, tree }
    }

    /// Source `source` has its next event at `time`.
    #[inline]
    pub fn set(&mut self, source: usize, time: Time) {
        let mut node = self.leaves + source;
        self.tree[node] = (time, source as u32);
        while node > 1 {
            let (left, right) = (self.tree[node & !1], self.tree[node | 1]);
            node >>= 1;
            self.tree[node] = if left.0 <= right.0 { left } else { right };
        }
    }

    /// When source `source` has its next event.
    #[inline]
    pub fn get(&self, source: usize) -> Time {
        self.tree[self.leaves + source].0
    }

    /// The earliest event: its time and source.
    #[inline]
    pub fn next(&self) -> (Time, usize) {
        let (time, source) = self.tree[1];
        (time, source as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_earliest_wins_and_ties_go_to_the_lower_source(
            sources in 1usize..20,
            changes in prop::collection::vec((0usize..20, 0u64..50), 1..200),
        ) {
            let mut calendar = Calendar::new(sources);
            let mut times = vec![Time::NEVER; sources];
            for (source, time) in changes {
                let (source, time) = (source % sources, Time::from_nanos(time));
                calendar.set(source, time);
                times[source] = time;
                let earliest = times.iter().min().unwrap();
                let winner = times.iter().position(|t| t == earliest).unwrap();
                prop_assert_eq!(calendar.next(), (*earliest, winner));
                prop_assert_eq!(calendar.get(source), time);
            }
        }
    }
}
