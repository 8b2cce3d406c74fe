//! Sets of tracers (Fallback §5): a front, a middle that is ECT(0) and may be overtaken, and a rear.
//! Whichever of the last two comes second is a duplicate at least in part, and the block that
//! reports it (D-SACK, RFC 2883) tells which one it was.
//!
//! # Split
//!
//! ```text
//! front  [1148 B]              ECT(1)
//! middle       [2|96 B]        ECT(0)   ends a byte before the rear
//! rear          [1|97 B]       ECT(1)
//! ```
//!
//! One full segment's worth in three packets. The front is a segment, and what is behind it another
//! one, which middle and rear both carry; whatever of them is lost, that segment is sent again as
//! any other. The block of the one that comes second ends where the middle ends in both cases, but it
//! begins two bytes before the end of the front only if it was the middle, and one byte before it
//! if it was the rear.
//!
//! A middle may come even before its front, where the Classic queue is empty and the L4S queue is
//! not. This is not in the paper. The receiver reports the bytes of the middle alone above the
//! hole (RFC 2018). So it does if the front was lost; but then the front is missing still when
//! the rear comes. Where it is not, the middle went past it.
//!
//! # Copies
//!
//! ```text
//! front  [1448 B          ]    ECT(1)
//! middle            [98 B ]    ECT(0)   both end where the front ends
//! rear               [97 B]    ECT(1)
//! ```
//!
//! What a program at the device can send behind a packet of a stock kernel's TCP. The front is a
//! segment as any other. What follows are no segments: nothing waits for them, and neither window nor
//! pacing counts them. Each is wholly a duplicate, so that the receiver answers it at once and by
//! itself, and the order of the answers is that of the copies. A middle before its front is told
//! apart as above; the block of it comes once more then, with the front.

use l4s_cc::prague::{self, TracerSet};
use l4s_units::{Ecn, Time};

use super::{Output, Sender};
use crate::packet::{
    Ack, Duplicate, FRONT, MIDDLE_COPY, MSS, Part, REAR_COPY, SHORTFALL, Segment, Share, TRACER,
};
use crate::tcp::accecn::News;

/// How many sets may wait for their answer: where a Classic queue is long, an overtaken middle
/// comes round trips after its rear.
const WAITING: usize = 8;
/// The place of no set.
const NONE: u64 = u64::MAX;

/// The sets that may still be answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tracing {
    form: TracerSet,
    /// Their segments, the latest first: the tail where it was split, the front where it was copied.
    segments: [u64; WAITING],
    /// What was seen of them.
    seen: [Seen; WAITING],
}

/// What answers have told of a set that waits for more of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Seen {
    Nothing,
    /// The middle came while its front was missing.
    Ahead,
    /// The middle came, and the rear had not.
    Middle,
    /// The rear came, and the middle had not.
    Rear,
}

/// What an answer makes of a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Waits(Seen),
    /// It has its outcome, or never will.
    Over(Option<bool>),
}

impl Seen {
    /// Split: the later one of middle and rear came, or while the front is missing, either. Without a
    /// front that arrived there is no outcome, as the receiver then reports the same block in either
    /// order.
    fn split(self, middle: bool, missing: bool) -> Step {
        match (missing, middle) {
            (true, true) => Step::Waits(Seen::Ahead),
            (true, false) => Step::Waits(self),
            (false, _) => Step::Over(Some(middle || self == Seen::Ahead)),
        }
    }

    /// Copies: this one came.
    fn copies(self, middle: bool, missing: bool) -> Step {
        match (missing, middle, self) {
            (true, true, _) => Step::Waits(Seen::Ahead),
            // The front was lost, or is later than all: as good as lost.
            (true, false, _) => Step::Over(None),
            // It came with its front once more.
            (false, true, Seen::Ahead) => Step::Waits(Seen::Ahead),
            (false, true, Seen::Rear) | (false, false, Seen::Ahead) => Step::Over(Some(true)),
            (false, false, Seen::Middle) => Step::Over(Some(false)),
            (false, true, _) => Step::Waits(Seen::Middle),
            (false, false, _) => Step::Waits(Seen::Rear),
        }
    }
}

impl Tracing {
    pub fn new(form: TracerSet) -> Tracing {
        Tracing { form, segments: [NONE; WAITING], seen: [Seen::Nothing; WAITING] }
    }

    fn sent(&mut self, segment: u64) {
        self.segments.rotate_right(1);
        self.seen.rotate_right(1);
        (self.segments[0], self.seen[0]) = (segment, Seen::Nothing);
    }

    /// Whether the acknowledgement is the last one to tell of a set, and whether that came in another
    /// order than it was sent in.
    #[inline]
    pub fn answer(&mut self, ack: &Ack) -> Option<bool> {
        let duplicate = ack.duplicate?;
        self.find(ack, duplicate)
    }

