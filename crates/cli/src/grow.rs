//! A finished result folder takes more runs: further seeds, or further values of a sweep.

use std::collections::HashMap;
use std::path::Path;

use l4s_measure::files::Dir;
use l4s_measure::inventory::Inventory;
use l4s_measure::{ResultError, Results, Row, RowsByRun, Run, RunRecord};
use l4s_report::{MOST_SCENARIOS, SCENARIOS};
use l4s_scenario::{Plan, record};
use serde_json::Value;

use crate::failure::Failure;
use crate::folder::{Existing, Folder, Manifest, TABLE, aside, failed};
use crate::measured::settings;

/// Takes a folder with finished runs that are all of this plan, which has others too, and keeps them. `None` of any
/// other folder.
pub fn grown(
    path: &Path,
    manifest: &Manifest,
    plan: &Plan,
    commands: &[String],
) -> Result<Option<Folder>, Failure> {
    if !is_smaller(path, manifest) {
        return Ok(None);
    }
    let results = Results::open(path).map_err(failed)?;
    let Some(places) = places(&results, plan, commands)? else { return Ok(None) };
    let folder = Folder::claim(path, manifest, Existing::Renew)?;
    let results = Results::open(&aside(path)).map_err(failed)?;
    copy(&results, &places, &folder)?;
    say!("note: the {} runs of {} are kept", places.len(), path.display());
    Ok(Some(folder))
}

/// Whether the folder has finished results that differ from these in their runs alone. Traces and the outputs of programs are
/// no part of a run's record.
fn is_smaller(path: &Path, manifest: &Manifest) -> bool {
    let Ok(dir) = Dir::open(path) else { return false };
    let Ok(Some(list)) = Inventory::read(&dir) else { return false };
    let owner = serde_json::from_value(Value::Object(list.owner.clone()));
    owner.is_ok_and(|owner: Manifest| owner.has_fewer_runs_than(manifest))
        && !manifest.trace
        && !manifest.programs
        && list.is_complete(&dir, TABLE)
}

/// The numbers in the plan of the runs that there are; `None` if one of them is not in it.
fn places(
    results: &Results,
    plan: &Plan,
    commands: &[String],
) -> Result<Option<Vec<usize>>, Failure> {
    let failed = |error: serde_json::Error| Failure::Run(format!("{SCENARIOS}: {error}"));
    let scenarios = results.file(SCENARIOS, MOST_SCENARIOS).map_err(self::failed)?;
    let scenarios: Vec<Value> = serde_json::from_slice(&scenarios).map_err(failed)?;
    let numbers: HashMap<&str, usize> = commands.iter().map(String::as_str).zip(0..).collect();
    let mut places = Vec::new();
    for (run, scenario) in results.runs().iter().zip(&scenarios) {
        let Some(&number) = numbers.get(run.command.as_str()) else { return Ok(None) };
        let point = &plan.points[number];
        if run.summary.set != settings(point)
            || record(&point.scenario).map_err(failed)? != *scenario
        {
            return Ok(None);
        }
        places.push(number);
    }
    Ok(Some(places).filter(|places| places.len() == results.runs().len()))
}

/// Puts each run at its place in a new folder.
fn copy(results: &Results, places: &[usize], folder: &Folder) -> Result<(), Failure> {
    let series = &mut Table::new(results.series())?;
    let delays = &mut Table::new(results.delays())?;
    let flows = &mut Table::new(results.flows())?;
    for (number, (Run { summary, command, .. }, place)) in
        (0..).zip(results.runs().iter().zip(places))
    {
        let record = RunRecord {
            summary: summary.clone(),
            command: command.clone(),
            series: series.of(number)?,
            delays: delays.of(number)?,
            flows: flows.of(number)?,
        };
        folder.keep(*place, &record)?;
    }
    Ok(())
}

/// The rows of a table, run by run.
struct Table<R: Row> {
    rows: RowsByRun<R>,
    ahead: Option<(u32, Vec<R>)>,
}

impl<R: Row> Table<R> {
    fn new(rows: Result<RowsByRun<R>, ResultError>) -> Result<Table<R>, Failure> {
        Ok(Table { rows: rows.map_err(failed)?, ahead: None })
    }

    /// Those of a run, which are asked for in order.
    fn of(&mut self, number: u32) -> Result<Vec<R>, Failure> {
        if self.ahead.is_none() {
            self.ahead = self.rows.next().transpose().map_err(failed)?;
        }
        let rows = self.ahead.take_if(|(of, _)| *of == number);
        Ok(rows.map_or(Vec::new(), |(_, rows)| rows))
    }
}
