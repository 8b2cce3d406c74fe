//! Every packet and its counters: codepoints, checksums, marks, interfaces.

use super::*;

/// The codepoint of each sender, in the same order.
const SENT: [u8; 7] = [NOT_ECT, ECT0, ECT1, NOT_ECT, ECT1, ECT0, CE];

/// A run with all of its results.
struct Kept {
    summary: Summary,
    series: Vec<SeriesRow>,
    /// `None` without tshark.
    packets: Option<Vec<Seen>>,
}

/// The run of [`ALL`] with IPv4 and the one with IPv6, each made once for all tests.
fn kept() -> impl Iterator<Item = (u8, &'static Kept)> {
    static KEPT: [OnceLock<Option<Kept>>; 2] = [const { OnceLock::new() }; 2];
    let run = |ip: u8| keep(&ALL.replace("{ip}", &ip.to_string()));
    let kept = move |(ip, kept): (u8, &'static OnceLock<Option<Kept>>)| {
        Some((ip, kept.get_or_init(|| run(ip)).as_ref()?))
    };
    [4, 6].into_iter().zip(&KEPT).filter_map(kept)
}

fn keep(scenario: &str) -> Option<Kept> {
    let _alone = alone();
    let folder = folder(scenario);
    let more = ["--json", "--out", "out", "--trace", "pcapng-full"];
    let summary = done(&l4s(folder.path(), &more).output().expect("l4s starts"))?.pop()?;
    let out = folder.path().join("out");
    let results = Results::open(&out).expect("results");
    let (_, series) = results.series().expect("series").next().expect("a run").expect("rows");
    Some(Kept { summary, series, packets: trace::read(&out.join("trace.pcapng")) })
}

/// The runs whose packets could be read.
fn traced() -> impl Iterator<Item = (u8, &'static [Seen])> {
    kept().filter_map(|(ip, kept)| Some((ip, kept.packets.as_deref()?)))
}

#[test]
fn series_hold_what_the_sockets_tell() {
    for (ip, kept) in kept() {
        for (name, has_ecn) in [("cubic.0", false), ("dctcp.1", true), ("prague.2", true)] {
            let is_ours = |row: &&SeriesRow| row.scope == Scope::Flow && row.name == name;
            let rows: Vec<&SeriesRow> = kept.series.iter().filter(is_ours).collect();
            assert!(rows.len() >= 10, "IPv{ip} {name}: {} rows", rows.len());
            assert!(rows.is_sorted_by_key(|row| row.delivered), "IPv{ip} {name}");
            let last = rows.last().expect("a row");
            assert!(last.delivered.is_some_and(|n| n > 100), "IPv{ip} {last:?}");
            assert_eq!(last.delivered_ce.is_some_and(|n| n > 0), has_ecn, "IPv{ip} {last:?}");
            assert!(last.delivered_ce <= last.delivered, "IPv{ip} {last:?}");
            assert!(last.retransmits.is_some() && last.cwnd_pkts.is_some(), "IPv{ip} {last:?}");
            assert!(last.srtt_ms.is_some_and(|rtt| rtt >= 10.0), "IPv{ip} {last:?}");
        }
    }
}

#[test]
fn datagrams_of_each_codepoint_arrive() {
    for (ip, kept) in kept() {
        for name in ["not-ect", "ect1", "ect0", "ce"] {
            // 400 kb/s in packets of 4000 bits for 1.5 s: 150. The AQM may drop some. There may be a few more if
            // the machine ends the run late.
            let packets = group(&kept.summary, name).packets;
            println!("IPv{ip}: {packets} packets of {name}");
            assert!((100..=200).contains(&packets), "IPv{ip} {name}: {packets}");
        }
    }
}

#[test]
fn no_packet_has_a_bad_checksum() {
    for (ip, packets) in traced() {
        assert!(packets.len() > 4000, "{} packets", packets.len());
        for packet in packets {
            let header = if ip == 4 { Checksum::Good } else { Checksum::Absent };
            let (tcp, udp) = match packet.tcp {
                Some(_) => (Checksum::Good, Checksum::Absent),
                None => (Checksum::Absent, Checksum::Good),
            };
            assert_eq!(packet.checksums, [header, tcp, udp], "IPv{ip} {packet:?}");
        }
    }
}

#[test]
fn each_sender_has_its_codepoint() {
    for (ip, packets) in traced() {
        for (pair, codepoint) in SENT.into_iter().enumerate() {
            // A handshake has other codepoints.
            let is_ours = |p: &&Seen| p.pair == pair && p.on != "up";
            let is_data = |p: &&Seen| is_ours(p) && p.tcp_payload().is_none_or(|n| n > 0);
            let data = || packets.iter().filter(is_data);
            assert!(data().count() > 100, "IPv{ip} pair {pair}: {}", data().count());
            let other = data().find(|p| p.ecn != if p.marked { CE } else { codepoint });
            assert!(other.is_none(), "IPv{ip}: {codepoint:02b} expected of {other:?}");
        }
    }
}

