//! The score compared with a score in real numbers, its fixed points, its limits and its state at rest.

use proptest::prelude::*;

use super::*;

const MS: u64 = 1000;

/// The detector of Fallback §4.2 and §4.4 in real numbers, without rounding.
struct Reference {
    config: Config,
    score: f64,
    averages: Option<(f64, f64)>,
    g: f64,
    round_end: u64,
}

impl Reference {
    fn new(config: Config) -> Self {
        let g = f64::from(1u32 << config.shift_max);
        Reference { config, score: -config.l_sticky, averages: None, g, round_end: 0 }
    }

    fn on_threshold(&mut self, ssthresh: u32) {
        self.g = f64::from(1u32 << shift_of(ssthresh, self.config.shift_max));
    }

    fn on_ack(&mut self, sample: &Sample) {
        let floor = -self.config.l_sticky;
        if sample.delivered_ce > 0 && self.score <= floor {
            self.score = floor + 1e-9;
        }
        let rtt = f64::from(sample.rtt_us.unwrap());
        let (srtt, mdev) = self.averages.unwrap_or((rtt, 1.0));
        let error = if self.averages.is_some() { rtt - srtt } else { 0.0 };
        let mdev = match self.averages {
            // Smoothed over twice as many acknowledgements (Fallback §4.3).
            Some(_) => mdev + (error.abs() - mdev) / (self.g * 2.0),
            None => mdev,
        };
        self.averages = Some((srtt + error / self.g, mdev));
        if sample.una < self.round_end {
            return;
        }
        self.round_end = sample.nxt;
        if self.score > floor {
            let (srtt, mdev) = self.averages.unwrap();
            let v0 = self.config.v0.as_micros() as f64;
            let d0 = self.config.d0.as_micros() as f64;
            let d = srtt - f64::from(sample.min_rtt_us);
            let s = f64::from(u8::from(sample.self_limited));
            let delta = self.config.v * (mdev.max(1.0) / v0).log2()
                + self.config.d * (d / d0).max(1.0).log2()
                - self.config.s * s;
            self.score = (self.score + delta).clamp(floor, self.config.c_sticky);
        }
    }
}

/// An acknowledgement of one segment of a window of `window`.
fn sample(una: u64, window: u64, rtt: u32, min_rtt: u32, marked: bool) -> Sample {
    Sample {
        now_us: una * 100,
        rtt_us: Some(rtt),
        min_rtt_us: min_rtt,
        delivered: 1,
        delivered_ce: u32::from(marked),
        una,
        nxt: una + window,
        self_limited: false,
        pushed: false,
        rtt_virt_us: 0,
    }
}

/// The mean increment of a round with this deviation and depth, over many rounds.
fn drift<const BITS: u32>(config: &Config, mdev: u32, depth: u32) -> f64 {
    let mut detector = Detector::<BITS>::new(config, false);
    detector.depth = depth;
    let rounds = 200_000;
    let sum: i64 = (0..rounds).map(|_| detector.delta(mdev, &Round::default())).sum();
    sum as f64 / f64::from(rounds) / (1u64 << BITS) as f64
}

/// A deviation at V0, and a depth at or below D0, are evidence for neither kind of queue, for every width
/// of the score. Otherwise the score drifts to one end, as in a published kernel.
#[test]
#[cfg_attr(miri, ignore = "many acknowledgements: minutes")]
fn the_score_rests_at_its_references_whatever_its_width() {
    fn check<const BITS: u32>() {
        for (v0, d0) in [(750, 2000), (500, 1000), (1, 1), (1024, 4096), (999_999, 16_000_000)] {
            let micros = |us: u32| Duration::from_micros(us.into());
            let config = Config { v0: micros(v0), d0: micros(d0), ..Config::paper() };
            // A whole logarithm may be carried past the end: 1/200000. The constant is truncated to
            // 2^-BITS, and so is the weighted sum.
            let bound = 1e-5 + 2.0 / (1u64 << BITS) as f64;
            for depth in [0, d0 / 2, d0] {
                let drift = drift::<BITS>(&config, v0, depth);
                assert!(drift.abs() < bound, "{BITS} bits, {v0}, {d0}, {depth}: {drift}");
            }
        }
    }
    check::<16>();
    check::<20>();
    check::<24>();
    check::<28>();
    check::<31>();
}

