//! The laws of the data plane, with made-up packets and a made-up clock.

use std::collections::HashMap;

use etherparse::{IpEcn, PacketBuilder, PacketBuilderStep};
use l4s_aqm::{Config, DropCause, MarkCause, Packet, Queue, Watch};
use l4s_bottleneck::Bottleneck;
use l4s_lab::{Delivery, End, FIRST_PORT, Frame, Plane, UDP_PORT};
use l4s_model::{
    AccEcnMangling, AckFilter, Cell, Direction, EcnMangling, Hop, Jitter, Link, Loss, Path,
    PathEvent, Per, Radio, Scenario, Side, SourceId, Standard, Uplink, Wifi,
};
use l4s_observe::{HopEvent, Observer, Traced};
use l4s_scenario::bundled;
use l4s_units::{Bytes, Duration, Ecn, Rate, Time};
use proptest::prelude::*;

/// Two groups of two flows at 10 and 20 ms, and a UDP source.
fn scenario(rate: Rate, aqm: Config) -> Scenario {
    let plan = bundled::find("one-against-one").unwrap().plan(&[]).unwrap();
    let mut scenario = plan.points[0].scenario.clone();
    let mut group = scenario.groups[0].clone();
    group.starts = vec![Time::ZERO; 2];
    group.rtt = Duration::from_millis(10);
    scenario.groups = vec![group.clone(), group];
    scenario.groups[1].rtt = Duration::from_millis(20);
    scenario.udp = vec![l4s_model::Udp {
        packet: Bytes::new(1000),
        ..l4s_model::Udp::new("u", Rate::from_mbps(1))
    }];
    scenario.link.rate = rate;
    scenario.aqm = aqm;
    scenario
}

/// The properties of a packet of the tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Made {
    pair: usize,
    from: End,
    flow: u32,
    ecn: Ecn,
    payload: usize,
    number: u32,
}

impl Made {
    fn bytes(&self) -> Vec<u8> {
        let (server, client) = ([10, 0, 0, 1], [10, 0, 1, 1]);
        let (source, destination) =
            if self.from == End::Server { (server, client) } else { (client, server) };
        let mut ip = etherparse::Ipv4Header::new(0, 64, 6.into(), source, destination).unwrap();
        ip.ecn = IpEcn::try_new(self.ecn.bits()).unwrap();
        let builder: PacketBuilderStep<_> = PacketBuilder::ip(etherparse::IpHeaders::Ipv4(
            ip,
            etherparse::Ipv4Extensions::default(),
        ));
        let payload = vec![0; self.payload];
        let mut bytes = Vec::new();
        if self.pair == 2 {
            let mut payload = payload;
            payload.resize(self.payload.max(4), 0);
            payload[..4].copy_from_slice(&self.number.to_be_bytes());
            builder.udp(UDP_PORT, UDP_PORT).write(&mut bytes, &payload).unwrap();
        } else {
            let (own, other) = (5001, FIRST_PORT + self.flow as u16);
            let (source, destination) =
                if self.from == End::Server { (own, other) } else { (other, own) };
            builder
                .tcp(source, destination, self.number, 1000)
                .write(&mut bytes, &payload)
                .unwrap();
        }
        bytes
    }
}

/// The number of a delivered packet; 0 for garbage that is too short to have one.
fn number(bytes: &[u8]) -> u32 {
    let at = if bytes[9] == 6 { 24 } else { 28 };
    bytes.get(at..at + 4).map_or(0, |number| u32::from_be_bytes(number.try_into().unwrap()))
}

/// The events that a run reports.
#[derive(Clone, PartialEq, Debug)]
enum Event {
    Arrived(u32, Time),
    Marked(u32, Queue, MarkCause, Time),
    Departed(u32, Queue, Duration, Time),
    Dropped(u32, Queue, DropCause, Time),
    AtHop(u16, u32, Queue, HopEvent, Time),
    AtPath(u16, SourceId, PathEvent, Time),
}

impl Event {
    fn at(&self) -> Time {
        match self {
            Event::Arrived(_, at)
            | Event::Marked(.., at)
            | Event::Departed(.., at)
            | Event::Dropped(.., at)
            | Event::AtHop(.., at)
            | Event::AtPath(.., at) => *at,
        }
    }
}

#[derive(Default)]
struct Log(Vec<Event>);

impl Observer<Frame> for Log {
    fn arrived(&mut self, packet: &Frame, now: Time) {
        self.0.push(Event::Arrived(number(packet.packet()), now));
    }
    fn marked(&mut self, packet: &Frame, queue: Queue, cause: MarkCause, now: Time) {
        assert!(packet.ecn().is_ce() && !packet.arrived_ce());
        self.0.push(Event::Marked(number(packet.packet()), queue, cause, now));
    }
    fn departed(&mut self, packet: &Frame, queue: Queue, sojourn: Duration, now: Time) {
        self.0.push(Event::Departed(number(packet.packet()), queue, sojourn, now));
    }
    fn dropped(&mut self, packet: &Frame, queue: Queue, cause: DropCause, now: Time) {
        self.0.push(Event::Dropped(number(packet.packet()), queue, cause, now));
    }
    fn at_hop(&mut self, hop: u16, packet: &Frame, queue: Queue, what: HopEvent, now: Time) {
        self.0.push(Event::AtHop(hop, number(packet.packet()), queue, what, now));
    }
    fn at_path(&mut self, path: u16, source: SourceId, what: PathEvent, now: Time) {
        self.0.push(Event::AtPath(path, source, what, now));
    }
}

