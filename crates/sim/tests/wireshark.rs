//! A trace is like that of a real connection. In a clean run tshark finds nothing wrong, in a run with losses
//! it finds only those, and its numbers equal the simulator's own.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::process::Command;

use l4s_aqm::{DropCause, MarkCause, Queue};
use l4s_measure::{PacketTrace, Snap};
use l4s_model::FlowId;
use l4s_observe::Observer;
use l4s_scenario::Plan;
use l4s_sim::Packet;
use l4s_units::{Duration, Time};

/// The events that the simulator reports for a run.
#[derive(Default)]
struct Truth {
    /// The number of packets that left the bottleneck, and of dropped ones.
    departed: u64,
    dropped: u64,
    marked: u64,
    /// The times of retransmissions.
    retransmitted: BTreeMap<u64, u32>,
    /// RTTs in nanoseconds, with the times at which they were measured, by flow.
    round_trips: BTreeMap<u32, VecDeque<(u64, u64)>>,
}

impl Observer<Packet> for Truth {
    fn departed(&mut self, _: &Packet, _: Queue, _: Duration, _: Time) {
        self.departed += 1;
    }
    fn dropped(&mut self, _: &Packet, _: Queue, _: DropCause, _: Time) {
        self.dropped += 1;
    }
    fn marked(&mut self, _: &Packet, _: Queue, _: MarkCause, _: Time) {
        self.marked += 1;
    }
    fn retransmitted(&mut self, _: FlowId, now: Time) {
        *self.retransmitted.entry(now.as_nanos()).or_default() += 1;
    }
    fn round_trip(&mut self, flow: FlowId, rtt: Duration, now: Time) {
        self.round_trips.entry(flow.get()).or_default().push_back((now.as_nanos(), rtt.as_nanos()));
    }
}

/// tshark's fields of a packet.
#[derive(Clone, Debug)]
struct Seen {
    on: String,
    marked: bool,
    time: u64,
    ecn: u8,
    /// The verdict on the transport checksum.
    checksum: String,
    ip_checksum: String,
    malformed: String,
    /// The flow, by its ports.
    flow: u32,
    /// The fields of TCP, with relative numbers.
    tcp: Option<TcpSeen>,
}

#[derive(Clone, Debug)]
struct TcpSeen {
    seq: u64,
    ack: u64,
    length: u64,
    syn: bool,
    fin: bool,
    /// The counter ACE, if tshark saw that AccECN was negotiated.
    ace: Option<u8>,
    ece: bool,
    cwr: bool,
    /// The time since the segment that it acknowledges, and the frame of that segment.
    ack_rtt: Option<u64>,
    acks_frame: Option<usize>,
    /// The names of the flags in `tcp.analysis.flags`.
    flags: Vec<&'static str>,
    /// The counters of the AccECN option: ECT(1), CE, ECT(0).
    accecn: Option<[u64; 3]>,
    sack_blocks: u32,
}

const FIELDS: [&str; 24] = [
    "frame.interface_name",
    "frame.comment",
    "frame.time_epoch",
    "ip.dsfield.ecn",
    "ip.checksum.status",
    "_ws.malformed",
    "tcp.checksum.status",
    "udp.checksum.status",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq",
    "tcp.ack",
    "tcp.len",
    "tcp.flags.syn",
    "tcp.flags.fin",
    "tcp.flags.ace",
    "tcp.flags.cwr",
    "tcp.flags.ece",
    "tcp.analysis.ack_rtt",
    "tcp.analysis.acks_frame",
    "tcp.options.acc_ecn.ee1b",
    "tcp.options.acc_ecn.eceb",
    "tcp.options.acc_ecn.ee0b",
    "tcp.options.sack.count",
];

/// All flags that `tcp.analysis.flags` may have.
const FLAGS: [&str; 13] = [
    "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.lost_segment",
    "tcp.analysis.ack_lost_segment",
    "tcp.analysis.duplicate_ack",
    "tcp.analysis.window_update",
    "tcp.analysis.window_full",
    "tcp.analysis.zero_window",
    "tcp.analysis.keep_alive",
    "tcp.analysis.reused_ports",
    "tcp.analysis.flags",
];

