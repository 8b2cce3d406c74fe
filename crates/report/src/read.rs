//! Reads result folders, with the tables of those runs that get curves.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use l4s_measure::{
    DelayRow, FlowEnd, FlowRow, Results, RunRecord, Scope, SeriesName, SeriesRow, Summary,
};

use crate::gather::{Source, chosen, gather};
use crate::programs::ProgramFlows;
use crate::sketch;
use crate::thin::Lines;
use crate::{Data, MOST_SCENARIOS, ReportError, SCENARIOS, Sketch, TOO_LARGE};

/// The file of a result folder that holds the scenario as a person reads and runs it.
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
    let sketches: BTreeMap<usize, Vec<Sketch>> =
        sketch::cells(&summaries).into_iter().map(|i| (i, sketch::blank(summaries[i]))).collect();
    let mut tables = Tables { results, summaries: &summaries, chosen, sketches };
    let mut series = tables.series()?;
    let mut delays = tables.delays()?;
    let (mut flows, programs) = tables.flows()?;
    let Tables { sketches, .. } = tables;
    let runs = results.runs().iter().enumerate().map(|(i, run)| RunRecord {
        summary: run.summary.clone(),
        command: run.command.clone(),
        series: series.remove(&i).unwrap_or_default(),
        delays: delays.remove(&i).unwrap_or_default(),
        flows: flows.remove(&i).unwrap_or_default(),
    });
    // A folder without its scenario still has its numbers: the report says less of them.
    let file = |name: &str, most: u64| match dir.join(name).exists() {
        true => results.file(name, most).map(Some),
        false => Ok(None),
    };
    let text = file(SCENARIO, LONGEST)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let scenarios = file(SCENARIOS, MOST_SCENARIOS)?;
    let scenarios = scenarios.and_then(|json| serde_json::from_slice(&json).ok());
    Ok(Source { label, text, scenarios, runs: runs.collect(), sketches, programs })
}

/// Maximum bytes of a scenario, as in the reader of scenarios.
const LONGEST: u64 = 16 << 20;
/// The most bins of histograms that are read of a run: those of l4s have a few thousand per queue.
const BINS: usize = 500_000;
/// The most flows that are read of a run, evenly taken of more.
const FLOWS: usize = 1 << 18;

/// The tables of a folder, thinned as they are read: the rows kept of a run, however many it has, are
/// those that can be drawn.
struct Tables<'a> {
    results: &'a Results,
    summaries: &'a [&'a Summary],
    chosen: BTreeSet<usize>,
    sketches: BTreeMap<usize, Vec<Sketch>>,
}

/// The kept rows of runs, by their place.
type ByRun<R> = BTreeMap<usize, Vec<R>>;

impl Tables<'_> {
    /// Time series of chosen runs, thinned; sketches get their rates.
    fn series(&mut self) -> Result<ByRun<SeriesRow>, ReportError> {
        let wanted = |run: u32| self.is_wanted(run as usize);
        let Some(last) = self.last_wanted() else { return Ok(ByRun::new()) };
        let mut lines: BTreeMap<usize, Lines> = BTreeMap::new();
        self.results.each(wanted, last, |run, SeriesName { scope, name }| {
            lines.entry(run as usize).or_default().count(scope, &name);
        })?;
        let mut kept = ByRun::new();
        let Tables { results, summaries, chosen, sketches } = self;
        let mut finish = |run: usize, lines: Lines| {
            let rows = lines.into_rows();
            if let Some(groups) = sketches.get_mut(&run) {
                sketch::rates(groups, summaries[run], &rows);
            }
            if chosen.contains(&run) {
                kept.insert(run, rows);
            }
        };
        let mut present: Option<(usize, Lines)> = None;
        let wanted = |run: u32| lines.contains_key(&(run as usize));
        let mut counted = lines.clone();
        results.each(wanted, last, |run, row: SeriesRow| {
            let run = run as usize;
            if present.as_ref().is_none_or(|(known, _)| *known != run) {
                let next = counted.remove(&run).map(|lines| (run, lines));
                if let Some((run, lines)) = std::mem::replace(&mut present, next) {
                    finish(run, lines);
                }
            }
            if let Some((_, lines)) = &mut present {
                lines.add(row);
            }
        })?;
        if let Some((run, lines)) = present {
            finish(run, lines);
        }
        Ok(kept)
    }

    /// Histograms of the queues of chosen runs; sketches get their delays, of groups.
    fn delays(&mut self) -> Result<ByRun<DelayRow>, ReportError> {
        let Some(last) = self.last_wanted() else { return Ok(ByRun::new()) };
        let mut kept: ByRun<DelayRow> = ByRun::new();
        let mut of_groups: ByRun<DelayRow> = ByRun::new();
        let mut too_many = None;
        self.results.each(
            |run| self.is_wanted(run as usize),
            last,
            |run, row: DelayRow| {
                let run = run as usize;
                let rows = match row.scope {
                    Scope::Queue if self.chosen.contains(&run) => kept.entry(run).or_default(),
                    Scope::Group if self.sketches.contains_key(&run) => {
                        of_groups.entry(run).or_default()
                    }
                    _ => return,
                };
                match rows.len() < BINS {
                    true => rows.push(row),
                    false => too_many = Some(run),
                }
            },
        )?;
        if let Some(run) = too_many {
            return Err(ReportError::TooLarge(format!(
                "delays.parquet has more than {BINS} bins of run {}: {TOO_LARGE}",
                run + 1
            )));
        }
        for (run, rows) in of_groups {
            if let Some(groups) = self.sketches.get_mut(&run) {
                sketch::delays(groups, &rows);
            }
        }
        Ok(kept)
    }

    /// Downloads of chosen runs that ended, and the flows of their programs.
    fn flows(&self) -> Result<(ByRun<FlowRow>, BTreeMap<usize, ProgramFlows>), ReportError> {
        let (mut kept, mut programs) = (ByRun::new(), BTreeMap::<usize, ProgramFlows>::new());
        let Some(last) = self.chosen.last().map(|last| *last as u32) else {
            return Ok((kept, programs));
        };
        let wanted = |run: u32| self.chosen.contains(&(run as usize));
        let mut ended: BTreeMap<u32, usize> = BTreeMap::new();
        self.results.each(wanted, last, |run, flow: FlowEnd| {
            if flow.end_s.is_some() && flow.size.is_some() {
                *ended.entry(run).or_default() += 1;
            }
        })?;
        let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
        self.results.each(wanted, last, |run, flow: FlowRow| {
            if flow.protocol.is_some() {
                programs.entry(run as usize).or_default().add(flow);
            } else if flow.end_s.is_some() && flow.size.is_some() {
                let every = ended[&run].div_ceil(FLOWS);
                let number = seen.entry(run).or_default();
                if *number % every == 0 {
                    kept.entry(run as usize).or_default().push(flow);
                }
                *number += 1;
            }
        })?;
        programs.values_mut().for_each(ProgramFlows::settle);
        Ok((kept, programs))
    }

    fn is_wanted(&self, run: usize) -> bool {
        self.chosen.contains(&run) || self.sketches.contains_key(&run)
    }

    fn last_wanted(&self) -> Option<u32> {
        let last = self.chosen.last().max(self.sketches.keys().last());
        last.map(|last| *last as u32)
    }
}

/// A label for each folder: the shortest unique one of its name, its substrate, both,
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
