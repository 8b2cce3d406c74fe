use super::*;
use crate::testing::{Probe, SEED, ms, rng, us};
use crate::{Counters, Limit, MTU, MarkCause};
use l4s_units::{Bytes, Duration, Ecn};

/// Flows that fall into different queues with the seed of these tests.
const A: u32 = 1;
const B: u32 = 2;
const C: u32 = 3;

struct Bench {
    aqm: Discipline<Probe>,
    rng: rand_xoshiro::Xoshiro256PlusPlus,
    seen: Counters,
    now: Time,
}

impl Bench {
    fn new(config: Config) -> Bench {
        let mut rng = rng(SEED);
        let aqm = Discipline::new(config, &mut rng);
        let queue = |flow| aqm.queue_of(flow);
        assert!(queue(A) != queue(B) && queue(B) != queue(C) && queue(A) != queue(C));
        Bench { aqm, rng, seen: Counters::default(), now: ms(0) }
    }

    fn put(&mut self, packet: Probe) {
        self.aqm.enqueue(packet, self.now, &mut self.rng, &mut self.seen);
    }

    fn take(&mut self) -> Option<Probe> {
        self.aqm.dequeue(self.now, &mut self.rng, &mut self.seen).map(|out| out.packet)
    }
}

#[test]
fn backlogged_flows_share_the_bytes_whatever_their_packet_size() {
    let mut bench = Bench::new(Config::dctth());
    for id in 0..2000 {
        bench.put(Probe::full(id).flow(A));
        for _ in 0..3 {
            bench.put(Probe::full(id).flow(B).size(500));
        }
    }
    let mut bytes = [0u64; 2];
    for _ in 0..2000 {
        let packet = bench.take().unwrap();
        bytes[packet.flow as usize - 1] += packet.size.get();
    }
    assert!(bytes[0].abs_diff(bytes[1]) <= 2 * MTU.get(), "{bytes:?}");
}

#[test]
fn the_first_rounds_by_hand() {
    let mut bench = Bench::new(Config::dctth());
    for id in 0..20 {
        bench.put(Probe::full(id).flow(A));
        bench.put(Probe::full(id).flow(B).size(500));
    }
    // RFC 8290 §4.2: a turn lasts while there is credit, and a quantum of 1514 B is added after it.
    //   A: 1514 − 1514 = 0, and 1514 again
    //   B: 1514, 1014, 514, 14, −486 after four packets, and 1028
    //   B: 1028, 528, 28, −472 after three, and 1042; then −458 after three, and 1056
    let order: String =
        (0..14).map(|_| if bench.take().unwrap().flow == A { 'A' } else { 'B' }).collect();
    assert_eq!(order, "ABBBBABBBABBBA");
}

#[test]
fn a_flow_that_appears_goes_before_those_with_a_backlog() {
    let mut bench = Bench::new(Config::dctth());
    for id in 0..100 {
        bench.put(Probe::full(id).flow(A));
        bench.put(Probe::full(id).flow(B));
    }
    for _ in 0..10 {
        bench.take();
    }
    bench.put(Probe::full(0).flow(C).size(100));
    assert_eq!(bench.take().unwrap().flow, C);
}

#[test]
fn a_flow_cannot_stay_new_by_sending_one_packet_at_a_time() {
    let mut bench = Bench::new(Config::dctth());
    for id in 0..1000 {
        bench.put(Probe::full(id).flow(A));
    }
    // A leaves the new flows when its quantum is used up.
    bench.take();
    // C sends its next full packet as soon as its last one left.
    let mut served = [0; 4];
    bench.put(Probe::full(0).flow(C));
    for _ in 0..400 {
        let packet = bench.take().unwrap();
        served[packet.flow as usize] += 1;
        if packet.flow == C {
            bench.put(Probe::full(0).flow(C));
        }
    }
    assert!((195..=205).contains(&served[C as usize]), "{served:?}");
}

#[test]
fn without_room_the_fattest_flow_loses_half_its_queue_or_a_batch() {
    let config = Config { limit: Limit::packets(100), ..Config::dctth() };
    let mut bench = Bench::new(config.clone());
    for id in 0..60 {
        bench.put(Probe::full(id).flow(A));
    }
    for id in 0..40 {
        bench.put(Probe::full(id).flow(B));
    }
    assert_eq!(bench.seen.dropped(Queue::Q), 0);
    bench.put(Probe::full(40).flow(B));
    // Half of 60 packets, from the head.
    assert_eq!(bench.seen.drops(Queue::Q, DropCause::Limit), 30);
    assert_eq!(bench.aqm.backlog().packets, 71);
    let first_of_a = std::iter::from_fn(|| bench.take()).find(|p| p.flow == A).unwrap();
    assert_eq!(first_of_a.id, 30);

    let mut bench = Bench::new(Config { limit: Limit::packets(1000), ..config });
    for id in 0..1001 {
        bench.put(Probe::full(id).flow(A));
    }
    assert_eq!(bench.seen.dropped(Queue::Q), 64, "no more than a batch");
}

#[test]
fn memory_is_limited_too() {
    let mut config = Config::linux();
    config.limit.memory = Some(Bytes::new(10 * MTU.get()));
    let mut bench = Bench::new(config);
    for id in 0..11 {
        bench.put(Probe::full(id).flow(A));
    }
    // The goal is half of the bytes: 5.5 of 11 packets, so 6.
    assert_eq!(bench.seen.drops(Queue::Q, DropCause::Memory), 6);
}

