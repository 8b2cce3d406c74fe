//! Reports of marks and duplicates in acknowledgements.

use super::*;

/// The acknowledgements of segments that arrive 1 ms apart with these codepoints.
fn echoed(echo: Feedback, marks: &[bool]) -> Vec<(u64, bool)> {
    let mut receiver = Receiver::new(echo, RTT, FULL, None);
    let mut acks = Vec::new();
    for seq in 0..ONE_BY_ONE {
        let arrived = full(seq, Ecn::Ect0);
        receiver.on_segment(arrived, at(MS * seq), |_| {});
    }
    for (n, ce) in marks.iter().enumerate() {
        let seq = ONE_BY_ONE + n as u64;
        let ecn = if *ce { Ecn::Ce } else { Ecn::Ect0 };
        let arrived = full(seq, ecn);
        receiver.on_segment(arrived, at(MS * seq), |ack| {
            acks.push((ack.cumulative / MSS - ONE_BY_ONE, ack.ece));
        });
    }
    acks
}

/// RFC 8257 §3.2: a change of state flushes the acknowledgement that was delayed with the old state,
/// and is itself acknowledged at once.
#[test]
fn dctcp_echo_is_exact() {
    let marks = [false, false, false, true, true, true, false, false];
    let expected = [(2, false), (3, false), (4, true), (6, true), (7, false)];
    assert_eq!(echoed(Feedback::Dctcp, &marks), expected);
}

/// RFC 9768 §3.2.2.5.1: at once when the state changes; nothing is sent for the earlier state.
#[test]
fn accurate_echo_counts() {
    let mut receiver = Receiver::new(Feedback::Accurate { option: true }, RTT, FULL, None);
    let mut acks = Vec::new();
    let marks = [false, false, false, true, true, true, false, false, false, true];
    for seq in 0..ONE_BY_ONE + marks.len() as u64 {
        let ce = seq >= ONE_BY_ONE && marks[(seq - ONE_BY_ONE) as usize];
        let ecn = if ce { Ecn::Ce } else { Ecn::Ect1 };
        let arrived = full(seq, ecn);
        receiver
            .on_segment(arrived, at(MS * seq), |ack| acks.push((ack.cumulative / MSS, ack.ace)));
    }
    // RFC 9768 §3.2.1: the counter starts at 5.
    let told = acks.iter().filter(|a| a.0 > ONE_BY_ONE).map(|a| (a.0 - ONE_BY_ONE, a.1));
    let told = told.collect::<Vec<_>>();
    assert_eq!(told, [(2, 5), (4, 6), (6, 0), (7, 0), (9, 0), (10, 1)]);
    // A segment that arrives twice counts twice, so its mark is reported.
    let again = full(20, Ecn::Ce);
    receiver.on_segment(again, at(MS * 40), |ack| acks.push((ack.cumulative / MSS, ack.ace)));
    assert_eq!(acks.last(), Some(&(ONE_BY_ONE + 10, 2)));
}

/// Selective acknowledgements wait for each other, but not for more than two marks.
#[test]
fn accurate_echo_does_not_let_marks_wait() {
    let mut receiver = Receiver::new(Feedback::Accurate { option: true }, RTT, FULL, None);
    let mut told = 0;
    for seq in (0..16).chain(17..80) {
        let ecn = if seq > 40 { Ecn::Ce } else { Ecn::Ect1 };
        let arrived = full(seq, ecn);
        receiver.on_segment(arrived, at(MS), |ack| {
            let marks = ack.option.unwrap().ce / u32::from(FULL);
            assert!(marks - told <= 2, "{marks} after {told}");
            assert_eq!(u32::from(ack.ace), (5 + marks) % 8);
            told = marks;
        });
    }
    assert!(told >= 38, "{told}");
}

/// RFC 3168 §6.1.3: from a mark on, until the sender says that it reduced.
#[test]
fn classic_echo_lasts_until_the_sender_reduced() {
    let acks = echoed(Feedback::Classic, &[false, true, false, false, false]);
    assert!(acks.iter().filter(|a| a.0 >= 2).all(|a| a.1), "{acks:?}");
    let mut receiver = Receiver::new(Feedback::Classic, RTT, FULL, None);
    let mut last = None;
    for (seq, ecn, cwr) in [(0, Ecn::Ce, false), (1, Ecn::Ect0, false), (2, Ecn::Ect0, true)] {
        receiver.on_segment(Arrived { cwr, ..full(seq, ecn) }, at(MS * seq), |a| last = Some(a));
    }
    assert!(!last.unwrap().ece, "CWR ends the echo");
}

