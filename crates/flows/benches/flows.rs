//! What a packet costs: reading its headers, and finding and measuring its flow.

// `criterion_group!` makes functions that have none.
#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use etherparse::{PacketBuilder, TcpHeader, TcpOptionElement};
use l4s_flows::check::{Check, Path};
use l4s_flows::ip::IpPacket;
use l4s_flows::{Direction, Flows};
use l4s_units::{Bytes, Duration, Rate, Time};

const CLIENT: [u8; 4] = [10, 0, 1, 1];
const SERVER: [u8; 4] = [10, 0, 0, 1];

/// A segment as Linux sends it, with time stamps.
fn tcp(
    direction: Direction,
    port: u16,
    numbers: (u32, u32),
    stamp: u32,
    payload: usize,
) -> Vec<u8> {
    let (ends, ports) = match direction {
        Direction::Down => ((SERVER, CLIENT), (443, port)),
        Direction::Up => ((CLIENT, SERVER), (port, 443)),
    };
    let mut header = TcpHeader::new(ports.0, ports.1, numbers.0, 1000);
    (header.ack, header.acknowledgment_number) = (true, numbers.1);
    let stamps = TcpOptionElement::Timestamp(stamp, stamp);
    header
        .set_options(&[TcpOptionElement::Noop, TcpOptionElement::Noop, stamps])
        .expect("12 bytes of options");
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ipv4(ends.0, ends.1, 64).tcp_header(header);
    builder.write(&mut bytes, &vec![0; payload]).unwrap();
    bytes[1] = 1;
    bytes
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ipv4(SERVER, CLIENT, 64).udp(443, port);
    builder.write(&mut bytes, payload).unwrap();
    bytes
}

fn headers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ip");
    group.throughput(Throughput::Elements(1));
    let mut data = tcp(Direction::Down, 1, (0, 0), 1, 1448);
    group.bench_function("check", |bencher| {
        bencher.iter(|| IpPacket::new_checked(black_box(&data)).unwrap().ports());
    });
    group.bench_function("check and mark", |bencher| {
        bencher.iter(|| IpPacket::new_checked(black_box(&mut data)).unwrap().set_ce());
    });
    group.finish();
}

/// A download in which every second segment is acknowledged. The benchmark writes the headers of each
/// packet, and the table reads them.
struct Download {
    data: Vec<u8>,
    ack: Vec<u8>,
    seq: u32,
}

impl Download {
    const PAYLOAD: u32 = 1448;
    /// Where sequence and acknowledgement numbers and the time stamps are.
    const NUMBERS: usize = 20 + 4;
    const STAMPS: usize = 20 + 20 + 4;

    fn new(port: u16) -> Download {
        let data = tcp(Direction::Down, port, (0, 1), 0, Self::PAYLOAD as usize);
        Download { data, ack: tcp(Direction::Up, port, (1, 0), 0, 0), seq: 0 }
    }

    /// Two segments and an acknowledgement, with time stamps of milliseconds. The acknowledgement is 20 ms
    /// late, as on a path with that round trip.
    #[inline]
    fn round(&mut self, now: &mut Time, mut observe: impl FnMut(&[u8], Direction, Time)) {
        let ms = now.as_nanos() / 1_000_000;
        let stamps = (ms << 32 | ms.saturating_sub(20)).to_be_bytes();
        for _ in 0..2 {
            *now += Duration::from_nanos(12_000);
            self.data[Self::NUMBERS..][..4].copy_from_slice(&self.seq.to_be_bytes());
            self.data[Self::STAMPS..][..8].copy_from_slice(&stamps);
            observe(&self.data, Direction::Down, *now);
            self.seq = self.seq.wrapping_add(Self::PAYLOAD);
        }
        let acked = self.seq.wrapping_sub(1_666 * Self::PAYLOAD);
        self.ack[Self::NUMBERS + 4..][..4].copy_from_slice(&acked.to_be_bytes());
        self.ack[Self::STAMPS..][..8].copy_from_slice(&stamps);
        observe(&self.ack, Direction::Up, *now);
    }
}

/// Packets of flows that are known. The first benchmark is what all others do besides.
fn observe(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("observe");
    for (name, count) in [("nothing", 100), ("TCP, 1 flow", 1), ("TCP, 100 flows", 100)] {
        let mut flows = Flows::new(Flows::CAP, 1);
        let mut downloads: Vec<_> = (1..=count).map(Download::new).collect();
        let mut now = Time::ZERO;
        group.throughput(Throughput::Elements(3 * u64::from(count)));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for download in &mut downloads {
                    download.round(&mut now, |bytes, direction, now| {
                        let packet = IpPacket::new_checked(black_box(bytes)).unwrap();
                        let flow = match name {
                            "nothing" => packet.length() as u32,
                            _ => flows.observe(&packet, direction, 1, now),
                        };
                        black_box(flow);
                    });
                }
            });
        });
    }
    for (name, count) in [("UDP, 100 flows", 100), ("UDP, 50,000 flows", 50_000)] {
        let datagrams: Vec<_> = (1..=count).map(|port| udp(port, &[0; 40])).collect();
        let packets: Vec<_> =
            datagrams.iter().map(|bytes| IpPacket::new_checked(&bytes[..]).unwrap()).collect();
        let mut flows = Flows::new(Flows::CAP, 1);
        group.throughput(Throughput::Elements(count.into()));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for packet in &packets {
                    black_box(flows.observe(black_box(packet), Direction::Down, 1, Time::ZERO));
                }
            });
        });
    }
    group.finish();
}

fn depart(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("departed");
    group.throughput(Throughput::Elements(1));
    let bytes = udp(1, &[0; 1200]);
    let packet = IpPacket::new_checked(&bytes[..]).unwrap();
    let mut flows = Flows::new(Flows::CAP, 1);
    let flow = flows.observe(&packet, Direction::Down, 1, Time::ZERO);
    let mut delay = 0;
    group.bench_function("1 flow", |bencher| {
        bencher.iter(|| {
            delay = (delay + 1009) % 20_000_000;
            flows.departed(black_box(flow), 1, Bytes::new(1228), Duration::from_nanos(delay));
        });
    });
    group.finish();
}

/// Arrival and departure of a packet of a flow that is checked, at 40 Mb/s: 67 packets in a round.
fn check(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("check");
    group.throughput(Throughput::Elements(1));
    let (rtt, step) = (Duration::from_millis(20), Duration::from_millis(1));
    let mut check = Check::new(Path { rtt, rate: Rate::from_mbps(40), step });
    let (mut now, length) = (Time::ZERO, Bytes::new(1500));
    let mut number = 0_u64;
    group.bench_function("1 flow", |bencher| {
        bencher.iter(|| {
            now += Duration::from_micros(300);
            number += 1;
            check.arrived(black_box(length), now);
            check.departed(length, Duration::from_micros(500), number % 20 == 0, now);
        });
    });
    group.finish();
}

criterion_group!(benches, headers, observe, depart, check);
criterion_main!(benches);
