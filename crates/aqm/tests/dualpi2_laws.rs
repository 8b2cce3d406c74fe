//! The laws of DualPI2, each able to catch a defect that some implementation had.
//!
//! Where chance is involved, time stands still at a known p' and many packets are served; the
//! share of them that is marked or dropped has to lie within five standard deviations.

mod common;

use common::{Probe, Rig, assert_fits, ms, us};
use l4s_aqm::dualpi2::{
    Classify, Config, DropAt, FloorAt, LAqm, Overload, Randomness, Scheduler, Step,
};
use l4s_aqm::{DropCause, Limit, MTU, MarkCause, Qdisc, Queue};
use l4s_units::param::Configurable;
use l4s_units::{Bytes, Duration, Ecn, Probability, Time};
use proptest::prelude::*;

/// Packets for a measurement.
const N: u64 = 20_000;

fn rig(config: Config) -> Rig {
    Rig::new(l4s_aqm::Config::DualPi2(config))
}

/// Without a native L4S AQM, so that only the coupled signal shows.
fn bare() -> Config {
    Config { l_aqm: LAqm::None, limit: Limit::packets(1 << 20), ..Config::dctth() }
}

/// The controller brought to exactly p' by one update: with α = 0, β = 1 Hz and a queue that was
/// empty before, p' is the delay in seconds. Returns the time, at which all queues are empty.
fn at(config: Config, p_prime: f64) -> (Rig, Time) {
    let mut rig = rig(Config { alpha: 0.0, beta: 1.0, ..config });
    let now = Time::from_nanos((p_prime * 1e9) as u64);
    rig.put(Probe::full(0, Ecn::NotEct), Time::ZERO);
    rig.aqm.tick(now);
    rig.drain(now);
    rig.forget();
    (rig, now)
}

/// What became of [`N`] packets of codepoint `ecn` that passed at a known p'.
fn fates(config: Config, p_prime: f64, ecn: Ecn) -> Rig {
    let (mut rig, now) = at(config, p_prime);
    rig.fill(N, ecn, now);
    rig.drain(now);
    rig
}

// The square and the coupling.

#[test]
fn classic_signal_is_the_square_of_the_base_probability() {
    for p in [0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.49] {
        let drop = fates(bare(), p, Ecn::NotEct);
        assert_fits(drop.drops(Queue::C, DropCause::Aqm), N, p * p, "Not-ECT");
        assert_eq!(drop.told.marked.len(), 0);
        let mark = fates(bare(), p, Ecn::Ect0);
        assert_fits(mark.marks(Queue::C, MarkCause::Classic), N, p * p, "ECT(0)");
        assert_eq!(mark.told.dropped.len(), 0, "a Classic ECN packet is marked, not dropped");
    }
}

#[test]
fn l4s_signal_is_k_times_the_base_probability() {
    for k in [1, 2, 3, 7] {
        for p_l in [0.002, 0.02, 0.1, 0.3, 0.5, 0.7, 0.98] {
            let config = Config { k, ..bare() };
            let rig = fates(config, p_l / f64::from(k), Ecn::Ect1);
            assert_fits(rig.marks(Queue::L, MarkCause::Coupled), N, p_l, "ECT(1)");
            assert_eq!(rig.told.dropped.len(), 0);
        }
    }
}

#[test]
fn the_classic_signal_does_not_depend_on_the_coupling() {
    for k in [1, 2, 3] {
        let rig = fates(Config { k, ..bare() }, 0.3, Ecn::NotEct);
        assert_fits(rig.drops(Queue::C, DropCause::Aqm), N, 0.09, "k");
    }
}

#[test]
fn the_signal_told_is_the_one_applied() {
    let (rig, _) = at(bare(), 0.3);
    let signal = rig.signal();
    assert!((signal.base.as_f64() - 0.3).abs() < 1e-8);
    assert!((signal.scalable.as_f64() - 0.6).abs() < 1e-8);
    assert!((signal.classic.as_f64() - 0.09).abs() < 1e-8);
}

#[test]
fn what_arrives_marked_stays_so_and_is_not_told() {
    let rig = fates(bare(), 0.4, Ecn::Ce);
    assert_eq!((rig.told.marked.len(), rig.told.dropped.len()), (0, 0));
}

#[test]
fn without_classic_ecn_the_classic_signal_is_a_drop() {
    let config = Config { classic_ecn: false, ..bare() };
    let rig = fates(config.clone(), 0.3, Ecn::Ect0);
    assert_fits(rig.drops(Queue::C, DropCause::Aqm), N, 0.09, "ECT(0)");
    assert_eq!(rig.told.marked.len(), 0);
    let rig = fates(config, 0.3, Ecn::Ect1);
    assert_fits(rig.marks(Queue::L, MarkCause::Coupled), N, 0.6, "ECT(1) is not Classic");
}

// The controller.

