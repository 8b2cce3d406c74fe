//! Errors of commands, for people: the problem, its place, a remedy; and the exit code.

use l4s_measure::{Cause, ResultError};
use l4s_report::ReportError;
use l4s_scenario::{Faults, Refused};

/// Why a command stops.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A scenario or `--set` is refused.
    #[error("{0}")]
    Scenario(#[from] Faults),
    /// Other input is refused.
    #[error("{message}")]
    Input {
        /// The value that was found, and the accepted ones.
        message: String,
        /// The remedy.
        help: Option<String>,
    },
    /// A run failed.
    #[error("{0}")]
    Run(String),
    /// This machine or version cannot run that substrate.
    #[error("{0}")]
    Substrate(String),
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Failure {
        match refused {
            Refused::Scenario(faults) => Failure::Scenario(faults),
            Refused::Unreadable { message, help } => Failure::Input { message, help },
        }
    }
}

impl From<l4s_substrate::Error> for Failure {
    fn from(error: l4s_substrate::Error) -> Failure {
        match error {
            l4s_substrate::Error::Unsupported(why) => Failure::input(why),
            l4s_substrate::Error::Machine(why) => Failure::Substrate(why),
            l4s_substrate::Error::Run(why) => Failure::Run(why),
        }
    }
}

impl From<l4s_papers::Error> for Failure {
    fn from(error: l4s_papers::Error) -> Failure {
        match error {
            l4s_papers::Error::Write(error) => unwritten(error),
            error => Failure::Run(error.to_string()),
        }
    }
}

impl Failure {
    /// Bad input.
    pub fn input(message: impl Into<String>) -> Failure {
        Failure::Input { message: message.into(), help: None }
    }

    /// Bad input, and the remedy.
    pub fn input_with(message: impl Into<String>, help: impl Into<String>) -> Failure {
        Failure::Input { message: message.into(), help: Some(help.into()) }
    }

    /// A part of the command that this build does not have.
    #[cfg(not(kernels))]
    pub fn left_out(part: &str) -> Failure {
        Failure::Substrate(if cfg!(target_os = "linux") {
            format!("{part}: `make demo` builds l4s without it; `make build` builds all of l4s")
        } else {
            format!("{part}: it needs Linux")
        })
    }

    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Run(_) => 1,
            Failure::Scenario(_) | Failure::Input { .. } => 2,
            Failure::Substrate(_) => 3,
        }
    }

    /// The text for stderr.
    pub fn report(&self) -> String {
        match self {
            Failure::Scenario(faults) => faults.report(),
            Failure::Input { message, help } => l4s_scenario::report(message, help.as_deref()),
            Failure::Run(message) | Failure::Substrate(message) => format!("error: {message}\n"),
        }
    }
}

/// The reason why a report was not written, and the remedy.
pub fn unwritten(error: ReportError) -> Failure {
    match error {
        ReportError::Read(ref cause) if cause.is_damage() => Failure::input_with(
            error.to_string(),
            "the command that made the folder, with --resume, does its runs again",
        ),
        ReportError::Read(_) | ReportError::Empty { .. } => {
            Failure::input_with(error.to_string(), "expected folders that `l4s run --out` finished")
        }
        ReportError::List(error) => taken(error),
        error => Failure::Run(error.to_string()),
    }
}

/// As above, for a file that the user has to move.
pub fn taken(error: ResultError) -> Failure {
    match error.cause {
        Cause::Foreign | Cause::Changed => {
            Failure::input_with(error.to_string(), "move it away, or choose another folder")
        }
        _ => Failure::Run(error.to_string()),
    }
}
