//! DualPI2 as a queue discipline of devices: its programs, and their state in maps.

use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use l4s_aqm::dualpi2::kernel::Settings;
use l4s_units::CStruct;
use libbpf_rs::btf::{Btf, BtfType};
use libbpf_rs::{ErrorKind, Link, MapCore, MapFlags, MapHandle};

use crate::tcx::{self, Place, Way};
use crate::{BpfError, object};

/// Where kernel.h's `Qdisc_ops` has its name; checked there.
const NAME: std::ops::Range<usize> = 0..16;
/// `ROOM`: packets that each queue of an instance has room for.
const ROOM: u32 = 1 << 14;
/// `FATES` and `BUCKETS`.
const FATES: usize = 8;
const BUCKETS: usize = 144;

/// The queue discipline, registered until this is dropped or the process ends.
///
/// Devices that have it then keep it until it is taken from them; no other device can get it any
/// more.
pub struct DualPi2 {
    name: String,
    /// In the order of [`MAPS`].
    maps: [MapHandle; 3],
    decide: OwnedFd,
    link: Link,
}

/// The maps of dualpi2.bpf.c that are used from outside.
const MAPS: [&str; 3] = ["instances", "configs", "fresh"];
const INSTANCES: usize = 0;
const CONFIGS: usize = 1;
const FRESH: usize = 2;
/// Files of pinned objects other than the maps.
const DECIDE: &str = "decide";
const LINK: &str = "link";

impl DualPi2 {
    /// Registers it under `name`, which must be unique on this machine, for up to `instances`
    /// devices at a time: each takes a megabyte.
    pub fn register(name: &str, instances: u32) -> Result<DualPi2, BpfError> {
        object::check_name(name)?;
        if !kernel_has_bpf_queues() {
            return Err(BpfError::NoQueues);
        }
        let mut open = object::open(object::DUALPI2())?;
        for mut map in open.maps_mut() {
            let refused = |error| object::refused("the sizes of dualpi2's maps", &error);
            match map.name().to_str() {
                Some("instances" | "configs") => map.set_max_entries(instances).map_err(refused)?,
                Some("slots") => map.set_max_entries(instances * 2 * ROOM).map_err(refused)?,
                Some("discipline") => {
                    let value = map.initial_value_mut().expect("operations have a value");
                    value[NAME].fill(0);
                    value[..name.len()].copy_from_slice(name.as_bytes());
                }
                _ if object::is_constants(map.name()) => {
                    let value = map.initial_value_mut().expect("constants have a value");
                    value[..4].copy_from_slice(&instances.to_ne_bytes());
                }
                _ => {}
            }
        }
        let what = "to load dualpi2";
        let mut object = object::load(open).map_err(|error| object::refused(what, &error))?;
        let map = |name: &str| {
            let map = object.maps().find(|map| map.name() == name).expect("dualpi2.bpf.c has it");
            MapHandle::try_from(&map).map_err(|error| object::refused(what, &error))
        };
        let [instances, configs, fresh] = MAPS;
        let maps = [map(instances)?, map(configs)?, map(fresh)?];
        let decide = object.progs().find(|p| p.name() == "decide").expect("dualpi2.bpf.c has it");
        let decide = decide.as_fd().try_clone_to_owned();
        let decide = decide.map_err(|error| object::refused(what, &error.into()))?;
        let mut discipline = object.maps_mut().find(|map| map.name() == "discipline");
        let discipline = discipline.as_mut().expect("dualpi2.bpf.c has it");
        let link = discipline.attach_struct_ops().map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => BpfError::NameTaken(name.into()),
            _ => object::refused("to register dualpi2", &error),
        })?;
        Ok(DualPi2 { name: name.into(), maps, decide, link })
    }

    /// Leaves it registered when this is dropped, until the files are removed: a folder of the BPF
    /// file system, which must be there.
    pub fn pin(&mut self, folder: &Path) -> Result<(), BpfError> {
        for (name, map) in MAPS.into_iter().zip(&mut self.maps) {
            let path = folder.join(name);
            map.pin(&path).map_err(|error| object::refused(object::pinning(&path), &error))?;
        }
        object::pin(self.decide.as_fd(), &folder.join(DECIDE))?;
        // Last, so that where it is, all of it is.
        let path = folder.join(LINK);
        self.link.pin(&path).map_err(|error| object::refused(object::pinning(&path), &error))
    }

    /// The one that was left in a folder, registered under `name`; `None` where there is none.
    pub fn pinned(folder: &Path, name: &str) -> Result<Option<DualPi2>, BpfError> {
        let path = folder.join(LINK);
        if !path.exists() {
            return Ok(None);
        }
        let cannot = |error| object::refused(format!("to open {}", folder.display()), &error);
        let map = |name| MapHandle::from_pinned_path(folder.join(name)).map_err(cannot);
        let [instances, configs, fresh] = MAPS;
        let maps = [map(instances)?, map(configs)?, map(fresh)?];
        let decide = object::pinned(&folder.join(DECIDE))?;
        let link = Link::open(&path).map_err(cannot)?;
        Ok(Some(DualPi2 { name: name.into(), maps, decide, link }))
    }

    /// The kind of queue discipline that devices get it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The settings of devices that get it from now on.
    pub fn prepare(&self, settings: &Settings) -> Result<(), BpfError> {
        write(&self.maps[FRESH], 0, settings)
    }

    /// Has packets decided on that leave a device, without which nothing is marked. Until the
    /// descriptor is closed.
    pub fn decide(&self, ifindex: u32) -> Result<OwnedFd, BpfError> {
        tcx::attach(self.decide.as_fd(), ifindex, Way::Out, Place::Last)
            .map_err(|error| object::refused(format!("to attach to device {ifindex}"), &error))
    }

    /// Those at work, on any device.
    pub fn instances(&self) -> Result<Vec<Instance>, BpfError> {
        let count = self.maps[INSTANCES].max_entries();
        (0..count).filter_map(|number| self.instance(number).transpose()).collect()
    }

    /// The one of that number, if it is at work.
    pub fn instance(&self, number: u32) -> Result<Option<Instance>, BpfError> {
        let value = self.maps[INSTANCES].lookup(&number.to_ne_bytes(), MapFlags::empty());
        let value = value.map_err(|error| object::refused("to read dualpi2", &error))?;
        Ok(value.and_then(|value| Instance::read(number, &value)))
    }

    /// Changes the settings of one at work.
    pub fn set(&self, number: u32, settings: &Settings) -> Result<(), BpfError> {
        write(&self.maps[CONFIGS], number, settings)
    }
}

