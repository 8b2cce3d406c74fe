//! Every quantity of the summary, for a few packets whose numbers can be computed by hand.

mod support;

use l4s_aqm::{Config, DropCause, MarkCause, Queue, dualpi2};
use l4s_measure::{GroupSummary, QueueSummary, Recorder, Scope, Summary};
use l4s_model::{FlowId, Scenario, SourceId};
use l4s_observe::{FlowState, FrameEvent, LinkState, Observer, Wants};
use l4s_units::{Bytes, Duration, Ecn, Probability, Time};
use support::*;

fn queue<'a>(summary: &'a Summary, name: &str) -> &'a QueueSummary {
    summary.queues.iter().find(|q| q.name == name).unwrap()
}

fn group<'a>(summary: &'a Summary, name: &str) -> &'a GroupSummary {
    summary.groups.iter().find(|g| g.name == name).unwrap()
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found} is not {expected}");
}

#[test]
fn rate_counts_ip_bytes_and_utilization_adds_ethernet() {
    let mut r = recorder(&scenario());
    for i in 0..500 {
        forward(&mut r, packet(0, 0), Queue::L, 1.0, at(1000 + i));
    }
    let summary = r.finish(engine()).summary;
    // 500 packets of 1500 B in 1 s: 750,000 B, 6 Mb/s.
    close(group(&summary, "A").rate_bps, 6e6);
    close(group(&summary, "A").rate_per_flow_bps.unwrap(), 6e6);
    // 500 · 1514 B · 8 = 6.056 Mb of 12 Mb.
    close(summary.link.utilization, 6.056 / 12.0);
    // Two long flows: an equal share is 6 Mb/s.
    close(group(&summary, "A").normalized_rate.unwrap(), 1.0);
    close(group(&summary, "B").normalized_rate.unwrap(), 0.0);
}

#[test]
fn goodput_counts_what_was_read_after_the_warmup_and_is_absent_for_udp() {
    let mut r = recorder(&scenario());
    let mut delivered = |bytes, ms| {
        Observer::<Packet>::delivered(&mut r, FlowId::new(0), SourceId::new(0), bytes, at(ms));
    };
    delivered(1000, 500);
    delivered(125_000, 1500);
    // The report is after the end of the warm-up, the reading before it.
    delivered(2000, 999);
    let summary = r.finish(engine()).summary;
    // 125,000 B in 1 s; B received nothing.
    let goodput = ["A", "B", "U"].map(|name| group(&summary, name).goodput_bps);
    assert_eq!(goodput, [Some(1e6), Some(0.0), None]);
}

/// The scenario with an application of group A. Its flow is number 3, after those of A, B and U.
fn with_app() -> Scenario {
    let rate = l4s_units::Rate::from_mbps(1);
    let (hold, start, stop) = (l4s_model::Hold::None, Time::ZERO, None);
    let app = l4s_model::App { group: 0, rate, fps: 10, flows: 1, adapt: true, hold, start, stop };
    Scenario { apps: vec![app], ..scenario() }
}

#[test]
fn frames_count_after_the_warmup_and_their_flow_is_no_long_one() {
    let mut r = recorder(&with_app());
    let mut frame = |what, ms| {
        Observer::<Packet>::frame(&mut r, FlowId::new(3), SourceId::new(0), what, at(ms))
    };
    frame(FrameEvent::Written, 900);
    frame(FrameEvent::Skipped, 900);
    frame(FrameEvent::Delivered(ms(1)), 999);
    // Written before the end of the warm-up, delivered after it.
    frame(FrameEvent::Delivered(ms(200)), 1100);
    frame(FrameEvent::Written, 1100);
    frame(FrameEvent::Skipped, 1200);
    frame(FrameEvent::Delivered(ms(100)), 1200);
    Observer::<Packet>::opened(&mut r, FlowId::new(3), SourceId::new(0), None, at(1000));
    for i in 0..100 {
        forward(&mut r, packet(0, 0), Queue::L, 1.0, at(1000 + i));
        forward(&mut r, packet(3, 0), Queue::L, 1.0, at(1000 + i));
    }
    let summary = r.finish(engine()).summary;
    let a = group(&summary, "A");
    let app = a.app.as_ref().unwrap();
    assert_eq!((app.flows, app.written, app.delivered, app.skipped), (1, 1, 2, 1));
    let delay = app.delay_ms.unwrap();
    assert_eq!([delay.p1, delay.mean, delay.p99], [100.0, 150.0, 200.0]);
    // 100 packets of 1500 B each in 1 s are 1.2 Mb/s.
    close(a.rate_bps, 2.4e6);
    close(app.rate_bps, 1.2e6);
    close(a.rate_per_flow_bps.unwrap(), 1.2e6);
    assert_eq!((a.flows, &group(&summary, "B").app), (1, &None));
}

