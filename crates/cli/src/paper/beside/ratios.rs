//! Figures over conditions: rates of two flows over each other.

use l4s_measure::{Results, Summary};
use serde_json::Value;

use super::{Row, by_case, delay, range, ratio};

/// DCttH figures 4 to 6 per discipline: delay of each queue, and the balance of windows
/// (DCttH §§4.2–4.4).
pub fn dctth(results: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, runs) in by_case(results) {
        for (queue, what, paper) in [
            ("L", "L4S queue, mean delay", Some("below 1 ms, but at 4 and 12 Mb/s")),
            ("C", "Classic queue, mean delay", Some("as PIE's")),
            ("Q", "queue, mean delay", None),
        ] {
            let delays = runs.iter().filter_map(|run| Some(delay(run, queue)?.mean));
            if let Some(here) = range(delays, " ms") {
                let paper = paper.map(str::to_owned);
                rows.push(Row::new(format!("{name}: {what}"), paper, Some(here)));
            }
        }
        let here = range(runs.iter().filter_map(|run| ratio(run, "window_A_B")), "");
        rows.push(Row::new(format!("{name}: windows, A over B"), None, here));
    }
    rows
}

/// Fallback figure 1: the imbalance that the detector is to mend (Fallback §1).
pub fn fallback_1(results: &Results) -> Vec<Row> {
    let here = range(results.summaries().filter_map(|run| ratio(run, "rate_A_B")), "");
    vec![Row::said("rates, DCTCP over ECN-Cubic", "4 to 16", here)]
}

/// Fallback figure 7: without the detector and with it (Fallback §7.2, §8).
pub fn fallback_7(results: &Results) -> Vec<Row> {
    let row = |fallback: Option<&str>, paper: &str| {
        let set =
            |run: &&Summary| run.set.get("group.A.cc.fallback").and_then(Value::as_str) == fallback;
        let ratios = || results.summaries().filter(set).filter_map(|run| ratio(run, "rate_A_B"));
        // Another Prague, as with `--set group.A.cc=...`, takes the place of both.
        let which = fallback.map(|fallback| format!(", {fallback}")).unwrap_or_default();
        let what = format!("rates, Prague over ECN-Cubic{which}");
        ratios().next().map(|_| Row::said(what, paper, range(ratios(), "")))
    };
    let rows =
        [(Some("off"), "up to 16"), (Some("passive"), "about 0.5 to 2"), (None, "about 0.5 to 2")];
    rows.into_iter().filter_map(|(fallback, paper)| row(fallback, paper)).collect()
}
