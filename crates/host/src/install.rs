//! Putting things in place.

use std::fs;
use std::os::fd::AsFd;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use l4s_bpf::{BpfError, DualPi2, Ect1, Loaded, Sockets, Tracers, pin};
use l4s_cc::prague::{self, Fallback};
use l4s_os::namespace::{self, ACCECN, TCP_ECN};
use l4s_os::netlink::{Netlink, RootQueue};
use rustix::fs::statfs;

use crate::device::{Device, WantedQueue};
use crate::journal::{Journal, JournalDevice};
use crate::place::{Place, unpin};
use crate::status::instance_of;
use crate::undo::Undo;
use crate::{DUALPI2, HostError, PRAGUE};

/// Devices that may have DualPI2 at a time; each takes a megabyte, and two while one takes the
/// place of another.
const INSTANCES: u32 = 16;
/// How long the kernel may take to unregister, and the interval of the checks.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// `BPF_FS_MAGIC` of linux/magic.h.
const BPF_FS: u64 = 0xcafe_4a11;
/// Below /proc/sys.
const DEFAULT_CONTROL: &str = "net/ipv4/tcp_congestion_control";
const KNOWN_CONTROLS: &str = "net/ipv4/tcp_available_congestion_control";

/// Prague for this machine.
#[derive(Clone, PartialEq, Debug)]
pub struct WantedPrague {
    /// Its settings.
    pub config: prague::Config,
    /// The name of the profile that has them, for the journal.
    pub profile: String,
}

/// The requested configuration.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Install {
    /// Prague for connections that ask for it.
    pub prague: Option<WantedPrague>,
    /// And for all that ask for nothing else.
    pub default: bool,
    /// Exact feedback for all connections.
    pub accecn: bool,
    /// The devices through which connections with Prague leave.
    pub devices: Vec<Device>,
    /// DualPI2 for those devices.
    pub queue: Option<WantedQueue>,
}

/// The changes, in words; nothing where everything was installed already.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Installed {
    /// A line for each.
    pub done: Vec<String>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Puts things in place: all of it, or nothing is changed.
pub fn install(place: &Place, wanted: &Install) -> Result<Installed, HostError> {
    let _lock = place.lock()?;
    let mut before = Journal::read(place)?;
    let mut netlink = Netlink::open()?;
    // All that can be refused is refused before anything is changed.
    if let Some(wanted) = &wanted.prague {
        check_profile(place, &before, wanted)?;
    }
    if let Some(queue) = &wanted.queue {
        for device in &wanted.devices {
            device.check(queue, &mut netlink)?;
        }
    }
    bpf_file_system(&place.pins)?;
    forget_gone(place, &mut before)?;
    let mut work = Work {
        place,
        netlink,
        journal: before.clone(),
        installed: Installed::default(),
        undo: Undo::default(),
    };
    // The folder goes if nothing came into it.
    work.undo.with(|| drop(fs::remove_dir(&place.pins)));
    work.undo.with(move || drop(before.write(place)));
    if let Some(prague) = &wanted.prague {
        work.prague(prague, &wanted.devices)?;
    }
    if wanted.default {
        work.set(DEFAULT_CONTROL, PRAGUE)?;
    }
    if wanted.accecn {
        work.set(TCP_ECN, ACCECN).map_err(|error| {
            HostError::Machine(format!("--accecn: {error}; the rest can be installed without it"))
        })?;
    }
    if let Some(queue) = &wanted.queue {
        for device in &wanted.devices {
            work.queue(device, queue)?;
        }
    }
    work.journal.write(place)?;
    work.undo.keep();
    Ok(work.installed)
}

/// An installation under way.
struct Work<'a> {
    place: &'a Place,
    netlink: Netlink,
    journal: Journal,
    installed: Installed,
    undo: Undo<'a>,
}

impl<'a> Work<'a> {
    /// The congestion control, and ECT(1) for its packets.
    fn prague(&mut self, wanted: &WantedPrague, devices: &[Device]) -> Result<(), HostError> {
        let path = self.place.prague();
        if !path.exists() {
            let loaded = patiently(|| Loaded::prague(PRAGUE, &wanted.config))?;
            if wanted.config.fallback == Fallback::Active {
                let path = self.place.sockets();
                // Remains of an earlier run that was stopped in the middle of this.
                unpin(&path)?;
                loaded.pin_sockets(&path)?;
                self.undo.with(move || drop(unpin(&path)));
            }
            loaded.pin(&path)?;
            self.undo.with(move || drop(unpin(&path)));
            self.installed.done.push(format!("congestion control {PRAGUE}"));
        }
        let sockets = Sockets::pinned(&self.place.sockets())?;
        for device in devices {
            if !self.place.has_ect1(device.index)? {
                self.codepoints(device, sockets)?;
            }
            self.entry(device);
        }
        self.journal.profile = Some(wanted.profile.clone());
        Ok(())
    }

