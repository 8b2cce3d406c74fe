//! A substrate by its name.

use crate::{Error, Observe, Sim, Substrate};
#[cfg(target_os = "linux")]
use crate::{Kernel, Linux, Qdisc};

/// A substrate for observers of any type.
pub enum Engine {
    /// The simulator.
    Sim(Sim),
    /// Real sockets through our bottleneck.
    #[cfg(target_os = "linux")]
    Kernel(Kernel),
    /// A kernel in virtual time.
    #[cfg(target_os = "linux")]
    Linux(Linux),
    /// Real sockets through a queue discipline of this kernel.
    #[cfg(target_os = "linux")]
    Qdisc(Qdisc),
}

impl Engine {
    /// The simulator, which every machine has.
    pub const SIM: Engine = Engine::Sim(Sim);

    /// The substrate called `name`.
    ///
    /// # Errors
    /// No substrate has this name, or this machine lacks something for it.
    pub fn named(name: &str) -> Result<Engine, Error> {
        match name {
            "sim" => Ok(Engine::SIM),
            #[cfg(target_os = "linux")]
            "kernel" => Ok(Engine::Kernel(Kernel::new()?)),
            #[cfg(target_os = "linux")]
            "linux" => Ok(Engine::Linux(Linux::default())),
            #[cfg(target_os = "linux")]
            "qdisc" => Ok(Engine::Qdisc(Qdisc::new()?)),
            #[cfg(not(target_os = "linux"))]
            "kernel" | "linux" | "qdisc" => Err(Error::Machine(format!(
                "`--on {name}` needs Linux; the simulator, `--on sim`, runs anywhere"
            ))),
            _ => Err(Error::Unsupported(format!(
                "found the substrate `{name}`, expected sim, kernel, linux or qdisc"
            ))),
        }
    }

    /// The substrate for observers of type `O`.
    pub fn on<O: Observe>(&self) -> &dyn Substrate<O> {
        match self {
            Engine::Sim(sim) => sim,
            #[cfg(target_os = "linux")]
            Engine::Kernel(kernel) => kernel,
            #[cfg(target_os = "linux")]
            Engine::Linux(linux) => linux,
            #[cfg(target_os = "linux")]
            Engine::Qdisc(qdisc) => qdisc,
        }
    }

    /// The substrate as a value, for observers of type `O`.
    pub fn boxed<O: Observe>(self) -> Box<dyn Substrate<O>> {
        match self {
            Engine::Sim(sim) => Box::new(sim),
            #[cfg(target_os = "linux")]
            Engine::Kernel(kernel) => Box::new(kernel),
            #[cfg(target_os = "linux")]
            Engine::Linux(linux) => Box::new(linux),
            #[cfg(target_os = "linux")]
            Engine::Qdisc(qdisc) => Box::new(qdisc),
        }
    }
}
