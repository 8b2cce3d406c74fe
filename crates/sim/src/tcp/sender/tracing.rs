//! Sets of tracers (Fallback §5): one full segment's worth in three packets, of which the middle
//! is ECT(0) and may be overtaken.
//!
//! ```text
//! front  [1148 B]              ECT(1)
//! middle       [2|96 B]        ECT(0)   ends a byte before the rear
//! rear          [1|97 B]       ECT(1)
//! ```
//!
//! The front is a segment, and what is behind it another one, which middle and rear both carry;
//! whatever of them is lost, that segment is sent again as any other. Whichever comes second is a
//! duplicate, and the block that reports it (D-SACK, RFC 2883) tells which one it was: it ends
//! where the middle ends in both cases, but it begins two bytes before the end of the front only if
//! it was the middle, and one byte before it if it was the rear.
//!
//! A middle may come even before its front, where the Classic queue is empty and the L4S queue is
//! not. This is not in the paper. The receiver reports the bytes of the middle alone above the
//! hole (RFC 2018). So it does if the front was lost; but then the front is missing still when
//! the rear comes. Where it is not, the middle went past it.

use l4s_cc::CongestionControl;
use l4s_units::{Ecn, Time};

use super::{Output, Sender};
use crate::packet::{Ack, Duplicate, FRONT, MSS, Part, SHORTFALL, Segment, Share, TRACER};
use crate::tcp::accecn::News;

/// How many sets may wait for their answer: where a Classic queue is long, an overtaken middle
/// comes round trips after its rear.
const WAITING: usize = 8;
/// The place of no set.
const NONE: u64 = u64::MAX;

/// The sets that may still be answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tracing {
    /// Their tails, the latest first.
    tails: [u64; WAITING],
    /// Those of which the middle came while its front was missing.
    ahead: [bool; WAITING],
}

impl Default for Tracing {
    fn default() -> Self {
        Tracing { tails: [NONE; WAITING], ahead: [false; WAITING] }
    }
}

impl Tracing {
    fn sent(&mut self, tail: u64) {
        self.tails.rotate_right(1);
        self.ahead.rotate_right(1);
        (self.tails[0], self.ahead[0]) = (tail, false);
    }

    /// Whether the acknowledgement answers the later of middle and rear, and whether the set came
    /// in another order than it was sent in. Without a front that arrived there is no answer, as
    /// the receiver then reports the same block in either order.
    #[inline]
    pub fn answer(&mut self, ack: &Ack) -> Option<bool> {
        let duplicate = ack.duplicate?;
        self.find(ack, duplicate)
    }

    #[inline(never)]
    fn find(&mut self, ack: &Ack, duplicate: Duplicate) -> Option<bool> {
        let Duplicate { segment, lead, share: Share::AllButLast } = duplicate else { return None };
        // The rear was sent again.
        if lead == 0 {
            return None;
        }
        let middle = lead == Part::Middle.lead();
        let tail = ack.cumulative.wrapping_add_signed(segment.into());
        let set = self.tails.iter().position(|waiting| *waiting == tail)?;
        // The front is missing.
        if segment >= 0 {
            self.ahead[set] |= middle;
            return None;
        }
        self.tails[set] = NONE;
        Some(middle || self.ahead[set])
    }

    /// How many of these marks were a middle's. It carries nothing that its queue should be
    /// answered for: it is in that of others. The receiver counts it as any packet (RFC 9768
    /// §3.2.2), so that only bytes give it away.
    #[inline]
    pub fn idle_marks(&self, ack: &Ack, news: News) -> u32 {
        match ack.duplicate {
            Some(duplicate) if news.marks > 0 => self.of_middle(ack, duplicate, news).into(),
            _ => 0,
        }
    }

    #[inline(never)]
    fn of_middle(&self, ack: &Ack, duplicate: Duplicate, news: News) -> bool {
        let tail = ack.cumulative.wrapping_add_signed(duplicate.segment.into());
        duplicate.lead == Part::Middle.lead()
            && self.tails.contains(&tail)
            && news.bytes == (news.marks - 1) * MSS as u32 + u32::from(TRACER)
    }
}

impl Sender {
    /// Whether the next segment goes as a set: a full one of ECT(1) that is not the last, of all or
    /// of a write, and the congestion control wants to know.
    #[inline]
    pub(super) fn wants_tracers(&mut self) -> bool {
        self.ecn == Some(Ecn::Ect1) && self.can_trace() && self.cc_wants_tracers()
    }

    fn can_trace(&self) -> bool {
        self.supply.is_divisible(self.board.nxt()) && self.short < u16::MAX - 1
    }

