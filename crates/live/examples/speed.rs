//! How much faster than the clock a lane is: 1 Gb/s with twenty flows, looked at 20 times a second.
//!
//! `cargo run --release -p l4s-live --example speed`

use std::time::Instant;

use l4s_live::Meter;
use l4s_scenario::Plan;
use l4s_substrate::{Lanes, Sim};
use l4s_units::{Duration, Time};

const SCENARIO: &str = "duration = \"1000s\"\nlink = { rate = \"1gbit\" }\naqm = \"dualpi2\"\n\
    [[group]]\nname = \"A\"\ncc = \"prague\"\nflows = 10\nrtt = \"10ms\"\n\
    [[group]]\nname = \"B\"\ncc = \"cubic\"\nflows = 10\nrtt = \"10ms\"\n\
    [[web]]\ngroup = \"B\"\nrate = \"100/s\"\n";

fn main() {
    let plan = Plan::parse("speed", SCENARIO, &[]).expect("a scenario");
    let scenario = &plan.points[0].scenario;
    let mut lane = Sim.lane(scenario, Meter::new(scenario)).expect("any scenario");
    let mut now = Time::ZERO;
    let (mut packets, mut bytes) = (0, 0);
    let began = Instant::now();
    let mut worst = std::time::Duration::ZERO;
    for _ in 0..200 {
        let step = Instant::now();
        now += Duration::from_millis(50);
        lane.advance(now).expect("it does not break down");
        let state = Meter::look(lane.as_mut());
        packets += state.groups.iter().map(|group| group.packets).sum::<u64>();
        bytes += serde_json::to_string(&state).map_or(0, |text| text.len());
        worst = worst.max(step.elapsed());
    }
    let took = began.elapsed().as_secs_f64();
    println!(
        "{:.1} times as fast as the clock; {:.0} ns a packet; the longest of 50 ms took {:.1} ms; \
         {} B a state",
        now.as_secs_f64() / took,
        1e9 * took / packets as f64,
        1e3 * worst.as_secs_f64(),
        bytes / 200,
    );
}
