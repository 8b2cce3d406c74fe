//! `l4s validate`: the simulator against measurements of the Linux kernel.
//!
//! The scenario `linux-7.3-grid` has the conditions of `reference/linux-7.3-dualpi2.jsonl`. Each
//! check compares the mean over the kernel's runs with the mean over as many seeds.

use l4s_measure::Summary;
use l4s_scenario::bundled;
use serde::{Deserialize, Serialize};

use crate::args::Validate;
use crate::failure::Failure;
use crate::table::{Align, aligned};
use crate::{parallel, print, simulate};

const KERNEL: &str = include_str!("../reference/linux-7.3-dualpi2.jsonl");
const SCENARIO: &str = "linux-7.3-grid";
/// The share of checks that must pass.
const ENOUGH: f64 = 0.9;

/// One run of the kernel.
#[derive(Clone, Debug, Deserialize)]
struct Measured {
    #[serde(rename = "RATE")]
    rate_mbps: u64,
    #[serde(rename = "RTTA")]
    rtt_a_ms: u64,
    #[serde(rename = "RTTB")]
    rtt_b_ms: u64,
    #[serde(rename = "A")]
    a: MeasuredFlow,
    #[serde(rename = "B")]
    b: MeasuredFlow,
    util: f64,
}

/// One flow of it.
#[derive(Clone, Debug, Deserialize)]
struct MeasuredFlow {
    mbps: f64,
    qmean_ms: f64,
    q99: f64,
    mark: f64,
    drop: f64,
}

/// How near two numbers must be: one of these suffices.
#[derive(Clone, Copy, Debug)]
enum Near {
    /// Within this fraction of the kernel's.
    Relative(f64),
    /// That, or as near as this.
    Either(f64, f64),
    /// As near as this.
    Absolute(f64),
    /// Within this factor.
    Factor(f64),
}

/// A quantity that both sides have.
struct Quantity {
    name: &'static str,
    near: Near,
    kernel: fn(&Measured) -> f64,
    sim: fn(&Summary) -> Option<f64>,
}

/// What is compared, and how near it must be.
const QUANTITIES: [Quantity; 7] = [
    Quantity {
        name: "L mean ms",
        near: Near::Either(0.20, 0.15),
        kernel: |run| run.a.qmean_ms,
        sim: |run| queue(run, "L", |delay| delay.mean),
    },
    Quantity {
        name: "L p99 ms",
        near: Near::Either(0.20, 0.15),
        kernel: |run| run.a.q99,
        sim: |run| queue(run, "L", |delay| delay.p99),
    },
    Quantity {
        name: "C mean ms",
        near: Near::Either(0.15, 1.5),
        kernel: |run| run.b.qmean_ms,
        sim: |run| queue(run, "C", |delay| delay.mean),
    },
    Quantity {
        name: "utilization",
        near: Near::Absolute(0.02),
        kernel: |run| run.util,
        sim: |run| Some(run.link.utilization),
    },
    Quantity {
        name: "A mark",
        near: Near::Relative(0.25),
        kernel: |run| run.a.mark,
        sim: |run| group(run, "A")?.mark,
    },
    Quantity {
        name: "B drop",
        near: Near::Relative(0.25),
        kernel: |run| run.b.drop,
        sim: |run| group(run, "B")?.drop,
    },
    Quantity {
        name: "rate A/B",
        near: Near::Factor(1.5),
        kernel: |run| run.a.mbps / run.b.mbps,
        sim: |run| Some(group(run, "A")?.rate_bps / group(run, "B")?.rate_bps),
    },
];

/// One comparison.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct Check {
    rate_mbps: u64,
    rtt_ms: u64,
    what: &'static str,
    kernel: f64,
    /// Lowest and highest of the kernel's runs.
    kernel_range: [f64; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    sim: Option<f64>,
    pass: bool,
}

/// Runs the conditions and prints how well they agree.
pub fn validate(options: &Validate) -> Result<(), Failure> {
    let kernel = measurements()?;
    let bundled = bundled::find(SCENARIO)
        .ok_or_else(|| Failure::Run(format!("the scenario {SCENARIO} is missing")))?;
    let plan = bundled.plan(&options.set)?;
    let plan = plan
        .repeated(options.seeds)
        .ok_or_else(|| Failure::input(format!("--seeds {}: too many runs", options.seeds)))?;
    let mut runs: Vec<Summary> = Vec::new();
    let work = |number: usize| {
        let point = &plan.points[number];
        let command = simulate::command(SCENARIO, point);
        Ok(simulate::simulate(point, &command, false, None)?.record.summary)
    };
    let take = |_, summary| {
        runs.push(summary);
        Ok(())
    };
    parallel::in_order(plan.points.len(), options.jobs, work, take)?;

    let mut checks = Vec::new();
    for (points, runs) in
        plan.points.chunks(options.seeds as usize).zip(runs.chunks(options.seeds as usize))
    {
        let scenario = &points[0].scenario;
        let rate = scenario.link.rate.as_bps() / 1_000_000;
        let rtt = |i: usize| scenario.groups[i].rtt.as_micros() / 1000;
        let same =
            |run: &&Measured| (run.rate_mbps, run.rtt_a_ms, run.rtt_b_ms) == (rate, rtt(0), rtt(1));
        let measured: Vec<&Measured> = kernel.iter().filter(same).collect();
        if !measured.is_empty() {
            let check = |quantity| check(quantity, (rate, rtt(0)), &measured, runs);
            checks.extend(QUANTITIES.iter().map(check));
        }
    }
    if checks.is_empty() {
        return Err(Failure::input("--set leaves none of the kernel's conditions"));
    }
    conclude(&checks, options.json)
}

