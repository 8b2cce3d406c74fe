//! This program in another role: a run starts it again for each server and client, for the kernel of
//! a guest, for the first process of a guest, and for the router of a run.

use std::any::Any;
use std::os::fd::BorrowedFd;
use std::process::ExitCode;

use l4s_bpf::{Ect1, Sockets, Tracers};
use l4s_lab::agent::ReadSocket;
use l4s_lab::{AgentCommand, PragueSample};
use l4s_linux::Parts;

use crate::Error;

/// The argument of an agent: a server or a client.
pub(crate) const AGENT: &str = "agent";
/// The argument of the keeper of a program.
pub(crate) const PROGRAM: &str = "program";
/// The argument of a process that becomes a guest's kernel.
pub(crate) const BOOT: &str = "linux-boot";
/// The argument of the first process of a guest.
pub(crate) const GUEST: &str = "linux-guest";
/// The argument of the router of a run.
pub(crate) const ROUTER: &str = "qdisc-router";

/// Lets this process do its part of a run, where `argument`, the first of its command line, names
/// one, and returns its exit code. A program that runs substrates other than the simulator calls
/// this first in `main`.
pub fn reenter(argument: Option<&str>) -> Option<ExitCode> {
    match argument? {
        AGENT => Some(l4s_lab::agent::main(&Hooks)),
        PROGRAM => Some(l4s_lab::program_main()),
        BOOT => Some(l4s_linux::boot::main()),
        GUEST => Some(l4s_linux::guest::main(parts())),
        ROUTER => Some(l4s_linux::host::main()),
        _ => None,
    }
}

/// The arguments with which this program is a part of a run.
pub(crate) fn parts() -> Parts {
    Parts { agent: vec![AGENT.to_owned()], keeper: vec![PROGRAM.to_owned()] }
}

/// This program with that argument.
pub(crate) fn this_program(argument: &str) -> Result<AgentCommand, Error> {
    let program = std::env::current_exe()
        .map_err(|error| Error::Run(format!("where this program is: {error}")))?;
    Ok(AgentCommand { program, args: vec![argument.into()] })
}

/// The functions of BPF that an agent uses.
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

/// The map in which our Prague shows the state of each socket.
struct Map(Sockets);

impl ReadSocket for Map {
    fn read(&self, socket: BorrowedFd<'_>) -> Result<Option<PragueSample>, String> {
        let shown = self.0.read(socket).map_err(|error| error.to_string())?;
        Ok(shown.map(|s| PragueSample { detector: s.detector, alpha: Some(s.alpha) }))
    }
}
