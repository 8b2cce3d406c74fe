//! The view of IP packets, compared with another implementation and checked by properties.

use etherparse::{
    IpNumber, LaxPacketHeaders, NetHeaders, PacketBuilder, TcpHeader, TransportHeader,
};
use l4s_flows::ip::{Fragment, IpPacket, Malformed, Version, protocol, set_ecn};
use l4s_units::Ecn;
use proptest::prelude::*;

/// The sum of the header's words with carries folded in. It is all ones if the checksum is right
/// (RFC 1071).
fn header_sum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[derive(Clone, Debug)]
struct Parts {
    v6: bool,
    options: Vec<u8>,
    ecn: u8,
    dscp: u8,
    identification: u16,
    ttl: u8,
    addresses: [u8; 8],
    tcp: bool,
    ports: (u16, u16),
    numbers: (u32, u32),
    flags: [bool; 9],
    tcp_options: usize,
    payload: usize,
    trailing: usize,
}

fn parts() -> impl Strategy<Value = Parts> {
    let ip =
        (any::<bool>(), 0usize..11, 0u8..4, 0u8..64, any::<u16>(), any::<u8>(), any::<[u8; 8]>());
    let transport = (any::<bool>(), any::<(u16, u16)>(), any::<(u32, u32)>(), any::<[bool; 9]>());
    let lengths = (0usize..11, 0usize..1400, 0usize..5);
    (ip, transport, lengths).prop_map(|(ip, transport, lengths)| Parts {
        v6: ip.0,
        options: vec![1; ip.1 * 4],
        ecn: ip.2,
        dscp: ip.3,
        identification: ip.4,
        ttl: ip.5,
        addresses: ip.6,
        tcp: transport.0,
        ports: transport.1,
        numbers: transport.2,
        flags: transport.3,
        tcp_options: lengths.0,
        payload: lengths.1,
        trailing: lengths.2,
    })
}

