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

/// A controller without burst allowance. The queueing delay was `q_ms` now and `q_prev_ms` at the last update.
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
    // 0.125 · (30 − 15) ms + 1.25 · (30 − 10) ms = 0.026875, with full gain above 10 %, limited to
    // 2 % per update. Below 10 % half of it.
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
fn beyond_250_ms_two_percent_more_in_linux_and_not_in_the_rfc() {
    for (config, q, p) in [
        (Config::linux(), 251, 0.24),
        (Config::linux(), 250, 0.22),
        (Config::dctth(), 251, 0.24),
        (Config::rfc8033(), 251, 0.22),
    ] {
        let mut control = control(config, 0.2, q, 0);
        control.update(false, ms(0));
        assert!((ratio(control.p) - p).abs() < 1e-6, "{q} ms: {}", ratio(control.p));
    }
}

/// Makes updates with these delays in ms, from probability 0; checks the probability after each.
fn follow(mut control: Control, trace: &[(u64, f64)]) {
    for (n, (q, p)) in trace.iter().enumerate() {
        control.q = ticks(q * 1_000_000);
        control.update(false, ms(0));
        assert!((ratio(control.p) - p).abs() < 1e-9, "update {n}: {}, not {p}", ratio(control.p));
    }
}

#[test]
fn a_trace_of_rfc_8033_by_hand() {
    // RFC 8033 §4.2 and §5.5: p += (0.125·(q − 15 ms) + 1.25·(q − q_old)) / divisor.
    let trace = [
        (30, 0.039375 / 2048.0),
        (40, 0.039375 / 2048.0 + 0.015625 / 128.0),
        (60, 0.000141296386719 + 0.030625 / 32.0),
        (90, 0.001098327636719 + 0.046875 / 8.0),
        (120, 0.006957702636719 + 0.050625 / 8.0),
        (150, 0.013285827636719 + 0.054375 / 2.0),
        (200, 0.040473327636719 + 0.085625 / 2.0),
        (240, 0.083285827636719 + 0.078125 / 2.0),
        // 0.028125 would be more than 2 %.
        (240, 0.122348327636719 + 0.02),
        (230, 0.142348327636719 + 0.014375),
        (100, 0.156723327636719 - 0.151875),
        // −0.099375 / 8 would be below zero.
        (20, 0.0),
        (0, 0.0),
    ];
    follow(control(Config::rfc8033(), 0.0, 0, 0), &trace);
}

// DOCSIS-PIE.

/// A controller that is awake and has used up its burst allowance.
fn docsis(p: f64, q_ms: u64, q_prev_ms: u64) -> Control {
    let mut control = control(Config::docsis(), p, q_ms, q_prev_ms);
    control.docsis.activity = docsis::Activity::Active;
    control
}

#[test]
fn a_trace_of_rfc_8034_by_hand() {
    // RFC 8034 §A.2: p += (0.25·(q − 10 ms) + 2.5·(q − q_old)) / divisor.
    let trace = [
        (20, 0.0525 / 2048.0),
        (40, 0.0525 / 2048.0 + 0.0575 / 128.0),
        (60, 0.000474853515625 + 0.0625 / 32.0),
        (80, 0.002427978515625 + 0.0675 / 8.0),
        (120, 0.010865478515625 + 0.1275 / 2.0),
        (140, 0.074615478515625 + 0.0825 / 2.0),
        // 0.0325 · 2 would be more than 2 %.
        (140, 0.115865478515625 + 0.02),
        // A delay above 200 ms adds another 2 %.
        (201, 0.135865478515625 + 0.04),
        (190, 0.175865478515625 + 0.02),
        // (0.0275 − 0.175) · 2 would be below zero.
        (120, 0.0),
        (4, 0.0),
    ];
    follow(docsis(0.0, 0, 0), &trace);
}

