//! Errors of result files.

use std::io;
use std::path::{Path, PathBuf};

/// A result file could not be written or read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}", path.display())]
pub struct ResultError {
    /// The file or folder.
    pub path: PathBuf,
    /// The cause.
    #[source]
    pub cause: Cause,
}

/// Why.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is not Parquet, or Parquet could not be made of it.
    #[error(transparent)]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A batch of columns could not be made or read.
    #[error(transparent)]
    Arrow(#[from] arrow_schema::ArrowError),
    /// A summary is not of this version's form.
    #[error("not a summary: {0}")]
    Json(#[from] serde_json::Error),
    /// A column is missing, of another type, or empty where it must not be.
    #[error("column `{0}` is missing or not of the expected type: was it written by l4s?")]
    Column(String),
    /// It was changed since it was written.
    #[error("damaged: {0}")]
    Damaged(String),
    /// In the place of a file that l4s writes is one that it did not write.
    #[error("it is there already, and l4s did not write it")]
    Foreign,
    /// A file that l4s wrote is another since.
    #[error("it was changed since l4s wrote it")]
    Changed,
    /// It holds more than is read.
    #[error("{0}")]
    TooMuch(String),
}

impl ResultError {
    /// Whether the file was changed since l4s wrote it.
    pub fn is_damage(&self) -> bool {
        matches!(self.cause, Cause::Damaged(_))
    }

    /// Says which file it was about.
    pub(crate) fn at<C: Into<Cause>>(path: &Path) -> impl FnOnce(C) -> ResultError {
        let path = path.to_owned();
        move |cause| ResultError { path, cause: cause.into() }
    }
}
