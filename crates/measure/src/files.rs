//! Safe access to files in a folder whose content is not trusted.
//!
//! A file is written under a temporary name, flushed to the disk, and renamed, so it appears whole or
//! not at all. Names are resolved in the open folder without following symbolic links, and only
//! regular files are opened: nothing outside the folder is written, and no open blocks on a FIFO.

use std::collections::hash_map::RandomState;
use std::fs::{File, FileType as StdFileType};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{self as system, AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::checksum::Checksum;

/// The file that a process locks while it writes into a folder.
const LOCK: &str = ".l4s-lock";

/// An open folder.
#[derive(Clone, Debug)]
pub struct Dir(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    fd: OwnedFd,
    path: PathBuf,
}

impl Dir {
    /// Opens a folder, which is made where it is missing, with those above it.
    pub fn create(path: &Path) -> io::Result<Dir> {
        std::fs::create_dir_all(path)?;
        Dir::open(path)
    }

    /// Opens a folder. The path is the user's: links on the way to it are followed.
    pub fn open(path: &Path) -> io::Result<Dir> {
        let here = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let fd = system::open(here, FOLDER, Mode::empty())?;
        Ok(Dir(Arc::new(Inner { fd, path: path.to_owned() })))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// A folder in this one, made where it is missing.
    pub fn subfolder(&self, name: &str) -> io::Result<Dir> {
        match system::mkdirat(&self.0.fd, name, Mode::from_raw_mode(0o777)) {
            Err(error) if error != Errno::EXIST => return Err(error.into()),
            _ => {}
        }
        self.existing(name)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// A folder in this one; `None` where it is missing.
    pub fn existing(&self, name: &str) -> io::Result<Option<Dir>> {
        match self.kind(name)? {
            None => return Ok(None),
            Some(FileType::Directory) => {}
            Some(kind) => return Err(unexpected(words(kind), "a folder")),
        }
        // A folder that was just replaced by a link is not followed either.
        let fd = system::openat(&self.0.fd, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
        Ok(Some(Dir(Arc::new(Inner { fd, path: self.0.path.join(name) }))))
    }

    /// The type of the file under a name.
    fn kind(&self, name: &str) -> io::Result<Option<FileType>> {
        match system::statat(&self.0.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether there is a file of that name. Anything else of that name is an error.
    pub fn has_file(&self, name: &str) -> io::Result<bool> {
        match self.kind(name)? {
            None => Ok(false),
            Some(FileType::RegularFile) => Ok(true),
            Some(kind) => Err(unexpected(words(kind), "a file")),
        }
    }

    /// Opens a file to read; `None` where it is missing.
    pub fn file(&self, name: &str) -> io::Result<Option<File>> {
        if !self.has_file(name)? {
            return Ok(None);
        }
        let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(system::openat(&self.0.fd, name, how, Mode::empty())?);
        regular(file.metadata()?.file_type())?;
        Ok(Some(file))
    }

    /// Reads a file whole; `None` where it is missing.
    ///
    /// # Errors
    /// It is no regular file, cannot be read, or has more than `most` bytes.
    pub fn read(&self, name: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(file) = self.file(name)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(io::Error::other(format!("more than {most} bytes")));
        }
        Ok(Some(bytes))
    }

    /// The checksum of a file; `None` where it is missing.
    pub(crate) fn checksum(&self, name: &str) -> io::Result<Option<Checksum>> {
        self.file(name)?.map(checksum).transpose()
    }

    /// The names in the folder, sorted, without the lock and unfinished files.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let mut names = self.all_names()?;
        names.retain(|name| !is_passing(name));
        Ok(names)
    }

    fn all_names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in system::Dir::read_from(&self.0.fd)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Whether a name is of a folder; links are none.
    pub fn is_folder(&self, name: &str) -> bool {
        matches!(self.kind(name), Ok(Some(FileType::Directory)))
    }

    /// Removes a file. One that is missing is gone.
    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        self.remove(name, AtFlags::empty())
    }

    /// Removes an empty folder.
    pub fn remove_folder(&self, name: &str) -> io::Result<()> {
        self.remove(name, AtFlags::REMOVEDIR)
    }

    fn remove(&self, name: &str, how: AtFlags) -> io::Result<()> {
        match system::unlinkat(&self.0.fd, name, how) {
            Err(error) if error != Errno::NOENT => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Removes the unfinished files of processes that ended. The caller must hold the lock.
    pub fn sweep(&self) -> io::Result<()> {
        for name in self.all_names()? {
            if is_leftover(&name) && matches!(self.kind(&name)?, Some(FileType::RegularFile)) {
                self.remove_file(&name)?;
            }
        }
        Ok(())
    }

    /// As [`Dir::sweep`], in a folder of figures. Versions up to November 2026 wrote figures under names
    /// such as `.tmpa1B2c3`. One is removed where it is empty, or begins as a figure.
    pub fn sweep_figures(&self) -> io::Result<()> {
        self.sweep()?;
        for name in self.all_names()? {
            if is_old_leftover(&name) && matches!(self.kind(&name)?, Some(FileType::RegularFile)) {
                let mut head = Vec::new();
                self.file(&name)?.map(|file| file.take(4).read_to_end(&mut head)).transpose()?;
                if [&b""[..], b"<svg", b"\x89PNG"].contains(&head.as_slice()) {
                    self.remove_file(&name)?;
                }
            }
        }
        Ok(())
    }

    /// Begins a file that will have this name.
    pub fn begin(&self, name: &str) -> io::Result<Durable> {
        let how =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            // `RandomState` has keys of the system's randomness.
            let part = format!(".l4s-{:016x}.part", RandomState::new().build_hasher().finish());
            match system::openat(&self.0.fd, &part, how, Mode::from_raw_mode(0o666)) {
                Err(Errno::EXIST) => continue,
                Err(error) => return Err(error.into()),
                Ok(fd) => {
                    return Ok(Durable {
                        dir: self.clone(),
                        file: fd.into(),
                        part: Some(part),
                        name: name.to_owned(),
                        sum: Checksum::new(),
                    });
                }
            }
        }
    }

    /// Writes a whole file with `fill`; its checksum.
    pub(crate) fn write(
        &self,
        name: &str,
        fill: impl FnOnce(&mut BufWriter<Durable>) -> io::Result<()>,
    ) -> io::Result<Checksum> {
        let mut file = BufWriter::new(self.begin(name)?);
        fill(&mut file)?;
        file.into_inner().map_err(|e| e.into_error())?.commit()
    }

    /// Locks the folder against other processes until the lock is dropped. The inner error is the
    /// text that the holder of the lock wrote into it. The kernel releases the lock when its
    /// process ends.
    pub fn lock(&self) -> io::Result<Result<Lock, String>> {
        let how =
            OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        loop {
            let mut file =
                File::from(system::openat(&self.0.fd, LOCK, how, Mode::from_raw_mode(0o644))?);
            regular(file.metadata()?.file_type())?;
            match system::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) => {
                    let mut holder = String::new();
                    file.take(200).read_to_string(&mut holder)?;
                    return Ok(Err(holder.trim().to_owned()));
                }
                // A file system without locks, such as some that virtual machines share.
                Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK | Errno::INVAL) => {}
                done => done?,
            }
            // The earlier holder may have removed the file that was opened here.
            let (mine, there) = (
                system::fstat(&file)?,
                system::statat(&self.0.fd, LOCK, AtFlags::SYMLINK_NOFOLLOW),
            );
            if there.is_ok_and(|there| (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)) {
                file.set_len(0)?;
                writeln!(file, "process {}", std::process::id())?;
                return Ok(Ok(Lock { dir: self.clone(), _file: file }));
            }
        }
    }
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A folder that no other process writes into.
#[derive(Debug)]
pub struct Lock {
    dir: Dir,
    _file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The lock is held until the file is closed, which is after this.
        let _ = self.dir.remove_file(LOCK);
    }
}

/// A file that takes its name when it is complete. Dropped before that, it leaves nothing.
#[derive(Debug)]
pub struct Durable {
    dir: Dir,
    file: File,
    /// Its name until then.
    part: Option<String>,
    name: String,
    sum: Checksum,
}

impl Durable {
    /// Where it will be.
    pub fn path(&self) -> PathBuf {
        self.dir.path().join(&self.name)
    }

    /// Puts the file in its place. On return it outlives a power failure.
    pub(crate) fn commit(mut self) -> io::Result<Checksum> {
        self.file.sync_all()?;
        // A link, or anything but a file, is not ours.
        self.dir.has_file(&self.name)?;
        let folder = &self.dir.0.fd;
        if let Some(part) = &self.part {
            system::renameat(folder, part, folder, &self.name)?;
            self.part = None;
        }
        system::fsync(folder)?;
        Ok(self.sum)
    }

    /// The same, where nobody asks for the checksum.
    pub fn finish(self) -> io::Result<()> {
        self.commit().map(|_| ())
    }
}

impl Drop for Durable {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            let _ = self.dir.remove_file(part);
        }
    }
}

