//! Tracers: when a set is sent, and how its answer changes the score.

use super::*;

use l4s_cc::classic_ecn::tracers::{Finding, Phase, SETS, Scores, Tracers};

/// `TRACERS_SINGLE_QUEUE`.
pub(super) const SINGLE_QUEUE: u8 = 1;
/// `TRACERS_DUAL_QUEUE`.
pub(super) const DUAL_QUEUE: u8 = 2;
/// `TRACERS_IMMEDIATE_TESTS`.
const IMMEDIATE_TESTS: u32 = 4;
/// `CLASSIC_ECN_ONE`.
const ONE: i64 = 1 << 24;

/// `struct tracers` of tracers.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CTracers {
    left: u32,
    overtaken: u32,
    in_order: u32,
    queued_in_order: u32,
    inconclusive: u32,
    phase: u8,
    pub(super) finding: u8,
    queued: u8,
    unmarked_above_step: u8,
    send_unqueued: u8,
}

impl CTracers {
    /// Memory with the contents of an earlier connection.
    pub(super) const USED: CTracers = CTracers {
        left: 7,
        overtaken: 6,
        in_order: 5,
        queued_in_order: 4,
        inconclusive: 3,
        phase: 2,
        finding: DUAL_QUEUE,
        queued: 1,
        unmarked_above_step: 1,
        send_unqueued: 1,
    };
}

/// The state of the C tracers as a state of l4s_cc.
pub(super) fn tracers_of(c: &CTracers, settings: &DetectorSettings) -> Tracers {
    Tracers {
        best: settings.best != 0,
        scores: Scores { l_sticky: settings.l_sticky as i64, classic: ONE },
        phase: match c.phase {
            0 => Phase::Idle,
            1 => Phase::Armed(c.left),
            2 => Phase::Sent(c.left),
            3 => Phase::Waiting,
            _ => Phase::Suppressed(c.left),
        },
        overtaken: c.overtaken,
        in_order: c.in_order,
        queued_in_order: c.queued_in_order,
        queued: c.queued != 0,
        unmarked_above_step: c.unmarked_above_step != 0,
        send_unqueued: c.send_unqueued != 0,
        finding: match c.finding {
            SINGLE_QUEUE => Finding::SingleQueue,
            DUAL_QUEUE => Finding::DualQueue,
            _ => Finding::Inconclusive(c.inconclusive),
        },
    }
}

/// The bottleneck that answers sets. Its behaviour changes at random times.
pub(super) struct Bottleneck {
    random: Random,
    /// Sets that are not answered.
    sets: u32,
    /// The number of sets of 4 that are overtaken.
    overtaken: u64,
    /// The number of sets of 4 that are answered. The others are lost.
    answered: u64,
}

impl Bottleneck {
    pub(super) fn new(seed: u64) -> Bottleneck {
        Bottleneck { random: Random(!seed), sets: 0, overtaken: 0, answered: 4 }
    }

    /// Whether a segment can be sent as a set.
    pub(super) fn asks(&mut self) -> bool {
        self.random.one_in(4)
    }

    /// A set was sent.
    pub(super) fn send(&mut self) {
        self.sets += 1;
    }

    /// An answer, and whether its set was overtaken. A few answers belong to no set.
    pub(super) fn answer(&mut self) -> Option<bool> {
        let r = &mut self.random;
        if r.one_in(200) {
            self.overtaken = r.of(&[0, 0, 1, 3, 4]);
            self.answered = r.of(&[0, 2, 4, 4]);
        }
        if !r.one_in(if self.sets > 0 { 4 } else { 400 }) {
            return None;
        }
        self.sets = self.sets.saturating_sub(1);
        (r.below(4) < self.answered).then(|| r.below(4) < self.overtaken)
    }
}

