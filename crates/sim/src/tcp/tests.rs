//! Connections over a made-up path: the laws of congestion control, and recovery from loss.

mod feedback;
mod handshake;
mod late;
mod receiving;
mod scripts;
mod tracers;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use l4s_bottleneck::stream;
use l4s_cc::{Config, Marks, cubic, dctcp, prague, reno};
use l4s_model::Feedback;
use l4s_observe::EcnFlags;
use l4s_units::{Duration, Ecn, Time};
use rand_core::Rng;

use super::handshake::{Mode, reflect};
use super::{Arrived, Output, Receiver, Sender, SenderConfig, State};
use crate::message::{Ack, Request, Syn};
use crate::packet::{MSS, Segment, Stamp, Stamps, SynAck};

const MS: Duration = Duration::from_millis(1);
const RTT: Duration = Duration::from_millis(20);
/// Segments at the start of a connection that are acknowledged one by one: 8 with which the window
/// grows, and 16 more.
const ONE_BY_ONE: u64 = 24;
/// Payload of a full segment.
const FULL: u16 = MSS as u16;
/// Segments follow each other on the path, so that no two share an instant.
const SPACING: Duration = Duration::from_nanos(500);

/// The outcome of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Arrive,
    Mark,
    Lose,
    Late(Duration),
    /// It arrives twice.
    Twice,
    /// It arrives at this time, unless it would later.
    Held(Time),
}

/// One event on the path; the order among equals is that of sending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Event {
    Data(Segment),
    Ack(Ack),
}

/// The segments that the sender hands down.
#[derive(Default)]
struct Sent(Vec<(Segment, bool)>);

impl Output for Sent {
    fn send(&mut self, segment: Segment, retransmission: bool) {
        self.0.push((segment, retransmission));
    }
    fn send_syn_ack(&mut self, _: SynAck) {}
    fn round_trip(&mut self, _: Duration) {}
}

/// A connection over a path without queue.
struct Path<F> {
    now: Time,
    sender: Sender,
    receiver: Receiver,
    fate: F,
    ack_lost: fn(u64) -> bool,
    events: BinaryHeap<Reverse<(Time, u64)>>,
    store: std::collections::HashMap<u64, Event>,
    count: u64,
    acks: u64,
    free_at: Time,
    /// Every transmission: its time, the number of full segments before it, whether it was a retransmission.
    log: Vec<(Time, u64, bool)>,
    /// Integral of the window over time, in segment·nanoseconds.
    window: f64,
}

impl<F: FnMut(&Segment, bool) -> Fate> Path<F> {
    fn new(cc: Config, ecn: bool, size: Option<u64>, fate: F) -> Self {
        Path::with(cc, ecn, size, fate, |_| {})
    }

    /// As [`Path::new`], with preparation of the sender.
    fn with(
        cc: Config,
        ecn: bool,
        size: Option<u64>,
        fate: F,
        prepare: impl FnOnce(&mut Sender),
    ) -> Self {
        let (codepoint, echo) = match cc {
            _ if !ecn => (None, Feedback::None),
            Config::Dctcp(_) => (Some(Ecn::Ect0), Feedback::Dctcp),
            Config::Prague(_) => (Some(Ecn::Ect1), Feedback::Accurate { option: true }),
            _ => (Some(Ecn::Ect0), Feedback::Classic),
        };
        Path::with_client(cc, codepoint, echo, size, fate, prepare)
    }

