//! Plans, and refusals with their messages.

use super::*;
use l4s_scenario::Plan;

fn plan(text: &str, options: &LabOptions) -> Result<LabPlan, OsError> {
    let text = format!("duration = \"10s\"\nlink.rate = \"40mbit\"\n{text}");
    let scenario = &Plan::parse("t.toml", &text, &[]).unwrap().points[0].scenario;
    LabPlan::new(scenario, |group| group.cc.kind().to_owned(), options)
}

fn refused(text: &str) -> String {
    match plan(text, &LabOptions::default()) {
        Err(OsError::Unsupported(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_group_has_a_server_and_a_client_with_every_flow_at_its_port() {
    let two = "[[group]]\nname = \"A\"\ncc = \"reno\"\nflows = 2\nrtt = \"10ms\"\n\
               [[group]]\nname = \"B\"\ncc = \"cubic\"\nflows = 3\nrtt = \"10ms\"\n\
               ecn = \"classic\"\nrcvbuf = \"64kb\"\nsndbuf = \"32kb\"\n";
    let plan = plan(two, &LabOptions::default()).unwrap();
    let b = &plan.pairs[1];
    assert_eq!(b.server.address.to_string(), "10.1.0.1");
    assert_eq!(b.server.peer, b.client.address);
    assert_eq!(b.client.who, "the client of group `B`");
    let Part::TcpClient { cc, rcvbuf, flows, .. } = &b.client.part else { panic!() };
    assert_eq!((cc.as_str(), *rcvbuf), ("cubic", Some(64_000)));
    let Part::TcpServer { sndbuf, .. } = &b.server.part else { panic!() };
    assert_eq!(*sndbuf, Some(32_000));
    assert_eq!(flows.iter().map(|(flow, ..)| flow.get()).collect::<Vec<_>>(), [2, 3, 4]);
    let ecn = |pair: &Pair| pair.server.sysctls[0].clone();
    assert_eq!(ecn(&plan.pairs[0]), ("net/ipv4/tcp_ecn".to_owned(), "0".to_owned()));
    assert_eq!(ecn(b).1, "1");
}

#[test]
fn a_client_opens_long_flows_and_downloads_in_order_of_time() {
    let text = "[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\nstart = \"5s\"\n\
                [[group]]\nname = \"B\"\ncc = \"reno\"\nflows = 0\nrtt = \"10ms\"\n\
                [[web]]\ngroup = \"A\"\nrate = \"10000/s\"\nsize = \"10kb\"\n\
                [[udp]]\nname = \"U\"\nrate = \"1mbit\"\n";
    let plan = plan(text, &LabOptions::default()).unwrap();
    let Part::TcpClient { flows, .. } = &plan.pairs[0].client.part else { panic!() };
    assert!(flows.is_sorted_by_key(|(_, start, _)| start));
    let long = flows.iter().position(|(flow, ..)| flow.get() == 0).unwrap();
    assert_eq!(flows[long], (FlowId::new(0), 5_000_000_000, None));
    // The UDP source is flow 1.
    assert_eq!((flows[0].0.get(), flows[0].2), (2, Some(10_000)));
    // Some 100,000 flows: more than the ports of one address.
    assert_eq!(plan.pairs[0].client.more_addresses.len(), 1);
    let Part::TcpServer { downloads, .. } = &plan.pairs[0].server.part else { panic!() };
    assert_eq!(downloads.start.get(), 2);
    let Part::TcpClient { flows, .. } = &plan.pairs[1].client.part else { panic!() };
    assert_eq!(flows.len(), 0);
}

#[test]
fn more_flows_than_sockets_are_refused() {
    let of = |flows: u32| {
        let group = "[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"";
        plan(&format!("{group}\nflows = {flows}\n"), &LabOptions::default())
    };
    assert!(of(100_000).is_ok());
    let Err(OsError::Unsupported(why)) = of(100_001) else { panic!() };
    assert!(why.starts_with("`group.flows`: 100001 flows, expected at most 100000"), "{why}");
}

#[test]
fn the_flows_of_an_application_have_its_frames_and_end_with_the_run() {
    let text = "[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n\
                [[group]]\nname = \"B\"\ncc = \"reno\"\nrtt = \"10ms\"\nsize = \"1kb\"\n\
                [[app]]\ngroup = \"B\"\nrate = \"4mbit\"\nfps = 50\nflows = 2\nadapt = true\n\
                [[app]]\ngroup = \"A\"\nrate = \"1mbit\"\nstop = \"4s\"\n";
    let plan = plan(text, &LabOptions::default()).unwrap();
    let b = &plan.pairs[1];
    let Part::TcpClient { flows, frames, .. } = &b.client.part else { panic!() };
    // Flow 1 is long; the total that an application writes is unknown.
    let [one, two, three] = [1, 2, 3].map(FlowId::new);
    assert_eq!(flows, &[(one, 0, Some(1_000)), (two, 0, None), (three, 10_000_000, None)]);
    assert_eq!(frames, &[(two, 10_000), (three, 10_000)]);
    let Part::TcpServer { apps, downloads, .. } = &b.server.part else { panic!() };
    assert_eq!((apps[1].flow.get(), apps.len(), downloads.start.get()), (3, 2, 5));
    let app = apps[1].app();
    assert_eq!((app.frame(), app.fps, app.adapt), (Bytes::new(10_000), 50, true));
    // As in the simulator, a frame may be due at the end of the run.
    assert_eq!(app.stop, Some(Time::from_nanos(10_000_000_001)));
    let Part::TcpServer { apps, .. } = &plan.pairs[0].server.part else { panic!() };
    assert_eq!(apps[0].app().stop, Some(Time::from_nanos(4_000_000_000)));
}

#[test]
fn a_cable_knows_when_its_path_changes_and_windows_have_room_for_the_longest() {
    let text = "[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n\
                [[at]]\ntime = \"2s\"\ngroup.A.rtt = \"4s\"\nlink.rate = \"80mbit\"\n\
                [[at]]\ntime = \"1s\"\ngroup.A.rtt = \"5ms\"\n";
    let options = LabOptions { cables: true, netem: true, ..LabOptions::default() };
    let plan = plan(text, &options).unwrap();
    let cable = plan.pairs[0].client.cable.as_ref().unwrap();
    assert_eq!(cable.delay_ns, 10_000_000);
    assert_eq!(cable.changes, [(1_000_000_000, 5_000_000), (2_000_000_000, 4_000_000_000)]);
    let memory = &plan.pairs[0].server.sysctls[2].1;
    // Four times 80 Mb/s for 4 s, and the buffer.
    let most: u64 = memory.split(' ').next_back().unwrap().parse().unwrap();
    assert!(most > 160_000_000, "{memory}");
}

/// Acknowledgements that wait a second for the uplink keep a second of data in flight.
#[test]
fn windows_have_room_for_the_wait_in_every_link() {
    let most = |links: &str| {
        let text = format!("{links}\n[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n");
        let plan = plan(&text, &LabOptions::default()).unwrap();
        let memory = &plan.pairs[0].server.sysctls[2].1;
        memory.split(' ').next_back().unwrap().parse::<u64>().unwrap()
    };
    let slow = "rate = \"1mbit\", buffer = \"1s\"";
    let alone = most("link.buffer = \"1s\"");
    let second = 4 * 5_000_000;
    assert_eq!(most(&format!("link.buffer = \"1s\"\nuplink = {{ {slow} }}")), alone + second);
    let both =
        format!("link.buffer = \"1s\"\nuplink = {{ {slow} }}\nhop = [{{ name = \"h\", {slow} }}]");
    assert_eq!(most(&both), alone + 2 * second);
}

#[test]
fn the_router_may_take_the_delay_of_a_cable() {
    let text = "[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n\
                [[group]]\nname = \"B\"\ncc = \"reno\"\nrtt = \"20ms\"\n\
                [[udp]]\nname = \"U\"\nrate = \"1mbit\"\n\
                [[at]]\ntime = \"1s\"\ngroup.B.rtt = \"5ms\"\n";
    let options = LabOptions { cables: true, netem: true, built: true, ..LabOptions::default() };
    let mut plan = plan(text, &options).unwrap();
    let (ms, us) = (Duration::from_millis, Duration::from_micros);
    let moved = vec![(Time::ZERO + ms(1000), ms(5))];
    let expected = [
        CableDelay { pair: 0, delay: ms(10), jitter: us(10), changes: Vec::new() },
        CableDelay { pair: 1, delay: ms(20), jitter: Duration::ZERO, changes: moved },
    ];
    assert_eq!(plan.take_delays(), expected);
    let cables = plan.pairs.iter().map(|pair| pair.client.cable.as_ref().unwrap());
    for cable in cables {
        assert_eq!((cable.delay_ns, cable.jitter_ns, cable.changes.len()), (0, 0, 0));
    }
}

#[test]
fn hosts_in_virtual_time_have_jitter_where_the_path_is_constant() {
    let group = "[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n";
    let jitter = |text: &str, built| {
        let options = LabOptions { cables: true, netem: true, built, ..LabOptions::default() };
        plan(text, &options).unwrap().pairs[0].client.cable.as_ref().unwrap().jitter_ns
    };
    assert_eq!(jitter(group, true), 10_000);
    assert_eq!(jitter(group, false), 0);
    assert_eq!(jitter(&format!("host_jitter = false\n{group}"), true), 0);
    let moved = format!("{group}[[at]]\ntime = \"2s\"\ngroup.A.rtt = \"4s\"\n");
    assert_eq!(jitter(&moved, true), 0);
}

#[test]
fn a_udp_packet_has_the_length_that_was_asked_for() {
    let text = "[[udp]]\nname = \"U\"\nrate = \"1mbit\"\npacket = \"1000B\"\necn = \"ect1\"\n";
    for (ipv6, expected) in [(false, 1000 - 20 - 8), (true, 1000 - 40 - 8)] {
        let plan = plan(text, &LabOptions { ipv6, ..LabOptions::default() }).unwrap();
        let Part::UdpServer { payload, ecn, .. } = plan.pairs[0].server.part else { panic!() };
        assert_eq!((payload, ecn), (expected, 0b01));
    }
}

#[test]
fn a_client_asks_for_the_ecn_that_it_has() {
    for (group, tcp_ecn, cc) in [
        ("cc = \"cubic\"", ["0", "0"], "cubic"),
        ("cc = \"cubic\"\npeer = \"accecn\"", ["0", "3"], "reno"),
        ("cc = \"cubic\"\necn = \"classic\"", ["1", "1"], "cubic"),
        ("cc = \"cubic\"\necn = \"classic\"\npeer = \"accecn\"", ["3", "3"], "reno"),
        ("cc = \"dctcp\"\npeer = \"rfc3168\"", ["1", "1"], "reno"),
        ("cc = \"dctcp\"\npeer = \"none\"", ["1", "0"], "reno"),
        ("cc = \"prague\"", ["1", "1"], "prague"),
        ("cc = \"prague\"\npeer = \"rfc3168\"", ["1", "1"], "reno"),
    ] {
        let text = format!("[[group]]\nname = \"A\"\nrtt = \"10ms\"\n{group}\n");
        let plan = plan(&text, &LabOptions::default()).unwrap();
        let pair = &plan.pairs[0];
        for (setup, expected) in [&pair.server, &pair.client].into_iter().zip(tcp_ecn) {
            assert_eq!(setup.sysctls[0], (TCP_ECN.to_owned(), expected.to_owned()), "{group}");
        }
        let Part::TcpClient { cc: found, .. } = &pair.client.part else { panic!() };
        assert_eq!(found, cc);
    }
}

#[test]
fn both_ends_of_an_l4s_group_send_ect1() {
    for (group, expected) in [
        ("cc = \"prague\"", [OnDevice::Ect1, OnDevice::Ect1]),
        ("cc = \"prague\"\npeer = \"accecn\"", [OnDevice::Ect1, OnDevice::Nothing]),
        ("cc = \"prague\"\npeer = \"rfc3168\"", [OnDevice::Nothing, OnDevice::Nothing]),
        ("cc = \"dctcp\"", [OnDevice::Nothing, OnDevice::Nothing]),
    ] {
        let text = format!("[[group]]\nname = \"A\"\nrtt = \"10ms\"\n{group}\n");
        let plan = plan(&text, &LabOptions::default()).unwrap();
        let pair = &plan.pairs[0];
        assert_eq!(
            [&pair.server.device, &pair.client.device],
            [&expected[0], &expected[1]],
            "{group}"
        );
    }
}

/// The kernel decides Prague's behaviour with a client of RFC 3168.
#[test]
fn a_fall_back_that_this_kernel_does_not_have_is_refused_with_words() {
    for (ecn, falls_back, word) in [
        ("auto", false, None),
        ("auto", true, Some("ECT(0): expected `ecn = \"classic\"`")),
        ("classic", true, None),
        ("classic", false, Some("does without ECN: expected `ecn = \"auto\"`")),
    ] {
        let text = format!(
            "duration = \"10s\"\nlink.rate = \"40mbit\"\n[[group]]\nname = \"A\"\n\
             rtt = \"10ms\"\ncc = \"prague\"\necn = \"{ecn}\"\npeer = \"rfc3168\"\n"
        );
        let scenario = &Plan::parse("t.toml", &text, &[]).unwrap().points[0].scenario;
        let control = |_: &Group| Control { falls_back, ..Control::from("prague".to_owned()) };
        match (LabPlan::new(scenario, control, &LabOptions::default()), word) {
            (Ok(_), None) => {}
            (Err(OsError::Unsupported(why)), Some(word)) => {
                assert!(why.starts_with("group `A`: with a client of RFC 3168"), "{why}");
                assert!(why.contains(word), "{why}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_no_kernel_does_is_refused_with_words() {
    let group = "[[group]]\nname = \"A\"\nrtt = \"10ms\"\n";
    let abe = refused(&format!("{group}cc = {{ kind = \"cubic\", abe = true }}\n"));
    assert!(abe.starts_with("group `A`: `abe` of cubic cannot be set"), "{abe}");
    let long = "[[udp]]\nname = \"U\"\nrate = \"1mbit\"\npacket = \"9000B\"\n";
    let long = refused(long);
    assert!(long.starts_with("UDP source `U`: a packet of 9000 bytes"), "{long}");
    let ace = refused(&format!("{group}cc = \"prague\"\naccecn = \"ace\"\n"));
    assert!(ace.starts_with("group `A`: a kernel sends its AccECN option"), "{ace}");
    let quic = refused(&format!("{group}cc = \"prague\"\nendpoint = \"quic\"\n"));
    assert!(quic.starts_with("group `A`: a kernel has no QUIC: expected `endpoint"), "{quic}");
    let jumbo = refused(&format!("{group}cc = \"reno\"\nmss = 8948\n"));
    assert_eq!(jumbo, "group `A`: packets of 9000 B: expected an `mss` of 536 to 1448");
    let first = refused(&format!("{group}cc = \"reno\"\ninitial_window = 4\n"));
    assert!(first.starts_with("group `A`: a kernel has an initial window of 10"), "{first}");
    let lost = refused(&format!("link.ack_loss = 0.1\n{group}cc = \"reno\"\n"));
    assert!(lost.starts_with("only the simulator loses acknowledgements"), "{lost}");
    let hop = "[[hop]]\nname = \"H\"\nrate = \"1mbit\"\n";
    let hop = format!("{group}cc = \"reno\"\n{hop}");
    plan(&hop, &LabOptions::default()).unwrap();
    let router = LabOptions { cables: true, ..LabOptions::default() };
    let Err(OsError::Unsupported(why)) = plan(&hop, &router) else { panic!("a hop of a kernel") };
    let one = "there is one bottleneck each way with a kernel as the router: found `[[hop]]` `H`";
    assert!(why.starts_with(one), "{why}");
    let many = "[[hop]]\nname = \"H\"\nrate = \"1mbit\"\nper = \"flow\"\n";
    let many = refused(&format!("{group}cc = \"reno\"\nflows = 65\n{many}"));
    assert_eq!(many, "`[[hop]]`: 65 links, expected at most 64 with real sockets");
    let path = format!("{group}cc = \"reno\"\n[[path]]\nname = \"P\"\nloss = 0.1\n");
    plan(&path, &LabOptions::default()).unwrap();
    plan(&format!("uplink.rate = \"1mbit\"\n{path}"), &router).unwrap();
    let large = format!("kernel.gso = true\n{path}");
    let why = refused(&large);
    assert!(why.starts_with("`kernel.gso`: found true, expected false"), "{why}");
    // The socket paces, so no congestion control needs to support it.
    let paced = format!("{group}cc = {{ kind = \"cubic\", pacing = true }}\n");
    plan(&paced, &LabOptions::default()).unwrap();
}

/// A scenario of one Prague with these settings.
fn prague(settings: &str) -> Scenario {
    let text = format!(
        "duration = \"10s\"\nlink.rate = \"40mbit\"\n[[group]]\nname = \"A\"\n\
         rtt = \"10ms\"\ncc = {{ kind = \"prague\", {settings} }}\n"
    );
    Plan::parse("t.toml", &text, &[]).unwrap().points.remove(0).scenario
}

/// The only fault of a Prague with these settings.
fn fault_of(settings: &str, ours: bool, built: bool) -> String {
    let control = |_: &Group| Control { ours, ..Control::from("prague1".to_owned()) };
    let options = LabOptions { built, ..LabOptions::default() };
    let why = LabPlan::new(&prague(settings), control, &options).unwrap_err().to_string();
    let head = "group `A`: prague in a kernel does not do all of this; `--on sim` does:\n  ";
    let rest = why.strip_prefix(head).unwrap_or_else(|| panic!("{why}"));
    assert!(!rest.contains('\n'), "{why}");
    rest.to_owned()
}

/// With `--on kernel` if Prague is ours, and always with `--on linux`: the message names the group, and each
/// setting with its value and the accepted values. The kernel's own Prague has no
/// settings at all.
#[test]
fn what_no_kernels_prague_does_is_refused_with_words() {
    let table = [
        (
            "profile = \"paper\", classic_growth = \"cubic\", burst = \"offload\"",
            "`classic_growth`: found \"cubic\", expected \"scalable\" or \"reno\"",
        ),
        ("loss = \"cubic\"", "`loss`: found \"cubic\", expected \"reno\""),
        ("min_window = 1.5", "`min_window`: found 1.5, expected 2"),
        ("burst = \"short\"", "`burst`: found \"short\", expected \"offload\""),
    ];
    for (settings, fault) in table {
        for (ours, built) in [(true, false), (false, true)] {
            assert!(fault_of(settings, ours, built).starts_with(fault));
        }
        let own = |_: &Group| Control::from("prague".to_owned());
        let why = LabPlan::new(&prague(settings), own, &LabOptions::default());
        let why = why.unwrap_err().to_string();
        assert!(why.contains("of prague cannot be set in a kernel"), "{why}");
    }
    // All of them are refused together.
    let group = "[[group]]\nname = \"A\"\nrtt = \"10ms\"\n";
    let best = format!("{group}cc = {{ kind = \"prague\", profile = \"best\" }}\n");
    match plan(&best, &LabOptions { built: true, ..LabOptions::default() }) {
        Err(OsError::Unsupported(why)) => assert_eq!(why.lines().count(), 6, "{why}"),
        other => panic!("{other:?}"),
    }
}

/// Version 3 of BBR is a BPF program, and has the draft's response to marks only.
#[test]
fn bbr3_is_a_kernels_with_bpf_and_without_its_own_response_to_marks() {
    let group = "[[group]]\nname = \"A\"\nrtt = \"10ms\"\n";
    let refused = |cc: &str, built| {
        let options = LabOptions { built, ..LabOptions::default() };
        plan(&format!("{group}cc = {cc}\n"), &options).err().map(|why| why.to_string())
    };
    assert_eq!(refused("\"bbr3\"", false), None);
    let why = refused("\"bbr3\"", true).unwrap();
    assert!(why.starts_with("group `A`: its kernel is built without BPF"), "{why}");
    let why = refused("{ kind = \"bbr3\", ecn = true }", false).unwrap();
    assert!(why.contains("`ecn` of bbr3 cannot be set in a kernel"), "{why}");
}

/// A BPF program sends tracers, and only as copies.
#[test]
fn an_active_prague_is_a_kernels_with_copies_and_bpf() {
    let ours = |_: &Group| Control { ours: true, ..Control::from("prague1".to_owned()) };
    let active = "fallback = \"active\"";
    LabPlan::new(&prague(active), ours, &LabOptions::default()).unwrap();
    let split = "fallback = \"active\", tracer_set = \"split\"";
    let fault = fault_of(split, true, false);
    assert!(fault.starts_with("`tracer_set`: found \"split\", expected \"copies\""), "{fault}");
    for settings in [active, split] {
        let fault = fault_of(settings, false, true);
        let expected = "`fallback`: found \"active\", expected \"off\" or \"passive\": its kernel \
                        is built without BPF, which sends tracers";
        assert_eq!(fault, expected);
    }
}
