//! The tracers of active detection: when a set is sent, and what its answer does to the score.

use super::*;

use l4s_cc::classic_ecn::tracers::{Finding, Phase, SETS, Scores, Tracers};

/// `TRACERS_ONE_QUEUE`.
pub(super) const ONE_QUEUE: u8 = 1;
/// `TRACERS_TWO_QUEUES`.
pub(super) const TWO_QUEUES: u8 = 2;
/// `TRACERS_EAGER`.
const EAGER: u32 = 4;
/// `CLASSIC_ECN_ONE`.
const ONE: i64 = 1 << 24;

/// `struct tracers` of tracers.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CTracers {
    left: u32,
    overtaken: u32,
    in_order: u32,
    waited: u32,
    nothing: u32,
    phase: u8,
    pub(super) finding: u8,
    waits: u8,
    unmarked: u8,
    hurry: u8,
}

impl CTracers {
    /// What another connection left in the memory that a new one gets.
    pub(super) const USED: CTracers = CTracers {
        left: 7,
        overtaken: 6,
        in_order: 5,
        waited: 4,
        nothing: 3,
        phase: 2,
        finding: TWO_QUEUES,
        waits: 1,
        unmarked: 1,
        hurry: 1,
    };
}

/// The state of the C tracers as l4s_cc has it.
pub(super) fn tracers_of(c: &CTracers, settings: &DetectorSettings) -> Tracers {
    Tracers {
        finds: settings.best != 0,
        scores: Scores { l_sticky: settings.l_sticky as i64, classic: ONE },
        phase: match c.phase {
            0 => Phase::Idle,
            1 => Phase::Armed(c.left),
            2 => Phase::Resting(c.left),
            3 => Phase::Waiting,
            _ => Phase::Suppressed(c.left),
        },
        overtaken: c.overtaken,
        in_order: c.in_order,
        waited: c.waited,
        waits: c.waits != 0,
        unmarked: c.unmarked != 0,
        hurry: c.hurry != 0,
        finding: match c.finding {
            ONE_QUEUE => Finding::OneQueue,
            TWO_QUEUES => Finding::TwoQueues,
            _ => Finding::Nothing(c.nothing),
        },
    }
}

/// What answers sets: for a while it does so in one way, and then in another.
pub(super) struct Bottleneck {
    random: Random,
    /// Sets that it has.
    sets: u32,
    /// So many of four are overtaken,
    overtaken: u64,
    /// and so many of four are answered. The others are lost.
    answered: u64,
}

impl Bottleneck {
    pub(super) fn new(seed: u64) -> Bottleneck {
        Bottleneck { random: Random(!seed), sets: 0, overtaken: 0, answered: 4 }
    }

    /// Whether there is a segment that could go as a set.
    pub(super) fn asks(&mut self) -> bool {
        self.random.one_in(4)
    }

    /// It went as one.
    pub(super) fn send(&mut self) {
        self.sets += 1;
    }

    /// Whether one comes back, and how. Rarely one that was never sent.
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

/// What runs of the tracers went through.
#[derive(Debug, Default)]
struct Went {
    sent: u64,
    suppressed: u64,
    one_queue: u64,
    two_queues: u64,
    /// Found nothing so often that tests are rare.
    rare: u64,
    /// Given up without a finding, as in the paper.
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
    // Of four round trips so many have a mark, so many wait, and of eight come unmarked.
    let (mut marked, mut waits, mut unmarked) = (0, 0, 0);
    for step in 0..steps {
        let context = || format!("seed {seed}, step {step}: {config:?}");
        if r.one_in(100) {
            (marked, waits, unmarked) = (r.of(&[0, 2, 4]), r.of(&[0, 1, 4]), r.of(&[0, 1, 4]));
        }
        if bottleneck.asks() {
            let sent = rust.wants();
            assert_eq!(sent, l4s_tracers_wants(&mut c) != 0, "{}", context());
            if sent {
                bottleneck.send();
                went.sent += 1;
            }
        }
        if r.one_in(3) {
            let (waits, unmarked) = (r.below(4) < waits, r.below(8) < unmarked);
            rust.on_rtt(waits, unmarked);
            l4s_tracers_on_rtt(&mut c, waits.into(), unmarked.into());
        }
        if let Some(overtook) = bottleneck.answer() {
            let after = rust.outcome(overtook, score);
            let expected = l4s_tracers_outcome(&mut c, &settings, overtook.into(), score);
            assert_eq!(after, expected, "{}", context());
            score = after;
        }
        if r.one_in(3) {
            // What round trips make of it: most often little, and at times where it matters.
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
        went.one_queue += u64::from(rust.found_one_queue());
        went.two_queues += u64::from(rust.found_two_queues());
        went.rare += u64::from(c.nothing > EAGER);
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
    let Went { sent, suppressed, one_queue, two_queues, rare, papers } = went;
    for times in [sent, suppressed, one_queue, two_queues, rare, papers] {
        assert!(times > STEPS as u64 / 1000, "{went:?}");
    }
}