/// The same with a hop for each flow of the first group, and an uplink through which the second group sends.
fn with_further_links(mut scenario: Scenario) -> Scenario {
    let link = |mbps| Link { burst: Bytes::ZERO, ..Link::new(Rate::from_mbps(mbps)) };
    let short = l4s_aqm::fifo::Config { limit: l4s_aqm::Limit::packets(5) };
    let aqm = Config::Fifo(short);
    scenario.groups[1].direction = Direction::Up;
    scenario.uplink = Some(Uplink { link: link(8), aqm: aqm.clone(), ack_filter: AckFilter::Off });
    scenario.hops = vec![Hop {
        name: "access".to_owned(),
        side: Side::Behind,
        link: link(10),
        aqm,
        sources: vec![0],
        per: Per::Flow,
    }];
    scenario
}

/// A packet that a device received.
#[derive(Clone, PartialEq, Debug)]
struct Got {
    pair: usize,
    to: End,
    due: Time,
    bytes: Vec<u8>,
}

/// A data plane with all of its events.
struct Bench {
    plane: Plane,
    log: Log,
    got: Vec<Got>,
    /// The number of deliveries after which one is refused.
    refuse: Option<usize>,
}

impl Bench {
    fn new(scenario: &Scenario) -> Bench {
        Bench { plane: Plane::new(scenario), log: Log::default(), got: Vec::new(), refuse: None }
    }

    fn receive(&mut self, pair: usize, from: End, bytes: &[u8], now: Time) {
        self.receive_of_device(pair, from, &[&[0; Frame::START], bytes].concat(), now);
    }

    /// As [`Bench::receive`], with the header of a device.
    fn receive_of_device(&mut self, pair: usize, from: End, bytes: &[u8], now: Time) {
        let mut buffer = self.plane.buffer();
        buffer[..bytes.len()].copy_from_slice(bytes);
        let Bench { plane, log, got, refuse } = self;
        plane.receive(pair, from, buffer, bytes.len(), now, log, &mut |d| take(got, *refuse, d));
    }

    fn advance(&mut self, now: Time) {
        let Bench { plane, log, got, refuse } = self;
        plane.advance(now, log, &mut |d| take(got, *refuse, d));
    }

    /// Runs until only timers are due.
    fn finish(&mut self, from: Time) {
        let mut now = from;
        while self.plane.buffers_out() > 0 {
            now += Duration::from_millis(7);
            self.advance(now);
        }
    }
}

fn take(got: &mut Vec<Got>, refuse: Option<usize>, delivery: Delivery<'_>) -> bool {
    let Delivery { pair, to, due, bytes, .. } = delivery;
    got.push(Got { pair, to, due, bytes: bytes[Frame::START..].to_vec() });
    refuse.is_none_or(|n| got.len() % n != 0)
}

/// The same packet in a substrate without bytes.
#[derive(Clone, Debug)]
struct Plain {
    made: Made,
    ecn: Ecn,
    size: u64,
}

impl Packet for Plain {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn flow_hash(&self) -> u32 {
        (self.made.flow ^ 0x9e37_79b9)
            .wrapping_mul(0x85eb_ca6b)
            .rotate_left(15)
            .wrapping_mul(0xc2b2_ae35)
    }
    fn memory(&self) -> Bytes {
        Bytes::new((self.size + 384).next_power_of_two() + 256)
    }
}

impl Watch<Plain> for Log {
    fn marked(&mut self, packet: &Plain, queue: Queue, cause: MarkCause, now: Time) {
        self.0.push(Event::Marked(packet.made.number, queue, cause, now));
    }
    fn dropped(&mut self, packet: Plain, queue: Queue, cause: DropCause, now: Time) {
        self.0.push(Event::Dropped(packet.made.number, queue, cause, now));
    }
}

/// The result of the simulator's engine for the same arrivals: an event loop of its own.
fn simulated(scenario: &Scenario, arrivals: &[(Time, Made)], end: Time) -> Vec<Event> {
    let mut bottleneck = Bottleneck::new(&scenario.link, &scenario.aqm, scenario.seed);
    let mut log = Log::default();
    let mut next = 0;
    loop {
        let arrival = arrivals.get(next).map_or(Time::NEVER, |a| a.0);
        let (departure, tick) = (bottleneck.next_transmission(), bottleneck.next_tick());
        let now = departure.min(tick).min(arrival);
        if now > end {
            return log.0;
        }
        if now == departure {
            transmit(&mut bottleneck, now, &mut log);
        } else if now == tick {
            bottleneck.tick(now);
        } else {
            let made = arrivals[next].1;
            next += 1;
            let plain = Plain { made, ecn: made.ecn, size: made.bytes().len() as u64 + 14 };
            log.0.push(Event::Arrived(made.number, now));
            bottleneck.enqueue(plain, now, &mut log);
            transmit(&mut bottleneck, now, &mut log);
        }
    }
}

