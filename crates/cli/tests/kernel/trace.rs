//! A packet trace, decoded by tshark.
#![allow(dead_code, reason = "each test binary with this module uses a part of it")]

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::process::{Command, Stdio};

/// ECN codepoints, as bits.
pub const NOT_ECT: u8 = 0b00;
pub const ECT1: u8 = 0b01;
pub const ECT0: u8 = 0b10;
pub const CE: u8 = 0b11;

/// Asserts that a seed gives the same trace and tables twice, and another one another trace. `run` runs the
/// scenario in `folder` with these further arguments; it gives `None` where this machine cannot.
pub fn a_seed_repeats(folder: &Path, run: impl Fn(&[&str]) -> Option<()>) {
    let results = |out: &str, seed: &str| {
        run(&["--out", out, "--trace", "pcapng", "--seed", seed])?;
        let read = |name: &str| std::fs::read(folder.join(out).join(name)).expect(name);
        Some((read("trace.pcapng"), read("series.parquet"), read("delays.parquet")))
    };
    let Some(first) = results("a", "7") else { return };
    // assert_eq! would print megabytes.
    assert!(results("b", "7").as_ref() == Some(&first), "the same seed gives the same bytes");
    assert!(results("c", "8").expect("as before").0 != first.0, "another seed gives others");
}

/// A packet of a trace.
#[derive(Clone, Debug)]
pub struct Seen {
    /// `down`, `drop` or `up`.
    pub on: String,
    /// The number of its pair of server and client.
    pub pair: usize,
    /// Nanoseconds since the epoch.
    pub time_ns: u64,
    pub ecn: u8,
    /// The TCP segment, if it is one.
    pub tcp: Option<Segment>,
    /// Whether its comment contains `marked`.
    pub marked: bool,
    /// The verdicts of tshark on the checksums of IP, TCP and UDP.
    pub checksums: [Checksum; 3],
}

/// The fields of a TCP segment as tshark decodes them. Numbers are relative.
#[derive(Clone, Debug)]
pub struct Segment {
    pub seq: u64,
    pub ack: u64,
    pub payload: u64,
    pub syn: bool,
    pub fin: bool,
    /// The counter ACE, if tshark saw that AccECN was negotiated.
    pub ace: Option<u64>,
    /// Counters of the AccECN option: ECT(1), CE.
    pub accecn: Option<[u64; 2]>,
    /// The segment that it acknowledges: its index in the trace, and the time since then.
    pub acked: Option<(usize, u64)>,
    /// Whether the analysis has a note on it.
    pub is_flagged: bool,
    /// Whether it follows a segment that is not in the trace, or acknowledges one.
    pub shows_gap: bool,
}

/// The verdict of tshark on a checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checksum {
    Good,
    Bad,
    /// The packet has none.
    Absent,
}

const FIELDS: [&str; 25] = [
    "frame.interface_name",
    "frame.comment",
    "ip.src",
    "ipv6.src",
    "ip.dsfield.ecn",
    "ipv6.tclass.ecn",
    "ip.checksum.status",
    "tcp.checksum.status",
    "udp.checksum.status",
    "tcp.checksum",
    "tcp.checksum_calculated",
    "frame.time_epoch",
    "tcp.len",
    "tcp.seq",
    "tcp.ack",
    "tcp.flags.syn",
    "tcp.flags.fin",
    "tcp.flags.ace",
    "tcp.options.acc_ecn.ee1b",
    "tcp.options.acc_ecn.eceb",
    "tcp.analysis.acks_frame",
    "tcp.analysis.ack_rtt",
    "tcp.analysis.flags",
    "tcp.analysis.lost_segment",
    "tcp.analysis.ack_lost_segment",
];

/// Reads a trace; `None` without tshark.
pub fn read(path: &Path) -> Option<Vec<Seen>> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(path).args(["-T", "fields", "-E", "occurrence=f"]);
    for checked in ["ip", "tcp", "udp"] {
        tshark.args(["-o", &format!("{checked}.check_checksum:TRUE")]);
    }
    for field in FIELDS {
        tshark.args(["-e", field]);
    }
    let output = match tshark.stderr(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => {
            println!("skipped: tshark: {error}");
            return None;
        }
    };
    assert!(output.status.success(), "tshark reads the trace");
    let text = String::from_utf8(output.stdout).expect("text");
    Some(text.lines().map(Seen::parse).collect())
}

impl Seen {
    /// The bytes of TCP payload, if it is TCP.
    pub fn tcp_payload(&self) -> Option<u64> {
        self.tcp.as_ref().map(|tcp| tcp.payload)
    }

