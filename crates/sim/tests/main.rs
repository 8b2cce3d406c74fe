//! Whole runs of the simulator.
//!
//! All are one program: each program of tests compiles the engine anew, which takes longer than its
//! tests run.

mod aggregation;
mod allocation;
mod app;
mod bbr;
mod bbr3;
mod changes;
mod common;
mod cost;
mod golden;
mod goodput;
mod halves;
mod headers;
mod hops;
mod laws;
mod paths;
mod prague;
mod radio;
mod rates;
mod simulation;
mod tcptrace;
mod testbed;
mod timeouts;
mod tracers;
mod traces;
mod uplink;
mod web;
mod wireshark;
