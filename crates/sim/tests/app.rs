//! Applications: the data that they write, the delay of each frame, and the windows of their flows.

use l4s_cc::{Config, cubic, reno};
use l4s_measure::{AppSummary, EngineSummary, Origin, Recorder, RunRecord};
use l4s_model::{FlowId, Scenario, SourceId};
use l4s_observe::{FlowState, FrameEvent, Observer};
use l4s_scenario::Plan;
use l4s_sim::Packet;
use l4s_units::{Bytes, Duration, Time};

fn scenario(text: &str) -> Scenario {
    let plan = Plan::parse("app.toml", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    plan.points[0].scenario.clone()
}

fn record(scenario: &Scenario) -> RunRecord {
    let mut recorder = Recorder::new(scenario, Origin::default());
    l4s_sim::run(scenario, &mut recorder);
    recorder.finish(EngineSummary::default())
}

/// One application alone, with `app` as its settings, on a link of 40 Mb/s without a bucket.
fn alone(cc: &str, rtt: &str, app: &str) -> Scenario {
    scenario(&format!(
        "duration = \"12s\"\nwarmup = \"2s\"\nlink = {{ rate = \"40mbit\", burst = \"0b\" }}\n\
         aqm = \"fifo\"\n[[group]]\nname = \"A\"\ncc = \"{cc}\"\nflows = 0\nrtt = \"{rtt}\"\n\
         [[app]]\ngroup = \"A\"\n{app}\n"
    ))
}

fn app(scenario: &Scenario) -> AppSummary {
    record(scenario).summary.groups[0].app.clone().expect("there is an application")
}

/// The window of a flow, sampled each millisecond, and the frames.
#[derive(Default, PartialEq, Debug)]
struct Seen {
    windows: Vec<(Time, u32)>,
    frames: Vec<(Time, u32, FrameEvent)>,
}

impl Observer<Packet> for Seen {
    fn sample_flow(&mut self, state: FlowState, now: Time) {
        self.windows.push((now, state.cwnd));
    }
    fn frame(&mut self, flow: FlowId, _: SourceId, what: FrameEvent, now: Time) {
        self.frames.push((now, flow.get(), what));
    }
    fn sampling_interval(&self) -> Option<Duration> {
        Some(Duration::from_millis(1))
    }
}

fn seen(scenario: &Scenario) -> Seen {
    let mut seen = Seen::default();
    l4s_sim::run(scenario, &mut seen);
    seen
}

#[test]
fn a_frame_takes_as_long_as_the_link_takes_for_what_is_before_its_last_segment() {
    // 8 full segments of 1448 B, 100 or 50 times per second: they fit into the initial window. The
    // last one starts after seven of 1514 B are sent, 7 · 302.8 us, and arrives at once. The delay
    // includes neither the rate of the application nor the RTT, which is all on the reverse path. The
    // start is at 1 ms, so that no frame is at the end of the run.
    for (rate, fps, rtt) in
        [(9_267_200, 100, "5ms"), (4_633_600, 50, "5ms"), (4_633_600, 50, "50ms")]
    {
        let found = app(&alone(
            "reno",
            rtt,
            &format!("rate = \"{rate}bit\"\nfps = {fps}\nstart = \"1ms\""),
        ));
        assert_eq!((found.written, found.delivered, found.skipped), (10 * fps, 10 * fps, 0));
        let delay = found.delay_ms.unwrap();
        for ms in [delay.p1, delay.mean, delay.p99] {
            assert!((ms - 2.1196).abs() < 1e-9, "{rate} {rtt}: {delay:?}");
        }
    }
}

#[test]
fn an_application_gets_the_rate_that_it_writes_and_no_more() {
    for cc in ["reno", "cubic", "dctcp", "prague", "bbr", "bbr3"] {
        let found = app(&alone(cc, "10ms", "rate = \"4mbit\"\nfps = 30"));
        // 16,667 B in 12 segments with 52 B of header each, or 64 B with the AccECN option, 30 times per
        // second: 4.15 Mb/s of IP. The end of the warm-up cuts one frame of 300 at most.
        let header = if cc == "prague" { 64 } else { 52 };
        let expected = f64::from(16_667 + 12 * header) * 8.0 * 30.0;
        assert!((found.rate_bps / expected - 1.0).abs() < 0.004, "{cc}: {}", found.rate_bps);
        assert!((299..=301).contains(&found.delivered), "{cc}: {found:?}");
    }
}

/// A receive buffer of 5792 B has that much room (`crates/sim/src/tcp/buffer.rs`). With 100 to 140 B each millisecond 4000
/// to 5600 B are in flight for a base RTT of 40 ms, and each write leaves at once: the rest of the window need not have
/// room for a full segment.
#[test]
fn a_small_write_needs_its_own_room_in_the_receive_window() {
    for bytes in [100, 120, 140] {
        let app_of = format!("rate = \"{}bit\"\nfps = 1000", bytes * 8 * 1000);
        let mut scenario = alone("reno", "40ms", &app_of);
        scenario.groups[0].rcvbuf = Some(Bytes::new(5792));
        let delay = app(&scenario).delay_ms.unwrap();
        assert!(delay.p99 < 0.1, "{bytes} B: {delay:?}");
    }
}

#[test]
fn the_window_of_a_flow_that_limits_itself_does_not_grow() {
    // With 8 segments in flight the window is at most twice that (RFC 7661 §4.1). Slow start stops
    // at 16, although the link would carry more, and the window stays there for 12 s.
    for cc in ["reno", "cubic", "dctcp"] {
        let scenario = alone(cc, "20ms", "rate = \"2780160bit\"\nfps = 30");
        let most = seen(&scenario).windows.iter().map(|(_, cwnd)| *cwnd).max();
        assert!(most <= Some(16), "{cc}: {most:?}");
    }
}

/// Draft-ietf-ccwg-ratelimited-increase §3: twice the initial window of 10 segments, which is more
/// than any flight of 8.
#[test]
fn the_window_of_a_flow_that_limits_itself_grows_as_far_as_the_draft_allows() {
    let on = [
        Config::Reno(reno::Config { rate_limited_increase: true, ..Default::default() }),
        Config::Cubic(cubic::Config { rate_limited_increase: true, ..Default::default() }),
    ];
    for cc in on {
        let mut scenario = alone("reno", "20ms", "rate = \"2780160bit\"\nfps = 30");
        scenario.groups[0].cc = cc.clone();
        let most = seen(&scenario).windows.iter().map(|(_, cwnd)| *cwnd).max();
        assert_eq!(most, Some(20), "{cc:?}");
    }
}

#[test]
fn a_window_is_halved_for_each_timeout_without_anything_to_send() {
    // A frame of 200 segments every second: slow start increases its window to some hundred. The
    // frame has arrived after some 250 ms, and the rest is a pause of two to three timeouts of
    // 50 + 200 ms.
    let scenario = alone("reno", "50ms", "rate = \"2316800bit\"\nfps = 1");
    let seen = seen(&scenario);
    let written: Vec<Time> =
        seen.frames.iter().filter(|f| f.2 == FrameEvent::Written).map(|f| f.0).collect();
    let window = |at: Time| seen.windows.iter().rfind(|(time, _)| *time <= at).unwrap().1;
    for second in &written[1..] {
        let before = window(*second);
        let after = window(*second + Duration::from_millis(2));
        // The window is halved for each whole timeout, but not below the initial window.
        let halved = [before / 4, before / 8].map(|cwnd| cwnd.max(10));
        assert!(before > 80 && halved.contains(&after), "{before} to {after}");
    }
}

#[test]
fn an_application_that_adapts_skips_frames_instead_of_letting_them_wait() {
    // 4 Mb/s of video through 2 Mb/s: at most half of the frames are delivered.
    let text = |adapt: bool| {
        format!(
            "duration = \"30s\"\nwarmup = \"5s\"\nlink.rate = \"2mbit\"\naqm = \"codel\"\n\
             [[group]]\nname = \"A\"\ncc = \"cubic\"\nflows = 0\nrtt = \"20ms\"\n\
             [[app]]\ngroup = \"A\"\nrate = \"4mbit\"\nadapt = {adapt}\n"
        )
    };
    let [patient, adapting] = [false, true].map(|adapt| app(&scenario(&text(adapt))));
    // 750 frames in 25 s. 2 Mb/s carry 14.4 frames of 17,459 B per second with Ethernet: 358. Without
    // adaptation the send buffer fills at 15.6 frames per second: 161 frames of 26,112 B of memory are
    // 4 MiB, after 10.3 s. In the remaining 19.7 s 307 frames are skipped.
    assert_eq!(patient.written + patient.skipped, 750);
    assert!((300..=315).contains(&patient.skipped), "{patient:?}");
    assert!((300..=359).contains(&patient.delivered), "{patient:?}");
    assert_eq!(adapting.written + adapting.skipped, 750);
    assert!((300..=361).contains(&adapting.written), "{adapting:?}");
    // The backlog is two frames in the socket, one that is being sent, and the queue.
    let (patient, adapting) = (patient.delay_ms.unwrap(), adapting.delay_ms.unwrap());
    assert!(adapting.p99 < 400.0, "{adapting:?}");
    assert!(patient.mean > 5000.0, "{patient:?}");
}

#[test]
fn applications_are_none_of_the_long_flows() {
    let text = "duration = \"20s\"\nwarmup = \"5s\"\nlink.rate = \"40mbit\"\n\
                [[group]]\nname = \"A\"\ncc = \"prague\"\nrtt = \"10ms\"\n\
                [[group]]\nname = \"B\"\ncc = \"cubic\"\nrtt = \"10ms\"\n\
                [[udp]]\nname = \"U\"\nrate = \"1mbit\"\n\
                [[web]]\ngroup = \"B\"\nrate = \"5/s\"\nsize = \"10kb\"\n\
                [[app]]\ngroup = \"A\"\nrate = \"4mbit\"\nflows = 2\n";
    let record = record(&scenario(text));
    let [a, b, _] = record.summary.groups.as_slice() else { panic!("three of them") };
    assert_eq!((a.flows, b.flows, &b.app), (1, 1, &None));
    // Flows 0 and 1 are long, 2 is UDP, 3 and 4 are applications; downloads follow.
    let rows = |from, to| record.flows.iter().filter(move |row| (from..to).contains(&row.flow));
    assert!(rows(3, 5).all(|row| row.group == "A" && row.size.is_none() && row.end_s.is_none()));
    assert!(rows(5, u32::MAX).all(|row| row.group == "B" && row.size == Some(10_000)));
    let app = a.app.clone().unwrap();
    let bps = |bytes: u64| bytes as f64 * 8.0 / 15.0;
    assert_eq!(app.flows, 2);
    assert_eq!(app.rate_bps, bps(rows(3, 5).map(|row| row.bytes).sum()));
    assert_eq!(a.rate_per_flow_bps, Some(bps(rows(0, 1).map(|row| row.bytes).sum())));
    // An equal share is half of 40 Mb/s: the application's flow does not count.
    let share = a.rate_per_flow_bps.unwrap() * 2.0 / 40e6;
    assert!((a.normalized_rate.unwrap() - share).abs() < 1e-12);
    assert!((a.rate_bps - share * 20e6 - app.rate_bps).abs() < 1.0, "{a:?}");
}

#[test]
fn frames_end_when_they_are_to_and_cameras_are_not_in_step() {
    let scenario = alone(
        "prague",
        "10ms",
        "rate = \"1mbit\"\nfps = 25\nflows = 4\nstart = \"1s\"\nstop = \"3s\"",
    );
    let seen = seen(&scenario);
    let of = |flow| seen.frames.iter().filter(move |frame| frame.1 == flow);
    for (flow, opens_ms) in [(0, 1000), (1, 1010), (2, 1020), (3, 1030)] {
        let written: Vec<Time> =
            of(flow).filter(|f| f.2 == FrameEvent::Written).map(|frame| frame.0).collect();
        // The request arrives after a round trip for the SYN and half of the next.
        let first = Duration::from_millis(opens_ms + 20);
        assert!(written[0].since(Time::ZERO + first) < Duration::from_millis(1), "{written:?}");
        assert!(written.windows(2).all(|pair| pair[1].since(pair[0]) == Duration::from_millis(40)));
        // Two seconds less the handshake and the offset of the camera have 49 or 50 frames.
        assert!((49..=50).contains(&written.len()), "{}", written.len());
        assert!(*written.last().unwrap() < Time::ZERO + Duration::from_secs(3));
        let delivered = of(flow).filter(|f| matches!(f.2, FrameEvent::Delivered(_))).count();
        assert_eq!(delivered, written.len());
    }
}

#[test]
fn the_same_seed_gives_the_same_frames() {
    let text = "duration = \"10s\"\nlink = { rate = \"20mbit\", aggregation = \"3ms\" }\n\
                [[group]]\nname = \"A\"\ncc = \"prague\"\nrtt = \"10ms\"\n\
                [[group]]\nname = \"B\"\ncc = \"cubic\"\nrtt = \"15ms\"\n\
                [[web]]\ngroup = \"B\"\nrate = \"20/s\"\n\
                [[app]]\ngroup = \"A\"\nrate = \"3mbit\"\nadapt = true\n\
                [[app]]\ngroup = \"B\"\nrate = \"2mbit\"\nflows = 3\n";
    let scenario = scenario(text);
    assert_eq!(seen(&scenario), seen(&scenario));
    assert_eq!(record(&scenario), record(&scenario));
    // An application uses no random numbers, so downloads are the same without it.
    let starts = |scenario: &Scenario| {
        let record = record(scenario);
        let rows = record.flows.into_iter().filter(|row| row.size.is_some());
        rows.map(|row| (row.start_s.to_bits(), row.size)).collect::<Vec<_>>()
    };
    let mut without = scenario.clone();
    without.apps.clear();
    assert_eq!(starts(&scenario), starts(&without));
}
