//! The sequence numbers of one direction of a TCP connection that passed.

/// Gaps that are kept. If there are more, the oldest one is taken for filled.
const GAPS: usize = 4;

/// The largest window (RFC 7323 §2.3): no two sequence numbers in use are further apart.
const WINDOW: u32 = 1 << 30;

/// Whether `a` is before `b` (RFC 9293 §3.4).
#[inline]
pub fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

fn earlier(a: u32, b: u32) -> u32 {
    if before(b, a) { b } else { a }
}

fn later(a: u32, b: u32) -> u32 {
    if before(a, b) { b } else { a }
}

/// Sequence numbers `[from, to)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Range {
    /// The first.
    pub from: u32,
    /// The one after the last.
    pub to: u32,
}

impl Range {
    /// How many they are.
    #[inline]
    pub fn length(self) -> u32 {
        self.to.wrapping_sub(self.from)
    }

    /// The common part of both; empty without any.
    fn common(self, other: Range) -> Range {
        let from = later(self.from, other.from);
        Range { from, to: later(from, earlier(self.to, other.to)) }
    }
}

/// The numbers that passed: all from `first` to `next`, except for the gaps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sequence {
    first: u32,
    next: u32,
    /// Empty ones last.
    gaps: [Range; GAPS],
}

impl Sequence {
    /// Nothing passed yet, and `first` is expected.
    pub fn new(first: u32) -> Sequence {
        Sequence { first, next: first, gaps: [Range::default(); GAPS] }
    }

    /// The number of the SYN, or the first that was seen.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// The number after the highest one that passed.
    #[inline]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Whether a number below the highest one did not pass.
    #[inline]
    pub fn has_gaps(&self) -> bool {
        self.gaps[0].length() > 0
    }

    /// The receiver acknowledges all numbers before `number`: a gap before it was filled, even if no
    /// segment that does so passed here.
    #[inline]
    pub fn acknowledge(&mut self, number: u32) {
        if self.has_gaps() {
            self.keep(|gap| before(number, gap.to));
        }
    }

    /// A segment passes. Returns how many of its numbers had passed before.
    #[inline]
    pub fn pass(&mut self, segment: Range) -> u32 {
        if segment.from == self.next {
            self.next = segment.to;
            return 0;
        }
        self.pass_elsewhere(segment)
    }

    #[cold]
    fn pass_elsewhere(&mut self, segment: Range) -> u32 {
        if segment.from.wrapping_sub(self.next).wrapping_add(WINDOW) > 2 * WINDOW {
            // Not of the stream so far: begin with this segment.
            (self.next, self.gaps) = (segment.to, Default::default());
            return 0;
        }
        let known = Range { from: segment.from, to: earlier(segment.to, self.next) };
        let skipped = Range { from: self.next, to: segment.from };
        let ahead = before(skipped.from, skipped.to);
        self.next = later(self.next, segment.to);
        let next = self.next;
        self.keep(|gap| next.wrapping_sub(gap.from) <= WINDOW);
        if ahead {
            self.remember(skipped);
            return 0;
        }
        // A gap that 4 GB passed without an acknowledgement may lie on a newer one.
        known.length().saturating_sub(self.fill(known))
    }

    /// Takes a range out of the gaps. Returns how many of its numbers were in one.
    fn fill(&mut self, range: Range) -> u32 {
        let mut filled = 0;
        for gap in std::mem::take(&mut self.gaps) {
            let common = gap.common(range);
            filled += common.length();
            if common.length() == 0 {
                self.remember(gap);
            } else {
                self.remember(Range { from: gap.from, to: common.from });
                self.remember(Range { from: common.to, to: gap.to });
            }
        }
        filled
    }

    /// Drops all other gaps.
    fn keep(&mut self, is_kept: impl Fn(&Range) -> bool) {
        let gaps = std::mem::take(&mut self.gaps);
        gaps.into_iter().filter(is_kept).for_each(|gap| self.remember(gap));
    }

