//! Everything that can run a scenario, behind one trait.
//!
//! A [`Substrate`] checks scenarios, prepares their requirements, runs one, and reports every event to an
//! observer. Some open a live [`Lane`] whose scenario may change ([`Lanes`]). [`Engine`] is the substrate of a
//! name: the simulator anywhere; on Linux also real sockets through our bottleneck, a kernel in virtual time, and
//! a queue discipline of this kernel.
//!
//! The feature `kernels` (default) has all substrates but the simulator. It needs clang and libbpf.

#[cfg(kernels)]
mod controls;
mod engine;
#[cfg(kernels)]
mod kernel;
#[cfg(kernels)]
mod linux;
#[cfg(kernels)]
mod qdisc;
#[cfg(kernels)]
mod reenter;
mod sim;
#[cfg(kernels)]
mod trial;
mod two_cores;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;

use l4s_model::{FlowId, Scenario};
use l4s_observe::Observer;
use l4s_units::{Duration, Time};

pub use engine::Engine;
#[cfg(kernels)]
pub use kernel::Kernel;
#[cfg(kernels)]
pub use l4s_lab::{Remote, hold_signals, internet_works, is_executable};
#[cfg(kernels)]
pub use linux::Linux;
#[cfg(kernels)]
pub use qdisc::Qdisc;
#[cfg(kernels)]
pub use reenter::reenter;
pub use sim::Sim;
#[cfg(kernels)]
pub use trial::{
    Arrival, Disciplines, accecn_for_all, disciplines, ect1_arrives, has_fq, lab_works, linux_works,
};

/// Downloads that a live lane has open at a time; a further one is turned away.
pub const MOST_DOWNLOADS: usize = 2_000;

/// An observer of the packets of every substrate, of a type that is known or not.
#[cfg(kernels)]
pub trait Observe: Observer<l4s_sim::Packet> + Observer<l4s_lab::Frame> {
    /// It, for the packets of the simulator.
    fn of_packets(&mut self) -> &mut dyn Observer<l4s_sim::Packet>;
    /// It, for packets of bytes.
    fn of_frames(&mut self) -> &mut dyn Observer<l4s_lab::Frame>;
}

#[cfg(kernels)]
impl<O: Observer<l4s_sim::Packet> + Observer<l4s_lab::Frame>> Observe for O {
    fn of_packets(&mut self) -> &mut dyn Observer<l4s_sim::Packet> {
        self
    }

    fn of_frames(&mut self) -> &mut dyn Observer<l4s_lab::Frame> {
        self
    }
}

/// An observer of the packets of the simulator, of a type that is known or not.
#[cfg(not(kernels))]
pub trait Observe: Observer<l4s_sim::Packet> {
    /// It, for the packets of the simulator.
    fn of_packets(&mut self) -> &mut dyn Observer<l4s_sim::Packet>;
}

#[cfg(not(kernels))]
impl<O: Observer<l4s_sim::Packet>> Observe for O {
    fn of_packets(&mut self) -> &mut dyn Observer<l4s_sim::Packet> {
        self
    }
}

/// Receives the present time of a run, and ends the run with [`ControlFlow::Break`]. The simulator
/// calls it about 50 times a second; the others do not, since a kernel's run cannot be interrupted.
pub type Watch<'a> = dyn FnMut(Time) -> ControlFlow<()> + 'a;

/// The [`Watch`] of a run that goes on to its end.
pub fn to_the_end(_: Time) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// The name of a substrate, and its kind of time.
pub trait Identity: Send + Sync {
    /// Its name, as in `--on sim`.
    fn name(&self) -> &'static str;

    /// Whether time is virtual: several runs at once do not disturb each other, and a lane can pause and run
    /// at another speed. In real time a run needs the machine for itself.
    fn has_virtual_time(&self) -> bool;
}

/// Runs scenarios.
pub trait Substrate: Identity {
    /// Checks whether it can run a scenario at all, on any machine. Returns its replacements
    /// of some settings, for people.
    ///
    /// # Errors
    /// [`Error::Unsupported`].
    fn check(&self, scenario: &Scenario) -> Result<Vec<String>, Error>;

