//! The live demo: sessions that run a scenario at the pace of the clock, and the server that shows
//! them in a browser.
//!
//! The contract with the page is `docs/live-protocol.md`; [`protocol`] is the same as types. A
//! [`Lane`] is a bottleneck with its traffic, whatever [`Substrate`] runs it; a session owns one or
//! two of them and a [`document`], its scenario as it stands.

#[cfg(test)]
extern crate self as l4s_live;

mod budget;
pub mod document;
#[cfg(target_os = "linux")]
mod kernel;
mod lane;
pub mod limits;
mod meter;
mod pace;
pub mod protocol;
pub mod server;
mod session;
mod sim;
mod substrate;

#[cfg(target_os = "linux")]
pub use kernel::KernelLane;
pub use lane::Lane;
pub use meter::Meter;
pub use sim::SimLane;
pub use substrate::{Simulator, Substrate};
