//! What the bottleneck takes to send a packet, as acknowledgements show it.
//!
//! Two packets that wait in a row leave the bottleneck that far apart, and so do their
//! acknowledgements come back. Others' packets in between only add to it, so the least counts,
//! over the life of the connection: the first flight is a burst, and whatever shares the queue
//! later, it tells. Where a link becomes slower the estimate is too low, and the references are
//! those of the paper.

use super::sample::Sample;

/// A packet of 1514 B at 4 Mb/s: the slowest link that the references follow.
const SLOWEST: u32 = 3028;
/// The bucket of a shaper lets the first ones through at once.
const FREE_SEGMENTS: u64 = 2;

/// An estimate of the bottleneck's time per packet, in microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spacing {
    /// The least time between two packets; `u32::MAX` where that is not known.
    pub least: u32,
    /// The arrival time of the last acknowledgement that the receiver sent as soon as its packet
    /// arrived.
    pub prompt_at: Option<u64>,
}

impl Default for Spacing {
    fn default() -> Self {
        Spacing { least: u32::MAX, prompt_at: None }
    }
}

impl Spacing {
    /// 0 as long as nothing is known.
    #[inline]
    pub fn micros(&self) -> u32 {
        if self.least == u32::MAX { 0 } else { self.least.min(SLOWEST) }
    }

    /// An acknowledgement arrived. It counts if it surely was prompt, as one of two packets or more,
    /// which is the answer to the last of them.
    #[inline]
    pub fn update(&mut self, sample: &Sample) {
        if !sample.is_prompt() || sample.una <= FREE_SEGMENTS {
            return;
        }
        if let Some(before) = self.prompt_at.replace(sample.now_us) {
            let gap = (sample.now_us - before) / u64::from(sample.delivered.max(1));
            if gap > 0 {
                self.least = self.least.min(u32::try_from(gap).unwrap_or(u32::MAX));
            }
        }
    }
}
