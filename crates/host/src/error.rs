//! Why something was not done.

use l4s_bpf::BpfError;
use l4s_os::OsError;

/// An error for people: the problem, its reason, and the remedy. Nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HostError {
    /// The request makes no sense on this machine.
    #[error("{message}")]
    Input {
        /// The value that was found.
        message: String,
        /// The action.
        help: String,
    },
    /// This machine cannot, or this user may not.
    #[error("{0}")]
    Machine(String),
    /// It went wrong on the way.
    #[error("{0}")]
    Failed(String),
}

impl HostError {
    pub(crate) fn input(message: impl Into<String>, help: impl Into<String>) -> HostError {
        HostError::Input { message: message.into(), help: help.into() }
    }

    pub(crate) fn failed(what: impl std::fmt::Display, why: impl std::fmt::Display) -> HostError {
        HostError::Failed(format!("{what}: {why}"))
    }
}

impl From<BpfError> for HostError {
    fn from(error: BpfError) -> HostError {
        HostError::Machine(error.to_string())
    }
}

impl From<OsError> for HostError {
    fn from(error: OsError) -> HostError {
        HostError::Machine(error.to_string())
    }
}
