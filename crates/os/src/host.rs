//! The state of this machine's own network: the parts that users of L4S on Linux misconfigure most.
//!
//! Nothing is changed here; [`Host::look`] only reads.

use std::fs;

use l4s_units::Duration;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::time::{ClockId, clock_getres};

use crate::ethtool;
use crate::netlink::Netlink;

/// The network of this machine, as far as L4S cares.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Host {
    /// The interface of the default route.
    pub interface: Option<Interface>,
    /// Congestion controls that are loaded.
    pub controls: Vec<String>,
    /// Settings below /proc/sys that this kernel has, and their values.
    pub settings: Vec<(&'static str, String)>,
}

/// A network interface.
#[derive(Clone, PartialEq, Debug)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its root queue discipline.
    pub qdisc: Option<String>,
    /// Whether it cuts, merges or bundles packets: name and state, as far as it reports them.
    pub offloads: Vec<(&'static str, bool)>,
}

/// Settings that decide on ECN, pacing and queues.
const SETTINGS: [&str; 5] = [
    "net/ipv4/tcp_congestion_control",
    "net/core/default_qdisc",
    "net/ipv4/tcp_ecn",
    "net/ipv4/tcp_ecn_fallback",
    "net/ipv4/tcp_ecn_option",
];

/// ethtool's commands that ask for the state of offloads: ETHTOOL_GTSO, ETHTOOL_GGSO and
/// ETHTOOL_GGRO of linux/ethtool.h.
const OFFLOADS: [(&str, u32); 3] = [("tso", 0x1e), ("gso", 0x23), ("gro", 0x2b)];

impl Host {
    /// Looks at this machine, in the network namespace that the thread is in.
    pub fn look() -> Host {
        let setting = |name| Some((name, sysctl(name)?));
        Host {
            interface: default_interface().map(Interface::look),
            controls: sysctl("net/ipv4/tcp_available_congestion_control")
                .map(|names| names.split_whitespace().map(str::to_owned).collect())
                .unwrap_or_default(),
            settings: SETTINGS.into_iter().filter_map(setting).collect(),
        }
    }

    /// The value of a setting, where this kernel has it.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }
}

impl Interface {
    fn look(name: String) -> Interface {
        let state = |(what, command)| Some((what, offload(&name, command)?));
        Interface {
            qdisc: Netlink::open().ok().and_then(|mut netlink| netlink.queue(&name)),
            offloads: OFFLOADS.into_iter().filter_map(state).collect(),
            name,
        }
    }
}

/// The time between two ticks of the kernel, the resolution of its Cubic's growth curve.
pub fn jiffy() -> Duration {
    let resolution = clock_getres(ClockId::MonotonicCoarse);
    Duration::from_nanos(resolution.tv_sec as u64 * 1_000_000_000 + resolution.tv_nsec as u64)
}

/// Whether this kernel has a congestion control of that name, perhaps as a module that it loads.
pub fn has_control(name: &str) -> bool {
    let socket = rustix::net::socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    );
    // A user without the right to choose it here has that right in a namespace of their own.
    let known = |chosen| matches!(chosen, Ok(()) | Err(Errno::PERM));
    socket.is_ok_and(|socket| known(rustix::net::sockopt::set_tcp_congestion(socket, name)))
}

/// A setting below /proc/sys.
fn sysctl(name: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/sys/{name}")).ok().map(|value| value.trim().to_owned())
}

/// The interface through which packets to the Internet leave.
fn default_interface() -> Option<String> {
    // Columns: interface, destination, gateway; the default route's destination is all zeros.
    let routes = fs::read_to_string("/proc/net/route").ok()?;
    routes.lines().skip(1).find_map(|line| {
        let mut columns = line.split_whitespace();
        let name = columns.next()?;
        (columns.next()? == "00000000").then(|| name.to_owned())
    })
}

/// Whether an offload of an interface is on; `None` where it is unknown.
fn offload(interface: &str, command: u32) -> Option<bool> {
    ethtool::get(interface, command).ok().map(|value| value != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_linux_has_reno_and_none_has_nonsense() {
        assert!(has_control("reno"));
        assert!(!has_control("no-such-control"));
        assert!((1_000..=10_000).contains(&jiffy().as_micros()));
    }
}
