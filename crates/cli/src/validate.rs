//! `l4s validate`: the simulator against Linux.
//!
//! The scenario `linux-7.3-grid` has the conditions of `reference/linux-7.3-dualpi2.jsonl`, which
//! were measured in a kernel's own qdisc. With `--on kernel` the same conditions run now, with
//! this machine's TCP through our bottleneck. Each check compares the mean over the kernel's runs
//! with the mean over the simulator's seeds.

use l4s_measure::Summary;
use l4s_scenario::{Plan, bundled};
use serde::{Deserialize, Serialize};

use crate::args::{Substrate, Validate};
use crate::failure::Failure;
use crate::measured::{self, Engine, Keep};
use crate::table::{Align, aligned};
use crate::{parallel, print};

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
    reference: fn(&Measured) -> f64,
    summary: fn(&Summary) -> Option<f64>,
}

/// What is compared, and how near it must be.
const QUANTITIES: [Quantity; 7] = [
    Quantity {
        name: "L mean ms",
        near: Near::Either(0.20, 0.15),
        reference: |run| run.a.qmean_ms,
        summary: |run| queue(run, "L", |delay| delay.mean),
    },
    Quantity {
        name: "L p99 ms",
        near: Near::Either(0.20, 0.15),
        reference: |run| run.a.q99,
        summary: |run| queue(run, "L", |delay| delay.p99),
    },
    Quantity {
        name: "C mean ms",
        near: Near::Either(0.15, 1.5),
        reference: |run| run.b.qmean_ms,
        summary: |run| queue(run, "C", |delay| delay.mean),
    },
    Quantity {
        name: "utilization",
        near: Near::Absolute(0.02),
        reference: |run| run.util,
        summary: |run| Some(run.link.utilization),
    },
    Quantity {
        name: "A mark",
        near: Near::Relative(0.25),
        reference: |run| run.a.mark,
        summary: |run| group(run, "A")?.mark,
    },
    Quantity {
        name: "B drop",
        near: Near::Relative(0.25),
        reference: |run| run.b.drop,
        summary: |run| group(run, "B")?.drop,
    },
    Quantity {
        name: "rate A/B",
        near: Near::Factor(1.5),
        reference: |run| run.a.mbps / run.b.mbps,
        summary: |run| Some(group(run, "A")?.rate_bps / group(run, "B")?.rate_bps),
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

/// What the kernel did.
enum Kernel {
    /// Measured once, in its own qdisc.
    Reference(Vec<Measured>),
    /// Measured now, through our bottleneck: as many runs of each point as seeds.
    Now(Vec<Summary>),
}

/// Runs the conditions and prints how well they agree.
pub fn validate(options: &Validate) -> Result<(), Failure> {
    let bundled = bundled::find(SCENARIO)
        .ok_or_else(|| Failure::Run(format!("the scenario {SCENARIO} is missing")))?;
    let mut set = Vec::new();
    if options.on == Substrate::Kernel {
        set.push(format!("group.B.cc={{ kind = \"cubic\", tick = \"{}ns\" }}", jiffy_ns()));
    }
    set.extend(options.set.iter().cloned());
    let plan = bundled.plan(&set)?;
    let plan = plan
        .repeated(options.seeds)
        .ok_or_else(|| Failure::input(format!("--seeds {}: too many runs", options.seeds)))?;
    let kernel = match options.on {
        Substrate::Sim => Kernel::Reference(measurements()?),
        on => Kernel::Now(runs(&Engine::prepare(on, &plan)?, &plan, options)?),
    };
    let sim = runs(&Engine::Sim, &plan, options)?;

    let mut checks = Vec::new();
    let seeds = options.seeds as usize;
    for (number, sim) in sim.chunks(seeds).enumerate() {
        let scenario = &plan.points[number * seeds].scenario;
        let condition = (
            scenario.link.rate.as_bps() / 1_000_000,
            scenario.groups[0].rtt.as_micros() / 1000,
            scenario.groups[1].rtt.as_micros() / 1000,
        );
        for quantity in &QUANTITIES {
            let kernel: Vec<f64> = match &kernel {
                Kernel::Reference(runs) => runs
                    .iter()
                    .filter(|run| (run.rate_mbps, run.rtt_a_ms, run.rtt_b_ms) == condition)
                    .map(quantity.reference)
                    .collect(),
                Kernel::Now(runs) => {
                    let mine = &runs[number * seeds..(number + 1) * seeds];
                    mine.iter().filter_map(quantity.summary).collect()
                }
            };
            if !kernel.is_empty() {
                checks.push(check(quantity, (condition.0, condition.1), &kernel, sim));
            }
        }
    }
    if checks.is_empty() {
        return Err(Failure::input("--set leaves none of the kernel's conditions"));
    }
    conclude(&checks, options.json)
}

/// The resolution of the kernel's coarse clock, by which its Cubic reads the growth curve.
fn jiffy_ns() -> u64 {
    #[cfg(target_os = "linux")]
    return l4s_lab::jiffy().as_nanos();
    #[cfg(not(target_os = "linux"))]
    1_000_000
}

/// Every run of a plan.
fn runs(engine: &Engine, plan: &Plan, options: &Validate) -> Result<Vec<Summary>, Failure> {
    let mut runs: Vec<Summary> = Vec::new();
    engine.announce(plan);
    let work = |number: usize| {
        let point = &plan.points[number];
        let command = measured::command(SCENARIO, engine.substrate(), point);
        Ok(engine.run(point, &command, Keep::default())?.record.summary)
    };
    let take = |number, summary: Summary| {
        if let Some(reason) = &summary.engine.unfit {
            eprintln!("run {} is unfit: {reason}", number + 1);
        }
        runs.push(summary);
        Ok(())
    };
    parallel::in_order(plan.points.len(), engine.jobs(options.jobs), work, take)?;
    Ok(runs)
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
    kernel: &[f64],
    runs: &[Summary],
) -> Check {
    let low = kernel.iter().copied().fold(f64::INFINITY, f64::min);
    let high = kernel.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sim: Vec<f64> = runs.iter().filter_map(quantity.summary).collect();
    let kernel = mean(kernel);
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