#[test]
fn the_controller_adds_the_error_and_the_growth_of_the_delay() {
    // α on the error and β on the growth, per update, whatever the time between updates.
    let config = Config { alpha: 0.5, beta: 4.0, ..bare() };
    let mut rig = rig(config);
    rig.fill(1, Ecn::NotEct, ms(0));
    rig.aqm.tick(ms(40));
    let first = 0.5 * 0.025 + 4.0 * 0.040;
    assert!((rig.p_prime() - first).abs() < 1e-8);
    // Another packet becomes the head: 40 ms again.
    rig.fill(1, Ecn::NotEct, ms(10));
    rig.take(ms(40));
    rig.aqm.tick(ms(50));
    let second = first + 0.5 * 0.025;
    assert!((rig.p_prime() - second).abs() < 1e-8);
    // Empty: 0 ms.
    rig.drain(ms(50));
    rig.aqm.tick(ms(51));
    let third = second - 0.5 * 0.015 - 4.0 * 0.040;
    assert!((rig.p_prime() - third).abs() < 1e-8);
}

#[test]
fn the_queue_that_waits_longest_steers() {
    for (old, young) in [(Ecn::Ect1, Ecn::NotEct), (Ecn::NotEct, Ecn::Ect1)] {
        let mut rig = rig(Config { alpha: 0.0, beta: 1.0, ..bare() });
        rig.fill(1, old, ms(0));
        rig.fill(1, young, ms(90));
        rig.aqm.tick(ms(100));
        assert!((rig.p_prime() - 0.1).abs() < 1e-8);
    }
}

#[test]
fn any_jump_of_the_delay_saturates() {
    // Linux keeps p' in 32 bits that wrap: a fall from 400 ms gives 0.218 from 0.5, and a rise to
    // 400 ms gives 0.44 from 0.1 (reference, section 1.2).
    let mut fall = rig(Config { beta: 3.2, alpha: 0.16, target: Duration::ZERO, ..bare() });
    fall.fill(1, Ecn::Ect0, ms(0));
    fall.aqm.tick(ms(200));
    fall.aqm.tick(ms(400));
    assert_eq!(fall.p_prime(), 1.0);
    fall.drain(ms(400));
    fall.aqm.tick(ms(401));
    assert_eq!(fall.p_prime(), 0.0);
    let mut rise = rig(Config { beta: 3.2, alpha: 0.16, ..bare() });
    rise.fill(1, Ecn::NotEct, ms(0));
    rise.aqm.tick(ms(30));
    rise.aqm.tick(ms(430));
    assert_eq!(rise.p_prime(), 1.0);
}

#[test]
fn updates_are_due_every_tupdate_from_the_first_on() {
    let mut rig = rig(Config { tupdate: Duration::from_millis(10), ..bare() });
    assert_eq!(rig.aqm.next_tick(), Some(ms(10)));
    rig.aqm.tick(ms(12));
    assert_eq!(rig.aqm.next_tick(), Some(ms(22)), "a late one shifts the others");
}

proptest! {
    #[test]
    fn the_controller_follows_the_formula_within_zero_and_one(
        alpha in 0.0..1000.0f64,
        beta in 0.0..1000.0f64,
        target_us in 0u64..4_000_000,
        delays_us in prop::collection::vec(0u64..100_000_000, 1..20),
    ) {
        let target = Duration::from_micros(target_us);
        let mut rig = rig(Config { alpha, beta, target, ..bare() });
        let (mut expected, mut last, mut now) = (0.0f64, 0.0, Time::ZERO);
        for delay_us in delays_us {
            now += Duration::from_secs(200);
            rig.fill(1, Ecn::Ect0, now);
            rig.aqm.tick(now + Duration::from_micros(delay_us));
            rig.drain(now + Duration::from_secs(150));
            let q = delay_us as f64 / 1e6;
            expected += alpha * (q - target.as_secs_f64()) + beta * (q - last);
            expected = expected.clamp(0.0, 1.0);
            last = q;
            prop_assert!((rig.p_prime() - expected).abs() < 1e-6);
        }
    }
}

// Overload.

#[test]
fn at_saturation_both_queues_get_the_classic_drop() {
    for p in [0.51, 0.6, 0.8] {
        let classic = fates(bare(), p, Ecn::Ect0);
        assert_fits(classic.drops(Queue::C, DropCause::Overload), N, p * p, "ECT(0)");
        assert_eq!(classic.told.marked.len(), 0, "marks say no more");
        let not_ect = fates(bare(), p, Ecn::NotEct);
        assert_fits(not_ect.drops(Queue::C, DropCause::Overload), N, p * p, "Not-ECT");
        let l4s = fates(bare(), p, Ecn::Ect1);
        let drops = l4s.drops(Queue::L, DropCause::Overload);
        assert_fits(drops, N, p * p, "ECT(1)");
        assert_eq!(l4s.marks(Queue::L, MarkCause::Coupled), N - drops, "all others are marked");
    }
}

#[test]
fn overload_begins_where_marking_saturates_and_not_before() {
    for k in [1, 2, 4] {
        let (below, above) = (0.998 / f64::from(k), 1.002 / f64::from(k));
        for ecn in [Ecn::Ect0, Ecn::Ect1] {
            let rig = fates(Config { k, ..bare() }, below, ecn);
            assert_eq!(rig.told.dropped.len(), 0, "k = {k}, {ecn}");
            if k > 1 {
                let rig = fates(Config { k, ..bare() }, above, ecn);
                assert_fits(rig.told.dropped.len() as u64, N, above * above, "above");
            }
        }
    }
}