#[test]
fn docsis_tunes_itself_above_one_too() {
    // RFC 8034 §4.4: (0.25·2 ms + 2.5·2 ms) = 0.0055 downwards, times 2, 8 and 32.
    for (p, after) in [(0.5, 0.489), (0.99, 0.979), (2.0, 1.956), (9.9, 9.856), (11.0, 10.824)] {
        let mut control = docsis(p, 8, 10);
        control.update(false, ms(0));
        assert!((ratio(control.p) - after).abs() < 1e-6, "{p}: {}", ratio(control.p));
    }
    // It ends at 0.85 · 1024 / 64.
    let mut control = docsis(13.59, 20, 10);
    control.update(false, ms(0));
    assert!((ratio(control.p) - 13.6).abs() < 1e-6);
}

#[test]
fn docsis_decays_below_5_ms_whatever_is_left_in_the_queue() {
    // RFC 8034 §4.5 and §A.2: 0.5 − 0.25·6 ms·2 − 2.5·(change)·2, and 2 % off that.
    for (q, q_prev, p) in [(4, 4, 0.497 * 0.98), (5, 4, 0.5 - 0.0025 + 0.005), (4, 5, 0.492)] {
        let mut control = docsis(0.5, q, q_prev);
        control.update(false, ms(0));
        assert!((ratio(control.p) - p).abs() < 1e-6, "{q} {q_prev}: {}", ratio(control.p));
    }
}

#[test]
fn docsis_scales_by_size_up_to_a_limit() {
    // RFC 8034 §4.6 and §4.4: 64-byte packets at twice the rate need a drop probability of 8.
    for (p, size, scaled) in [
        (8.0, 64, 0.5),
        (8.0, 1024, 0.85),
        (0.1, 1024, 0.1),
        (0.1, 1514, 0.1 * 1514.0 / 1024.0),
        (13.6, 64, 0.85),
        (13.6, u64::MAX, 0.85),
    ] {
        let got = ratio(docsis(p, 20, 20).scaled(size));
        assert!((got - scaled).abs() < 1e-9, "{p} {size}: {got}");
    }
    let plain = Control { bytemode: false, ..docsis(0.1, 20, 20) };
    assert_eq!(plain.scaled(64), plain.p);
}

#[test]
fn docsis_accumulates_while_the_queue_is_short() {
    // RFC 8034 §A.3: 0.1 per packet of 1024 B. The queue is short until the ninth packet. Then the sum is
    // 0.9 and a random number decides. RFC 8033 would only begin to accumulate.
    let (mut rng, mut hits) = (rng(SEED), 0);
    for _ in 0..2000 {
        let mut control = docsis(0.1, 20, 4);
        for _ in 0..8 {
            assert!(!control.hits(backlog(100_000), 1024, &mut rng));
        }
        assert!(control.accumulated > raw(0.79));
        control.q_prev = ticks(5_000_000);
        hits += u64::from(control.hits(backlog(100_000), 1024, &mut rng));
    }
    assert!((hits as f64 - 200.0).abs() < 5.0 * 180f64.sqrt(), "{hits} of 2000");
    // Two packets of average size do not count as a queue, for any accumulated probability.
    let mut control = docsis(0.1, 20, 20);
    control.accumulated = ONE * 9;
    assert!(!control.hits(backlog(2048), 1024, &mut rng));
    assert!(control.hits(backlog(2049), 1024, &mut rng), "certain from 8.5 on");
    assert_eq!(control.accumulated, 0);
}

/// DOCSIS-PIE with a buffer of 30 packets, at a probability of 0.85 and a delay of 20 ms.
fn modem(config: Config) -> (Discipline<Probe>, Counters, rand_xoshiro::Xoshiro256PlusPlus) {
    let mut rng = rng(SEED);
    let config = Config { limit: Limit::packets(30), ..config };
    let mut pie = Discipline::new(config, &mut rng);
    (pie.control.p, pie.control.q) = (raw(0.85), ticks(20_000_000));
    pie.control.q_prev = pie.control.q;
    (pie, Counters::default(), rng)
}