    /// ECT(1) for Prague's packets by a device; with tracers where Prague shows its connections to
    /// that end.
    fn codepoints(&mut self, device: &Device, sockets: Option<u32>) -> Result<(), HostError> {
        let path = self.place.ect1(device.index);
        // That of a device which had the number in a namespace that is gone.
        unpin(&path)?;
        let mut what = format!("ECT(1) from {PRAGUE} by {}", device.name);
        if let Some(sockets) = sockets {
            let [out, back] = Tracers::attach(PRAGUE, sockets, device.index)?.into_links();
            let answers = self.place.answers(device.index);
            unpin(&answers)?;
            pin(back.as_fd(), &answers)?;
            self.undo.with(move || drop(unpin(&answers)));
            pin(out.as_fd(), &path)?;
            what += ", with tracers";
        } else {
            pin(Ect1::of_control(PRAGUE, device.index)?.as_fd(), &path)?;
        }
        self.undo.with(move || drop(unpin(&path)));
        self.installed.done.push(what);
        Ok(())
    }

    /// A setting of the machine.
    fn set(&mut self, name: &'static str, value: &str) -> Result<(), HostError> {
        let before = namespace::get(name)?;
        if before != value {
            let entry = [value.to_owned(), before.clone()];
            self.journal.settings.entry(name.to_owned()).or_insert(entry);
            self.journal.write(self.place)?;
            namespace::set(name, value)?;
            self.installed.done.push(format!("{} = {value}", name.replace('/', ".")));
            self.undo.with(move || drop(namespace::set(name, &before)));
        }
        Ok(())
    }

    /// The queue discipline.
    fn queue(&mut self, device: &Device, wanted: &WantedQueue) -> Result<(), HostError> {
        let folder = self.place.dualpi2();
        let mut discipline = match DualPi2::pinned(&folder, DUALPI2)? {
            Some(discipline) => discipline,
            None => {
                let mut discipline = patiently(|| DualPi2::register(DUALPI2, INSTANCES))?;
                // Remains of an earlier run that was stopped in the middle of this.
                unpin(&folder)?;
                fs::create_dir(&folder).map_err(|e| HostError::failed(folder.display(), e))?;
                self.undo.with(move || drop(unpin(&folder)));
                discipline.pin(&self.place.dualpi2())?;
                discipline
            }
        };
        self.bound_bursts(device, wanted)?;
        if let Some(instance) = instance_of(&discipline, device)? {
            discipline.set(instance.number, &wanted.kernel())?;
            self.entry(device).settings = Some(wanted.settings.clone());
            self.installed.done.push(format!("{DUALPI2} on {}: settings", device.name));
        } else {
            self.attach(&mut discipline, device, wanted)?;
        }
        let path = self.place.decide(device.index);
        if !path.exists() {
            let link = discipline.decide(device.index)?;
            pin(link.as_fd(), &path)?;
            self.undo.with(move || drop(unpin(&path)));
        }
        Ok(())
    }

    fn attach(
        &mut self,
        discipline: &mut DualPi2,
        device: &Device,
        wanted: &WantedQueue,
    ) -> Result<(), HostError> {
        let root = device.check(wanted, &mut self.netlink)?;
        discipline.prepare(&wanted.kernel())?;
        let entry = self.entry(device);
        entry.settings = Some(wanted.settings.clone());
        entry.queue_before.clone_from(&root);
        // From here on the journal has the state that `remove` restores.
        self.journal.write(self.place)?;
        let index = device.index;
        let ours = RootQueue { kind: DUALPI2.to_owned(), ..RootQueue::default() };
        self.netlink.set_root(index, Some(&ours))?;
        self.undo.with(move || {
            let _ = Netlink::open().and_then(|mut netlink| netlink.set_root(index, root.as_ref()));
        });
        self.installed.done.push(format!("{DUALPI2} on {}", device.name));
        Ok(())
    }