#[test]
fn certainty_is_reached_in_both_queues() {
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
        let (mut rig, now) = at(bare(), 1.0);
        rig.fill(100, ecn, now);
        assert_eq!((rig.drain(now).len(), rig.told.dropped.len()), (0, 100));
    }
}

#[test]
fn a_threshold_below_saturation_brings_the_drop_forward() {
    let config = Config { overload: Overload::Drop(Probability::from_f64(0.8)), ..bare() };
    for ecn in [Ecn::Ect0, Ecn::Ect1] {
        assert_eq!(fates(config.clone(), 0.398, ecn).told.dropped.len(), 0, "{ecn}");
        let rig = fates(config.clone(), 0.402, ecn);
        let drops = rig.told.dropped.len() as u64;
        assert_fits(drops, N, 0.402 * 0.402, "drops");
        let marks = rig.told.marked.len() as u64;
        if ecn == Ecn::Ect0 {
            assert_eq!(marks, 0);
        } else {
            assert_fits(marks, N - drops, 0.804, "L4S packets that are not dropped");
        }
    }
}

#[test]
fn overflow_leaves_overload_to_the_buffer() {
    for k in [2, 3] {
        let p_max = 1.0 / f64::from(k);
        let config = Config { k, overload: Overload::Overflow, ..bare() };
        let (rig, _) = at(config.clone(), 0.9);
        assert!((rig.p_prime() - p_max).abs() < 1e-9, "p' is capped at 1/k");
        let l4s = fates(config.clone(), 0.9, Ecn::Ect1);
        assert!(l4s.marks(Queue::L, MarkCause::Coupled) >= N - 1, "all are marked");
        assert_eq!(l4s.told.dropped.len(), 0);
        let classic = fates(config.clone(), 0.9, Ecn::Ect0);
        assert_fits(classic.marks(Queue::C, MarkCause::Classic), N, p_max * p_max, "ECT(0)");
        assert_eq!(classic.told.dropped.len(), 0);
        let not_ect = fates(config.clone(), 0.9, Ecn::NotEct);
        assert_fits(not_ect.drops(Queue::C, DropCause::Aqm), N, p_max * p_max, "Not-ECT");
        let full = Config { limit: Limit::packets(100), ..config };
        let (mut rig, now) = at(full, 0.9);
        rig.fill(150, Ecn::Ect1, now);
        assert_eq!(rig.drops(Queue::L, DropCause::Limit), 50);
    }
}

#[test]
fn without_amplification_there_is_nothing_to_cap() {
    // 1/k is 1, and with k = 0 there is no marking that could saturate.
    for (k, p_l) in [(0, 0.0), (1, 0.9)] {
        let (rig, _) = at(Config { k, overload: Overload::Overflow, ..bare() }, 0.9);
        assert!((rig.p_prime() - 0.9).abs() < 1e-8, "k = {k}: {}", rig.p_prime());
        assert!((rig.signal().scalable.as_f64() - p_l).abs() < 1e-8, "k = {k}");
    }
}

// The native L4S AQM.

fn step(config: Config, thresh: Step) -> Config {
    Config { l_aqm: LAqm::Step(thresh), min_qlen_step: 0, ..config }
}

#[test]
fn the_step_marks_every_packet_above_it_and_none_at_it() {
    let thresh = Duration::from_millis(1);
    let mut rig = rig(step(bare(), Step::Time(thresh)));
    for (wait, ce) in [(0, false), (999, false), (1000, false), (1001, true), (9000, true)] {
        let start = rig.aqm.next_tick().unwrap();
        rig.fill(1, Ecn::Ect1, start);
        let out = rig.take(start + Duration::from_micros(wait)).unwrap();
        assert_eq!((out.packet.ecn.is_ce(), out.sojourn.as_micros()), (ce, wait));
        rig.aqm.tick(start + Duration::from_micros(wait));
    }
    assert_eq!(rig.marks(Queue::L, MarkCause::Step), 2);
}

#[test]
fn the_step_spares_the_classic_queue() {
    let mut rig = rig(step(bare(), Step::Time(Duration::from_millis(1))));
    rig.fill(10, Ecn::Ect0, ms(0));
    assert!(rig.drain(ms(100)).iter().all(|out| out.packet.ecn == Ecn::Ect0));
}

#[test]
fn a_step_in_packets_counts_those_behind() {
    let mut rig = rig(step(bare(), Step::Packets(3)));
    rig.fill(6, Ecn::Ect1, ms(0));
    rig.fill(6, Ecn::NotEct, ms(0));
    let marks: Vec<_> = (0..6).map(|_| rig.take(ms(0)).unwrap().packet.ecn.is_ce()).collect();
    // 5, 4, 3, 2, 1 and 0 behind: more than three.
    assert_eq!(marks, [true, true, false, false, false, false]);
}

