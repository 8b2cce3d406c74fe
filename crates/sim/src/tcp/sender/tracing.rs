//! Sets of tracers (Fallback §5): a front, a middle that is ECT(0) and may be overtaken, and a rear.
//! Whichever of the last two comes second is a duplicate at least in part, and the block that
//! reports it (D-SACK, RFC 2883) identifies it.
//!
//! # Split
//!
//! ```text
//! front  [1112 B]              ECT(1)
//! middle       [2|96 B]        ECT(0)   ends a byte before the rear
//! rear          [1|97 B]       ECT(1)
//! ```
//!
//! One full segment's worth in three packets. The front is a segment, and the bytes behind it are
//! another one, which middle and rear both carry; if one of them is lost, that segment is sent again as
//! any other. The block of the second one to arrive ends where the middle ends in both cases. But it
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
//! front  [1436 B          ]    ECT(1)
//! middle            [98 B ]    ECT(0)   both end where the front ends
//! rear               [97 B]    ECT(1)
//! ```
//!
//! The form that a program at the device can send behind a packet of a stock kernel's TCP. The
//! front is a segment as any other. The copies are no segments: nothing waits for them, and neither
//! window nor pacing counts them. Each is wholly a duplicate, so that the receiver answers each at
//! once and separately, and the order of the answers is that of the copies. A middle before its
//! front is recognized as above; its block comes once more then, with the front.

use l4s_cc::prague::{self, TracerSet};
use l4s_units::{Ecn, Time};

use super::{Output, Sender};
use crate::message::Ack;
use crate::packet::{AccEcn, HEADER, Segment};
use crate::tcp::accecn::News;

/// Payload of the middle and the rear: no device takes them for small (Fallback §5.2).
pub(in crate::tcp) const TRACER: u64 = 98;
/// Payload of the front of a split set: all three packets together are as long as one of `payload`
/// bytes, with headers and these options.
pub(in crate::tcp) fn front(payload: u16, accecn: AccEcn) -> u64 {
    u64::from(payload) - 2 * (HEADER + u64::from(accecn.option_length()) + TRACER)
}

/// How many sets may wait for their answer: where a Classic queue is long, an overtaken middle
/// comes round trips after its rear.
const WAITING: usize = 8;

/// The place of a set in the stream: the byte behind its front, from which those of its middle and
/// its rear follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place(u64);

impl Place {
    /// The place of no set.
    const NONE: Place = Place(u64::MAX);
}

/// Which bytes middle and rear have, from the end of the front on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shape {
    /// Where the middle begins, before that end. The rear begins a byte later.
    lead: u64,
    /// Where the middle ends, behind it.
    tail: u64,
    /// How much later the rear ends.
    more: u64,
}

impl Shape {
    const fn of(form: TracerSet) -> Shape {
        match form {
            TracerSet::Split => Shape { lead: 2, tail: TRACER - 2, more: 1 },
            TracerSet::Copies => Shape { lead: TRACER, tail: 0, more: 0 },
        }
    }

    /// The bytes of the middle of a set.
    fn middle(self, place: Place) -> (u64, u64) {
        (place.0 - self.lead, place.0 + self.tail)
    }

    /// The bytes of its rear.
    fn rear(self, place: Place) -> (u64, u64) {
        (place.0 - self.lead + 1, place.0 + self.tail + self.more)
    }

    /// The bytes of its rear that its middle has, too.
    fn rear_twice(self, place: Place) -> (u64, u64) {
        (place.0 - self.lead + 1, place.0 + self.tail)
    }
}

/// The sets that may still be answered.
#[derive(Clone, Debug)]
pub(super) struct Tracing {
    form: TracerSet,
    /// None before the first set was sent: most connections send none.
    sets: Option<Box<Sets>>,
}

#[derive(Clone, Copy, Debug)]
struct Sets {
    /// Where they are, the latest first.
    places: [Place; WAITING],
    /// Which of them were seen.
    seen: [Seen; WAITING],
}