    #[inline(never)]
    fn find(&mut self, ack: &Ack, duplicate: Duplicate) -> Option<bool> {
        let Duplicate { segment: distance, lead, share } = duplicate;
        let segment = ack.cumulative.wrapping_add_signed(distance.into());
        let set = self.segments.iter().position(|waiting| *waiting == segment)?;
        let missing = distance >= 0;
        let step = match share {
            // Without a lead the rear was sent again.
            Share::AllButLast if lead > 0 => {
                self.seen[set].split(lead == Part::Middle.lead(), missing)
            }
            Share::Last(bytes) => {
                let middle = u16::from(bytes) == MIDDLE_COPY;
                // A duplicate above a hole that is another one's: its front came.
                if middle && ack.sacks_have(distance) {
                    return None;
                }
                self.seen[set].copies(middle, missing)
            }
            _ => return None,
        };
        match step {
            Step::Waits(seen) => {
                self.seen[set] = seen;
                None
            }
            Step::Over(outcome) => {
                self.segments[set] = NONE;
                outcome
            }
        }
    }

    /// How many of these marks were a middle's. It carries nothing that its queue should be
    /// answered for: it is in that of others. The receiver counts it as any packet (RFC 9768
    /// §3.2.2), so that only bytes give it away. Of copies none is taken out: the program at the
    /// device that sends them cannot change what a kernel's TCP counts.
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
            && self.segments.contains(&tail)
            && news.bytes == (news.marks - 1) * MSS as u32 + u32::from(TRACER)
    }
}

