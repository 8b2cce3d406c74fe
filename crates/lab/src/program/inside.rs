//! The two processes between this one and a program of the user.
//!
//! The *keeper* enters the network namespace of an agent, makes namespaces for processes and mounts, and
//! starts the *init*, which is process 1 there. The init starts the program and reaps its
//! orphans. When the init ends for any reason, the kernel kills everything in its namespace: also a
//! program that went into the background, or that ignores signals.
//!
//! The init ends when the program does, when it is asked to, or when the other end of its control
//! pipe closes, because the command l4s is gone. So there is nothing to undo.

use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, exit};
use std::sync::mpsc;
use std::time::Duration;

use l4s_os::{keep_off_spare_core, namespace};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use rustix::thread::UnshareFlags;
use serde::{Deserialize, Serialize};

use super::output;
use super::signals::{get_signals, hold_signals};
use super::terminal;

/// The argument, behind that of the keeper, that makes an init of it.
const INIT: &str = "init";
/// Exit codes of shells for a command that cannot be run, and for one that is not there.
const CANNOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;
/// How long the keeper waits for remaining output after the program ended.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

/// The parameters of keeper and init.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Spec {
    /// The process whose user and network namespace the program has.
    pub namespace_of: u32,
    /// The end of the control pipe from which the init reads signals.
    pub control: RawFd,
    /// The beginning of `/etc/hosts`.
    pub hosts: String,
    /// The contents of `/etc/resolv.conf`; the machine's own unless set.
    pub name_servers: Option<String>,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Whether the program is the leader of a process group, which gets the signals, and the terminal of a
    /// program in the foreground.
    pub leads: bool,
    /// Whether it is in the foreground: its output is its own.
    pub in_front: bool,
    /// Whether background processes of the program go on when it ends.
    pub lingers: bool,
}

/// The life of a keeper, and of an init: the main function of a program that is started with the
/// specification as its last argument.
pub fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let spec = args.last().and_then(|text| serde_json::from_str::<Spec>(text).ok());
    let Some(spec) = spec else {
        eprintln!("error: this is a part of a run, which starts it for each program");
        return ExitCode::from(2);
    };
    hold_signals();
    let is_init = args.iter().any(|arg| arg == INIT);
    let done = if is_init { init(&spec) } else { keep(&spec, &args) };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(CANNOT_RUN)
        }
    }
}

fn keep(spec: &Spec, args: &[String]) -> Result<u8, String> {
    namespace::join(spec.namespace_of).map_err(|error| error.to_string())?;
    keep_off_spare_core();
    let program =
        std::env::current_exe().map_err(|error| format!("where this program is: {error}"))?;
    let (last, before) = args[1..].split_last().ok_or("no arguments")?;
    let mut init = Command::new(&program);
    init.args(before).arg(INIT).arg(last);
    let (copied, copies) = mpsc::channel();
    if !spec.in_front {
        let failed = |error: io::Error| format!("the output of the program: {error}");
        let out = io::stdout().as_fd().try_clone_to_owned().map_err(failed)?;
        let err = io::stderr().as_fd().try_clone_to_owned().map_err(failed)?;
        init.stdout(copying(out, copied.clone()).map_err(failed)?);
        init.stderr(copying(err, copied.clone()).map_err(failed)?);
    }
    drop(copied);
    // A process whose children are in another namespace than itself starts no threads any more.
    namespace::enter(UnshareFlags::NEWNS | UnshareFlags::NEWPID)
        .map_err(|error| error.to_string())?;
    let failed = |error| format!("its first process, {}: {error}", program.display());
    let mut child = init.spawn().map_err(failed)?;
    // The pipes end with those who write into them.
    drop(init);
    let status = child.wait().map_err(failed)?;
    // Nobody is left who could still write, unless the pipe was passed to a process outside.
    let _ = copies.recv_timeout(LAST_OUTPUT);
    Ok(code(status))
}

/// A pipe into a thread that writes the kept part to `to`. The thread drops `copied` when it is done.
fn copying(to: OwnedFd, copied: mpsc::Sender<()>) -> io::Result<OwnedFd> {
    let (from, pipe) = pipe_with(PipeFlags::CLOEXEC)?;
    std::thread::Builder::new().spawn(move || {
        // Where it cannot be written, the pipe is closed, which ends a program that goes on printing.
        let _ = output::copy(File::from(from), File::from(to));
        drop(copied);
    })?;
    Ok(pipe)
}

