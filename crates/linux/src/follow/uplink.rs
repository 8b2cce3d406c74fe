//! Two links: the bottleneck, and that of the way up.

use l4s_scenario::Plan;

use super::*;

/// A download, an upload, and a discipline of the uplink that changes at 500 ms.
const SCENARIO: &str = r#"
duration = "1s"
link.rate = "10mbit"
aqm = "fifo"
uplink = { rate = "1mbit", aqm = { kind = "dualpi2", profile = "linux" } }
[[group]]
name = "A"
cc = "reno"
rtt = "10ms"
[[group]]
name = "B"
direction = "up"
cc = "reno"
rtt = "10ms"
[[at]]
time = "500ms"
uplink.aqm = "codel"
"#;

const DOWN: Direction = Direction::Down;
const UP: Direction = Direction::Up;

fn follower() -> Follower {
    Follower::new(&Plan::parse("s", SCENARIO, &[]).unwrap().points[0].scenario)
}

/// The headers of a segment without payload of the only flow of a pair, from one of its ends.
fn segment(pair: u8, from: End, number: u16, ecn: Ecn) -> Vec<u8> {
    let (server, client) = ([10, pair, 0, 1], [10, pair, 1, 1]);
    let ports = [8999u16, 10_000 + u16::from(pair)];
    let ((source, destination), ports) = match from {
        End::Server => ((server, client), ports),
        End::Client => ((client, server), [ports[1], ports[0]]),
    };
    let mut bytes = vec![0x45, ecn.bits(), 0, 40];
    bytes.extend(number.to_be_bytes());
    bytes.extend([0, 0, 64, 6, 0, 0]);
    bytes.extend([source, destination].concat());
    bytes.extend(ports.into_iter().flat_map(u16::to_be_bytes));
    bytes.extend([0; 8]);
    bytes.extend([0x50, 0x10, 0, 0, 0, 0, 0, 0]);
    bytes
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn passed(ms: u64, pair: u16, bytes: &[u8]) -> Passed<'_> {
    Passed { at: at(ms), pair, bytes }
}

#[derive(Default)]
struct Heard {
    /// Departures from the bottleneck: flow, and sojourn in ms.
    departed: Vec<(u32, u64)>,
    arrived: u32,
    at_hop: Vec<(u16, u32, HopEvent)>,
}

impl Observer<Frame> for Heard {
    fn arrived(&mut self, _: &Frame, _: Time) {
        self.arrived += 1;
    }
    fn departed(&mut self, packet: &Frame, _: Queue, sojourn: Duration, _: Time) {
        self.departed.push((packet.flow().get(), sojourn.as_micros() / 1000));
    }
    fn at_hop(&mut self, hop: u16, packet: &Frame, _: Queue, what: HopEvent, _: Time) {
        self.at_hop.push((hop, packet.flow().get(), what));
    }
}

fn left(ms: u64) -> HopEvent {
    HopEvent::Departed(Duration::from_millis(ms))
}

#[test]
fn data_of_an_upload_and_acknowledgements_of_a_download_pass_the_uplink() {
    let (mut follower, mut heard) = (follower(), Heard::default());
    let plain = |pair, from| segment(pair, from, 1, Ecn::NotEct);
    let [data, ack] = [plain(0, End::Server), plain(0, End::Client)];
    let [data_up, ack_up] = [plain(1, End::Server), plain(1, End::Client)];
    follower.arrived(End::Server, passed(1, 0, &data), &mut heard);
    follower.arrived(End::Client, passed(1, 0, &ack), &mut heard);
    follower.arrived(End::Server, passed(1, 1, &data_up), &mut heard);
    follower.arrived(End::Client, passed(1, 1, &ack_up), &mut heard);
    follower.departed(DOWN, passed(2, 0, &data), &mut heard);
    follower.departed(UP, passed(3, 0, &ack), &mut heard);
    follower.departed(UP, passed(4, 0, &data_up), &mut heard);
    follower.departed(DOWN, passed(5, 0, &ack_up), &mut heard);
    assert_eq!((heard.arrived, heard.departed), (2, vec![(0, 1), (1, 4)]));
    assert_eq!(heard.at_hop, [(0, 0, left(2)), (0, 1, left(3))]);
    for link in [DOWN, UP] {
        let counts = follower.counts(link);
        assert_eq!((counts.arrived, counts.departed, counts.unknown, counts.stray), (2, 2, 0, 0));
    }
    // Only data counts for the rate of a source.
    assert_eq!([0, 1].map(|pair| follower.received(pair)), [1, 1]);
}