    #[cfg(not(test))]
    #[inline]
    fn cc_wants_tracers(&mut self) -> bool {
        self.cc.wants_tracers(self.board.nxt())
    }

    #[cfg(not(test))]
    pub(super) fn traced(&mut self, overtook: bool) {
        self.cc.traced(overtook);
    }

    /// Sends a set in place of a full segment. Its two segments are both in flight, and what it
    /// carries less than them is sent at the end, or at that of its write.
    #[inline(never)]
    pub(super) fn send_tracers(&mut self, push: bool, now: Time, out: &mut impl Output) {
        let front = self.board.nxt();
        self.board.push_tracers(now, self.short);
        self.last_sent = now;
        let whole = Segment {
            seq: front,
            payload: FRONT,
            ecn: Ecn::Ect1,
            cwr: core::mem::take(&mut self.cwr_pending),
            push: false,
            fin: false,
            part: Part::Whole,
            short: self.short,
        };
        out.send(whole, false);
        let (seq, short) = (front + 1, self.short + 1);
        let tail = Segment { seq, short, payload: TRACER, cwr: false, ..whole };
        out.send(Segment { part: Part::Middle, ecn: Ecn::Ect0, ..tail }, false);
        out.send(Segment { part: Part::Rear, push, ..tail }, false);
        self.short += 2;
        self.tracing.sent(seq);
        self.supply.fell_short(front, SHORTFALL);
    }
}

#[cfg(test)]
mod script {
    use super::*;
    use crate::tcp::Script;

    impl Sender {
        /// Sends sets as the script says, from now on.
        pub(crate) fn follow(&mut self, script: Script) {
            self.script = Some(script);
        }

        pub(super) fn cc_wants_tracers(&mut self) -> bool {
            let (una, nxt) = (self.board.una(), self.board.nxt());
            match &self.script {
                Some(script) => script.wants(una, nxt),
                None => self.cc.wants_tracers(nxt),
            }
        }

        /// Marks that acknowledgements told of.
        pub(crate) fn marks(&self) -> u32 {
            self.accecn.marks()
        }

        pub(in crate::tcp::sender) fn traced(&mut self, overtook: bool) {
            match &self.script {
                Some(script) => script.traced(overtook),
                None => self.cc.traced(overtook),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block of the tail `tail`, as a receiver reports it that has everything before `cumulative`.
    fn ack(cumulative: u64, tail: u64, part: Part) -> Ack {
        let segment = tail as i32 - cumulative as i32;
        let duplicate = Some(Duplicate { segment, lead: part.lead(), share: Share::AllButLast });
        Ack { cumulative, sacks: [(0, 0); 3], duplicate, ece: false, ace: 0, ce_bytes: None }
    }

    #[test]
    fn sets_that_wait_at_once_have_an_answer_each() {
        let mut tracing = Tracing::default();
        for tail in [11, 21, 31] {
            tracing.sent(tail);
        }
        // The middle of the second comes while its front, 20, is missing.
        assert_eq!(tracing.answer(&ack(20, 21, Part::Middle)), None);
        assert_eq!(tracing.answer(&ack(22, 11, Part::Middle)), Some(true));
        assert_eq!(tracing.answer(&ack(22, 21, Part::Rear)), Some(true));
        assert_eq!(tracing.answer(&ack(32, 31, Part::Rear)), Some(false));
        // Once, and of none that was not sent.
        for tail in [11, 21, 31, 41] {
            assert_eq!(tracing.answer(&ack(50, tail, Part::Rear)), None);
        }
        // What was remembered of a set is not said of the one that takes its place.
        for tail in 60..60 + WAITING as u64 {
            tracing.sent(tail);
        }
        assert_eq!(tracing.answer(&ack(90, 60, Part::Rear)), Some(false));
    }

    #[test]
    fn the_mark_of_a_middle_is_known_by_its_bytes() {
        let mut tracing = Tracing::default();
        tracing.sent(11);
        let tracer = u32::from(TRACER);
        for (marks, bytes, idle) in [
            (0, 0, 0),
            (1, tracer, 1),
            (1, MSS as u32, 0),
            (2, tracer, 0),
            (2, MSS as u32 + tracer, 1),
            (3, 2 * MSS as u32 + tracer, 1),
        ] {
            let news = News { marks, bytes };
            assert_eq!(tracing.idle_marks(&ack(12, 11, Part::Middle), news), idle, "{news:?}");
            assert_eq!(tracing.idle_marks(&ack(12, 11, Part::Rear), news), 0);
            assert_eq!(tracing.idle_marks(&ack(12, 10, Part::Middle), news), 0);
        }
    }
}
