//! A receiver with segments that arrive in any order, overlap and are repeated.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// The length of the stream in bytes, from which segments are cut.
const STREAM: u64 = 40;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Every byte is passed on once and in order; only data that arrived is acknowledged; and
    /// D-SACK reports bytes that had arrived before.
    #[test]
    fn a_receiver_knows_which_bytes_it_has(
        segments in prop::collection::vec((0..STREAM, 1..12_u16), 1..60),
    ) {
        let mut receiver = Receiver::new(Feedback::None, RTT, 8, None);
        let mut there = BTreeSet::new();
        for (n, (seq, length)) in segments.into_iter().enumerate() {
            let payload = length.min((STREAM - seq) as u16);
            let bytes = || seq..seq + u64::from(payload);
            let (before, read) = (there.clone(), receiver.next());
            there.extend(bytes());
            let arrived = Arrived { seq, payload, ..full(0, Ecn::NotEct) };
            let mut acks = Vec::new();
            receiver.on_segment(arrived, at(MS * n as u64), |ack| acks.push(ack));
            let missing = (0..).find(|byte| !there.contains(byte)).unwrap();
            prop_assert_eq!(receiver.next(), missing);
            prop_assert!(receiver.next() >= read);
            if bytes().all(|byte| before.contains(&byte)) {
                prop_assert_eq!(acks.len(), 1, "a duplicate segment is acknowledged at once");
                let whole = Some((seq, seq + u64::from(payload)));
                prop_assert_eq!(acks[0].duplicate_block(), whole);
            }
            for ack in acks {
                prop_assert_eq!(ack.cumulative, missing);
                for (from, to) in ack.sacks.into_iter().filter(|sack| sack.0 < sack.1) {
                    let mut block = ack.cumulative + u64::from(from)..ack.cumulative + u64::from(to);
                    prop_assert!(block.all(|byte| there.contains(&byte)));
                }
                if let Some((from, to)) = ack.duplicate_block() {
                    prop_assert!(from < to);
                    prop_assert!(there.contains(&from) && there.contains(&(to - 1)));
                }
            }
        }
    }
}

/// After 100 full segments, when only the segments decide, 20 segments of `payload` arrive 10 ms
/// apart. Returns the number of those that are acknowledged at once.
fn acknowledged_at_once(payload: u16, options: u16, push: bool) -> usize {
    let mut receiver = Receiver::new(Feedback::None, RTT, MSS as u16, None);
    let (mut seq, mut at_once) = (0, 0);
    for n in 0..120 {
        let payload = if n < 100 { MSS as u16 } else { payload };
        let mut acks = 0;
        let arrived = Arrived { seq, payload, options, push, ..full(0, Ecn::NotEct) };
        receiver.on_segment(arrived, at(MS * 10 * n), |_| acks += 1);
        seq += u64::from(payload);
        at_once += if n < 100 { 0 } else { acks };
    }
    at_once
}

/// A segment that is not full counts as pushed, and is acknowledged at once. But two of the same size
/// in a row may be full ones of a path with a smaller MTU, if they are long enough: 536 B with time
/// stamps, or 88 B without PSH. Then every second one is acknowledged (`tcp_measure_rcv_mss`).
#[test]
fn two_short_segments_of_one_size_are_taken_for_full_ones() {
    for push in [true, false] {
        assert_eq!(acknowledged_at_once(50, 0, push), 20);
    }
    assert_eq!(acknowledged_at_once(523, 0, true), 20);
    // Of full segments only those with PSH are pushed. The size includes options other than time
    // stamps, so that each of these is a short one again.
    assert_eq!(acknowledged_at_once(524, 0, true), 19);
    assert_eq!(acknowledged_at_once(524, 12, true), 10);
    assert_eq!(acknowledged_at_once(524, 0, false), 10);
    assert_eq!(acknowledged_at_once(76, 0, false), 10);
    assert_eq!(acknowledged_at_once(75, 0, false), 20);
}
