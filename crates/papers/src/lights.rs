//! The traffic lights of Fallback §7.5: their page, and their counts.

use std::path::Path;

use l4s_measure::Results;
use l4s_report::lights::{Counts, Lights, Said, Tally, read_lights, write_lights};
use l4s_scenario::Plan;

use crate::{Error, Row};

/// The 500 situations of the paper: writes the page into the folder, and gives the counts.
pub fn fallback_500(plan: &Plan, _: &Results, out: &Path) -> Result<Vec<Row>, Error> {
    numbers(plan, out, Said::all())
}

/// Situations that the paper leaves open.
pub fn beyond(plan: &Plan, _: &Results, out: &Path) -> Result<Vec<Row>, Error> {
    numbers(plan, out, Vec::new())
}

fn numbers(plan: &Plan, out: &Path, paper: Vec<Said>) -> Result<Vec<Row>, Error> {
    let lights = read_lights(plan, out, paper).map_err(Error::Read)?;
    write_lights(&lights, out).map_err(Error::Write)?;
    Ok(rows(&lights))
}

fn rows(lights: &Lights) -> Vec<Row> {
    let mut rows = Vec::new();
    for (schedule, tally) in lights.schedules.iter().zip(&lights.tallies) {
        let name = &schedule.name;
        rows.push(Row::new(name, counted(&tally.all)));
        let with = format!("{} unsafe of {}", tally.with_cubic.red, tally.with_cubic.sum());
        rows.push(Row::new(format!("{name}, with Cubic"), with));
        if tally.all.amber > 0 {
            let amber: Vec<String> = (lights.rates.iter().zip(&tally.by_rate))
                .map(|(rate, counts)| format!("{} at {rate}", counts.amber))
                .collect();
            rows.push(Row::new(format!("{name}, amber"), amber.join(", ")));
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

/// The columns of the traffic lights of a schedule: counts of situations, in all, where a Cubic flow
/// takes part, and at the two lowest link rates.
pub(crate) fn columns(tally: &Tally) -> [(&'static str, usize); 6] {
    let Tally { all, with_cubic, by_rate, .. } = tally;
    [
        ("all", all.sum()),
        ("all_amber", all.amber),
        ("all_red", all.red),
        ("with_cubic", with_cubic.sum()),
        ("with_cubic_red", with_cubic.red),
        ("slow_amber", by_rate.iter().take(2).map(|counts| counts.amber).sum()),
    ]
}
