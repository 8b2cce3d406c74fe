//! One run on a substrate, measured.

use std::io::{self, BufWriter};
use std::time::{Duration, Instant};

use l4s_measure::files::Durable;
use l4s_measure::{EngineSummary, Origin, PacketTrace, Recorder, RunRecord, Snap};
use l4s_model::Scenario;
use l4s_observe::{Observer, Traced};
use l4s_scenario::{Plan, Point};
use serde_json::Value;

use crate::args::{Substrate, Trace};
use crate::failure::Failure;
#[cfg(target_os = "linux")]
use crate::kernel::Kernel;
#[cfg(target_os = "linux")]
use crate::linux::Linux;
use crate::notes;
#[cfg(target_os = "linux")]
use crate::qdisc::Qdisc;

/// The version of results.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A finished run.
#[derive(Debug)]
pub struct Finished {
    /// What was measured; in the simulator nothing in it depends on this machine.
    pub record: RunRecord,
    /// How long it took; `None` when it was done before this process.
    pub wall: Option<Duration>,
    /// What of it ended too early to be counted.
    pub early: Option<String>,
}

/// What to keep of a run besides its summary.
#[derive(Debug, Default)]
pub struct Keep {
    /// Time series, histograms and flows.
    pub tables: bool,
    /// Time between samples of the series; the recorder's own unless set. Of a simulation only.
    pub sampling: Option<l4s_units::Duration>,
    /// Every packet at the bottleneck, in this file.
    pub trace: Option<(Durable, Trace)>,
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
    /// Real sockets through a queue discipline of this kernel.
    #[cfg(target_os = "linux")]
    Qdisc(Qdisc),
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
            #[cfg(target_os = "linux")]
            Substrate::Qdisc => Ok(Engine::Qdisc(Qdisc::prepare(plan)?)),
            #[cfg(not(target_os = "linux"))]
            Substrate::Kernel | Substrate::Linux | Substrate::Qdisc => {
                let _ = plan;
                Err(Failure::Substrate(format!(
                    "`--on {}` needs Linux; the simulator, `--on sim`, runs anywhere",
                    on.name()
                )))
            }
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
            #[cfg(target_os = "linux")]
            Engine::Qdisc(_) => Substrate::Qdisc,
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
            Engine::Kernel(_) | Engine::Qdisc(_) => Some(1),
        }
    }

    /// Says how long a plan will take, where that is known.
    pub fn announce(&self, plan: &Plan) {
        if matches!(self.substrate(), Substrate::Kernel | Substrate::Qdisc) {
            let seconds: f64 = plan.points.iter().map(|p| p.scenario.duration.as_secs_f64()).sum();
            say!("in real time: {seconds:.0} s");
        }
    }

    /// Runs a point.
    pub fn run(&self, point: &Point, command: &str, keep: Keep) -> Result<Finished, Failure> {
        match self {
            Engine::Sim => measured(&Simulator, self.substrate(), point, command, keep),
            #[cfg(target_os = "linux")]
            Engine::Kernel(kernel) => measured(kernel, self.substrate(), point, command, keep),
            #[cfg(target_os = "linux")]
            Engine::Linux(linux) => measured(linux, self.substrate(), point, command, keep),
            #[cfg(target_os = "linux")]
            Engine::Qdisc(qdisc) => measured(qdisc, self.substrate(), point, command, keep),
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
        let (packets, events) = (outcome.packets, outcome.events);
        Ok(EngineSummary::of_virtual_time(scenario.duration, packets, events))
    }
}

/// Runs a point and measures it.
fn measured<R: Runs>(
    substrate: &R,
    on: Substrate,
    point: &Point,
    command: &str,
    keep: Keep,
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
        Some((file, trace)) => traced(substrate, scenario, &mut recorder, file, trace)?,
    };
    let record = recorder.finish(engine);
    let early = notes::ended_early(scenario, &record.flows);
    Ok(Finished { record, wall: Some(start.elapsed()), early })
}

/// Runs a scenario with a trace in `file`, which appears when it is complete.
fn traced<R: Runs>(
    substrate: &R,
    scenario: &Scenario,
    observer: impl Observer<R::Packet>,
    file: Durable,
    trace: Trace,
) -> Result<EngineSummary, Failure> {
    let path = file.path();
    let failed = |error: io::Error| Failure::Run(format!("{}: {error}", path.display()));
    let snap = match trace {
        Trace::Pcapng => Snap::Headers,
        Trace::PcapngFull => Snap::Packet,
    };
    let trace = PacketTrace::new(BufWriter::new(file), snap).map_err(failed)?;
    let mut both = (observer, trace);
    let engine = substrate.run(scenario, &mut both)?;
    let finish = |trace: PacketTrace<BufWriter<Durable>>| {
        trace.finish()?.into_inner().map_err(|error| error.into_error())?.finish()
    };
    finish(both.1).map_err(failed)?;
    Ok(engine)
}