/// Seconds with nine decimals, in nanoseconds.
fn nanoseconds(seconds: &str) -> u64 {
    let (whole, fraction) = seconds.split_once('.').expect(seconds);
    assert_eq!(fraction.len(), 9, "{seconds}");
    whole.parse::<u64>().unwrap() * 1_000_000_000 + fraction.parse::<u64>().unwrap()
}

impl Seen {
    fn parse(line: &str) -> Seen {
        let fields: Vec<&str> = line.split('\t').collect();
        let (values, flags) = fields.split_at(FIELDS.len());
        let value = |name: &str| values[FIELDS.iter().position(|field| *field == name).unwrap()];
        let number = |name: &str| value(name).parse::<u64>().ok();
        let is_set = |name: &str| number(name) == Some(1);
        let tcp = number("tcp.seq").map(|seq| TcpSeen {
            seq,
            ack: number("tcp.ack").unwrap(),
            length: number("tcp.len").unwrap(),
            syn: is_set("tcp.flags.syn"),
            fin: is_set("tcp.flags.fin"),
            ace: number("tcp.flags.ace").map(|ace| ace as u8),
            ece: is_set("tcp.flags.ece"),
            cwr: is_set("tcp.flags.cwr"),
            ack_rtt: Some(value("tcp.analysis.ack_rtt")).filter(|v| !v.is_empty()).map(nanoseconds),
            acks_frame: number("tcp.analysis.acks_frame").map(|number| number as usize - 1),
            flags: FLAGS
                .iter()
                .zip(flags)
                .filter(|(_, set)| !set.is_empty())
                .map(|(flag, _)| *flag)
                .collect(),
            accecn: number("tcp.options.acc_ecn.ee1b").map(|ect1| {
                let other = |name| number(name).unwrap_or_default();
                [ect1, other("tcp.options.acc_ecn.eceb"), other("tcp.options.acc_ecn.ee0b")]
            }),
            sack_blocks: number("tcp.options.sack.count").unwrap_or_default() as u32,
        });
        let ports =
            ["tcp.srcport", "tcp.dstport"].map(|port| number(port).unwrap_or_default() as u32);
        let [server, client] = match value("frame.interface_name") {
            "up" => [ports[1], ports[0]],
            _ => ports,
        };
        Seen {
            on: value("frame.interface_name").to_owned(),
            marked: value("frame.comment").starts_with("marked"),
            time: nanoseconds(value("frame.time_epoch")),
            ecn: number("ip.dsfield.ecn").unwrap() as u8,
            checksum: format!("{}{}", value("tcp.checksum.status"), value("udp.checksum.status")),
            ip_checksum: value("ip.checksum.status").to_owned(),
            malformed: value("_ws.malformed").to_owned(),
            flow: tcp.as_ref().map_or(0, |_| (server - 49_152) * 16_384 + client - 49_152),
            tcp,
        }
    }
}

/// A scenario's run and tshark's fields of it; `None` if tshark is not installed.
fn read(scenario: &str) -> Option<(Truth, Vec<Seen>)> {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("SKIPPED: tshark is not installed (apt-get install tshark)");
        return None;
    }
    let plan = Plan::parse("scenario.toml", scenario, &[]).expect(scenario);
    let trace = PacketTrace::new(Vec::new(), Snap::Packet).unwrap();
    let mut both = (trace, Truth::default());
    l4s_sim::run(&plan.points[0].scenario, &mut both);
    let (trace, truth) = both;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.pcapng");
    std::fs::write(&path, trace.finish().unwrap()).unwrap();

    let capinfos = Command::new("capinfos").arg("-cMo").arg(&path).output().unwrap();
    let says = String::from_utf8_lossy(&capinfos.stdout).into_owned();
    assert!(capinfos.status.success() && says.contains("Strict time order:   True"), "{says}");

    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(&path).args(["-T", "fields", "-E", "occurrence=f"]);
    for layer in ["ip", "tcp", "udp"] {
        tshark.args(["-o", &format!("{layer}.check_checksum:TRUE")]);
    }
    for field in FIELDS.iter().chain(&FLAGS) {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Vec<Seen> =
        String::from_utf8(output.stdout).unwrap().lines().map(Seen::parse).collect();
    assert!(says.contains(&format!("Number of packets:   {}", seen.len())), "{says}");
    for packet in &seen {
        // 1: good.
        assert_eq!((&*packet.ip_checksum, &*packet.checksum, &*packet.malformed), ("1", "1", ""));
    }
    let on = |name: &str| seen.iter().filter(|packet| packet.on == name).count() as u64;
    assert_eq!(on("drop"), truth.dropped);
    assert_eq!(seen.iter().filter(|packet| packet.marked).count() as u64, truth.marked);
    // The backlog at the end has not left.
    assert!((truth.departed..truth.departed + 2000).contains(&on("down")));
    Some((truth, seen))
}

