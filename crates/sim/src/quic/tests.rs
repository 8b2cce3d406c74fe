//! Connections over a made-up path: loss, probes, marks and acknowledgements.

use std::sync::Arc;

use l4s_cc::{
    Config, Congestion, CongestionControl, Connection, Decision, Marks, Pause, Recovery, WantedEcn,
    Window, cubic, dctcp, foreign, prague, reno,
};
use l4s_units::{Duration, Ecn, Rate, Time};

use super::message::{Acknowledgement, Datagram, Message};
use super::{Client, Output, Sender};
use crate::packet::{Owner, Packet};
use crate::tcp::SenderConfig;
use l4s_model::{FlowId, SourceId};

const MS: Duration = Duration::from_millis(1);
const RTT: Duration = Duration::from_millis(20);
const FULL: u64 = 1448;
const OWNER: Owner = Owner { flow: FlowId::new(0), slot: 0, group: SourceId::new(0) };

fn at(ms: u64) -> Time {
    Time::ZERO + MS * ms
}

fn reno() -> Config {
    Config::Reno(reno::Config::default())
}

/// The outcome of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Arrive,
    Mark,
    /// It arrives with ECT(0).
    Change,
    Lose,
}

#[derive(Default)]
struct Sent {
    datagrams: Vec<(Datagram, bool)>,
    rtts: Vec<Duration>,
}

impl Output for Sent {
    fn send_datagram(&mut self, datagram: Datagram, again: bool) {
        self.datagrams.push((datagram, again));
    }
    fn measured(&mut self, rtt: Duration) {
        self.rtts.push(rtt);
    }
}

/// A connection over a path without queue: packets arrive at once, and answers an RTT later.
struct Path<F> {
    now: Time,
    rtt: Duration,
    sender: Sender,
    client: Client,
    fate: F,
    /// Messages on the way, with their times of arrival.
    answers: std::collections::VecDeque<(Time, Message)>,
    /// Every packet: its time, number, first byte, and whether its data was sent before.
    log: Vec<(Time, u64, u64, bool)>,
    /// Acknowledgements that arrived.
    acks: u32,
    rtts: Vec<Duration>,
}

impl<F: FnMut(&Datagram) -> Fate> Path<F> {
    fn new(cc: Config, ecn: Option<Ecn>, size: u64, counts: bool, fate: F) -> Self {
        Path::with_threshold(1, cc, ecn, size, counts, fate)
    }

    /// A client that leaves up to that many packets without an acknowledgement.
    fn with_threshold(
        threshold: u32,
        cc: Config,
        ecn: Option<Ecn>,
        size: u64,
        counts: bool,
        fate: F,
    ) -> Self {
        let config = SenderConfig {
            cc,
            ecn,
            refuses_rfc3168: false,
            echo: Marks::Counted,
            size: Some(size),
            mss: FULL as u16,
            initial_window: 10,
            rcvbuf: None,
            sndbuf: None,
            seed: 1,
        };
        let mut path = Path {
            now: Time::ZERO,
            rtt: RTT,
            sender: Sender::new(&config, threshold),
            client: Client::new(counts, threshold),
            fate,
            answers: Default::default(),
            log: Vec::new(),
            acks: 0,
            rtts: Vec::new(),
        };
        let initial = path.client.open(path.now);
        path.answers.extend(initial.map(|message| (path.now + RTT, message)));
        path
    }

    /// Reno without ECN, with all data of `packets` packets.
    fn reno(packets: u64, fate: F) -> Self {
        Path::new(reno(), None, packets * FULL, true, fate)
    }

    /// When the next message arrives at the server.
    fn arrival(&self) -> Time {
        self.answers.front().map_or(Time::NEVER, |(time, _)| *time)
    }

    /// When the next event is.
    fn next(&self) -> Time {
        self.arrival().min(self.sender.deadline()).min(self.client.deadline())
    }

