//! tcptrace reads a trace: its counts of bytes and retransmissions and its RTTs equal the simulator's own. It
//! is a Debian package. Wireshark's `editcap` converts the trace to the older format that it reads.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use l4s_measure::{PacketTrace, Snap};
use l4s_model::{FlowId, SourceId};
use l4s_observe::{Contents, Header, Observer, OnWire, Traced};
use l4s_scenario::Plan;
use l4s_sim::Packet;
use l4s_units::Time;

/// The events that the simulator reports for a run, by flow.
#[derive(Default)]
struct Truth {
    delivered: BTreeMap<u32, u64>,
    retransmitted: BTreeMap<u32, u64>,
    /// The times at which segments were sent, by their ends.
    sent: BTreeMap<(u32, u64), Time>,
    /// For each acknowledgement of a segment's last byte, the time since it was sent, in ms.
    ack_rtts: BTreeMap<u32, Vec<f64>>,
}

impl Observer<Packet> for Truth {
    fn arrived(&mut self, packet: &Packet, now: Time) {
        let Contents::Headers(_, Header::Tcp(tcp)) = packet.contents() else { return };
        let end = tcp.seq + u64::from(tcp.payload) + u64::from(tcp.syn) + u64::from(tcp.fin);
        self.sent.insert((packet.flow().get(), end), now);
    }
    fn answered(&mut self, packet: &dyn OnWire, now: Time) {
        let wire = packet.wire();
        let Contents::Headers(_, Header::Tcp(tcp)) = wire.contents else { return };
        let (flow, Some(ack)) = (wire.flow.get(), tcp.ack) else { return };
        if let Some(sent) = self.sent.remove(&(flow, ack)) {
            self.ack_rtts.entry(flow).or_default().push(now.since(sent).as_millis_f64());
        }
    }
    fn delivered(&mut self, flow: FlowId, _: SourceId, bytes: u64, _: Time) {
        *self.delivered.entry(flow.get()).or_default() += bytes;
    }
    fn retransmitted(&mut self, flow: FlowId, _: Time) {
        *self.retransmitted.entry(flow.get()).or_default() += 1;
    }
}

/// tcptrace's results for each connection: columns by name. Names that end in `a2b` are of the client.
type Connection = BTreeMap<String, String>;

fn number(connection: &Connection, column: &str) -> f64 {
    connection[column].parse().unwrap_or_else(|_| panic!("{column}: {}", connection[column]))
}