fn transmit(bottleneck: &mut Bottleneck<Plain>, now: Time, log: &mut Log) {
    while bottleneck.land(now).is_some() {}
    while let Some(departure) = bottleneck.transmit(now, log) {
        let number = departure.packet.made.number;
        log.0.push(Event::Departed(number, departure.queue, departure.sojourn, now));
        bottleneck.carry(departure.packet, now);
    }
}

fn ecn() -> impl Strategy<Value = Ecn> {
    (0u8..4).prop_map(Ecn::from_bits)
}

fn aqm() -> impl Strategy<Value = Config> {
    use l4s_aqm::{cobalt, codel, curvy_red, dualpi2, fifo, fq_codel, pi2, pie, red};
    prop::sample::select(vec![
        Config::DualPi2(dualpi2::Config::default()),
        Config::CurvyRed(curvy_red::Config::default()),
        Config::Pi2(pi2::Config::default()),
        Config::Pie(pie::Config::default()),
        Config::Codel(codel::Config::default()),
        Config::FqCodel(fq_codel::Config::default()),
        Config::Cobalt(cobalt::Config::default()),
        Config::Red(red::Config::default()),
        Config::Fifo(fifo::Config::default()),
    ])
}

/// Packets of all pairs and ends, with the time since the previous one in microseconds.
fn packets(most: usize) -> impl Strategy<Value = Vec<(u64, Made)>> {
    let one = (0u64..400, 0usize..3, any::<bool>(), 0u32..2, ecn(), 0usize..1448);
    prop::collection::vec(one, 1..most).prop_map(|list| {
        let made = list.into_iter().zip(0..).map(|((gap, pair, down, n, ecn, payload), number)| {
            let from = if down { End::Server } else { End::Client };
            let flow = if pair == 2 { 4 } else { 2 * pair as u32 + n };
            (gap, Made { pair, from, flow, ecn, payload, number })
        });
        made.collect()
    })
}

/// The same with a bad way in each direction, of the first group and down of the UDP source.
fn with_imperfect_paths(mut scenario: Scenario) -> Scenario {
    let bad = |name: &str, direction, side| Path {
        loss: Loss::Independent(0.05),
        jitter: Jitter { reordering: true, ..Jitter::uniform(Duration::from_millis(2)) },
        duplicate: 0.1,
        corrupt: 0.1,
        ecn: EcnMangling::CeToEct1,
        accecn: AccEcnMangling::Strip,
        side,
        ..Path::new(name, direction, vec![0])
    };
    scenario.paths = vec![
        Path { sources: vec![0, 2], ..bad("before", Direction::Down, Side::Before) },
        bad("behind", Direction::Down, Side::Behind),
        bad("up", Direction::Up, Side::Behind),
    ];
    scenario
}

const RATE: Rate = Rate::from_mbps(20);

/// Feeds packets, and calls `advance` at the times in `calls`, which are arbitrary.
fn play(bench: &mut Bench, packets: &[(u64, Made)], calls: &[u64]) -> Vec<(Time, Made)> {
    let (mut now, mut arrivals) = (Time::ZERO, Vec::new());
    let mut calls = calls.iter().cycle();
    for (gap, made) in packets {
        let next = now + Duration::from_micros(*gap);
        if let Some(call) = calls.next() {
            let between = now + Duration::from_micros(*call);
            if between < next {
                bench.advance(between);
            }
        }
        now = next;
        bench.receive(made.pair, made.from, &made.bytes(), now);
        arrivals.push((now, *made));
    }
    arrivals
}

