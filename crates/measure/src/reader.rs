//! Results read back: what a report and a comparison work from.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use crate::error::Cause;
use crate::partitions::Partitions;
use crate::table::{column, value};
use crate::writer::{COMMAND, RUNS, SUMMARY};
use crate::{DelayRow, FlowRow, ResultError, Row, SeriesRow, Summary};

/// A result folder: of the command line, or of a sweep of the Python package.
#[derive(Clone, Debug)]
pub struct Results {
    folder: PathBuf,
    runs: Vec<Run>,
    partitions: Option<Partitions>,
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
        if Partitions::are_in(folder) && !path.exists() {
            let (partitions, runs) = Partitions::open(folder)?;
            return Ok(Results { folder: folder.to_owned(), runs, partitions: Some(partitions) });
        }
        let mut runs = Vec::new();
        for batch in batches(&path)? {
            let batch = batch.map_err(ResultError::at(&path))?;
            runs.extend(runs_of(&batch).map_err(ResultError::at(&path))?);
        }
        Ok(Results { folder: folder.to_owned(), runs, partitions: None })
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
        self.rows()
    }

    /// The delay histograms, run by run.
    pub fn delays(&self) -> Result<RowsByRun<DelayRow>, ResultError> {
        self.rows()
    }

    /// The flows, run by run.
    pub fn flows(&self) -> Result<RowsByRun<FlowRow>, ResultError> {
        self.rows()
    }

    fn rows<R: Row>(&self) -> Result<RowsByRun<R>, ResultError> {
        match &self.partitions {
            Some(partitions) => {
                let tables = partitions.tables::<R>().into_iter();
                let source = |(path, numbers)| Source { path, numbers: Some(numbers) };
                Ok(RowsByRun::of(tables.map(source).collect()))
            }
            None => RowsByRun::open(self.folder.join(R::FILE)),
        }
    }
}

/// The runs in a batch of a table of runs.
pub(crate) fn runs_of(batch: &RecordBatch) -> Result<Vec<Run>, Cause> {
    let (summaries, commands) = (column(batch, SUMMARY)?, column(batch, COMMAND)?);
    let run = |i| {
        let summary: String = value(summaries, SUMMARY, i)?;
        let summary = serde_json::from_str(&summary)?;
        Ok(Run { summary, command: value(commands, COMMAND, i)? })
    };
    (0..batch.num_rows()).map(run).collect()
}

/// The rows of each run that has any, with the number of the run. Only one run is in memory at a
/// time, and a batch.
pub struct RowsByRun<R> {
    /// The files that are still to be read.
    sources: VecDeque<Source>,
    /// The one that is being read.
    open: Option<(Source, ParquetRecordBatchReader)>,
    /// Rows read but not given yet, last one first.
    ahead: Vec<(u32, R)>,
    row: PhantomData<R>,
}

/// A file with rows of runs.
struct Source {
    path: PathBuf,
    /// The numbers of the runs by key, where it has no numbers; what has none is left out.
    numbers: Option<HashMap<String, u32>>,
}

impl<R: Row> RowsByRun<R> {
    fn open(path: PathBuf) -> Result<Self, ResultError> {
        let batches = batches(&path)?;
        let mut rows = RowsByRun::of(VecDeque::new());
        rows.open = Some((Source { path, numbers: None }, batches));
        Ok(rows)
    }

    fn of(sources: VecDeque<Source>) -> Self {
        RowsByRun { sources, open: None, ahead: Vec::new(), row: PhantomData }
    }

    /// The next row, with its run.
    fn pop(&mut self) -> Result<Option<(u32, R)>, ResultError> {
        while self.ahead.is_empty() {
            let Some((source, batches)) = &mut self.open else {
                let Some(source) = self.sources.pop_front() else { return Ok(None) };
                let batches = batches(&source.path)?;
                self.open = Some((source, batches));
                continue;
            };
            match batches.next() {
                Some(batch) => {
                    let read = batch.map_err(Cause::from).and_then(|batch| source.read(&batch));
                    self.ahead = read.map_err(ResultError::at(&source.path))?;
                }
                None => self.open = None,
            }
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

impl Source {
    /// The rows of a batch with the numbers of their runs, last one first.
    fn read<R: Row>(&self, batch: &RecordBatch) -> Result<Vec<(u32, R)>, Cause> {
        let rows = R::read(batch)?;
        let each = 0..batch.num_rows();
        let numbers: Vec<Option<u32>> = match &self.numbers {
            None => {
                let runs = column(batch, "run")?;
                each.map(|i| value(runs, "run", i).map(Some)).collect::<Result<_, _>>()?
            }
            Some(numbers) => {
                let keys = column(batch, "key")?;
                let key = |i| value::<String>(keys, "key", i);
                each.map(|i| key(i).map(|key| numbers.get(&key).copied()))
                    .collect::<Result<_, _>>()?
            }
        };
        let known = numbers.into_iter().zip(rows).filter_map(|(number, row)| Some((number?, row)));
        let mut known: Vec<_> = known.collect();
        known.reverse();
        Ok(known)
    }
}

pub(crate) fn batches(path: &Path) -> Result<ParquetRecordBatchReader, ResultError> {
    let file = File::open(path).map_err(ResultError::at(path))?;
    ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(|builder| builder.with_batch_size(8192).build())
        .map_err(ResultError::at(path))
}
