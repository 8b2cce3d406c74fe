use super::*;
use crate::testing::{Probe, SEED, ms, rng};
use crate::{Counters, Limit};
use proptest::prelude::*;

/// A probability in 2⁻⁵⁶.
fn raw(p: f64) -> u64 {
    (p * ONE as f64) as u64
}

fn ratio(raw: u64) -> f64 {
    raw as f64 / ONE as f64
}

/// A controller without burst allowance, whose packets waited `q_ms`, now and at the last update.
fn control(config: Config, p: f64, q_ms: u64, q_prev_ms: u64) -> Control {
    let in_ticks = |ms: u64| ticks(ms * 1_000_000);
    let control = Control::new(&config);
    Control { p: raw(p), q: in_ticks(q_ms), q_prev: in_ticks(q_prev_ms), burst: 0, ..control }
}

fn backlog(bytes: u64) -> Backlog {
    Backlog { packets: 1, bytes: l4s_units::Bytes::new(bytes), ..Backlog::default() }
}

#[test]
fn gains_follow_the_probability_down_to_a_millionth() {
    // RFC 8033 §4.2, Table: 1 above 10 %, 1/2 below, and 1/4 of that per power of ten.
    for (p, divisor) in [
        (1.0, 1),
        (0.1001, 1),
        (0.0999, 2),
        (0.01001, 2),
        (0.00999, 8),
        (0.000999, 32),
        (0.0000999, 128),
        (0.00000999, 512),
        (0.000001001, 512),
        (0.000000999, 2048),
        (0.0, 2048),
    ] {
        let control = control(Config::rfc8033(), p, 0, 0);
        let (alpha, beta) = control.gains;
        assert_eq!(control.tuned_gains(), (alpha / divisor, beta / divisor), "at {p}");
    }
}

#[test]
fn the_gains_are_those_of_tc_in_sixteenths() {
    // 2 · (2⁵⁶ − 1) / 15625000 / 16, rounded down at each step.
    assert_eq!(control(Config::linux(), 0.0, 0, 0).gains, (576_460_752, 5_764_607_522));
}

#[test]
fn an_update_adds_alpha_times_the_error_and_beta_times_the_growth() {
    // 0.125 · (30 − 15) ms + 1.25 · (30 − 10) ms = 0.026875, with full gain above 10 %: and not
    // more than 2 % at once. Below, half of it.
    let mut above = control(Config::rfc8033(), 0.2, 30, 10);
    above.update(false, ms(0));
    assert!((ratio(above.p) - 0.22).abs() < 1e-6);
    let mut below = control(Config::rfc8033(), 0.05, 30, 10);
    below.update(false, ms(0));
    assert!((ratio(below.p) - (0.05 + 0.026875 / 2.0)).abs() < 1e-6);
    let mut falling = control(Config::rfc8033(), 0.2, 10, 30);
    falling.update(false, ms(0));
    assert!((ratio(falling.p) - (0.2 - 0.000625 - 0.025)).abs() < 1e-6, "no limit downwards");
}

#[test]
fn beyond_250_ms_two_percent_more() {
    let mut control = control(Config::rfc8033(), 0.2, 251, 0);
    control.update(false, ms(0));
    assert!((ratio(control.p) - 0.24).abs() < 1e-6);
}

#[test]
fn an_idle_queue_lets_the_probability_decay() {
    // 0.2 − 0.125 · 15 ms, and 1/64 off that.
    let mut idle = control(Config::rfc8033(), 0.2, 0, 0);
    idle.update(true, ms(0));
    assert!((ratio(idle.p) - (0.2 - 0.001875) * 63.0 / 64.0).abs() < 1e-6);
    // Zero delay and yet a backlog: just a packet, no decay.
    let mut busy = control(Config::rfc8033(), 0.2, 0, 0);
    busy.update(false, ms(0));
    assert!((ratio(busy.p) - (0.2 - 0.001875)).abs() < 1e-6);
    // And one zero is not idle.
    let mut once = control(Config::rfc8033(), 0.2, 0, 1);
    once.update(true, ms(0));
    assert!((ratio(once.p) - (0.2 - 0.001875 - 0.00125)).abs() < 1e-6);
}

