//! Namespaces for the calling process, which go when the process goes.
//!
//! It gets no name and is mounted nowhere, so that it lives as long as its users: processes,
//! sockets and open TUN devices. All of them are files of a process, and the kernel closes those
//! however the process ends.
//!
//! With root's rights the namespace is all that is made. Without, a user namespace comes first:
//! in it the process has every right over its own network, and none outside of it.
//! Either way it may choose any congestion control that the kernel has: TCP_CONGESTION requires
//! CAP_NET_ADMIN over the socket's namespace only, independent of the first namespace's
//! `tcp_allowed_congestion_control`. No setting of the machine is changed.

use std::fs;
use std::os::fd::AsFd;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal};
use rustix::thread::{LinkNameSpaceType, UnshareFlags};

use crate::OsError;
use crate::error::reason;

/// Which ECN TCP asks for, and grants: a setting.
pub const TCP_ECN: &str = "net/ipv4/tcp_ecn";
/// Its value for AccECN, asked for and granted by all connections. Linux 6.18 has AccECN only for
/// congestion controls that ask for it, and refuses this value.
pub const ACCECN: &str = "3";

/// Moves this process into new namespaces of these kinds. Without root's rights over its namespaces
/// it must have one thread only, since a user namespace comes first.
pub fn enter(kinds: UnshareFlags) -> Result<(), OsError> {
    match unshare(kinds) {
        Ok(()) => return Ok(()),
        Err(Errno::PERM) => {}
        Err(error) => return Err(OsError::machine("namespaces of its own", error)),
    }
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    unshare(UnshareFlags::NEWUSER | kinds).map_err(|error| {
        let why = match error {
            Errno::NOSPC => "no more are allowed".to_owned(),
            error => reason(&error.into()),
        };
        let limits: String = [
            "user.max_user_namespaces",
            "kernel.unprivileged_userns_clone",
            "kernel.apparmor_restrict_unprivileged_userns",
        ]
        .into_iter()
        .filter(|name| has_setting(name))
        .map(|name| format!("sysctl {name}, or "))
        .collect();
        OsError::Machine(format!(
            "this user may not make namespaces ({why}): run as root, or have user namespaces allowed \
             ({limits}the policy of the container)"
        ))
    })?;
    // A group may be mapped without rights only by who gave up changing groups.
    for (map, text) in [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("0 {uid} 1")),
        ("gid_map", format!("0 {gid} 1")),
    ] {
        fs::write(format!("/proc/self/{map}"), text)
            .map_err(|error| OsError::machine(format_args!("/proc/self/{map}"), error))?;
    }
    Ok(())
}

/// Moves this process into the user and network namespaces of process `pid`. It must have one thread
/// only.
pub fn join(pid: u32) -> Result<(), OsError> {
    let failed =
        |error: Errno| OsError::machine(format_args!("the namespaces of process {pid}"), error);
    let path = |process: &str, kind: &str| format!("/proc/{process}/ns/{kind}");
    for (kind, name) in [("user", LinkNameSpaceType::User), ("net", LinkNameSpaceType::Network)] {
        let theirs = path(&pid.to_string(), kind);
        // A process may not enter the user namespace that it is in.
        if fs::read_link(&theirs).ok() == fs::read_link(path("self", kind)).ok() {
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let namespace = rustix::fs::open(&theirs, flags, Mode::empty()).map_err(failed)?;
        rustix::thread::move_into_link_name_space(namespace.as_fd(), Some(name)).map_err(failed)?;
    }
    Ok(())
}

/// Does something in the network namespace of process `pid`, which is in the user namespace of this one.
pub fn within<T: Send>(
    pid: u32,
    act: impl FnOnce() -> Result<T, OsError> + Send,
) -> Result<T, OsError> {
    // A namespace is a thread's, and this one ends when it is done.
    std::thread::scope(|scope| scope.spawn(|| join(pid).and_then(|()| act())).join())
        .unwrap_or_else(|_| Err(OsError::Run("a thread in a namespace ended".to_owned())))
}

#[allow(unsafe_code)]
fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    // SAFETY: the call is unsafe for the sake of UnshareFlags::FILES, which leaves other threads
    // with descriptors that mean nothing to them; no caller gives it.
    unsafe { rustix::thread::unshare_unsafe(flags) }
}

