//! Figures under load: web traffic, and more than the link can carry.

use l4s_measure::{DelaySummary, GroupSummary, Results, Summary};
use l4s_units::Rate;

use super::{Row, by_case, delay, range, ratio};

/// Downloads that fit into the first window, in bytes: the bins up to 9 KB.
const FIRST_WINDOW: u64 = 9_000;
/// The last bins: downloads that depend on how fast a flow finds its share.
const LARGE: u64 = 243_000;

/// DCttH figures 7 to 9 per discipline: delay, utilization, and how long short and large downloads
/// take of those in the ECN-capable group (DCttH §4.5).
pub fn dynamic(results: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, runs) in by_case(results) {
        let mut row = |what: &str, paper: Option<&str>, here: Option<String>| {
            if here.is_some() {
                rows.push(Row::new(format!("{name}: {what}"), paper.map(str::to_owned), here));
            }
        };
        for (queue, what) in [("L", "L4S queue"), ("C", "Classic queue"), ("Q", "queue")] {
            let of = |what: fn(DelaySummary) -> f64| {
                range(runs.iter().filter_map(|run| delay(run, queue)).map(what), " ms")
            };
            let paper = (queue == "L").then_some("extremely low");
            row(&format!("{what}, mean delay"), paper, of(|delay| delay.mean));
            row(&format!("{what}, 99th percentile"), None, of(|delay| delay.p99));
        }
        let utilization = range(runs.iter().map(|run| 100.0 * run.link.utilization), " %");
        row("utilization", None, utilization);
        let efficiency = |bins: fn([u64; 2]) -> bool| {
            let all = runs.iter().flat_map(|run| &run.completion);
            let ours = all.filter(|bin| bin.group == "A" && bins(bin.bin_bytes));
            range(ours.map(|bin| bin.efficiency.mean), "")
        };
        let near = (!name.starts_with("pie")).then_some("near-ideal");
        let short = efficiency(|[_, to]| to <= FIRST_WINDOW);
        row("completion up to 9 KB, 1 is ideal", near, short);
        let slow = name.starts_with("dualpi2").then_some("longer than with the other AQMs");
        row("completion from 243 KB", slow, efficiency(|[from, _]| from >= LARGE));
    }
    rows
}

/// DCttH figure 10 per discipline and kind of unresponsive traffic (DCttH §4.6).
pub fn overload(results: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, runs) in by_case(results) {
        for ecn in ["ect0", "not-ect"] {
            let runs = runs.iter().copied().filter(|run| set(run, "udp.U.ecn") == Some(ecn));
            let mut row = |what: &str, paper: Option<&str>, here: Option<String>| {
                if here.is_some() {
                    let what = format!("{name}, UDP {ecn}: {what}");
                    rows.push(Row::new(what, paper.map(str::to_owned), here));
                }
            };
            // What the link could carry alone, and what it could not.
            let (within, above): (Vec<&Summary>, Vec<&Summary>) =
                runs.partition(|run| load(run).is_some_and(|load| load <= 1.0));
            for (runs, when) in [(&within, "up to 100 %"), (&above, "above")] {
                for (queue, what) in [("L", "L4S queue"), ("C", "Classic queue"), ("Q", "queue")] {
                    let delays = runs.iter().filter_map(|run| Some(delay(run, queue)?.mean));
                    let paper = match (queue, when) {
                        ("L", "up to 100 %") => Some("below about 2 ms"),
                        ("L", _) if ecn == "not-ect" => Some("below about 2 ms"),
                        ("L", _) => Some("to 15 ms at 200 %"),
                        _ => None,
                    };
                    row(&format!("{what}, mean delay, {when}"), paper, range(delays, " ms"));
                }
                let windows = runs.iter().filter_map(|run| ratio(run, "window_A_B"));
                let paper = name.starts_with("dualpi2").then_some(match when {
                    "above" => "unbalanced",
                    _ => "balanced",
                });
                row(&format!("windows, A over B, {when}"), paper, range(windows, ""));
            }
            let half = within.iter().find(|run| load(run) == Some(0.5));
            let drops = half.and_then(|run| udp(run)?.drop);
            let paper = name.starts_with("fq").then_some("about 80 %");
            row("drop of UDP at 50 %", paper, drops.map(|p| format!("{:.1} %", 100.0 * p)));
        }
    }
    rows
}

/// What the sweep set.
fn set<'a>(run: &'a Summary, key: &str) -> Option<&'a str> {
    run.set.get(key)?.as_str()
}

/// The unresponsive source.
fn udp(run: &Summary) -> Option<&GroupSummary> {
    run.groups.iter().find(|group| group.name == "U")
}

/// The rate of the unresponsive source over the link's.
fn load(run: &Summary) -> Option<f64> {
    let rate: Rate = set(run, "udp.U.rate")?.parse().ok()?;
    Some(rate.as_bps() as f64 / run.link.rate_bps)
}