    /// Has the device take as many packets at once as are no queue of their own.
    fn bound_bursts(&mut self, device: &Device, wanted: &WantedQueue) -> Result<(), HostError> {
        let now = self.netlink.gso_max_segments(&device.name);
        let (Some(most), Some(now)) = (wanted.most_at_once(), now) else { return Ok(()) };
        if now != most {
            let entry = self.entry(device);
            let before = *entry.gso_before.get_or_insert(now);
            let index = device.index;
            // It can always be less, and no more than the driver accepts.
            self.journal.write(self.place)?;
            if self.netlink.set_gso_max_segments(index, most.min(before)).is_ok() {
                self.undo.with(move || {
                    let _ = Netlink::open()
                        .and_then(|mut netlink| netlink.set_gso_max_segments(index, now));
                });
                let (most, name) = (most.min(before), &device.name);
                let packets = if most == 1 { "packet" } else { "packets" };
                self.installed.warnings.push(format!(
                    "connections send at most {most} {packets} at once by {name}, so that none \
                     waits for others for long; each takes more of the processor for that"
                ));
            }
        }
        Ok(())
    }

    fn entry(&mut self, device: &Device) -> &mut JournalDevice {
        let new = || JournalDevice {
            name: device.name.clone(),
            netns: device.netns,
            settings: None,
            queue_before: None,
            gso_before: None,
        };
        let entry = self.journal.devices.entry(device.index).or_insert_with(new);
        // A number that another device had.
        if entry.netns != device.netns {
            *entry = new();
        }
        entry
    }
}

/// Refuses another profile than the installed one. Connections and programs on devices keep the state
/// of the Prague that they began with, so it is not exchanged below them.
fn check_profile(place: &Place, journal: &Journal, wanted: &WantedPrague) -> Result<(), HostError> {
    if !place.prague().exists() || journal.profile.as_ref() == Some(&wanted.profile) {
        return Ok(());
    }
    let found = match &journal.profile {
        Some(profile) => format!("the profile `{profile}`"),
        // An earlier version of l4s wrote the journal.
        None => "an unknown profile".to_owned(),
    };
    Err(HostError::input(
        format!("--cc: {PRAGUE} is installed with {found}, not with `{}`", wanted.profile),
        "`l4s host remove` first, then install it again",
    ))
}

/// Removes the remains of devices that are gone.
fn forget_gone(place: &Place, journal: &mut Journal) -> Result<(), HostError> {
    for index in journal.devices.keys().copied().collect::<Vec<_>>() {
        if place.is_gone(index)? {
            place.unpin_device(index)?;
            journal.devices.remove(&index);
        }
    }
    journal.write(place)
}

/// Makes the folder of pins, which takes a BPF file system.
fn bpf_file_system(folder: &Path) -> Result<(), HostError> {
    let parent = folder.parent().unwrap_or(Path::new("/"));
    let kind = statfs(parent).map(|found| found.f_type as u64);
    if kind != Ok(BPF_FS) {
        return Err(HostError::Machine(format!(
            "{} is no BPF file system, which keeps programs: mount -t bpf bpf {}",
            parent.display(),
            parent.display()
        )));
    }
    fs::create_dir_all(folder).map_err(|error| HostError::failed(folder.display(), error))
}

/// A name is free a moment after the last one who had it is gone.
fn patiently<T>(register: impl Fn() -> Result<T, BpfError>) -> Result<T, HostError> {
    let end = Instant::now() + PATIENCE;
    loop {
        match register() {
            Err(BpfError::NameTaken(_)) if Instant::now() < end => sleep(LOOK_EVERY),
            Err(BpfError::NameTaken(name)) => {
                return Err(HostError::Machine(format!(
                    "this kernel has a `{name}` already that is not ours: use that, or unload it"
                )));
            }
            done => return Ok(done?),
        }
    }
}

/// Waits until nobody can choose Prague any more.
pub(crate) fn wait_until_gone() -> Result<(), HostError> {
    let end = Instant::now() + PATIENCE;
    let is_known = || {
        let known = namespace::get(KNOWN_CONTROLS);
        known.is_ok_and(|known| known.split_whitespace().any(|name| name == PRAGUE))
    };
    while is_known() {
        if Instant::now() > end {
            let why = "it is still there: another program holds it";
            return Err(HostError::failed(format!("removing {PRAGUE}"), why));
        }
        sleep(LOOK_EVERY);
    }
    Ok(())
}

/// Restores the earlier setting, unless somebody changed it since.
pub(crate) fn set_back(name: &str, [chosen, before]: &[String; 2]) -> Result<(), HostError> {
    if namespace::get(name)? == *chosen {
        namespace::set(name, before)?;
    }
    Ok(())
}
