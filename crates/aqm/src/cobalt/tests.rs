use super::*;
use crate::Counters;
use crate::testing::{Probe, SEED, ms, rng, us};
use l4s_units::param::{Configurable, Value};
use l4s_units::{Bytes, Duration, Ecn, Rate};
use rand_xoshiro::Xoshiro256PlusPlus;

struct Bench {
    aqm: Discipline<Probe>,
    rng: Xoshiro256PlusPlus,
    seen: Counters,
}

impl Bench {
    fn new(config: Config) -> Bench {
        let mut rng = rng(SEED);
        Bench { aqm: Discipline::new(config, &mut rng), rng, seen: Counters::default() }
    }

    fn put(&mut self, ecn: Ecn, now: Time) {
        self.aqm.enqueue(Probe::full(0).ecn(ecn), now, &mut self.rng, &mut self.seen);
    }

    fn take(&mut self, now: Time) -> Option<Ecn> {
        self.aqm.dequeue(now, &mut self.rng, &mut self.seen).map(|out| out.packet.ecn)
    }

    fn signals(&self) -> u64 {
        self.seen.marked(Queue::Q) + self.seen.dropped(Queue::Q)
    }

    /// One packet leaves at each of `times` in ms, after a delay of `wait` ms and with others behind
    /// it. Returns the times at which there was a signal.
    fn serve(&mut self, ecn: Ecn, wait: u64, times: std::ops::Range<u64>) -> Vec<u64> {
        let mut at = Vec::new();
        for now in times {
            let before = self.signals();
            // Two can be dropped, one leaves, and one remains behind it for the moment.
            for _ in 0..4 {
                self.put(ecn, ms(now - wait));
            }
            self.take(ms(now));
            at.extend((before..self.signals()).map(|_| now));
            self.aqm.evacuate();
        }
        at
    }

    fn p(&self) -> f64 {
        self.aqm.signal().expect("BLUE has a probability").base.as_f64()
    }

    /// Overflows `times` times, at intervals of the target plus 1 ms; returns the time of the last.
    fn overflow(&mut self, times: u64) -> Time {
        for n in 1..=times {
            while self.aqm.backlog().packets < self.aqm.limit.packets as usize {
                self.put(Ecn::Ect0, ms(6 * n));
            }
            self.put(Ecn::Ect0, ms(6 * n));
        }
        ms(6 * times)
    }
}

fn small() -> Config {
    Config { limit: Limit::packets(10), ..Config::linux() }
}

#[test]
fn ecn_capable_packets_are_marked_at_once_and_others_dropped() {
    for ecn in [Ecn::Ect0, Ecn::Ect1] {
        let mut bench = Bench::new(Config::linux());
        let times = bench.serve(ecn, 20, 20..1020);
        assert_eq!(bench.seen.marks(Queue::Q, MarkCause::Classic), times.len() as u64);
        assert_eq!(bench.seen.dropped(Queue::Q), 0);
        assert!(times.len() > 20, "{times:?}");
    }
    let mut bench = Bench::new(Config::linux());
    let times = bench.serve(Ecn::NotEct, 20, 20..1020);
    assert_eq!(bench.seen.drops(Queue::Q, DropCause::Aqm), times.len() as u64);
    let mut bench = Bench::new(Config { ecn: false, ..Config::linux() });
    assert_eq!(bench.serve(Ecn::Ect0, 20, 20..1020), times, "without ecn all are dropped");
    assert_eq!(bench.seen.drops(Queue::Q, DropCause::Aqm), times.len() as u64);
}

#[test]
fn signals_are_spaced_by_the_interval_over_the_root_of_their_count() {
    let mut bench = Bench::new(Config::linux());
    let times = bench.serve(Ecn::Ect0, 20, 20..3020);
    // The very first signal needs no interval (Linux): above target at 20 ms, marked at 21 ms, and
    // counted as the second. From 20 ms on each follows the one before by 100 ms / √n.
    let mut due = 20.0;
    for (n, time) in times.iter().enumerate() {
        assert!((*time as f64 - due).abs() <= 1.0, "signal {n} at {time} ms, not {due} ms");
        due += 100.0 / ((n + 2) as f64).sqrt();
    }
    assert_eq!(times[..4], [21, 91, 149, 199], "20, 90.7, 148.4 and 198.4 ms");
}

