//! The kept part of a program's output: its beginning and its end, so that a program that prints without
//! end fills neither disk nor memory.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Result, Write};

/// The kept bytes of the beginning of a stream.
pub(super) const HEAD: usize = 16 << 20;
/// The kept bytes of its end.
pub(super) const TAIL: usize = 64 << 10;

/// Copies a stream until it ends, except for bytes that are neither in its first [`HEAD`] nor in
/// its last [`TAIL`] bytes. A line with their number takes their place.
pub(super) fn copy(mut from: impl Read, mut to: impl Write) -> Result<()> {
    let mut buffer = vec![0; 64 << 10];
    let (mut head, mut left_out) = (HEAD, 0);
    let mut tail = VecDeque::with_capacity(TAIL + buffer.len());
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let (first, rest) = buffer[..length].split_at(length.min(head));
        to.write_all(first)?;
        head -= first.len();
        tail.extend(rest);
        let over = tail.len().saturating_sub(TAIL);
        tail.drain(..over);
        left_out += over;
    }
    if left_out > 0 {
        writeln!(
            to,
            "\n[l4s left out {left_out} bytes here: it keeps the first {} MiB and the last {} KiB]",
            HEAD >> 20,
            TAIL >> 10
        )?;
    }
    let (front, back) = tail.as_slices();
    to.write_all(front)?;
    to.write_all(back)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_middle_of_a_long_output_is_left_out() {
        let byte = |n: usize| (n % 251) as u8;
        for length in [0, 1, HEAD, HEAD + TAIL, HEAD + TAIL + 1, 3 * HEAD] {
            let all: Vec<u8> = (0..length).map(byte).collect();
            let mut kept = Vec::new();
            copy(&all[..], &mut kept).unwrap();
            if length <= HEAD + TAIL {
                assert_eq!(kept, all);
                continue;
            }
            assert_eq!(kept[..HEAD], all[..HEAD]);
            assert_eq!(kept[kept.len() - TAIL..], all[length - TAIL..]);
            let line = String::from_utf8(kept[HEAD..kept.len() - TAIL].to_vec()).unwrap();
            let left_out = length - HEAD - TAIL;
            assert!(line.starts_with(&format!("\n[l4s left out {left_out} bytes")), "{line}");
        }
    }
}