/// Whether the kernel takes queue disciplines as `struct_ops`.
fn kernel_has_bpf_queues() -> bool {
    // Without types it says so when it is to load them.
    let Ok(types) = Btf::from_vmlinux() else { return true };
    types.type_by_name::<BtfType<'_>>("bpf_struct_ops_Qdisc_ops").is_some()
}

fn write(map: &MapHandle, number: u32, settings: &Settings) -> Result<(), BpfError> {
    let words: Vec<u8> = settings.words().iter().flat_map(|word| word.to_ne_bytes()).collect();
    assert_eq!(words.len(), size_of::<Settings>());
    map.update(&number.to_ne_bytes(), &words, MapFlags::ANY)
        .map_err(|error| object::refused("the settings of dualpi2", &error))
}

/// DualPI2 at work on a device.
#[derive(Clone, PartialEq, Debug)]
pub struct Instance {
    /// Its number for [`DualPi2::set`].
    pub number: u32,
    /// The device, and the network namespace that it is in (its inode).
    pub ifindex: u32,
    /// See above.
    pub netns: u32,
    /// Its handle in `tc`: the major number in the upper half.
    pub handle: u32,
    /// Aggregates of packets (GSO, GRO) that it was given, each of which it sent as one.
    pub aggregates: u64,
    /// The largest of them in bytes.
    pub largest: u32,
    /// Its present signals.
    pub signals: Signals,
    /// The backlog, and the outcomes of packets: of the L queue and of the Classic one.
    pub queues: [Counts; 2],
}

/// The state of the controller.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Signals {
    /// The base probability p' in 2^-32.
    pub p_prime: u32,
    /// Queueing delay at the last update, in nanoseconds.
    pub delay_ns: u64,
    /// The measured rate of a device without a configured one, in bits per second; 0 if it was not
    /// measured.
    pub drain_bps: u64,
}

/// The outcomes of the packets of a queue since the discipline was attached (RFC 9332 §2.5.2.2).
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Counts {
    /// Packets that wait.
    pub waiting_packets: u64,
    /// Their bytes on the link.
    pub waiting_bytes: u64,
    /// Marked by the L queue's own AQM.
    pub mark_step: u64,
    /// Marked by the coupled signal.
    pub mark_coupled: u64,
    /// Marked by the squared signal.
    pub mark_classic: u64,
    /// Dropped by the squared signal.
    pub drop_aqm: u64,
    /// Dropped as marking was saturated.
    pub drop_overload: u64,
    /// Dropped as there was no room.
    pub drop_limit: u64,
    /// Those of which the codepoint was not looked at, as they left by a way of their own.
    pub strays: u64,
    /// Sent.
    pub sent_packets: u64,
    /// Sent, on the link.
    pub sent_bytes: u64,
    /// Their waits, in nanoseconds.
    pub sojourn_ns: u64,
    /// How many of them waited how long: see [`Counts::quantile_ns`].
    pub delays: Vec<u64>,
}

impl Counts {
    /// All that were marked.
    pub fn marked(&self) -> u64 {
        self.mark_step + self.mark_coupled + self.mark_classic
    }

    /// All that were dropped.
    pub fn dropped(&self) -> u64 {
        self.drop_aqm + self.drop_overload + self.drop_limit
    }

