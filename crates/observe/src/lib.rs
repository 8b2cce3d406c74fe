//! Observation of a run: events of each packet and flow, on every substrate.
//!
//! A substrate is generic over its [`Observer`] and calls it for every event. Measurement, packet
//! traces and the live page are observers; a pair of observers is one, too.

/// The example of README.md, as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod observer;
mod packet;
mod tee;

pub use observer::{FlowState, FrameEvent, HopEvent, LinkState, Observer, SocketState, Wants};
pub use packet::{Contents, EcnFlags, Header, OnWire, Tcp, Traced, Wire};
