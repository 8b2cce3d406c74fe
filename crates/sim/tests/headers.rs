//! A trace is consistent: data has the ECN that the handshake negotiated, for every control and every
//! ECN.

use std::collections::BTreeSet;

use l4s_measure::{PacketTrace, Snap};
use l4s_model::{AccEcn, Feedback, Group};
use l4s_scenario::Plan;
use l4s_units::Ecn;

/// The fields of a frame, read from its bytes: Ethernet, IPv4 and TCP (RFC 9293 §3.1).
#[derive(Debug)]
struct Tcp {
    ecn: Ecn,
    ip_length: u16,
    seq: u32,
    ack: u32,
    /// AE, CWR, ECE.
    ace: u8,
    syn: bool,
    fin: bool,
    payload: u16,
    stamps: (u32, u32),
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

impl Tcp {
    fn new(frame: &[u8]) -> Tcp {
        let (ip, tcp) = (&frame[14..34], &frame[34..]);
        assert_eq!((ip[0], ip[9]), (0x45, 6), "IPv4 without options, TCP");
        let header = 4 * u16::from(tcp[12] >> 4);
        let ip_length = number(&ip[2..4]) as u16;
        let mut options = &tcp[20..usize::from(header)];
        let stamps = loop {
            match options {
                [8, 10, rest @ ..] => break (number(&rest[..4]), number(&rest[4..8])),
                [1, rest @ ..] => options = rest,
                [_, length, ..] => options = &options[usize::from(*length)..],
                _ => panic!("no time stamp"),
            }
        };
        Tcp {
            ecn: Ecn::from_bits(ip[1] & 0b11),
            ip_length,
            seq: number(&tcp[4..8]),
            ack: number(&tcp[8..12]),
            ace: (tcp[12] & 1) << 2 | tcp[13] >> 6,
            syn: tcp[13] & 2 != 0,
            fin: tcp[13] & 1 != 0,
            payload: ip_length - 20 - header,
            stamps,
        }
    }
}

/// The TCP packets from servers in a trace: those of its interfaces 0 and 1.
fn arrivals(mut trace: &[u8]) -> Vec<Tcp> {
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut found = Vec::new();
    while !trace.is_empty() {
        let (block, rest) = trace.split_at(word(trace, 4) as usize);
        // An enhanced packet block.
        if word(block, 0) == 6 && word(block, 8) < 2 {
            found.push(Tcp::new(&block[28..28 + word(block, 20) as usize]));
        }
        trace = rest;
    }
    found
}

/// Two downloads over a bottleneck that marks and drops; none if a control does not have this ECN.
fn trace(cc: &str, ecn: &str, more: &str) -> Option<(Group, Vec<Tcp>)> {
    let text = format!(
        "duration = \"8s\"\nwarmup = \"0s\"\nlink.rate = \"4mbit\"\naqm = {{ kind = \"dualpi2\" }}\n\
         [[group]]\nname = \"A\"\ncc = \"{cc}\"\necn = \"{ecn}\"\nrtt = \"20ms\"\nflows = 2\n\
         size = \"1mb\"\n{more}"
    );
    let plan = Plan::parse("headers.toml", &text, &[]).ok()?;
    let scenario = &plan.points[0].scenario;
    let mut trace = PacketTrace::new(Vec::new(), Snap::Packet).unwrap();
    l4s_sim::run(scenario, &mut trace);
    Some((scenario.groups[0].clone(), arrivals(&trace.finish().unwrap())))
}

/// The ECN that a SYN-ACK accepts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Negotiated {
    Nothing,
    /// RFC 3168 §6.1.1.
    Classic,
    /// RFC 9768 §3.1.1, table 2.
    Accurate,
}

fn negotiated(syn_ack: &Tcp) -> Negotiated {
    match syn_ack.ace {
        0b000 => Negotiated::Nothing,
        0b001 => Negotiated::Classic,
        0b010 | 0b011 | 0b100 | 0b110 => Negotiated::Accurate,
        other => panic!("a SYN-ACK with {other:03b}"),
    }
}

