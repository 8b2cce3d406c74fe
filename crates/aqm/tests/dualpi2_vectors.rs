//! Numbers that others published for DualPI2, each with its source. Only facts are copied.
//!
//! Not included: the ramp of DOCSIS (docsis-ns3, `dual-queue-test`), whose thresholds follow from the
//! link rate. A user of this crate sets them: [`dualpi2::LAqm::Ramp`].

mod common;

use common::{Probe, Rig, assert_fits, ms, span_ms, us};
use l4s_aqm::dualpi2::{self, Arithmetic, DropAt, FloorAt, LAqm, Scheduler, Step};
use l4s_aqm::{Config, DropCause, Limit, MarkCause, Qdisc, Queue};
use l4s_units::param::{Configurable, Value};
use l4s_units::{Bytes, Duration, Ecn};

fn linux() -> dualpi2::Config {
    dualpi2::Config::linux()
}

fn rig(config: dualpi2::Config) -> Rig {
    Rig::new(Config::DualPi2(config))
}

/// RFC 9332 §2.5.1 recommends a coupling factor of 2.
#[test]
fn every_profile_couples_by_two() {
    for profile in dualpi2::Config::PROFILES {
        assert_eq!((profile.make)().k, 2, "{}", profile.name);
    }
}

#[test]
fn the_ramp_of_mainline_from_an_empty_start() {
    // Linux 6.17 and later, sch_dualpi2.c: calculate_probability() by hand, with the default
    // gains 41/256 and 819/256 Hz that become 44 and 879 per 64 ns. The packet at the head is never served.
    let mut rig = rig(linux());
    rig.fill(1, Ecn::NotEct, ms(0));
    for (n, p_prime) in [
        220_437_500u32,
        451_875_000,
        694_312_500,
        947_750_000,
        1_212_187_500,
        1_487_625_000,
        1_774_062_500,
        2_071_500_000,
        2_379_937_500,
        2_699_375_000,
    ]
    .into_iter()
    .enumerate()
    {
        rig.aqm.tick(ms(16 * (n as u64 + 1)));
        assert_eq!(rig.signal().base.raw(), p_prime, "update {}", n + 1);
    }
}

#[test]
fn the_ramp_of_rfc_9332_by_hand() {
    // RFC 9332 figures 2, 4 and 5: minTh 800 µs, range 400 µs, Th_len 1 packet, and recur(), which
    // gives a signal when the sum of probabilities exceeds 1. At 900 µs it is 1/4: the sum is
    // 5/4 at the fifth packet. 1/4 is left, so the next signals are at every fourth packet.
    let marks = |waited: u64| -> Vec<u64> {
        let mut rig = rig(dualpi2::Config::rfc9332());
        rig.fill(14, Ecn::Ect1, us(0));
        let out = rig.drain(us(waited));
        out.iter().filter(|out| out.packet.ecn.is_ce()).map(|out| out.packet.id).collect()
    };
    for (waited, expected) in [
        (0, vec![]),
        (800, vec![]),
        (900, vec![4, 8, 12]),
        (1000, vec![2, 4, 6, 8, 10, 12]),
        // 3/4: sums of 3/4, 6/4 and a mark, 5/4 and a mark, 1, 7/4 and a mark.
        (1100, vec![1, 2, 4, 5, 6, 8, 9, 10, 12]),
        // Certain, except for the last packet, which leaves none behind.
        (1200, (0..13).collect()),
        (9000, (0..13).collect()),
    ] {
        assert_eq!(marks(waited), expected, "{waited} µs");
    }
}

#[test]
fn gains_derived_from_round_trip_times() {
    // (typical, max) ms; target and tupdate in ms; α and β as `tc qdisc show` prints them.
    let vectors = [
        ("iproute2 tdc 2130", Some(20), 200, 20.0, 20.0, 0.042969, 1.496094),
        ("iproute2 tdc 90c1", None, 300, 50.0, 50.0, 0.050781, 0.996094),
        ("reference, section 1.4", Some(15), 100, 15.0, 15.0, 0.144531, 2.996094),
    ];
    let set = |config: &mut dualpi2::Config, name: &str, span: u64| {
        let param = dualpi2::Config::PARAMS.iter().find(|p| p.name == name).unwrap();
        (param.set)(config, Value::Duration(span_ms(span)));
    };
    for (source, typical, max, target, tupdate, alpha, beta) in vectors {
        let mut config = linux();
        set(&mut config, "max_rtt", max);
        if let Some(typical) = typical {
            set(&mut config, "typical_rtt", typical);
        }
        assert_eq!(config.target.as_millis_f64(), target, "{source}");
        assert_eq!(config.tupdate.as_millis_f64(), tupdate, "{source}");
        assert_eq!(config.gains, Arithmetic::Linux);
        let (a, b) = config.effective_gains();
        assert!((a.tc_hz() - alpha).abs() < 1e-6, "{source}: alpha {}", a.tc_hz());
        assert!((b.tc_hz() - beta).abs() < 1e-6, "{source}: beta {}", b.tc_hz());
    }
    // tc refuses them in the reverse order.
    let mut config = linux();
    set(&mut config, "max_rtt", 20);
    set(&mut config, "typical_rtt", 21);
    assert_eq!(config.check().unwrap_err().key, "typical_rtt");
    // A third of the longest RTT bounds tupdate.
    set(&mut config, "max_rtt", 30);
    assert_eq!((config.target, config.tupdate), (span_ms(21), span_ms(10)));
    // A typical RTT alone sets the longest to six times as much.
    let (mut one, mut other) = (linux(), linux());
    set(&mut one, "typical_rtt", 50);
    set(&mut other, "max_rtt", 300);
    assert_eq!(one.effective_gains(), other.effective_gains());
}

