//! The features of this machine.
//!
//! Nothing is concluded from version numbers: each thing is tried and taken back.

use std::fmt;

use crate::control::throw_away_name;
use crate::{BpfError, DualPi2, Ect1, Flags, Loaded, Tracers, ect1, object};

/// Whether something works, and if not, why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding(Result<(), String>);

impl Finding {
    fn of<T>(tried: Result<T, BpfError>) -> Finding {
        Finding(tried.map(drop).map_err(|error| error.to_string()))
    }

    /// Whether it works.
    pub fn works(&self) -> bool {
        self.0.is_ok()
    }

    /// Why it does not.
    pub fn reason(&self) -> Option<&str> {
        self.0.as_ref().err().map(String::as_str)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason().unwrap_or("yes"))
    }
}

/// The features of the kernel and of this process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Probe {
    /// The programs were compiled.
    pub built: Finding,
    /// The kernel describes its types.
    pub types: Finding,
    /// This process may load programs.
    pub permission: Finding,
    /// A congestion control can be registered, and goes with its link: DCTCP works.
    pub struct_ops: Finding,
    /// [`Flags::NEEDS_ACCECN`]: Prague counts marks exactly.
    pub needs_accecn: Finding,
    /// [`Flags::ECT_1_NEGOTIATION`].
    pub ect_1_negotiation: Finding,
    /// [`Flags::NO_FALLBACK_RFC3168`].
    pub no_fallback_rfc3168: Finding,
    /// A queue discipline can be registered: DualPI2 works.
    pub queues: Finding,
    /// Programs that send sets of tracers can be loaded; they take `tcx`, too.
    pub tracers: Finding,
    /// A program can be linked to a device. Without, [`Ect1`] uses a filter.
    pub tcx: Finding,
}

/// Tries everything, and leaves nothing behind.
pub fn probe() -> Probe {
    let built = match object::FAULT {
        None => Ok(()),
        Some(fault) => Err(BpfError::NotBuilt(fault)),
    };
    let with = |flags: Flags| {
        let flags = Flags::NEEDS_ECN.and(flags);
        Finding::of(Loaded::dctcp_with(&throw_away_name(), flags))
    };
    Probe {
        built: Finding::of(built),
        types: Finding::of(object::types()),
        permission: Finding::of(ect1::load(None)),
        struct_ops: with(Flags::NON_RESTRICTED),
        needs_accecn: with(Flags::NEEDS_ACCECN),
        ect_1_negotiation: with(Flags::ECT_1_NEGOTIATION),
        no_fallback_rfc3168: with(Flags::NO_FALLBACK_RFC3168),
        queues: Finding::of(DualPi2::register(&throw_away_name(), 1)),
        tracers: Finding::of(Tracers::try_load()),
        tcx: Finding::of(Ect1::try_link()),
    }
}
