//! TCP: handshake, options, retransmissions and round trips, each with its arithmetic.

mod support;

use support::{Down, Seen, Segment, Up};

/// A handshake that takes 10 ms to the server and back, and 30 ms to the client and back.
fn connected(seen: &mut Seen) {
    let syn = Segment { syn: true, mss: Some(1460), ..Segment::default() }.stamps(100, 0);
    seen.at(0).segment(Up, &syn);
    let answer = Segment { syn: true, ack: Some(1), mss: Some(1400), ..Segment::default() };
    seen.at(10_000).segment(Down, &answer.stamps(500, 100));
    seen.at(40_000).segment(Up, &Segment::ack(1).stamps(140, 500));
}

#[test]
fn a_handshake_has_its_duration_and_options() {
    let mut seen = Seen::default();
    connected(&mut seen);
    let row = seen.row();
    assert_eq!((&*row.protocol, row.handshake_ms), ("TCP", Some(40.0)));
    assert_eq!(
        (row.client_mss, row.server_mss, row.timestamps),
        (Some(1460), Some(1400), Some(true))
    );
    assert_eq!((row.client_rtt_mean_ms, row.server_rtt_min_ms), (Some(30.0), Some(10.0)));
    assert_eq!(
        (row.rtt_min_ms, row.rtt_mean_ms, row.rtt_max_ms),
        (Some(40.0), Some(40.0), Some(40.0))
    );
    assert_eq!((row.retransmits, row.up_retransmits), (Some(0), Some(0)));
}

#[test]
fn half_a_handshake_is_none() {
    let mut seen = Seen::default();
    seen.segment(Up, &Segment { syn: true, ..Segment::default() });
    assert_eq!((seen.row().handshake_ms, seen.row().rtt_samples), (None, None));
    // The capture starts in the middle of the connection.
    let mut seen = Seen::default();
    seen.segment(Down, &Segment::data(1, 1000));
    seen.at(5000).segment(Up, &Segment::ack(1001));
    let row = seen.row();
    assert_eq!(
        (row.handshake_ms, row.client_rtt_mean_ms, row.rtt_samples),
        (None, Some(5.0), None)
    );
    assert_eq!(row.timestamps, Some(false));
}

#[test]
fn a_syn_sent_again_counts_from_the_last_one() {
    let mut seen = Seen::default();
    let syn = Segment { syn: true, seq: 9, ..Segment::default() };
    seen.at(0).segment(Up, &syn);
    seen.at(1_000_000).segment(Up, &syn);
    let answer = Segment { syn: true, seq: 70, ack: Some(10), ..Segment::default() };
    seen.at(1_010_000).segment(Down, &answer);
    // The answer was lost, so its sample of the round trip is discarded.
    seen.at(2_000_000).segment(Up, &syn);
    seen.at(2_010_000).segment(Down, &answer);
    seen.at(2_040_000).segment(Up, &Segment { seq: 10, ..Segment::ack(71) });
    let row = seen.row();
    assert_eq!(
        (row.handshake_ms, row.up_retransmits, row.retransmits),
        (Some(40.0), Some(2), Some(1))
    );
    assert_eq!(row.rtt_samples, None);
}

#[test]
fn a_round_trip_is_from_a_segment_to_the_acknowledgement_that_covers_it() {
    let mut seen = Seen::default();
    connected(&mut seen);
    // One acknowledgement for two segments: the first one is measured.
    seen.at(50_000).segment(Down, &Segment::data(1, 1000));
    seen.at(51_000).segment(Down, &Segment::data(1001, 1000));
    seen.at(90_000).segment(Up, &Segment::ack(2001));
    // 30 ms of the handshake and 40 ms, each with 10 ms to the server.
    let row = seen.row();
    assert_eq!((row.client_rtt_mean_ms, row.rtt_samples), (Some(35.0), Some(2)));
    assert_eq!(
        (row.rtt_min_ms, row.rtt_mean_ms, row.rtt_max_ms),
        (Some(40.0), Some(45.0), Some(50.0))
    );
    // A repeated old acknowledgement is no sample.
    seen.at(95_000).segment(Up, &Segment::ack(2001));
    assert_eq!(seen.row().rtt_samples, Some(2));
}

