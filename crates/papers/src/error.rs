//! Why a figure has no numbers or no verdicts.

use l4s_report::ReportError;

/// Why a figure has no numbers or no verdicts.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The results of the figure cannot be read.
    #[error(transparent)]
    Read(ReportError),
    /// The page of the figure cannot be written.
    #[error(transparent)]
    Write(ReportError),
    /// A file of statements is wrong.
    #[error(transparent)]
    Statements(#[from] DataError),
}

/// A fault in a file of statements, with its line.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{file}: {error}")]
pub struct DataError {
    /// The file's path in this crate.
    pub file: &'static str,
    /// The line, its text and the fault.
    pub error: toml::de::Error,
}
