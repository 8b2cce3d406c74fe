//! What a receiver makes of segments that arrive in any order, overlap and come again.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// The bytes of a stream that segments are cut from.
const STREAM: u64 = 40;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Every byte is passed on once and in order; nothing is acknowledged that did not arrive; and D-SACK tells
    /// of bytes that had arrived before.
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