// --- Lost acknowledgements ---------------------------------------------------------------------

/// Marks that the sender counted and that the receiver saw, after everything is acknowledged. One
/// segment in ten is marked.
fn counted(option: bool, ack_lost: fn(u64) -> bool) -> (u32, u32) {
    let mut rng = stream(3, "marks");
    let mut path = prague(Some(4000), move |_, _| match rng.next_u32() % 10 {
        0 => Fate::Mark,
        _ => Fate::Arrive,
    });
    path.receiver = Receiver::new(Feedback::Accurate { option }, RTT, FULL, None);
    path.ack_lost = ack_lost;
    // If acknowledgements of repeated segments are lost, RTTs are measured from the first
    // transmission, and timeouts are long.
    path.run(at(Duration::from_secs(1_000_000)));
    assert_eq!(path.sender.state(), State::Closed);
    (path.sender.marks(), path.receiver.marks())
}

/// Five acknowledgements of ten in a row are lost, or three of four.
const LOSSES: [fn(u64) -> bool; 2] = [|n| n % 10 < 5, |n| n % 4 != 0];

/// The law of `accecn.rs` in a whole connection: full segments, some of them sent again.
#[test]
fn with_the_option_no_mark_is_lost_with_an_acknowledgement() {
    for lost in LOSSES {
        let (told, seen) = counted(true, lost);
        assert_eq!(told, seen);
        assert!(seen > 300);
    }
}

#[test]
fn three_bits_are_exact_until_acknowledgements_are_lost() {
    let (told, seen) = counted(false, |_| false);
    assert_eq!(told, seen);
    // One in six of those that arrive covers a dozen segments, and counts eight too many.
    let (told, seen) = counted(false, LOSSES[0]);
    assert!(told > seen && (told - seen) % 8 == 0, "{told} of {seen}");
    // All cover at least eight segments: the plain difference is used.
    let (told, seen) = counted(false, LOSSES[1]);
    assert!(told.abs_diff(seen) % 8 == 0, "{told} of {seen}");
    assert!(told.abs_diff(seen) < seen / 4, "{told} of {seen}");
}

// --- Duplicates --------------------------------------------------------------------------------

/// RFC 2883 §4.1: a segment that comes twice is reported once, before other blocks.
#[test]
fn a_duplicate_is_reported_once() {
    let mut receiver = Receiver::new(Feedback::None, RTT, FULL, None);
    let mut acks = Vec::new();
    for (n, seq) in [0, 1, 2, 4, 1, 4, 5].into_iter().enumerate() {
        let arrived = full(seq, Ecn::NotEct);
        receiver.on_segment(arrived, at(MS * n as u64), |ack| acks.push(ack));
    }
    let told: Vec<_> = acks.iter().map(Ack::duplicate_block).collect();
    let (first, second) = (Some((MSS, 2 * MSS)), Some((4 * MSS, 5 * MSS)));
    assert_eq!(told, [None, None, None, None, first, second, None]);
    assert_eq!(acks[5].newest_block(), second);
}

/// Linux' `tcp_enter_quickack_mode`: the acknowledgement of a duplicate and 15 more, one by one.
/// Above a hole acknowledgements are not immediate.
#[test]
fn what_came_twice_makes_the_receiver_hurry() {
    let acks_after = |twice: &[u64]| {
        let mut receiver = Receiver::new(Feedback::None, RTT, FULL, None);
        let mut acks = Vec::new();
        let mut arrive = |n: u64, seq: u64| {
            let arrived = full(seq, Ecn::NotEct);
            receiver.on_segment(arrived, at(MS * n), |ack| acks.push(ack.cumulative / MSS));
        };
        (0..40).for_each(|seq| arrive(seq, seq));
        let rest = (40..80).filter(|seq| !twice.contains(seq));
        for seq in twice.iter().copied().chain(rest) {
            arrive(40 + seq, seq);
        }
        acks.into_iter().filter(|next| *next > 42).collect::<Vec<u64>>()
    };
    // Until then each acknowledges two segments.
    assert_eq!(acks_after(&[]), Vec::from_iter((44..=80).step_by(2)));
    assert_eq!(acks_after(&[39]), Vec::from_iter((43..=55).chain((57..80).step_by(2))));
    // 40 is a hole, which the stream fills.
    let above_a_hole = acks_after(&[41, 41]);
    assert!(above_a_hole.len() <= 20, "{above_a_hole:?}");
}