#[test]
fn a_mark_is_noted_where_it_is() {
    for (ip, packets) in traced() {
        for pair in [1, 2] {
            let marked = packets.iter().filter(|p| p.pair == pair && p.marked);
            assert!(marked.count() > 0, "IPv{ip}: no mark for pair {pair}");
        }
        for packet in packets {
            let was_ce = SENT[packet.pair] == CE;
            assert_eq!(packet.ecn == CE, packet.marked || was_ce, "IPv{ip} {packet:?}");
        }
    }
}

/// The trace has both directions of real TCP: tshark finds every segment that is acknowledged.
#[test]
fn connections_are_whole() {
    for (ip, packets) in traced() {
        for pair in 0..3 {
            let of = |on: &str| packets.iter().filter(|p| p.pair == pair && p.on == on).count();
            let (down, up) = (of("down"), of("up"));
            assert!(up > down / 10 && up < down, "IPv{ip} pair {pair}: {down} down, {up} up");
        }
        let gap = trace::segments(packets).find(|(_, tcp)| tcp.shows_gap);
        assert!(gap.is_none(), "IPv{ip} {gap:?}");
    }
}

/// Sets of tracers of this machine's TCP: a packet, and two copies of its end that are ordinary packets. The
/// AQM is CoDel, whose marks cause the sets.
#[test]
fn tracers_are_whole_packets_behind_their_front() {
    for ip in [4, 6] {
        let text = format!(
            "duration = \"5s\"\nkernel.ip = {ip}\nlink.rate = \"20mbit\"\n\
             aqm = {{ kind = \"codel\", ecn = true }}\n\
             [[group]]\nname = \"A\"\nrtt = \"10ms\"\n\
             cc = {{ kind = \"prague\", profile = \"best-linux\" }}\n"
        );
        let Some(kept) = keep(&text) else { return };
        let Some(packets) = &kept.packets else { return };
        let data: Vec<&Seen> = packets
            .iter()
            .filter(|p| p.on != "up" && p.tcp_payload().is_some_and(|n| n > 0))
            .collect();
        let middles: Vec<usize> = (1..data.len() - 1).filter(|n| data[*n].ecn == ECT0).collect();
        println!("IPv{ip}: {} sets, {} data packets", middles.len(), data.len());
        assert!(!middles.is_empty(), "IPv{ip}: no sets");
        for n in middles {
            let [front, middle, rear] = [data[n - 1], data[n], data[n + 1]];
            let is_ect1 = |p: &Seen| p.ecn == ECT1 || p.marked;
            assert!(is_ect1(front) && is_ect1(rear), "IPv{ip} {front:?} {rear:?}");
            assert_eq!([middle.tcp_payload(), rear.tcp_payload()], [Some(98), Some(97)], "IPv{ip}");
            assert!(front.tcp_payload().is_some_and(|n| n >= 200), "IPv{ip} {front:?}");
        }
        let good = |p: &Seen| {
            let header = if ip == 4 { Checksum::Good } else { Checksum::Absent };
            p.checksums == [header, Checksum::Good, Checksum::Absent]
        };
        let bad = packets.iter().find(|packet| !good(packet));
        assert!(bad.is_none(), "IPv{ip} {bad:?}");
        let prague = group(&kept.summary, "A").prague.as_ref().expect("a detector");
        println!("IPv{ip}: {prague:?}");
    }
}

/// Identical packets, marked when they arrive at a long queue.
#[test]
fn a_mark_is_noted_at_the_datagram_that_has_it() {
    let text = "duration = \"1s\"\nlink = { rate = \"10mbit\", buffer = \"200p\" }\n\
                aqm = { kind = \"pie\" }\n\
                udp = [{ name = \"U\", rate = \"11mbit\", packet = \"1000b\", ecn = \"ect0\" }]\n";
    let Some(kept) = keep(text) else { return };
    let Some(packets) = &kept.packets else { return };
    let marked = packets.iter().filter(|packet| packet.ecn == CE).count();
    println!("{marked} of {} datagrams are CE", packets.len());
    assert!(marked > 0, "{:?}", kept.summary.queues);
    assert!(packets.iter().all(|packet| packet.marked == (packet.ecn == CE)));
}

/// The parts of a packet's path that two sides count: the data plane, and the interfaces of the
/// namespaces. A TUN device counts a packet as sent when it is read from the device. Segments of TCP
/// that are not cut, and datagrams, are the same packets on both sides.
#[test]
fn what_the_plane_counts_is_what_the_interfaces_count() {
    for gso in [true, false] {
        count_on_both_sides(gso);
    }
}