#[test]
#[cfg_attr(miri, ignore = "many acknowledgements: minutes")]
fn above_and_below_its_references_the_score_moves_by_half_the_logarithm() {
    let paper = Config::paper();
    // 0.5·lg(3000/750) = 1; 0.5·lg(3000/750) + 0.5·lg(8000/2000) = 2; 0.5·lg(23.4/750) = −2.5.
    for (mdev, depth, expected) in [(3000, 0, 1.0), (3000, 8000, 2.0), (750, 8000, 1.0)] {
        let drift = drift::<24>(&paper, mdev, depth);
        assert!((drift - expected).abs() < 1e-4, "{mdev} {depth}: {drift}");
    }
    // Fallback §4.2: 23 µs moves it down as far as 24 ms moves it up: 32 times less, and 32 times more.
    let (down, up) = (drift::<24>(&paper, 23, 0), drift::<24>(&paper, 24_459, 0));
    assert!((down + up).abs() < 1e-3, "{down} {up}");
}

#[test]
fn weights_that_differ_use_two_logarithms() {
    let config = Config { v: 0.5, d: 0.25, ..Config::paper() };
    // 0.5·lg(1500/750) + 0.25·lg(8000/2000) = 0.5 + 0.5.
    let drift = drift::<24>(&config, 1500, 8000);
    assert!((drift - 1.0).abs() < 1e-4, "{drift}");
}

#[test]
fn it_rests_until_the_first_mark_and_again_at_its_floor() {
    let mut detector = Detector::<24>::new(&Config::paper(), false);
    detector.on_threshold(4);
    // The RTT varies by 20 ms, but there is no mark.
    let rtt = |i: u64| if i % 2 == 0 { 10_000 } else { 30_000 };
    for i in 1..1000 {
        detector.on_ack(&sample(i, 2, rtt(i), 10_000, false));
    }
    assert_eq!((detector.report().score, detector.report().rounds), (-8.0, 0));
    // One mark starts it; the averages were updated before (Fallback §4.1.1). A round trip is two segments.
    detector.on_ack(&sample(1000, 2, 10_000, 10_000, true));
    detector.on_ack(&sample(1001, 2, 30_000, 10_000, false));
    assert!(detector.report().rounds == 1 && detector.report().score > -8.0);
    // Steady round trips lower it to the floor, and there it does not change.
    for i in 1002..4000 {
        detector.on_ack(&sample(i, 2, 10_000, 10_000, false));
    }
    let at_rest = detector.report();
    assert_eq!(at_rest.score, -8.0);
    detector.on_ack(&sample(4000, 2, 30_000, 10_000, false));
    assert_eq!(detector.report().rounds, at_rest.rounds);
}

#[test]
fn the_score_keeps_within_its_stickiness() {
    let config = Config { l_sticky: 3.0, c_sticky: 2.0, ..Config::paper() };
    let mut detector = Detector::<24>::new(&config, false);
    detector.on_threshold(4);
    for i in 1..1000 {
        detector.on_ack(&sample(i, 2, 10_000 + 20_000 * (i % 2) as u32, 10_000, true));
    }
    assert_eq!((detector.report().score, detector.report().max), (2.0, 2.0));
    assert_eq!(detector.classic(), 1 << 24);
    for i in 1000..9000 {
        detector.on_ack(&sample(i, 2, 10_000, 10_000, false));
    }
    assert_eq!(detector.report().score, -3.0);
    assert_eq!((detector.classic(), detector.report().max), (0, 2.0));
}

#[test]
fn a_sender_with_nothing_to_send_loses_a_quarter_per_round_trip() {
    let mut detector = Detector::<24>::new(&Config { v: 0.0, d: 0.0, ..Config::paper() }, false);
    detector.score = 4 << 24;
    for i in 1..=8 {
        detector.on_ack(&Sample { self_limited: true, ..sample(i, 1, 10_000, 10_000, false) });
    }
    // 4 − 8·0.25 = 2.
    assert_eq!(detector.report().score, 2.0);
}

/// A half of the acknowledgements, not of the packets.
#[test]
fn a_sender_that_is_limited_for_half_of_a_round_trip_loses_half_of_that() {
    let config = Config { v: 0.0, d: 0.0, ..Config::paper() };
    let mut detector = Detector::<24>::new(&config, false);
    detector.score = 0;
    // The first one ends a round trip of its own, and the fifth ends a round trip of four.
    for i in 1..=5 {
        let ack = sample(i, 4, 10_000, 10_000, false);
        detector.on_ack(&Sample { self_limited: i == 2 || i == 5, ..ack });
    }
    assert_eq!(detector.report().score, -0.125);
}

