//! `l4s.json`: whose results are in a folder, and which files l4s wrote into it.
//!
//! Only these are ever replaced or removed. The list has the checksum of each, so that damage is
//! found before numbers are taken from it, and files that somebody changed since are not lost. A file is
//! listed before it is written, with `null` for its checksum until it is complete. So however the
//! process stops, the next one knows the file.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ResultError;
use crate::error::Cause;
use crate::files::{self, Dir, Durable};

/// The name of the list.
pub const INVENTORY: &str = "l4s.json";
/// A list is no larger: it has some hundred names.
const LARGEST: u64 = 16 << 20;
/// The names of figures, in a folder of their own.
const FIGURES: &str = "figures";

/// The contents of `l4s.json`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Inventory {
    /// Whose results are in the folder; empty where there are only figures, or tables, of others.
    #[serde(flatten)]
    pub owner: Map<String, Value>,
    /// The files that l4s wrote, by name, such as `figures/headline.svg`, with the checksum of each.
    /// `None` in folders of earlier versions, which kept no list.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub files: Option<BTreeMap<String, Option<String>>>,
}

/// The state of the place of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Nothing.
    Free,
    /// A file of l4s.
    Ours,
    /// A file of l4s that was changed since.
    Changed,
    /// Something else.
    Theirs,
}

impl Inventory {
    /// Reads the list of a folder; `None` where it has none.
    pub fn read(dir: &Dir) -> Result<Option<Inventory>, ResultError> {
        let at = || dir.path().join(INVENTORY);
        let text = dir.read(INVENTORY, LARGEST).map_err(ResultError::at(&at()))?;
        let read = |text: Vec<u8>| {
            let damaged = |error| Cause::Damaged(format!("not written by l4s ({error})"));
            serde_json::from_slice(&text).map_err(damaged).map_err(ResultError::at(&at()))
        };
        text.map(read).transpose()
    }

    /// Writes it.
    pub fn write(&self, dir: &Dir) -> Result<(), ResultError> {
        let written = dir.write(INVENTORY, |file| {
            use std::io::Write;
            serde_json::to_writer_pretty(&mut *file, self)?;
            file.write_all(b"\n")
        });
        written.map(|_| ()).map_err(ResultError::at(&dir.path().join(INVENTORY)))
    }

    /// The state of the place of a file, which may be in a folder of `dir`.
    pub fn place(&self, dir: &Dir, name: &str) -> Result<Place, ResultError> {
        let found = || -> std::io::Result<Option<crate::checksum::Checksum>> {
            match name.split_once('/') {
                None => dir.checksum(name),
                Some((folder, name)) => {
                    dir.existing(folder)?.map_or(Ok(None), |dir| dir.checksum(name))
                }
            }
        };
        let Some(sum) = found().map_err(ResultError::at(&dir.path().join(name)))? else {
            return Ok(Place::Free);
        };
        Ok(match self.files.as_ref().map(|files| files.get(name)) {
            Some(Some(Some(listed))) if *listed != sum.to_string() => Place::Changed,
            Some(Some(_)) => Place::Ours,
            Some(None) => Place::Theirs,
            // An earlier version wrote these names into its folders, and no list.
            None if self.owner.is_empty() => Place::Theirs,
            None => Place::Ours,
        })
    }

    /// Whether a file is there and was written to its end, and the list after it.
    pub fn is_complete(&self, dir: &Dir, name: &str) -> bool {
        let is_listed =
            self.files.as_ref().is_none_or(|files| matches!(files.get(name), Some(Some(_))));
        is_listed && dir.has_file(name).unwrap_or(false)
    }

    /// Files in a folder that are not l4s's, or were changed since: none of them may be removed.
    /// `others` says which names l4s gives to files that it does not list.
    pub fn foreign(
        &self,
        dir: &Dir,
        others: impl Fn(&str) -> bool,
    ) -> Result<Vec<(String, Place)>, ResultError> {
        let mut names = Vec::new();
        for name in dir.names().map_err(ResultError::at(dir.path()))? {
            match dir.is_folder(&name) {
                true if name == FIGURES => names.extend(names_in(dir, FIGURES)?),
                _ if name == INVENTORY || others(&name) => {}
                _ => names.push(name),
            }
        }
        let mut foreign = Vec::new();
        for name in names {
            // Anything but a file is not l4s's.
            let place = self.place(dir, &name).unwrap_or(Place::Theirs);
            if place != Place::Ours {
                foreign.push((name, place));
            }
        }
        Ok(foreign)
    }

