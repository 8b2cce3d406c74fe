//! `--on kernel`: this machine's own TCP, in network namespaces, through our bottleneck.

use std::any::Any;
use std::os::fd::BorrowedFd;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use l4s_aqm::Queue;
use l4s_bpf::{Ect1, Sockets, Tracers};
use l4s_lab::agent::ReadSocket;
use l4s_lab::{AgentCommand, Frame, PragueSample};
use l4s_live::{KernelLane, Lane, Substrate};
use l4s_measure::{EngineSummary, Lateness};
use l4s_model::{Group, Scenario};
use l4s_observe::{Observer, Traced};
use l4s_os::OsError;
use l4s_scenario::Plan;
use l4s_units::{Duration, Ecn, Rate, Time};

use crate::controls::Controls;
use crate::failure::Failure;
use crate::measured::Runs;

/// The subcommand that makes this program an agent.
pub const AGENT: &str = "agent";

/// Any machine carries this, so that it need not be tried.
const CERTAIN: Rate = Rate::from_mbps(200);

/// Real sockets, ready for every run of a plan.
pub struct Kernel {
    controls: Controls,
    agent: AgentCommand,
}

impl Kernel {
    /// Sees to every congestion control of a plan, and checks that the lab and this machine can
    /// run all of it.
    pub fn prepare(plan: &Plan) -> Result<Kernel, Failure> {
        let kernel = Kernel::without_check(plan)?;
        let scenarios = plan.points.iter().map(|point| &point.scenario);
        // Where the largest lab can be, so can the others.
        if let Some(largest) = scenarios.max_by_key(|s| s.groups.len() + s.udp.len()) {
            l4s_lab::rehearse(largest, |group| kernel.controls.of(group), &kernel.agent)?;
        }
        let rates = plan.points.iter().flat_map(|point| {
            let changes = point.scenario.changes.iter().filter_map(|change| change.rate);
            changes.chain([point.scenario.link.rate])
        });
        match rates.max() {
            Some(fastest) if fastest > CERTAIN => kernel.carries(fastest)?,
            _ => {}
        }
        Ok(kernel)
    }

    fn without_check(plan: &Plan) -> Result<Kernel, Failure> {
        let kernel = Kernel {
            controls: Controls::provide("--on kernel", plan)?,
            agent: this_program(AGENT)?,
        };
        for point in &plan.points {
            l4s_lab::check(&point.scenario, |group| kernel.controls.of(group))?;
        }
        Ok(kernel)
    }

    /// Refuses a rate that this machine cannot carry, which it tries out.
    fn carries(&self, rate: Rate) -> Result<(), Failure> {
        let plan = trial("cc = \"reno\"", rate).map_err(Failure::Run)?;
        let mut seen = Codepoints::default();
        self.try_out(&plan, &mut seen)?;
        let carried = seen.rate();
        if carried.as_bps() < rate.as_bps() / 10 * 9 {
            return Err(Failure::Substrate(format!(
                "--on kernel: a link of {rate} is more than this machine carries: {} Mb/s just \
                 now, by one flow in one direction. Choose a lower `link.rate`, or `--on sim`",
                carried.as_bps() / 1_000_000
            )));
        }
        Ok(())
    }

    /// Runs the only point of a trial.
    fn try_out(&self, plan: &Plan, observer: &mut Codepoints) -> Result<(), Failure> {
        self.run(&plan.points[0].scenario, observer).map(drop)
    }
}

/// Real sockets for whoever looks on: a lab for each lane.
pub struct RealSockets(Mutex<Kernel>);

impl RealSockets {
    /// Sees to the congestion controls of a plan, and checks that this machine can run all of it.
    pub fn prepare(plan: &Plan) -> Result<RealSockets, Failure> {
        Kernel::prepare(plan).map(Mutex::new).map(RealSockets)
    }
}

impl Substrate for RealSockets {
    fn name(&self) -> &'static str {
        "kernel"
    }

    fn bends_time(&self) -> bool {
        false
    }

    fn lane(&self, scenario: &Scenario) -> Result<Box<dyn Lane>, String> {
        let mut kernel = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kernel.controls.provide_all(scenario).map_err(|failure| failure.to_string())?;
        let lane = KernelLane::start(scenario, |group| kernel.controls.of(group), &kernel.agent);
        lane.map(|lane| Box::new(lane) as Box<dyn Lane>).map_err(|error| error.to_string())
    }
}

impl Runs for Kernel {
    type Packet = Frame;

    fn run(
        &self,
        scenario: &Scenario,
        observer: &mut impl Observer<Frame>,
    ) -> Result<EngineSummary, Failure> {
        let control = |group: &Group| self.controls.of(group);
        let ran = l4s_lab::run(scenario, control, &self.agent, observer)?;
        Ok(EngineSummary {
            virtual_s: scenario.duration.as_secs_f64(),
            packets: ran.forwarded,
            lateness_us: Some(lateness_us(ran.pumped.departures)),
            packet_ns: Some(ran.pumped.cost().as_nanos() as f64),
            unfit: ran.unfit,
            ..EngineSummary::default()
        })
    }
}

