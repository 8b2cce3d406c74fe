//! `l4s vm`: a command in a virtual machine with an unmodified kernel of a distribution.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use l4s_linux::{Clock, Options};
use l4s_substrate::Error;

use crate::args::{Run, Vm};
use crate::failure::Failure;

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
    let (mut out, mut err) = (io::stdout(), io::stderr());
    vm.run(&options.command, &here, &here, &how, &mut out, &mut err)
        .map_err(|error| Error::of("l4s vm", error).into())
}

/// Loads the modules that a stock kernel does not load by itself: the disciplines, and those that
/// `--on kernel` uses. Then runs the command.
const MODULES: &str = "modprobe -a -q sch_dualpi2 sch_pie sch_codel sch_cake sch_red sch_netem tun; \
                       exec \"$@\"";

/// Runs the command in a virtual machine whose kernel has every discipline: the same command
/// without `--vm`, with the folder of `--out` to write to.
pub fn run_in_vm(options: &Run) -> Result<(), Failure> {
    let vm = l4s_linux::Vm::find().map_err(|why| Failure::Substrate(format!("--vm: {why}")))?;
    let failed =
        |what: &Path, error: io::Error| Failure::Run(format!("{}: {error}", what.display()));
    let here = std::env::current_dir().map_err(|error| failed(Path::new("."), error))?;
    // Results come into being beside their folder, and take its place when they are whole.
    let nothing = tempfile::tempdir().map_err(|error| failed(Path::new("--vm"), error))?;
    let writable = match &options.out {
        Some(out) => here.join(out).parent().map_or_else(|| here.clone(), Path::to_path_buf),
        None => nothing.path().to_owned(),
    };
    std::fs::create_dir_all(&writable).map_err(|error| failed(&writable, error))?;
    let program = std::env::current_exe().map_err(|error| failed(Path::new("l4s"), error))?;
    let shell = ["/bin/sh", "-c", MODULES, "sh"].map(OsString::from);
    let words = std::env::args_os().skip(1).filter(|word| word != "--vm");
    let command: Vec<_> = shell.into_iter().chain([program.into()]).chain(words).collect();
    let (mut out, mut err) = (io::stdout(), io::stderr());
    let code = vm.run(&command, &writable, &here, &Options::default(), &mut out, &mut err);
    match code.map_err(|error| Failure::from(Error::of("--vm", error)))? {
        0 => Ok(()),
        // It has said why.
        code => std::process::exit(code.into()),
    }
}