const TWENTY: &str = "duration = \"3s\"\nwarmup = \"0s\"\nlink.rate = \"20mbit\"\n";

/// A group of this name with a base RTT of 20 ms.
fn group(name: &str, cc: &str, more: &str) -> String {
    format!("[[group]]\nname = \"{name}\"\ncc = {cc}\nrtt = \"20ms\"\n{more}\n")
}

/// Runs without losses.
fn clean() -> Vec<(&'static str, String)> {
    let dual = "aqm = { kind = \"dualpi2\" }\n";
    let dc = "aqm = { kind = \"dualpi2\", dualq = \"dc\", marking = \"dc\" }\n";
    // No flow of three seconds fills this buffer.
    let deep = "link.buffer = \"9000p\"\naqm = { kind = \"fifo\" }\n";
    let classic = "ecn = \"classic\"";
    vec![
        ("prague", [TWENTY, dual, &group("A", "\"prague\"", "")].concat()),
        (
            "prague, ACE alone",
            [TWENTY, dual, &group("A", "\"prague\"", "accecn = \"ace\"")].concat(),
        ),
        ("dctcp", [TWENTY, dc, &group("A", "\"dctcp\"", "flows = 2")].concat()),
        ("cubic with ECN", [TWENTY, dual, &group("A", "\"cubic\"", classic)].concat()),
        ("cubic", [TWENTY, deep, &group("A", "\"cubic\"", "")].concat()),
        (
            "prague beside cubic and UDP",
            [
                TWENTY,
                dual,
                &group("A", "\"prague\"", "flows = 2"),
                &group("B", "\"cubic\"", classic),
                "[[udp]]\nname = \"U\"\nrate = \"2mbit\"\necn = \"ect1\"\npacket = \"300b\"\n",
            ]
            .concat(),
        ),
        (
            "applications",
            [
                TWENTY,
                dual,
                &group("A", "\"prague\"", "flows = 0"),
                &group("B", "\"cubic\"", "ecn = \"classic\"\nflows = 0"),
                "[[app]]\ngroup = \"A\"\nrate = \"4mbit\"\nfps = 30\n",
                "[[app]]\ngroup = \"B\"\nrate = \"1mbit\"\nfps = 50\nflows = 2\n",
            ]
            .concat(),
        ),
        (
            "short flows",
            [
                TWENTY,
                deep,
                &group(
                    "A",
                    "\"cubic\"",
                    "size = \"50kB\"\nflows = 20\nstart = { every = \"100ms\" }",
                ),
                &group(
                    "B",
                    "\"prague\"",
                    "size = \"1kB\"\nflows = 20\nstart = { every = \"70ms\" }",
                ),
                "[[web]]\ngroup = \"A\"\nrate = \"20/s\"\nsize = \"10kb\"\n",
            ]
            .concat(),
        ),
    ]
}

/// The packets of TCP.
fn of_tcp(seen: &[Seen]) -> impl Iterator<Item = (&Seen, &TcpSeen)> {
    seen.iter().filter_map(|packet| Some((packet, packet.tcp.as_ref()?)))
}

/// The data segments of each flow by their sequence numbers, with the times at which they were sent.
type Sent = BTreeMap<u32, BTreeMap<u64, u64>>;

/// The RTTs that the acknowledgements of a run without loss show. Each is the time since the oldest segment
/// was sent that the acknowledgement covers for the first time.
fn round_trips(seen: &[Seen]) -> BTreeMap<u32, VecDeque<(u64, u64)>> {
    let (mut sent, mut una) = (Sent::new(), BTreeMap::new());
    let mut found: BTreeMap<u32, VecDeque<(u64, u64)>> = BTreeMap::new();
    for (packet, tcp) in of_tcp(seen) {
        if packet.on == "down" && tcp.length > 0 {
            sent.entry(packet.flow).or_default().insert(tcp.seq, packet.time);
        } else if packet.on == "up" && tcp.length == 0 && !tcp.syn {
            let una = una.entry(packet.flow).or_insert(1);
            if tcp.ack > *una {
                let rtt = packet.time - sent[&packet.flow][una];
                found.entry(packet.flow).or_default().push_back((packet.time, rtt));
                *una = tcp.ack;
            }
        }
    }
    found
}

