//! `--on linux`: the real kernel, its TCP and its queue disciplines, in virtual time.

use std::process::ExitCode;

use l4s_lab::Frame;
use l4s_linux::{Ran, Virtual};
use l4s_measure::EngineSummary;
use l4s_model::Scenario;
use l4s_observe::Observer;
use l4s_scenario::Plan;
use l4s_units::Rate;

use crate::failure::Failure;
use crate::kernel::{AGENT, failure, lateness_us, this_program, trial};
use crate::measured::Runs;

/// The subcommand that makes this program a guest's kernel.
pub const BOOT: &str = "linux-boot";
/// The subcommand that makes this program the first process of a guest.
pub const GUEST: &str = "linux-guest";

/// The kernel, ready for every run of a plan.
pub struct Linux(Virtual);

impl Linux {
    /// Finds the kernel, and checks that it can run all of a plan.
    pub fn prepare(plan: &Plan) -> Result<Linux, Failure> {
        note_differences(plan, |scenario| {
            l4s_linux::check(scenario).map_err(|error| failure("--on linux", error))
        })?;
        let kernel = l4s_linux::Kernel::find()
            .map_err(|why| Failure::Substrate(format!("--on linux: {why}")))?;
        Ok(Linux(Virtual::new(kernel, this_program(BOOT)?, vec![GUEST.to_owned()])))
    }
}

/// Checks every run of a plan, and says once what the kernel has instead of which settings.
pub fn note_differences(
    plan: &Plan,
    check: impl Fn(&Scenario) -> Result<Vec<String>, Failure>,
) -> Result<(), Failure> {
    let mut noted: Vec<String> = Vec::new();
    for point in &plan.points {
        let note = check(&point.scenario)?.join(", ");
        if !note.is_empty() && !noted.contains(&note) {
            let kind = point.scenario.aqm.kind();
            say!("note: the {kind} of Linux has {note} instead of what the scenario says");
            noted.push(note);
        }
    }
    Ok(())
}

/// What a kernel as the router says of a run.
pub fn summary(scenario: &Scenario, ran: Ran) -> EngineSummary {
    EngineSummary {
        virtual_s: scenario.duration.as_secs_f64(),
        packets: ran.packets,
        lateness_us: ran.lateness.map(lateness_us),
        qdisc: ran.counters,
        instead: ran.instead,
        unfit: ran.unfit,
        ..EngineSummary::default()
    }
}

/// Whether a guest runs here, tried with a short run. Gives the kernel's version and place.
pub fn works() -> Result<String, String> {
    let plan = trial("cc = \"reno\"", Rate::from_mbps(20))?;
    let linux = Linux::prepare(&plan).map_err(|failure| failure.to_string())?;
    linux.run(&plan.points[0].scenario, &mut Nobody).map_err(|failure| failure.to_string())?;
    Ok(format!("Linux {}: {}", l4s_linux::VERSION, linux.0.kernel.path.display()))
}

/// Listens to nothing.
pub struct Nobody;

impl Observer<Frame> for Nobody {}

impl Runs for Linux {
    type Packet = Frame;

    fn run(
        &self,
        scenario: &Scenario,
        observer: &mut impl Observer<Frame>,
    ) -> Result<EngineSummary, Failure> {
        let ran = self.0.run(scenario, observer).map_err(|error| failure("--on linux", error))?;
        Ok(summary(scenario, ran))
    }
}

/// This process as the kernel of a guest.
pub fn boot() -> ExitCode {
    l4s_linux::boot::main()
}

/// This process as the first of a guest.
pub fn guest() -> ExitCode {
    l4s_linux::guest::main(vec![AGENT.into()])
}