    /// The next event; false when there is none.
    fn step(&mut self) -> bool {
        let (arrival, client, next) = (self.arrival(), self.client.deadline(), self.next());
        if next == Time::NEVER {
            return false;
        }
        assert!(next < at(200_000), "no end");
        self.now = next;
        let mut sent = Sent::default();
        if next == arrival {
            let (_, message) = self.answers.pop_front().unwrap();
            self.acks += u32::from(matches!(message, Message::Ack(_)));
            self.sender.on_message(&message, next, &mut sent);
        } else if next == client {
            let message = self.client.on_timer(next);
            self.answers.extend(message.map(|message| (next + self.rtt, message)));
        } else {
            self.sender.on_timer(next, &mut sent);
        }
        self.deliver(sent);
        true
    }

    /// The packets of the server meet their fates.
    fn deliver(&mut self, sent: Sent) {
        let Path { now, rtt, answers, .. } = self;
        self.rtts.extend(sent.rtts);
        for (mut datagram, again) in sent.datagrams {
            if !datagram.handshake {
                self.log.push((*now, datagram.number, datagram.from, again));
            }
            match (self.fate)(&datagram) {
                Fate::Lose => continue,
                Fate::Mark => datagram.ecn = Ecn::Ce,
                Fate::Change => datagram.ecn = Ecn::Ect0,
                Fate::Arrive => {}
            }
            let packet = Packet::quic(OWNER, &datagram);
            self.client
                .on_packet(&packet, *now, |message| answers.push_back((*now + *rtt, message)));
        }
    }

    /// An established connection of an application that has written nothing.
    fn of_application(threshold: u32, cc: Config, fate: F) -> Self {
        let mut path = Path::with_threshold(threshold, cc, None, 1, true, fate);
        path.sender.serve_application();
        while !path.sender.is_established() {
            assert!(path.step());
        }
        path
    }

    /// The application writes full packets after `pause`.
    fn write(&mut self, packets: u64, pause: Duration) {
        let time = self.now + pause;
        while self.next() <= time && self.step() {}
        self.now = time;
        let mut sent = Sent::default();
        self.sender.write(packets * FULL, time, &mut sent);
        self.deliver(sent);
    }

    /// Runs until everything is acknowledged.
    fn run(&mut self) -> &mut Self {
        while self.step() {}
        assert!(self.sender.is_closed() && self.client.is_closed());
        self
    }

    /// When the data from this byte on left, each time.
    fn departures(&self, from: u64) -> Vec<Time> {
        self.log.iter().filter(|sent| sent.2 == from).map(|sent| sent.0).collect()
    }
}

/// Loses the packets with these numbers.
fn losing(numbers: impl IntoIterator<Item = u64>) -> impl FnMut(&Datagram) -> Fate {
    let numbers: Vec<u64> = numbers.into_iter().collect();
    move |sent| {
        if !sent.handshake && numbers.contains(&sent.number) { Fate::Lose } else { Fate::Arrive }
    }
}

#[test]
fn all_data_arrives_whatever_is_lost() {
    for every in [2, 3, 7, 50] {
        let mut count = 0;
        let mut path = Path::reno(200, |_: &Datagram| {
            count += 1;
            if count % every == 0 { Fate::Lose } else { Fate::Arrive }
        });
        path.run();
        assert_eq!(path.client.read(), 200 * FULL);
        let numbers: Vec<u64> = path.log.iter().map(|sent| sent.1).collect();
        assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>(), "none is used twice");
    }
}

/// RFC 9000 §13.2.2: every second packet is acknowledged at once, and a last one after 25 ms. Its RTT is
/// without that delay (RFC 9002 §5.3).
#[test]
fn a_lone_packet_is_acknowledged_late_and_the_delay_is_subtracted() {
    let mut path = Path::reno(1000, losing([]));
    path.sender.serve_application();
    let mut out = Sent::default();
    while path.log.is_empty() {
        if !path.step() {
            panic!("nothing is sent");
        }
        if path.sender.is_established() {
            path.sender.write(3 * FULL, path.now, &mut out);
            break;
        }
    }
    let start = path.now;
    for (datagram, _) in &out.datagrams {
        let packet = Packet::quic(OWNER, datagram);
        let answers = &mut path.answers;
        path.client.on_packet(&packet, start, |message| answers.push_back((start + RTT, message)));
    }
    assert_eq!(path.answers.len(), 1, "for two of three");
    assert_eq!(path.client.deadline(), start + MS * 25);
    while path.step() {}
    assert_eq!(path.rtts, [RTT, RTT]);
}

