//! QUIC: its recognition by single datagrams, and its round trips. The datagrams in `data` are from
//! aioquic; `data/quic.py` made them.

mod support;

use l4s_flows::{Direction, Row};
use support::{Down, Seen, Up, udp};

const V1: &str = include_str!("data/quic-v1.txt");
const V2: &str = include_str!("data/quic-v2.txt");
const GREASED: &str = include_str!("data/quic-greased.txt");

/// A datagram of a file: its time in microseconds, its direction and its payload.
type Datagram = (u64, Direction, Vec<u8>);

fn read(file: &str) -> Vec<Datagram> {
    file.lines()
        .map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            let [time, direction, length, hex] = fields[..] else { panic!("{line}") };
            let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            let mut payload: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
            payload.resize(length.parse().unwrap(), 0xa5);
            let direction = if direction == "down" { Down } else { Up };
            (time.parse().unwrap(), direction, payload)
        })
        .collect()
}

fn row_of(datagrams: &[Datagram]) -> Row {
    let mut seen = Seen::default();
    for (us, direction, payload) in datagrams {
        seen.at(*us).packet(*direction, &udp(*direction, payload));
    }
    seen.row()
}

/// The protocol of a conversation with only this datagram.
fn protocol_of(payload: &[u8]) -> String {
    row_of(&[(0, Up, payload.to_vec())]).protocol
}

#[test]
fn real_connections_are_recognised_and_their_round_trips_are_those_of_the_path() {
    for file in [V1, V2] {
        let datagrams = read(file);
        let row = row_of(&datagrams);
        assert_eq!((&*row.protocol, row.handshake_ms), ("QUIC", Some(40.0)));
        // The spin bit changes three times after its first edge: 40 ms of path, and 1 ms for which the
        // server's pacing delays the first packet of a window.
        assert_eq!(row.rtt_samples, Some(3));
        assert_eq!((row.rtt_min_ms, row.rtt_max_ms), (Some(41.0), Some(41.0)));
        assert_eq!(row.retransmits, None);
        for (_, _, payload) in datagrams {
            let is_long = payload[0] & 0x80 != 0;
            assert_eq!(protocol_of(&payload), if is_long { "QUIC" } else { "UDP" });
        }
    }
}

#[test]
fn a_reserved_version_is_recognised_in_the_first_datagram_and_so_is_its_answer() {
    let datagrams = read(GREASED);
    let [(_, _, first), (_, _, negotiation)] = &datagrams[..] else { panic!() };
    assert_eq!(protocol_of(first), "QUIC");
    assert_eq!(protocol_of(negotiation), "QUIC");
    let later = [(0, Up, vec![0; 100]), (1, Up, first.clone())];
    assert_eq!(row_of(&later).protocol, "UDP");
    assert_eq!(protocol_of(&first[..1199]), "UDP");
    let mut short_id = first.clone();
    short_id[5] = 7;
    assert_eq!(protocol_of(&short_id), "UDP");
    // None of the offered versions is known.
    let mut unknown = negotiation.clone();
    let versions = unknown.len() - 8;
    unknown[versions..].copy_from_slice(b"nonethis");
    assert_eq!(protocol_of(&unknown), "UDP");
    assert_eq!(protocol_of(&negotiation[..negotiation.len() - 1]), "UDP");
}

#[test]
fn every_field_of_a_long_header_must_hold() {
    let datagrams = read(V1);
    let (_, _, initial) = &datagrams[0];
    let changed = |at: usize, value: u8| {
        let mut payload = initial.clone();
        payload[at] = value;
        protocol_of(&payload)
    };
    assert_eq!(changed(0, initial[0]), "QUIC");
    // The fixed bit, the version, a connection ID of 21 bytes, a token beyond the end.
    assert_eq!(changed(0, initial[0] & !0x40), "UDP");
    assert_eq!(changed(4, 3), "UDP");
    assert_eq!(changed(5, 21), "UDP");
    assert_eq!(changed(6 + 8 + 1 + 8, 0x7f), "UDP");
    // The length field, which is for the 1200 bytes of the first datagram.
    assert_eq!(u16::from_be_bytes([initial[24], initial[25]]) & 0x3fff, 471);
    assert_eq!(protocol_of(&initial[..26 + 471]), "QUIC");
    assert_eq!(protocol_of(&initial[..26 + 470]), "UDP");
    for end in 0..26 {
        assert_eq!(protocol_of(&initial[..end]), "UDP");
    }
}

