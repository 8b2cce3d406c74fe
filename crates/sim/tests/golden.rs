//! The result tables of the bundled scenarios, pinned as text.
//!
//! A change of behaviour shows as a diff of whole numbers and needs a reason in its commit.
//! `UPDATE_GOLDEN=1 cargo test -p l4s-sim --test runs golden` writes the tables again.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use l4s_measure::{EngineSummary, Origin, Recorder, Summary, golden};
use l4s_scenario::{Point, bundled};

#[allow(dead_code)]
#[path = "../examples/own_control.rs"]
mod own_control;

/// The summary of one run.
fn summary(point: &Point) -> Summary {
    let set = point.set.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect();
    let origin = Origin { on: "sim".into(), set, ..Origin::default() };
    let mut recorder = Recorder::new(&point.scenario, origin).without_series();
    l4s_sim::run(&point.scenario, &mut recorder);
    recorder.finish(EngineSummary::default()).summary
}

/// Compares the runs of a bundled scenario with its table.
fn check(name: &str, set: &[&str]) {
    let set: Vec<String> = set.iter().map(|s| (*s).to_owned()).collect();
    let plan = bundled::find(name).unwrap().plan(&set).unwrap();
    let summaries: Vec<Summary> = plan.points.iter().map(summary).collect();
    pinned(name, &golden(&summaries));
}

/// Compares the reports of the detectors of Classic ECN in the runs of a bundled scenario, each half
/// second, with the pinned series: score in thousandths, deviation and depth in microseconds.
fn check_scores(name: &str) {
    let plan = bundled::find(name).unwrap().plan(&[]).unwrap();
    let mut found = String::new();
    for point in &plan.points {
        let mut recorder = Recorder::new(&point.scenario, Origin::default());
        l4s_sim::run(&point.scenario, &mut recorder);
        let record = recorder.finish(EngineSummary::default());
        writeln!(found, "{:>8}{:>8}{:>8}{:>8}{:>8}", "time_ms", "flow", "score", "mdev", "depth")
            .unwrap();
        for row in &record.series {
            let time = (row.time_s * 1000.0).round() as u64;
            let (Some(score), true) = (row.classic_ecn, time % 500 == 0) else { continue };
            let thousandths = |x: Option<f64>| (x.unwrap_or_default() * 1000.0).round();
            let (mdev, depth) = (thousandths(row.fbk_mdev_ms), thousandths(row.fbk_depth_ms));
            let (flow, score) = (&row.name, thousandths(Some(score)));
            writeln!(found, "{time:>8}{flow:>8}{score:>8}{mdev:>8}{depth:>8}").unwrap();
        }
    }
    pinned(name, &found);
}

/// Compares a text with the pinned text of that name.
fn pinned(name: &str, found: &str) {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, found).unwrap();
    }
    let pinned = fs::read_to_string(&path).unwrap_or_default();
    if let Some((n, (was, is))) =
        pinned.lines().zip(found.lines()).enumerate().find(|(_, (a, b))| a != b)
    {
        panic!(
            "{}:{}\n was {was}\n  is {is}\n(UPDATE_GOLDEN=1 pins the new table)",
            path.display(),
            n + 1
        );
    }
    assert_eq!(pinned.lines().count(), found.lines().count(), "{}", path.display());
}

#[test]
fn own_control() {
    // python/tests/test_algorithms.py compares the same control in Python with the same table.
    pinned("own_control", &own_control::run().0);
}

#[test]
fn one_against_one() {
    check("one-against-one", &[]);
}

#[test]
fn linux_7_3_grid() {
    check("linux-7.3-grid", &["duration=10s", "warmup=4s"]);
}

#[test]
fn linux_7_3_wide() {
    check("linux-7.3-wide", &["duration=4s", "warmup=1s"]);
}

#[test]
fn links_grid() {
    check("links-grid", &["duration=4s", "warmup=1s"]);
}

#[test]
fn dctth_4() {
    check("dctth-4", &["duration=6s", "warmup=3s"]);
}

#[test]
fn dctth_5() {
    check("dctth-5", &["duration=4s", "warmup=2s"]);
}

#[test]
fn dctth_6() {
    check("dctth-6", &["duration=6s", "warmup=3s"]);
}

#[test]
fn dctth_9() {
    check("dctth-9", &["duration=4s", "warmup=2s"]);
}

#[test]
fn dualpi2_profiles() {
    check("dualpi2-profiles", &["duration=4s", "warmup=2s", "bottleneck=12mbit", "flows=1:1"]);
}

#[test]
fn dctth_10() {
    check("dctth-10", &["duration=4s", "warmup=2s"]);
}

#[test]
fn slides_flows() {
    check("slides-flows", &["duration=2s", "warmup=1s", "group.A.flows=3"]);
}

#[test]
fn slides_completion() {
    check("slides-completion", &["duration=4s", "warmup=2s"]);
}

#[test]
fn overload() {
    check("overload", &["duration=4s", "warmup=2s"]);
}

#[test]
fn prague() {
    check("prague", &["duration=10s", "warmup=4s"]);
}

#[test]
fn prague_parts() {
    check("prague-parts", &["duration=4s", "warmup=2s"]);
}

#[test]
fn prague_start() {
    check("prague-start", &["duration=12s"]);
}

#[test]
fn prague_rtts() {
    check("prague-rtts", &["duration=8s", "warmup=4s"]);
}

#[test]
fn prague_narrow() {
    check("prague-narrow", &["duration=10s", "warmup=4s"]);
}

#[test]
fn prague_detector() {
    check("prague-detector", &["duration=12s", "warmup=4s"]);
}

#[test]
fn tcp_parts() {
    check("tcp-parts", &["duration=12s", "warmup=4s"]);
}

