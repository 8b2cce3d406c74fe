//! Links that follow a trace: the laws of both forms, and mahimahi's link by hand as a reference.

use std::collections::VecDeque;

use l4s_aqm::{Config, Counters, Packet, fifo};
use l4s_bottleneck::{Bottleneck, Straddling};
use l4s_model::{Capacity, Link};
use l4s_trace::{Play, Step, Trace};
use l4s_units::{Bytes, Duration, Ecn, Rate, Time};
use proptest::prelude::*;

/// A packet with a number; `size` includes the Ethernet header.
#[derive(Clone, PartialEq, Debug)]
struct Numbered {
    number: usize,
    size: u64,
}

impl Packet for Numbered {
    fn size(&self) -> Bytes {
        Bytes::new(self.size)
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ce(&mut self) {}
    fn flow_hash(&self) -> u32 {
        0
    }
}

fn ms(n: u64) -> Time {
    Time::ZERO + Duration::from_millis(n)
}

/// A link without a burst that follows a trace.
fn link(trace: Trace) -> Link {
    let capacity = Capacity::new("a trace", trace, Play::default()).unwrap();
    Link { burst: Bytes::ZERO, ..Link::new(capacity.mean()) }.following(capacity)
}

/// A link, and the packets behind it.
struct Run {
    bottleneck: Bottleneck<Numbered>,
    /// When each packet began to leave.
    left: Vec<Time>,
    /// When each arrived at the other end.
    landed: Vec<Time>,
}

impl Run {
    fn idle(link: &Link) -> Run {
        let bottleneck = Bottleneck::new(link, &Config::Fifo(fifo::Config::dctth()), 1);
        Run { bottleneck, left: Vec::new(), landed: Vec::new() }
    }

    /// Packets arrive at these times, with these sizes, and all of them leave.
    fn of(link: &Link, arrivals: &[(Time, u64)]) -> Run {
        let mut run = Run::idle(link);
        for (number, &(now, size)) in arrivals.iter().enumerate() {
            run.play_before(now);
            run.arrive(Numbered { number, size }, now);
            run.act(now);
        }
        run.play_before(Time::NEVER);
        run
    }

    fn arrive(&mut self, packet: Numbered, now: Time) {
        self.bottleneck.enqueue(packet, now, &mut Counters::default());
    }

    /// Plays all events before `end`.
    fn play_before(&mut self, end: Time) {
        while self.bottleneck.next_transmission() < end {
            self.act(self.bottleneck.next_transmission());
        }
    }

    fn act(&mut self, now: Time) {
        while let Some(packet) = self.bottleneck.land(now) {
            self.land(&packet, now);
        }
        while let Some(departure) = self.bottleneck.transmit(now, &mut Counters::default()) {
            self.left.push(now);
            if let Some(packet) = self.bottleneck.carry(departure.packet, now) {
                self.land(&packet, now);
            }
        }
    }