/// RFC 9002 §6.1.1 and §7.3.2: with three later packets it is lost; the window halves at once, and one packet
/// leaves beyond it.
#[test]
fn a_loss_is_sent_again_at_once_and_halves_the_window() {
    let mut path = Path::reno(60, losing([2]));
    while path.log.iter().all(|sent| !sent.3) {
        assert!(path.step());
    }
    let sent = path.departures(2 * FULL);
    assert_eq!(sent[1].since(sent[0]), RTT, "acknowledgements of 3, 4 and 5 came");
    // It grew by the three packets that arrived before, from ten to 13.
    assert_eq!((path.sender.window().cwnd, path.sender.window().ssthresh), (6, 6));
    path.run();
    assert_eq!(path.sender.window().ssthresh, 6, "one answer");
}

/// RFC 9002 §7.3.2: packets that left before a recovery period began are part of it, also when they are found to be
/// lost after its end.
#[test]
fn a_window_is_halved_once_for_the_packets_that_were_in_flight() {
    let mut path = Path::reno(200, losing([10]));
    while path.log.iter().all(|sent| !sent.3) {
        assert!(path.step());
    }
    let newest = path.log.iter().position(|sent| sent.3).unwrap() as u64 - 1;
    let ssthresh = path.sender.window().ssthresh;
    let mut path = Path::reno(200, losing([10, newest]));
    path.run();
    assert_eq!(path.sender.window().ssthresh, ssthresh);
    assert_eq!(path.log.iter().filter(|sent| sent.3).count(), 2);
}

/// RFC 9002 §6.2.1: nothing arrives after the handshake. Probes are an RTT, four deviations and 25 ms after the
/// last packet, and twice as far apart each time; two packets each. The window stays (§6.2.4).
#[test]
fn probes_are_sent_in_pairs_and_back_off() {
    let mut path =
        Path::reno(10, |sent: &Datagram| if sent.handshake { Fate::Arrive } else { Fate::Lose });
    while path.log.len() < 10 + 6 {
        assert!(path.step());
    }
    let times: Vec<u64> = path.log[9..].iter().map(|sent| sent.0.as_nanos() / 1_000_000).collect();
    let start = times[0];
    // 20 + 4 · 10 + 25 ms.
    let expected = [0, 85, 85, 85 + 170, 85 + 170, 595, 595].map(|after| start + after);
    assert_eq!(times, expected);
    assert_eq!(path.sender.window().cwnd, 10);
    // The two oldest packets: where both are lost, one timeout repairs them.
    let data: Vec<u64> = path.log[10..].iter().map(|sent| sent.2 / FULL).collect();
    assert_eq!(data, [0, 1, 0, 1, 0, 1]);
}

/// RFC 9002 §6.2.4 and §7.5: the window holds ten packets and no more. Probes leave nevertheless, and have new data
/// where there is some.
#[test]
fn a_probe_has_new_data_and_leaves_beyond_the_window() {
    let mut path =
        Path::reno(20, |sent: &Datagram| if sent.handshake { Fate::Arrive } else { Fate::Lose });
    while path.log.len() < 12 {
        assert!(path.step());
    }
    let start = path.log[0].0;
    assert_eq!(path.log[9].0, start);
    let probe = |number| (start + MS * 85, number, number * FULL, false);
    assert_eq!(path.log[10..], [probe(10), probe(11)]);
}

