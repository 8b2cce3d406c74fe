//! Cost per packet of whole runs, everything measured: `cargo bench -p l4s-sim`.
//!
//! An element is a packet that the bottleneck forwarded, its acknowledgement included.

// `criterion_group!` makes functions that have none.
#![allow(missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use l4s_measure::{EngineSummary, Origin, Recorder};
use l4s_model::Scenario;
use l4s_scenario::bundled;

/// The first run of `one-against-one` with these settings.
fn scenario(set: &[&str]) -> Scenario {
    let set: Vec<String> = set.iter().map(|s| (*s).to_owned()).collect();
    let plan = bundled::find("one-against-one").unwrap().plan(&set).unwrap();
    plan.points[0].scenario.clone()
}

fn measured(scenario: &Scenario) -> u64 {
    let mut recorder = Recorder::new(scenario, Origin::default());
    let outcome = l4s_sim::run(scenario, &mut recorder);
    recorder.finish(EngineSummary::default());
    outcome.packets
}

fn engine(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("packets");
    group.sample_size(10);
    let ten_thousand =
        ["link.rate=1gbit", "group.*.flows=5000", "group.*.rtt=100ms", "duration=5s", "warmup=1s"];
    for (name, set) in [
        ("one-against-one 40mbit", &["duration=20s", "warmup=5s"][..]),
        ("one-against-one 200mbit", &["link.rate=200mbit", "duration=5s", "warmup=1s"]),
        ("one-against-one 1gbit", &["link.rate=1gbit", "duration=2s", "warmup=1s"]),
        ("10000 flows 1gbit", &ten_thousand),
    ] {
        let scenario = scenario(set);
        group.throughput(Throughput::Elements(measured(&scenario)));
        group.bench_function(name, |b| b.iter(|| measured(&scenario)));
    }
    group.finish();
}

criterion_group!(benches, engine);
criterion_main!(benches);
