//! Detects a reduction for a spurious loss: the retransmitted data was only late.
//!
//! There are three signs of that, as in Linux (`tcp_try_undo_*`). A sender that finds one takes
//! the reduction back:
//!
//! 1. An acknowledgement of something that was sent again echoes a time stamp from before the first
//!    retransmission: it is the original that arrived (the Eifel algorithm, RFC 3522 §3.2).
//! 2. D-SACK reports every retransmission as a duplicate (RFC 3708 §3).
//! 3. After a timeout something arrives that was sent once, before it (F-RTO, RFC 5682 §3.1):
//!    [`super::Sender`] sees that by itself.

use l4s_cc::Window;

use crate::packet::Stamp;

/// The state of the last reduction for a loss.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// The first byte not acknowledged when it began; none where there is nothing to take back.
    from: Option<u64>,
    /// Window and threshold before it; none where a mark asked for a reduction, too.
    prior: Option<Window>,
    /// The time stamp of the first retransmission in this recovery; none before it.
    first_resent: Option<Stamp>,
    /// Retransmissions that no D-SACK has reported; none before the first one.
    unreported: Option<u32>,
    /// Segments that the connection has sent again, and segments that came twice by D-SACK.
    sent_again: u64,
    reported: u64,
}

impl Undo {
    /// A reduction for a loss begins, with `resent_out` retransmissions in flight.
    pub fn begin(&mut self, una: u64, resent_out: u32, prior: Option<Window>) {
        self.from = Some(una);
        self.prior = prior;
        self.unreported = (resent_out > 0).then_some(resent_out);
    }

    /// Nothing that was sent again is under way any more.
    pub fn forget_resent(&mut self) {
        self.first_resent = None;
    }

    /// A mark requires the reduction, independent of the losses.
    pub fn is_due_to_mark(&mut self) {
        self.prior = None;
    }

    /// There is nothing to take back any more. Gives the window to return to.
    pub fn end(&mut self) -> Option<Window> {
        self.from = None;
        self.prior.take()
    }

    /// A lost segment is sent again.
    pub fn resent(&mut self, stamp: Stamp) {
        self.first_resent.get_or_insert(stamp);
        self.unreported = Some(self.unreported.unwrap_or(0) + 1);
    }

    /// A segment is sent again, lost or as a probe.
    pub fn sends_again(&mut self) {
        self.sent_again += 1;
    }

    /// D-SACK reports a segment that came twice: whether it may have been sent twice. Where more segments came twice
    /// than this sender has sent again, the path duplicates packets, and reports say nothing about
    /// retransmissions (`tcp_dsack_seen` of Linux).
    pub fn is_own(&mut self) -> bool {
        self.reported += 1;
        self.reported <= self.sent_again
    }

    /// D-SACK reports that the segment that begins with this byte came twice.
    pub fn came_twice(&mut self, seq: u64) {
        if self.from.is_some_and(|from| seq >= from) {
            self.unreported = self.unreported.map(|left| left.saturating_sub(1));
        }
    }

    /// All that was sent again came twice.
    pub fn all_came_twice(&self) -> bool {
        self.from.is_some() && self.unreported == Some(0)
    }

    /// Whether the data that was newly acknowledged with this echo was only late.
    pub fn was_late(&self, echo: Stamp) -> bool {
        self.from.is_some() && self.first_resent.is_none_or(|first| echo.is_before(first))
    }
}
