//! Real Linux TCP through our bottleneck, in real time.
//!
//! Every server and every client is a process in a network namespace of its own, whose only way
//! out is a TUN device. The other ends of all TUN devices are in the hands of the data plane: one
//! thread that is the router, with the same disciplines as the simulator.
//!
//! Nothing of it outlives its processes: a namespace has no name and goes with the process in it,
//! a TUN device goes with its file, a congestion control with its link.

mod clock;
mod report;

pub use clock::Clock;
pub use report::{Report, TcpSample};
