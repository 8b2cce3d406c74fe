//! The agent's only way out: a TUN device, whose other side is the command's, or a cable to the
//! namespace of the command.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

use l4s_units::{Duration, Time};
use netlink_packet_route::link::LinkAttribute;
use rustix::fs::{Access, access};

use crate::message::{Cable, Setup};
use l4s_os::Tun;
use l4s_os::netlink::{Netlink, index_of};
use l4s_os::{OsError, namespace};

/// Its name, which is the same in every namespace.
pub(crate) const NAME: &str = "l4s0";

/// The file that devices are made with.
const TUN: &str = "/dev/net/tun";
/// The setting with which AppArmor takes the rights of user namespaces away.
const APPARMOR: &str = "kernel.apparmor_restrict_unprivileged_userns";

/// A device that is up.
pub(super) struct Device {
    /// The file that the data plane reads and writes: a TUN device, which goes with it.
    pub file: Option<OwnedFd>,
    /// The number of the interface.
    pub index: u32,
}

/// Makes the device, with its address and the way to its peer.
pub(super) fn open(setup: &Setup) -> Result<Device, OsError> {
    if setup.address.is_ipv6() && !namespace::has_ipv6() {
        return Err(OsError::Machine("this kernel has no IPv6".to_owned()));
    }
    let mut netlink = Netlink::open()?;
    netlink.bring_up(index_of("lo")?, Vec::new())?;
    let device = match &setup.cable {
        None => tun(setup, &mut netlink)?,
        Some(cable) => connect(cable, &mut netlink)?,
    };
    for address in [&setup.address].into_iter().chain(&setup.more_addresses) {
        netlink.add_address(device.index, *address, setup.prefix)?;
    }
    Ok(device)
}

fn tun(setup: &Setup, netlink: &mut Netlink) -> Result<Device, OsError> {
    let file = Some(Tun::open(NAME).map_err(no_device)?.into());
    let index = index_of(NAME)?;
    let mut attributes =
        vec![LinkAttribute::Mtu(setup.mtu), LinkAttribute::TxQueueLen(setup.device_queue)];
    attributes.extend(setup.largest_burst.map(LinkAttribute::GsoMaxSegs));
    netlink.bring_up(index, attributes)?;
    // The queue that matters is the bottleneck's. This machine's choice for new devices could be
    // one that paces (fq) or drops (fq_codel).
    netlink.remove_queue(index)?;
    Ok(Device { file, index })
}

fn connect(cable: &Cable, netlink: &mut Netlink) -> Result<Device, OsError> {
    netlink.add_cable(NAME, &cable.other_end, Some(cable.process))?;
    let index = index_of(NAME)?;
    netlink.bring_up_cable(NAME)?;
    // A delay of nothing is there to be changed.
    if cable.delay_ns > 0 || !cable.changes.is_empty() {
        let [delay, jitter] = [cable.delay_ns, cable.jitter_ns].map(Duration::from_nanos);
        netlink.delay(index, delay, jitter)?;
    }
    Ok(Device { file: None, index })
}

/// The delay of the cable, which the scenario may change at set times: a re-route.
///
/// Packets on the old path arrive at their time; later ones on a shorter path overtake
/// them. `netem` does the same when its delay is changed.
pub(super) struct Path {
    netlink: Netlink,
    index: u32,
    /// Times of changes and the new delays, the next one last.
    changes: Vec<(Time, Duration)>,
}

impl Path {
    /// The path of an agent whose device is up.
    pub fn new(setup: &Setup) -> Result<Path, OsError> {
        let changes = setup.cable.iter().flat_map(|cable| &cable.changes).rev();
        let changes =
            changes.map(|&(at, delay)| (Time::from_nanos(at), Duration::from_nanos(delay)));
        Ok(Path { netlink: Netlink::open()?, index: index_of(NAME)?, changes: changes.collect() })
    }

    /// When it changes next.
    pub fn next(&self) -> Time {
        self.changes.last().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// Makes the changes that are due by `now`.
    pub fn change(&mut self, now: Time) -> Result<(), OsError> {
        while let Some(&(at, delay)) = self.changes.last() {
            if at > now {
                break;
            }
            self.changes.pop();
            self.netlink.delay(self.index, delay, Duration::ZERO)?;
        }
        Ok(())
    }
}

/// Why there is no device, and the remedy.
fn no_device(error: io::Error) -> OsError {
    let advice = match error.kind() {
        io::ErrorKind::NotFound => {
            "; `modprobe tun` as root, or a container that is given it".to_owned()
        }
        io::ErrorKind::PermissionDenied => {
            let is_closed = access(TUN, Access::READ_OK | Access::WRITE_OK).is_err();
            let mode = fs::metadata(TUN).ok().map(|file| file.mode() & 0o7777);
            denied(mode.filter(|_| is_closed), namespace::has_setting(APPARMOR))
        }
        _ => String::new(),
    };
    match OsError::machine(format_args!("a TUN device of {TUN}"), error) {
        OsError::Machine(why) => OsError::Machine(why + &advice),
        other => other,
    }
}

/// The remedy for a user who may not: the file itself has a `mode` that is closed to them, or a policy
/// denies the device.
fn denied(mode: Option<u32>, has_apparmor: bool) -> String {
    match mode {
        Some(mode) => {
            format!("; its mode is {mode:04o}: run as root, or `chmod 666 {TUN}` as root")
        }
        // A user namespace without rights, as AppArmor makes them.
        None if has_apparmor => {
            format!("; run as root, or allow user namespaces their rights (sysctl {APPARMOR}=0)")
        }
        None => "; run as root, or have the policy of the container allow it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_is_that_of_the_fault() {
        let closed = denied(Some(0o600), true);
        assert!(closed.contains("0600") && closed.contains("chmod 666"), "{closed}");
        assert!(!closed.contains("sysctl"), "{closed}");
        assert!(denied(None, true).contains("sysctl kernel.apparmor"));
        // A kernel without that setting.
        assert!(!denied(None, false).contains("sysctl"));
    }
}
