//! Runs of scenarios, measured.

use l4s_measure::{EngineSummary, GroupSummary, Origin, Recorder, Summary};
use l4s_model::Scenario;
use l4s_scenario::Plan;

/// The first run of a text with these `KEY=VALUE` set.
pub fn scenario(text: &str, set: &[&str]) -> Scenario {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    let plan = Plan::parse("t.toml", text, &set).unwrap_or_else(|e| panic!("{e}"));
    plan.points[0].scenario.clone()
}

/// The summary of a run of this scenario.
pub fn summary_of(scenario: &Scenario) -> Summary {
    let mut recorder = Recorder::new(scenario, Origin::default());
    l4s_sim::run(scenario, &mut recorder);
    recorder.finish(EngineSummary::default()).summary
}

/// The numbers of a group.
pub fn group<'a>(summary: &'a Summary, name: &str) -> &'a GroupSummary {
    summary.groups.iter().find(|group| group.name == name).expect("a group of that name")
}

/// The rate of a group in Mb/s.
pub fn mbps(summary: &Summary, name: &str) -> f64 {
    group(summary, name).rate_bps / 1e6
}
