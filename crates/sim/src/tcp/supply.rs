//! The send buffer: a number of bytes from the start, or the writes of an application.
//!
//! A write joins the last one where that waits. It is cut into segments as it is sent, and the last
//! of them is pushed. A segment that is not full goes at once (TCP_NODELAY), unless the application asks
//! for Nagle's algorithm or a cork ([`Hold`]).

use std::collections::VecDeque;

use l4s_model::Hold;

use super::send_buffer::{Push, SendBuffer};

/// The send buffer of a connection. Positions are bytes of the stream, from 0.
#[derive(Clone, Debug)]
pub(crate) struct Supply {
    /// Payload of a full segment in bytes.
    payload: u16,
    /// How many bytes there are by now; `u64::MAX` without end.
    bytes: u64,
    /// Bytes that are written as time goes on; `None` where all are there from the start.
    writes: Option<Box<Writes>>,
}

/// The writes of an application, or of a server with a small send buffer.
#[derive(Clone, Debug)]
struct Writes {
    /// Where each write ends that had not been acknowledged at the last one.
    ends: VecDeque<u64>,
    hold: Hold,
    /// Where the last segment ended that was not full (`snd_sml`).
    small_end: u64,
    /// Of a server.
    buffer: Option<SendBuffer>,
}

/// A segment to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cut {
    /// Bytes of payload.
    pub payload: u16,
    /// Whether it ends all that was written, or the connection.
    pub push: bool,
    /// Whether it ends the connection.
    pub fin: bool,
}

impl Writes {
    /// How many writes end at `from` or before it.
    #[inline]
    fn over_before(&self, from: u64) -> usize {
        self.ends.partition_point(|end| *end <= from)
    }
}

impl Supply {
    /// This number of bytes and then the end; `None` for no end.
    pub fn new(size: Option<u64>, payload: u16) -> Self {
        Supply { payload, bytes: size.unwrap_or(u64::MAX), writes: None }
    }

    /// Nothing yet: an application will write.
    pub fn written(hold: Hold, payload: u16) -> Self {
        let writes = Writes { ends: VecDeque::new(), hold, small_end: 0, buffer: None };
        Supply { payload, bytes: 0, writes: Some(Box::new(writes)) }
    }

    /// Nothing yet: a server will write this number of bytes into a buffer with SO_SNDBUF of `sndbuf`.
    pub fn buffered(size: Option<u64>, sndbuf: u64, payload: u16) -> Self {
        let buffer = Some(SendBuffer::new(sndbuf, size.unwrap_or(u64::MAX), payload));
        // The default of a socket.
        let writes = Writes { ends: VecDeque::new(), hold: Hold::Nagle, small_end: 0, buffer };
        Supply { payload, bytes: 0, writes: Some(Box::new(writes)) }
    }

    fn buffer(&mut self) -> Option<&mut SendBuffer> {
        self.writes.as_mut()?.buffer.as_mut()
    }

    /// Whether nothing is written after the present data.
    #[inline]
    fn is_complete(&self) -> bool {
        match &self.writes {
            None => true,
            Some(writes) => writes.buffer.as_ref().is_some_and(|buffer| buffer.total == self.bytes),
        }
    }

    /// Whether the server writes into its send buffer now, where the client advertised the receive
    /// window `window`. See [`SendBuffer::is_writable`].
    pub fn is_writable(&mut self, una: u64, nxt: u64, window: u64) -> bool {
        let written = self.bytes;
        self.buffer().is_some_and(|buffer| {
            buffer.advertised(window);
            buffer.is_writable(written, una, nxt)
        })
    }

    /// The server writes into its send buffer. See [`SendBuffer::step`].
    pub(super) fn step(&mut self, una: u64, nxt: u64) -> Option<Push> {
        let written = self.bytes;
        let (more, push) = self.buffer()?.step(written, una, nxt)?;
        self.bytes += more;
        Some(push)
    }

    /// A unit was sent that ends at `to`.
    #[inline]
    pub fn sent_unit(&mut self, to: u64) {
        if self.writes.is_some() {
            if let Some(buffer) = self.buffer() {
                buffer.sent(to);
            }
        }
    }

    /// Full segments have this payload from now on.
    pub fn set_payload(&mut self, payload: u16) {
        self.payload = payload;
        if let Some(buffer) = self.buffer() {
            buffer.payload = payload.into();
        }
    }

    /// Whether nothing is left to send from `from` on.
    #[inline]
    pub fn is_empty(&self, from: u64) -> bool {
        from >= self.bytes
    }

    /// How many segments are left to send from `from` on.
    #[inline(always)]
    pub fn segments_left(&self, from: u64) -> u64 {
        if self.bytes == u64::MAX {
            u64::MAX
        } else {
            self.bytes.saturating_sub(from).div_ceil(self.payload.into())
        }
    }

