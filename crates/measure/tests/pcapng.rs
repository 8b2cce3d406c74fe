//! The packet trace, as a reader decodes it.

mod support;

use std::process::Command;

use etherparse::{NetHeaders, PacketHeaders, TcpOptionReadError, TransportHeader};
use l4s_aqm::{DropCause, MarkCause, Queue};
use l4s_measure::{PacketTrace, Snap};
use l4s_model::{FlowId, SourceId};
use l4s_observe::{Contents, EcnFlags, Header, Observer, Tcp, Traced};
use l4s_units::{Bytes, Duration, Ecn, Time};
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

/// A client's packet arrives at its server.
fn answer(trace: &mut impl Observer<Packet>, packet: &Packet, now: Time) {
    trace.answered(packet, now);
}

/// A few packets of every kind: handshake, data, a mark, drops, answers, UDP.
fn everything(snap: Snap) -> Vec<u8> {
    let mut trace = new(snap);
    let tcp = |seq, payload, ecn, group| Packet {
        header: Header::Tcp(Tcp { seq, ack: Some(1), payload, stamps: STAMPS, ..Tcp::default() }),
        length: u64::from(payload) + 52,
        ecn,
        ..packet(u32::from(group), group)
    };
    let with = |packet: Packet, change: &dyn Fn(&mut Tcp)| {
        let Header::Tcp(mut tcp) = packet.header else { panic!("TCP") };
        change(&mut tcp);
        Packet { header: Header::Tcp(tcp), ..packet }
    };
    let syn = tcp(0, 0, Ecn::NotEct, 0);
    let ack = |ack| with(tcp(1, 0, Ecn::NotEct, 0), &move |tcp| tcp.ack = Some(ack));
    answer(&mut trace, &with(syn, &|tcp| (tcp.syn, tcp.ack) = (true, None)), at(10));
    forward(&mut trace, with(syn, &|tcp| tcp.syn = true), Queue::C, 0.0, at(10));
    answer(&mut trace, &ack(1), at(20));
    for i in 0..20 {
        forward(&mut trace, tcp(1 + 1448 * i, 1448, Ecn::Ect1, 0), Queue::L, 0.5, at(20 + i));
        // Close to the wrap of the sequence number.
        let far = (1 << 32) - 5000;
        forward(&mut trace, tcp(far + 1448 * i, 1448, Ecn::Ect0, 1), Queue::C, 0.5, at(20 + i));
        let header = Header::Udp { payload: 1472, number: i };
        let data = Packet { header, length: 1500, ..packet(3, 300) };
        forward(&mut trace, data, Queue::C, 0.5, at(20 + i));
    }
    let data = tcp(28_961, 1448, Ecn::Ect1, 0);
    trace.arrived(&data, at(50));
    let data = Packet { ecn: Ecn::Ce, ..data };
    trace.marked(&data, Queue::L, MarkCause::Step, at(51));
    trace.departed(&data, Queue::L, ms(1), at(51));
    let lost = tcp(30_409, 1448, Ecn::Ect1, 0);
    trace.arrived(&lost, at(52));
    trace.dropped(&lost, Queue::L, DropCause::Overload, at(53));
    let last = with(tcp(31_857, 0, Ecn::Ect1, 0), &|tcp| tcp.fin = true);
    forward(&mut trace, last, Queue::L, 0.0, at(60));
    let last = with(ack(30_409), &|tcp| {
        tcp.sacks = [(31_857, 31_858), (0, 0), (0, 0)];
        tcp.accecn = Some([1, 1448, 1]);
    });
    answer(&mut trace, &last, at(70));
    trace.finish().unwrap()
}

const STAMPS: Option<(u32, u32)> = Some((10, 10));

