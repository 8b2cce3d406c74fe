//! The assignment of packets to flows, and the counters of a flow.

mod support;

use etherparse::{IpNumber, Ipv6FlowLabel, PacketBuilder};
use l4s_flows::ip::IpPacket;
use l4s_flows::{Direction, Flows, MALFORMED, OTHERS, Row};
use l4s_units::{Bytes, Duration, Time};
use support::{CLIENT, Down, SERVER, Seen, Segment, Up, ends, ip, ip_v6, udp};

#[test]
fn both_directions_are_one_flow_and_every_part_of_the_tuple_tells_flows_apart() {
    let mut seen = Seen::default();
    let flow = seen.packet(Down, &udp(Down, &[0; 9]));
    assert_eq!(flow, 2);
    assert_eq!(seen.packet(Up, &udp(Up, &[0; 9])), flow);
    // The same bytes in the other direction belong to a flow of another server.
    assert_eq!(seen.packet(Down, &udp(Up, &[0; 9])), 3);

    // TCP between the same ports, other ports, and IPv6 are other flows.
    assert_eq!(seen.segment(Down, &Segment::data(1, 0)), 4);
    let mut other = Vec::new();
    ip(Down).udp(443, 5001).write(&mut other, &[]).unwrap();
    assert_eq!(seen.packet(Down, &other), 5);
    other.clear();
    ip_v6(Up).udp(5000, 443).write(&mut other, &[]).unwrap();
    assert_eq!(seen.packet(Up, &other), 6);

    let rows = seen.rows();
    let of = |row: &Row| {
        let ports = (row.client_port.unwrap(), row.server_port.unwrap());
        (row.client.clone(), row.server.clone(), ports)
    };
    assert_eq!(of(&rows[0]), ("10.0.1.1".into(), "10.0.0.1".into(), (5000, 443)));
    assert_eq!(of(&rows[1]), ("10.0.0.1".into(), "10.0.1.1".into(), (443, 5000)));
    assert_eq!(of(&rows[4]), ("fd00::1:1".into(), "fd00::1".into(), (5000, 443)));
    assert_eq!(rows.iter().map(|row| row.flow).collect::<Vec<_>>(), [2, 3, 4, 5, 6]);
}

#[test]
fn an_ipv4_mapped_address_of_ipv6_is_not_that_of_ipv4() {
    let mapped = |[a, b, c, d]: [u8; 4]| [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d];
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ipv6(mapped(SERVER), mapped(CLIENT), 64);
    builder.udp(443, 5000).write(&mut bytes, &[]).unwrap();
    let mut seen = Seen::default();
    assert_ne!(seen.packet(Down, &bytes), seen.packet(Down, &udp(Down, &[])));
    assert_eq!(seen.rows()[0].client, "::ffff:10.0.1.1");
}

#[test]
fn two_pings_are_two_flows_and_an_icmp_error_is_of_neither() {
    let echo = |direction, id, request| {
        let header = etherparse::IcmpEchoHeader { id, seq: 1 };
        let mut bytes = Vec::new();
        let builder = ip(direction);
        match request {
            true => builder.icmpv4_echo_request(header.id, 1).write(&mut bytes, &[7; 56]),
            false => builder.icmpv4_echo_reply(header.id, 1).write(&mut bytes, &[7; 56]),
        }
        .unwrap();
        bytes
    };
    let mut seen = Seen::default();
    assert_eq!(seen.packet(Up, &echo(Up, 77, true)), 2);
    assert_eq!(seen.packet(Down, &echo(Down, 77, false)), 2);
    assert_eq!(seen.packet(Up, &echo(Up, 78, true)), 3);
    let mut error = echo(Down, 0, true);
    error[20] = 3;
    assert_eq!(seen.packet(Down, &error), 4);
    let mut ping_v6 = Vec::new();
    ip_v6(Up).icmpv6_echo_request(9, 1).write(&mut ping_v6, &[]).unwrap();
    assert_eq!(seen.packet(Up, &ping_v6), 5);

    let rows = seen.rows();
    let names: Vec<_> = rows.iter().map(|row| (&*row.protocol, row.client_port)).collect();
    let expected = [("ICMP", Some(77)), ("ICMP", Some(78)), ("ICMP", None), ("ICMPv6", Some(9))];
    assert_eq!(names, expected);
    assert_eq!((rows[0].up_packets, rows[0].down_packets), (1, 1));
}

#[test]
fn another_protocol_has_its_number_for_a_name() {
    let mut bytes = Vec::new();
    ip(Down).write(&mut bytes, IpNumber::GRE, &[0; 40]).unwrap();
    let mut seen = Seen::default();
    seen.packet(Down, &bytes);
    assert_eq!(seen.row().protocol, "47");
}

