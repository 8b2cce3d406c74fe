//! Links as data: the capacity of a link over time.
//!
//! A [`Trace`] is either a list of delivery opportunities, as mahimahi records them, or a list of rate
//! steps. It repeats after its period. [`Trace::read`] finds the format by content: mahimahi, CSV or
//! the JSON of the Rust crate netem-trace. A [`Playback`] gives a simulator the next opportunity
//! or the present rate, and allocates nothing. [`Trace::statistics`] describes a trace, and [`make`] makes one
//! from a [`Model`] with published constants.
//!
//! Files are the feature `files`, which is on by default. Without it there is neither `Trace::read` nor
//! `Trace::write`, and the crate needs neither `serde_json` nor `strsim`.

/// The example of README.md, as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod bundled;
mod convert;
mod error;
#[cfg(feature = "files")]
mod format;
mod model;
#[cfg(feature = "files")]
mod number;
mod opportunities;
mod playback;
mod random;
mod serial;
mod statistics;
mod steps;
mod trace;

pub use bundled::{BUNDLED, Bundled};
pub use error::{Place, Problem, TraceError};
#[cfg(feature = "files")]
pub use format::Format;
pub use model::{Model, make};
pub use playback::{Opportunities, Play, Playback, Segment, Steps};
pub use statistics::{Correlation, Gaps, PERCENTILES, Statistics, Windows};
pub use trace::{Kind, Step, Trace};

use l4s_units::{Bytes, Duration, Rate};

/// The size of a delivery opportunity: the largest packet of mahimahi's TUN device with its four bytes of
/// header (`PACKET_SIZE` in mahimahi's `link_queue.hh`).
pub const OPPORTUNITY: Bytes = Bytes::new(1504);

/// The header of a packet in mahimahi's TUN device, which its opportunities carry too.
pub const TUN: Bytes = Bytes::new(4);

/// The highest rate: 1 Tb/s. It fits into 40 bits.
pub const MAX_RATE: Rate = Rate::from_bps(1_000_000_000_000);

/// The longest trace: 2³² − 1 milliseconds, 49.7 days.
pub const MAX_PERIOD: Duration = Duration::from_millis(u32::MAX as u64);

/// The longest one-way delay of a step. It fits into 32 bits of nanoseconds.
pub const MAX_DELAY: Duration = Duration::from_secs(4);

/// The most entries of a trace: delivery opportunities or rate steps.
pub const MAX_ENTRIES: usize = 20_000_000;

/// The most bytes of a file.
pub const MAX_BYTES: usize = 100_000_000;
