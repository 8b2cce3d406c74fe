//! What there is to send: a number of bytes from the start, or what an application has written.
//!
//! Each write is cut into segments by itself, and its last one is pushed: so goes a write with
//! TCP_NODELAY, before the next one comes.

use std::collections::VecDeque;

/// The send buffer of a connection. Positions are bytes of the stream, from 0.
#[derive(Clone, Debug)]
pub(super) struct Supply {
    /// Payload of a full segment in bytes.
    payload: u16,
    /// How many bytes there are by now; `u64::MAX` without end.
    bytes: u64,
    /// Where each write of an application ends that had not been acknowledged at its last write;
    /// `None` where no application writes.
    writes: Option<VecDeque<u64>>,
}

/// A segment to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cut {
    /// Bytes of payload.
    pub payload: u16,
    /// Whether it ends a write, or the connection.
    pub push: bool,
    /// Whether it ends the connection.
    pub fin: bool,
}

/// How many of these writes end at `from` or before it.
#[inline]
fn over_before(writes: &VecDeque<u64>, from: u64) -> usize {
    writes.partition_point(|end| *end <= from)
}

impl Supply {
    /// This number of bytes and then the end; `None` for no end.
    pub fn new(size: Option<u64>, payload: u16) -> Self {
        Supply { payload, bytes: size.unwrap_or(u64::MAX), writes: None }
    }

    /// Nothing yet: an application will write.
    pub fn written(payload: u16) -> Self {
        Supply { payload, bytes: 0, writes: Some(VecDeque::new()) }
    }

    /// Full segments have this payload from now on.
    pub fn set_payload(&mut self, payload: u16) {
        self.payload = payload;
    }

    /// Whether nothing is left to send from `from` on.
    #[inline]
    pub fn is_empty(&self, from: u64) -> bool {
        from >= self.bytes
    }

    /// How many segments are left to send from `from` on.
    #[inline(always)]
    pub fn segments_left(&self, from: u64) -> u64 {
        if self.bytes == u64::MAX { u64::MAX } else { self.count_segments(from) }
    }

    #[inline(never)]
    fn count_segments(&self, from: u64) -> u64 {
        match &self.writes {
            None => self.bytes.saturating_sub(from).div_ceil(self.payload.into()),
            Some(writes) => {
                let mut begin = from;
                let left = writes.range(over_before(writes, from)..);
                left.map(|end| {
                    (end - core::mem::replace(&mut begin, *end)).div_ceil(self.payload.into())
                })
                .sum()
            }
        }
    }

    /// Whether the connection is over when all before `una` is acknowledged.
    #[inline]
    pub fn is_over(&self, una: u64) -> bool {
        una == self.bytes && self.writes.is_none()
    }

    /// The segment that begins at `from`, which is before the end.
    #[inline]
    pub fn cut(&self, from: u64) -> Cut {
        let end = match &self.writes {
            None => self.bytes,
            Some(writes) => writes.get(over_before(writes, from)).copied().unwrap_or(self.bytes),
        };
        let payload = (end - from).min(self.payload.into());
        let push = from + payload == end;
        Cut { payload: payload as u16, push, fin: push && self.writes.is_none() }
    }

    /// Whether a segment that ends at `to` ends a write, and whether it ends the connection.
    #[inline]
    pub fn ends_at(&self, to: u64) -> (bool, bool) {
        match &self.writes {
            None => (to == self.bytes, to == self.bytes),
            Some(writes) => (writes.binary_search(&to).is_ok(), false),
        }
    }

    /// How many writes do not end before `from`.
    #[inline]
    pub fn writes_left(&self, from: u64) -> usize {
        self.writes.as_ref().map_or(0, |writes| writes.len() - over_before(writes, from))
    }

    /// The application writes; all before `una` is acknowledged.
    pub fn write(&mut self, bytes: u64, una: u64) {
        let Some(writes) = &mut self.writes else { return };
        while writes.front().is_some_and(|end| *end <= una) {
            writes.pop_front();
        }
        self.bytes += bytes;
        writes.push_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::MSS;

    const FULL: u16 = MSS as u16;
    const MORE: Cut = Cut { payload: FULL, push: false, fin: false };

    const fn last_of_write(payload: u16) -> Cut {
        Cut { payload, push: true, fin: false }
    }

    const fn last(payload: u16) -> Cut {
        Cut { payload, push: true, fin: true }
    }

    /// The segments from `from` on.
    fn segments(supply: &Supply, mut from: u64) -> Vec<Cut> {
        let mut all = Vec::new();
        while !supply.is_empty(from) {
            assert_eq!(supply.segments_left(from) as usize, segments_left(supply, from));
            let cut = supply.cut(from);
            from += u64::from(cut.payload);
            assert_eq!(supply.ends_at(from), (cut.push, cut.fin));
            all.push(cut);
        }
        all
    }

    fn segments_left(supply: &Supply, mut from: u64) -> usize {
        let mut count = 0;
        while !supply.is_empty(from) {
            from += u64::from(supply.cut(from).payload);
            count += 1;
        }
        count
    }

    #[test]
    fn a_size_ends_with_what_is_left() {
        // 3000 B are 1448 + 1448 + 104.
        let supply = Supply::new(Some(3000), FULL);
        assert_eq!(segments(&supply, 0), [MORE, MORE, last(104)]);
        // From where a shorter segment ended.
        assert_eq!(segments(&supply, 1000), [MORE, last(552)]);
        assert!(supply.is_over(3000) && supply.is_empty(3000) && !supply.is_empty(2999));
        assert_eq!(segments(&Supply::new(Some(2 * MSS), FULL), 0), [MORE, last(FULL)]);
        let endless = Supply::new(None, FULL);
        assert!(!endless.is_over(1 << 40) && endless.segments_left(1 << 40) > 1 << 40);
        assert_eq!(endless.cut(1 << 40), MORE);
        // An empty one is over before it begins; it has no segment of data.
        assert!(Supply::new(Some(0), FULL).is_over(0));
        assert_eq!(Supply::new(Some(0), FULL).segments_left(0), 0);
    }

    #[test]
    fn each_write_ends_with_a_push_and_none_ends_the_connection() {
        let mut supply = Supply::written(FULL);
        assert!(supply.is_empty(0) && !supply.is_over(0));
        // 1448 + 52, and 1448 exactly.
        supply.write(1500, 0);
        supply.write(1448, 0);
        assert_eq!(segments(&supply, 0), [MORE, last_of_write(52), last_of_write(FULL)]);
        assert!(!supply.is_over(2948));
        // The second segment is left of the first write.
        assert_eq!([0, 1448, 1500, 2948].map(|from| supply.writes_left(from)), [2, 2, 1, 0]);
        // What was acknowledged is forgotten.
        supply.write(100, 1500);
        assert_eq!(supply.writes.as_ref().unwrap().len(), 2);
        assert_eq!(segments(&supply, 2948), [last_of_write(100)]);
    }
}