#[test]
fn a_packet_counts_if_it_leaves_at_the_end_of_the_warmup_or_later() {
    let mut r = recorder(&scenario());
    let end = at(1000);
    let before = end.saturating_sub(Duration::from_nanos(1));
    forward(&mut r, packet(0, 0), Queue::L, 100.0, before);
    let p = packet(0, 0);
    r.dropped(&p, Queue::L, DropCause::Limit, before);
    r.marked(&p, Queue::L, MarkCause::Step, before);
    Observer::<Packet>::round_trip(&mut r, FlowId::new(0), ms(500), before);
    Observer::<Packet>::retransmitted(&mut r, FlowId::new(0), before);
    // This one arrived during the warm-up and left after it.
    forward(&mut r, packet(0, 0), Queue::L, 2.0, end);
    let record = r.finish(engine());
    let l = queue(&record.summary, "L");
    assert_eq!((l.packets, l.drops.limit, l.marks.step, l.drop), (1, 0, 0, Some(0.0)));
    assert_eq!(l.delay_ms.unwrap().max, 2.0);
    let a = group(&record.summary, "A");
    assert_eq!((a.packets, a.retransmits, a.rtt_ms), (1, 0, None));
    assert_eq!(record.flows[0].bytes, 1500);
}

#[test]
fn delay_counts_packets_of_200_bytes_or_more() {
    let mut r = recorder(&scenario());
    let sized = |length| Packet { length, ..packet(0, 0) };
    forward(&mut r, sized(199), Queue::L, 50.0, at(1500));
    forward(&mut r, sized(200), Queue::L, 1.0, at(1501));
    forward(&mut r, sized(1500), Queue::L, 3.0, at(1502));
    let summary = r.finish(engine()).summary;
    let l = queue(&summary, "L");
    assert_eq!(l.packets, 3);
    // (1 + 3) / 2 ms; the 199 B packet is not data.
    let delay = l.delay_ms.unwrap();
    assert_eq!((delay.mean, delay.max), (2.0, 3.0));
    // Rank ceil(0.25 · 2) = 1: 1 ms within half a bucket.
    assert!((delay.p25 - 1.0).abs() < 0.005);
}

/// Not until the end of the run.
#[test]
fn the_rate_of_a_udp_source_is_that_until_it_stopped() {
    let mut scenario = scenario();
    let rows = |scenario: &Scenario| {
        let mut r = recorder(scenario);
        for i in 0..50 {
            forward(&mut r, packet(2, 2), Queue::C, 0.0, at(1000 + 10 * i));
        }
        let row = r.finish(engine()).flows.remove(2);
        (row.end_s, row.rate_bps)
    };
    // 75,000 B in a second, or in half of one.
    assert_eq!(rows(&scenario), (None, Some(600e3)));
    scenario.udp[0].stop = Some(at(1500));
    assert_eq!(rows(&scenario), (Some(1.5), Some(1.2e6)));
    scenario.udp[0].stop = Some(at(9000));
    assert_eq!(rows(&scenario), (None, Some(600e3)));
}

#[test]
fn smaller_packets_have_a_delay_of_their_own_by_group() {
    let mut r = recorder(&scenario());
    let small = |group: u16| Packet { length: 199, ..packet(group.into(), group) };
    // This one is in the warm-up.
    forward(&mut r, small(0), Queue::L, 900.0, at(500));
    forward(&mut r, small(1), Queue::C, 900.0, at(500));
    // 1 to 100 ms in one queue, 0 in the other one.
    for i in 1..=100 {
        forward(&mut r, small(0), Queue::C, f64::from(i), at(1500));
        forward(&mut r, small(0), Queue::L, 0.0, at(1500));
    }
    forward(&mut r, packet(0, 0), Queue::L, 500.0, at(1600));
    forward(&mut r, packet(1, 1), Queue::C, 500.0, at(1600));
    let summary = r.finish(engine()).summary;
    let a = group(&summary, "A");
    assert_eq!((a.packets, a.small_packets), (201, Some(200)));
    let delay = a.small_delay_ms.unwrap();
    // (1 + … + 100) / 200; of 200 values rank 2 is 0 and rank 198 is 98 ms, within half a bucket.
    assert_eq!((delay.p1, delay.mean), (0.0, 25.25));
    assert!((delay.p99 / 98.0 - 1.0).abs() < 0.005, "{delay:?}");
    assert_eq!(a.delay_ms.unwrap().max, 500.0);
    let b = group(&summary, "B");
    assert_eq!((b.packets, b.small_packets, b.small_delay_ms), (1, None, None));
}

