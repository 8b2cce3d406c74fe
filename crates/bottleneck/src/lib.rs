//! The bottleneck of every substrate: a queue discipline behind a shaper.
//!
//! The path behind it is fast: a packet arrives at its client when its transmission starts, or,
//! where the link aggregates, with all others at the end of their airtime. It depends neither on the
//! source of packets nor on measurement; the simulator and the lab each bring their own packets
//! and their own [`Watch`](l4s_aqm::Watch).
//!
//! The other common parts of all substrates are here too: random streams by name, and the
//! [`Downloads`] that a scenario's `[[web]]` begin, the [`Frames`] that its `[[app]]` write, the
//! [`Datagrams`] that its `[[udp]]` send, and the processing time of hosts ([`host_jitter`]).
//! [`Imperfect`] has the [`Stretches`] of its `[[path]]`. A link of a [`Route`] may filter [`Acknowledgements`].

/// The example of README.md, as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod ack_filter;
mod aggregate;
mod apps;
mod bottleneck;
mod datagrams;
mod downloads;
mod flight;
mod hosts;
mod imperfect;
mod opportunities;
mod pacer;
mod packet;
mod radio;
mod random;
mod route;
mod shaper;
mod steps;
mod stretch;
mod stretches;

pub use ack_filter::{Ack, Acknowledgements, Blocks, redundant};
pub use apps::{AppFlow, Frames, app_flows};
pub use bottleneck::{Bottleneck, Straddling, Successor};
pub use datagrams::Datagrams;
pub use downloads::{Arrivals, Download, Downloads, arrivals};
pub use hosts::host_jitter;
pub use imperfect::{Imperfect, Where, longest_detour};
pub use packet::{flow_hash, skb_memory};
pub use random::{Stream, stream};
pub use route::{Next, Route, RouteLink};
pub use shaper::Shaper;
pub use stretch::{Passage, Stretch};
pub use stretches::{Stretches, Traveller, Wayside};
