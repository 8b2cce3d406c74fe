//! Programs of the user on the hosts of a lab: started, watched and ended.
//!
//! A program runs in the network namespace of an agent of its group, so that it has that host's address
//! and path. Its output goes to files, except for a program in the foreground. Servers start before
//! the run, which begins when all are ready. All programs end with the run.

mod inside;
mod output;
mod signals;
mod supervisor;
mod terminal;

use std::ffi::OsString;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use l4s_model::{Command, Program, Scenario, Signal};
use l4s_os::{Clock, OsError};
use l4s_units::Time;
use serde::{Deserialize, Serialize};

pub use inside::main;
pub use signals::hold_signals;
use supervisor::{GRACE, Supervisor};

use crate::address::End;
use crate::{AgentCommand, Lab, LabPlan};

/// How long a wait for servers is at a time.
const WAIT: Duration = Duration::from_millis(100);
/// How the programs of a run are started: environment, output folder, terminal and network.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Programs {
    /// Their working directory and environment, if not those of this process.
    pub surroundings: Option<Surroundings>,
    /// The folder of their output, which is made.
    pub out: PathBuf,
    /// The end at which the last program has the terminal, and ends the run when it ends there.
    pub foreground: Option<End>,
    /// Whether the client of the last program's group reaches the network of this machine; with
    /// IPv4 only.
    pub internet: bool,
}

/// A working directory and an environment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Surroundings {
    /// The working directory.
    pub folder: PathBuf,
    /// The environment.
    pub variables: Vec<(OsString, OsString)>,
}

impl Surroundings {
    /// Those of this process.
    ///
    /// # Errors
    /// Its working directory is gone.
    pub fn of_this_process() -> Result<Surroundings, OsError> {
        let folder = std::env::current_dir()
            .map_err(|error| OsError::machine("the working directory", error))?;
        Ok(Surroundings { folder, variables: std::env::vars_os().collect() })
    }
}

/// How a program ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The program of the scenario.
    pub program: usize,
    /// Its server, or its client.
    pub end: End,
    /// Its exit code, as shells have it: 128 and the signal that killed it.
    pub code: u8,
    /// When it ended by itself; `None` if the run ended it.
    pub at: Option<Time>,
    /// The signal that was to end it, where it still ran after that and was killed.
    pub unheeded: Option<Signal>,
}

/// Checks that the programs of a scenario are there, as far as that shows: of a line for a shell, where it is a
/// single command.
///
/// # Errors
/// [`OsError::Unsupported`], of a program that is not there or not executable.
pub fn check_programs(scenario: &Scenario) -> Result<(), OsError> {
    for program in &scenario.programs {
        let ends = [(End::Server, &program.server), (End::Client, &program.client)];
        for (end, command) in ends {
            let (word, is_there) = match command {
                None => continue,
                Some(Command::Words(words)) => {
                    let word = words.first().map_or("", String::as_str);
                    (word, is_executable(word))
                }
                Some(Command::Line(line)) => {
                    let Some(word) = single_command(line) else { continue };
                    (word, is_executable(word) || is_builtin(word))
                }
            };
            // Its own $PATH is looked at when it starts.
            let has_path = program.env.iter().any(|(name, _)| name == "PATH");
            if !is_there && (word.contains('/') || !has_path) {
                return Err(OsError::Unsupported(format!(
                    "{}: found no executable `{word}`, expected the path of one, or a name in $PATH",
                    who(program, end),
                )));
            }
        }
    }
    Ok(())
}

/// The first word of a line for a shell, where it can only be a command: the line has no further ones, which
/// could answer for it.
fn single_command(line: &str) -> Option<&str> {
    let is_plain = |c: char| c.is_alphanumeric() || "_-+./,:@%".contains(c);
    let word = line.split_whitespace().next()?;
    (!line.contains([';', '&', '|', '\n']) && word.chars().all(is_plain)).then_some(word)
}

/// Whether the shell itself knows the word.
fn is_builtin(word: &str) -> bool {
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", "command -v \"$1\"", "sh", word]);
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Of a path, some shells say no more than that it is one.
    !word.contains('/') && shell.status().is_ok_and(|status| status.success())
}

/// Whether a path, or a name that $PATH leads to, is a file that this user may execute.
pub fn is_executable(word: &str) -> bool {
    let may = |path: &Path| {
        path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
    };
    if word.contains('/') {
        return may(Path::new(word));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| may(&folder.join(word)))
}

/// A host that programs can be on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host {
    /// Its agent.
    pub process: u32,
    pub address: IpAddr,
}

/// Per group, the hosts of server and client.
pub(crate) fn hosts(plan: &LabPlan, lab: &Lab) -> Vec<[Host; 2]> {
    let processes = lab.agents().chunks(2).map(|pair| [pair[0].pid, pair[1].pid]);
    let addresses = plan.pairs.iter().map(|pair| [pair.server.address, pair.client.address]);
    let host = |(process, address)| Host { process, address };
    let pair = |([server, client], [theirs, mine]): ([u32; 2], [_; 2])| {
        [host((server, theirs)), host((client, mine))]
    };
    processes.zip(addresses).map(pair).collect()
}

