//! Result tables in Parquet.
//!
//! The same records give the same bytes. Rows are in the order of runs; every table has a column
//! `run`, the place of the run in `runs.parquet`. A table appears under its name when all runs are
//! in it, and not before.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_array::{UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use serde_json::{Map, Value};

use crate::error::Cause;
use crate::files::{Dir, Durable};
use crate::flatten::flatten;
use crate::inventory::Writing;
use crate::{DelayRow, FlowRow, ResultError, Row, RunRecord, SeriesRow, Summary};

/// The table of runs: the numbers of each summary as columns, and the whole of it as JSON.
pub(crate) const RUNS: &str = "runs.parquet";
pub(crate) const SUMMARY: &str = "summary_json";
pub(crate) const COMMAND: &str = "command";
/// The column of the place of a run, in every table.
pub(crate) const RUN: &str = "run";

/// The tables of a result folder, in the order in which they are put in their places: where that of
/// runs is, the others are.
pub const TABLES: [&str; 4] = [SeriesRow::FILE, DelayRow::FILE, FlowRow::FILE, RUNS];

/// Writes the results of runs into a folder, one run after the other.
///
/// Nothing is visible in the folder until [`ResultWriter::finish`].
pub struct ResultWriter {
    dir: Dir,
    runs: Vec<(Summary, String)>,
    series: Table,
    delays: Table,
    flows: Table,
}

impl ResultWriter {
    /// Begins the tables in `folder`, which is made where it is missing. Tables that are there are
    /// replaced, if l4s wrote them.
    pub fn create(folder: &Path) -> Result<Self, ResultError> {
        let dir = Dir::create(folder).map_err(ResultError::at(folder))?;
        Writing::check(&dir, TABLES)?;
        Ok(ResultWriter {
            runs: Vec::new(),
            series: Table::create::<SeriesRow>(&dir)?,
            delays: Table::create::<DelayRow>(&dir)?,
            flows: Table::create::<FlowRow>(&dir)?,
            dir,
        })
    }

    /// Adds the next run. Its wall-clock time is left out: files hold only reproducible values.
    pub fn add(&mut self, record: &RunRecord) -> Result<(), ResultError> {
        let run = self.runs.len() as u32;
        self.series.add(run, &record.series)?;
        self.delays.add(run, &record.delays)?;
        self.flows.add(run, &record.flows)?;
        let mut summary = record.summary.clone();
        summary.engine.wall_s = None;
        self.runs.push((summary, record.command.clone()));
        Ok(())
    }

    /// Completes the tables and puts them in their places, `runs.parquet` last, and their checksums
    /// into the list of the folder.
    pub fn finish(self) -> Result<(), ResultError> {
        let at = self.dir.path().join(RUNS);
        let batch = table_of_runs(&self.runs).map_err(ResultError::at(&at))?;
        let file = self.dir.begin(RUNS).map_err(ResultError::at(&at))?;
        let mut runs = Table::new(file, batch.schema().as_ref().clone())?;
        runs.write(&batch)?;
        let writing = Writing::begin(&self.dir, TABLES)?;
        for (name, table) in TABLES.into_iter().zip([self.series, self.delays, self.flows, runs]) {
            writing.commit(name, table.complete()?)?;
        }
        writing.finish()
    }
}

/// Writes the results of all `records` into `folder`.
pub fn write_results<E: From<ResultError>>(
    folder: &Path,
    records: impl IntoIterator<Item = Result<RunRecord, E>>,
) -> Result<(), E> {
    let mut writer = ResultWriter::create(folder)?;
    for record in records {
        writer.add(&record?)?;
    }
    Ok(writer.finish()?)
}

/// One file.
struct Table {
    writer: ArrowWriter<Durable>,
    path: std::path::PathBuf,
}

impl Table {
    fn create<R: Row>(dir: &Dir) -> Result<Self, ResultError> {
        let file = dir.begin(R::FILE).map_err(ResultError::at(&dir.path().join(R::FILE)))?;
        Table::new(file, schema::<R>())
    }

    fn new(file: Durable, schema: Schema) -> Result<Self, ResultError> {
        let path = file.path();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            // A reader of a few runs skips the row groups of the others.
            .set_max_row_group_row_count(Some(1 << 17))
            .build();
        let writer = ArrowWriter::try_new(file, Arc::new(schema), Some(properties))
            .map_err(ResultError::at(&path))?;
        Ok(Table { writer, path })
    }

