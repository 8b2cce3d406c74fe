//! Compares the C arithmetic, which runs in the kernel, with the Rust arithmetic, which runs in the
//! simulator. For a million random acknowledgements each, every integer is the same.

mod bbr3;
mod departures;
mod detector;
mod tracers;

// Links the host build of the C headers.
use l4s_bpf as _;
use l4s_cc::classic_ecn::{self, Clock, Detector, Rules};
use l4s_cc::prague::kernel::{DetectorSettings, Settings};
use l4s_cc::{
    Ack, Congestion, CongestionControl, Connection, Pause, Recovery, Window, WindowRule, dctcp,
    prague,
};
use l4s_units::{Duration, Time};

use detector::{Judged, random_detector, state_of};
use tracers::{Bottleneck, CTracers};

const STEPS: usize = 1_000_000;

/// `struct dctcp` of dctcp.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct CDctcp {
    alpha: u32,
    window_end: u32,
    delivered: u32,
    delivered_ce: u32,
}

/// `struct prague` of prague.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct CPrague {
    frac_cwnd: u64,
    credit: u64,
    prior_frac_cwnd: u64,
    alpha_at: u64,
    cut_at: u64,
    average: u32,
    window_end: u32,
    recover: u32,
    delivered: u32,
    delivered_ce: u32,
    ssthresh: u32,
    prior_ssthresh: u32,
    transition: u32,
    quiet: u16,
    looking: u16,
    saw_ce: u8,
    in_loss: u8,
    after_loss: u8,
    independence: u8,
}

/// `struct classic_ecn_smooth`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct CSmooth {
    srtt: u64,
    mdev: u64,
    shift: u32,
    ratio: u32,
}

/// `struct classic_ecn`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct CDetector {
    score: i64,
    max: i64,
    pending_evidence: i64,
    began_us: u64,
    immediate_ack_us: u64,
    last_ack_us: u64,
    original: CSmooth,
    alternative: CSmooth,
    rounds: u32,
    shift: u32,
    depth: u32,
    log_mdev: u32,
    log_depth: u32,
    log_v0: u32,
    log_d0: u32,
    end: u32,
    acks: u32,
    limited_acks: u32,
    delivered: u32,
    marked: u32,
    deep_unmarked: u32,
    unmarked_above_target: u32,
    least: u32,
    losses: u32,
    unmarked_rounds: u32,
    has_rtt: u8,
    side: u8,
    confirmed: u8,
    has_immediate_ack: u8,
    lost: u8,
    tracers: CTracers,
}

/// `struct classic_ecn_sample`.
#[repr(C)]
#[derive(Debug)]
struct CSample {
    now_us: u64,
    rtt_virt_us: u64,
    rtt_us: u32,
    min_rtt_us: u32,
    delivered: u32,
    delivered_ce: u32,
    una: u32,
    nxt: u32,
    acked: u32,
    self_limited: u32,
}

/// `struct classic_ecn_report`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct CReport {
    score: i64,
    max: i64,
    rounds: u32,
    srtt_us: u32,
    mdev_us: u32,
    depth_us: u32,
    spacing_us: u32,
    alpha: u32,
}

const NO_RTT: u32 = u32::MAX;

/// `struct prague_ack`.
#[repr(C)]
#[derive(Clone, Copy)]
struct CAck {
    now: u64,
    srtt_us: u32,
    rtt_us: u32,
    min_rtt_us: u32,
    delivered: u32,
    delivered_ce: u32,
    una: u32,
    nxt: u32,
    acked: u32,
    limited: u32,
    app_limited: u32,
}