#[test]
fn marks_and_drops_of_the_uplink_are_its_own() {
    let (mut follower, mut heard) = (follower(), Heard::default());
    let packets: Vec<_> = (0..3).map(|n| segment(1, End::Server, n, Ecn::Ect1)).collect();
    for packet in &packets {
        follower.arrived(End::Server, passed(1, 1, packet), &mut heard);
    }
    let mut marked = packets[1].clone();
    marked[1] = Ecn::Ce.bits();
    follower.departed(UP, passed(9, 0, &marked), &mut heard);
    let [(_, _, dropped), (_, _, mark), departed] = &heard.at_hop[..] else { panic!() };
    assert_eq!(*dropped, HopEvent::Dropped(DropCause::Aqm));
    // 8 ms are longer than the step, 1 ms.
    assert_eq!(*mark, HopEvent::Marked(l4s_aqm::MarkCause::Step));
    assert_eq!(*departed, (0, 1, left(8)));
    let Counts { arrived, departed, dropped, .. } = follower.counts(UP);
    assert_eq!((arrived, departed, dropped, follower.counts(UP).left_over()), (3, 1, 1, 1));
    assert_eq!(follower.counts(DOWN), Counts::default());
}

#[test]
fn a_new_discipline_of_the_uplink_takes_nothing_from_the_bottleneck() {
    let (mut follower, mut heard) = (follower(), Heard::default());
    let data = segment(0, End::Server, 1, Ecn::NotEct);
    let ack = segment(0, End::Client, 1, Ecn::NotEct);
    follower.arrived(End::Server, passed(1, 0, &data), &mut heard);
    follower.arrived(End::Client, passed(1, 0, &ack), &mut heard);
    follower.replaced(UP, at(500), &mut heard);
    assert_eq!(heard.at_hop, [(0, 0, HopEvent::Dropped(DropCause::Limit))]);
    assert_eq!(follower.counts(DOWN).left_over(), 1);
    // CoDel has one queue: ECT(1) waits with the others.
    let one = segment(1, End::Server, 1, Ecn::Ect1);
    follower.arrived(End::Server, passed(501, 1, &one), &mut heard);
    follower.departed(UP, passed(503, 0, &one), &mut heard);
    assert_eq!(heard.at_hop[1..], [(0, 1, left(2))]);
}

/// A bit of a port was inverted on the way to the link: whose the packet is can be seen by its addresses
/// alone, and the kernel counts it like any other.
#[test]
fn a_corrupted_packet_is_of_the_first_flow_of_its_pair() {
    let text = format!("{SCENARIO}[[path]]\nname = \"P\"\nplace = \"before\"\ncorrupt = 0.1\n");
    let plan = Plan::parse("s", &text, &[]).unwrap();
    let (mut corrupted, mut heard) = (Follower::new(&plan.points[0].scenario), Heard::default());
    let mut packet = segment(0, End::Server, 1, Ecn::NotEct);
    packet[22] ^= 0x80;
    corrupted.arrived(End::Server, passed(1, 0, &packet), &mut heard);
    corrupted.departed(DOWN, passed(3, 0, &packet), &mut heard);
    assert_eq!((heard.departed, corrupted.counts(DOWN).stray), (vec![(0, 2)], 0));
    // On a path that corrupts nothing no flow has it.
    let mut follower = follower();
    follower.arrived(End::Server, passed(1, 0, &packet), &mut Heard::default());
    assert_eq!((follower.counts(DOWN).arrived, follower.counts(DOWN).stray), (0, 1));
}