    /// Removes the listed files, as far as they are unchanged, and the list after them.
    pub fn remove(&self, dir: &Dir) -> Result<(), ResultError> {
        for name in self.files.iter().flat_map(BTreeMap::keys) {
            if self.place(dir, name)? != Place::Ours {
                continue;
            }
            let removed = match name.split_once('/') {
                None => dir.remove_file(name),
                Some((folder, file)) => match dir.existing(folder) {
                    Ok(Some(dir)) => dir.remove_file(file),
                    other => other.map(|_| ()),
                },
            };
            removed.map_err(ResultError::at(&dir.path().join(name)))?;
        }
        if let Ok(Some(figures)) = dir.existing(FIGURES) {
            if figures.names().is_ok_and(|names| names.is_empty()) {
                dir.remove_folder(FIGURES).map_err(ResultError::at(figures.path()))?;
            }
        }
        dir.remove_file(INVENTORY).map_err(ResultError::at(&dir.path().join(INVENTORY)))
    }

    /// Opens a file of a folder; if it is listed, its checksum must match.
    pub(crate) fn open(&self, folder: &Path, name: &str) -> Result<File, ResultError> {
        let path = folder.join(name);
        let open = || files::open(&path).map_err(ResultError::at(&path));
        if let Some(Some(listed)) = self.files.as_ref().and_then(|files| files.get(name)) {
            let sum = files::checksum(open()?).map_err(ResultError::at(&path))?.to_string();
            if sum != *listed {
                let found = format!("its checksum is {sum}, and {INVENTORY} has {listed}");
                return Err(ResultError::at(&path)(Cause::Damaged(found)));
            }
        }
        open()
    }

    /// Those of `names` that are listed with a checksum and are missing or have another.
    pub fn damaged<'a>(
        &self,
        dir: &Dir,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<&'a str>, ResultError> {
        let mut damaged = Vec::new();
        for name in names {
            let listed = self.files.as_ref().and_then(|files| files.get(name));
            if matches!(listed, Some(Some(_))) && self.place(dir, name)? != Place::Ours {
                damaged.push(name);
            }
        }
        Ok(damaged)
    }
}

fn names_in(dir: &Dir, folder: &str) -> Result<Vec<String>, ResultError> {
    let inner = dir.existing(folder).and_then(|inner| inner.map_or(Ok(vec![]), |dir| dir.names()));
    let names = inner.map_err(ResultError::at(&dir.path().join(folder)))?;
    Ok(names.into_iter().map(|name| format!("{folder}/{name}")).collect())
}

/// Files that are being written into a folder: listed first, and with their checksums at the end.
#[derive(Debug)]
pub struct Writing {
    dir: Dir,
    figures: Option<Dir>,
    /// Their entries in the list before.
    before: BTreeMap<String, Option<Option<String>>>,
    written: Mutex<BTreeMap<String, String>>,
}

impl Writing {
    /// Refuses names that are taken by files which l4s did not write, or which were changed since.
    pub fn check<'a>(
        dir: &Dir,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Inventory, ResultError> {
        let new = || Inventory { files: Some(BTreeMap::new()), ..Inventory::default() };
        let list = Inventory::read(dir)?.unwrap_or_else(new);
        for name in names {
            let cause = match list.place(dir, name)? {
                Place::Free | Place::Ours => continue,
                Place::Changed => Cause::Changed,
                Place::Theirs => Cause::Foreign,
            };
            return Err(ResultError::at(&dir.path().join(name))(cause));
        }
        Ok(list)
    }

    /// Begins files of these names.
    pub fn begin<'a>(
        dir: &Dir,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Writing, ResultError> {
        let names: Vec<&str> = names.into_iter().collect();
        let mut list = Writing::check(dir, names.iter().copied())?;
        let files = list.files.get_or_insert_default();
        let entry = |name: &&str| (name.to_string(), files.insert((*name).to_owned(), None));
        let before = names.iter().map(entry).collect();
        list.write(dir)?;
        let has_figures = names.iter().any(|name| name.starts_with(FIGURES));
        let figures = has_figures.then(|| dir.subfolder(FIGURES)).transpose();
        let figures = figures.map_err(ResultError::at(&dir.path().join(FIGURES)))?;
        if let Some(figures) = &figures {
            figures.sweep_figures().map_err(ResultError::at(figures.path()))?;
        }
        Ok(Writing { dir: dir.clone(), figures, before, written: Mutex::default() })
    }

    /// Writes one of them, whole.
    pub fn file(&self, name: &str, bytes: &[u8]) -> Result<(), ResultError> {
        let (dir, file) = match name.strip_prefix("figures/") {
            Some(file) => (self.figures.as_ref().unwrap_or(&self.dir), file),
            None => (&self.dir, name),
        };
        let written = dir.begin(file).and_then(|mut file| {
            use std::io::Write;
            file.write_all(bytes)?;
            file.commit()
        });
        let sum = written.map_err(ResultError::at(&self.dir.path().join(name)))?;
        self.wrote(name, sum.to_string());
        Ok(())
    }

