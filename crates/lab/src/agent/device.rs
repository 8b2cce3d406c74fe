//! The agent's only way out: a TUN device, whose other side is the command's.

use std::io;
use std::os::fd::OwnedFd;

use netlink_packet_route::link::LinkAttribute;

use crate::message::Setup;
use crate::netlink::Netlink;
use crate::tun::Tun;
use crate::{LabError, namespace};

/// Its name, which is the same in every namespace.
const NAME: &str = "l4s0";

/// A TUN device that is up.
pub(super) struct Device {
    /// What the data plane reads and writes. The device goes with it.
    pub file: OwnedFd,
    /// The number of the interface.
    pub index: u32,
}

/// Makes the device, with its address and the way to its peer.
pub(super) fn open(setup: &Setup) -> Result<Device, LabError> {
    if setup.address.is_ipv6() && !namespace::has_ipv6() {
        return Err(LabError::Machine("this kernel has no IPv6".to_owned()));
    }
    let file = Tun::open(NAME, setup.gso).map_err(no_device)?.into();
    let (lo, index) = (index_of("lo")?, index_of(NAME)?);
    let mut netlink = Netlink::open()?;
    netlink.bring_up(lo, Vec::new())?;
    let mut attributes =
        vec![LinkAttribute::Mtu(setup.mtu), LinkAttribute::TxQueueLen(setup.device_queue)];
    attributes.extend(setup.largest_burst.map(LinkAttribute::GsoMaxSegs));
    netlink.bring_up(index, attributes)?;
    // The queue that matters is the bottleneck's. This machine's choice for new devices could be
    // one that paces (fq) or drops (fq_codel).
    netlink.remove_queue(index)?;
    netlink.add_address(index, setup.address, setup.prefix)?;
    Ok(Device { file, index })
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

fn index_of(name: &str) -> Result<u32, LabError> {
    use rustix::net::{AddressFamily, SocketType, netdevice, socket};
    socket(AddressFamily::INET, SocketType::DGRAM, None)
        .and_then(|socket| netdevice::name_to_index(socket, name))
        .map_err(|error| LabError::machine(format_args!("the device {name}"), error))
}