#[test]
fn a_mark_is_a_packet_that_arrived_not_ce_and_left_ce() {
    let mut r = recorder(&scenario());
    let ce = |arrived_ce| Packet { ecn: Ecn::Ce, arrived_ce, ..packet(0, 0) };
    for i in 0..8 {
        forward(&mut r, packet(0, 0), Queue::L, 1.0, at(1100 + i));
    }
    forward(&mut r, ce(false), Queue::L, 1.0, at(1200));
    forward(&mut r, ce(true), Queue::L, 1.0, at(1201));
    let summary = r.finish(engine()).summary;
    // One of ten packets; the other CE packet was CE on arrival.
    assert_eq!(queue(&summary, "L").mark, Some(0.1));
    assert_eq!(group(&summary, "A").mark, Some(0.1));
}

#[test]
fn drop_is_of_those_that_arrived() {
    let mut r = recorder(&scenario());
    let p = packet(1, 1);
    for i in 0..3 {
        forward(&mut r, p, Queue::C, 1.0, at(1100 + i));
    }
    r.dropped(&p, Queue::C, DropCause::Aqm, at(1200));
    let summary = r.finish(engine()).summary;
    // Four arrived, one was dropped.
    assert_eq!(queue(&summary, "C").drop, Some(0.25));
    assert_eq!(queue(&summary, "C").drops.aqm, 1);
    assert_eq!(group(&summary, "B").drop, Some(0.25));
    assert_eq!(group(&summary, "B").packets, 3);
}

#[test]
fn window_is_rate_times_mean_rtt_in_mean_data_packets() {
    let mut r = recorder(&scenario());
    for i in 0..500 {
        forward(&mut r, packet(0, 0), Queue::L, 1.0, at(1000 + i));
        forward(&mut r, packet(1, 1), Queue::C, 1.0, at(1000 + i));
    }
    for (rtt, t) in [(10, 1100), (14, 1200)] {
        Observer::<Packet>::round_trip(&mut r, FlowId::new(0), ms(rtt), at(t));
        Observer::<Packet>::round_trip(&mut r, FlowId::new(1), ms(2 * rtt), at(t));
    }
    let summary = r.finish(engine()).summary;
    // 750,000 B/s · 12 ms / 1500 B = 6 packets.
    close(group(&summary, "A").rtt_ms.unwrap(), 12.0);
    close(group(&summary, "A").window_pkts.unwrap(), 6.0);
    close(group(&summary, "B").window_pkts.unwrap(), 12.0);
    close(summary.ratios["window_A_B"].as_f64().unwrap(), 0.5);
    close(summary.ratios["rate_A_B"].as_f64().unwrap(), 1.0);
}

#[test]
fn ratios_compare_every_two_tcp_groups_in_order_and_no_udp() {
    let mut scenario = scenario();
    let mut c = scenario.groups[1].clone();
    c.name = "D".to_owned();
    scenario.groups.push(c);
    let mut r = recorder(&scenario);
    Observer::<Packet>::opened(&mut r, FlowId::new(2), SourceId::new(2), None, Time::ZERO);
    for flow in 0..4 {
        forward(&mut r, packet(flow, flow as u16), Queue::C, 1.0, at(1100));
    }
    let summary = r.finish(engine()).summary;
    let names: Vec<_> = summary.ratios.keys().collect();
    assert_eq!(names, ["rate_A_B", "rate_A_D", "rate_B_D"]);
}

