//! `l4s validate`: the simulator against Linux.
//!
//! Each check compares the mean over the kernel's runs with the mean over the simulator's seeds.
//! The kernel's runs are recorded here; or they are measured now, with this
//! machine's TCP (`--on kernel`) or with a kernel in virtual time (`--on linux`).

use l4s_measure::Summary;
use l4s_scenario::{Plan, Point};
use l4s_substrate::Engine;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::args::{Substrate, Validate};
use crate::chance::{self, mean};
use crate::failure::Failure;
use crate::measured::{self, Keep};
use crate::table::{Align, aligned};
use crate::{parallel, print};

/// The conditions of `reference/linux-7.3-dualpi2.jsonl`, which were measured by other means.
const GRID: &str = "linux-7.3-grid";
const GRID_RUNS: &str = include_str!("../reference/linux-7.3-dualpi2.jsonl");
/// The conditions of `reference/linux-7.3-wide.jsonl`: summaries of `--on linux`.
const WIDE: &str = "linux-7.3-wide";
const WIDE_RUNS: &str = include_str!("../reference/linux-7.3-wide.jsonl");
/// The share of checks that must pass.
const ENOUGH: f64 = 0.9;
/// Standard errors up to which a difference outside of the tolerance is called noise. With a few seeds chance makes larger ones, too:
/// of three a side, 4 % are beyond. A wider limit would excuse misses that are none of chance.
const ERRORS: f64 = 3.0;

/// How near two numbers must be: one of these suffices.
#[derive(Clone, Copy, PartialEq, Debug)]
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

impl Near {
    const L_DELAY: Near = Near::Either(0.20, 0.15);
    const CLASSIC_DELAY: Near = Near::Either(0.15, 1.5);
    const UTILIZATION: Near = Near::Absolute(0.02);
    const SIGNALS: Near = Near::Relative(0.25);
    const RATES: Near = Near::Factor(1.5);
}

/// The compared quantities of a run: name, tolerance, value.
type Quantities = Vec<(String, Near, f64)>;

/// The compared quantities of a run.
fn quantities(run: &Summary) -> Quantities {
    let mut all = Vec::new();
    let mut add = |name: String, near: Near, value: Option<f64>| {
        all.extend(value.map(|value| (name, near, value)));
    };
    let here = run.queues.iter().map(|queue| (queue.name.clone(), queue));
    let further = run.hops.iter().flat_map(|hop| {
        hop.queues.iter().map(|queue| (format!("{} {}", hop.name, queue.name), queue))
    });
    for (name, queue) in here.chain(further) {
        let (mean, p99) = (queue.delay_ms.map(|d| d.mean), queue.delay_ms.map(|d| d.p99));
        if queue.name == "L" {
            add(format!("{name} mean ms"), Near::L_DELAY, mean);
            add(format!("{name} p99 ms"), Near::L_DELAY, p99);
        } else {
            add(format!("{name} mean ms"), Near::CLASSIC_DELAY, mean);
        }
    }
    add("utilization".to_owned(), Near::UTILIZATION, Some(run.link.utilization));
    for group in &run.groups {
        add(format!("{} mark", group.name), Near::SIGNALS, group.mark);
        add(format!("{} drop", group.name), Near::SIGNALS, group.drop);
    }
    if let [a, b, ..] = run.groups.as_slice() {
        let ratio = a.rate_per_flow_bps.zip(b.rate_per_flow_bps).map(|(a, b)| a / b);
        add(format!("rate {}/{}", a.name, b.name), Near::RATES, ratio);
    }
    all
}

/// One run of the grid, as it was measured.
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

impl Measured {
    /// Whether it was measured under the condition of a run.
    fn is_of(&self, point: &Point) -> bool {
        let scenario = &point.scenario;
        let ms = |group: usize| scenario.groups[group].rtt.as_micros() / 1000;
        scenario.link.rate.as_bps() == self.rate_mbps * 1_000_000
            && (ms(0), ms(1)) == (self.rtt_a_ms, self.rtt_b_ms)
    }

