//! Whatever passes, the table of flows does not panic, counts every packet once, and puts its columns in
//! order.
#![no_main]

use etherparse::{PacketBuilder, TcpHeader};
use l4s_flows::ip::IpPacket;
use l4s_flows::{Direction, Flows};
use l4s_units::{Bytes, Duration, Time};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

/// Any bytes, or a packet between one client and one server.
#[derive(Arbitrary, Debug)]
enum Contents {
    Any(Vec<u8>),
    Udp {
        begin: Vec<u8>,
        length: u16,
    },
    Tcp {
        seq: u32,
        ack: Option<u32>,
        syn: bool,
        fin: bool,
        rst: bool,
        options: Vec<u8>,
        length: u16,
    },
}

impl Contents {
    fn bytes(self, is_down: bool) -> Vec<u8> {
        let (client, server) = (([10, 0, 1, 1], 5000), ([10, 0, 0, 1], 443));
        let (from, to) = if is_down { (server, client) } else { (client, server) };
        let ip = PacketBuilder::ipv4(from.0, to.0, 64);
        let mut bytes = Vec::new();
        match self {
            Contents::Any(any) => bytes = any,
            Contents::Udp { begin: mut payload, length } => {
                payload.resize(usize::from(length % 2000), 0);
                ip.udp(from.1, to.1).write(&mut bytes, &payload).unwrap();
            }
            Contents::Tcp { seq, ack, syn, fin, rst, options, length } => {
                let mut header = TcpHeader::new(from.1, to.1, seq, 1000);
                (header.ack, header.acknowledgment_number) = (ack.is_some(), ack.unwrap_or(0));
                (header.syn, header.fin, header.rst) = (syn, fin, rst);
                header.set_options_raw(&options[..options.len().min(40)]).unwrap();
                let payload = vec![0; usize::from(length % 2000)];
                ip.tcp_header(header).write(&mut bytes, &payload).unwrap();
            }
        }
        bytes
    }
}

#[derive(Arbitrary, Debug)]
struct Passing {
    contents: Contents,
    is_down: bool,
    /// Segments on the link, less one.
    more: u8,
    /// Microseconds since the packet before.
    gap: u32,
    marked: bool,
    delay: u64,
}

fuzz_target!(|packets: Vec<Passing>| {
    let mut flows = Flows::new(8, 1);
    let (mut now, mut count) = (Time::ZERO, 0);
    for passing in packets {
        now += Duration::from_micros(passing.gap.into());
        let direction = if passing.is_down { Direction::Down } else { Direction::Up };
        let bytes = passing.contents.bytes(passing.is_down);
        let segments = u16::from(passing.more) + 1;
        let flow = match IpPacket::new_checked(&bytes[..]) {
            Ok(packet) => {
                count += u64::from(segments);
                flows.observe(&packet, direction, segments, now)
            }
            Err(_) => {
                count += 1;
                flows.observe_malformed(direction, bytes.len(), now)
            }
        };
        if passing.marked {
            flows.marked(flow, segments);
        }
        flows.departed(flow, segments, Bytes::new(1), Duration::from_nanos(passing.delay));
    }
    let mut counted = 0;
    for row in flows.rows() {
        counted += row.down_packets + row.up_packets;
        assert!(row.start_s <= row.end_s);
        assert!(row.retransmits.unwrap_or(0) <= row.down_packets);
        assert!(row.up_retransmits.unwrap_or(0) <= row.up_packets);
        assert!(row.rtt_min_ms <= row.rtt_mean_ms && row.rtt_mean_ms <= row.rtt_max_ms);
        assert!(row.delay_p50_ms <= row.delay_p99_ms && row.delay_p99_ms <= row.delay_max_ms);
    }
    assert_eq!(counted, count);
});