impl Sender {
    /// Whether a set goes with the next segment: a full one of ECT(1) that is not the last, of all or
    /// of a write, and the congestion control wants to know. Copies could follow any one, but the
    /// program at the device leaves small ones alone, and behind the last one nobody asks.
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
        self.cc.prague_mut().is_some_and(prague::Control::wants_tracers)
    }

    #[cfg(not(test))]
    pub(super) fn traced(&mut self, overtook: bool) {
        if let Some(prague) = self.cc.prague_mut() {
            prague.traced(overtook);
        }
    }

    /// Sends a set, in place of a full segment or with one.
    pub(super) fn send_tracers(&mut self, push: bool, now: Time, out: &mut impl Output) {
        match self.tracing.form {
            TracerSet::Split => self.send_split(push, now, out),
            TracerSet::Copies => self.send_copies(push, now, out),
        }
    }

    /// Sends a set in place of a full segment. Its two segments are both in flight, and what it
    /// carries less than them is sent at the end, or at that of its write.
    #[inline(never)]
    fn send_split(&mut self, push: bool, now: Time, out: &mut impl Output) {
        let front = self.board.nxt();
        self.board.push_tracers(now, self.short);
        self.last_sent = now;
        let whole = Segment {
            seq: front,
            payload: FRONT,
            ecn: Ecn::Ect1,
            cwr: core::mem::take(&mut self.cwr_pending),
            accurate_ecn: self.accurate_ecn,
            push: false,
            fin: false,
            part: Part::Whole,
            short: self.short,
            stamps: self.stamps(now),
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

    /// Sends a full segment, and copies of its end behind it.
    #[inline(never)]
    fn send_copies(&mut self, push: bool, now: Time, out: &mut impl Output) {
        let seq = self.send_new(push, now, out);
        let middle = Segment {
            seq,
            payload: MIDDLE_COPY,
            ecn: Ecn::Ect0,
            cwr: false,
            accurate_ecn: self.accurate_ecn,
            push: false,
            fin: false,
            part: Part::Copy,
            short: self.short,
            stamps: self.stamps(now),
        };
        out.send(middle, false);
        out.send(Segment { payload: REAR_COPY, ecn: Ecn::Ect1, ..middle }, false);
        self.tracing.sent(seq);
    }
}

#[cfg(test)]
mod script {
    use super::*;
    use crate::tcp::Script;

    impl Sender {
        /// Sends sets as the script says, from now on.
        pub(crate) fn follow(&mut self, script: Script) {
            self.tracing = Tracing::new(script.set);
            self.script = Some(script);
        }

        pub(super) fn cc_wants_tracers(&mut self) -> bool {
            let (una, nxt) = (self.board.una(), self.board.nxt());
            match &self.script {
                Some(script) => script.wants(una, nxt),
                None => self.cc.prague_mut().is_some_and(prague::Control::wants_tracers),
            }
        }

        /// Marks that acknowledgements told of.
        pub(crate) fn marks(&self) -> u32 {
            self.accecn.marks()
        }

        pub(in crate::tcp::sender) fn traced(&mut self, overtook: bool) {
            match &self.script {
                Some(script) => script.traced(overtook),
                None => {
                    if let Some(prague) = self.cc.prague_mut() {
                        prague.traced(overtook);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::packet::Stamps;
    use l4s_units::Duration;

    use super::*;
    use crate::tcp::{Arrived, Receiver};
    use l4s_model::Feedback;

    /// A block of the tail `tail`, as a receiver reports it that has everything before `cumulative`.
    fn ack(cumulative: u64, tail: u64, part: Part) -> Ack {
        let segment = tail as i32 - cumulative as i32;
        let duplicate = Some(Duplicate { segment, lead: part.lead(), share: Share::AllButLast });
        Ack {
            cumulative,
            sacks: [(0, 0); 3],
            duplicate,
            ece: false,
            ace: 0,
            ce_bytes: None,
            window: u32::MAX,
            stamps: Stamps::default(),
        }
    }

    #[test]
    fn sets_that_wait_at_once_have_an_answer_each() {
        let mut tracing = Tracing::new(TracerSet::Split);
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
        let mut tracing = Tracing::new(TracerSet::Split);
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

    /// The packets of a set of copies, whose segment is 11.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    enum Of {
        Front,
        Middle,
        Rear,
        /// The segment before it, which was late.
        Earlier,
    }

    /// What a receiver answers to each, in this order. A front that is not among them is sent again.
    fn answers(order: &[Of]) -> Vec<(Of, Ack)> {
        let mut receiver =
            Receiver::new(Feedback::Accurate { option: true }, Duration::from_millis(20));
        let mut send = |of: Option<Of>, seq: u64| {
            let (payload, part) = match of {
                Some(Of::Middle) => (MIDDLE_COPY, Part::Copy),
                Some(Of::Rear) => (REAR_COPY, Part::Copy),
                _ => (MSS as u16, Part::Whole),
            };
            let ecn = Ecn::Ect1;
            let arrived = Arrived { payload, part, ..Arrived::full(seq, ecn) };
            let mut acks = Vec::new();
            receiver.on_segment(arrived, Time::ZERO, |ack| acks.extend(of.map(|of| (of, ack))));
            acks
        };
        let first = if order.contains(&Of::Earlier) { 10 } else { 11 };
        (0..first).for_each(|seq| drop(send(None, seq)));
        let resent = [Of::Front].into_iter().filter(|front| !order.contains(front));
        let number = |of| if of == Of::Earlier { 10 } else { 11 };
        order.iter().copied().chain(resent).flat_map(|of| send(Some(of), number(of))).collect()
    }

    /// All orders of some of these.
    fn orders(of: &[Of]) -> Vec<Vec<Of>> {
        let mut all = vec![Vec::new()];
        for (n, first) in of.iter().enumerate() {
            let rest = [&of[..n], &of[n + 1..]].concat();
            all.extend(orders(&rest).into_iter().map(|order| [&[*first], &order[..]].concat()));
        }
        all
    }

    /// Whatever of a set arrives in whatever order, and whichever answers are lost: the outcome is what
    /// happened, or there is none. But if a middle is ahead and the answer that says so is lost,
    /// the set looks as if in order.
    #[test]
    fn answers_to_copies_tell_the_order_or_nothing() {
        let set = [Of::Front, Of::Middle, Of::Rear];
        let mut told = [0; 3];
        for order in orders(&[&set[..], &[Of::Earlier]].concat()) {
            let of_set: Vec<Of> = order.iter().copied().filter(|of| *of != Of::Earlier).collect();
            let truth = (of_set.len() == set.len()).then_some(of_set != set);
            let ahead = of_set == [Of::Middle, Of::Front, Of::Rear];
            let answers = answers(&order);
            for lost in 0..1u32 << answers.len() {
                let mut tracing = Tracing::new(TracerSet::Copies);
                tracing.sent(11);
                let is_lost = |n: &usize| lost >> n & 1 == 1;
                let came = (0..answers.len()).filter(|n| !is_lost(n)).map(|n| &answers[n].1);
                let outcomes: Vec<bool> = came.filter_map(|ack| tracing.answer(ack)).collect();
                let known = (0..answers.len()).any(|n| answers[n].0 == Of::Middle && !is_lost(&n));
                match outcomes[..] {
                    [] => told[2] += 1,
                    [overtook] if Some(overtook) == truth => told[usize::from(overtook)] += 1,
                    [false] if ahead && !known => {}
                    _ => panic!("{order:?}, lost {lost:b}: {outcomes:?} of {answers:?}"),
                }
                if lost == 0 && !order.contains(&Of::Earlier) {
                    let tells = match of_set[..] {
                        // A front that is later than the rear is as good as lost.
                        [Of::Rear, ..] | [_, Of::Rear, Of::Front] => None,
                        _ => truth,
                    };
                    assert_eq!(outcomes.first().copied(), tells, "{order:?}");
                }
            }
        }
        assert!(told.iter().all(|count| *count > 5), "{told:?}");
    }
}
