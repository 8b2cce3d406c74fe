//! Nothing is allocated per packet, and memory does not grow with simulated time.

use l4s_scenario::bundled;

/// Packets, allocations and peak memory of the first run of `one-against-one` over this number of
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
    for cc in ["dctcp", "prague", "bbr", "bbr3"] {
        let (few, before, small) = cost(cc, 5);
        let (many, after, large) = cost(cc, 50);
        assert!(many > few + 140_000, "{cc}: {few} {many}");
        // Queues grow to their maximum once: a few allocations, for any duration.
        assert!(after <= before + 20, "{cc}: {before} then {after} allocations");
        assert!(large <= small * 2, "{cc}: {small} then {large} B at most");
    }
}

/// Allocations and peak memory of a run with a thousand downloads per second.
fn cost_of_downloads(seconds: u32) -> (u64, u64) {
    let text = format!(
        "duration = \"{seconds}s\"\nlink.rate = \"1gbit\"\n\
         [[group]]\nname = \"A\"\ncc = \"dctcp\"\nflows = 0\nrtt = \"10ms\"\n\
         [[web]]\ngroup = \"A\"\nrate = \"1000/s\"\nsize = \"20kb\"\n"
    );
    let plan = l4s_scenario::Plan::parse("web.toml", &text, &[]).unwrap();
    let scenario = &plan.points[0].scenario;
    let info = allocation_counter::measure(|| {
        l4s_sim::run(scenario, &mut ());
    });
    (info.count_total, info.bytes_max)
}

#[test]
fn memory_follows_how_many_downloads_there_are_at_a_time() {
    let (few, small) = cost_of_downloads(5);
    let (many, large) = cost_of_downloads(100);
    // 100,000 downloads, some thirty of them at a time.
    assert!(large <= small * 2 && large < 310_000, "{small} then {large} B at most");
    // Each allocates for its packets in flight, not for each packet: 14 segments and their
    // acknowledgements.
    assert!((many - few) / 95_000 <= 4, "{few} then {many} allocations");
}

/// Peak memory of a run with that many flows, one every 200 us, each of which is over within some 50 ms.
fn memory_of_flows(flows: u64) -> u64 {
    let text = format!(
        "duration = \"{}us\"\nwarmup = \"0s\"\nlink.rate = \"1gbit\"\n\
         [[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"10ms\"\nflows = {flows}\n\
         size = \"20kb\"\nstart = {{ every = \"200us\" }}\n",
        flows * 200 + 100_000
    );
    let plan = l4s_scenario::Plan::parse("flows.toml", &text, &[]).unwrap();
    let scenario = &plan.points[0].scenario;
    let info = allocation_counter::measure(|| {
        l4s_sim::run(scenario, &mut ());
    });
    info.bytes_max
}

#[test]
fn a_flow_that_has_not_opened_or_is_over_takes_little_memory() {
    let (few, many) = (memory_of_flows(5_000), memory_of_flows(50_000));
    // Its connection would be 1,200 B.
    assert!(many - few < 45_000 * 130, "{few} then {many} B at most");
}

/// Packets and allocations of a run over stretches that are imperfect in every way.
fn cost_of_paths(seconds: u32) -> (u64, u64) {
    let everything = "loss = { to_bad = 0.0001, to_good = 0.5 }\njitter = \"2ms\"\nduplicate = 0.001\n\
                      reorder = { chance = 0.001, by = \"3ms\" }\ncorrupt = 0.0001\n";
    let text = format!(
        "duration = \"{seconds}s\"\nlink.rate = \"25mbit\"\n\
         [[group]]\nname = \"A\"\ncc = \"prague\"\nrtt = \"10ms\"\n\
         [[path]]\nname = \"before\"\nplace = \"before\"\n{everything}\
         [[path]]\nname = \"behind\"\n{everything}\
         [[path]]\nname = \"up\"\ndirection = \"up\"\n{everything}"
    );
    let plan = l4s_scenario::Plan::parse("path.toml", &text, &[]).unwrap();
    let scenario = &plan.points[0].scenario;
    let mut packets = 0;
    let info = allocation_counter::measure(|| packets = l4s_sim::run(scenario, &mut ()).packets);
    (packets, info.count_total)
}

#[test]
fn no_allocation_per_packet_on_imperfect_paths() {
    let (few, before) = cost_of_paths(10);
    let (many, after) = cost_of_paths(100);
    assert!(many > few + 50_000, "{few} {many}");
    assert!(after <= before + 30, "{before} then {after} allocations");
}