#[test]
fn once_at_rest_the_first_signal_takes_an_interval() {
    let mut bench = Bench::new(Config::linux());
    bench.serve(Ecn::Ect0, 20, 20..22);
    // The count is 2 and due at 90.7 ms. There it becomes 1, and at 190.7 ms it becomes 0.
    bench.serve(Ecn::Ect0, 1, 22..250);
    assert_eq!(bench.aqm.codel.count, 0);
    let times = bench.serve(Ecn::Ect0, 20, 250..360);
    assert_eq!(times, [350]);
}

#[test]
#[cfg_attr(miri, ignore = "many packets: minutes")]
fn no_signal_at_target_or_below() {
    let mut bench = Bench::new(Config::linux());
    assert_eq!(bench.serve(Ecn::Ect0, 5, 20..3020), []);
    // Up to four packets of 3 ms each count as no delay.
    let slow = Config { mtu_time: Duration::from_millis(3), ..Config::linux() };
    assert_eq!(Bench::new(slow.clone()).serve(Ecn::Ect0, 12, 20..3020), []);
    assert!(Bench::new(slow).serve(Ecn::Ect0, 13, 20..3020).len() > 100);
}

#[test]
#[cfg_attr(miri, ignore = "many packets: minutes")]
fn what_shapes_knows_the_time_of_a_packet() {
    let at = |mbps| Config::shaped().at(Rate::from_mbps(mbps));
    let (ms, us) = (Duration::from_millis, Duration::from_micros);
    let of = |c: &Config| (c.target, c.interval, c.mtu_time, c.limit.memory.unwrap().get());
    assert_eq!(of(&at(1)), (us(18_168), us(113_168), us(12_112), 4 << 20));
    assert_eq!(of(&at(40)), (ms(5), ms(100), Duration::from_nanos(302_800), 4 << 20));
    assert_eq!(of(&at(200)), (ms(5), ms(100), Duration::from_nanos(60_560), 10_000_000));
    assert_eq!(of(&at(1000)).3, 10_240 * 1514, "no more than it may have at all");
    let short = Config { target: ms(1), interval: ms(2), ..Config::shaped() };
    assert_eq!(short.at(Rate::from_mbps(1)).interval, us(36_336));

    // Four packets of 1514 B take 12.1 ms at 4 Mb/s, and half of that at 8.
    let mut bench = Bench::new(Config::shaped());
    bench.aqm.set_rate(Rate::from_mbps(4));
    assert_eq!(bench.serve(Ecn::Ect0, 12, 20..3020), []);
    bench.aqm.set_rate(Rate::from_mbps(8));
    assert!(bench.serve(Ecn::Ect0, 12, 3020..6020).len() > 100);
    let mut other = Bench::new(Config::linux());
    other.aqm.set_rate(Rate::from_mbps(4));
    assert!(other.serve(Ecn::Ect0, 12, 20..3020).len() > 100);
}

#[test]
fn a_limit_of_memory_that_is_given_is_not_changed() {
    let set = |c: &mut Config, name: &str, value: Value| {
        let param = Config::PARAMS.iter().find(|param| param.name == name).unwrap();
        (param.set)(c, value);
    };
    // A packet is worth 1514 B: the number of the profile changes nothing.
    let mut config = Config::linux();
    set(&mut config, "limit", Value::Packets(10_240));
    assert_eq!(config, Config::linux());
    set(&mut config, "limit", Value::Packets(100));
    assert_eq!(config.limit.memory.unwrap().get(), 151_400);
    // 40 Mb/s for four intervals are 2 MB.
    let at = |c: &Config| c.at(Rate::from_mbps(40)).limit.memory.unwrap().get();
    assert_eq!(at(&config), 151_400);
    set(&mut config, "limit", Value::Packets(40_000));
    assert_eq!(at(&config), 4 << 20);
    for memory in [100_000, 50_000_000] {
        set(&mut config, "memlimit", Value::Bytes(Bytes::new(memory)));
        assert_eq!(at(&config), memory);
    }
}

