//! A device, and the configuration requested for it.

use std::fs;
use std::os::unix::fs::MetadataExt;

use l4s_aqm::MTU;
use l4s_aqm::dualpi2::Config;
use l4s_aqm::dualpi2::kernel::{Link, Settings};
use l4s_os::netlink::{Netlink, RootQueue, index_of};
use l4s_units::{Duration, Rate};

use crate::{DUALPI2, HostError};

/// How late the kernel's timer may be without the link losing time: on a busy machine a few
/// hundred microseconds. It lets no more than this be sent at once.
const BURST: Duration = Duration::from_micros(500);
/// The most time that packets sent as one may take, so that they are no queue of their own.
const AT_ONCE: Duration = Duration::from_micros(250);

/// DualPI2 for a device.
#[derive(Clone, PartialEq, Debug)]
pub struct WantedQueue {
    /// The algorithm.
    pub config: Config,
    /// The rate to hold; `None` where the device limits itself.
    pub rate: Option<Rate>,
    /// Both as they were typed, for the journal.
    pub settings: Vec<String>,
    /// Takes the place of a queue discipline that somebody else gave to the device.
    pub replace: bool,
}

impl WantedQueue {
    pub(crate) fn kernel(&self) -> Settings {
        Settings::new(&self.config, Link { rate: self.rate, burst: BURST })
    }

    /// As many packets as the device may take at once, where it has a rate to hold.
    pub(crate) fn most_at_once(&self) -> Option<u32> {
        let time = self.rate?.time_of(MTU).as_nanos().max(1);
        Some((AT_ONCE.as_nanos() / time).clamp(1, 65_535) as u32)
    }
}

/// A network device of this network namespace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// The network namespace (its inode).
    pub netns: u32,
}

impl Device {
    /// The device of that name.
    pub fn named(name: &str) -> Result<Device, HostError> {
        let index = index_of(name).map_err(|_| {
            let all = Device::names();
            HostError::input(
                format!("--dev: there is no device `{name}`"),
                format!("this machine has {}", all.join(", ")),
            )
        })?;
        Ok(Device { name: name.to_owned(), index, netns: netns()? })
    }

    /// The names of all devices.
    pub fn names() -> Vec<String> {
        let names = fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
        let mut names: Vec<String> =
            names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Its speed, if it reports one.
    fn speed(&self) -> Option<Rate> {
        let text = fs::read_to_string(format!("/sys/class/net/{}/speed", self.name)).ok()?;
        // It is -1 for a device without a link, or one that has no speed.
        let mbit: u64 = text.trim().parse().ok().filter(|mbit| *mbit > 0)?;
        Some(Rate::from_bps(mbit * 1_000_000))
    }

    /// Whether it may be given a queue discipline, and the one that it has.
    pub(crate) fn check(
        &self,
        wanted: &WantedQueue,
        netlink: &mut Netlink,
    ) -> Result<Option<RootQueue>, HostError> {
        if let Some((rate, speed)) = wanted.rate.zip(self.speed()) {
            if rate > speed {
                return Err(HostError::input(
                    format!("--rate: {rate} is more than {} can send, {speed}", self.name),
                    "a queue would form behind DualPI2: expected a rate slightly below the device's, or none",
                ));
            }
        }
        if wanted.rate.is_none() && netlink.queue(&self.name).as_deref() == Some("noqueue") {
            return Err(HostError::input(
                format!("{} has no queue: packets go to its driver immediately", self.name),
                "--rate, slightly below the rate of the bottleneck behind it",
            ));
        }
        let root = netlink.root_queue(&self.name)?;
        let root = root.filter(|root| root.kind != DUALPI2);
        if let Some(root) = &root {
            if !wanted.replace {
                return Err(HostError::input(
                    format!("{} has a queue discipline already, {}", self.name, root.kind),
                    "--replace replaces it, and `l4s host remove` restores it",
                ));
            }
            if CLASSFUL.contains(&root.kind.as_str()) {
                return Err(HostError::input(
                    format!("{} has {}, whose classes could not be restored", self.name, root.kind),
                    format!("if it is not needed: tc qdisc del dev {} root", self.name),
                ));
            }
        }
        Ok(root)
    }
}

/// Disciplines that have classes, filters or tables of their own below them.
const CLASSFUL: [&str; 12] = [
    "cbs", "drr", "ets", "gred", "hfsc", "htb", "mqprio", "multiq", "prio", "qfq", "taprio", "tbf",
];

/// The network namespace of this thread.
pub(crate) fn netns() -> Result<u32, HostError> {
    let path = "/proc/thread-self/ns/net";
    let inode = fs::metadata(path).map_err(|error| HostError::failed(path, error))?.ino();
    Ok(inode as u32)
}