    fn land(&mut self, packet: &Numbered, now: Time) {
        assert_eq!(packet.number, self.landed.len(), "packets keep their order");
        self.landed.push(now);
    }
}

/// When packets arrive behind mahimahi's link (`link_queue.cc`), instant by instant: an opportunity is 1504
/// bytes for the packets that are there, one after another, and a packet arrives with its last byte.
fn mahimahi(instants: &[u64], arrivals: &[(Time, u64)]) -> Vec<Time> {
    let period = *instants.last().unwrap();
    let (mut waiting, mut coming) = (VecDeque::new(), arrivals.iter().copied().peekable());
    let mut landed = Vec::new();
    for cycle in 0.. {
        for &instant in instants {
            let now = ms(cycle * period + instant);
            while let Some((_, size)) = coming.next_if(|(time, _)| *time <= now) {
                // An IP packet, and four bytes of TUN header.
                waiting.push_back(size - 14 + 4);
            }
            let mut budget = 1504;
            while let Some(rest) = waiting.front_mut() {
                let part = budget.min(*rest);
                (budget, *rest) = (budget - part, *rest - part);
                if *rest > 0 {
                    break;
                }
                waiting.pop_front();
                landed.push(now);
            }
        }
        if waiting.is_empty() && coming.peek().is_none() {
            break;
        }
    }
    landed
}

/// Packets of any size, in bursts and with pauses.
fn arrivals(most: usize) -> impl Strategy<Value = Vec<(Time, u64)>> {
    let pause = prop_oneof![Just(0), 0u64..3_000_000, 0u64..80_000_000];
    prop::collection::vec((pause, 54u64..3000), 1..most).prop_map(|packets| {
        let mut now = Time::ZERO;
        let arrive = |(pause, size)| {
            now += Duration::from_nanos(pause);
            (now, size)
        };
        packets.into_iter().map(arrive).collect()
    })
}

/// Steps of up to 50 ms, some of them without any capacity.
fn steps() -> impl Strategy<Value = Trace> {
    let step = (1u64..50_000_000, prop_oneof![1 => Just(0), 4 => 1_000u64..100_000_000]);
    let last = (1u64..50_000_000, 100_000u64..100_000_000);
    (prop::collection::vec(step, 0..20), last).prop_map(|(steps, last)| {
        let mut at = Duration::ZERO;
        let mut made = Vec::new();
        for (span, rate) in steps.into_iter().chain([last]) {
            made.push(Step::new(at, Rate::from_bps(rate)));
            at += Duration::from_nanos(span);
        }
        Trace::from_steps(made, at).unwrap()
    })
}

proptest! {
    #[test]
    fn opportunities_are_those_of_mahimahi(
        gaps in prop::collection::vec(prop_oneof![Just(0), 1u64..4, 1u64..200], 1..40),
        arrivals in arrivals(150),
    ) {
        let mut now = 1;
        let mut next = |gap| {
            now += gap;
            now
        };
        let instants: Vec<u64> = gaps.into_iter().map(&mut next).collect();
        let trace = Trace::from_opportunities(instants.iter().copied()).unwrap();
        let run = Run::of(&link(trace), &arrivals);
        prop_assert_eq!(run.landed, mahimahi(&instants, &arrivals));
    }

    /// A packet leaves when it is there, the rate is above 0, and the capacity since the link was idle has
    /// paid for the packets before it, and not later.
    #[test]
    fn a_busy_link_carries_the_capacity_of_its_steps(trace in steps(), arrivals in arrivals(100)) {
        let run = Run::of(&link(trace.clone()), &arrivals);
        let paid = |from, to| trace.bytes_between(from, to).get();
        let (mut busy_from, mut bytes) = (Time::ZERO, 0);
        for (&left, &(arrived, size)) in run.left.iter().zip(&arrivals) {
            prop_assert!(left >= arrived);
            prop_assert!(paid(left, left + Duration::from_secs(1)) > 0);
            let is_idle = paid(busy_from, arrived) >= bytes;
            if is_idle {
                // No capacity between its arrival and its departure.
                prop_assert_eq!(paid(arrived, left), 0);
                (busy_from, bytes) = (left, 0);
            } else {
                // Whole bytes: up to one more was paid.
                prop_assert!(paid(busy_from, left) + 1 >= bytes);
                let before = left.saturating_sub(Duration::from_nanos(2)).max(busy_from);
                prop_assert!(paid(busy_from, before) <= bytes);
            }
            bytes += size;
        }
    }

    /// A trace of a single rate is a link of that rate, with its burst.
    #[test]
    fn one_step_is_a_constant_rate(
        rate in 100_000u64..1_000_000_000,
        burst in prop_oneof![Just(0), Just(1514), 0u64..20_000],
        arrivals in arrivals(200),
    ) {
        let constant = Link { burst: Bytes::new(burst), ..Link::new(Rate::from_bps(rate)) };
        let step = Step::new(Duration::ZERO, Rate::from_bps(rate));
        let trace = Trace::from_steps([step], Duration::from_secs(1)).unwrap();
        let capacity = Capacity::new("one step", trace, Play::default()).unwrap();
        let follower = constant.clone().following(capacity);
        let [a, b] = [constant, follower].map(|link| Run::of(&link, &arrivals).left);
        for (a, b) in a.into_iter().zip(b) {
            // The bucket of a trace saves whole bytes of each pause, that of a rate nanoseconds.
            let bytes = Duration::from_nanos(8_000_000_000 / rate * arrivals.len() as u64 + 2);
            prop_assert!(a.since(b) <= bytes && b.since(a) <= bytes, "{a:?} {b:?}");
        }
    }
}

#[test]
fn an_unused_opportunity_is_lost_and_a_packet_arrives_with_its_last_byte() {
    // Opportunities at 2, 4, 6 ms and so on. The one at 2 ms finds no packet.
    let trace = Trace::from_opportunities([2]).unwrap();
    let full = (ms(3), 1514);
    let run = Run::of(&link(trace.clone()), &[full, full]);
    assert_eq!(run.landed, [ms(4), ms(6)]);
    // 3004 bytes take all of 4 ms and 1500 bytes of 6 ms. The other four, and 40 more at 8 ms, are a small
    // packet. The next one begins at 8 ms, too, and ends at 10 ms.
    let run = Run::of(&link(trace), &[(ms(3), 14 + 3000), (ms(3), 14 + 40), full]);
    assert_eq!(run.left, [ms(4), ms(6), ms(8)]);
    assert_eq!(run.landed, [ms(6), ms(8), ms(10)]);
}

#[test]
fn the_part_that_is_still_to_come_at_the_end_is_known() {
    let trace = Trace::from_opportunities([2]).unwrap();
    let mut run = Run::idle(&link(trace));
    run.arrive(Numbered { number: 0, size: 14 + 3000 }, ms(1));
    run.act(ms(1));
    run.play_before(ms(3));
    assert_eq!(run.bottleneck.owed(ms(2)), Bytes::new(3004 - 1504));
    let Straddling { after, .. } = run.bottleneck.straddling(ms(3));
    assert_eq!(after, Bytes::new(3004 - 1504));
    run.play_before(ms(5));
    assert_eq!(run.landed, [ms(4)]);
    assert_eq!(run.bottleneck.owed(ms(4)), Bytes::ZERO);
}

#[test]
fn no_packet_leaves_while_the_rate_is_zero() {
    // 12 Mb/s for 2 ms, then nothing for 8 ms. A packet of 1500 B takes 1 ms.
    let steps = [(0, 12), (2, 0)]
        .map(|(at, mbps)| Step::new(Duration::from_millis(at), Rate::from_mbps(mbps)));
    let trace = Trace::from_steps(steps, Duration::from_millis(10)).unwrap();
    let run = Run::of(&link(trace.clone()), &[(ms(0), 1500); 5]);
    assert_eq!(run.left, [ms(0), ms(1), ms(10), ms(11), ms(20)]);
    // Nor does one that comes meanwhile to an idle link.
    assert_eq!(Run::of(&link(trace), &[(ms(5), 1500)]).left, [ms(10)]);
}
