//! `--on linux`: the real kernel, its TCP and its queue disciplines, in virtual time.

use std::process::ExitCode;

use l4s_lab::{AgentCommand, Frame};
use l4s_linux::Virtual;
use l4s_measure::{EngineSummary, Observer};
use l4s_scenario::{Plan, Scenario};
use l4s_units::Rate;

use crate::failure::Failure;
use crate::kernel::{AGENT, failure, trial};
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
        let mut noted: Vec<String> = Vec::new();
        for point in &plan.points {
            let instead =
                l4s_linux::check(&point.scenario).map_err(|error| failure("--on linux", error))?;
            let note = instead.join(", ");
            if !note.is_empty() && !noted.contains(&note) {
                let kind = point.scenario.aqm.kind();
                eprintln!("note: the {kind} of Linux has {note} instead of what the scenario says");
                noted.push(note);
            }
        }
        let kernel = l4s_linux::Kernel::find()
            .map_err(|why| Failure::Substrate(format!("--on linux: {why}")))?;
        let program = std::env::current_exe()
            .map_err(|error| Failure::Run(format!("where this program is: {error}")))?;
        let boot = AgentCommand { program, args: vec![BOOT.into()] };
        Ok(Linux(Virtual::new(kernel, boot, vec![GUEST.to_owned()])))
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
struct Nobody;

impl Observer<Frame> for Nobody {}

impl Runs for Linux {
    type Packet = Frame;

    fn run(
        &self,
        scenario: &Scenario,
        observer: &mut impl Observer<Frame>,
    ) -> Result<EngineSummary, Failure> {
        let ran = self.0.run(scenario, observer).map_err(|error| failure("--on linux", error))?;
        Ok(EngineSummary {
            virtual_s: scenario.duration.as_secs_f64(),
            packets: ran.counts.departed,
            qdisc: ran.counters,
            instead: ran.instead,
            unfit: ran.unfit,
            ..EngineSummary::default()
        })
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