/// A radio that loses packets.
fn radio() -> impl Strategy<Value = Radio> {
    let wifi = Wifi { width: 20, streams: 1, mcs: 3, loss: 0.3, ..Wifi::new(Standard::Ax) };
    let cell = Cell { layers: 1, mcs: 5, loss: 0.2, ..Cell::new(Direction::Down) };
    prop::sample::select(vec![Radio::Wifi(wifi), Radio::Cell(cell)])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// For any lateness of the calls, the discipline decides as in the simulator: the same packets
    /// are marked, dropped and sent, at the same times to the nanosecond.
    #[test]
    fn decisions_are_those_of_the_simulator(
        aqm in aqm(),
        aggregation in prop::sample::select(vec![0u64, 0, 2]),
        radio in prop::option::of(radio()),
        packets in packets(600),
        calls in prop::collection::vec(0u64..400, 1..20),
    ) {
        let mut scenario = scenario(RATE, aqm);
        scenario.link = match radio {
            None => Link { aggregation: Duration::from_millis(aggregation), ..scenario.link },
            Some(radio) => Link { burst: Bytes::ZERO, ..scenario.link }.by(radio),
        };
        let mut bench = Bench::new(&scenario);
        let arrivals = play(&mut bench, &packets, &calls);
        let end = arrivals.last().unwrap().0;
        bench.finish(end);
        let down: Vec<_> =
            arrivals.iter().filter(|(_, made)| made.from == End::Server).copied().collect();
        let last = bench.log.0.last().map_or(end, Event::at);
        prop_assert_eq!(&bench.log.0, &simulated(&scenario, &down, last));
        // The delivered bytes are CE exactly where the log has a mark.
        let marked: Vec<u32> = bench.log.0.iter().filter_map(|told| match told {
            Event::Marked(number, ..) => Some(*number),
            _ => None,
        }).collect();
        for got in bench.got.iter().filter(|got| got.to == End::Client) {
            let made = packets[number(&got.bytes) as usize].1;
            let ce = marked.contains(&made.number);
            let mut expected = made.bytes();
            if ce {
                prop_assert_eq!(got.bytes[1], 3);
                expected[1] = 3;
                // Another test covers the checksum; here nothing else may have changed.
                expected[10..12].copy_from_slice(&got.bytes[10..12]);
            }
            prop_assert_eq!(&got.bytes, &expected);
            let ip = etherparse::Ipv4Header::from_slice(&got.bytes).unwrap().0;
            prop_assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        }
    }

    /// Every packet that arrived is forwarded, refused, dropped or still queued, and at the end every
    /// buffer is back in the pool.
    #[test]
    fn nothing_is_lost(
        packets in packets(600),
        refuse in prop::option::of(2usize..9),
        further: bool,
        imperfect: bool,
        calls in prop::collection::vec(0u64..400, 1..20),
    ) {
        let mut scenario = scenario(RATE, Config::default());
        // A short queue, so that packets are dropped.
        scenario.aqm = Config::DualPi2(l4s_aqm::dualpi2::Config {
            limit: l4s_aqm::Limit::packets(20),
            ..Default::default()
        });
        if further {
            scenario = with_further_links(scenario);
        }
        if imperfect {
            scenario = with_imperfect_paths(scenario);
        }
        let mut bench = Bench { refuse, ..Bench::new(&scenario) };
        let arrivals = play(&mut bench, &packets, &calls);
        let sent = |pair, from| {
            arrivals.iter().filter(|(_, m)| m.pair == pair && m.from == from).count() as u64
        };
        let mut underway = 0;
        for pair in 0..3 {
            for from in [End::Server, End::Client] {
                let counters = bench.plane.counters(pair, from);
                prop_assert_eq!(counters.received, sent(pair, from));
                underway += counters.under_way();
            }
        }
        let lines: usize = (0..3).map(|pair| bench.plane.on_line(pair)).sum();
        let held = bench.plane.backlog().packets + lines;
        prop_assert_eq!(underway as usize, bench.plane.buffers_out());
        // The queues of further links and what is on imperfect stretches are not reported.
        let more = underway as usize - held;
        prop_assert!(further || imperfect || more == 0, "{more}");

        bench.finish(arrivals.last().unwrap().0);
        prop_assert_eq!(bench.plane.buffers_out(), 0);
        let mut by_end: HashMap<(usize, End), u64> = HashMap::new();
        for (n, got) in bench.got.iter().enumerate() {
            if refuse.is_none_or(|every| (n + 1) % every != 0) {
                *by_end.entry((got.pair, got.to.other())).or_default() += 1;
            }
        }
        for pair in 0..3 {
            for from in [End::Server, End::Client] {
                let counters = bench.plane.counters(pair, from);
                prop_assert_eq!(counters.under_way(), 0);
                let forwarded = by_end.get(&(pair, from)).copied().unwrap_or(0);
                prop_assert_eq!(counters.forwarded, forwarded);
            }
        }
    }

    /// With further links, too, nothing depends on the lateness of the calls; and the uplink carries no more than
    /// its rate: 8 Mb/s are a byte per microsecond.
    #[test]
    fn further_links_keep_their_times(
        packets in packets(600),
        calls in prop::collection::vec(0u64..400, 1..20),
        other in prop::collection::vec(0u64..400, 1..20),
    ) {
        let scenario = with_further_links(scenario(RATE, Config::default()));
        let run = |calls: &[u64]| {
            let mut bench = Bench::new(&scenario);
            let arrivals = play(&mut bench, &packets, calls);
            bench.finish(arrivals.last().unwrap().0);
            (bench.log.0, bench.got)
        };
        let (log, got) = run(&calls);
        let (again, got_again) = run(&other);
        prop_assert_eq!(&log, &again);
        prop_assert_eq!(&got, &got_again);
        let mut free = Time::ZERO;
        for told in &log {
            let Event::AtHop(1, number, _, HopEvent::Departed(_), at) = told else { continue };
            prop_assert!(*at >= free, "{} before {}", at, free);
            let made = packets[*number as usize].1;
            // The pairs that send down have their clients' packets there, the other its server's.
            prop_assert_eq!(made.from, if made.pair == 1 { End::Server } else { End::Client });
            free = *at + Duration::from_micros(made.bytes().len() as u64 + 14);
        }
    }

    /// With imperfect stretches, too, nothing depends on the lateness of the calls. The events and the counters
    /// agree on losses and copies.
    #[test]
    fn imperfect_stretches_keep_their_times(
        packets in packets(600),
        calls in prop::collection::vec(0u64..400, 1..20),
        other in prop::collection::vec(0u64..400, 1..20),
    ) {
        let scenario = with_imperfect_paths(scenario(RATE, Config::default()));
        let run = |calls: &[u64]| {
            let mut bench = Bench::new(&scenario);
            let arrivals = play(&mut bench, &packets, calls);
            bench.finish(arrivals.last().unwrap().0);
            (bench.log.0, bench.got, bench.plane)
        };
        let (log, got, plane) = run(&calls);
        let (again, got_again, _) = run(&other);
        prop_assert_eq!(&log, &again);
        prop_assert_eq!(&got, &got_again);
        let number = |paths: &[u16], what| {
            let is = |event: &&Event| {
                matches!(event, Event::AtPath(path, _, found, _) if paths.contains(path) && *found == what)
            };
            log.iter().filter(is).count() as u64
        };
        for (paths, from) in [(&[0, 1][..], End::Server), (&[2], End::Client)] {
            let sum = |of: fn(&l4s_lab::Counters) -> u64| {
                (0..3).map(|pair| of(&plane.counters(pair, from))).sum::<u64>()
            };
            prop_assert_eq!(sum(|counters| counters.lost), number(paths, PathEvent::Lost));
            prop_assert_eq!(sum(|counters| counters.copied), number(paths, PathEvent::Duplicated));
        }
    }

    /// The packets of a list are lost, and a middlebox changes the codepoints of the others and nothing else: their
    /// checksums are right.
    #[test]
    fn a_middlebox_changes_the_codepoint_alone(
        packets in packets(200),
        lost in prop::collection::btree_set(1u64..50, 0..10),
    ) {
        let mut scenario = scenario(RATE, Config::Fifo(Default::default()));
        let path = Path::new("old", Direction::Down, vec![0]);
        let loss = Loss::Packets(lost.iter().copied().collect());
        scenario.paths = vec![Path { loss, ecn: EcnMangling::Bleach, ..path }];
        let mut bench = Bench::new(&scenario);
        let arrivals = play(&mut bench, &packets, &[100]);
        bench.finish(arrivals.last().unwrap().0);
        let passes = |made: &Made| made.pair == 0 && made.from == End::Server;
        let expected: Vec<_> = arrivals
            .iter()
            .map(|(_, made)| *made)
            .filter(passes)
            .zip(1..)
            .filter(|(_, place)| !lost.contains(place))
            .map(|(made, _)| Made { ecn: Ecn::NotEct, ..made }.bytes())
            .collect();
        let got: Vec<_> = bench.got.iter()
            .filter(|got| got.pair == 0 && got.to == End::Client)
            .map(|got| got.bytes.clone())
            .collect();
        prop_assert_eq!(got, expected);
    }

    /// Each direction keeps its order, and the reverse path has its delay to the nanosecond.
    #[test]
    fn order_and_delay(
        packets in packets(400),
        calls in prop::collection::vec(0u64..400, 1..20),
    ) {
        let scenario = scenario(RATE, Config::Fifo(Default::default()));
        let mut bench = Bench::new(&scenario);
        let arrivals = play(&mut bench, &packets, &calls);
        bench.finish(arrivals.last().unwrap().0);
        let delays = [Duration::from_millis(10), Duration::from_millis(20), Duration::ZERO];
        for (pair, delay) in delays.into_iter().enumerate() {
            let sent: Vec<_> = arrivals.iter()
                .filter(|(_, m)| m.pair == pair && m.from == End::Client)
                .map(|(at, m)| (m.number, *at + delay)).collect();
            let got: Vec<_> = bench.got.iter()
                .filter(|g| g.pair == pair && g.to == End::Server)
                .map(|g| (number(&g.bytes), g.due)).collect();
            prop_assert_eq!(got, sent);
        }
        let down = |m: &Made| m.from == End::Server;
        let sent: Vec<_> = arrivals.iter().map(|a| a.1).filter(down).map(|m| m.number).collect();
        let got: Vec<_> = bench.got.iter()
            .filter(|g| g.to == End::Client).map(|g| number(&g.bytes)).collect();
        prop_assert_eq!(got, sent);
        prop_assert!(bench.log.0.is_sorted_by_key(Event::at));
        prop_assert!(bench.got.is_sorted_by_key(|got| got.due));
    }

    /// A queue that is never empty sends at the rate of the link, for any lateness and frequency of the
    /// calls.
    #[test]
    fn lateness_costs_no_capacity(late in prop::collection::vec(1u64..200_000, 1..50)) {
        let scenario = scenario(RATE, Config::Fifo(Default::default()));
        let mut bench = Bench::new(&scenario);
        let made = |number| Made {
            pair: 0, from: End::Server, flow: 0, ecn: Ecn::NotEct, payload: 1460, number,
        };
        for n in 0..200 {
            bench.receive(0, End::Server, &made(n).bytes(), Time::from_nanos(1));
        }
        let mut now = 0;
        for gap in late.iter().cycle() {
            now += gap * 1_000;
            bench.advance(Time::from_nanos(now));
            if bench.plane.backlog().packets == 0 {
                break;
            }
        }
        // 1514 B · 8 / 20 Mb/s = 605.6 us.
        let due: Vec<_> = bench.got.iter().map(|got| got.due.as_nanos()).collect();
        prop_assert_eq!(due.len(), 200);
        prop_assert!(due.windows(2).skip(1).all(|w| w[1] - w[0] == 605_600), "{:?}", due);
    }

    /// For any result of a device, nothing panics and everything is counted.
    #[test]
    fn garbage_is_counted(
        packets in prop::collection::vec(
            (0usize..3, any::<bool>(), prop::collection::vec(any::<u8>(), 0..120), any::<bool>()),
            1..200,
        ),
        (gso, imperfect) in prop_oneof![Just((true, false)), Just((false, true)), Just((false, false))],
    ) {
        let mut scenario = scenario(RATE, Config::default());
        scenario.kernel.gso = gso;
        if imperfect {
            scenario = with_imperfect_paths(scenario);
        }
        let mut bench = Bench::new(&scenario);
        let mut now = Time::ZERO;
        for (pair, down, mut bytes, look_like_ip) in packets {
            let first = bytes.get_mut(Frame::START);
            if let Some(first) = first.filter(|_| look_like_ip) {
                *first = if *first & 1 == 0 { 0x45 } else { 0x60 };
            }
            now += Duration::from_micros(100);
            let from = if down { End::Server } else { End::Client };
            bench.receive_of_device(pair, from, &bytes, now);
        }
        bench.finish(now);
        for pair in 0..3 {
            for from in [End::Server, End::Client] {
                let counters = bench.plane.counters(pair, from);
                prop_assert_eq!(counters.under_way(), 0);
            }
        }
        prop_assert_eq!(bench.plane.buffers_out(), 0);
    }
}

