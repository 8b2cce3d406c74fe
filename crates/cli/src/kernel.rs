//! `--on kernel`: this machine's own TCP, in network namespaces, through our bottleneck.

use std::any::Any;
use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use l4s_aqm::Queue;
use l4s_bpf::{Ect1, Loaded, Sockets};
use l4s_cc::prague;
use l4s_lab::agent::ReadSocket;
use l4s_lab::{AgentCommand, Control, Frame, LabError, PragueSample};
use l4s_live::{KernelLane, Lane, Substrate};
use l4s_measure::{EngineSummary, Lateness, Observer, Traced};
use l4s_scenario::{Group, Plan, Scenario};
use l4s_units::{Duration, Ecn, Rate, Time};

use crate::failure::Failure;
use crate::measured::Runs;

/// The subcommand that makes this program an agent.
pub const AGENT: &str = "agent";

/// Any machine carries this, so that it need not be tried.
const CERTAIN: Rate = Rate::from_mbps(200);

/// Real sockets, ready for every run of a plan.
pub struct Kernel {
    /// What the kernel calls each congestion control.
    names: BTreeMap<&'static str, String>,
    /// Those that it did not have: registered until this is dropped.
    _loaded: Vec<Loaded>,
    /// Ours of Prague, one for each choice of settings.
    pragues: Vec<(prague::Config, Loaded)>,
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
            l4s_lab::rehearse(largest, |group| kernel.control(group), &kernel.agent)?;
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
        let program = std::env::current_exe()
            .map_err(|error| Failure::Run(format!("where this program is: {error}")))?;
        let mut kernel = Kernel {
            names: BTreeMap::new(),
            _loaded: Vec::new(),
            pragues: Vec::new(),
            agent: AgentCommand { program, args: vec![AGENT.into()] },
        };
        for point in &plan.points {
            kernel.provide_all(&point.scenario)?;
        }
        for point in &plan.points {
            l4s_lab::check(&point.scenario, |group| kernel.control(group))?;
        }
        Ok(kernel)
    }

    /// Makes every congestion control of a scenario available.
    fn provide_all(&mut self, scenario: &Scenario) -> Result<(), Failure> {
        scenario.groups.iter().try_for_each(|group| match &group.cc {
            l4s_cc::Config::Prague(config) => self.provide_prague(config),
            cc => self.provide(cc.kind()),
        })
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

    /// Makes a congestion control available: the kernel's own, or ours by BPF.
    fn provide(&mut self, kind: &'static str) -> Result<(), Failure> {
        if self.names.contains_key(kind) {
            return Ok(());
        }
        if l4s_lab::has_control(kind) {
            self.names.insert(kind, kind.to_owned());
            return Ok(());
        }
        // Unique while this process lives, so that two labs do not meet.
        let name = format!("{kind}{}", std::process::id());
        let loaded = match kind {
            "dctcp" => Loaded::dctcp(&name),
            _ => {
                return Err(Failure::Substrate(format!(
                    "this kernel has no congestion control `{kind}`: `modprobe tcp_{kind}` loads \
                     it where the distribution has it; `--on sim` runs without"
                )));
            }
        };
        let loaded = loaded.map_err(|error| not_loaded(kind, &error))?;
        self.names.insert(kind, loaded.name().to_owned());
        self._loaded.push(loaded);
        Ok(())
    }

    /// Makes Prague available: the kernel's own where it has one and nothing is asked of it, else
    /// ours by BPF with these settings.
    fn provide_prague(&mut self, config: &prague::Config) -> Result<(), Failure> {
        if self.pragues.iter().any(|(known, _)| known == config)
            || (stock(config) && l4s_lab::has_control("prague"))
            || !prague::kernel::unable(config).is_empty()
        {
            return Ok(());
        }
        // 15 letters at most: process ids have 22 bits.
        let name = match (self.pragues.len(), std::process::id()) {
            (0, id) => format!("prague{id}"),
            (number @ 1..=0xff, id) => format!("prague{id:x}_{number:x}"),
            _ => {
                return Err(Failure::Substrate(
                    "--on kernel: more than 256 choices of settings of prague in one plan".into(),
                ));
            }
        };
        let loaded = Loaded::prague(&name, config).map_err(|error| not_loaded("prague", &error))?;
        self.pragues.push((*config, loaded));
        Ok(())
    }

    /// The kernel's congestion control of a group.
    fn control(&self, group: &Group) -> Control {
        let kind = group.cc.kind();
        if let l4s_cc::Config::Prague(config) = &group.cc {
            let ours = self.pragues.iter().find(|(known, _)| known == config);
            return match ours {
                Some((_, loaded)) => Control {
                    name: loaded.name().to_owned(),
                    ours: true,
                    sockets: loaded.sockets(),
                },
                // The kernel's own, or one that will be refused with words.
                None => Control { ours: !stock(config), ..Control::from(kind.to_owned()) },
            };
        }
        self.names.get(kind).cloned().unwrap_or_else(|| kind.to_owned()).into()
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
        kernel.provide_all(scenario).map_err(|failure| failure.to_string())?;
        let lane = KernelLane::start(scenario, |group| kernel.control(group), &kernel.agent);
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
        let control = |group: &Group| self.control(group);
        let ran = l4s_lab::run(scenario, control, &self.agent, observer)?;
        let us = |time: Duration| time.as_nanos() as f64 / 1e3;
        let late = ran.pumped.departures;
        Ok(EngineSummary {
            virtual_s: scenario.duration.as_secs_f64(),
            packets: ran.forwarded,
            lateness_us: Some(Lateness { p50: us(late.p50), p99: us(late.p99), max: us(late.max) }),
            packet_ns: Some(ran.pumped.cost().as_nanos() as f64),
            unfit: ran.unfit,
            ..EngineSummary::default()
        })
    }
}

/// Whether nothing is asked of Prague that the kernel's own could not do.
fn stock(config: &prague::Config) -> bool {
    *config == prague::Config::linux()
}

fn not_loaded(kind: &str, error: &l4s_bpf::BpfError) -> Failure {
    Failure::Substrate(format!(
        "this kernel has no congestion control `{kind}`, and ours cannot be loaded: {error}\n\
         `modprobe tcp_{kind}` loads the kernel's own where the distribution has it; reno and \
         cubic work without; `--on sim` runs all of it"
    ))
}

/// What a lab's error means, where the user asked for it with `option`.
pub fn failure(option: &str, error: LabError) -> Failure {
    match error {
        LabError::Scenario(why) => Failure::input(format!("{option}: {why}")),
        LabError::Machine(why) => Failure::Substrate(format!("{option}: {why}")),
        LabError::Run(why) => Failure::Run(why),
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Failure {
        failure("--on kernel", error)
    }
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
