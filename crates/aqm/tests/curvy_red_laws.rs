//! The laws of Curvy RED (Slides; RFC 9332 §B).
//!
//! As for DualPI2, time does not advance while many packets are served, at a queueing delay that gives
//! a known probability. The share of marked or dropped packets has to be within five standard
//! deviations.

mod common;

use common::{Rig, assert_fits, ms, us};
use l4s_aqm::curvy_red::{Config, Smoothing, SteeredBy};
use l4s_aqm::dualpi2::{self, LAqm, Overload, Randomness};
use l4s_aqm::{Aqm, DropCause, Limit, MarkCause, Queue};
use l4s_units::param::{Configurable, Kind, Raw, Value};
use l4s_units::{Duration, Ecn, Time};

/// Packets for a measurement.
const N: u64 = 20_000;

fn rig(config: Config) -> Rig {
    Rig::new(l4s_aqm::Config::CurvyRed(config))
}

/// Without smoothing and without the L queue's own AQM, so that only the line shows.
fn bare(config: Config) -> Config {
    let queues = dualpi2::Config { l_aqm: LAqm::None, ..config.queues };
    Config { f: 0, limit: Limit::packets(1 << 20), queues, ..config }
}

/// The queueing delay at which the base probability is `p`, at S_C = 1: p · 2²⁹ ns.
fn delay_for(p: f64) -> Time {
    Time::from_nanos((p * f64::from(1 << 29)) as u64)
}

/// [`N`] packets of codepoint `ecn`, queued from 0 to `now`, after `before` Classic ones.
fn fates(config: Config, ecn: Ecn, before: u64, now: Time) -> Rig {
    let mut rig = rig(config);
    rig.fill(before, Ecn::NotEct, ms(0));
    rig.fill(N, ecn, ms(0));
    rig.drain(now);
    rig
}

// One comparison marks an L4S packet, two drop a Classic one.

#[test]
fn classic_signal_is_the_square_of_the_line() {
    for p in [0.01, 0.05, 0.1, 0.2, 0.4, 0.49] {
        for config in [Config::slides(), Config::rfc9332()] {
            let rig = fates(bare(config), Ecn::NotEct, 0, delay_for(p));
            assert_fits(rig.drops(Queue::C, DropCause::Aqm), N, p * p, "Not-ECT");
            assert_eq!(rig.events.marked.len(), 0);
        }
        let rig = fates(bare(Config::rfc9332()), Ecn::Ect0, 0, delay_for(p));
        assert_fits(rig.marks(Queue::C, MarkCause::Classic), N, p * p, "ECT(0)");
        assert_eq!(rig.events.dropped.len(), 0);
    }
}

#[test]
fn l4s_signal_is_the_line_with_the_steeper_slope() {
    for (s_c, s_l) in [(1, 1), (1, 2), (1, 4), (0, 3), (3, 5)] {
        for p_l in [0.02, 0.1, 0.5, 0.9] {
            // Strict priority: a Classic packet that arrived first is served behind all of them.
            let now = Time::from_nanos((p_l * 2f64.powi(30 - s_l)) as u64);
            let config = Config { s_c, s_l: s_l as u32, ..bare(Config::slides()) };
            let rig = fates(config, Ecn::Ect1, 1, now);
            assert_fits(rig.marks(Queue::L, MarkCause::Coupled), N, p_l, "ECT(1)");
        }
    }
}

#[test]
fn at_saturation_both_queues_get_the_classic_drop() {
    let p = 0.7;
    for ecn in [Ecn::NotEct, Ecn::Ect1] {
        let queue = if ecn == Ecn::Ect1 { Queue::L } else { Queue::C };
        let rig = fates(bare(Config::rfc9332()), ecn, 0, delay_for(p));
        let drops = rig.drops(queue, DropCause::Overload);
        assert_fits(drops, N, p * p, "overload");
        assert_eq!(rig.events.marked.len() as u64, if queue == Queue::L { N - drops } else { 0 });
    }
    // k = 1: from the end of the line on.
    let config = Config { s_l: 1, ..bare(Config::rfc9332()) };
    assert_eq!(fates(config.clone(), Ecn::Ect1, 0, delay_for(0.99)).events.dropped.len(), 0);
    let rig = fates(config, Ecn::Ect1, 0, delay_for(1.0));
    assert_eq!(rig.drops(Queue::L, DropCause::Overload), N);
    // IETF97 strategy a: the base probability stops at 1/k.
    let mut config = bare(Config::rfc9332());
    config.queues.overload = Overload::Overflow;
    let rig = fates(config, Ecn::NotEct, 0, delay_for(p));
    assert_fits(rig.drops(Queue::C, DropCause::Aqm), N, 0.25, "capped");
}

#[test]
fn signals_can_recur_instead() {
    // p' = 1/4: every 16th Classic packet, up to the rounding of the fraction.
    let mut config = bare(Config::rfc9332());
    config.queues.randomness = Randomness::Recur;
    let rig = fates(config, Ecn::Ect0, 0, delay_for(0.25));
    let marks = rig.marks(Queue::C, MarkCause::Classic);
    assert!(marks.abs_diff(N / 16) <= 1, "{marks}");
}

