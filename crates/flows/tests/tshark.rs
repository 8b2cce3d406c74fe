//! Traces of the simulator, read by this crate and by tshark: conversations, packets, bytes, codepoints,
//! retransmissions and round trips are the same, and equal the simulator's own.

use std::collections::BTreeMap;
use std::process::Command;

use l4s_flows::ip::IpPacket;
use l4s_flows::{Direction, Flows, Row};
use l4s_measure::{PacketTrace, Snap};
use l4s_model::FlowId;
use l4s_observe::Observer;
use l4s_scenario::Plan;
use l4s_sim::Packet;
use l4s_units::{Duration, Time};
use pcap_file::pcapng::{
    Block, PcapNgReader, blocks::interface_description::InterfaceDescriptionOption,
};

/// The events that the simulator reports for a run.
#[derive(Default)]
struct Truth {
    retransmits: u64,
    /// The RTT that an acknowledgement measured, in nanoseconds, by its time and flow.
    round_trips: BTreeMap<(u64, u32), u64>,
}

impl Observer<Packet> for Truth {
    fn retransmitted(&mut self, _: FlowId, _: Time) {
        self.retransmits += 1;
    }
    fn round_trip(&mut self, flow: FlowId, rtt: Duration, now: Time) {
        self.round_trips.insert((now.as_nanos(), flow.get()), rtt.as_nanos());
    }
}

/// tshark's counts for one direction of a conversation.
#[derive(Clone, Debug, Default, PartialEq)]
struct Way {
    packets: u64,
    bytes: u64,
    by_ecn: [u64; 4],
    retransmits: u64,
}

/// tshark's results for a conversation.
#[derive(Clone, Debug, Default)]
struct Conversation {
    /// Down and up.
    ways: [Way; 2],
    /// Segments with data that the server sent again.
    data_again: u64,
    /// Times in nanoseconds from a segment of the server to its acknowledgement, by the time of the latter.
    ack_rtts: BTreeMap<u64, u64>,
}

/// A sample of the client's part that this crate took, in nanoseconds. The trace is from the server's
/// end, so the sample is the whole RTT.
#[derive(Debug)]
struct Sample {
    ends: Ends,
    time: u64,
    rtt: f64,
}

/// Address and port of client and server, as text.
type Ends = [(String, u32); 2];

const FIELDS: [&str; 14] = [
    "frame.time_epoch",
    "frame.interface_name",
    "ip.src",
    "ip.dst",
    "ip.len",
    "ip.dsfield.ecn",
    "tcp.srcport",
    "tcp.dstport",
    "udp.srcport",
    "udp.dstport",
    "tcp.analysis.ack_rtt",
    "tcp.analysis.retransmission",
    "tcp.analysis.out_of_order",
    "tcp.len",
];

fn conversation(line: &str, all: &mut BTreeMap<Ends, Conversation>) {
    let values: Vec<&str> = line.split('\t').collect();
    let value = |name: &str| values[FIELDS.iter().position(|field| *field == name).unwrap()];
    let number = |name: &str| value(name).parse::<u32>().unwrap();
    let port = |end: &str| {
        let tcp = format!("tcp.{end}port");
        if value(&tcp).is_empty() { number(&format!("udp.{end}port")) } else { number(&tcp) }
    };
    let source = (value("ip.src").to_owned(), port("src"));
    let destination = (value("ip.dst").to_owned(), port("dst"));
    let is_up = value("frame.interface_name") == "up";
    let ends = if is_up { [source, destination] } else { [destination, source] };
    let found = all.entry(ends).or_default();
    let way = &mut found.ways[usize::from(is_up)];
    way.packets += 1;
    way.bytes += u64::from(number("ip.len"));
    way.by_ecn[number("ip.dsfield.ecn") as usize] += 1;
    // No packet is reordered before the bottleneck. So a packet that tshark calls out of order is a
    // retransmission.
    let again = ["tcp.analysis.retransmission", "tcp.analysis.out_of_order"];
    let again = again.iter().any(|flag| !value(flag).is_empty());
    way.retransmits += u64::from(again);
    if is_up && !value("tcp.analysis.ack_rtt").is_empty() {
        let times = ["frame.time_epoch", "tcp.analysis.ack_rtt"];
        let [time, rtt] = times.map(|field| nanoseconds(value(field)));
        found.ack_rtts.insert(time, rtt);
    } else if !is_up && again && number("tcp.len") > 0 {
        found.data_again += 1;
    }
}