    fn remember(&mut self, gap: Range) {
        if gap.length() == 0 {
            return;
        }
        if self.gaps[GAPS - 1].length() > 0 {
            self.gaps.rotate_left(1);
            self.gaps[GAPS - 1] = Range::default();
        }
        let free = self.gaps.iter_mut().find(|gap| gap.length() == 0);
        *free.expect("the last one is empty") = gap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(from: u32, length: u32) -> Range {
        Range { from, to: from.wrapping_add(length) }
    }

    #[test]
    fn a_segment_that_fills_a_gap_is_new_and_the_next_time_it_is_not() {
        let mut sequence = Sequence::new(u32::MAX - 99);
        assert_eq!(sequence.pass(range(u32::MAX - 99, 100)), 0);
        assert_eq!(sequence.pass(range(200, 100)), 0);
        assert!(sequence.has_gaps());
        assert_eq!(sequence.pass(range(50, 100)), 0);
        // 150 to 200 are missing still, 200 to 250 passed.
        assert_eq!(sequence.pass(range(150, 100)), 50);
        assert_eq!((sequence.has_gaps(), sequence.next()), (true, 300));
        assert_eq!(sequence.pass(range(0, 300)), 250);
        assert_eq!(sequence.pass(range(u32::MAX - 99, 400)), 400);
        assert!(!sequence.has_gaps());
        // Half of it is new.
        assert_eq!(sequence.pass(range(250, 100)), 50);
        assert_eq!(sequence.next(), 350);
    }

    #[test]
    fn an_acknowledgement_fills_the_gaps_before_it() {
        let mut sequence = Sequence::new(0);
        for from in [100, 300, 500] {
            sequence.pass(range(from, 100));
        }
        sequence.acknowledge(399);
        assert!(sequence.has_gaps());
        // Of three gaps those before 300 are filled: only 400 to 500 is new.
        assert_eq!(sequence.pass(range(200, 300)), 200);
        assert!(!sequence.has_gaps());
        sequence.pass(range(700, 100));
        sequence.acknowledge(700);
        assert!(!sequence.has_gaps());
    }

    proptest! {
        /// With any numbers, no more of a segment was seen before than it has.
        #[test]
        fn wild_numbers_are_harmless(
            segments in prop::collection::vec((any::<u32>(), 1_u32..70_000, any::<u32>()), 1..60),
            mask in prop::sample::select(vec![u32::MAX, 0x3fff_ffff, 0xc000_0fff, 0xffff]),
        ) {
            let mut sequence = Sequence::new(0);
            for (from, length, ack) in segments {
                prop_assert!(sequence.pass(range(from & mask, length)) <= length);
                sequence.acknowledge(ack & mask);
            }
        }

        /// With at most the number of gaps that are kept, a list of all numbers gives the same result.
        #[test]
        fn it_counts_as_a_list_of_all_numbers_does(
            first: u32,
            segments in prop::collection::vec((0u32..200, 1u32..30), 1..60),
        ) {
            let mut sequence = Sequence::new(first);
            let mut passed = [false; 256];
            for (from, length) in segments {
                let places = from as usize..(from + length) as usize;
                let mut after = passed;
                after[places.clone()].fill(true);
                let end = after.iter().rposition(|passed| *passed).unwrap() + 1;
                let gaps = after[..end].windows(2).filter(|pair| pair[0] && !pair[1]).count();
                if gaps + usize::from(!after[0]) > GAPS {
                    break;
                }
                let expected = passed[places].iter().filter(|passed| **passed).count();
                let found = sequence.pass(range(first.wrapping_add(from), length));
                prop_assert_eq!(found as usize, expected);
                passed = after;
                prop_assert_eq!(sequence.has_gaps(), passed[..end].contains(&false));
                prop_assert_eq!(sequence.next(), first.wrapping_add(end as u32));
            }
        }
    }
}
