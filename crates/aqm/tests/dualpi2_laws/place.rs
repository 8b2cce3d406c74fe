//! The place and the time at which the signal is applied, and the packets that get it.

use super::*;

#[test]
fn at_enqueue_the_controller_acts_on_arrival_and_the_step_on_departure() {
    let config = step(bare(), Step::Time(Duration::from_millis(1)));
    let (mut rig, now) = at(Config { drop_at: DropAt::Enqueue, ..config }, 0.3);
    rig.fill(N, Ecn::NotEct, now);
    assert_fits(rig.drops(Queue::C, DropCause::Aqm), N, 0.09, "Not-ECT");
    let dropped = rig.events.dropped.len() as u64;
    rig.fill(N, Ecn::Ect0, now);
    assert_fits(rig.marks(Queue::C, MarkCause::Classic), N, 0.09, "ECT(0)");
    rig.fill(N, Ecn::Ect1, now);
    let coupled = rig.marks(Queue::L, MarkCause::Coupled);
    assert_fits(coupled, N, 0.6, "ECT(1)");
    assert_eq!(rig.backlog().packets as u64, 3 * N - dropped);
    rig.drain(now + Duration::from_millis(2));
    assert_eq!(rig.events.dropped.len() as u64, dropped, "none on departure");
    assert_eq!(rig.marks(Queue::L, MarkCause::Coupled), coupled);
    assert_eq!(rig.marks(Queue::L, MarkCause::Step), N - coupled, "the step marks the rest");
}

#[test]
fn at_enqueue_overload_refuses_both_kinds() {
    for ecn in [Ecn::Ect0, Ecn::Ect1] {
        let (mut rig, now) = at(Config { drop_at: DropAt::Enqueue, ..bare() }, 0.8);
        rig.fill(N, ecn, now);
        assert_fits(rig.events.dropped.len() as u64, N, 0.64, "overload");
    }
}

#[test]
fn with_little_waiting_the_controller_is_silent_in_both_queues_but_the_step_is_not() {
    let min_backlog = Bytes::new(2 * MTU.get());
    for (drop_at, ecn, silent) in [
        // At dequeue the packets left behind count, so three packets make one signal.
        (DropAt::Dequeue, Ecn::NotEct, 2),
        (DropAt::Dequeue, Ecn::Ect1, 2),
        // At enqueue the packets ahead count.
        (DropAt::Enqueue, Ecn::NotEct, 2),
        (DropAt::Enqueue, Ecn::Ect1, 2),
    ] {
        let (mut rig, now) = at(Config { min_backlog, drop_at, ..bare() }, 1.0);
        rig.fill(silent, ecn, now);
        rig.drain(now);
        assert_eq!(rig.events.dropped.len() + rig.events.marked.len(), 0, "{drop_at:?} {ecn}");
        rig.fill(silent + 1, ecn, now);
        rig.drain(now);
        assert_eq!(rig.events.dropped.len(), 1, "{drop_at:?} {ecn}");
    }
    // The backlog is that of both queues together.
    let (mut rig, now) = at(Config { min_backlog, ..bare() }, 1.0);
    rig.fill(1, Ecn::Ect1, now);
    rig.fill(2, Ecn::NotEct, now);
    rig.drain(now);
    assert_eq!(rig.events.dropped.len(), 1);
    // The step does not depend on it.
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
    // The memory of four full packets.
    let memory = Some(Bytes::new(4 * MTU.get()));
    let mut rig = self::rig(Config { limit: Limit { memory, ..Limit::packets(99) }, ..bare() });
    rig.fill(3, Ecn::Ect1, ms(0));
    rig.fill(3, Ecn::NotEct, ms(0));
    assert_eq!(rig.drops(Queue::C, DropCause::Memory), 2);
}

// Classification, and the packets that get scalable marks.

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
    // Both signals in a single queue.
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

#[test]
fn a_marker_of_the_l_queue_that_would_mark_nothing_is_refused() {
    let classic = Config { marking: Classify::None, ..Config::dctth() };
    assert_eq!(classic.check().unwrap_err().key, "marking");
    for config in [
        Config { l_aqm: LAqm::None, ..classic.clone() },
        Config { dualq: Classify::None, ..classic },
    ] {
        assert_eq!(config.check(), Ok(()));
    }
}

/// RFC 9331 §5.1: an operator can switch L4S off, and then ECT(1) is treated as Not-ECT.
#[test]
fn without_l4s_ect1_is_not_ect() {
    let (dualq, marking) = (Classify::None, Classify::None);
    let off = Config { dualq, marking, classic_ecn: false, ..bare() };
    for ecn in [Ecn::NotEct, Ecn::Ect1] {
        let rig = fates(off.clone(), 0.3, ecn);
        assert_fits(rig.drops(Queue::Q, DropCause::Aqm), N, 0.09, "L4S is off");
        assert_eq!(rig.events.marked.len(), 0, "{ecn}");
    }
}
