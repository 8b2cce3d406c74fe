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
    /// What `--quick` sets.
    pub quick: &'static [&'static str],
    /// A page in its folder besides the report.
    pub page: Option<&'static str>,
    /// Which of its pictures is on the contact sheet.
    pub picture: &'static str,
    /// Its numbers beside the paper's, from the runs of a plan in a folder. Where the figure has a
    /// page of its own, this writes it.
    pub numbers: fn(&Plan, &Results, &Path) -> Result<Vec<Row>, Failure>,
}

const SHORT_SWEEP: &[&str] = &["duration=40s", "warmup=15s"];

/// All of them, by paper and number.
pub const ALL: &[Figure] = &[
    Figure {
        id: "dctth-4",
        paper: "DCttH figure 4",
        scenario: "dctth-4",
        quick: SHORT_SWEEP,
        page: None,
        picture: "delay-conditions",
        numbers: |_, results, _| Ok(beside::dctth(results)),
    },
    Figure {
        id: "dctth-5",
        paper: "DCttH figure 5",
        scenario: "dctth-5",
        quick: SHORT_SWEEP,
        page: None,
        picture: "delay-conditions",
        numbers: |_, results, _| Ok(beside::dctth(results)),
    },
    Figure {
        id: "dctth-6",
        paper: "DCttH figure 6",
        scenario: "dctth-6",
        quick: SHORT_SWEEP,
        page: None,
        picture: "rate-ratio-conditions",
        numbers: |_, results, _| Ok(beside::dctth(results)),
    },
    Figure {
        id: "dctth-9",
        paper: "DCttH figures 7 to 9",
        scenario: "dctth-9",
        quick: SHORT_SWEEP,
        page: None,
        picture: "delay-conditions",
        numbers: |_, results, _| Ok(beside::dynamic(results)),
    },
    Figure {
        id: "dctth-10",
        paper: "DCttH figure 10",
        scenario: "dctth-10",
        quick: SHORT_SWEEP,
        page: None,
        picture: "delay-conditions",
        numbers: |_, results, _| Ok(beside::overload(results)),
    },
    Figure {
        id: "fallback-1",
        paper: "Fallback figure 1",
        scenario: "fallback-1",
        quick: SHORT_SWEEP,
        page: None,
        picture: "rate-ratio-conditions",
        numbers: |_, results, _| Ok(beside::fallback_1(results)),
    },
    Figure {
        id: "fallback-7",
        paper: "Fallback figure 7",
        scenario: "fallback-7",
        quick: SHORT_SWEEP,
        page: None,
        picture: "rate-ratio-conditions",
        numbers: |_, results, _| Ok(beside::fallback_7(results)),
    },
    Figure {
        id: "fallback-8",
        paper: "Fallback figure 8",
        scenario: "fallback-8",
        quick: &["duration=5s", "warmup=2s"],
        page: None,
        picture: "score-time",
        numbers: |plan, results, _| beside::fallback_8(plan, results),
    },
    Figure {
        id: "fallback-9",
        paper: "Fallback figure 9",
        scenario: "fallback-9",
        quick: &["duration=15s", "warmup=12s"],
        page: None,
        picture: "score-time",
        numbers: |plan, results, _| beside::fallback_9(plan, results),
    },
    Figure {
        id: "fallback-10",
        paper: "Fallback figure 10",
        scenario: "fallback-10",
        quick: &["duration=15s"],
        page: None,
        picture: "score-time",
        numbers: |plan, results, _| beside::switched(plan, results),
    },
    Figure {
        id: "fallback-11",
        paper: "Fallback figure 11",
        scenario: "fallback-11",
        quick: &["duration=15s"],
        page: None,
        picture: "score-time",
        numbers: |plan, results, _| beside::switched(plan, results),
    },
    Figure {
        id: "fallback-12",
        paper: "Fallback figure 12",
        scenario: "fallback-12",
        quick: &["duration=25s"],
        page: None,
        picture: "score-time",
        numbers: |plan, results, _| beside::fallback_12(plan, results),
    },
    Figure {
        id: "fallback-500",
        paper: "Fallback §7.5",
        scenario: "fallback-500",
        quick: &["group.*.rtt=20ms"],
        page: Some("fallback-500.html"),
        picture: "fallback-500",
        numbers: lights::fallback_500,
    },
    Figure {
        id: "fallback-wide",
        paper: "beyond Fallback §9",
        scenario: "fallback-wide",
        quick: &["link.rate=25mbit"],
        page: Some("fallback-wide.html"),
        picture: "fallback-wide",
        numbers: lights::fallback_wide,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_figure_has_a_scenario_a_page_of_docs_and_a_short_form() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/experiments");
        for Figure { id, scenario, quick, .. } in ALL {
            let bundled = l4s_scenario::bundled::find(scenario).expect(id);
            let whole = bundled.plan(&[]).expect(id);
            let quick: Vec<String> = quick.iter().map(|set| (*set).to_owned()).collect();
            let short = bundled.plan(&quick).expect(id);
            let seconds = |plan: &Plan| -> f64 {
                plan.points.iter().map(|point| point.scenario.duration.as_secs_f64()).sum()
            };
            assert!(seconds(&short) < seconds(&whole), "{id}");
            assert!(docs.join(format!("{id}.md")).is_file(), "{id} has no page");
        }
    }

    #[test]
    fn no_two_figures_are_called_alike() {
        let ids: BTreeSet<_> = ALL.iter().map(|figure| figure.id).collect();
        assert_eq!(ids.len(), ALL.len());
    }
}