#[test]
fn who_waits_for_the_receivers_timer_is_not_measured() {
    let measured = |best, ack: Sample| {
        let config = if best { Config::best() } else { Config::paper() };
        let mut detector = Detector::<24>::new(&config, false);
        detector.on_ack(&ack);
        detector.rtt.is_some()
    };
    let single = |una| Sample { now_us: DELAYED_ACK_MIN, ..sample(una, 10, 10_000, 10_000, false) };
    assert!(measured(false, single(11)));
    assert!(!measured(true, single(11)));
    // At the start of a connection every segment is acknowledged at once.
    assert!(measured(true, single(10)));
    assert!(measured(true, Sample { delivered: 2, ..single(11) }));
    assert!(measured(true, Sample { pushed: true, ..single(11) }));
}

/// The receiver's timer starts when it has acknowledged the earlier data.
#[test]
fn who_comes_soon_after_another_did_not_wait_for_the_receivers_timer() {
    let measured = |after: u64| {
        let mut detector = Detector::<24>::new(&Config::best(), false);
        let other = Sample { now_us: 70_000, rtt_us: None, ..sample(11, 12, 0, 10_000, false) };
        detector.on_ack(&other);
        let now_us = 70_000 + after;
        detector.on_ack(&Sample { now_us, ..sample(12, 13, 10_000, 10_000, false) });
        // It is no sample of the spacing: other packets may have arrived in between.
        assert_eq!(detector.spacing.micros(), 0);
        detector.rtt.is_some()
    };
    assert!(measured(DELAYED_ACK_MIN - 1) && !measured(DELAYED_ACK_MIN));
}

#[test]
fn idle_time_halves_what_speaks_for_a_classic_queue_and_nothing_else() {
    let mut detector = Detector::<24>::new(&Config::paper(), false);
    detector.score = 8 << 24;
    detector.on_idle(3);
    assert_eq!(detector.report().score, 1.0);
    detector.on_idle(u32::MAX);
    assert_eq!(detector.report().score, 0.0);
    detector.score = -4 << 24;
    detector.on_idle(2);
    assert_eq!(detector.report().score, -4.0);
}

#[test]
fn losses_without_marks_end_in_a_new_start() {
    let mut detector = Detector::<24>::new(&Config::paper(), false);
    detector.on_threshold(4);
    let rtt = |i: u64| 10_000 + 20_000 * (i % 2) as u32;
    let mut una = 0;
    let mut acks = |detector: &mut Detector, n: u64, marked: bool| {
        for _ in 0..n {
            una += 1;
            detector.on_ack(&sample(una, 2, rtt(una), 10_000, marked));
        }
    };
    acks(&mut detector, 200, true);
    assert_eq!(detector.report().score, 8.0);
    // A single loss does not count (Fallback §4.1.1), nor does a short time without marks.
    detector.on_loss();
    acks(&mut detector, 400, false);
    let rounds = detector.report().rounds;
    assert!(rounds > 200);
    detector.on_loss();
    acks(&mut detector, 400, false);
    let report = detector.report();
    assert_eq!((report.score, report.rounds), (-8.0, 0), "a queue that only drops is not measured");
    acks(&mut detector, 1, true);
    assert!(detector.report().score < -7.9, "what marks now is another queue");
}

/// A Classic queue that begins to drop is still the queue that marked.
#[test]
fn what_was_known_to_be_classic_outlasts_its_drops() {
    let mut una = 0;
    let mut acks = |detector: &mut Detector, n: u64, marked: bool| {
        for _ in 0..n {
            una += 1;
            detector.on_ack(&sample(una, 2, 10_000, 10_000, marked));
        }
    };
    for (before, after, rounds) in [(8 << 24, 8.0, 1), (0, -8.0, 0)] {
        let config = Config { v: 0.0, d: 0.0, ..Config::best() };
        let mut detector = Detector::<24>::new(&config, false);
        (detector.score, detector.rounds) = (before, 1);
        (detector.losses, detector.unmarked_rounds) = (2, STALE_ROUNDS);
        acks(&mut detector, 4, false);
        let report = detector.report();
        assert_eq!((report.score, report.rounds), (after, rounds));
    }
}