/// The state of a set that waits for more answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Seen {
    Nothing,
    /// The middle came while its front was missing.
    Ahead,
    /// The middle came, and the rear had not.
    Middle,
    /// The rear came, and the middle had not.
    Rear,
    /// It has its outcome, or never will.
    Over,
}

/// The effect of an answer on a set.
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
        Tracing { form, sets: None }
    }

    /// A set was sent whose front ends before this byte.
    fn sent(&mut self, end_of_front: u64) {
        let none = || Sets { places: [Place::NONE; WAITING], seen: [Seen::Nothing; WAITING] };
        let Sets { places, seen } = &mut **self.sets.get_or_insert_with(|| Box::new(none()));
        places.rotate_right(1);
        seen.rotate_right(1);
        (places[0], seen[0]) = (Place(end_of_front), Seen::Nothing);
    }

    /// The set of which this block has the middle or the rear, and whether it is the middle.
    fn of_block(&self, block: (u64, u64)) -> Option<(usize, bool)> {
        let shape = Shape::of(self.form);
        let at = |place: &Place| {
            *place != Place::NONE && {
                block == shape.middle(*place) || block == shape.rear_twice(*place)
            }
        };
        let places = &self.sets.as_ref()?.places;
        let set = places.iter().position(at)?;
        Some((set, block == shape.middle(places[set])))
    }

    /// Whether a block is a part of a set.
    pub fn has(&self, block: (u64, u64)) -> bool {
        let Some(sets) = &self.sets else { return false };
        let lead = Shape::of(self.form).lead;
        // Also the part of the front that came before its middle, or its rear.
        let of_front = |place: &Place| block.1 == place.0 && block.0 + lead >= place.0;
        self.of_block(block).is_some() || sets.places.iter().any(of_front)
    }

    /// Whether the acknowledgement is the last one about a set, and whether the set arrived in another
    /// order than it was sent in.
    #[inline]
    pub fn answer(&mut self, ack: &Ack) -> Option<bool> {
        if self.sets.is_none() { None } else { self.find(ack) }
    }

    #[inline(never)]
    fn find(&mut self, ack: &Ack) -> Option<bool> {
        let (block, twice) = match ack.duplicate_block() {
            Some(block) => (block, true),
            None => (ack.newest_block()?, false),
        };
        let (set, is_middle) = self.of_block(block)?;
        let Sets { places, seen } = &mut **self.sets.as_mut()?;
        if seen[set] == Seen::Over {
            return None;
        }
        let missing = ack.cumulative < places[set].0;
        let step = match self.form {
            TracerSet::Split => seen[set].split(is_middle, missing),
            // A duplicate above a hole that is another one's: its front came.
            TracerSet::Copies if is_middle && missing && twice => return None,
            TracerSet::Copies => seen[set].copies(is_middle, missing),
        };
        let (now, outcome) = match step {
            Step::Waits(seen) => (seen, None),
            Step::Over(outcome) => (Seen::Over, outcome),
        };
        seen[set] = now;
        outcome
    }

    /// The number of middles among these marks. A middle carries nothing to which its queue's
    /// signals should apply: it is in the queue of other flows. The receiver counts it as any
    /// packet (RFC 9768 §3.2.2), so that only bytes reveal it. Copies are not subtracted: the
    /// program at the device that sends them cannot change the counts of a kernel's TCP.
    #[inline]
    pub fn idle_marks(&self, ack: &Ack, news: News, payload: u16) -> u32 {
        if news.marks == 0 || self.sets.is_none() || self.form == TracerSet::Copies {
            return 0;
        }
        self.of_middle(ack, news, payload).into()
    }

    #[inline(never)]
    fn of_middle(&self, ack: &Ack, news: News, payload: u16) -> bool {
        let Some((from, _)) = ack.duplicate_block().or_else(|| ack.newest_block()) else {
            return false;
        };
        let Some(sets) = &self.sets else { return false };
        let lead = Shape::of(self.form).lead;
        sets.places.contains(&Place(from + lead))
            && news.bytes == (news.marks - 1) * u32::from(payload) + TRACER as u32
    }
}

