//! BBR, version 3: `bbr3.h` beside `l4s_cc::bbr3`, on random acknowledgements, losses, repairs and pauses.

use l4s_cc::bbr3::{Config, Control, Mode, Model, Phase, control};
use l4s_cc::{
    Ack, Congestion, CongestionControl, Connection, Decision, Delivery, LossSample, Pause,
    RateSample, Recovery, Repair, Window,
};
use l4s_units::{Duration, Rate, Time};

use crate::{NO_RTT, Random, STEPS};

/// `struct bbr3`, with room to spare.
#[repr(C)]
struct CBbr3([u64; 128]);

/// `struct bbr3_ack`.
#[repr(C)]
#[derive(Debug)]
struct CAck {
    now: u64,
    interval_us: u64,
    delivered: u32,
    prior_delivered: u32,
    lost: u32,
    prior_lost: u32,
    tx_in_flight: u32,
    acked: u32,
    rtt_us: u32,
    in_flight: u32,
    mss: u32,
    app_limited: u8,
    limited: u8,
    ece: u8,
    repair: u8,
}

/// `struct bbr3_loss`.
#[repr(C)]
struct CLoss {
    now: u64,
    seq: u32,
    lost: u32,
    tx_in_flight: u32,
    delivered: u32,
    app_limited: u8,
}

/// `struct bbr3_report` of host.c.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Report {
    max_bw: u64,
    bw_shortterm: u64,
    inflight_shortterm: u64,
    inflight_longterm: u64,
    bdp: u64,
    extra_acked: u64,
    round_count: u64,
    pacing_rate: u64,
    min_rtt: u32,
    full_bw_count: u32,
    cwnd: u32,
    ssthresh: u32,
    quantum: u32,
    full_bw_reached: u8,
    full_bw_now: u8,
    idle_restart: u8,
    mode: u8,
}

// SAFETY: host.c defines these with the same arguments. They access only the memory that the references
// are to, of which a test checks the size, and any bits are a valid state.
#[allow(unsafe_code)]
unsafe extern "C" {
    safe fn l4s_bbr3_size() -> u32;
    safe fn l4s_bbr3_seed(seed: u64);
    safe fn l4s_bbr3_start(s: &mut CBbr3, cwnd: u32, mss: u32, delivered: u32, srtt: u32, now: u64);
    safe fn l4s_bbr3_on_lost(s: &mut CBbr3, l: &CLoss);
    safe fn l4s_bbr3_on_ack(s: &mut CBbr3, a: &CAck);
    safe fn l4s_bbr3_begin_repair(s: &mut CBbr3);
    safe fn l4s_bbr3_on_timeout(s: &mut CBbr3, in_flight: u32);
    safe fn l4s_bbr3_on_undo(s: &mut CBbr3);
    safe fn l4s_bbr3_on_restart(s: &mut CBbr3, mss: u32, now: u64);
    safe fn l4s_bbr3_report(s: &CBbr3, r: &mut Report);
}

/// The kernel's value for no slow-start threshold.
const NO_THRESHOLD: u32 = 0x7fff_ffff;
const NONE: u64 = u64::MAX;
const MODES: [Mode; 7] = [
    Mode::Startup,
    Mode::Drain,
    Mode::ProbeBw(Phase::Down),
    Mode::ProbeBw(Phase::Cruise),
    Mode::ProbeBw(Phase::Refill),
    Mode::ProbeBw(Phase::Up),
    Mode::ProbeRtt,
];

fn at(now_us: u64) -> Time {
    Time::from_nanos(now_us * 1000)
}

fn bps(bandwidth: u64, payload: u32) -> Rate {
    let bytes = (u128::from(bandwidth) * u128::from(payload) * 1_000_000) >> 24;
    Rate::from_bps(bytes as u64 * 8)
}

/// A connection in both languages, and the path that answers it.
struct Pair {
    random: Random,
    rust: Control,
    decision: Decision,
    c: CBbr3,
    mss: u32,
    now_us: u64,
    /// The path: its RTT, and the segments of a round trip.
    rtt_us: u64,
    flight: u64,
    delivered: u64,
    lost: u64,
    repair: Repair,
}

impl Pair {
    fn new(seed: u64) -> Pair {
        let mut random = Random(seed);
        let mss = 100 + random.below(1400) as u32;
        let initial_window = 1 + random.below(40) as u32;
        let connection = Connection { initial_window, seed, ..Connection::new(mss) };
        let (now_us, rtt_us) = (1 + random.below(1_000_000), 50 + random.any(17));
        // Totals of the kernel wrap at 32 bits.
        let delivered = if random.one_in(4) { (1 << 32) - random.below(100_000) } else { 1 };
        let srtt = if random.one_in(8) { 0 } else { rtt_us };
        let mut rust = control(&Config::default(), &connection);
        rust.sample_rate(&RateSample { delivered, ..RateSample::default() });
        let decision = rust.on_ack(&Ack {
            now: at(now_us),
            srtt: Duration::from_micros(srtt),
            ..Ack::default()
        });
        let mut c = CBbr3([0; 128]);
        assert!(size_of::<CBbr3>() >= l4s_bbr3_size() as usize);
        l4s_bbr3_seed(seed);
        l4s_bbr3_start(&mut c, initial_window, mss, delivered as u32, srtt as u32, now_us);
        let flight = 1 + random.any(11);
        let (lost, repair) = (0, Repair::None);
        Pair { random, rust, decision, c, mss, now_us, rtt_us, flight, delivered, lost, repair }
    }