#[test]
fn a_packet_is_written_once_as_it_left_at_the_time_of_its_arrival() {
    let mut trace = new(Snap::Headers);
    let p = packet(5, 1);
    let (arrival, sojourn) = (Time::from_nanos(1_234_567_891), Duration::from_nanos(333));
    trace.arrived(&p, arrival);
    let p = Packet { ecn: Ecn::Ce, ..p };
    trace.marked(&p, Queue::C, MarkCause::Classic, arrival);
    trace.departed(&p, Queue::C, sojourn, arrival + sojourn);
    let found = packets(&trace.finish().unwrap());
    let [seen] = found.as_slice() else { panic!("one packet") };
    assert_eq!(seen.interface_id, 0);
    assert_eq!(seen.timestamp.as_nanos(), 1_234_567_891);
    assert_eq!(comment(seen).as_deref(), Some("marked: classic, queue C"));
    assert_eq!(seen.data[15] & 0b11, Ecn::Ce.bits());
    // 66 of 1514 B are kept: headers of 14, 20 and 32 B.
    assert_eq!((seen.data.len(), seen.original_len), (66, 1514));
}

#[test]
fn a_drop_says_why() {
    let found = packets(&everything(Snap::Headers));
    let dropped: Vec<_> = found.iter().filter(|p| p.interface_id == 1).collect();
    assert_eq!(dropped.len(), 1);
    assert_eq!(comment(dropped[0]).as_deref(), Some("dropped: overload, queue L"));
    assert_eq!(dropped[0].timestamp.as_millis(), 52);
}

#[test]
fn a_packet_that_a_radio_lost_was_sent_first() {
    let mut trace = new(Snap::Headers);
    let sent = packet(0, 0);
    forward(&mut trace, sent, Queue::C, 1.0, at(10));
    trace.dropped(&sent, Queue::C, DropCause::Radio, at(15));
    let found = packets(&trace.finish().unwrap());
    let seen: Vec<_> =
        found.iter().map(|p| (p.interface_id, p.timestamp.as_millis(), comment(p))).collect();
    let lost = Some("dropped: radio, queue C".to_owned());
    assert_eq!(seen, [(0, 9, None), (1, 15, lost)]);
}

/// Two queues: the packet that arrived first leaves last, and acknowledgements come in between.
#[test]
fn packets_are_written_in_order_of_arrival() {
    let mut trace = new(Snap::Headers);
    for flow in 0..3 {
        trace.arrived(&packet(flow, 0), at(flow.into()));
    }
    answer(&mut trace, &packet(3, 0), at(3));
    for flow in [1, 2, 0] {
        trace.departed(&packet(flow, 0), Queue::C, ms(4), at(4));
    }
    answer(&mut trace, &packet(4, 0), at(5));
    // A packet that is still queued at the end.
    trace.arrived(&packet(5, 0), at(6));
    let found = packets(&trace.finish().unwrap());
    let seen = found.iter().map(|p| (p.interface_id, p.timestamp.as_millis()));
    let expected = [(0, 0), (0, 1), (0, 2), (2, 3), (2, 5), (0, 6)];
    assert_eq!(seen.collect::<Vec<_>>(), expected);
    // A client's packet has the opposite direction.
    let ends = |p: &EnhancedPacketBlock<'_>| [p.data[26..30].to_vec(), p.data[30..34].to_vec()];
    let [down, up] = [ends(&found[0]), ends(&found[3])];
    assert_eq!((&down[0], &down[1]), (&up[1], &up[0]));
}

/// A real packet of 60 kB.
struct Large(Vec<u8>);

impl l4s_aqm::Packet for Large {
    fn size(&self) -> Bytes {
        Bytes::new(60_000)
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ce(&mut self) {}
    fn flow_hash(&self) -> u32 {
        0
    }
}

impl Traced for Large {
    fn flow(&self) -> FlowId {
        FlowId::new(0)
    }
    fn group(&self) -> SourceId {
        SourceId::new(0)
    }
    fn ip_length(&self) -> Bytes {
        Bytes::new(60_000)
    }
    fn arrived_ce(&self) -> bool {
        false
    }
    fn contents(&self) -> Contents<'_> {
        Contents::Bytes(&self.0)
    }
}

