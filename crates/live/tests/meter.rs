//! A viewer sees the same as a run measures, with any steps.

use l4s_live::Meter;
use l4s_live::protocol::{BUCKETS, BUCKETS_PER_DECADE, FIRST_BUCKET_MS, LaneState, bucket};
use l4s_measure::{EngineSummary, Origin, Recorder, Summary};
use l4s_model::Scenario;
use l4s_scenario::Plan;
use l4s_substrate::{Lanes, Sim};
use l4s_units::{Duration, Time};

const MIXED: &str = r#"
duration = "20s"
warmup = "0s"
link = { rate = "20mbit" }
aqm = { kind = "dualpi2", limit = "100p" }
[[group]]
name = "A"
cc = { kind = "prague", profile = "best" }
flows = 2
rtt = "10ms"
[[group]]
name = "B"
cc = "cubic"
rtt = "20ms"
[[web]]
group = "B"
rate = "20/s"
[[app]]
group = "A"
rate = "1mbit"
[[udp]]
name = "U"
rate = "1mbit"
start = "10s"
[[at]]
time = "12s"
link.rate = "10mbit"
"#;

fn scenario(text: &str) -> Scenario {
    Plan::parse("t.toml", text, &[]).expect("a scenario").points[0].scenario.clone()
}

/// Twenty seconds of it, with twenty readings per second.
fn looks(scenario: &Scenario) -> Vec<LaneState> {
    let mut lane = Sim.lane(scenario, Meter::new(scenario)).expect("any scenario");
    let mut now = Time::ZERO;
    let look = |_| {
        now += Duration::from_millis(50);
        lane.advance(now).expect("the simulator does not break down");
        Meter::look(lane.as_mut())
    };
    (0..400).map(look).collect()
}

fn summary(scenario: &Scenario) -> Summary {
    let mut recorder = Recorder::new(scenario, Origin::default());
    l4s_sim::run(scenario, &mut recorder);
    recorder.finish(EngineSummary::default()).summary
}

#[test]
fn all_looks_together_are_the_summary_of_the_run() {
    let scenario = scenario(MIXED);
    let (looks, summary) = (looks(&scenario), summary(&scenario));
    let near = |found: f64, expected: f64, what: &str| {
        assert!((found - expected).abs() <= 1e-6 * expected.abs(), "{what}: {found}, {expected}");
    };
    for (number, queue) in summary.queues.iter().enumerate() {
        let of = || looks.iter().map(|look| &look.queues[number]);
        assert_eq!(of().next().map(|of| of.name), Some(queue.name.as_str()));
        let packets: u64 = of().map(|of| of.packets).sum();
        assert_eq!(packets, queue.packets);
        let marked: u64 = of().map(|of| of.marked).sum();
        near(marked as f64 / packets as f64, queue.mark.unwrap_or(0.0), "marks");
        let dropped: u64 = of().map(|of| of.dropped).sum();
        near(dropped as f64 / (packets + dropped) as f64, queue.drop.unwrap_or(0.0), "drops");
        let delay = queue.delay_ms.expect("it was used");
        let longest = of().filter_map(|of| of.delay_max_ms).fold(0.0, f64::max);
        near(longest, delay.max, "the longest delay");
        // The width of a bucket is 6 %.
        let mut histogram = vec![0u64; BUCKETS];
        of().flat_map(|of| &of.delays)
            .for_each(|(at, n)| histogram[usize::from(*at)] += u64::from(*n));
        let (all, mut below) = (histogram.iter().sum::<u64>(), 0);
        let median = histogram.iter().position(|n| {
            below += n;
            2 * below >= all
        });
        let median = median.expect("half of them") as f64;
        let low = FIRST_BUCKET_MS * 10f64.powf(median / BUCKETS_PER_DECADE);
        assert!((0.98..1.08).contains(&(delay.p50 / low)), "{} in {low}..", delay.p50);
    }
    for (number, group) in summary.groups.iter().enumerate() {
        let of = || looks.iter().map(|look| &look.groups[number]);
        assert!(of().all(|of| of.name == group.name));
        near(of().map(|of| of.rate_bps).sum::<f64>() / 400.0, group.rate_bps, "the rate");
        assert_eq!(of().map(|of| of.packets).sum::<u64>(), group.packets);
        let goodput: Option<Vec<f64>> = of().map(|of| of.goodput_bps).collect();
        assert_eq!(goodput.is_some(), group.goodput_bps.is_some(), "{}", group.name);
        if let Some((all, expected)) = goodput.zip(group.goodput_bps) {
            near(all.iter().sum::<f64>() / 400.0, expected, "the goodput");
        }
    }
    // The mean utilization of a link with 20 Mb/s for 12 s and 10 Mb/s for 8 s.
    let carried: f64 = looks.iter().map(|look| look.link.utilization * look.link.rate_bps).sum();
    near(carried / 400.0 / 16e6, summary.link.utilization, "utilization");
    let completed: u64 = summary.completion.iter().map(|bin| bin.flows).sum();
    let downloads: Vec<_> = looks.iter().flat_map(|look| &look.downloads).collect();
    assert_eq!(downloads.len() as u64, completed);
    // A packet is at the client when its transmission starts, and the shaper's bucket sends one at once.
    // So the theoretical time does not include two packets, 1.2 ms each at 10 Mb/s.
    let too_fast = downloads.iter().find(|d| d.group.get() != 1 || d.time_ms + 2.5 < d.ideal_ms);
    assert_eq!(too_fast, None);
    let app = summary.groups[0].app.as_ref().expect("an application");
    let frames: Vec<_> = looks.iter().flat_map(|look| &look.frames).collect();
    assert_eq!(frames.len() as u64, app.delivered);
}

