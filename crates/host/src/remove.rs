//! Taking things back.

use l4s_bpf::DualPi2;
use l4s_os::netlink::Netlink;

use crate::device::{Device, netns};
use crate::install::{set_back, wait_until_gone};
use crate::journal::{Journal, JournalDevice};
use crate::place::{Place, unpin};
use crate::status::instance_of;
use crate::{DUALPI2, HostError, PRAGUE};

/// The parts that were removed, in words; nothing where nothing was installed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Removed {
    /// A line for each.
    pub done: Vec<String>,
    /// The parts that could not be restored.
    pub warnings: Vec<String>,
}

/// Removes everything, or the parts on some devices of this network namespace. Continues where
/// something is gone already, so that it can be repeated.
pub fn remove(place: &Place, only: Option<&[String]>) -> Result<Removed, HostError> {
    let _lock = place.lock()?;
    let mut journal = Journal::read(place)?;
    let mut netlink = Netlink::open()?;
    let mut removed = Removed::default();
    let here = netns()?;
    let has_name =
        |entry: &JournalDevice, name: &String| entry.netns == here && entry.name == *name;
    for name in only.unwrap_or_default() {
        // The device may be gone: then its name is in the journal alone.
        if !journal.devices.values().any(|entry| has_name(entry, name)) {
            Device::named(name)?;
        }
    }
    let chosen = |entry: &JournalDevice| {
        only.is_none_or(|names| names.iter().any(|name| has_name(entry, name)))
    };
    let entries = journal.devices.iter().filter(|(_, entry)| chosen(entry));
    let indices: Vec<u32> = entries.map(|(index, _)| *index).collect();
    for index in indices {
        let Some(entry) = journal.devices.get(&index).cloned() else { continue };
        let device = Device { name: entry.name.clone(), index, netns: entry.netns };
        // A device that is gone took everything with it, but the files.
        if entry.netns == here && Device::named(&entry.name).is_ok_and(|found| found == device) {
            let root = entry.queue_before.as_ref();
            // Nobody's own choice of the meantime is touched.
            if netlink.queue(&entry.name).as_deref() == Some(DUALPI2) {
                if let Err(error) = netlink.set_root(index, root) {
                    let _ = netlink.set_root(index, None);
                    let kind = root.map_or("", |root| &root.kind);
                    removed.warnings.push(format!(
                        "{} has the kernel's default, not {kind} as before: {error}",
                        entry.name
                    ));
                }
                removed.done.push(format!("{DUALPI2} from {}", entry.name));
            }
            if let Some(before) = entry.gso_before {
                netlink.set_gso_max_segments(index, before)?;
            }
        }
        if place.is_gone(index).unwrap_or(false) {
            removed.done.push(format!("the remains of {}, which is gone", entry.name));
        } else if place.ect1(index).exists() {
            removed.done.push(format!("ECT(1) from {PRAGUE} by {}", entry.name));
        }
        place.unpin_device(index)?;
        journal.devices.remove(&index);
        journal.write(place)?;
    }
    let is_used = |discipline: &DualPi2| {
        journal.devices.iter().any(|(index, entry)| {
            let device = Device { name: entry.name.clone(), index: *index, netns: entry.netns };
            matches!(instance_of(discipline, &device), Ok(Some(_)))
        })
    };
    if let Ok(Some(discipline)) = DualPi2::pinned(&place.dualpi2(), DUALPI2) {
        if !is_used(&discipline) {
            unpin(&place.dualpi2())?;
        }
    }
    if only.is_none() {
        for (name, values) in std::mem::take(&mut journal.settings) {
            set_back(&name, &values)?;
            removed.done.push(name.replace('/', "."));
        }
        if place.prague().exists() {
            unpin(&place.prague())?;
            unpin(&place.sockets())?;
            wait_until_gone()?;
            removed.done.push(format!("congestion control {PRAGUE}"));
        }
        journal.profile = None;
        unpin(&place.dualpi2())?;
        // Remains of a run that was stopped in the middle.
        unpin(&place.pins)?;
    }
    journal.write(place)?;
    Ok(removed)
}