/// RFC 9002 §7.5: nine packets and two probes are more than the window of ten.
#[test]
fn probes_count_as_in_flight() {
    let lose = |sent: &Datagram| if sent.handshake { Fate::Arrive } else { Fate::Lose };
    let mut path = Path::of_application(1, reno(), lose);
    path.write(9, Duration::ZERO);
    path.write(3, MS * 90);
    assert_eq!(path.log.len(), 9 + 2);
}

/// RFC 9002 §6.2.1: the timer starts again with each packet, also where nothing was in flight before.
#[test]
fn a_lost_write_after_a_pause_is_found_by_a_probe() {
    let mut path = Path::of_application(1, reno(), losing([2, 3]));
    path.write(2, Duration::ZERO);
    let start = path.now;
    path.write(1, MS * 500);
    path.write(1, MS * 50);
    while path.step() {}
    // Two samples of 20 ms: 20 + 4 · 7.5 + 25 ms after the second of the lost packets.
    let times = path.log[2..].iter().map(|sent| sent.0.since(start)).collect::<Vec<_>>();
    assert_eq!(times[..4], [MS * 500, MS * 550, MS * 625, MS * 625]);
    assert_eq!(path.client.read(), 4 * FULL);
}

/// RFC 9002 §6.1.2: a later packet was acknowledged, and 9/8 of the RTT are over. No probe is sent.
#[test]
fn the_last_packet_but_one_is_lost_in_time() {
    let mut path = Path::reno(10, losing([8]));
    path.run();
    let sent = path.departures(8 * FULL);
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[1].since(sent[0]), Duration::from_micros(22_500));
    assert_eq!(path.log.len(), 10 + 1);
}

/// RFC 9002 §5.2: the way became longer in an outage.
#[test]
fn persistent_congestion_takes_a_new_lowest_round_trip_time() {
    let mut path = Path::reno(40, losing(0..16));
    while path.log.len() < 16 {
        assert!(path.step());
    }
    assert_eq!(path.sender.rtt.min(), RTT);
    path.rtt = RTT * 3;
    while path.rtts.is_empty() {
        assert!(path.step());
    }
    assert_eq!(path.sender.rtt.min(), RTT * 3);
}

/// RFC 9002 §7.6: all packets of more than three probe timeouts are lost, and then one arrives.
#[test]
fn persistent_congestion_leaves_two_packets() {
    let mut path = Path::reno(40, losing(0..16));
    while path.rtts.is_empty() {
        assert!(path.step());
    }
    // From packet 0 to 15 it is 595 ms: more than 3 · (20 + 4 · 7.5 + 25) ms. Half of ten is the threshold, and
    // one packet arrived since.
    let window = path.sender.window();
    assert_eq!((window.cwnd, window.ssthresh), (2 + 1, 5));
    path.run();
    // A probe timeout is 85 ms.
    let mut path = Path::reno(40, losing(0..12));
    while path.rtts.is_empty() {
        assert!(path.step());
    }
    let window = path.sender.window();
    assert_eq!((window.cwnd, window.ssthresh), (5, 5));
    path.run();
}

/// RFC 9002 §7.7: packets leave at 1.25 windows per RTT, and ten at most leave together. A rate that grows within
/// a burst allows one more.
#[test]
fn bursts_are_no_longer_than_the_initial_window() {
    let mut path = Path::reno(3000, losing([]));
    path.run();
    let mut burst = 0;
    let mut longest = 0;
    for pair in path.log.windows(2) {
        burst = if pair[1].0 == pair[0].0 { burst + 1 } else { 0 };
        longest = longest.max(burst + 1);
    }
    assert!((10..=11).contains(&longest), "{longest}");
}

/// A window of 1000 packets, and a packet per millisecond.
#[derive(Debug)]
struct Metronome;

impl Metronome {
    fn decision() -> Decision {
        let pacing = Some(Rate::from_bps(FULL * 8 * 1000));
        Decision { window: Window::new(1000), pacing, quantum: 1 }
    }
}

