//! Runs of scenarios, measured.

use l4s_measure::{EngineSummary, Origin, Recorder, Summary};
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
