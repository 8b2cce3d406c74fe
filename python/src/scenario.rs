//! Scenarios: their text, the settings that vary, and each run of them.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use l4s_measure::{Quantities, Summary, series_rows};
use l4s_scenario::{
    Assert, Files, Point, Refused, bundled as all_bundled, copies, show, with_copy,
};
use l4s_units::Duration;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::refusal::refused;

/// Several threads check this number of runs. For a smaller one they are not worth their start.
const MANY: usize = 500;

/// The most rows of the time series of a run: several gigabytes.
const MOST_ROWS: u64 = 50_000_000;

/// A scenario as it was read, with every run of it.
#[pyclass(frozen, module = "l4s._l4s")]
pub struct Plan {
    plan: l4s_scenario::Plan,
    source: String,
}

/// One run: a scenario with nothing left open.
#[pyclass(frozen, module = "l4s._l4s")]
#[derive(Clone)]
pub struct Run {
    pub point: Point,
    question: Option<String>,
}

/// Reads `text` under the name `name`, with `KEY=VALUE` set, and files that it names relative to
/// `folder`; where `text` is `None`, `name` is that of a bundled scenario, or of a file.
#[pyfunction]
#[pyo3(signature = (name, text, settings, folder))]
pub fn plan(
    py: Python<'_>,
    name: &str,
    text: Option<&str>,
    settings: Vec<String>,
    folder: PathBuf,
) -> PyResult<Plan> {
    let files = Files::of(name).within(folder);
    let plan = py.detach(|| match text {
        Some(text) => {
            l4s_scenario::Plan::parse_with(name, text, &settings, &files).map_err(Refused::from)
        }
        None => l4s_scenario::Plan::open(name, &settings),
    });
    let bundled = all_bundled::find(name).filter(|_| text.is_none());
    let source = bundled.map_or(name.to_owned(), |bundled| format!("{}.toml", bundled.name));
    plan.map(|plan| Plan { plan, source }).map_err(|error| refused(py, &error))
}

/// The text of a scenario, read once. Many runs can be made of it.
#[pyclass(frozen, module = "l4s._l4s")]
pub struct Template {
    template: l4s_scenario::Template,
}

#[pymethods]
impl Template {
    #[new]
    fn new(py: Python<'_>, name: &str, text: &str, folder: PathBuf) -> PyResult<Template> {
        let files = Files::of(name).within(folder);
        l4s_scenario::Template::parse(name, text)
            .map(|template| Template { template: template.with_files(files) })
            .map_err(|faults| refused(py, &Refused::from(faults)))
    }

    /// The first run with these `KEY=VALUE` set.
    fn run(&self, py: Python<'_>, settings: Vec<String>) -> PyResult<Run> {
        match self.template.first(&settings) {
            Ok(mut plan) => Ok(Run { point: plan.points.remove(0), question: plan.question }),
            Err(faults) => Err(refused(py, &Refused::from(faults))),
        }
    }

    /// The identity of each of many runs, given by their settings: sixteen digits, the same on
    /// every machine. All are checked.
    fn keys(&self, py: Python<'_>, settings: Vec<Vec<String>>) -> PyResult<Vec<String>> {
        let template = &self.template;
        let key = |set: &Vec<String>| template.first(set).map(|plan| identity(&plan.points[0]));
        let keys = py.detach(|| {
            // Threads of its own: those of a pool for all calls are not there in a forked process.
            let many = settings.len() >= MANY;
            match many.then(|| rayon::ThreadPoolBuilder::new().build().ok()).flatten() {
                Some(pool) => pool.install(|| settings.par_iter().map(key).collect()),
                None => settings.iter().map(key).collect::<Result<_, _>>(),
            }
        });
        keys.map_err(|faults| refused(py, &Refused::from(faults)))
    }
}

/// The bundled scenarios: name, text, and the question that each answers.
#[pyfunction]
pub fn bundled(py: Python<'_>) -> PyResult<Vec<(&'static str, &'static str, Option<String>)>> {
    let described = |bundled: &all_bundled::Bundled| {
        let name = format!("{}.toml", bundled.name);
        l4s_scenario::Plan::first(&name, bundled.text, &[])
            .map(|plan| (bundled.name, bundled.text, plan.question))
            .map_err(|faults| refused(py, &Refused::from(faults)))
    };
    all_bundled::ALL.iter().map(described).collect()
}

#[pymethods]
impl Plan {
    /// The name of the scenario.
    #[getter]
    fn name(&self) -> &str {
        &self.plan.name
    }

    /// The name of its text in messages.
    #[getter]
    fn source(&self) -> &str {
        &self.source
    }

    /// The question that it answers.
    #[getter]
    fn question(&self) -> Option<&str> {
        self.plan.question.as_deref()
    }