impl CongestionControl for Metronome {
    fn on_ack(&mut self, _: &l4s_cc::Ack) -> Decision {
        Metronome::decision()
    }
    fn on_congestion(&mut self, _: Congestion, _: bool, _: &l4s_cc::Ack) -> Decision {
        Metronome::decision()
    }
    fn on_recovered(&mut self, _: Recovery) -> Decision {
        Metronome::decision()
    }
    fn on_restart(&mut self, _: Pause) -> Decision {
        Metronome::decision()
    }
}

/// RFC 9002 §7.7: a rate is of the same bytes as the window, those in flight, which are without IP and UDP headers (§2). Here
/// both are payload.
#[test]
fn the_pace_counts_the_bytes_that_the_window_counts() {
    let metronome = Config::Foreign(foreign::Config {
        name: "metronome".into(),
        wants: WantedEcn::Off,
        make: Arc::new(|_: &Connection| Box::new(Metronome)),
    });
    let mut path = Path::new(metronome, None, 200 * FULL, true, losing([]));
    path.run();
    let paced: Vec<Time> = path.log.iter().skip(10).map(|sent| sent.0).collect();
    assert_eq!(paced.len(), 190);
    assert!(paced.windows(2).all(|pair| pair[1] == pair[0] + MS), "{paced:?}");
}

/// RFC 9002 §7.8: four packets at a time use no window of ten.
#[test]
fn a_window_that_an_application_does_not_use_stays() {
    for cc in [reno(), Config::Cubic(cubic::Config::default())] {
        let mut path = Path::of_application(1, cc, losing([]));
        for _ in 0..20 {
            path.write(4, MS * 100);
        }
        assert_eq!(path.sender.window().cwnd, 10);
    }
}

/// RFC 9002 §7.8: the pace holds packets back, and not the application. In slow start each acknowledgement of two
/// packets adds two.
#[test]
fn a_window_that_is_paced_grows() {
    let mut path = Path::reno(3000, losing([]));
    while path.log.len() < 1500 {
        assert!(path.step());
    }
    assert_eq!(path.sender.window().cwnd, 10 + 2 * path.acks);
}

fn marking(every: u64) -> impl FnMut(&Datagram) -> Fate {
    move |sent| {
        let marks = !sent.handshake && sent.ecn != Ecn::NotEct && sent.number % every == every - 1;
        if marks { Fate::Mark } else { Fate::Arrive }
    }
}

/// RFC 9002 §7.1: a mark is congestion, once per recovery period; nothing is sent again.
#[test]
fn marks_reduce_every_control_and_nothing_is_sent_again() {
    for (cc, ecn) in [
        (reno(), Ecn::Ect0),
        (Config::Cubic(cubic::Config::default()), Ecn::Ect0),
        (Config::Dctcp(dctcp::Config::default()), Ecn::Ect0),
        (Config::Prague(prague::Config::default()), Ecn::Ect1),
    ] {
        let mut path = Path::new(cc.clone(), Some(ecn), 3000 * FULL, true, marking(20));
        path.run();
        let cwnd = path.sender.window().cwnd;
        assert!((2..80).contains(&cwnd), "{}: {cwnd}", cc.kind());
        assert!(path.log.iter().all(|sent| !sent.3), "{}", cc.kind());
    }
}

/// RFC 9000 §13.4.2: a client that counts nothing gets packets without ECN, and a control that needs it goes on
/// as Reno.
#[test]
fn ecn_ends_where_the_client_reports_none() {
    let prague = Config::Prague(prague::Config::default());
    let mut path = Path::new(prague, Some(Ecn::Ect1), 300 * FULL, false, losing([100]));
    assert_eq!(path.sender.codepoint_of_client(), Ecn::Ect1);
    path.run();
    assert_eq!(path.sender.codepoint_of_client(), Ecn::NotEct);
    assert_eq!(path.client.read(), 300 * FULL);
    assert_eq!(path.sender.alpha(), None);
}