/// An IPv4 fragment of a datagram, or an IPv6 fragment after hop-by-hop options.
fn fragment(v6: bool, id: u16, offset: u16, more: bool, payload: &[u8]) -> Vec<u8> {
    let word = offset << 3 | u16::from(more);
    let mut bytes = Vec::new();
    if v6 {
        let header = etherparse::Ipv6Header {
            traffic_class: Default::default(),
            flow_label: Ipv6FlowLabel::ZERO,
            payload_length: (16 + payload.len()) as u16,
            next_header: IpNumber(0),
            hop_limit: 64,
            source: support::SERVER_V6,
            destination: support::CLIENT_V6,
        };
        header.write(&mut bytes).unwrap();
        bytes.extend([44, 0, 1, 4, 0, 0, 0, 0]);
        bytes.extend([17, 0]);
        bytes.extend(word.to_be_bytes());
        bytes.extend(u32::from(id).to_be_bytes());
    } else {
        let (source, destination) = ends(Down, CLIENT, SERVER);
        let length = payload.len() as u16;
        let mut header =
            etherparse::Ipv4Header::new(length, 64, IpNumber::UDP, source, destination).unwrap();
        header.identification = id;
        header.fragment_offset = offset.try_into().unwrap();
        header.more_fragments = more;
        header.write(&mut bytes).unwrap();
    }
    bytes.extend(payload);
    bytes
}

#[test]
fn later_fragments_belong_to_the_flow_of_the_first_one() {
    for v6 in [false, true] {
        let mut seen = Seen::default();
        let udp_header = [1, 187, 19, 136, 0x0b, 0xc0, 0, 0];
        let first = [&udp_header[..], &[0; 992]].concat();
        let flow = seen.at(0).packet(Down, &fragment(v6, 7, 0, true, &first));
        assert_eq!(seen.packet(Down, &fragment(v6, 7, 125, true, &[0; 1000])), flow);
        assert_eq!(
            seen.at(29_000_000).packet(Down, &fragment(v6, 7, 250, false, &[0; 1000])),
            flow
        );
        let row = seen.row();
        assert_eq!((row.client_port, row.server_port), (Some(5000), Some(443)));
        assert_eq!((row.down_packets, &*row.protocol), (3, "UDP"));

        // A fragment of another datagram, or one that is too old, is assigned by addresses and protocol only.
        let stray = seen.packet(Down, &fragment(v6, 8, 125, false, &[0; 8]));
        assert_ne!(stray, flow);
        let stale = fragment(v6, 7, 125, false, &[0; 8]);
        assert_eq!(seen.at(31_000_000).packet(Down, &stale), stray);
        assert_eq!(seen.rows()[1].client_port, None);
    }
}

#[test]
fn fragments_of_256_datagrams_at_a_time_find_their_flow() {
    let mut seen = Seen::default();
    let first = |id: u16| {
        let ports = [443_u16.to_be_bytes(), id.to_be_bytes()].concat();
        fragment(false, id, 0, true, &[&ports[..], &[0, 16, 0, 0], &[0; 8]].concat())
    };
    let flows: Vec<u32> = (1000..1256).map(|id| seen.packet(Down, &first(id))).collect();
    for (id, flow) in (1000..1256).zip(&flows) {
        assert_eq!(seen.packet(Down, &fragment(false, id, 2, false, &[0; 8])), *flow);
    }
    assert_eq!(seen.rows().len(), 256);
}

#[test]
fn a_super_packet_counts_as_its_segments_with_a_header_each() {
    let mut seen = Seen::default();
    let bytes = Segment::data(1, 10_000).bytes(Down);
    let packet = IpPacket::new_checked(&bytes[..]).unwrap();
    let flow = seen.flows.observe(&packet, Down, 7, Time::ZERO);
    // 10,000 B in 7 segments, each with 20 B of IP and 20 B of TCP.
    let length = Bytes::new(10_000 + 7 * 40);
    seen.flows.departed(flow, 7, length, Duration::from_millis(3));
    let row = seen.row();
    assert_eq!((row.down_packets, row.down_bytes, row.bytes), (7, length.get(), length.get()));
    assert_eq!((row.down_not_ect, row.delay_mean_ms), (7, Some(3.0)));
    // The same bytes again: seven segments are retransmissions. Then the second half and as many new bytes:
    // four of seven segments contain old bytes.
    seen.flows.observe(&packet, Down, 7, Time::ZERO);
    assert_eq!(seen.row().retransmits, Some(7));
    let bytes = Segment::data(5001, 10_000).bytes(Down);
    seen.flows.observe(&IpPacket::new_checked(&bytes[..]).unwrap(), Down, 7, Time::ZERO);
    assert_eq!(seen.row().retransmits, Some(7 + 4));
}

