//! `--on linux`: the real kernel, its TCP and its queue disciplines, in virtual time.

use std::sync::OnceLock;

use l4s_linux::Virtual;
use l4s_model::Scenario;
use l4s_os::OsError;

use crate::reenter::{BOOT, GUEST, this_program};
use crate::{Error, Identity, Observe, Programs, Ran, Substrate, Watch};

const OPTION: &str = "--on linux";

/// `--on linux`: a kernel in virtual time, which is looked for when it is needed first.
#[derive(Debug, Default)]
pub struct Linux(OnceLock<Virtual>);

impl Linux {
    /// The kernel.
    fn virtual_kernel(&self) -> Result<&Virtual, Error> {
        if let Some(found) = self.0.get() {
            return Ok(found);
        }
        let kernel =
            l4s_linux::Kernel::find().map_err(|why| Error::Machine(format!("{OPTION}: {why}")))?;
        let found = Virtual::new(kernel, this_program(BOOT)?, vec![GUEST.to_owned()]);
        Ok(self.0.get_or_init(|| found))
    }

    /// The kernel's version and place, for people.
    pub(crate) fn kernel(&self) -> Result<String, Error> {
        let path = &self.virtual_kernel()?.kernel.path;
        Ok(format!("Linux {}: {}", l4s_linux::VERSION, path.display()))
    }
}

impl Identity for Linux {
    fn name(&self) -> &'static str {
        "linux"
    }

    fn has_virtual_time(&self) -> bool {
        true
    }
}

impl Substrate for Linux {
    fn check(&self, scenario: &Scenario) -> Result<Vec<String>, Error> {
        l4s_linux::check(scenario).map_err(failure)
    }

    fn prepare(&self, scenarios: &[&Scenario]) -> Result<Vec<String>, Error> {
        let notes = differences(scenarios, |scenario| self.check(scenario))?;
        self.virtual_kernel()?;
        for scenario in scenarios {
            l4s_lab::check_programs(scenario).map_err(failure)?;
        }
        Ok(notes)
    }

    fn run(
        &self,
        scenario: &Scenario,
        programs: &Programs,
        observer: &mut dyn Observe,
        _: &mut Watch,
    ) -> Result<Ran, Error> {
        let ran = self.virtual_kernel()?.run(scenario, programs.into(), observer.of_frames());
        ran.map(|ran| concluded(scenario, ran)).map_err(failure)
    }
}

/// Checks every scenario of a plan. Returns each kind of difference once, for people.
pub(crate) fn differences(
    scenarios: &[&Scenario],
    check: impl Fn(&Scenario) -> Result<Vec<String>, Error>,
) -> Result<Vec<String>, Error> {
    let mut noted: Vec<String> = Vec::new();
    for scenario in scenarios {
        let instead = check(scenario)?.join(", ");
        if instead.is_empty() {
            continue;
        }
        let kind = scenario.aqm.kind();
        let note = format!("with {kind}, Linux has {instead} in place of the scenario's settings");
        if !noted.contains(&note) {
            noted.push(note);
        }
    }
    Ok(noted)
}

/// How a run with a kernel as the router went.
pub(crate) fn concluded(scenario: &Scenario, ran: l4s_linux::Ran) -> Ran {
    Ran {
        time: scenario.duration,
        packets: ran.packets,
        lateness: ran.lateness.map(Into::into),
        counters: ran.counters,
        flows: ran.flows,
        instead: ran.instead,
        unfit: ran.unfit,
        ..Ran::default()
    }
}

fn failure(error: OsError) -> Error {
    Error::of(OPTION, error)
}
