//! The square of the base probability and the coupling.

use super::*;

#[test]
fn classic_signal_is_the_square_of_the_base_probability() {
    for p in [0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.49] {
        let drop = fates(bare(), p, Ecn::NotEct);
        assert_fits(drop.drops(Queue::C, DropCause::Aqm), N, p * p, "Not-ECT");
        assert_eq!(drop.events.marked.len(), 0);
        let mark = fates(bare(), p, Ecn::Ect0);
        assert_fits(mark.marks(Queue::C, MarkCause::Classic), N, p * p, "ECT(0)");
        assert_eq!(mark.events.dropped.len(), 0, "a Classic ECN packet is marked, not dropped");
    }
}

#[test]
fn l4s_signal_is_k_times_the_base_probability() {
    for k in [1, 2, 3, 7] {
        for p_l in [0.002, 0.02, 0.1, 0.3, 0.5, 0.7, 0.98] {
            let config = Config { k, ..bare() };
            let rig = fates(config, p_l / f64::from(k), Ecn::Ect1);
            assert_fits(rig.marks(Queue::L, MarkCause::Coupled), N, p_l, "ECT(1)");
            assert_eq!(rig.events.dropped.len(), 0);
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
    assert_eq!((rig.events.marked.len(), rig.events.dropped.len()), (0, 0));
}

#[test]
fn without_classic_ecn_the_classic_signal_is_a_drop() {
    let config = Config { classic_ecn: false, ..bare() };
    let rig = fates(config.clone(), 0.3, Ecn::Ect0);
    assert_fits(rig.drops(Queue::C, DropCause::Aqm), N, 0.09, "ECT(0)");
    assert_eq!(rig.events.marked.len(), 0);
    let rig = fates(config, 0.3, Ecn::Ect1);
    assert_fits(rig.marks(Queue::L, MarkCause::Coupled), N, 0.6, "ECT(1) is not Classic");
}
