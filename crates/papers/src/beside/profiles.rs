//! The cost of each profile of DualPI2 over many links.
//!
//! The cost of a run is the sum of four, each a number of doublings or, for throughput, of tenths:
//!
//! - **delay**: how often the 99th percentile of the L4S queue doubles the unavoidable delay: a
//!   millisecond, the longest burst of the link, and two full packets;
//! - **throughput**: the unused part of the link, in tenths;
//! - **balance**: how often the rate of one kind of flow doubles the other's, beyond once;
//! - **Classic**: how often the mean delay of the Classic queue doubles 20 ms.

use l4s_measure::{Results, Summary};
use l4s_units::Duration;

use super::{Row, by_case, delay, digits, range, set};

/// Bits of a full packet on the link.
const PACKET_BITS: f64 = 8.0 * 1514.0;

/// Per profile: the mean cost of its runs and its four parts, and the extremes behind it.
pub fn profiles(results: &Results) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, runs) in by_case(results) {
        let costs: Vec<Cost> = runs.iter().map(|run| Cost::of(run)).collect();
        let mean =
            |part: fn(&Cost) -> f64| costs.iter().map(part).sum::<f64>() / costs.len() as f64;
        let sum = mean(|c| c.delay + c.throughput + c.balance + c.classic);
        let parts = [
            ("delay", mean(|c| c.delay)),
            ("throughput", mean(|c| c.throughput)),
            ("balance", mean(|c| c.balance)),
            ("Classic", mean(|c| c.classic)),
        ]
        .map(|(what, cost)| format!("{what} {}", digits(cost)));
        rows.push(Row::new(
            format!("{name}: cost"),
            format!("{} ({})", digits(sum), parts.join(", ")),
        ));
        let used = runs.iter().map(|run| 100.0 * run.link.utilization);
        let rates = runs.iter().filter_map(|run| rates(run));
        let extremes = [
            ("utilization", range(used, " %")),
            ("rate of a Prague flow over one of Cubic", range(rates, "")),
        ];
        for (what, here) in extremes {
            rows.extend(here.map(|here| Row::new(format!("{name}: {what}"), here)));
        }
    }
    rows
}

/// The cost of a run.
struct Cost {
    delay: f64,
    throughput: f64,
    balance: f64,
    classic: f64,
}

impl Cost {
    fn of(run: &Summary) -> Cost {
        let ms = |queue: &str, least_ms: f64, of: fn(l4s_measure::DelaySummary) -> f64| {
            delay(run, queue).map_or(0.0, |delay| doublings(of(delay), least_ms))
        };
        let least_ms = 1.0 + burst_ms(run) + 2.0 * 1e3 * PACKET_BITS / run.link.rate_bps;
        Cost {
            delay: ms("L", least_ms, |delay| delay.p99),
            throughput: 10.0 * (1.0 - run.link.utilization),
            balance: rates(run).map_or(0.0, |ratio| doublings(ratio.max(1.0 / ratio), 2.0)),
            classic: ms("C", 20.0, |delay| delay.mean),
        }
    }
}

/// How often `value` doubles `least`; 0 where it is less.
fn doublings(value: f64, least: f64) -> f64 {
    (value / least).max(1.0).log2()
}

/// The longest airtime of the link.
fn burst_ms(run: &Summary) -> f64 {
    let burst = set(run, "link.aggregation");
    burst.and_then(|burst| burst.parse().ok()).map_or(0.0, Duration::as_millis_f64)
}

/// The rate of a flow of A over that of one of B, where there are both; a flow that got nothing
/// counts as one that got 1 bit/s.
fn rates(run: &Summary) -> Option<f64> {
    let rate = |name: &str| {
        let group = run.groups.iter().find(|group| group.name == name && group.flows > 0)?;
        Some(group.rate_per_flow_bps?.max(1.0))
    };
    Some(rate("A")? / rate("B")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_helped_costs_nothing_and_each_doubling_one() {
        assert_eq!([0.5, 1.0, 2.0, 8.0].map(|value| doublings(value, 1.0)), [0.0, 0.0, 1.0, 3.0]);
        assert_eq!(doublings(0.0, 1.0), 0.0);
    }
}
