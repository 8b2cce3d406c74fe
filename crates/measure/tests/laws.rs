//! Properties of any run.

mod support;

use l4s_aqm::{DropCause, MarkCause, Queue};
use l4s_measure::Scope;
use l4s_observe::Observer;
use l4s_units::{Duration, Ecn, Time};
use proptest::prelude::*;
use support::*;

/// The events of one packet.
#[derive(Clone, Debug)]
struct Fate {
    group: u16,
    queue: Queue,
    length: u64,
    gap_us: u64,
    sojourn_ns: u64,
    marked: bool,
    dropped: bool,
}

fn fate() -> impl Strategy<Value = Fate> {
    let queue = prop_oneof![Just(Queue::L), Just(Queue::C)];
    let length = prop_oneof![40_u64..200, Just(1500_u64)];
    let chance = proptest::bool::weighted(0.2);
    (0..3_u16, queue, length, 0..20_000_u64, 0..10_u64.pow(10), chance, chance).prop_map(
        |(group, queue, length, gap_us, sojourn_ns, marked, dropped)| Fate {
            group,
            queue,
            length,
            gap_us,
            sojourn_ns,
            marked,
            dropped,
        },
    )
}

proptest! {
    #[test]
    fn counters_histograms_flows_and_series_tell_the_same_story(
        fates in proptest::collection::vec(fate(), 0..300)
    ) {
        let scenario = scenario();
        let mut r = recorder(&scenario);
        let (mut now, mut next_sample) = (Time::ZERO, at(100));
        let (mut left, mut bytes, mut data, mut delays) = (0, 0, 0, 0_u128);
        let (mut marked, mut dropped, mut longest) = (0, 0, 0);
        for fate in &fates {
            now += Duration::from_micros(fate.gap_us);
            while next_sample <= now {
                let state = l4s_observe::LinkState {
                    packets: 0, bytes: Default::default(), owed: Default::default(), base: None,
                };
                Observer::<Packet>::sample_link(&mut r, state, next_sample);
                next_sample += ms(100);
            }
            let counts = now >= at(1000);
            let ecn = if fate.marked { Ecn::Ce } else { Ecn::Ect1 };
            let flow = u32::from(fate.group);
            let p = Packet { length: fate.length, ecn, ..packet(flow, fate.group) };
            r.arrived(&p, now);
            if fate.dropped {
                r.dropped(&p, fate.queue, DropCause::Aqm, now);
                dropped += u64::from(counts);
                continue;
            }
            if fate.marked {
                r.marked(&p, fate.queue, MarkCause::Coupled, now);
            }
            r.departed(&p, fate.queue, Duration::from_nanos(fate.sojourn_ns), now);
            if counts {
                left += 1;
                bytes += fate.length;
                marked += u64::from(fate.marked);
                if fate.length >= 200 {
                    data += 1;
                    delays += u128::from(fate.sojourn_ns);
                    longest = longest.max(fate.sojourn_ns);
                }
            }
        }
        let record = r.finish(engine());
        let summary = &record.summary;

        // Queues and groups count the same packets.
        prop_assert_eq!(summary.queues.iter().map(|q| q.packets).sum::<u64>(), left);
        prop_assert_eq!(summary.groups.iter().map(|g| g.packets).sum::<u64>(), left);
        prop_assert_eq!(summary.queues.iter().map(|q| q.drops.aqm).sum::<u64>(), dropped);
        prop_assert_eq!(summary.queues.iter().map(|q| q.marks.coupled).sum::<u64>(), marked);
        prop_assert_eq!(record.flows.iter().map(|f| f.bytes).sum::<u64>(), bytes);

        // So do the histograms. Their mean equals that of the counters within a bucket.
        for scope in [Scope::Queue, Scope::Group] {
            let rows = || record.delays.iter().filter(|row| row.scope == scope);
            prop_assert_eq!(rows().map(|row| row.count).sum::<u64>(), data);
            let low: f64 = rows().map(|row| row.low_ms * row.count as f64).sum();
            let high: f64 = rows().map(|row| row.high_ms * row.count as f64).sum();
            let sum = delays as f64 / 1e6;
            prop_assert!(low <= sum * 1.000_001 && sum <= high * 1.000_001);
        }

        // Percentiles are in order, and end at the exact maximum.
        for delay in summary.queues.iter().filter_map(|q| q.delay_ms) {
            let ranks = [
                delay.p1, delay.p25, delay.p50, delay.p75, delay.p99, delay.p999, delay.max,
            ];
            prop_assert!(ranks.is_sorted(), "{ranks:?}");
        }
        let max = summary.queues.iter().filter_map(|q| q.delay_ms).map(|d| d.max);
        prop_assert_eq!(max.fold(0.0, f64::max), longest as f64 / 1e6);

        // The series counts the same packets by queue, by group and on the link.
        let of = |scope| {
            let rows = record.series.iter().filter(move |row| row.scope == scope);
            rows.filter_map(|row| row.packets).sum::<u64>()
        };
        prop_assert_eq!(of(Scope::Queue), of(Scope::Link));
        prop_assert_eq!(of(Scope::Group), of(Scope::Link));

        // Ratios are from 0 to 1.
        for queue in &summary.queues {
            prop_assert!(queue.mark.is_none_or(|p| (0.0..=1.0).contains(&p)));
            prop_assert!(queue.drop.is_none_or(|p| (0.0..=1.0).contains(&p)));
        }
    }
}