#[test]
fn the_default_gains_of_mainline_and_how_tc_shows_them() {
    // Reference, section 1.2.
    let (alpha, beta) = linux().effective_gains();
    assert!((alpha.effective_hz() - 0.160071).abs() < 1e-6, "{}", alpha.effective_hz());
    assert!((beta.effective_hz() - 3.197783).abs() < 1e-6, "{}", beta.effective_hz());
    assert_eq!((alpha.tc_hz(), beta.tc_hz()), (0.156250, 3.195312 + 5e-7));
}

#[test]
fn tc_would_show_an_exact_gain_rounded_down() {
    // 0.16 Hz is 40.96/256, and the second cut leaves 40.
    let shown = dualpi2::Gain::new(0.16, Arithmetic::Exact).tc_hz();
    assert_eq!(shown, 40.0 / 256.0);
}

#[test]
fn a_gain_too_small_for_mainline_is_refused() {
    // 1/256 Hz is the smallest gain that netlink carries; 0 means 0.
    for (hz, gains, fits) in [
        (0.0039, Arithmetic::Linux, false),
        (0.0040, Arithmetic::Linux, true),
        (0.0, Arithmetic::Linux, true),
        (0.0001, Arithmetic::Exact, true),
    ] {
        let config = dualpi2::Config { alpha: hz, gains, ..linux() };
        assert_eq!(config.check().is_ok(), fits, "{hz} Hz, {gains:?}");
        if let Err(conflict) = config.check() {
            assert_eq!(conflict.key, "alpha");
        }
    }
}

#[test]
fn coupled_and_classic_probability_after_three_updates() {
    // ns-3 2026 (UFPE), DualPi2 test 8: 100 packets of 100 B at once, none served.
    let mut rig = rig(linux());
    for id in 0..100 {
        rig.put(Probe::full(id, Ecn::Ect1).size(100), ms(0));
    }
    rig.tick_until(ms(48));
    assert!((rig.signal().scalable.as_f64() - 0.3227).abs() < 0.001);
    assert!((rig.signal().classic.as_f64() - 0.0260).abs() < 0.001);
}

#[test]
fn marks_come_at_their_probability_when_time_stands_still() {
    // ns-3 2026 (UFPE), DualPi2 test 9: 1002 packets of 100 B, 100 ms, then 1000 served at once.
    for (ecn, queue, cause) in
        [(Ecn::Ect0, Queue::C, MarkCause::Classic), (Ecn::Ect1, Queue::L, MarkCause::Coupled)]
    {
        let min_backlog = Bytes::new(200);
        let mut rig = rig(dualpi2::Config { l_aqm: LAqm::None, min_backlog, ..linux() });
        for id in 0..1002 {
            rig.put(Probe::full(id, ecn).size(100), ms(0));
        }
        rig.tick_until(ms(100));
        let signal = rig.signal();
        for _ in 0..1000 {
            assert!(rig.take(ms(100)).is_some());
        }
        let p = if queue == Queue::L { signal.scalable } else { signal.classic };
        assert_fits(rig.marks(queue, cause), 1000, p.as_f64(), "marks");
        let rate = rig.marks(queue, cause) as f64 / 1000.0;
        assert!((rate - p.as_f64()).abs() < 0.05);
        assert_eq!(rig.events.dropped.len(), 0);
    }
}