/// Packets and allocations of an application that sends sets of tracers over a link in bursts.
fn cost_of_frames(seconds: u32) -> (u64, u64) {
    let text = format!(
        "duration = \"{seconds}s\"\nlink = {{ rate = \"25mbit\", aggregation = \"4ms\" }}\naqm = \"dualpi2\"\n\
         [[group]]\nname = \"A\"\ncc = {{ kind = \"prague\", profile = \"paper\", fallback = \"active\" }}\n\
         flows = 0\nrtt = \"10ms\"\n\
         [[group]]\nname = \"B\"\ncc = \"cubic\"\necn = \"classic\"\nrtt = \"10ms\"\n\
         [[app]]\ngroup = \"A\"\nrate = \"2mbit\"\n"
    );
    let plan = l4s_scenario::Plan::parse("app.toml", &text, &[]).unwrap();
    let scenario = &plan.points[0].scenario;
    let mut packets = 0;
    let info = allocation_counter::measure(|| packets = l4s_sim::run(scenario, &mut ()).packets);
    (packets, info.count_total)
}

#[test]
fn no_allocation_per_frame() {
    let ((few, before), (many, after)) = (cost_of_frames(10), cost_of_frames(100));
    assert!(many > few + 150_000, "{few} {many}");
    assert!(after <= before + 20, "{before} then {after} allocations");
}

/// Packets and allocations of a flow over a radio.
fn cost_of_radio(radio: &str, seconds: u32) -> (u64, u64) {
    let text = format!(
        "duration = \"{seconds}s\"\nlink.{radio}\nlink.buffer = \"200p\"\naqm = \"fifo\"\n\
         [[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"10ms\"\n"
    );
    let plan = l4s_scenario::Plan::parse("radio.toml", &text, &[]).unwrap();
    let scenario = &plan.points[0].scenario;
    let mut packets = 0;
    let info = allocation_counter::measure(|| packets = l4s_sim::run(scenario, &mut ()).packets);
    (packets, info.count_total)
}

#[test]
fn no_allocation_per_packet_on_radios() {
    for radio in [
        "wifi = { width = 20, streams = 1, mcs = 5, stations = 1, loss = 0.1 }",
        "cell = { layers = 1, loss = 0.2 }",
    ] {
        let ((few, before), (many, after)) = (cost_of_radio(radio, 10), cost_of_radio(radio, 100));
        assert!(many > few + 100_000, "{few} {many}");
        assert!(after <= before + 30, "{before} then {after} allocations");
    }
}

/// Packets and allocations of four flows with a link before the bottleneck and four behind it.
fn cost_of_hops(seconds: u32) -> (u64, u64) {
    let text = format!(
        "duration = \"{seconds}s\"\nlink.rate = \"40mbit\"\n\
         [[group]]\nname = \"A\"\ncc = \"cubic\"\necn = \"classic\"\nflows = 4\nrtt = \"10ms\"\n\
         [[hop]]\nname = \"H\"\nrate = \"50mbit\"\naqm = \"codel\"\n\
         [[hop]]\nname = \"access\"\nplace = \"behind\"\nrate = \"9mbit\"\nper = \"flow\"\n"
    );
    let plan = l4s_scenario::Plan::parse("hops.toml", &text, &[]).unwrap();
    let scenario = &plan.points[0].scenario;
    let mut packets = 0;
    let info = allocation_counter::measure(|| packets = l4s_sim::run(scenario, &mut ()).packets);
    (packets, info.count_total)
}

#[test]
fn no_allocation_per_packet_on_further_links() {
    let ((few, before), (many, after)) = (cost_of_hops(5), cost_of_hops(50));
    assert!(many > few + 120_000, "{few} {many}");
    assert!(after <= before + 20, "{before} then {after} allocations");
}

/// Packets and allocations of a download whose acknowledgements are filtered.
fn cost_of_filter(seconds: u32) -> (u64, u64) {
    let text = format!(
        "duration = \"{seconds}s\"\nlink.rate = \"25mbit\"\n\
         uplink = {{ rate = \"250kbit\", ack_filter = \"on\", aqm = \"fq_codel\" }}\n\
         [[group]]\nname = \"A\"\ncc = \"cubic\"\nflows = 4\nrtt = \"10ms\"\n"
    );
    let plan = l4s_scenario::Plan::parse("filter.toml", &text, &[]).unwrap();
    let scenario = &plan.points[0].scenario;
    let mut packets = 0;
    let info = allocation_counter::measure(|| packets = l4s_sim::run(scenario, &mut ()).packets);
    (packets, info.count_total)
}

#[test]
fn no_allocation_per_filtered_acknowledgement() {
    let ((few, before), (many, after)) = (cost_of_filter(5), cost_of_filter(50));
    assert!(many > few + 90_000, "{few} {many}");
    assert!(after <= before + 20, "{before} then {after} allocations");
}