fn measurements() -> Result<Vec<Measured>, Failure> {
    KERNEL
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::Run(format!("reference/linux-7.3-dualpi2.jsonl: {error}")))
}

fn check(
    quantity: &Quantity,
    (rate_mbps, rtt_ms): (u64, u64),
    measured: &[&Measured],
    runs: &[Summary],
) -> Check {
    let kernel: Vec<f64> = measured.iter().map(|run| (quantity.kernel)(run)).collect();
    let low = kernel.iter().copied().fold(f64::INFINITY, f64::min);
    let high = kernel.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sim: Vec<f64> = runs.iter().filter_map(quantity.sim).collect();
    let kernel = mean(&kernel);
    let sim = (!sim.is_empty()).then(|| mean(&sim));
    Check {
        rate_mbps,
        rtt_ms,
        what: quantity.name,
        kernel,
        kernel_range: [low, high],
        sim,
        pass: sim.is_some_and(|sim| quantity.near.holds(kernel, sim)),
    }
}

impl Near {
    fn holds(self, kernel: f64, sim: f64) -> bool {
        let distance = (sim - kernel).abs();
        match self {
            Near::Relative(fraction) => distance <= fraction * kernel.abs(),
            Near::Either(fraction, near) => distance <= fraction * kernel.abs() || distance <= near,
            Near::Absolute(near) => distance <= near,
            Near::Factor(factor) => {
                sim.max(kernel) <= factor * sim.min(kernel) && sim.min(kernel) > 0.0
            }
        }
    }
}

fn conclude(checks: &[Check], json: bool) -> Result<(), Failure> {
    let passed = checks.iter().filter(|check| check.pass).count();
    let share = passed as f64 / checks.len() as f64;
    if json {
        for check in checks {
            let line = serde_json::to_string(check)
                .map_err(|error| Failure::Run(format!("a check: {error}")))?;
            print(&format!("{line}\n"))?;
        }
    } else {
        print(&table(checks))?;
    }
    let missed: Vec<_> = checks.iter().filter(|check| !check.pass).collect();
    let within = |check: &&&Check| {
        let [low, high] = check.kernel_range;
        check.sim.is_some_and(|sim| (low..=high).contains(&sim))
    };
    let summary = format!(
        "{passed} of {} checks pass: {:.1} %, {:.0} % are required; of the {} others {} lie within \
         the kernel's own runs",
        checks.len(),
        share * 100.0,
        ENOUGH * 100.0,
        missed.len(),
        missed.iter().filter(within).count(),
    );
    if share < ENOUGH {
        return Err(Failure::Run(summary));
    }
    eprintln!("{summary}");
    Ok(())
}

fn table(checks: &[Check]) -> String {
    let head = ["Mb/s", "RTT ms", "what", "kernel", "its runs", "simulator", "verdict"];
    let rows = checks.iter().map(|check| {
        let [low, high] = check.kernel_range.map(number);
        vec![
            check.rate_mbps.to_string(),
            check.rtt_ms.to_string(),
            check.what.to_owned(),
            number(check.kernel),
            format!("{low} .. {high}"),
            check.sim.map_or("-".to_owned(), number),
            if check.pass { "ok" } else { "differs" }.to_owned(),
        ]
    });
    let rows: Vec<_> = [head.map(str::to_owned).to_vec()].into_iter().chain(rows).collect();
    let (left, right) = (Align::Left, Align::Right);
    aligned(&rows, &[right, right, left, right, right, right, left])
}

/// Four significant digits.
fn number(x: f64) -> String {
    let digits = if x == 0.0 { 0.0 } else { x.abs().log10().floor() };
    format!("{x:.0$}", (3.0 - digits).clamp(0.0, 7.0) as usize)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn queue(run: &Summary, name: &str, of: fn(l4s_measure::DelaySummary) -> f64) -> Option<f64> {
    run.queues.iter().find(|queue| queue.name == name)?.delay_ms.map(of)
}

fn group<'a>(run: &'a Summary, name: &str) -> Option<&'a l4s_measure::GroupSummary> {
    run.groups.iter().find(|group| group.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scenario_has_every_condition_that_was_measured() {
        let kernel = measurements().unwrap();
        assert_eq!(kernel.len(), 75, "25 conditions, 3 runs");
        let plan = bundled::find(SCENARIO).unwrap().plan(&[]).unwrap();
        for run in kernel {
            let there = plan.points.iter().any(|point| {
                let rtt = |i: usize| point.scenario.groups[i].rtt.as_micros();
                point.scenario.link.rate.as_bps() == run.rate_mbps * 1_000_000
                    && (rtt(0), rtt(1)) == (run.rtt_a_ms * 1000, run.rtt_b_ms * 1000)
            });
            assert!(there, "{run:?}");
        }
    }

    #[test]
    fn nearness_is_as_the_design_says() {
        assert!(Near::Either(0.2, 0.15).holds(0.1, 0.25));
        assert!(!Near::Either(0.2, 0.15).holds(0.1, 0.26));
        assert!(Near::Relative(0.25).holds(0.4, 0.5));
        assert!(!Near::Relative(0.25).holds(0.0, 0.001));
        assert!(Near::Factor(1.5).holds(1.5, 1.0) && !Near::Factor(1.5).holds(1.0, 1.6));
        assert!(!Near::Factor(1.5).holds(1.0, 0.0));
    }
}
