//! Whatever a connection goes through, the detector of Classic ECN does not overflow, and its
//! score keeps within its stickiness.
#![no_main]

use l4s_cc::classic_ecn::{Config, Detector, Rules, Sample};
use l4s_units::Duration;
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    rules: u8,
    /// In place of the numbers of the rules, within their ranges.
    own: Option<Own>,
    tracers: bool,
    events: Vec<Event>,
}

#[derive(Arbitrary, Debug)]
struct Own {
    weights: [u16; 3],
    v0_us: u32,
    d0_us: u32,
    l_sticky: u16,
    c_sticky: u16,
    shift_max: u8,
}

#[derive(Arbitrary, Debug)]
enum Event {
    /// The same acknowledgement so many times, one a `gap_us` after another.
    Acks {
        times: u8,
        ack: Ack,
    },
    Threshold(u32),
    Loss,
    Idle(u32),
    /// A segment goes out.
    Sends,
    Traced {
        overtook: bool,
    },
}

#[derive(Arbitrary, Debug)]
struct Ack {
    gap_us: u32,
    rtt_us: Option<u32>,
    min_rtt_us: u32,
    delivered: u16,
    delivered_ce: u16,
    window: u16,
    self_limited: bool,
    pushed: bool,
    rtt_virt_us: u16,
}

fn config(input: &Input) -> Config {
    let all = [Rules::Paper, Rules::Filtered, Rules::Linux, Rules::Best];
    let rules = all[usize::from(input.rules % 4)];
    let Some(own) = &input.own else { return Config::of(rules) };
    let weight = |w: u16| f64::from(w % 4097) / 256.0;
    let [v, d, s] = own.weights.map(weight);
    let reference = |us: u32| Duration::from_micros(u64::from(us % 16_000_000) + 1);
    Config {
        rules,
        v,
        d,
        s,
        v0: reference(own.v0_us),
        d0: reference(own.d0_us),
        l_sticky: f64::from(own.l_sticky % 2001) / 2.0,
        c_sticky: 1.0 + f64::from(own.c_sticky % 1999) / 2.0,
        shift_max: 1 + u32::from(own.shift_max % 20),
    }
}

/// A connection, and what of its detector must not go back.
struct Connection {
    config: Config,
    traces: bool,
    detector: Detector,
    now_us: u64,
    una: u64,
    nxt: u64,
    marked: bool,
    rounds: u32,
    max: f64,
}

impl Connection {
    fn ack(&mut self, ack: &Ack) {
        self.now_us += u64::from(ack.gap_us);
        self.una += u64::from(ack.delivered);
        self.nxt = self.nxt.max(self.una + u64::from(ack.window));
        self.marked |= ack.delivered_ce > 0;
        self.detector.on_ack(&Sample {
            now_us: self.now_us,
            rtt_us: ack.rtt_us,
            min_rtt_us: ack.min_rtt_us,
            delivered: ack.delivered.into(),
            // What came twice is marked twice: more than was delivered.
            delivered_ce: ack.delivered_ce.into(),
            una: self.una,
            nxt: self.nxt,
            self_limited: ack.self_limited,
            pushed: ack.pushed,
            rtt_virt_us: ack.rtt_virt_us.into(),
        });
    }

    fn step(&mut self, event: &Event) {
        let before = self.detector.score();
        match event {
            Event::Acks { times, ack } => {
                for _ in 0..=*times {
                    self.ack(ack);
                    self.judge();
                }
            }
            Event::Threshold(ssthresh) => {
                self.detector.on_threshold(*ssthresh);
                assert_eq!(self.detector.score(), before);
            }
            Event::Loss => {
                self.detector.on_loss();
                assert_eq!(self.detector.score(), before);
            }
            Event::Idle(timeouts) => {
                self.detector.on_idle(*timeouts);
                let after = self.detector.score();
                assert!(if before > 0 { (0..=before).contains(&after) } else { after == before });
            }
            Event::Sends => {
                let one = self.detector.wants_tracers();
                assert!(self.traces || !one);
                assert!(!self.detector.wants_tracers(), "one set per round trip");
            }
            Event::Traced { overtook } => {
                self.detector.on_traced(*overtook);
                let after = self.detector.score();
                assert!(if *overtook && self.traces { after <= before } else { after == before });
            }
        }
        self.judge();
    }

    fn judge(&mut self) {
        let report = self.detector.report();
        // The score counts in 2^-24.
        let unit = 1.0 / f64::from(1 << 24);
        let Config { l_sticky, c_sticky, .. } = self.config;
        assert!(report.score >= -l_sticky - unit && report.score <= c_sticky.max(unit - l_sticky));
        assert!(report.max >= self.max && report.max <= c_sticky);
        // A mark lifts it off its floor by one unit before the first round trip is scored.
        assert!(report.score <= report.max.max(unit - l_sticky));
        // Where the queue only drops it starts anew.
        assert!(report.rounds >= self.rounds || report.rounds == 0);
        assert!(self.marked || (report.rounds == 0 && report.score == -l_sticky));
        let classic = f64::from(self.detector.classic()) * unit;
        assert_eq!(classic, report.score.clamp(0.0, 1.0));
        let most = Duration::from_micros((1 << 24) - 1);
        assert!(report.srtt <= most && report.mdev <= most && report.depth <= most);
        (self.rounds, self.max) = (report.rounds, report.max);
    }
}

fuzz_target!(|input: Input| {
    let config = config(&input);
    let detector = Detector::new(&config, input.tracers);
    let max = detector.report().max;
    let mut connection = Connection {
        config,
        traces: input.tracers,
        detector,
        now_us: 0,
        una: 0,
        nxt: 0,
        marked: false,
        rounds: 0,
        max,
    };
    for event in &input.events {
        connection.step(event);
    }
});