    /// The differences from an earlier reading of the same queue.
    pub fn since(&self, earlier: &Counts) -> Counts {
        let delays = self.delays.iter().zip(&earlier.delays).map(|(now, then)| now - then);
        Counts {
            waiting_packets: self.waiting_packets,
            waiting_bytes: self.waiting_bytes,
            mark_step: self.mark_step - earlier.mark_step,
            mark_coupled: self.mark_coupled - earlier.mark_coupled,
            mark_classic: self.mark_classic - earlier.mark_classic,
            drop_aqm: self.drop_aqm - earlier.drop_aqm,
            drop_overload: self.drop_overload - earlier.drop_overload,
            drop_limit: self.drop_limit - earlier.drop_limit,
            strays: self.strays - earlier.strays,
            sent_packets: self.sent_packets - earlier.sent_packets,
            sent_bytes: self.sent_bytes - earlier.sent_bytes,
            sojourn_ns: self.sojourn_ns - earlier.sojourn_ns,
            delays: delays.collect(),
        }
    }

    /// Mean wait in nanoseconds of the packets sent; `None` where there are none.
    pub fn mean_ns(&self) -> Option<u64> {
        self.sojourn_ns.checked_div(self.sent_packets)
    }

    /// The wait in nanoseconds that a part `q` of the packets sent did not exceed; `None` where
    /// there are none. Precise to an eighth of it.
    pub fn quantile_ns(&self, q: f64) -> Option<u64> {
        let all: u64 = self.delays.iter().sum();
        let rank = ((all as f64 * q).ceil() as u64).max(1);
        let mut below = 0;
        let bucket = self.delays.iter().position(|count| {
            below += count;
            below >= rank
        })?;
        Some((bucket_start(bucket) + bucket_start(bucket + 1)) / 2)
    }
}

/// Where a bucket of delays begins: four of them for each power of two.
fn bucket_start(bucket: usize) -> u64 {
    match bucket {
        0..4 => bucket as u64,
        // `bucket_of` of dualpi2.bpf.c: the logarithm, and the two bits behind the first.
        _ if bucket < 8 => 4,
        _ => (4 + bucket as u64 % 4) << (bucket / 4 - 2),
    }
}

/// Reads words one after another.
struct Words<'a>(std::slice::ChunksExact<'a, u8>);

impl Words<'_> {
    fn next(&mut self) -> u64 {
        let word = self.0.next().expect("struct instance is as long as Instance::read reads");
        u64::from_ne_bytes(word.try_into().expect("8 bytes"))
    }

    /// The two halves of a word, the one at the lower address first.
    fn pair(&mut self) -> [u32; 2] {
        let bytes = self.next().to_ne_bytes();
        [0, 4].map(|at| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("4 bytes")))
    }
}

impl Instance {
    /// From `struct instance`; `None` where it is free.
    fn read(number: u32, bytes: &[u8]) -> Option<Instance> {
        let mut words = Words(bytes.chunks_exact(8));
        let [ifindex, netns] = words.pair();
        if ifindex == 0 {
            return None;
        }
        let [handle, largest] = words.pair();
        let aggregates = words.next();
        for _places in 0..4 {
            words.next();
        }
        let mut queues = [Counts::default(), Counts::default()];
        for queue in &mut queues {
            (queue.waiting_packets, queue.waiting_bytes) = (words.next(), words.next());
            let _head = words.next();
        }
        let _memory = words.next();
        let delay_ns = words.next();
        for _due_credit_sums_free_at_rest in 0..6 {
            words.next();
        }
        let drain_bps = words.next();
        for _measured in 0..2 {
            words.next();
        }
        let [p_prime, _] = words.pair();
        for queue in &mut queues {
            let [_pass, step, coupled, classic, aqm, overload, limit, strays]: [u64; FATES] =
                std::array::from_fn(|_| words.next());
            (queue.mark_step, queue.mark_coupled, queue.mark_classic) = (step, coupled, classic);
            (queue.drop_aqm, queue.drop_overload, queue.drop_limit) = (aqm, overload, limit);
            queue.strays = strays;
            (queue.sent_packets, queue.sent_bytes) = (words.next(), words.next());
            queue.sojourn_ns = words.next();
            queue.delays = (0..BUCKETS).map(|_| words.next()).collect();
        }
        assert!(words.0.next().is_none(), "another struct instance");
        let signals = Signals { p_prime, delay_ns, drain_bps };
        Some(Instance { number, ifindex, netns, handle, aggregates, largest, signals, queues })
    }
}

impl fmt::Debug for DualPi2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DualPi2").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_in_the_bucket_of_the_delay() {
        // As `bucket_of` counts them.
        let bucket_of = |ns: u64| match ns {
            0..4 => ns as usize,
            _ => (ns.ilog2() * 4 + (ns >> (ns.ilog2() - 2) & 3) as u32) as usize,
        };
        for ns in [0, 1, 3, 4, 5, 7, 8, 9, 1_000, 999_999, 1_000_000, 15_000_000, 1 << 34] {
            let bucket = bucket_of(ns);
            assert!((bucket_start(bucket)..bucket_start(bucket + 1)).contains(&ns), "{ns}");
            let mut counts = Counts { delays: vec![0; BUCKETS], ..Counts::default() };
            counts.delays[bucket] = 1;
            let got = counts.quantile_ns(0.5).expect("a packet");
            assert!(got.abs_diff(ns) <= ns / 8 + 1, "{ns}: {got}");
        }
    }
}
