//! Figures over conditions: delays, and windows of two flows over each other.

use l4s_measure::Results;

use super::{Row, by_case, delay, range, ratio};

/// Per discipline: delay of each queue, and the balance of windows and rates.
pub fn overview(results: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, runs) in by_case(results) {
        let mut row = |what: &str, here: Option<String>| {
            let what = if name.is_empty() { what.to_owned() } else { format!("{name}: {what}") };
            rows.extend(here.map(|here| Row::new(what, here)));
        };
        for (queue, what) in [
            ("L", "L4S queue, mean delay"),
            ("C", "Classic queue, mean delay"),
            ("Q", "queue, mean delay"),
        ] {
            let delays = runs.iter().filter_map(|run| Some(delay(run, queue)?.mean));
            row(what, range(delays, " ms"));
        }
        let over = |what| range(runs.iter().filter_map(|run| ratio(run, what)), "");
        row("windows, A over B", over("window_A_B"));
        row("rates, A over B", over("rate_A_B"));
    }
    rows
}