fn tcp(from: End, source: u16, destination: u16) -> Vec<u8> {
    let (a, b) = if from == End::Server {
        ([10, 0, 0, 1], [10, 0, 1, 1])
    } else {
        ([10, 0, 1, 1], [10, 0, 0, 1])
    };
    let mut bytes = Vec::new();
    PacketBuilder::ipv4(a, b, 64).tcp(source, destination, 0, 0).write(&mut bytes, &[]).unwrap();
    bytes
}

/// The flows that departed, in order.
#[derive(Default)]
struct Flows(Vec<(u32, u16)>);

impl Observer<Frame> for Flows {
    fn departed(&mut self, packet: &Frame, _: Queue, _: Duration, _: Time) {
        self.0.push((Traced::flow(packet).get(), packet.group().get()));
    }
}

#[test]
fn packets_belong_to_the_flow_of_the_clients_port() {
    let scenario = scenario(Rate::from_mbps(1_000), Config::default());
    let mut plane = Plane::new(&scenario);
    let mut flows = Flows::default();
    let mut now = Time::ZERO;
    let mut send = |plane: &mut Plane, pair, bytes: &[u8]| {
        now += Duration::from_millis(1);
        let mut buffer = plane.buffer();
        let end = Frame::put(&mut buffer, bytes);
        plane.receive(pair, End::Server, buffer, end, now, &mut flows, &mut |_| true);
    };
    // Group 0 has flows 0 and 1, group 1 has flows 2 and 3, and flow 4 is the UDP source.
    send(&mut plane, 0, &tcp(End::Server, 5001, FIRST_PORT + 1));
    send(&mut plane, 1, &tcp(End::Server, 5001, FIRST_PORT + 2));
    send(&mut plane, 1, &tcp(End::Server, 5001, FIRST_PORT + 3));
    let mut udp = Vec::new();
    let builder = PacketBuilder::ipv4([10, 2, 0, 1], [10, 2, 1, 1], 64);
    builder.udp(UDP_PORT, UDP_PORT).write(&mut udp, &[0; 100]).unwrap();
    send(&mut plane, 2, &udp);
    // Another group's port, and a later fragment: strays of the pair's first flow.
    send(&mut plane, 1, &tcp(End::Server, 5001, FIRST_PORT));
    let mut fragment = udp;
    fragment[6..8].copy_from_slice(&[0x00, 0x10]);
    send(&mut plane, 0, &fragment);
    assert_eq!(flows.0, [(1, 0), (2, 1), (3, 1), (4, 2), (2, 1), (0, 0)]);
    assert_eq!(plane.counters(1, End::Server).stray, 1);
    assert_eq!(plane.counters(0, End::Server).stray, 1);
}

