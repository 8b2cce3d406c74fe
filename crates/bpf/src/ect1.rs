//! ECT(1) on packets that leave a device.

use std::fmt;
use std::os::fd::{AsFd, OwnedFd};

use libbpf_rs::{ErrorKind, Object, TC_EGRESS, TcHook};

use crate::BpfError;
use crate::object::{self, for_control};
use crate::tcx::{self, Place, Way};

/// Rewrites ECT(0) to ECT(1) on all packets that leave a device, until this is dropped or the
/// process ends.
///
/// On kernels before 6.6 it is a filter of the device instead of a link, and outlives a process
/// that is killed; it goes with the device.
pub struct Ect1 {
    _hold: Hold,
}

enum Hold {
    Link { fd: OwnedFd },
    Filter { hook: TcHook },
}

impl Ect1 {
    /// Attaches to the device of that index in the network namespace of the calling thread. The
    /// device may have Ethernet headers or, as TUN, none.
    pub fn attach(ifindex: u32) -> Result<Ect1, BpfError> {
        let object = load(None)?;
        let hold = match attach(&object, "ect1", ifindex) {
            Ok(fd) => Hold::Link { fd },
            Err(error) if error.kind() == ErrorKind::InvalidInput => filter(&object, ifindex)?,
            Err(error) => return Err(refused(ifindex, &error)),
        };
        Ok(Ect1 { _hold: hold })
    }

    /// Rewrites only the packets of sockets with the congestion control `control`, until the
    /// descriptor is closed. It takes Linux 6.6.
    pub fn of_control(control: &str, ifindex: u32) -> Result<OwnedFd, BpfError> {
        object::check_name(control)?;
        attach(&load(Some(control))?, "ect1", ifindex).map_err(|error| refused(ifindex, &error))
    }

    /// Attaches a program that does nothing to the loopback device, and takes it away again.
    pub(crate) fn try_link() -> Result<(), BpfError> {
        const LOOPBACK: u32 = 1;
        let object = load(None)?;
        attach(&object, "pass", LOOPBACK).map(drop).map_err(|error| refused(LOOPBACK, &error))
    }
}

pub(crate) fn load(control: Option<&str>) -> Result<Object, BpfError> {
    let mut open = object::open(object::ECT1())?;
    for_control(&mut open, control.unwrap_or_default());
    object::load(open).map_err(|error| object::refused("to load ect1", &error))
}

fn refused(ifindex: u32, error: &libbpf_rs::Error) -> BpfError {
    object::refused(format!("to attach to device {ifindex}"), error)
}

fn attach(object: &Object, program: &str, ifindex: u32) -> Result<OwnedFd, libbpf_rs::Error> {
    let program = object.progs().find(|p| p.name() == program).expect("ect1.bpf.c defines it");
    // Before DualPI2, which goes by the codepoint that the packet leaves with.
    tcx::attach(program.as_fd(), ifindex, Way::Out, Place::First)
}

/// A filter of the device's clsact discipline, which older kernels have instead.
fn filter(object: &Object, ifindex: u32) -> Result<Hold, BpfError> {
    let program = object.progs().find(|p| p.name() == "ect1").expect("ect1.bpf.c defines it");
    let mut hook = TcHook::new(program.as_fd());
    hook.ifindex(ifindex as i32).attach_point(TC_EGRESS);
    let hook = hook
        .create()
        .and_then(|mut hook| hook.attach())
        .map_err(|error| refused(ifindex, &error))?;
    Ok(Hold::Filter { hook })
}

impl Drop for Hold {
    fn drop(&mut self) {
        // The device may be gone, and its programs with it.
        match self {
            Hold::Link { fd } => drop(tcx::detach(fd.as_fd())),
            Hold::Filter { hook } => drop(hook.detach()),
        }
    }
}

impl fmt::Debug for Ect1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ect1")
    }
}