    /// A server that sends this codepoint if it may, and a client that reports marks in this way.
    fn with_client(
        cc: Config,
        ecn: Option<Ecn>,
        echo: Feedback,
        size: Option<u64>,
        fate: F,
        prepare: impl FnOnce(&mut Sender),
    ) -> Self {
        let marks = if echo == Feedback::Dctcp { Marks::Counted } else { Marks::Latched };
        let config = SenderConfig {
            cc,
            ecn,
            refuses_rfc3168: false,
            echo: marks,
            size,
            mss: FULL,
            initial_window: 10,
            rcvbuf: None,
            sndbuf: None,
            seed: 1,
        };
        let codepoint = ecn.unwrap_or_default();
        let mut path = Path {
            now: Time::ZERO,
            sender: Sender::new(&config),
            receiver: Receiver::new(echo, RTT, FULL, None),
            fate,
            ack_lost: |_| false,
            events: BinaryHeap::new(),
            store: Default::default(),
            count: 0,
            acks: 0,
            free_at: Time::ZERO,
            log: Vec::new(),
            window: 0.0,
        };
        let mut sent = Sent::default();
        prepare(&mut path.sender);
        let syn_ack = Stamp::at(path.now);
        let flags = Mode::offered(echo).syn();
        path.sender.on_syn(&Syn { ecn: codepoint, flags, sent: syn_ack }, path.now, &mut sent);
        path.now += RTT;
        let stamps = Stamps { sent: Stamp::at(path.now), echo: syn_ack };
        let request = Request { flags: reflect(codepoint), option: true, stamps };
        path.sender.on_request(&request, path.now, &mut sent);
        path.pass_on(sent);
        path
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.store.insert(self.count, event);
        self.events.push(Reverse((at, self.count)));
        self.count += 1;
    }

    fn pass_on(&mut self, sent: Sent) {
        for (segment, again) in sent.0 {
            self.log.push((self.now, segment.number(), again));
            self.free_at = self.free_at.max(self.now) + SPACING;
            let at = self.free_at + RTT / 2;
            let mut segment = segment;
            match (self.fate)(&segment, again) {
                Fate::Arrive => self.schedule(at, Event::Data(segment)),
                Fate::Late(by) => self.schedule(at + by, Event::Data(segment)),
                Fate::Twice => (0..2).for_each(|_| self.schedule(at, Event::Data(segment))),
                Fate::Held(until) => self.schedule(at.max(until), Event::Data(segment)),
                Fate::Mark if segment.ecn.is_capable() => {
                    segment.ecn = Ecn::Ce;
                    self.schedule(at, Event::Data(segment));
                }
                Fate::Mark | Fate::Lose => {}
            }
        }
    }

    fn return_acks(&mut self, acks: Vec<Ack>) {
        for ack in acks {
            self.acks += 1;
            if !(self.ack_lost)(self.acks) {
                self.schedule(self.now + RTT / 2, Event::Ack(ack));
            }
        }
    }

    /// Runs until `end` or until the sender has everything acknowledged.
    fn run(&mut self, end: Time) -> &mut Self {
        while self.sender.state() != State::Closed {
            let event = self.events.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
            let next = event.min(self.sender.deadline()).min(self.receiver.deadline());
            if next > end {
                break;
            }
            self.window +=
                f64::from(self.sender.window().cwnd) * next.since(self.now).as_nanos() as f64;
            self.now = next;
            let (mut sent, mut acks) = (Sent::default(), Vec::new());
            if event <= next {
                let Reverse((_, id)) = self.events.pop().unwrap();
                match self.store.remove(&id).unwrap() {
                    Event::Data(s) => {
                        let arrived = Arrived {
                            seq: s.seq,
                            ecn: s.ecn,
                            payload: s.payload,
                            options: s.accecn.option_length(),
                            cwr: s.cwr,
                            push: s.push,
                            stamps: s.stamps,
                        };
                        self.receiver.on_segment(arrived, next, |ack| acks.push(ack));
                    }
                    Event::Ack(ack) => self.sender.on_ack(&ack, next, &mut sent),
                }
            } else if self.receiver.deadline() <= next {
                acks.extend(self.receiver.on_timer(next));
            } else {
                self.sender.on_timer(next, &mut sent);
            }
            self.return_acks(acks);
            self.pass_on(sent);
        }
        self
    }

    /// Mean window from now until `span` later.
    fn mean_window(&mut self, span: Duration) -> f64 {
        let (from, before) = (self.now, self.window);
        self.run(from + span);
        (self.window - before) / self.now.since(from).as_nanos() as f64
    }

    fn retransmissions(&self) -> Vec<u64> {
        self.log.iter().filter(|(_, _, again)| *again).map(|(_, seq, _)| *seq).collect()
    }
}

/// A full segment behind `before` others.
fn full(before: u64, ecn: Ecn) -> Arrived {
    Arrived::after(before, FULL, ecn)
}

fn at(duration: Duration) -> Time {
    Time::ZERO + duration
}

