//! `l4s vm`: a command in a virtual machine, with a kernel of a distribution as it is.

use l4s_linux::{Clock, Options};

use crate::args::Vm;
use crate::failure::Failure;
use crate::kernel::failure;

/// Runs it. Gives its exit code.
pub fn vm(options: &Vm) -> Result<u8, Failure> {
    let found = match &options.kernel {
        Some(series) => l4s_linux::Vm::find_series(series),
        None => l4s_linux::Vm::find(),
    };
    let vm = found.map_err(|why| Failure::Substrate(format!("l4s vm: {why}")))?;
    let here = std::env::current_dir()
        .map_err(|error| Failure::Run(format!("the current directory: {error}")))?;
    let how = Options {
        clock: if options.plain { Clock::Host } else { Clock::Instructions },
        memory_mib: options.memory,
        limit: options.time_limit.map(|limit| std::time::Duration::from_nanos(limit.as_nanos())),
    };
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    vm.run(&options.command, &here, &here, &how, &mut out, &mut err)
        .map_err(|error| failure("l4s vm", error))
}