#[test]
fn the_classic_share_under_weighted_round_robin() {
    // ns-3 2026 test 4: of 100 + 100 packets of its MTU, 10 % ± 1 of the first 100 are Classic.
    // WebRTC 2026: exactly 10 of 100 with 100 L and 20 C packets of 1500 B.
    for (l, c, bytes) in [(100, 100, 1514), (100, 20, 1500)] {
        let mut rig = rig(linux());
        for id in 0..l {
            rig.put(Probe::full(id, Ecn::Ect1).size(bytes), ms(0));
        }
        for id in 0..c {
            rig.put(Probe::full(id, Ecn::NotEct).size(bytes), ms(0));
        }
        let served = (0..100).map(|_| rig.take(ms(0)).unwrap().queue);
        assert_eq!(served.filter(|q| *q == Queue::C).count(), 10);
    }
}

#[test]
fn classification_by_the_last_bit() {
    // ns-3 2026 test 1 and picoquic's dualq test: the order of arrival, and the queue of each packet.
    let mut rig = rig(linux());
    let arrivals = [Ecn::NotEct, Ecn::Ect0, Ecn::NotEct, Ecn::Ect1, Ecn::Ce];
    for (id, ecn) in arrivals.into_iter().enumerate() {
        rig.put(Probe::full(id as u64, ecn), ms(0));
    }
    let mut queues: Vec<_> =
        rig.drain(ms(0)).into_iter().map(|out| (out.packet.id, out.queue)).collect();
    queues.sort();
    let expected = [Queue::C, Queue::C, Queue::C, Queue::L, Queue::L];
    assert_eq!(queues.into_iter().map(|(_, queue)| queue).collect::<Vec<_>>(), expected);
}

#[test]
fn the_step_spares_the_first_packets_of_a_queue() {
    // ns-3 2026 test 5: floor 2, threshold 5 ms, four packets with a delay of 50 ms.
    let step = LAqm::Step(Step::Time(span_ms(5)));
    let mut rig = rig(dualpi2::Config { l_aqm: step, min_qlen_step: 2, ..linux() });
    rig.fill(4, Ecn::Ect1, ms(0));
    let out: Vec<_> = rig.drain(ms(50)).into_iter().map(|out| out.packet.ecn.is_ce()).collect();
    assert_eq!(out, [false, false, true, true]);
}

#[test]
fn a_limit_in_bytes_refuses_what_does_not_fit() {
    // ns-3 2026 test 3: of four packets of 1500 B into 4500 B the fourth is dropped.
    let limit = Limit::bytes(Bytes::new(4500));
    let mut rig = rig(dualpi2::Config { limit, ..linux() });
    for id in 0..4 {
        rig.put(Probe::full(id, Ecn::NotEct).size(1500), ms(0));
    }
    assert_eq!(rig.events.dropped[0].0.id, 3);
    assert_eq!((rig.events.dropped.len(), rig.backlog().packets), (1, 3));
}

#[test]
fn overload_drops_soon_in_either_queue() {
    // ns-3 2026 tests 6: 60 packets of 100 B, 500 ms, a drop within ten served.
    for ecn in [Ecn::Ect0, Ecn::Ect1] {
        let mut rig = rig(dualpi2::Config { min_backlog: Bytes::new(200), ..linux() });
        for id in 0..60 {
            rig.put(Probe::full(id, ecn).size(100), ms(0));
        }
        rig.tick_until(ms(500));
        for _ in 0..10 {
            rig.take(ms(500));
        }
        let queue = if ecn == Ecn::Ect1 { Queue::L } else { Queue::C };
        assert!(rig.drops(queue, DropCause::Overload) > 0, "{ecn}");
    }
}

#[test]
fn early_drop_acts_at_enqueue_and_late_drop_at_dequeue() {
    // ns-3 2026 test 7: after a second without service the probability is 1.
    for drop_at in [DropAt::Enqueue, DropAt::Dequeue] {
        let mut rig = rig(dualpi2::Config { drop_at, ..linux() });
        rig.fill(10, Ecn::NotEct, ms(0));
        rig.tick_until(ms(1000));
        rig.put(Probe::full(99, Ecn::NotEct), ms(1000));
        let early = usize::from(drop_at == DropAt::Enqueue);
        assert_eq!(rig.events.dropped.len(), early);
        assert_eq!(rig.drain(ms(1000)).len(), if early == 1 { 10 } else { 2 });
        // Late: all packets except the last two, which are below the floor of two full packets.
        assert_eq!(rig.events.dropped.len(), if early == 1 { 1 } else { 9 });
    }
}

