//! The papers' figures and statements.
//!
//! A [`Figure`] is a bundled scenario and the [`Row`]s of numbers that are printed beside it. A
//! [`Statement`] is one claim of a paper about a figure: an expression over the figure's runs, the
//! range in which its values have to be, and whether they are known to be. Statements are data
//! (`statements/*.toml`); [`check`] evaluates those of a figure over its [`Evidence`].
//!
//! The crate reads plans and results. It does not know who made them.

mod beside;
mod course;
mod error;
mod evidence;
mod expression;
mod figures;
mod lights;
mod sample;
mod statement;
mod unknown;

pub use beside::Row;
pub use error::{DataError, Error};
pub use evidence::Evidence;
pub use figures::{FIGURES, Figure};
pub use statement::{Checked, Statement, check, page, statements};
