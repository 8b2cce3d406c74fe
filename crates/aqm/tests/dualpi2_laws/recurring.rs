//! Deterministic randomness.

use super::*;

#[test]
fn recurring_signals_come_at_exact_intervals() {
    let recur = |p, ecn| {
        let config = Config { randomness: Randomness::Recur, ..bare() };
        let rig = fates(config, p, ecn);
        let mut at: Vec<u64> = rig.events.marked.iter().map(|(id, _, _)| *id).collect();
        at.extend(rig.events.dropped.iter().map(|(packet, _, _)| packet.id));
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
        // The fraction of 2³² − 1 may be inexact, so a gap may differ by one.
        assert!(at.windows(2).all(|w| (w[1] - w[0]).abs_diff(gap) <= 1), "{p}");
    }
    // Overload: the Classic drop is applied first, and every other packet is marked.
    let config = Config { randomness: Randomness::Recur, ..bare() };
    let rig = fates(config, 0.75, Ecn::Ect1);
    let drops = rig.events.dropped.len() as u64;
    assert!(drops.abs_diff(N * 9 / 16) <= 1, "{drops}");
    assert_eq!(rig.events.marked.len() as u64, N - drops);
}

#[test]
fn a_recurring_signal_is_due_above_one_and_not_at_one() {
    // RFC 9332 §A.1. A fifth of the ramp is exactly 1/5, so five of them make exactly 1.
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
    // p_L = 1/100; a step mark in between does not count as a coupled one.
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
    assert_eq!(out + rig.events.dropped.len(), 1001);
}
