//! An agent for the tests of this crate, which have no `l4s` to start.

use std::any::Any;
use std::process::ExitCode;

struct NoHooks;

impl l4s_lab::agent::Hooks for NoHooks {
    fn ect1(&self, _index: u32) -> Result<Box<dyn Any>, String> {
        Err("this agent, which is for tests, cannot".to_owned())
    }

    fn tracers(&self, _index: u32, _cc: &str, _map: u32) -> Result<Box<dyn Any>, String> {
        Err("this agent, which is for tests, cannot".to_owned())
    }

    fn sockets(&self, _map: u32) -> Result<Box<dyn l4s_lab::agent::ReadSocket>, String> {
        Err("this agent, which is for tests, cannot".to_owned())
    }
}

fn main() -> ExitCode {
    l4s_lab::agent::main(&NoHooks)
}