#[test]
fn linux_winds_up_beyond_one_and_the_rfc_does_not() {
    let mut linux = control(Config::linux(), 1.0, 400, 400);
    let mut rfc = control(Config::rfc8033(), 1.0, 400, 400);
    for _ in 0..10 {
        linux.update(false, ms(0));
        rfc.update(false, ms(0));
    }
    assert_eq!(rfc.p, ONE);
    // 2 % for growth and 2 % for 250 ms, ten times.
    assert!((ratio(linux.p) - 1.4).abs() < 1e-3);
    // Where 64 bits overflow it starts from one again.
    let mut linux = control(Config::linux(), 255.99, 400, 400);
    linux.update(false, ms(0));
    assert_eq!(linux.p, ONE);
}

#[test]
fn the_first_update_of_linux_comes_after_half_a_second() {
    let due = |config| Control::new(&config).due;
    assert_eq!((due(Config::linux()), due(Config::dctth())), (ms(500), ms(16)));
}

#[test]
fn short_queues_get_no_signal() {
    let mut rng = rng(SEED);
    let mut hits = |p, q, bytes| {
        let mut control = control(Config::rfc8033(), p, q, q);
        (0..1000).filter(|_| control.hits(backlog(bytes), 1514, &mut rng)).count()
    };
    assert_eq!(hits(0.19, 7, 100_000), 0, "delay below half the target, and p below 20 %");
    assert!(hits(0.19, 8, 100_000) > 50);
    assert!(hits(0.21, 7, 100_000) > 50);
    assert_eq!(hits(1.0, 100, 2 * 1514 - 1), 0, "less than two packets");
    assert!(hits(1.0, 100, 2 * 1514) > 900);
}

#[test]
fn a_burst_passes_while_its_allowance_lasts() {
    let mut rng = rng(SEED);
    let mut control = Control { burst: ticks(150_000_000), ..control(Config::linux(), 1.0, 50, 0) };
    let mut hit = |control: &mut Control| {
        control.accumulated = ONE * 9;
        control.hits(backlog(1_000_000), 1514, &mut rng)
    };
    // It is used up by the time between departures, from the first one on.
    control.observe(ms(0), ms(1000), false);
    control.observe(ms(0), ms(1149), false);
    assert!(!hit(&mut control));
    control.observe(ms(0), ms(1150), false);
    assert!(hit(&mut control));
}

#[test]
fn the_burst_allowance_returns_after_two_updates_without_congestion() {
    let mut calm = control(Config::rfc8033(), 0.0, 7, 7);
    calm.update(true, ms(0));
    assert_eq!(calm.burst, ticks(150_000_000));
    for (p, q, q_prev) in [(0.0, 8, 7), (0.0, 7, 8), (0.5, 7, 7)] {
        let mut busy = control(Config::rfc8033(), p, q, q_prev);
        busy.update(true, ms(0));
        assert_eq!(busy.burst, 0, "at {p}, {q}, {q_prev}");
    }
}

#[test]
fn signals_keep_a_distance_between_a_lower_and_an_upper_bound() {
    let mut rng = rng(SEED);
    let mut control = control(Config::rfc8033(), 0.05, 20, 20);
    let mut gaps = vec![0u32];
    for _ in 0..100_000 {
        *gaps.last_mut().unwrap() += 1;
        if control.hits(backlog(100_000), 1514, &mut rng) {
            control.accumulated = 0; // dropped
            gaps.push(0);
        }
    }
    gaps.pop();
    // RFC 8033 §5.4: 0.85 / 0.05 = 17 packets at least, 8.5 / 0.05 = 170 at most.
    assert!(gaps.iter().all(|gap| (17..=170).contains(gap)));
    // Mean: 16 packets without, then a geometric wait of 20.
    let mean = f64::from(gaps.iter().sum::<u32>()) / gaps.len() as f64;
    assert!((mean - 36.0).abs() < 1.5, "{mean}");
}