#[test]
fn flows_have_rates_over_the_time_they_were_open() {
    let mut scenario = scenario();
    scenario.groups[0].starts = vec![Time::ZERO, at(1500)];
    let mut r = recorder(&scenario);
    Observer::<Packet>::opened(&mut r, FlowId::new(2), SourceId::new(0), None, at(1500));
    for i in 0..100 {
        forward(&mut r, packet(0, 0), Queue::L, 1.0, at(1600 + i));
        forward(&mut r, packet(2, 0), Queue::L, 1.0, at(1600 + i));
    }
    let record = r.finish(engine());
    // 150,000 B = 1.2 Mb: over 1 s for flow 0, over 0.5 s for flow 2.
    let rates: Vec<_> = record.flows.iter().map(|f| (f.flow, f.rate_bps.unwrap())).collect();
    assert_eq!(rates, [(0, 1.2e6), (1, 0.0), (2, 2.4e6)]);
    let spread = group(&record.summary, "A").flow_rates_bps.unwrap();
    assert_eq!((spread.p1, spread.mean, spread.p99), (1.2e6, 1.8e6, 2.4e6));
    // The group has 2.4 Mb in the second, for two flows.
    close(group(&record.summary, "A").rate_per_flow_bps.unwrap(), 1.2e6);
}

#[test]
fn a_rate_over_time_is_that_of_windows_of_a_second() {
    let scenario = Scenario { duration: Duration::from_secs(4), ..scenario() };
    let mut r = recorder(&scenario);
    // Ten packets in every tenth of the first second after the warm-up, twenty in those of the next second,
    // and none later. A packet that leaves at the end of a tenth counts for the next one.
    for i in 0..200 {
        for _ in 0..1 + i / 100 {
            forward(&mut r, packet(0, 0), Queue::L, 1.0, at(1000 + i * 10));
        }
    }
    let summary = r.finish(engine()).summary;
    let spread = group(&summary, "A").rate_over_time_bps.unwrap();
    // Packets in the 21 windows: 100, 110, ... 200, then 180, 160, ... 0.
    close(spread.mean, 2550.0 / 21.0 * 12_000.0);
    assert_eq!((spread.p1, spread.p99), (0.0, 2.4e6));
    assert_eq!(group(&summary, "B").rate_over_time_bps.unwrap().p99, 0.0);
}

/// Two flows share the link; an application's flow is none of them. Less than a second makes no window.
#[test]
fn a_rate_over_time_is_per_long_flow() {
    let mut scenario = with_app();
    scenario.groups[0].starts = vec![Time::ZERO, Time::ZERO];
    let over_time = |scenario: &Scenario, flows: &[u32]| {
        let mut r = Recorder::new(scenario, origin());
        for &flow in flows {
            Observer::<Packet>::opened(
                &mut r,
                FlowId::new(flow),
                SourceId::new(0),
                None,
                Time::ZERO,
            );
            forward(&mut r, packet(flow, 0), Queue::L, 1.0, at(1100));
        }
        group(&r.finish(engine()).summary, "A").rate_over_time_bps
    };
    assert_eq!(over_time(&scenario, &[0, 1, 4]).unwrap().p99, 12_000.0);
    let short = Scenario { duration: ms(1999), ..scenario.clone() };
    assert_eq!(over_time(&short, &[0, 1, 4]), None);
    scenario.groups[0].starts.clear();
    let app = scenario.roster().apps().start.get();
    assert_eq!(over_time(&scenario, &[app]), None);
    // The live page added a flow to the group.
    assert!(over_time(&scenario, &[app, app + 1]).is_some());
}

#[test]
fn completion_is_from_the_syn_to_the_close_against_the_theoretical_time() {
    let mut scenario = scenario();
    scenario.groups[0].size = Some(Bytes::new(14_480));
    let mut r = recorder(&scenario);
    let r_dyn: &mut dyn Observer<Packet> = &mut r;
    r_dyn.opened(FlowId::new(2), SourceId::new(0), Some(Bytes::new(14_480)), at(900));
    r_dyn.opened(FlowId::new(3), SourceId::new(0), Some(Bytes::new(14_480)), at(1100));
    r_dyn.opened(FlowId::new(4), SourceId::new(0), Some(Bytes::new(14_480)), at(1900));
    r_dyn.closed(FlowId::new(2), at(999));
    r_dyn.closed(FlowId::new(3), at(1160));
    let record = r.finish(engine());
    // Flow 2 closed during the warm-up and flow 4 never did.
    let [bin] = record.summary.completion.as_slice() else { panic!("one bin") };
    assert_eq!((bin.group.as_str(), bin.bin_bytes, bin.flows), ("A", [9_000, 27_000], 1));
    assert_eq!(bin.time_ms.mean, 60.0);
    // 2 · 10 ms + (14,480 + 10 · 66) B · 8 / 12 Mb/s = 20 + 10.093333 ms.
    assert!((bin.efficiency.p99 - 60.0 / 30.093_333).abs() < 1e-6);
    let rows: Vec<_> = record.flows.iter().map(|f| (f.flow, f.completion_ms)).collect();
    assert_eq!(rows[2..], [(2, Some(99.0)), (3, Some(60.0)), (4, None)]);
    // Sized flows have no fair share of the link, and do not count for that of others.
    assert_eq!(group(&record.summary, "A").normalized_rate, None);
}

