//! What there is to send: so much from the start, or what an application has written so far.
//!
//! A write is whole segments of which the last may be short, and that one is pushed: so goes a
//! write with TCP_NODELAY, before the next one comes. What sets of tracers in it fell short of is at
//! its end too, so that how many segments it takes is known for sure only when it has been sent.

use std::collections::VecDeque;

use crate::packet::MSS;

/// The send buffer of a connection.
#[derive(Clone, Debug)]
pub(super) struct Supply {
    /// The number of segments by now; `u64::MAX` without end.
    segments: u64,
    /// Payload of the last one, where the connection ends with it.
    last_payload: u16,
    /// What an application wrote and had not been acknowledged at its last write; `None` where no
    /// application writes.
    writes: Option<VecDeque<Write>>,
}

/// A write.
#[derive(Clone, Copy, Debug)]
struct Write {
    /// The segment that follows it.
    end: u64,
    /// Payload of its last segment.
    last_payload: u16,
}

/// The number of segments that these bytes take, and the payload of the last one.
fn cut(bytes: u64) -> (u64, u16) {
    let segments = bytes.div_ceil(MSS);
    (segments, (bytes - segments.saturating_sub(1) * MSS) as u16)
}

/// So many bytes follow the last segment, of this payload; gives how many segments that takes.
fn append(last_payload: &mut u16, bytes: u64) -> u64 {
    let rest = u64::from(*last_payload) + bytes;
    let more = (rest - 1) / MSS;
    *last_payload = (rest - more * MSS) as u16;
    more
}

/// How many of these writes end before `seq`.
#[inline]
fn over_before(writes: &VecDeque<Write>, seq: u64) -> usize {
    writes.partition_point(|write| write.end <= seq)
}

impl Supply {
    /// This number of bytes and then the end; `None` for no end.
    pub fn new(size: Option<u64>) -> Self {
        let (segments, last_payload) = size.map_or((u64::MAX, MSS as u16), cut);
        Supply { segments, last_payload, writes: None }
    }

    /// Nothing yet: an application will write.
    pub fn written() -> Self {
        Supply { segments: 0, last_payload: 0, writes: Some(VecDeque::new()) }
    }

    /// Whether nothing is left to send where `nxt` is next.
    #[inline]
    pub fn is_empty(&self, nxt: u64) -> bool {
        nxt >= self.segments
    }

    /// How many segments are left to send.
    #[inline]
    pub fn left(&self, nxt: u64) -> u64 {
        self.segments - nxt
    }

    /// Whether the connection is over when all before `una` is acknowledged.
    #[inline]
    pub fn is_over(&self, una: u64) -> bool {
        una == self.segments && self.writes.is_none()
    }

    /// A segment: its payload, whether it is pushed, and whether it is the last one.
    #[inline]
    pub fn segment(&self, seq: u64) -> (u16, bool, bool) {
        if let Some(writes) = &self.writes {
            let ends = writes.get(over_before(writes, seq)).filter(|write| write.end == seq + 1);
            return ends
                .map_or((MSS as u16, false, false), |write| (write.last_payload, true, false));
        }
        let last = seq + 1 == self.segments;
        (if last { self.last_payload } else { MSS as u16 }, last, last)
    }

    /// Whether what is at `nxt` may be cut into other segments than full ones: it is not the last
    /// one, neither of all nor of its write.
    #[inline]
    pub fn is_divisible(&self, nxt: u64) -> bool {
        let (_, pushed, _) = self.segment(nxt);
        !self.is_empty(nxt) && !pushed
    }

    /// Segments from `from` on were sent that carry so many bytes less than full ones: these follow
    /// at the end, or where an application writes, at the end of the same write.
    pub fn fell_short(&mut self, from: u64, bytes: u64) {
        let Some(writes) = &mut self.writes else {
            if self.segments != u64::MAX {
                self.segments += append(&mut self.last_payload, bytes);
            }
            return;
        };
        let own = over_before(writes, from);
        let Some(write) = writes.get_mut(own) else { return };
        let more = append(&mut write.last_payload, bytes);
        writes.range_mut(own..).for_each(|write| write.end += more);
        self.segments += more;
    }

    /// How many writes do not end before `seq`.
    #[inline]
    pub fn writes_left(&self, seq: u64) -> usize {
        self.writes.as_ref().map_or(0, |writes| writes.len() - over_before(writes, seq))
    }

