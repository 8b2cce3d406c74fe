//! The simulator: a scenario in virtual time, packet by packet, the same on every machine.
//!
//! TCP endpoints follow Linux ([`tcp`]), and those of QUIC RFC 9002; the bottleneck runs the disciplines of [`l4s_aqm`].
//! There is no wall clock and no unordered map in here: the same scenario and seed give the same events in the same
//! order, on one core ([`run`]) and on two ([`run_on_two_cores`]).

/// The example of README.md, as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod ack_loss;
mod agenda;
mod app;
mod calendar;
mod connections;
pub mod cost;
mod endpoint;
mod engine;
mod half;
mod imperfect;
mod kind;
mod line;
mod mail;
mod message;
mod pace;
mod packet;
mod prefetch;
mod quic;
mod schedule;
mod simulation;
pub mod tcp;
mod timers;
mod udp;
mod wheel;

pub use engine::Outcome;
pub use engine::halves::{lookahead, run_on_two_cores};
pub use message::{Ack, ByteCounters};
pub use packet::{Packet, Segment};
pub use simulation::Simulation;

use l4s_model::Scenario;
use l4s_observe::Observer;
use l4s_units::Time;

/// Runs a scenario and reports every event to `observer`.
pub fn run(scenario: &Scenario, observer: &mut impl Observer<Packet>) -> Outcome {
    let mut simulation = Simulation::new(scenario, observer);
    simulation.advance(Time::ZERO + scenario.duration);
    simulation.finish().0
}