    /// Puts one of them in its place that was written aside.
    pub(crate) fn commit(&self, name: &str, file: Durable) -> Result<(), ResultError> {
        let sum = file.commit().map_err(ResultError::at(&self.dir.path().join(name)))?;
        self.wrote(name, sum.to_string());
        Ok(())
    }

    fn wrote(&self, name: &str, sum: String) {
        let mut written = self.written.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        written.insert(name.to_owned(), sum);
    }

    /// Lists their checksums; entries of files that were not written are restored.
    pub fn finish(self) -> Result<(), ResultError> {
        let mut list = Inventory::read(&self.dir)?.unwrap_or_default();
        let files = list.files.get_or_insert_default();
        for (name, before) in self.before {
            match before {
                Some(before) => files.insert(name, before),
                None => files.remove(&name),
            };
        }
        let written = self.written.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        files.extend(written.into_iter().map(|(name, sum)| (name, Some(sum))));
        list.write(&self.dir)
    }
}

/// Writes one file into a folder, listed.
pub fn write_listed(dir: &Dir, name: &str, bytes: &[u8]) -> Result<(), ResultError> {
    let writing = Writing::begin(dir, [name])?;
    writing.file(name, bytes)?;
    writing.finish()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder() -> (tempfile::TempDir, Dir) {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open(folder.path()).unwrap();
        (folder, dir)
    }

    #[test]
    fn only_what_l4s_wrote_is_replaced() {
        let (folder, dir) = folder();
        write_listed(&dir, "report.html", b"one").unwrap();
        write_listed(&dir, "report.html", b"two").unwrap();
        let report = folder.path().join("report.html");
        fs::write(&report, "my own").unwrap();
        let error = write_listed(&dir, "report.html", b"three").unwrap_err();
        assert!(matches!(error.cause, Cause::Changed), "{error}");
        assert_eq!(fs::read_to_string(&report).unwrap(), "my own");
        fs::create_dir(folder.path().join("figures")).unwrap();
        fs::write(folder.path().join("figures/a.svg"), "mine").unwrap();
        let error = write_listed(&dir, "figures/a.svg", b"ours").unwrap_err();
        assert!(matches!(error.cause, Cause::Foreign), "{error}");
        write_listed(&dir, "figures/b.svg", b"ours").unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("figures/a.svg")).unwrap(), "mine");
    }

    #[test]
    fn what_a_killed_process_was_writing_is_known_to_the_next() {
        let (folder, dir) = folder();
        let writing = Writing::begin(&dir, ["a", "b", "figures/c"]).unwrap();
        writing.file("a", b"first").unwrap();
        writing.file("figures/c", b"figure").unwrap();
        drop(writing);
        fs::write(folder.path().join("figures/.l4s-0.part"), "half").unwrap();
        let writing = Writing::begin(&dir, ["a", "b", "figures/c"]).unwrap();
        writing.file("a", b"second").unwrap();
        writing.finish().unwrap();
        let list = Inventory::read(&dir).unwrap().unwrap();
        assert_eq!(fs::read_dir(folder.path().join("figures")).unwrap().count(), 1);
        // `b` was never there; the state of `c` is unknown.
        let names: Vec<_> = list.files.unwrap().into_iter().collect();
        assert_eq!(names.len(), 3, "{names:?}");
        assert_eq!(names[2], ("figures/c".to_owned(), None));
    }

    #[test]
    fn everything_is_removed_but_what_is_not_listed_or_was_changed() {
        let (folder, dir) = folder();
        for name in ["a", "b", "figures/c", "figures/d"] {
            write_listed(&dir, name, name.as_bytes()).unwrap();
        }
        fs::write(folder.path().join("thesis.tex"), "years").unwrap();
        fs::write(folder.path().join("figures/mine.svg"), "mine").unwrap();
        fs::write(folder.path().join("figures/d"), "changed").unwrap();
        let list = Inventory::read(&dir).unwrap().unwrap();
        let foreign: Vec<_> = list.foreign(&dir, |_| false).unwrap();
        assert_eq!(
            foreign,
            [
                ("figures/d".to_owned(), Place::Changed),
                ("figures/mine.svg".to_owned(), Place::Theirs),
                ("thesis.tex".to_owned(), Place::Theirs)
            ]
        );
        list.remove(&dir).unwrap();
        assert_eq!(dir.names().unwrap(), ["figures", "thesis.tex"]);
        assert_eq!(fs::read_dir(folder.path().join("figures")).unwrap().count(), 2);
    }
}
