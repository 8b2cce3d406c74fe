//! Whatever comes from a device, the view of IP packets does not panic, claims no bytes that are
//! not there, and a mark changes nothing but the ECN field and the header checksum.
#![no_main]

use l4s_flows::ip::{IpPacket, Joined, Version, complete_checksum};
use l4s_units::Ecn;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let [start, at] = [0, 1].map(|n| usize::from(bytes.get(n).copied().unwrap_or_default()));
    let _ = complete_checksum(&mut bytes.to_vec(), start, at);
    let Ok(packet) = IpPacket::new_checked(bytes) else { return };
    assert!(packet.length() <= bytes.len());
    assert!(packet.ip_header_length() + packet.payload_length() <= packet.length());
    assert!(packet.headers_length().unwrap_or(0) <= packet.length());
    let _ = (packet.is_local(), packet.ports(), packet.fragment(), packet.protocol());
    if let Some(tcp) = packet.tcp() {
        let _ = (tcp.seq(), tcp.ack_number(), tcp.ece(), tcp.cwr(), tcp.ae(), tcp.syn(), tcp.fin());
    }

    let mut buffer = [0; 2048];
    for number in 0..3 {
        let size = 1 + usize::from(bytes[0]) * 8;
        if let Some(length) = packet.segment(size, number, &mut buffer) {
            let segment = IpPacket::new_checked(&buffer[..length]).expect("a segment is a packet");
            assert!(segment.length() == length && segment.payload_length() <= size);
        }
    }
    let mut joined = Joined::default();
    if joined.begin(&packet) {
        assert!(joined.is_of_connection(&packet));
        // It does not follow itself.
        assert!(!joined.push(&packet));
    }

    let mut marked = bytes.to_vec();
    let mut view = IpPacket::new_checked(&mut marked).expect("the same bytes");
    view.set_ce();
    assert_eq!(view.ecn(), Ecn::Ce);
    let (ecn, checksum) = match packet.version() {
        Version::V4 => (1, 10..12),
        Version::V6 => (1, 0..0),
    };
    for (at, (old, new)) in bytes.iter().zip(&marked).enumerate() {
        assert!(old == new || at == ecn || checksum.contains(&at));
    }
    // A header that added up before still does.
    if packet.version() == Version::V4 {
        let length = usize::from(bytes[0] & 0xf) * 4;
        if sum(&bytes[..length]) == 0xffff {
            assert_eq!(sum(&marked[..length]), 0xffff);
        }
    }
});

/// The sum of the header's words with carries folded in: all ones where the checksum is right.
fn sum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
