//! Sets of tracers of a stock kernel's TCP, through one queue and through two. The test checks each packet
//! that leaves. The kernel of this machine answers.

use std::time::Duration;

use l4s_cc::prague::{Config, Fallback};

use super::device::checksum;
use super::peer::{Ends, PRAGUE, Queues, Seen, end_of, header, u16_at, with_prague};

const ENDS: Ends = Ends { ecn: ["1", "1"], before: PRAGUE, after: None, peer: PRAGUE };
/// The delay of ECT(0) in a queue with Classic traffic: longer than the delay of ECT(1) behind CoDel, which
/// is 16 ms on average and 23 ms at p99.
const OTHERS: Duration = Duration::from_millis(40);

/// The score 1, in its fixed-point format.
const ONE: i64 = 1 << 24;

/// The sum of TCP and its pseudo-header, which is 0 if the checksum is right.
fn tcp_sum(packet: &[u8]) -> u16 {
    let mut whole = packet[12..20].to_vec();
    whole.extend([0, 6]);
    whole.extend(((packet.len() - 20) as u16).to_be_bytes());
    whole.extend(&packet[20..]);
    whole.resize(whole.len().next_multiple_of(2), 0);
    checksum(&whole)
}

fn is_a_set([front, middle, rear]: &[Vec<u8>; 3]) {
    for packet in [front, middle, rear] {
        assert_eq!(u16_at(packet, 2), packet.len());
        assert_eq!((checksum(&packet[..20]), tcp_sum(packet)), (0, 0), "{packet:?}");
        assert_eq!(end_of(packet), end_of(front));
    }
    assert_eq!([front[1] & 3, middle[1] & 3, rear[1] & 3], [1, 2, 1]);
    assert!(front.len() - header(front) >= 200);
    for (copy, length) in [(middle, 98), (rear, 97)] {
        assert_eq!(copy.len() - header(copy), length);
        assert!(front.ends_with(&copy[header(copy)..]));
        // The whole header except the length, the sequence number and the checksums.
        assert_eq!(copy[20..24], front[20..24]);
        assert_eq!(copy[28..36], front[28..36]);
        assert_eq!(copy[38..header(copy)], front[38..header(front)]);
    }
}

fn active() -> Config {
    Config { fallback: Fallback::Active, ..Config::best_linux() }
}

/// Without AccECN (Linux 6.12) packets are ECT(0), and no set is sent.
fn has_no_sets(seen: &Seen) -> bool {
    if !seen.accecn {
        assert_eq!(seen.shown.unwrap().sets.sent, 0);
        println!("skipped: this kernel has no AccECN, and sends no sets");
    }
    !seen.accecn
}

/// TCP itself does not notice the sets.
fn is_nothing_to_tcp(seen: &Seen) {
    for name in ["TCPDSACKOfoRecv", "TCPSACKReorder", "TCPSpuriousRTOs"] {
        assert_eq!(seen.count(name), 0, "{name}");
    }
    // On a busy machine TCP sends something again that had arrived.
    let again = seen.count("TCPLossProbes") + seen.count("TCPTimeouts");
    assert!(seen.count("TCPDSACKRecv") <= again, "{again}");
}

#[test]
fn a_set_is_a_packet_and_two_copies_of_its_end() {
    let Some(seen) = with_prague("one", &active(), &ENDS, Some(Queues::One)) else { return };
    if has_no_sets(&seen) {
        return;
    }
    assert!(seen.sets.len() > 3, "{}", seen.sets.len());
    seen.sets.iter().for_each(is_a_set);
    is_nothing_to_tcp(&seen);
    let shown = seen.shown.unwrap();
    // The last set may be in flight, and on a busy machine some answers come too late to count.
    assert!(shown.sets.sent as usize - seen.sets.len() < 2, "{:?}", shown.sets);
    assert_eq!(shown.sets.overtaken, 0);
    assert!(shown.sets.in_order + 2 + shown.sets.sent / 4 >= shown.sets.sent, "{:?}", shown.sets);
    assert!(shown.detector.score >= ONE, "{shown:?}");
}

#[test]
fn a_middle_that_waits_elsewhere_is_seen_to() {
    let two = Some(Queues::Two(OTHERS));
    let Some(seen) = with_prague("two", &active(), &ENDS, two) else { return };
    if has_no_sets(&seen) {
        return;
    }
    assert!(seen.sets.len() > 3, "{}", seen.sets.len());
    is_nothing_to_tcp(&seen);
    let shown = seen.shown.unwrap();
    // A busy machine may release a middle just between its front and its rear.
    let late = seen.in_order.checked_sub(shown.sets.in_order);
    assert!(late.is_some_and(|late| late < 2), "{} {:?}", seen.in_order, shown.sets);
    assert!(shown.sets.overtaken + seen.in_order + 2 >= shown.sets.sent, "{:?}", shown.sets);
    assert!(seen.in_order > 0 || shown.detector.score <= 0, "{shown:?}");
    // The queue of ECT(1) is CoDel's, so that only tracers indicate an L4S queue.
    let passive = Config { fallback: Fallback::Passive, ..active() };
    let Some(seen) = with_prague("passive", &passive, &ENDS, two) else { return };
    assert_eq!(seen.sets.len(), 0);
    assert!(seen.shown.unwrap().detector.score >= ONE, "{:?}", seen.shown);
}