/// 30 frames of 41,667 B per second into 1 Mb/s, which carries 2.8 frames. 65 frames of 64.5 kB of memory are
/// 4 MiB, after 2.4 s or 48 readings.
#[test]
fn frames_that_a_full_send_buffer_skips_are_counted() {
    let text = "duration = \"20s\"\nwarmup = \"0s\"\nlink.rate = \"1mbit\"\n[[group]]\nname = \"A\"\ncc = \"cubic\"\n\
                flows = 0\nrtt = \"10ms\"\n[[app]]\ngroup = \"A\"\nrate = \"10mbit\"\n";
    let full = scenario(text);
    let looks = looks(&full);
    let skipped: u64 = looks.iter().map(|look| look.skipped).sum();
    let app = summary(&full).groups[0].app.clone().expect("an application");
    assert!(skipped > 100 && skipped == app.skipped, "{skipped} of {app:?}");
    let first = looks.iter().position(|look| look.skipped > 0).expect("a skipped frame");
    assert!((40..56).contains(&first), "after {first} looks of 50 ms");
    // An application that adapts skips frames by its own decision.
    let adapts = scenario(&format!("{text}adapt = true\n"));
    assert!(self::looks(&adapts).iter().all(|look| look.skipped == 0));
}

#[test]
fn flows_are_told_apart_and_their_windows_are_those_of_the_summary() {
    let scenario = scenario(MIXED);
    let (looks, summary) = (looks(&scenario), summary(&scenario));
    let last = looks.last().expect("a look");
    let of = |group: u16, app: bool| {
        last.flows.iter().filter(|f| f.group.get() == group && f.app == app).count()
    };
    assert_eq!([of(0, false), of(0, true), of(1, false), of(1, true)], [2, 1, 1, 0]);
    assert!(last.flows.iter().all(|flow| flow.classic_ecn.is_some() == (flow.group.get() == 0)));
    for (number, group) in summary.groups.iter().take(2).enumerate() {
        let windows = looks.iter().filter_map(|look| look.groups[number].window_pkts);
        let mean = windows.sum::<f64>() / 400.0;
        let expected = group.window_pkts.expect("long flows");
        assert!((0.8..1.25).contains(&(mean / expected)), "{mean} against {expected}");
    }
}

#[test]
fn a_sample_of_packets_is_small_and_spread_over_the_span() {
    let fast =
        MIXED.replace("20mbit\" }", "1gbit\" }").replace("limit = \"100p\"", "limit = \"10000p\"");
    let looks = looks(&scenario(&fast));
    let late = &looks[100..200];
    assert!(late.iter().all(|look| look.packets.len() <= 64));
    let spans: Vec<f32> = late
        .iter()
        .filter(|look| look.groups.iter().map(|group| group.packets).sum::<u64>() > 1_000)
        .map(|look| look.packets.last().expect("some").0 - look.packets[0].0)
        .collect();
    assert!(spans.len() > 50);
    let mean = spans.iter().sum::<f32>() / spans.len() as f32;
    assert!(mean > 35.0 && spans.iter().all(|span| *span <= 50.0), "{mean} of 50 ms");
}

#[test]
fn a_delay_is_in_the_bucket_that_begins_below_it() {
    for ms in [0.0011, 0.01, 0.5, 1.0, 14.999, 15.0, 9_999.0] {
        let low = FIRST_BUCKET_MS * 10f64.powf(f64::from(bucket(ms)) / BUCKETS_PER_DECADE);
        let high = low * 10f64.powf(1.0 / BUCKETS_PER_DECADE);
        assert!(low <= ms * 1.000_001 && ms < high * 1.000_001, "{ms} in {low}..{high}");
    }
    assert_eq!([bucket(0.0), bucket(1e-9), bucket(1e9)], [0, 0, BUCKETS as u16 - 1]);
}

