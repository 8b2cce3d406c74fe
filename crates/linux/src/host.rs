//! The substrate in real time: this machine's own kernel is the router.
//!
//! ```text
//!  command ──starts──▶ router ──starts──▶ agents
//!     ▲                  │
//!     └── follower ◀── file of events
//! ```
//!
//! The router is this program again, in a network namespace of its own, in the role that
//! [`crate::guest`] has in a guest. The namespace, with its devices and queue disciplines, goes
//! with the process. The kernel kills that when the command ends, however it ends. The file of
//! events is memory that is freed with its last descriptor. So there is nothing to undo, and no
//! setting of the machine is changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd};
use std::process::ExitCode;

use l4s_aqm::Config;
use l4s_lab::{AgentCommand, Channel, Control, Frame, Next, Programs, Roles, shortened};
use l4s_model::{AckFilter, Group, QdiscOf, Scenario};
use l4s_observe::Observer;
use l4s_os::netlink::{Netlink, index_of};
use l4s_os::{OsError, namespace};
use netlink_packet_route::tc::TcHandle;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::thread::UnshareFlags;
use serde::{Deserialize, Serialize};

use crate::choice;
use crate::drive::{self, Job, Place};
use crate::event::{Answer, Event, Trouble};
use crate::qdisc::Qdisc;
use crate::record::Log;
use crate::router;
use crate::watch::{Ran, Scribe, follow};

/// The name of the process in errors.
const WHO: &str = "the router";

/// The substrate: how this program is started as its parts.
#[derive(Clone, Debug)]
pub struct Real {
    /// Starts this program as [`main`].
    pub router: AgentCommand,
    /// The arguments with which it is another part of a run.
    pub parts: Parts,
}

/// The arguments with which a program is a part of a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Parts {
    /// An agent.
    pub agent: Vec<String>,
    /// The keeper of a program of the user.
    pub keeper: Vec<String>,
}

impl Parts {
    /// The parts, of this program.
    pub(crate) fn of_this_program(self) -> Result<Roles, OsError> {
        let program = std::env::current_exe()
            .map_err(|error| OsError::Run(format!("where this program is: {error}")))?;
        let [agent, keeper] = [self.agent, self.keeper].map(|args| AgentCommand {
            program: program.clone(),
            args: args.into_iter().map(Into::into).collect(),
        });
        Ok(Roles { agent, keeper })
    }
}

/// The kernel's congestion control of each group, by the group's name.
type Controls = BTreeMap<String, Control>;

/// The order of the command.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Order {
    task: Task,
    parts: Parts,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
enum Task {
    /// Runs a scenario.
    Run(Box<Job>, Controls),
    /// Builds the network of a scenario, if any, and gives a device each of these disciplines: kind
    /// and options.
    Try(Option<Box<(Job, Controls)>>, Vec<(String, Vec<u8>)>),
}

/// Whether a kernel can run a scenario at all. Returns its replacements of some settings.
pub fn check(
    scenario: &Scenario,
    control: impl Fn(&Group) -> Control,
) -> Result<Vec<String>, OsError> {
    Place::Host.plan(scenario, control, true)?;
    choice::differences(scenario, Place::Host.jiffy())
}

impl Real {
    /// The first discipline of these scenarios that this machine's kernel has not, in words.
    pub fn missing<'a>(
        &self,
        scenarios: impl Iterator<Item = &'a Scenario>,
    ) -> Result<Option<String>, OsError> {
        let kernels = scenarios.filter(|scenario| scenario.kernel.qdisc == QdiscOf::Linux);
        let wanted = kernels.flat_map(|scenario| {
            let changes = scenario.changes.iter().filter_map(|change| change.aqm.as_ref());
            [&scenario.aqm].into_iter().chain(changes).chain(scenario.uplink_aqms())
        });
        // A sweep may ask for the same one thousands of times.
        let wanted: BTreeSet<_> = wanted.map(wire).collect::<Result<_, _>>()?;
        Ok(self.attempt(None, wanted.into_iter().collect())?.into_iter().flatten().next())
    }

    /// Whether this machine can run these scenarios: builds the network of the largest.
    pub fn rehearse<'a>(
        &self,
        scenarios: impl Iterator<Item = &'a Scenario> + Clone,
        control: impl Fn(&Group) -> Control,
    ) -> Result<(), OsError> {
        let size = |scenario: &&Scenario| scenario.roster().sources();
        // One of each kind of bottleneck; where the largest can be, so can the others.
        for of in [QdiscOf::Linux, QdiscOf::Bpf] {
            let largest = scenarios.clone().filter(|s| s.kernel.qdisc == of).max_by_key(size);
            if let Some(largest) = largest {
                let job = Job { scenario: largest.clone(), answers: true, programs: None };
                let lab = (job, controls(largest, &control));
                self.attempt(Some(Box::new(lab)), Vec::new())?;
            }
        }
        Ok(())
    }

    /// The fault of each of these disciplines on this machine, if it has one.
    pub fn disciplines<'a>(
        &self,
        aqms: impl Iterator<Item = &'a Config>,
    ) -> Result<Vec<Option<String>>, OsError> {
        let disciplines: Vec<_> = aqms.map(wire).collect::<Result<_, _>>()?;
        self.attempt(None, disciplines)
    }

    /// Whether this machine's kernel has a discipline of that name.
    pub fn has(&self, kind: &str) -> Result<bool, OsError> {
        let faults = self.attempt(None, vec![(kind.to_owned(), Vec::new())])?;
        Ok(faults.iter().all(Option::is_none))
    }

    fn attempt(
        &self,
        lab: Option<Box<(Job, Controls)>>,
        disciplines: Vec<(String, Vec<u8>)>,
    ) -> Result<Vec<Option<String>>, OsError> {
        match self.start(Task::Try(lab, disciplines))? {
            (_, Answer::Tried(found)) => Ok(found),
            _ => Err(OsError::Run(format!("{WHO} answered something else"))),
        }
    }

    /// Runs `scenario` and reports every event to `observer`.
    pub fn run(
        &self,
        scenario: &Scenario,
        programs: Programs,
        control: impl Fn(&Group) -> Control,
        observer: &mut dyn Observer<Frame>,
    ) -> Result<Ran, OsError> {
        let instead = check(scenario, &control)?;
        let job = Job::new(scenario, programs.clone(), observer);
        let task = Task::Run(Box::new(job), controls(scenario, control));
        let (router, _) = self.start(task)?;
        let mut ran = follow(router, scenario, Place::Host, instead, observer)?;
        ran.instead.extend(shortened(scenario, &programs));
        Ok(ran)
    }

    fn start(&self, task: Task) -> Result<(Scribe, Answer), OsError> {
        Scribe::start(WHO, &self.router, &Order { task, parts: self.parts.clone() })
    }
}

