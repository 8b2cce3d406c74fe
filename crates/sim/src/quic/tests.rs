//! Connections over a made-up path: loss, probes, marks and acknowledgements.

use l4s_cc::{Config, Marks, cubic, dctcp, prague, reno};
use l4s_units::{Duration, Ecn, Time};

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

/// The outcome of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Arrive,
    Mark,
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
        Path::new(Config::Reno(reno::Config::default()), None, packets * FULL, true, fate)
    }

    /// The next event; false when there is none.
    fn step(&mut self) -> bool {
        let arrival = self.answers.front().map_or(Time::NEVER, |(time, _)| *time);
        let (server, client) = (self.sender.deadline(), self.client.deadline());
        let next = arrival.min(server).min(client);
        if next == Time::NEVER {
            return false;
        }
        self.now = next;
        let mut sent = Sent::default();
        if next == arrival {
            let (_, message) = self.answers.pop_front().unwrap();
            self.acks += u32::from(matches!(message, Message::Ack(_)));
            self.sender.on_message(&message, next, &mut sent);
        } else if next == client {
            let message = self.client.on_timer(next);
            self.answers.extend(message.map(|message| (next + RTT, message)));
        } else {
            self.sender.on_timer(next, &mut sent);
        }
        self.rtts.extend(sent.rtts);
        for (mut datagram, again) in sent.datagrams {
            if !datagram.handshake {
                self.log.push((next, datagram.number, datagram.from, again));
            }
            match (self.fate)(&datagram) {
                Fate::Lose => continue,
                Fate::Mark => datagram.ecn = Ecn::Ce,
                Fate::Arrive => {}
            }
            let packet = Packet::quic(OWNER, &datagram);
            let answers = &mut self.answers;
            self.client
                .on_packet(&packet, next, |message| answers.push_back((next + RTT, message)));
        }
        true
    }

    /// Runs until everything is acknowledged.
    fn run(&mut self) -> &mut Self {
        while self.step() {
            assert!(self.now < at(200_000), "no end");
        }
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
        (Config::Reno(reno::Config::default()), Ecn::Ect0),
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
    assert_eq!(path.sender.codepoint(), Ecn::Ect1);
    path.run();
    assert_eq!(path.sender.codepoint(), Ecn::NotEct);
    assert_eq!(path.client.read(), 300 * FULL);
    assert_eq!(path.sender.alpha(), None);
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
        let reno = Config::Reno(reno::Config::default());
        let all = |_: &Datagram| Fate::Arrive;
        let mut path = Path::with_threshold(threshold, reno, None, 60 * FULL, true, all);
        path.run();
        (path.now, path.acks)
    };
    let ((default, acks), (rare, few)) = (transfer(1), transfer(99));
    assert!(rare <= default + MS * 25, "{rare} and {default}");
    assert!(acks >= 30 && few <= 8, "{few} and {acks}");
}

/// RFC 9002 §7.2: ten packets of 1472 B of UDP payload, and two of 8972 B.
#[test]
fn the_initial_window_is_fourteen_kibibytes() {
    let window = |mss, initial_window| {
        let config = SenderConfig {
            cc: Config::Reno(reno::Config::default()),
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
