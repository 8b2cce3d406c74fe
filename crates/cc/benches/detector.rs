//! What the detector of Classic ECN costs: Prague per acknowledgement, without and with it.

// `criterion_group!` makes functions that have none.
#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use l4s_cc::prague::{Config, Control, Fallback};
use l4s_cc::{Ack, CongestionControl, Connection};
use l4s_units::{Duration, Time};

const ACKS: u64 = 4096;
/// Acknowledgements of a round trip.
const ROUND: u64 = 40;

/// Acknowledgements of one or two segments over a path of 10 ms, with a queue that comes and goes
/// and a mark now and then.
fn acks() -> Vec<Ack> {
    let mut state = 1_u64;
    let mut draw = || {
        // Knuth's MMIX generator; the high bits are good enough.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let mut una = 0;
    (0..ACKS)
        .map(|i| {
            let delivered = 1 + (draw() % 2) as u32;
            una += u64::from(delivered);
            let queue = (i % 400) * 10 + draw() % 200;
            Ack {
                now: Time::from_nanos(i * 250_000),
                delivered,
                delivered_ce: u32::from(draw() % 20 == 0),
                rtt: Some(Duration::from_micros(10_000 + queue)),
                min_rtt: Duration::from_millis(10),
                srtt: Duration::from_micros(10_000 + queue / 2),
                una,
                nxt: una + ROUND,
                unsent: u64::MAX,
                ..Ack::default()
            }
        })
        .collect()
}

fn measure(c: &mut Criterion) {
    let mut group = c.benchmark_group("prague");
    group.throughput(Throughput::Elements(ACKS));
    let acks = acks();
    let configs = [("paper", Config::paper()), ("best", Config::best())];
    for (name, config) in configs {
        let hows =
            [("off", Fallback::Off), ("passive", Fallback::Passive), ("active", Fallback::Active)];
        for (how, fallback) in hows {
            let config = Config { fallback, ..config };
            group.bench_function(format!("{name}, {how}"), |b| {
                b.iter(|| {
                    let mut control = Control::new(&config, &Connection::new(1500));
                    for ack in &acks {
                        black_box(control.on_ack(black_box(ack)));
                    }
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, measure);
criterion_main!(benches);
