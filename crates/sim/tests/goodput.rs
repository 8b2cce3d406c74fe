//! Goodput: every byte counts once, and only in order.

use std::collections::BTreeMap;

use l4s_measure::{EngineSummary, Origin, Recorder, Scope, SeriesRow};
use l4s_model::{FlowId, SourceId};
use l4s_observe::{Observer, Traced};
use l4s_scenario::Plan;
use l4s_units::Time;
use proptest::prelude::*;

/// Bytes that each flow's client passed on, and the flows that closed.
#[derive(Default)]
struct Passed {
    bytes: BTreeMap<u32, u64>,
    closed: Vec<u32>,
}

impl<P: Traced> Observer<P> for Passed {
    fn delivered(&mut self, flow: FlowId, group: SourceId, bytes: u64, _: Time) {
        assert_eq!(group.get(), 0);
        *self.bytes.entry(flow.get()).or_default() += bytes;
    }
    fn closed(&mut self, flow: FlowId, _: Time) {
        self.closed.push(flow.get());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// With any drops, delays and retransmissions, including tracers and short segments.
    #[test]
    fn a_download_passes_on_its_size(
        size in 1_u64..600_000,
        buffer in 3_u64..60,
        kbit in 500_u64..20_000,
        cc in 0..3_usize,
        mss in prop::sample::select(vec![536_u64, 1448, 8948]),
    ) {
        let cc = [
            "\"cubic\"",
            "\"dctcp\"",
            "{ kind = \"prague\", fallback = \"active\" }",
        ][cc];
        let text = format!(
            "duration = \"60s\"\nlink = {{ rate = \"{kbit}kbit\", buffer = \"{buffer}p\" }}\n\
             aqm = {{ kind = \"fifo\" }}\n[[group]]\nname = \"A\"\ncc = {cc}\nrtt = \"15ms\"\n\
             flows = 3\nsize = \"{size}b\"\nmss = {mss}\n"
        );
        let plan = Plan::parse("goodput.toml", &text, &[]).unwrap();
        let mut passed = Passed::default();
        l4s_sim::run(&plan.points[0].scenario, &mut passed);
        prop_assert_eq!(passed.closed.len(), 3, "all are over");
        for flow in passed.closed {
            prop_assert_eq!(passed.bytes[&flow], size, "flow {}", flow);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// On any path with any deliveries, a flow delivers everything: at 10 kb/s to 400 Gb/s, 1 us to 60 s, and
    /// with any drops of the buffer.
    #[test]
    fn a_flow_makes_progress_on_any_path(
        rate in 4.0..11.6_f64,
        rtt in 3.0..10.778_f64,
        segments in 1.0..300.0_f64,
        buffer in 2_u64..300,
        mss in 536_u64..=8948,
        cc in prop::sample::select(vec!["reno", "cubic", "dctcp", "prague", "bbr", "bbr3"]),
        aqm in prop::sample::select(vec!["fifo", "dualpi2", "codel"]),
    ) {
        let (bps, rtt_ns) = (10_f64.powf(rate) as u64, 10_f64.powf(rtt).max(1000.0) as u64);
        let size = (segments * mss as f64) as u64;
        // Round trips of slow start and of recovery, 20 times the time on the link, and some timeouts.
        let on_link = size as f64 * 8.0 / bps as f64;
        let seconds = rtt_ns as f64 * 1e-9 * 200.0 + on_link * 20.0 + 120.0;
        let text = format!(
            "duration = \"{}ms\"\nlink = {{ rate = \"{bps}bit\", buffer = \"{buffer}p\" }}\n\
             aqm = \"{aqm}\"\n[[group]]\nname = \"A\"\ncc = \"{cc}\"\nrtt = \"{rtt_ns}ns\"\n\
             size = \"{size}b\"\nmss = {mss}\n",
            (seconds * 1e3).min(86_400_000.0) as u64,
        );
        let plan = Plan::parse("progress.toml", &text, &[]).unwrap_or_else(|e| panic!("{text}: {e}"));
        let mut passed = Passed::default();
        l4s_sim::run(&plan.points[0].scenario, &mut passed);
        prop_assert_eq!(passed.closed.len(), 1, "{}", text);
        prop_assert_eq!(passed.bytes[&0], size);
    }
}

/// With losses, downloads and an application. The rows after the warm-up add up to the summary's goodput. The
/// rows of flows add up to those of their group, if it has no downloads.
#[test]
fn the_series_adds_up_to_the_summary() {
    let text = "duration = \"6s\"\nwarmup = \"2s\"\nlink = { rate = \"10mbit\", buffer = \"20p\" }\n\
                aqm = { kind = \"fifo\" }\n\
                [[group]]\nname = \"A\"\ncc = \"cubic\"\nrtt = \"20ms\"\nflows = 2\n\
                [[group]]\nname = \"B\"\ncc = \"reno\"\nrtt = \"10ms\"\n\
                [[app]]\ngroup = \"A\"\nrate = \"1mbit\"\nfps = 30\n\
                [[web]]\ngroup = \"B\"\nrate = \"5/s\"\nsize = \"20kb\"\n";
    let plan = Plan::parse("goodput.toml", text, &[]).unwrap();
    let scenario = &plan.points[0].scenario;
    let mut recorder = Recorder::new(scenario, Origin::default());
    l4s_sim::run(scenario, &mut recorder);
    let record = recorder.finish(EngineSummary::default());
    let of = |is_ours: &dyn Fn(&SeriesRow) -> bool| -> f64 {
        let rows = record.series.iter().filter(|row| row.time_s > 2.0 && is_ours(row));
        rows.filter_map(|row| row.goodput_bps).sum::<f64>() / 40.0
    };
    for group in &record.summary.groups {
        let goodput = group.goodput_bps.unwrap();
        let rows = of(&|row| row.scope == Scope::Group && row.name == group.name);
        assert!((rows / goodput - 1.0).abs() < 1e-9, "{}: {rows}, {goodput}", group.name);
    }
    let flows = of(&|row| row.scope == Scope::Flow && row.name.starts_with("A."));
    let goodput = record.summary.groups[0].goodput_bps.unwrap();
    assert!((flows / goodput - 1.0).abs() < 1e-9, "{flows}, {goodput}");
}

/// A link without loss: all bytes except the headers, 52 B of each packet. There is no goodput of UDP.
#[test]
fn the_goodput_of_a_full_link_is_its_payload() {
    for mss in [536, 1448, 8948] {
        let text = format!(
            "duration = \"20s\"\nwarmup = \"10s\"\nlink.rate = \"10mbit\"\n\
             aqm = {{ kind = \"fifo\", limit = \"1000p\" }}\n[[group]]\nname = \"A\"\n\
             cc = \"reno\"\nrtt = \"20ms\"\nmss = {mss}\n\
             [[udp]]\nname = \"U\"\nrate = \"1mbit\"\n"
        );
        let plan = Plan::parse("goodput.toml", &text, &[]).unwrap();
        let scenario = &plan.points[0].scenario;
        let mut recorder = Recorder::new(scenario, Origin::default());
        l4s_sim::run(scenario, &mut recorder);
        let summary = recorder.finish(EngineSummary::default()).summary;
        let [a, u] = summary.groups.as_slice() else { panic!("two") };
        let (share, mss) = (a.goodput_bps.unwrap() / a.rate_bps, f64::from(mss));
        assert!((share * (mss + 52.0) / mss - 1.0).abs() < 0.003, "{mss}: {share}");
        assert_eq!(u.goodput_bps, None);
    }
}
