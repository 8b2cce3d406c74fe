//! The figures of the papers.

use std::path::Path;

use l4s_measure::Results;
use l4s_scenario::Plan;

use crate::beside::{self, Row};
use crate::{Error, lights};

/// A figure of a paper.
pub struct Figure {
    /// Its name for `l4s paper`.
    pub id: &'static str,
    /// The figure of the paper.
    pub paper: &'static str,
    /// The bundled scenario that makes it, with the question that it answers.
    pub scenario: &'static str,
    /// The settings `KEY=VALUE` of the scenario that make this figure.
    pub set: &'static [&'static str],
    /// The settings of `--quick`.
    pub quick: &'static [&'static str],
    /// A further page in its folder beside the report.
    pub page: Option<&'static str>,
    /// Its picture on the contact sheet: the first of these that exists.
    pub pictures: &'static [&'static str],
    /// Its numbers, from the runs of a plan in a folder. Where the figure has a page of its own, this
    /// writes it. [`statements`](crate::statements) has the claims about them.
    pub numbers: fn(&Plan, &Results, &Path) -> Result<Vec<Row>, Error>,
}

const SHORT_SWEEP: &[&str] = &["duration=40s", "warmup=15s"];
const ONE_ROW: &[&str] = &["group.A.flows=3", "duration=40s", "warmup=15s"];

/// A sweep whose numbers are delays and the balance of flows. The figures differ from it in a few
/// fields.
const SWEEP: Figure = Figure {
    id: "",
    paper: "",
    scenario: "",
    set: &[],
    quick: SHORT_SWEEP,
    page: None,
    pictures: &[],
    numbers: |_, results, _| Ok(beside::overview(results)),
};