/// The output of a program; `None` if it is not installed.
fn output(command: &mut Command, package: &str) -> Option<Output> {
    let Ok(output) = command.output() else {
        eprintln!("SKIPPED: {package} is not installed (apt-get install {package})");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(output)
}

/// A scenario's run, and the results of tcptrace for it.
fn read(scenario: &str) -> Option<(Truth, Vec<Connection>)> {
    let plan = Plan::parse("scenario.toml", scenario, &[]).expect(scenario);
    let mut both = (PacketTrace::new(Vec::new(), Snap::Headers).unwrap(), Truth::default());
    l4s_sim::run(&plan.points[0].scenario, &mut both);
    let (trace, truth) = both;
    let folder = tempfile::tempdir().unwrap();
    let [pcapng, pcap] = ["trace.pcapng", "trace.pcap"].map(|name| folder.path().join(name));
    std::fs::write(&pcapng, trace.finish().unwrap()).unwrap();
    output(
        Command::new("editcap").args(["-F", "pcap"]).args([&pcapng, &pcap]),
        "wireshark-common",
    )?;
    let table = output(Command::new("tcptrace").args(["-nlr", "--csv"]).arg(&pcap), "tcptrace")?;
    let table = String::from_utf8(table.stdout).unwrap();
    // The table has a header and a line per connection, with comments and empty lines around them.
    let mut lines = table.lines().filter(|line| line.contains(',') && !line.starts_with('#'));
    let columns: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let connection = |line: &str| {
        let values = line.split(',').map(|value| value.trim().to_owned());
        columns.iter().map(|column| (*column).to_owned()).zip(values).collect()
    };
    Some((truth, lines.map(connection).collect()))
}

const LINK: &str = "duration = \"4s\"\nwarmup = \"0s\"\nlink.rate = \"20mbit\"\n";

fn group(cc: &str, more: &str) -> String {
    format!("[[group]]\nname = \"A\"\ncc = \"{cc}\"\nrtt = \"20ms\"\n{more}\n")
}

/// The flow of a connection, by its ports.
fn flow(connection: &Connection) -> u32 {
    let [client, server] = ["port_a", "port_b"].map(|port| number(connection, port) as u32);
    (server - 49_152) * 16_384 + client - 49_152
}

#[test]
fn bytes_and_retransmissions_are_the_simulators() {
    let fifo = "link.buffer = \"40p\"\naqm = { kind = \"fifo\" }\n";
    let dual = "aqm = { kind = \"dualpi2\" }\n";
    for (cc, aqm, loses) in [
        ("cubic", fifo, true),
        ("reno", fifo, true),
        ("prague", fifo, true),
        ("cubic", dual, true),
        ("prague", dual, false),
    ] {
        let of = format!("{cc} in {aqm}");
        let Some((truth, connections)) =
            read(&[LINK, aqm, &group(cc, "flows = 2\nsize = \"2MB\"")].concat())
        else {
            return;
        };
        assert_eq!(connections.len(), 2, "{of}");
        let mut again = 0.0;
        for connection in &connections {
            let flow = flow(connection);
            let of = format!("{of}, flow {flow}");
            let number = |column: &str| number(connection, column);
            assert_eq!(truth.delivered[&flow], 2_000_000, "{of}");
            for column in ["unique_bytes_sent_b2a", "ttl_stream_length_b2a"] {
                assert_eq!(number(column), 2e6, "{of}: {column}");
            }
            let resent = truth.retransmitted.get(&flow).copied().unwrap_or(0) as f64;
            assert_eq!(number("rexmt_data_pkts_b2a"), resent, "{of}");
            let bytes = number("actual_data_bytes_b2a") - 2e6;
            assert_eq!(number("rexmt_data_bytes_b2a"), bytes, "{of}");
            assert_eq!(number("missed_data_b2a"), 0.0, "{of}");
            assert_eq!(number("sacks_sent_a2b") > 0.0, resent > 0.0, "{of}");
            // The client sends only a request, once.
            assert_eq!(number("unique_bytes_sent_a2b"), number("actual_data_bytes_a2b"), "{of}");
            again += resent;
        }
        assert_eq!(again > 0.0, loses, "{of}");
    }
}

/// The RTT of the newest segment that an acknowledgement covers. The senders' own are of the oldest.
#[test]
fn round_trips_are_the_simulators() {
    let deep = "link.buffer = \"9000p\"\naqm = { kind = \"fifo\" }\n";
    let dual = "aqm = { kind = \"dualpi2\" }\n";
    for (cc, aqm) in [("cubic", deep), ("prague", dual)] {
        let scenario = [LINK, aqm, &group(cc, "flows = 2\nsize = \"2MB\"")].concat();
        let Some((truth, connections)) = read(&scenario) else { return };
        assert_eq!(connections.len(), 2, "{cc}");
        for connection in &connections {
            let flow = flow(connection);
            let rtts = &truth.ack_rtts[&flow];
            let mean = rtts.iter().sum::<f64>() / rtts.len() as f64;
            let least = rtts.iter().copied().fold(f64::INFINITY, f64::min);
            let most = rtts.iter().copied().fold(0.0, f64::max);
            assert!(rtts.len() > 500, "{cc}: {}", rtts.len());
            assert_eq!(number(connection, "RTT_samples_b2a"), rtts.len() as f64, "{cc}");
            // tcptrace prints one decimal.
            for (column, expected) in [("min", least), ("avg", mean), ("max", most)] {
                let shown = number(connection, &format!("RTT_{column}_b2a"));
                assert!((shown - expected).abs() < 0.0501, "{cc}, {column}: {shown}, {expected}");
            }
        }
    }
}
