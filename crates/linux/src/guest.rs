//! The first process of the guest.
//!
//! It is this program, started by the guest's kernel from the host's files. It makes the mounts of
//! a run, runs the scenario, and when it is done it switches the guest off.

use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use l4s_lab::Roles;
use l4s_os::OsError;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::system::{RebootCommand, reboot};

use crate::boot::{EVENTS, FOLDER, JOB};
use crate::drive::{self, Job, Place};
use crate::event::{Event, Trouble};
use crate::host::Parts;
use crate::record::Log;

/// How long the machine has run when programs start. ping, among others, takes a clock below one
/// second for one that was not read yet.
const UPTIME: Duration = Duration::from_secs(10);

/// The life of the guest. It does not return if it is the guest's process 1.
pub fn main(parts: Parts) -> std::process::ExitCode {
    if std::process::id() != 1 {
        eprintln!("error: this is the first process of a guest kernel, which starts it");
        return std::process::ExitCode::from(2);
    }
    if let Err(error) = live(parts) {
        // On the guest's console, whose end the host shows.
        eprintln!("l4s: {error}");
    }
    let _ = reboot(RebootCommand::PowerOff);
    std::process::ExitCode::FAILURE
}

fn live(parts: Parts) -> Result<(), OsError> {
    // Until then /proc is the host's.
    mounted("proc", "/proc")?;
    let roles = parts.of_this_program()?;
    let failed = |error: std::io::Error| OsError::Run(format!("the scenario: {error}"));
    let job = fs::read(Path::new(FOLDER).join(JOB)).map_err(failed)?;
    let job: Job = serde_json::from_slice(&job).map_err(|error| failed(error.into()))?;
    if job.programs.is_some() {
        scratch()?;
        mounted("proc", "/proc")?;
    }
    mounted("devtmpfs", "/dev")?;
    // The rest of the host's files cannot be written.
    writable(Path::new(FOLDER))?;
    let file = OpenOptions::new()
        .append(true)
        .open(Path::new(FOLDER).join(EVENTS))
        .map_err(|error| OsError::Run(format!("the file of events: {error}")))?;
    if let Some(programs) = &job.programs {
        for_programs()?;
        // It may be below a folder that was mounted just now.
        fs::create_dir_all(&programs.out)
            .map_err(|error| OsError::run(programs.out.display(), error))?;
        writable(&programs.out)?;
        std::thread::sleep(UPTIME);
    }
    let mut log = Log::new(file);
    if let Err(error) = run(&job, &roles, &mut log) {
        log.write(&Event::Failed(Trouble::from(&error)))?;
    }
    log.finish()
}

fn mounted(kind: &str, on: &str) -> Result<(), OsError> {
    mount(kind, on, kind, MountFlags::empty(), None)
        .map_err(|error| OsError::Run(format!("mounting {kind} on {on}: {error}")))
}

/// Mounts a folder of the host over itself, so that it can be written.
fn writable(folder: &Path) -> Result<(), OsError> {
    let failed = |error: std::io::Error| {
        OsError::Run(format!("mounting the host's {}: {error}", folder.display()))
    };
    // The option of this file system is the name of its root, and nothing else.
    let name = CString::new(folder.as_os_str().as_bytes()).map_err(|error| failed(error.into()))?;
    mount(folder, folder, "hostfs", MountFlags::empty(), Some(name.as_c_str()))
        .map_err(|error| failed(error.into()))
}

/// Changes to a root that has all files of the host, and where files are written to memory
/// of the guest.
fn scratch() -> Result<(), OsError> {
    let failed = |error: std::io::Error| OsError::Run(format!("a root to write to: {error}"));
    mounted("tmpfs", FOLDER)?;
    let path = |name: &str| format!("{FOLDER}/{name}");
    let [root, upper, work] = ["root", "upper", "work"].map(path);
    for folder in [&root, &upper, &work] {
        fs::create_dir(folder).map_err(failed)?;
    }
    let layers = CString::new(format!("lowerdir=/,upperdir={upper},workdir={work}"))
        .map_err(|error| failed(error.into()))?;
    mount("overlay", &root, "overlay", MountFlags::empty(), Some(layers.as_c_str()))
        .map_err(|error| failed(error.into()))?;
    std::env::set_current_dir(&root).map_err(failed)?;
    // The old root is mounted over the new one, and is then unmounted.
    rustix::process::pivot_root(".", ".")
        .and_then(|()| unmount(".", UnmountFlags::DETACH))
        .map_err(|error| failed(error.into()))?;
    std::env::set_current_dir("/").map_err(failed)
}

/// Mounts the other file systems that programs expect.
fn for_programs() -> Result<(), OsError> {
    let failed = |error: std::io::Error| OsError::Run(format!("/dev: {error}"));
    // The folder of the run is not needed any more.
    mounted("sysfs", FOLDER)?;
    for (folder, kind) in [("/dev/pts", "devpts"), ("/dev/shm", "tmpfs")] {
        fs::create_dir_all(folder).map_err(failed)?;
        mounted(kind, folder)?;
    }
    let links = [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")];
    for (name, descriptor) in links {
        symlink(format!("/proc/self/fd{descriptor}"), format!("/dev/{name}")).map_err(failed)?;
    }
    Ok(())
}

fn run(job: &Job, roles: &Roles, log: &mut Log) -> Result<(), OsError> {
    let scenario = &job.scenario;
    seed_chance(scenario.seed)?;
    for kind in scenario.groups.iter().map(|group| group.cc.kind()) {
        if !l4s_os::has_control(kind) {
            return Err(OsError::Machine(format!(
                "this kernel has no congestion control `{kind}`: `make linux` builds one that has"
            )));
        }
    }
    let control = |group: &l4s_model::Group| group.cc.kind().to_owned();
    drive::drive(job, control, roles, Place::Guest, log)
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