/// The same where the path changes the codepoint: the first two packets are marked, which begins a recovery period, and
/// all later ones arrive with ECT(0). The end of that period says nothing about the window of another control. The way
/// up is another one.
#[test]
fn ecn_that_ends_in_a_recovery_period_leaves_the_window() {
    let prague = Config::Prague(prague::Config::default());
    let mut path = Path::new(prague, Some(Ecn::Ect1), 1000 * FULL, true, |sent: &Datagram| {
        match sent.number {
            _ if sent.handshake => Fate::Arrive,
            0 | 1 => Fate::Mark,
            _ => Fate::Change,
        }
    });
    let mut widest = 0;
    while path.step() {
        widest = widest.max(path.sender.window().cwnd);
    }
    assert_eq!((path.client.read(), path.sender.alpha()), (1000 * FULL, None));
    // Congestion avoidance goes on.
    assert!((11..60).contains(&widest), "{widest}");
    assert_eq!(path.sender.codepoint_of_client(), Ecn::Ect1);
}

/// A full packet of data.
fn datagram(number: u64, ecn: Ecn) -> Datagram {
    let (handshake, fin, immediate_ack) = (false, false, false);
    let (from, payload) = (number * FULL, FULL as u16);
    Datagram { number, handshake, from, payload, ecn, fin, immediate_ack }
}

/// The ranges with which a client answers a packet.
fn answer(client: &mut Client, datagram: Datagram) -> Option<Vec<(u64, u64)>> {
    let mut acks: Vec<Acknowledgement> = Vec::new();
    client.on_packet(&Packet::quic(OWNER, &datagram), at(datagram.number), |message| {
        if let Message::Ack(ack) = message {
            acks.push(ack);
        }
    });
    acks.first().map(|ack| ack.ranges().collect())
}

/// RFC 9000 §13.2.1: packets out of order and marked ones are acknowledged at once.
#[test]
fn what_shows_loss_or_congestion_is_acknowledged_at_once() {
    let mut client = Client::new(true, 1);
    let mut largest = |number, ecn| answer(&mut client, datagram(number, ecn));
    assert_eq!(largest(0, Ecn::Ect1), None);
    assert_eq!(largest(1, Ecn::Ect1), Some(vec![(0, 2)]));
    assert_eq!(largest(2, Ecn::Ce), Some(vec![(0, 3)]));
    assert_eq!(largest(4, Ecn::Ect1), Some(vec![(4, 5), (0, 3)]));
    assert_eq!(largest(3, Ecn::Ect1), Some(vec![(0, 5)]));
    assert_eq!(largest(3, Ecn::Ect1), None, "once more");
}

/// draft-ietf-quic-ack-frequency §6: an acknowledgement for ten packets, at once for the first of several marks, out of
/// order, and on request.
#[test]
fn a_threshold_delays_acknowledgements_but_not_the_first_sign_of_congestion() {
    let mut client = Client::new(true, 9);
    let mut answers = |number, ecn| answer(&mut client, datagram(number, ecn)).is_some();
    let ten: Vec<bool> = (0..10).map(|number| answers(number, Ecn::Ect1)).collect();
    assert_eq!(ten, [[false; 9].as_slice(), &[true]].concat());
    assert!(answers(10, Ecn::Ce) && !answers(11, Ecn::Ce) && !answers(12, Ecn::Ect1));
    assert!(answers(13, Ecn::Ce), "a mark behind packets without one");
    assert!(answers(15, Ecn::Ect1), "one is missing");
    assert!(!answers(16, Ecn::Ect1));
    let asks = Datagram { immediate_ack: true, ..datagram(17, Ecn::Ect1) };
    assert!(answer(&mut client, asks).is_some());
    let mut every = Client::new(true, 0);
    assert!((0..3).all(|number| answer(&mut every, datagram(number, Ecn::Ect1)).is_some()));
}

