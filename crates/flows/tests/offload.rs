//! What is cut as a network card does it is what TCP would have sent; and what is joined can be cut again.

use etherparse::{NetHeaders, PacketBuilder, PacketHeaders, TcpHeader, TransportHeader};
use l4s_flows::ip::{Cut, IpPacket, Joined, Version, complete_checksum};
use proptest::prelude::*;

/// A packet of TCP, or of UDP where it has no TCP header.
#[derive(Clone, Debug)]
struct Made {
    ipv6: bool,
    tos: u8,
    tcp: Option<TcpHeader>,
    payload: Vec<u8>,
}

impl Made {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let builder = if self.ipv6 {
            let address = |last| [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
            PacketBuilder::ipv6(address(1), address(2), 64)
        } else {
            PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 1, 1], 64)
        };
        match self.tcp.clone() {
            Some(tcp) => builder.tcp_header(tcp).write(&mut bytes, &self.payload).unwrap(),
            None => builder.udp(4000, 5000).write(&mut bytes, &self.payload).unwrap(),
        }
        if self.ipv6 {
            bytes[0] |= self.tos >> 4;
            bytes[1] |= self.tos << 4;
        } else {
            bytes[1] = self.tos;
            let sum = etherparse::Ipv4Header::from_slice(&bytes).unwrap().0.calc_header_checksum();
            bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        bytes
    }
}

fn tcp() -> impl Strategy<Value = TcpHeader> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (any::<u32>(), any::<u32>(), any::<u16>(), flags, any::<bool>()).prop_map(
        |(seq, ack, window, (psh, fin, cwr, ece), stamps)| {
            let mut header = TcpHeader::new(443, 50_000, seq, window);
            (header.ack, header.acknowledgment_number) = (true, ack);
            (header.psh, header.fin, header.cwr, header.ece) = (psh, fin, cwr, ece);
            if stamps {
                use etherparse::TcpOptionElement::{Noop, Timestamp};
                header.set_options(&[Noop, Noop, Timestamp(7, 9)]).unwrap();
            }
            header
        },
    )
}

fn made() -> impl Strategy<Value = Made> {
    let payload = prop::collection::vec(any::<u8>(), 1..9000);
    (any::<bool>(), any::<u8>(), prop::option::weighted(0.8, tcp()), payload)
        .prop_map(|(ipv6, tos, tcp, payload)| Made { ipv6, tos, tcp, payload })
}

/// The packets that it is cut to.
fn cut(bytes: &[u8], size: usize) -> Vec<Vec<u8>> {
    let packet = IpPacket::new_checked(bytes).unwrap();
    let mut buffer = vec![0; 70_000];
    let one = |number| packet.segment(size, number, &mut buffer).map(|n| buffer[..n].to_vec());
    (0..).map_while(one).collect()
}

/// Checks the lengths and checksums of a packet, and gives its transport header and payload.
fn checked(bytes: &[u8]) -> (TransportHeader, Vec<u8>) {
    let headers = PacketHeaders::from_ip_slice(bytes).unwrap();
    let payload = headers.payload.slice().to_vec();
    let transport = headers.transport.unwrap();
    let expected = match (headers.net.unwrap(), &transport) {
        (NetHeaders::Ipv4(ip, _), transport) => {
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            assert_eq!(usize::from(ip.total_len), bytes.len());
            match transport {
                TransportHeader::Tcp(tcp) => tcp.calc_checksum_ipv4(&ip, &payload),
                TransportHeader::Udp(udp) => udp.calc_checksum_ipv4(&ip, &payload),
                _ => unreachable!(),
            }
        }
        (NetHeaders::Ipv6(ip, _), transport) => {
            assert_eq!(usize::from(ip.payload_length) + 40, bytes.len());
            match transport {
                TransportHeader::Tcp(tcp) => tcp.calc_checksum_ipv6(&ip, &payload),
                TransportHeader::Udp(udp) => udp.calc_checksum_ipv6(&ip, &payload),
                _ => unreachable!(),
            }
        }
        _ => unreachable!(),
    };
    let found = match &transport {
        TransportHeader::Tcp(tcp) => tcp.checksum,
        TransportHeader::Udp(udp) => udp.checksum,
        _ => unreachable!(),
    };
    // Two zeros of a sum in ones' complement are the same.
    assert_eq!(found % 0xffff, expected.unwrap() % 0xffff);
    (transport, payload)
}