#[test]
fn what_passed_before_is_a_retransmission_and_ends_the_sample_under_way() {
    let mut seen = Seen::default();
    connected(&mut seen);
    for (us, seq) in [(50_000, 1), (51_000, 1001), (52_000, 2001)] {
        seen.at(us).segment(Down, &Segment::data(seq, 1000));
    }
    seen.at(100_000).segment(Down, &Segment::data(1001, 1000));
    // Half of the segment is new.
    seen.at(101_000).segment(Down, &Segment::data(2501, 1000));
    seen.at(140_000).segment(Up, &Segment::ack(3501));
    let row = seen.row();
    assert_eq!((row.retransmits, row.up_retransmits), (Some(2), Some(0)));
    assert_eq!((row.client_rtt_mean_ms, row.rtt_samples), (Some(30.0), Some(1)));
}

#[test]
fn a_segment_that_was_overtaken_is_no_retransmission() {
    let mut seen = Seen::default();
    connected(&mut seen);
    for seq in [1, 2001, 1001, 3001] {
        seen.segment(Down, &Segment::data(seq, 1000));
    }
    assert_eq!(seen.row().retransmits, Some(0));
    seen.segment(Down, &Segment::data(1001, 1000));
    assert_eq!(seen.row().retransmits, Some(1));
}

/// A fragmented segment is not read. Its data is acknowledged, and sampling continues.
#[test]
fn a_gap_that_is_acknowledged_is_none() {
    let mut seen = Seen::default();
    connected(&mut seen);
    seen.at(100_000).segment(Down, &Segment::data(1001, 1000));
    seen.at(150_000).segment(Up, &Segment::ack(2001));
    assert_eq!(seen.row().rtt_samples, Some(1));
    seen.at(200_000).segment(Down, &Segment::data(2001, 1000));
    seen.at(250_000).segment(Up, &Segment::ack(3001));
    // 30 ms of the handshake and 50 ms.
    assert_eq!((seen.row().rtt_samples, seen.row().client_rtt_mean_ms), (Some(2), Some(40.0)));
    seen.segment(Down, &Segment::data(1, 1000));
    assert_eq!(seen.row().retransmits, Some(1));
}

#[test]
fn keep_alives_resets_and_pure_acknowledgements_are_no_retransmissions() {
    let mut seen = Seen::default();
    connected(&mut seen);
    seen.segment(Down, &Segment::data(1, 1000));
    seen.segment(Down, &Segment::data(1000, 1));
    seen.segment(Down, &Segment::data(1000, 0));
    seen.segment(Down, &Segment::data(500, 0));
    seen.segment(Down, &Segment { rst: true, ..Segment::data(1, 10) });
    assert_eq!(seen.row().retransmits, Some(0));
    let fin = Segment { fin: true, ..Segment::data(1001, 0) };
    seen.segment(Down, &fin);
    assert_eq!(seen.row().retransmits, Some(0));
    seen.segment(Down, &fin);
    assert_eq!(seen.row().retransmits, Some(1));
}

#[test]
fn sequence_numbers_wrap() {
    let mut seen = Seen::default();
    let first = u32::MAX - 1499;
    seen.at(0).segment(Down, &Segment::data(first, 1000));
    seen.at(1000).segment(Down, &Segment::data(first.wrapping_add(1000), 1000));
    seen.at(7000).segment(Up, &Segment::ack(500));
    assert_eq!((seen.row().client_rtt_mean_ms, seen.row().retransmits), (Some(7.0), Some(0)));
    seen.segment(Down, &Segment::data(first.wrapping_add(1000), 1000));
    assert_eq!(seen.row().retransmits, Some(1));
}

#[test]
fn a_new_connection_between_the_same_ports_repeats_nothing() {
    let mut seen = Seen::default();
    connected(&mut seen);
    seen.segment(Down, &Segment::data(1, 50_000));
    let syn = Segment { syn: true, seq: 77, ..Segment::default() };
    seen.at(90_000).segment(Up, &syn);
    let answer = Segment { syn: true, seq: 20_000, ack: Some(78), ..Segment::default() };
    seen.at(95_000).segment(Down, &answer);
    seen.segment(Down, &Segment::data(20_001, 1000));
    assert_eq!((seen.row().retransmits, seen.row().up_retransmits), (Some(0), Some(0)));
    assert_eq!(seen.row().server_rtt_min_ms, Some(5.0));
    // Its time stamps may be lower than those before (RFC 7323 §5.4).
    seen.at(100_000).segment(Up, &Segment { seq: 78, ..Segment::ack(21_001) }.stamps(7, 0));
    seen.at(103_000).segment(Down, &Segment::data(21_001, 1000).stamps(1, 7));
    assert_eq!(seen.row().server_rtt_min_ms, Some(3.0));
}