/// A connection whose packets all arrive, except those with another `fate`.
fn transfer(
    segments: u64,
    fate: impl FnMut(&Segment, bool) -> Fate,
) -> Path<impl FnMut(&Segment, bool) -> Fate> {
    Path::new(Config::Reno(reno::Config::default()), false, Some(segments * MSS), fate)
}

/// Loses the first transmission of these segments.
fn lose_first(lost: &[u64]) -> impl FnMut(&Segment, bool) -> Fate {
    move |s, again| if !again && lost.contains(&s.number()) { Fate::Lose } else { Fate::Arrive }
}

// --- Laws --------------------------------------------------------------------------------------

/// The mean window under random marking with probability `p`.
fn window_under_marking(cc: Config, p: f64) -> f64 {
    let mut rng = stream(7, "marks");
    let threshold = (p * f64::from(u32::MAX)) as u32;
    let mut path = Path::new(cc, true, None, move |_, _| {
        if rng.next_u32() < threshold { Fate::Mark } else { Fate::Arrive }
    });
    path.run(at(Duration::from_secs(60)));
    // At the rarest marking that is some 200 of them.
    path.mean_window(Duration::from_secs(240))
}

/// Asserts `window / law` at each probability.
fn assert_law(cc: fn() -> Config, law: fn(f64) -> f64, ps: &[(f64, f64)]) {
    for &(p, tolerance) in ps {
        let (window, law) = (window_under_marking(cc(), p), law(p));
        let error = window / law - 1.0;
        assert!(
            error.abs() <= tolerance,
            "p = {p}: window {window:.2}, law {law:.2}: {:+.0} %",
            error * 100.0
        );
    }
}

/// DCttH §3.2 equation (1): W = √(3 / 2p). At large p the window's floor of 2 and the one
/// reduction per round trip keep it above.
#[test]
fn reno_follows_the_square_root_law() {
    let cc = || Config::Reno(reno::Config::default());
    assert_law(cc, |p| (1.5 / p).sqrt(), &[(1e-4, 0.12), (1e-3, 0.12), (1e-2, 0.12), (0.1, 0.25)]);
    let window = window_under_marking(cc(), 0.3);
    assert!((2.0..3.2).contains(&window), "p = 0.3: {window}");
}

/// RFC 9438 §4.3: in its Reno-friendly region Cubic grows by 3·(1 − β)/(1 + β) = 0.53 per round
/// trip and so has Reno's window, √(3 / 2p). (The papers' 1.68 / √p: crates/cc/tests/laws.rs.)
#[test]
fn cubic_follows_reno_in_its_reno_friendly_region() {
    let cc = || Config::Cubic(cubic::Config::default());
    assert_law(cc, |p| (1.5 / p).sqrt(), &[(1e-3, 0.12), (1e-2, 0.15), (0.1, 0.25)]);
    // Rarer marks leave the cubic function in charge, which is faster.
    assert!(window_under_marking(cc(), 1e-4) > 122.0);
}

/// DCttH §3.2 equation (1): W = 2 / p under probabilistic marking.
#[test]
fn dctcp_follows_the_linear_law() {
    let cc = || Config::Dctcp(dctcp::Config::rfc8257());
    assert_law(cc, |p| 2.0 / p, &[(1e-3, 0.3), (1e-2, 0.3), (0.1, 0.3)]);
    let window = window_under_marking(cc(), 0.3);
    assert!((2.0 / 0.3 * 0.6..2.0 / 0.3 * 1.4).contains(&window), "p = 0.3: {window}");
}

/// Under random marking W = m/p with m/2 = (1 + 1/m)·(1 − p): a reduction waits for the next mark
/// (crates/cc/tests/prague.rs).
#[test]
fn prague_follows_its_linear_law() {
    let off = prague::RttIndependence::Off;
    let cc = || Config::Prague(prague::Config { rtt_independence: off, ..Default::default() });
    let law = |p: f64| (1.0 - p + ((1.0 - p).powi(2) + 2.0 * (1.0 - p)).sqrt()) / p;
    for p in [0.01, 0.03, 0.1] {
        let (window, law) = (window_under_marking(cc(), p), law(p));
        let error = window / law - 1.0;
        println!("p = {p}: window {window:.2}, law {law:.2}: {:+.1} %", error * 100.0);
        assert!(error.abs() < 0.1, "p = {p}: window {window:.2}, law {law:.2}");
    }
}