#[test]
fn docsis_gives_one_drop_beyond_a_third_of_the_buffer_and_then_lets_a_burst_through() {
    let (mut pie, mut seen, mut rng) = modem(Config::docsis());
    for id in 0..10 {
        pie.enqueue(Probe::full(id).ecn(Ecn::Ect0), ms(0), &mut rng, &mut seen);
        assert_eq!(pie.control.docsis.activity, docsis::Activity::Inactive);
    }
    assert_eq!(seen.dropped(Queue::Q), 0);
    // From the 10th of 30 packets on: with 0.85 per packet there is a drop soon, and only one.
    for id in 10..25 {
        pie.enqueue(Probe::full(id).ecn(Ecn::Ect0), ms(0), &mut rng, &mut seen);
    }
    assert_eq!(seen.drops(Queue::Q, DropCause::Aqm), 1);
    assert_eq!(seen.marked(Queue::Q), 0, "no ECN (RFC 8034 §4.7)");
    assert_eq!(pie.control.docsis.activity, docsis::Activity::Active);
    // 142 ms are nine updates of 16 ms, in which the probability is 0.
    let mut updates = 0;
    while pie.control.burst > 0 {
        pie.tick(ms(0));
        updates += 1;
        assert_eq!(pie.control.p, 0);
    }
    assert_eq!(updates, 9);
    pie.tick(ms(0));
    assert!(pie.control.p > 0);
}

#[test]
fn docsis_forgets_after_a_quiet_second() {
    let mut control = docsis(0.0, 4, 4);
    let activity_after = |control: &mut Control, updates| {
        for _ in 0..updates {
            control.update(false, ms(0));
        }
        control.docsis.activity
    };
    assert_eq!(activity_after(&mut control, 1), docsis::Activity::Quiescent);
    // 62 · 16 ms are 992 ms, and 63 are more than a second.
    assert_eq!(activity_after(&mut control, 62), docsis::Activity::Quiescent);
    // A short delay makes it active again.
    control.q = ticks(6_000_000);
    control.update(false, ms(0));
    (control.p, control.q) = (0, 0);
    control.update(false, ms(0));
    control.update(false, ms(0));
    assert_eq!(control.docsis.quiet, ticks(16_000_000));
    assert_eq!(activity_after(&mut control, 61), docsis::Activity::Quiescent);
    assert_eq!(activity_after(&mut control, 1), docsis::Activity::Inactive);
}

#[test]
fn docsis_wakes_up_where_it_is_told_to() {
    for (config, wakes_after) in [
        (Config::docsis(), 10),
        (Config { active_at: Some(l4s_units::Bytes::new(5 * 1514)), ..Config::docsis() }, 5),
        // RFC 8033 §4.4 instead: it is active from the start.
        (Config { protection: Protection::Burst, ..Config::docsis() }, 0),
    ] {
        let (mut pie, mut seen, mut rng) = modem(config);
        let mut asleep = 0;
        for id in 0..29 {
            pie.enqueue(Probe::full(id), ms(0), &mut rng, &mut seen);
            asleep += u32::from(pie.control.docsis.activity == docsis::Activity::Inactive);
        }
        assert_eq!(asleep, wakes_after);
    }
    // The limit is in bytes, and so is the threshold: 15 of 45 kB.
    let limit = Limit::bytes(l4s_units::Bytes::new(45_000));
    let mut control = control(Config { limit, ..Config::docsis() }, 0.5, 20, 20);
    for (bytes, activity) in
        [(14_999, docsis::Activity::Inactive), (15_000, docsis::Activity::Quiescent)]
    {
        control.hits(backlog(bytes), 1024, &mut rng(SEED));
        assert_eq!(control.docsis.activity, activity);
    }
}

#[test]
fn docsis_without_states_has_the_burst_allowance_of_rfc_8033_in_updates() {
    let config = Config { protection: Protection::Burst, ..Config::docsis() };
    let mut control = Control::new(&config);
    control.q = ticks(50_000_000);
    for update in 0..9 {
        assert!(control.burst > 0, "{update}");
        control.observe(ms(0), ms(1000 * update), false);
        control.q = ticks(50_000_000);
        control.update(false, ms(0));
    }
    assert_eq!((control.burst, control.p), (0, 0));
    // It returns after two updates without congestion.
    for _ in 0..2 {
        control.q = 0;
        control.update(true, ms(0));
    }
    assert_eq!(control.burst, ticks(142_000_000));
}