#[test]
fn phase() {
    check("phase", &[]);
}

#[test]
fn peers() {
    check("peers", &["duration=12s", "warmup=4s"]);
}

#[test]
fn receive_window() {
    check("receive-window", &["duration=10s", "warmup=4s"]);
}

#[test]
fn send_buffer() {
    check("send-buffer", &[]);
}

#[test]
fn quic_endpoint() {
    check("quic-endpoint", &[]);
}

#[test]
fn ack_frequency() {
    check("ack-frequency", &[]);
}

#[test]
fn rate_limited() {
    check("rate-limited", &[]);
}

#[test]
fn small_writes() {
    check("small-writes", &["duration=12s", "warmup=4s"]);
}

#[test]
fn one_download() {
    check("one-download", &[]);
}

#[test]
fn web() {
    check("web", &["duration=10s", "warmup=2s"]);
}

#[test]
fn video() {
    check("video", &["duration=10s", "warmup=2s"]);
}

#[test]
fn changes() {
    check("changes", &[]);
}

#[test]
fn varying_link() {
    check("varying-link", &["duration=10s", "warmup=2s"]);
}

#[test]
fn wifi() {
    check("wifi", &["duration=10s", "warmup=2s"]);
}

#[test]
fn cell() {
    check("cell", &["duration=10s", "warmup=2s"]);
}

#[test]
fn live() {
    check("live", &[]);
}

#[test]
fn lab_speed() {
    check("lab-speed", &["duration=4s", "warmup=2s"]);
}

#[test]
fn two_bottlenecks() {
    check("two-bottlenecks", &["duration=6s", "warmup=2s"]);
}

#[test]
fn imperfect_path() {
    check("imperfect-path", &["imperfection=WiFi", "duration=10s", "warmup=2s"]);
}

#[test]
fn rrul() {
    check("rrul", &["duration=8s", "warmup=3s"]);
}

#[test]
fn bbr() {
    check("bbr", &["duration=14s", "warmup=4s"]);
}

#[test]
fn bbr_grid() {
    check("bbr-grid", &["duration=4s", "warmup=1s"]);
}

#[test]
fn evaluate_alone() {
    check("evaluate-alone", &["link.rate=40mbit", "duration=4s", "warmup=1s"]);
}

#[test]
fn evaluate_itself() {
    check("evaluate-itself", &["queue=DualPI2", "flows=4 flows", "duration=8s", "warmup=3s"]);
}

#[test]
fn evaluate_others() {
    check("evaluate-others", &["link.rate=40mbit", "other=cubic", "duration=6s", "warmup=2s"]);
}

#[test]
fn evaluate_short() {
    check("evaluate-short", &["duration=6s", "warmup=2s"]);
}

#[test]
fn evaluate_app() {
    check("evaluate-app", &["duration=6s", "warmup=2s"]);
}

#[test]
fn evaluate_queues() {
    check("evaluate-queues", &["link.rate=40mbit", "group.*.rtt=20ms", "duration=6s", "warmup=2s"]);
}

#[test]
fn evaluate_paths() {
    check("evaluate-paths", &["duration=6s", "warmup=2s"]);
}

#[test]
fn evaluate_links() {
    check("evaluate-links", &["duration=6s", "warmup=2s"]);
}

#[test]
fn evaluate_overload() {
    check("evaluate-overload", &["duration=6s", "warmup=2s"]);
}

#[test]
fn evaluate_l4s() {
    check("evaluate-l4s", &["duration=6s", "warmup=2s"]);
}

#[test]
fn evaluate_changes() {
    check("evaluate-changes", &["duration=24s", "warmup=10s"]);
}

#[test]
fn evaluate_aqm_senders() {
    check("evaluate-aqm-senders", &["link.rate=40mbit", "duration=6s", "warmup=2s"]);
}

#[test]
fn evaluate_aqm_unresponsive() {
    check("evaluate-aqm-unresponsive", &["duration=6s", "warmup=2s"]);
}

#[test]
fn evaluate_aqm_rtts() {
    check("evaluate-aqm-rtts", &["duration=6s", "warmup=2s"]);
}

#[test]
fn evaluate_aqm_bursts() {
    check("evaluate-aqm-bursts", &["duration=6s", "warmup=2s"]);
}

#[test]
fn evaluate_aqm_stability() {
    check("evaluate-aqm-stability", &["duration=62s", "warmup=30s", "load=40, 4, 40 Mb/s"]);
}

#[test]
fn evaluate_aqm_mix() {
    check("evaluate-aqm-mix", &["duration=6s", "warmup=2s"]);
}

#[test]
fn evaluate_aqm_l4s() {
    check("evaluate-aqm-l4s", &["duration=6s", "warmup=2s"]);
}

#[test]
fn asymmetric() {
    check("asymmetric", &["duration=8s", "warmup=3s"]);
}

#[test]
fn core() {
    let short = ["link.rate=4gbit", "group.B.start=0s", "duration=1s", "warmup=500ms"];
    check("core", &short);
}

#[test]
fn campus() {
    check("campus", &["group.B.start=0s", "duration=2s", "warmup=1s"]);
}

#[test]
fn data_centre() {
    let short = ["duration=200ms", "warmup=50ms", "group.incast.start=100ms"];
    check("data-centre", &short);
}

#[test]
fn fallback_8() {
    check_scores("fallback-8");
}

#[test]
fn fallback_9() {
    check_scores("fallback-9");
}

#[test]
fn fallback_10() {
    check_scores("fallback-10");
}

#[test]
fn fallback_11() {
    check_scores("fallback-11");
}

#[test]
fn fallback_12() {
    check_scores("fallback-12");
}
