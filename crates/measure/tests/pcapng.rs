//! The packet trace: what a reader finds in it.

mod support;

use std::process::Command;

use etherparse::{NetHeaders, PacketHeaders, TcpOptionElement, TransportHeader};
use l4s_aqm::{DropCause, MarkCause, Queue};
use l4s_measure::{PacketTrace, Snap};
use l4s_observe::{EcnFlags, Header, Observer};
use l4s_units::{Duration, Ecn, Time};
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::{Block, PcapNgReader};
use proptest::prelude::*;
use support::*;

/// The packets of a trace.
fn packets(trace: &[u8]) -> Vec<EnhancedPacketBlock<'static>> {
    let mut reader = PcapNgReader::new(trace).unwrap();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap().into_owned() {
            packets.push(packet);
        }
    }
    packets
}

fn comment(packet: &EnhancedPacketBlock<'_>) -> Option<String> {
    packet.options.iter().find_map(|option| match option {
        EnhancedPacketOption::Comment(text) => Some(text.to_string()),
        _ => None,
    })
}

fn new(snap: Snap) -> PacketTrace<Vec<u8>> {
    PacketTrace::new(Vec::new(), snap).unwrap()
}

/// A few packets of every kind: handshake, data, a mark, drops, UDP.
fn everything(snap: Snap) -> Vec<u8> {
    let mut trace = new(snap);
    let tcp = |seq, payload, length, syn, fin, ecn, group| Packet {
        header: Header::Tcp {
            seq,
            ack: 1,
            payload,
            syn,
            fin,
            flags: EcnFlags { ece: fin, cwr: syn, ae: false },
            stamps: None,
        },
        length,
        ecn,
        ..packet(u32::from(group), group)
    };
    forward(&mut trace, tcp(0, 0, 60, true, false, Ecn::NotEct, 0), Queue::C, 0.0, at(10));
    for i in 0..20 {
        let data = tcp(1 + 1448 * i, 1448, 1500, false, false, Ecn::Ect1, 0);
        forward(&mut trace, data, Queue::L, 0.5, at(20 + i));
        // Close to the wrap of the sequence number.
        let far = (1 << 32) - 5000;
        let data = tcp(far + 1448 * i, 1448, 1488, false, false, Ecn::Ect0, 1);
        forward(&mut trace, data, Queue::C, 0.5, at(20 + i));
        let header = Header::Udp { payload: 1472, number: i };
        let data = Packet { header, length: 1500, ..packet(3, 300) };
        forward(&mut trace, data, Queue::C, 0.5, at(20 + i));
    }
    let data = tcp(40_000, 1448, 1500, false, false, Ecn::Ect1, 0);
    trace.arrived(&data, at(50));
    let data = Packet { ecn: Ecn::Ce, ..data };
    trace.marked(&data, Queue::L, MarkCause::Step, at(51));
    trace.departed(&data, Queue::L, ms(1), at(51));
    let lost = tcp(41_448, 1448, 1500, false, false, Ecn::Ect1, 0);
    trace.arrived(&lost, at(52));
    trace.dropped(&lost, Queue::L, DropCause::Overload, at(53));
    forward(&mut trace, tcp(42_896, 0, 52, false, true, Ecn::Ect1, 0), Queue::L, 0.0, at(60));
    trace.finish().unwrap()
}

#[test]
fn a_packet_is_seen_in_and_out_with_its_time_and_its_ecn_field() {
    let mut trace = new(Snap::Headers);
    let p = packet(5, 1);
    let (arrival, sojourn) = (Time::from_nanos(1_234_567_891), Duration::from_nanos(333));
    trace.arrived(&p, arrival);
    let p = Packet { ecn: Ecn::Ce, ..p };
    trace.marked(&p, Queue::C, MarkCause::Classic, arrival);
    trace.departed(&p, Queue::C, sojourn, arrival + sojourn);
    let found = packets(&trace.finish().unwrap());
    let [on_in, on_out] = found.as_slice() else { panic!("two packets") };
    assert_eq!((on_in.interface_id, on_out.interface_id), (0, 1));
    assert_eq!(on_in.timestamp.as_nanos(), 1_234_567_891);
    assert_eq!(on_out.timestamp.as_nanos(), 1_234_568_224);
    assert_eq!(comment(on_in), None);
    assert_eq!(comment(on_out).as_deref(), Some("marked: classic, queue C"));
    let ecn = |p: &EnhancedPacketBlock<'_>| p.data[15] & 0b11;
    assert_eq!((ecn(on_in), ecn(on_out)), (Ecn::Ect1.bits(), Ecn::Ce.bits()));
    // 14 B + 20 B + 32 B of headers are kept of 1514 B.
    assert_eq!((on_in.data.len(), on_in.original_len), (66, 1514));
    // Beside the ECN field and the checksum of its header, it is the same packet.
    assert_eq!(on_in.data[26..], on_out.data[26..]);
}

#[test]
fn a_drop_says_why() {
    let found = packets(&everything(Snap::Headers));
    let dropped: Vec<_> = found.iter().filter(|p| p.interface_id == 2).collect();
    assert_eq!(dropped.len(), 1);
    assert_eq!(comment(dropped[0]).as_deref(), Some("dropped: overload, queue L"));
}

#[test]
fn a_full_segment_has_timestamps_and_a_syn_ack_what_linux_offers() {
    let found = packets(&everything(Snap::Packet));
    let options = |i: usize| {
        let headers = PacketHeaders::from_ethernet_slice(&found[i].data).unwrap();
        let Some(TransportHeader::Tcp(tcp)) = headers.transport else { panic!("TCP") };
        tcp.options_iterator().map(Result::unwrap).collect::<Vec<_>>()
    };
    use TcpOptionElement::*;
    assert_eq!(
        options(0),
        [
            MaximumSegmentSize(1460),
            SelectiveAcknowledgementPermitted,
            Timestamp(10, 10),
            Noop,
            WindowScale(7),
        ]
    );
    assert!(matches!(options(2)[..], [Noop, Noop, Timestamp(..)]));
    // 1488 B with 1448 B of payload leave no room for options.
    assert!(options(4).is_empty());
}

