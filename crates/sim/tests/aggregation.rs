//! A link that aggregates, with TCP behind it.

use l4s_measure::{EngineSummary, Origin, Recorder, Summary};
use l4s_scenario::Plan;

fn summary(text: &str, set: &[&str]) -> Summary {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    let plan = Plan::parse("t.toml", text, &set).unwrap_or_else(|e| panic!("{e}"));
    let scenario = &plan.points[0].scenario;
    let mut recorder = Recorder::new(scenario, Origin::default());
    l4s_sim::run(scenario, &mut recorder);
    recorder.finish(EngineSummary::default()).summary
}

const ONE: &str = "duration = \"20s\"\nwarmup = \"5s\"\nlink.rate = \"40mbit\"\n\
                   [[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"10ms\"\n";

#[test]
fn the_rate_is_that_of_the_link_with_a_queue_that_never_runs_empty() {
    for airtime in ["0s", "500us", "2ms", "10ms"] {
        let found =
            summary(ONE, &["aqm=fifo", "link.buffer=500p", &format!("link.aggregation={airtime}")]);
        let used = found.link.utilization;
        assert!((0.999..=1.0).contains(&used), "{airtime}: {used}");
    }
}

#[test]
fn the_airtime_is_in_the_round_trip_and_not_in_the_queue_delay() {
    // Video of few packets, alone: of 2 Mb/s at 200 frames per second a frame is 1250 B, one
    // packet of 1316 B. It finds an empty queue, and is on the air for 1316 · 8 / 40 Mb/s = 0.263 ms.
    let video = "\n[[app]]\ngroup = \"A\"\nrate = \"2mbit\"\nfps = 200\n";
    let text = ONE.replace("cc = \"cubic\"", "cc = \"cubic\"\nflows = 0") + video;
    let found = summary(&text, &["link.aggregation=4ms"]);
    let group = &found.groups[0];
    assert_eq!(group.delay_ms.unwrap().max, 0.0);
    let delay = group.app.as_ref().unwrap().delay_ms.unwrap();
    assert!((delay.p99 - 0.2632).abs() < 1e-9 && (delay.p1 - 0.2632).abs() < 1e-9, "{delay:?}");
}

#[test]
fn a_step_that_an_aggregate_exceeds_costs_throughput_where_a_flow_sends_in_bursts() {
    // While an aggregate of 4 ms is on the air, arriving packets wait for up to 4 ms, longer than the
    // step of 1 ms. DCTCP does not pace: whole aggregates return as bursts. The step marks them on a
    // link that is not full. Prague paces. Its rate is below the link's, so fewer packets wait for the
    // next aggregate, until aggregates are shorter than the step.
    let run = |cc: &str, airtime: &str| {
        let set = [
            &format!("group.A.cc={cc}"),
            "group.A.ecn=l4s",
            "group.A.rtt=20ms",
            &format!("link.aggregation={airtime}"),
        ];
        summary(ONE, &set)
    };
    let used = |cc, airtime| run(cc, airtime).link.utilization;
    let [smooth, bursty] = ["0s", "4ms"].map(|airtime| used("dctcp", airtime));
    assert!(smooth > 0.99 && bursty < 0.90, "{smooth} {bursty}");
    let [smooth, bursty] = ["0s", "4ms"].map(|airtime| used("prague", airtime));
    assert!(smooth > 0.99 && bursty > 0.99, "{smooth} {bursty}");
    // Prague's RTT includes the airtime: 20 ms, a queue of 1 ms, and an aggregate.
    let [smooth, bursty] =
        ["0s", "4ms"].map(|airtime| run("prague", airtime).groups[0].rtt_ms.unwrap());
    assert!((0.5..4.0).contains(&(bursty - smooth)), "{smooth} {bursty}");
}