    /// The connection without an acknowledgement.
    fn at(&self, in_flight: u32) -> Ack {
        Ack { now: at(self.now_us), in_flight, ..Ack::default() }
    }

    /// A flight near the window: below it, or at its end.
    fn in_flight(&mut self) -> u32 {
        let cwnd = self.decision.window.cwnd.min(1 << 20);
        match self.random.below(4) {
            0 => self.random.below(u64::from(cwnd) + 3) as u32,
            1 => cwnd / 2,
            _ => cwnd,
        }
    }

    fn lose(&mut self) {
        let mut seq = self.delivered + self.random.below(100);
        for _ in 0..1 + self.random.any(4) {
            self.lost += 1;
            seq += 1 + self.random.below(2);
            let (now, lost) = (at(self.now_us), 1 + self.random.any(5).min(self.lost - 1));
            let (tx_in_flight, app_limited) = (self.in_flight(), self.random.one_in(8));
            let delivered = self.delivered;
            self.rust.sample_loss(&LossSample {
                now,
                seq,
                lost,
                tx_in_flight,
                app_limited,
                delivered,
            });
            let loss = CLoss {
                now: self.now_us,
                seq: seq as u32,
                lost: lost as u32,
                tx_in_flight,
                delivered: delivered as u32,
                app_limited: app_limited.into(),
            };
            l4s_bbr3_on_lost(&mut self.c, &loss);
        }
    }

    /// Anything but an acknowledgement.
    fn event(&mut self) {
        let in_flight = self.in_flight();
        match self.random.below(10) {
            0..4 => {
                self.decision =
                    self.rust.on_congestion(Congestion::Loss, false, &self.at(in_flight));
                l4s_bbr3_begin_repair(&mut self.c);
                self.repair = Repair::Recovery;
                self.lose();
            }
            4 => self.lose(),
            5 => {
                let answered = self.random.one_in(2);
                let at = self.at(in_flight);
                self.decision = self.rust.on_congestion(Congestion::Timeout, answered, &at);
                if !answered {
                    l4s_bbr3_begin_repair(&mut self.c);
                }
                l4s_bbr3_on_timeout(&mut self.c, in_flight);
                self.repair = Repair::Timeout;
            }
            6 | 7 => {
                self.decision = self.rust.on_recovered(Recovery::Complete);
                self.repair = Repair::None;
            }
            8 => {
                self.decision = self.rust.on_recovered(Recovery::Spurious(None));
                l4s_bbr3_on_undo(&mut self.c);
                self.repair = Repair::None;
            }
            _ => {
                self.now_us += self.random.any(23);
                let (length, rto) = (Duration::from_secs(1), Duration::from_millis(200));
                let pause = Pause { now: at(self.now_us), length, rto };
                self.decision = self.rust.on_restart(pause);
                l4s_bbr3_on_restart(&mut self.c, self.mss, self.now_us);
            }
        }
    }

    fn ack(&mut self) {
        let r = &mut self.random;
        if r.one_in(3000) {
            // Another path.
            (self.rtt_us, self.flight) = (50 + r.any(17), 1 + r.any(11));
        }
        let acked = match r.below(1000) {
            0..20 => 0,
            20..40 => r.below(200),
            _ => 1 + r.below(2),
        } as u32;
        self.now_us += 1 + r.below(2 * self.rtt_us * u64::from(acked.max(1)) / self.flight + 1);
        self.delivered += u64::from(acked);
        // Mostly the flight of a round trip, and sometimes less or more.
        let segments = match r.below(8) {
            0 => r.below(2 * self.flight + 1),
            _ => self.flight,
        };
        let segments = segments.max(acked.into()).min(self.delivered);
        let interval_us = self.rtt_us / 2 + r.below(self.rtt_us) + 1;
        let has_rate = !r.one_in(20);
        let delivery = Delivery { segments, interval: Duration::from_micros(interval_us) };
        let prior_lost = self.lost - r.any(4).min(self.lost) * u64::from(r.one_in(4));
        let (app_limited, limited, ece) = (r.one_in(20), !r.one_in(4), r.one_in(500));
        let rtt_us = (!r.one_in(20)).then_some(self.rtt_us + r.below(self.rtt_us));
        let tx_in_flight = if r.one_in(10) { 0 } else { r.below(2) as u32 + segments as u32 };
        let in_flight = self.in_flight();
        self.rust.sample_rate(&RateSample {
            delivery: has_rate.then_some(delivery),
            delivered: self.delivered,
            delivered_at: at(self.now_us),
            prior_delivered: self.delivered - segments,
            app_limited,
            lost: self.lost,
            prior_lost,
            tx_in_flight,
            repair: self.repair,
            ..RateSample::default()
        });
        let rtt = rtt_us.map(Duration::from_micros);
        let ack = Ack { delivered: acked, ece, rtt, limited, ..self.at(in_flight) };
        self.decision = self.rust.on_ack(&ack);
        let ack = CAck {
            now: self.now_us,
            interval_us: if has_rate { interval_us } else { 0 },
            delivered: self.delivered as u32,
            prior_delivered: (self.delivered - segments) as u32,
            lost: self.lost as u32,
            prior_lost: prior_lost as u32,
            tx_in_flight,
            acked,
            rtt_us: rtt_us.map_or(NO_RTT, |rtt| rtt as u32),
            in_flight,
            mss: self.mss,
            app_limited: app_limited.into(),
            limited: limited.into(),
            ece: ece.into(),
            repair: self.repair as u8,
        };
        l4s_bbr3_on_ack(&mut self.c, &ack);
    }

