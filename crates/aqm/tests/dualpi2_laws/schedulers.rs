//! The schedulers.

use super::*;

/// The queue that is served first when the packets at the heads have these delays.
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
        // With a share above one half the credit starts with Classic.
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
        // At 100 L starts without credit and gains none. At 0 the service of L costs none.
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
    // L is empty and C is served alone: it pays nothing, or the nine would restart.
    rig.fill(3, Ecn::NotEct, ms(0));
    assert_eq!(served(&mut rig, 3), "CCC");
    rig.fill(20, Ecn::Ect1, ms(0));
    assert_eq!(served(&mut rig, 5), "LLLLC");
    // C is empty and L is served alone: it pays nothing.
    assert_eq!(served(&mut rig, 10), "LLLLLLLLLL");
    rig.fill(2, Ecn::NotEct, ms(0));
    rig.fill(20, Ecn::Ect1, ms(0));
    assert_eq!(served(&mut rig, 10), "LLLLLLLLLC");
}

#[test]
fn credit_starts_anew_when_the_link_asks_in_vain() {
    // `sch_dualpi2` restarts it when it is asked for a packet and has none. A device asks after each
    // packet, `htb` only while packets wait.
    for (asks, order) in [(true, "LLLLLLLLLC"), (false, "LLLLLLLCLL")] {
        let mut rig = rig(wrr(10));
        rig.fill(2, Ecn::Ect1, ms(0));
        rig.fill(1, Ecn::NotEct, ms(0));
        assert_eq!(served(&mut rig, 3), "LLC");
        if asks {
            assert!(rig.take(ms(0)).is_none());
        }
        rig.fill(20, Ecn::Ect1, ms(0));
        rig.fill(20, Ecn::NotEct, ms(0));
        assert_eq!(served(&mut rig, 10), order);
    }
}

#[test]
fn credit_starts_anew_also_when_the_last_packets_were_dropped() {
    let (mut rig, now) = at(wrr(10), 1.0);
    // L packets leave without a signal while p' = 0; then all are dropped at p' = 1.
    let mut calm = self::rig(wrr(10));
    calm.fill(5, Ecn::Ect1, ms(0));
    calm.fill(3, Ecn::NotEct, ms(0));
    assert_eq!(served(&mut calm, 5), "LLLLL");
    calm.aqm.tick(Time::from_nanos(4_000_000_000));
    assert_eq!(calm.p_prime(), 1.0);
    assert!(calm.drain(ms(4000)).is_empty());
    // The queue is empty, so p' falls to 0.
    calm.aqm.tick(ms(4016));
    calm.fill(20, Ecn::Ect1, ms(4016));
    calm.fill(20, Ecn::NotEct, ms(4016));
    assert_eq!(served(&mut calm, 10), "LLLLLLLLLC");
    // A dropped packet pays nothing.
    rig.fill(50, Ecn::NotEct, now);
    assert!(rig.drain(now).is_empty());
}

#[test]
fn a_dropped_packet_pays_nothing() {
    // At p' = 0.7 about half of the packets are dropped. The ratio of those that leave is still 9 : 1.
    let (mut rig, now) = at(wrr(10), 0.7);
    rig.fill(N, Ecn::Ect1, now);
    rig.fill(N, Ecn::NotEct, now);
    let out: String = (0..1000).map(|_| rig.take(now).unwrap().queue.name()).collect();
    assert_eq!(out, "LLLLLLLLLC".repeat(100));
}
