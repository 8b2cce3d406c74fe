//! The live demo: sessions that run a scenario at the pace of the clock, and the server that shows
//! them in a browser.
//!
//! The contract with the page is `docs/live-protocol.md`; [`protocol`] is the same as types. A
//! [`Lane`] is a bottleneck with its traffic, whatever substrate runs it.

pub mod document;
#[cfg(target_os = "linux")]
mod kernel;
mod lane;
pub mod limits;
mod meter;
pub mod protocol;
mod sim;

#[cfg(target_os = "linux")]
pub use kernel::KernelLane;
pub use lane::Lane;
pub use meter::Meter;
pub use sim::SimLane;