#[test]
fn a_packet_whose_fate_nobody_tells_does_not_hold_up_the_others_for_ever() {
    let mut trace = PacketTrace::new(Vec::new(), Snap::Packet).unwrap();
    let [forgotten, other] = [Large(vec![0; 60_000]), Large(vec![0; 60_000])];
    trace.arrived(&forgotten, at(0));
    // 64 MiB are 1118 of them.
    for n in 1..2000 {
        trace.arrived(&other, at(n));
        trace.departed(&other, Queue::C, ms(0), at(n));
    }
    // Its fate is known at the end, but too late.
    trace.dropped(&forgotten, Queue::C, DropCause::Aqm, at(2000));
    let found = packets(&trace.finish().unwrap());
    assert_eq!(found.len(), 2000);
    assert!(found.is_sorted_by_key(|packet| packet.timestamp));
    assert!(found.iter().all(|packet| packet.interface_id == 0));
}

#[test]
fn options_are_in_the_form_and_order_of_linux() {
    let options = |tcp: Tcp| {
        let mut trace = new(Snap::Headers);
        let header = Header::Tcp(Tcp { stamps: STAMPS, ..tcp });
        answer(&mut trace, &Packet { header, ..packet(0, 0) }, at(0));
        let found = packets(&trace.finish().unwrap());
        let headers = PacketHeaders::from_ethernet_slice(&found[0].data).unwrap();
        let Some(TransportHeader::Tcp(tcp)) = headers.transport else { panic!("TCP") };
        tcp.options.as_slice().to_vec()
    };
    let stamps = [8, 10, 0, 0, 0, 10, 0, 0, 0, 10];
    let syn = options(Tcp { syn: true, mss: Some(1460), ..Tcp::default() });
    assert_eq!(syn, [&[2, 4, 5, 180, 4, 2][..], &stamps, &[1, 3, 3, 14]].concat());
    assert_eq!(options(Tcp::default()), [&[1, 1][..], &stamps].concat());
    // Three counters of 24 bits, and fewer of them beside blocks of SACK (RFC 9768 §3.2.3).
    let accecn = Some([0x0102_0304, 5, 6]);
    let counters = [2, 3, 4, 0, 0, 5, 0, 0, 6];
    for (blocks, fields) in [(0, 3), (1, 3), (2, 2), (3, 0)] {
        let mut sacks = [(0, 0); 3];
        sacks[..blocks].fill((7, 8));
        let option = match fields {
            0 => vec![],
            _ => [&[174, 2 + 3 * fields as u8], &counters[..3 * fields]].concat(),
        };
        let padding = vec![1; option.len().next_multiple_of(4) - option.len()];
        let sack = match blocks {
            0 => vec![],
            _ => [&[1, 1, 5, 2 + 8 * blocks as u8][..], &[0, 0, 0, 7, 0, 0, 0, 8].repeat(blocks)]
                .concat(),
        };
        let expected = [&[1, 1][..], &stamps, &option, &padding, &sack].concat();
        assert_eq!(options(Tcp { sacks, accecn, ..Tcp::default() }), expected, "{blocks} blocks");
    }
}

/// 64 KiB are 65,536 in a SYN, whose window is not scaled, and four times 16 KiB later.
#[test]
fn the_window_is_scaled_and_rounded_up() {
    for (syn, window, expected) in [
        (true, 64_240, 64_240),
        (true, 1 << 20, 65_535),
        (false, 64_240, 4),
        (false, 65_536, 4),
        (false, 65_537, 5),
        (false, 1 << 40, 65_535),
    ] {
        let mut trace = new(Snap::Headers);
        let header = Header::Tcp(Tcp { syn, window, ..Tcp::default() });
        answer(&mut trace, &Packet { header, ..packet(0, 0) }, at(0));
        let found = packets(&trace.finish().unwrap());
        let field = u16::from_be_bytes([found[0].data[48], found[0].data[49]]);
        assert_eq!(field, expected, "{window}");
    }
}

