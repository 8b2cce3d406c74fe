//! One run on a substrate, measured.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;
use std::time::{Duration, Instant};

use l4s_measure::{
    EngineSummary, Observer, Origin, PacketTrace, Recorder, RunRecord, Snap, Traced,
};
use l4s_scenario::{Plan, Point, Scenario, shell_word};
use serde_json::Value;

use crate::args::{Substrate, Trace};
use crate::failure::Failure;
#[cfg(target_os = "linux")]
use crate::kernel::Kernel;
#[cfg(target_os = "linux")]
use crate::linux::Linux;

/// The version of results.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A finished run.
#[derive(Debug)]
pub struct Finished {
    /// What was measured; in the simulator nothing in it depends on this machine.
    pub record: RunRecord,
    /// How long it took; `None` when it was done before this process.
    pub wall: Option<Duration>,
}

/// What to keep of a run besides its summary.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keep<'a> {
    /// Time series, histograms and flows.
    pub tables: bool,
    /// Time between samples of the series; the recorder's own unless set. Of a simulation only.
    pub sampling: Option<l4s_units::Duration>,
    /// Every packet at the bottleneck, in this file.
    pub trace: Option<(&'a Path, Trace)>,
}

/// Something that runs a scenario and tells an observer what happens.
pub trait Runs {
    /// Its packets.
    type Packet: Traced;

    /// Runs `scenario` to its end.
    fn run(
        &self,
        scenario: &Scenario,
        observer: &mut impl Observer<Self::Packet>,
    ) -> Result<EngineSummary, Failure>;
}

/// A substrate that is ready for every run of a plan.
pub enum Engine {
    /// The simulator.
    Sim,
    /// Real sockets.
    #[cfg(target_os = "linux")]
    Kernel(Kernel),
    /// A kernel in virtual time.
    #[cfg(target_os = "linux")]
    Linux(Linux),
}

impl Engine {
    /// Makes the substrate ready, or says what this machine lacks for it.
    pub fn prepare(on: Substrate, plan: &Plan) -> Result<Engine, Failure> {
        match on {
            Substrate::Sim => Ok(Engine::Sim),
            #[cfg(target_os = "linux")]
            Substrate::Kernel => Ok(Engine::Kernel(Kernel::prepare(plan)?)),
            #[cfg(target_os = "linux")]
            Substrate::Linux => Ok(Engine::Linux(Linux::prepare(plan)?)),
            #[cfg(not(target_os = "linux"))]
            Substrate::Kernel | Substrate::Linux => {
                let _ = plan;
                Err(Failure::Substrate(format!(
                    "`--on {}` needs Linux; the simulator, `--on sim`, runs anywhere",
                    on.name()
                )))
            }
            Substrate::Qdisc => Err(Failure::Substrate(
                "`--on qdisc` is not in this version: `--on linux` has the kernel's qdiscs, in \
                 virtual time; `l4s doctor` says what this machine can do"
                    .to_owned(),
            )),
        }
    }

    /// Which one it is.
    pub fn substrate(&self) -> Substrate {
        match self {
            Engine::Sim => Substrate::Sim,
            #[cfg(target_os = "linux")]
            Engine::Kernel(_) => Substrate::Kernel,
            #[cfg(target_os = "linux")]
            Engine::Linux(_) => Substrate::Linux,
        }
    }

    /// How many runs at a time, where the user asked for `asked`: those in real time need the
    /// machine for themselves.
    pub fn jobs(&self, asked: Option<usize>) -> Option<usize> {
        match self {
            Engine::Sim => asked,
            #[cfg(target_os = "linux")]
            Engine::Linux(_) => asked,
            #[cfg(target_os = "linux")]
            Engine::Kernel(_) => Some(1),
        }
    }

    /// Says how long a plan will take, where that is known.
    pub fn announce(&self, plan: &Plan) {
        if self.substrate() == Substrate::Kernel {
            let seconds: f64 = plan.points.iter().map(|p| p.scenario.duration.as_secs_f64()).sum();
            eprintln!("in real time: {seconds:.0} s");
        }
    }

