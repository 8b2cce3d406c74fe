//! The folder of a sweep of the Python package: its runs are in partitions, and have keys instead of
//! numbers.
//!
//! ```text
//! DIR/sweep.json           what the runs have in common
//! DIR/keys.npy             keys of the runs, as they were first asked for
//! DIR/runs/NAME.parquet    some runs: rows as in runs.parquet, with a column `key`
//! DIR/series/NAME.parquet  their time series, where they were kept; likewise delays and flows
//! ```

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::error::Cause;
use crate::reader::{Run, batches, runs_of};
use crate::table::{column, value};
use crate::{ResultError, Row};

const MANIFEST: &str = "sweep.json";
const KEYS: &str = "keys.npy";
/// What begins an array of NumPy's.
const NUMPY: &[u8] = b"\x93NUMPY";

/// The partitions of a folder, in the order of their first runs.
#[derive(Clone, Debug)]
pub(crate) struct Partitions {
    folder: PathBuf,
    parts: Vec<Partition>,
}

#[derive(Clone, Debug)]
struct Partition {
    file: String,
    /// The number of each run in it, by its key.
    numbers: HashMap<String, u32>,
}

impl Partitions {
    /// Whether a folder is one of a sweep.
    pub fn are_in(folder: &Path) -> bool {
        folder.join(MANIFEST).is_file()
    }

    /// Reads the runs of a folder. A run that is in two partitions counts once.
    pub fn open(folder: &Path) -> Result<(Partitions, Vec<Run>), ResultError> {
        let runs = folder.join("runs");
        let names = files(&runs).map_err(ResultError::at(&runs))?;
        let read = |file: String| {
            let path = runs.join(&file);
            let rows = rows(&path)?;
            Ok((file, rows))
        };
        let mut read: Vec<(String, Vec<(String, Run)>)> =
            names.into_iter().map(read).collect::<Result<_, ResultError>>()?;
        let places = asked(&folder.join(KEYS));
        let place = |key: &String| places.get(key).copied().unwrap_or(usize::MAX);
        read.sort_by_key(|(_, rows)| rows.iter().map(|(key, _)| place(key)).min());
        let (mut parts, mut all, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
        for (file, rows) in read {
            let mut numbers = HashMap::new();
            for (key, run) in rows {
                if seen.insert(key.clone()) {
                    numbers.insert(key, all.len() as u32);
                    all.push(run);
                }
            }
            parts.push(Partition { file, numbers });
        }
        Ok((Partitions { folder: folder.to_owned(), parts }, all))
    }

    /// The files of a table, each with the numbers of its runs; none where it was not kept.
    pub fn tables<R: Row>(&self) -> Vec<(PathBuf, HashMap<String, u32>)> {
        let folder = self.folder.join(R::FILE.trim_end_matches(".parquet"));
        if !folder.is_dir() {
            return Vec::new();
        }
        let table = |part: &Partition| (folder.join(&part.file), part.numbers.clone());
        self.parts.iter().map(table).collect()
    }
}

/// The partitions in a folder, by name; not those that are being written.
fn files(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".parquet") && !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// The runs of a partition, with their keys.
fn rows(path: &Path) -> Result<Vec<(String, Run)>, ResultError> {
    let mut rows = Vec::new();
    for batch in batches(path)? {
        let batch = batch.map_err(ResultError::at(path))?;
        let read = || -> Result<Vec<(String, Run)>, Cause> {
            let keys = column(&batch, "key")?;
            let keys = (0..batch.num_rows()).map(|i| value(keys, "key", i));
            Ok(keys.collect::<Result<Vec<_>, _>>()?.into_iter().zip(runs_of(&batch)?).collect())
        };
        rows.extend(read().map_err(ResultError::at(path))?);
    }
    Ok(rows)
}

/// The place of each key in the order in which they were asked for. Without it, or where it is not
/// what NumPy writes, the order is that of the files, which is as good.
fn asked(path: &Path) -> HashMap<String, usize> {
    let bytes = fs::read(path).unwrap_or_default();
    let read = || {
        let rest = bytes.strip_prefix(NUMPY)?;
        let header = usize::from(u16::from_le_bytes([*rest.get(2)?, *rest.get(3)?]));
        let keys = rest.get(4 + header..)?.chunks_exact(8);
        let key = |chunk: &[u8]| chunk.try_into().map(u64::from_le_bytes).ok();
        keys.map(key).collect::<Option<Vec<_>>>()
    };
    let keys = read().unwrap_or_default().into_iter().enumerate();
    keys.map(|(place, key)| (format!("{key:016x}"), place)).collect()
}
