//! ECT(1) on what leaves a device.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use libbpf_rs::{ErrorKind, Object, TC_EGRESS, TcHook, libbpf_sys};

use crate::{BpfError, object};

/// Rewrites ECT(0) to ECT(1) on all packets that leave a device, until this is dropped or the
/// process ends.
///
/// On kernels before 6.6 it is a filter of the device instead of a link, and outlives a process
/// that is killed; it goes with the device.
pub struct Ect1 {
    _hold: Hold,
}

enum Hold {
    Link { _fd: OwnedFd },
    Filter { hook: TcHook },
}

impl Ect1 {
    /// Attaches to the device of that index in the network namespace of the calling thread. The
    /// device may have Ethernet headers or, as TUN, none.
    pub fn attach(ifindex: u32) -> Result<Ect1, BpfError> {
        let object = load()?;
        let hold = match attach(&object, "ect1", ifindex) {
            Ok(fd) => Hold::Link { _fd: fd },
            Err(error) if error.kind() == ErrorKind::InvalidInput => filter(&object, ifindex)?,
            Err(error) => return Err(refused(ifindex, &error)),
        };
        Ok(Ect1 { _hold: hold })
    }

    /// Attaches a program that does nothing to the loopback device, and takes it away again.
    pub(crate) fn try_link() -> Result<(), BpfError> {
        const LOOPBACK: u32 = 1;
        let object = load()?;
        attach(&object, "pass", LOOPBACK).map(drop).map_err(|error| refused(LOOPBACK, &error))
    }
}

pub(crate) fn load() -> Result<Object, BpfError> {
    object::open(object::ECT1())?.load().map_err(|error| object::refused("to load ect1", &error))
}

fn refused(ifindex: u32, error: &libbpf_rs::Error) -> BpfError {
    object::refused(format!("to attach to device {ifindex}"), error)
}

/// A link to the way out of the device; its file is what keeps it.
fn attach(object: &Object, program: &str, ifindex: u32) -> Result<OwnedFd, libbpf_rs::Error> {
    let program = object.progs().find(|p| p.name() == program).expect("ect1.bpf.c defines it");
    let ifindex = ifindex as i32;
    // SAFETY: a system call on a descriptor that lives as long as `object`; no options.
    #[allow(unsafe_code)]
    let fd = unsafe {
        libbpf_sys::bpf_link_create(
            program.as_fd().as_raw_fd(),
            ifindex,
            libbpf_sys::BPF_TCX_EGRESS,
            std::ptr::null(),
        )
    };
    if fd < 0 {
        return Err(io::Error::from_raw_os_error(-fd).into());
    }
    // SAFETY: the kernel just gave us this descriptor, and nobody else has it.
    #[allow(unsafe_code)]
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
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
        if let Hold::Filter { hook } = self {
            // The device may be gone, and the filter with it.
            let _ = hook.detach();
        }
    }
}

impl fmt::Debug for Ect1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ect1")
    }
}
