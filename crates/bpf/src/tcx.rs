//! Programs on the way out of a device or into it (TCX, since Linux 6.6).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

use libbpf_rs::query::LinkTypeInfo;
use libbpf_rs::{Link, libbpf_sys};

use crate::{BpfError, object};

/// Where among the programs of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    First,
    Last,
}

/// Which way of the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Out,
    In,
}

/// Links a program to a device of the calling thread's network namespace. The link is there for as
/// long as its file.
pub(crate) fn attach(
    program: BorrowedFd<'_>,
    ifindex: u32,
    way: Way,
    place: Place,
) -> Result<OwnedFd, libbpf_rs::Error> {
    let options = libbpf_sys::bpf_link_create_opts {
        sz: size_of::<libbpf_sys::bpf_link_create_opts>() as libbpf_sys::size_t,
        flags: match place {
            Place::First => libbpf_sys::BPF_F_BEFORE,
            Place::Last => libbpf_sys::BPF_F_AFTER,
        },
        ..Default::default()
    };
    // SAFETY: a system call on a descriptor that is borrowed for it, with options that live.
    #[allow(unsafe_code)]
    let fd = unsafe {
        libbpf_sys::bpf_link_create(
            program.as_raw_fd(),
            ifindex as i32,
            match way {
                Way::Out => libbpf_sys::BPF_TCX_EGRESS,
                Way::In => libbpf_sys::BPF_TCX_INGRESS,
            },
            &raw const options,
        )
    };
    if fd < 0 {
        return Err(io::Error::from_raw_os_error(-fd).into());
    }
    // SAFETY: the kernel just gave us this descriptor, and nobody else has it.
    #[allow(unsafe_code)]
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Whether the program of a link that [`pin`](crate::pin) keeps is at a device: the device may be gone,
/// in any network namespace.
pub fn is_attached(path: &Path) -> Result<bool, BpfError> {
    let info = Link::open(path).and_then(|link| link.info());
    let refused = |error| object::refused(format!("to open {}", path.display()), &error);
    // The number of a device that is gone is 0 (`tcx_link_fill_info`).
    info.map(|found| matches!(found.info, LinkTypeInfo::Tcx(tcx) if tcx.ifindex != 0))
        .map_err(refused)
}

/// Ends a link now. Its file alone would keep it for longer where another thread just forked: the
/// child holds a copy until it executes its program.
pub(crate) fn detach(link: BorrowedFd<'_>) -> Result<(), libbpf_rs::Error> {
    // SAFETY: a system call on a descriptor that is borrowed for it.
    #[allow(unsafe_code)]
    let result = unsafe { libbpf_sys::bpf_link_detach(link.as_raw_fd()) };
    if result < 0 { Err(io::Error::from_raw_os_error(-result).into()) } else { Ok(()) }
}
