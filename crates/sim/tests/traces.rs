//! TCP over a link that follows a trace.

use l4s_measure::{EngineSummary, Origin, Recorder, Summary};
use l4s_model::{Capacity, Scenario};
use l4s_observe::Observer;
use l4s_scenario::Plan;
use l4s_sim::Packet;
use l4s_trace::{Model, OPPORTUNITY, Play, Step, Trace, make};
use l4s_units::{Bytes, Duration, Probability, Rate, Time};

/// Prague and Cubic through DualPI2 over this trace.
fn scenario(trace: &Trace) -> Scenario {
    let text = r#"
duration = "20s"
warmup = "5s"
link.rate = "40mbit"
[[group]]
name = "A"
cc = "prague"
rtt = "10ms"
[[group]]
name = "B"
cc = "cubic"
rtt = "10ms"
"#;
    let mut scenario = Plan::parse("t.toml", text, &[]).unwrap().points[0].scenario.clone();
    let capacity = Capacity::new("a trace", trace.clone(), Play::default()).unwrap();
    scenario.link = scenario.link.following(capacity);
    scenario
}

fn summary(scenario: &Scenario) -> Summary {
    let mut recorder = Recorder::new(scenario, Origin::default());
    l4s_sim::run(scenario, &mut recorder);
    recorder.finish(EngineSummary::default()).summary
}

fn rate(summary: &Summary, group: &str) -> f64 {
    summary.groups.iter().find(|one| one.name == group).unwrap().rate_bps
}

/// When packets leave the queue.
#[derive(Default)]
struct Departures(Vec<Time>);

impl Observer<Packet> for Departures {
    fn departed(&mut self, _: &Packet, _: l4s_aqm::Queue, _: Duration, now: Time) {
        self.0.push(now);
    }
}

/// Three opportunities in 2 ms: one packet of 1500 B each, so that goodput follows from their number.
#[test]
fn two_flows_use_every_opportunity() {
    let trace = Trace::from_opportunities([1, 2, 2]).unwrap();
    let scenario = scenario(&trace);
    let summary = summary(&scenario);
    assert_eq!(summary.link.rate_bps, 1500.0 * OPPORTUNITY.get() as f64 * 8.0);
    assert!(summary.link.utilization > 0.99, "{}", summary.link.utilization);
    // IP packets of 1500 B, and few others.
    let carried = rate(&summary, "A") + rate(&summary, "B");
    assert!((carried / (1500.0 * 1500.0 * 8.0) - 1.0).abs() < 0.01, "{carried}");

    let mut departures = Departures::default();
    l4s_sim::run(&scenario, &mut departures);
    let ms = Duration::from_millis(1).as_nanos();
    assert!(departures.0.iter().all(|time| time.as_nanos() % ms == 0), "between opportunities");
    assert!(departures.0.len() as f64 >= 0.95 * 1500.0 * 20.0, "{}", departures.0.len());
}

/// 40 Mb/s with this delay for 2 s and that delay for 2 s, by turns, and with loss.
fn delayed(delays: [u64; 2], loss: f64) -> Trace {
    let step = |s: u64, delay: u64| Step {
        delay: Some(Duration::from_millis(delay)),
        loss: Some(Probability::from_f64(loss)),
        ..Step::new(Duration::from_secs(s), Rate::from_mbps(40))
    };
    Trace::from_steps([step(0, delays[0]), step(2, delays[1])], Duration::from_secs(4)).unwrap()
}

