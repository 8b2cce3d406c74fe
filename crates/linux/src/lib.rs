//! A kernel as the router of a run, with its own TCP and queue disciplines: a guest's in virtual
//! time, exact and repeatable, or this machine's in real time.
//!
//! User-mode Linux is a Linux kernel that runs as a process. With `time-travel=inf-cpu` its clock
//! does not advance while anything computes and jumps when all wait, so that neither the speed of the
//! machine nor its noise affects measurements. A guest boots, this program is its first process,
//! agents of the lab are its servers and clients, its kernel is the router with the bottleneck.
//! Every packet that passes it is written down, and measured on this side.
//!
//! ```text
//!  command ──starts──▶ boot ──executes──▶ kernel ──starts──▶ guest ──starts──▶ agents
//!     ▲                                                        │
//!     └───────────── follower ◀──── file of events ◀───────────┘
//! ```
//!
//! The same without the guest is [`Real`]: the router is a process in a network namespace of this
//! machine, whose kernel runs in real time.

pub mod boot;
mod bottleneck;
mod bpf;
mod choice;
mod console;
mod cores;
mod detour;
mod drive;
mod event;
mod follow;
pub mod guest;
pub mod host;
mod htb;
mod kernel;
mod qdisc;
mod record;
mod router;
mod run;
mod schedule;
mod tap;
mod vm;
mod watch;
mod ways;
mod wire;

pub use detour::Passages;
pub use event::{Counters, Ending, Event, Passed, QueueState};
pub use follow::{Counts, Follower};
pub use host::{Parts, Real};
pub use kernel::{Kernel, VERSION};
pub use qdisc::Qdisc;
pub use run::{Virtual, check};
pub use vm::{Clock, Options, Vm};
pub use watch::Ran;

use l4s_units::Duration;

/// How often sockets and the queue are looked at.
pub(crate) const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// The time between two ticks of the kernel that `make linux` builds: 1000 a second, as most
/// distributions have.
pub const JIFFY: Duration = Duration::from_millis(1);
