//! Failures of the operating system, for people.

use std::io;

/// An error for people: the operation, its object, the reason, and the remedy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OsError {
    /// No Linux kernel supports the request.
    #[error("{0}")]
    Unsupported(String),
    /// This machine cannot, or this user may not.
    #[error("{0}")]
    Machine(String),
    /// It went wrong on the way.
    #[error("{0}")]
    Run(String),
}

impl OsError {
    /// This machine cannot do `what`, because of `why`.
    pub fn machine(what: impl std::fmt::Display, why: impl Into<io::Error>) -> OsError {
        OsError::Machine(format!("{what}: {}", reason(&why.into())))
    }

    /// `what` went wrong, because of `why`.
    pub fn run(what: impl std::fmt::Display, why: impl Into<io::Error>) -> OsError {
        OsError::Run(format!("{what}: {}", reason(&why.into())))
    }

    /// The same error of somebody.
    pub fn of(self, who: &str) -> OsError {
        match self {
            OsError::Unsupported(why) => OsError::Unsupported(format!("{who}: {why}")),
            OsError::Machine(why) => OsError::Machine(format!("{who}: {why}")),
            OsError::Run(why) => OsError::Run(format!("{who}: {why}")),
        }
    }
}

/// The text of a kernel's error, without its number.
pub fn reason(error: &io::Error) -> String {
    let words = error.to_string();
    match words.find(" (os error") {
        Some(end) => words[..end].to_lowercase(),
        None => words,
    }
}