/// The programs of a scenario during a run: a thread starts, watches and ends them.
///
/// It ends them when it is dropped, too.
pub struct Supervision<'scope> {
    thread: Option<ScopedJoinHandle<'scope, Result<Vec<Ended>, OsError>>>,
    begin: Option<mpsc::Sender<Clock>>,
    over: Arc<AtomicBool>,
}

impl<'scope> Supervision<'scope> {
    /// Starts all servers, and waits until they are ready; calls `waiting` now and then meanwhile. Sets
    /// `stop` where the run should end before its time: because a program failed, or because the
    /// one in the foreground ended.
    ///
    /// # Errors
    /// A server failed, or was not ready within a minute; or an error of `waiting`.
    pub fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        scenario: &'scope Scenario,
        (plan, lab): (&LabPlan, &Lab),
        (keeper, programs): (&'scope AgentCommand, Option<&'scope Programs>),
        stop: &'scope AtomicBool,
        mut waiting: impl FnMut() -> Result<(), OsError>,
    ) -> Result<Supervision<'scope>, OsError> {
        let over = Arc::new(AtomicBool::new(false));
        let programs = programs.filter(|_| !scenario.programs.is_empty());
        let Some(programs) = programs else {
            return Ok(Supervision { thread: None, begin: None, over });
        };
        let hosts = hosts(plan, lab);
        let (begin, begun) = mpsc::channel();
        let (ready, served) = mpsc::channel();
        let is_over = Arc::clone(&over);
        // One thread starts them all: the kernel would end them with it.
        let thread = scope.spawn(move || {
            let mut supervisor = Supervisor::new(scenario, keeper, programs, hosts);
            supervisor.serve(&is_over)?;
            // Nobody waits where the run failed to begin.
            let _ = ready.send(());
            match begun.recv() {
                Ok(clock) => supervisor.watch(clock, &is_over, stop),
                Err(_) => Ok(Vec::new()),
            }
        });
        let supervision = Supervision { thread: Some(thread), begin: Some(begin), over };
        loop {
            match served.recv_timeout(WAIT) {
                Ok(()) => return Ok(supervision),
                Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => {
                    return Err(OsError::Run("the run was stopped before it began".to_owned()));
                }
                Err(RecvTimeoutError::Timeout) => waiting()?,
                // The thread ended, and says why.
                Err(RecvTimeoutError::Disconnected) => {
                    supervision.end()?;
                    return Err(broke());
                }
            }
        }
    }

    /// The run begins, by this clock. Clients start when they are due.
    pub fn begin(&self, clock: Clock) {
        // Where the thread ended, `end` says why.
        let _ = self.begin.as_ref().map(|begin| begin.send(clock));
    }

    /// The run is over: ends running programs, and returns how each program ended.
    ///
    /// # Errors
    /// A program failed, or still ran though the scenario says that it ends by itself.
    pub fn end(mut self) -> Result<Vec<Ended>, OsError> {
        self.over.store(true, Ordering::Relaxed);
        self.begin = None;
        self.thread.take().map_or(Ok(Vec::new()), |thread| thread.join().map_err(|_| broke())?)
    }
}

impl Drop for Supervision<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

fn broke() -> OsError {
    OsError::Run("the thread that watches programs ended".to_owned())
}

/// Such as "the client of program `x`".
fn who(program: &Program, end: End) -> String {
    format!("the {} of program `{}`", end.name(), program.name)
}

/// The name of a signal.
fn name_of(signal: Signal) -> &'static str {
    match signal {
        Signal::Term => "SIGTERM",
        Signal::Int => "SIGINT",
        Signal::Hup => "SIGHUP",
        Signal::Quit => "SIGQUIT",
        Signal::Kill => "SIGKILL",
    }
}

/// Which files have not all that programs printed, for people.
pub fn shortened(scenario: &Scenario, programs: &Programs) -> Vec<String> {
    let mut notes = Vec::new();
    for program in &scenario.programs {
        let ends = [End::Server, End::Client].iter().flat_map(|end| [(*end, "out"), (*end, "err")]);
        for (end, stream) in ends {
            let path = output(&programs.out.join(&program.name), end, stream);
            let length = fs::metadata(&path).map_or(0, |file| file.len());
            if length > (output::HEAD + output::TAIL) as u64 {
                notes.push(format!(
                    "{} printed more than is kept: the middle of {} is left out",
                    who(program, end),
                    path.display()
                ));
            }
        }
    }
    notes
}

/// Which programs did not end by the signal that was to end them, for people.
pub fn unheeded(scenario: &Scenario, ended: &[Ended]) -> Vec<String> {
    let note = |ended: &Ended| {
        let name = name_of(ended.unheeded.filter(|signal| *signal != Signal::Kill)?);
        let who = who(&scenario.programs[ended.program], ended.end);
        Some(format!("{who} still ran {} s after {name}, and was killed", GRACE.as_secs()))
    };
    ended.iter().filter_map(note).collect()
}

/// The file of an output stream.
fn output(folder: &Path, end: End, stream: &str) -> PathBuf {
    folder.join(format!("{}.{stream}", end.name()))
}
