//! The laws of DualPI2. Each can detect a defect that some implementation had.
//!
//! For random decisions, time does not advance at a known p' and many packets are served. The share of
//! marked or dropped packets has to be within five standard deviations.

#[path = "../common/mod.rs"]
mod common;
mod controller;
mod native;
mod overload;
mod place;
mod recurring;
mod schedulers;
mod signals;

use common::{Probe, Rig, assert_fits, ms, us};
use l4s_aqm::dualpi2::{
    Classify, Config, DropAt, FloorAt, LAqm, Overload, Randomness, Scheduler, Step,
};
use l4s_aqm::{DropCause, Limit, MTU, MarkCause, Qdisc, Queue};
use l4s_units::param::Configurable;
use l4s_units::{Bytes, Duration, Ecn, Probability, Time};
use proptest::prelude::*;

/// The number of packets of a measurement.
const N: u64 = 20_000;

fn rig(config: Config) -> Rig {
    Rig::new(l4s_aqm::Config::DualPi2(config))
}

/// Without a native L4S AQM, so that only the coupled signal has an effect.
fn bare() -> Config {
    Config { l_aqm: LAqm::None, limit: Limit::packets(1 << 20), ..Config::dctth() }
}

/// Sets the controller to exactly p' by one update: with α = 0, β = 1 Hz and a queue that was
/// empty before, p' is the delay in seconds. Returns the time, at which all queues are empty.
fn at(config: Config, p_prime: f64) -> (Rig, Time) {
    let mut rig = rig(Config { alpha: 0.0, beta: 1.0, ..config });
    let now = Time::from_nanos((p_prime * 1e9) as u64);
    rig.put(Probe::full(0, Ecn::NotEct), Time::ZERO);
    rig.aqm.tick(now);
    rig.drain(now);
    rig.forget();
    (rig, now)
}

/// The outcomes of [`N`] packets of codepoint `ecn` that passed at a known p'.
fn fates(config: Config, p_prime: f64, ecn: Ecn) -> Rig {
    let (mut rig, now) = at(config, p_prime);
    rig.fill(N, ecn, now);
    rig.drain(now);
    rig
}

/// The AQM of the L queue is a step at `thresh`.
fn step(config: Config, thresh: Step) -> Config {
    Config { l_aqm: LAqm::Step(thresh), min_qlen_step: 0, ..config }
}
