//! The state that the kernel's sockets with Prague export: see prague.bpf.c and sockets.bpf.c.

use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;

use l4s_cc::prague::kernel::Reading;
use libbpf_rs::query::MapInfoIter;
use libbpf_rs::{ErrorKind, Iter, MapCore, MapFlags, MapHandle, MapType};

use crate::{BpfError, object};

/// The name of the map in prague.bpf.c.
pub(crate) const MAP: &str = "prague_sockets";

/// Host builds of the C headers (host.c).
#[allow(unsafe_code)]
mod host {
    use super::Raw;

    unsafe extern "C" {
        pub safe fn l4s_prague_shown_size() -> u32;
        /// Reads as many bytes as `l4s_prague_shown_size` says.
        pub fn l4s_prague_report(shown: *const u64, report: &mut Raw);
    }
}

/// `struct prague_report`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Raw {
    score: i64,
    max: i64,
    rounds: u32,
    srtt_us: u32,
    mdev_us: u32,
    depth_us: u32,
    spacing_us: u32,
    alpha: u32,
    sets: [u32; 3],
    zero: u32,
}

/// The state that a socket with Prague exports.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shown {
    /// The reading of its detector; all of it at rest where it has none.
    pub detector: Reading,
    /// The time in which the bottleneck sends a packet, in microseconds; 0 where that is not known.
    pub spacing_us: u32,
    /// The average of marks, in 2^-24.
    pub alpha: u32,
    /// The outcomes of the sets of tracers that were sent.
    pub sets: Sets,
}

/// Sets of tracers (Fallback §5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sets {
    /// How many were sent.
    pub sent: u32,
    /// Those of them of which the middle arrived in another place than the second.
    pub overtaken: u32,
    /// Those that arrived in order. Missing ones were lost, or have no answer yet.
    pub in_order: u32,
}

impl From<Raw> for Shown {
    fn from(r: Raw) -> Shown {
        Shown {
            detector: Reading {
                score: r.score,
                max: r.max,
                rounds: r.rounds,
                srtt_us: r.srtt_us,
                mdev_us: r.mdev_us,
                depth_us: r.depth_us,
            },
            spacing_us: r.spacing_us,
            alpha: r.alpha,
            sets: Sets { sent: r.sets[0], overtaken: r.sets[1], in_order: r.sets[2] },
        }
    }
}

/// The sockets of one [`Loaded`](crate::Loaded) Prague, perhaps of another process.
pub struct Sockets(MapHandle);

impl Sockets {
    /// Opens them by the number from [`Loaded::sockets`](crate::Loaded::sockets).
    pub fn open(id: u32) -> Result<Sockets, BpfError> {
        MapHandle::from_map_id(id)
            .map(Sockets)
            .map_err(|error| object::refused(format!("to open map {id}"), &error))
    }

    /// The number of the map that [`Loaded::pin_sockets`](crate::Loaded::pin_sockets) left in a file of
    /// the BPF file system, if there is one.
    pub fn pinned(path: &Path) -> Result<Option<u32>, BpfError> {
        if !path.exists() {
            return Ok(None);
        }
        let map = MapHandle::from_pinned_path(path).and_then(|map| map.info());
        let refused = |error| object::refused(format!("to open {}", path.display()), &error);
        map.map(|map| Some(map.info.id)).map_err(refused)
    }

    /// The state of a socket of this process; `None` where it does not have that Prague, or has no
    /// connection yet.
    pub fn read(&self, socket: BorrowedFd<'_>) -> Result<Option<Shown>, BpfError> {
        let key = socket.as_raw_fd().to_ne_bytes();
        let value = self.0.lookup(&key, MapFlags::empty());
        let value = value.map_err(|error| object::refused("to read a socket's Prague", &error))?;
        Ok(value.map(|value| shown(&value)))
    }
}

#[allow(unsafe_code)]
fn shown(value: &[u8]) -> Shown {
    // Aligned as its words are.
    let words: Vec<u64> = value
        .chunks_exact(8)
        .map(|word| u64::from_ne_bytes(word.try_into().expect("8 bytes")))
        .collect();
    assert_eq!(words.len() * 8, host::l4s_prague_shown_size() as usize, "another prague.h");
    let mut raw = Raw::default();
    // SAFETY: there are as many bytes as it reads, at an address that is a multiple of 8, which is
    // the largest alignment of the structure; any bits are valid.
    unsafe { host::l4s_prague_report(words.as_ptr(), &mut raw) };
    raw.into()
}

