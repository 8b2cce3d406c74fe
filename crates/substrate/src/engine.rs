//! A substrate by its name.

use crate::{Error, Lanes, Observe, Sim, Substrate};
#[cfg(kernels)]
use crate::{Kernel, Linux, Qdisc};

/// A substrate by its name.
pub enum Engine {
    /// The simulator.
    Sim(Sim),
    /// Real sockets through our bottleneck.
    #[cfg(kernels)]
    Kernel(Kernel),
    /// A kernel in virtual time.
    #[cfg(kernels)]
    Linux(Linux),
    /// Real sockets through a queue discipline of this kernel.
    #[cfg(kernels)]
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
            #[cfg(kernels)]
            "kernel" => Ok(Engine::Kernel(Kernel::new()?)),
            #[cfg(kernels)]
            "linux" => Ok(Engine::Linux(Linux::default())),
            #[cfg(kernels)]
            "qdisc" => Ok(Engine::Qdisc(Qdisc::new()?)),
            #[cfg(not(kernels))]
            "kernel" | "linux" | "qdisc" => Err(Error::Machine(format!(
                "`--on {name}` needs the whole command l4s (`make build` in a clone), on Linux; the \
                 simulator, `--on sim`, runs anywhere"
            ))),
            _ => Err(Error::Unsupported(format!(
                "found the substrate `{name}`, expected sim, kernel, linux or qdisc"
            ))),
        }
    }

    /// The substrate.
    pub fn on(&self) -> &dyn Substrate {
        match self {
            Engine::Sim(sim) => sim,
            #[cfg(kernels)]
            Engine::Kernel(kernel) => kernel,
            #[cfg(kernels)]
            Engine::Linux(linux) => linux,
            #[cfg(kernels)]
            Engine::Qdisc(qdisc) => qdisc,
        }
    }

    /// The substrate, for live lanes.
    ///
    /// # Errors
    /// It has none.
    pub fn lanes<O: Observe + Send + 'static>(self) -> Result<Box<dyn Lanes<O>>, Error> {
        match self {
            Engine::Sim(sim) => Ok(Box::new(sim)),
            #[cfg(kernels)]
            Engine::Kernel(kernel) => Ok(Box::new(kernel)),
            #[cfg(kernels)]
            Engine::Linux(_) | Engine::Qdisc(_) => {
                Err(Error::Unsupported(format!("--on {}: no live lanes", self.on().name())))
            }
        }
    }
}
