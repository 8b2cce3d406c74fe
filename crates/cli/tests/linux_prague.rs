//! The real kernel in virtual time, from the command line: its Prague, and the settings that it refuses.
//!
//! Without a kernel, or with one without Prague, a test prints `skipped: ` and the reason.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::{Command, Output};

use l4s_measure::{GroupSummary, QueueSummary, Results, Scope, SeriesRow, Summary};
use tempfile::TempDir;

const L4S: &str = env!("CARGO_BIN_EXE_l4s");

/// `l4s run --on linux` with a discipline of Linux at 40 Mb/s, and these groups with an RTT of 10 ms.
fn l4s(aqm: &str, groups: &str) -> (TempDir, Output) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let scenario = format!(
        "name = \"prague\"\nduration = \"30s\"\nwarmup = \"4s\"\nlink.rate = \"40mbit\"\n\
         aqm = {{ profile = \"linux\", {aqm} }}\ngroup = [{groups}]\n"
    );
    fs::write(folder.path().join("s.toml"), scenario).expect("a scenario");
    let output = Command::new(L4S)
        .current_dir(folder.path())
        .args(["run", "s.toml", "--on", "linux", "--json", "--out", "out"])
        .output()
        .expect("l4s starts");
    (folder, output)
}

/// The summary and the series of a run; `None` if this machine cannot run it.
fn run(aqm: &str, groups: &str) -> Option<(Summary, Vec<SeriesRow>)> {
    let (folder, output) = l4s(aqm, groups);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(3) {
        println!("skipped: {}", words.trim());
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{words}");
    let results = Results::open(&folder.path().join("out")).expect("results");
    let (_, series) = results.series().expect("series").next().expect("a run").expect("rows");
    Some((serde_json::from_slice(&output.stdout).expect("a summary"), series))
}

fn refusal(groups: &str) -> String {
    let (_, output) = l4s(DUALPI2, groups);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn queue<'a>(summary: &'a Summary, name: &str) -> Option<&'a QueueSummary> {
    summary.queues.iter().find(|queue| queue.name == name)
}

fn group<'a>(summary: &'a Summary, name: &str) -> &'a GroupSummary {
    summary.groups.iter().find(|group| group.name == name).expect("a group of that name")
}

const DUALPI2: &str = "kind = \"dualpi2\"";
/// Linux' CoDel drops unless ECN is set.
const CODEL: &str = "kind = \"codel\", ecn = true";

const PRAGUE: &str = "{ name = \"A\", cc = \"prague\", rtt = \"10ms\" }";
const CUBIC: &str = "{ name = \"B\", cc = \"cubic\", rtt = \"10ms\" }";

/// Properties of Prague with any other groups.
fn has_low_delay_at_full_use(summary: &Summary) {
    let (low, prague) = (queue(summary, "L").expect("an L queue"), group(summary, "A"));
    // DualPI2 classifies by ECT(1) and CE, so every packet of Prague had one of these.
    assert_eq!(low.packets, prague.packets);
    assert!(low.mark.is_some_and(|mark| mark > 0.0), "{low:?}");
    assert_eq!(prague.drop, Some(0.0), "{prague:?}");
    let delay = low.delay_ms.expect("delays").mean;
    println!("L queue: {delay:.2} ms, {:.1} % marked", 100.0 * low.mark.unwrap_or(0.0));
    assert!(delay < 1.5, "{delay} ms");
    assert!(summary.link.utilization > 0.97, "{}", summary.link.utilization);
}

#[test]
fn prague_alone_sends_ect1_and_keeps_the_queue_short() {
    let Some((summary, _)) = run(DUALPI2, PRAGUE) else { return };
    has_low_delay_at_full_use(&summary);
    assert_eq!(queue(&summary, "C").map_or(0, |queue| queue.packets), 0);
    // W = 2 (1 − p)/p per 25 ms (docs/explanation/bpf.md), and 40 Mb/s carries 83 packets in 25 ms:
    // p = 2.4 %. A step marks several packets in a row, with one answer for all: the fraction is some times higher.
    let mark = group(&summary, "A").mark.expect("marks");
    assert!((0.024..0.15).contains(&mark), "{mark}");
}