#[test]
fn a_floor_at_enqueue_is_frozen_at_arrival() {
    // DCttH §3.3: with fewer than two ahead at arrival there is no step mark, however long the
    // wait and however many came behind.
    let config = Config { min_qlen_step: 2, floor_at: FloorAt::Enqueue, ..bare() };
    let mut rig = rig(Config { l_aqm: LAqm::Step(Step::Time(Duration::from_millis(1))), ..config });
    rig.fill(6, Ecn::Ect1, ms(0));
    let marks: Vec<_> = rig.drain(ms(9)).iter().map(|out| out.packet.ecn.is_ce()).collect();
    assert_eq!(marks, [false, false, true, true, true, true]);
    // Packets in the Classic queue are not ahead.
    rig.fill(5, Ecn::NotEct, ms(10));
    rig.fill(1, Ecn::Ect1, ms(10));
    assert!(!rig.take(ms(20)).unwrap().packet.ecn.is_ce());
}

#[test]
fn a_floor_at_dequeue_counts_those_behind() {
    let config = Config { min_qlen_step: 2, floor_at: FloorAt::Dequeue, ..bare() };
    let mut rig = rig(Config { l_aqm: LAqm::Step(Step::Time(Duration::from_millis(1))), ..config });
    rig.fill(6, Ecn::Ect1, ms(0));
    let marks: Vec<_> = rig.drain(ms(9)).iter().map(|out| out.packet.ecn.is_ce()).collect();
    assert_eq!(marks, [true, true, true, true, false, false]);
}

#[test]
fn the_ramp_rises_from_never_to_always() {
    let ramp = LAqm::Ramp(Duration::from_micros(800), Duration::from_micros(1200));
    let marks = |wait: u64| {
        let mut rig = rig(Config { l_aqm: ramp, min_qlen_step: 0, ..bare() });
        rig.fill(N, Ecn::Ect1, ms(0));
        rig.drain(us(wait));
        rig.marks(Queue::L, MarkCause::Step)
    };
    assert_eq!((marks(0), marks(800), marks(1200), marks(5000)), (0, 0, N, N));
    for (wait, p) in [(810, 0.025), (900, 0.25), (1000, 0.5), (1100, 0.75), (1190, 0.975)] {
        assert_fits(marks(wait), N, p, "ramp");
    }
    // Without a span it is a step.
    let edge = Duration::from_micros(800);
    let mut rig = rig(Config { l_aqm: LAqm::Ramp(edge, edge), min_qlen_step: 0, ..bare() });
    rig.fill(2, Ecn::Ect1, ms(0));
    assert!(!rig.take(us(800)).unwrap().packet.ecn.is_ce());
    assert!(rig.take(us(801)).unwrap().packet.ecn.is_ce());
}

#[test]
fn the_stronger_of_native_and_coupled_signal_marks() {
    // RFC 9332 §2.5: the larger of both, not their sum. Coupled: 0.3. Native: 0.5, then 0.1.
    for (wait, p, cause) in [(1000, 0.5, MarkCause::Step), (840, 0.3, MarkCause::Coupled)] {
        let ramp = LAqm::Ramp(Duration::from_micros(800), Duration::from_micros(1200));
        let (mut rig, now) = at(Config { l_aqm: ramp, min_qlen_step: 0, ..bare() }, 0.15);
        rig.fill(N, Ecn::Ect1, now);
        rig.drain(now + Duration::from_micros(wait));
        assert_fits(rig.marks(Queue::L, cause), N, p, "both");
        assert_eq!(rig.told.marked.len() as u64, rig.marks(Queue::L, cause));
    }
}

#[test]
fn a_packet_with_both_marks_is_told_once() {
    let (mut rig, now) = at(step(bare(), Step::Time(Duration::ZERO)), 0.49);
    rig.fill(1000, Ecn::Ect1, now);
    rig.drain(now + Duration::from_millis(1));
    assert_eq!(rig.told.marked.len(), 1000);
    assert_eq!(rig.marks(Queue::L, MarkCause::Step), 1000);
    // Where the coupled signal is as certain as the step, it is the cause.
    let (mut rig, now) = at(step(bare(), Step::Time(Duration::ZERO)), 0.6);
    rig.fill(1000, Ecn::Ect1, now);
    let left = rig.drain(now + Duration::from_millis(1)).len() as u64;
    assert_eq!(rig.marks(Queue::L, MarkCause::Coupled), left);
}

// Either of the two AQMs of the L queue alone.