/// All figures, by paper and number.
pub const FIGURES: &[Figure] = &[
    Figure {
        id: "dctth-4",
        paper: "DCttH figure 4",
        scenario: "dctth-4",
        pictures: &["delay-conditions"],
        ..SWEEP
    },
    Figure {
        id: "dctth-5",
        paper: "DCttH figure 5",
        scenario: "dctth-5",
        pictures: &["rate-matrix-dualpi2"],
        ..SWEEP
    },
    Figure {
        id: "dctth-6",
        paper: "DCttH figure 6",
        scenario: "dctth-6",
        pictures: &["rate-ratio-conditions"],
        ..SWEEP
    },
    Figure {
        id: "dctth-7",
        paper: "DCttH figure 7",
        scenario: "dctth-9",
        set: &["link.rate=40mbit", "group.*.rtt=10ms"],
        pictures: &["completion"],
        numbers: |_, results, _| Ok(beside::dynamic(results)),
        ..SWEEP
    },
    Figure {
        id: "dctth-7-low",
        paper: "DCttH figure 7, low load",
        scenario: "dctth-9",
        set: &["link.rate=40mbit", "group.*.rtt=10ms", "web.*.rate=0.25/mbit"],
        pictures: &["completion"],
        numbers: |_, results, _| Ok(beside::dynamic(results)),
        ..SWEEP
    },
    Figure {
        id: "dctth-8",
        paper: "DCttH figure 8",
        scenario: "dctth-9",
        set: &["link.rate=120mbit"],
        pictures: &["efficiency"],
        numbers: |_, results, _| Ok(beside::dynamic(results)),
        ..SWEEP
    },
    Figure {
        id: "dctth-9",
        paper: "DCttH figure 9, Qdisc figure 3",
        scenario: "dctth-9",
        pictures: &["delay-conditions"],
        numbers: |_, results, _| Ok(beside::dynamic(results)),
        ..SWEEP
    },
    Figure {
        id: "dctth-9-low",
        paper: "DCttH figure 9, low load",
        scenario: "dctth-9",
        set: &["web.*.rate=0.25/mbit"],
        pictures: &["utilization-conditions"],
        numbers: |_, results, _| Ok(beside::dynamic(results)),
        ..SWEEP
    },
    Figure {
        id: "dctth-10",
        paper: "DCttH figure 10",
        scenario: "dctth-10",
        pictures: &["overload"],
        numbers: |_, results, _| Ok(beside::unresponsive(results)),
        ..SWEEP
    },
    Figure {
        id: "slides-flows",
        paper: "Slides, Throughput and Qsize",
        scenario: "slides-flows",
        quick: ONE_ROW,
        pictures: &["rate-matrix-curvy-red", "rate-ratio-conditions"],
        ..SWEEP
    },
    Figure {
        id: "slides-completion",
        paper: "Slides, Completion times",
        scenario: "slides-completion",
        pictures: &["completion"],
        numbers: |_, results, _| Ok(beside::dynamic(results)),
        ..SWEEP
    },
    Figure {
        id: "overload-a",
        paper: "IETF97, strategy (a)",
        scenario: "overload",
        set: &["strategy=a"],
        quick: &["duration=10s", "warmup=3s"],
        pictures: &["output-time"],
        ..SWEEP
    },
    Figure {
        id: "overload-b",
        paper: "IETF97, strategy (b)",
        scenario: "overload",
        set: &["strategy=b"],
        quick: &["duration=10s", "warmup=3s"],
        pictures: &["output-time"],
        ..SWEEP
    },
    Figure {
        id: "fallback-1",
        paper: "Fallback figure 1",
        scenario: "fallback-1",
        pictures: &["rate-ratio-conditions"],
        numbers: |_, _, _| Ok(Vec::new()),
        ..SWEEP
    },
    Figure {
        id: "fallback-7",
        paper: "Fallback figure 7",
        scenario: "fallback-7",
        pictures: &["rate-ratio-conditions"],
        numbers: |_, _, _| Ok(Vec::new()),
        ..SWEEP
    },
    Figure {
        id: "fallback-8",
        paper: "Fallback figure 8",
        scenario: "fallback-8",
        quick: &["duration=5s", "warmup=2s"],
        pictures: &["score-time"],
        numbers: |_, _, _| Ok(Vec::new()),
        ..SWEEP
    },
    Figure {
        id: "fallback-9",
        paper: "Fallback figure 9",
        scenario: "fallback-9",
        quick: &["duration=15s", "warmup=12s"],
        pictures: &["score-time"],
        numbers: |_, _, _| Ok(Vec::new()),
        ..SWEEP
    },
    Figure {
        id: "fallback-10",
        paper: "Fallback figure 10",
        scenario: "fallback-10",
        quick: &["duration=15s"],
        pictures: &["score-time"],
        numbers: |_, _, _| Ok(Vec::new()),
        ..SWEEP
    },
    Figure {
        id: "fallback-11",
        paper: "Fallback figure 11",
        scenario: "fallback-11",
        quick: &["duration=15s"],
        pictures: &["score-time"],
        numbers: |_, _, _| Ok(Vec::new()),
        ..SWEEP
    },
    Figure {
        id: "fallback-12",
        paper: "Fallback figure 12",
        scenario: "fallback-12",
        quick: &["duration=25s"],
        pictures: &["score-time"],
        numbers: |_, _, _| Ok(Vec::new()),
        ..SWEEP
    },
    Figure {
        id: "fallback-500",
        paper: "Fallback §7.5",
        scenario: "fallback-500",
        quick: &["group.*.rtt=20ms"],
        page: Some("fallback-500.html"),
        pictures: &["fallback-500"],
        numbers: lights::fallback_500,
        ..SWEEP
    },
    Figure {
        id: "fallback-wide",
        paper: "beyond Fallback §9",
        scenario: "fallback-wide",
        quick: &["link.rate=25mbit"],
        page: Some("fallback-wide.html"),
        pictures: &["fallback-wide"],
        numbers: lights::beyond,
        ..SWEEP
    },
    Figure {
        id: "fallback-alone",
        paper: "beyond Fallback §7.5",
        scenario: "fallback-alone",
        quick: &["link.rate=25mbit"],
        page: Some("fallback-alone.html"),
        pictures: &["fallback-alone"],
        numbers: lights::beyond,
        ..SWEEP
    },
    Figure {
        id: "core",
        paper: "Fallback appendix D",
        scenario: "core",
        quick: &["case=codel", "group.B.flows=409", "duration=4s", "warmup=2s"],
        pictures: &["rate-ratio-conditions", "headline"],
        ..SWEEP
    },
    Figure {
        id: "campus",
        paper: "Fallback §4.1.3",
        scenario: "campus",
        quick: &["queue=pi2", "prague=paper", "duration=30s", "warmup=15s"],
        pictures: &["rate-ratio-conditions", "delay-conditions"],
        ..SWEEP
    },
    Figure {
        id: "two-bottlenecks",
        paper: "DCttH §5.1",
        scenario: "two-bottlenecks",
        pictures: &["delay-conditions"],
        ..SWEEP
    },
    Figure {
        id: "data-centre",
        paper: "DCttH §5.2, data centres",
        scenario: "data-centre",
        quick: &["link.rate=10gbit", "group.*.rtt=100us", "duration=1200ms"],
        pictures: &["delay-conditions"],
        ..SWEEP
    },
    Figure {
        id: "dualpi2-profiles",
        paper: "beyond RFC 9332",
        scenario: "dualpi2-profiles",
        quick: &["bottleneck=12mbit", "duration=15s", "warmup=5s"],
        pictures: &["rate-ratio-conditions"],
        numbers: |_, results, _| Ok(beside::profiles(results)),
        ..SWEEP
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_figure_has_a_scenario_a_page_of_docs_and_a_short_form() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
        for Figure { id, scenario, set, quick, .. } in FIGURES {
            let bundled = l4s_scenario::bundled::find(scenario).expect(id);
            let plan = |sets: &[&[&str]]| {
                let set: Vec<String> = sets.concat().into_iter().map(str::to_owned).collect();
                bundled.plan(&set).expect(id)
            };
            let (whole, short) = (plan(&[set]), plan(&[set, quick]));
            let seconds = |plan: &Plan| -> f64 {
                plan.points.iter().map(|point| point.scenario.duration.as_secs_f64()).sum()
            };
            assert!(seconds(&short) < seconds(&whole), "{id}");
            assert!(docs.join(format!("{scenario}.md")).is_file(), "{id} has no page");
        }
    }

    #[test]
    fn each_figure_has_a_name_of_its_own() {
        let ids: BTreeSet<_> = FIGURES.iter().map(|figure| figure.id).collect();
        assert_eq!(ids.len(), FIGURES.len());
    }
}
