//! One run in the simulator.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use l4s_measure::{Column, EngineSummary, Origin, Recorder, ResultWriter, RunRecord, table_of};
use l4s_scenario::Point;
use l4s_substrate::{Sim, Substrate};
use l4s_units::Time;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;

use crate::own::Own;
use crate::scenario::Run;
use crate::table::{Made, Table};

/// Everything that was measured of a run.
#[pyclass(frozen, module = "l4s._l4s")]
pub struct Record {
    record: RunRecord,
    wall: Duration,
}

/// Runs `run` to its end; `own` are a discipline and congestion controls of Python's, by group.
/// `progress` receives the time in nanoseconds of the run, some fifty times a second.
#[pyfunction]
#[pyo3(signature = (run, scenario, tables, sampling_ns=None, aqm=None, cc=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "one function, called by one of Python's")]
pub fn run(
    py: Python<'_>,
    run: &Run,
    scenario: &str,
    tables: bool,
    sampling_ns: Option<u64>,
    aqm: Option<Bound<'_, PyAny>>,
    cc: Option<Vec<(String, Py<PyAny>)>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Record> {
    if let Some(interval) = sampling_ns.filter(|_| tables) {
        run.check_sampling(interval)?;
    }
    let mut own = Own::new(run.point.scenario.clone());
    if let Some(aqm) = aqm {
        own.set_aqm(&aqm)?;
    }
    for (group, make) in cc.into_iter().flatten() {
        own.set_cc(py, &group, make)?;
    }
    let mut recorder = Recorder::new(own.scenario(), origin(&run.point, scenario));
    if !tables {
        recorder = recorder.without_series();
    }
    if let Some(interval) = sampling_ns {
        recorder = recorder.sampled_every(l4s_units::Duration::from_nanos(interval));
    }
    let start = Instant::now();
    let record = simulated(py, &own, recorder, progress)?;
    Ok(Record { record, wall: start.elapsed() })
}

/// Where the results of a run of this scenario come from.
pub(crate) fn origin(point: &Point, scenario: &str) -> Origin {
    let set = point.set.iter();
    Origin {
        on: "sim".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        code: env!("L4S_CODE").to_owned(),
        set: set.map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect(),
        command: point.command(scenario, "sim"),
    }
}

/// Runs the scenario. Python may stop it, and sees its progress.
pub(crate) fn simulated(
    py: Python<'_>,
    own: &Own,
    mut recorder: Recorder,
    progress: Option<Py<PyAny>>,
) -> PyResult<RunRecord> {
    let look = |now: Time| {
        Python::attach(|py| {
            own.failed()?;
            py.check_signals()?;
            if let Some(progress) = &progress {
                progress.call1(py, (now.as_nanos(),))?;
            }
            Ok(())
        })
    };
    let mut raised: PyResult<()> = Ok(());
    let mut watch = |now| {
        raised = look(now);
        if raised.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    Sim.check(own.scenario()).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let mut run = || l4s_simulate::simulate(own.scenario(), &mut recorder, &mut watch);
    // A run that asks Python for every packet keeps Python's lock: to release and to take it each
    // time would cost more than other threads gain.
    let ran = if own.is_python() { run() } else { py.detach(run) };
    raised?;
    own.failed()?;
    let events = ran.events.unwrap_or_default();
    Ok(recorder.finish(EngineSummary::of_virtual_time(ran.time, ran.packets, events)))
}

/// Writes the tables of runs, in order, into `folder`.
#[pyfunction]
pub fn write(py: Python<'_>, folder: PathBuf, records: Vec<Py<Record>>) -> PyResult<()> {
    let failed = |error: l4s_measure::ResultError| PyOSError::new_err(error.to_string());
    let records: Vec<&Record> = records.iter().map(Py::get).collect();
    py.detach(|| {
        let mut writer = ResultWriter::create(&folder)?;
        records.iter().try_for_each(|record| writer.add(&record.record))?;
        writer.finish()
    })
    .map_err(failed)
}

/// Summaries, as JSON, each with the command that repeats its run, as the rows of a table.
#[pyfunction]
pub fn table_of_runs(py: Python<'_>, runs: Vec<(String, String)>) -> PyResult<Table> {
    let table = py.detach(|| l4s_measure::table_of_summaries(&runs));
    Table::new(table)
}

/// Every column of every table: table, name, type, unit, the time that it covers, and its meaning.
#[pyfunction]
pub fn dictionary() -> Vec<(String, String, String, String, &'static str, String)> {
    let told = |column: Column| {
        let Column { table, name, kind, unit, over, meaning } = column;
        (table, name, kind, unit, over.name(), meaning)
    };
    l4s_measure::dictionary().into_iter().map(told).collect()
}

/// Runs in whole numbers, as the golden files of the simulator have them: for tests.
#[pyfunction]
pub fn golden(records: Vec<Py<Record>>) -> String {
    l4s_measure::golden(records.iter().map(|record| &record.get().record.summary))
}

#[pymethods]
impl Record {
    /// A pickle holds it as JSON, which loses nothing.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Made<'py, (Bound<'py, PyBytes>, f64)>> {
        let read = py.get_type::<Record>().getattr("_of_json")?;
        let json = serde_json::to_vec(&self.record);
        let json = json.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        Ok((read, (PyBytes::new(py, &json), self.wall.as_secs_f64())))
    }

    /// The record that a pickle holds.
    #[staticmethod]
    fn _of_json(json: &[u8], wall_s: f64) -> PyResult<Record> {
        let record = serde_json::from_slice(json)
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let wall = Duration::try_from_secs_f64(wall_s).unwrap_or_default();
        Ok(Record { record, wall })
    }

    /// The summary as JSON, without machine-dependent values.
    #[getter]
    fn summary(&self) -> PyResult<String> {
        serde_json::to_string(&self.record.summary)
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// The command that does the same.
    #[getter]
    fn command(&self) -> &str {
        &self.record.command
    }

    /// Seconds that it took.
    #[getter]
    fn wall_s(&self) -> f64 {
        self.wall.as_secs_f64()
    }

    /// Time series.
    #[getter]
    fn series(&self) -> PyResult<Table> {
        Table::new(table_of(0, &self.record.series))
    }

    /// Delay histograms.
    #[getter]
    fn delays(&self) -> PyResult<Table> {
        Table::new(table_of(0, &self.record.delays))
    }

    /// Flows and downloads.
    #[getter]
    fn flows(&self) -> PyResult<Table> {
        Table::new(table_of(0, &self.record.flows))
    }
}