#[test]
fn a_clean_run_has_nothing_to_report_and_the_simulators_own_round_trips() {
    for (name, scenario) in clean() {
        let Some((truth, seen)) = read(&scenario) else { return };
        assert_eq!((truth.dropped, truth.retransmitted.len()), (0, 0), "{name}");
        for (packet, tcp) in of_tcp(&seen) {
            assert!(tcp.flags.is_empty(), "{name}: {packet:?}");
        }
        assert_eq!(round_trips(&seen), truth.round_trips, "{name}");
        let mut alone = 0;
        for (packet, tcp) in
            of_tcp(&seen).filter(|(p, tcp)| p.on == "up" && tcp.length == 0 && !tcp.syn)
        {
            // tshark measures from the last acknowledged segment.
            let acked = &seen[tcp.acks_frame.expect(name)];
            assert_eq!(tcp.ack_rtt, Some(packet.time - acked.time), "{name}");
            alone += u32::from(
                truth.round_trips[&packet.flow].contains(&(packet.time, tcp.ack_rtt.unwrap())),
            );
        }
        assert!(alone > 50, "{name}: {alone}");
    }
}

/// Nothing is lost or overtaken, so each acknowledgement counts the segments before it (RFC 9768 §3.2).
#[test]
fn ace_and_option_count_what_arrived() {
    let aqm = "aqm = { kind = \"dualpi2\" }\n";
    let scenario = [TWENTY, aqm, &group("A", "\"prague\"", "size = \"5MB\"")].concat();
    let Some((truth, seen)) = read(&scenario) else { return };
    assert!(truth.marked > 50);
    let data = of_tcp(&seen).filter(|(packet, tcp)| packet.on == "down" && tcp.length > 0);
    let mut data = data.peekable();
    let (mut marks, mut ect1, mut ce, mut last) = (5, 1, 0, 0);
    for (packet, tcp) in of_tcp(&seen).filter(|(p, tcp)| p.on == "up" && tcp.seq > 1) {
        while let Some((sent, segment)) = data.next_if(|(_, segment)| segment.seq < tcp.ack) {
            match sent.ecn {
                0b11 => (marks, ce) = (marks + 1, ce + segment.length),
                _ => ect1 += segment.length,
            }
        }
        assert_eq!(tcp.ace, Some((marks % 8) as u8), "{packet:?}");
        assert_eq!(tcp.accecn, Some([ect1, ce, 1]), "{packet:?}");
        last = tcp.ack;
    }
    // SYN, data, and FIN.
    assert_eq!((marks - 5, last), (truth.marked, 1 + 5_000_000 + 1));
    assert!(of_tcp(&seen).any(|(packet, tcp)| packet.on == "down" && tcp.fin));
}

/// The notes that tshark may have in runs with losses.
const OF_LOSSES: [&str; 7] = [
    "tcp.analysis.flags",
    "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.duplicate_ack",
    "tcp.analysis.window_update",
];

#[test]
fn with_losses_there_is_what_happened_and_no_more() {
    let fifo = "link.buffer = \"40p\"\naqm = { kind = \"fifo\" }\n";
    let dual = "aqm = { kind = \"dualpi2\" }\n";
    for (name, cc, aqm) in [
        ("reno", "\"reno\"", fifo),
        ("cubic", "\"cubic\"", fifo),
        ("prague", "\"prague\"", fifo),
        ("cubic in DualPI2", "\"cubic\"", dual),
    ] {
        let Some((truth, seen)) = read(&[TWENTY, aqm, &group("A", cc, "flows = 2")].concat())
        else {
            return;
        };
        assert!(truth.dropped > 5, "{name}");
        let mut again = BTreeMap::new();
        for (packet, tcp) in of_tcp(&seen) {
            assert!(tcp.flags.iter().all(|flag| OF_LOSSES.contains(flag)), "{name}: {packet:?}");
            // tshark takes a retransmission for reordering if the newest segment is recent.
            let is_again =
                |flag: &&str| flag.ends_with("retransmission") || flag.ends_with("out_of_order");
            if packet.on != "up" && tcp.flags.iter().any(is_again) {
                *again.entry(packet.time).or_insert(0) += 1;
            }
        }
        assert_eq!(again, truth.retransmitted, "{name}");
        assert!(
            seen.iter().any(|p| p.tcp.as_ref().is_some_and(|tcp| tcp.sack_blocks > 0)),
            "{name}"
        );
    }
}