/// The capacity of each span, all of it together that of the trace.
#[test]
fn a_link_that_follows_a_trace_tells_its_capacity() {
    let text = "duration = \"20s\"\nwarmup = \"0s\"\nlink = { trace = \"lte-1\", trace_scale = \"20mbit\" }\n\
                [[group]]\nname = \"A\"\ncc = \"prague\"\nrtt = \"10ms\"\n";
    let traced = scenario(text);
    let looks = looks(&traced);
    let capacity = traced.link.trace.as_ref().expect("a trace");
    let at = |look: u64| Time::ZERO + Duration::from_millis(50) * look;
    for (number, look) in (0..).zip(&looks) {
        let bits = 8.0 * capacity.bytes_between(at(number), at(number + 1)).get() as f64;
        assert!((look.link.rate_bps - bits / 0.05).abs() < 1.0, "{number}: {}", look.link.rate_bps);
    }
    let rates = looks.iter().map(|look| look.link.rate_bps);
    let (least, most) = rates.fold((f64::MAX, 0.0_f64), |(a, b), x| (a.min(x), b.max(x)));
    assert!(most > 2.0 * least, "from {least} to {most}");
}

/// Data up and down beside each other: the rates of groups are those of their data, and the uplink is that of the
/// summary.
#[test]
fn the_uplink_is_measured_as_the_bottleneck_is() {
    let text = "duration = \"20s\"\nwarmup = \"0s\"\nlink = { rate = \"20mbit\", buffer = \"50ms\" }\n\
                uplink = { rate = \"5mbit\", buffer = \"50ms\" }\n\
                [[group]]\nname = \"down\"\ncc = \"prague\"\nrtt = \"10ms\"\n\
                [[group]]\nname = \"up\"\ndirection = \"up\"\ncc = \"cubic\"\nrtt = \"10ms\"\n\
                [[at]]\ntime = \"10s\"\nuplink.rate = \"2mbit\"\n";
    let scenario = scenario(text);
    let (looks, summary) = (looks(&scenario), summary(&scenario));
    let of = || looks.iter().map(|look| look.uplink.as_ref().expect("an uplink"));
    assert_eq!(
        [of().next(), of().next_back()].map(|of| of.map(|of| of.link.rate_bps)),
        [5e6, 2e6].map(Some)
    );
    let expected = &summary.hops[0];
    for (number, queue) in expected.queues.iter().enumerate() {
        let counts = || of().map(|of| &of.queues[number]);
        assert_eq!(counts().map(|of| of.packets).sum::<u64>(), queue.packets, "{}", queue.name);
        let longest = counts().filter_map(|of| of.delay_max_ms).fold(0.0, f64::max);
        let expected = queue.delay_ms.map_or(0.0, |delay| delay.max);
        assert!((longest - expected).abs() <= 1e-6 * expected, "{longest}, {expected}");
    }
    let carried: f64 = of().map(|of| of.link.utilization * of.link.rate_bps).sum();
    let used = carried / 400.0 / 3.5e6;
    assert!((used - expected.utilization.unwrap()).abs() < 1e-6, "{used}, {expected:?}");
    assert!(of().any(|of| of.link.backlog_packets > 5));
    assert!(of().all(|of| of.packets.len() <= 64) && of().any(|of| of.packets.len() > 5));
    for (number, group) in summary.groups.iter().enumerate() {
        let rate = looks.iter().map(|look| look.groups[number].rate_bps).sum::<f64>() / 400.0;
        assert!(
            (rate - group.rate_bps).abs() < 1e-6 * rate,
            "{}: {rate}, {}",
            group.name,
            group.rate_bps
        );
        let packets = looks.iter().map(|look| look.groups[number].packets).sum::<u64>();
        assert_eq!(packets, group.packets, "{}", group.name);
    }
    let last = looks.last().expect("a look");
    assert!(last.flows.iter().all(|flow| flow.rate_bps > 0.0));
}

/// Where nothing else is on the way up, its delays are those of acknowledgements.
#[test]
fn acknowledgements_alone_have_a_delay_on_the_uplink() {
    let text = "duration = \"20s\"\nlink.rate = \"100mbit\"\nuplink = { rate = \"1mbit\", aqm = \"fifo\" }\n\
                [[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"10ms\"\n";
    let looks = looks(&scenario(text));
    let delays = looks.iter().filter_map(|look| look.uplink.as_ref()?.queues[0].delay_mean_ms);
    assert!(delays.fold(0.0, f64::max) > 5.0);
    assert!(self::looks(&scenario(MIXED)).iter().all(|look| look.uplink.is_none()));
}