// The delay that counts, and its smoothing.

/// The marking probability of an L4S packet without delay, after 64 Classic packets with a delay of 100 ms
/// and one with 20 ms.
fn coupled_after_a_burst(config: Config) -> f64 {
    let mut rig = rig(Config { f: 5, ..bare(config) });
    rig.fill(64, Ecn::NotEct, ms(0));
    rig.drain(ms(100));
    rig.fill(1, Ecn::NotEct, ms(200));
    rig.fill(1, Ecn::Ect1, ms(220));
    assert_eq!(rig.take(ms(220)).unwrap().queue, Queue::L);
    rig.signal().scalable.as_f64()
}

#[test]
fn the_coupled_signal_follows_the_delay_now_or_the_smoothed_one() {
    let with = |smoothing| coupled_after_a_burst(Config { smoothing, ..Config::rfc9332() });
    let p_l = |ms: f64| 4.0 * ms * 1e6 / f64::from(1 << 30);
    // Slides: no smoothing for L4S.
    assert!((with(Smoothing::Classic) - p_l(20.0)).abs() < 1e-6);
    // RFC 9332 figure 10: after 64 samples, 1 − (31/32)⁶⁴ of 100 ms.
    let smoothed = 100.0 * (1.0 - (31f64 / 32.0).powi(64));
    assert!((with(Smoothing::Both) - p_l(smoothed)).abs() < 1e-4);
    // RFC 9332 §B.1 note 4.
    assert!((with(Smoothing::Least) - p_l(20.0)).abs() < 1e-6);
    assert_eq!(Config::slides().smoothing, Smoothing::Classic);
}

#[test]
fn note_4_does_not_raise_a_signal_faster() {
    // One sample of 32 ms: the smoothed delay is 1 ms, and the present delay is longer.
    let config = Config { smoothing: Smoothing::Least, f: 5, ..bare(Config::rfc9332()) };
    let mut rig = rig(config);
    rig.fill(1, Ecn::NotEct, ms(0));
    rig.take(ms(32));
    assert_eq!(rig.signal().base.raw(), 8_000_000);
}

#[test]
fn after_the_last_classic_packet_figure_10_signals_for_ever() {
    // A Classic burst of 100 ms, and then L4S packets with a delay of 0.1 ms.
    let after = |config| {
        let mut rig = rig(Config { f: 5, ..bare(config) });
        rig.fill(200, Ecn::NotEct, ms(0));
        rig.drain(ms(100));
        for n in 0..2000 {
            rig.fill(1, Ecn::Ect1, us(200_000 + 200 * n));
            rig.take(us(200_100 + 200 * n));
        }
        rig.signal().scalable.as_f64()
    };
    let literal = Config { steered_by: SteeredBy::Classic, ..Config::rfc9332() };
    // 4 / 2³⁰ per ns of 99.8 ms.
    assert!((after(literal.clone()) - 0.371).abs() < 0.002);
    // With the longer of both delays, the L queue's own delay remains.
    let own = 4.0 * 100_000.0 / f64::from(1 << 30);
    assert!((after(Config::rfc9332()) - own).abs() < 1e-6);
    // Note 4 and the slides look at the Classic queue, which is empty.
    assert_eq!(after(Config { smoothing: Smoothing::Least, ..literal.clone() }), 0.0);
    assert_eq!(after(Config { smoothing: Smoothing::Classic, ..literal }), 0.0);
}

#[test]
fn overload_by_l4s_alone_is_met_where_the_longer_delay_counts() {
    // The delay of the L queue is 0.8 · 2²⁹ ns, and there is no Classic packet.
    let drops = |steered_by| {
        let config = Config { steered_by, ..bare(Config::rfc9332()) };
        fates(config, Ecn::Ect1, 0, delay_for(0.8)).drops(Queue::L, DropCause::Overload)
    };
    assert_fits(drops(SteeredBy::Longest), N, 0.64, "longest");
    assert_eq!(drops(SteeredBy::Classic), 0);
}

#[test]
fn below_the_minimum_threshold_of_figure_9_no_buffer_of_its_size_is_signalled() {
    // minTh is 500 ms, and the limit is 250 ms at the rate of the link.
    let signals = |min_th| {
        let config = Config { min_th, ..bare(Config::rfc9332()) };
        fates(config, Ecn::NotEct, 0, ms(250)).events.dropped.len()
    };
    assert_eq!(signals(Duration::from_millis(500)), 0);
    // Figure 11 has no minTh: 250 ms are 0.466 of the ramp, and 0.217 is its square.
    assert_fits(signals(Duration::ZERO) as u64, N, 0.217, "figure 11");
}

// The L queue's own AQM, and the scheduler.