/// What a lab's error means, where the user asked for it with `option`.
pub fn failure(option: &str, error: OsError) -> Failure {
    match error {
        OsError::Unsupported(why) => Failure::input(format!("{option}: {why}")),
        OsError::Machine(why) => Failure::Substrate(format!("{option}: {why}")),
        OsError::Run(why) => Failure::Run(why),
    }
}

impl From<OsError> for Failure {
    fn from(error: OsError) -> Failure {
        failure("--on kernel", error)
    }
}

/// This program with that argument.
pub fn this_program(argument: &str) -> Result<AgentCommand, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::Run(format!("where this program is: {error}")))?;
    Ok(AgentCommand { program, args: vec![argument.into()] })
}

/// Lateness in a summary.
pub fn lateness_us(late: l4s_lab::Lateness) -> Lateness {
    let us = |time: Duration| time.as_nanos() as f64 / 1e3;
    Lateness { p50: us(late.p50), p99: us(late.p99), max: us(late.max) }
}

/// Whether a lab can be built here, tried with a short run of what every kernel has.
pub fn lab_works() -> Result<(), String> {
    let plan = trial("cc = \"reno\"", Rate::from_mbps(20))?;
    let ran = Kernel::without_check(&plan)
        .and_then(|kernel| kernel.try_out(&plan, &mut Codepoints::default()));
    ran.map_err(|failure| failure.to_string())
}

/// How many data packets came to their client as ECT(1).
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// What sent them.
    pub what: &'static str,
    /// ECT(1) or CE.
    pub ect1: u64,
    /// All.
    pub all: u64,
}

/// Sends data as ECT(1) through a lab: with Prague where that can be loaded, else with Reno whose
/// packets are rewritten.
pub fn ect1_arrives(prague: bool) -> Result<Arrival, String> {
    let what = if prague { "prague" } else { "reno" };
    let mut seen = Codepoints::default();
    let plan = trial(&format!("cc = \"{what}\"\necn = \"l4s\""), Rate::from_mbps(20))?;
    let ran = Kernel::without_check(&plan).and_then(|kernel| kernel.try_out(&plan, &mut seen));
    ran.map_err(|failure| failure.to_string())?;
    Ok(Arrival { what, ect1: seen.ect1, all: seen.all })
}

/// One flow for a moment.
pub fn trial(group: &str, rate: Rate) -> Result<Plan, String> {
    let text = format!(
        "duration = \"500ms\"\n[link]\nrate = \"{rate}\"\n[aqm]\nkind = \"fifo\"\n\
         [[group]]\nname = \"A\"\nrtt = \"5ms\"\n{group}\n"
    );
    Plan::parse("trial", &text, &[]).map_err(|error| error.to_string())
}

/// Counts what arrives with which codepoint.
#[derive(Debug, Default)]
struct Codepoints {
    ect1: u64,
    all: u64,
    /// Bits on the link in the second half of a trial, when slow start is over.
    late_bits: u64,
}

impl Codepoints {
    /// The rate of the second half.
    fn rate(&self) -> Rate {
        Rate::from_bps(self.late_bits * 4)
    }
}

impl Observer<Frame> for Codepoints {
    fn departed(&mut self, packet: &Frame, _: Queue, _: Duration, now: Time) {
        if now >= Time::ZERO + Duration::from_millis(250) {
            self.late_bits += l4s_aqm::Packet::size(packet).get() * 8;
        }
        // A full segment; the handshake has codepoints of its own.
        if packet.ip_length().get() >= 1000 {
            self.all += 1;
            self.ect1 += u64::from(matches!(packet.ecn(), Ecn::Ect1 | Ecn::Ce));
        }
    }
}

/// What an agent needs of us.
struct Hooks;

impl l4s_lab::agent::Hooks for Hooks {
    fn ect1(&self, index: u32) -> Result<Box<dyn Any>, String> {
        match Ect1::attach(index) {
            Ok(attached) => Ok(Box::new(attached)),
            Err(error) => Err(error.to_string()),
        }
    }

    fn tracers(&self, index: u32, cc: &str, map: u32) -> Result<Box<dyn Any>, String> {
        match Tracers::attach(cc, map, index) {
            Ok(attached) => Ok(Box::new(attached)),
            Err(error) => Err(error.to_string()),
        }
    }

    fn sockets(&self, map: u32) -> Result<Box<dyn ReadSocket>, String> {
        match Sockets::open(map) {
            Ok(sockets) => Ok(Box::new(Map(sockets))),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Where our Prague shows what it knows.
struct Map(Sockets);

impl ReadSocket for Map {
    fn read(&self, socket: BorrowedFd<'_>) -> Result<Option<PragueSample>, String> {
        let shown = self.0.read(socket).map_err(|error| error.to_string())?;
        Ok(shown.map(|s| PragueSample { detector: s.detector, alpha: Some(s.alpha) }))
    }
}

/// This process as an agent of a lab.
pub fn agent() -> ExitCode {
    l4s_lab::agent::main(&Hooks)
}