/// Seconds with nine decimals, in nanoseconds.
fn nanoseconds(seconds: &str) -> u64 {
    let (whole, fraction) = seconds.split_once('.').expect(seconds);
    assert_eq!(fraction.len(), 9, "{seconds}");
    whole.parse::<u64>().unwrap() * 1_000_000_000 + fraction.parse::<u64>().unwrap()
}

/// The results of all three for a run.
struct Run {
    truth: Truth,
    tshark: BTreeMap<Ends, Conversation>,
    rows: Vec<Row>,
    samples: Vec<Sample>,
}

/// A scenario's run, in the results of the simulator, of tshark and of this crate. `None` if tshark is not
/// installed.
fn read(scenario: &str) -> Option<Run> {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("SKIPPED: tshark is not installed (apt-get install tshark)");
        return None;
    }
    let plan = Plan::parse("scenario.toml", scenario, &[]).expect(scenario);
    let mut both = (PacketTrace::new(Vec::new(), Snap::Packet).unwrap(), Truth::default());
    l4s_sim::run(&plan.points[0].scenario, &mut both);
    let (trace, truth) = both;
    let trace = trace.finish().unwrap();

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.pcapng");
    std::fs::write(&path, &trace).unwrap();
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(&path).args(["-T", "fields", "-E", "occurrence=f"]);
    FIELDS.iter().for_each(|field| {
        tshark.args(["-e", field]);
    });
    let output = tshark.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut tshark = BTreeMap::new();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().for_each(|line| conversation(line, &mut tshark));
    let (rows, samples) = measure(&trace);
    Some(Run { truth, tshark, rows, samples })
}

/// The flows of a trace, and the samples of their round trips.
fn measure(trace: &[u8]) -> (Vec<Row>, Vec<Sample>) {
    /// The length of the Ethernet header before the IP packet.
    const ETHERNET: usize = 14;
    let mut flows = Flows::new(Flows::CAP, 1);
    let mut reader = PcapNgReader::new(trace).unwrap();
    let (mut names, mut samples, mut sums) = (Vec::new(), Vec::new(), BTreeMap::new());
    while let Some(block) = reader.next_block() {
        match block.unwrap() {
            Block::InterfaceDescription(interface) => {
                let name = interface.options.iter().find_map(|option| match option {
                    InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
                    _ => None,
                });
                names.push(name.unwrap());
            }
            Block::EnhancedPacket(packet) => {
                let name = &*names[packet.interface_id as usize];
                let direction = if name == "up" { Direction::Up } else { Direction::Down };
                let now = Time::from_nanos(packet.timestamp.as_nanos() as u64);
                let ip = IpPacket::new_checked(&packet.data[ETHERNET..]).unwrap();
                let flow = flows.observe(&ip, direction, 1, now);
                let row = flows.row(flow);
                if let (Some(count), Some(mean)) = (row.rtt_samples, row.client_rtt_mean_ms) {
                    let sum = mean * 1e6 * count as f64;
                    let (before, sum_before) = sums.insert(flow, (count, sum)).unwrap_or_default();
                    // The handshake and the request also have samples of the server's part.
                    if before >= 4 && count > before {
                        let (ends, time) = (ends_of(&row), now.as_nanos());
                        samples.push(Sample { ends, time, rtt: sum - sum_before });
                    }
                }
            }
            _ => {}
        }
    }
    (flows.rows().collect(), samples)
}

fn ends_of(row: &Row) -> Ends {
    let end = |address: &String, port: Option<u32>| (address.clone(), port.unwrap());
    [end(&row.client, row.client_port), end(&row.server, row.server_port)]
}