#[test]
fn the_threshold_marks_without_classic_traffic() {
    // Slides: T is a length of the queue. Of ten packets, with 9 to 0 behind, those with more than five.
    let mut rig = rig(Config::slides());
    rig.fill(10, Ecn::Ect0, ms(0));
    let marks: Vec<_> = rig.drain(ms(0)).iter().map(|out| out.packet.ecn.is_ce()).collect();
    assert_eq!(marks.iter().filter(|ce| **ce).count(), 4);
    assert!(marks[..4].iter().all(|ce| *ce));
    // RFC 9332 figure 10: T is a time.
    for (wait, ce) in [(1000, false), (1001, true)] {
        let mut rig = self::rig(Config::rfc9332());
        rig.fill(1, Ecn::Ect1, ms(0));
        assert_eq!(rig.take(us(wait)).unwrap().packet.ecn.is_ce(), ce);
    }
}

#[test]
fn a_ramp_can_take_the_place_of_the_threshold() {
    // RFC 9332 §B.1 note 3.
    let mut config = bare(Config::rfc9332());
    config.queues.l_aqm = LAqm::Ramp(Duration::from_micros(800), Duration::from_micros(1200));
    let rig = fates(config, Ecn::Ect1, 0, us(1100));
    assert_fits(rig.marks(Queue::L, MarkCause::Step), N, 0.75, "ramp");
}

#[test]
fn classic_waits_for_l4s_always_or_for_the_time_shift() {
    let first = |config, waited| {
        let mut rig = rig(bare(config));
        rig.fill(1, Ecn::NotEct, ms(0));
        rig.fill(1, Ecn::Ect1, ms(waited));
        rig.take(ms(waited)).unwrap().queue
    };
    assert_eq!(first(Config::slides(), 400), Queue::L);
    assert_eq!((first(Config::rfc9332(), 50), first(Config::rfc9332(), 51)), (Queue::L, Queue::C));
}

#[test]
fn the_slides_put_every_ecn_capable_packet_into_the_l_queue() {
    for (config, queue) in [(Config::slides(), Queue::L), (Config::rfc9332(), Queue::C)] {
        let mut rig = rig(config);
        rig.fill(1, Ecn::Ect0, ms(0));
        assert_eq!(rig.take(ms(0)).unwrap().queue, queue);
    }
}

#[test]
fn it_needs_no_timer() {
    let aqm = rig(Config::slides()).aqm;
    assert!(matches!(aqm, Aqm::CurvyRed(_)));
    assert_eq!(l4s_aqm::Qdisc::next_tick(&aqm), None);
}

// Settings.

fn set(config: &mut Config, name: &str, value: Value) {
    let param = Config::PARAMS.iter().find(|param| param.name == name).unwrap();
    (param.set)(config, value);
}

#[test]
fn slopes_that_would_favour_l4s_packets_are_refused() {
    let config = Config { s_c: 3, s_l: 2, ..Config::slides() };
    let conflict = config.check().unwrap_err();
    assert_eq!(conflict.key, "s_l");
    assert!(conflict.message.contains("expected 3 to 20"), "{}", conflict.message);
    // It also refuses the settings of the two queues that DualPI2 refuses.
    let mut config = Config::rfc9332();
    set(&mut config, "dualq", Value::Word("dc"));
    assert_eq!(config.check().unwrap_err().key, "marking");
}

#[test]
fn slopes_beyond_the_arithmetic_are_refused_with_the_range() {
    for (name, range) in [("s_c", "from 0 to 20"), ("s_l", "from 0 to 20"), ("f", "from 0 to 16")] {
        let kind: Kind = Config::PARAMS.iter().find(|param| param.name == name).unwrap().kind;
        let misfit = kind.read(&Raw::Integer(21)).unwrap_err();
        assert!(misfit.expected.contains(range), "{name}: {misfit}");
    }
}

#[test]
fn the_two_queues_have_the_settings_of_dualpi2() {
    let mut config = Config::slides();
    set(&mut config, "scheduler", Value::Word("tsfifo"));
    set(&mut config, "l_aqm", Value::Word("ramp"));
    let t_shift = Config::PARAMS.iter().find(|param| param.name == "t_shift").unwrap();
    // RFC 9332 figure 9 has 50 ms.
    assert_eq!((t_shift.get)(&config), Some(Value::Duration(Duration::from_millis(50))));
    for param in Config::PARAMS {
        let twin = dualpi2::Config::PARAMS.iter().find(|twin| twin.name == param.name);
        if let Some(twin) = twin.filter(|twin| !["limit", "memlimit"].contains(&twin.name)) {
            assert_eq!((twin.get)(&config.queues), (param.get)(&config), "{}", param.name);
            assert_eq!(twin.doc, param.doc);
        }
    }
    // It has no controller, so these settings do not exist.
    for name in ["target", "tupdate", "alpha", "beta", "k", "max_rtt"] {
        assert!(Config::PARAMS.iter().all(|param| param.name != name), "{name}");
    }
}
