//! The controller.

use super::*;

#[test]
fn the_controller_adds_the_error_and_the_growth_of_the_delay() {
    // α on the error and β on the growth, per update, for any time between updates.
    let config = Config { alpha: 0.5, beta: 4.0, ..bare() };
    let mut rig = rig(config);
    rig.fill(1, Ecn::NotEct, ms(0));
    rig.aqm.tick(ms(40));
    let first = 0.5 * 0.025 + 4.0 * 0.040;
    assert!((rig.p_prime() - first).abs() < 1e-8);
    // Another packet becomes the head: 40 ms again.
    rig.fill(1, Ecn::NotEct, ms(10));
    rig.take(ms(40));
    rig.aqm.tick(ms(50));
    let second = first + 0.5 * 0.025;
    assert!((rig.p_prime() - second).abs() < 1e-8);
    // The queue is empty: 0 ms.
    rig.drain(ms(50));
    rig.aqm.tick(ms(51));
    let third = second - 0.5 * 0.015 - 4.0 * 0.040;
    assert!((rig.p_prime() - third).abs() < 1e-8);
}

#[test]
fn the_queue_that_waits_longest_steers() {
    for (old, young) in [(Ecn::Ect1, Ecn::NotEct), (Ecn::NotEct, Ecn::Ect1)] {
        let mut rig = rig(Config { alpha: 0.0, beta: 1.0, ..bare() });
        rig.fill(1, old, ms(0));
        rig.fill(1, young, ms(90));
        rig.aqm.tick(ms(100));
        assert!((rig.p_prime() - 0.1).abs() < 1e-8);
    }
}

#[test]
fn any_jump_of_the_delay_saturates() {
    // Linux keeps p' in 32 bits that wrap: a fall from 400 ms gives 0.218 from 0.5, and a rise to
    // 400 ms gives 0.44 from 0.1 (reference, section 1.2).
    let mut fall = rig(Config { beta: 3.2, alpha: 0.16, target: Duration::ZERO, ..bare() });
    fall.fill(1, Ecn::Ect0, ms(0));
    fall.aqm.tick(ms(200));
    fall.aqm.tick(ms(400));
    assert_eq!(fall.p_prime(), 1.0);
    fall.drain(ms(400));
    fall.aqm.tick(ms(401));
    assert_eq!(fall.p_prime(), 0.0);
    let mut rise = rig(Config { beta: 3.2, alpha: 0.16, ..bare() });
    rise.fill(1, Ecn::NotEct, ms(0));
    rise.aqm.tick(ms(30));
    rise.aqm.tick(ms(430));
    assert_eq!(rise.p_prime(), 1.0);
}

#[test]
fn updates_are_due_every_tupdate_from_the_first_on() {
    let mut rig = rig(Config { tupdate: Duration::from_millis(10), ..bare() });
    assert_eq!(rig.aqm.next_tick(), Some(ms(10)));
    rig.aqm.tick(ms(12));
    assert_eq!(rig.aqm.next_tick(), Some(ms(22)), "a late one shifts the others");
}

proptest! {
    #[test]
    fn the_controller_follows_the_formula_within_zero_and_one(
        alpha in 0.0..1000.0f64,
        beta in 0.0..1000.0f64,
        target_us in 0u64..4_000_000,
        delays_us in prop::collection::vec(0u64..100_000_000, 1..20),
    ) {
        let target = Duration::from_micros(target_us);
        let mut rig = rig(Config { alpha, beta, target, ..bare() });
        let (mut expected, mut last, mut now) = (0.0f64, 0.0, Time::ZERO);
        for delay_us in delays_us {
            now += Duration::from_secs(200);
            rig.fill(1, Ecn::Ect0, now);
            rig.aqm.tick(now + Duration::from_micros(delay_us));
            rig.drain(now + Duration::from_secs(150));
            let q = delay_us as f64 / 1e6;
            expected += alpha * (q - target.as_secs_f64()) + beta * (q - last);
            expected = expected.clamp(0.0, 1.0);
            last = q;
            prop_assert!((rig.p_prime() - expected).abs() < 1e-6);
        }
    }
}
