//! TCP endpoints, after Linux.
//!
//! A server that sends and a client that receives, as pure state machines: segments,
//! acknowledgements and the time go in; segments and acknowledgements come out.

#[cfg(not(fuzzing))]
mod accecn;
// `fuzz/fuzz_targets/accecn.rs` feeds it reports of a receiver; cargo-fuzz sets this.
#[cfg(fuzzing)]
pub mod accecn;
mod buffer;
mod client;
mod handshake;
pub(crate) mod ranges;
pub(crate) mod rate;
mod receiver;
mod reordering;
mod rtt;
mod scoreboard;
mod send_buffer;
mod sender;
pub(crate) mod supply;
mod usage;

pub(crate) use accecn::INITIAL_BYTES;
// The arguments and results of `Sender` and `Receiver`; segments and acknowledgements are at the root.
pub use crate::message::{Duplicate, Request, Syn};
pub use crate::packet::{AccEcn, Stamp, Stamps, SynAck};
pub(crate) use client::{Client, Offer};
pub use receiver::{Arrived, Receiver};
pub use sender::{Output, Sender, SenderConfig, State};

#[cfg(test)]
mod script;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use script::Script;