#[test]
fn abe_keeps_a_larger_window_than_a_halving() {
    let abe = Config::Reno(reno::Config { abe: true, ..Default::default() });
    let plain = Config::Reno(reno::Config::default());
    // RFC 8511: 0.8 instead of 0.5 gives √((1 + 0.8)/2 / (1 − 0.8)) / √(0.75/0.5) = 1.73 as much.
    let ratio = window_under_marking(abe, 1e-3) / window_under_marking(plain, 1e-3);
    assert!((1.5..2.0).contains(&ratio), "{ratio}");
}

#[test]
fn pacing_spreads_the_window_over_the_round_trip() {
    // The longest time between transmissions in a round trip with a window of some hundred.
    let longest = |pacing| {
        let cc = Config::Cubic(cubic::Config { pacing, hystart: false, ..Default::default() });
        let mut path = Path::new(cc, false, None, |_, _| Fate::Arrive);
        path.run(at(RTT * 6));
        let sent: Vec<Time> = path.log.iter().map(|e| e.0).filter(|t| *t > at(RTT * 4)).collect();
        sent.windows(2).map(|w| w[1].since(w[0])).max().unwrap()
    };
    assert!(longest(false) > RTT / 2, "one burst per round trip: {}", longest(false));
    // Early in slow start a window takes half a round trip, and the next one doubles.
    assert!(longest(true) < RTT / 2, "paced: {}", longest(true));
}

#[test]
fn the_first_window_leaves_at_once_or_at_the_rate_that_is_asked_for() {
    let gaps = |config| {
        let mut path = Path::new(Config::Prague(config), true, None, |_, _| Fate::Arrive);
        path.run(at(RTT * 3 / 2));
        let sent: Vec<Time> = path.log.iter().map(|e| e.0).collect();
        assert_eq!(sent.len(), 10);
        sent.windows(2).map(|w| w[1].since(w[0])).collect::<Vec<_>>()
    };
    assert_eq!(gaps(prague::Config::best()), [Duration::ZERO; 9]);
    // Ten packets in a hundredth of the RTT; half of the second one's interval is credit.
    let gaps = gaps(prague::Config::quick_start());
    assert!(gaps[0] <= RTT / 1900, "{}", gaps[0]);
    for gap in &gaps[1..] {
        assert!(*gap > RTT / 1100 && *gap <= RTT / 999, "{gap}");
    }
}

// --- Recovery ----------------------------------------------------------------------------------

#[test]
fn a_clean_transfer_takes_slow_start_and_no_more() {
    let mut path = transfer(30, |_, _| Fate::Arrive);
    path.run(at(Duration::from_secs(10)));
    // Handshake, 10 + 20 segments: three round trips, and the bursts' own length.
    assert!(path.now < at(RTT * 3 + MS), "{}", path.now);
    assert_eq!(path.log.len(), 30);
}

#[test]
fn a_lost_segment_is_sent_again_once_and_without_a_timeout() {
    let mut path = transfer(100, lose_first(&[20]));
    path.run(at(Duration::from_secs(10)));
    assert_eq!(path.sender.state(), State::Closed);
    assert_eq!(path.retransmissions(), [20]);
    assert!(path.now < at(RTT * 8), "{}", path.now);
}

#[test]
fn many_losses_in_one_window_are_repaired_in_one_recovery() {
    let lost: Vec<u64> = (40..60).step_by(2).collect();
    let mut path = transfer(300, lose_first(&lost));
    path.run(at(Duration::from_secs(10)));
    assert_eq!(path.sender.state(), State::Closed);
    assert_eq!(path.retransmissions(), lost);
    assert!(path.now < at(MS * 400), "no timeout: {}", path.now);
}

