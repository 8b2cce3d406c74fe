use super::*;
use crate::testing::{Probe, SEED, ms, rng};
use crate::{Counters, Limit};
use l4s_units::param::Configurable;
use l4s_units::{Bytes, Ecn, Rate};
use proptest::prelude::*;

/// The outcomes of 10,000 packets that each find an average of `bytes`.
fn fates(config: Config, bytes: u64, ecn: Ecn) -> Counters {
    let (mut rng, mut seen) = (rng(SEED), Counters::default());
    let mut red = Discipline::new(Config { limit: Limit::packets(1), ..config }, &mut rng);
    red.average.idle_since = None;
    for id in 0..10_000 {
        // The average before this packet finds an empty queue, which reduces it by 1/128.
        red.average.scaled = (bytes << 7) / 127 * 128;
        red.enqueue(Probe::full(id).ecn(ecn), ms(0), &mut rng, &mut seen);
        red.queue = Fifo::new();
    }
    seen
}

/// The numbers of those of 100,000 packets that get a signal at an average of `bytes`, and the reported
/// probability.
fn signals(bytes: u64) -> (Vec<u64>, Probability) {
    let mut rng = rng(SEED);
    let mut red: Discipline<Probe> = Discipline::new(Config::slides(), &mut rng);
    red.average.scaled = bytes << red.average.weight_log;
    let at = (0..100_000).filter(|_| red.chance.action(&red.average, &mut rng) != Action::Pass);
    (at.collect(), red.signal().unwrap().base)
}

#[test]
fn the_weight_is_the_one_that_tc_derives() {
    // 220 + 1 − 120 = 101 ≤ (1 − (127/128)²²⁰) · 128 = 105.2, but more than 62 for 1/64.
    assert_eq!(Config::slides().weight_log(), Some(7));
    assert_eq!(Config::slides().check(), Ok(()));
    let short = Config { burst: 100, ..Config::slides() };
    assert_eq!(short.check().unwrap_err().key, "burst");
    let upside_down = Config { max: Bytes::new(100_000), ..Config::slides() };
    assert_eq!(upside_down.check().unwrap_err().key, "max");
}

#[test]
#[cfg_attr(miri, ignore = "many packets: minutes")]
fn nothing_happens_below_the_lower_threshold_and_all_is_signalled_above_the_upper() {
    let below = fates(Config::slides(), 119_999, Ecn::NotEct);
    assert_eq!(below.dropped(Queue::Q), 0);
    let above = fates(Config::slides(), 360_001, Ecn::NotEct);
    assert_eq!(above.drops(Queue::Q, DropCause::Aqm), 10_000);
}

#[test]
#[cfg_attr(miri, ignore = "many packets: minutes")]
fn between_the_thresholds_signals_come_at_twice_the_ramps_probability_evenly() {
    // In the middle of the ramp the probability is 1 %. The gap between signals is uniform from 1 to 100
    // (Floyd and Jacobson §7), about 51 on average.
    let (at, _) = signals(240_000);
    let gaps: Vec<u64> = at.windows(2).map(|w| w[1] - w[0]).collect();
    assert!(gaps.iter().all(|gap| (1..=101).contains(gap)), "{:?}", gaps.iter().max());
    let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
    assert!((mean - 50.5).abs() < 2.5, "{mean}");
}

#[test]
#[cfg_attr(miri, ignore = "many packets: minutes")]
fn the_probability_is_a_ramp() {
    let p = |bytes| signals(bytes).1.as_f64();
    assert_eq!(p(119_999), 0.0);
    assert!((p(180_000) - 0.005).abs() < 1e-4);
    assert!((p(359_999) - 0.02).abs() < 1e-4);
    assert_eq!(p(360_000), 1.0);
}

