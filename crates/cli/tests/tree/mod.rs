//! The processes that a test started, and functions that wait for events of them.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

/// Waits for a condition, longer than a busy machine needs.
pub fn within(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The parent and the state of a process; `None` if it does not exist.
fn status(process: u32) -> Option<(u32, char)> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before it may contain any character.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((fields.next()?.parse().ok()?, state))
}

/// Whether a process is still running.
pub fn is_alive(process: u32) -> bool {
    status(process).is_some_and(|(_, state)| !['Z', 'X'].contains(&state))
}

/// The children of a process, theirs, and so on: parents first.
pub fn descendants(process: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").expect("/proc").flatten();
    let mut all: Vec<u32> =
        all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    all.sort_unstable();
    let parents: Vec<(u32, u32)> =
        all.into_iter().filter_map(|process| Some((process, status(process)?.0))).collect();
    let mut found = vec![process];
    let mut next = 0;
    while next < found.len() {
        let of = |(process, parent): &(u32, u32)| (*parent == found[next]).then_some(*process);
        let children: Vec<u32> = parents.iter().filter_map(of).collect();
        found.extend(children);
        next += 1;
    }
    found.split_off(1)
}

/// Sends SIGKILL.
pub fn kill(process: u32) {
    let _ = Command::new("kill").args(["-9", &process.to_string()]).status();
}
