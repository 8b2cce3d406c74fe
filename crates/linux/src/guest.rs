//! The first process of the guest.
//!
//! It is this program, started by the guest's kernel from the host's files. It mounts what a run
//! needs, runs the scenario, and when it is done it switches the guest off.

use std::fs::OpenOptions;
use std::path::Path;

use l4s_lab::AgentCommand;
use l4s_os::OsError;
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, reboot};

use crate::boot::{EVENTS, FOLDER, JOB};
use crate::drive::{self, Job, Place};
use crate::event::{Event, Trouble};
use crate::record::Log;

/// The life of the guest. It does not return where it is what it should be: the guest's process 1.
pub fn main(agent_args: Vec<std::ffi::OsString>) -> std::process::ExitCode {
    if std::process::id() != 1 {
        eprintln!("error: this is the first process of a guest kernel, which starts it");
        return std::process::ExitCode::from(2);
    }
    if let Err(error) = live(agent_args) {
        // On the guest's console, whose end the host shows.
        eprintln!("l4s: {error}");
    }
    let _ = reboot(RebootCommand::PowerOff);
    std::process::ExitCode::FAILURE
}

fn live(agent_args: Vec<std::ffi::OsString>) -> Result<(), OsError> {
    let mounted = |what: &str, kind: &str, on: &str| {
        mount(what, on, kind, MountFlags::empty(), None)
            .map_err(|error| OsError::Run(format!("mounting {kind} on {on}: {error}")))
    };
    mounted("proc", "proc", "/proc")?;
    mounted("dev", "devtmpfs", "/dev")?;
    // The rest of the host's files cannot be written.
    let folder = std::ffi::CString::new(FOLDER).unwrap_or_default();
    mount(FOLDER, FOLDER, "hostfs", MountFlags::empty(), Some(folder.as_c_str()))
        .map_err(|error| OsError::Run(format!("mounting the folder of the run: {error}")))?;
    let file = OpenOptions::new()
        .append(true)
        .open(Path::new(FOLDER).join(EVENTS))
        .map_err(|error| OsError::Run(format!("the file of events: {error}")))?;
    let mut log = Log::new(file);
    if let Err(error) = run(agent_args, &mut log) {
        log.write(&Event::Failed(Trouble::from(&error)))?;
    }
    log.finish()
}

fn run(agent_args: Vec<std::ffi::OsString>, log: &mut Log) -> Result<(), OsError> {
    let path = Path::new(FOLDER).join(JOB);
    let failed = |error: std::io::Error| OsError::Run(format!("the scenario: {error}"));
    let job = std::fs::read(path).map_err(failed)?;
    let job: Job = serde_json::from_slice(&job).map_err(|error| failed(error.into()))?;
    let scenario = &job.scenario;
    seed_chance(scenario.seed)?;
    for kind in scenario.groups.iter().map(|group| group.cc.kind()) {
        if !l4s_os::has_control(kind) {
            return Err(OsError::Machine(format!(
                "this kernel has no congestion control `{kind}`: `make linux` builds one that has"
            )));
        }
    }
    let program = std::env::current_exe()
        .map_err(|error| OsError::Run(format!("where this program is: {error}")))?;
    let agent = AgentCommand { program, args: agent_args };
    let control = |group: &l4s_model::Group| group.cc.kind().to_owned();
    drive::drive(&job, control, &agent, Place::Guest, log)
}

/// Chance comes from the seed alone: the guest's kernel gets none from the machine.
#[allow(unsafe_code)]
fn seed_chance(seed: u64) -> Result<(), OsError> {
    let failed = |error: std::io::Error| OsError::Run(format!("/dev/urandom: {error}"));
    let file = OpenOptions::new().write(true).open("/dev/urandom").map_err(failed)?;
    // `struct rand_pool_info`: bits, bytes, and the bytes.
    let mut info = [256u32.to_ne_bytes(), 32u32.to_ne_bytes()].concat();
    info.extend(seed.to_le_bytes().repeat(4));
    // _IOW('R', 0x03, int[2]) of linux/random.h.
    const RNDADDENTROPY: libc::c_ulong = 0x4008_5203;
    // SAFETY: the call reads the structure, whose bytes follow its two numbers as these say.
    let done = unsafe {
        libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&file), RNDADDENTROPY as _, info.as_ptr())
    };
    if done == 0 { Ok(()) } else { Err(failed(std::io::Error::last_os_error())) }
}
