//! The detector's input: one acknowledgement.

/// The receiver acknowledges at least this many segments at the start of a connection without delay
/// (quick acknowledgements of Linux).
pub(super) const QUICKACK_SEGMENTS: u64 = 10;

/// One acknowledgement, as the detector needs it.
///
/// ```
/// use l4s_cc::classic_ecn::Sample;
///
/// // Two segments of a connection that is beyond its start.
/// let two = Sample {
///     now_us: 1_000_000,
///     rtt_us: Some(20_000),
///     min_rtt_us: 10_000,
///     delivered: 2,
///     delivered_ce: 0,
///     una: 1000,
///     nxt: 1020,
///     self_limited: false,
///     pushed: false,
///     rtt_virt_us: 25_000,
/// };
/// assert!(two.is_immediate_ack());
/// // A single one may have been acknowledged by the timer of the receiver.
/// assert!(!Sample { delivered: 1, ..two }.is_immediate_ack());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The time of its arrival, in microseconds.
    pub now_us: u64,
    /// The RTT of the newest segment that it acknowledges, in microseconds. The RTT of the oldest
    /// one would contain the receiver's delay (Fallback §4.3).
    pub rtt_us: Option<u32>,
    /// The lowest RTT of the connection, in microseconds.
    pub min_rtt_us: u32,
    /// Newly delivered segments.
    pub delivered: u32,
    /// Newly delivered segments that were marked.
    pub delivered_ce: u32,
    /// The number of the first segment that is not acknowledged.
    pub una: u64,
    /// The number of the next new segment.
    pub nxt: u64,
    /// Whether the sender had no data to send (Fallback §4.1.2).
    pub self_limited: bool,
    /// Whether the receiver acknowledges even a single segment without delay.
    pub pushed: bool,
    /// The virtual RTT in microseconds, for [`Clock::Virtual`](super::Clock::Virtual).
    pub rtt_virt_us: u64,
}

impl Sample {
    /// Whether the receiver certainly acknowledged the newest segment without delay. The
    /// acknowledgement of a single segment may have been delayed by up to 40 ms (Linux).
    #[inline]
    pub fn is_immediate_ack(&self) -> bool {
        self.delivered >= 2 || self.pushed || self.una <= QUICKACK_SEGMENTS
    }
}
