//! Real Linux TCP through our bottleneck, in real time.
//!
//! Every server and every client is a process in a network namespace of its own, whose only way
//! out is a TUN device. The other ends of all TUN devices are in the hands of the data plane: one
//! thread that is the router, with the same disciplines as the simulator.
//!
//! Nothing of it outlives its processes: a namespace has no name and goes with the process in it,
//! a TUN device goes with its file, a congestion control with its link.

mod acks;
mod address;
pub mod agent;
mod coalescing;
mod dynamic;
mod frame;
mod internet;
mod lab;
mod lateness;
mod ledger;
mod line;
mod live;
mod message;
mod owner;
mod plane;
mod pool;
mod program;
mod pump;
mod recognised;
mod report;
mod run;
mod setup;

pub use l4s_flows::ip;

pub use acks::Headers;
pub use address::{End, FIRST_PORT, UDP_PORT, end_of, pair_of};
pub use frame::Frame;
pub use internet::internet_works;
pub use lab::{AgentCommand, AgentInfo, Lab, Roles};
pub use lateness::{Lateness, Meter, Stalls, Watchdog};
pub use ledger::Ledger;
pub use line::Lines;
pub use live::Live;
pub use message::{Channel, Next};
pub use owner::Owner;
pub use plane::{Counters, Delivery, Plane};
pub use pool::{Buffer, Pool};
pub use program::{
    Ended, Programs, Supervision, Surroundings, check_programs, hold_signals, is_executable,
    main as program_main, shortened, unheeded,
};
pub use pump::{Device, Port, PumpError, Pumped, Settings, Turn, pump};
pub use recognised::Recognised;
pub use report::{PragueSample, Report, TcpSample};
pub use run::{HEAD_START, Ran, Remote, check, rehearse, run, shortest_rtt, slow_source};
pub use setup::{CableDelay, Control, LabOptions, LabPlan, Planner, cable_of};