#[test]
fn bytemode_spares_small_packets_in_proportion() {
    let config = Config { bytemode: true, ..Config::rfc8033() };
    let mut rng = rng(SEED);
    let mut hits = |size| {
        let mut control = control(config.clone(), 0.2, 20, 20);
        let n = (0..100_000).filter(|_| {
            let hit = control.hits(backlog(100_000), size, &mut rng);
            if hit {
                control.accumulated = 0;
            }
            hit
        });
        n.count() as f64
    };
    let (full, half, jumbo) = (hits(1514), hits(757), hits(9000));
    assert!((full / half - 2.0).abs() < 0.15, "{full} {half}");
    assert!((jumbo / full - 1.0).abs() < 0.1, "above a full frame there is no more to add");
}

/// Marks and drops of 10,000 packets of codepoint `ecn` at probability `p`.
fn verdicts(config: Config, p: f64, ecn: Ecn) -> Counters {
    let (mut rng, mut seen) = (rng(SEED), Counters::default());
    let mut pie = Discipline::new(Config { limit: Limit::packets(1 << 20), ..config }, &mut rng);
    pie.control.burst = 0;
    pie.control.p = raw(p);
    pie.control.q = ticks(100_000_000);
    for id in 0..10_000 {
        pie.enqueue(Probe::full(id).ecn(ecn), ms(0), &mut rng, &mut seen);
    }
    seen
}

#[test]
fn ecn_capable_packets_are_marked_up_to_the_threshold_and_dropped_above() {
    let counts = |config: Config, p, ecn| {
        let seen = verdicts(config, p, ecn);
        let drops = |cause| seen.drops(Queue::Q, cause) > 0;
        (seen.marked(Queue::Q) > 0, drops(DropCause::Aqm), drops(DropCause::Overload))
    };
    let (mark, drop, overload) = ((true, false, false), (false, true, false), (false, false, true));
    for (config, threshold) in [(Config::rfc8033(), 0.1), (Config::dctth(), 0.25)] {
        assert_eq!(counts(config.clone(), threshold - 0.001, Ecn::Ect0), mark);
        assert_eq!(counts(config.clone(), threshold - 0.001, Ecn::Ect1), mark);
        assert_eq!(counts(config.clone(), threshold + 0.001, Ecn::Ect0), overload);
        assert_eq!(counts(config.clone(), threshold - 0.001, Ecn::NotEct), drop);
        assert_eq!(counts(config, threshold + 0.001, Ecn::NotEct), drop);
    }
    assert_eq!(counts(Config::linux(), 0.05, Ecn::Ect0), drop, "without ecn");
}

#[test]
fn delay_is_what_the_last_packet_waited_and_zero_for_an_empty_queue() {
    let (mut rng, mut seen) = (rng(SEED), Counters::default());
    let mut pie = Discipline::new(Config::dctth(), &mut rng);
    pie.enqueue(Probe::full(0), ms(0), &mut rng, &mut seen);
    pie.enqueue(Probe::full(1), ms(1), &mut rng, &mut seen);
    pie.dequeue(ms(20), &mut rng, &mut seen);
    assert_eq!(pie.control.q, ticks(20_000_000));
    pie.dequeue(ms(21), &mut rng, &mut seen);
    assert_eq!(pie.control.q, 0);
    assert_eq!(pie.signal().unwrap().base, Probability::ZERO);
}

proptest! {
    #[test]
    fn the_probability_is_bounded_for_any_delay(
        p in 0.0..1.0f64, q: u64, q_prev: u64, empty: bool, linux: bool
    ) {
        let config = if linux { Config::linux() } else { Config::dctth() };
        let mut control = Control { q, q_prev, ..control(config, p, 0, 0) };
        for _ in 0..3 {
            control.update(empty, ms(0));
            prop_assert!(linux || control.p <= ONE);
            control.q = control.q.rotate_left(17);
        }
    }
}
