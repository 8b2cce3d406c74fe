//! DCTCP, Prague, BBR version 3 and ECT(1) for stock Linux kernels, as BPF programs, and their loader.
//!
//! ```no_run
//! let prague = l4s_bpf::Loaded::prague("prague_1234", &l4s_cc::prague::Config::linux())?;
//! // setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, prague.name())
//! # Ok::<(), l4s_bpf::BpfError>(())
//! ```
//!
//! Everything loaded is held by a file descriptor of this process and goes with it, however the
//! process ends. See docs/explanation/bpf.md.

mod control;
mod dualpi2;
mod ect1;
mod error;
mod object;
mod probe;
mod sockets;
mod tcx;
mod tracers;

pub use control::{Flags, Loaded};
pub use dualpi2::{Counts, DualPi2, Instance, Signals};
pub use ect1::Ect1;
pub use error::BpfError;
pub use object::{NAME_MAX, compiler, pin};
pub use probe::{Finding, Probe, probe};
pub use sockets::{Sets, Shown, Socket, Sockets, sockets};
pub use tcx::is_attached;
pub use tracers::Tracers;

/// Whether the programs were compiled when this crate was built. Where they were not, for want
/// of clang, everything fails with [`BpfError::NotBuilt`].
pub const BUILT: bool = object::FAULT.is_none();
