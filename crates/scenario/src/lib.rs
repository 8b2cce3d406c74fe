//! What is run: the scenario with every choice made.

mod model;

pub use model::{Buffer, EcnMode, Group, Link, Scenario, Udp};
