//! The results that statements are checked against: the runs of a figure, their courses over time
//! and their traffic lights.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::Path;

use l4s_measure::{Results, Summary};
use l4s_report::lights::{Lights, read_lights};
use l4s_scenario::Plan;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::course::Course;
use crate::lights;

/// A table of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Table {
    /// The runs of the figure.
    #[default]
    Runs,
    /// The counts of its traffic lights (Fallback §7.5): a row per schedule of AQMs.
    Lights,
}

/// The results of a figure. Each part is read when it is asked for.
pub struct Evidence<'a> {
    plan: &'a Plan,
    results: &'a Results,
    folder: &'a Path,
    runs: OnceCell<Vec<Subject>>,
    lights: OnceCell<Vec<Subject>>,
    courses: OnceCell<Vec<Course>>,
}

/// A row of numbers: a run, or the traffic lights of a schedule.
pub(crate) struct Subject {
    /// Its place among its kind.
    number: usize,
    /// The settings that distinguish it from the others.
    set: Map<String, Value>,
    /// Its quantities by column, settings included.
    pub row: Map<String, Value>,
}

impl<'a> Evidence<'a> {
    /// The evidence in a result folder.
    pub fn new(plan: &'a Plan, results: &'a Results, folder: &'a Path) -> Evidence<'a> {
        let (runs, lights, courses) = Default::default();
        Evidence { plan, results, folder, runs, lights, courses }
    }

    pub(crate) fn rows(&self, table: Table) -> &[Subject] {
        match table {
            Table::Runs => self.runs.get_or_init(|| {
                self.results.summaries().enumerate().map(|(n, run)| Subject::run(n, run)).collect()
            }),
            Table::Lights => self.lights.get_or_init(|| {
                let lights = read_lights(self.plan, self.folder, Vec::new());
                lights.map_or(Vec::new(), |lights| Subject::lights(&lights))
            }),
        }
    }

    /// The row that has `changed` set and all other settings as `subject`; `None` if `changed` is
    /// empty.
    pub(crate) fn other(
        &self,
        table: Table,
        subject: &Subject,
        changed: &BTreeMap<String, String>,
    ) -> Option<&Subject> {
        let same = |other: &Subject| {
            let keys = other.set.keys().chain(subject.set.keys());
            let mut kept = keys.filter(|key| !changed.contains_key(*key));
            kept.all(|key| other.set.get(key) == subject.set.get(key))
        };
        let mut rows = self.rows(table).iter().filter(|_| !changed.is_empty());
        rows.find(|other| other.is(changed) && same(other))
    }

    /// The course of a run; `None` where the tables cannot be read.
    pub(crate) fn course(&self, subject: &Subject) -> Option<&Course> {
        let read = || Course::all(self.plan, self.results).unwrap_or_default();
        self.courses.get_or_init(read).get(subject.number)
    }

    /// The time of the first change of a run's scenario, in seconds; 0 if there is none.
    pub(crate) fn change_s(&self, subject: &Subject) -> f64 {
        let point = self.plan.points.get(subject.number);
        let first = point.and_then(|point| point.scenario.changes.first());
        first.map_or(0.0, |change| change.time.as_secs_f64())
    }

    /// A column of the group's bins of sizes that are within `from` to `to` bytes and of which at least
    /// `least` flows completed.
    pub(crate) fn completion(
        &self,
        subject: &Subject,
        group: &str,
        column: &str,
        [from, to, least]: [f64; 3],
    ) -> Vec<f64> {
        let run = self.results.runs().get(subject.number);
        let bins = run.map_or(&[][..], |run| &run.summary.completion);
        let ours = bins.iter().filter(|bin| {
            let [begin, end] = bin.bin_bytes.map(|bytes| bytes as f64);
            bin.group == group && begin >= from && end <= to && bin.flows as f64 >= least
        });
        let name = |[from, to]: [u64; 2]| format!("completion_{group}_{from}_{to}_{column}");
        ours.filter_map(|bin| subject.row.get(&name(bin.bin_bytes))?.as_f64()).collect()
    }
}

impl Subject {
    fn run(number: usize, summary: &Summary) -> Subject {
        Subject { number, set: summary.set.clone(), row: summary.row() }
    }

    fn lights(lights: &Lights) -> Vec<Subject> {
        let schedules = lights.schedules.iter().zip(&lights.tallies).enumerate();
        let rows = schedules.map(|(number, (schedule, tally))| {
            let set =
                Map::from_iter([("schedule".to_owned(), Value::from(schedule.name.as_str()))]);
            let numbers = lights::columns(tally).into_iter();
            let row = numbers.map(|(name, count)| (name.to_owned(), Value::from(count)));
            Subject { number, set, row: row.collect() }
        });
        rows.collect()
    }

    /// Whether its settings are the selected ones.
    pub(crate) fn is(&self, wanted: &BTreeMap<String, String>) -> bool {
        wanted.iter().all(|(key, accepted)| {
            let found = self.set.get(key).and_then(Value::as_str);
            found.is_some_and(|found| is_one_of(found, accepted))
        })
    }
}

/// Whether a setting is one of the accepted ones. They are separated by `|`; one that ends with `*`
/// accepts every setting that begins so.
pub(crate) fn is_one_of(found: &str, accepted: &str) -> bool {
    accepted.split('|').any(|accepted| match accepted.strip_suffix('*') {
        Some(beginning) => found.starts_with(beginning),
        None => found == accepted,
    })
}
