//! Values and exceptions of Python classes, with errors that name the method and the expected value.

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// The first exception of Python. From then on no method is called any more, and the run is given up.
#[derive(Clone, Debug, Default)]
pub struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// Takes the exception.
    pub fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

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

/// An instance of an algorithm, with `rng`: chance from this seed.
pub fn seeded(py: Python<'_>, make: &Py<PyAny>, seed: u64) -> PyResult<Py<PyAny>> {
    let instance = make.call0(py)?;
    let rng = py.import("random")?.call_method1("Random", (seed,))?;
    instance.setattr(py, "rng", rng)?;
    Ok(instance)
}

/// An algorithm as `make` makes it, to read its attributes.
pub struct Sample<'py> {
    /// The instance.
    pub instance: Bound<'py, PyAny>,
    base: Bound<'py, PyAny>,
}

impl<'py> Sample<'py> {
    /// The result of `make`, which is a `base` of `l4s`.
    pub fn of(make: &Bound<'py, PyAny>, base: &str) -> PyResult<Sample<'py>> {
        let class = make.py().import("l4s.algorithms")?.getattr(base)?;
        let instance = make.call0()?;
        if !instance.is_instance(&class)? {
            let shown = shown(&instance);
            let message =
                format!("{shown}: expected a subclass of l4s.{base}, or a function that makes one");
            return Err(PyTypeError::new_err(message));
        }
        Ok(Sample { instance, base: class })
    }

    /// Whether its class defines a method itself.
    ///
    /// # Errors
    /// It does so in a way in which the method would never run.
    pub fn defines(&self, method: &str) -> PyResult<bool> {
        let (py, class) = (self.instance.py(), self.class()?);
        // Numbers may have such a name: alpha, for one, is state of DCTCP's.
        let is_own = self.instance.getattr("__dict__")?.contains(method)?;
        if is_own && self.instance.getattr(method)?.is_callable() {
            let message =
                format!("{class}.{method} is set on the instance: define it in the class instead");
            return Err(refused(py, &message));
        }
        let function = self.instance.get_type().getattr(method)?;
        let inspect = py.import("inspect")?;
        for kind in ["isgeneratorfunction", "iscoroutinefunction", "isasyncgenfunction"] {
            if inspect.call_method1(kind, (&function,))?.is_truthy()? {
                let message = format!(
                    "{class}.{method} is a generator or a coroutine, whose body a call does not run: \
                     expected a function without yield and async"
                );
                return Err(refused(py, &message));
            }
        }
        Ok(!function.is(&self.base.getattr(method)?))
    }

    /// Refuses a method that its class defines, and nobody calls.
    pub fn never_called(&self, method: &str, why: &str) -> PyResult<()> {
        if !self.defines(method)? {
            return Ok(());
        }
        Err(refused(
            self.instance.py(),
            &format!("{}.{method} is never called: {why}", self.class()?),
        ))
    }
}

impl Sample<'_> {
    /// The name of its class, for messages.
    pub fn class(&self) -> PyResult<String> {
        self.instance.get_type().qualname().map(|name| name.to_string())
    }

    /// The value of an attribute, as `read` understands it.
    pub fn attribute<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Option<T>,
    ) -> PyResult<T> {
        let value = self.instance.getattr(name)?;
        let class = self.class()?;
        read(&value).ok_or_else(|| wrong(&format!("{class}.{name} ="), &value, expected))
    }

    /// An attribute that is true or not.
    pub fn flag(&self, name: &str) -> PyResult<bool> {
        self.attribute(name, "True or False", |value| value.extract().ok())
    }

    /// Its name in results.
    pub fn name(&self) -> PyResult<String> {
        self.attribute("name", "a text", |value| value.extract().ok())
    }
}

/// `l4s.AlgorithmError`.
pub fn refused(py: Python<'_>, message: &str) -> PyErr {
    let error = py.import("l4s.errors").and_then(|errors| errors.getattr("AlgorithmError"));
    error.and_then(|class| class.call1((message,))).map_or_else(|error| error, PyErr::from_value)
}

/// `l4s.AlgorithmError`: the value from Python, and the expected one.
pub fn wrong(said: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    // A value that is no number may look like one.
    let found = match value.get_type().name() {
        Ok(kind) if kind != "int" => format!("; found a {kind}"),
        _ => String::new(),
    };
    refused(value.py(), &format!("{said} {}: expected {expected}{found}", shown(value)))
}

/// A whole number in a range.
pub fn whole(
    said: &str,
    value: &Bound<'_, PyAny>,
    range: RangeInclusive<u64>,
    of: &str,
) -> PyResult<u64> {
    let good = value.extract::<i64>().ok().and_then(|number| u64::try_from(number).ok());
    good.filter(|number| range.contains(number)).ok_or_else(|| {
        wrong(said, value, &format!("{of}, from {} to {}", range.start(), range.end()))
    })
}

/// A number from 0 to 1, or nothing.
pub fn fraction(said: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    let good = |number: &Option<f64>| number.is_none_or(|n| (0.0..=1.0).contains(&n));
    let number = value.extract().ok().filter(good);
    number.ok_or_else(|| wrong(said, value, "0 to 1, or None"))
}

/// A truth value as Python writes it.
pub const fn truth(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

/// A value, for people.
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "an object without repr".to_owned(), |repr| repr.to_string())
}