impl Write for Durable {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Opens a regular file, or a symbolic link to one, for reading.
pub fn open(path: &Path) -> io::Result<File> {
    regular(std::fs::metadata(path)?.file_type())?;
    let how = OFlags::NONBLOCK.bits() as i32;
    let file = File::options().read(true).custom_flags(how).open(path)?;
    regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// The checksum of the rest of a file.
pub(crate) fn checksum(mut file: File) -> io::Result<Checksum> {
    let mut sum = Checksum::new();
    let mut bytes = vec![0; 1 << 16];
    loop {
        match file.read(&mut bytes)? {
            0 => return Ok(sum),
            read => sum.update(&bytes[..read]),
        }
    }
}

fn regular(kind: StdFileType) -> io::Result<()> {
    let found = match kind {
        _ if kind.is_file() => return Ok(()),
        _ if kind.is_dir() => "a folder",
        _ if kind.is_fifo() => "a FIFO",
        _ if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Err(unexpected(found, "a file"))
}

fn words(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a file",
        FileType::Directory => "a folder",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        _ => "a device",
    }
}

fn unexpected(found: &str, expected: &str) -> io::Error {
    io::Error::other(format!("found {found}, expected {expected}"))
}

/// A file that is being written, or was when its process ended.
fn is_leftover(name: &str) -> bool {
    name.starts_with(".l4s-") && name.ends_with(".part")
}

/// A figure that an earlier version was writing when its process ended.
fn is_old_leftover(name: &str) -> bool {
    let chance = name.strip_prefix(".tmp");
    chance.is_some_and(|c| c.len() == 6 && c.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

fn is_passing(name: &str) -> bool {
    name == LOCK || is_leftover(name)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn write(dir: &Dir, name: &str, text: &str) -> io::Result<Checksum> {
        dir.write(name, |file| file.write_all(text.as_bytes()))
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let (here, away) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let theirs = away.path().join("theirs");
        fs::write(&theirs, "theirs").unwrap();
        symlink(&theirs, here.path().join("table")).unwrap();
        symlink(away.path(), here.path().join("figures")).unwrap();
        let dir = Dir::open(here.path()).unwrap();
        let error = write(&dir, "table", "ours").unwrap_err().to_string();
        assert_eq!(error, "found a symbolic link, expected a file");
        let error = dir.subfolder("figures").unwrap_err().to_string();
        assert_eq!(error, "found a symbolic link, expected a folder");
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "theirs");
        assert_eq!(fs::read_dir(away.path()).unwrap().count(), 1);
        assert_eq!(dir.all_names().unwrap(), ["figures", "table"], "no part is left");
    }

    #[test]
    fn what_is_no_file_is_named_and_not_waited_for() {
        let here = tempfile::tempdir().unwrap();
        let fifo = here.path().join("fifo");
        system::mknodat(system::CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
        fs::create_dir(here.path().join("folder")).unwrap();
        let dir = Dir::open(here.path()).unwrap();
        for (name, found) in [("fifo", "a FIFO"), ("folder", "a folder")] {
            let expected = format!("found {found}, expected a file");
            assert_eq!(dir.file(name).unwrap_err().to_string(), expected);
            assert_eq!(open(&here.path().join(name)).unwrap_err().to_string(), expected);
            assert_eq!(write(&dir, name, "").unwrap_err().to_string(), expected);
        }
        assert_eq!(
            open(Path::new("/dev/zero")).unwrap_err().to_string(),
            "found a device, expected a file"
        );
    }

    #[test]
    fn one_process_has_the_lock_and_a_dropped_one_leaves_nothing() {
        let here = tempfile::tempdir().unwrap();
        let [one, other] = [0; 2].map(|_| Dir::open(here.path()).unwrap());
        let lock = one.lock().unwrap().unwrap();
        let holder = other.lock().unwrap().unwrap_err();
        assert_eq!(holder, format!("process {}", std::process::id()));
        drop(lock);
        assert_eq!(fs::read_dir(here.path()).unwrap().count(), 0);
        // The file that a killed process left is no lock.
        fs::write(here.path().join(LOCK), "process 1\n").unwrap();
        drop(other.lock().unwrap().unwrap());
        // Nor is a link a place to write to.
        let theirs = here.path().join("theirs");
        fs::write(&theirs, "theirs").unwrap();
        symlink(&theirs, here.path().join(LOCK)).unwrap();
        other.lock().unwrap_err();
        assert_eq!(fs::read_to_string(theirs).unwrap(), "theirs");
    }

    #[test]
    fn only_what_was_being_written_is_swept() {
        let here = tempfile::tempdir().unwrap();
        for name in [".l4s-0.part", ".tmpA", "x.part"] {
            fs::write(here.path().join(name), "").unwrap();
        }
        symlink(here.path().join("x.part"), here.path().join(".l4s-link.part")).unwrap();
        let dir = Dir::open(here.path()).unwrap();
        dir.sweep().unwrap();
        assert_eq!(dir.all_names().unwrap(), [".l4s-link.part", ".tmpA", "x.part"]);
    }

    #[test]
    fn figures_of_an_earlier_version_are_swept_and_files_of_others_are_not() {
        let here = tempfile::tempdir().unwrap();
        let files = [
            (".tmpa1B2c3", "<svg xmlns"),
            (".tmpa1B2c4", ""),
            (".tmpa1B2c5", "a thesis"),
            (".tmpa1B2c", "<svg xmlns"),
            ("a.svg", "<svg xmlns"),
        ];
        for (name, text) in files {
            fs::write(here.path().join(name), text).unwrap();
        }
        symlink(here.path().join("a.svg"), here.path().join(".tmpa1B2c6")).unwrap();
        let dir = Dir::open(here.path()).unwrap();
        dir.sweep_figures().unwrap();
        let left = [".tmpa1B2c", ".tmpa1B2c5", ".tmpa1B2c6", "a.svg"];
        assert_eq!(dir.all_names().unwrap(), left);
    }
}