#[test]
fn what_changes_does_so_at_its_time_however_late_the_driver_is() {
    use l4s_model::Change;
    let ms = |n| Time::ZERO + Duration::from_millis(n);
    let mut scenario = scenario(Rate::from_mbps(12), Config::Fifo(l4s_aqm::fifo::Config::dctth()));
    scenario.changes = vec![
        Change { rate: Some(Rate::from_mbps(6)), ..Change::at(ms(100)) },
        Change { aqm: Some(Config::default()), ..Change::at(ms(200)) },
        Change { rtts: vec![(0, Duration::from_millis(3))], ..Change::at(ms(300)) },
    ];
    let mut plane = Plane::new(&scenario);
    let mut log = Log::default();
    let mut out = Vec::new();
    let send = |plane: &mut Plane, log: &mut Log, from, number, now| {
        let made = Made { pair: 0, from, flow: 0, ecn: Ecn::Ect1, payload: 1446, number };
        let bytes = made.bytes();
        let mut buffer = plane.buffer();
        let end = Frame::put(&mut buffer, &bytes);
        plane.receive(0, from, buffer, end, now, log, &mut |_| true);
    };
    // 1500 B on the link: 1 ms at 12 Mb/s, 2 ms at 6 Mb/s.
    for number in 0..200 {
        send(&mut plane, &mut log, End::Server, number, ms(0));
    }
    // An acknowledgement on the path of 10 ms, and another that overtakes it.
    send(&mut plane, &mut log, End::Client, 1, ms(299));
    send(&mut plane, &mut log, End::Client, 2, ms(301));
    plane.advance(ms(400), &mut log, &mut |d: Delivery<'_>| {
        out.push((d.to, d.due, number(&d.bytes[Frame::START..])));
        true
    });
    let left: Vec<_> = log
        .0
        .iter()
        .filter_map(|told| match told {
            Event::Departed(_, queue, _, at) => Some((*queue, *at)),
            _ => None,
        })
        .collect();
    let until = |end| left.iter().filter(|(_, at)| *at < end).count();
    assert_eq!(until(ms(100)), 100);
    assert_eq!(until(ms(200)) - until(ms(100)), 50);
    // At the same instant the change of the link comes first.
    assert!(left.iter().all(|(queue, at)| (*queue == Queue::Q) == (*at <= ms(200))), "{left:?}");
    let dropped = log.0.iter().filter(|told| matches!(told, Event::Dropped(..))).count();
    assert_eq!(left.len() + dropped, 200, "the new discipline has what waited");
    assert!(until(ms(250)) - until(ms(201)) >= 20, "{left:?}");
    let back: Vec<_> = out.into_iter().filter(|(to, ..)| *to == End::Server).collect();
    assert_eq!(back, [(End::Server, ms(304), 2), (End::Server, ms(309), 1)]);
}

