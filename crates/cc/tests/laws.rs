//! The laws of the papers for the window under random marking, from p = 1e-4 to 0.3.
//!
//! A congestion control alone, on a path without queue or loss. Each acknowledgement reports the
//! packets that it delivered and whether they were marked. A mark starts at most one reduction per
//! round trip. Without a transport a million round trips take a second. A window of 20,000 segments
//! needs that many to settle.
//!
//! The laws are for windows that are real numbers, and for marks that are all answered. Below some ten
//! segments neither is true: 0.7 of 5 is 3, the floor is 2, and the second mark of a round trip
//! changes nothing. Therefore the tolerances are wider there.

use l4s_cc::{
    Ack, Cc, Config, Congestion, CongestionControl, Connection, Recovery, Window, cubic, dctcp,
    reno,
};
use l4s_units::{Duration, Time};

/// A short RTT, so that Cubic stays in its Reno-friendly region (RFC 9438 §4.3).
const RTT: Duration = Duration::from_millis(10);

/// Gaps between marks of probability `p`, drawn for each packet independently.
struct Marks {
    state: u64,
    p: f64,
    next: u64,
}

impl Marks {
    fn new(p: f64) -> Self {
        let mut marks = Marks { state: 1, p, next: 0 };
        marks.next = marks.gap();
        marks
    }

    /// Segments before the next mark: geometric, from a 64-bit generator (SplitMix64).
    fn gap(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let uniform = ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
        ((1.0 - uniform).ln() / (1.0 - self.p).ln()) as u64
    }

    /// The number of the next `segments` that come before a mark, and whether a mark follows them.
    fn take(&mut self, segments: u32) -> (u32, bool) {
        if self.next >= u64::from(segments) {
            self.next -= u64::from(segments);
            return (segments, false);
        }
        let clean = self.next as u32;
        self.next = self.gap();
        (clean, true)
    }
}

/// A connection of unlimited data.
struct Flow {
    cc: Cc,
    window: Window,
    now: Time,
    una: u64,
    /// A reduction lasts until this is acknowledged.
    reducing_until: u64,
}

impl Flow {
    /// A flow in congestion avoidance from the start, as after a mark at twice this window.
    fn new(config: &Config, cwnd: u32) -> Self {
        let connection = Connection { initial_window: cwnd, ..Connection::new(1500) };
        let mut cc = Cc::new(config, &connection);
        cc.on_congestion(Congestion::Ecn, false, &Ack::default());
        let window = cc.on_recovered(Recovery::Complete).window;
        Flow { cc, window, now: Time::ZERO, una: 0, reducing_until: 0 }
    }

    fn acknowledge(&mut self, delivered: u32, ece: bool) {
        self.una += u64::from(delivered);
        let ack = Ack {
            now: self.now,
            delivered,
            delivered_ce: if ece { delivered } else { 0 },
            ece,
            advanced: true,
            rtt: Some(RTT),
            min_rtt: RTT,
            srtt: RTT,
            una: self.una,
            nxt: self.una + u64::from(self.window.cwnd),
            unsent: u64::MAX,
            limited: true,
            ..Ack::default()
        };
        self.cc.observe(&ack);
        let reducing = self.una < self.reducing_until;
        if ece && !reducing {
            self.cc.on_congestion(Congestion::Ecn, false, &ack);
            self.window = self.cc.on_recovered(Recovery::Complete).window;
            self.reducing_until = ack.nxt;
        } else if !reducing {
            self.window = self.cc.on_ack(&ack).window;
        }
    }

    /// A round trip with at most about 64 acknowledgements, and the marks of each run of segments.
    fn round(&mut self, marks: &mut Marks) {
        let (cwnd, start) = (self.window.cwnd, self.now);
        let mut left = cwnd;
        while left > 0 {
            let batch = left.min(cwnd.div_ceil(64));
            let (clean, marked) = marks.take(batch);
            left -= clean + u32::from(marked);
            self.now = start + RTT * u64::from(cwnd - left) / u64::from(cwnd);
            if clean > 0 {
                self.acknowledge(clean, false);
            }
            if marked {
                self.acknowledge(1, true);
            }
        }
    }
}

/// The mean window in segments under marks of probability `p`.
fn mean_window(config: &Config, p: f64, law: f64) -> f64 {
    let mut marks = Marks::new(p);
    // Starts from half of the law's window.
    let mut flow = Flow::new(config, (law / 2.0).ceil().max(2.0) as u32);
    // DCTCP's window settles within some 1 / p round trips, the others sooner.
    let settle = (20.0 / p) as u64;
    for _ in 0..settle {
        flow.round(&mut marks);
    }
    let rounds = settle * 3;
    let mut sum = 0;
    for _ in 0..rounds {
        flow.round(&mut marks);
        sum += u64::from(flow.window.cwnd);
    }
    sum as f64 / rounds as f64
}

/// Asserts `law` within a tolerance at each p; prints the results (`--nocapture`).
fn assert_law(name: &str, config: &Config, law: fn(f64) -> f64, tolerances: [f64; 5]) {
    let ps = [1e-4, 1e-3, 1e-2, 0.1, 0.3];
    for (p, tolerance) in ps.into_iter().zip(tolerances) {
        let expected = law(p);
        let window = mean_window(config, p, expected);
        let error = window / expected - 1.0;
        println!("{name} p = {p}: window {window:.2}, law {expected:.2}: {:+.1} %", error * 100.0);
        assert!(error.abs() <= tolerance, "{name} p = {p}: {window:.2}, law {expected:.2}");
    }
}

/// DCttH §3.2 equation (1): W = √(3 / 2p).
#[test]
fn reno_follows_the_square_root_law() {
    let config = Config::Reno(reno::Config::default());
    assert_law("reno", &config, |p| (1.5 / p).sqrt(), [0.1, 0.1, 0.1, 0.2, 0.2]);
}

/// RFC 9438 §4.3: growth by 3·(1 − β)/(1 + β) gives Cubic the window of Reno.
#[test]
fn cubic_follows_reno_in_its_reno_friendly_region() {
    let config = Config::Cubic(cubic::Config::default());
    assert_law("cubic", &config, |p| (1.5 / p).sqrt(), [0.1, 0.1, 0.25, 0.35, 0.2]);
}

/// DCttH §3.2: W = 1.68 / √p for Cubic in its Reno mode. It is the law of growth by 1 per round
/// trip with β = 0.7: √((1 + β) / 2(1 − β)) = 1.68.
#[test]
fn creno_of_the_paper_follows_its_law() {
    let config = Config::Cubic(cubic::Config { reno_growth: 1.0, ..Default::default() });
    assert_law("creno", &config, |p| 1.68 / p.sqrt(), [0.1, 0.1, 0.3, 0.5, 0.4]);
}

/// DCttH §3.2 equation (1): W = 2 / p under probabilistic marking.
#[test]
fn dctcp_follows_the_linear_law() {
    let config = Config::Dctcp(dctcp::Config::rfc8257());
    assert_law("dctcp", &config, |p| 2.0 / p, [0.15; 5]);
}
