//! All rates are exact: rates of links, of UDP sources, and of their shares of a link.

use l4s_measure::{EngineSummary, Origin, Recorder, Summary};
use l4s_scenario::Plan;
use proptest::prelude::*;

fn summary(text: &str) -> Summary {
    let plan = Plan::parse("t.toml", text, &[]).unwrap_or_else(|e| panic!("{text}: {e}"));
    let scenario = &plan.points[0].scenario;
    let mut recorder = Recorder::new(scenario, Origin::default());
    l4s_sim::run(scenario, &mut recorder);
    recorder.finish(EngineSummary::default()).summary
}

/// A rate with this number of binary digits: equally often in each magnitude.
fn rate(bits: std::ops::Range<u32>) -> impl Strategy<Value = u64> {
    (bits, 1.0..2.0f64).prop_map(|(bits, part)| ((1u64 << bits) as f64 * part) as u64)
}

/// A FIFO with an offered load of 1.5 times its rate, for the time of this number of packets; at least a
/// millisecond, and at most a day.
fn overloaded(bps: u64, packet: u64, packets: u64) -> String {
    let wire = packet + 14;
    let duration = u128::from(packets * wire) * 8_000_000_000 / u128::from(bps);
    let duration = duration.clamp(1_000_000, 86_400_000_000_000);
    format!(
        "duration = \"{duration}ns\"\nlink = {{ rate = \"{bps}bit\", buffer = \"20p\" }}\n\
         aqm = \"fifo\"\n[[udp]]\nname = \"U\"\nrate = \"{}bit\"\npacket = \"{packet}b\"\n",
        bps + bps / 2
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// From 1 kb/s, 64 to 9000 B: the whole link is used, and never more.
    #[test]
    fn a_full_link_carries_its_rate_to_a_thousandth(
        bps in rate(10..31), packet in 64u64..9_000,
    ) {
        let found = summary(&overloaded(bps, packet, 3_000));
        let used = found.link.utilization;
        prop_assert!((0.999..=1.0).contains(&used), "{used}");
    }

    /// Also if a packet takes as long as the measurement: at the edges its part counts.
    #[test]
    fn utilization_is_that_of_the_time_of_transmission(
        bps in rate(10..31), packet in 64u64..9_000, packets in 20u64..60, airtime in 0u64..100,
    ) {
        let mut text = overloaded(bps, packet, packets);
        // Up to five packets go in one aggregate, less than the time of the run.
        let airtime = u128::from(airtime * (packet + 14)) * 400_000_000 / u128::from(bps);
        if (1..100_000_000).contains(&airtime) {
            text = text.replace("buffer =", &format!("aggregation = \"{airtime}ns\", buffer ="));
        }
        let found = summary(&text);
        let used = found.link.utilization;
        // A packet on the link at an edge counts in whole bytes.
        let byte = 1.0 / (0.7 * (packets * packet) as f64);
        prop_assert!((1.0 - 2.0 * byte..=1.0).contains(&used), "{used}");
    }

    /// The rate changes in the middle of packets, as in a trace: the link carries its capacity.
    #[test]
    fn a_link_with_a_trace_carries_all_of_it(
        rates in prop::collection::vec(rate(16..26), 20..60), packet in 64u64..1_500,
    ) {
        let mut text = format!(
            "duration = \"{}ms\"\nlink = {{ rate = \"1mbit\", buffer = \"20p\" }}\n\
             aqm = \"fifo\"\n[[udp]]\nname = \"U\"\nrate = \"100mbit\"\npacket = \"{packet}b\"\n",
            rates.len() + 1
        );
        for (ms, rate) in rates.iter().enumerate() {
            text += &format!("[[at]]\ntime = \"{}ms\"\nlink.rate = \"{rate}bit\"\n", ms + 1);
        }
        let used = summary(&text).link.utilization;
        prop_assert!((0.999..=1.0).contains(&used), "{used}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Sources of the same rate get the same share of a full drop-tail queue. A source in step with the queue
    /// would take all of it. The shares are equal for any start times, and also if a packet takes
    /// exactly as long as the interval of a source.
    #[test]
    fn equal_sources_get_equal_shares(
        seed in 1u32.., sources in 2u64..6, packet in 64u64..9_000, bps in rate(20..36),
        starts in prop::collection::vec(0.0..1.0f64, 5), in_step: bool,
    ) {
        // Times are whole nanoseconds. Where packets are only some of them apart, many come at one instant, and the
        // first source is the first of these: a microsecond at least.
        let bps = bps.min(packet * 8_000_000);
        // The link could carry all of each source; together they offer `sources` times that.
        let link = if in_step { bps * (packet + 14) / packet } else { bps };
        let interval = packet as f64 * 8e9 / bps as f64;
        let mut text = format!(
            "seed = {seed}\nduration = \"{}ns\"\nlink = {{ rate = \"{link}bit\", buffer = \"50p\" }}\n\
             aqm = \"fifo\"\n",
            // No run is shorter than a millisecond.
            (12_000.0 * interval).max(1e6) as u64
        );
        for n in 0..sources {
            let start = (starts[n as usize] * interval) as u64;
            text += &format!(
                "[[udp]]\nname = \"U{n}\"\nrate = \"{bps}bit\"\npacket = \"{packet}b\"\n\
                 start = \"{start}ns\"\n"
            );
        }
        let found = summary(&text);
        let rates: Vec<f64> = found.groups.iter().map(|group| group.rate_bps).collect();
        let fair = rates.iter().sum::<f64>() / sources as f64;
        prop_assert!(rates.iter().all(|rate| (rate / fair - 1.0).abs() < 0.1), "{rates:?}");
    }
}

/// When links did not carry remainders over, these were 0.780 and 1.013 of the rate.
#[test]
fn no_nanosecond_is_lost_at_400_gigabits() {
    for (bps, packet) in [(400_000_000_000, 64), (100_000_000_000, 100)] {
        let used = summary(&overloaded(bps, packet, 1)).link.utilization;
        assert!((0.999..=1.0).contains(&used), "{bps} {packet}: {used}");
    }
}

#[test]
fn a_full_bucket_at_the_end_of_the_warm_up_does_not_make_the_link_faster() {
    // Idle until the warm-up is over, then 1.5 times the link rate: the bucket passes one packet more.
    let text = "duration = \"200ms\"\nwarmup = \"100ms\"\n\
                link = { rate = \"1mbit\", buffer = \"20p\" }\naqm = \"fifo\"\n\
                [[udp]]\nname = \"U\"\nrate = \"100mbit\"\nstart = \"100ms\"\n";
    assert_eq!(summary(text).link.utilization, 1.0);
}

#[test]
fn the_links_of_a_hop_carry_their_rate_and_no_more() {
    let text = "duration = \"1ms\"\nlink.rate = \"60gbit\"\naqm = \"fifo\"\n\
                [[udp]]\nname = \"U\"\nrate = \"20gbit\"\npacket = \"64b\"\n\
                [[udp]]\nname = \"V\"\nrate = \"20gbit\"\npacket = \"100b\"\n\
                [[hop]]\nname = \"H\"\nplace = \"before\"\nper = \"group\"\nrate = \"10gbit\"\n\
                aqm = \"fifo\"\nbuffer = \"20p\"\n";
    let used = summary(text).hops[0].utilization.unwrap();
    assert!((0.999..=1.0).contains(&used), "{used}");
}