#[test]
fn webrtc_step_and_floor() {
    // WebRTC 2026, DualPi2 network queue tests: target 15 ms, threshold 1 ms.
    let config = dualpi2::Config { min_qlen_step: 0, ..linux() };
    let mut two = rig(config.clone());
    two.fill(2, Ecn::Ect1, ms(0));
    assert!(two.take(ms(2)).unwrap().packet.ecn.is_ce(), "although p' is 0");
    assert_eq!(two.p_prime(), 0.0);
    // The floor of two packets includes the packet itself, so it is one other packet.
    for (others, marked) in [(1, false), (0, true)] {
        let mut one = rig(dualpi2::Config { min_qlen_step: others, ..config.clone() });
        one.fill(1, Ecn::Ect1, ms(0));
        assert_eq!(one.take(ms(20)).unwrap().packet.ecn.is_ce(), marked);
        let at_dequeue =
            dualpi2::Config { min_qlen_step: others, floor_at: FloorAt::Dequeue, ..config.clone() };
        let mut one = rig(at_dequeue);
        one.fill(1, Ecn::Ect1, ms(0));
        assert_eq!(one.take(ms(20)).unwrap().packet.ecn.is_ce(), marked);
    }
}

#[test]
fn webrtc_probability_at_and_far_above_target() {
    // WebRTC 2026: constant at the target; 1 after a second.
    let mut rig = rig(linux());
    let mut last = None;
    for n in 1..100 {
        rig.fill(1, Ecn::NotEct, ms(16 * n - 15));
        rig.aqm.tick(ms(16 * n));
        rig.drain(ms(16 * n));
        let p_prime = rig.signal().base;
        assert_eq!(*last.get_or_insert(p_prime), p_prime);
    }
    rig.fill(1, Ecn::NotEct, ms(2000));
    rig.aqm.tick(ms(3000));
    assert_eq!(rig.p_prime(), 1.0);
}

#[test]
fn nine_to_one_in_a_pattern_that_repeats_exactly() {
    // Reference, section 1.2: default credit and weights, packets of equal size.
    let mut rig = rig(linux());
    rig.fill(200, Ecn::Ect1, ms(0));
    rig.fill(200, Ecn::NotEct, ms(0));
    let served: String = (0..100).map(|_| rig.take(ms(0)).unwrap().queue.name()).collect();
    assert_eq!(served, "LLLLLLLLLC".repeat(10));
}

#[test]
fn two_full_packets_are_31_small_ones() {
    // Reference, section 1.2: the floor is in bytes, and counts the bytes left behind.
    let config = dualpi2::Config { l_aqm: LAqm::None, scheduler: Scheduler::Strict, ..linux() };
    for (left, marked) in [(30, false), (31, true)] {
        let mut hits = 0;
        for seed in 0..20 {
            let mut rig = Rig::seeded(Config::DualPi2(config.clone()), seed);
            for id in 0..left + 1 {
                rig.put(Probe::full(id, Ecn::Ect1).size(100), ms(0));
            }
            // p' = 0.482: p_L = 0.96.
            rig.tick_until(ms(128));
            hits += u64::from(rig.take(ms(128)).unwrap().packet.ecn.is_ce());
        }
        assert_eq!(hits > 10, marked, "{left} left: {hits} of 20");
        assert!(marked || hits == 0);
    }
    assert_eq!(linux().min_backlog.get(), 3028);
    assert_eq!(Duration::from_millis(16), linux().tupdate);
}

#[test]
fn settings_without_effect_have_no_value() {
    let shown = |config: &dualpi2::Config| -> Vec<&str> {
        let params = dualpi2::Config::PARAMS.iter().filter(|param| (param.get)(config).is_some());
        params.map(|param| param.name).collect()
    };
    let hidden = |config: dualpi2::Config| -> Vec<&str> {
        let (all, some) = (shown(&dualpi2::Config::dctth()), shown(&config));
        all.into_iter().filter(|name| !some.contains(name)).collect()
    };
    let of_two_queues = [
        "l_aqm",
        "step_thresh",
        "l_wait",
        "min_qlen_step",
        "floor_at",
        "scheduler",
        "t_shift",
        "t_speed",
    ];
    assert_eq!(
        hidden(dualpi2::Config { dualq: dualpi2::Classify::None, ..dualpi2::Config::dctth() }),
        of_two_queues
    );
    // Packets are counted, and not timed.
    let step = LAqm::Step(Step::Packets(5));
    assert_eq!(hidden(dualpi2::Config { l_aqm: step, ..dualpi2::Config::dctth() }), ["l_wait"]);
    let native = ["step_thresh", "l_wait", "min_qlen_step", "floor_at"];
    assert_eq!(hidden(dualpi2::Config { l_aqm: LAqm::None, ..dualpi2::Config::dctth() }), native);
    // Nothing saturates.
    assert_eq!(
        hidden(dualpi2::Config { k: 0, ..dualpi2::Config::dctth() }),
        ["overload", "l_drop"]
    );
}