proptest! {
    #[test]
    fn what_is_cut_is_what_would_have_been_sent(made in made(), size in 1usize..3000) {
        let segments = cut(&made.bytes(), size);
        prop_assert_eq!(segments.len(), made.payload.len().div_ceil(size));
        let mut payload = Vec::new();
        for (number, segment) in segments.iter().enumerate() {
            let (is_first, is_last) = (number == 0, number + 1 == segments.len());
            let (transport, part) = checked(segment);
            prop_assert!(part.len() == size || is_last);
            if let (TransportHeader::Tcp(tcp), Some(whole)) = (transport, &made.tcp) {
                let sequence = whole.sequence_number.wrapping_add(payload.len() as u32);
                prop_assert_eq!(tcp.sequence_number, sequence);
                prop_assert_eq!((tcp.fin, tcp.psh), (whole.fin && is_last, whole.psh && is_last));
                prop_assert_eq!((tcp.cwr, tcp.ece), (whole.cwr && is_first, whole.ece));
                prop_assert_eq!(tcp.acknowledgment_number, whole.acknowledgment_number);
                prop_assert_eq!((tcp.window_size, &tcp.options), (whole.window_size, &whole.options));
            }
            payload.extend(part);
        }
        prop_assert_eq!(payload, made.payload);
    }

    /// Packets of one connection with whatever headers, in whatever order: joined and cut again they are the same.
    #[test]
    fn what_is_joined_can_be_cut_again(
        mut tcp in tcp(), ipv6 in any::<bool>(),
        parts in prop::collection::vec((1usize..4, 0u8..20, 0u32..12, 0u8..12), 1..80),
    ) {
        let mut sequence = tcp.sequence_number;
        let mut packets = Vec::new();
        for (length, tos, gap, psh) in parts {
            // Most are of one length, follow each other, and have the same headers.
            let length = if length > 1 { 1200 } else { 700 };
            sequence = sequence.wrapping_add(u32::from(gap == 0));
            tcp.sequence_number = sequence;
            (tcp.psh, tcp.fin) = (psh == 0, false);
            let tos = if tos < 3 { tos + 1 } else { 2 };
            let payload = (0..length).map(|n| n as u8).collect();
            packets.push(Made { ipv6, tos, tcp: Some(tcp.clone()), payload }.bytes());
            sequence = sequence.wrapping_add(length);
        }
        let mut again: Vec<Vec<u8>> = Vec::new();
        let take = |joined: &mut Joined, again: &mut Vec<Vec<u8>>| {
            let (bytes, how) = joined.finish();
            match how {
                None => again.push(bytes.to_vec()),
                Some(Cut { version, size, transport, headers }) => {
                    assert_eq!(version == Version::V6, ipv6);
                    let packet = IpPacket::new_checked(bytes).unwrap();
                    assert_eq!(packet.ip_header_length(), transport);
                    assert_eq!(packet.headers_length(), Some(headers));
                    // As the receiver's kernel sees it: the rest of the sum makes the checksum right.
                    let mut whole = bytes.to_vec();
                    assert!(complete_checksum(&mut whole, transport, 16));
                    checked(&whole);
                    again.extend(cut(bytes, size));
                }
            }
        };
        let mut joined = Joined::default();
        let mut any = false;
        for bytes in &packets {
            let packet = IpPacket::new_checked(&bytes[..]).unwrap();
            if any && joined.is_of_connection(&packet) && joined.push(&packet) {
                continue;
            }
            if std::mem::take(&mut any) {
                take(&mut joined, &mut again);
            }
            any = joined.begin(&packet);
            if !any {
                // A mark of congestion, or CWR.
                let carries = packet.ecn().is_ce() || packet.tcp().unwrap().cwr();
                prop_assert!(carries);
                let mut alone = Joined::default();
                prop_assert!(!alone.begin(&packet));
                again.push(bytes.clone());
            }
        }
        if any {
            take(&mut joined, &mut again);
        }
        // The two zeros of a checksum of TCP are the same: a card writes the one, etherparse the other.
        let transport = if ipv6 { 40 } else { 20 };
        for bytes in again.iter_mut().chain(&mut packets) {
            let checksum = &mut bytes[transport + 16..transport + 18];
            if checksum == [0, 0] {
                checksum.fill(0xff);
            }
        }
        // Identifications count up from the first packet's, where the sender had them all alike.
        for bytes in again.iter_mut().filter(|_| !ipv6) {
            bytes[4..6].fill(0);
            let sum = etherparse::Ipv4Header::from_slice(bytes).unwrap().0.calc_header_checksum();
            bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        prop_assert_eq!(again, packets);
    }
}

/// Forty packets that follow each other become one, and not more than a length field can say.
#[test]
fn a_train_becomes_one_packet_of_at_most_64_kib() {
    let mut joined = Joined::default();
    let mut tcp = TcpHeader::new(443, 50_000, u32::MAX - 5000, 1000);
    tcp.ack = true;
    let mut lengths = Vec::new();
    for number in 0..100 {
        let payload = vec![number; 1448];
        let bytes = Made { ipv6: false, tos: 1, tcp: Some(tcp.clone()), payload }.bytes();
        let packet = IpPacket::new_checked(&bytes[..]).unwrap();
        if number == 0 || !joined.push(&packet) {
            if number > 0 {
                lengths.push(joined.finish().0.len());
            }
            assert!(joined.begin(&packet));
        }
        tcp.sequence_number = tcp.sequence_number.wrapping_add(1448);
    }
    // 40 bytes of headers and 45 payloads.
    assert_eq!(lengths, [40 + 45 * 1448; 2]);
}
