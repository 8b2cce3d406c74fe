//! Where things are kept.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::HostError;

/// The folders of an installation. A test has others than the machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// In the BPF file system: the programs.
    pub pins: PathBuf,
    /// The journal, and the lock. It is empty after a reboot, as the kernel is.
    pub run: PathBuf,
}

impl Place {
    /// That of this machine.
    pub fn machine() -> Place {
        Place { pins: "/sys/fs/bpf/l4s".into(), run: "/run/l4s".into() }
    }

    pub(crate) fn prague(&self) -> PathBuf {
        self.pins.join("prague")
    }

    /// The map with the state of Prague's connections; only where programs on devices need it.
    pub(crate) fn sockets(&self) -> PathBuf {
        self.pins.join("sockets")
    }

    pub(crate) fn ect1(&self, ifindex: u32) -> PathBuf {
        self.pins.join(format!("ect1_{ifindex}"))
    }

    /// The program that receives the answers to tracers.
    pub(crate) fn answers(&self, ifindex: u32) -> PathBuf {
        self.pins.join(format!("answers_{ifindex}"))
    }

    pub(crate) fn dualpi2(&self) -> PathBuf {
        self.pins.join("dualpi2")
    }

    pub(crate) fn decide(&self, ifindex: u32) -> PathBuf {
        self.pins.join(format!("decide_{ifindex}"))
    }

    /// Whether Prague's packets that leave by a device are ECT(1).
    pub(crate) fn has_ect1(&self, ifindex: u32) -> Result<bool, HostError> {
        Ok(at_device(&self.ect1(ifindex))? == Some(true))
    }

    /// Whether the device that programs were given to is gone, and they with it.
    pub(crate) fn is_gone(&self, ifindex: u32) -> Result<bool, HostError> {
        let links = [at_device(&self.ect1(ifindex))?, at_device(&self.decide(ifindex))?];
        Ok(links.contains(&Some(false)) && !links.contains(&Some(true)))
    }

    /// Removes the files of a device.
    pub(crate) fn unpin_device(&self, ifindex: u32) -> Result<(), HostError> {
        unpin(&self.decide(ifindex))?;
        unpin(&self.ect1(ifindex))?;
        unpin(&self.answers(ifindex))
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.run.join("host.json")
    }

    /// Locks out other processes, until the returned file is dropped.
    pub(crate) fn lock(&self) -> Result<File, HostError> {
        let path = self.run.join("lock");
        let failed = |error: std::io::Error| match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => HostError::Machine(
                format!("{} cannot be written: run it with sudo", self.run.display()),
            ),
            _ => HostError::failed(path.display(), error),
        };
        fs::create_dir_all(&self.run).map_err(failed)?;
        let file = File::create(&path).map_err(failed)?;
        flock(&file, FlockOperation::LockExclusive).map_err(|error| failed(error.into()))?;
        Ok(file)
    }
}

/// Whether the program of a file is at a device, where there is the file.
fn at_device(path: &Path) -> Result<Option<bool>, HostError> {
    Ok(path.exists().then(|| l4s_bpf::is_attached(path)).transpose()?)
}

/// Removes a file, or a folder with files, that may not be there.
pub(crate) fn unpin(path: &Path) -> Result<(), HostError> {
    let done = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match done {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(HostError::failed(path.display(), error))
        }
        _ => Ok(()),
    }
}
