//! The evaluation of congestion controls, as RFC 9743 (BCP 133) asks for it, and that of queue
//! disciplines by RFC 7928.
//!
//! A [`Suite`] has chapters. A [`Chapter`] is a bundled scenario into which the control or the discipline
//! is put, with the [`Criterion`]s that its runs are judged by. A criterion has its section of an RFC, a measure of one run, the range that is
//! accepted, and a reason for it. RFC 9743 §5 leaves ranges to the community: those here are
//! ours. [`judge`] gives a [`Verdict`] on each.
//!
//! The crate reads plans and results. It does not know who made them.

mod controls;
mod criterion;
mod disciplines;
mod page;
mod program;
mod run;
mod verdict;

pub use controls::CONTROLS;
pub use criterion::{Accepted, Chapter, Criterion, Subject, Suite};
pub use disciplines::DISCIPLINES;
pub use page::{Column, html, json, markdown};
pub use run::{Judged, Run, Runs};
pub use verdict::{Outcome, Verdict, Worst, judge};