/// A client that only acknowledges gets no acknowledgements, but its time stamps are echoed.
#[test]
fn echoes_of_time_stamps_bound_the_part_to_the_server() {
    let mut seen = Seen::default();
    let ack = |stamp| Segment::ack(1).stamps(stamp, 900);
    let data = |seq, echo| Segment::data(seq, 1000).stamps(900, echo);
    seen.at(0).segment(Up, &ack(200));
    seen.at(1000).segment(Up, &ack(200));
    // The server waited 50 ms for its application. The first segment with the time stamp counts.
    seen.at(50_000).segment(Down, &data(1, 200));
    assert_eq!(seen.row().server_rtt_min_ms, Some(50.0));
    // The same time stamp again starts no sample, and neither does its echo.
    seen.at(51_000).segment(Up, &ack(200));
    seen.at(52_000).segment(Down, &data(1001, 200));
    assert_eq!(seen.row().server_rtt_min_ms, Some(50.0));
    seen.at(60_000).segment(Up, &ack(260));
    seen.at(72_000).segment(Down, &data(2001, 260));
    assert_eq!(seen.row().server_rtt_min_ms, Some(12.0));
    // An echo later than the awaited one shows only that it arrived.
    seen.at(80_000).segment(Up, &ack(280));
    seen.at(81_000).segment(Up, &ack(281));
    seen.at(82_000).segment(Down, &data(3001, 281));
    assert_eq!(seen.row().server_rtt_min_ms, Some(12.0));
    // A bound is no sample of the mean. The client's part has a sample of its own.
    seen.at(100_000).segment(Up, &Segment::ack(4001).stamps(300, 900));
    let row = seen.row();
    assert_eq!((row.client_rtt_mean_ms, row.rtt_samples), (Some(50.0), Some(1)));
    assert_eq!(row.rtt_mean_ms, Some(62.0));
}

#[test]
fn an_upload_is_measured_at_the_server() {
    let mut seen = Seen::default();
    connected(&mut seen);
    for n in 0..4 {
        let at = 100_000 * (n + 1);
        seen.at(at).segment(Up, &Segment::data(1 + n as u32 * 1000, 1000));
        seen.at(at + 20_000).segment(Down, &Segment::ack(1001 + n as u32 * 1000));
    }
    let row = seen.row();
    // (10 + 4 · 20) / 5 = 18 ms to the server, and 30 ms to the client.
    assert_eq!((row.rtt_samples, row.rtt_mean_ms), (Some(5), Some(48.0)));
    assert_eq!((row.rtt_min_ms, row.rtt_max_ms), (Some(40.0), Some(50.0)));
}

/// After the warm-up only one part has samples; the minimum of the other part is still known.
#[test]
fn the_warm_up_leaves_the_minimum_of_the_other_part() {
    let mut seen = Seen::default();
    connected(&mut seen);
    seen.segment(Down, &Segment::data(1, 1000));
    seen.segment(Down, &Segment::data(1, 1000));
    seen.flows.end_warmup(seen.now);
    let row = seen.row();
    assert_eq!((row.rtt_samples, row.retransmits, row.handshake_ms), (None, Some(0), Some(40.0)));
    seen.at(100_000).segment(Down, &Segment::data(1001, 1000));
    seen.at(160_000).segment(Up, &Segment::ack(2001));
    let row = seen.row();
    assert_eq!(
        (row.rtt_samples, row.rtt_min_ms, row.rtt_mean_ms),
        (Some(1), Some(70.0), Some(70.0))
    );
    // The data from before the end of the warm-up is still known.
    seen.segment(Down, &Segment::data(1, 1000));
    assert_eq!(seen.row().retransmits, Some(1));
}