/// An empty queue, or a link that is not full, looks like an L4S queue.
#[test]
fn without_marks_the_score_of_the_best_rules_falls_for_eight_round_trips() {
    let fallen = |config: &Config, mdev: u32| {
        let config = Config { d: 0.0, ..*config };
        let mut detector = Detector::<24>::new(&config, false);
        detector.on_threshold(2);
        // 100 round trips of two segments; the deviation is 1 µs, or `mdev`, before the first.
        detector.score = 4 << 24;
        for i in 1..=200 {
            let rtt = 10_000 + mdev * (i % 2) as u32;
            detector.on_ack(&sample(i, 2, rtt, 10_000, i == 1));
        }
        detector.report().score
    };
    // 0.5·lg(1/750) = −4.8 for a round; the paper's score falls without end.
    assert_eq!(fallen(&Config::paper(), 0), -8.0);
    // 0.5·lg(375/750) = −0.5 for a round, with the floor of V0/2. In the first of the eight all packets
    // are marked, and the logarithm carries a fraction over.
    let best = fallen(&Config::best(), 0);
    assert!((best - 0.5).abs() <= 0.5, "{best}");
    // The score can still rise.
    assert_eq!(fallen(&Config::best(), 2000), 8.0);
}

/// If all packets are marked, a Classic queue is as steady as an L4S one, and an L4S queue with too many
/// flows is as deep as a Classic one.
#[test]
fn a_round_trip_of_marks_only_tells_nothing() {
    let after = |config: Config, unmarked: u32, depth: u32| {
        // A constant RTT is evidence against a Classic queue, and depth is evidence for one.
        let v = if depth == 0 { 0.5 } else { 0.0 };
        let mut detector = Detector::<24>::new(&Config { v, ..config }, false);
        detector.score = 4 << 24;
        for i in 1..=40 {
            let ack = sample(10 * i, 10, 10_000 + depth, 10_000, true);
            detector.on_ack(&Sample { delivered: 10, delivered_ce: 10 - unmarked, ..ack });
        }
        detector.report().score
    };
    let paper = |unmarked, depth| after(Config::paper(), unmarked, depth);
    let best = |unmarked, depth| after(Config::best(), unmarked, depth);
    assert_eq!([paper(0, 0), paper(0, 20_000)], [-8.0, 8.0]);
    assert_eq!([best(0, 0), best(0, 20_000)], [4.0, 4.0]);
    assert_eq!([best(1, 0), best(1, 20_000)], [-8.0, 8.0]);
}

#[test]
fn the_virtual_clock_scores_once_per_virtual_round_trip() {
    let rounds = |rules| {
        let mut detector = Detector::<24>::new(&Config::of(rules), false);
        for i in 1..=500 {
            let marked = sample(i, 1, 10_000, 10_000, true);
            detector.on_ack(&Sample { now_us: i * 5 * MS, rtt_virt_us: 25 * MS, ..marked });
        }
        detector.report().rounds
    };
    // 500 round trips of 5 ms; a fifth of them are 25 ms.
    assert_eq!(rounds(Rules::Paper), 500);
    assert_eq!(rounds(Rules::Linux), 100);
}

#[test]
fn packets_that_come_unmarked_from_a_deep_queue_speak_for_a_classic_one() {
    let config = Config { v: 0.0, d: 0.0, ..Config::best() };
    let score = |depth: u32, marked: u32| {
        let mut detector = Detector::<24>::new(&config, false);
        detector.score = 0;
        for i in 1..=2 {
            let deep = sample(4 * i, 4, 10_000 + depth, 10_000, true);
            detector.on_ack(&Sample { delivered: 4, delivered_ce: marked, ..deep });
        }
        detector.report().score
    };
    // Above 2.4 ms an L4S queue marks all packets. Each of the two round trips has a weight of 2.
    assert_eq!([score(2400, 0), score(2400, 3)], [0.0; 2]);
    assert_eq!([score(2401, 0), score(3000, 3), score(3000, 4)], [4.0, 1.0, 0.0]);
}