fn init(spec: &Spec) -> Result<u8, String> {
    mount(spec);
    // SAFETY: the keeper inherited this end of the pipe for the init, which owns it from here on.
    #[allow(unsafe_code)]
    let control = unsafe { OwnedFd::from_raw_fd(spec.control) };
    let _ = rustix::io::fcntl_setfd(&control, rustix::io::FdFlags::CLOEXEC);
    let (word, rest) = spec.words.split_first().ok_or("no command")?;
    let mut command = Command::new(word);
    command.args(rest);
    if spec.leads {
        command.process_group(0);
    }
    let in_front = spec.in_front;
    let has_terminal = in_front && spec.leads;
    let prepare = move || {
        if has_terminal {
            terminal::give_to(rustix::process::getpid());
        }
        get_signals(in_front);
        io::Result::Ok(())
    };
    // SAFETY: this process has one thread, so that the new one finds no lock taken.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(prepare);
    }
    let program = match command.spawn() {
        Ok(program) => program,
        Err(error) => {
            eprintln!("l4s: {word}: {error}");
            let missing = error.kind() == io::ErrorKind::NotFound;
            return Ok(if missing { NOT_FOUND } else { CANNOT_RUN });
        }
    };
    let (pid, leads) = (Pid::from_child(&program), spec.leads);
    std::thread::spawn(move || obey(&control, pid, leads));
    reap(&program, spec.lingers, has_terminal)
}

/// Passes on the signals that come through the pipe; ends this process, and with it the namespace, at
/// SIGKILL or where the pipe is closed.
fn obey(control: &OwnedFd, program: Pid, leads: bool) {
    let mut byte = [0];
    loop {
        match rustix::io::read(control, &mut byte) {
            Err(Errno::INTR) => {}
            Ok(1) if i32::from(byte[0]) != Signal::KILL.as_raw() => {
                let Some(signal) = Signal::from_named_raw(byte[0].into()) else { continue };
                // It may have ended.
                let _ = if leads {
                    rustix::process::kill_process_group(program, signal)
                } else {
                    rustix::process::kill_process(program, signal)
                };
            }
            _ => exit(128 + Signal::KILL.as_raw()),
        }
    }
}

/// Waits for the program, and for its heirs where it `lingers`; its exit code. A program with the terminal goes on
/// when that stops it.
fn reap(program: &Child, lingers: bool, has_terminal: bool) -> Result<u8, String> {
    let mut ended = None;
    let program = Pid::from_child(program);
    let options = if has_terminal { WaitOptions::UNTRACED } else { WaitOptions::empty() };
    loop {
        match rustix::process::wait(options) {
            Ok(Some((pid, status))) if pid == program => match status.stopping_signal() {
                Some(signal) => resume(program, signal),
                None => ended = Some(code(ExitStatus::from_raw(raw(status)))),
            },
            Ok(_) | Err(Errno::INTR) => {}
            // No process is left.
            Err(_) => return ended.ok_or_else(|| "the program got lost".to_owned()),
        }
        if let Some(code) = ended.filter(|_| !lingers) {
            return Ok(code);
        }
    }
}

/// Continues a program that its terminal stopped, by Ctrl-Z say: the shell that could do it waits for l4s, which
/// goes on in real time.
fn resume(program: Pid, signal: i32) {
    if [Signal::TSTP, Signal::TTIN, Signal::TTOU].iter().any(|stop| stop.as_raw() == signal) {
        terminal::give_to(program);
        // It may have ended.
        let _ = rustix::process::kill_process_group(program, Signal::CONT);
    }
}

fn raw(status: WaitStatus) -> i32 {
    status.as_raw()
}

/// An exit code, as shells have it.
fn code(status: ExitStatus) -> u8 {
    let signal = || 128 + status.signal().unwrap_or_default();
    status.code().unwrap_or_else(signal) as u8
}

/// The socket through which the C library queries systemd-resolved, past any network (nss-resolve).
const RESOLVED: &str = "/run/systemd/resolve/io.systemd.Resolve";

/// Mounts that only this namespace sees: its processes, names of hosts and name servers. In a container
/// that forbids them the program has to do without.
fn mount(spec: &Spec) {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    if rustix::mount::mount_change("/", private).is_err() {
        return;
    }
    let safe = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let none: Option<&CStr> = None;
    let _ = rustix::mount::mount("proc", "/proc", "proc", safe, none);
    // The file is in memory. It stays where it is mounted when its own file system is gone from /tmp.
    if rustix::mount::mount("l4s", "/tmp", "tmpfs", safe, none).is_err() {
        return;
    }
    let show = |name: &str, text: String, instead_of: &str| {
        let file = format!("/tmp/{name}");
        if fs::write(&file, text).is_ok() {
            let _ = rustix::mount::mount_bind(file.as_str(), instead_of);
        }
    };
    let before = fs::read_to_string("/etc/hosts").unwrap_or_default();
    if !Path::new("/etc/hosts").exists() {
        // Nothing can be mounted in the place of a file that is not there: a bare system has none.
        let note = "l4s: this machine has no /etc/hosts, so that the names `server` and `client` are unknown; \
                    the addresses are in $L4S_SERVER and $L4S_CLIENT";
        let _ = writeln!(io::stderr(), "{note}");
    }
    show("hosts", format!("{}{before}", spec.hosts), "/etc/hosts");
    if let Some(text) = &spec.name_servers {
        show("resolv.conf", text.clone(), "/etc/resolv.conf");
        // Where it does not answer, the name servers are asked.
        let _ = rustix::mount::mount_bind("/dev/null", RESOLVED);
    }
    let _ = rustix::mount::unmount("/tmp", UnmountFlags::DETACH);
}