/// Counts of the states that the runs reached.
#[derive(Debug, Default)]
struct Went {
    sent: u64,
    suppressed: u64,
    single_queue: u64,
    dual_queue: u64,
    /// Steps in which the next test is delayed because earlier ones were inconclusive.
    rare: u64,
    /// Steps with tests suppressed by the paper's rules.
    papers: u64,
}

fn compare_tracers(seed: u64, steps: usize, went: &mut Went) {
    let mut r = Random(seed);
    let config = classic_ecn::Config {
        rules: r.of(&[Rules::Paper, Rules::Best]),
        l_sticky: r.any(10).min(1000) as f64 / 3.0,
        ..classic_ecn::Config::best()
    };
    let settings = DetectorSettings::new(&config, true);
    let l_sticky = settings.l_sticky as i64;
    let scores = Scores { l_sticky, classic: ONE };
    let mut rust = Tracers::new(settings.best != 0, scores);
    let step_of_a_set = l_sticky / i64::from(SETS);
    let mut c = CTracers::USED;
    l4s_tracers_start(&mut c);
    let mut bottleneck = Bottleneck::new(seed);
    let mut score = -l_sticky;
    // The numbers of round trips with a mark of 4, with a queue of 4, and unmarked above the step of 8.
    let (mut marked, mut queued, mut unmarked) = (0, 0, 0);
    for step in 0..steps {
        let context = || format!("seed {seed}, step {step}: {config:?}");
        if r.one_in(100) {
            (marked, queued, unmarked) = (r.of(&[0, 2, 4]), r.of(&[0, 1, 4]), r.of(&[0, 1, 4]));
        }
        if bottleneck.asks() {
            let sent = rust.take_set();
            assert_eq!(sent, l4s_tracers_take_set(&mut c) != 0, "{}", context());
            if sent {
                bottleneck.send();
                went.sent += 1;
            }
        }
        if r.one_in(3) {
            let (queued, unmarked) = (r.below(4) < queued, r.below(8) < unmarked);
            rust.on_rtt(queued, unmarked);
            l4s_tracers_on_rtt(&mut c, queued.into(), unmarked.into());
        }
        if let Some(overtook) = bottleneck.answer() {
            let after = rust.on_answer(overtook, score);
            let expected = l4s_tracers_on_answer(&mut c, &settings, overtook.into(), score);
            assert_eq!(after, expected, "{}", context());
            score = after;
        }
        if r.one_in(3) {
            // The RTT changes the score: mostly by little, at times to a bound.
            score = match r.below(40) {
                0 => -l_sticky,
                1 => 1 - l_sticky,
                2 => -step_of_a_set - 1,
                3 => -step_of_a_set,
                4 => ONE - 1,
                5 => ONE + 1,
                _ => (score + r.below(1 << 23) as i64 - (1 << 22)).max(-l_sticky),
            };
            let marked = r.below(4) < marked;
            let after = rust.on_round(score, marked);
            let expected = l4s_tracers_on_round(&mut c, &settings, score, marked.into());
            assert_eq!(after, expected, "{}", context());
            score = after;
        }
        assert_eq!(rust, tracers_of(&c, &settings), "{}", context());
        went.suppressed += u64::from(rust.is_suppressed());
        went.single_queue += u64::from(rust.is_single_queue());
        went.dual_queue += u64::from(rust.is_dual_queue());
        went.rare += u64::from(c.inconclusive > IMMEDIATE_TESTS);
        went.papers += u64::from(settings.best == 0 && rust.is_suppressed());
    }
}

#[test]
fn tracers_are_the_same_in_c_and_in_rust() {
    let mut went = Went::default();
    for seed in 0..200 {
        compare_tracers(seed, STEPS / 400, &mut went);
    }
    println!("{went:?}");
    let Went { sent, suppressed, single_queue, dual_queue, rare, papers } = went;
    for times in [sent, suppressed, single_queue, dual_queue, rare, papers] {
        assert!(times > STEPS as u64 / 1000, "{went:?}");
    }
}