#[test]
fn codepoints_marks_drops_delays_and_rate_are_those_of_the_flow() {
    let mut seen = Seen::default();
    let mut packet = udp(Down, &[0; 972]);
    for (us, ecn) in [(1000, 1), (2000, 1), (3000, 2), (4000, 3), (5000, 0)] {
        packet[1] = ecn;
        let flow = seen.at(us).packet(Down, &packet);
        match ecn {
            0 => seen.flows.dropped(flow, 1),
            _ => seen.flows.departed(flow, 1, Bytes::new(1000), Duration::from_micros(us)),
        }
        if us == 2000 {
            seen.flows.marked(flow, 1);
        }
    }
    let mut answer = udp(Up, &[]);
    answer[1] = 2;
    seen.at(9000).packet(Up, &answer);

    let row = seen.row();
    let down = (row.down_not_ect, row.down_ect0, row.down_ect1, row.down_ce);
    assert_eq!(down, (1, 1, 2, 1));
    assert_eq!((row.up_not_ect, row.up_ect0, row.up_ect1, row.up_ce), (0, 1, 0, 0));
    assert_eq!((row.down_packets, row.down_bytes, row.bytes), (5, 5000, 4000));
    assert_eq!((row.up_packets, row.up_bytes), (1, 28));
    assert_eq!((row.marks, row.drops), (1, 1));
    assert_eq!((row.start_s, row.end_s), (0.001, 0.009));
    // 32,000 bits in 8 ms. The mean of 1, 2, 3 and 4 ms.
    assert_eq!((row.rate_bps, row.delay_mean_ms), (Some(4e6), Some(2.5)));
    assert_eq!(row.delay_max_ms, Some(4.0));
    let p50 = row.delay_p50_ms.unwrap();
    assert!((p50 - 2.0).abs() <= 2.0 / 16.0, "{p50}");
}

#[test]
fn what_passed_in_the_warm_up_is_not_counted() {
    let mut seen = Seen::default();
    let flow = seen.at(0).packet(Down, &udp(Down, &[0; 972]));
    seen.flows.departed(flow, 1, Bytes::new(1000), Duration::from_millis(50));
    seen.flows.end_warmup(Time::ZERO + Duration::from_millis(10));
    let row = seen.row();
    assert_eq!((row.down_packets, row.bytes, row.delay_max_ms, row.rate_bps), (0, 0, None, None));
    assert_eq!(seen.at(12_000).packet(Down, &udp(Down, &[0; 972])), flow);
    seen.flows.departed(flow, 1, Bytes::new(1000), Duration::from_millis(2));
    let row = seen.row();
    assert_eq!((row.down_packets, row.bytes, row.delay_max_ms), (1, 1000, Some(2.0)));
    // 8000 bits in the 2 ms after the end of the warm-up.
    assert_eq!((row.start_s, row.end_s, row.rate_bps), (0.0, 0.012, Some(4e6)));
}

#[test]
fn beyond_the_cap_and_malformed_are_a_row_each() {
    let mut flows = Flows::new(2, 1);
    let mut of = |port: u16| {
        let mut bytes = Vec::new();
        ip(Up).udp(port, 443).write(&mut bytes, &[0; 12]).unwrap();
        flows.observe(
            &IpPacket::new_checked(&bytes[..]).unwrap(),
            Up,
            1,
            Time::from_nanos(port.into()),
        )
    };
    assert_eq!([1, 2, 3, 4, 1].map(&mut of), [2, 3, OTHERS, OTHERS, 2]);
    assert_eq!(flows.observe_malformed(Direction::Down, 17, Time::from_nanos(9)), MALFORMED);
    let rows: Vec<Row> = flows.rows().collect();
    let brief: Vec<_> =
        rows.iter().map(|row| (row.flow, &*row.protocol, row.up_packets, row.up_bytes)).collect();
    let expected =
        [(2, "UDP", 2, 80), (3, "UDP", 1, 40), (0, "others", 2, 80), (1, "malformed", 0, 0)];
    assert_eq!(brief, expected);
    assert_eq!((rows[2].start_s, rows[2].end_s), (3e-9, 4e-9));
    assert_eq!((rows[3].down_packets, rows[3].down_bytes), (1, 17));
    assert_eq!((&*rows[2].client, rows[2].client_port), ("", None));
}

#[test]
fn every_column_is_described() {
    let names: Vec<_> = Row::COLUMNS.iter().map(|column| column.name).collect();
    assert_eq!((names[0], names.len()), ("flow", 40));
    for column in Row::COLUMNS {
        assert!(column.meaning.ends_with('.') && !column.meaning.starts_with(' '), "{column:?}");
        let has_unit = ["_ms", "_s", "_bps", "packets", "bytes"];
        assert!(!has_unit.iter().any(|end| column.name.ends_with(end)) || !column.unit.is_empty());
    }
}