#[test]
fn what_was_not_measured_is_absent_not_zero() {
    let record = recorder(&scenario()).finish(engine());
    let l = queue(&record.summary, "L");
    assert_eq!((l.packets, l.delay_ms, l.mark, l.drop), (0, None, None, None));
    let u = group(&record.summary, "U");
    assert_eq!((u.rtt_ms, u.window_pkts, u.normalized_rate), (None, None, None));
    assert_eq!(u.flow_rates_bps, None);
    assert!(record.summary.ratios.is_empty() && record.summary.completion.is_empty());
    let json = serde_json::to_string(&record.summary).unwrap();
    for key in ["delay_ms", "mark\"", "drop\"", "rtt_ms", "completion", "ratios", "null"] {
        assert!(!json.contains(key), "{key} in {json}");
    }
}

#[test]
fn a_dual_queue_has_l_and_c_and_a_single_queue_has_q() {
    let names = |scenario: &Scenario| {
        let summary = recorder(scenario).finish(engine()).summary;
        summary.queues.into_iter().map(|q| q.name).collect::<Vec<_>>()
    };
    let mut scenario = scenario();
    assert_eq!(names(&scenario), ["L", "C"]);
    scenario.aqm = Config::DualPi2(dualpi2::Config {
        dualq: dualpi2::Classify::None,
        ..dualpi2::Config::default()
    });
    assert_eq!(names(&scenario), ["Q"]);
}

#[test]
fn a_udp_source_is_a_group_of_one_flow() {
    let mut r = recorder(&scenario());
    // The flow is not opened by an event: it begins with its first packet.
    forward(&mut r, packet(2, 2), Queue::C, 4.0, at(1250));
    let record = r.finish(engine());
    let u = group(&record.summary, "U");
    assert_eq!((u.cc.as_str(), u.flows, u.packets), ("udp", 1, 1));
    close(u.rate_bps, 12_000.0);
    let row = &record.flows[2];
    assert_eq!((row.group.as_str(), row.start_s, row.end_s, row.bytes), ("U", 1.25, None, 1500));
}

#[test]
fn a_row_of_the_series_is_about_its_interval_and_the_warmup_is_in_it() {
    let mut r = recorder(&scenario());
    let state = LinkState {
        packets: 3,
        bytes: Bytes::new(4500),
        owed: Bytes::ZERO,
        base: Some(Probability::from_raw(u32::MAX)),
    };
    assert_eq!(Observer::<Packet>::sampling_interval(&r), Some(ms(100)));
    for i in 0..10 {
        forward(&mut r, packet(0, 0), Queue::L, 1.0, at(10 * i));
    }
    Observer::<Packet>::sample_link(&mut r, state, at(100));
    forward(&mut r, packet(1, 1), Queue::C, 20.0, at(150));
    r.dropped(&packet(0, 0), Queue::L, DropCause::Aqm, at(160));
    Observer::<Packet>::sample_link(&mut r, state, at(200));
    let rows = r.finish(engine()).series;
    // Each time: the link, two queues, three groups.
    assert_eq!(rows.len(), 12);
    let row = |time_s, scope, name: &str| {
        rows.iter().find(|r| r.time_s == time_s && r.scope == scope && r.name == name).unwrap()
    };
    // 10 · 1500 B in 100 ms: 1.2 Mb/s.
    let l = row(0.1, Scope::Queue, "L");
    assert_eq!((l.rate_bps, l.packets, l.delay_mean_ms), (Some(1.2e6), Some(10), Some(1.0)));
    // Then nothing of A: a rate of zero was measured, but no delay.
    let l = row(0.2, Scope::Queue, "L");
    assert_eq!((l.rate_bps, l.packets, l.delay_mean_ms), (Some(0.0), Some(0), None));
    // The only packet that arrived was dropped.
    assert_eq!((l.drop, l.drops), (Some(1.0), Some(1)));
    assert_eq!(row(0.1, Scope::Group, "A").drops, Some(0));
    assert_eq!(row(0.2, Scope::Group, "B").delay_max_ms, Some(20.0));
    let link = row(0.2, Scope::Link, "link");
    assert_eq!((link.backlog_packets, link.p_base), (Some(3), Some(1.0)));
}