    /// Its text, as read.
    #[getter]
    fn text(&self) -> &str {
        &self.plan.text
    }

    /// The settings that vary from run to run: keys and their values, as shown.
    #[getter]
    fn sweep(&self) -> Vec<(String, Vec<String>)> {
        self.plan.sweep.clone()
    }

    fn __len__(&self) -> usize {
        self.plan.points.len()
    }

    /// Run `number`, from 0.
    fn run(&self, number: usize) -> PyResult<Run> {
        let point = self.plan.points.get(number).cloned();
        let point = point
            .ok_or_else(|| pyo3::exceptions::PyIndexError::new_err("no run of that number"))?;
        Ok(Run { point, question: self.plan.question.clone() })
    }
}

#[pymethods]
impl Run {
    /// The `KEY=VALUE` that make its scenario just this run.
    #[getter]
    fn pins(&self) -> Vec<String> {
        let seed = ("seed".to_owned(), self.point.scenario.seed.to_string());
        let pins = self.point.pins.iter().chain([&seed]);
        pins.map(|(key, value)| format!("{key}={value}")).collect()
    }

    /// The scenario as the model's JSON, in a list, for the reports of result folders.
    fn model(&self) -> PyResult<String> {
        l4s_scenario::record(&self.point.scenario)
            .and_then(|scenario| serde_json::to_string(&[scenario]))
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The settings of the sweep and the call, as shown, without the seed.
    #[getter]
    fn set(&self) -> Vec<(String, String)> {
        self.point.set.clone()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.point.scenario.seed
    }

    /// Its length, in nanoseconds.
    #[getter]
    fn duration_ns(&self) -> u64 {
        self.point.scenario.duration.as_nanos()
    }

    /// The names of its groups of TCP flows.
    #[getter]
    fn groups(&self) -> Vec<String> {
        self.point.scenario.groups.iter().map(|group| group.name.clone()).collect()
    }

    /// It as TOML, with every default spelled out.
    fn show(&self) -> String {
        show(&self.point, self.question.as_deref())
    }

    /// As `show`, where the link follows the copy of its trace beside the text.
    fn show_with_copy(&self) -> String {
        show(&with_copy(&self.point), self.question.as_deref())
    }

    /// The copy of the file that its link follows: name and contents; none without one.
    fn copies(&self) -> PyResult<BTreeMap<String, Vec<u8>>> {
        copies([&self.point.scenario]).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Its identity: sixteen digits, the same on every machine.
    fn key(&self) -> String {
        identity(&self.point)
    }

    /// Raises where time series with samples this number of nanoseconds apart are larger than memory.
    pub(crate) fn check_sampling(&self, interval: u64) -> PyResult<()> {
        let scenario = &self.point.scenario;
        let rows = series_rows(scenario, Some(Duration::from_nanos(interval)));
        if rows <= MOST_ROWS {
            return Ok(());
        }
        let of_a_sample = series_rows(scenario, Some(Duration::from_nanos(u64::MAX)));
        let samples = (MOST_ROWS / of_a_sample).max(1);
        let least = scenario.duration.as_nanos() / samples + 1;
        let [found, least] = [interval, least].map(|nanos| nanos as f64 / 1e9);
        Err(PyValueError::new_err(format!(
            "sampling_s = {found}: {rows} rows of time series, and memory has room for {MOST_ROWS}: \
             expected at least {least}, or tables=False"
        )))
    }

    /// A note for people whose settings are seldom intended.
    fn advice(&self) -> Option<String> {
        l4s_scenario::advice(&self.point.scenario)
    }

    /// The assertions that do not hold of a summary of the run, given as JSON, each with the expected
    /// and the measured value.
    fn unmet(&self, summary: &str) -> PyResult<Vec<String>> {
        let summary: Summary = serde_json::from_str(summary)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let quantities = Quantities::of(&summary);
        let unmet = |assert: &Assert| {
            let unmet = assert.that.unmet(&quantities)?;
            Some(format!("{}: {unmet}", assert.that.text()))
        };
        Ok(self.point.asserts.iter().filter_map(unmet).collect())
    }

    fn __eq__(&self, other: &Run) -> bool {
        self.point.scenario == other.point.scenario
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        format!("{:?}", self.point.scenario).hash(&mut hasher);
        hasher.finish()
    }
}

/// The fingerprint of all that a run's results depend on. The order of settings is not part of it.
fn identity(Point { set, pins, scenario, asserts: _ }: &Point) -> String {
    let sorted = |settings: &[(String, String)]| {
        let mut settings = settings.to_vec();
        settings.sort();
        settings
    };
    l4s_scenario::fingerprint(format!("{:?}", (sorted(set), sorted(pins), scenario)).as_bytes())
}