/// An L4S queue marks every packet before it drops any.
#[test]
fn a_loss_where_packets_come_unmarked_speaks_for_a_classic_queue() {
    let config = Config { v: 0.0, d: 0.0, ..Config::best() };
    let score = |unmarked: u32, lost: bool| {
        let mut detector = Detector::<24>::new(&config, false);
        (detector.score, detector.round.lost) = (0, lost);
        let ack = sample(2, 2, 10_000, 10_000, true);
        detector.on_ack(&Sample { delivered: 4, delivered_ce: 4 - unmarked, ..ack });
        // The next round trip starts without the loss.
        detector.on_ack(&Sample { delivered: 4, una: 4, ..ack });
        detector.report().score
    };
    assert_eq!([score(0, false), score(0, true), score(4, false)], [0.0; 3]);
    assert_eq!([score(1, true), score(4, true)], [2.0; 2]);
}

/// The score after `deep` round trips with a deep queue and no mark, `calm` others, and a mark.
fn woken_after(mut detector: Detector<24>, deep: u64, calm: u64) -> f64 {
    let (began, una) = (detector.last_ack_us, detector.round.end);
    for i in 1..=deep + calm {
        let queued = if i <= deep { 3000 } else { 0 };
        let ack = sample(una + 4 * i, 4, 10_000 + queued, 10_000, false);
        // Packets 250 us apart: a queue of 2.4 ms or more is deep.
        detector.on_ack(&Sample { now_us: began + 1000 * i, delivered: 4, ..ack });
        assert_eq!(detector.score, -detector.settings.l_sticky);
    }
    detector.on_mark();
    assert!(detector.max >= detector.score);
    detector.report().score
}

/// The number of marks that an L4S queue would have set counts from the first mark on: 2 for each
/// round trip. The sum decays by a sixteenth in each following round trip.
#[test]
fn what_came_unmarked_before_a_mark_is_told_by_it() {
    let after = |deep, calm| woken_after(Detector::new(&Config::best(), false), deep, calm);
    let near = |score: f64, expected: f64| assert!((score - expected).abs() < 1e-5, "{score}");
    near(after(0, 0), -8.0);
    near(after(1, 0), -6.0);
    near(after(2, 0), -8.0 + 2.0 + 2.0 * 15.0 / 16.0);
    near(after(1, 11), -8.0 + 2.0 * (15.0f64 / 16.0).powi(11));
    // 2 + 2·15/16 + … for six round trips is 10.3.
    near(after(6, 0), -8.0 + 32.0 * (1.0 - (15.0f64 / 16.0).powi(6)));
    // For fifty it is 30.7, more than the 16 to the maximum.
    near(after(50, 0), 8.0);
    near(after(50, 400), -8.0);
}

#[test]
fn the_papers_detector_forgets_what_came_before_a_mark_and_so_do_two_queues() {
    let paper = Detector::new(&Config::paper(), false);
    assert!(woken_after(paper, 50, 0) < -7.99);
    let marked = (5000, 2, true);
    let mut two = answered(&Config::best(), true, marked, marked);
    assert!(two.is_dual_queue());
    two.score = -two.settings.l_sticky;
    assert!(woken_after(two, 50, 0) < -7.99);
}

/// No L4S queue delays more than the two packets of its floor by 15 ms without a mark. So this
/// is evidence at once: at a score between the ends, and before the first mark.
#[test]
fn who_waits_unmarked_as_long_as_classic_packets_do_is_in_a_classic_queue() {
    let config = Config { v: 0.0, d: 0.0, ..Config::best() };
    // 36 packets in a round trip, with an acknowledgement for every two of them.
    let after = |config: &Config, began: f64, queued: u32, unmarked: u32| {
        let mut detector = Detector::<24>::new(config, false);
        detector.round.end = 36;
        detector.score = (began * f64::from(1 << 24)) as i64;
        for i in 1..=18 {
            let far = 2 * i <= unmarked + unmarked % 2;
            let rtt = 200_000 + if far { queued } else { 0 };
            let marked = u32::from(far && 2 * i > unmarked);
            let ack = sample(u64::from(2 * i), 2, rtt, 200_000, false);
            let now_us = 10_000 * u64::from(i);
            let ack = Sample { now_us, delivered: 2, delivered_ce: marked, ..ack };
            // In a test of the time before the first mark, that mark is last.
            detector.on_ack(&if began == -8.0 { Sample { delivered_ce: 0, ..ack } } else { ack });
        }
        if began == -8.0 {
            detector.on_mark();
        }
        detector.report().score
    };
    let best = |began, queued, unmarked| after(&config, began, queued, unmarked);
    assert_eq!([best(0.0, 15_001, 3), best(-7.0, 91_000, 6), best(-8.0, 48_000, 4)], [8.0; 3]);
    // Two packets, or a delay that is only deep, count by their share: m·2/36 and m·4/36, in 2^-8.
    let share = |part: u32| 2.0 * f64::from((part << 8) / 36) / 256.0;
    assert_eq!(best(0.0, 91_000, 2), share(2));
    assert_eq!(best(0.0, 15_000, 4), share(4));
    // The paper's rules do not include it.
    let paper = Config { v: 0.0, d: 0.0, ..Config::paper() };
    assert!(after(&paper, 0.0, 91_000, 6) <= 0.0);
}

