//! Linux for programs that send and shape packets: netlink, namespaces, TUN devices, ethtool, clocks
//! and real-time threads, each with errors that name the operation and the remedy.
//!
//! The crate is independent of scenarios. Objects that a process makes end with the process, unless
//! documented otherwise: a namespace has no name, and a TUN device goes with its file.

mod clock;
mod error;
pub mod ethtool;
mod host;
pub mod namespace;
pub mod netlink;
pub mod nft;
mod realtime;
mod tun;
mod usage;

pub use clock::{Clock, now_ns};
pub use error::{OsError, reason};
pub use host::{Host, Interface, has_control, jiffy};
pub use realtime::{Realtime, keep_off_spare_core, spare_core};
pub use tun::{Offload, Read, Tun, Written};
pub use usage::Usage;
