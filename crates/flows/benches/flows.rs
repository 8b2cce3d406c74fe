//! What a packet costs: reading its headers, and finding and measuring its flow.

// `criterion_group!` makes functions that have none.
#![allow(missing_docs)]

mod traffic;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use l4s_flows::check::{Check, Path};
use l4s_flows::ip::{IpPacket, Version};
use l4s_flows::{Direction, Flows};
use l4s_units::{Bytes, Duration, Rate, Time};
use traffic::{Download, tcp, udp};

fn headers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ip");
    group.throughput(Throughput::Elements(1));
    let mut data = tcp(Version::V4, Direction::Down, 1, 1448);
    group.bench_function("check", |bencher| {
        bencher.iter(|| IpPacket::new_checked(black_box(&data)).unwrap().ports());
    });
    group.bench_function("check and mark", |bencher| {
        bencher.iter(|| IpPacket::new_checked(black_box(&mut data)).unwrap().set_ce());
    });
    group.finish();
}

/// From bytes to the number of a known flow.
fn classify(criterion: &mut Criterion) {
    use Version::{V4, V6};
    let mut group = criterion.benchmark_group("classify");
    for (name, version) in [("100 flows", V4), ("100 flows, IPv6", V6)] {
        let datagrams: Vec<_> = (1..=100).map(|port| udp(version, port, &[0; 40])).collect();
        let mut flows = Flows::new(Flows::CAP, 1);
        group.throughput(Throughput::Elements(100));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for bytes in &datagrams {
                    let packet = IpPacket::new_checked(black_box(&bytes[..])).unwrap();
                    black_box(flows.flow_of(&packet, Direction::Down, Time::ZERO));
                }
            });
        });
    }
    group.finish();
}

/// Packets of flows that are known. The benchmarks with `nothing` are what those with TCP do besides;
/// those with UDP do nothing else.
fn observe(criterion: &mut Criterion) {
    use Version::{V4, V6};
    let mut group = criterion.benchmark_group("observe");
    let downloads = [
        ("nothing", V4, 100),
        ("nothing, IPv6", V6, 100),
        ("TCP, 1 flow", V4, 1),
        ("TCP, 100 flows", V4, 100),
        ("TCP, 100 flows, IPv6", V6, 100),
    ];
    for (name, version, count) in downloads {
        let mut flows = Flows::new(Flows::CAP, 1);
        let mut downloads: Vec<_> = (1..=count).map(|port| Download::new(version, port)).collect();
        let is_observed = !name.starts_with("nothing");
        let mut now = Time::ZERO;
        group.throughput(Throughput::Elements(3 * u64::from(count)));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for download in &mut downloads {
                    download.round(&mut now, |bytes, direction, now| {
                        let packet = IpPacket::new_checked(black_box(bytes)).unwrap();
                        if is_observed {
                            black_box(flows.observe(&packet, direction, 1, now));
                        } else {
                            black_box(&packet);
                        }
                    });
                }
            });
        });
    }
    let datagrams = [
        ("UDP, 100 flows", V4, 100),
        ("UDP, 100 flows, IPv6", V6, 100),
        ("UDP, 50,000 flows", V4, 50_000),
    ];
    for (name, version, count) in datagrams {
        let datagrams: Vec<_> = (1..=count).map(|port| udp(version, port, &[0; 40])).collect();
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
    let bytes = udp(Version::V4, 1, &[0; 1200]);
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

criterion_group!(benches, headers, classify, observe, depart, check);
criterion_main!(benches);
