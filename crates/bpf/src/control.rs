//! Congestion controls, registered for as long as a guard lives.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use l4s_cc::prague;
use l4s_cc::prague::kernel::Settings;
use l4s_units::CStruct;
use libbpf_rs::btf::types::Struct;
use libbpf_rs::btf::{Btf, BtfType};
use libbpf_rs::{ErrorKind, Link, MapCore, MapHandle};

use crate::BpfError;
use crate::object::{self, Program, pinning};

/// The position of the fields in kernel.h's `tcp_congestion_ops` that the loader writes; checked there.
const TX_START: std::ops::Range<usize> = 32..40;
const FLAGS: std::ops::Range<usize> = 80..84;
const NAME: std::ops::Range<usize> = 84..100;

/// Flags of a congestion control for the kernel (`TCP_CONG_*`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flags(u32);

impl Flags {
    /// Anyone may choose it.
    pub const NON_RESTRICTED: Flags = Flags(1);
    /// ECN is negotiated with any value of the sysctl.
    pub const NEEDS_ECN: Flags = Flags(2);
    /// AccECN is negotiated: marks are counted exactly.
    pub const NEEDS_ACCECN: Flags = Flags(4);
    /// The SYN and its answer are ECT(1).
    pub const ECT_1_NEGOTIATION: Flags = Flags(8);
    /// Rather no ECN than that of RFC 3168, where the peer has no AccECN.
    pub const NO_FALLBACK_RFC3168: Flags = Flags(16);

    /// Those that a kernel may not know.
    pub const OPTIONAL: [(Flags, &'static str); 3] = [
        (Flags::NEEDS_ACCECN, "NEEDS_ACCECN"),
        (Flags::ECT_1_NEGOTIATION, "ECT_1_NEGOTIATION"),
        (Flags::NO_FALLBACK_RFC3168, "NO_FALLBACK_RFC3168"),
    ];

    /// Both.
    pub const fn and(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// Whether all of `other` are among them.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// As the kernel has them.
    pub const fn bits(self) -> u32 {
        self.0
    }
}

/// With ECN as RFC 3168 has it, which every kernel knows.
const CLASSIC: Flags = Flags::NON_RESTRICTED.and(Flags::NEEDS_ECN);

/// Prague's flags, the best first. Without AccECN the receiver echoes as DCTCP's does.
const PREFERRED: [Flags; 4] = {
    let counted = CLASSIC.and(Flags::NEEDS_ACCECN);
    let announced = counted.and(Flags::ECT_1_NEGOTIATION);
    [announced.and(Flags::NO_FALLBACK_RFC3168), announced, counted, CLASSIC]
};

/// A congestion control in the kernel, until this is dropped or the process ends.
///
/// Connections that use it then keep it until they end; nobody else can choose it any more.
pub struct Loaded {
    name: String,
    flags: Flags,
    sockets: Option<u32>,
    link: Link,
}

impl Loaded {
    /// Registers DCTCP under `name`, which must be unique on this machine.
    pub fn dctcp(name: &str) -> Result<Loaded, BpfError> {
        Loaded::register(object::DCTCP(), name, CLASSIC, None)
    }

    /// Registers BBR, version 3, under `name`, which must be unique on this machine. It asks for no ECN,
    /// and answers marks as losses where there is some.
    pub fn bbr3(name: &str) -> Result<Loaded, BpfError> {
        Loaded::register(object::BBR3(), name, Flags::NON_RESTRICTED, None)
    }

    /// Registers Prague under `name`, which must be unique on this machine, with the most of
    /// AccECN that this kernel has: see [`Loaded::flags`].
    ///
    /// AccECN is negotiated if the listening socket of the other end chose it as well. Data is
    /// sent as ECT(0): see [`Ect1`](crate::Ect1). A connection without any ECN goes on with the
    /// kernel's Reno, as Not-ECT.
    ///
    /// Settings that [`unable`](prague::kernel::unable) reports have the values of
    /// [`prague::Config::linux`].
    pub fn prague(name: &str, config: &prague::Config) -> Result<Loaded, BpfError> {
        // The kernel's features are tried with DCTCP, which is verified in a small part of the time.
        let known = |flags: &Flags| Loaded::dctcp_with(&throw_away_name(), *flags).is_ok();
        let flags = PREFERRED.into_iter().find(known).unwrap_or(CLASSIC);
        Loaded::register(object::PRAGUE(), name, flags, Some(&Settings::new(config)))
    }

    /// Registers DCTCP with flags that the kernel may refuse.
    pub(crate) fn dctcp_with(name: &str, flags: Flags) -> Result<Loaded, BpfError> {
        Loaded::register(object::DCTCP(), name, flags, None)
    }

    fn register(
        program: Program,
        name: &str,
        flags: Flags,
        settings: Option<&Settings>,
    ) -> Result<Loaded, BpfError> {
        object::check_name(name)?;
        let mut open = object::open(program)?;
        let has_tx_start = kernel_has_tx_start();
        for mut map in open.maps_mut() {
            if let (true, Some(settings)) = (object::is_constants(map.name()), settings) {
                let value = map.initial_value_mut().expect("constants have a value");
                assert_eq!(value.len(), size_of::<Settings>(), "prague.h is not prague::kernel");
                for (place, word) in value.chunks_exact_mut(8).zip(settings.words()) {
                    place.copy_from_slice(&word.to_ne_bytes());
                }
            }
            if map.name() != "control" {
                continue;
            }
            let value = map.initial_value_mut().expect("a structure of operations has a value");
            value[FLAGS].copy_from_slice(&flags.0.to_ne_bytes());
            value[NAME].fill(0);
            value[NAME][..name.len()].copy_from_slice(name.as_bytes());
            if !has_tx_start {
                value[TX_START].fill(0);
            }
        }
        let what = || format!("to load {}", program.name);
        let mut object = object::load(open).map_err(|error| object::refused(what(), &error))?;
        let shown = object.maps().find(|map| map.name() == crate::sockets::MAP);
        let sockets = shown.and_then(|map| map.info().ok()).map(|info| info.info.id);
        let mut control = object.maps_mut().find(|map| map.name() == "control");
        let control = control.as_mut().expect("each program defines `control`");
        // The kernel keeps the programs for as long as the link is open.
        let link = control.attach_struct_ops().map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => BpfError::NameTaken(name.into()),
            _ => object::refused(
                format!("to register {} with flags {:#x}", program.name, flags.0),
                &error,
            ),
        })?;
        Ok(Loaded { name: name.into(), flags, sockets, link })
    }

