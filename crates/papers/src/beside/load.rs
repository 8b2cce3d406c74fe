//! Figures under load: web traffic, and more than the link can carry.

use l4s_measure::{DelaySummary, Results, Summary};
use l4s_units::Rate;

use super::{Row, by_case, delay, range, ratio, set};

/// Per discipline: delay, utilization, and how long short and large downloads take of those in the
/// ECN-capable group.
pub fn dynamic(results: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, runs) in by_case(results) {
        let mut row = |what: &str, here: Option<String>| {
            rows.extend(here.map(|here| Row::new(format!("{name}: {what}"), here)));
        };
        for (queue, what) in [("L", "L4S queue"), ("C", "Classic queue"), ("Q", "queue")] {
            let of = |what: fn(DelaySummary) -> f64| {
                range(runs.iter().filter_map(|run| delay(run, queue)).map(what), " ms")
            };
            row(&format!("{what}, mean delay"), of(|delay| delay.mean));
            row(&format!("{what}, 99th percentile"), of(|delay| delay.p99));
        }
        row("utilization", range(runs.iter().map(|run| 100.0 * run.link.utilization), " %"));
        let completion = |of: fn(&Summary, &str) -> Vec<f64>| {
            range(runs.iter().flat_map(|run| of(run, "A")), "")
        };
        row("completion up to 9 KB, 1 is ideal", completion(short));
        row("completion from 243 KB", completion(large));
    }
    rows
}

/// Per discipline and kind of unresponsive traffic: delay, balance and drop.
pub fn unresponsive(results: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, runs) in by_case(results) {
        for ecn in ["ect0", "ect1", "not-ect"] {
            let runs = runs.iter().copied().filter(|run| set(run, "udp.U.ecn") == Some(ecn));
            let mut row = |what: String, here: Option<String>| {
                rows.extend(here.map(|here| Row::new(format!("{name}, UDP {ecn}: {what}"), here)));
            };
            // Loads that the link could carry alone, and those that it could not.
            let (within, above): (Vec<&Summary>, Vec<&Summary>) =
                runs.partition(|run| load(run).is_some_and(|load| load <= 100.0));
            for (runs, when) in [(&within, "up to 100 %"), (&above, "above")] {
                for (queue, what) in [("L", "L4S queue"), ("C", "Classic queue"), ("Q", "queue")] {
                    let delays = runs.iter().filter_map(|run| Some(delay(run, queue)?.mean));
                    row(format!("{what}, mean delay, {when}"), range(delays, " ms"));
                }
                let windows = runs.iter().filter_map(|run| ratio(run, "window_A_B"));
                row(format!("windows, A over B, {when}"), range(windows, ""));
                let drops = runs.iter().filter_map(|run| drops(run, "U"));
                row(format!("drop of UDP, {when}"), range(drops, " %"));
            }
        }
    }
    rows
}

/// The rate of the unresponsive source that was set, in percent of the link.
fn load(run: &Summary) -> Option<f64> {
    let rate: Rate = set(run, "udp.U.rate")?.parse().ok()?;
    Some(100.0 * rate.as_bps() as f64 / run.link.rate_bps)
}

/// The share of the packets of a group that was dropped, in percent.
fn drops(run: &Summary, name: &str) -> Option<f64> {
    Some(100.0 * run.groups.iter().find(|group| group.name == name)?.drop?)
}

/// Downloads of a group that fit into the first window: mean completion over the ideal time, by size
/// (bins up to 9 KB).
fn short(run: &Summary, group: &str) -> Vec<f64> {
    efficiency(run, group, |[_, to]| to <= 9_000)
}

/// The same of downloads that depend on how soon a flow finds its share: from 243 KB to 1 MB.
fn large(run: &Summary, group: &str) -> Vec<f64> {
    efficiency(run, group, |[from, _]| from >= 243_000)
}

fn efficiency(run: &Summary, group: &str, bins: fn([u64; 2]) -> bool) -> Vec<f64> {
    let ours = run.completion.iter().filter(|bin| bin.group == group && bins(bin.bin_bytes));
    ours.map(|bin| bin.efficiency.mean).collect()
}