#[test]
fn the_same_packets_give_the_same_bytes() {
    assert!(everything(Snap::Packet) == everything(Snap::Packet));
}

/// What tshark says of a packet.
const FIELDS: [&str; 9] = [
    "frame.interface_name",
    "frame.comment",
    "frame.time_epoch",
    "ip.src",
    "ip.dsfield.ecn",
    "ip.checksum.status",
    "tcp.checksum.status",
    "udp.checksum.status",
    "_ws.malformed",
];

#[test]
fn tshark_reads_every_packet_and_finds_nothing_wrong() {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("SKIPPED: tshark is not installed (apt-get install tshark)");
        return;
    }
    for snap in [Snap::Headers, Snap::Packet] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.pcapng");
        let trace = everything(snap);
        std::fs::write(&path, &trace).unwrap();
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(&path).args(["-T", "fields", "-E", "separator=|"]);
        for layer in ["ip", "tcp", "udp"] {
            tshark.args(["-o", &format!("{layer}.check_checksum:TRUE")]);
        }
        FIELDS.iter().for_each(|field| {
            tshark.args(["-e", field]);
        });
        let output = tshark.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('|').collect()).collect();
        assert_eq!(rows.len(), packets(&trace).len());
        for row in &rows {
            let [_, _, _, _, _, ip, tcp, udp, malformed] = row[..] else { panic!("{row:?}") };
            // 0: bad, 1: good, 2: not verified. The checksum over a payload that is not kept
            // cannot be verified.
            let transport = format!("{tcp}{udp}");
            assert!(ip == "1" && transport != "0" && malformed.is_empty(), "{row:?}");
            assert!(snap == Snap::Headers || transport == "1", "{row:?}");
        }
        let with = |start: &str| -> Vec<_> {
            let rows = rows.iter().filter(|row| row[1].starts_with(start));
            rows.map(|row| row[..5].join(" ")).collect()
        };
        assert_eq!(with("drop"), ["drop dropped: overload, queue L 0.053000000 10.0.0.1 1"]);
        assert_eq!(with("mark"), ["out marked: step, queue L 0.051000000 10.0.0.1 3"]);
        // Group 300 = 256 + 44 has the next pair of networks of 10.44.
        assert!(rows.iter().any(|row| row[3] == "10.44.2.1"));
    }
}

fn any_packet() -> impl Strategy<Value = Packet> {
    let stamps = proptest::option::of(any::<(u32, u32)>());
    let tcp = (any::<u64>(), any::<u64>(), any::<u32>(), any::<[bool; 2]>(), 0..8_u8, stamps);
    let tcp = tcp.prop_map(|(seq, ack, payload, [syn, fin], ace, stamps)| Header::Tcp {
        seq,
        ack,
        payload,
        syn,
        fin,
        flags: EcnFlags::of_ace(ace),
        stamps,
    });
    let udp =
        (any::<u32>(), any::<u64>()).prop_map(|(payload, number)| Header::Udp { payload, number });
    let length = prop_oneof![0..200_u64, 0..3000_u64, any::<u64>()];
    (any::<u32>(), any::<u16>(), length, 0..4_u8, any::<bool>(), prop_oneof![tcp, udp]).prop_map(
        |(flow, group, length, ecn, arrived_ce, header)| Packet {
            flow,
            group,
            length,
            ecn: Ecn::from_bits(ecn),
            arrived_ce,
            header,
        },
    )
}

proptest! {
    /// Whatever a substrate says of a packet, a valid packet is written, whose ECN field is right.
    #[test]
    fn every_packet_is_a_valid_packet(sent in proptest::collection::vec(any_packet(), 1..20)) {
        let mut trace = new(Snap::Packet);
        for (i, packet) in sent.iter().enumerate() {
            trace.arrived(packet, at(i as u64));
        }
        let trace = trace.finish().unwrap();
        let found = packets(&trace);
        prop_assert_eq!(found.len(), sent.len());
        for (found, sent) in found.iter().zip(&sent) {
            let headers = PacketHeaders::from_ethernet_slice(&found.data).unwrap();
            let Some(NetHeaders::Ipv4(ip, _)) = &headers.net else { panic!("IPv4") };
            prop_assert_eq!(ip.ecn.value(), sent.ecn.bits());
            prop_assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            prop_assert_eq!(usize::from(ip.total_len) + 14, found.data.len());
            // The length is as told, where a packet can have it.
            let least = if matches!(sent.header, Header::Tcp { .. }) { 40 } else { 28 };
            prop_assert_eq!(u64::from(ip.total_len), sent.length.clamp(least, 65_535));
            let payload = headers.payload.slice();
            match headers.transport.unwrap() {
                TransportHeader::Tcp(tcp) => {
                    let Header::Tcp { flags, .. } = sent.header else { panic!("TCP") };
                    let found = EcnFlags { ae: tcp.ns, cwr: tcp.cwr, ece: tcp.ece };
                    prop_assert_eq!((found, found.ace()), (flags, flags.ace()));
                    prop_assert_eq!(tcp.checksum, tcp.calc_checksum_ipv4(ip, payload).unwrap());
                    prop_assert!(tcp.options_iterator().all(|option| option.is_ok()));
                }
                TransportHeader::Udp(udp) => {
                    prop_assert_eq!(udp.checksum, udp.calc_checksum_ipv4(ip, payload).unwrap());
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