    fn quantities(&self) -> Quantities {
        let all = [
            ("L mean ms", Near::L_DELAY, self.a.qmean_ms),
            ("L p99 ms", Near::L_DELAY, self.a.q99),
            ("C mean ms", Near::CLASSIC_DELAY, self.b.qmean_ms),
            ("utilization", Near::UTILIZATION, self.util),
            ("A mark", Near::SIGNALS, self.a.mark),
            ("B drop", Near::SIGNALS, self.b.drop),
            ("rate A/B", Near::RATES, self.a.mbps / self.b.mbps),
        ];
        all.map(|(name, near, value)| (name.to_owned(), near, value)).to_vec()
    }
}

/// Where the kernel's runs come from.
enum Reference {
    /// Measured once, in its own qdisc.
    Grid(Vec<Measured>),
    /// Summaries, by settings.
    Summaries(Vec<Summary>),
}

impl Reference {
    /// The recorded data of a scenario.
    fn kept(scenario: &str) -> Result<Reference, Failure> {
        fn lines<T: serde::de::DeserializeOwned>(
            what: &str,
            text: &str,
        ) -> Result<Vec<T>, Failure> {
            let lines = text.lines().map(serde_json::from_str).collect::<Result<_, _>>();
            lines.map_err(|error| Failure::Run(format!("reference/{what}: {error}")))
        }
        match scenario {
            GRID => Ok(Reference::Grid(lines("linux-7.3-dualpi2.jsonl", GRID_RUNS)?)),
            WIDE => Ok(Reference::Summaries(lines("linux-7.3-wide.jsonl", WIDE_RUNS)?)),
            _ => Err(Failure::input_with(
                format!("no kernel's runs of {scenario} are kept: expected {GRID} or {WIDE}"),
                "--on kernel and --on linux measure a kernel now, with any scenario",
            )),
        }
    }

    /// The kernel's runs under a condition.
    fn of(&self, point: &Point) -> Vec<Quantities> {
        match self {
            Reference::Grid(runs) => {
                runs.iter().filter(|run| run.is_of(point)).map(Measured::quantities).collect()
            }
            Reference::Summaries(runs) => {
                let set = settings(point);
                runs.iter().filter(|run| run.set == set).map(quantities).collect()
            }
        }
    }
}

/// The settings of a run, in the form of its summary.
fn settings(point: &Point) -> Map<String, Value> {
    point.set.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect()
}

/// One comparison.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct Check {
    scenario: String,
    /// The condition: its settings.
    set: Map<String, Value>,
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<f64>,
    /// Lowest and highest of the kernel's runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel_range: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sim: Option<f64>,
    pass: bool,
    /// Whether the difference is within the variation between seeds.
    within_noise: bool,
}

/// Runs the conditions and prints how well they agree.
pub fn validate(options: &Validate) -> Result<(), Failure> {
    let scenarios = match (&options.scenario, options.on) {
        (Some(scenario), _) => vec![scenario.as_str()],
        (None, Substrate::Kernel) => vec![GRID],
        (None, _) => vec![GRID, WIDE],
    };
    let mut checks = Vec::new();
    for scenario in scenarios {
        checks.extend(compare(scenario, options)?);
    }
    if checks.is_empty() {
        return Err(Failure::input("--set leaves none of the kernel's conditions"));
    }
    conclude(&checks, options.json)
}

/// Every check of a scenario.
fn compare(scenario: &str, options: &Validate) -> Result<Vec<Check>, Failure> {
    let mut set = Vec::new();
    // The grid's Cubic has the clock of the kernel that was measured then.
    if let (GRID, Some(ns)) = (scenario, jiffy_ns(options.on)) {
        set.push(format!("group.B.cc={{ kind = \"cubic\", tick = \"{ns}ns\" }}"));
    }
    set.extend(options.set.iter().cloned());
    let plan = Plan::open(scenario, &set)?;
    let plan = plan
        .repeated(options.seeds)
        .ok_or_else(|| Failure::input(format!("--seeds {}: too many runs", options.seeds)))?;
    let reference = match options.on {
        Substrate::Sim => Reference::kept(scenario)?,
        on => {
            let engine = measured::prepare(on, &plan, scenario)?;
            Reference::Summaries(runs(&engine, scenario, &plan, options)?)
        }
    };
    let sim = runs(&Engine::SIM, scenario, &plan, options)?;

    let mut checks = Vec::new();
    let seeds = options.seeds as usize;
    for (runs, points) in sim.chunks(seeds).zip(plan.points.chunks(seeds)) {
        let kernel = reference.of(&points[0]);
        let mut sim: Vec<Quantities> = runs.iter().map(quantities).collect();
        if let (Reference::Grid(_), Some(measured)) = (&reference, kernel.first()) {
            let is_measured = |name: &str| measured.iter().any(|(known, ..)| known == name);
            sim.iter_mut().for_each(|run| run.retain(|(name, ..)| is_measured(name)));
        }
        if !kernel.is_empty() {
            checks.extend(checks_of(scenario, &settings(&points[0]), &kernel, &sim));
        }
    }
    Ok(checks)
}

