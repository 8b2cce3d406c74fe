//! L4S on this machine itself: TCP Prague for its connections, DualPI2 for its devices; put in
//! place by one call, and taken back by another.
//!
//! ```text
//!  install ──▶ journal ──▶ kernel ──▶ pins        what was there before is written down first,
//!  remove  ◀── journal ◀── kernel ◀── pins        and whatever fails is undone
//! ```
//!
//! Nothing here stays running. Programs are held by files of the BPF file system, the devices'
//! former state by a journal in `/run`; both go with a reboot, and [`boot`] can put everything in
//! place again. See docs/guides/host.md.

pub mod boot;
mod device;
mod error;
mod install;
mod journal;
mod place;
mod remove;
mod status;
mod undo;

pub use device::{Device, WantedQueue};
pub use error::HostError;
pub use install::{Install, Installed, WantedPrague, install};
pub use journal::{Journal, JournalDevice};
pub use place::Place;
pub use remove::{Removed, remove};
pub use status::{DeviceStatus, Status, status};

/// The name of our congestion control, for `TCP_CONGESTION` and the sysctl.
pub const PRAGUE: &str = "prague";
/// The name of our queue discipline, for `tc`.
pub const DUALPI2: &str = "l4s_dualpi2";
