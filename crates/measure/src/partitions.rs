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
use std::fs;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::error::Cause;
use crate::files::Dir;
use crate::inventory::Inventory;
use crate::rows::{FEW, KEY, Room, Run, Source, batches};
use crate::table::{column, value};
use crate::writer::{COMMAND, SUMMARY};
use crate::{ResultError, Row};

const MANIFEST: &str = "sweep.json";
const KEYS: &str = "keys.npy";
/// A longer list is not read: 100 million runs have 800 MB of keys.
const MOST_KEYS: u64 = 1 << 30;
/// The magic bytes of an array of NumPy's.
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
        let mut room = Room::default();
        let read = |file: String| {
            let rows = rows(&runs, &file, &mut room)?;
            Ok((file, rows))
        };
        let mut read: Vec<(String, Vec<(String, Run)>)> =
            names.into_iter().map(read).collect::<Result<_, ResultError>>()?;
        let number = |key: &String| u64::from_str_radix(key, 16).ok();
        let keys = read.iter().flat_map(|(_, rows)| rows.iter().filter_map(|(key, _)| number(key)));
        let places = asked(folder, &keys.collect());
        let place = |key: &String| {
            number(key).and_then(|key| places.get(&key).copied()).unwrap_or(u64::MAX)
        };
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
fn rows(folder: &Path, name: &str, room: &mut Room) -> Result<Vec<(String, Run)>, ResultError> {
    let path = &folder.join(name);
    let mut rows = Vec::new();
    for batch in batches(&Inventory::default(), folder, name, &[KEY, SUMMARY, COMMAND], FEW)? {
        let batch = batch.map_err(ResultError::at(path))?;
        let mut read = || -> Result<Vec<(String, Run)>, Cause> {
            let keys = column(&batch, KEY)?;
            let keys = (0..batch.num_rows()).map(|i| value(keys, KEY, i));
            Ok(keys
                .collect::<Result<Vec<_>, _>>()?
                .into_iter()
                .zip(room.runs_of(&batch)?)
                .collect())
        };
        rows.extend(read().map_err(ResultError::at(path))?);
    }
    Ok(rows)
}

/// The place of each of `wanted` in the order in which the keys were first requested. Without the list,
/// or if it is not NumPy's, the order is that of the files.
fn asked(folder: &Path, wanted: &HashSet<u64>) -> HashMap<u64, u64> {
    let read = || -> io::Result<HashMap<u64, u64>> {
        let file = Dir::open(folder)?.file(KEYS)?.ok_or(io::ErrorKind::NotFound)?;
        let mut list = BufReader::new(file.take(MOST_KEYS));
        let mut head = [0; 10];
        list.read_exact(&mut head)?;
        if !head.starts_with(NUMPY) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        // Two bytes of version, and the length of the description that follows.
        let length = u16::from_le_bytes([head[8], head[9]]);
        io::copy(&mut list.by_ref().take(length.into()), &mut io::sink())?;
        let (mut places, mut key) = (HashMap::new(), [0; 8]);
        for place in 0.. {
            if places.len() == wanted.len() || list.read_exact(&mut key).is_err() {
                break;
            }
            let key = u64::from_le_bytes(key);
            if wanted.contains(&key) {
                places.entry(key).or_insert(place);
            }
        }
        Ok(places)
    };
    read().unwrap_or_default()
}
