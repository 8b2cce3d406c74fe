//! What there is to send: so much from the start, or what an application has written so far.
//!
//! A write is whole segments of which the last may be short, and that one is pushed: so goes a
//! write with TCP_NODELAY, before the next one comes.

use std::collections::VecDeque;

use crate::packet::MSS;

/// The send buffer of a connection.
#[derive(Clone, Debug)]
pub(super) struct Supply {
    /// So many segments there are by now; `u64::MAX` without end.
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

/// How many segments so many bytes take, and the payload of the last one.
fn cut(bytes: u64) -> (u64, u16) {
    let segments = bytes.div_ceil(MSS);
    (segments, (bytes - segments.saturating_sub(1) * MSS) as u16)
}

impl Supply {
    /// So many bytes and then the end; `None` for no end.
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
            let at = writes.partition_point(|write| write.end <= seq);
            let ends = writes.get(at).filter(|write| write.end == seq + 1);
            return ends
                .map_or((MSS as u16, false, false), |write| (write.last_payload, true, false));
        }
        let last = seq + 1 == self.segments;
        (if last { self.last_payload } else { MSS as u16 }, last, last)
    }

    /// Whether what is at `nxt` may be cut into other segments than full ones: it is not the last
    /// one, and no application counts in which segment its write ends.
    #[inline]
    pub fn is_divisible(&self, nxt: u64) -> bool {
        self.writes.is_none() && self.left(nxt) >= 2
    }

    /// Segments were sent that carry so many bytes less than full ones: these follow at the end.
    pub fn fell_short(&mut self, bytes: u64) {
        debug_assert!(self.writes.is_none());
        if self.segments != u64::MAX {
            let rest = u64::from(self.last_payload) + bytes;
            let more = (rest - 1) / MSS;
            self.segments += more;
            self.last_payload = (rest - more * MSS) as u16;
        }
    }

    /// How many writes have not been sent to their end where `nxt` is next.
    pub fn unsent_writes(&self, nxt: u64) -> usize {
        let writes = self.writes.as_ref();
        writes.map_or(0, |writes| writes.len() - writes.partition_point(|write| write.end <= nxt))
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
        supply.fell_short(1344);
        assert_eq!((supply.left(0), supply.segment(2)), (3, (FULL, true, true)));
        supply.fell_short(1);
        assert_eq!((supply.left(0), supply.segment(3)), (4, (1, true, true)));
        let mut endless = Supply::new(None);
        endless.fell_short(1344);
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
        // A frame is over with the last segment of its write, so there must be as many as it took.
        assert!(!supply.is_divisible(0));
        // The second segment is left of the first write.
        assert_eq!([0, 1, 2, 3].map(|nxt| supply.unsent_writes(nxt)), [2, 2, 1, 0]);
        // What was acknowledged is forgotten.
        supply.write(100, 2);
        assert_eq!(supply.writes.as_ref().unwrap().len(), 2);
        assert_eq!(supply.segment(3), (100, true, false));
    }
}