    /// Prepares every scenario of a plan: checks each, loads its requirements, and tries out whether
    /// this machine can run it. Returns the replacements of some settings, for people.
    ///
    /// # Errors
    /// A scenario is unsupported, or this machine lacks something.
    fn prepare(&self, scenarios: &[&Scenario]) -> Result<Vec<String>, Error>;

    /// Runs a scenario to its end, or until `watch` ends it. `observer` receives every event.
    /// `programs` is for a scenario with programs of the user.
    ///
    /// # Errors
    /// The run or a program failed.
    fn run(
        &self,
        scenario: &Scenario,
        programs: &Programs,
        observer: &mut dyn Observe,
        watch: &mut Watch,
    ) -> Result<Ran, Error>;
}

/// Opens live lanes for observers of type `O`.
pub trait Lanes<O>: Identity {
    /// Opens a lane at time zero.
    ///
    /// # Errors
    /// It cannot run this scenario.
    fn lane(&self, scenario: &Scenario, observer: O) -> Result<Box<dyn Lane<O>>, Error>;
}

/// A host of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramHost {
    /// The server's.
    Server,
    /// The client's.
    Client,
}

/// Where the programs of a run put their output, and which of them has the terminal. The default is
/// for a scenario without programs.
#[derive(Clone, Default, Debug)]
pub struct Programs {
    /// The folder of their output: a folder for each, by its name.
    pub out: PathBuf,
    /// The host on which the last one has the terminal, and ends the run when it ends there.
    pub foreground: Option<ProgramHost>,
    /// Whether the client of the last one reaches the network of this machine (`--on kernel`).
    pub internet: bool,
    /// Lets another thread follow and change the run (`--on kernel`).
    #[cfg(kernels)]
    pub remote: Option<std::sync::Arc<Remote>>,
}

/// A bottleneck with its traffic, from time zero on and without an end.
pub trait Lane<O>: Send {
    /// Runs up to and including `to`, which is not before the present.
    ///
    /// # Errors
    /// The run broke down.
    fn advance(&mut self, to: Time) -> Result<(), Error>;

    /// Switches to another scenario, and returns whether it could. It changes nothing where only a
    /// new run can have that scenario. A setting that is the same in both keeps its present value,
    /// also where an `[[at]]` changed it.
    fn adapt(&mut self, scenario: &Scenario) -> bool;

    /// Gives `read` the observer and the time. In virtual time it samples the bottleneck and its
    /// flows first; in real time the observer's sampling interval decides.
    fn observe(&mut self, read: &mut dyn FnMut(&mut O, Time));
}

/// How a run went.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ran {
    /// The time that was simulated or passed.
    pub time: Duration,
    /// Packets that the bottleneck forwarded, warm-up included.
    pub packets: u64,
    /// Events of a simulation.
    pub events: Option<u64>,
    /// How late departures were, in real time.
    pub lateness: Option<Lateness>,
    /// Processor time of the data plane per packet.
    pub packet_time: Option<Duration>,
    /// The counters of the kernel's own queue discipline.
    pub counters: BTreeMap<String, u64>,
    /// Settings of the scenario that the substrate does not have, and their replacements.
    pub instead: Vec<String>,
    /// The flows of programs, by their numbers in the run.
    pub flows: Vec<(FlowId, l4s_flows::Row)>,
    /// The exit code of the program in the foreground.
    pub code: Option<u8>,
    /// Why the run should not be trusted: the machine was too slow or too noisy for it.
    pub unfit: Option<String>,
}

/// Lateness of departures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lateness {
    /// Median.
    pub p50: Duration,
    /// 99th percentile.
    pub p99: Duration,
    /// The longest.
    pub max: Duration,
}

/// Why a substrate cannot run a scenario.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// It cannot run this scenario, on any machine.
    #[error("{0}")]
    Unsupported(String),
    /// This machine lacks something for it, or this user may not.
    #[error("{0}")]
    Machine(String),
    /// The run failed.
    #[error("{0}")]
    Run(String),
}

#[cfg(kernels)]
impl Error {
    /// An error of the operating system, where the user asked for it with `option`.
    pub fn of(option: &str, error: l4s_os::OsError) -> Error {
        use l4s_os::OsError;
        match error {
            OsError::Unsupported(why) => Error::Unsupported(format!("{option}: {why}")),
            OsError::Machine(why) => Error::Machine(format!("{option}: {why}")),
            OsError::Run(why) => Error::Run(why),
        }
    }
}
