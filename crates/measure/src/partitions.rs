//! The folder of a sweep of the Python package: its runs are in partitions, and have keys instead of
//! numbers.
//!
//! ```text
//! DIR/sweep.json           what the runs have in common
//! DIR/keys.npy             keys of the runs, as they were first asked for
//! DIR/runs/NAME.parquet    some runs: rows as in runs.parquet, with a column `key`
//! DIR/series/NAME.parquet  their time series, where they were kept; likewise delays and flows
//! ```

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::error::Cause;
use crate::files::Dir;
use crate::inventory::Inventory;
use crate::reader::{FEW, Run, Source, batches, runs_of};
use crate::table::{column, value};
use crate::writer::{COMMAND, SUMMARY};
use crate::{ResultError, Row};

const MANIFEST: &str = "sweep.json";
const KEYS: &str = "keys.npy";
/// A longer list is not read: 100 million runs have 800 MB of keys.
const MOST_KEYS: u64 = 1 << 30;
/// The column that tells runs apart.
pub(crate) const KEY: &str = "key";
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
            let rows = rows(&runs, &file)?;
            Ok((file, rows))
        };
        let mut read: Vec<(String, Vec<(String, Run)>)> =
            names.into_iter().map(read).collect::<Result<_, ResultError>>()?;
        let places = asked(folder);
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
    pub fn tables<R: Row>(&self) -> VecDeque<Source> {
        let folder = self.folder.join(R::FILE.trim_end_matches(".parquet"));
        if !folder.is_dir() {
            return VecDeque::new();
        }
        let table = |part: &Partition| Source {
            folder: folder.clone(),
            name: part.file.clone(),
            numbers: Some(part.numbers.clone()),
        };
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
fn rows(folder: &Path, name: &str) -> Result<Vec<(String, Run)>, ResultError> {
    let path = &folder.join(name);
    let mut rows = Vec::new();
    for batch in batches(&Inventory::default(), folder, name, &[KEY, SUMMARY, COMMAND], FEW)? {
        let batch = batch.map_err(ResultError::at(path))?;
        let read = || -> Result<Vec<(String, Run)>, Cause> {
            let keys = column(&batch, KEY)?;
            let keys = (0..batch.num_rows()).map(|i| value(keys, KEY, i));
            Ok(keys.collect::<Result<Vec<_>, _>>()?.into_iter().zip(runs_of(&batch)?).collect())
        };
        rows.extend(read().map_err(ResultError::at(path))?);
    }
    Ok(rows)
}

/// The place of each key in the order in which they were asked for. Without it, or where it is not
/// what NumPy writes, the order is that of the files, which is as good.
fn asked(folder: &Path) -> HashMap<String, usize> {
    let bytes = Dir::open(folder).and_then(|dir| dir.read(KEYS, MOST_KEYS));
    let bytes = bytes.ok().flatten().unwrap_or_default();
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
