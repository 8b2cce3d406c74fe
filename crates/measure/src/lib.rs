//! Measurement of a run on any substrate, and the files that keep the results.
//!
//! A substrate calls an [`Observer`](l4s_observe::Observer) for every event. The [`Recorder`] is
//! the observer that measures: when the run is over it gives a [`RunRecord`], which is the
//! [`Summary`] and the tables of that run. A [`ResultWriter`] puts the records of a sweep into
//! Parquet, [`Results`] reads them back; [`files`] and [`inventory`] keep them whole. A
//! [`PacketTrace`] is another observer, which writes every packet down.

mod assertion;
mod bounds;
mod checksum;
mod completion;
mod conclude;
mod counts;
mod delay;
mod dictionary;
mod error;
pub mod files;
mod flatten;
mod flows;
mod frames;
mod golden;
pub mod inventory;
mod measured;
mod partitions;
mod pcapng;
mod rates;
mod reader;
mod record;
mod recorder;
mod rows;
mod series;
mod stats;
mod summary;
mod table;
mod wire;
mod writer;

pub use assertion::{Assertion, Misread, Quantities, Unmet};
pub use completion::theoretical_time;
pub use conclude::RATIO_GROUPS;
pub use counts::DATA_LENGTH;
pub use dictionary::{Column, Over, dictionary};
pub use error::{Cause, ResultError};
pub use golden::golden;
pub use measured::{Origin, queues_of};
pub use pcapng::{PacketTrace, Snap};
pub use reader::Results;
pub use record::{DelayRow, FlowEnd, FlowRow, RunRecord, Scope, SeriesName, SeriesRow};
pub use recorder::Recorder;
pub use rows::{RowsByRun, Run};
pub use series::series_rows;
pub use summary::*;
pub use table::Row;
pub use writer::{
    ResultWriter, TABLES, table_of, table_of_runs, table_of_summaries, write_results,
};
