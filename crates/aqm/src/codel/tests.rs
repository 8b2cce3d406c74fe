use super::*;
use crate::testing::{Probe, SEED, ms, rng};
use crate::{Counters, DropCause, MTU, MarkCause, fq_codel};
use l4s_units::Ecn;

/// The times of drops in ms, in a queue of full-sized packets that all were delayed by `delay` and leave
/// one per ms.
fn signals(config: Config, ecn: Ecn, delay: u64, until: u64) -> (Vec<u64>, Counters) {
    let (mut rng, mut seen) = (rng(SEED), Counters::default());
    let mut codel = Discipline::new(config, &mut rng);
    let mut times = Vec::new();
    for id in 0..delay {
        codel.enqueue(Probe::full(id).ecn(ecn), ms(id), &mut rng, &mut seen);
    }
    for id in delay..until {
        let (drops, marks) = (seen.dropped(Queue::Q), seen.marked(Queue::Q));
        codel.enqueue(Probe::full(id).ecn(ecn), ms(id), &mut rng, &mut seen);
        codel.dequeue(ms(id), &mut rng, &mut seen);
        let (drops, marks) = (seen.dropped(Queue::Q) - drops, seen.marked(Queue::Q) - marks);
        // A drop shortens the queue. Adds a packet, so that the delay is constant.
        for _ in 0..drops {
            codel.enqueue(Probe::full(until).ecn(ecn), ms(id), &mut rng, &mut seen);
        }
        times.extend((0..drops + marks).map(|_| id));
    }
    (times, seen)
}

#[test]
fn the_first_drop_comes_an_interval_after_the_delay_exceeds_target() {
    let (times, _) = signals(Config::linux(), Ecn::NotEct, 20, 121);
    assert_eq!(times, [], "20 ms + 100 ms, and not at that moment but after it");
    let (times, _) = signals(Config::linux(), Ecn::NotEct, 20, 123);
    assert_eq!(times, [121]);
}

#[test]
fn drops_are_spaced_by_the_interval_over_the_root_of_their_count() {
    let (times, _) = signals(Config::linux(), Ecn::NotEct, 20, 3000);
    // RFC 8289 §5.4: the n-th follows the one before by 100 ms / √n. The root is an estimate, so
    // the early ones are a little early.
    let mut due = times[0] as f64;
    for (n, time) in times.iter().enumerate() {
        let off = *time as f64 - due;
        assert!(off.abs() < 30.0, "drop {n} at {time} ms, {off} ms from where it belongs");
        due += 100.0 / ((n + 1) as f64).sqrt();
    }
    let gaps: Vec<u64> = times.windows(2).map(|w| w[1] - w[0]).collect();
    // About the 100th drop there is one every 10 ms.
    assert!(gaps[95..105].iter().all(|gap| (9..=11).contains(gap)), "{gaps:?}");
}

#[test]
fn the_first_drops_by_hand() {
    // RFC 8289 §5.4 with the root as Linux has it: for each drop, one step of Newton's method from the
    // root before, x' = x·(3 − n·x²)/2:
    // ```text
    // n = 2: 1·(3 − 2·1)/2           = 0.5000
    // n = 3: 0.5·(3 − 3·0.25)/2      = 0.5625
    // n = 4: 0.5625·(3 − 4·0.3164)/2 = 0.4878
    // n = 5: 0.4878·(3 − 5·0.2380)/2 = 0.4415
    // n = 6: 0.4415·(3 − 6·0.1949)/2 = 0.4041
    // ```
    // The first drop is at 121 ms; the others are due 100 ms times these after the one before was, and
    // come with the next packet: 221, 271, 327.25, 376.03, 420.2 and 460.6 ms.
    let (times, _) = signals(Config::linux(), Ecn::NotEct, 20, 462);
    assert_eq!(times, [121, 221, 271, 328, 377, 421, 461]);
}

#[test]
fn a_delay_below_target_is_left_alone() {
    assert_eq!(signals(Config::linux(), Ecn::NotEct, 4, 3000).0, []);
}

#[test]
fn a_single_packet_is_no_queue() {
    assert_eq!(MTU.get(), 1514, "that is one full-sized frame");
    for (size, behind) in [(MTU.get(), 1), (9014, 1), (9014, 2)] {
        let (mut rng, mut seen) = (rng(SEED), Counters::default());
        let mut codel = Discipline::new(Config::linux(), &mut rng);
        // One comes and one leaves every 50 ms: each waits for `behind` times that, and as many remain behind it.
        for id in 0..100 {
            codel.enqueue(Probe::full(id).size(size), ms(id * 50), &mut rng, &mut seen);
            if id >= behind {
                codel.dequeue(ms(id * 50), &mut rng, &mut seen);
            }
        }
        assert_eq!(seen.dropped(Queue::Q) > 0, behind > 1, "{size} B, {behind}");
    }
}