#[test]
fn a_retry_is_recognised_by_its_tag() {
    let mut retry = vec![0xf0, 0, 0, 0, 1, 0, 4, 1, 2, 3, 4];
    retry.extend([9; 16]);
    assert_eq!(protocol_of(&retry), "QUIC");
    assert_eq!(protocol_of(&retry[..retry.len() - 1]), "UDP");
    // Version 2 has another code for this type.
    retry[0] = 0xc0;
    retry[1..5].copy_from_slice(&0x6b33_43cf_u32.to_be_bytes());
    assert_eq!(protocol_of(&retry), "QUIC");
}

#[test]
fn other_protocols_are_not_taken_for_it() {
    let mut stun = vec![0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42];
    stun.extend([7; 12]);
    // DTLS 1.2, a record of a handshake (RFC 6347 §4.1).
    let dtls = [&[22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100][..], &[1; 100]].concat();
    // NTP, version 4, client: header form and fixed bit are set (RFC 5905 §7.3).
    let ntp = [&[0xe3, 0, 6, 0x20][..], &[0; 44]].concat();
    // DNS with an identifier that begins with the same bits (RFC 1035 §4.1.1).
    let dns = [&[0xc0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, b'a', 0, 0, 1, 0, 1][..]].concat();
    // WireGuard, transport data.
    let wireguard = [&[4, 0, 0, 0][..], &[0xee; 60]].concat();
    for payload in [stun, dtls, ntp, dns, wireguard, vec![], vec![0xc0]] {
        assert_eq!(protocol_of(&payload), "UDP", "{payload:?}");
    }
}

/// A handshake of 40 ms, followed by packets of the server every 500 us. `value` gives the spin bit for
/// the number of a packet.
fn spun(packets: u64, value: impl Fn(u64) -> bool) -> Row {
    let mut datagrams = read(V1);
    datagrams.truncate(3);
    datagrams.extend((0..packets).map(|n| {
        let first = 0x40 | u8::from(value(n)) << 5;
        (100_000 + n * 500, Down, vec![first; 1200])
    }));
    row_of(&datagrams)
}

#[test]
fn late_packets_make_no_edges() {
    let clean = |n: u64| n / 80 % 2 == 1;
    let row = spun(800, clean);
    // There are edges after each 80 packets of 500 us. The first edge starts a period.
    assert_eq!(
        (row.rtt_samples, row.rtt_min_ms, row.rtt_max_ms),
        (Some(8), Some(40.0), Some(40.0))
    );
    // The third packet after each edge is exchanged with the last one before it.
    let late = |n: u64| match n % 80 {
        2 if n > 80 => !clean(n),
        _ => clean(n),
    };
    assert_eq!(spun(800, late), row);
}

#[test]
fn an_end_that_does_not_spin_has_no_round_trips() {
    assert_eq!(spun(800, |_| false).rtt_samples, None);
    assert_eq!(spun(800, |_| true).rtt_samples, None);
    // A random bit in each packet (SplitMix64).
    let random = |n: u64| {
        let mut bits = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ bits >> 31) & 1 == 1
    };
    assert_eq!(spun(20_000, random).rtt_samples, None);
    // An application that sends a packet every 10 round trips, and the bit changes with each.
    let mut datagrams = read(V1);
    datagrams.truncate(3);
    let slow = |n: u64| (100_000 + n * 400_000, Down, vec![0x40 | (n as u8 & 1) << 5; 50]);
    datagrams.extend((0..50).map(slow));
    assert_eq!(row_of(&datagrams).rtt_samples, None);
}

#[test]
fn without_a_handshake_the_spin_bit_says_nothing() {
    let mut retry = vec![0xf0, 0, 0, 0, 1, 0, 0];
    retry.extend([9; 16]);
    let spin = |n: u64| (n * 500, Down, vec![0x40 | ((n / 80 % 2) as u8) << 5; 1200]);
    let datagrams: Vec<_> = [(0, Down, retry)].into_iter().chain((1..800).map(spin)).collect();
    let row = row_of(&datagrams);
    assert_eq!((&*row.protocol, row.handshake_ms, row.rtt_samples), ("QUIC", None, None));
}