/// Windows below the threshold are not held up by the delay of acknowledgements: a transfer of few packets takes as long as
/// with the default, and one acknowledgement is for each window.
#[test]
fn a_window_below_the_threshold_asks_for_its_acknowledgement() {
    let transfer = |threshold| {
        let all = |_: &Datagram| Fate::Arrive;
        let mut path = Path::with_threshold(threshold, reno(), None, 60 * FULL, true, all);
        path.run();
        (path.now, path.acks)
    };
    let ((default, acks), (rare, few)) = (transfer(1), transfer(99));
    assert!(rare <= default + MS * 25, "{rare} and {default}");
    assert!(acks >= 30 && few <= 8, "{few} and {acks}");
}

/// draft-ietf-quic-ack-frequency §7: both probes ask for their acknowledgement. The last of three packets ends the
/// stream, and needs not.
#[test]
fn probes_ask_for_their_acknowledgement() {
    let asks = std::cell::RefCell::new(Vec::new());
    let lose = |sent: &Datagram| {
        asks.borrow_mut().extend((!sent.handshake).then_some(sent.immediate_ack));
        if sent.handshake || sent.number > 2 { Fate::Arrive } else { Fate::Lose }
    };
    Path::with_threshold(99, reno(), None, 3 * FULL, true, lose).run();
    assert_eq!(asks.borrow()[..5], [false, false, false, true, true]);
}

/// draft-ietf-quic-ack-frequency §8.1: the acknowledgement of the first packet is delayed. The next one leaves more than
/// a round trip after that, and the third does not.
#[test]
fn a_packet_after_a_round_trip_without_acknowledgement_asks_for_one() {
    let asks = std::cell::RefCell::new(Vec::new());
    let mut path = Path::of_application(99, reno(), |sent: &Datagram| {
        asks.borrow_mut().extend((!sent.handshake).then_some(sent.immediate_ack));
        Fate::Arrive
    });
    path.write(1, Duration::ZERO);
    path.write(1, MS * 200);
    path.write(1, MS * 10);
    assert_eq!(asks.borrow()[..], [false, true, false]);
}

/// RFC 9002 §6.2.3: its answer was lost, or late.
#[test]
fn a_copy_of_the_first_packet_is_answered_at_once() {
    let mut path = Path::reno(10, losing([]));
    path.answers.push_back((at(30), Message::Initial { number: 0 }));
    let mut handshakes = Vec::new();
    while !path.sender.is_established() {
        let mut sent = Sent::default();
        let (time, message) = path.answers.pop_front().unwrap();
        path.sender.on_message(&message, time, &mut sent);
        handshakes.extend(sent.datagrams.iter().filter(|sent| sent.0.handshake).map(|_| time));
        path.now = time;
        path.deliver(sent);
    }
    assert_eq!(handshakes, [at(20), at(30)]);
}

/// RFC 9002 §6.2.2.1: datagrams of 1200 B of UDP payload open a connection. The first timeout is 999 ms, and each later
/// one twice as long.
#[test]
fn a_client_tries_for_a_minute_to_open_a_connection() {
    let mut client = Client::new(true, 1);
    let mut due = Vec::new();
    let mut message = client.open(Time::ZERO);
    while let Some(initial) = message {
        assert_eq!(initial.ip_length(0), 20 + 8 + 1200);
        due.push(client.deadline());
        message = client.on_timer(client.deadline());
    }
    assert_eq!(due, [1, 3, 7, 15, 31, 63].map(|n| at(999 * n)));
    assert!(client.is_closed());
}

