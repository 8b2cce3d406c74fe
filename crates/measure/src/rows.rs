//! The rows of the tables of a result folder, one run at a time and in bounded memory.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};

use crate::bounds;
use crate::error::Cause;
use crate::inventory::Inventory;
use crate::table::{column, value};
use crate::writer::{COMMAND, RUN, SUMMARY};
use crate::{ResultError, Row, Summary};

/// The most rows in memory at a time, of tables and of summaries, which are longer.
const MANY: usize = 8192;
pub(crate) const FEW: usize = 64;
/// The most bytes of all summaries, which are kept in memory, and of the rows of a run where they are
/// read as a whole. 100,000 runs of two groups have half of this.
const MOST_BYTES: usize = 1 << 30;
/// Bytes of a value of a summary in memory.
const VALUE: usize = 32;
/// The column that identifies runs in a sweep of the Python package.
pub(crate) const KEY: &str = "key";

/// One run of a result folder.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// The run in numbers.
    pub summary: Summary,
    /// The command that reproduces it.
    pub command: String,
}

/// The memory that the runs of a folder take.
#[derive(Default)]
pub(crate) struct Room {
    bytes: usize,
}

impl Room {
    /// The runs in a batch of a table of runs.
    ///
    /// # Errors
    /// They are not in l4s's form, or too many with those before.
    pub fn runs_of(&mut self, batch: &RecordBatch) -> Result<Vec<Run>, Cause> {
        let (summaries, commands) = (column(batch, SUMMARY)?, column(batch, COMMAND)?);
        let run = |i| {
            let (summary, command): (String, String) =
                (value(summaries, SUMMARY, i)?, value(commands, COMMAND, i)?);
            // A value in memory takes up to `VALUE` bytes more than in JSON.
            let values = summary.bytes().filter(|byte| *byte == b',').count();
            self.bytes += summary.len() + command.len() + VALUE * values;
            if self.bytes > MOST_BYTES {
                let found = format!("summaries that take more than {} MB", MOST_BYTES >> 20);
                return Err(Cause::TooMuch(found));
            }
            Ok(Run { summary: serde_json::from_str(&summary)?, command })
        };
        (0..batch.num_rows()).map(run).collect()
    }
}

/// The rows of each run that has any, with the number of the run. Only one run is in memory at a
/// time, and a batch.
pub struct RowsByRun<R> {
    list: Inventory,
    /// The files that are still to be read.
    sources: VecDeque<Source>,
    /// The one that is being read.
    open: Option<(Source, Batches)>,
    /// Rows read but not given yet, last one first.
    ahead: Vec<(u32, R)>,
    row: PhantomData<R>,
}

/// A file with rows of runs.
pub(crate) struct Source {
    pub folder: PathBuf,
    pub name: String,
    /// The numbers of the runs by key, where the file has keys; rows of other keys are left out.
    pub numbers: Option<HashMap<String, u32>>,
}

impl Source {
    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// The column that identifies runs.
    fn key(&self) -> &'static str {
        if self.numbers.is_some() { KEY } else { RUN }
    }

    /// The run of each row of a batch.
    pub fn runs(&self, batch: &RecordBatch) -> Result<Vec<Option<u32>>, Cause> {
        let (column, rows) = (column(batch, self.key())?, 0..batch.num_rows());
        match &self.numbers {
            None => rows.map(|i| value(column, RUN, i).map(Some)).collect(),
            Some(numbers) => {
                let key = |i| value::<String>(column, KEY, i);
                rows.map(|i| Ok(numbers.get(&key(i)?).copied())).collect()
            }
        }
    }

    /// The batches of its rows, with the column that identifies runs.
    pub fn batches<R: Row>(&self, list: &Inventory) -> Result<Batches, ResultError> {
        let fields = R::fields();
        let fields = fields.iter().map(|field| field.name().as_str());
        let columns: Vec<&str> = [self.key()].into_iter().chain(fields).collect();
        batches(list, &self.folder, &self.name, &columns, MANY)
    }
}

impl<R: Row> RowsByRun<R> {
    /// The rows of these files, which `list` knows.
    pub(crate) fn open(list: Inventory, sources: VecDeque<Source>) -> Result<Self, ResultError> {
        let mut rows = RowsByRun { list, sources, open: None, ahead: vec![], row: PhantomData };
        rows.open_next()?;
        Ok(rows)
    }

    fn open_next(&mut self) -> Result<(), ResultError> {
        self.open = match self.sources.pop_front() {
            Some(source) => {
                let batches = source.batches::<R>(&self.list)?;
                Some((source, batches))
            }
            None => None,
        };
        Ok(())
    }

    /// The next row, with its run.
    fn pop(&mut self) -> Result<Option<(u32, R)>, ResultError> {
        while self.ahead.is_empty() {
            let Some((source, batches)) = &mut self.open else { return Ok(None) };
            let Some(batch) = batches.next() else {
                self.open_next()?;
                continue;
            };
            let read = || -> Result<Vec<(u32, R)>, Cause> {
                let batch = batch?;
                let runs = source.runs(&batch)?;
                let rows = runs.into_iter().zip(R::read(&batch, 0..batch.num_rows())?).rev();
                Ok(rows.filter_map(|(run, row)| Some((run?, row))).collect())
            };
            self.ahead = read().map_err(ResultError::at(&source.path()))?;
        }
        Ok(self.ahead.pop())
    }

    fn next_run(&mut self) -> Result<Option<(u32, Vec<R>)>, ResultError> {
        let Some((run, first)) = self.pop()? else { return Ok(None) };
        let mut rows = vec![first];
        while let Some((other, row)) = self.pop()? {
            if other != run {
                self.ahead.push((other, row));
                break;
            }
            if rows.len() * size_of::<R>() >= MOST_BYTES {
                let path = self.open.as_ref().map_or(PathBuf::new(), |(source, _)| source.path());
                let found = format!("more than {} rows of run {run}", rows.len());
                return Err(ResultError::at(&path)(Cause::TooMuch(found)));
            }
            rows.push(row);
        }
        Ok(Some((run, rows)))
    }
}

impl<R: Row> Iterator for RowsByRun<R> {
    type Item = Result<(u32, Vec<R>), ResultError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_run().transpose()
    }
}

/// The batches of a file. The decoder panics on some damaged pages; that is an error of the file.
pub(crate) struct Batches(ParquetRecordBatchReader);

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // After a panic the reader is not used again: the error ends the reading of the file.
        let next = catch_unwind(AssertUnwindSafe(|| self.0.next()));
        let damaged = |_| Some(Err(ArrowError::ParquetError("a page is damaged".to_owned())));
        next.unwrap_or_else(damaged)
    }
}

/// The batches of these columns of a table, with at most `rows` rows each. The sizes that the file
/// claims are checked before it is decoded, so that a batch takes bounded memory.
pub(crate) fn batches(
    list: &Inventory,
    folder: &Path,
    name: &str,
    columns: &[&str],
    rows: usize,
) -> Result<Batches, ResultError> {
    let open = |file: File| -> Result<Batches, Cause> {
        bounds::check_footer(&file)?;
        let pages = file.try_clone()?;
        // The types are those of Parquet; files of others may embed an Arrow schema.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options)?;
        let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
        let rows = bounds::check_pages(&pages, builder.metadata(), &mask, rows)?;
        Ok(Batches(builder.with_batch_size(rows).with_projection(mask).build()?))
    };
    open(list.open(folder, name)?).map_err(ResultError::at(&folder.join(name)))
}