// SAFETY: host.c defines these with the same arguments. They access only the memory that the pointers
// refer to, and any bits are a valid state.
#[allow(unsafe_code)]
unsafe extern "C" {
    safe fn l4s_dctcp_start(s: &mut CDctcp, window_end: u32);
    safe fn l4s_dctcp_observe(s: &mut CDctcp, delivered: u32, ce: u32, una: u32, nxt: u32);
    safe fn l4s_dctcp_ssthresh(s: &CDctcp, cwnd: u32) -> u32;
    safe fn l4s_dctcp_loss(cwnd: u32) -> u32;
    safe fn l4s_prague_stock(c: &mut Settings);
    safe fn l4s_prague_start(s: &mut CPrague, c: &Settings, cwnd: u32, nxt: u32, now: u64);
    safe fn l4s_prague_on_ack(s: &mut CPrague, c: &Settings, d: Option<&mut CDetector>, ack: &CAck);
    safe fn l4s_prague_on_loss(
        s: &mut CPrague,
        c: &Settings,
        d: Option<&mut CDetector>,
        nxt: u32,
        timeout: i32,
    );
    safe fn l4s_prague_on_undo(s: &mut CPrague, c: &Settings, d: Option<&mut CDetector>);
    safe fn l4s_prague_on_restart(
        s: &mut CPrague,
        c: &Settings,
        d: Option<&mut CDetector>,
        idle: u32,
        rto: u32,
    );
    safe fn l4s_classic_ecn_start(s: &mut CDetector, c: &DetectorSettings, una: u32);
    safe fn l4s_classic_ecn_on_ack(s: &mut CDetector, c: &DetectorSettings, a: &CSample);
    safe fn l4s_classic_ecn_on_threshold(s: &mut CDetector, c: &DetectorSettings, ssthresh: u32);
    safe fn l4s_classic_ecn_on_loss(s: &mut CDetector);
    safe fn l4s_classic_ecn_on_idle(s: &mut CDetector, timeouts: u32);
    safe fn l4s_classic_ecn_wants_tracers(s: &mut CDetector) -> i32;
    safe fn l4s_classic_ecn_on_traced(s: &mut CDetector, c: &DetectorSettings, overtook: i32);
    safe fn l4s_tracers_start(t: &mut CTracers);
    safe fn l4s_tracers_on_round(
        t: &mut CTracers,
        c: &DetectorSettings,
        score: i64,
        marked: i32,
    ) -> i64;
    safe fn l4s_tracers_take_set(t: &mut CTracers) -> i32;
    safe fn l4s_tracers_on_rtt(t: &mut CTracers, waits: i32, unmarked: i32);
    safe fn l4s_tracers_on_answer(
        t: &mut CTracers,
        c: &DetectorSettings,
        overtook: i32,
        score: i64,
    ) -> i64;
    safe fn l4s_classic_ecn_report(s: &CDetector, r: &mut CReport);
    safe fn l4s_prague_cwnd(s: &CPrague) -> u32;
    safe fn l4s_prague_pacing_rate(s: &CPrague, in_flight: u32, mss: u32, srtt_us: u32) -> u64;
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// A number of 0 to about 2^`bits`, small ones as often as large ones.
    fn any(&mut self, bits: u64) -> u64 {
        let shift = self.below(bits);
        self.below(2 << shift)
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// Acknowledgements that a connection can receive, and some that it cannot.
struct Acks {
    random: Random,
    now_us: u64,
    una: u64,
    /// Phases with many marks and phases with few marks alternate.
    marked_one_in: u64,
    rtt_us: u64,
}

impl Acks {
    fn new(seed: u64) -> Self {
        Acks { random: Random(seed), now_us: 0, una: 0, marked_one_in: 100, rtt_us: 10_000 }
    }

    fn next(&mut self, cwnd: u32) -> Ack {
        let r = &mut self.random;
        if r.one_in(1000) {
            // Often enough one in one, so that the window becomes the smallest.
            self.marked_one_in = 1 << r.below(14).saturating_sub(1);
            // From 0 to 131 ms.
            let shift = r.below(17);
            self.rtt_us = r.below(2 << shift);
        }
        // Mostly one to three segments; sometimes none or as many as offload allows, rarely an absurd number.
        let delivered = match r.below(1000) {
            0 => r.below(3_000_000),
            1..50 => 0,
            50..100 => r.below(1000),
            _ => 1 + r.below(3),
        } as u32;
        let ece = r.one_in(self.marked_one_in);
        // A count of marks may be late, and so exceed the number of delivered packets.
        let delivered_ce = if ece { 1 + r.below(u64::from(delivered) + 2) as u32 } else { 0 };
        self.now_us += r.below(2 * self.rtt_us.max(1)) / u64::from(cwnd.max(1)) + r.below(3);
        // Sequence numbers stay far below 2^32, so that 32 and 64 bits give the same number.
        self.una += u64::from(delivered.min(1000));
        let srtt = Duration::from_micros(self.rtt_us);
        let min_rtt = self.rtt_us / 2;
        let rtt = min_rtt + r.below(self.rtt_us + 20);
        Ack {
            now: Time::from_nanos(self.now_us * 1000),
            delivered,
            delivered_ce,
            ece,
            rtt: (!r.one_in(20)).then_some(Duration::from_micros(rtt)),
            min_rtt: Duration::from_micros(min_rtt),
            srtt,
            una: self.una,
            nxt: self.una + u64::from(cwnd.min(1000)),
            unsent: if r.one_in(10) { 0 } else { u64::MAX },
            ..Ack::default()
        }
    }
}

#[test]
fn dctcp_is_the_same_in_c_and_in_rust() {
    let mut acks = Acks::new(1);
    let mut window = Window::new(10);
    let mut rust = dctcp::Rule::new(&dctcp::Config::linux());
    let mut c = CDctcp::default();
    l4s_dctcp_start(&mut c, 0);
    let mut alphas = std::collections::BTreeSet::new();
    for step in 0..STEPS {
        let ack = acks.next(window.cwnd);
        rust.observe(&mut window, &ack);
        let (una, nxt) = (ack.una as u32, ack.nxt as u32);
        l4s_dctcp_observe(&mut c, ack.delivered, ack.delivered_ce, una, nxt);
        let state = dctcp::State {
            alpha: c.alpha,
            window_end: c.window_end.into(),
            delivered: c.delivered,
            delivered_ce: c.delivered_ce,
        };
        assert_eq!(*rust.state(), state, "step {step}: {ack:?}");
        alphas.insert(c.alpha);

        let bits = acks.random.below(20);
        window.cwnd = 1 + acks.random.below(1 << bits) as u32;
        let after_mark = rust.ssthresh(&window, Congestion::Ecn);
        assert_eq!(after_mark, l4s_dctcp_ssthresh(&c, window.cwnd), "step {step}");
        let after_loss = rust.ssthresh(&window, Congestion::Loss);
        assert_eq!(after_loss, l4s_dctcp_loss(window.cwnd), "step {step}");
    }
    // The steps cover most of its range.
    assert!(alphas.len() > 500, "{} values of alpha", alphas.len());
}

fn wide(c: &CPrague) -> prague::State {
    prague::State {
        frac_cwnd: c.frac_cwnd,
        credit: c.credit,
        prior_frac_cwnd: c.prior_frac_cwnd,
        alpha_at: c.alpha_at,
        cut_at: c.cut_at,
        average: c.average,
        window_end: c.window_end.into(),
        recover: c.recover.into(),
        delivered: c.delivered,
        delivered_ce: c.delivered_ce,
        ssthresh: c.ssthresh,
        prior_ssthresh: c.prior_ssthresh,
        transition: c.transition,
        quiet: c.quiet,
        looking: c.looking,
        saw_ce: c.saw_ce != 0,
        in_loss: c.in_loss != 0,
        after_loss: c.after_loss != 0,
    }
}

/// Counts of the states that a run of Prague reached.
#[derive(Debug, Default)]
struct Seen {
    floor: u64,
    above_a_thousand: u64,
    in_loss: u64,
    slow_start: u64,
    /// Grew fast for long enough that the step had doubled twice.
    far: u64,
}

fn random_prague(r: &mut Random) -> prague::Config {
    use prague::{ClassicGrowth, Fallback, Increase, RttIndependence, SlowStart};
    prague::Config {
        fallback: r.of(&[Fallback::Off, Fallback::Passive, Fallback::Active]),
        detector: random_detector(r),
        classic_growth: r.of(&[ClassicGrowth::Scalable, ClassicGrowth::Reno]),
        rtt_independence: r.of(&[
            RttIndependence::Off,
            RttIndependence::Rate,
            RttIndependence::Scalable,
            RttIndependence::Additive,
        ]),
        rtt_transition: r.any(9) as u32,
        alpha_clock: r.of(&[Clock::Rtt, Clock::Virtual]),
        alpha_on_init: r.below(1025) as u32,
        increase: r.of(&[Increase::Additive, Increase::Fast]),
        slow_start: r.of(&[SlowStart::Halve, SlowStart::Gentle]),
        ..prague::Config::linux()
    }
}

fn compare_prague(
    seed: u64,
    steps: usize,
    config: &prague::Config,
    seen: &mut Seen,
    judged: &mut Judged,
) {
    let mut acks = Acks::new(seed);
    let mss = 100 + acks.random.below(9000) as u32;
    let initial_window = 1 + acks.random.below(100) as u32;
    let connection = Connection { initial_window, ..Connection::new(mss) };
    let mut rust = prague::Control::new(config, &connection);
    let mut window = Window::new(initial_window);
    let settings = Settings::new(config);
    let mut c = CPrague::default();
    let mut detector = (settings.detects != 0).then(CDetector::default);
    let mut bottleneck = Bottleneck::new(seed);
    let mut repairing = false;
    for step in 0..steps {
        let ack = acks.next(window.cwnd);
        let limited = !acks.random.one_in(8);
        let ack = Ack { limited, in_flight: acks.random.below(200) as u32, ..ack };
        if step == 0 {
            let now = ack.now.as_nanos() / 1000;
            l4s_prague_start(&mut c, &settings, window.cwnd, ack.nxt as u32, now);
            if let Some(d) = &mut detector {
                l4s_classic_ecn_start(d, &settings.detector, 0);
            }
        }
        window = rust.on_ack(&ack).window;
        let c_ack = CAck {
            now: ack.now.as_nanos() / 1000,
            srtt_us: ack.srtt.as_micros() as u32,
            rtt_us: ack.rtt.map_or(NO_RTT, |rtt| rtt.as_micros() as u32),
            min_rtt_us: ack.min_rtt.as_micros() as u32,
            delivered: ack.delivered,
            delivered_ce: ack.delivered_ce,
            una: ack.una as u32,
            nxt: ack.nxt as u32,
            acked: ack.una as u32,
            limited: ack.limited.into(),
            app_limited: (ack.unsent == 0).into(),
        };
        l4s_prague_on_ack(&mut c, &settings, detector.as_mut(), &c_ack);
        // The simulated transport expects the control to permit the first lost segment.
        let least = if core::mem::take(&mut repairing) { ack.in_flight + 1 } else { 0 };
        assert_eq!(window.cwnd, l4s_prague_cwnd(&c).max(least), "seed {seed}, step {step}");
        assert_eq!(
            rust.pacing_rate(&ack),
            l4s_prague_pacing_rate(&c, ack.in_flight, mss, ack.srtt.as_micros() as u32),
            "seed {seed}, step {step}"
        );
        // The state of the connection without an acknowledgement, for other events.
        let at = Ack { delivered: 0, delivered_ce: 0, ece: false, rtt: None, ..ack };
        let c_at = CAck { delivered: 0, delivered_ce: 0, rtt_us: NO_RTT, ..c_ack };
        match acks.random.below(20_000) {
            0..10 => {
                window = rust.on_congestion(Congestion::Loss, false, &at).window;
                repairing = true;
                l4s_prague_on_ack(&mut c, &settings, detector.as_mut(), &c_at);
                l4s_prague_on_loss(&mut c, &settings, detector.as_mut(), ack.nxt as u32, 0);
                assert_eq!(window.ssthresh, c.ssthresh);
            }
            10 => {
                rust.on_congestion(Congestion::Timeout, false, &at);
                l4s_prague_on_ack(&mut c, &settings, detector.as_mut(), &c_at);
                l4s_prague_on_loss(&mut c, &settings, detector.as_mut(), ack.nxt as u32, 1);
            }
            11 => {
                window = rust.on_recovered(Recovery::Spurious(Some(window))).window;
                repairing = false;
                l4s_prague_on_undo(&mut c, &settings, detector.as_mut());
            }
            12 => {
                let (idle, rto) = (acks.random.below(10_000_000), acks.random.below(300_000));
                let [length, rto_span] = [idle, rto].map(Duration::from_micros);
                window = rust.on_restart(Pause { now: ack.now, length, rto: rto_span }).window;
                l4s_prague_on_restart(
                    &mut c,
                    &settings,
                    detector.as_mut(),
                    idle as u32,
                    rto as u32,
                );
            }
            _ => {}
        }
        if let Some(d) = &mut detector {
            if bottleneck.asks() {
                let sent = rust.wants_tracers();
                let c_sent = l4s_classic_ecn_wants_tracers(d) != 0;
                assert_eq!(sent, c_sent, "seed {seed}, step {step}");
                if sent {
                    bottleneck.send();
                }
            }
            if let Some(overtook) = bottleneck.answer() {
                rust.traced(overtook);
                l4s_classic_ecn_on_traced(d, &settings.detector, overtook.into());
            }
        }
        assert_eq!(*rust.state(), wide(&c), "seed {seed}, step {step}: {ack:?} {config:?}");
        if let (Some(d), true) = (&detector, step % 16 == 0) {
            let state = rust.detector().map(Detector::state);
            let expected = Some(state_of(d, &settings.detector));
            assert_eq!(state, expected, "seed {seed}, step {step}: {ack:?} {config:?}");
        }
        seen.floor += u64::from(l4s_prague_cwnd(&c) == 2);
        seen.above_a_thousand += u64::from(window.cwnd > 1000);
        seen.in_loss += u64::from(c.in_loss);
        seen.slow_start += u64::from(window.in_slow_start());
        seen.far += u64::from(settings.fast != 0 && c.looking > 2 && !window.in_slow_start());
        if let Some(d) = &detector {
            judged.count(d);
        }
    }
    judged.scored += detector.map_or(0, |d| d.rounds.into());
}

#[test]
fn prague_is_the_same_in_c_and_in_rust() {
    let configs = [
        prague::Config::default(),
        prague::Config { alpha_on_init: 1 << 10, ..Default::default() },
        prague::Config { rtt_independence: prague::RttIndependence::Off, ..Default::default() },
        prague::Config { fallback: prague::Fallback::Passive, ..prague::Config::linux_0_6() },
        prague::Config::paper(),
    ];
    let (mut seen, mut judged) = (Seen::default(), Judged::default());
    let mut random = Random(7);
    // Many short connections, since each has only one slow start.
    for seed in 0..200 {
        let config = match configs.get(seed as usize % 10) {
            Some(config) => *config,
            None => random_prague(&mut random),
        };
        compare_prague(seed, STEPS / 200, &config, &mut seen, &mut judged);
    }
    println!("{seen:?}");
    // Every part of the arithmetic was used.
    for times in [seen.floor, seen.above_a_thousand, seen.in_loss, seen.slow_start, seen.far] {
        assert!(times > STEPS as u64 / 1000, "{seen:?}");
    }
    judged.assert(STEPS as u64 / 2000);
}

/// The settings of a kernel until other settings are written.
#[test]
fn the_stock_settings_are_those_of_the_profile_linux() {
    let mut stock = Settings { fast: 7, ..Settings::default() };
    l4s_prague_stock(&mut stock);
    assert_eq!(stock, Settings::new(&prague::Config::linux()));
}

/// The kernel's sequence numbers wrap at 32 bits; those of l4s_cc do not.
#[test]
fn sequence_numbers_wrap() {
    let config = Settings::new(&prague::Config {
        rtt_independence: prague::RttIndependence::Off,
        ..Default::default()
    });
    let mut c = CPrague::default();
    l4s_prague_start(&mut c, &config, 10, u32::MAX - 5, 0);
    let ack = |una: u32| CAck {
        now: 1000,
        srtt_us: 1000,
        rtt_us: 1000,
        min_rtt_us: 1000,
        delivered: 1,
        delivered_ce: 0,
        una,
        nxt: una.wrapping_add(10),
        acked: 1,
        limited: 1,
        app_limited: 0,
    };
    l4s_prague_on_ack(&mut c, &config, None, &ack(u32::MAX - 6));
    assert_eq!(c.window_end, u32::MAX - 5);
    l4s_prague_on_ack(&mut c, &config, None, &ack(3));
    assert_eq!(c.window_end, 13);

    let mut c = CDctcp::default();
    l4s_dctcp_start(&mut c, u32::MAX - 5);
    l4s_dctcp_observe(&mut c, 1, 0, u32::MAX - 6, 2);
    assert_eq!(c.delivered, 1);
    l4s_dctcp_observe(&mut c, 1, 0, 2, 20);
    assert_eq!((c.delivered, c.window_end), (0, 20));
}