#[test]
fn the_native_aqm_alone_hears_nothing_of_the_classic_queue() {
    let ramp = LAqm::Ramp(Duration::from_micros(800), Duration::from_micros(1200));
    let thresh = LAqm::Step(Step::Time(Duration::from_millis(1)));
    for (l_aqm, at_900_us) in [(ramp, 0.25), (thresh, 0.0)] {
        for overload in [Overload::Drop(Probability::ONE), Overload::Overflow] {
            // From no Classic signal to certain drop: an L4S packet meets its own queue's AQM.
            for p in [0.0, 0.3, 0.7, 1.0] {
                let config = Config { k: 0, l_aqm, overload, min_qlen_step: 0, ..bare() };
                let (mut rig, now) = at(config, p);
                rig.fill(N, Ecn::Ect1, now);
                rig.drain(now + Duration::from_micros(900));
                assert_fits(rig.marks(Queue::L, MarkCause::Step), N, at_900_us, "native");
                assert_eq!(rig.marks(Queue::L, MarkCause::Coupled), 0);
                assert_eq!(rig.told.dropped.len(), 0);
                assert_eq!(rig.signal().scalable, Probability::ZERO);
            }
        }
    }
    // The Classic queue has its controller as ever, up to certainty: nothing else saturates.
    for p in [0.3, 0.7] {
        let rig = fates(Config { k: 0, ..bare() }, p, Ecn::NotEct);
        assert_fits(rig.drops(Queue::C, DropCause::Aqm), N, p * p, "Not-ECT");
        let rig = fates(Config { k: 0, ..bare() }, p, Ecn::Ect0);
        assert_fits(rig.marks(Queue::C, MarkCause::Classic), N, p * p, "ECT(0)");
    }
}

#[test]
fn the_coupled_signal_alone_takes_no_notice_of_the_l_queue() {
    for (p, wait) in [(0.0, 100), (0.1, 0), (0.1, 100)] {
        let (mut rig, now) = at(Config { l_aqm: LAqm::None, ..bare() }, p);
        rig.fill(N, Ecn::Ect1, now);
        rig.drain(now + Duration::from_millis(wait));
        assert_fits(rig.marks(Queue::L, MarkCause::Coupled), N, 2.0 * p, "coupled");
        assert_eq!(rig.marks(Queue::L, MarkCause::Step), 0);
    }
}

#[test]
fn an_l_queue_without_any_signal_is_refused() {
    let neither = Config { k: 0, l_aqm: LAqm::None, ..bare() };
    let conflict = neither.check().unwrap_err();
    assert_eq!(conflict.key, "k");
    assert!(conflict.message.contains("expected 1 to 255"), "{}", conflict.message);
    for config in [Config { k: 0, ..Config::dctth() }, Config { k: 1, ..neither.clone() }] {
        assert_eq!(config.check(), Ok(()));
    }
    // Without an L queue there is none to signal to.
    assert_eq!(Config { dualq: Classify::None, ..neither }.check(), Ok(()));
}

// The schedulers.

/// Which queue goes first when the heads waited so long.
fn first(scheduler: Scheduler, l_ms: u64, c_ms: u64) -> Queue {
    let mut rig = rig(Config { scheduler, ..bare() });
    let now = 1000;
    let mut arrivals = [(now - l_ms, Ecn::Ect1), (now - c_ms, Ecn::NotEct)];
    arrivals.sort_by_key(|(at, _)| *at);
    for (at, ecn) in arrivals {
        rig.fill(1, ecn, ms(at));
    }
    rig.take(ms(now)).unwrap().queue
}

#[test]
fn the_time_shifted_fifo_compares_waits_with_a_head_start_for_l() {
    let shift = |ms, t_speed| Scheduler::TsFifo { t_shift: Duration::from_millis(ms), t_speed };
    for (scheduler, l, c, expected) in [
        (shift(30, 0), 0, 29, Queue::L),
        (shift(30, 0), 0, 30, Queue::L),
        (shift(30, 0), 0, 31, Queue::C),
        (shift(30, 0), 5, 34, Queue::L),
        (shift(30, 0), 5, 36, Queue::C),
        (shift(30, 0), 100, 10, Queue::L),
        (shift(0, 0), 10, 20, Queue::C),
        (shift(0, 0), 20, 10, Queue::L),
        (shift(0, 1), 10, 20, Queue::L),
        (shift(0, 1), 10, 21, Queue::C),
        (shift(30, 2), 10, 70, Queue::L),
        (shift(30, 2), 10, 71, Queue::C),
        (shift(2000, 0), 0, 900, Queue::L),
    ] {
        assert_eq!(first(scheduler, l, c), expected, "{scheduler:?} {l} {c}");
    }
}

#[test]
fn strict_priority_is_strict() {
    assert_eq!(first(Scheduler::Strict, 0, 900), Queue::L);
}

fn wrr(classic_protection: u8) -> Config {
    Config { scheduler: Scheduler::Wrr { classic_protection }, ..bare() }
}

/// The next `n` queues served.
fn served(rig: &mut Rig, n: usize) -> String {
    (0..n).map(|_| rig.take(ms(0)).unwrap().queue.name()).collect()
}