/// A follower of an uplink with CAKE of one queue, and acknowledgements of two downloads on their way to it.
struct Filtering {
    follower: Follower,
    heard: Heard,
    now: u64,
}

impl Filtering {
    fn new(filter: &str) -> Filtering {
        let text = format!(
            "duration = \"1s\"\nlink.rate = \"10mbit\"\naqm = \"fifo\"\n\
             uplink = {{ rate = \"1mbit\", ack_filter = \"{filter}\", aqm = \"cobalt\" }}\n\
             [[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n\
             [[group]]\nname = \"B\"\ncc = \"reno\"\nrtt = \"10ms\"\n"
        );
        let plan = Plan::parse("s", &text, &[]).unwrap();
        let follower = Follower::new(&plan.points[0].scenario);
        Filtering { follower, heard: Heard::default(), now: 0 }
    }

    /// The acknowledgement number `n` of a pair.
    fn ack(pair: u8, n: u16) -> Vec<u8> {
        let mut ack = segment(pair, End::Client, n, Ecn::NotEct);
        ack[28..32].copy_from_slice(&(u32::from(n) * 1000).to_be_bytes());
        ack
    }

    fn come(&mut self, acks: &[(u8, u16)]) {
        for (pair, n) in acks {
            self.now += 1;
            let ack = Filtering::ack(*pair, *n);
            let packet = passed(self.now, u16::from(*pair), &ack);
            self.follower.arrived(End::Client, packet, &mut self.heard);
        }
    }

    /// The causes of all drops since the start, when this has left too.
    fn leave(&mut self, pair: u8, n: u16) -> Vec<DropCause> {
        self.now += 1;
        let ack = Filtering::ack(pair, n);
        self.follower.departed(UP, passed(self.now, 0, &ack), &mut self.heard);
        let dropped = self.heard.at_hop.iter().filter_map(|(_, _, what)| match what {
            HopEvent::Dropped(cause) => Some(*cause),
            _ => None,
        });
        dropped.collect()
    }
}

const FILTER: DropCause = DropCause::AckFilter;

#[test]
fn an_acknowledgement_that_never_leaves_went_to_the_filter_if_the_rules_say_so() {
    let mut one = Filtering::new("on");
    one.come(&[(0, 1), (0, 2), (0, 3), (0, 4)]);
    // The rules took out 1 and 2, and the discipline 3.
    assert_eq!(one.leave(0, 4), [FILTER, FILTER, DropCause::Aqm]);
    assert_eq!(one.follower.counts(UP).dropped, 3);
    // Without a filter it was the discipline.
    let mut none = Filtering::new("off");
    none.come(&[(0, 1), (0, 2), (0, 3)]);
    assert_eq!(none.leave(0, 3), [DropCause::Aqm; 2]);
}

#[test]
fn what_leaves_was_not_filtered_whatever_the_rules_say() {
    let mut one = Filtering::new("on");
    one.come(&[(0, 1), (0, 2), (0, 3)]);
    assert_eq!(one.leave(0, 1), []);
    assert_eq!(one.leave(0, 3), [DropCause::Aqm]);
    assert_eq!(one.follower.counts(UP).departed, 2);
}

#[test]
fn an_aggressive_filter_takes_neighbours_alone() {
    let mut neighbours = Filtering::new("aggressive");
    neighbours.come(&[(0, 1), (0, 2)]);
    assert_eq!(neighbours.leave(0, 2), [FILTER]);
    let mut apart = Filtering::new("aggressive");
    apart.come(&[(0, 1), (1, 1), (0, 2)]);
    assert_eq!(apart.leave(0, 2), [DropCause::Aqm]);
}