#[test]
fn a_lost_retransmission_is_sent_a_third_time_without_a_timeout() {
    let mut tries = 0;
    let mut path = Path::new(Config::Reno(reno::Config::default()), false, None, move |s, _| {
        if s.number() == 50 {
            tries += 1;
        }
        if s.number() == 50 && tries <= 2 { Fate::Lose } else { Fate::Arrive }
    });
    path.run(at(MS * 190));
    let attempts = path.log.iter().filter(|(_, seq, _)| *seq == 50).count();
    assert_eq!(attempts, 3, "RACK finds a lost retransmission (RFC 8985 §1)");
}

/// As in Linux (`FLAG_LOST_RETRANS`): from Loss to Recovery, with a reduction of its own.
#[test]
fn a_retransmission_that_is_lost_after_a_timeout_reduces_the_window_again() {
    // Nothing arrives from 70 to 700 ms; then one retransmission is lost, or none.
    let run = |lost_again: Option<u64>| {
        let (mut left, before) =
            (lost_again, |s: &Segment, ms| s.stamps.sent.is_before(Stamp::at(at(MS * ms))));
        let mut path = transfer(400, move |s, _| {
            let is_out = !before(s, 70) && before(s, 700);
            let again = !before(s, 700) && left.take_if(|n| *n == s.number()).is_some();
            if is_out || again { Fate::Lose } else { Fate::Arrive }
        });
        let (mut states, mut least) = (Vec::new(), u32::MAX);
        for step in 0..10_000 {
            path.run(at(MS * step / 4));
            let state = path.sender.state();
            if states.last() != Some(&state) {
                states.push(state);
            }
            least = least.min(path.sender.window().ssthresh);
        }
        assert_eq!(states.last(), Some(&State::Closed), "{states:?}");
        (states, least)
    };
    let after_loss = |states: &[State]| {
        let loss = states.iter().position(|state| *state == State::Loss);
        states[loss.unwrap() + 1]
    };
    let ((once, least), (twice, less)) = (run(None), run(Some(104)));
    assert_eq!((after_loss(&once), after_loss(&twice)), (State::Open, State::Recovery));
    assert!(less < least, "{less} {least}");
}

#[test]
fn a_lost_tail_is_found_by_a_probe_before_the_timeout() {
    // The last 2 of 10 segments: no later segment reveals the loss.
    let mut path = transfer(10, lose_first(&[8, 9]));
    path.run(at(Duration::from_secs(10)));
    assert_eq!(path.sender.state(), State::Closed);
    // A probe goes out two round trips after the last acknowledgement; a timeout would come
    // 200 ms after it.
    assert!(path.now < at(RTT * 8), "{}", path.now);
}

#[test]
fn silence_backs_off_exponentially() {
    let mut path = transfer(4, |_, _| Fate::Lose);
    path.run(at(Duration::from_secs(20)));
    let times: Vec<Time> =
        path.log.iter().filter(|(_, seq, again)| *seq == 0 && *again).map(|e| e.0).collect();
    let gaps: Vec<f64> = times.windows(2).map(|w| w[1].since(w[0]).as_secs_f64()).collect();
    assert!(gaps.len() >= 4, "{gaps:?}");
    for pair in gaps.windows(2) {
        assert!((pair[1] / pair[0] - 2.0).abs() < 0.05, "RFC 6298 §5.5: {gaps:?}");
    }
    assert!(gaps[0] >= 0.4, "twice at least 200 ms: {gaps:?}");
}

#[test]
fn a_little_reordering_is_no_loss() {
    // Every tenth segment is late by less than a quarter of the RTT and overtaken by two.
    let mut path = transfer(200, |s, _| {
        if s.number() % 10 == 5 { Fate::Late(SPACING * 2 + SPACING / 2) } else { Fate::Arrive }
    });
    path.run(at(Duration::from_secs(10)));
    assert_eq!(path.sender.state(), State::Closed);
    assert_eq!(path.retransmissions(), Vec::<u64>::new());
}

#[test]
fn lost_acknowledgements_are_covered_by_later_ones() {
    let mut path = transfer(500, |_, _| Fate::Arrive);
    // Not the last acknowledgement: no later one would cover it.
    path.ack_lost = |n| n % 3 == 0 && n < 250;
    path.run(at(Duration::from_secs(10)));
    assert_eq!(path.sender.state(), State::Closed);
    assert!(path.acks > 250);
    assert_eq!(path.retransmissions(), Vec::<u64>::new());
}

