//! A scenario whose discipline or congestion controls are Python's.

use l4s_model::Scenario;
use pyo3::prelude::*;

use crate::returns::Raised;
use crate::{aqm, cc};

/// Refuses anything but a function that makes a discipline, or where not `of_aqms` a congestion control, that
/// can run.
#[pyfunction]
pub fn check(make: &Bound<'_, PyAny>, of_aqms: bool) -> PyResult<()> {
    let raised = Raised::default();
    match of_aqms {
        true => aqm::config(make, raised).map(drop),
        false => cc::config(make.py(), make.clone().unbind(), raised).map(drop),
    }
}

/// A scenario, and the algorithms of Python in it.
pub struct Own {
    scenario: Scenario,
    raised: Raised,
    is_python: bool,
}

impl Own {
    /// Nothing of it is Python's yet.
    pub fn new(scenario: Scenario) -> Own {
        Own { scenario, raised: Raised::default(), is_python: false }
    }

    /// As it is run.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Whether Python is asked while it runs.
    pub fn is_python(&self) -> bool {
        self.is_python
    }

    /// The bottleneck has a discipline that `make` makes.
    pub fn set_aqm(&mut self, make: &Bound<'_, PyAny>) -> PyResult<()> {
        let config = aqm::config(make, self.raised.clone())?;
        self.scenario.aqm = l4s_aqm::Config::Foreign(config);
        self.is_python = true;
        Ok(())
    }

    /// The flows of `group` have congestion controls that `make` makes.
    pub fn set_cc(&mut self, py: Python<'_>, group: &str, make: Py<PyAny>) -> PyResult<()> {
        let config = cc::config(py, make, self.raised.clone())?;
        if let Some(group) = self.scenario.groups.iter_mut().find(|known| known.name == group) {
            group.cc = l4s_cc::Config::Foreign(config);
            self.is_python = true;
        }
        Ok(())
    }

    /// The exception of Python, if one was raised.
    pub fn failed(&self) -> PyResult<()> {
        self.raised.take().map_or(Ok(()), Err)
    }
}