fn count_on_both_sides(gso: bool) {
    let _alone = alone();
    let text = format!(
        "duration = \"1500ms\"\nlink = {{ rate = \"20mbit\", buffer = \"50p\" }}\n\
         kernel.gso = {gso}\naqm = {{ kind = \"pie\" }}\n\
         [[group]]\nname = \"A\"\ncc = \"cubic\"\nflows = 3\nrtt = \"10ms\"\n\
         [[group]]\nname = \"B\"\ncc = \"reno\"\necn = \"classic\"\nsize = \"50kB\"\n\
         flows = 20\nstart = {{ every = \"20ms\" }}\nrtt = \"20ms\"\n\
         [[udp]]\nname = \"U\"\nrate = \"5mbit\"\npacket = \"200B\"\n"
    );
    let scenario = l4s_scenario::Plan::parse("t", &text, &[]).expect("a plan");
    let scenario = &scenario.points[0].scenario;
    let stock = |group: &l4s_model::Group| group.cc.kind().to_owned();
    let plan = LabPlan::new(scenario, stock, &LabOptions::default()).expect("a plan");
    let agent = AgentCommand { program: L4S.into(), args: vec!["agent".into()] };
    let mut lab = match Lab::build(&plan, &agent) {
        Ok(lab) => lab,
        Err(OsError::Machine(why)) => return println!("skipped: {why}"),
        Err(error) => panic!("{error}"),
    };

    let (ports, mut plane) = (lab.take_ports(), Plane::new(scenario));
    let (_nobody_tells, reports) = mpsc::channel();
    let mut ledger = Ledger::new(scenario, reports);
    let clock = Clock::starting_in(l4s_units::Duration::from_millis(50));
    let stop = AtomicBool::new(false);
    let settings = Settings::new(clock, Time::ZERO + scenario.duration, &stop);
    lab.start(clock);
    let pumped = pump(&ports, &mut plane, settings, &mut ledger, &mut ()).expect("a run");
    // If the machine has no time for the data plane, it has none for arriving packets either.
    let unfit = pumped.departures.unfit(l4s_lab::shortest_rtt(scenario));
    println!("unfit: {unfit:?}");

    let mut waiting = plane.backlog().packets as u64;
    let (mut dropped, mut passed) = (0, 0);
    for (agent, number) in lab.agents().iter().zip(0..) {
        let (pair, end) = (number / 2, [End::Server, End::Client][number % 2]);
        let (sent, back) = (plane.counters(pair, end), plane.counters(pair, end.other()));
        let interface = Interface::of(agent.pid);
        println!("{}: {interface:?}, {sent:?}", agent.who);
        if gso || pair == 2 {
            assert_eq!(interface.sent, sent.received, "{}", agent.who);
            assert_eq!(interface.received, back.forwarded, "{}", agent.who);
        } else {
            assert!(interface.sent <= sent.received, "{}", agent.who);
            assert!(interface.received <= back.forwarded, "{}", agent.who);
        }
        assert_eq!(interface.not_received, back.refused, "{}", agent.who);
        // A packet that the data plane did not read in time would be a loss without a queue discipline.
        assert!(interface.not_sent == 0 || unfit.is_some(), "{}", agent.who);
        let under_way = sent.under_way();
        match end {
            End::Server => waiting -= under_way,
            End::Client => assert_eq!(under_way, plane.on_line(pair) as u64, "{}", agent.who),
        }
        dropped += sent.dropped;
        passed += sent.forwarded;
    }
    assert_eq!(waiting, 0, "what came and is not gone waits in the bottleneck");
    assert!(dropped > 0 && passed > 500, "{dropped} dropped, {passed} passed");
}

/// The packets that the kernel counts at an agent's device.
#[derive(Debug)]
struct Interface {
    received: u64,
    not_received: u64,
    sent: u64,
    not_sent: u64,
}

impl Interface {
    fn of(agent: u32) -> Interface {
        let text = fs::read_to_string(format!("/proc/{agent}/net/dev")).expect("its interfaces");
        let line = text.lines().find_map(|line| line.trim().strip_prefix("l4s0:"));
        // Received: bytes packets errs drop fifo frame compressed multicast; then sent, in the same way.
        let numbers: Vec<u64> = line
            .expect("its device")
            .split_whitespace()
            .map(|number| number.parse().expect("a number"))
            .collect();
        Interface {
            received: numbers[1],
            not_received: numbers[2] + numbers[3],
            sent: numbers[9],
            not_sent: numbers[10] + numbers[11],
        }
    }
}