/// The resolution of a kernel's coarse clock, which its Cubic uses to read the growth curve, if it
/// differs from the reference.
fn jiffy_ns(on: Substrate) -> Option<u64> {
    match on {
        #[cfg(kernels)]
        Substrate::Kernel | Substrate::Qdisc => Some(l4s_os::jiffy().as_nanos()),
        #[cfg(kernels)]
        Substrate::Linux => Some(l4s_linux::JIFFY.as_nanos()),
        _ => None,
    }
}

/// Every run of a plan.
fn runs(
    engine: &Engine,
    scenario: &str,
    plan: &Plan,
    options: &Validate,
) -> Result<Vec<Summary>, Failure> {
    let mut runs: Vec<Summary> = Vec::new();
    measured::announce(engine, plan);
    let work = |number: usize| {
        let point = &plan.points[number];
        let command = point.command(scenario, measured::name(engine));
        Ok(measured::run(engine, point, &command, Keep::default())?.record.summary)
    };
    let take = |number, summary: Summary| {
        if let Some(reason) = &summary.engine.unfit {
            say!("run {} is unfit: {reason}", number + 1);
        }
        runs.push(summary);
        Ok(())
    };
    let jobs = measured::jobs(engine, options.jobs);
    parallel::in_order(plan.points.len(), jobs, false, work, take)?;
    Ok(runs)
}

/// The checks of a condition by the runs of both sides. One fails if a side lacks the quantity.
fn checks_of(
    scenario: &str,
    set: &Map<String, Value>,
    kernel: &[Quantities],
    sim: &[Quantities],
) -> Vec<Check> {
    let mut names: Vec<(&str, Near)> = Vec::new();
    for (name, near, _) in sim.iter().chain(kernel).flatten() {
        if !names.iter().any(|(known, _)| known == name) {
            names.push((name, *near));
        }
    }
    let values = |runs: &[Quantities], name: &str| -> Vec<f64> {
        let of = |run: &Quantities| run.iter().find(|(n, ..)| n == name).map(|(.., v)| *v);
        runs.iter().filter_map(of).collect()
    };
    let check = |(name, near): (&str, Near)| {
        let (runs, seeds) = (values(kernel, name), values(sim, name));
        let [kernel, sim] = [&runs, &seeds].map(|side| (!side.is_empty()).then(|| mean(side)));
        // Where nothing happens on either side there is nothing to compare.
        let idle = runs.iter().chain(&seeds).all(|value| *value == 0.0);
        let both = kernel.zip(sim);
        (both.is_none() || !idle).then(|| Check {
            scenario: scenario.to_owned(),
            set: set.clone(),
            what: name.to_owned(),
            kernel,
            kernel_range: kernel.map(|_| {
                let low = runs.iter().copied().fold(f64::INFINITY, f64::min);
                [low, runs.iter().copied().fold(f64::NEG_INFINITY, f64::max)]
            }),
            sim,
            pass: both.is_some_and(|(kernel, sim)| near.holds(kernel, sim)),
            within_noise: chance::errors(&runs, &seeds).is_some_and(|errors| errors <= ERRORS),
        })
    };
    names.into_iter().filter_map(check).collect()
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
    let summary = format!(
        "{passed} of {} checks pass: {:.1} %, {:.0} % are required; of the {} others {} differ by \
         no more than chance does from seed to seed",
        checks.len(),
        share * 100.0,
        ENOUGH * 100.0,
        missed.len(),
        missed.iter().filter(|check| check.within_noise).count(),
    );
    if share < ENOUGH {
        return Err(Failure::Run(summary));
    }
    say!("{summary}");
    Ok(())
}

