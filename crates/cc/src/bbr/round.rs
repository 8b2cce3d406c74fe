//! Round trips, counted by deliveries: one ends when a segment is acknowledged that was sent after it began.

use crate::RateSample;

/// The count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Round {
    pub count: u64,
    /// The next one begins when a segment is acknowledged that was sent after this many deliveries.
    next: u64,
    /// The present acknowledgement begins one.
    pub starts: bool,
}

impl Round {
    /// A round trip begins with the next segment sent.
    pub fn begin(&mut self, delivered: u64) {
        self.next = delivered;
    }

    /// Takes a sample of segments that were delivered; `true` if it begins a round trip.
    pub fn take(&mut self, sample: &RateSample) -> bool {
        self.starts = sample.prior_delivered >= self.next;
        if self.starts {
            self.next = sample.delivered;
            self.count += 1;
        }
        self.starts
    }
}