fn check(packets: &[Tcp], accecn: AccEcn) -> Negotiated {
    let agreed = negotiated(packets.iter().find(|p| p.syn).unwrap());
    let has_option = agreed == Negotiated::Accurate && accecn == AccEcn::Option;
    let header = if has_option { 52 + 12 } else { 52 };
    let (mut cwr, mut last) = (0, (0, 0));
    for packet in packets {
        let Tcp { ecn, ip_length, ack, ace, syn, payload, stamps, .. } = *packet;
        // The client's SYN has a sequence number, and its request has the length of the lab's.
        assert_eq!(ack, if syn { 1 } else { 101 });
        assert!(stamps.0 >= last.0 && stamps.1 <= stamps.0, "{packet:?} after {last:?}");
        last = stamps;
        if syn {
            assert_eq!(negotiated(packet), agreed);
            continue;
        }
        assert_eq!(ip_length, header + payload);
        match agreed {
            Negotiated::Nothing => assert_eq!((ace, ecn), (0, Ecn::NotEct), "{packet:?}"),
            Negotiated::Classic => {
                assert!(ace == 0 || ace == 0b010, "{packet:?}");
                cwr += u32::from(ace == 0b010);
            }
            // RFC 9768 §3.2.2.1: nothing was marked on the reverse path.
            Negotiated::Accurate => {
                assert_eq!(ace, 5, "{packet:?}");
                assert!(matches!(ecn, Ecn::Ect0 | Ecn::Ect1 | Ecn::Ce), "{packet:?}");
            }
        }
    }
    // 1 MB in full packets of 1500 B, and the rest.
    let full = 1500 - u32::from(header);
    let last = packets.iter().filter(|p| p.fin).map(|p| p.seq).max();
    assert_eq!(last, Some(1 + 1_000_000 / full * full));
    assert_eq!(cwr > 0, agreed == Negotiated::Classic, "the window is reduced for marks");
    agreed
}

/// The ECN that a group of this scenario negotiates on a path that changes nothing.
fn expected(group: &Group) -> (Negotiated, Ecn) {
    let agreed = match group.negotiated().feedback {
        Feedback::None => Negotiated::Nothing,
        Feedback::Classic | Feedback::Dctcp => Negotiated::Classic,
        Feedback::Accurate { .. } => Negotiated::Accurate,
    };
    (agreed, group.negotiated().codepoint.unwrap_or_default())
}

#[test]
fn what_is_negotiated_is_what_the_data_carries() {
    let mut found = BTreeSet::new();
    for cc in ["reno", "cubic", "dctcp", "prague", "bbr", "bbr3"] {
        for ecn in ["off", "classic", "l4s", "auto"] {
            for peer in ["auto", "accecn", "rfc3168", "none"] {
                for more in ["", "accecn = \"ace\"\n"] {
                    let more = format!("peer = \"{peer}\"\n{more}");
                    let Some((group, packets)) = trace(cc, ecn, &more) else { continue };
                    let agreed = check(&packets, group.accecn);
                    let data = packets.iter().filter(|p| p.payload > 0);
                    let codepoint = data.map(|p| p.ecn).find(|ecn| *ecn != Ecn::Ce).unwrap();
                    assert_eq!((agreed, codepoint), expected(&group), "{cc} {ecn} {peer}");
                    // A SYN-ACK is ECN-capable for controls that require ECN.
                    let needs = group.cc.wants() != l4s_cc::WantedEcn::Off;
                    let capable = needs && agreed != Negotiated::Nothing;
                    let syn_ack = packets.iter().find(|p| p.syn).unwrap();
                    assert_eq!(syn_ack.ecn.is_capable(), capable, "{cc} {ecn} {peer}");
                    found.insert((cc, ecn, peer, agreed));
                }
            }
        }
    }
    for expected in [
        ("cubic", "auto", "accecn", Negotiated::Nothing),
        ("cubic", "classic", "auto", Negotiated::Classic),
        ("cubic", "classic", "accecn", Negotiated::Accurate),
        ("dctcp", "auto", "auto", Negotiated::Classic),
        ("dctcp", "auto", "accecn", Negotiated::Accurate),
        ("dctcp", "auto", "none", Negotiated::Nothing),
        ("prague", "classic", "rfc3168", Negotiated::Classic),
        ("prague", "auto", "auto", Negotiated::Accurate),
        ("prague", "auto", "rfc3168", Negotiated::Nothing),
    ] {
        assert!(found.contains(&expected), "{expected:?} in {found:?}");
    }
}