/// Has the kernel kill this process when its parent, process `parent`, ends; false if it ended
/// already.
///
/// A change of rights undoes it, so it comes after [`enter`].
pub fn die_with(parent: Option<Pid>) -> bool {
    let asked = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    asked.is_ok() && rustix::process::getppid() == parent
}

/// Lets this process have `files` files open, and `more` where that is allowed.
pub fn allow_files(files: u64, more: u64) -> Result<(), OsError> {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let enough = |limit: Option<u64>, files| limit.is_none_or(|limit| limit >= files);
    let all = files.saturating_add(more);
    if enough(limit.current, all) {
        return Ok(());
    }
    // Beyond the maximum, which takes root's rights, or as far as it goes.
    let maximum = if enough(limit.maximum, all) { limit.maximum } else { Some(all) };
    let raised = Rlimit { current: Some(all), maximum };
    if rustix::process::setrlimit(Resource::Nofile, raised).is_ok() {
        return Ok(());
    }
    let raised = Rlimit { current: limit.maximum, ..limit };
    if enough(limit.maximum, files) && rustix::process::setrlimit(Resource::Nofile, raised).is_ok()
    {
        return Ok(());
    }
    let most = limit.maximum.unwrap_or(u64::MAX);
    Err(OsError::Machine(format!(
        "{files} files must be open at a time, and this user may have {most}: run as root, or \
         raise the limit (ulimit -Hn)"
    )))
}

/// Changes a setting of this process's namespace: `/proc/sys` shows each reader its own.
pub fn set(path: &str, value: &str) -> Result<(), OsError> {
    fs::write(format!("/proc/sys/{path}"), value).map_err(|error| {
        if (path, value, error.kind()) == (TCP_ECN, ACCECN, std::io::ErrorKind::InvalidInput) {
            return OsError::Machine(
                "this kernel has no AccECN for all connections (net.ipv4.tcp_ecn = 3), which came \
                 with Linux 7.0"
                    .to_owned(),
            );
        }
        let advice = match error.kind() {
            std::io::ErrorKind::ReadOnlyFilesystem => "; have /proc/sys writable in this container",
            _ => "",
        };
        let why = reason(&error);
        OsError::Machine(format!("the setting {path} = {value} of its namespace: {why}{advice}"))
    })
}

/// A setting of this process's namespace.
pub fn get(path: &str) -> Result<String, OsError> {
    let text = fs::read_to_string(format!("/proc/sys/{path}"))
        .map_err(|error| OsError::machine(format_args!("the setting {path}"), error))?;
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Whether this kernel has a setting, by the name that `sysctl` takes.
pub fn has_setting(name: &str) -> bool {
    fs::exists(format!("/proc/sys/{}", name.replace('.', "/"))).unwrap_or(false)
}

/// Whether the kernel has IPv6.
pub fn has_ipv6() -> bool {
    fs::exists("/proc/sys/net/ipv6").unwrap_or(false)
}

/// Has no packet sent but those that are asked for: no search for routers, for doubles of an
/// address or for members of a group. Comes before the device, which copies these.
pub fn quieten_ipv6(used: bool) -> Result<(), OsError> {
    if !has_ipv6() {
        return Ok(());
    }
    let off = if used { "0" } else { "1" };
    for (name, value) in [
        ("disable_ipv6", off),
        ("accept_ra", "0"),
        ("autoconf", "0"),
        ("router_solicitations", "0"),
        ("accept_dad", "0"),
        ("dad_transmits", "0"),
        // No link-local address.
        ("addr_gen_mode", "1"),
    ] {
        set(&format!("net/ipv6/conf/default/{name}"), value)?;
    }
    Ok(())
}