fn build(parts: &Parts) -> Vec<u8> {
    let [a, b, c, d, e, f, g, h] = parts.addresses;
    let ip = if parts.v6 {
        let header = etherparse::Ipv6Header {
            traffic_class: etherparse::Ipv6Header::default().traffic_class,
            source: [0xfd, a, b, c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
            destination: [0xfd, d, e, f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, g, h],
            hop_limit: parts.ttl,
            ..Default::default()
        };
        etherparse::IpHeaders::Ipv6(header, Default::default())
    } else {
        let mut header =
            etherparse::Ipv4Header::new(0, parts.ttl, IpNumber::TCP, [a, b, c, d], [e, f, g, h])
                .unwrap();
        header.identification = parts.identification;
        header.options = parts.options.as_slice().try_into().unwrap();
        etherparse::IpHeaders::Ipv4(header, Default::default())
    };
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ip(ip);
    let payload = vec![0xa5; parts.payload];
    if parts.tcp {
        let mut header =
            etherparse::TcpHeader::new(parts.ports.0, parts.ports.1, parts.numbers.0, 1234);
        header.acknowledgment_number = parts.numbers.1;
        [
            header.fin, header.syn, header.rst, header.psh, header.ack, header.urg, header.ece,
            header.cwr, header.ns,
        ] = parts.flags;
        header.set_options_raw(&vec![1; parts.tcp_options * 4]).unwrap();
        builder.tcp_header(header).write(&mut bytes, &payload).unwrap();
    } else {
        builder.udp(parts.ports.0, parts.ports.1).write(&mut bytes, &payload).unwrap();
    }
    // The codepoint is computed by hand, since the two crates have to agree on the bits and not on a type.
    let class = parts.dscp << 2 | parts.ecn;
    if parts.v6 {
        bytes[0] = 0x60 | class >> 4;
        bytes[1] = bytes[1] & 0x0f | class << 4;
    } else {
        bytes[1] = class;
        bytes[10..12].fill(0);
        let length = usize::from(bytes[0] & 0xf) * 4;
        let checksum = !header_sum(&bytes[..length]);
        bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    }
    bytes.resize(bytes.len() + parts.trailing, 0xee);
    bytes
}

proptest! {
    #[test]
    fn it_reads_what_etherparse_wrote(parts in parts()) {
        let bytes = build(&parts);
        let packet = IpPacket::new_checked(&bytes).unwrap();
        prop_assert_eq!(packet.version(), if parts.v6 { Version::V6 } else { Version::V4 });
        prop_assert_eq!(packet.length(), bytes.len() - parts.trailing);
        prop_assert_eq!(packet.bytes(), &bytes[..bytes.len() - parts.trailing]);
        prop_assert_eq!(packet.ecn(), Ecn::from_bits(parts.ecn));
        prop_assert_eq!(packet.fragment(), Fragment::Whole);
        prop_assert_eq!(packet.ports(), Some(parts.ports));
        prop_assert_eq!(packet.payload_length(), parts.payload);
        prop_assert_eq!(packet.payload(), vec![0xa5; parts.payload]);
        let repeated = 2 * packet.headers_length().unwrap();
        prop_assert_eq!(packet.wire_length(3), packet.length() + repeated);
        let identification = (!parts.v6).then_some(parts.identification.into());
        prop_assert_eq!(packet.identification(), identification);
        match packet.tcp() {
            Some(tcp) => {
                prop_assert!(parts.tcp);
                prop_assert_eq!(packet.protocol(), protocol::TCP);
                prop_assert_eq!((tcp.seq(), tcp.ack_number()), parts.numbers);
                let [fin, syn, rst, _, ack, _, ece, cwr, ae] = parts.flags;
                let flags = (tcp.fin(), tcp.syn(), tcp.rst(), tcp.ack());
                prop_assert_eq!(flags, (fin, syn, rst, ack));
                prop_assert_eq!((tcp.ece(), tcp.cwr(), tcp.ae()), (ece, cwr, ae));
            }
            None => {
                prop_assert!(!parts.tcp);
                prop_assert_eq!(packet.protocol(), protocol::UDP);
            }
        }
    }

    /// Options in any order, and any bytes in their place. The first option of each kind is read, up to the place
    /// that etherparse finds malformed.
    #[test]
    fn it_reads_the_options_that_etherparse_reads(
        elements in prop::collection::vec(0u8..5, 0..4),
        values: (u16, u32, u32),
        raw in prop::option::of(prop::collection::vec(0u8..12, 40)),
    ) {
        use etherparse::TcpOptionElement::{
            MaximumSegmentSize, Noop, SelectiveAcknowledgementPermitted, Timestamp, WindowScale,
        };
        let mut header = etherparse::TcpHeader::new(1, 2, 3, 4);
        let all = [
            MaximumSegmentSize(values.0),
            Noop,
            SelectiveAcknowledgementPermitted,
            Timestamp(values.1, values.2),
            WindowScale(7),
        ];
        let chosen: Vec<_> = elements.iter().map(|n| all[usize::from(*n)].clone()).collect();
        match raw {
            None => header.set_options(&chosen).unwrap(),
            Some(raw) => header.set_options_raw(&raw).unwrap(),
        }
        let mut expected = (None, None);
        for element in header.options_iterator().map_while(Result::ok) {
            match element {
                MaximumSegmentSize(mss) => expected.0 = expected.0.or(Some(mss)),
                Timestamp(value, echo) => expected.1 = expected.1.or(Some((value, echo))),
                _ => {}
            }
        }
        let mut bytes = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp_header(header);
        builder.write(&mut bytes, &[]).unwrap();
        let packet = IpPacket::new_checked(&bytes).unwrap();
        let tcp = packet.tcp().unwrap();
        // We skip options that etherparse does not support, and those whose length it does not accept.
        prop_assert!(expected.0.is_none() || tcp.mss() == expected.0);
        prop_assert!(expected.1.is_none() || tcp.stamps() == expected.1);
    }

    /// CE is set, the checksum is right, and nothing else has changed.
    #[test]
    fn setting_ce_keeps_the_checksum(parts in parts()) {
        let before = build(&parts);
        let mut bytes = before.clone();
        let mut packet = IpPacket::new_checked(&mut bytes).unwrap();
        packet.set_ce();
        prop_assert_eq!(packet.ecn(), Ecn::Ce);
        let mut expected = before.clone();
        if parts.v6 {
            expected[1] |= 0x30;
        } else {
            let length = usize::from(bytes[0] & 0xf) * 4;
            prop_assert_eq!(header_sum(&bytes[..length]), 0xffff);
            expected[1] |= 3;
            expected[10..12].copy_from_slice(&bytes[10..12]);
        }
        prop_assert_eq!(bytes, expected);
    }

    /// Any codepoint is set, the checksum is right, and nothing else has changed.
    #[test]
    fn setting_a_codepoint_keeps_the_checksum(parts in parts(), codepoint in 0u8..4) {
        let mut bytes = build(&parts);
        let first = bytes[1];
        let before = IpPacket::new_checked(&bytes).unwrap().ecn();
        let set = |bytes: &mut [u8], ecn| {
            set_ecn(bytes, if parts.v6 { Version::V6 } else { Version::V4 }, ecn);
        };
        let original = bytes.clone();
        set(&mut bytes, Ecn::from_bits(codepoint));
        let packet = IpPacket::new_checked(&bytes).unwrap();
        prop_assert_eq!(packet.ecn(), Ecn::from_bits(codepoint));
        let others = if parts.v6 { !0x30 } else { !3 };
        prop_assert_eq!(bytes[1] & others, first & others);
        if !parts.v6 {
            prop_assert_eq!(header_sum(&bytes[..usize::from(bytes[0] & 0xf) * 4]), 0xffff);
        }
        set(&mut bytes, before);
        prop_assert_eq!(bytes, original);
    }

    /// The DSCP becomes 0, and nothing else changes: ECN, the version, the flow label, and a checksum that is right.
    #[test]
    fn a_washed_packet_keeps_everything_but_its_dscp(parts in parts(), dscp in 0u8..64) {
        let mut bytes = build(&parts);
        let length = usize::from(bytes[0] & 0xf) * 4;
        if parts.v6 {
            bytes[0] = 0x60 | dscp >> 2;
            bytes[1] = bytes[1] & 0x3f | dscp << 6;
        } else {
            bytes[1] = bytes[1] & 3 | dscp << 2;
            bytes[10..12].fill(0);
            let checksum = !header_sum(&bytes[..length]);
            bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        let mut expected = bytes.clone();
        let mut packet = IpPacket::new_checked(&mut bytes).unwrap();
        let ecn = packet.ecn();
        prop_assert_eq!(packet.wash_dscp(), dscp != 0);
        prop_assert!(!packet.wash_dscp(), "it is gone");
        prop_assert_eq!(packet.ecn(), ecn);
        if parts.v6 {
            expected[0] = 0x60;
            expected[1] &= 0x3f;
        } else {
            prop_assert_eq!(header_sum(&bytes[..length]), 0xffff);
            expected[1] &= 3;
            expected[10..12].copy_from_slice(&bytes[10..12]);
        }
        prop_assert_eq!(&bytes, &expected);
        let Ok(headers) = LaxPacketHeaders::from_ip(&bytes) else { return Ok(()) };
        let washed = match headers.net {
            Some(NetHeaders::Ipv4(header, _)) => header.dscp.value(),
            Some(NetHeaders::Ipv6(header, _)) => header.traffic_class >> 2,
            _ => 0,
        };
        prop_assert_eq!(washed, 0);
    }

    /// Exactly one bit changes, behind the IP header, and the packet passes the check again.
    #[test]
    fn a_bit_error_is_one_bit(parts in parts(), draw: u32) {
        let before = build(&parts);
        let mut bytes = before.clone();
        let mut packet = IpPacket::new_checked(&mut bytes).unwrap();
        let (header, end) = (packet.ip_header_length(), packet.length());
        packet.invert_bit(draw);
        let changed: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != before[*at]).collect();
        prop_assert_eq!(changed.len(), usize::from(header < end));
        for at in changed {
            prop_assert!((header..end).contains(&at));
            prop_assert_eq!((bytes[at] ^ before[at]).count_ones(), 1);
        }
        prop_assert!(IpPacket::new_checked(&bytes).is_ok());
    }

    /// Of a TCP header nothing but the option and the bits of ACE change, and the checksum is right.
    #[test]
    fn middleboxes_that_do_not_know_accecn(
        flags in 0u16..512,
        before in 0usize..4,
        counters in prop_oneof![Just(0usize), Just(3), Just(6), Just(9)],
        kind in prop_oneof![Just(172u8), Just(174)],
        payload in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut options = vec![1; before];
        options.extend([kind, 2 + counters as u8]);
        options.extend((0..counters).map(|n| 50 + n as u8));
        options.extend([8, 10, 1, 2, 3, 4, 5, 6, 7, 8]);
        options.resize(options.len().next_multiple_of(4), 0);
        let mut header = TcpHeader::new(1, 2, 3, 4);
        header.set_options_raw(&options).unwrap();
        let mut bytes = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
            .tcp_header(header)
            .write(&mut bytes, &payload)
            .unwrap();
        let sum = |bytes: &[u8]| {
            let length = bytes.len() - 20;
            let pseudo = [&bytes[12..20], &[0, 6, (length >> 8) as u8, length as u8], &bytes[20..]].concat();
            header_sum(&if length % 2 == 0 { pseudo } else { [pseudo, vec![0]].concat() })
        };
        // The flags, with the checksum that belongs to them: etherparse has no such field.
        let word = u16::from_be_bytes([bytes[32], bytes[33]]) | flags;
        bytes[32..34].copy_from_slice(&word.to_be_bytes());
        bytes[36..38].fill(0);
        let checksum = !sum(&bytes);
        bytes[36..38].copy_from_slice(&checksum.to_be_bytes());
        prop_assert_eq!(sum(&bytes), 0xffff);

        let original = bytes.clone();
        let mut packet = IpPacket::new_checked(&mut bytes).unwrap();
        let stamps = packet.tcp().unwrap().stamps();
        prop_assert!(packet.strip_accecn());
        prop_assert!(!packet.strip_accecn(), "it is gone");
        prop_assert_eq!(packet.tcp().unwrap().stamps(), stamps);
        let (syn, ace) = (flags & 2 != 0, flags & 0o700 != 0);
        prop_assert_eq!(packet.clear_ace(), ace && !syn);
        prop_assert_eq!(sum(&bytes), 0xffff);
        let mut expected = original;
        expected[40 + before..42 + before + counters].fill(1);
        if !syn {
            expected[32..34].copy_from_slice(&(word & !0o700).to_be_bytes());
        }
        expected[36..38].copy_from_slice(&bytes[36..38]);
        prop_assert_eq!(bytes, expected);
    }

    /// A packet that is cut at any place is refused.
    #[test]
    fn what_is_cut_short_is_refused(parts in parts(), at in any::<prop::sample::Index>()) {
        let bytes = build(&parts);
        let length = bytes.len() - parts.trailing;
        let cut = &bytes[..at.index(length)];
        prop_assert_eq!(IpPacket::new_checked(cut).unwrap_err(), Malformed::Cut);
    }

    /// With one changed byte there is no panic, and no length beyond the buffer.
    #[test]
    fn a_header_that_lies_is_harmless(
        parts in parts(),
        at in any::<prop::sample::Index>(),
        value: u8,
    ) {
        let mut bytes = build(&parts);
        let at = at.index(bytes.len().min(60));
        bytes[at] = value;
        look_at_everything(&bytes);
    }

    #[test]
    fn garbage_is_harmless(mut bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0u8..3) {
        if let Some(first) = bytes.first_mut() {
            *first = match kind { 0 => *first, 1 => 0x40 | *first & 0xf, _ => 0x60 };
        }
        look_at_everything(&bytes);
    }

    /// Any number of IPv6 extension headers, with or without a fragment header at the end.
    #[test]
    fn extension_headers_are_skipped(
        chain in prop::collection::vec((prop::sample::select(vec![0u8, 43, 60, 51, 135]), 0u8..4), 0..5),
        fragment in prop::option::of((0u16..3, any::<bool>())),
    ) {
        let mut udp = Vec::new();
        PacketBuilder::ipv6([0xfd; 16], [0xfd; 16], 64)
            .udp(1, 2).write(&mut udp, &[7; 32]).unwrap();
        let mut kinds: Vec<u8> = chain.iter().map(|c| c.0).collect();
        kinds.extend(fragment.map(|_| 44));
        kinds.push(17);
        let mut extensions = Vec::new();
        for (n, (kind, length)) in chain.iter().enumerate() {
            // AH counts words of 4 bytes less 2, the others words of 8 bytes less 1.
            let size = if *kind == 51 { (usize::from(*length) + 2) * 4 }
                else { (usize::from(*length) + 1) * 8 };
            let mut header = vec![0; size];
            (header[0], header[1]) = (kinds[n + 1], *length);
            extensions.extend_from_slice(&header);
        }
        if let Some((offset, more)) = fragment {
            let word = (offset << 3 | u16::from(more)).to_be_bytes();
            extensions.extend_from_slice(&[17, 0, word[0], word[1], 0, 0, 0, 1]);
        }
        let mut bytes = udp[..40].to_vec();
        bytes[6] = kinds[0];
        let length = (extensions.len() + udp.len() - 40) as u16;
        bytes[4..6].copy_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(&extensions);
        bytes.extend_from_slice(&udp[40..]);

        let result = IpPacket::new_checked(&bytes);
        // AH of 8 or 16 bytes aligns the next header only to 4 bytes. We accept such a packet.
        let packet = result.unwrap();
        prop_assert_eq!(packet.ip_header_length(), 40 + extensions.len());
        prop_assert_eq!(packet.protocol(), 17);
        let (kind, ports) = match fragment {
            None | Some((0, false)) => (Fragment::Whole, Some((1, 2))),
            Some((0, true)) => (Fragment::First, Some((1, 2))),
            Some(_) => (Fragment::Later, None),
        };
        prop_assert_eq!((packet.fragment(), packet.ports()), (kind, ports));
        prop_assert_eq!(packet.identification(), fragment.map(|_| 1));
    }
}

/// The option is read behind any number of NOPs, so also behind the two that RFC 7323 §A recommends.
#[test]
fn time_stamps_are_read_at_any_alignment() {
    let stamps = |options: &[u8]| {
        let mut header = etherparse::TcpHeader::new(1, 2, 3, 4);
        header.set_options_raw(options).unwrap();
        let mut bytes = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp_header(header);
        builder.write(&mut bytes, &[]).unwrap();
        IpPacket::new_checked(&bytes).unwrap().tcp().unwrap().stamps()
    };
    const OPTION: [u8; 10] = [8, 10, 0, 1, 0, 2, 0, 3, 0, 4];
    let expected = Some((0x1_0002, 0x3_0004));
    for nops in 0..=30 {
        let options = [&vec![1; nops][..], &OPTION].concat();
        assert_eq!(stamps(&options), expected, "{nops}");
    }
    // Another option of the same length (SACK with one block) is not taken for it.
    let sack = [1, 1, 5, 10, 0, 0, 0, 9, 0, 0, 0, 10];
    assert_eq!(stamps(&[&sack[..], &[1, 1], &OPTION].concat()), expected);
    assert_eq!(stamps(&sack), None);
    // Cut short, or with a wrong length.
    assert_eq!(stamps(&[1, 1, 8, 10]), None);
    assert_eq!(stamps(&[1, 1, 8, 10, 0, 1, 0, 2]), None);
    assert_eq!(stamps(&[1, 1, 8, 9, 0, 1, 0, 2, 0, 3, 0, 4]), None);
}

/// Calls every method. If the view accepts bytes, etherparse finds the same IP header.
fn look_at_everything(bytes: &[u8]) {
    let Ok(packet) = IpPacket::new_checked(bytes) else { return };
    assert!(packet.length() <= bytes.len());
    assert!(packet.ip_header_length() + packet.payload_length() <= packet.length());
    let _ = (packet.is_local(), packet.ports(), packet.fragment());
    if let Some(tcp) = packet.tcp() {
        let _ = (tcp.seq(), tcp.ack_number(), tcp.ae(), tcp.cwr());
    }
    let mut copy = bytes.to_vec();
    let mut changed = IpPacket::new_checked(&mut copy).unwrap();
    changed.set_ce();
    assert_eq!(changed.ecn(), Ecn::Ce);
    let _ = (changed.strip_accecn(), changed.clear_ace(), changed.wash_dscp());
    changed.invert_bit((bytes.len() as u32).wrapping_mul(0x9e37_79b9));
    assert_eq!(IpPacket::new_checked(&copy).unwrap().ports(), packet.ports());
    let Ok(other) = LaxPacketHeaders::from_ip(packet.bytes()) else { return };
    match other.net {
        Some(NetHeaders::Ipv4(header, _)) => {
            assert_eq!(packet.version(), Version::V4);
            assert_eq!(header.ecn.value(), packet.ecn().bits());
            assert_eq!(usize::from(header.total_len), packet.length());
        }
        Some(NetHeaders::Ipv6(header, _)) => {
            assert_eq!(packet.version(), Version::V6);
            assert_eq!(40 + usize::from(header.payload_length), packet.length());
        }
        _ => return,
    }
    // The transport header is the same, if both found one.
    let ports = match other.transport {
        Some(TransportHeader::Tcp(tcp)) => (tcp.source_port, tcp.destination_port),
        Some(TransportHeader::Udp(udp)) => (udp.source_port, udp.destination_port),
        _ => return,
    };
    if let Some(ours) = packet.ports() {
        assert_eq!(ours, ports);
    }
}

#[test]
fn only_ip_is_ip() {
    assert_eq!(IpPacket::new_checked([0x10; 60]).unwrap_err(), Malformed::Version);
    // IPv4 with a header of 4 words, and with a total length below the header.
    let mut packet = [0u8; 20];
    packet[0] = 0x44;
    assert_eq!(IpPacket::new_checked(packet).unwrap_err(), Malformed::Length);
    packet[0] = 0x45;
    packet[3] = 19;
    assert_eq!(IpPacket::new_checked(packet).unwrap_err(), Malformed::Length);
}

#[test]
fn a_udp_length_that_lies_is_refused() {
    let mut bytes = Vec::new();
    PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .udp(1, 2)
        .write(&mut bytes, &[0; 9])
        .unwrap();
    bytes[24..26].copy_from_slice(&18u16.to_be_bytes());
    assert_eq!(IpPacket::new_checked(&bytes).unwrap_err(), Malformed::Cut);
    bytes[24..26].copy_from_slice(&7u16.to_be_bytes());
    assert_eq!(IpPacket::new_checked(&bytes).unwrap_err(), Malformed::Length);
    // In a first fragment the length is that of the whole datagram.
    bytes[24..26].copy_from_slice(&1000u16.to_be_bytes());
    bytes[6] = 0x20;
    let packet = IpPacket::new_checked(&bytes).unwrap();
    assert_eq!((packet.fragment(), packet.ports()), (Fragment::First, Some((1, 2))));
}
