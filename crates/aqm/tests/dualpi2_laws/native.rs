//! The native AQM of the L queue, and either of its two AQMs alone.

use super::*;

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
    // There are 5, 4, 3, 2, 1 and 0 packets behind; more than three are needed.
    assert_eq!(marks, [true, true, false, false, false, false]);
}

#[test]
fn a_floor_at_enqueue_is_frozen_at_arrival() {
    // DCttH §3.3: with fewer than two packets ahead at arrival there is no step mark, for any delay and any
    // number of packets behind.
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
    // A ramp without width is a step.
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
        assert_eq!(rig.events.marked.len() as u64, rig.marks(Queue::L, cause));
    }
}

#[test]
fn a_packet_with_both_marks_is_told_once() {
    let (mut rig, now) = at(step(bare(), Step::Time(Duration::ZERO)), 0.49);
    rig.fill(1000, Ecn::Ect1, now);
    rig.drain(now + Duration::from_millis(1));
    assert_eq!(rig.events.marked.len(), 1000);
    assert_eq!(rig.marks(Queue::L, MarkCause::Step), 1000);
    // If the coupled signal is as certain as the step, it is the cause.
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
            // From no Classic signal to certain drop: only the AQM of its own queue acts on an L4S packet.
            for p in [0.0, 0.3, 0.7, 1.0] {
                let config = Config { k: 0, l_aqm, overload, min_qlen_step: 0, ..bare() };
                let (mut rig, now) = at(config, p);
                rig.fill(N, Ecn::Ect1, now);
                rig.drain(now + Duration::from_micros(900));
                assert_fits(rig.marks(Queue::L, MarkCause::Step), N, at_900_us, "native");
                assert_eq!(rig.marks(Queue::L, MarkCause::Coupled), 0);
                assert_eq!(rig.events.dropped.len(), 0);
                assert_eq!(rig.signal().scalable, Probability::ZERO);
            }
        }
    }
    // The Classic queue has its controller as before, up to certainty: nothing else saturates.
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
    // Without an L queue no signal is needed.
    // Outside the L queue nothing but the coupled signal marks.
    let (none, l4s, dc) = (Classify::None, Classify::L4s, Classify::Dc);
    for (dualq, marking, works) in
        [(none, l4s, false), (none, dc, false), (l4s, dc, false), (none, none, true)]
    {
        let config = Config { k: 0, dualq, marking, ..Config::dctth() };
        assert_eq!(config.check().is_ok(), works, "{dualq:?}, {marking:?}");
    }
}