impl Sender {
    /// Whether a set goes with the next segment: a full one of ECT(1) that is not the last, of all or
    /// of a write, and the congestion control requests a set. Copies could follow any segment, but the
    /// program at the device leaves small ones alone, and the last one is not followed by a request.
    #[inline]
    pub(super) fn wants_tracers(&mut self) -> bool {
        self.ecn == Some(Ecn::Ect1) && self.can_trace() && self.cc_wants_tracers()
    }

    fn can_trace(&self) -> bool {
        let from = self.board.nxt_byte();
        !self.supply.is_empty(from) && !self.supply.cut(from).push
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

    /// Sends a set in place of a full segment. Its two segments are both in flight.
    #[inline(never)]
    fn send_split(&mut self, push: bool, now: Time, out: &mut impl Output) {
        let from = self.board.nxt_byte();
        let front = Segment {
            seq: from,
            payload: front(self.payload, self.accecn_fields) as u16,
            ecn: Ecn::Ect1,
            cwr: core::mem::take(&mut self.cwr_pending),
            accecn: self.accecn_fields,
            push: false,
            fin: false,
            stamps: self.stamps(now),
        };
        out.send(front, false);
        self.board.push(now, front.payload);
        self.last_sent = now;
        self.send_behind(&front, push, out);
        let begin = self.board.nxt_byte();
        let (_, end) = Shape::of(TracerSet::Split).rear(Place(begin));
        self.board.push(now, (end - begin) as u16);
    }

    /// Sends a full segment, and copies of its end behind it.
    #[inline(never)]
    fn send_copies(&mut self, push: bool, now: Time, out: &mut impl Output) {
        let (seq, payload) = (self.board.nxt_byte(), self.payload);
        self.send_new(push, now, out);
        let front = Segment {
            seq,
            payload,
            ecn: Ecn::Ect1,
            cwr: false,
            accecn: self.accecn_fields,
            push: false,
            fin: false,
            stamps: self.stamps(now),
        };
        self.send_behind(&front, false, out);
    }

    /// Sends the middle and the rear of a set.
    fn send_behind(&mut self, front: &Segment, push: bool, out: &mut impl Output) {
        let (shape, place) =
            (Shape::of(self.tracing.form), Place(front.seq + u64::from(front.payload)));
        for (ecn, (seq, end), push) in
            [(Ecn::Ect0, shape.middle(place), false), (Ecn::Ect1, shape.rear(place), push)]
        {
            let payload = (end - seq) as u16;
            out.send(Segment { seq, payload, ecn, push, cwr: false, ..*front }, false);
        }
        self.tracing.sent(place.0);
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
            let (una, nxt) = (self.board.una_byte(), self.board.nxt_byte());
            match &self.script {
                Some(script) => script.wants(una, nxt),
                None => self.cc.prague_mut().is_some_and(prague::Control::wants_tracers),
            }
        }

        /// Marks that acknowledgements reported.
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
    use l4s_units::Duration;

    use super::*;
    use crate::message::Duplicate;
    use crate::packet::{MSS, Stamps};
    use crate::tcp::{Arrived, Receiver};
    use l4s_model::Feedback;

    /// The middle or the rear.
    type Part = fn(Shape, Place) -> (u64, u64);

    const SPLIT: Shape = Shape::of(TracerSet::Split);

    /// The block of D-SACK that reports this part of the set whose front ends at `place`, where
    /// everything before `cumulative` arrived.
    fn ack(cumulative: u64, place: u64, part: Part) -> Ack {
        let (from, to) = part(SPLIT, Place(place));
        let distance = from as i32 - cumulative as i32;
        Ack {
            cumulative,
            sacks: [(0, 0); 3],
            duplicate: Some(Duplicate { distance, length: (to - from) as u16 }),
            ece: false,
            ace: 0,
            option: None,
            window: u32::MAX,
            stamps: Stamps::default(),
        }
    }

    #[test]
    fn sets_that_wait_at_once_have_an_answer_each() {
        let mut tracing = Tracing::new(TracerSet::Split);
        let sets = [11_000, 21_000, 31_000];
        for place in sets {
            tracing.sent(place);
        }
        // The middle of the second comes while its front is missing.
        let (distance, length) = (SPLIT.middle(Place(1000)).0 as u32, TRACER as u32);
        let block = (distance, distance + length);
        let above = Ack { sacks: [block, (0, 0), (0, 0)], duplicate: None, ..ack(20_000, 0, at) };
        assert_eq!(tracing.answer(&above), None);
        assert_eq!(tracing.answer(&ack(22_000, 11_000, Shape::middle)), Some(true));
        assert_eq!(tracing.answer(&ack(22_000, 21_000, Shape::rear_twice)), Some(true));
        assert_eq!(tracing.answer(&ack(32_000, 31_000, Shape::rear_twice)), Some(false));
        // Once, and of none that was not sent.
        for place in sets.into_iter().chain([41_000]) {
            assert_eq!(tracing.answer(&ack(50_000, place, Shape::rear_twice)), None);
        }
        // The state of a set does not carry over to the one that replaces it.
        for place in 0..WAITING as u64 {
            tracing.sent(60_000 + place * 1000);
        }
        assert_eq!(tracing.answer(&ack(90_000, 60_000, Shape::rear_twice)), Some(false));
    }

    /// A block without a set.
    fn at(_: Shape, _: Place) -> (u64, u64) {
        (0, 1)
    }

    #[test]
    fn the_mark_of_a_middle_is_known_by_its_bytes() {
        let mut tracing = Tracing::new(TracerSet::Split);
        tracing.sent(11_000);
        let tracer = TRACER as u32;
        for (marks, bytes, idle) in [
            (0, 0, 0),
            (1, tracer, 1),
            (1, MSS as u32, 0),
            (2, tracer, 0),
            (2, MSS as u32 + tracer, 1),
            (3, 2 * MSS as u32 + tracer, 1),
        ] {
            let (news, told) = (News { marks, bytes }, 12_000);
            let middle = ack(told, 11_000, Shape::middle);
            assert_eq!(tracing.idle_marks(&middle, news, MSS as u16), idle, "{news:?}");
            assert_eq!(
                tracing.idle_marks(&ack(told, 11_000, Shape::rear_twice), news, MSS as u16),
                0
            );
            assert_eq!(tracing.idle_marks(&ack(told, 10_000, Shape::middle), news, MSS as u16), 0);
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

    /// The receiver's answer to each, in this order. A front that is not among them is sent again.
    fn answers(order: &[Of]) -> Vec<(Of, Ack)> {
        let mut receiver = Receiver::new(
            Feedback::Accurate { option: true },
            Duration::from_millis(20),
            MSS as u16,
            None,
        );
        let mut send = |of: Option<Of>, before: u64| {
            let full = Arrived::after(before, MSS as u16, Ecn::Ect1);
            let copy = |of: Part| {
                let (seq, end) = of(Shape::of(TracerSet::Copies), Place(full.seq + MSS));
                Arrived { seq, payload: (end - seq) as u16, ..full }
            };
            let arrived = match of {
                Some(Of::Middle) => copy(Shape::middle),
                Some(Of::Rear) => copy(Shape::rear),
                _ => full,
            };
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

    /// Any part of a set arrives in any order, and any answers are lost: the outcome is the true order,
    /// or there is none. But if a middle is ahead and the answer that shows it is lost,
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
                tracing.sent(12 * MSS);
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