#[test]
#[cfg_attr(miri, ignore = "many packets: minutes")]
fn ecn_capable_packets_are_marked_unless_told_otherwise() {
    let seen = |config, ecn| fates(config, 400_000, ecn);
    let marked = seen(Config::slides(), Ecn::Ect0);
    assert_eq!((marked.marked(Queue::Q), marked.dropped(Queue::Q)), (10_000, 0));
    let hard = seen(Config { harddrop: true, ..Config::slides() }, Ecn::Ect0);
    assert_eq!(hard.drops(Queue::Q, DropCause::Overload), 10_000);
    let off = seen(Config { ecn: false, ..Config::slides() }, Ecn::Ect0);
    assert_eq!(off.drops(Queue::Q, DropCause::Aqm), 10_000);
}

#[test]
fn the_average_follows_the_queue_slowly() {
    let mut average = Average::new(&Config::slides());
    average.idle_since = None;
    for _ in 0..128 {
        average.update(100_000, ms(0));
    }
    // 1 − (127/128)¹²⁸ = 63.4 %.
    let bytes = (average.scaled >> 7) as f64;
    assert!((bytes / 63_360.0 - 1.0).abs() < 0.01, "{bytes}");
}

#[test]
fn the_average_falls_while_the_queue_is_idle() {
    let fallen = |idle_ms: u64| {
        let mut average = Average::new(&Config::slides());
        average.scaled = 200_000 << 7;
        average.idle_since = Some(ms(0));
        average.update(0, ms(idle_ms));
        assert_eq!(average.idle_since, None);
        average.scaled >> 7
    };
    assert_eq!(fallen(0), 200_000);
    let times = [1, 10, 50, 100, 200, 500, 1000, 10_000];
    let averages = times.map(fallen);
    assert!(averages.windows(2).all(|w| w[1] <= w[0]), "{averages:?}");
    // 200 µs a packet, 3125 ticks of `tc`: 1/e in 128 · 3125 µs = 400 ms, which the shift rounds to 1/2.
    assert_eq!(fallen(450), 100_000);
    assert_eq!(fallen(10_000_000), 0);
}

/// Linux, `red_dequeue`: the time is idle from a call on that finds nothing.
#[test]
fn an_idle_time_begins_where_the_link_asks_in_vain() {
    let after = |asks: bool, drops: bool| {
        let (mut rng, mut seen) = (rng(SEED), Counters::default());
        let mut red = Discipline::new(Config::slides(), &mut rng);
        red.enqueue(Probe::full(0), ms(0), &mut rng, &mut seen);
        red.average.scaled = 200_000 << 7;
        assert!(red.dequeue(ms(0), &mut rng, &mut seen).is_some());
        if asks {
            assert!(red.dequeue(ms(1), &mut rng, &mut seen).is_none());
            assert!(red.dequeue(ms(5000), &mut rng, &mut seen).is_none());
        }
        if drops {
            // A packet that is dropped ends it, too, until the link asks again.
            red.config.limit = Limit::packets(0);
            red.enqueue(Probe::full(1), ms(451), &mut rng, &mut seen);
        }
        red.enqueue(Probe::full(2), ms(451), &mut rng, &mut seen);
        red.average.scaled >> 7
    };
    // 450 ms take half of it. A sample of an empty queue takes 1/128.
    assert_eq!(after(true, false), 100_000);
    assert_eq!(after(false, false), 200_000 - 200_000 / 128 - 1);
    assert_eq!(after(true, true), 100_000 - 100_000 / 128 - 1);
}