#[test]
fn ecn_capable_packets_are_marked_and_others_dropped() {
    let (times, seen) = signals(Config::fallback(), Ecn::Ect0, 20, 3000);
    assert_eq!(seen.marks(Queue::Q, MarkCause::Classic), times.len() as u64);
    assert!(times.len() > 100);
    let (_, seen) = signals(Config::fallback(), Ecn::NotEct, 20, 3000);
    assert!(seen.drops(Queue::Q, DropCause::Aqm) > 100);
    let (_, seen) = signals(Config::linux(), Ecn::Ect0, 20, 3000);
    assert!(seen.drops(Queue::Q, DropCause::Aqm) > 100, "without ecn all are dropped");
}

#[test]
fn dropping_soon_after_the_last_time_resumes_at_its_rate() {
    let (mut rng, mut seen) = (rng(SEED), Counters::default());
    let mut codel = Discipline::new(Config::linux(), &mut rng);
    let mut congest = |from: u64, to: u64, seen: &mut Counters| {
        for id in from..to {
            for _ in 0..3 {
                codel.enqueue(Probe::full(id), ms(id - 20), &mut rng, seen);
            }
            while codel.backlog().packets > 3 {
                codel.dequeue(ms(id), &mut rng, seen);
            }
        }
        // A packet below target ends the congestion.
        codel.enqueue(Probe::full(0), ms(to), &mut rng, seen);
        while codel.dequeue(ms(to), &mut rng, seen).is_some() {}
        (codel.control.count, codel.control.last_count)
    };
    let (count, last) = congest(20, 1020, &mut seen);
    assert_eq!(last, 1);
    assert!(count > 20);
    // Within 16 intervals it starts from the last count.
    let (_, last) = congest(1100, 1220, &mut seen);
    assert_eq!(last, count - 1);
    // Later it starts from one.
    let (_, last) = congest(5000, 5120, &mut seen);
    assert_eq!(last, 1);
}

#[test]
fn ce_threshold_marks_what_waited_longer() {
    let config = Config { ce_threshold: Some(Duration::from_millis(1)), ..Config::linux() };
    let (mut rng, mut seen) = (rng(SEED), Counters::default());
    let mut codel = Discipline::new(config, &mut rng);
    for (id, ecn) in [Ecn::Ect0, Ecn::Ect1, Ecn::NotEct, Ecn::Ce].into_iter().enumerate() {
        codel.enqueue(Probe::full(id as u64).ecn(ecn), ms(0), &mut rng, &mut seen);
    }
    let mut out = || codel.dequeue(ms(2), &mut rng, &mut seen).unwrap().packet.ecn;
    assert_eq!([out(), out(), out(), out()], [Ecn::Ce, Ecn::Ce, Ecn::NotEct, Ecn::Ce]);
    assert_eq!(seen.marks(Queue::Q, MarkCause::Step), 2, "what was CE before is not told");
    // At the threshold itself, in units of 1024 ns, it does not mark.
    for (units, ecn) in [(976, Ecn::Ect1), (977, Ecn::Ce)] {
        let (start, end) = (1 << 30, (1 << 30) + 1024 * units);
        codel.enqueue(Probe::full(9).ecn(Ecn::Ect1), Time::from_nanos(start), &mut rng, &mut seen);
        let out = codel.dequeue(Time::from_nanos(end), &mut rng, &mut seen).unwrap();
        assert_eq!(out.packet.ecn, ecn);
    }
}

#[test]
fn after_a_long_silence_one_dequeue_drops_no_more_than_256() {
    let (mut rng, mut seen) = (rng(SEED), Counters::default());
    let mut codel = Discipline::new(Config::linux(), &mut rng);
    codel.limit = Limit::packets(10_000);
    for id in 0..10_000 {
        codel.enqueue(Probe::full(id), ms(0), &mut rng, &mut seen);
    }
    codel.dequeue(ms(10), &mut rng, &mut seen);
    codel.dequeue(ms(111), &mut rng, &mut seen);
    assert_eq!(seen.dropped(Queue::Q), 1);
    // In 100 s at 100 ms / √n: 250000 drops would be due.
    assert!(codel.dequeue(ms(100_000), &mut rng, &mut seen).is_some());
    assert_eq!(seen.dropped(Queue::Q), 1 + 256);
}

/// RFC 8289 §4.2, §4.3 and §4.5, RFC 8290 §5.2: any default suits the Internet.
#[test]
fn every_profile_has_the_settings_of_the_internet() {
    let (target, interval) = (Duration::from_millis(5), Duration::from_millis(100));
    for profile in Config::PROFILES {
        let config = (profile.make)();
        assert_eq!((config.target, config.interval), (target, interval), "{}", profile.name);
    }
    for profile in fq_codel::Config::PROFILES {
        let config = (profile.make)();
        assert_eq!((config.target, config.interval), (target, interval), "{}", profile.name);
        assert!(config.ecn, "{}", profile.name);
    }
}