#[test]
fn a_modem_that_knows_its_rate_computes_the_delay() {
    // RFC 8034 §4.2: 15,140 B at 12.112 Mb/s are 10 ms.
    let msr = Some(l4s_units::Rate::from_bps(12_112_000));
    let (mut pie, mut seen, mut rng) = modem(Config { msr, ..Config::docsis() });
    for id in 0..10 {
        pie.enqueue(Probe::full(id), ms(0), &mut rng, &mut seen);
    }
    pie.tick(ms(16));
    assert_eq!(pie.control.q_prev, ticks(10_000_000));
    // 9 ms for nine packets, although the one that left was delayed by half a second.
    pie.dequeue(ms(500), &mut rng, &mut seen);
    assert_eq!(pie.control.q, ticks(500_000_000));
    pie.tick(ms(500));
    assert_eq!(pie.control.q_prev, ticks(9_000_000));
}

#[test]
fn settings_of_docsis_alone_are_refused_elsewhere() {
    use l4s_units::param::Configurable;
    let msr = Some(l4s_units::Rate::from_mbps(40));
    let active_at = Some(l4s_units::Bytes::new(50_000));
    let keys = |config: Config| config.check().map_err(|conflict| conflict.key);
    assert_eq!(keys(Config { msr, ..Config::rfc8033() }), Err("msr"));
    assert_eq!(keys(Config { active_at, ..Config::rfc8033() }), Err("active_at"));
    let burst = Config { protection: Protection::Burst, ..Config::docsis() };
    assert_eq!(keys(Config { active_at, ..burst }), Err("active_at"));
    assert_eq!(keys(Config { active_at, msr, ..Config::docsis() }), Ok(()));
}

#[test]
fn an_idle_queue_lets_the_probability_decay() {
    // 0.2 − 0.125 · 15 ms, and 1/64 off that.
    let mut idle = control(Config::rfc8033(), 0.2, 0, 0);
    idle.update(true, ms(0));
    assert!((ratio(idle.p) - (0.2 - 0.001875) * 63.0 / 64.0).abs() < 1e-6);
    // No delay but a backlog: a single packet, and no decay.
    let mut busy = control(Config::rfc8033(), 0.2, 0, 0);
    busy.update(false, ms(0));
    assert!((ratio(busy.p) - (0.2 - 0.001875)).abs() < 1e-6);
    // A single update without delay is not idle.
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
    // 2 % for growth and 2 % for more than 250 ms, ten times.
    assert!((ratio(linux.p) - 1.4).abs() < 1e-3);
    // After an overflow of 64 bits it starts from one again.
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
    // The time between departures uses it up, from the first departure on.
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
            gaps.push(0);
        }
    }
    gaps.pop();
    // RFC 8033 §5.4: 0.85 / 0.05 = 17 packets at least, 8.5 / 0.05 = 170 at most.
    assert!(gaps.iter().all(|gap| (17..=170).contains(gap)));
    // Mean: 16 packets without a drop, then a geometric distribution with a mean of 20.
    let mean = f64::from(gaps.iter().sum::<u32>()) / gaps.len() as f64;
    assert!((mean - 36.0).abs() < 1.5, "{mean}");
}