    /// The application writes; all before `una` is acknowledged.
    pub fn write(&mut self, bytes: u64, una: u64) {
        let (segments, last_payload) = cut(bytes);
        let Some(writes) = &mut self.writes else { return };
        while writes.front().is_some_and(|write| write.end <= una) {
            writes.pop_front();
        }
        self.segments += segments;
        writes.push_back(Write { end: self.segments, last_payload });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::SHORTFALL;

    const FULL: u16 = MSS as u16;

    #[test]
    fn a_size_ends_with_what_is_left() {
        // 3000 B are 1448 + 1448 + 104.
        let supply = Supply::new(Some(3000));
        assert_eq!(supply.left(0), 3);
        let segments = [0, 1, 2].map(|seq| supply.segment(seq));
        assert_eq!(segments, [(FULL, false, false), (FULL, false, false), (104, true, true)]);
        assert!(supply.is_over(3) && supply.is_empty(3) && !supply.is_empty(2));
        assert_eq!(Supply::new(Some(2 * MSS)).segment(1), (FULL, true, true));
        assert!(!Supply::new(None).is_over(1 << 40));
        // An empty one is over before it begins; it has no segment of data.
        assert_eq!(Supply::new(Some(0)).left(0), 0);
    }

    /// A set of tracers takes the place of a full segment that another one follows.
    #[test]
    fn what_segments_fell_short_of_is_sent_at_the_end() {
        let mut supply = Supply::new(Some(3000));
        assert_eq!([0, 1, 2].map(|nxt| supply.is_divisible(nxt)), [true, true, false]);
        // 104 + 1344 are a full segment, and a byte more is another one.
        supply.fell_short(0, 1344);
        assert_eq!((supply.left(0), supply.segment(2)), (3, (FULL, true, true)));
        supply.fell_short(0, 1);
        assert_eq!((supply.left(0), supply.segment(3)), (4, (1, true, true)));
        let mut endless = Supply::new(None);
        endless.fell_short(0, 1344);
        assert_eq!(endless.left(0), u64::MAX);
        assert!(endless.is_divisible(1 << 40));
    }

    #[test]
    fn each_write_ends_with_a_push_and_none_ends_the_connection() {
        let mut supply = Supply::written();
        assert!(supply.is_empty(0) && !supply.is_over(0));
        // 1448 + 52, and 1448 exactly.
        supply.write(1500, 0);
        supply.write(1448, 0);
        assert_eq!(supply.segments, 3);
        let segments = [0, 1, 2].map(|seq| supply.segment(seq));
        assert_eq!(segments, [(FULL, false, false), (52, true, false), (FULL, true, false)]);
        assert_eq!((supply.left(1), supply.is_over(3)), (2, false));
        // The second segment is left of the first write.
        assert_eq!([0, 1, 2, 3].map(|nxt| supply.writes_left(nxt)), [2, 2, 1, 0]);
        // What was acknowledged is forgotten.
        supply.write(100, 2);
        assert_eq!(supply.writes.as_ref().unwrap().len(), 2);
        assert_eq!(supply.segment(3), (100, true, false));
    }

    fn written(writes: &[u64]) -> Supply {
        let mut supply = Supply::written();
        writes.iter().for_each(|bytes| supply.write(*bytes, 0));
        supply
    }

    /// What each segment is.
    fn segments(supply: &Supply) -> Vec<(u16, bool, bool)> {
        (0..supply.segments).map(|seq| supply.segment(seq)).collect()
    }

    const MORE: (u16, bool, bool) = (FULL, false, false);

    const fn last(payload: u16) -> (u16, bool, bool) {
        (payload, true, false)
    }

    /// The two segments of the set itself are full ones here: the scoreboard knows what they carry.
    #[test]
    fn a_set_takes_what_it_fell_short_of_from_the_end_of_its_write() {
        let mut supply = written(&[3 * MSS + 100, 2 * MSS + 1300, 200]);
        let first = [MORE, MORE, MORE, last(100)];
        let second = [MORE, MORE, last(1300)];
        assert_eq!(segments(&supply), [&first[..], &second[..], &[last(200)]].concat());
        // 100 + 1651 are a segment more and 303 B; the later ones are as they were, and later.
        supply.fell_short(1, SHORTFALL);
        let longer = [MORE, MORE, MORE, MORE, last(303)];
        assert_eq!(segments(&supply), [&longer[..], &second[..], &[last(200)]].concat());
        assert_eq!([4, 5, 7, 8, 9].map(|seq| supply.writes_left(seq)), [3, 2, 2, 1, 0]);
        // In the second: 1300 + 1651 are two segments more and 55 B. The first is as it was.
        supply.fell_short(5, SHORTFALL);
        let longest = [MORE, MORE, MORE, MORE, last(55)];
        assert_eq!(segments(&supply), [&longer[..], &longest[..], &[last(200)]].concat());
        // What is written later comes behind all that.
        supply.write(1, 0);
        assert_eq!((supply.segments, supply.segment(11)), (12, last(1)));
    }

    /// Less than a set falls short of may follow in the last segment alone.
    #[test]
    fn the_last_payload_of_a_write_grows_up_to_a_full_segment() {
        let mut supply = written(&[3000, 200]);
        supply.fell_short(0, 1344);
        assert_eq!(segments(&supply), [MORE, MORE, last(FULL), last(200)]);
        supply.fell_short(0, 1);
        assert_eq!(segments(&supply), [MORE, MORE, MORE, last(1), last(200)]);
    }

    #[test]
    fn no_set_takes_the_place_of_the_last_segment_of_a_write() {
        assert!(!written(&[]).is_divisible(0), "there is nothing");
        let mut supply = written(&[3000, MSS, 2 * MSS]);
        let divisible = |supply: &Supply| [0, 1, 2, 3, 4, 5, 6].map(|nxt| supply.is_divisible(nxt));
        assert_eq!(divisible(&supply), [true, true, false, false, true, false, false]);
        // A set in it makes the first one longer by a segment.
        supply.fell_short(0, SHORTFALL);
        assert_eq!(divisible(&supply), [true, true, true, false, false, true, false]);
    }
}