    fn add<R: Row>(&mut self, run: u32, rows: &[R]) -> Result<(), ResultError> {
        self.write(&table_of(run, rows).map_err(ResultError::at(&self.path))?)
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<(), ResultError> {
        self.writer.write(batch).map_err(ResultError::at(&self.path))
    }

    fn complete(self) -> Result<Durable, ResultError> {
        self.writer.into_inner().map_err(ResultError::at(&self.path))
    }
}

fn schema<R: Row>() -> Schema {
    let mut fields = vec![Field::new(RUN, DataType::UInt32, false)];
    fields.extend(R::fields());
    Schema::new(fields)
}

/// The rows of a run as they are in the file of their table.
///
/// # Errors
/// None that a caller could cause.
pub fn table_of<R: Row>(run: u32, rows: &[R]) -> Result<RecordBatch, Cause> {
    let mut columns: Vec<ArrayRef> = vec![Arc::new(UInt32Array::from_value(run, rows.len()))];
    columns.extend(R::columns(rows));
    Ok(RecordBatch::try_new(Arc::new(schema::<R>()), columns)?)
}

/// Summaries, each with the command that repeats its run, as they are in `runs.parquet`: with the
/// columns of any of them.
///
/// # Errors
/// None that a caller could cause.
pub fn table_of_runs(runs: &[(Summary, String)]) -> Result<RecordBatch, Cause> {
    let json = |(summary, command): &(Summary, String)| {
        Ok((serde_json::to_string(summary)?, command.clone()))
    };
    table_of_summaries(&runs.iter().map(json).collect::<Result<Vec<_>, Cause>>()?)
}

/// As [`table_of_runs`], of summaries that are JSON already.
///
/// # Errors
/// An argument is no summary.
pub fn table_of_summaries(runs: &[(String, String)]) -> Result<RecordBatch, Cause> {
    let read = |(json, _): &(String, String)| Ok(flatten(serde_json::from_str(json)?));
    let rows: Vec<_> = runs.iter().map(read).collect::<Result<_, Cause>>()?;
    let numbers: ArrayRef = Arc::new(UInt32Array::from_iter_values(0..runs.len() as u32));
    let commands: ArrayRef =
        Arc::new(StringArray::from_iter_values(runs.iter().map(|(_, command)| command)));
    let json: ArrayRef = Arc::new(StringArray::from_iter_values(runs.iter().map(|(json, _)| json)));

    let mut columns = vec![(RUN.to_owned(), numbers)];
    for name in column_names(&rows) {
        let values: Vec<_> = rows.iter().map(|row| row.get(&name)).collect();
        columns.push((name, column(&values)));
    }
    columns.extend([(COMMAND.to_owned(), commands), (SUMMARY.to_owned(), json)]);

    let field = |(name, array): &(String, ArrayRef)| {
        Field::new(name, array.data_type().clone(), array.null_count() > 0)
    };
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    Ok(RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|c| c.1).collect())?)
}

/// The columns of all rows. A column that only later rows have comes after the one that it
/// follows there, so that the quantities of a queue stay together.
fn column_names(rows: &[Map<String, Value>]) -> Vec<String> {
    // A list: names, and the place of the one that follows each. The first follows none.
    let mut names: Vec<&str> = Vec::new();
    let mut next: Vec<Option<usize>> = Vec::new();
    let mut first: Option<usize> = None;
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut known: Option<&Map<String, Value>> = None;
    for row in rows {
        // The common case: nothing new.
        if known.is_some_and(|known| row.keys().eq(known.keys())) {
            continue;
        }
        known = Some(row);
        let mut last: Option<usize> = None;
        for name in row.keys() {
            let place = *places.entry(name).or_insert_with(|| {
                let after = last.map_or(&mut first, |last| &mut next[last]);
                let follows = after.replace(names.len());
                names.push(name);
                next.push(follows);
                names.len() - 1
            });
            last = Some(place);
        }
    }
    let follow = |place: &usize| next[*place];
    std::iter::successors(first, follow).map(|place| names[place].to_owned()).collect()
}

/// The narrowest type that fits every value: whole numbers, numbers, truth values, or text.
fn column(values: &[Option<&Value>]) -> ArrayRef {
    let all = |fits: fn(&Value) -> bool| values.iter().flatten().all(|value| fits(value));
    let each = || values.iter().copied();
    if all(Value::is_u64) {
        Arc::new(each().map(|v| v?.as_u64()).collect::<UInt64Array>())
    } else if all(Value::is_i64) {
        Arc::new(each().map(|v| v?.as_i64()).collect::<Int64Array>())
    } else if all(Value::is_number) {
        Arc::new(each().map(|v| v?.as_f64()).collect::<Float64Array>())
    } else if all(Value::is_boolean) {
        Arc::new(each().map(|v| v?.as_bool()).collect::<BooleanArray>())
    } else {
        let text = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
        Arc::new(each().map(|v| v.map(text)).collect::<StringArray>())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn row<'a>(names: impl IntoIterator<Item = &'a str>) -> Map<String, Value> {
        names.into_iter().map(|name| (name.to_owned(), Value::Null)).collect()
    }

    #[test]
    fn columns_that_come_later_stay_with_their_neighbours() {
        let rows = ["a c d", "a b c", "z a", "d e", "a b c"].map(|names| row(names.split(' ')));
        assert_eq!(column_names(&rows), ["z", "a", "b", "c", "d", "e"]);
        assert!(column_names(&[]).is_empty());
    }

    /// A table of 100,000 columns would take hours, were each sought among all.
    #[test]
    fn many_columns_take_time_by_their_number() {
        let names: Vec<String> = (0..100_000).map(|i| format!("quantity {i}")).collect();
        let rows =
            [row(names[1..].iter().map(String::as_str)), row(names.iter().map(String::as_str))];
        let begun = Instant::now();
        assert_eq!(column_names(&rows), names);
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}