fn controls(scenario: &Scenario, control: impl Fn(&Group) -> Control) -> Controls {
    scenario.groups.iter().map(|group| (group.name.clone(), control(group))).collect()
}

/// A discipline as it goes over the wire.
fn wire(aqm: &Config) -> Result<(String, Vec<u8>), OsError> {
    let Qdisc { kind, options, .. } = Qdisc::new(aqm, AckFilter::Off, Place::Host.jiffy())?;
    Ok((kind.to_owned(), options))
}

/// The life of the router: the main function of a program that is started as [`Real`] does it.
pub fn main() -> ExitCode {
    let stdin = std::io::stdin();
    if rustix::net::sockopt::socket_type(&stdin).is_err() {
        eprintln!("error: this is the router of a run, for a command with a socket to talk to");
        return ExitCode::from(2);
    }
    let Ok(socket) = stdin.as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let mut control = Channel::new(socket);
    match live(&mut control) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if control.send(&Answer::Failed(Trouble::from(&error)), None).is_err() {
                eprintln!("error: {error}");
            }
            ExitCode::FAILURE
        }
    }
}

fn live(control: &mut Channel) -> Result<(), OsError> {
    let parent = rustix::process::getppid();
    let Ok(Next::Message(Order { task, parts })) = control.next(true) else { return Ok(()) };
    namespace::enter(UnshareFlags::NEWNET)?;
    if !namespace::die_with(parent) {
        return Ok(());
    }
    let roles = parts.of_this_program()?;
    let answer = |answer: &Answer, file: Option<&File>| {
        control
            .send(answer, file.map(AsFd::as_fd))
            .map_err(|error| OsError::Run(format!("the command: {error}")))
    };
    match task {
        Task::Try(lab, disciplines) => {
            let found = attempt(lab, &disciplines, &roles.agent)?;
            answer(&Answer::Tried(found), None)
        }
        Task::Run(job, controls) => {
            let (file, theirs) = events()?;
            answer(&Answer::Ready, Some(&theirs))?;
            drop(theirs);
            let mut log = Log::new(file);
            let control = |group: &Group| controls[&group.name].clone();
            if let Err(error) = drive::drive(&job, control, &roles, Place::Host, &mut log) {
                log.write(&Event::Failed(Trouble::from(&error)))?;
            }
            log.finish()
        }
    }
}

/// The file of events, opened twice, as each side has a place of its own in it.
fn events() -> Result<(File, File), OsError> {
    let failed = |error: std::io::Error| OsError::machine("memory for events", error);
    let theirs: File =
        memfd_create("events", MemfdFlags::CLOEXEC).map_err(|error| failed(error.into()))?.into();
    let path = format!("/proc/self/fd/{}", theirs.as_raw_fd());
    let file = OpenOptions::new().append(true).open(path).map_err(failed)?;
    Ok((file, theirs))
}

/// Builds the network of a run; returns the fault of each discipline, if it has one.
fn attempt(
    lab: Option<Box<(Job, Controls)>>,
    disciplines: &[(String, Vec<u8>)],
    agent: &AgentCommand,
) -> Result<Vec<Option<String>>, OsError> {
    if let Some(lab) = lab {
        let (job, controls) = *lab;
        let control = |group: &Group| controls[&group.name].clone();
        drop(drive::build(&job, control, agent, Place::Host)?);
    } else {
        router::prepare(false)?;
    }
    let mut netlink = Netlink::open()?;
    let lo = index_of("lo")?;
    let mut attach = |(kind, options): &(String, Vec<u8>)| {
        let handle = TcHandle { major: 1, minor: 0 };
        let made = netlink.add_queue(lo, TcHandle::ROOT, handle, kind, options);
        // The next one finds the device as this one did.
        let _ = netlink.remove_queue(lo);
        made.err().map(|error| error.to_string())
    };
    Ok(disciplines.iter().map(&mut attach).collect())
}
