//! The figures that there are.

use std::path::Path;

use l4s_measure::Results;
use l4s_scenario::Plan;

use super::beside::{self, Row};
use super::lights;
use crate::failure::Failure;

/// A figure of a paper.
pub struct Figure {
    /// What `l4s paper` takes.
    pub id: &'static str,
    /// Which figure of which paper.
    pub paper: &'static str,
    /// The bundled scenario that makes it, with the question that it answers.
    pub scenario: &'static str,
    /// What it sets of that, where it is a part of it.
    pub set: &'static [&'static str],
    /// What `--quick` sets.
    pub quick: &'static [&'static str],
    /// A page in its folder besides the report.
    pub page: Option<&'static str>,
    /// Which of its pictures is on the contact sheet: the first of these that there is.
    pub pictures: &'static [&'static str],
    /// Its numbers, from the runs of a plan in a folder. Where the figure has a page of its own, this
    /// writes it. What the paper says of them is in `statement`.
    pub numbers: fn(&Plan, &Results, &Path) -> Result<Vec<Row>, Failure>,
}

const SHORT_SWEEP: &[&str] = &["duration=40s", "warmup=15s"];
const ONE_ROW: &[&str] = &["group.A.flows=3", "duration=40s", "warmup=15s"];

/// All of them, by paper and number.
pub const ALL: &[Figure] = &[
    Figure {
        id: "dctth-4",
        paper: "DCttH figure 4",
        scenario: "dctth-4",
        set: &[],
        quick: SHORT_SWEEP,
        page: None,
        pictures: &["delay-conditions"],
        numbers: |_, results, _| Ok(beside::overview(results)),
    },
    Figure {
        id: "dctth-5",
        paper: "DCttH figure 5",
        scenario: "dctth-5",
        set: &[],
        quick: SHORT_SWEEP,
        page: None,
        pictures: &["rate-matrix-dualpi2"],
        numbers: |_, results, _| Ok(beside::overview(results)),
    },
    Figure {
        id: "dctth-6",
        paper: "DCttH figure 6",
        scenario: "dctth-6",
        set: &[],
        quick: SHORT_SWEEP,
        page: None,
        pictures: &["rate-ratio-conditions"],
        numbers: |_, results, _| Ok(beside::overview(results)),
    },
    Figure {
        id: "dctth-7",
        paper: "DCttH figure 7",
        scenario: "dctth-9",
        set: &["link.rate=40mbit", "group.*.rtt=10ms"],
        quick: SHORT_SWEEP,
        page: None,
        pictures: &["completion"],
        numbers: |_, results, _| Ok(beside::dynamic(results)),
    },
    Figure {
        id: "dctth-7-low",
        paper: "DCttH figure 7, low load",
        scenario: "dctth-9",
        set: &["link.rate=40mbit", "group.*.rtt=10ms", "web.*.rate=0.25/mbit"],
        quick: SHORT_SWEEP,
        page: None,
        pictures: &["completion"],
        numbers: |_, results, _| Ok(beside::dynamic(results)),
    },
    Figure {
        id: "dctth-8",
        paper: "DCttH figure 8",
        scenario: "dctth-9",
        set: &["link.rate=120mbit"],
        quick: SHORT_SWEEP,
        page: None,
        pictures: &["efficiency"],
        numbers: |_, results, _| Ok(beside::dynamic(results)),
    },
    Figure {
        id: "dctth-9",
        paper: "DCttH figure 9, Qdisc figure 3",
        scenario: "dctth-9",
        set: &[],
        quick: SHORT_SWEEP,
        page: None,
        pictures: &["delay-conditions"],
        numbers: |_, results, _| Ok(beside::dynamic(results)),
    },
    Figure {
        id: "dctth-9-low",
        paper: "DCttH figure 9, low load",
        scenario: "dctth-9",
        set: &["web.*.rate=0.25/mbit"],
        quick: SHORT_SWEEP,
        page: None,
        pictures: &["utilization-conditions"],
        numbers: |_, results, _| Ok(beside::dynamic(results)),
    },
    Figure {
        id: "dctth-10",
        paper: "DCttH figure 10",
        scenario: "dctth-10",
        set: &[],
        quick: SHORT_SWEEP,
        page: None,
        pictures: &["overload"],
        numbers: |_, results, _| Ok(beside::unresponsive(results)),
    },
    Figure {
        id: "slides-flows",
        paper: "Slides, Throughput and Qsize",
        scenario: "slides-flows",
        set: &[],
        quick: ONE_ROW,
        page: None,
        pictures: &["rate-matrix-curvy-red", "rate-ratio-conditions"],
        numbers: |_, results, _| Ok(beside::overview(results)),
    },
    Figure {
        id: "slides-completion",
        paper: "Slides, Completion times",
        scenario: "slides-completion",
        set: &[],
        quick: SHORT_SWEEP,
        page: None,
        pictures: &["completion"],
        numbers: |_, results, _| Ok(beside::dynamic(results)),
    },
    Figure {
        id: "overload-a",
        paper: "IETF97, strategy (a)",
        scenario: "overload",
        set: &["strategy=a"],
        quick: &["duration=10s", "warmup=3s"],
        page: None,
        pictures: &["output-time"],
        numbers: |_, results, _| Ok(beside::overview(results)),
    },
    Figure {
        id: "overload-b",
        paper: "IETF97, strategy (b)",
        scenario: "overload",
        set: &["strategy=b"],
        quick: &["duration=10s", "warmup=3s"],
        page: None,
        pictures: &["output-time"],
        numbers: |_, results, _| Ok(beside::overview(results)),
    },
    Figure {
        id: "fallback-1",
        paper: "Fallback figure 1",
        scenario: "fallback-1",
        set: &[],
        quick: SHORT_SWEEP,
        page: None,
        pictures: &["rate-ratio-conditions"],
        numbers: |_, _, _| Ok(Vec::new()),
    },
    Figure {
        id: "fallback-7",
        paper: "Fallback figure 7",
        scenario: "fallback-7",
        set: &[],
        quick: SHORT_SWEEP,
        page: None,
        pictures: &["rate-ratio-conditions"],
        numbers: |_, _, _| Ok(Vec::new()),
    },
    Figure {
        id: "fallback-8",
        paper: "Fallback figure 8",
        scenario: "fallback-8",
        set: &[],
        quick: &["duration=5s", "warmup=2s"],
        page: None,
        pictures: &["score-time"],
        numbers: |_, _, _| Ok(Vec::new()),
    },
    Figure {
        id: "fallback-9",
        paper: "Fallback figure 9",
        scenario: "fallback-9",
        set: &[],
        quick: &["duration=15s", "warmup=12s"],
        page: None,
        pictures: &["score-time"],
        numbers: |_, _, _| Ok(Vec::new()),
    },
    Figure {
        id: "fallback-10",
        paper: "Fallback figure 10",
        scenario: "fallback-10",
        set: &[],
        quick: &["duration=15s"],
        page: None,
        pictures: &["score-time"],
        numbers: |_, _, _| Ok(Vec::new()),
    },
    Figure {
        id: "fallback-11",
        paper: "Fallback figure 11",
        scenario: "fallback-11",
        set: &[],
        quick: &["duration=15s"],
        page: None,
        pictures: &["score-time"],
        numbers: |_, _, _| Ok(Vec::new()),
    },
    Figure {
        id: "fallback-12",
        paper: "Fallback figure 12",
        scenario: "fallback-12",
        set: &[],
        quick: &["duration=25s"],
        page: None,
        pictures: &["score-time"],
        numbers: |_, _, _| Ok(Vec::new()),
    },
    Figure {
        id: "fallback-500",
        paper: "Fallback §7.5",
        scenario: "fallback-500",
        set: &[],
        quick: &["group.*.rtt=20ms"],
        page: Some("fallback-500.html"),
        pictures: &["fallback-500"],
        numbers: lights::fallback_500,
    },
    Figure {
        id: "fallback-wide",
        paper: "beyond Fallback §9",
        scenario: "fallback-wide",
        set: &[],
        quick: &["link.rate=25mbit"],
        page: Some("fallback-wide.html"),
        pictures: &["fallback-wide"],
        numbers: lights::beyond,
    },
    Figure {
        id: "fallback-alone",
        paper: "beyond Fallback §7.5",
        scenario: "fallback-alone",
        set: &[],
        quick: &["link.rate=25mbit"],
        page: Some("fallback-alone.html"),
        pictures: &["fallback-alone"],
        numbers: lights::beyond,
    },
    Figure {
        id: "core",
        paper: "Fallback appendix D",
        scenario: "core",
        set: &[],
        quick: &["case=codel", "group.B.flows=409", "duration=4s", "warmup=2s"],
        page: None,
        pictures: &["rate-ratio-conditions", "headline"],
        numbers: |_, results, _| Ok(beside::overview(results)),
    },
    Figure {
        id: "campus",
        paper: "Fallback §4.1.3",
        scenario: "campus",
        set: &[],
        quick: &["queue=pi2", "prague=paper", "duration=30s", "warmup=15s"],
        page: None,
        pictures: &["rate-ratio-conditions", "delay-conditions"],
        numbers: |_, results, _| Ok(beside::overview(results)),
    },
    Figure {
        id: "two-bottlenecks",
        paper: "DCttH §5.1",
        scenario: "two-bottlenecks",
        set: &[],
        quick: SHORT_SWEEP,
        page: None,
        pictures: &["delay-conditions"],
        numbers: |_, results, _| Ok(beside::overview(results)),
    },
    Figure {
        id: "data-centre",
        paper: "DCttH §5.2, data centres",
        scenario: "data-centre",
        set: &[],
        quick: &["link.rate=10gbit", "group.*.rtt=100us", "duration=1200ms"],
        page: None,
        pictures: &["delay-conditions"],
        numbers: |_, results, _| Ok(beside::overview(results)),
    },
    Figure {
        id: "dualpi2-profiles",
        paper: "beyond RFC 9332",
        scenario: "dualpi2-profiles",
        set: &[],
        quick: &["bottleneck=12mbit", "duration=15s", "warmup=5s"],
        page: None,
        pictures: &["rate-ratio-conditions"],
        numbers: |_, results, _| Ok(beside::profiles(results)),
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_figure_has_a_scenario_a_page_of_docs_and_a_short_form() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/experiments");
        for Figure { id, scenario, set, quick, .. } in ALL {
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
    fn no_two_figures_are_called_alike() {
        let ids: BTreeSet<_> = ALL.iter().map(|figure| figure.id).collect();
        assert_eq!(ids.len(), ALL.len());
    }
}