/// A delay that is constant is a part of the round trip.
#[test]
fn a_constant_delay_of_a_trace_lengthens_the_round_trip() {
    let with = scenario(&delayed([15, 15], 0.0));
    let mut without = with.clone();
    without.link.trace = None;
    without.groups.iter_mut().for_each(|group| group.rtt += Duration::from_millis(15));
    let [with, without] = [summary(&with), summary(&without)];
    let close = |a: f64, b: f64, by: f64| assert!((a / b - 1.0).abs() < by, "{a} for {b}");
    close(with.link.utilization, without.link.utilization, 0.01);
    for (with, without) in with.queues.iter().zip(&without.queues) {
        close(with.delay_ms.unwrap().mean, without.delay_ms.unwrap().mean, 0.1);
    }
    for (with, without) in with.groups.iter().zip(&without.groups) {
        close(with.rate_bps, without.rate_bps, 0.1);
        close(with.rtt_ms.unwrap(), without.rtt_ms.unwrap(), 0.05);
    }
}

/// A link is free while packets are under way: one each 4 ms finds no queue, with a delay of 15 ms.
#[test]
fn a_packet_does_not_wait_for_one_that_is_under_way() {
    let text = "duration = \"2s\"\nlink.rate = \"40mbit\"\n\
                [[udp]]\nname = \"U\"\nrate = \"2mbit\"\npacket = \"1000b\"\n";
    let mut scenario = Plan::parse("t.toml", text, &[]).unwrap().points[0].scenario.clone();
    let capacity = Capacity::new("a trace", delayed([15, 15], 0.0), Play::default()).unwrap();
    scenario.link = scenario.link.following(capacity);
    let queues = summary(&scenario).queues;
    let longest = queues.iter().filter_map(|queue| queue.delay_ms).map(|delay| delay.max);
    assert_eq!(longest.collect::<Vec<_>>(), [0.0]);
}

#[test]
fn a_trace_delays_packets_as_it_says() {
    let summary = summary(&scenario(&delayed([5, 25], 0.0)));
    // 10 ms, the queue, and 5 or 25 ms for half of the time each.
    let prague = summary.groups[0].rtt_ms.unwrap();
    assert!((24.0..28.0).contains(&prague), "{prague} ms");
    assert!(summary.queues.iter().all(|queue| queue.drops.radio.is_none()));
}

#[test]
fn a_trace_loses_packets_of_each_queue() {
    let summary = summary(&scenario(&delayed([5, 25], 0.01)));
    for queue in &summary.queues {
        let (lost, sent) = (queue.drops.radio.unwrap() as f64, queue.packets as f64);
        assert!((lost / sent - 0.01).abs() < 5.0 * (0.01 / sent).sqrt(), "{lost} of {sent}");
    }
}

