//! A scenario whose discipline or congestion controls are Python's.

use std::sync::{Arc, Mutex, PoisonError};

use l4s_scenario::Scenario;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::{aqm, cc};

/// What Python raised first. From then on nothing of it is asked any more, and the run is given up.
#[derive(Clone, Debug, Default)]
pub struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// Whether anything was.
    pub fn any(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// The value, unless something was raised now or before.
    pub fn unless<T>(&self, ask: impl FnOnce() -> PyResult<T>) -> Option<T> {
        if self.any() {
            return None;
        }
        match ask() {
            Ok(value) => Some(value),
            Err(error) => {
                *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                None
            }
        }
    }
}

/// An algorithm as `make` makes it, to see what it is like.
pub struct Sample<'py> {
    /// The instance.
    pub instance: Bound<'py, PyAny>,
    base: Bound<'py, PyAny>,
}

impl<'py> Sample<'py> {
    /// What `make` makes, which is a `base` of `l4s`.
    pub fn of(make: &Bound<'py, PyAny>, base: &str) -> PyResult<Sample<'py>> {
        let class = make.py().import("l4s.algorithms")?.getattr(base)?;
        let instance = make.call0()?;
        if !instance.is_instance(&class)? {
            let shown = shown(&instance);
            let message = format!("{shown}: expected a subclass of l4s.{base}, or what makes one");
            return Err(PyTypeError::new_err(message));
        }
        Ok(Sample { instance, base: class })
    }

    /// Whether its class defines a method itself.
    pub fn defines(&self, method: &str) -> PyResult<bool> {
        Ok(!self.instance.get_type().getattr(method)?.is(&self.base.getattr(method)?))
    }
}

/// A value, for people.
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "what cannot be shown".to_owned(), |repr| repr.to_string())
}

/// A scenario, and what Python has to say in it.
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

    /// What Python raised, if it did.
    pub fn failed(&self) -> PyResult<()> {
        match self.raised.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}
