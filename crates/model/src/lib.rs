//! The scenario as a value: which flows meet at which bottleneck, with every choice made.
//!
//! A front end builds a [`Scenario`] (`l4s-scenario` reads one from TOML) and a substrate runs it.
//! [`Scenario::adaptable`] decides whether a live run can switch to a changed scenario.

/// The example of README.md, as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod adapt;
mod change;
mod course;
mod group;
mod link;
mod negotiation;
mod path;
mod program;
mod radio;
mod roster;
mod scenario;
mod traffic;
mod uplink;

pub use change::{Change, PathChange};
pub use course::Course;
pub use group::{
    AccEcn, DEFAULT_ACK_ELICITING_THRESHOLD, DEFAULT_MSS, EcnMode, Group, LEAST_BUFFER, LEAST_MSS,
    MOST_BUFFER, MOST_MSS, Peer,
};
pub use link::{Buffer, Capacity, Hop, Link, Per, Side};
pub use negotiation::{Feedback, Negotiated};
pub use path::{AccEcnMangling, Distribution, EcnMangling, Jitter, Loss, Path, PathEvent, Reorder};
pub use program::{Command, Expect, Program, Ready, Signal};
pub use radio::{Cell, Radio, Slot, Standard, Wifi};
pub use roster::{FlowId, FlowKind, Roster, SourceId};
pub use scenario::{Ip, Kernel, QdiscOf, Scenario};
pub use traffic::{App, Hold, Sizes, Udp, Web};
pub use uplink::{AckFilter, Direction, UPLINK, Uplink};