/// What a text asks for passes: two flows without an end use all of each trace but half a per cent.
#[test]
fn a_saturated_trace_of_a_scenario_carries_its_opportunities() {
    let folder = std::env::temp_dir().join(format!("l4s-sim-trace-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // 2 opportunities each 3 ms, and none for 30 ms of each second: 11 · 10⁶ b/s or so.
    let instants = (1..=970u32).filter(|ms| ms % 3 > 0).chain([1000]);
    let lines: String = instants.map(|ms| format!("{ms}\n")).collect();
    std::fs::write(folder.join("gaps.trace"), lines).unwrap();
    let text = "duration = \"40s\"\nwarmup = \"10s\"\n\
         [link]\ntrace = \"gaps.trace\"\nbuffer = \"500ms\"\n[aqm]\nkind = \"fifo\"\n\
         [[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"10ms\"\nflows = 2\n";
    let file = folder.join("s.toml");
    std::fs::write(&file, text).unwrap();
    let plan = Plan::open(file.to_str().unwrap(), &[]).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let scenario = &plan.points[0].scenario;
    let capacity = scenario.link.trace.as_ref().unwrap();
    let (from, to) = (Time::ZERO + scenario.warmup, Time::ZERO + scenario.duration);
    let could = capacity.bytes_between(from, to).get() as f64 * 8.0 / 30.0;
    let summary = summary(scenario);
    assert_eq!(summary.link.rate_bps, could);
    assert!((summary.link.utilization - 1.0).abs() < 0.005, "{}", summary.link.utilization);
    // Of each 1504 B an IP packet of 1500 B.
    let carried = rate(&summary, "A") * 1504.0 / 1500.0;
    assert!((carried / could - 1.0).abs() < 0.005, "{carried} of {could}");
}

/// A trace of one rate is the link of that rate, to the nanosecond in which a bucket saves.
#[test]
fn a_constant_trace_is_a_constant_rate() {
    let step = Step::new(Duration::ZERO, Rate::from_mbps(40));
    let trace = Trace::from_steps([step], Duration::from_secs(1)).unwrap();
    let follower = scenario(&trace);
    let mut constant = follower.clone();
    constant.link.trace = None;
    let [a, b] = [follower, constant].map(|scenario| summary(&scenario));
    assert!((a.link.utilization - b.link.utilization).abs() < 0.001);
    for group in ["A", "B"] {
        assert!((rate(&a, group) / rate(&b, group) - 1.0).abs() < 0.05, "{group}");
    }
}

/// 40 Mb/s for a second and 10 Mb/s for a second: both flows follow, and DualPI2 keeps the L queue short.
#[test]
fn flows_follow_a_rate_that_falls_and_rises() {
    let steps = [(0, 40), (1, 10)]
        .map(|(at, mbps)| Step::new(Duration::from_secs(at), Rate::from_mbps(mbps)));
    let trace = Trace::from_steps(steps, Duration::from_secs(2)).unwrap();
    let summary = summary(&scenario(&trace));
    assert_eq!(
        summary.link.rate_bps, 24e6,
        "15 s after the warm-up: seven of one rate, eight of the other"
    );
    assert!(summary.link.utilization > 0.85, "{}", summary.link.utilization);
    let l = summary.queues.iter().find(|queue| queue.name == "L").unwrap();
    let mean = l.delay_ms.as_ref().unwrap().mean;
    assert!(mean < 5.0, "{mean}");
}

/// Each model, and the same bytes twice.
#[test]
fn every_model_carries_tcp_and_repeats() {
    for model in Model::ALL {
        let trace = make(model, 1, Duration::from_secs(20)).unwrap();
        let scenario = scenario(&trace);
        let [a, b] = [(); 2].map(|()| summary(&scenario));
        assert_eq!(format!("{a:?}"), format!("{b:?}"));
        let capacity =
            trace.bytes_between(Time::ZERO + scenario.warmup, Time::ZERO + scenario.duration);
        assert!(capacity > Bytes::ZERO);
        assert!(
            a.link.utilization > 0.3 && a.link.utilization <= 1.0,
            "{} {}",
            model.name(),
            a.link.utilization
        );
    }
}

/// Downloads over a link that has 10 Mb/s, nothing and 10 Mb/s for a second each. None is faster than the idle link allows, from
/// when its first byte may be there. But its last packet arrives when the transmission of that begins: 20 of 21.2 ms. Beside the
/// mean of 6.7 Mb/s the fastest took 0.8 of the ideal time.
#[test]
fn no_download_is_faster_than_its_ideal_time() {
    let text = "duration = \"60s\"\nlink = { rate = \"40mbit\", burst = \"0b\" }\n[[group]]\nname = \"A\"\nflows = 0\ncc = \"cubic\"\n\
                rtt = \"10ms\"\n[[web]]\ngroup = \"A\"\nrate = \"20/s\"\n";
    let mut scenario = Plan::parse("w.toml", text, &[]).unwrap().points[0].scenario.clone();
    let step = |s, mbps| Step::new(Duration::from_secs(s), Rate::from_mbps(mbps));
    let steps = [step(0, 10), step(1, 0), step(2, 10)];
    let trace = Trace::from_steps(steps, Duration::from_secs(3)).unwrap();
    let capacity = Capacity::new("a trace", trace, Play::default()).unwrap();
    scenario.link = scenario.link.following(capacity);
    let completion = summary(&scenario).completion;
    assert!(completion.len() > 3);
    for bin in completion {
        assert!(bin.efficiency.p1 > 0.94, "{:?}: {:?}", bin.bin_bytes, bin.efficiency);
    }
}