/// Runs a scenario, and checks that both sides have the same conversations with the same packets.
fn compare(scenario: &str) -> Option<Run> {
    let run = read(scenario)?;
    assert_eq!(run.rows.len(), run.tshark.len());
    for row in &run.rows {
        let down = Way {
            packets: row.down_packets,
            bytes: row.down_bytes,
            by_ecn: [row.down_not_ect, row.down_ect1, row.down_ect0, row.down_ce],
            retransmits: row.retransmits.unwrap_or(0),
        };
        let up = Way {
            packets: row.up_packets,
            bytes: row.up_bytes,
            by_ecn: [row.up_not_ect, row.up_ect1, row.up_ect0, row.up_ce],
            retransmits: row.up_retransmits.unwrap_or(0),
        };
        assert_eq!([down, up], run.tshark[&ends_of(row)].ways, "{row:#?}");
    }
    Some(run)
}

const TWENTY: &str = "duration = \"4s\"\nwarmup = \"0s\"\nlink.rate = \"20mbit\"\n";

/// Without loss each sample is the time from one of the segments that an acknowledgement covers. tshark
/// measures from the last one, the simulator from the first.
#[test]
fn round_trips_are_between_those_of_tshark_and_of_the_simulator() {
    let scenario = [
        TWENTY,
        "aqm = { kind = \"dualpi2\" }\n",
        "[[group]]\nname = \"A\"\ncc = \"prague\"\nrtt = \"20ms\"\nflows = 2\n",
        "[[group]]\nname = \"B\"\ncc = \"cubic\"\necn = \"classic\"\nrtt = \"50ms\"\n",
        "[[udp]]\nname = \"U\"\nrate = \"2mbit\"\necn = \"ect1\"\npacket = \"300b\"\n",
    ]
    .concat();
    let Some(Run { truth, tshark, rows, samples }) = compare(&scenario) else { return };
    assert_eq!((rows.len(), truth.retransmits), (4, 0));
    assert_eq!(rows.iter().filter(|row| row.protocol == "UDP").count(), 1);
    let mut of_simulator = 0;
    for Sample { ends, time, rtt } in &samples {
        let flow = ends[0].1 - 49_152;
        let least = tshark[ends].ack_rtts[time] as f64;
        let most = truth.round_trips[&(*time, flow)] as f64;
        // The mean has a resolution of a nanosecond, and so has each sample in the sum.
        assert!(least - 500.0 <= *rtt && *rtt <= most + 500.0, "{least} {rtt} {most}");
        of_simulator += u32::from((*rtt - most).abs() <= 500.0);
    }
    // 4 s with RTTs of at least 20 ms (two flows) and at least 50 ms (one flow).
    assert!(samples.len() > 300 && of_simulator > 200, "{} {of_simulator}", samples.len());
    for row in rows.iter().filter(|row| row.protocol == "TCP") {
        let base = if row.client == "10.0.1.1" { 20.0 } else { 50.0 };
        let min = row.rtt_min_ms.unwrap();
        assert!((base..base + 0.1).contains(&min), "{row:#?}");
        assert!((base..base + 4.0).contains(&row.handshake_ms.unwrap()), "{row:#?}");
    }
}

#[test]
fn retransmissions_are_those_of_tshark_and_of_the_simulator() {
    for cc in ["cubic", "reno"] {
        let scenario = [
            TWENTY,
            "link.buffer = \"40p\"\naqm = { kind = \"fifo\" }\n",
            &format!("[[group]]\nname = \"A\"\ncc = \"{cc}\"\nrtt = \"20ms\"\nflows = 3\n"),
            "[[web]]\ngroup = \"A\"\nrate = \"20/s\"\nsize = \"30kb\"\n",
        ]
        .concat();
        let Some(Run { truth, tshark, rows, .. }) = compare(&scenario) else { return };
        // The simulator counts no SYN-ACK and no FIN.
        assert_eq!(tshark.values().map(|tshark| tshark.data_again).sum::<u64>(), truth.retransmits);
        assert!(truth.retransmits > 100 && rows.len() > 50, "{cc}");
    }
}