    /// Runs a point.
    pub fn run(&self, point: &Point, command: &str, keep: Keep<'_>) -> Result<Finished, Failure> {
        match self {
            Engine::Sim => measured(&Simulator, self.substrate(), point, command, keep),
            #[cfg(target_os = "linux")]
            Engine::Kernel(kernel) => measured(kernel, self.substrate(), point, command, keep),
            #[cfg(target_os = "linux")]
            Engine::Linux(linux) => measured(linux, self.substrate(), point, command, keep),
        }
    }
}

/// The simulator, in virtual time.
struct Simulator;

impl Runs for Simulator {
    type Packet = l4s_sim::Packet;

    fn run(
        &self,
        scenario: &Scenario,
        observer: &mut impl Observer<l4s_sim::Packet>,
    ) -> Result<EngineSummary, Failure> {
        let outcome = l4s_sim::run(scenario, observer);
        Ok(EngineSummary {
            virtual_s: scenario.duration.as_secs_f64(),
            packets: outcome.packets,
            events: Some(outcome.events),
            ..EngineSummary::default()
        })
    }
}

/// Runs a point and measures it.
fn measured<R: Runs>(
    substrate: &R,
    on: Substrate,
    point: &Point,
    command: &str,
    keep: Keep<'_>,
) -> Result<Finished, Failure> {
    let set = point.set.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str())));
    let origin = Origin {
        on: on.name().to_owned(),
        version: VERSION.to_owned(),
        set: set.collect(),
        command: command.to_owned(),
    };
    let scenario = &point.scenario;
    let mut recorder = Recorder::new(scenario, origin);
    // A simulated flow's state is for the tables; a socket's is in the summary too.
    if !keep.tables && on == Substrate::Sim {
        recorder = recorder.without_series();
    }
    if let Some(interval) = keep.sampling.filter(|_| on == Substrate::Sim) {
        recorder = recorder.sampled_every(interval);
    }
    let start = Instant::now();
    let engine = match keep.trace {
        None => substrate.run(scenario, &mut recorder)?,
        Some((path, trace)) => traced(substrate, scenario, &mut recorder, path, trace)?,
    };
    Ok(Finished { record: recorder.finish(engine), wall: Some(start.elapsed()) })
}

/// Runs a scenario with a trace in `path`, which appears when it is complete.
fn traced<R: Runs>(
    substrate: &R,
    scenario: &Scenario,
    observer: impl Observer<R::Packet>,
    path: &Path,
    trace: Trace,
) -> Result<EngineSummary, Failure> {
    let failed = |error: io::Error| Failure::Run(format!("{}: {error}", path.display()));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = path.with_file_name(format!(".l4s-{name}.part"));
    let snap = match trace {
        Trace::Pcapng => Snap::Headers,
        Trace::PcapngFull => Snap::Packet,
    };
    let file = File::create(&part).map_err(failed)?;
    let trace = PacketTrace::new(BufWriter::new(file), snap).map_err(failed)?;
    let mut both = (observer, trace);
    let engine = substrate.run(scenario, &mut both)?;
    let finish = |trace: PacketTrace<BufWriter<File>>| {
        let file = trace.finish()?.into_inner().map_err(|error| error.into_error())?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    finish(both.1).map_err(failed)?;
    Ok(engine)
}

/// The command that repeats just this run. `scenario` is what the user called it.
pub fn command(scenario: &str, on: Substrate, point: &Point) -> String {
    let mut command = format!("l4s run {}", shell_word(scenario));
    if on != Substrate::Sim {
        command += &format!(" --on {}", on.name());
    }
    for (key, value) in &point.pins {
        command += &format!(" --set {}", shell_word(&format!("{key}={value}")));
    }
    command + &format!(" --seed {}", point.scenario.seed)
}