    fn parse(line: &str) -> Seen {
        let fields: Vec<&str> = line.split('\t').collect();
        let [on, comment, ip4, ip6, ecn4, ecn6, ip_sum, tcp_sum, udp_sum, rest @ ..] = &fields[..]
        else {
            panic!("{line}");
        };
        let [sum, expected, time, tcp @ ..] = rest else { panic!("{line}") };
        // Both are 0 in a ones' complement sum (RFC 1071). Linux sends the first (`CSUM_MANGLED_0`) in one packet
        // of 65,536, and tshark expects the other.
        let tcp_sum = if [*sum, *expected] == ["0xffff", "0x0000"] { "Good" } else { *tcp_sum };
        // 10.P.H.1 or fd00::P:H:1.
        let pair = match ip4.parse::<Ipv4Addr>() {
            Ok(address) => address.octets()[1].into(),
            Err(_) => ip6.parse::<Ipv6Addr>().expect(line).segments()[5].into(),
        };
        let ecn = if ecn4.is_empty() { ecn6 } else { ecn4 };
        Seen {
            on: (*on).to_owned(),
            pair,
            ecn: ecn.parse().expect(line),
            time_ns: nanoseconds(time),
            tcp: Segment::parse(tcp),
            marked: comment.starts_with("marked"),
            checksums: [*ip_sum, tcp_sum, *udp_sum].map(Checksum::of),
        }
    }
}

impl Segment {
    fn parse(fields: &[&str]) -> Option<Segment> {
        let [length, seq, ack, syn, fin, ace, ect1, ce, acked, ack_rtt, notes @ ..] = fields else {
            panic!("{fields:?}")
        };
        let number = |text: &str| text.parse::<u64>().ok();
        Some(Segment {
            payload: number(length)?,
            seq: number(seq)?,
            ack: number(ack).unwrap_or(0),
            syn: is_set(syn),
            fin: is_set(fin),
            ace: number(ace),
            accecn: number(ect1).map(|ect1| [ect1, number(ce).unwrap_or(0)]),
            // A time of zero, at the same instant in virtual time, is not shown.
            acked: number(acked)
                .filter(|_| !ack_rtt.is_empty())
                .map(|frame| (frame as usize - 1, nanoseconds(ack_rtt))),
            is_flagged: !notes[0].is_empty(),
            shows_gap: notes[1..].iter().any(|note| !note.is_empty()),
        })
    }
}

/// A flag, as any version of tshark prints it.
fn is_set(flag: &str) -> bool {
    matches!(flag, "1" | "True")
}

/// Seconds with nine decimals, in nanoseconds.
fn nanoseconds(seconds: &str) -> u64 {
    let (whole, fraction) = seconds.split_once('.').expect(seconds);
    assert_eq!(fraction.len(), 9, "{seconds}");
    whole.parse::<u64>().expect(seconds) * 1_000_000_000 + fraction.parse::<u64>().expect(seconds)
}

/// The segments of TCP.
pub fn segments(seen: &[Seen]) -> impl Iterator<Item = (&Seen, &Segment)> {
    seen.iter().filter_map(|packet| Some((packet, packet.tcp.as_ref()?)))
}

/// The trace of a run without losses. It has whole connections with this base RTT, in order of time, and
/// tshark's analysis has no notes.
pub fn assert_clean(seen: &[Seen], connections: usize, rtt_ns: u64) {
    assert!(seen.is_sorted_by_key(|packet| packet.time_ns));
    for (packet, tcp) in segments(seen) {
        assert!(!tcp.is_flagged && packet.on != "drop", "{packet:?}");
    }
    for on in ["up", "down"] {
        let of = |is: fn(&Segment) -> bool| {
            segments(seen).filter(|(packet, tcp)| packet.on == on && is(tcp)).count()
        };
        let data = |tcp: &Segment| tcp.payload > 0;
        assert_eq!((of(|tcp| tcp.syn), of(|tcp| tcp.fin)), (connections, connections), "{on}");
        // A client sends its request and no more data.
        assert!(of(data) >= connections && (on == "down" || of(data) == connections), "{on}");
    }
    // Each acknowledgement from a client is for a segment that was sent at least a round trip earlier.
    let is_answer = |(packet, tcp): &(&Seen, &Segment)| packet.on == "up" && !tcp.syn && !tcp.fin;
    let mut round_trips = 0;
    for (packet, tcp) in segments(seen).filter(is_answer) {
        let Some((acked, ack_rtt)) = tcp.acked else { continue };
        assert_eq!(ack_rtt, packet.time_ns - seen[acked].time_ns, "{packet:?}");
        assert!(seen[acked].on == "down" && ack_rtt >= rtt_ns, "{packet:?}");
        round_trips += 1;
    }
    let data = segments(seen).filter(|(packet, tcp)| packet.on == "down" && tcp.payload > 0);
    assert!(round_trips > data.count() / 4, "{round_trips}");
}

impl Checksum {
    fn of(status: &str) -> Checksum {
        match status {
            "" | "3" => Checksum::Absent,
            "1" | "Good" => Checksum::Good,
            _ => Checksum::Bad,
        }
    }
}
