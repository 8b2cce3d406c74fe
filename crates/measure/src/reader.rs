//! Results read back: the input of a report and of a comparison.

use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;

use crate::error::Cause;
use crate::files::Dir;
use crate::inventory::Inventory;
use crate::partitions::Partitions;
use crate::rows::{FEW, Room, RowsByRun, Run, Source, batches};
use crate::writer::{COMMAND, RUNS, SUMMARY};
use crate::{DelayRow, FlowRow, ResultError, Row, SeriesRow, Summary};

/// A result folder: of the command line, or of a sweep of the Python package.
#[derive(Clone, Debug)]
pub struct Results {
    folder: PathBuf,
    list: Inventory,
    runs: Vec<Run>,
    partitions: Option<Partitions>,
}

impl Results {
    /// Reads the runs of a result folder; its tables are read when asked for.
    pub fn open(folder: &Path) -> Result<Self, ResultError> {
        let path = folder.join(RUNS);
        let dir = Dir::open(folder).map_err(ResultError::at(folder))?;
        if Partitions::are_in(folder) && !path.exists() {
            let (partitions, runs) = Partitions::open(folder)?;
            let (folder, list) = (folder.to_owned(), Inventory::default());
            return Ok(Results { folder, list, runs, partitions: Some(partitions) });
        }
        let list = Inventory::read(&dir)?.unwrap_or_default();
        let mut runs = Vec::new();
        let mut room = Room::default();
        for batch in batches(&list, folder, RUNS, &[SUMMARY, COMMAND], FEW)? {
            let batch = batch.map_err(ResultError::at(&path))?;
            runs.extend(room.runs_of(&batch).map_err(ResultError::at(&path))?);
        }
        Ok(Results { folder: folder.to_owned(), list, runs, partitions: None })
    }

    /// The runs, in order.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The summaries, in order.
    pub fn summaries(&self) -> impl Iterator<Item = &Summary> {
        self.runs.iter().map(|run| &run.summary)
    }

    /// Reads a file of the folder whole, after a check of its checksum.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or has more than `most` bytes.
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
        let mut show = |source: &Source, batch: RecordBatch| -> Result<bool, Cause> {
            let mut rows = Vec::new();
            for (i, run) in source.runs(&batch)?.into_iter().enumerate() {
                let Some(run) = run else { continue };
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
        for source in self.sources::<R>() {
            for batch in source.batches::<R>(&self.list)? {
                let shown = batch.map_err(Cause::from).and_then(|batch| show(&source, batch));
                if !shown.map_err(ResultError::at(&source.path()))? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The files of a table, in the order of their runs.
    fn sources<R: Row>(&self) -> VecDeque<Source> {
        match &self.partitions {
            Some(partitions) => partitions.tables::<R>(),
            None => {
                let (folder, name) = (self.folder.clone(), R::FILE.to_owned());
                VecDeque::from([Source { folder, name, numbers: None }])
            }
        }
    }

    /// The time series, run by run.
    pub fn series(&self) -> Result<RowsByRun<SeriesRow>, ResultError> {
        RowsByRun::open(self.list.clone(), self.sources::<SeriesRow>())
    }

    /// The delay histograms, run by run.
    pub fn delays(&self) -> Result<RowsByRun<DelayRow>, ResultError> {
        RowsByRun::open(self.list.clone(), self.sources::<DelayRow>())
    }

    /// The flows, run by run.
    pub fn flows(&self) -> Result<RowsByRun<FlowRow>, ResultError> {
        RowsByRun::open(self.list.clone(), self.sources::<FlowRow>())
    }
}
