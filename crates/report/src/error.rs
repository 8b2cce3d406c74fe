//! Errors of reports.

use std::io;
use std::path::PathBuf;

/// A report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A file could not be written, or is not l4s's to write.
    #[error("cannot write {0}")]
    List(l4s_measure::ResultError),
    /// A result folder could not be read.
    #[error("cannot read the results: {0}")]
    Read(#[from] l4s_measure::ResultError),
    /// There is nothing to report on.
    #[error("{}: holds no finished run", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// It would be larger than anybody reads.
    #[error("{0}")]
    TooLarge(String),
    /// A picture that was drawn before cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Picture {
        /// The file.
        path: PathBuf,
        /// The system's error.
        #[source]
        cause: io::Error,
    },
    /// A chart could not be drawn: a defect of l4s, not of the results.
    #[error("cannot draw {figure}: {message}")]
    Draw {
        /// The figure, or its missing requirement.
        figure: String,
        /// The message of the script or the rasterizer.
        message: String,
    },
}

impl ReportError {
    pub(crate) fn draw(figure: &str, message: impl ToString) -> Self {
        ReportError::Draw { figure: figure.to_owned(), message: message.to_string() }
    }
}
