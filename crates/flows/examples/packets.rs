//! Passes packets of 100 flows through the table and does nothing else, so that `valgrind
//! --tool=callgrind` counts the instructions of a packet: those of a long run less those of a short
//! one. With `nothing` the packets of `tcp` are made and checked, but not observed.
//!
//! ```sh
//! cargo build --release -p l4s-flows --example packets
//! valgrind --tool=callgrind target/release/examples/packets tcp v4 220
//! valgrind --tool=callgrind target/release/examples/packets tcp v4 20
//! ```

#[path = "../benches/traffic/mod.rs"]
mod traffic;

use std::hint::black_box;

use l4s_flows::ip::{IpPacket, Version};
use l4s_flows::{Direction, Flows};
use l4s_units::Time;
use traffic::{Download, udp};

const FLOWS: u16 = 100;
const USAGE: &str = "usage: packets nothing|tcp|udp v4|v6 ROUNDS";

/// `rounds` rounds of three packets of each download. Returns the number of packets.
fn downloads(version: Version, is_observed: bool, rounds: u64) -> u64 {
    let mut flows = Flows::new(Flows::CAP, 1);
    let mut downloads: Vec<_> = (1..=FLOWS).map(|port| Download::new(version, port)).collect();
    let (mut now, mut packets) = (Time::ZERO, 0);
    for _ in 0..rounds {
        for download in &mut downloads {
            download.round(&mut now, |bytes, direction, now| {
                let packet = IpPacket::new_checked(black_box(bytes)).unwrap();
                if is_observed {
                    black_box(flows.observe(&packet, direction, 1, now));
                } else {
                    black_box(&packet);
                }
                packets += 1;
            });
        }
    }
    packets
}

/// `rounds` datagrams of each flow, which are checked once. Returns the number of packets.
fn datagrams(version: Version, rounds: u64) -> u64 {
    let mut flows = Flows::new(Flows::CAP, 1);
    let datagrams: Vec<_> = (1..=FLOWS).map(|port| udp(version, port, &[0; 40])).collect();
    let packets: Vec<_> =
        datagrams.iter().map(|bytes| IpPacket::new_checked(&bytes[..]).unwrap()).collect();
    for _ in 0..rounds {
        for packet in &packets {
            black_box(flows.observe(black_box(packet), Direction::Down, 1, Time::ZERO));
        }
    }
    rounds * u64::from(FLOWS)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, version, rounds] = &arguments[..] else { panic!("{USAGE}") };
    let version = match &**version {
        "v4" => Version::V4,
        "v6" => Version::V6,
        _ => panic!("{USAGE}"),
    };
    let rounds = rounds.parse().expect(USAGE);
    let packets = match &**what {
        "nothing" => downloads(version, false, rounds),
        "tcp" => downloads(version, true, rounds),
        "udp" => datagrams(version, rounds),
        _ => panic!("{USAGE}"),
    };
    println!("{packets} packets");
}
