//! A temporary folder that goes with its process.
//!
//! A process that is killed leaves it, and the next one that makes such a folder removes it: it is locked
//! for as long as its process lives.

use std::fs::{self, File};
use std::io::Result;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

const PREFIX: &str = "l4s-programs-";

/// A folder of this process.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    _lock: File,
}

impl Scratch {
    /// Makes one, in the folder of the system for such.
    pub fn new() -> Result<Scratch> {
        Scratch::within(&std::env::temp_dir())
    }

    fn within(parent: &Path) -> Result<Scratch> {
        remove_abandoned(parent);
        loop {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
            let lock = File::open(folder.path())?;
            // Another process takes it for abandoned until it is locked.
            let locked = flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
            if locked && is_same(&lock, folder.path()) {
                return Ok(Scratch { folder, _lock: lock });
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Whether an open folder is still the one of that path.
fn is_same(folder: &File, path: &Path) -> bool {
    let number = |data: fs::Metadata| (data.dev(), data.ino());
    folder.metadata().map(number).ok() == fs::symlink_metadata(path).map(number).ok()
}

/// Removes the folders of this user whose processes are gone. One that cannot be removed is in nobody's way.
fn remove_abandoned(parent: &Path) {
    let me = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.metadata().is_ok_and(|data| data.is_dir() && data.uid() == me);
        if !is_ours {
            continue;
        }
        let Ok(folder) = File::open(entry.path()) else { continue };
        // Locked until it is removed, so that no process takes it meanwhile.
        if flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_folders_of_processes_that_are_gone_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let (mine, abandoned) =
            (Scratch::within(parent.path()).unwrap(), parent.path().join("l4s-programs-x"));
        let other = parent.path().join("other");
        for folder in [&abandoned, &other] {
            fs::create_dir_all(folder.join("in it")).unwrap();
        }
        std::os::unix::fs::symlink(&other, parent.path().join("l4s-programs-link")).unwrap();
        let next = Scratch::within(parent.path()).unwrap();
        assert!(mine.path().exists() && next.path().exists() && !abandoned.exists());
        assert!(other.join("in it").exists());
        let path = mine.path().to_owned();
        drop(mine);
        assert!(!path.exists());
    }
}
