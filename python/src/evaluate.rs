//! The evaluation of a congestion control by RFC 9743 and of a queue discipline by RFC 7928, built in or
//! Python's.

use l4s_evaluate::{CONTROLS, Column, DISCIPLINES, Runs, Subject, Suite, Verdict};
use l4s_measure::Recorder;
use l4s_scenario::{Plan, Point};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::own::Own;
use crate::refusal::refused;
use crate::returns::Sample;
use crate::run::{origin, simulated};

/// The runs of a chapter with the tested control or discipline, and the criteria that they are judged by.
#[pyclass(frozen, module = "l4s._l4s")]
pub struct Chapter {
    chapter: &'static l4s_evaluate::Chapter,
    plan: Plan,
    /// The text of the control or discipline, or the name of its class or function.
    entrant: String,
    /// The control or discipline where it is Python's.
    own: Option<Py<PyAny>>,
}

/// A run with the results that criteria look at.
#[pyclass(frozen, module = "l4s._l4s")]
pub struct Judged(l4s_evaluate::Judged);

/// The verdicts on the criteria of a chapter.
#[pyclass(frozen, module = "l4s._l4s")]
pub struct Verdicts(Vec<Verdict>);

/// Every chapter for `entrant`: a text as on the command line, or a callable that makes a `CongestionControl`, or
/// where `of_aqms` an `Aqm`.
#[pyfunction]
pub fn chapters(entrant: &Bound<'_, PyAny>, quick: bool, of_aqms: bool) -> PyResult<Vec<Chapter>> {
    let text: Option<String> = entrant.extract().ok();
    let name = match &text {
        Some(text) => text.clone(),
        None => name_of(entrant, if of_aqms { "Aqm" } else { "CongestionControl" })?,
    };
    let of = |chapter: &'static l4s_evaluate::Chapter| {
        let plan = chapter.plan(text.as_deref(), quick);
        let plan = plan.map_err(|error| refused(entrant.py(), &error))?;
        let own = text.is_none().then(|| entrant.clone().unbind());
        Ok(Chapter { chapter, plan, entrant: name.clone(), own })
    };
    suite(of_aqms).chapters.iter().map(of).collect()
}

/// The evaluation of queue disciplines, or of congestion controls.
fn suite(of_aqms: bool) -> &'static Suite {
    if of_aqms { &DISCIPLINES } else { &CONTROLS }
}

/// The name of a class or function, or where that has none of the class that it makes, which is a `base`.
fn name_of(make: &Bound<'_, PyAny>, base: &str) -> PyResult<String> {
    let class = Sample::of(make, base)?.class()?;
    let own: Option<String> = make.getattr("__name__").and_then(|name| name.extract()).ok();
    let name = own.filter(|name| name != "<lambda>").unwrap_or(class);
    Ok(name.rsplit('.').next().unwrap_or(&name).to_owned())
}

#[pymethods]
impl Chapter {
    /// The text of the control or discipline, or the name of its class or function.
    #[getter]
    fn entrant(&self) -> &str {
        &self.entrant
    }

    /// Its name, such as `overload`.
    #[getter]
    fn name(&self) -> &'static str {
        self.chapter.name()
    }

    fn __len__(&self) -> usize {
        self.plan.points.len()
    }

    /// Makes run `number`, from 0. `progress` receives its time, as that of `run`.
    #[pyo3(signature = (number, progress=None))]
    fn run(&self, py: Python<'_>, number: usize, progress: Option<Py<PyAny>>) -> PyResult<Judged> {
        let point = self.plan.points.get(number);
        let point = point.ok_or_else(|| PyIndexError::new_err("no run of that number"))?;
        let mut own = Own::new(point.scenario.clone());
        if let Some(make) = &self.own {
            match self.chapter.subject {
                Subject::Discipline => own.set_aqm(make.bind(py))?,
                Subject::Control(groups) => {
                    for group in groups {
                        own.set_cc(py, group, make.clone_ref(py))?;
                    }
                }
            }
        }
        let recorder = Recorder::new(own.scenario(), origin(point, self.chapter.scenario));
        let mut record = simulated(py, &own, recorder, progress)?;
        if self.own.is_some() {
            record.command = self.call(point);
        }
        // Some criteria depend on the ECN that a control asks for.
        let point = Point { scenario: own.scenario().clone(), ..point.clone() };
        Ok(Judged(py.detach(|| l4s_evaluate::Judged::new(point, record))))
    }

    /// Judges all of its runs, in order.
    fn judge(&self, runs: Vec<Py<Judged>>) -> Verdicts {
        let runs: Vec<_> = runs.iter().map(|run| run.get().0.clone()).collect();
        Verdicts(l4s_evaluate::judge(self.chapter, Ok(Runs(&runs))))
    }
}

impl Chapter {
    /// The call in Python that makes a run of a control or discipline of Python's.
    fn call(&self, point: &Point) -> String {
        let set = point.pins.iter().map(|(key, value)| format!("{key:?}: {value:?}"));
        let set: Vec<String> = set.collect();
        let entrant = match self.chapter.subject {
            Subject::Discipline => format!("aqm={}", self.entrant),
            Subject::Control(groups) => {
                let cc = groups.iter().map(|group| format!("{group:?}: {}", self.entrant));
                format!("cc={{{}}}", cc.collect::<Vec<String>>().join(", "))
            }
        };
        let (scenario, seed) = (self.chapter.scenario, point.scenario.seed);
        let set = set.join(", ");
        format!("l4s.run(l4s.Scenario({scenario:?}).with_({{{set}}}, seed={seed}), {entrant})")
    }
}

/// The verdicts on the control or discipline `name` as JSON, as a table in Markdown, and as a page. `how` is the
/// call that made them.
#[pyfunction]
pub fn written(
    name: String,
    chapters: Vec<Py<Verdicts>>,
    quick: bool,
    of_aqms: bool,
    how: &str,
) -> (String, String, String) {
    let verdicts = chapters.iter().flat_map(|chapter| chapter.get().0.clone()).collect();
    let columns = [Column { name, verdicts, folders: Vec::new() }];
    let suite = suite(of_aqms);
    let (version, code) = (env!("CARGO_PKG_VERSION"), env!("L4S_CODE"));
    (
        l4s_evaluate::json(suite, &columns, "sim", quick, version, code),
        l4s_evaluate::markdown(suite, &columns),
        l4s_evaluate::html(suite, &columns, code, how),
    )
}