/// 1500 B on the uplink: 1 ms at 12 Mb/s, 2 ms at 6 Mb/s.
#[test]
fn the_uplink_changes_at_its_time_too() {
    use l4s_model::Change;
    let ms = |n| Time::ZERO + Duration::from_millis(n);
    let fifo = || Config::Fifo(l4s_aqm::fifo::Config::dctth());
    let mut scenario = scenario(Rate::from_mbps(100), fifo());
    let link = Link { burst: Bytes::ZERO, ..Link::new(Rate::from_mbps(12)) };
    scenario.uplink = Some(Uplink { link, aqm: fifo(), ack_filter: AckFilter::Off });
    let short = l4s_aqm::fifo::Config { limit: l4s_aqm::Limit::packets(10) };
    scenario.changes = vec![
        Change { uplink_rate: Some(Rate::from_mbps(6)), ..Change::at(ms(100)) },
        Change { uplink_aqm: Some(Config::Fifo(short)), ..Change::at(ms(200)) },
    ];
    let mut plane = Plane::new(&scenario);
    let mut log = Log::default();
    for number in 0..200 {
        let ecn = Ecn::Ect1;
        let made = Made { pair: 0, from: End::Client, flow: 0, ecn, payload: 1446, number };
        let bytes = made.bytes();
        let mut buffer = plane.buffer();
        let end = Frame::put(&mut buffer, &bytes);
        plane.receive(0, End::Client, buffer, end, ms(0), &mut log, &mut |_| true);
    }
    assert_eq!(plane.uplink_state(ms(0)).map(|state| state.packets), Some(199));
    plane.advance(ms(400), &mut log, &mut |_| true);
    let of = |wanted: fn(&HopEvent) -> bool| -> Vec<Time> {
        let at = log.0.iter().filter_map(|told| match told {
            Event::AtHop(_, _, _, what, at) if wanted(what) => Some(*at),
            _ => None,
        });
        at.collect()
    };
    let left = of(|what| matches!(what, HopEvent::Departed(_)));
    let until = |end| left.iter().filter(|at| **at < end).count();
    assert_eq!((until(ms(100)), until(ms(200)) - until(ms(100))), (100, 50));
    // Of the 50 that waited the shorter queue took ten.
    let dropped = of(|what| matches!(what, HopEvent::Dropped(_)));
    assert_eq!((left.len(), dropped.len()), (160, 40));
    assert!(dropped.iter().all(|at| *at == ms(200)), "{dropped:?}");
}

