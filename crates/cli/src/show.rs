//! `l4s show`: a scenario with every default spelled out.

use l4s_scenario::{Plan, shell_word};

use crate::failure::Failure;
use crate::print;

/// Prints the first run of `scenario` as a file that can be run again.
pub fn show(scenario: &str, set: &[String]) -> Result<(), Failure> {
    let plan = Plan::open(scenario, set)?;
    let mut text = String::new();
    if plan.points.len() > 1 {
        text += &format!(
            "# {} is a sweep of {} runs. This is the first; `--set` chooses another of\n",
            plan.name,
            plan.points.len()
        );
        for (key, values) in &plan.sweep {
            let words = values.iter().map(|value| match value.contains(',') {
                true => shell_word(value),
                false => value.clone(),
            });
            text += &format!("#   {key}: {}\n", words.collect::<Vec<_>>().join(", "));
        }
        text.push('\n');
    }
    text += &l4s_scenario::show(&plan.points[0], plan.question.as_deref());
    print(&text)
}
