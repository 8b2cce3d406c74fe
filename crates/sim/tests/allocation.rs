//! Nothing is allocated per packet, and memory does not grow with simulated time.

use l4s_scenario::bundled;

/// Allocations and peak memory of the first run of `one-against-one` over so many seconds.
fn cost(seconds: u32) -> (u64, u64, u64) {
    let set = [format!("duration={seconds}s"), "warmup=1s".to_owned()];
    let plan = bundled::find("one-against-one").unwrap().plan(&set).unwrap();
    let scenario = &plan.points[0].scenario;
    let mut packets = 0;
    let info = allocation_counter::measure(|| packets = l4s_sim::run(scenario, &mut ()).packets);
    (packets, info.count_total, info.bytes_max)
}

#[test]
fn no_allocation_per_packet() {
    let (few, before, small) = cost(5);
    let (many, after, large) = cost(50);
    assert!(many > few + 140_000, "{few} {many}");
    // Queues grow to their longest and stay there: a handful of times, whatever the time.
    assert!(after <= before + 20, "{before} then {after} allocations");
    assert!(large <= small * 2, "{small} then {large} B at most");
}
