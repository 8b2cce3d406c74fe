//! Memory is bounded for any packets, and no packet of a known flow allocates.

mod support;

use l4s_flows::ip::IpPacket;
use l4s_flows::{Flows, OTHERS};
use l4s_units::{Bytes, Duration, Time};
use support::{Down, Segment, udp};

/// The next number of a generator (Knuth's MMIX).
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 16
}

/// A segment from random addresses and ports, of one of a million flows.
fn any_flow(bytes: &mut [u8], n: u64) {
    let mut state = n;
    bytes[12..20].copy_from_slice(&(draw(&mut state) << 16 ^ draw(&mut state)).to_be_bytes());
    bytes[20..24].copy_from_slice(&(draw(&mut state) as u32).to_be_bytes());
}

#[test]
fn a_million_flows_take_the_memory_of_the_cap() {
    const FLOWS: u64 = 1_000_000;
    let mut bytes = Segment::data(1, 100).bytes(Down);
    let mut pass = |flows: &mut Flows, n: u64| {
        any_flow(&mut bytes, n);
        let packet = IpPacket::new_checked(&bytes[..]).unwrap();
        let flow = flows.observe(&packet, Down, 1, Time::from_nanos(n));
        // From 100 us to 12.9 ms.
        let delay = Duration::from_micros(100 << (n % 8));
        flows.departed(flow, 1, Bytes::new(140), delay);
        flow
    };
    let mut flows = None;
    let info = allocation_counter::measure(|| {
        let flows = flows.insert(Flows::new(Flows::CAP, 7));
        for round in 0..2 {
            for n in 0..FLOWS {
                let flow = pass(flows, n);
                let expected = if n < Flows::CAP as u64 { n as u32 + 2 } else { OTHERS };
                assert_eq!(flow, expected, "{n}, {round}");
            }
        }
    });
    let flows = flows.unwrap();
    assert_eq!(flows.numbers() as usize, Flows::CAP + 2);
    let rows: Vec<_> = flows.rows().collect();
    assert_eq!(rows.iter().map(|row| row.down_packets).sum::<u64>(), 2 * FLOWS);
    let others = rows.last().unwrap();
    assert_eq!((&*others.protocol, others.down_packets), ("others", 2 * (FLOWS - 100_000)));
    let per_flow = info.bytes_max / Flows::CAP as u64;
    assert!(per_flow < 800, "{per_flow} B per flow");
}

#[test]
fn the_hash_keeps_no_flow_from_another() {
    // Ports and addresses as in a scan, with two seeds: the counts depend only on the order.
    for seed in [0, 1] {
        let mut flows = Flows::new(70_000, seed);
        let mut bytes = udp(Down, &[]);
        for n in 0..70_000_u32 {
            bytes[17..20].copy_from_slice(&(n / 100).to_be_bytes()[1..]);
            bytes[22..24].copy_from_slice(&((n % 100) as u16).to_be_bytes());
            let packet = IpPacket::new_checked(&bytes[..]).unwrap();
            assert_eq!(flows.observe(&packet, Down, 1, Time::ZERO), n + 2);
        }
    }
}

#[test]
fn nothing_is_allocated_per_packet() {
    let mut flows = Flows::new(100, 1);
    let mut segment = Segment::data(1, 1000).stamps(1, 1).bytes(Down);
    let datagram = udp(Down, &[0x80; 100]);
    let mut state = 1;
    let mut play = |flows: &mut Flows| {
        for n in 0..10_000_u64 {
            let now = Time::from_nanos(n);
            // Segments in any order.
            segment[24..28].copy_from_slice(&(draw(&mut state) as u32 % 50_000).to_be_bytes());
            for bytes in [&segment, &datagram] {
                let packet = IpPacket::new_checked(&bytes[..]).unwrap();
                let flow = flows.observe(&packet, Down, 1, now);
                flows.departed(flow, 1, Bytes::new(1000), Duration::from_micros(n % 1000));
                flows.marked(flow, 1);
            }
        }
    };
    play(&mut flows);
    assert_eq!(allocation_counter::measure(|| play(&mut flows)).count_total, 0);
}