/// A connection with Prague somewhere on this machine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Socket {
    /// This end.
    pub local: SocketAddr,
    /// The other one.
    pub peer: SocketAddr,
    /// Congestion window in packets.
    pub cwnd: u32,
    /// Whether the connection is established.
    pub established: bool,
    /// Its exported state.
    pub shown: Shown,
}

/// Bytes of `struct record` of sockets.bpf.c.
const RECORD: usize = REPORT + 16 + 32;
/// Of them `struct prague_report`.
const REPORT: usize = size_of::<Raw>();

impl Socket {
    fn read(record: &[u8]) -> Socket {
        let u16_at = |at: usize| u16::from_ne_bytes([record[at], record[at + 1]]);
        let u32_at = |at: usize| u32::from_ne_bytes(record[at..at + 4].try_into().expect("4"));
        let i64_at = |at: usize| i64::from_ne_bytes(record[at..at + 8].try_into().expect("8"));
        let raw = Raw {
            score: i64_at(0),
            max: i64_at(8),
            rounds: u32_at(16),
            srtt_us: u32_at(20),
            mdev_us: u32_at(24),
            depth_us: u32_at(28),
            spacing_us: u32_at(32),
            alpha: u32_at(36),
            sets: [u32_at(40), u32_at(44), u32_at(48)],
            zero: 0,
        };
        let is_ipv6 = i32::from(u16_at(REPORT + 8)) == AF_INET6;
        let address = |at: usize| match is_ipv6 {
            true => {
                let bytes: [u8; 16] = record[at..at + 16].try_into().expect("16");
                IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical()
            }
            false => {
                let bytes: [u8; 4] = record[at..at + 4].try_into().expect("4");
                IpAddr::V4(Ipv4Addr::from(bytes))
            }
        };
        Socket {
            local: SocketAddr::new(address(REPORT + 16), u16_at(REPORT + 10)),
            peer: SocketAddr::new(address(REPORT + 32), u16_at(REPORT + 12)),
            cwnd: u32_at(REPORT),
            established: u32_at(REPORT + 4) == TCP_ESTABLISHED,
            shown: raw.into(),
        }
    }
}

const AF_INET6: i32 = 10;
const TCP_ESTABLISHED: u32 = 1;

/// Every connection with Prague by this crate, of whichever process and network namespace. `None`
/// where no process has it loaded.
pub fn sockets() -> Result<Option<Vec<Socket>>, BpfError> {
    let size = host::l4s_prague_shown_size();
    let maps: Vec<u32> = MapInfoIter::default()
        .filter(|map| map.name.to_str() == Some(MAP))
        .filter(|map| map.ty == MapType::SkStorage && map.value_size == size)
        .map(|map| map.id)
        .collect();
    let open = object::open(object::SOCKETS())?;
    let refused = |what: &'static str| move |error| object::refused(what, &error);
    let object = object::load(open).map_err(|error| {
        match object::refused("to load the program that lists sockets", &error) {
            // The verifier did not come to look at it.
            BpfError::Refused { log, .. }
                if error.kind() == ErrorKind::PermissionDenied
                    && log.contains("processed 0 insns") =>
            {
                BpfError::NoListing
            }
            refused => refused,
        }
    })?;
    if maps.is_empty() {
        return Ok(None);
    }
    let mut found = Vec::new();
    for id in maps {
        // It may be gone by now.
        let Ok(map) = MapHandle::from_map_id(id) else { continue };
        for program in object.progs_mut() {
            let link = program.attach_iter(map.as_fd()).map_err(refused("to list sockets"))?;
            let mut records = Iter::new(&link).map_err(refused("to list sockets"))?;
            let mut bytes = Vec::new();
            records
                .read_to_end(&mut bytes)
                .map_err(|error| refused("to list sockets")(error.into()))?;
            found.extend(bytes.chunks_exact(RECORD).map(Socket::read));
        }
    }
    Ok(Some(found))
}