/// Thresholds of 24 and 72 ms. The weight is the same, as the burst is also the same in time.
#[test]
fn scaled_to_its_link_it_has_the_same_thresholds_in_time() {
    let at = |mbps: u64| Config::scaled().at(Rate::from_mbps(mbps));
    let sizes = |c: &Config| [c.min.get(), c.max.get(), c.burst, c.limit.bytes.get()];
    assert_eq!(sizes(&at(40)), sizes(&Config::slides()));
    assert_eq!(sizes(&at(4)), [12_000, 36_000, 22, 160_000]);
    assert_eq!(sizes(&at(1000)), [3_000_000, 9_000_000, 5500, 40_000_000]);
    // The minimum is two packets of 1000 B; the others are in the same proportion.
    assert_eq!(sizes(&Config::scaled().at(Rate::from_bps(100_000))), [2001, 6001, 4, 26_667]);
    for bps in [1_000, 100_000, 1_000_000, 40_000_000, 1_000_000_000, 100_000_000_000] {
        assert_eq!(Config::scaled().at(Rate::from_bps(bps)).check(), Ok(()), "{bps}");
    }
}

#[test]
fn only_one_that_is_scaled_follows_its_link_and_keeps_its_average() {
    let mut rng = rng(SEED);
    for (config, min) in [(Config::slides(), 120_000), (Config::scaled(), 1_200_000)] {
        let mut red: Discipline<Probe> = Discipline::new(config, &mut rng);
        red.average.scaled = 50_000 << red.average.weight_log;
        red.set_rate(Rate::from_mbps(400));
        red.set_rate(Rate::from_mbps(400));
        assert_eq!(red.chance.min >> red.average.weight_log, min);
        assert_eq!(red.average.scaled >> red.average.weight_log, 50_000);
        assert_eq!(red.config.limit, Config::slides().limit, "a buffer is as large at any rate");
    }
}

proptest! {
    /// The range in a refusal of `burst` is right: its first and its last burst are accepted, and the bursts
    /// just outside are not.
    #[test]
    fn a_refusal_names_the_bursts_that_work(
        min in 1u64..10_000_000, avpkt in 1u64..20_000, burst in 1u64..1_000_000,
    ) {
        let sizes = (Bytes::new(min), Bytes::new(avpkt));
        let with = |burst| Config { min: sizes.0, max: sizes.0, avpkt: sizes.1, burst, ..Config::slides() };
        match with(burst).check() {
            Ok(()) => {}
            Err(conflict) if conflict.key == "min" => {
                prop_assert!(min < avpkt || min > 1_000_000 * avpkt);
            }
            Err(conflict) => {
                prop_assert_eq!(conflict.key, "burst");
                let (_, range) = conflict.message.split_once("from ").unwrap();
                let numbers: Vec<u64> = range.split(' ').filter_map(|n| n.parse().ok()).collect();
                let [least, most] = numbers[..] else { panic!("{}", conflict.message) };
                prop_assert!(burst < least || burst > most);
                for works in [least, most] {
                    prop_assert_eq!(with(works).check(), Ok(()), "{}", works);
                }
                for fails in [least - 1, most + 1] {
                    // The range of the setting is 1 to 1,000,000.
                    let possible = (1..=1_000_000).contains(&fails);
                    prop_assert!(!possible || with(fails).check().is_err(), "{}", fails);
                }
            }
        }
    }
}

#[test]
fn thresholds_that_are_the_same_are_a_step() {
    // 20 packets of 1500 B are 30 kB, and 20 is the smallest valid burst.
    let step = |burst| {
        let (min, avpkt) = (Bytes::new(30_000), Bytes::new(1500));
        Config { min, max: min, avpkt, burst, probability: 1.0, ..Config::slides() }
    };
    assert_eq!(step(20).check(), Ok(()));
    assert!(step(19).check().unwrap_err().message.contains("from 20 to"));
    let below = Config { max: Bytes::new(29_999), ..step(20) };
    assert_eq!(below.check().unwrap_err().key, "max");
    let mut rng = rng(SEED);
    let mut red: Discipline<Probe> = Discipline::new(step(20), &mut rng);
    for (average, expected) in [(29_999u64, Action::Pass), (30_000, Action::Force)] {
        red.average.scaled = average << red.average.weight_log;
        assert_eq!(red.chance.action(&red.average, &mut rng), expected, "{average}");
    }
}