#[test]
fn weighted_round_robin_gives_classic_its_share() {
    for (share, pattern) in [
        (10, "LLLLLLLLLC"),
        (20, "LLLLC"),
        (50, "LC"),
        // Above one half the credit starts with Classic.
        (80, "CLCCC"),
        (90, "CLCCCCCCCC"),
    ] {
        let mut rig = rig(wrr(share));
        rig.fill(200, Ecn::Ect1, ms(0));
        rig.fill(200, Ecn::NotEct, ms(0));
        let got = served(&mut rig, 200);
        let c = got.matches('C').count();
        assert!(c.abs_diff(2 * usize::from(share)) <= 1, "{share}: {c} of 200");
        if share <= 50 {
            assert_eq!(got, pattern.repeat(200 / pattern.len()), "{share}");
        }
    }
    for (share, all) in [(0, "L"), (100, "C")] {
        let mut rig = rig(wrr(share));
        rig.fill(300, Ecn::Ect1, ms(0));
        rig.fill(300, Ecn::NotEct, ms(0));
        // At 100 L has no credit to begin with; it gets none back at 0.
        assert_eq!(served(&mut rig, 290), all.repeat(290), "{share}");
    }
}

#[test]
fn weighted_round_robin_counts_bytes() {
    let mut rig = rig(wrr(10));
    for id in 0..2000 {
        rig.put(Probe::full(id, Ecn::Ect1).size(500), ms(0));
        rig.put(Probe::full(id, Ecn::NotEct).size(1500), ms(0));
    }
    // In bytes 9 : 1, in packets 27 : 1.
    assert_eq!(served(&mut rig, 1400).matches('C').count(), 50);
}

#[test]
fn credit_stands_still_while_the_other_queue_is_empty() {
    let mut rig = rig(wrr(10));
    rig.fill(5, Ecn::Ect1, ms(0));
    rig.fill(1, Ecn::NotEct, ms(0));
    assert_eq!(served(&mut rig, 5), "LLLLL");
    // L is empty and C alone: it pays nothing, or the nine would start anew.
    rig.fill(3, Ecn::NotEct, ms(0));
    assert_eq!(served(&mut rig, 3), "CCC");
    rig.fill(20, Ecn::Ect1, ms(0));
    assert_eq!(served(&mut rig, 5), "LLLLC");
    // C is empty and L alone: it pays nothing.
    assert_eq!(served(&mut rig, 10), "LLLLLLLLLL");
    rig.fill(2, Ecn::NotEct, ms(0));
    rig.fill(20, Ecn::Ect1, ms(0));
    assert_eq!(served(&mut rig, 10), "LLLLLLLLLC");
}

#[test]
fn credit_starts_anew_when_both_queues_are_empty() {
    let mut rig = rig(wrr(10));
    rig.fill(5, Ecn::Ect1, ms(0));
    rig.fill(1, Ecn::NotEct, ms(0));
    assert_eq!(served(&mut rig, 6), "LLLLLC");
    rig.fill(20, Ecn::Ect1, ms(0));
    rig.fill(20, Ecn::NotEct, ms(0));
    assert_eq!(served(&mut rig, 10), "LLLLLLLLLC");
}

#[test]
fn credit_starts_anew_also_when_the_last_packets_were_dropped() {
    let (mut rig, now) = at(wrr(10), 1.0);
    // L packets go out unsignalled while p' = 0; then all are dropped at p' = 1.
    let mut calm = self::rig(wrr(10));
    calm.fill(5, Ecn::Ect1, ms(0));
    calm.fill(3, Ecn::NotEct, ms(0));
    assert_eq!(served(&mut calm, 5), "LLLLL");
    calm.aqm.tick(Time::from_nanos(4_000_000_000));
    assert_eq!(calm.p_prime(), 1.0);
    assert!(calm.drain(ms(4000)).is_empty());
    // p' falls to 0 with the empty queue.
    calm.aqm.tick(ms(4016));
    calm.fill(20, Ecn::Ect1, ms(4016));
    calm.fill(20, Ecn::NotEct, ms(4016));
    assert_eq!(served(&mut calm, 10), "LLLLLLLLLC");
    // And a dropped packet pays nothing.
    rig.fill(50, Ecn::NotEct, now);
    assert!(rig.drain(now).is_empty());
}

#[test]
fn a_dropped_packet_pays_nothing() {
    // At p' = 0.7 about half of the packets are dropped; those that leave are still 9 : 1.
    let (mut rig, now) = at(wrr(10), 0.7);
    rig.fill(N, Ecn::Ect1, now);
    rig.fill(N, Ecn::NotEct, now);
    let out: String = (0..1000).map(|_| rig.take(now).unwrap().queue.name()).collect();
    assert_eq!(out, "LLLLLLLLLC".repeat(100));
}

// Where and when the signal is applied.

#[test]
fn at_enqueue_the_controller_acts_on_arrival_and_the_step_on_departure() {
    let config = step(bare(), Step::Time(Duration::from_millis(1)));
    let (mut rig, now) = at(Config { drop_at: DropAt::Enqueue, ..config }, 0.3);
    rig.fill(N, Ecn::NotEct, now);
    assert_fits(rig.drops(Queue::C, DropCause::Aqm), N, 0.09, "Not-ECT");
    let dropped = rig.told.dropped.len() as u64;
    rig.fill(N, Ecn::Ect0, now);
    assert_fits(rig.marks(Queue::C, MarkCause::Classic), N, 0.09, "ECT(0)");
    rig.fill(N, Ecn::Ect1, now);
    let coupled = rig.marks(Queue::L, MarkCause::Coupled);
    assert_fits(coupled, N, 0.6, "ECT(1)");
    assert_eq!(rig.backlog().packets as u64, 3 * N - dropped);
    rig.drain(now + Duration::from_millis(2));
    assert_eq!(rig.told.dropped.len() as u64, dropped, "none on departure");
    assert_eq!(rig.marks(Queue::L, MarkCause::Coupled), coupled);
    assert_eq!(rig.marks(Queue::L, MarkCause::Step), N - coupled, "the step marks the rest");
}

