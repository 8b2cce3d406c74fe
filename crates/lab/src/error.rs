//! Why a lab cannot be built, or stopped.

use std::io;

/// What went wrong, for people: what was being done, on what, why, and what to do.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LabError {
    /// The scenario asks for what no Linux kernel does.
    #[error("{0}")]
    Scenario(String),
    /// This machine cannot, or this user may not.
    #[error("{0}")]
    Machine(String),
    /// It went wrong on the way.
    #[error("{0}")]
    Run(String),
}

impl LabError {
    /// This machine cannot do `what`, because of `why`.
    pub fn machine(what: impl std::fmt::Display, why: impl Into<io::Error>) -> LabError {
        LabError::Machine(format!("{what}: {}", reason(&why.into())))
    }

    /// `what` went wrong, because of `why`.
    pub fn run(what: impl std::fmt::Display, why: impl Into<io::Error>) -> LabError {
        LabError::Run(format!("{what}: {}", reason(&why.into())))
    }

    /// The same error of somebody.
    pub fn of(self, who: &str) -> LabError {
        match self {
            LabError::Scenario(why) => LabError::Scenario(format!("{who}: {why}")),
            LabError::Machine(why) => LabError::Machine(format!("{who}: {why}")),
            LabError::Run(why) => LabError::Run(format!("{who}: {why}")),
        }
    }
}

/// The kernel's words, without their number.
pub(crate) fn reason(error: &io::Error) -> String {
    let words = error.to_string();
    match words.find(" (os error") {
        Some(end) => words[..end].to_lowercase(),
        None => words,
    }
}
