use l4s_observe::{Contents, OnWire, Wire};
use l4s_scenario::Plan;
use l4s_units::Duration;
use proptest::prelude::*;

use super::*;

const SCENARIO: &str = r#"
duration = "1s"
link.rate = "10mbit"
aqm = { kind = "dualpi2", profile = "linux" }
[[group]]
name = "A"
cc = "reno"
rtt = "10ms"
[[udp]]
name = "U"
rate = "1mbit"
"#;

fn follower() -> Follower {
    let plan = Plan::parse("s", SCENARIO, &[]).unwrap();
    Follower::new(&plan.points[0].scenario)
}

/// The headers of a segment of the first flow, as the server sends it.
fn segment(id: u16, seq: u32, ecn: Ecn, payload: u16) -> Vec<u8> {
    let mut ip = vec![0x45, ecn.bits(), 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0];
    ip[2..4].copy_from_slice(&(40 + payload).to_be_bytes());
    ip[4..6].copy_from_slice(&id.to_be_bytes());
    ip.extend([10, 0, 0, 1, 10, 0, 1, 1]);
    ip.extend(5001u16.to_be_bytes());
    ip.extend(10_000u16.to_be_bytes());
    ip.extend(seq.to_be_bytes());
    ip.extend([0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    ip
}

/// The same packet behind the router.
fn forwarded(mut packet: Vec<u8>, ecn: Ecn) -> Vec<u8> {
    (packet[1], packet[8]) = (ecn.bits(), packet[8] - 1);
    packet
}

#[derive(Default)]
struct Heard {
    departed: Vec<(Queue, Duration, bool)>,
    dropped: u64,
    lengths: Vec<usize>,
    answers: Vec<(FlowId, usize, Time)>,
}

impl Observer<Frame> for Heard {
    fn departed(&mut self, packet: &Frame, queue: Queue, sojourn: Duration, _: Time) {
        let marked = packet.ecn() == Ecn::Ce && !packet.arrived_ce();
        self.departed.push((queue, sojourn, marked));
        self.lengths.push(packet.packet().len());
    }

    fn answered(&mut self, packet: &dyn OnWire, now: Time) {
        let Wire { flow, contents: Contents::Bytes(bytes), .. } = packet.wire() else { panic!() };
        self.answers.push((flow, bytes.len(), now));
    }

    fn dropped(&mut self, _: &Frame, _: Queue, _: DropCause, _: Time) {
        self.dropped += 1;
    }
}

fn at(ms: u64, bytes: &[u8]) -> Passed<'_> {
    Passed { at: Time::ZERO + Duration::from_millis(ms), pair: 0, bytes }
}

#[test]
fn a_packet_is_followed_through_mark_and_wait_and_has_its_length_again() {
    let (mut follower, mut heard) = (follower(), Heard::default());
    let packet = segment(1, 1000, Ecn::Ect1, 1400);
    follower.arrived(End::Server, at(1, &packet), &mut heard);
    follower.departed(Direction::Down, at(4, &forwarded(packet, Ecn::Ce)), &mut heard);
    assert_eq!(heard.departed, [(Queue::L, Duration::from_millis(3), true)]);
    assert_eq!(heard.lengths, [1440], "of which 40 were seen");
    assert_eq!(follower.counts(Direction::Down).left_over(), 0);
}

#[test]
fn what_reaches_a_server_is_of_the_flow_that_sent_it() {
    let (mut follower, mut heard) = (follower(), Heard::default());
    let mut request = segment(1, 1, Ecn::NotEct, 100);
    request[12..20].copy_from_slice(&[10, 0, 1, 1, 10, 0, 0, 1]);
    request[20..24].rotate_left(2);
    follower.answered(at(3, &request), &mut heard);
    let mut nobodys = request.clone();
    nobodys[20..22].copy_from_slice(&10_001u16.to_be_bytes());
    follower.answered(at(4, &nobodys), &mut heard);
    assert_eq!(heard.answers, [(FlowId::new(0), 140, at(3, &[]).at)]);
    assert_eq!(
        (follower.counts(Direction::Down).arrived, follower.counts(Direction::Down).stray),
        (0, 1)
    );
}

#[test]
fn in_real_time_one_that_was_overtaken_may_still_leave() {
    let plan = Plan::parse("s", SCENARIO, &[]).unwrap();
    let scenario = &plan.points[0].scenario;
    let patience = Duration::from_millis(100);
    let mut follower = Follower::new(scenario).in_real_time(scenario, patience);
    let mut heard = Heard::default();
    let packets: Vec<_> = (0..5).map(|n| segment(n, u32::from(n), Ecn::NotEct, 100)).collect();
    for packet in &packets {
        follower.arrived(End::Server, at(1, packet), &mut heard);
    }
    // Packet 0 arrives at the queue after packet 1, and packet 2 never arrives.
    for (ms, n) in [(2, 1), (3, 0), (4, 3)] {
        follower.departed(
            Direction::Down,
            at(ms, &forwarded(packets[n].clone(), Ecn::NotEct)),
            &mut heard,
        );
    }
    assert_eq!(
        (heard.departed.len(), heard.dropped, follower.counts(Direction::Down).unknown),
        (3, 0, 0)
    );
    follower.departed(
        Direction::Down,
        at(104, &forwarded(packets[4].clone(), Ecn::NotEct)),
        &mut heard,
    );
    assert_eq!(
        (heard.departed.len(), heard.dropped, follower.counts(Direction::Down).left_over()),
        (4, 1, 0)
    );
}

#[test]
fn what_a_later_one_overtakes_was_dropped() {
    let (mut follower, mut heard) = (follower(), Heard::default());
    let packets: Vec<_> = (0..4).map(|n| segment(n, 1000, Ecn::NotEct, 100)).collect();
    for packet in &packets {
        follower.arrived(End::Server, at(1, packet), &mut heard);
    }
    // This also holds if only the identification distinguishes the packets, as for a retransmission.
    follower.departed(
        Direction::Down,
        at(2, &forwarded(packets[2].clone(), Ecn::NotEct)),
        &mut heard,
    );
    assert_eq!(
        (heard.dropped, heard.departed.len(), follower.counts(Direction::Down).left_over()),
        (2, 1, 1)
    );
}

#[test]
fn another_queue_overtakes_nothing() {
    let (mut follower, mut heard) = (follower(), Heard::default());
    let (classic, l4s) = (segment(1, 0, Ecn::NotEct, 0), segment(2, 0, Ecn::Ect1, 100));
    follower.arrived(End::Server, at(1, &classic), &mut heard);
    follower.arrived(End::Server, at(1, &l4s), &mut heard);
    follower.departed(Direction::Down, at(2, &forwarded(l4s, Ecn::Ect1)), &mut heard);
    follower.departed(Direction::Down, at(3, &forwarded(classic, Ecn::NotEct)), &mut heard);
    assert_eq!((heard.dropped, heard.departed.len()), (0, 2));
}

/// A follower of a group that has only programs.
fn of_programs() -> Follower {
    let programs = "duration = \"1s\"\nlink.rate = \"10mbit\"\naqm = \"fifo\"\n[[group]]\nname = \"A\"\n\
                    cc = \"reno\"\nflows = 0\nrtt = \"10ms\"\n[[program]]\nname = \"x\"\ngroup = \"A\"\n\
                    client = \"true\"\n";
    Follower::new(&Plan::parse("s", programs, &[]).unwrap().points[0].scenario)
}

/// The first bytes of a UDP datagram of 100 bytes.
fn datagram(from: [u8; 4], to: [u8; 4], hops: u8) -> Vec<u8> {
    let mut ip = vec![0x45, 0, 0, 128, 0, 0, 0x40, 0, hops, 17, 0, 0];
    ip.extend([from, to].concat());
    ip.extend([0x1f, 0x90, 0x20, 0, 0, 108, 0, 0]);
    ip.extend([7; 100]);
    ip
}

/// Packets that the router does not forward, or sends itself, pass only one end of the bottleneck.
#[test]
fn of_programs_counts_what_the_router_forwards() {
    const SERVER: [u8; 4] = [10, 0, 0, 1];
    const CLIENT: [u8; 4] = [10, 0, 1, 1];
    let (mut follower, mut heard) = (of_programs(), Heard::default());
    for local in [
        datagram(SERVER, [224, 0, 0, 251], 255),
        datagram(SERVER, [255; 4], 64),
        datagram(SERVER, [10, 1, 0, 1], 64),
        datagram(SERVER, [10, 9, 1, 1], 64),
        datagram(SERVER, CLIENT, 1),
    ] {
        follower.arrived(End::Server, at(1, &local), &mut heard);
    }
    // Linux sends ICMP errors from this address if it has no address of its own (RFC 7600).
    follower.departed(Direction::Down, at(1, &datagram([192, 0, 0, 8], CLIENT, 64)), &mut heard);
    assert_eq!(follower.counts(Direction::Down), Counts { stray: 6, ..Counts::default() });
    let datagram = datagram(SERVER, CLIENT, 64);
    follower.arrived(End::Server, at(2, &datagram), &mut heard);
    follower.departed(Direction::Down, at(4, &forwarded(datagram, Ecn::NotEct)), &mut heard);
    assert_eq!(heard.departed, [(Queue::Q, Duration::from_millis(2), false)]);
    let rows: Vec<_> = follower.recognised().map(|(_, row)| row.down_not_ect).collect();
    assert_eq!(
        (
            rows,
            follower.counts(Direction::Down).left_over(),
            follower.counts(Direction::Down).unknown
        ),
        (vec![1], 0, 0)
    );
}

/// Extension headers may be longer than the recorded part of a packet.
#[test]
fn a_packet_is_followed_whose_headers_are_not_seen_whole() {
    let (mut follower, mut heard) = (of_programs(), Heard::default());
    let address = |host: u8| [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host, 0, 1];
    let mut packet = vec![0x60, 0, 0, 0, 0, 228, 0, 64];
    packet.extend([address(0), address(1)].concat());
    // A hop-by-hop header of 120 B, padded, followed by "no next header" (RFC 8200 §4.7).
    packet.extend([59, 14, 1, 116]);
    packet.resize(crate::tap::SNAP, 0);
    follower.arrived(End::Server, at(1, &packet), &mut heard);
    (packet[1], packet[7]) = (0, 63);
    follower.departed(Direction::Down, at(3, &packet), &mut heard);
    assert_eq!(heard.departed, [(Queue::Q, Duration::from_millis(2), false)]);
}

#[test]
fn what_is_nobodys_is_counted_apart() {
    let (mut follower, mut heard) = (follower(), Heard::default());
    follower.arrived(End::Server, at(1, &[0x45, 0, 0]), &mut heard);
    follower.arrived(End::Server, at(1, &[]), &mut heard);
    let mut icmp = segment(1, 0, Ecn::NotEct, 0);
    icmp[9] = 1;
    follower.arrived(End::Server, at(1, &icmp), &mut heard);
    follower.departed(Direction::Down, at(1, &segment(9, 0, Ecn::NotEct, 0)), &mut heard);
    assert_eq!(
        (follower.counts(Direction::Down).stray, follower.counts(Direction::Down).unknown),
        (3, 1)
    );
    assert_eq!((follower.counts(Direction::Down).arrived, heard.departed.len()), (0, 0));
}

proptest! {
    /// With any drops from the queues, every packet that left is found, and the counts add up.
    #[test]
    fn all_packets_add_up(fates in prop::collection::vec((any::<bool>(), any::<bool>()), 1..200)) {
        let (mut follower, mut heard) = (follower(), Heard::default());
        let ecn = |l4s: bool| if l4s { Ecn::Ect1 } else { Ecn::NotEct };
        let packet = |n: usize| segment(n as u16, n as u32, ecn(fates[n].0), 100);
        for n in 0..fates.len() {
            follower.arrived(End::Server, at(1, &packet(n)), &mut heard);
        }
        let kept: Vec<usize> = (0..fates.len()).filter(|n| fates[*n].1).collect();
        for n in &kept {
            follower.departed(Direction::Down, at(2, &forwarded(packet(*n), ecn(fates[*n].0))), &mut heard);
        }
        let Counts { arrived, departed, dropped, unknown, .. } =
            follower.counts(Direction::Down);
        prop_assert_eq!((arrived, departed, unknown), (fates.len() as u64, kept.len() as u64, 0));
        prop_assert_eq!(dropped + follower.counts(Direction::Down).left_over(), arrived - departed);
        prop_assert_eq!(heard.dropped, dropped);
    }
}