#[test]
fn at_enqueue_overload_refuses_both_kinds() {
    for ecn in [Ecn::Ect0, Ecn::Ect1] {
        let (mut rig, now) = at(Config { drop_at: DropAt::Enqueue, ..bare() }, 0.8);
        rig.fill(N, ecn, now);
        assert_fits(rig.told.dropped.len() as u64, N, 0.64, "overload");
    }
}

#[test]
fn with_little_waiting_the_controller_is_silent_in_both_queues_but_the_step_is_not() {
    let min_backlog = Bytes::new(2 * MTU.get());
    for (drop_at, ecn, silent) in [
        // At dequeue what is left behind counts, so three packets make one signal.
        (DropAt::Dequeue, Ecn::NotEct, 2),
        (DropAt::Dequeue, Ecn::Ect1, 2),
        // At enqueue what is ahead.
        (DropAt::Enqueue, Ecn::NotEct, 2),
        (DropAt::Enqueue, Ecn::Ect1, 2),
    ] {
        let (mut rig, now) = at(Config { min_backlog, drop_at, ..bare() }, 1.0);
        rig.fill(silent, ecn, now);
        rig.drain(now);
        assert_eq!(rig.told.dropped.len() + rig.told.marked.len(), 0, "{drop_at:?} {ecn}");
        rig.fill(silent + 1, ecn, now);
        rig.drain(now);
        assert_eq!(rig.told.dropped.len(), 1, "{drop_at:?} {ecn}");
    }
    // Both queues together.
    let (mut rig, now) = at(Config { min_backlog, ..bare() }, 1.0);
    rig.fill(1, Ecn::Ect1, now);
    rig.fill(2, Ecn::NotEct, now);
    rig.drain(now);
    assert_eq!(rig.told.dropped.len(), 1);
    // And the step does not wait for it.
    let mut one = self::rig(Config { min_backlog, ..step(bare(), Step::Time(Duration::ZERO)) });
    one.fill(1, Ecn::Ect1, ms(0));
    assert!(one.take(ms(1)).unwrap().packet.ecn.is_ce());
}

#[test]
fn a_limit_counts_both_queues() {
    let mut rig = rig(Config { limit: Limit::packets(4), ..bare() });
    rig.fill(3, Ecn::Ect1, ms(0));
    rig.fill(3, Ecn::NotEct, ms(0));
    assert_eq!(rig.drops(Queue::C, DropCause::Limit), 2);
    rig.fill(1, Ecn::Ect1, ms(0));
    assert_eq!(rig.drops(Queue::L, DropCause::Limit), 1);
    // Memory: as many bytes as four full packets.
    let memory = Some(Bytes::new(4 * MTU.get()));
    let mut rig = self::rig(Config { limit: Limit { memory, ..Limit::packets(99) }, ..bare() });
    rig.fill(3, Ecn::Ect1, ms(0));
    rig.fill(3, Ecn::NotEct, ms(0));
    assert_eq!(rig.drops(Queue::C, DropCause::Memory), 2);
}

// Classification, and which packets are marked scalably.

#[test]
fn one_queue_keeps_the_order_and_has_no_step() {
    let config = Config { dualq: Classify::None, ..step(bare(), Step::Time(Duration::ZERO)) };
    let mut rig = rig(config.clone());
    for (id, ecn) in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ect1].into_iter().enumerate() {
        rig.put(Probe::full(id as u64, ecn), ms(id as u64));
    }
    let out = rig.drain(ms(50));
    assert!(out.iter().map(|out| out.packet.id).eq(0..4));
    assert!(out.iter().all(|out| out.queue == Queue::Q && !out.packet.ecn.is_ce()));
    // Both signals in the one queue.
    let l4s = fates(config.clone(), 0.3, Ecn::Ect1);
    assert_fits(l4s.marks(Queue::Q, MarkCause::Coupled), N, 0.6, "ECT(1)");
    let classic = fates(config.clone(), 0.3, Ecn::Ect0);
    assert_fits(classic.marks(Queue::Q, MarkCause::Classic), N, 0.09, "ECT(0)");
    let not_ect = fates(config, 0.3, Ecn::NotEct);
    assert_fits(not_ect.drops(Queue::Q, DropCause::Aqm), N, 0.09, "Not-ECT");
}