    /// Every figure of the model and of the decision, from Rust, in the units of C.
    fn rust(&self) -> (Model, Report) {
        let model = self.rust.model();
        let Decision { window, pacing, quantum } = self.decision;
        let report = Report {
            inflight_shortterm: model.inflight_shortterm.unwrap_or(NONE),
            inflight_longterm: model.inflight_longterm.unwrap_or(NONE),
            bdp: model.bdp,
            extra_acked: model.extra_acked,
            round_count: model.round_count,
            pacing_rate: pacing.expect("it always paces").as_bps() / 8,
            min_rtt: model.min_rtt.map_or(NO_RTT, |rtt| rtt.as_micros() as u32),
            full_bw_count: model.full_bw_count,
            cwnd: window.cwnd,
            ssthresh: if window.ssthresh == Window::NO_THRESHOLD {
                NO_THRESHOLD
            } else {
                window.ssthresh
            },
            quantum,
            full_bw_reached: model.full_bw_reached.into(),
            full_bw_now: model.full_bw_now.into(),
            idle_restart: model.idle_restart.into(),
            mode: MODES.iter().position(|mode| *mode == self.rust.mode()).unwrap() as u8,
            ..Report::default()
        };
        (model, report)
    }

    fn compare(&self, what: &str) -> Report {
        let (model, mut rust) = self.rust();
        let mut c = Report::default();
        l4s_bbr3_report(&self.c, &mut c);
        // Rates of the model are public in bits per second.
        let bound = (c.bw_shortterm != NONE).then(|| bps(c.bw_shortterm, self.mss));
        assert_eq!((model.max_bw, model.bw_shortterm), (bps(c.max_bw, self.mss), bound), "{what}");
        (rust.max_bw, rust.bw_shortterm) = (c.max_bw, c.bw_shortterm);
        assert_eq!(rust, c, "{what}");
        c
    }
}

/// How often a run of connections was in each mode, had a bound or paused, and how often startup found a queue by
/// its losses.
#[derive(Debug, Default)]
struct Seen {
    modes: [usize; MODES.len()],
    bounds: [usize; 2],
    pauses: usize,
    queues: usize,
}

impl Seen {
    /// Compares a connection of `steps` acknowledgements, with an event after one in `events` of them.
    fn follow(&mut self, seed: u64, steps: usize, events: u64) {
        let mut pair = Pair::new(seed);
        let mut in_startup = false;
        for step in 0..steps {
            if pair.random.one_in(events) {
                pair.event();
                let report = pair.compare(&format!("seed {seed}, step {step}, event"));
                self.pauses += usize::from(report.idle_restart != 0);
            }
            pair.ack();
            let report = pair.compare(&format!("seed {seed}, step {step}"));
            self.modes[usize::from(report.mode)] += 1;
            self.bounds[0] += usize::from(report.inflight_longterm != NONE);
            self.bounds[1] += usize::from(report.inflight_shortterm != NONE);
            self.queues += usize::from(in_startup && report.inflight_longterm != NONE);
            in_startup = report.mode == 0 && report.inflight_longterm == NONE;
        }
    }
}

#[test]
fn bbr3_is_the_same_in_c_and_in_rust() {
    let mut seen = Seen::default();
    for seed in 0..200 {
        // Some paths lose nothing, and are probed to the end.
        seen.follow(seed, STEPS / 200, [20, 500, 5000][seed as usize % 3]);
    }
    // Startup ends early: many short connections with many losses.
    for seed in 200..4200 {
        seen.follow(seed, 100, 5);
    }
    println!("{seen:?}");
    // Every part of the arithmetic was used.
    let Seen { modes, bounds, pauses, queues } = seen;
    for times in modes.into_iter().chain(bounds).chain([pauses]) {
        assert!(times > STEPS / 5000, "{modes:?}, {bounds:?}, {pauses}");
    }
    assert!(queues > 100, "{queues}");
}
