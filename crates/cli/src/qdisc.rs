//! `--on qdisc`: real TCP through a queue discipline of this machine's kernel, in real time.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use l4s_lab::Frame;
use l4s_linux::{Real, Vm};
use l4s_measure::EngineSummary;
use l4s_model::Scenario;
use l4s_observe::Observer;
use l4s_os::OsError;
use l4s_scenario::Plan;
use l4s_units::Rate;

use crate::args::Run;
use crate::controls::Controls;
use crate::failure::Failure;
use crate::kernel::{AGENT, this_program, trial};
use crate::linux::{Nobody, note_differences, summary};
use crate::measured::Runs;

/// The subcommand that makes this program the router of a run.
pub const ROUTER: &str = "qdisc-router";

const OPTION: &str = "--on qdisc";

/// This machine's kernel, ready for every run of a plan.
pub struct Qdisc {
    controls: Controls,
    real: Real,
}

impl Qdisc {
    /// Sees to every congestion control of a plan, and checks that this machine can run all of it.
    pub fn prepare(plan: &Plan) -> Result<Qdisc, Failure> {
        let controls = Controls::provide(OPTION, plan)?;
        note_differences(plan, |scenario| {
            l4s_linux::host::check(scenario, |group| controls.of(group)).map_err(failure)
        })?;
        let qdisc = Qdisc { controls, real: real()? };
        let scenarios = plan.points.iter().map(|point| &point.scenario);
        if let Some(why) = qdisc.real.missing(scenarios.clone()).map_err(failure)? {
            return Err(Failure::Substrate(format!(
                "{OPTION}: {why}; `l4s doctor` says which it has, and `--vm` brings a kernel that \
                 has all"
            )));
        }
        qdisc.real.rehearse(scenarios, |group| qdisc.controls.of(group)).map_err(failure)?;
        Ok(qdisc)
    }
}

impl Runs for Qdisc {
    type Packet = Frame;

    fn run(
        &self,
        scenario: &Scenario,
        observer: &mut impl Observer<Frame>,
    ) -> Result<EngineSummary, Failure> {
        let control = |group: &l4s_model::Group| self.controls.of(group);
        let ran = self.real.run(scenario, control, observer).map_err(failure)?;
        Ok(summary(scenario, ran))
    }
}

fn real() -> Result<Real, Failure> {
    Ok(Real { router: this_program(ROUTER)?, agent: vec![AGENT.to_owned()] })
}

fn failure(error: OsError) -> Failure {
    crate::kernel::failure(OPTION, error)
}

/// What a stock kernel loads only when it is told to: the disciplines, and what `--on kernel` uses.
const MODULES: &str = "modprobe -a -q sch_dualpi2 sch_pie sch_codel sch_cake sch_red sch_netem tun; \
                       exec \"$@\"";

/// Runs the command in a virtual machine whose kernel has every discipline: the same command
/// without `--vm`, with the folder of `--out` to write to.
pub fn in_vm(options: &Run) -> Result<(), Failure> {
    let vm = Vm::find().map_err(|why| Failure::Substrate(format!("--vm: {why}")))?;
    let failed =
        |what: &Path, error: io::Error| Failure::Run(format!("{}: {error}", what.display()));
    let here = std::env::current_dir().map_err(|error| failed(Path::new("."), error))?;
    // Results come into being beside their folder, and take its place when they are whole.
    let nothing = tempfile::tempdir().map_err(|error| failed(Path::new("--vm"), error))?;
    let writable = match &options.out {
        Some(out) => here.join(out).parent().map_or_else(|| here.clone(), Path::to_path_buf),
        None => nothing.path().to_owned(),
    };
    std::fs::create_dir_all(&writable).map_err(|error| failed(&writable, error))?;
    let program = std::env::current_exe().map_err(|error| failed(Path::new("l4s"), error))?;
    let shell = ["/bin/sh", "-c", MODULES, "sh"].map(OsString::from);
    let words = std::env::args_os().skip(1).filter(|word| word != "--vm");
    let command: Vec<_> = shell.into_iter().chain([program.into()]).chain(words).collect();
    let (mut out, mut err) = (io::stdout(), io::stderr());
    let code =
        vm.run(&command, &writable, &here, &l4s_linux::Options::default(), &mut out, &mut err);
    match code.map_err(|error| crate::kernel::failure("--vm", error))? {
        0 => Ok(()),
        // It has said why.
        code => std::process::exit(code.into()),
    }
}

/// The disciplines of scenarios that a kernel can have.
#[derive(Debug, Default)]
pub struct Found {
    /// Those that this machine's kernel has.
    pub has: Vec<String>,
    /// Those that it has not.
    pub lacks: Vec<String>,
}

/// What of `--on qdisc` this machine can run, tried with a short run.
pub fn examine() -> Result<Found, String> {
    let trial = |more: &str| trial(&format!("cc = \"reno\"\n{more}"), Rate::from_mbps(20));
    let plan = trial("")?;
    let others = trial(
        "[sweep]\naqm = [\"dualpi2\", \"pie\", \"codel\", \"fq_codel\", \"cobalt\", \"red\"]",
    )?;
    let tried = Qdisc::prepare(&plan).and_then(|qdisc| {
        qdisc.run(&plan.points[0].scenario, &mut Nobody)?;
        let aqms = others.points.iter().chain(&plan.points).map(|point| &point.scenario.aqm);
        let faults = qdisc.real.disciplines(aqms.clone()).map_err(failure)?;
        let found = aqms.map(|aqm| aqm.kind().to_owned()).zip(faults);
        let (has, lacks): (Vec<_>, Vec<_>) = found.partition(|(_, fault)| fault.is_none());
        let names = |found: Vec<(String, Option<String>)>| {
            found.into_iter().map(|(kind, _)| kind).collect()
        };
        Ok(Found { has: names(has), lacks: names(lacks) })
    });
    tried.map_err(|failure| failure.to_string())
}

/// This process as the router of a run.
pub fn router() -> ExitCode {
    l4s_linux::host::main()
}
