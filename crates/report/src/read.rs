//! Reads result folders, with the tables of those runs that get curves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use l4s_measure::{ResultError, Results, RunRecord};

use crate::gather::{Source, chosen, gather};
use crate::sketch;
use crate::{Data, ReportError, Sketch};

/// The scenario as run, in a result folder.
const SCENARIO: &str = "scenario.toml";

/// Everything that a report on these folders shows.
pub fn read(dirs: &[&Path]) -> Result<Data, ReportError> {
    let results: Vec<Results> =
        dirs.iter().map(|dir| Results::open(dir)).collect::<Result<_, _>>()?;
    let labels = labels(dirs, &results);
    let sources = dirs.iter().zip(&results).zip(labels);
    let sources: Vec<Source> = sources
        .map(|((dir, results), label)| source(dir, results, label))
        .collect::<Result<_, _>>()?;
    Ok(gather(env!("CARGO_PKG_VERSION"), &sources))
}

fn source(dir: &Path, results: &Results, label: String) -> Result<Source, ReportError> {
    if results.runs().is_empty() {
        return Err(ReportError::Empty { path: dir.to_owned() });
    }
    let summaries: Vec<_> = results.summaries().collect();
    let chosen: BTreeSet<usize> = chosen(&summaries).into_iter().collect();
    let mut sketches: BTreeMap<usize, Vec<Sketch>> =
        sketch::cells(&summaries).into_iter().map(|i| (i, sketch::blank(summaries[i]))).collect();
    // Sketches are made as tables pass by: all the rows of a big sweep would not fit in memory.
    let last = chosen.last().copied().max(sketches.keys().last().copied());
    let mut series = tables(results.series()?, &chosen, last, |i, rows| {
        if let Some(groups) = sketches.get_mut(&i) {
            sketch::rates(groups, summaries[i], rows);
        }
    })?;
    let mut delays = tables(results.delays()?, &chosen, last, |i, rows| {
        if let Some(groups) = sketches.get_mut(&i) {
            sketch::delays(groups, rows);
        }
    })?;
    let mut flows = tables(results.flows()?, &chosen, chosen.last().copied(), |_, _| ())?;
    let runs = results.runs().iter().enumerate().map(|(i, run)| RunRecord {
        summary: run.summary.clone(),
        command: run.command.clone(),
        series: series.remove(&i).unwrap_or_default(),
        delays: delays.remove(&i).unwrap_or_default(),
        flows: flows.remove(&i).unwrap_or_default(),
    });
    // A folder without its scenario still has its numbers: the report says less of them.
    let text = fs::read_to_string(dir.join(SCENARIO)).unwrap_or_default();
    Ok(Source { label, text, runs: runs.collect(), sketches })
}

/// The rows of the chosen runs; all up to the `last` run pass by `see`.
fn tables<R>(
    rows: impl Iterator<Item = Result<(u32, Vec<R>), ResultError>>,
    chosen: &BTreeSet<usize>,
    last: Option<usize>,
    mut see: impl FnMut(usize, &[R]),
) -> Result<BTreeMap<usize, Vec<R>>, ReportError> {
    let mut kept = BTreeMap::new();
    for run in rows {
        let (run, rows) = run?;
        let run = run as usize;
        see(run, &rows);
        if chosen.contains(&run) {
            kept.insert(run, rows);
        }
        if Some(run) >= last {
            break;
        }
    }
    Ok(kept)
}

/// What to call each folder: the shortest that tells them apart of its name, its substrate, both,
/// and its path.
fn labels(dirs: &[&Path], results: &[Results]) -> Vec<String> {
    let on = |results: &Results| {
        results.summaries().next().map_or_else(String::new, |summary| summary.on.clone())
    };
    let name =
        |dir: &Path| dir.file_name().unwrap_or(dir.as_os_str()).to_string_lossy().into_owned();
    let names: Vec<String> = dirs.iter().map(|dir| name(dir)).collect();
    let substrates: Vec<String> = results.iter().map(on).collect();
    let both = names.iter().zip(&substrates).map(|(name, on)| format!("{name} ({on})")).collect();
    let paths = dirs.iter().map(|dir| dir.display().to_string()).collect();
    let distinct =
        |labels: &Vec<String>| labels.iter().collect::<BTreeSet<_>>().len() == dirs.len();
    [names, substrates, both].into_iter().find(distinct).unwrap_or(paths)
}
