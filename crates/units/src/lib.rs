//! The quantities of the project, each with its own type.
//!
//! Time is integer nanoseconds, rate is integer bits per second, size is integer bytes and a
//! probability is a fraction of 2³² − 1. No floating point crosses a boundary between parts, so a
//! result is the same on every machine.
//!
//! Text follows `tc`: `40mbit`, `10ms`, `1514b`, and `100/s`; numbers are written as in TOML. [`mod@param`] describes settings that a
//! user may change: their name, unit, default and range.

/// The example of README.md, as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod c_struct;
mod ecn;
pub mod param;
mod parse;
mod printable;
mod probability;
mod quantity;
mod spacing;

pub use c_struct::CStruct;
pub use ecn::Ecn;
pub use parse::{ParseError, packets};
pub use printable::{printable, printable_lines, steers};
pub use probability::Probability;
pub use quantity::{Bytes, Duration, ETHERNET, Frequency, Rate, Time};
pub use spacing::Spacing;