#[test]
fn everything_arrives_whatever_is_lost() {
    for seed in 0..200 {
        let mut rng = stream(seed, "loss");
        let mut path = transfer(150, move |_, _| match rng.next_u32() % 10 {
            0 | 1 => Fate::Lose,
            2 => Fate::Late(MS * 7),
            _ => Fate::Arrive,
        });
        path.ack_lost = |n| n % 7 == 0;
        path.run(at(Duration::from_secs(600)));
        assert_eq!(path.sender.state(), State::Closed, "seed {seed}");
        assert_eq!(path.receiver.next(), 150 * MSS);
    }
}

// --- A congestion control that sets its window in every state ---------------------------------

/// A Prague connection that sends `segments` over a path of 20 ms.
fn prague(
    segments: Option<u64>,
    fate: impl FnMut(&Segment, bool) -> Fate,
) -> Path<impl FnMut(&Segment, bool) -> Fate> {
    let config = prague::Config::default();
    Path::new(Config::Prague(config), true, segments.map(|n| n * MSS), fate)
}

/// Neither proportional reduction nor its end set the window: it is half at once, and stays.
#[test]
fn a_window_of_prague_is_half_from_the_loss_on() {
    let mut path = prague(None, lose_first(&[200]));
    let mut windows = vec![10];
    for step in 0..500_000 {
        path.run(at(SPACING * step));
        let cwnd = path.sender.window().cwnd;
        if windows.last() != Some(&cwnd) {
            windows.push(cwnd);
        }
    }
    assert_eq!(path.retransmissions(), [200]);
    let (top, highest) = windows.iter().enumerate().max_by_key(|w| w.1).unwrap();
    // The flight allowed the lost segment, until the next acknowledgement.
    let half = windows[top + 2];
    assert!(half.abs_diff(highest / 2) <= 1, "{windows:?}");
    assert!(windows[top + 2..].windows(2).all(|w| w[0] < w[1]), "{windows:?}");
}

#[test]
fn prague_repairs_many_losses_without_a_timeout() {
    let lost: Vec<u64> = (40..60).step_by(2).collect();
    let mut path = prague(Some(300), lose_first(&lost));
    path.run(at(Duration::from_secs(10)));
    assert_eq!(path.sender.state(), State::Closed);
    assert_eq!(path.retransmissions(), lost);
    assert!(path.now < at(MS * 500), "no timeout: {}", path.now);
}

#[test]
fn a_window_of_prague_grows_again_after_silence() {
    // Everything from 100 on is lost the first two times.
    let mut tries = std::collections::HashMap::new();
    let mut path = prague(Some(600), move |s, _| {
        let tries = tries.entry(s.seq).or_insert(0);
        *tries += 1;
        if (100..160).contains(&s.number()) && *tries <= 2 { Fate::Lose } else { Fate::Arrive }
    });
    path.run(at(Duration::from_secs(20)));
    assert_eq!(path.sender.state(), State::Closed, "{:?}", path.sender.window());
}

#[test]
fn everything_arrives_with_prague() {
    for seed in 0..200 {
        let mut rng = stream(seed, "prague");
        let mut path = prague(Some(150), move |_, _| match rng.next_u32() % 10 {
            0 | 1 => Fate::Lose,
            2 => Fate::Late(MS * 7),
            3 | 4 => Fate::Mark,
            _ => Fate::Arrive,
        });
        path.ack_lost = |n| n % 7 == 0;
        path.run(at(Duration::from_secs(600)));
        assert_eq!(path.sender.state(), State::Closed, "seed {seed}");
        assert_eq!(path.receiver.next(), 150 * MSS);
    }
}

#[test]
fn accurate_ecn_leaves_cwr_alone_and_sends_everything_capable() {
    let mut seen = Vec::new();
    let mut path = prague(Some(400), |s, _| {
        seen.push((s.ecn, s.cwr));
        match s.number() % 40 {
            20 => Fate::Mark,
            _ => Fate::Arrive,
        }
    });
    path.run(at(Duration::from_secs(10)));
    drop(path);
    assert!(seen.iter().all(|s| *s == (Ecn::Ect1, false)), "{seen:?}");
}
