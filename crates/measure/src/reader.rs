//! Results read back: what a report and a comparison work from.

use std::io::Read;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;

use crate::error::Cause;
use crate::files::Dir;
use crate::inventory::Inventory;
use crate::table::{column, value};
use crate::writer::{COMMAND, RUN, RUNS, SUMMARY};
use crate::{DelayRow, FlowRow, ResultError, Row, SeriesRow, Summary};

/// So many rows are in memory at a time; of summaries, which may be long, fewer.
const MANY: usize = 8192;
const FEW: usize = 64;
/// Summaries are kept in memory: 100,000 runs of two groups have a fourth of this.
const MOST_BYTES: usize = 1 << 30;

/// A result folder.
#[derive(Clone, Debug)]
pub struct Results {
    folder: PathBuf,
    list: Inventory,
    runs: Vec<Run>,
}

/// One run of a result folder.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// The run in numbers.
    pub summary: Summary,
    /// The command that reproduces it.
    pub command: String,
}

impl Results {
    /// Reads the runs of a result folder; its tables are read when asked for.
    pub fn open(folder: &Path) -> Result<Self, ResultError> {
        let path = folder.join(RUNS);
        let dir = Dir::open(folder).map_err(ResultError::at(folder))?;
        let list = Inventory::read(&dir)?.unwrap_or_default();
        let mut runs = Vec::new();
        let mut bytes = 0;
        for batch in batches(&list, folder, RUNS, &[SUMMARY, COMMAND], FEW)? {
            let batch = batch.map_err(ResultError::at(&path))?;
            bytes += batch.get_array_memory_size();
            if bytes > MOST_BYTES {
                let found = format!("more than {} MB of summaries", MOST_BYTES >> 20);
                return Err(ResultError::at(&path)(Cause::TooMuch(found)));
            }
            let read = || -> Result<Vec<Run>, Cause> {
                let (summaries, commands) = (column(&batch, SUMMARY)?, column(&batch, COMMAND)?);
                let run = |i| {
                    let summary: String = value(summaries, SUMMARY, i)?;
                    let summary = serde_json::from_str(&summary)?;
                    Ok(Run { summary, command: value(commands, COMMAND, i)? })
                };
                (0..batch.num_rows()).map(run).collect()
            };
            runs.extend(read().map_err(ResultError::at(&path))?);
        }
        Ok(Results { folder: folder.to_owned(), list, runs })
    }

    /// The runs, in order.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The summaries, in order.
    pub fn summaries(&self) -> impl Iterator<Item = &Summary> {
        self.runs.iter().map(|run| &run.summary)
    }

    /// The content of a file of the folder of at most `most` bytes, as it was written.
    pub fn file(&self, name: &str, most: u64) -> Result<Vec<u8>, ResultError> {
        let at = || self.folder.join(name);
        let mut bytes = Vec::new();
        let mut file = self.list.open(&self.folder, name)?.take(most + 1);
        file.read_to_end(&mut bytes).map_err(ResultError::at(&at()))?;
        if bytes.len() as u64 > most {
            let found = format!("more than {} MB", most >> 20);
            return Err(ResultError::at(&at())(Cause::TooMuch(found)));
        }
        Ok(bytes)
    }