    /// Whether the connection is over when all before `una` is acknowledged.
    #[inline]
    pub fn is_over(&self, una: u64) -> bool {
        una == self.bytes && self.is_complete()
    }

    /// The segment that begins at `from`, which is before the end.
    #[inline]
    pub fn cut(&self, from: u64) -> Cut {
        let payload = (self.bytes - from).min(self.payload.into());
        let push = from + payload == self.bytes;
        Cut { payload: payload as u16, push, fin: push && self.is_complete() }
    }

    /// Whether a segment that ends at `to` ends a write, and whether it ends the connection.
    #[inline]
    pub fn ends_at(&self, to: u64) -> (bool, bool) {
        match &self.writes {
            None => (to == self.bytes, to == self.bytes),
            Some(writes) => {
                let ends = to == self.bytes && self.is_complete();
                (ends || writes.ends.binary_search(&to).is_ok(), ends)
            }
        }
    }

    /// Whether the last of `segments` from `from` on is not full and waits, where all before `una` is
    /// acknowledged (`tcp_nagle_test`).
    #[inline]
    pub fn holds(&self, segments: u32, from: u64, una: u64) -> bool {
        let Some(writes) = &self.writes else { return false };
        let is_small = u64::from(segments) * u64::from(self.payload) > self.bytes - from;
        is_small
            && !self.is_complete()
            && match writes.hold {
                Hold::None => false,
                // Minshall's variant: for another small one only, not for full ones
                // (`tcp_minshall_check`).
                Hold::Nagle => writes.small_end > una,
                Hold::Cork => true,
            }
    }

    /// A segment was sent that ends all that was written, with this payload.
    #[inline]
    pub fn sent_last(&mut self, payload: u16) {
        if payload < self.payload {
            if let Some(writes) = &mut self.writes {
                writes.small_end = self.bytes;
            }
        }
    }

    /// How many writes do not end before `from`.
    #[inline]
    pub fn writes_left(&self, from: u64) -> usize {
        self.writes.as_ref().map_or(0, |writes| writes.ends.len() - writes.over_before(from))
    }

    /// The application writes; all before `una` is acknowledged.
    pub fn write(&mut self, bytes: u64, una: u64) {
        let Some(writes) = &mut self.writes else { return };
        writes.ends.drain(..writes.over_before(una));
        self.bytes += bytes;
        writes.ends.push_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::MSS;

    const FULL: u16 = MSS as u16;
    const MORE: Cut = Cut { payload: FULL, push: false, fin: false };

    const fn pushed(payload: u16) -> Cut {
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
    fn a_write_joins_the_one_that_waits_and_none_ends_the_connection() {
        let mut supply = Supply::written(Hold::None, FULL);
        assert!(supply.is_empty(0) && !supply.is_over(0));
        supply.write(1500, 0);
        assert_eq!(segments(&supply, 0), [MORE, pushed(52)]);
        // 1500 + 1448 are 1448 + 1448 + 52, but 1448 alone where the first write was sent.
        supply.write(1448, 0);
        assert_eq!(segments(&supply, 0), [MORE, MORE, pushed(52)]);
        assert_eq!(segments(&supply, 1500), [pushed(FULL)]);
        assert!(!supply.is_over(2948));
        assert_eq!([0, 1448, 1500, 2948].map(|from| supply.writes_left(from)), [2, 2, 1, 0]);
        // Acknowledged data is dropped.
        supply.write(100, 1500);
        assert_eq!(supply.writes.as_ref().unwrap().ends, [2948, 3048]);
        assert_eq!(segments(&supply, 2948), [pushed(100)]);
    }

    #[test]
    fn a_small_segment_waits_where_the_application_asks_for_it() {
        // 100 B, and 100 B more once they are sent.
        let written = |hold| {
            let mut supply = Supply::written(hold, FULL);
            supply.write(100, 0);
            let first = supply.holds(1, 0, 0);
            supply.sent_last(100);
            supply.write(100, 0);
            // Before the first is acknowledged, and after.
            (first, supply.holds(1, 100, 0), supply.holds(1, 100, 100))
        };
        assert_eq!(written(Hold::None), (false, false, false));
        assert_eq!(written(Hold::Nagle), (false, true, false));
        assert_eq!(written(Hold::Cork), (true, true, true));
        // Nagle's algorithm waits for small segments only; a full one never waits.
        let mut supply = Supply::written(Hold::Nagle, FULL);
        supply.write(MSS, 0);
        supply.sent_last(FULL);
        supply.write(MSS + 1, 0);
        assert!(!supply.holds(1, MSS, 0) && !supply.holds(2, MSS, 0));
        let mut supply = Supply::written(Hold::Cork, FULL);
        supply.write(MSS + 1, 0);
        assert!(!supply.holds(1, 0, 0) && supply.holds(2, 0, 0));
    }
}