#[test]
fn the_same_discipline_with_other_settings_keeps_the_probability_of_blue() {
    let mut old = Bench::new(small());
    let now = old.overflow(64);
    let mut rng = rng(SEED);
    let mut new: Discipline<Probe> = Discipline::new(Config::linux(), &mut rng);
    new.inherit(&old.aqm);
    assert_eq!(new.signal().unwrap().base.as_f64(), old.p());
    // It falls in an empty queue as that of the old one would have.
    while old.take(now).is_some() {}
    let mut new = Bench { aqm: new, rng, seen: Counters::default() };
    new.put(Ecn::Ect0, now);
    new.take(now);
    for bench in [&mut old, &mut new] {
        bench.put(Ecn::Ect0, now + Duration::from_secs(1));
    }
    assert!(new.p() > 0.0 && new.p() < 0.25, "{}", new.p());
    assert_eq!(new.p(), old.p());
}

#[test]
fn a_full_packet_is_the_longest_seen() {
    // At 24.112 Mb/s one of 1514 B takes 0.5 ms, and one of 9042 B takes 3 ms: up to 12 ms are no delay.
    let mut bench = Bench::new(Config::shaped());
    bench.aqm.set_rate(Rate::from_bps(24_112_000));
    assert!(bench.serve(Ecn::Ect0, 12, 20..3020).len() > 100);
    let long = Probe::full(0).ecn(Ecn::Ect0).size(9042);
    bench.aqm.enqueue(long, ms(3020), &mut bench.rng, &mut bench.seen);
    bench.aqm.evacuate();
    bench.serve(Ecn::Ect0, 1, 3020..9020);
    assert_eq!(bench.serve(Ecn::Ect0, 12, 9020..12_020), []);
}

#[test]
fn the_count_ages_out_as_slowly_as_it_grew() {
    let mut bench = Bench::new(Config::linux());
    bench.serve(Ecn::Ect0, 20, 20..1020);
    let count = bench.aqm.codel.count;
    // Σ 100 ms / √n from 2 to n is about 200 ms · (√n − 1.27): 1 s is worth 6.27² = 39.
    assert!((38..=40).contains(&count), "{count}");
    // Half a second takes 500/200 from the root: (6.27 − 2.5)² = 14.
    bench.serve(Ecn::Ect0, 1, 1020..1520);
    let left = bench.aqm.codel.count;
    assert!((13..=15).contains(&left), "{left} of {count}");
    // It continues from there: the next one is 100 ms / √n later, not an interval.
    let times = bench.serve(Ecn::Ect0, 20, 1520..1560);
    assert_eq!(times[0], 1521 + (100.0 / f64::from(left).sqrt()) as u64);
    bench.serve(Ecn::Ect0, 1, 1560..2500);
    assert_eq!(bench.aqm.codel.count, 0);
}

#[test]
fn an_idle_time_ages_the_count_too() {
    let mut bench = Bench::new(Config::linux());
    bench.serve(Ecn::Ect0, 20, 20..1020);
    bench.put(Ecn::Ect0, ms(1020));
    bench.take(ms(1020));
    bench.put(Ecn::Ect0, ms(2500));
    assert_eq!(bench.aqm.codel.count, 0);
}

#[test]
fn the_last_packet_is_not_dropped_but_marked() {
    let mut bench = Bench::new(Config::linux());
    for (now, ecn, then) in [(20, Ecn::NotEct, Ecn::NotEct), (50, Ecn::Ect0, Ecn::Ce)] {
        bench.put(ecn, ms(now));
        // Makes a signal due.
        bench.aqm.codel.overflow(ms(now));
        assert_eq!(bench.take(ms(now + 20)), Some(then));
    }
    assert_eq!((bench.seen.dropped(Queue::Q), bench.seen.marked(Queue::Q)), (0, 1));
}

