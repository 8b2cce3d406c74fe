//! Prague against the authors' testbed: five hosts with Linux 5.10, TCP Prague 0.6 against Cubic
//! without ECN, sch_dualpi2 at 40 Mb/s, about 258 s for each pair of RTTs.
//!
//! The numbers are public measurements of the L4S team. `burst` of the profile was chosen by these
//! numbers (docs/results/validation.md). So they detect changes of the simulator, but do not validate it.
//! Other cells of the same testbed were not compared. Means of four seeds: at 100 ms there are 35 to 50 drops of Cubic
//! in a run.

use l4s_measure::{EngineSummary, Origin, Recorder, Summary};
use l4s_model::Scenario;
use l4s_scenario::bundled;

const SEEDS: u64 = 4;

/// The accepted relative difference from the measured value.
const TOLERANCE: f64 = 0.25;

/// One row of the testbed's results. NaN for an absent measurement.
struct Measured {
    ratio: f64,
    l_mean_ms: f64,
    l_p99_ms: f64,
    c_mean_ms: f64,
    c_p99_ms: f64,
    utilization: f64,
    l_mark: f64,
    c_drop: f64,
}

const NONE: f64 = f64::NAN;

/// The rows, in the order of the scenario's cases.
#[rustfmt::skip]
const TESTBED: [Measured; 4] = [
    Measured { ratio: NONE, l_mean_ms: 0.52, l_p99_ms: 1.08, c_mean_ms: NONE, c_p99_ms: NONE,
               utilization: 0.999, l_mark: 0.0645, c_drop: NONE },
    Measured { ratio: 1.01, l_mean_ms: 0.32, l_p99_ms: 0.88, c_mean_ms: 14.85, c_p99_ms: 24.1,
               utilization: 0.999, l_mark: 0.0634, c_drop: 0.001_30 },
    Measured { ratio: 1.84, l_mean_ms: 0.34, l_p99_ms: 0.88, c_mean_ms: 13.54, c_p99_ms: 25.6,
               utilization: 0.999, l_mark: 0.0536, c_drop: 0.000_99 },
    Measured { ratio: 1.82, l_mean_ms: 0.34, l_p99_ms: 0.88, c_mean_ms: 9.50, c_p99_ms: 19.9,
               utilization: 0.991, l_mark: 0.0162, c_drop: 0.000_18 },
];

fn of(summary: &Summary) -> Measured {
    let queue = |name: &str| summary.queues.iter().find(|queue| queue.name == name).unwrap();
    let (l, c) = (queue("L"), queue("C"));
    let ratio = summary.ratios.get("rate_A_B").and_then(|ratio| ratio.as_f64());
    Measured {
        ratio: ratio.unwrap_or(NONE),
        l_mean_ms: l.delay_ms.map_or(NONE, |delay| delay.mean),
        l_p99_ms: l.delay_ms.map_or(NONE, |delay| delay.p99),
        c_mean_ms: c.delay_ms.map_or(NONE, |delay| delay.mean),
        c_p99_ms: c.delay_ms.map_or(NONE, |delay| delay.p99),
        utilization: summary.link.utilization,
        l_mark: l.mark.unwrap_or(NONE),
        c_drop: c.drop.unwrap_or(NONE),
    }
}

fn mean(runs: &[Measured]) -> Measured {
    let of = |value: fn(&Measured) -> f64| runs.iter().map(value).sum::<f64>() / runs.len() as f64;
    Measured {
        ratio: of(|run| run.ratio),
        l_mean_ms: of(|run| run.l_mean_ms),
        l_p99_ms: of(|run| run.l_p99_ms),
        c_mean_ms: of(|run| run.c_mean_ms),
        c_p99_ms: of(|run| run.c_p99_ms),
        utilization: of(|run| run.utilization),
        l_mark: of(|run| run.l_mark),
        c_drop: of(|run| run.c_drop),
    }
}

#[test]
fn prague_0_6_does_what_it_does_on_the_authors_testbed() {
    let plan = bundled::find("testbed").unwrap().plan(&[]).unwrap();
    assert_eq!(plan.points.len(), TESTBED.len());
    let mut far = Vec::new();
    for (point, testbed) in plan.points.iter().zip(&TESTBED) {
        let runs = (1..=SEEDS).map(|seed| {
            let scenario = Scenario { seed, ..point.scenario.clone() };
            let mut recorder = Recorder::new(&scenario, Origin::default()).without_series();
            l4s_sim::run(&scenario, &mut recorder);
            of(&recorder.finish(EngineSummary::default()).summary)
        });
        let found = mean(&runs.collect::<Vec<_>>());
        let checks = [
            ("rate ratio", found.ratio, testbed.ratio),
            ("mean L delay", found.l_mean_ms, testbed.l_mean_ms),
            ("p99 L delay", found.l_p99_ms, testbed.l_p99_ms),
            ("mean C delay", found.c_mean_ms, testbed.c_mean_ms),
            ("p99 C delay", found.c_p99_ms, testbed.c_p99_ms),
            ("utilization", found.utilization, testbed.utilization),
            ("L marks", found.l_mark, testbed.l_mark),
            ("C drops", found.c_drop, testbed.c_drop),
        ];
        for (what, found, testbed) in checks.into_iter().filter(|check| !check.2.is_nan()) {
            let off = found / testbed - 1.0;
            println!(
                "{:?} {what}: {found:.4}, testbed {testbed}, {:+.0} %",
                point.set,
                off * 100.0
            );
            if off.is_nan() || off.abs() > TOLERANCE {
                far.push(format!("{:?} {what}: {found} against {testbed}", point.set));
            }
        }
    }
    assert!(far.is_empty(), "{far:#?}");
}