/// Numbers of lost packets count from the change on.
#[test]
fn an_imperfect_stretch_changes_at_its_time_too() {
    use l4s_model::{Change, PathChange};
    let ms = |n| Time::ZERO + Duration::from_millis(n);
    let mut scenario = scenario(Rate::from_mbps(100), Config::Fifo(Default::default()));
    scenario.paths = vec![Path::new("far", Direction::Down, vec![0])];
    let change = PathChange { loss: Some(Loss::Packets(vec![1])), ..PathChange::default() };
    scenario.changes = vec![Change { paths: vec![(0, change)], ..Change::at(ms(100)) }];
    let mut bench = Bench::new(&scenario);
    for (number, at) in [(1, 50), (2, 150), (3, 160)] {
        let ecn = Ecn::Ect1;
        let made = Made { pair: 0, from: End::Server, flow: 0, ecn, payload: 100, number };
        bench.receive(0, End::Server, &made.bytes(), ms(at));
    }
    bench.finish(ms(200));
    let got: Vec<_> = bench.got.iter().map(|got| number(&got.bytes)).collect();
    assert_eq!(got, [1, 3]);
}

/// A pair that sends up: its data meets the stretches of the way up, and answers those of the way down.
#[test]
fn a_stretch_has_the_packets_of_its_direction_whoever_sends_them() {
    let at = Time::ZERO + Duration::from_millis(1);
    let mut scenario = with_further_links(scenario(RATE, Config::default()));
    let on = |name: &str, direction, side| Path { side, ..Path::new(name, direction, vec![0, 1]) };
    scenario.paths = vec![
        on("before", Direction::Down, Side::Before),
        on("behind", Direction::Down, Side::Behind),
        on("up", Direction::Up, Side::Behind),
    ];
    for (pair, from, passed) in [
        (0, End::Server, vec![0, 1]),
        (0, End::Client, vec![2]),
        (1, End::Server, vec![2]),
        (1, End::Client, vec![0, 1]),
    ] {
        let mut bench = Bench::new(&scenario);
        let (flow, ecn) = (2 * pair as u32, Ecn::Ect1);
        let made = Made { pair, from, flow, ecn, payload: 100, number: 7 };
        bench.receive(pair, from, &made.bytes(), at);
        bench.finish(at);
        let paths = bench.log.0.iter().filter_map(|event| match event {
            Event::AtPath(path, source, PathEvent::Arrived, _) => Some((*path, source.index())),
            _ => None,
        });
        let expected: Vec<_> = passed.into_iter().map(|path| (path, pair)).collect();
        assert_eq!(paths.collect::<Vec<_>>(), expected, "{from:?} of pair {pair}");
        let to = if from == End::Server { End::Client } else { End::Server };
        assert_eq!((bench.got.len(), bench.got[0].to), (1, to));
    }
}

#[test]
fn talk_of_the_neighbourhood_goes_nowhere() {
    let mut bench = Bench::new(&scenario(RATE, Config::default()));
    // A router solicitation, from a link-local address to all routers.
    let mut solicitation = Vec::new();
    let source = "fe80::1".parse::<std::net::Ipv6Addr>().unwrap().octets();
    let routers = "ff02::2".parse::<std::net::Ipv6Addr>().unwrap().octets();
    PacketBuilder::ipv6(source, routers, 255)
        .icmpv6_raw(133, 0, [0; 4])
        .write(&mut solicitation, &[])
        .unwrap();
    bench.receive(0, End::Server, &solicitation, Time::from_nanos(1));
    bench.receive(0, End::Client, &solicitation, Time::from_nanos(2));
    bench.finish(Time::from_nanos(3));
    assert!(bench.got.is_empty() && bench.log.0.is_empty());
    assert_eq!(bench.plane.counters(0, End::Server).local, 1);
    assert_eq!(bench.plane.counters(0, End::Client).local, 1);
}

#[test]
fn a_large_segment_weighs_what_its_packets_weigh() {
    let mut scenario = scenario(RATE, Config::default());
    scenario.kernel.gso = true;
    let mut plane = Plane::new(&scenario);
    struct Sizes(Vec<(u64, u64)>);
    impl Observer<Frame> for Sizes {
        fn arrived(&mut self, packet: &Frame, _: Time) {
            self.0.push((packet.ip_length().get(), packet.size().get()));
        }
    }
    let mut sizes = Sizes(Vec::new());
    let made =
        Made { pair: 0, from: End::Server, flow: 0, ecn: Ecn::Ect1, payload: 10_000, number: 0 };
    let packet = made.bytes();
    // VIRTIO_NET_HDR_GSO_TCPV4 with CWR, 1448 B each: 7 segments.
    let mut bytes = vec![0, 0x81, 40, 0, 0, 0, 0, 0, 0, 0];
    bytes[4..6].copy_from_slice(&1448u16.to_ne_bytes());
    bytes.extend_from_slice(&packet);
    let mut buffer = plane.buffer();
    buffer[..bytes.len()].copy_from_slice(&bytes);
    let mut got = Vec::new();
    let length = bytes.len();
    plane.receive(0, End::Server, buffer, length, Time::from_nanos(1), &mut sizes, &mut |d| {
        got = d.bytes.to_vec();
        true
    });
    // 10,000 B of payload and 7 headers of 40 B; 14 B of Ethernet for each on the link.
    assert_eq!(sizes.0, [(10_280, 10_378)]);
    assert_eq!(got, bytes);
}
