//! RTP is recognized only by headers that are plausible over several packets.

mod support;

use proptest::prelude::*;
use support::{Down, Seen, udp};

/// An RTP packet (RFC 3550 §5.1) of 100 bytes.
fn rtp(payload_type: u8, sequence: u16, ssrc: u32) -> Vec<u8> {
    let mut packet = vec![0; 100];
    packet[0] = 0x80;
    packet[1] = payload_type;
    packet[2..4].copy_from_slice(&sequence.to_be_bytes());
    packet[8..12].copy_from_slice(&ssrc.to_be_bytes());
    packet
}

/// The protocol of a conversation after these datagrams.
fn protocol_of(datagrams: impl IntoIterator<Item = Vec<u8>>) -> String {
    let mut seen = Seen::default();
    for payload in datagrams {
        seen.packet(Down, &udp(Down, &payload));
    }
    seen.row().protocol
}

#[test]
fn eight_steps_of_a_source_are_rtp() {
    let stream = |packets: u16| (0..packets).map(|n| rtp(96, 65_530_u16.wrapping_add(n), 7));
    assert_eq!(protocol_of(stream(8)), "UDP");
    assert_eq!(protocol_of(stream(9)), "RTP");
    // A session starts with STUN and DTLS; RTCP comes in between.
    let others = [vec![0, 1, 0, 0], vec![22, 254, 253, 0], rtp(200 & 0x7f, 1, 7)];
    assert_eq!(protocol_of(others.into_iter().chain(stream(9))), "RTP");
}

#[test]
fn losses_duplicates_and_late_packets_do_not_hide_it() {
    let numbers = [1, 2, 3, 3, 10, 9, 11, 12, 2000, 1990, 2001, 2002];
    assert_eq!(protocol_of(numbers.map(|n| rtp(111, n, 7))), "RTP");
    // After a restart the numbers continue from another value.
    let numbers = [1, 2, 3, 4, 5, 20_000, 20_001, 20_002, 20_003, 20_004, 20_005];
    assert_eq!(protocol_of(numbers.map(|n| rtp(111, n, 7))), "UDP");
}

#[test]
fn up_to_four_sources_share_a_port() {
    let shared =
        |sources: u16| (0..20 * sources).map(move |n| rtp(96, n / sources, u32::from(n % sources)));
    assert_eq!(protocol_of(shared(4)), "RTP");
    assert_eq!(protocol_of(shared(5)), "UDP");
}

#[test]
fn what_lacks_a_field_is_none() {
    let with = |change: fn(&mut Vec<u8>)| {
        protocol_of((0..50).map(|n| {
            let mut packet = rtp(96, n, 7);
            change(&mut packet);
            packet
        }))
    };
    assert_eq!(with(|_| {}), "RTP");
    // Version 1, RTCP's payload types, a short header, and sources and extension beyond the end.
    assert_eq!(with(|packet| packet[0] = 0x40), "UDP");
    assert_eq!(with(|packet| packet[1] = 72), "UDP");
    assert_eq!(with(|packet| packet.truncate(11)), "UDP");
    assert_eq!(with(|packet| (packet[0], _) = (0x8f, packet.truncate(71))), "UDP");
    assert_eq!(with(|packet| (packet[0], packet[15]) = (0x90, 22)), "UDP");
    assert_eq!(with(|packet| (packet[0], packet[15]) = (0x90, 21)), "RTP");
    // A counter at the place of the sequence number, and no constant SSRC.
    let counter = (0..1000_u16).map(|n| rtp(96, n, u32::from(n) << 16 | 7));
    assert_eq!(protocol_of(counter), "UDP");
}

proptest! {
    /// 64 random datagrams with the version of RTP never make a conversation RTP, and neither do those with a
    /// constant SSRC. A random number is a plausible step once in 21, and eight steps are
    /// needed.
    #[test]
    fn random_datagrams_are_none(
        datagrams in prop::collection::vec(any::<[u8; 40]>(), 64),
        ssrc: Option<u32>,
    ) {
        let datagrams = datagrams.into_iter().map(|mut bytes| {
            bytes[0] = 0x80 | bytes[0] & 0x3f;
            if let Some(ssrc) = ssrc {
                bytes[8..12].copy_from_slice(&ssrc.to_be_bytes());
            }
            bytes.to_vec()
        });
        prop_assert_eq!(protocol_of(datagrams), "UDP");
    }
}
