//! What measurement costs per packet: `arrived` and `departed` of a [`Recorder`].

// `criterion_group!` makes functions that have none.
#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use l4s_aqm::Queue;
use l4s_observe::Observer;
use l4s_units::{Duration, Ecn, Time};

#[path = "../tests/support/mod.rs"]
mod support;
use support::{Packet, packet, recorder, scenario};

const PACKETS: usize = 4096;

/// Packets of two groups in two queues, with delays as they are at a real bottleneck: 0.2-2 ms
/// in L, 10-25 ms in C.
fn packets(flows: u32) -> Vec<(Packet, Queue, Duration)> {
    let mut state = 1_u64;
    let mut draw = || {
        // Knuth's MMIX generator; the high bits are good enough to spread flows and delays.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    (0..PACKETS)
        .map(|_| {
            let flow = (draw() % u64::from(flows)) as u32;
            let mut p = packet(flow, (flow % 2) as u16);
            p.ecn = if draw() % 10 == 0 { Ecn::Ce } else { Ecn::Ect1 };
            match p.group {
                0 => (p, Queue::L, Duration::from_nanos(200_000 + draw() % 1_800_000)),
                _ => (p, Queue::C, Duration::from_nanos(10_000_000 + draw() % 15_000_000)),
            }
        })
        .collect()
}

fn measure(c: &mut Criterion) {
    let mut group = c.benchmark_group("recorder");
    group.throughput(Throughput::Elements(PACKETS as u64));
    for flows in [2, 10_000] {
        let packets = packets(flows);
        let mut recorder = recorder(&scenario());
        let mut now = Time::ZERO;
        group.bench_function(format!("arrived+departed/{flows} flows"), |b| {
            b.iter(|| {
                for (packet, queue, sojourn) in black_box(&packets) {
                    now += Duration::from_nanos(200);
                    recorder.arrived(packet, now);
                    recorder.departed(packet, *queue, *sojourn, now);
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, measure);
criterion_main!(benches);
