//! The agent's only way out: a TUN device, whose other side is the command's, or a cable to the
//! namespace of the command.

use std::io;
use std::os::fd::OwnedFd;

use l4s_units::Duration;
use netlink_packet_route::link::LinkAttribute;
use rustix::process::Pid;

use crate::message::{Cable, Setup};
use crate::netlink::{Netlink, index_of};
use crate::tun::Tun;
use crate::{LabError, namespace};

/// Its name, which is the same in every namespace.
const NAME: &str = "l4s0";

/// A device that is up.
pub(super) struct Device {
    /// What the data plane reads and writes: a TUN device, which goes with it.
    pub file: Option<OwnedFd>,
    /// The number of the interface.
    pub index: u32,
}

/// Makes the device, with its address and the way to its peer. `command` is the process at the
/// other end.
pub(super) fn open(setup: &Setup, command: Option<Pid>) -> Result<Device, LabError> {
    if setup.address.is_ipv6() && !namespace::has_ipv6() {
        return Err(LabError::Machine("this kernel has no IPv6".to_owned()));
    }
    let mut netlink = Netlink::open()?;
    netlink.bring_up(index_of("lo")?, Vec::new())?;
    let device = match &setup.cable {
        None => tun(setup, &mut netlink)?,
        Some(cable) => connect(cable, command, &mut netlink)?,
    };
    netlink.add_address(device.index, setup.address, setup.prefix)?;
    Ok(device)
}

fn tun(setup: &Setup, netlink: &mut Netlink) -> Result<Device, LabError> {
    let file = Some(Tun::open(NAME, setup.gso).map_err(no_device)?.into());
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

fn connect(cable: &Cable, command: Option<Pid>, netlink: &mut Netlink) -> Result<Device, LabError> {
    let command = command.map_or(1, |pid| pid.as_raw_pid() as u32);
    netlink.add_cable(NAME, &cable.other_end, Some(command))?;
    let index = index_of(NAME)?;
    netlink.bring_up_cable(NAME)?;
    if cable.delay_ns > 0 {
        netlink.delay(index, Duration::from_nanos(cable.delay_ns))?;
    }
    Ok(Device { file: None, index })
}

/// Why there is no device, and what to do.
fn no_device(error: io::Error) -> LabError {
    let advice = match error.kind() {
        io::ErrorKind::NotFound => "; `modprobe tun` as root, or a container that is given it",
        // A user namespace without rights, as AppArmor makes them.
        io::ErrorKind::PermissionDenied => {
            "; run as root, or allow user namespaces their rights (sysctl \
             kernel.apparmor_restrict_unprivileged_userns=0)"
        }
        _ => "",
    };
    match LabError::machine("a TUN device of /dev/net/tun", error) {
        LabError::Machine(why) => LabError::Machine(why + advice),
        other => other,
    }
}
