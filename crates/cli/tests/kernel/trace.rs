//! A packet trace, as tshark reads it.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::process::{Command, Stdio};

/// ECN codepoints, as bits.
pub const NOT_ECT: u8 = 0b00;
pub const ECT1: u8 = 0b01;
pub const ECT0: u8 = 0b10;
pub const CE: u8 = 0b11;

/// A packet of a trace.
#[derive(Clone, Debug)]
pub struct Seen {
    /// `down`, `drop` or `up`.
    pub on: String,
    /// The number of its pair of server and client.
    pub pair: usize,
    pub ecn: u8,
    /// Bytes of TCP payload, if it is TCP.
    pub tcp_payload: Option<u32>,
    /// Whether its comment says that it was marked.
    pub marked: bool,
    /// What tshark says of the checksums of IP, TCP and UDP.
    pub checksums: [Checksum; 3],
    /// Whether it is behind a segment that is not in the trace, or acknowledges one.
    pub shows_gap: bool,
}

/// A checksum, in tshark's opinion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checksum {
    Good,
    Bad,
    /// There is none.
    Absent,
}

const FIELDS: [&str; 14] = [
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
    "tcp.len",
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
    fn parse(line: &str) -> Seen {
        let fields: Vec<&str> = line.split('\t').collect();
        let [on, comment, ip4, ip6, ecn4, ecn6, ip_sum, tcp_sum, udp_sum, rest @ ..] = &fields[..]
        else {
            panic!("{line}");
        };
        let [sum, expected, length, lost, acknowledged] = rest else { panic!("{line}") };
        // Both are 0 to a sum of ones' complements (RFC 1071); Linux sends the one (`CSUM_MANGLED_0`),
        // one packet in 65,536, and tshark expects the other.
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
            tcp_payload: length.parse().ok(),
            marked: comment.starts_with("marked"),
            checksums: [*ip_sum, tcp_sum, *udp_sum].map(Checksum::of),
            shows_gap: !lost.is_empty() || !acknowledged.is_empty(),
        }
    }
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
