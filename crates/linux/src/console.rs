//! The console of a guest, for messages.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// The most bytes of a console that a message quotes.
const QUOTED: u64 = 2500;

/// The end of a console, in words.
pub(crate) fn tail(console: &File) -> String {
    let length = console.metadata().map_or(0, |metadata| metadata.len());
    let mut bytes = vec![0; length.min(QUOTED) as usize];
    let from = length - bytes.len() as u64;
    let read = console.read_at(&mut bytes, from).unwrap_or(0);
    let text = String::from_utf8_lossy(&bytes[..read]).replace('\r', "");
    match text.trim() {
        "" => "its console is empty".to_owned(),
        text => format!("the end of its console:\n{text}"),
    }
}