#[test]
fn prague_and_cubic_share_a_dualpi2() {
    let groups = format!("{PRAGUE}, {CUBIC}");
    let Some((summary, series)) = run(DUALPI2, &groups) else { return };
    has_low_delay_at_full_use(&summary);
    assert_eq!(group(&summary, "B").mark, Some(0.0), "Cubic here has no ECN");
    let ratio = group(&summary, "A").rate_bps / group(&summary, "B").rate_bps;
    assert!((0.5..2.0).contains(&ratio), "{ratio}");

    // AccECN: the sender counts every mark once its acknowledgement has arrived. A row has the sender's last report of
    // that interval, which is at most one interval old, and an acknowledgement takes less than another one.
    let rows = |scope, name| {
        series.iter().filter(move |row: &&SeriesRow| row.scope == scope && row.name == name)
    };
    let mut marked = vec![0.0];
    marked.extend(rows(Scope::Queue, "L").scan(0.0, |sum, row| {
        *sum += row.packets.unwrap_or(0) as f64 * row.mark.unwrap_or(0.0);
        Some(*sum)
    }));
    let told: Vec<_> = rows(Scope::Flow, "A.0").map(|row| (row.time_s, row.delivered_ce)).collect();
    assert!(told.len() > 290, "{} rows", told.len());
    for (time_s, told) in told {
        let row = (10.0 * time_s).round() as usize;
        let (sure, most) = (marked[row.saturating_sub(2)], marked[row]);
        let told = told.expect("a count of marks") as f64;
        assert!((sure - 0.5..most + 0.5).contains(&told), "{time_s} s: {told} of {sure} to {most}");
    }
}

/// Prague with this setting of its detector, beside Cubic with ECN.
fn beside_ecn_cubic(aqm: &str, fallback: &str) -> Option<(Summary, Vec<SeriesRow>)> {
    let prague = "cc = { kind = \"prague\", fallback = \"FALLBACK\" }";
    let prague = PRAGUE.replace("cc = \"prague\"", &prague.replace("FALLBACK", fallback));
    run(aqm, &format!("{prague}, {}", CUBIC.replace(" }", ", ecn = \"classic\" }")))
}

/// The scores that the socket of Prague reported during the run.
fn scores(series: &[SeriesRow]) -> Vec<f64> {
    let own = series.iter().filter(|row| row.scope == Scope::Flow && row.name == "A.0");
    own.filter_map(|row| row.classic_ecn).collect()
}

fn rates(summary: &Summary) -> f64 {
    group(summary, "A").rate_bps / group(summary, "B").rate_bps
}

#[test]
fn a_classic_queue_is_known_and_shared() {
    let Some((summary, series)) = beside_ecn_cubic(CODEL, "passive") else { return };
    let scores = scores(&series);
    // Before the first mark the score is at -l_sticky, and at the end it is at c_sticky.
    assert_eq!((scores.first(), scores.last()), (Some(&-8.0), Some(&8.0)), "{scores:?}");
    let prague = group(&summary, "A").prague.as_ref().expect("a detector");
    assert_eq!((prague.verdict.as_deref(), prague.flows.classic), (Some("classic"), 1));
    assert_eq!(prague.classic_ecn.map(|score| score.max), Some(8.0));
    println!("{:.2} to one with the detector", rates(&summary));
    assert!((0.5..2.0).contains(&rates(&summary)), "{}", rates(&summary));

    let (summary, series) = beside_ecn_cubic(CODEL, "off").expect("it ran before");
    println!("{:.2} to one without", rates(&summary));
    assert!(rates(&summary) > 4.0, "{}", rates(&summary));
    assert_eq!(group(&summary, "A").prague, None);
    assert!(self::scores(&series).is_empty(), "there is no detector");
}

#[test]
fn an_l4s_queue_is_not_taken_for_a_classic_one() {
    let Some((summary, series)) = beside_ecn_cubic(DUALPI2, "passive") else { return };
    has_low_delay_at_full_use(&summary);
    let scores = scores(&series);
    assert!(scores.len() > 100 && scores.iter().all(|score| *score <= 0.0), "{scores:?}");
    let prague = group(&summary, "A").prague.as_ref().expect("a detector");
    // It saw marks, so it is not at rest.
    assert_eq!((prague.flows.l4s, prague.flows.at_rest), (1, 0), "{prague:?}");
    assert!((0.5..2.0).contains(&rates(&summary)), "{}", rates(&summary));
}

#[test]
fn what_this_kernel_does_not_send_is_refused() {
    let dctcp = refusal("{ name = \"A\", cc = \"dctcp\", ecn = \"l4s\", rtt = \"10ms\" }");
    assert!(dctcp.contains("dctcp does not send ECT(1)"), "{dctcp}");
    let prague = refusal("{ name = \"A\", cc = \"prague\", ecn = \"classic\", rtt = \"10ms\" }");
    assert!(prague.contains("prague does not send ECT(0)"), "{prague}");
    let narrow =
        refusal("{ name = \"A\", cc = { kind = \"prague\", min_window = 0.25 }, rtt = \"10ms\" }");
    assert!(narrow.contains("`min_window`: found 0.25, expected 2"), "{narrow}");
}
