//! Proportional rate reduction (RFC 6937): a window that shrinks as data are delivered.

/// How much may be sent while the window shrinks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    /// The window before the reduction.
    pub prior_cwnd: u32,
    /// Segments delivered since.
    pub delivered: u32,
    /// Segments sent since.
    pub out: u32,
}

impl Prr {
    /// The window after `delivered` more segments, on the way to `ssthresh` (RFC 6937 §3). `clean`
    /// says that the acknowledgement advanced and showed no loss.
    pub fn window(&mut self, ssthresh: u32, in_flight: u32, delivered: u32, clean: bool) -> u32 {
        self.delivered += delivered;
        let may_send = if in_flight > ssthresh {
            // Proportional: as the window goes from prior_cwnd to ssthresh.
            let goal = (u64::from(ssthresh) * u64::from(self.delivered))
                .div_ceil(u64::from(self.prior_cwnd)) as u32;
            goal.saturating_sub(self.out)
        } else {
            // Slow start up to ssthresh, when losses took more than the reduction asked for.
            let limit = self.delivered.saturating_sub(self.out).max(delivered);
            let limit = if clean { limit + 1 } else { limit };
            limit.min(ssthresh - in_flight)
        };
        // A reduction begins with one segment at least, so that a loss is sent again.
        let at_least = u32::from(self.out == 0);
        in_flight + may_send.max(at_least)
    }
}
