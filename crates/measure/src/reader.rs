//! Results read back: what a report and a comparison work from.

use std::fs::File;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use crate::error::Cause;
use crate::table::{column, value};
use crate::writer::{COMMAND, RUNS, SUMMARY};
use crate::{DelayRow, FlowRow, ResultError, Row, SeriesRow, Summary};

/// A result folder.
#[derive(Clone, Debug)]
pub struct Results {
    folder: PathBuf,
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
        let mut runs = Vec::new();
        for batch in batches(&path)? {
            let batch = batch.map_err(ResultError::at(&path))?;
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
        Ok(Results { folder: folder.to_owned(), runs })
    }

    /// The runs, in order.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The summaries, in order.
    pub fn summaries(&self) -> impl Iterator<Item = &Summary> {
        self.runs.iter().map(|run| &run.summary)
    }

    /// The time series, run by run.
    pub fn series(&self) -> Result<RowsByRun<SeriesRow>, ResultError> {
        RowsByRun::open(&self.folder)
    }

    /// The delay histograms, run by run.
    pub fn delays(&self) -> Result<RowsByRun<DelayRow>, ResultError> {
        RowsByRun::open(&self.folder)
    }

    /// The flows, run by run.
    pub fn flows(&self) -> Result<RowsByRun<FlowRow>, ResultError> {
        RowsByRun::open(&self.folder)
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
    fn open(folder: &Path) -> Result<Self, ResultError> {
        let path = folder.join(R::FILE);
        Ok(RowsByRun { batches: batches(&path)?, path, ahead: Vec::new(), row: PhantomData })
    }

    /// The next row, with its run.
    fn pop(&mut self) -> Result<Option<(u32, R)>, Cause> {
        while self.ahead.is_empty() {
            let Some(batch) = self.batches.next() else { return Ok(None) };
            let batch = batch?;
            let runs = column(&batch, "run")?;
            let numbers: Vec<u32> =
                (0..batch.num_rows()).map(|i| value(runs, "run", i)).collect::<Result<_, _>>()?;
            self.ahead = numbers.into_iter().zip(R::read(&batch)?).rev().collect();
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

fn batches(path: &Path) -> Result<ParquetRecordBatchReader, ResultError> {
    let file = File::open(path).map_err(ResultError::at(path))?;
    ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(|builder| builder.with_batch_size(8192).build())
        .map_err(ResultError::at(path))
}
