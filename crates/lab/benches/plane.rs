//! What a packet costs in memory, devices and kernel aside: reading its headers, the queue
//! discipline, the shaper, the delay line, and handing it over.

// `criterion_group!` makes functions that have none.
#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use etherparse::PacketBuilder;
use l4s_lab::{End, FIRST_PORT, Frame, Plane};
use l4s_model::Scenario;
use l4s_scenario::bundled;
use l4s_units::{Duration, Rate, Time};

fn scenario(aqm: l4s_aqm::Config) -> Scenario {
    let plan = bundled::find("one-against-one").unwrap().plan(&[]).unwrap();
    let mut scenario = plan.points[0].scenario.clone();
    scenario.link.rate = Rate::from_mbps(1_000);
    scenario.aqm = aqm;
    scenario
}

fn data() -> Vec<u8> {
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 1, 1], 64);
    builder.tcp(5001, FIRST_PORT, 0, 0).write(&mut bytes, &[0; 1460]).unwrap();
    // ECT(1); the checksum is only ever updated.
    bytes[1] = 1;
    bytes
}

fn ack() -> Vec<u8> {
    let mut bytes = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 1, 1], [10, 0, 0, 1], 64);
    builder.tcp(FIRST_PORT, 5001, 0, 0).write(&mut bytes, &[]).unwrap();
    bytes
}

/// A link at 1 Gb/s that is just full, with a packet and an ACK every 12.112 us.
fn forward(criterion: &mut Criterion) {
    use l4s_aqm::{Config, dualpi2, fifo, fq_codel};
    let mut group = criterion.benchmark_group("plane");
    group.throughput(Throughput::Elements(2));
    let aqms = [
        Config::DualPi2(dualpi2::Config::default()),
        Config::FqCodel(fq_codel::Config::default()),
        Config::Fifo(fifo::Config::default()),
    ];
    for aqm in aqms {
        let mut plane = Plane::new(&scenario(aqm.clone()));
        let (data, ack) = (data(), ack());
        let mut now = Time::ZERO;
        group.bench_function(aqm.kind(), |bencher| {
            bencher.iter(|| {
                now += Duration::from_nanos(12_112);
                for (from, packet) in [(End::Server, &data), (End::Client, &ack)] {
                    let mut buffer = plane.buffer();
                    let end = Frame::put(&mut buffer, packet);
                    plane.receive(0, from, buffer, end, now, &mut (), &mut |delivery| {
                        black_box(delivery.bytes.len()) > 0
                    });
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, forward);
criterion_main!(benches);