fn table(checks: &[Check]) -> String {
    let head = ["condition", "what", "kernel", "its runs", "simulator", "verdict"];
    let rows = checks.iter().map(|check| {
        let or_none = |text: Option<String>| text.unwrap_or("-".to_owned());
        let range = check.kernel_range.map(|range| range.map(number).join(" .. "));
        let condition = check.set.values().map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        vec![
            condition.collect::<Vec<_>>().join(" "),
            check.what.clone(),
            or_none(check.kernel.map(number)),
            or_none(range),
            or_none(check.sim.map(number)),
            match (check.pass, check.within_noise) {
                (true, _) => "ok",
                (false, true) => "noise",
                (false, false) => "differs",
            }
            .to_owned(),
        ]
    });
    let rows: Vec<_> = [head.map(str::to_owned).to_vec()].into_iter().chain(rows).collect();
    let (left, right) = (Align::Left, Align::Right);
    aligned(&rows, &[left, left, right, right, right, left])
}

/// Four significant digits.
fn number(x: f64) -> String {
    let digits = if x == 0.0 { 0.0 } else { x.abs().log10().floor() };
    format!("{x:.0$}", (3.0 - digits).clamp(0.0, 7.0) as usize)
}

#[cfg(test)]
mod tests {
    use l4s_measure::{EngineSummary, Origin, Recorder};
    use l4s_units::Duration;

    use super::*;

    fn points(scenario: &str) -> Vec<Point> {
        l4s_scenario::bundled::find(scenario).unwrap().plan(&[]).unwrap().points
    }

    #[test]
    fn the_grid_has_every_condition_that_was_measured() {
        let Reference::Grid(kernel) = Reference::kept(GRID).unwrap() else { panic!() };
        assert_eq!(kernel.len(), 75, "25 conditions, 3 runs");
        let points = points(GRID);
        for run in kernel {
            assert!(points.iter().any(|point| run.is_of(point)), "{run:?}");
        }
    }

    #[test]
    fn every_wide_condition_was_measured_with_several_seeds() {
        let kernel = Reference::kept(WIDE).unwrap();
        for point in points(WIDE) {
            let runs = kernel.of(&point);
            assert!(runs.len() >= 3, "{:?}", point.set);
        }
    }

    #[test]
    fn queues_of_further_links_are_compared_too() {
        let mut scenario = points("rrul").remove(0).scenario;
        (scenario.duration, scenario.warmup) = (Duration::from_secs(2), Duration::from_secs(1));
        let mut recorder = Recorder::new(&scenario, Origin::default());
        l4s_sim::run(&scenario, &mut recorder);
        let summary = recorder.finish(EngineSummary::default()).summary;
        let names: Vec<String> = quantities(&summary).into_iter().map(|(name, ..)| name).collect();
        for name in
            ["L p99 ms", "C mean ms", "uplink L mean ms", "uplink L p99 ms", "uplink C mean ms"]
        {
            assert!(names.iter().any(|found| found == name), "{name}: {names:?}");
        }
    }

    #[test]
    fn a_quantity_that_one_side_lacks_is_a_check_that_fails() {
        let of = |name: &str, value| (name.to_owned(), Near::SIGNALS, value);
        let kernel = [vec![of("A mark", 0.1), of("A drop", 0.0), of("B drop", 0.0)]];
        let sim = [vec![of("B mark", 0.0), of("A drop", 0.0)]];
        let checks = checks_of("s", &Map::new(), &kernel, &sim);
        let found: Vec<_> =
            checks.iter().map(|check| (check.what.as_str(), check.kernel, check.sim)).collect();
        let missing =
            [("B mark", None, Some(0.0)), ("A mark", Some(0.1), None), ("B drop", Some(0.0), None)];
        assert_eq!(found, missing, "`A drop` is 0 on both sides");
        assert!(!checks.iter().any(|check| check.pass || check.within_noise));
        assert!(table(&checks).contains('-') && conclude(&checks, false).is_err());
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
