//! The laws of a link that aggregates.

use l4s_aqm::{Config, Counters, Limit, Packet, Queue, dualpi2, fifo};
use l4s_model::{Buffer, Link};
use l4s_units::{Bytes, Duration, Ecn, Rate, Time};
use proptest::prelude::*;

use crate::{Bottleneck, Successor};

#[derive(Clone, PartialEq, Debug)]
struct Probe {
    number: u64,
    size: u64,
}

impl Packet for Probe {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }
    fn ecn(&self) -> Ecn {
        Ecn::Ect1
    }
    fn set_ce(&mut self) {}
    fn flow_hash(&self) -> u32 {
        0
    }
}

const US: Duration = Duration::from_micros(1);
const MS: Duration = Duration::from_millis(1);

/// A run of a link, driven by the test.
struct Run {
    bottleneck: Bottleneck<Probe>,
    next: u64,
    /// The packets that left the queue: time, number, and delay.
    left: Vec<(Time, u64, Duration)>,
    /// The packets that arrived: time, number, and size.
    landed: Vec<(Time, u64, u64)>,
}

impl Run {
    fn new(rate: Rate, burst: u64, aggregation: Duration, aqm: &Config) -> Run {
        let (burst, buffer) = (Bytes::new(burst), Buffer::Packets(10_000));
        let link = Link { burst, buffer, aggregation, ..Link::new(rate) };
        let bottleneck = Bottleneck::new(&link, aqm, 1);
        Run { bottleneck, next: 0, left: vec![], landed: vec![] }
    }

    /// At 12 Mb/s a full packet of 1514 B takes 1009.33 us; here packets of 1500 B, 1 ms each.
    fn fifo(aggregation: Duration) -> Run {
        let fifo = Config::Fifo(fifo::Config { limit: Limit::packets(10_000) });
        Run::new(Rate::from_mbps(12), 0, aggregation, &fifo)
    }

    fn send(&mut self, now: Time, size: u64) {
        self.advance(now);
        self.bottleneck.enqueue(Probe { number: self.next, size }, now, &mut ());
        self.next += 1;
        self.act(now);
    }

    fn act(&mut self, now: Time) {
        while let Some(packet) = self.bottleneck.land(now) {
            self.landed.push((now, packet.number, packet.size));
        }
        while let Some(departure) = self.bottleneck.transmit(now, &mut ()) {
            self.left.push((now, departure.packet.number, departure.sojourn));
            if let Some(packet) = self.bottleneck.carry(departure.packet, now) {
                self.landed.push((now, packet.number, packet.size));
            }
        }
    }

    /// Processes all events that are due by `now`.
    fn advance(&mut self, now: Time) {
        while self.bottleneck.next_transmission() <= now {
            self.act(self.bottleneck.next_transmission());
        }
    }

    /// The packets that arrived together: time, number of packets, number of bytes.
    fn bursts(&self) -> Vec<(Time, u64, u64)> {
        let mut bursts: Vec<(Time, u64, u64)> = Vec::new();
        for (at, _, size) in &self.landed {
            match bursts.last_mut() {
                Some(last) if last.0 == *at => (last.1, last.2) = (last.1 + 1, last.2 + size),
                _ => bursts.push((*at, 1, *size)),
            }
        }
        bursts
    }
}

fn at(us: u64) -> Time {
    Time::ZERO + US * us
}

#[test]
fn a_lone_packet_on_an_idle_link_takes_its_own_airtime_and_waits_for_no_other() {
    let mut run = Run::fifo(MS * 10);
    run.send(at(5000), 1500);
    run.advance(at(50_000));
    // It left the queue at once; 1500 B · 8 / 12 Mb/s = 1 ms.
    assert_eq!(run.left, [(at(5000), 0, Duration::ZERO)]);
    assert_eq!(run.landed, [(at(6000), 0, 1500)]);
}

#[test]
fn what_comes_while_an_aggregate_is_on_the_air_leaves_together_after_it() {
    let mut run = Run::fifo(MS * 10);
    for n in 0..4 {
        run.send(at(100 * n), 1500);
    }
    run.advance(at(50_000));
    // The first goes alone, 1 ms. The three that arrived meanwhile are the next aggregate, 3 ms.
    assert_eq!(run.bursts(), [(at(1000), 1, 1500), (at(4000), 3, 4500)]);
    let sojourns: Vec<_> = run.left.iter().map(|left| left.2.as_micros()).collect();
    assert_eq!(sojourns, [0, 900, 800, 700]);
}

#[test]
fn an_aggregate_is_as_long_as_it_may_be_while_more_waits() {
    let mut run = Run::fifo(MS * 4);
    for _ in 0..12 {
        run.send(at(0), 1500);
    }
    run.advance(at(50_000));
    // 4 ms are 6000 B. An aggregate needs room for an MTU of 1514 B, so a fourth packet of 1500 B
    // waits. 1 + 3 + 3 + 3 + 2 packets, without a gap.
    let expected = [(1, 1), (4, 3), (7, 3), (10, 3), (12, 2)];
    let expected = expected.map(|(ms, n)| (at(ms * 1000), n, n * 1500));
    assert_eq!(run.bursts(), expected);
}

