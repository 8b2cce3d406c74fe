//! `--on qdisc`: real TCP through a queue discipline of this machine's kernel, in real time.

use std::sync::{Mutex, PoisonError};

use l4s_lab::Control;
use l4s_linux::Real;
use l4s_model::{Group, Scenario};
use l4s_os::OsError;

use crate::controls::Controls;
use crate::linux::{concluded, differences};
use crate::reenter::{ROUTER, parts, this_program};
use crate::{Error, Identity, Observe, Programs, Ran, Substrate, Watch};

const OPTION: &str = "--on qdisc";

/// `--on qdisc`: this machine's kernel as the router.
pub struct Qdisc {
    controls: Mutex<Controls>,
    real: Real,
}

impl Qdisc {
    /// The substrate, with nothing loaded yet.
    ///
    /// # Errors
    /// This program cannot be started again.
    pub fn new() -> Result<Qdisc, Error> {
        let real = Real { router: this_program(ROUTER)?, parts: parts() };
        Ok(Qdisc { controls: Mutex::new(Controls::new(OPTION)), real })
    }

    fn with_controls<T>(&self, act: impl FnOnce(&mut Controls) -> T) -> T {
        act(&mut self.controls.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn control(&self, group: &Group) -> Control {
        self.with_controls(|controls| controls.of(group))
    }

    /// The fault of each of these disciplines in this machine's kernel, if it has one.
    pub(crate) fn faults<'a>(
        &self,
        aqms: impl Iterator<Item = &'a l4s_aqm::Config>,
    ) -> Result<Vec<Option<String>>, Error> {
        self.real.disciplines(aqms).map_err(failure)
    }

    /// Whether this machine's kernel has a discipline of that name.
    pub(crate) fn has(&self, kind: &str) -> Result<bool, Error> {
        self.real.has(kind).map_err(failure)
    }
}

impl Identity for Qdisc {
    fn name(&self) -> &'static str {
        "qdisc"
    }

    fn has_virtual_time(&self) -> bool {
        false
    }
}

impl Substrate for Qdisc {
    fn check(&self, scenario: &Scenario) -> Result<Vec<String>, Error> {
        l4s_linux::host::check(scenario, |group| self.control(group)).map_err(failure)
    }

    fn prepare(&self, scenarios: &[&Scenario]) -> Result<Vec<String>, Error> {
        for scenario in scenarios {
            self.with_controls(|controls| controls.provide(scenario))?;
            l4s_lab::check_programs(scenario).map_err(failure)?;
        }
        let notes = differences(scenarios, |scenario| self.check(scenario))?;
        let each = scenarios.iter().copied();
        if let Some(why) = self.real.missing(each.clone()).map_err(failure)? {
            return Err(Error::Machine(format!(
                "{OPTION}: {why}; `l4s doctor` says which it has, and `--vm` brings a kernel that \
                 has all"
            )));
        }
        self.real.rehearse(each, |group| self.control(group)).map_err(failure)?;
        Ok(notes)
    }

    fn run(
        &self,
        scenario: &Scenario,
        programs: &Programs,
        observer: &mut dyn Observe,
        _: &mut Watch,
    ) -> Result<Ran, Error> {
        let ran = self.real.run(
            scenario,
            programs.into(),
            |group| self.control(group),
            observer.of_frames(),
        );
        ran.map(|ran| concluded(scenario, ran)).map_err(failure)
    }
}

fn failure(error: OsError) -> Error {
    Error::of(OPTION, error)
}