#[test]
fn the_same_packets_give_the_same_bytes() {
    assert!(everything(Snap::Packet) == everything(Snap::Packet));
}

/// The fields of a packet that tshark prints.
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
            // 0: bad, 1: good, 2: not verified. A checksum over a payload that is not kept
            // cannot be verified.
            let transport = format!("{tcp}{udp}");
            assert!(ip == "1" && transport != "0" && malformed.is_empty(), "{row:?}");
            assert!(snap == Snap::Headers || transport == "1", "{row:?}");
        }
        let with = |start: &str| -> Vec<_> {
            let rows = rows.iter().filter(|row| row[1].starts_with(start));
            rows.map(|row| row[..5].join(" ")).collect()
        };
        assert_eq!(with("drop"), ["drop dropped: overload, queue L 0.052000000 10.0.0.1 1"]);
        assert_eq!(with("mark"), ["down marked: step, queue L 0.050000000 10.0.0.1 3"]);
        // Group 300 = 256 + 44 has the next pair of networks, in 10.44.
        assert!(rows.iter().any(|row| row[3] == "10.44.2.1"));
    }
}

fn any_packet() -> impl Strategy<Value = Packet> {
    let stamps = proptest::option::of(any::<(u32, u32)>());
    let numbers = any::<(u64, Option<u64>, u64)>();
    let sacks = any::<[(u64, u64); 3]>();
    let options = any::<(Option<[u32; 3]>, Option<u16>)>();
    let tcp = (numbers, any::<u32>(), any::<[bool; 3]>(), 0..8_u8, stamps, sacks, options);
    let tcp = tcp.prop_map(|(numbers, payload, [syn, fin, push], ace, stamps, sacks, options)| {
        let (accecn, mss) = options;
        let (seq, ack, window) = numbers;
        let flags = EcnFlags::of_ace(ace);
        Header::Tcp(Tcp {
            seq,
            ack,
            payload,
            syn,
            fin,
            push,
            flags,
            window,
            stamps,
            sacks,
            accecn,
            mss,
        })
    });
    let udp =
        (any::<u32>(), any::<u64>()).prop_map(|(payload, number)| Header::Udp { payload, number });
    (any::<u32>(), any::<u16>(), 0..4_u8, any::<bool>(), prop_oneof![tcp, udp]).prop_map(
        |(flow, group, ecn, arrived_ce, header)| {
            let ecn = Ecn::from_bits(ecn);
            Packet { flow, group, length: 0, ecn, arrived_ce, header }
        },
    )
}

proptest! {
    /// For any packet of a substrate, a valid packet is written, and its ECN field is right.
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
            let payload = headers.payload.slice();
            // The payload has the given length, if a packet can have it.
            let (Header::Tcp(Tcp { payload: told, .. }) | Header::Udp { payload: told, .. }) = sent.header;
            let room = 65_535 - (ip.total_len as usize - payload.len());
            prop_assert_eq!(payload.len(), (told as usize).min(room));
            match headers.transport.unwrap() {
                TransportHeader::Tcp(tcp) => {
                    let Header::Tcp(Tcp { flags, .. }) = sent.header else { panic!("TCP") };
                    let found = EcnFlags { ae: tcp.ns, cwr: tcp.cwr, ece: tcp.ece };
                    prop_assert_eq!((found, found.ace()), (flags, flags.ace()));
                    prop_assert_eq!(tcp.checksum, tcp.calc_checksum_ipv4(ip, payload).unwrap());
                    // etherparse does not support the option of AccECN.
                    let is_known = |read| matches!(read, Ok(_) | Err(TcpOptionReadError::UnknownId(174)));
                    prop_assert!(tcp.options_iterator().all(is_known));
                }
                TransportHeader::Udp(udp) => {
                    prop_assert_eq!(udp.checksum, udp.calc_checksum_ipv4(ip, payload).unwrap());
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