#[test]
fn a_packet_longer_than_an_aggregate_goes_alone() {
    let mut run = Run::fifo(US * 100);
    for _ in 0..3 {
        run.send(at(0), 1500);
    }
    run.advance(at(50_000));
    assert_eq!(run.bursts(), [1, 2, 3].map(|ms| (at(ms * 1000), 1, 1500)));
}

#[test]
fn what_the_bucket_holds_takes_no_airtime() {
    let fifo = Config::Fifo(fifo::Config { limit: Limit::packets(100) });
    let mut run = Run::new(Rate::from_mbps(12), 3000, MS * 10, &fifo);
    for _ in 0..4 {
        run.send(at(9000), 1500);
    }
    run.advance(at(50_000));
    // A bucket of two packets: two arrive at once, the third after its own 1 ms, the fourth 1 ms
    // later.
    let expected = [(9000, 2, 3000), (10_000, 1, 1500), (11_000, 1, 1500)];
    assert_eq!(run.bursts(), expected.map(|(us, n, size)| (at(us), n, size)));
}

#[test]
fn a_new_rate_holds_for_the_rest_of_what_is_on_the_air() {
    let mut run = Run::fifo(MS * 4);
    for _ in 0..7 {
        run.send(at(0), 1500);
    }
    run.advance(at(2500));
    // Half of the three packets that were sent at 1 ms is left: 2250 B · 8 / 6 Mb/s = 3 ms.
    run.bottleneck.set_rate(Rate::from_mbps(6), at(2500));
    run.advance(at(50_000));
    // Now 4 ms are 3000 B: one packet of 2 ms at a time, as another MTU does not fit.
    let expected = [(1000, 1), (5500, 3), (7500, 1), (9500, 1), (11_500, 1)];
    assert_eq!(run.bursts(), expected.map(|(us, n)| (at(us), n, n * 1500)));
}

#[test]
fn what_is_on_the_air_stays_there_when_the_discipline_changes() {
    let mut run = Run::fifo(MS * 10);
    for _ in 0..4 {
        run.send(at(0), 1500);
    }
    let mut seen = Counters::default();
    let dualpi2 = Config::DualPi2(dualpi2::Config::linux());
    run.bottleneck.replace_aqm(&dualpi2, Successor::Fresh, at(500), &mut seen);
    run.advance(at(50_000));
    assert_eq!(run.bursts(), [(at(1000), 1, 1500), (at(4000), 3, 4500)]);
    assert_eq!(seen.drops(Queue::L, l4s_aqm::DropCause::Limit), 0);
}

#[test]
fn without_aggregation_nothing_is_kept() {
    let mut run = Run::fifo(Duration::ZERO);
    for _ in 0..3 {
        run.send(at(0), 1500);
    }
    run.advance(at(50_000));
    let expected = [(0, 0, 1500), (1000, 1, 1500), (2000, 2, 1500)];
    assert_eq!(run.landed, expected.map(|(us, n, size)| (at(us), n, size)));
}

proptest! {
    #[test]
    fn rate_order_and_airtime_are_kept_whatever_comes(
        rate in 1u64..200,
        airtime_us in 1u64..10_000,
        arrivals in prop::collection::vec((0u64..3000, 60u64..3000), 1..300),
    ) {
        let rate = Rate::from_mbps(rate);
        let airtime = US * airtime_us;
        let fifo = Config::Fifo(fifo::Config { limit: Limit::packets(10_000) });
        let mut run = Run::new(rate, 0, airtime, &fifo);
        let (mut now, mut bytes, mut came) = (Time::ZERO, 0, vec![]);
        for (gap, size) in &arrivals {
            now += US * *gap;
            bytes += size;
            came.push(now);
            run.send(now, *size);
        }
        run.advance(Time::from_nanos(u64::MAX - 1));
        // Conservation and order.
        let numbers: Vec<u64> = run.landed.iter().map(|landed| landed.1).collect();
        prop_assert_eq!(numbers, (0..arrivals.len() as u64).collect::<Vec<_>>());
        prop_assert_eq!(run.landed.iter().map(|landed| landed.2).sum::<u64>(), bytes);
        // No aggregate takes longer than the airtime, unless it is a single packet.
        let bursts = run.bursts();
        for (_, packets, size) in &bursts {
            prop_assert!(*packets == 1 || *size <= rate.bytes_in(airtime).get());
        }
        // The rate is never exceeded: each aggregate arrives after the previous one by at least the
        // airtime of its bytes. Each packet's time is rounded to a nanosecond.
        for pair in bursts.windows(2) {
            let least = rate.time_of(Bytes::new(pair[1].2)).saturating_sub(
                Duration::from_nanos(pair[1].1));
            prop_assert!(pair[1].0.since(pair[0].0) >= least);
        }
        // The link is never idle while packets are queued. On a smooth link of that rate a packet
        // starts when the packets before it are sent. Here it arrives no later than the end of its
        // aggregate on such a link.
        let mut free = Time::ZERO;
        let mut landed = run.landed.iter();
        for (_, packets, _) in &bursts {
            let mut last = Time::ZERO;
            for (at, number, size) in landed.by_ref().take(*packets as usize) {
                free = free.max(came[*number as usize]) + rate.time_of(Bytes::new(*size));
                last = *at;
            }
            // A packet that arrived during an aggregate waited at most for its end.
            prop_assert!(last <= free + airtime.max(rate.time_of(Bytes::new(3000))));
        }
    }
}
