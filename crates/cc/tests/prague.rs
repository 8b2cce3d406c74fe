//! The laws of Prague: its window under marks, its independence of the RTT, its response to the first
//! mark and to losses.

use l4s_cc::prague::{Config, Control, Increase, RttIndependence};
use l4s_cc::{Ack, Congestion, CongestionControl, Connection, Pause, Recovery, Window};
use l4s_units::{Duration, Rate, Time};

const MS: Duration = Duration::from_millis(1);
const MSS: u32 = 1500;

/// A connection of unlimited data on a path without queue or loss.
struct Flow {
    cc: Control,
    window: Window,
    /// Whether it uses its whole window.
    limited: bool,
    rtt: Duration,
    /// The lowest RTT so far.
    min_rtt: Duration,
    now: Time,
    una: u64,
    /// The next segment to send when the last acknowledgement arrived.
    nxt: u64,
    marks: Marks,
}

/// The choice of the packets that are marked.
enum Marks {
    /// Each packet independently; the state of the generator.
    Random(u64),
    /// At regular intervals; the accumulated probability of the next mark.
    Even(f64),
}

impl Marks {
    fn next(&mut self, p: f64) -> bool {
        match self {
            Marks::Random(state) => {
                // SplitMix64.
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = *state;
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                (((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64) < p
            }
            Marks::Even(owed) => {
                *owed += p;
                let mark = *owed >= 1.0;
                *owed -= f64::from(u8::from(mark));
                mark
            }
        }
    }
}

impl Flow {
    fn new(config: Config, cwnd: u32, rtt: Duration) -> Self {
        let connection = Connection { initial_window: cwnd, ..Connection::new(MSS) };
        Flow {
            cc: Control::new(&config, &connection),
            window: Window::new(cwnd),
            limited: true,
            rtt,
            min_rtt: rtt,
            now: Time::ZERO,
            una: 0,
            nxt: 0,
            marks: Marks::Random(1),
        }
    }

    fn acknowledge(&mut self, delivered: u32, delivered_ce: u32) {
        self.una += u64::from(delivered);
        self.nxt = self.una + u64::from(self.window.cwnd);
        let ack = Ack {
            delivered,
            delivered_ce,
            ece: delivered_ce > 0,
            advanced: delivered > 0,
            rtt: Some(self.rtt),
            limited: self.limited,
            ..self.at()
        };
        self.window = self.cc.on_ack(&ack).window;
    }

    /// The state of the connection without an acknowledgement.
    fn at(&self) -> Ack {
        Ack {
            now: self.now,
            min_rtt: self.min_rtt,
            srtt: self.rtt,
            una: self.una,
            nxt: self.nxt,
            unsent: u64::MAX,
            ..Ack::default()
        }
    }

    /// The new threshold after congestion.
    fn congested(&mut self, congestion: Congestion, answered: bool) -> u32 {
        self.cc.on_congestion(congestion, answered, &self.at()).window.ssthresh
    }

    /// The pacing rate in bytes per second.
    fn rate(&self, in_flight: u32, unsent: u64, rtt: Duration) -> u64 {
        self.cc.pacing_rate(&Ack { in_flight, unsent, srtt: rtt, ..Ack::default() })
    }

    /// A round trip with an acknowledgement for each packet, a fraction `p` of them marked.
    fn round(&mut self, p: f64) {
        let (cwnd, start) = (self.window.cwnd, self.now);
        for n in 1..=cwnd {
            self.now = start + self.rtt * u64::from(n) / u64::from(cwnd);
            let mark = self.marks.next(p);
            self.acknowledge(1, u32::from(mark));
        }
    }

    /// The mean window in packets at marking probability `p`, after it has settled.
    fn mean_window(&mut self, p: f64) -> f64 {
        // The average and the window settle in some 1 / p round trips, and the average needs at least
        // sixteen virtual RTTs.
        let per_virtual = (25.0 / self.rtt.as_millis_f64()).max(1.0);
        let rounds = ((5.0 / p).max(500.0) * per_virtual) as u64;
        for _ in 0..rounds {
            self.round(p);
        }
        let mut sum = 0.0;
        for _ in 0..rounds * 3 {
            self.round(p);
            sum += self.cc.state().frac_cwnd as f64 / f64::from(1 << 20);
        }
        sum / (rounds * 3) as f64
    }
}

/// Marks per round trip under random marking. A reduction by m/2 is made once per round trip and the wait
/// of 1/m for the next mark. The window grows by one per round trip for unmarked packets. So
/// m/2 = (1 + 1/m)·(1 − p). As p goes to 0, m goes to 1 + √3.
fn marks_per_round(p: f64) -> f64 {
    let q = 1.0 - p;
    q + (q * q + 2.0 * q).sqrt()
}

fn assert_window(marks: &str, p: f64, window: f64, law: f64, tolerance: f64) {
    let error = window / law - 1.0;
    println!("{marks}, p = {p}: window {window:.2}, law {law:.2}: {:+.1} %", error * 100.0);
    assert!(error.abs() < tolerance, "{marks}, p = {p}: {window:.2}, law {law:.2}");
}

/// Without the wait for a mark, W·p/2 = 1 − p (DCttH §3.2 equation (1) is W = 2/p).
#[test]
fn window_follows_the_linear_law() {
    let config = Config { rtt_independence: RttIndependence::Off, ..Config::default() };
    for p in [1e-3, 1e-2, 0.05, 0.2] {
        let law = marks_per_round(p) / p;
        let mut flow = Flow::new(config, (law / 2.0) as u32, MS * 10);
        assert_window("random", p, flow.mean_window(p), law, 0.1);

        let law = 2.0 * (1.0 - p) / p;
        let mut flow = Flow::new(config, (law / 2.0) as u32, MS * 10);
        flow.marks = Marks::Even(0.0);
        assert_window("even", p, flow.mean_window(p), law, 0.12);
    }
}

/// RFC 9331 §4.3: a path of 1 ms gets the rate of a path of 25 ms.
#[test]
fn rate_does_not_depend_on_the_rtt_below_the_virtual_one() {
    // The floor of 2 packets per 1 ms is 50 per 25 ms, so p must be well below 2/50.
    let p = 0.01;
    let law = marks_per_round(p) / p;
    for ms in [1, 2, 5, 10, 25, 50, 100] {
        let window = Flow::new(Config::default(), 20, MS * ms).mean_window(p);
        // In packets per 25 ms; above 25 ms, inversely proportional to the RTT.
        let (rate, expected) = (window * 25.0 / ms as f64, law * 25.0 / ms.max(25) as f64);
        assert_window(&format!("{ms} ms"), p, rate, expected, 0.1);
    }
}

#[test]
fn first_mark_halves_the_window_and_ends_slow_start() {
    for alpha_on_init in [0, 1 << 10] {
        let mut flow = Flow::new(Config { alpha_on_init, ..Config::default() }, 10, MS * 25);
        // The window doubles each round trip: 10, 20, 40, 80.
        for _ in 0..3 {
            flow.round(0.0);
        }
        assert_eq!(flow.window.cwnd, 80);
        flow.acknowledge(1, 1);
        assert_eq!(flow.window.cwnd, 40);
        assert!(!flow.window.in_slow_start());
        // The next mark is not answered before a virtual RTT is over.
        flow.acknowledge(1, 1);
        assert_eq!(flow.window.cwnd, 40);
    }
}

#[test]
fn alpha_is_untouched_before_the_first_mark() {
    let mut flow = Flow::new(Config { alpha_on_init: 1 << 10, ..Config::default() }, 10, MS * 25);
    for _ in 0..3 {
        flow.round(0.0);
    }
    assert_eq!(flow.cc.alpha(), Some(1.0));
}

#[test]
fn alpha_reaches_zero_without_marks_and_one_with_nothing_but_marks() {
    let mut flow = Flow::new(Config::default(), 4, MS * 25);
    flow.limited = false;
    for _ in 0..400 {
        flow.round(1.0);
    }
    // Because the shift rounds down, it is less than one by less than its last bit.
    assert!(flow.cc.alpha().unwrap() > 1.0 - 2.0 / f64::from(1 << 24));
    for _ in 0..400 {
        flow.round(0.0);
    }
    assert_eq!(flow.cc.alpha(), Some(0.0));
}

#[test]
fn marked_packets_do_not_grow_the_window() {
    let mut flow = Flow::new(Config::default(), 100, MS * 25);
    flow.acknowledge(1, 1);
    let before = flow.cc.state().frac_cwnd;
    flow.acknowledge(10, 10);
    assert_eq!(flow.cc.state().frac_cwnd, before);
    // Four of the ten packets are unmarked: 4/50 of a packet.
    flow.acknowledge(10, 6);
    let grown = (flow.cc.state().frac_cwnd - before) as f64 / f64::from(1 << 20);
    assert!((grown - 0.08).abs() < 1e-5, "{grown}");
}

#[test]
fn window_does_not_grow_when_the_application_limits_it() {
    let mut flow = Flow::new(Config::default(), 100, MS * 25);
    flow.limited = false;
    flow.round(0.0);
    assert_eq!(flow.window.cwnd, 100);
}

#[test]
fn loss_halves_the_window_once_and_growth_waits_for_the_end_of_recovery() {
    let mut flow = Flow::new(Config::default(), 100, MS * 25);
    flow.acknowledge(1, 1);
    assert_eq!(flow.window.cwnd, 50);
    assert_eq!(flow.congested(Congestion::Loss, false), 25);
    assert_eq!(flow.congested(Congestion::Loss, true), 25);
    // When the first packet was acknowledged, 100 packets were in flight.
    for _ in 0..99 {
        flow.acknowledge(1, 0);
        assert_eq!(flow.cc.state().frac_cwnd, 25 << 20);
    }
    flow.acknowledge(1, 0);
    assert!(flow.cc.state().frac_cwnd > 25 << 20);
}

#[test]
fn timeout_starts_again_from_two_packets_up_to_half_the_window() {
    let mut flow = Flow::new(Config::default(), 40, MS * 25);
    flow.acknowledge(1, 1);
    assert_eq!(flow.congested(Congestion::Timeout, false), 10);
    assert_eq!(flow.congested(Congestion::Timeout, true), 10);
    for _ in 0..8 {
        flow.acknowledge(1, 0);
    }
    assert_eq!(flow.window.cwnd, 10);
    flow.acknowledge(1, 0);
    assert_eq!(flow.window.cwnd, 10);
}

#[test]
fn false_alarm_gives_the_window_back() {
    let mut flow = Flow::new(Config::default(), 40, MS * 25);
    flow.acknowledge(1, 1);
    assert_eq!(flow.window.cwnd, 20);
    flow.congested(Congestion::Loss, false);
    let window = flow.cc.on_recovered(Recovery::Spurious(Some(flow.window))).window;
    assert_eq!(window.cwnd, 20);
}

/// RFC 3168 §5 and §6.1.2: an echo that lasts until CWR arrives is answered as a loss, once per window of
/// data. Growth is then Reno's (RFC 9331 §4.3), a packet per round trip for any RTT.
#[test]
fn a_latched_echo_halves_the_window_once_and_growth_is_renos() {
    let mut flow = Flow::new(Config::default(), 40, MS * 5);
    let latched = Connection { marks: l4s_cc::Marks::Latched, ..Connection::new(MSS) };
    flow.cc.on_established(&latched);
    let window = |flow: &Flow| flow.cc.state().frac_cwnd as f64 / f64::from(1 << 20);
    // The echo lasts for a round trip: 41 packets. The last one is the packet with CWR.
    for _ in 0..40 {
        flow.acknowledge(1, 1);
        assert_eq!(window(&flow), 20.0);
    }
    // A spurious loss does not revert the reduction.
    flow.cc.on_recovered(Recovery::Spurious(Some(flow.window)));
    assert_eq!(window(&flow), 20.0);
    flow.acknowledge(1, 0);
    flow.round(0.0);
    let before = window(&flow);
    for _ in 0..8 {
        flow.round(0.0);
    }
    let growth = (window(&flow) - before) / 8.0;
    assert!((0.9..=1.0).contains(&growth), "{growth} packets per round trip");
    // The next echo halves it again.
    flow.acknowledge(1, 1);
    assert_eq!(window(&flow), (before + 8.0 * growth) / 2.0);
}

#[test]
fn pause_of_three_timeouts_leaves_an_eighth_but_not_less_than_ten() {
    for (cwnd, left) in [(200, 25), (40, 10), (6, 6)] {
        let mut flow = Flow::new(Config::default(), cwnd, MS * 25);
        flow.limited = false;
        flow.acknowledge(1, 0);
        let pause = Pause { now: flow.now, length: MS * 600, rto: MS * 200 };
        assert_eq!(flow.cc.on_restart(pause).window.cwnd, left);
    }
}

/// A round trip in which the last `marks` packets of the window are marked.
fn round_with_marks(flow: &mut Flow, marks: u32) {
    let cwnd = flow.window.cwnd;
    flow.now += flow.rtt;
    flow.acknowledge(cwnd - marks, 0);
    flow.acknowledge(marks, marks);
}

#[test]
fn a_gentle_start_doubles_before_a_mark_and_after_it() {
    let mut flow = Flow::new(Config::best(), 10, MS * 25);
    for window in [20, 40] {
        flow.round(0.0);
        assert_eq!(flow.window.cwnd, window);
    }
    // One mark does not end slow start, but from then on the window grows only by unmarked packets.
    round_with_marks(&mut flow, 1);
    assert_eq!(flow.window.cwnd, 40 + 39);
    assert!(flow.window.in_slow_start());
    round_with_marks(&mut flow, 1);
    assert_eq!(flow.window.cwnd, 2 * 79 - 1);
}

/// A quick start with ten packets, on a path of 25 ms and a bottleneck that sends a packet per 100 us.
struct QuickStart(Flow);

impl QuickStart {
    fn new() -> Self {
        QuickStart(Flow::new(Config::quick_start(), 10, MS * 25))
    }

    /// A round trip in which acknowledgements arrive at the rate of the bottleneck. It marked the last
    /// `marks` packets, or all.
    fn round(&mut self, marks: u32) -> &mut Self {
        let flight = self.0.window.cwnd;
        let marks = marks.min(flight);
        self.acknowledge(flight - marks, 0);
        self.acknowledge(marks, 1);
        self.0.now += Duration::from_micros(25_000u64.saturating_sub(100 * u64::from(flight)));
        self
    }

    fn acknowledge(&mut self, packets: u32, marks: u32) {
        for _ in 0..packets {
            self.0.now += Duration::from_micros(100);
            self.0.acknowledge(1, marks);
        }
    }

    fn window(&self) -> (u32, bool) {
        (self.0.window.cwnd, self.0.window.in_slow_start())
    }
}

#[test]
fn a_quick_start_ignores_partial_marking_below_60_packets() {
    for marks in [0, 5, 9] {
        assert_eq!(QuickStart::new().round(marks).window(), (30, true), "{marks} marks");
    }
    let (_, in_slow_start) = QuickStart::new().round(30).round(30).window();
    assert!(!in_slow_start);
    // Below the limit, a marked packet makes the window grow as any other.
    for (window, after) in [(60, 62), (61, 61)] {
        let mut start = QuickStart(Flow::new(Config::quick_start(), window, MS * 25));
        start.acknowledge(1, 1);
        assert_eq!(start.window(), (after, true));
    }
    // The limit is at most two thirds of the BDP, which is 40 packets (where the window grows by one for each
    // from there) and 50.
    for (rtt, after) in [(MS * 4, 29), (MS * 5, 32)] {
        let mut start = QuickStart(Flow::new(Config::quick_start(), 10, rtt));
        start.acknowledge(10, 0);
        start.acknowledge(1, 1);
        assert_eq!(start.window(), (after, true));
    }
}

#[test]
fn a_quick_start_triples_up_to_a_quarter_of_what_fits_and_doubles_from_there() {
    // The BDP is 250 packets. From a window of 30, 17 delivered packets make it 64, and each of the other 13 adds one.
    assert_eq!(QuickStart::new().round(0).round(0).window(), (77, true));
    assert_eq!(QuickStart::new().round(0).round(0).round(0).window(), (154, true));
}

/// Marks because of other flows are usually fewer than four. A longer queue of its own must stop the growth.
#[test]
fn a_quick_start_waits_for_the_next_round_trip_once_four_are_marked() {
    for (marks, grown) in [(0, 40), (3, 40), (4, 0), (20, 0)] {
        let mut start = QuickStart::new();
        start.round(0).round(0).acknowledge(1, 0);
        start.acknowledge(marks, 1);
        let before = start.window().0;
        start.acknowledge(40, 0);
        assert_eq!(start.window(), (before + grown, true), "{marks} marks");
    }
    // After that it continues.
    let mut start = QuickStart::new();
    start.round(0).round(0).round(4);
    let before = start.window().0;
    start.acknowledge(40, 0);
    assert_eq!(start.window(), (before + 40, true));
}

#[test]
fn a_quick_start_ends_as_soon_as_a_third_of_a_round_is_marked() {
    let third = |marks| {
        let mut start = QuickStart::new();
        start.round(0).round(0).acknowledge(marks, 1);
        start
    };
    // 26 of 77 marked packets, and one that ends the previous round trip. Only unmarked ones increase the window.
    assert_eq!(third(26).window(), (77, true));
    let mut told = third(27);
    assert_eq!(told.window(), (39, false));
    assert_eq!(told.0.window.ssthresh, 38);
    // Later marks of this round trip are not answered again.
    told.acknowledge(50, 1);
    assert_eq!(told.window(), (39, false));
}

#[test]
fn a_quick_start_ends_with_what_fits_on_the_path() {
    // Above the limit, a third of marked packets reduces the window by a sixth. If the RTT has risen by then, part
    // of the flight is queued.
    for (rise, left) in [(0, 0.83), (1, 0.8), (2, 0.67), (3, 0.57)] {
        let mut start = QuickStart(Flow::new(Config::quick_start(), 40, MS * 4));
        start.acknowledge(27, 0);
        let before = start.0.window.cwnd;
        start.0.rtt = MS * (4 + rise);
        start.acknowledge(13, 1);
        assert!(start.window().1);
        start.acknowledge(1, 1);
        let (after, in_slow_start) = start.window();
        let found = f64::from(after) / f64::from(before);
        assert!(!in_slow_start && (found - left).abs() < 0.02, "{found} instead of {left}");
    }
}

#[test]
fn a_quick_start_begins_again_four_times_after_a_round_without_marks() {
    let mut start = QuickStart::new();
    let mut restarts = 0;
    for _ in 0..10 {
        // All packets of two round trips are marked, so that slow start is over.
        start.round(u32::MAX).round(u32::MAX);
        assert!(!start.window().1);
        // It needs a round trip without a mark to detect that there was none.
        start.round(0).round(0).round(0);
        restarts += u32::from(start.window().1);
    }
    assert_eq!(restarts, 4);
}

/// The growth of the window in a round trip without marks, in milliseconds' worth of packets.
fn growth(flow: &mut Flow) -> f64 {
    let before = flow.cc.state().frac_cwnd as f64;
    flow.round(0.0);
    let gained = flow.cc.state().frac_cwnd as f64 - before;
    // Without the packet that every round trip adds.
    (gained - f64::from(1 << 20)) / before * flow.rtt.as_millis_f64()
}

#[test]
fn fast_growth_looks_for_room_by_doubling_steps_until_a_mark() {
    let config = Config { increase: Increase::Fast, ..Config::linux() };
    let mut flow = Flow::new(config, 400, MS * 200);
    // The first mark ends slow start.
    round_with_marks(&mut flow, 1);
    for _ in 0..2 {
        let (mut quiet, start) = (0, flow.window.cwnd);
        while growth(&mut flow) < 0.5 {
            quiet += 1;
        }
        // The window grows by a packet per round during that time.
        let wait = 8.0 + f64::from(start + quiet).sqrt();
        assert!((wait..wait + 2.0).contains(&quiet.into()), "{quiet} rounds, not {wait}");
        // The first step was 1 ms.
        for step in [2.0, 4.0, 8.0, 16.0, 25.0, 25.0] {
            let grown = growth(&mut flow);
            assert!((grown / step - 1.0).abs() < 0.15, "{grown} ms instead of {step}");
        }
        round_with_marks(&mut flow, 1);
    }
}

/// 40 packets of 1500 B in 20 ms are 3 MB/s, and 80 are twice that. The rate is four times the first, and
/// twice the second as in any slow start.
#[test]
fn a_quick_start_sends_a_window_within_a_quarter_of_the_round_trip_and_a_large_one_within_half() {
    let rate = |window| {
        let mut flow = Flow::new(Config::quick_start(), window, MS * 20);
        flow.limited = false;
        flow.acknowledge(1, 0);
        flow.rate(0, u64::MAX, MS * 20)
    };
    assert_eq!([rate(40), rate(80)], [12_000_000; 2]);
}

/// 1500 B in 100 us are 15 MB/s. 77 packets in 25 ms are 4.62 MB/s. In 1 ms they are more than the bottleneck
/// sends, but a window per round trip is always sent.
#[test]
fn a_quick_start_sends_no_more_than_nine_tenths_of_what_the_bottleneck_does() {
    let mut start = QuickStart::new();
    start.round(0).round(0);
    let rate = |rtt| start.0.rate(0, u64::MAX, rtt);
    assert_eq!(rate(MS * 25), 2 * 4_620_000);
    assert_eq!(rate(MS * 10), 13_500_000);
    assert_eq!(rate(MS), 115_500_000);
}

/// The remaining data is first a packet more than fits in the window of 77, and then exactly as much.
#[test]
fn a_quick_start_sends_the_last_window_at_eight_tenths_of_it() {
    let mut start = QuickStart::new();
    let rate = |start: &QuickStart, left| start.0.rate(7, left, MS * 50);
    start.round(0).round(0);
    assert_eq!(rate(&start, 71), 2 * 2_310_000);
    assert_eq!(rate(&start, 70), 12_000_000);
}

/// 10 packets of 1500 B in a hundredth of 20 ms.
#[test]
fn a_quick_start_sends_its_first_window_within_a_hundredth_of_the_round_trip() {
    let first = |config| Flow::new(config, 10, MS * 20).cc.initial_pacing(MS * 20);
    assert_eq!(first(Config::quick_start()), Some(Rate::from_bps(8 * 75_000_000)));
    assert_eq!(first(Config::best()), None);
}

/// 40 packets of 1500 B in 20 ms are 3 MB/s; twice that in slow start.
#[test]
fn pacing_spreads_the_window_and_leads_slow_start() {
    let mut flow = Flow::new(Config::default(), 40, MS * 20);
    flow.limited = false;
    flow.acknowledge(1, 0);
    let rate = |flow: &Flow, in_flight| flow.rate(in_flight, u64::MAX, MS * 20);
    assert_eq!(rate(&flow, 0), 6_000_000);
    flow.acknowledge(1, 1);
    assert_eq!(rate(&flow, 0), 1_500_000);
    // Retransmissions of packets in flight are not delayed.
    assert_eq!(rate(&flow, 40), 3_000_000);
}
