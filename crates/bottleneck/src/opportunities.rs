//! A link that follows delivery opportunities, with the semantics of mahimahi (`link_queue.cc`): at each
//! instant of the trace 1504 bytes may leave. They serve several packets, or a part of one, which goes
//! on at the next opportunity. Bytes that find no packet are lost. A packet arrives with its last byte.
//!
//! mahimahi counts a packet as its TUN device has it: an IP packet and four bytes. So does this link; the
//! 14 bytes of Ethernet, which a link with a rate transmits, cost it nothing.

use l4s_trace::TUN;
use l4s_units::{Bytes, Duration, ETHERNET, Time};

/// Delivery opportunities, and their use.
#[derive(Debug)]
pub(crate) struct Opportunities {
    trace: l4s_trace::Opportunities,
    /// The present or next instant with unused bytes.
    at: Time,
    /// The unused bytes of that instant; at least one.
    left: u64,
    /// When the last byte of the last packet leaves, and how many bytes were left after it.
    done: (Time, u64),
}

impl Opportunities {
    pub fn new(mut trace: l4s_trace::Opportunities) -> Opportunities {
        let (at, bytes) = trace.next(Time::ZERO);
        Opportunities { trace, at, left: bytes.get(), done: (Time::ZERO, 0) }
    }

    #[inline]
    pub fn free_at(&self) -> Time {
        self.at
    }

    #[inline]
    pub fn done_at(&self) -> Time {
        self.done.0
    }

    /// Opportunities before `now` are over.
    #[inline]
    pub fn pass(&mut self, now: Time) {
        if self.at < now {
            (self.at, self.left) = Self::next(&mut self.trace, now);
        }
    }

    /// As [`Pacer::charge`](crate::pacer::Pacer::charge): a packet leaves at the present instant.
    pub fn charge(&mut self, size: Bytes, now: Time) {
        self.pass(now);
        let mut size = size.get().saturating_sub(ETHERNET.get()) + TUN.get();
        while size > self.left {
            size -= self.left;
            self.next_instant();
        }
        self.left -= size;
        self.done = (self.at, self.left);
        if self.left == 0 {
            self.next_instant();
        }
    }

    fn next_instant(&mut self) {
        let later = self.at + Duration::from_nanos(1);
        (self.at, self.left) = Self::next(&mut self.trace, later);
    }

    fn next(trace: &mut l4s_trace::Opportunities, at_or_after: Time) -> (Time, u64) {
        let (at, bytes) = trace.next(at_or_after);
        (at, bytes.get())
    }

    /// As [`Pacer::owed`](crate::pacer::Pacer::owed), in bytes of the trace.
    pub fn owed(&self, now: Time) -> Bytes {
        let (done, left) = self.done;
        let until = self.trace.clone().bytes_between(now, done).get();
        Bytes::new(until.saturating_sub(left))
    }
}