#[test]
fn in_a_data_centre_every_ecn_capable_packet_is_scalable() {
    let config = Config { dualq: Classify::Dc, marking: Classify::Dc, ..bare() };
    for ecn in [Ecn::Ect0, Ecn::Ect1] {
        let rig = fates(config.clone(), 0.3, ecn);
        assert_fits(rig.marks(Queue::L, MarkCause::Coupled), N, 0.6, "dc");
    }
    let rig = fates(config, 0.3, Ecn::NotEct);
    assert_fits(rig.drops(Queue::C, DropCause::Aqm), N, 0.09, "Not-ECT stays Classic");
}

#[test]
fn marking_is_chosen_apart_from_the_queue() {
    let dc = Config { dualq: Classify::L4s, marking: Classify::Dc, ..bare() };
    let rig = fates(dc, 0.3, Ecn::Ect0);
    assert_fits(rig.marks(Queue::C, MarkCause::Coupled), N, 0.6, "ECT(0) in C");
    let classic = Config { marking: Classify::None, ..bare() };
    let rig = fates(classic, 0.3, Ecn::Ect1);
    assert_fits(rig.marks(Queue::L, MarkCause::Classic), N, 0.09, "ECT(1) in L");
}

// Deterministic randomness.

#[test]
fn recurring_signals_come_at_exact_intervals() {
    let recur = |p, ecn| {
        let config = Config { randomness: Randomness::Recur, ..bare() };
        let rig = fates(config, p, ecn);
        let mut at: Vec<u64> = rig.told.marked.iter().map(|(id, _, _)| *id).collect();
        at.extend(rig.told.dropped.iter().map(|(packet, _, _)| packet.id));
        at
    };
    for (p, ecn, gap) in [
        (0.05, Ecn::Ect1, 10),
        (0.125, Ecn::Ect1, 4),
        (0.5 / 16.0, Ecn::Ect1, 16),
        (0.1, Ecn::NotEct, 100),
    ] {
        let at = recur(p, ecn);
        assert!((at.len() as u64).abs_diff(N / gap) <= 1, "{p}: {}", at.len());
        // One more or less where the fraction of 2³² − 1 is not exact.
        assert!(at.windows(2).all(|w| (w[1] - w[0]).abs_diff(gap) <= 1), "{p}");
    }
    // Overload: the Classic drop first, and every other packet marked.
    let config = Config { randomness: Randomness::Recur, ..bare() };
    let rig = fates(config, 0.75, Ecn::Ect1);
    let drops = rig.told.dropped.len() as u64;
    assert!(drops.abs_diff(N * 9 / 16) <= 1, "{drops}");
    assert_eq!(rig.told.marked.len() as u64, N - drops);
}

#[test]
fn a_recurring_signal_is_due_above_one_and_not_at_one() {
    // RFC 9332 §A.1. A fifth of the ramp is exactly 1/5: five of them make exactly 1.
    let l_aqm = LAqm::Ramp(Duration::ZERO, Duration::from_micros(5));
    let config = Config { l_aqm, min_qlen_step: 0, randomness: Randomness::Recur, ..bare() };
    let mut rig = rig(config);
    rig.fill(12, Ecn::Ect1, ms(0));
    let marks: Vec<_> = (0..12).map(|_| rig.take(us(1)).unwrap().packet.ecn.is_ce()).collect();
    let at: Vec<_> = (0..12).filter(|i| marks[*i]).collect();
    assert_eq!(at, [5, 10]);
}

#[test]
fn each_queue_accumulates_its_own_signals() {
    let config = Config { randomness: Randomness::Recur, scheduler: Scheduler::Strict, ..bare() };
    let (mut rig, now) = at(config, 0.25);
    // p_L = 1/2 and p_C = 1/16, interleaved.
    for _ in 0..1600 {
        rig.fill(1, Ecn::Ect1, now);
        rig.fill(1, Ecn::Ect0, now);
        rig.take(now);
        rig.take(now);
    }
    assert!(rig.marks(Queue::L, MarkCause::Coupled).abs_diff(800) <= 1);
    assert!(rig.marks(Queue::C, MarkCause::Classic).abs_diff(100) <= 1);
}

#[test]
fn a_certain_signal_leaves_nothing_to_accumulate() {
    let config =
        Config { randomness: Randomness::Recur, ..step(bare(), Step::Time(Duration::ZERO)) };
    let (mut rig, now) = at(config, 0.005);
    // p_L = 1/100; a step mark in between is no reason for a coupled one.
    rig.fill(1, Ecn::Ect1, now);
    rig.take(now + Duration::from_millis(1));
    assert_eq!(rig.marks(Queue::L, MarkCause::Step), 1);
    let now = now + Duration::from_millis(1);
    rig.fill(90, Ecn::Ect1, now);
    rig.drain(now);
    assert_eq!(rig.marks(Queue::L, MarkCause::Coupled), 0);
}

#[test]
fn after_a_drop_the_next_packet_leaves_at_once() {
    let (mut rig, now) = at(bare(), 0.9);
    rig.fill(1000, Ecn::NotEct, now);
    rig.fill(1, Ecn::Ect1, now);
    let mut out = 0;
    while rig.backlog().packets > 0 {
        out += usize::from(rig.take(now).is_some());
    }
    assert_eq!(out + rig.told.dropped.len(), 1001);
}
