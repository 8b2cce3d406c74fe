//! The traffic lights of Fallback §7.5: their page, and their counts beside the paper's.

use std::path::Path;

use l4s_measure::Results;
use l4s_report::lights::{Counts, Lights, Said, read_lights, write_lights};
use l4s_scenario::Plan;

use super::beside::Row;
use crate::failure::Failure;

/// The 500 situations of the paper: writes the page into the folder, and gives the counts.
pub fn fallback_500(plan: &Plan, _: &Results, out: &Path) -> Result<Vec<Row>, Failure> {
    numbers(plan, out, Said::all())
}

/// Situations that the paper leaves open.
pub fn fallback_wide(plan: &Plan, _: &Results, out: &Path) -> Result<Vec<Row>, Failure> {
    numbers(plan, out, Vec::new())
}

fn numbers(plan: &Plan, out: &Path, paper: Vec<Said>) -> Result<Vec<Row>, Failure> {
    let failed = |error: l4s_report::ReportError| Failure::Run(error.to_string());
    let lights = read_lights(plan, out, paper).map_err(failed)?;
    write_lights(&lights, out).map_err(failed)?;
    Ok(rows(&lights))
}

fn rows(lights: &Lights) -> Vec<Row> {
    let mut rows = Vec::new();
    for (schedule, tally) in lights.schedules.iter().zip(&lights.tallies) {
        let name = &schedule.name;
        let said = lights.paper.iter().find(|said| said.schedule == *name);
        let counts = said.and_then(|said| said.counts);
        let print = |[right, amber, red]: [usize; 3]| {
            format!("{right} right, {amber} amber, {red} red of {}", right + amber + red)
        };
        rows.push(Row::new(name, counts.map(print), Some(counted(&tally.all))));
        let none = counts.map(|_| "0 unsafe".to_owned());
        let with = format!("{} unsafe of {}", tally.with_cubic.red, tally.with_cubic.sum());
        rows.push(Row::new(format!("{name}, with Cubic"), none, Some(with)));
        let amber: Vec<String> = (lights.rates.iter().zip(&tally.by_rate))
            .map(|(rate, counts)| format!("{} at {rate}", counts.amber))
            .collect();
        let theirs = said
            .and_then(|said| said.amber_by_rate)
            .map(|[a, b, c, d]| format!("{a} at 4mbit, {b} at 12mbit, {c} at 40mbit, {d} above"));
        if tally.all.amber > 0 || theirs.is_some() {
            rows.push(Row::new(format!("{name}, amber"), theirs, Some(amber.join(", "))));
        }
    }
    rows
}

fn counted(counts: &Counts) -> String {
    let Counts { right, rest, amber, red, unknown } = *counts;
    let mut text = format!("{right} right, {amber} amber, {red} red of {}", counts.sum());
    if rest > 0 {
        text += &format!("; {rest} of the right ones at rest");
    }
    if unknown > 0 {
        text += &format!("; {unknown} without a detector");
    }
    text
}