/// RFC 9002 §6.2.2.1: a request without an answer is sent again, after 20 + 4 · 10 ms the first time and twice as long each
/// later time, for a minute.
#[test]
fn a_client_repeats_its_request_until_the_server_has_it() {
    let mut path = Path::reno(10, losing([]));
    let mut asked = Vec::new();
    // The first four are lost.
    while asked.len() < 4 {
        assert!(path.step());
        if let Some((_, Message::Request { .. })) = path.answers.back() {
            path.answers.pop_back();
            asked.push(path.now);
        }
    }
    assert_eq!(asked, [20, 80, 200, 440].map(at));
    path.run();
    // The fifth one left at 920 ms.
    assert_eq!(path.log[0].0, at(940));

    let mut client = Client::new(true, 1);
    client.open(Time::ZERO);
    let answer = handshake();
    let mut requests = 0;
    client.on_packet(&Packet::quic(OWNER, &answer), at(20), |_| requests += 1);
    while let Some(message) = client.on_timer(client.deadline()) {
        assert!(matches!(message, Message::Request { .. }));
        requests += 1;
    }
    assert_eq!((requests, client.is_closed()), (10, true));
    assert_eq!(client.deadline(), Time::NEVER);
}

/// RFC 9000 §10.1: no sooner than after three probe timeouts, also where one of them is 33 s.
#[test]
fn a_client_of_a_long_path_waits_for_its_answer() {
    let mut client = Client::new(true, 1);
    client.open(Time::ZERO);
    let mut requests = 0;
    client.on_packet(&Packet::quic(OWNER, &handshake()), at(11_000), |_| requests += 1);
    let mut due = Vec::new();
    while !client.is_closed() {
        due.push(client.deadline());
        requests += u32::from(client.on_timer(client.deadline()).is_some());
    }
    assert_eq!((requests, due), (2, vec![at(44_000), at(110_000)]));
}

/// The server's answer to a client that began at time zero.
fn handshake() -> Datagram {
    let (number, from, payload, ecn) = (10_000_000, 0, 0, Ecn::NotEct);
    Datagram { number, handshake: true, from, payload, ecn, fin: false, immediate_ack: false }
}

/// RFC 9001 §4.1.2: a server that has nothing to send says that the handshake is over, and again if a client asks again.
#[test]
fn a_client_of_a_silent_server_does_not_ask_for_ever() {
    for lost in 0..3 {
        let mut ends = 0;
        let mut path = Path::of_application(1, reno(), |sent: &Datagram| {
            ends += u32::from(sent.handshake && sent.fin);
            if sent.handshake && sent.fin && ends <= lost { Fate::Lose } else { Fate::Arrive }
        });
        while path.step() {}
        assert_eq!(path.client.deadline(), Time::NEVER);
        assert!(!path.client.is_closed());
        drop(path);
        assert_eq!(ends, lost + 1);
    }
}

/// RFC 9000 §8.1 and RFC 9002 §6.2.2.1: to an address that it does not know a server sends three times as much as it
/// got, and has no timer for more.
#[test]
fn an_address_that_is_not_known_gets_three_packets_for_one() {
    let mut path = Path::reno(10, losing([]));
    let mut sent = Sent::default();
    path.sender.on_message(&Message::Initial { number: 0 }, Time::ZERO, &mut sent);
    let mut times = vec![];
    while path.sender.deadline() != Time::NEVER {
        times.push(path.sender.deadline());
        path.sender.on_timer(path.sender.deadline(), &mut sent);
    }
    assert_eq!(times, [999, 2997].map(at));
    assert_eq!(sent.datagrams.len(), 3);
    path.sender.on_message(&Message::Initial { number: 1 }, at(5000), &mut sent);
    assert_eq!(sent.datagrams.len(), 4);
    assert_ne!(path.sender.deadline(), Time::NEVER);
}

/// RFC 9002 §7.2: ten packets of 1472 B of UDP payload, and two of 8972 B.
#[test]
fn the_initial_window_is_fourteen_kibibytes() {
    let window = |mss, initial_window| {
        let config = SenderConfig {
            cc: reno(),
            ecn: None,
            refuses_rfc3168: false,
            echo: Marks::Counted,
            size: None,
            mss,
            initial_window,
            rcvbuf: None,
            sndbuf: None,
            seed: 1,
        };
        Sender::new(&config, 1).window().cwnd
    };
    assert_eq!(
        [(1448, 10), (1200, 10), (8948, 10), (8948, 32)].map(|(m, w)| window(m, w)),
        [10, 10, 2, 32]
    );
}
