//! The faults of a scenario, as an exception.

use l4s_scenario::{Faults, Refused};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// `l4s.ScenarioError` with the words of the command line.
pub fn refused(py: Python<'_>, refused: &Refused) -> PyErr {
    let faults = match refused {
        Refused::Scenario(faults) => described(py, faults),
        Refused::Unreadable { .. } => Ok(Vec::new()),
    };
    let error = faults.and_then(|faults| {
        let class = py.import("l4s.errors")?.getattr("ScenarioError")?;
        class.call1((refused.report(), faults))
    });
    error.map_or_else(|error| error, PyErr::from_value)
}

fn described<'py>(py: Python<'py>, faults: &Faults) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let describe = |fault: &l4s_scenario::Fault| {
        let one = PyDict::new(py);
        one.set_item("source", &fault.source_name)?;
        one.set_item("line", fault.line)?;
        one.set_item("column", fault.column)?;
        one.set_item("key", fault.key())?;
        one.set_item("message", &fault.message)?;
        one.set_item("help", fault.help.as_deref())?;
        Ok(one)
    };
    faults.0.iter().map(describe).collect()
}