/// Only packets since the last mark count.
#[test]
fn a_mark_ends_what_came_unmarked_before_it() {
    let mut detector = Detector::<24>::new(&Config::best(), false);
    for i in 1..=50 {
        let deep = sample(4 * i, 4, 13_000, 10_000, false);
        detector.on_ack(&Sample { delivered: 4, ..deep });
    }
    detector.on_mark();
    detector.score = -detector.settings.l_sticky;
    detector.on_mark();
    assert!(detector.report().score < -7.99);
}

#[test]
#[cfg_attr(miri, ignore = "many acknowledgements: minutes")]
fn on_a_slow_link_the_references_are_what_two_packets_take() {
    // 1514 B at 4 Mb/s: 3028 µs. V0 = 2·3028 + 300 = 6356, D0 = 2·3028 + 1000 = 7056.
    let mut detector = Detector::<24>::new(&Config::best(), false);
    for i in 3..10 {
        let ack = sample(i, 10, 20_000, 20_000, false);
        detector.on_ack(&Sample { now_us: i * 3028, ..ack });
    }
    let drift = |detector: &mut Detector, mdev: u32, depth: u32| {
        detector.depth = depth;
        let sum: i64 = (0..100_000).map(|_| detector.delta(mdev, &Round::default())).sum();
        sum as f64 / 1e5 / f64::from(1u32 << 24)
    };
    assert!(drift(&mut detector, 6356, 7056).abs() < 1e-4);
    // Twice both references: 0.5 + 0.5.
    assert!((drift(&mut detector, 12_712, 14_112) - 1.0).abs() < 1e-4);
}

/// One acknowledgement: its RTT above the lowest, the number of delivered packets, and whether they were
/// marked.
type Report = (u32, u32, bool);

/// A detector whose sets of tracers were answered, each after these two acknowledgements.
fn answered(config: &Config, overtook: bool, before: Report, own: Report) -> Detector<24> {
    let mut detector = Detector::<24>::new(config, true);
    detector.score = 0;
    for i in 2..=7 {
        // Packets 3028 us apart.
        let ack = |una: u64, (queued, delivered, marked): Report| {
            let ack = sample(una, 10, 10_000 + queued, 10_000, marked);
            Sample { now_us: una * 3028, delivered, ..ack }
        };
        detector.on_ack(&ack(10 * i - 2, before));
        detector.on_ack(&ack(10 * i, own));
        if detector.wants_tracers() {
            detector.on_traced(overtook);
        }
    }
    detector
}

fn answered_in_order(before: Report, own: Report) -> Detector<24> {
    answered(&Config::best(), false, before, own)
}

/// A set is valid if it was delayed by more than a packet and 300 us, 3328 us here, marked or not. Its
/// queue is no L4S queue if a packet was delayed by more than a step without a mark.
#[test]
fn tracers_that_waited_where_packets_come_unmarked_find_one_queue() {
    let unmarked = (STEP + 1, 2, false);
    for (before, own, one) in [
        (unmarked, (3328, 2, true), false),
        (unmarked, (3329, 2, true), true),
        ((STEP, 2, false), (5000, 2, true), false),
        ((5000, 2, true), (5000, 2, true), false),
        // The delay of a single packet may be that of the receiver's timer,
        ((5000, 1, false), (5000, 2, true), false),
        // but not if a set was answered.
        (unmarked, (3328, 1, true), false),
        (unmarked, (3329, 1, true), true),
    ] {
        let detector = answered_in_order(before, own);
        assert_eq!(detector.is_single_queue(), one, "{before:?} {own:?}");
        assert_eq!(detector.score() >= Detector::<24>::CLASSIC, one, "{before:?} {own:?}");
        assert!(!one || detector.max >= detector.score(), "{before:?} {own:?}");
    }
}