/// An RTT that is longer than the time after which a SYN is sent again (RFC 6298 §2.1).
#[test]
fn a_handshake_that_takes_long_shows_each_syn() {
    let scenario = "duration = \"8s\"\nwarmup = \"0s\"\nhost_jitter = false\nlink.rate = \"10mbit\"\n\
                    [[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"1500ms\"\nsize = \"10kB\"\n";
    let Some((_, seen)) = read(scenario) else { return };
    let syns = |on: &str| -> Vec<u64> {
        let on = seen.iter().filter(|p| p.on == on && p.tcp.as_ref().is_some_and(|tcp| tcp.syn));
        on.map(|p| p.time / 1_000_000).collect()
    };
    // SYNs are sent at 0 s and 1 s. Each gets an answer, and the server's timer fires, too.
    assert_eq!(syns("up"), [1500, 2500]);
    assert_eq!(syns("down"), [1500, 2500, 2500]);
}

/// RFC 3168 §6.1.3: ECE from the mark to CWR. RFC 8257 §3.2: ECE is the mark of the acknowledged segment.
#[test]
fn echoes_of_marks_are_in_the_flags() {
    let dual = "aqm = { kind = \"dualpi2\", dualq = \"dc\", marking = \"dc\" }\n";
    for (cc, ecn) in [("\"cubic\"", "classic"), ("\"dctcp\"", "auto")] {
        let group = group("A", cc, &format!("ecn = \"{ecn}\""));
        let Some((truth, seen)) = read(&[TWENTY, dual, &group].concat()) else { return };
        assert!(truth.marked > 5, "{cc}");
        let (mut echoed, mut reduced) = (0, 0);
        for (packet, tcp) in of_tcp(&seen) {
            assert_eq!(tcp.ace, None, "{packet:?}");
            if tcp.syn {
                // The SYN requests ECN, and the SYN-ACK accepts it.
                assert_eq!((tcp.ece, tcp.cwr), (true, packet.on == "up"), "{packet:?}");
            } else if packet.on == "up" {
                echoed += u64::from(tcp.ece);
            } else {
                reduced += u64::from(tcp.cwr);
            }
        }
        assert!(echoed >= truth.marked / 2 && reduced > 0, "{cc}: {echoed}, {reduced}");
    }
}

/// Fallback §5.2: the middle and the rear of a set repeat bytes, and the receiver reports them.
#[test]
fn tracers_are_all_that_comes_twice() {
    let scenario = "duration = \"6s\"\nwarmup = \"0s\"\nlink.rate = \"20mbit\"\n\
                    aqm = { kind = \"codel\", ecn = true }\n\
                    [[group]]\nname = \"A\"\nrtt = \"10ms\"\n\
                    cc = { kind = \"prague\", profile = \"paper\", fallback = \"active\" }\n";
    let Some((truth, seen)) = read(scenario) else { return };
    assert_eq!((truth.dropped, truth.retransmitted.len()), (0, 0));
    let mut ends = BTreeSet::new();
    for (packet, tcp) in of_tcp(&seen) {
        if packet.on == "up" {
            // tshark does not count the new bytes of a segment that begins with old ones.
            let unseen =
                |flag: &&str| flag.ends_with("ack_lost_segment") && ends.contains(&tcp.ack);
            let is_known = |flag: &&str| OF_LOSSES.contains(flag) || unseen(flag);
            assert!(tcp.flags.iter().all(is_known), "{packet:?}");
        } else if tcp.length == 98 {
            ends.insert(tcp.seq + tcp.length);
        } else {
            assert!(tcp.flags.is_empty(), "{packet:?}");
        }
    }
    assert!(!ends.is_empty());
    // The middle of a set is ECT(0), and counted as such.
    let last = of_tcp(&seen).filter(|(packet, _)| packet.on == "up").last().unwrap().1;
    assert!(last.accecn.is_some_and(|[_, _, ect0]| ect0 > 98 && ect0 % 98 == 1), "{last:?}");
}