#[test]
fn a_signal_that_was_certain_is_one_in_the_rfc_and_in_linux_if_it_is_a_drop() {
    // RFC 8033 §5.4: the first packet finds 9 accumulated, and then 0.85 / 0.05 = 17 packets are the
    // least distance. Linux returns before it resets the sum, and only a drop resets it: of the
    // first packet and 16 more all are marked.
    let linux = || Config { ecn: true, ..Config::linux() };
    for (config, ecn, signals) in [
        (Config::rfc8033(), Ecn::Ect0, 1),
        (Config::dctth(), Ecn::Ect0, 1),
        (linux(), Ecn::Ect0, 17),
        (Config::rfc8033(), Ecn::NotEct, 1),
        (linux(), Ecn::NotEct, 1),
    ] {
        let (mut rng, mut seen) = (rng(SEED), Counters::default());
        let variant = config.variant;
        let mut pie = Discipline::new(config, &mut rng);
        for id in 0..2 {
            pie.enqueue(Probe::full(id), ms(0), &mut rng, &mut seen);
        }
        pie.control = Control { accumulated: ONE * 9, ..control(pie.config.clone(), 0.05, 20, 20) };
        for id in 2..19 {
            pie.enqueue(Probe::full(id).ecn(ecn), ms(0), &mut rng, &mut seen);
        }
        let (marks, drops) = (seen.marked(Queue::Q), seen.dropped(Queue::Q));
        let expected = if ecn == Ecn::Ect0 { (signals, 0) } else { (0, signals) };
        assert_eq!((marks, drops), expected, "{variant:?} {ecn:?}");
    }
}

/// RFC 8033 §4.2, §4.4 and §5.1.
#[test]
fn the_profile_of_rfc_8033_has_its_defaults() {
    let ms = Duration::from_millis;
    let c = Config::rfc8033();
    assert_eq!((c.target, c.tupdate, c.burst), (ms(15), ms(15), ms(150)));
    assert_eq!((c.alpha, c.beta, c.ecn_drop), (0.125, 1.25, 0.1));
}

/// RFC 8034 §4.1, §4.7 and §A.1.
#[test]
fn the_profile_of_docsis_has_its_constants() {
    let ms = Duration::from_millis;
    let c = Config::docsis();
    assert_eq!((c.target, c.tupdate, c.burst), (ms(10), ms(16), ms(142)));
    assert_eq!((c.alpha, c.beta, c.ecn, c.bytemode), (0.25, 2.5, false, true));
    assert_eq!((c.rise_above, c.decay_below), (Some(ms(200)), ms(5)));
}

#[test]
#[cfg_attr(miri, ignore = "many packets: minutes")]
fn bytemode_spares_small_packets_in_proportion() {
    let config = Config { bytemode: true, ..Config::rfc8033() };
    let mut rng = rng(SEED);
    let mut hits = |size| {
        let mut control = control(config.clone(), 0.2, 20, 20);
        (0..100_000).filter(|_| control.hits(backlog(100_000), size, &mut rng)).count() as f64
    };
    let (full, half, jumbo) = (hits(1514), hits(757), hits(9000));
    assert!((full / half - 2.0).abs() < 0.15, "{full} {half}");
    assert!((jumbo / full - 1.0).abs() < 0.1, "above a full frame there is no more to add");
}

#[test]
#[cfg_attr(miri, ignore = "many packets: minutes")]
fn two_packets_and_a_full_one_are_of_the_longest_seen() {
    let config = Config { bytemode: true, ..Config::rfc8033() };
    let mut rng = rng(SEED);
    let mut control = control(config, 0.2, 20, 20);
    let mut hits = |bytes, size| {
        (0..100_000).filter(|_| control.hits(backlog(bytes), size, &mut rng)).count() as f64
    };
    assert!(hits(3028, 1514) > 1000.0);
    let jumbo = hits(100_000, 9014);
    assert_eq!(hits(18_027, 9014), 0.0);
    let half = hits(18_028, 4507);
    assert!((jumbo / half - 2.0).abs() < 0.15, "{jumbo} {half}");
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
#[cfg_attr(miri, ignore = "many packets: minutes")]
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
        p in 0.0..1.0f64, q: u64, q_prev: u64, empty: bool, which in 0usize..3
    ) {
        let config = [Config::linux, Config::dctth, Config::docsis][which]();
        let highest = [u64::MAX, ONE, raw(13.600001)][which];
        let mut control = Control { q, q_prev, ..control(config, p, 0, 0) };
        for _ in 0..3 {
            control.update(empty, ms(0));
            prop_assert!(control.p <= highest);
            prop_assert!(control.scaled(1514) <= ONE || !control.bytemode);
            control.q = control.q.rotate_left(17);
        }
    }
}
