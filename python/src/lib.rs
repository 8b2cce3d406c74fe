//! The engine of l4s for Python: scenarios, runs in the simulator, their tables, and evaluations.
//!
//! People use the package `l4s`, in Python; this is its part in Rust, `l4s._l4s`. It has
//! the features of the command line: the same plans, the same runs, the same words.

mod aqm;
mod cc;
mod evaluate;
mod own;
mod refusal;
mod returns;
mod run;
mod scenario;
mod table;

use pyo3::prelude::*;

/// The module `l4s._l4s`.
#[pymodule]
mod _l4s {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::aqm::Packet;
    #[pymodule_export]
    use crate::cc::{Ack, Window};
    #[pymodule_export]
    use crate::evaluate::{Chapter, Judged, Verdicts, chapters, written};
    #[pymodule_export]
    use crate::own::check;
    #[pymodule_export]
    use crate::run::{Record, dictionary, golden, run, table_of_runs, write};
    #[pymodule_export]
    use crate::scenario::{Plan, Run, Template, bundled, plan};
    #[pymodule_export]
    use crate::table::Table;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
        module.add("CODE", env!("L4S_CODE"))
    }
}
