//! The live demo: sessions that run a scenario at the pace of the clock, and the server that shows
//! them in a browser.
//!
//! The contract with the page is `docs/reference/live-protocol.md`; [`protocol`] is the same as types. A
//! session owns one or two lanes of a [substrate](l4s_substrate::Substrate), each observed by a
//! [`Meter`], and a [`document`], its present scenario.

#[cfg(test)]
extern crate self as l4s_live;

mod budget;
pub mod document;
pub mod limits;
mod meter;
mod pace;
pub mod protocol;
pub mod server;
mod session;

pub use meter::Meter;