/// Rows of groups include their downloads; there are rows of flows, none of UDP sources; the warm-up counts too.
#[test]
fn goodput_of_a_row_is_what_was_read_in_its_interval() {
    let mut r = recorder(&scenario());
    let deliver = |r: &mut Recorder, flow, group, bytes, ms| {
        let (flow, group) = (FlowId::new(flow), SourceId::new(group));
        Observer::<Packet>::delivered(r, flow, group, bytes, at(ms));
    };
    let sample = |r: &mut Recorder, ms| {
        let link = LinkState { packets: 0, bytes: Bytes::ZERO, owed: Bytes::ZERO, base: None };
        Observer::<Packet>::sample_link(r, link, at(ms));
        for flow in 0..2 {
            let (flow, group) = (FlowId::new(flow), SourceId::new(flow as u16));
            Observer::<Packet>::sample_flow(r, FlowState { flow, group, ..flow_state() }, at(ms));
        }
    };
    for ms in [10, 90] {
        deliver(&mut r, 0, 0, 1000, ms);
    }
    // A download: flows 0, 1 and 2 belong to the groups and to U.
    deliver(&mut r, 3, 0, 500, 95);
    sample(&mut r, 100);
    deliver(&mut r, 1, 1, 12_500, 150);
    sample(&mut r, 200);
    // Bytes that were read in the first and the second interval, and reported by a socket in the third.
    deliver(&mut r, 0, 0, 1250, 99);
    deliver(&mut r, 0, 0, 2500, 199);
    deliver(&mut r, 1, 1, 4000, 200);
    let rows = r.finish(engine()).series;
    let goodput = |time_s, name: &str| {
        let row = rows.iter().find(|row| row.time_s == time_s && row.name == name);
        row.unwrap().goodput_bps
    };
    // 2500 B in 100 ms are 200 kb/s, and flow 0 has 2000 B of it; 12,500 B are 1 Mb/s, 1250 B 100 kb/s.
    let names = ["A", "A.0", "B", "B.1", "U", "link"];
    let first = [Some(300e3), Some(260e3), Some(0.0), Some(0.0), None, None];
    assert_eq!(names.map(|name| goodput(0.1, name)), first);
    let second = [Some(200e3), Some(200e3), Some(1e6), Some(1e6), None, None];
    assert_eq!(names.map(|name| goodput(0.2, name)), second);
}

fn flow_state() -> FlowState {
    FlowState {
        flow: FlowId::new(0),
        group: SourceId::new(0),
        is_app: false,
        cwnd: 10,
        ssthresh: None,
        srtt: None,
        alpha: None,
        classic_ecn: None,
        socket: None,
    }
}

#[test]
fn a_long_run_is_sampled_a_thousand_times() {
    let mut scenario = scenario();
    let mut interval = |secs| {
        scenario.duration = Duration::from_secs(secs);
        Observer::<Packet>::sampling_interval(&recorder(&scenario)).unwrap()
    };
    assert_eq!(interval(100), ms(100));
    assert_eq!(interval(250), ms(300));
    assert_eq!(interval(3600), ms(3600));
}

#[test]
fn two_observers_see_what_one_sees() {
    let scenario = scenario();
    let mut pair = ((recorder(&scenario), Some(recorder(&scenario))), ());
    forward(&mut pair, packet(0, 0), Queue::L, 1.0, at(1500));
    Observer::<Packet>::round_trip(&mut pair, FlowId::new(0), ms(11), at(1600));
    assert_eq!(Observer::<Packet>::sampling_interval(&pair), Some(ms(100)));
    assert_eq!(Observer::<Packet>::wants(&pair), Wants { flows: true, ..Wants::NOTHING });
    let ((one, other), ()) = pair;
    let (one, other) = (one.finish(engine()), other.unwrap().finish(engine()));
    assert_eq!(one, other);
    assert_eq!(group(&one.summary, "A").rtt_ms, Some(11.0));
    let mut none: Option<l4s_measure::Recorder> = None;
    forward(&mut none, packet(0, 0), Queue::L, 1.0, at(1500));
    assert_eq!(Observer::<Packet>::sampling_interval(&none), None);
    assert_eq!(Observer::<Packet>::wants(&none), Wants::NOTHING);
}