#[test]
fn an_overflow_drops_the_head_and_raises_blue_once_per_target() {
    let mut bench = Bench::new(small());
    for n in 0..10 {
        bench.put(Ecn::Ect0, us(n));
    }
    assert_eq!((bench.p(), bench.seen.dropped(Queue::Q)), (0.0, 0));
    for (at_us, raised) in [(100, 1), (200, 1), (5100, 1), (5101, 2), (10_101, 2), (10_102, 3)] {
        bench.put(Ecn::Ect0, us(at_us));
        assert!(
            (bench.p() * 256.0 - f64::from(raised)).abs() < 1e-6,
            "{} at {at_us} us",
            bench.p()
        );
    }
    assert_eq!(bench.seen.drops(Queue::Q, DropCause::Limit), 6);
    let head = bench.aqm.queue.head().map(|head| head.arrival);
    assert_eq!(head, Some(us(6)), "the oldest six are gone");
}

#[test]
fn blue_saturates_at_certainty() {
    let mut bench = Bench::new(small());
    bench.overflow(300);
    assert_eq!(bench.p(), 1.0);
}

#[test]
fn an_empty_queue_lowers_blue_once_per_target() {
    let mut bench = Bench::new(small());
    let now = bench.overflow(2);
    let raised = 2.0 * 16.0;
    while bench.take(now).is_some() {}
    // Raised at 12 ms: lowered by 1/4096 after 17 ms, after 22 ms and so on, if empty.
    for (at_us, lowered) in [(17_000, 0.0), (17_001, 1.0), (22_000, 1.0), (32_500, 4.0)] {
        bench.put(Ecn::Ect0, us(at_us));
        bench.take(us(at_us));
        let p = bench.p() * 4096.0;
        assert!((p - raised + lowered).abs() < 1e-5, "{p} at {at_us} us");
    }
    bench.put(Ecn::Ect0, ms(2000));
    assert_eq!(bench.p(), 0.0, "28 more in 140 ms");
}

#[test]
#[cfg_attr(miri, ignore = "many packets: minutes")]
fn blue_drops_whatever_can_be_marked_and_says_why() {
    for (ecn, cause) in [(Ecn::Ect1, DropCause::Overload), (Ecn::NotEct, DropCause::Aqm)] {
        const N: u64 = 20_000;
        let mut bench = Bench::new(small());
        let now = bench.overflow(64);
        bench.aqm.limit = Limit::packets(N + 1);
        bench.aqm.evacuate();
        bench.seen = Counters::default();
        // Without delay CoDel gives no signal. BLUE alone decides, at 64/256.
        for _ in 0..=N {
            bench.put(ecn, now);
        }
        while bench.take(now).is_some() {}
        let drops = bench.seen.drops(Queue::Q, cause) as f64;
        // Five standard deviations of N trials at 1/4: 5·√(20000·3/16) = 306.
        assert!((drops - N as f64 / 4.0).abs() < 306.0, "{drops}");
        assert_eq!(bench.seen.dropped(Queue::Q) as f64, drops);
        assert_eq!(bench.seen.marked(Queue::Q), 0);
    }
}

#[test]
fn what_is_dropped_was_not_marked() {
    // BLUE is certain, and for CoDel both packets are due.
    let mut bench = Bench::new(Config { interval: Duration::from_micros(2), ..small() });
    let now = bench.overflow(300);
    bench.aqm.evacuate();
    bench.seen = Counters::default();
    bench.put(Ecn::Ect0, now);
    bench.put(Ecn::Ect0, now);
    bench.aqm.codel.overflow(now);
    assert_eq!(bench.take(now + Duration::from_millis(20)), Some(Ecn::Ce));
    assert_eq!(bench.seen.drops(Queue::Q, DropCause::Overload), 1);
    assert_eq!(bench.seen.marked(Queue::Q), 1, "the one that left");
}
