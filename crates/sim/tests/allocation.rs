//! Nothing is allocated per packet, and memory does not grow with simulated time.

use l4s_scenario::bundled;

/// Packets, allocations and peak memory of the first run of `one-against-one` over so many
/// seconds, with this congestion control against Cubic.
fn cost(cc: &str, seconds: u32) -> (u64, u64, u64) {
    let set = [format!("duration={seconds}s"), "warmup=1s".to_owned(), format!("group.A.cc={cc}")];
    let plan = bundled::find("one-against-one").unwrap().plan(&set).unwrap();
    let scenario = &plan.points[0].scenario;
    assert_eq!(scenario.groups[0].cc.kind(), cc);
    let mut packets = 0;
    let info = allocation_counter::measure(|| packets = l4s_sim::run(scenario, &mut ()).packets);
    (packets, info.count_total, info.bytes_max)
}

#[test]
fn no_allocation_per_packet() {
    for cc in ["dctcp", "prague"] {
        let (few, before, small) = cost(cc, 5);
        let (many, after, large) = cost(cc, 50);
        assert!(many > few + 140_000, "{cc}: {few} {many}");
        // Queues grow to their longest and stay there: a handful of times, whatever the time.
        assert!(after <= before + 20, "{cc}: {before} then {after} allocations");
        assert!(large <= small * 2, "{cc}: {small} then {large} B at most");
    }
}
