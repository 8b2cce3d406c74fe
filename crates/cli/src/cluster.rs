//! `l4s run --cluster`: the runs go to the workers of a Dask scheduler. Python does that, with the sweeps of the Python
//! package: its process takes the place of this one.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::args::{Run, Substrate};
use crate::failure::Failure;
use crate::folder::CODE;

/// The Python of the active environment.
const PYTHON: &str = "python3";
/// Names a missing package instead of a traceback, and then does the runs.
const PROGRAM: &str = "\
import sys
try:
    from l4s.sweeps.cluster import main
except ImportError as error:
    print(f'error: --cluster: {error}: {sys.executable} lacks the Python package of l4s, or a part of it: '
          'install it there, or activate the environment that has it', file=sys.stderr)
    sys.exit(3)
sys.exit(main(sys.argv[1:]))
";

/// Hands over the runs of a scenario that was checked. Returns only if that is not possible.
pub fn hand_over(options: &Run, address: &str, set: &[String]) -> Failure {
    if options.on != Substrate::Sim {
        return Failure::input(format!(
            "--cluster: found --on {}, expected --on sim: workers have no other substrate",
            options.on.name()
        ));
    }
    let out = options.out.as_deref().map_or(OsStr::new("out"), |out| out.as_os_str());
    let error = Command::new(PYTHON)
        .args(["-c", PROGRAM, address])
        .arg(out)
        .args([&options.scenario, &options.seeds.to_string(), CODE])
        .args(set)
        .exec();
    Failure::Substrate(format!(
        "--cluster: {PYTHON} cannot be started: {error}; it needs Python with the package of l4s"
    ))
}
