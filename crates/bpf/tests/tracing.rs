//! The order that answers to copies show: `tracing.h`, the same code as in the kernel.
#![allow(unsafe_code)]

/// `struct tracing`, of zeros at the start.
#[repr(C)]
#[derive(Default)]
struct Tracing([u32; 2 * SETS + 5]);

const SETS: usize = 8;

unsafe extern "C" {
    safe fn l4s_tracing_sent(tracing: &mut Tracing, end: u32);
    safe fn l4s_tracing_is_answer(
        tracing: &mut Tracing,
        ack: u32,
        from: u32,
        to: u32,
        twice: u32,
    ) -> u32;
    safe fn l4s_tracing_take(tracing: &mut Tracing, overtaken: &mut u32) -> u32;
}

// This crate links the object file.
use l4s_bpf as _;

impl Tracing {
    /// An acknowledgement of all data before `ack`, with a first block. Returns whether that is an answer.
    fn answer(&mut self, ack: u32, block: (u32, u32)) -> bool {
        l4s_tracing_is_answer(self, ack, block.0, block.1, 0) == 1
    }

    /// An acknowledgement above a hole, with a second block that contains the first.
    fn answer_twice(&mut self, ack: u32, block: (u32, u32)) -> bool {
        l4s_tracing_is_answer(self, ack, block.0, block.1, 1) == 1
    }

    /// Whether the next set that has an outcome was overtaken.
    fn take(&mut self) -> Option<bool> {
        let mut overtaken = 2;
        (l4s_tracing_take(self, &mut overtaken) == 1).then_some(overtaken == 1)
    }
}

/// A sequence number shortly after the wrap, so that a front is on both sides of it.
const END: u32 = 50;

fn middle(end: u32) -> (u32, u32) {
    (end.wrapping_sub(98), end)
}

fn rear(end: u32) -> (u32, u32) {
    (end.wrapping_sub(97), end)
}

/// The blocks of a receiver, for every order in which a set can arrive, and their outcome.
#[test]
fn the_order_of_a_set_is_that_of_its_answers() {
    // The sequence number before the front, where there is a hole; behind it; and a later one.
    let (hole, whole, later) = (END.wrapping_sub(1448), END, END + 1448);
    let (middle, rear) = (middle(END), rear(END));
    let table = [
        ("in order", vec![(whole, middle), (whole, rear)], Some(false)),
        ("in order, late", vec![(later, middle), (later, rear)], Some(false)),
        ("overtaken", vec![(whole, rear), (whole, middle)], Some(true)),
        ("overtaken, late", vec![(whole, rear), (later, middle)], Some(true)),
        ("before its front", vec![(hole, middle), (whole, middle), (whole, rear)], Some(true)),
        ("before its front, an answer lost", vec![(hole, middle), (whole, rear)], Some(true)),
        ("middle lost, or its answer", vec![(whole, rear)], None),
        ("rear lost", vec![(whole, middle)], None),
        ("front lost", vec![(hole, middle), (hole, rear), (whole, middle), (whole, rear)], None),
        ("front and middle lost", vec![(hole, rear), (whole, rear), (whole, middle)], None),
    ];
    for (what, answers, outcome) in table {
        let mut tracing = Tracing::default();
        l4s_tracing_sent(&mut tracing, END);
        for (ack, block) in answers {
            assert!(tracing.answer(ack, block), "{what}");
        }
        assert_eq!(tracing.take(), outcome, "{what}");
        assert_eq!(tracing.take(), None, "{what}");
        // A set has one outcome at most, and later answers still do not reach TCP.
        let (a, b) = (tracing.answer(later, middle), tracing.answer(later, rear));
        assert!(a && b, "{what}");
        if outcome.is_some() {
            assert_eq!(tracing.take(), None, "{what}");
        }
    }
}

/// Data before the front is missing: a middle above that hole is not earlier than its front.
#[test]
fn a_middle_above_the_hole_of_another_is_not_ahead() {
    let hole = END.wrapping_sub(2896);
    // The rear arrives after the hole is filled, or before.
    for filled in [true, false] {
        let mut tracing = Tracing::default();
        l4s_tracing_sent(&mut tracing, END);
        assert!(tracing.answer_twice(hole, middle(END)));
        if filled {
            assert!(tracing.answer(END, rear(END)));
        } else {
            assert!(tracing.answer_twice(hole, rear(END)));
            assert!(tracing.answer(END, rear(END)) && tracing.answer(END, middle(END)));
        }
        assert_eq!(tracing.take(), None, "{filled}");
    }
}

#[test]
fn what_no_set_ends_with_is_for_tcp() {
    let mut tracing = Tracing::default();
    assert!(!tracing.answer(0, middle(0)), "there is no set");
    l4s_tracing_sent(&mut tracing, END);
    for block in [(END - 1, END), (END.wrapping_sub(1448), END), (END.wrapping_sub(99), END)] {
        assert!(!tracing.answer(END, block), "{block:?}");
    }
    for other in [END - 1, END + 1] {
        assert!(!tracing.answer(END + 1, middle(other)) && !tracing.answer(END + 1, rear(other)));
    }
    assert_eq!(tracing.take(), None);
}

/// Eight sets wait at once, and each has its own answer. The next one replaces the oldest.
#[test]
fn sets_that_wait_at_once_are_told_apart() {
    let mut tracing = Tracing::default();
    let ends: Vec<u32> = (0..=SETS as u32).map(|n| n * 1000).collect();
    ends.iter().for_each(|end| l4s_tracing_sent(&mut tracing, *end));
    assert!(!tracing.answer(9000, middle(ends[0])));
    for end in &ends[1..] {
        assert!(tracing.answer(9000, middle(*end)));
    }
    assert_eq!(tracing.take(), None);
    for (n, end) in ends[1..].iter().rev().enumerate() {
        assert!(tracing.answer(9000, rear(*end)), "{n}");
        assert_eq!(tracing.take(), Some(false));
    }
    // The new set does not inherit the state of the old one that it replaces.
    l4s_tracing_sent(&mut tracing, 20_000);
    assert!(tracing.answer(20_000, rear(20_000)));
    assert_eq!(tracing.take(), None);
    assert!(tracing.answer(20_000, middle(20_000)));
    assert_eq!(tracing.take(), Some(true));
}