#[test]
fn each_flow_has_its_own_codel() {
    let mut bench = Bench::new(Config::dctth());
    // A keeps a queue of 20 packets at a packet per ms: 20 ms. B sends single packets.
    for id in 0..20 {
        bench.put(Probe::full(id).flow(A).ecn(Ecn::Ect0));
    }
    let mut marked = [0; 4];
    for step in 1..3000 {
        bench.now = ms(step);
        let size = if step % 2 == 0 { 100 } else { 0 };
        if size > 0 {
            bench.put(Probe::full(step).flow(B).size(size).ecn(Ecn::Ect0));
            let packet = bench.take().unwrap();
            assert_eq!(packet.flow, B, "sparse");
            marked[B as usize] += u32::from(packet.ecn.is_ce());
        }
        bench.put(Probe::full(step).flow(A).ecn(Ecn::Ect0));
        let packet = bench.take().unwrap();
        marked[packet.flow as usize] += u32::from(packet.ecn.is_ce());
    }
    assert!(marked[A as usize] > 100 && marked[B as usize] == 0, "{marked:?}");
    assert_eq!(bench.seen.dropped(Queue::Q), 0);
}

#[test]
fn ce_threshold_can_spare_what_is_not_l4s() {
    let threshold = Some(Duration::from_millis(1));
    let config = Config { ce_threshold: threshold, ce_l4s_only: true, ..Config::dctth() };
    let mut bench = Bench::new(config.clone());
    for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::NotEct] {
        bench.put(Probe::full(0).flow(A).ecn(ecn));
    }
    bench.now = us(1_100);
    let mut out = || bench.take().unwrap().ecn;
    assert_eq!([out(), out(), out()], [Ecn::Ect0, Ecn::Ce, Ecn::NotEct]);
    assert_eq!(bench.seen.marks(Queue::Q, MarkCause::Step), 1);

    let mut bench = Bench::new(Config { ce_l4s_only: false, ..config });
    bench.put(Probe::full(0).flow(A).ecn(Ecn::Ect0));
    bench.now = us(1_100);
    assert_eq!(bench.take().unwrap().ecn, Ecn::Ce);
}

#[test]
fn the_l4s_profile_marks_l4s_packets_from_1_ms_on() {
    // The threshold is 976 units of 1024 ns: no mark at it, but from the next unit on.
    for (units, expected) in [
        (976, [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]),
        (977, [Ecn::NotEct, Ecn::Ect0, Ecn::Ce, Ecn::Ce]),
    ] {
        let mut bench = Bench::new(Config::l4s());
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            bench.put(Probe::full(0).flow(A).ecn(ecn));
        }
        bench.now = Time::from_nanos(1024 * units);
        assert_eq!([(); 4].map(|()| bench.take().unwrap().ecn), expected, "{units}");
        let news = u64::from(units > 976);
        assert_eq!(bench.seen.marks(Queue::Q, MarkCause::Step), news, "what was CE is not told");
    }
}

#[test]
fn the_l4s_threshold_is_that_of_each_flow_and_no_signal_to_the_others() {
    // A's queue is 2 ms long and all its packets are marked. B's packets, also ECT(1), find an empty queue.
    let mut bench = Bench::new(Config::l4s());
    for id in 0..20 {
        bench.put(Probe::full(id).flow(A).ecn(Ecn::Ect1));
    }
    bench.now = ms(2);
    for id in 0..10 {
        bench.put(Probe::full(id).flow(B).ecn(Ecn::Ect1));
        for _ in 0..2 {
            let packet = bench.take().unwrap();
            assert_eq!(packet.ecn.is_ce(), packet.flow == A);
        }
    }
    assert_eq!(bench.seen.marks(Queue::Q, MarkCause::Step), 10);
}

#[test]
fn the_l4s_profile_is_codel_for_everyone_else_and_above_its_target() {
    // An ECT(0) flow with a delay of 20 ms: the first mark is CoDel's, after an interval of 100 ms.
    let mut bench = Bench::new(Config::l4s());
    for id in 0..20 {
        bench.put(Probe::full(id).flow(A).ecn(Ecn::Ect0));
    }
    let mut first = None;
    for step in 1..3000 {
        bench.now = ms(step);
        bench.put(Probe::full(step).flow(A).ecn(Ecn::Ect0));
        if bench.take().unwrap().ecn.is_ce() {
            first.get_or_insert(step);
        }
    }
    // The delay is above the target of 5 ms from the 5th ms on. The mark comes more than 100 ms later.
    assert!((105..=107).contains(&first.unwrap()), "{first:?}");
    let classic = bench.seen.marks(Queue::Q, MarkCause::Classic);
    assert!(classic > 100, "{classic}");
    assert_eq!(bench.seen.marks(Queue::Q, MarkCause::Step), 0);
}

#[test]
fn the_pool_grows_to_the_longest_queue_and_no_further() {
    let mut bench = Bench::new(Config::dctth());
    for round in 0..100 {
        for id in 0..50 {
            bench.put(Probe::full(id).flow(round % 7));
        }
        while bench.take().is_some() {}
    }
    assert_eq!(bench.aqm.flows.places(), 50);
}

/// RFC 8289 §4.4: a packet that is alone in its queue gets a signal if other flows have a backlog.
#[test]
fn the_occupancy_of_all_flows_counts() {
    let marks = |others: u64| {
        let mut bench = Bench::new(Config::dctth());
        let mut marks = 0;
        for round in 0..100 {
            bench.put(Probe::full(round).flow(A).ecn(Ecn::Ect0));
            for id in 0..others {
                bench.put(Probe::full(id).flow(B));
            }
            // Each packet is delayed by 10 ms, twice the target.
            bench.now = ms(10 * (round + 1));
            let out = std::iter::from_fn(|| bench.take()).find(|packet| packet.flow == A);
            marks += u32::from(out.unwrap().ecn.is_ce());
        }
        marks
    };
    assert_eq!(marks(0), 0);
    assert!(marks(3) > 3, "{}", marks(3));
}
