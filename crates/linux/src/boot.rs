//! The process that becomes the guest's kernel.
//!
//! It makes itself a mount namespace with a folder in memory, which no other process sees, puts
//! the scenario there, hands the file of events to the command, and executes the kernel. So there
//! is nothing to undo: the folder goes with the namespace and the namespace with the process,
//! which the kernel of the host kills when the command ends, however it ends. The guest's own
//! processes are children of the guest's kernel and go with it.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use l4s_lab::{Channel, Next};
use l4s_os::{OsError, namespace};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::{CpuSet, UnshareFlags, sched_setaffinity};
use serde::{Deserialize, Serialize};

use crate::drive::Job;
use crate::event::{Answer, Trouble};

/// The folder of a run. No program of a host is there, and the kernel needs nothing of it.
pub(crate) const FOLDER: &str = "/sys";
/// In it: the job to run.
pub(crate) const JOB: &str = "job.json";
/// In it: the events of the run.
pub(crate) const EVENTS: &str = "events";
/// In it: a link to this program, so that its path may have spaces.
const PROGRAM: &str = "l4s";

/// 2026-01-01: the guest's calendar begins here, independent of the host's.
const CALENDAR_NS: u64 = 1_767_225_600_000_000_000;

/// The order of the command.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    /// The kernel.
    pub kernel: PathBuf,
    /// The job of the guest.
    pub job: Job,
    /// Its seed, which the kernel gets before anything draws.
    pub seed: u64,
    /// The core that it runs on.
    pub core: Option<usize>,
    /// Memory of the guest in MiB.
    pub memory_mib: u64,
    /// The arguments with which this program is a guest.
    pub guest: Vec<String>,
}

/// The life of the process: the main function of a program that is started as [`crate::Virtual`]
/// does it.
pub fn main() -> ExitCode {
    let stdin = std::io::stdin();
    if rustix::net::sockopt::socket_type(&stdin).is_err() {
        eprintln!("error: this becomes a guest kernel, for a command with a socket to talk to");
        return ExitCode::from(2);
    }
    let Ok(socket) = stdin.as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let mut control = Channel::new(socket);
    let Err(error) = live(&mut control);
    if control.send(&Answer::Failed(Trouble::from(&error)), None).is_err() {
        eprintln!("error: {error}");
    }
    ExitCode::FAILURE
}

fn live(control: &mut Channel) -> Result<std::convert::Infallible, OsError> {
    let parent = rustix::process::getppid();
    let order = match control.next::<Order>(true) {
        Ok(Next::Message(order)) => order,
        _ => return Err(OsError::Run("the command is gone".to_owned())),
    };
    namespace::enter(UnshareFlags::NEWNS)?;
    if !namespace::die_with(parent) {
        return Err(OsError::Run("the command is gone".to_owned()));
    }
    if let Some(core) = order.core {
        let mut one = CpuSet::new();
        one.set(core);
        // Without it the run is only slower.
        let _ = sched_setaffinity(None, &one);
    }
    let events = prepare(&order).map_err(|error| {
        OsError::Machine(format!("a folder in memory at {FOLDER}, for this run only: {error}"))
    })?;
    control
        .send(&Answer::Ready, Some(events.as_fd()))
        .map_err(|error| OsError::Run(format!("the command: {error}")))?;
    drop(events);
    let error =
        Command::new(&order.kernel).args(arguments(&order)).env_clear().envs(ENVIRONMENT).exec();
    Err(OsError::Machine(format!("{}: {error}", order.kernel.display())))
}

/// Where user-mode Linux puts the guest's memory and its own files.
const ENVIRONMENT: [(&str, &str); 2] = [("TMPDIR", FOLDER), ("HOME", FOLDER)];

fn prepare(order: &Order) -> std::io::Result<OwnedFd> {
    // The following mounts are not visible outside.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let options = CString::new("mode=0700,size=100%")?;
    mount(
        "l4s",
        FOLDER,
        "tmpfs",
        MountFlags::NOSUID | MountFlags::NODEV,
        Some(options.as_c_str()),
    )?;
    let folder = Path::new(FOLDER);
    fs::write(folder.join(JOB), serde_json::to_vec(&order.job)?)?;
    std::os::unix::fs::symlink(std::env::current_exe()?, folder.join(PROGRAM))?;
    File::create(folder.join(EVENTS))?;
    Ok(OpenOptions::new().read(true).write(true).open(folder.join(EVENTS))?.into())
}

/// The command line of user-mode Linux.
fn arguments(order: &Order) -> Vec<String> {
    let mut arguments = vec![
        format!("mem={}M", order.memory_mib),
        // Time does not advance while anything computes, and jumps when all wait.
        "time-travel=inf-cpu".to_owned(),
        format!("time-travel-start={CALENDAR_NS}"),
        "root=/dev/root".to_owned(),
        "rootfstype=hostfs".to_owned(),
        "rootflags=/".to_owned(),
        "ro".to_owned(),
        "seccomp=auto".to_owned(),
        format!("uml_dir={FOLDER}/uml"),
        "con=null".to_owned(),
        "con0=null,fd:1".to_owned(),
        "console=tty0".to_owned(),
        "panic=-1".to_owned(),
        // Out of memory: it ends instead of looking for some.
        "sysctl.vm.panic_on_oom=1".to_owned(),
        // The kernel mixes its command line into its entropy; it has no other entropy.
        format!("l4s.seed={}", order.seed),
        format!("init={FOLDER}/{PROGRAM}"),
        "--".to_owned(),
    ];
    arguments.extend(order.guest.iter().cloned());
    arguments
}