/// The floor of two packets is part of an L4S queue's step; a single queue has none.
#[test]
fn one_queue_is_allowed_no_packets() {
    let mut detector = answered_in_order((2000, 2, false), (5000, 2, true));
    assert_eq!((detector.spacing.micros(), detector.reference_spacing()), (3028, 0));
    assert_eq!(detector.deep_threshold(), STEP + JITTER);
    detector.on_traced(true);
    assert_eq!((detector.reference_spacing(), detector.deep_threshold()), (3028, 3 * 3028));
}

/// The small packets of a set would look like those of a faster link.
#[test]
fn the_first_packets_are_no_tracers() {
    let asks = |una: u64| {
        let mut detector = Detector::<24>::new(&Config::best(), true);
        // The score is below the threshold of a test; there was a mark, and packets are queued.
        detector.score = detector.tracers.as_ref().unwrap().threshold() - 10 * (1 << 24);
        detector.on_ack(&sample(una, 2, 13_000, 10_000, true));
        detector.wants_tracers()
    };
    assert_eq!([QUICKACK_SEGMENTS, QUICKACK_SEGMENTS + 1].map(asks), [false, true]);
}

#[test]
fn a_mark_asks_for_tracers_where_packets_wait() {
    let asks = |marked: bool| {
        let mut detector = Detector::<24>::new(&Config::best(), true);
        detector.score = 1 - detector.settings.l_sticky;
        // The queue is deep, so that the score rises; it is below the threshold of a test.
        for i in 1..=2 {
            let ack = sample(i * 10, 10, 13_000, 10_000, marked && i == 2);
            detector.on_ack(&Sample { delivered: 10, ..ack });
        }
        detector.wants_tracers()
    };
    assert!(asks(true) && !asks(false));
}

#[test]
fn in_two_queues_round_trips_tell_nothing() {
    let mut detector = Detector::<24>::new(&Config::best(), true);
    detector.score = 0;
    let deep = |detector: &mut Detector, i: u64| {
        let ack = sample(i * 10, 10, 40_000, 10_000, true);
        detector.on_ack(&Sample { delivered: 10, ..ack });
    };
    for i in 1..=6 {
        deep(&mut detector, i);
        if detector.wants_tracers() {
            detector.on_traced(true);
        }
    }
    assert!(detector.is_dual_queue());
    let rounds = detector.report().rounds;
    for i in 7..=20 {
        deep(&mut detector, i);
        assert!(detector.report().score < -7.9);
    }
    // Each mark raises the score above its floor, so that it is not at rest.
    assert_eq!(detector.report().rounds, rounds + 14);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// The integers of appendix B follow the real numbers of section 4. The error of a result is at most
    /// the last carry (two halves) and the share of a microsecond in a small deviation.
    #[test]
    fn integers_follow_real_numbers(
        base in 2000u32..200_000,
        queue in prop::collection::vec(0u32..40_000, 20..60),
        ssthresh in 2u32..64,
        equal_weights: bool,
    ) {
        let d = if equal_weights { 0.5 } else { 0.25 };
        let config = Config { d, l_sticky: 1000.0, c_sticky: 1000.0, ..Config::paper() };
        let mut integer = Detector::<24>::new(&config, false);
        let mut real = Reference::new(config);
        integer.on_threshold(ssthresh);
        real.on_threshold(ssthresh);
        let (mut una, mut rounds) = (0, 0u32);
        for (n, depth) in queue.iter().enumerate() {
            if n % 8 == 7 {
                integer.on_threshold(ssthresh + n as u32);
                real.on_threshold(ssthresh + n as u32);
            }
            for i in 0..100u32 {
                una += 1;
                // The depth and the deviation are never less than a millisecond, so that the logarithm of
                // a microsecond's rounding stays small.
                let rtt = base + 1000 + depth + 2000 * (i % 3);
                let ack = sample(una, 10, rtt, base, i % 10 == 0);
                rounds += u32::from(integer.on_ack(&ack));
                real.on_ack(&ack);
            }
        }
        let off = integer.report().score - real.score;
        // Weights of 0.5 and 0.5: a carry each, and 3 µs of some 700 µs per round.
        let bound = 1.5 + f64::from(rounds) * 0.01;
        prop_assert!(off.abs() < bound, "{off} after {rounds} rounds, at {}", real.score);
    }
}
