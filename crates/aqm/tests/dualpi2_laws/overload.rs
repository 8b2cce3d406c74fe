//! Overload.

use super::*;

#[test]
fn at_saturation_both_queues_get_the_classic_drop() {
    for p in [0.51, 0.6, 0.8] {
        let classic = fates(bare(), p, Ecn::Ect0);
        assert_fits(classic.drops(Queue::C, DropCause::Overload), N, p * p, "ECT(0)");
        assert_eq!(classic.events.marked.len(), 0, "marks say no more");
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
        // p' saturates at 1.
        let drop = above.min(1.0).powi(2);
        for ecn in [Ecn::Ect0, Ecn::Ect1] {
            let rig = fates(Config { k, ..bare() }, below, ecn);
            assert_eq!(rig.events.dropped.len(), 0, "k = {k}, {ecn}");
            let rig = fates(Config { k, ..bare() }, above, ecn);
            assert_fits(rig.events.dropped.len() as u64, N, drop, "above");
        }
    }
}

#[test]
fn certainty_is_reached_in_both_queues() {
    for k in [1, 2] {
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
            let (mut rig, now) = at(Config { k, ..bare() }, 1.1);
            rig.fill(100, ecn, now);
            assert_eq!((rig.drain(now).len(), rig.events.dropped.len()), (0, 100), "k = {k}");
        }
    }
}

#[test]
fn a_threshold_below_saturation_brings_the_drop_forward() {
    let config = Config { overload: Overload::Drop(Probability::from_f64(0.8)), ..bare() };
    for ecn in [Ecn::Ect0, Ecn::Ect1] {
        assert_eq!(fates(config.clone(), 0.398, ecn).events.dropped.len(), 0, "{ecn}");
        let rig = fates(config.clone(), 0.402, ecn);
        let drops = rig.events.dropped.len() as u64;
        assert_fits(drops, N, 0.402 * 0.402, "drops");
        let marks = rig.events.marked.len() as u64;
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
        assert_eq!(l4s.events.dropped.len(), 0);
        let classic = fates(config.clone(), 0.9, Ecn::Ect0);
        assert_fits(classic.marks(Queue::C, MarkCause::Classic), N, p_max * p_max, "ECT(0)");
        assert_eq!(classic.events.dropped.len(), 0);
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
