//! With any bytes, nothing panics, and every packet is counted once.

mod support;

use l4s_flows::ip::IpPacket;
use l4s_flows::{Direction, Flows, MALFORMED};
use l4s_units::{Bytes, Duration, Time};
use proptest::prelude::*;
use support::{Down, Segment, Up, udp};

/// Bytes of a real packet with a few changes.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let initial = [&[0xc0, 0, 0, 0, 1, 8][..], &[7; 8], &[0, 0, 0x44, 0x9e], &[0; 1182]].concat();
    let rtp = [&[0x80, 96, 0, 1][..], &[0; 96]].concat();
    let syn = Segment { syn: true, mss: Some(1460), ..Segment::default() }.stamps(1, 0);
    let real = vec![
        udp(Down, &initial),
        udp(Up, &initial),
        udp(Down, &rtp),
        syn.bytes(Up),
        Segment::data(1, 1000).stamps(2, 1).bytes(Down),
        Segment::ack(1001).stamps(3, 2).bytes(Up),
    ];
    let changes = prop::collection::vec((0_usize..80, any::<u8>()), 0..4);
    (prop::sample::select(real), changes, 0_usize..2000).prop_map(|(mut bytes, changes, end)| {
        for (at, value) in changes {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        bytes.truncate(end.max(1));
        bytes
    })
}

fn packets() -> impl Strategy<Value = Vec<(Vec<u8>, bool, u16, u16)>> {
    let garbage = prop::collection::vec(any::<u8>(), 0..100);
    let bytes = prop_oneof![4 => nearly(), 1 => garbage];
    prop::collection::vec((bytes, any::<bool>(), 1_u16..50, any::<u16>()), 0..100)
}

proptest! {
    #[test]
    fn every_packet_is_counted_once(packets in packets()) {
        let mut flows = Flows::new(20, 1);
        let mut now = Time::ZERO;
        let (mut count, mut length) = ([0, 0], [0, 0]);
        for (bytes, down, segments, gap) in &packets {
            now += Duration::from_micros((*gap).into());
            let direction = if *down { Direction::Down } else { Direction::Up };
            let (flow, wire) = match IpPacket::new_checked(&bytes[..]) {
                Ok(packet) => {
                    count[usize::from(*down)] += u64::from(*segments);
                    let wire = packet.wire_length(*segments);
                    (flows.observe(&packet, direction, *segments, now), wire)
                }
                Err(_) => {
                    count[usize::from(*down)] += 1;
                    (flows.observe_malformed(direction, bytes.len(), now), bytes.len())
                }
            };
            prop_assert!(flow < flows.numbers());
            prop_assert_eq!(flow == MALFORMED, IpPacket::new_checked(&bytes[..]).is_err());
            length[usize::from(*down)] += wire as u64;
            flows.departed(flow, *segments, Bytes::new(1), now.since(Time::ZERO));
        }
        let rows: Vec<_> = flows.rows().collect();
        let sum = |of: fn(&l4s_flows::Row) -> u64| rows.iter().map(of).sum::<u64>();
        prop_assert_eq!([sum(|row| row.up_packets), sum(|row| row.down_packets)], count);
        prop_assert_eq!([sum(|row| row.up_bytes), sum(|row| row.down_bytes)], length);
        let by_ecn = |row: &l4s_flows::Row| row.down_not_ect + row.down_ect0 + row.down_ect1 + row.down_ce;
        prop_assert_eq!(rows.iter().map(by_ecn).sum::<u64>(), count[1]);
        for row in &rows {
            let repeated = row.retransmits.unwrap_or(0);
            prop_assert!(repeated <= row.down_packets && row.start_s <= row.end_s);
            prop_assert!(row.rtt_min_ms <= row.rtt_mean_ms && row.rtt_mean_ms <= row.rtt_max_ms);
            prop_assert!(row.delay_p50_ms <= row.delay_p99_ms && row.delay_p99_ms <= row.delay_max_ms);
        }
    }
}
