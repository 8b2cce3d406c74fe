//! The earlier state and the requested one, written down before anything is changed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};

use l4s_os::netlink::RootQueue;
use serde::{Deserialize, Serialize};

use crate::{DUALPI2, HostError, Place};

/// The journal of a machine.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Journal {
    /// The profile of Prague, where that was asked for.
    pub profile: Option<String>,
    /// Settings below /proc/sys: the new value, and the earlier one.
    pub settings: BTreeMap<String, [String; 2]>,
    /// The devices, by number.
    pub devices: BTreeMap<u32, JournalDevice>,
}

/// A device.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct JournalDevice {
    /// Its name when it was written down.
    pub name: String,
    /// The network namespace that it was in (its inode).
    pub netns: u32,
    /// DualPI2 was asked for, with these settings as they were typed.
    pub settings: Option<Vec<String>>,
    /// The queue discipline that somebody had given it; none where it was the kernel's own choice.
    pub queue_before: Option<RootQueue>,
    /// As many packets as it took at once, where that was changed.
    pub gso_before: Option<u32>,
}

impl Journal {
    /// The journal; empty where there is none.
    pub fn read(place: &Place) -> Result<Journal, HostError> {
        let path = place.journal();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Journal::default()),
            Err(error) => return Err(HostError::failed(path.display(), error)),
        };
        serde_json::from_str(&text).map_err(|error| {
            HostError::Failed(format!(
                "{0} is damaged ({error}), so the earlier state is lost: delete it, and `l4s host remove` \
                 removes the programs. Then set net.ipv4.tcp_congestion_control and net.ipv4.tcp_ecn as \
                 they should be, and where `tc qdisc` shows {DUALPI2}, `tc qdisc del dev NAME root`",
                path.display()
            ))
        })
    }

    /// Whether there is nothing to write down.
    pub fn is_empty(&self) -> bool {
        *self == Journal::default()
    }

    /// Writes it down, all of it or not at all; an empty one is no file.
    pub(crate) fn write(&self, place: &Place) -> Result<(), HostError> {
        let path = place.journal();
        if self.is_empty() {
            return crate::place::unpin(&path);
        }
        let failed = |error: std::io::Error| HostError::failed(path.display(), error);
        let text = serde_json::to_vec_pretty(self).map_err(|error| failed(error.into()))?;
        // The lock is held, so nobody else writes a file of this name; an earlier writer may have
        // been killed and left one.
        let new = path.with_extension("new");
        let mut file = File::create(&new).map_err(failed)?;
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(failed)?;
        fs::rename(&new, &path).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_read_as_it_was_written_and_an_empty_one_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { pins: folder.path().into(), run: folder.path().into() };
        assert!(Journal::read(&place).unwrap().is_empty());
        let queue = RootQueue { kind: "fq".into(), major: 0x8001, options: vec![1, 2] };
        let device = JournalDevice {
            name: "eth0".into(),
            netns: 7,
            settings: Some(vec!["rate=40mbit".into()]),
            queue_before: Some(queue),
            gso_before: Some(65535),
        };
        let journal = Journal {
            profile: Some("linux".into()),
            settings: [("net/x".into(), ["prague".into(), "cubic".into()])].into(),
            devices: [(2, device)].into(),
        };
        journal.write(&place).unwrap();
        assert_eq!(Journal::read(&place).unwrap(), journal);
        Journal::default().write(&place).unwrap();
        assert!(!place.journal().exists());
        // That of an earlier version.
        let old = r#"{"prague":true,"settings":{},"devices":{}}"#;
        fs::write(place.journal(), old).unwrap();
        assert!(Journal::read(&place).unwrap().profile.is_none());
        fs::write(place.journal(), "{").unwrap();
        assert!(matches!(Journal::read(&place), Err(HostError::Failed(_))));
    }
}
