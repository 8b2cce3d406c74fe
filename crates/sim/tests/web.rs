//! Downloads: connections of their own that come and go.

use std::collections::BTreeMap;

use l4s_measure::{EngineSummary, Origin, Recorder, RunRecord};
use l4s_model::{FlowId, Scenario, SourceId};
use l4s_observe::Observer;
use l4s_scenario::Plan;
use l4s_sim::Packet;
use l4s_units::{Bytes, Duration, Time};
use proptest::prelude::*;

fn scenario(text: &str) -> Scenario {
    let plan = Plan::parse("web.toml", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    plan.points[0].scenario.clone()
}

fn record(scenario: &Scenario) -> RunRecord {
    let mut recorder = Recorder::new(scenario, Origin::default());
    l4s_sim::run(scenario, &mut recorder);
    recorder.finish(EngineSummary::default())
}

/// The life of every flow.
#[derive(Default, PartialEq, Debug)]
struct Lives {
    opened: Vec<(FlowId, Time, Option<Bytes>)>,
    /// The duration of each closed flow.
    took: BTreeMap<FlowId, Duration>,
}

impl Observer<Packet> for Lives {
    fn opened(&mut self, flow: FlowId, _: SourceId, size: Option<Bytes>, now: Time) {
        self.opened.push((flow, now, size));
    }
    fn closed(&mut self, flow: FlowId, now: Time) {
        let (_, opened, _) = self.opened.iter().rfind(|(number, ..)| *number == flow).unwrap();
        assert!(self.took.insert(flow, now.since(*opened)).is_none(), "{flow} closed twice");
    }
}

fn lives(scenario: &Scenario) -> Lives {
    let mut lives = Lives::default();
    l4s_sim::run(scenario, &mut lives);
    lives
}

const IDLE: &str = r#"
    duration = "60s"
    warmup   = "10s"
    host_jitter = false
    link.rate = "40mbit"
    [[group]]
    name  = "A"
    cc    = "cubic"
    flows = 0
    rtt   = "10ms"
    [[web]]
    group = "A"
    rate  = "2/s"
    size  = "10kb"
"#;

#[test]
fn a_download_over_an_idle_link_takes_its_theoretical_time() {
    let scenario = scenario(IDLE);
    // Handshake and request, 10 ms each. 10 kB are 7 segments, which fit the initial window. The
    // last one waits for those before it, less the bucket of one packet: 5 · 1514 B at 40 Mb/s.
    let expected = 2.0 * 10.0 + 5.0 * 1514.0 * 8.0 / 40e3;
    let lives = lives(&scenario);
    assert!(lives.took.len() > 80 && lives.took.len() + 1 >= lives.opened.len());
    let took: Vec<f64> = lives.took.values().map(|took| took.as_millis_f64()).collect();
    // The few that meet another download on the link wait for it, at most 3 ms.
    assert!(took.iter().all(|ms| (expected - 1e-3..expected + 3.0).contains(ms)), "{took:?}");
    let exactly = took.iter().filter(|ms| (**ms - expected).abs() < 1e-3).count();
    assert!(exactly * 10 > took.len() * 9, "{took:?}");
}

#[test]
fn a_download_is_told_from_a_long_flow_in_all_results() {
    let text = IDLE.replace("flows = 0", "flows = 1");
    let record = record(&scenario(&text));
    let summary = &record.summary;
    let a = &summary.groups[0];
    let downloads: Vec<_> = record.flows.iter().filter(|row| row.size.is_some()).collect();
    // One long flow, which is the only one that counts as such, and about 120 downloads.
    assert_eq!((a.flows, a.downloads), (1, Some(downloads.len() as u64)));
    assert!((80..160).contains(&downloads.len()), "{}", downloads.len());
    let long: Vec<_> = record.flows.iter().filter(|row| row.size.is_none()).collect();
    assert_eq!((long.len(), long[0].flow, long[0].completion_ms), (1, 0, None));
    assert!(downloads.iter().zip(1..).all(|(row, number)| row.flow == number));
    assert!(downloads.iter().all(|row| row.group == "A" && row.size == Some(10_000)));
    assert!(downloads.iter().rev().skip(3).all(|row| row.completion_ms.is_some()));
    // The rate per flow and its share of the link are those of the long flow. The rest of the link's
    // bytes are those of the downloads, about 2 · 10,364 B per second.
    let long_bps = long[0].bytes as f64 * 8.0 / 50.0;
    assert!((a.rate_per_flow_bps.unwrap() - long_bps).abs() < 1.0);
    assert!((a.normalized_rate.unwrap() - long_bps / 40e6).abs() < 1e-9);
    let rest = a.rate_bps - long_bps;
    assert!((100e3..230e3).contains(&rest), "{rest}");
    assert_eq!(a.flow_rates_bps.unwrap().p1, a.flow_rates_bps.unwrap().p99);
    // All have one size, so there is one bin; downloads that closed in the warm-up do not count.
    let [bin] = summary.completion.as_slice() else { panic!("{:?}", summary.completion) };
    assert_eq!((bin.group.as_str(), bin.bin_bytes), ("A", [9_000, 27_000]));
    let counted = downloads.iter().filter(|row| row.end_s >= Some(10.0)).count();
    assert_eq!(bin.flows, counted as u64);
    assert!(bin.efficiency.p1 > 0.9 && bin.efficiency.mean > 1.0);
    // Only the long flow has rows of its own in the time series.
    let rows = record.series.iter().filter(|row| row.scope == l4s_measure::Scope::Flow);
    assert!(rows.map(|row| row.name.as_str()).all(|name| name == "A.0"));
}

#[test]
fn a_lost_handshake_costs_a_download_a_second() {
    let text = r#"
        duration = "10s"
        link.rate = "10mbit"
        aqm = { kind = "fifo", limit = "1p" }
        [[group]]
        name = "A"
        cc = "cubic"
        flows = 0
        rtt = "10ms"
        [[web]]
        group = "A"
        rate = "200/s"
        size = "1kb"
        stop = "100ms"
        # A flood keeps the queue of one packet full until the last SYN-ACK came.
        [[udp]]
        name = "U"
        rate = "30mbit"
        stop = "150ms"
    "#;
    let lives = lives(&scenario(text));
    assert!(lives.opened.len() > 10 && lives.took.len() == lives.opened.len());
    let ms: Vec<u64> = lives.took.values().map(|took| took.as_micros() / 1000).collect();
    // Some succeed at once. A SYN without an answer is sent again after one second
    // (RFC 6298 §2.1), and most of those find an idle link.
    assert!(ms.iter().all(|ms| *ms < 400 || *ms >= 1000), "{ms:?}");
    let second = ms.iter().filter(|ms| (1000..1100).contains(*ms)).count();
    assert!(second > ms.len() / 3, "{ms:?}");
}

#[test]
fn a_hundred_thousand_downloads_all_end() {
    let text = r#"
        duration = "101s"
        link.rate = "1gbit"
        [[group]]
        name = "A"
        cc = "dctcp"
        flows = 0
        rtt = "10ms"
        [[web]]
        group = "A"
        rate = "1000/s"
        size = "1kb"
        stop = "100s"
    "#;
    let lives = lives(&scenario(text));
    assert!((99_000..101_000).contains(&lives.opened.len()), "{}", lives.opened.len());
    assert_eq!(lives.took.len(), lives.opened.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Through an AQM that drops, so that segments are sent again, and slots are used again while packets of
    /// their former connections are still in flight.
    #[test]
    fn every_download_closes_once_and_runs_repeat(seed in 0u64..1 << 60, mbps in 2u64..20, rate in 10u64..60) {
        let scenario = scenario(&format!(
            "duration = \"20s\"\nseed = {seed}\nlink.rate = \"{mbps}mbit\"\n\
             aqm = {{ kind = \"fifo\", limit = \"20p\" }}\n\
             [[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"20ms\"\n\
             [[group]]\nname = \"B\"\ncc = \"prague\"\nrtt = \"5ms\"\n\
             [[web]]\ngroup = \"A\"\nrate = \"{rate}/s\"\nstop = \"4s\"\n\
             size = {{ pareto = 0.9, min = \"1kb\", max = \"50kb\" }}\n\
             [[web]]\ngroup = \"B\"\nrate = \"{rate}/s\"\nstart = \"1s\"\nstop = \"3s\"\n\
             size = \"3kb\"\n"
        ));
        let found = lives(&scenario);
        // Two long flows, and then downloads in the order of their numbers.
        prop_assert!(found.opened.iter().zip(0..).all(|((flow, ..), number)| flow.get() == number));
        prop_assert_eq!(found.opened.len() - 2, l4s_bottleneck::Downloads::new(&scenario).count());
        // All downloads have ended after another 16 s, except those that wait for long timeouts.
        prop_assert!(found.took.len() * 10 >= (found.opened.len() - 2) * 9);
        prop_assert_eq!(lives(&scenario), found);
    }
}

/// The number of simultaneous downloads, and the outcomes of those that were not completed.
#[derive(Default)]
struct Patience {
    under_way: BTreeMap<FlowId, Time>,
    most: usize,
    began: u32,
    /// The time from the beginning of each download until it was given up.
    gave_up: Vec<Duration>,
    turned_away: u32,
}

impl Observer<Packet> for Patience {
    fn opened(&mut self, flow: FlowId, _: SourceId, _: Option<Bytes>, now: Time) {
        self.began += 1;
        self.under_way.insert(flow, now);
        self.most = self.most.max(self.under_way.len());
    }
    fn closed(&mut self, flow: FlowId, _: Time) {
        self.under_way.remove(&flow).expect("it was under way");
    }
    fn gave_up(&mut self, flow: FlowId, now: Time) {
        let began = self.under_way.remove(&flow).expect("it was under way");
        self.gave_up.push(now.since(began));
    }
    fn turned_away(&mut self, _: FlowId, _: SourceId, _: Time) {
        self.turned_away += 1;
    }
}

/// 1 kb/s carries a SYN-ACK in 0.6 s: of twenty SYNs per second nearly all are never answered.
const HOPELESS: &str = "duration = \"150s\"\nlink = { rate = \"1kbit\", buffer = \"50p\" }\naqm = \"fifo\"\n\
    [[group]]\nname = \"A\"\ncc = \"cubic\"\nflows = 0\nrtt = \"10ms\"\n\
    [[web]]\ngroup = \"A\"\nrate = \"20/s\"\nsize = \"100kb\"\nstop = \"60s\"\n";

#[test]
fn a_download_of_which_nothing_comes_is_given_up_after_a_minute() {
    let mut seen = Patience::default();
    l4s_sim::run(&scenario(HOPELESS), &mut seen);
    assert!(seen.began > 1000 && seen.gave_up.len() > 1000, "{}", seen.gave_up.len());
    let minute = Duration::from_secs(60);
    assert!(seen.gave_up.iter().all(|after| *after >= minute));
    // Downloads are checked once per second: those without any packet are given up by then.
    let at_once = seen.gave_up.iter().filter(|after| **after < Duration::from_secs(61)).count();
    assert!(at_once * 10 > seen.gave_up.len() * 8, "{at_once} of {}", seen.gave_up.len());
    // A download that still receives a packet from time to time continues.
    assert!(seen.under_way.len() < 100, "{}", seen.under_way.len());
}

#[test]
fn no_more_downloads_are_under_way_than_there_may_be() {
    // New downloads begin when the first ones are given up.
    let scenario = scenario(&HOPELESS.replace("60s", "140s"));
    let mut run = l4s_sim::Simulation::new(&scenario, Patience::default()).with_most_downloads(50);
    run.advance(Time::ZERO + scenario.duration);
    let (_, seen) = run.finish();
    assert_eq!(seen.most, 50);
    // All others were turned away, and their numbers were not used.
    let mut free = Patience::default();
    l4s_sim::run(&scenario, &mut free);
    assert_eq!(seen.began + seen.turned_away, free.began);
    assert!(seen.began > 50, "places are free again");
}
