//! The bottleneck's time per packet, measured by acknowledgements.
//!
//! Two packets of a queue leave the bottleneck this far apart, and so do their acknowledgements.
//! Packets of other flows in between only increase the distance, so the estimate is the least one in
//! the life of the connection. The initial window is a burst, so that the estimate is known early. If
//! the link becomes slower, the estimate is too low, and V0 and D0 are those of the paper.

use super::sample::Sample;

/// The time of a packet of 1514 B at 4 Mb/s, in microseconds. V0 and D0 follow no longer spacing.
const SPACING_MAX: u32 = 3028;
/// The token bucket of a shaper sends this many segments at the start back to back.
const BURST_SEGMENTS: u64 = 2;

/// An estimate of the bottleneck's time per packet, in microseconds.
///
/// ```
/// use l4s_cc::classic_ecn::{Sample, Spacing};
///
/// // Each acknowledgement is of two segments, and the least distance counts.
/// let mut spacing = Spacing::default();
/// for now_us in [20_000, 23_000, 25_000, 29_000] {
///     spacing.update(&Sample {
///         now_us,
///         rtt_us: None,
///         min_rtt_us: 10_000,
///         delivered: 2,
///         delivered_ce: 0,
///         una: 100,
///         nxt: 110,
///         self_limited: false,
///         pushed: false,
///         rtt_virt_us: 0,
///     });
/// }
/// assert_eq!(spacing.micros(), 1000);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spacing {
    /// The least time between two packets; `u32::MAX` if it is not known.
    pub least: u32,
    /// The arrival time of the last immediate acknowledgement, in microseconds.
    pub immediate_ack_us: Option<u64>,
}

impl Default for Spacing {
    fn default() -> Self {
        Spacing { least: u32::MAX, immediate_ack_us: None }
    }
}

impl Spacing {
    /// The estimate; 0 if it is not known.
    #[inline]
    pub fn micros(&self) -> u32 {
        if self.least == u32::MAX { 0 } else { self.least.min(SPACING_MAX) }
    }

    /// An acknowledgement arrived. It counts if it is certainly an immediate one.
    #[inline]
    pub fn update(&mut self, sample: &Sample) {
        if !sample.is_immediate_ack() || sample.una <= BURST_SEGMENTS {
            return;
        }
        if let Some(before) = self.immediate_ack_us.replace(sample.now_us) {
            let gap = (sample.now_us - before) / u64::from(sample.delivered.max(1));
            if gap > 0 {
                self.least = self.least.min(u32::try_from(gap).unwrap_or(u32::MAX));
            }
        }
    }
}