    /// The name to choose it by, with `TCP_CONGESTION`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number with which [`Sockets::open`](crate::Sockets::open) finds its sockets, if it
    /// exports any.
    pub fn sockets(&self) -> Option<u32> {
        self.sockets
    }

    /// Pins the map of its sockets' state, to be opened by
    /// [`Sockets::pinned`](crate::Sockets::pinned), until the file of the BPF file system is removed.
    pub fn pin_sockets(&self, path: &Path) -> Result<(), BpfError> {
        let map = self.sockets.map(MapHandle::from_map_id);
        let mut map =
            map.expect("Prague shows its sockets").map_err(|error| refused(path, &error))?;
        map.pin(path).map_err(|error| refused(path, &error))
    }

    /// Leaves it registered when this is dropped, until the file of the BPF file system is
    /// removed.
    pub fn pin(mut self, path: &Path) -> Result<(), BpfError> {
        self.link.pin(path).map_err(|error| refused(path, &error))
    }

    /// Its flags for the kernel.
    pub fn flags(&self) -> Flags {
        self.flags
    }
}

/// A name that no other process and nothing else in this one uses.
pub(crate) fn throw_away_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed) & 0xfff;
    // 3 + 7 + 1 + 3 letters at most: process ids have 22 bits.
    format!("l4s{}_{count:x}", std::process::id())
}

fn refused(path: &Path, error: &libbpf_rs::Error) -> BpfError {
    object::refused(pinning(path), error)
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded").field("name", &self.name).field("flags", &self.flags).finish()
    }
}

/// Whether the start of sending has an operation of its own.
fn kernel_has_tx_start() -> bool {
    let Ok(btf) = Btf::from_vmlinux() else { return false };
    let Some(ops) = btf.type_by_name::<BtfType<'_>>("tcp_congestion_ops") else { return false };
    Struct::try_from(ops)
        .is_ok_and(|ops| ops.iter().any(|m| m.name.is_some_and(|n| n == "cwnd_event_tx_start")))
}