    /// Shows the rows of a table that are of runs which are `wanted`, one by one, up to the run
    /// `last`: only a batch of them is in memory. Rows of a run are next to each other.
    pub fn each<R: Row>(
        &self,
        wanted: impl Fn(u32) -> bool,
        last: u32,
        mut see: impl FnMut(u32, R),
    ) -> Result<(), ResultError> {
        let mut before = 0;
        let mut show = |batch: RecordBatch| -> Result<bool, Cause> {
            let runs = column(&batch, RUN)?;
            let mut rows = Vec::new();
            for i in 0..batch.num_rows() {
                let run: u32 = value(runs, RUN, i)?;
                if run < before {
                    return Err(Cause::Damaged(format!("run {run} is after run {before}")));
                }
                before = run;
                if wanted(run) && run <= last {
                    rows.push((run, i));
                }
            }
            for ((run, _), row) in rows.iter().zip(R::read(&batch, rows.iter().map(|row| row.1))?) {
                see(*run, row);
            }
            Ok(before <= last)
        };
        let columns: Vec<String> = R::fields().iter().map(|field| field.name().clone()).collect();
        let columns: Vec<&str> =
            [RUN].into_iter().chain(columns.iter().map(|c| c.as_str())).collect();
        for batch in batches(&self.list, &self.folder, R::FILE, &columns, MANY)? {
            let shown = batch.map_err(Cause::from).and_then(&mut show);
            if !shown.map_err(ResultError::at(&self.folder.join(R::FILE)))? {
                break;
            }
        }
        Ok(())
    }

    /// The time series, run by run.
    pub fn series(&self) -> Result<RowsByRun<SeriesRow>, ResultError> {
        RowsByRun::open(self)
    }

    /// The delay histograms, run by run.
    pub fn delays(&self) -> Result<RowsByRun<DelayRow>, ResultError> {
        RowsByRun::open(self)
    }

    /// The flows, run by run.
    pub fn flows(&self) -> Result<RowsByRun<FlowRow>, ResultError> {
        RowsByRun::open(self)
    }
}

/// The rows of each run that has any, with the number of the run. Only one run is in memory at a
/// time, and a batch.
pub struct RowsByRun<R> {
    path: PathBuf,
    batches: ParquetRecordBatchReader,
    /// Rows read but not given yet, last one first.
    ahead: Vec<(u32, R)>,
    row: PhantomData<R>,
}

impl<R: Row> RowsByRun<R> {
    fn open(results: &Results) -> Result<Self, ResultError> {
        let path = results.folder.join(R::FILE);
        let batches = batches(&results.list, &results.folder, R::FILE, &[], MANY)?;
        Ok(RowsByRun { batches, path, ahead: Vec::new(), row: PhantomData })
    }

    /// The next row, with its run.
    fn pop(&mut self) -> Result<Option<(u32, R)>, Cause> {
        while self.ahead.is_empty() {
            let Some(batch) = self.batches.next() else { return Ok(None) };
            let batch = batch?;
            let runs = column(&batch, RUN)?;
            let rows = 0..batch.num_rows();
            let numbers: Vec<u32> =
                rows.clone().map(|i| value(runs, RUN, i)).collect::<Result<_, _>>()?;
            self.ahead = numbers.into_iter().zip(R::read(&batch, rows)?).rev().collect();
        }
        Ok(self.ahead.pop())
    }

    fn next_run(&mut self) -> Result<Option<(u32, Vec<R>)>, Cause> {
        let Some((run, first)) = self.pop()? else { return Ok(None) };
        let mut rows = vec![first];
        while let Some((other, row)) = self.pop()? {
            if other != run {
                self.ahead.push((other, row));
                break;
            }
            rows.push(row);
        }
        Ok(Some((run, rows)))
    }
}

impl<R: Row> Iterator for RowsByRun<R> {
    type Item = Result<(u32, Vec<R>), ResultError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_run().map_err(ResultError::at(&self.path)).transpose()
    }
}

/// The batches of a table, of these columns; of all, where none are given.
fn batches(
    list: &Inventory,
    folder: &Path,
    name: &str,
    columns: &[&str],
    rows: usize,
) -> Result<ParquetRecordBatchReader, ResultError> {
    let open = |file| -> Result<ParquetRecordBatchReader, ParquetError> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file)?.with_batch_size(rows);
        let mask = match columns {
            [] => ProjectionMask::all(),
            names => ProjectionMask::columns(builder.parquet_schema(), names.iter().copied()),
        };
        builder.with_projection(mask).build()
    };
    open(list.open(folder, name)?).map_err(ResultError::at(&folder.join(name)))
}
