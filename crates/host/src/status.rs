//! The installed parts, and their state.

use l4s_bpf::{BpfError, DualPi2, Instance, Socket};

use crate::device::Device;
use crate::journal::{Journal, JournalDevice};
use crate::place::Place;
use crate::{DUALPI2, HostError};

/// The installed parts.
#[derive(Clone, PartialEq, Debug)]
pub struct Status {
    /// Whether Prague is there to be chosen.
    pub prague: bool,
    /// Its profile, where the journal has one.
    pub profile: Option<String>,
    /// Every connection with it; `None` where this kernel lets nobody list them.
    pub sockets: Option<Vec<Socket>>,
    /// The devices.
    pub devices: Vec<DeviceStatus>,
}

/// A device.
#[derive(Clone, PartialEq, Debug)]
pub struct DeviceStatus {
    /// The requested configuration.
    pub asked: JournalDevice,
    /// Whether its packets from Prague are ECT(1).
    pub ect1: bool,
    /// Whether it is gone. Another one of its name, which came later, has nothing of it.
    pub gone: bool,
    /// DualPI2 at work on it.
    pub queue: Option<Instance>,
}

/// Looks; changes nothing.
pub fn status(place: &Place) -> Result<Status, HostError> {
    let journal = Journal::read(place)?;
    let discipline = DualPi2::pinned(&place.dualpi2(), DUALPI2)?;
    let devices = journal.devices.into_iter().map(|(index, asked)| {
        let device = Device { name: asked.name.clone(), index, netns: asked.netns };
        let queue = discipline.as_ref().map(|all| instance_of(all, &device)).transpose()?;
        let (ect1, gone) = (place.has_ect1(index)?, place.is_gone(index)?);
        Ok(DeviceStatus { asked, ect1, gone, queue: queue.flatten() })
    });
    Ok(Status {
        prague: place.prague().exists(),
        profile: journal.profile,
        devices: devices.collect::<Result<_, HostError>>()?,
        sockets: match l4s_bpf::sockets() {
            Err(BpfError::NoListing) => None,
            found => Some(found?.unwrap_or_default()),
        },
    })
}

/// DualPI2 on that device.
pub(crate) fn instance_of(
    discipline: &DualPi2,
    device: &Device,
) -> Result<Option<Instance>, HostError> {
    let of_device = |found: &Instance| found.ifindex == device.index && found.netns == device.netns;
    Ok(discipline.instances()?.into_iter().find(of_device))
}
