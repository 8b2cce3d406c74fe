//! The formats of files. Which one a file has is found by its content, and never by its name.

mod csv;
mod json;
mod mahimahi;

use crate::error::{Problem, TraceError};
use crate::{MAX_BYTES, Trace};

/// A format of files.
///
/// ```
/// use l4s_trace::{Format, Trace};
///
/// let trace = Trace::read(b"time_ms,rate_kbps\n0,500\n10,1500\n20,\n")?;
/// let csv = trace.write(Format::Csv)?;
/// assert_eq!(csv, b"time_s,rate_bps\n0,500000\n0.01,1500000\n0.02,\n");
/// assert_eq!(Trace::read(&csv)?, trace);
/// # Ok::<(), l4s_trace::TraceError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// mahimahi's: a line for each delivery opportunity, with its time in whole milliseconds.
    Mahimahi,
    /// Rates as CSV with a header: `time_s` or `time_ms`; `rate_bps`, `rate_kbps` or `rate_mbps`; and, where
    /// there are such, `delay_ms` and `loss`. Times count from the first row. A last row without a rate is the end
    /// of the trace. Without such a row the last step is as long as the one before it, or a second.
    Csv,
    /// Rates in the JSON of the Rust crate netem-trace: `StaticBwConfig`, `TraceBwConfig` and
    /// `RepeatedBwPatternConfig` are read, with numbers or with units. A trace that ends there repeats here.
    Json,
}

impl Format {
    /// The format as which [`Trace::read`] reads these bytes, which need not be a trace. `None` where there is
    /// only white space, or no text.
    ///
    /// ```
    /// use l4s_trace::Format;
    ///
    /// assert_eq!(Format::of(b"time_s,rate_mbps\n"), Some(Format::Csv));
    /// assert_eq!(Format::of(b"5\n7\n"), Some(Format::Mahimahi));
    /// assert_eq!(Format::of(b"{"), Some(Format::Json));
    /// assert_eq!(Format::of(b"\n"), None);
    /// ```
    pub fn of(bytes: &[u8]) -> Option<Format> {
        Format::of_text(text(bytes).ok()?)
    }

    fn of_text(text: &str) -> Option<Format> {
        let trimmed = text.trim_start();
        if trimmed.is_empty() {
            None
        } else if trimmed.starts_with(['{', '[']) {
            Some(Format::Json)
        } else if csv::is_header(first_line(text)) {
            Some(Format::Csv)
        } else {
            Some(Format::Mahimahi)
        }
    }
}

/// The first bytes of compressed files.
const PACKED: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"PK\x03\x04", "zip"),
];

/// The first character of a UTF-8 text that is marked as one.
const BOM: &str = "\u{feff}";

impl Trace {
    /// The trace in a file's bytes. Its format is found by content: JSON begins with a bracket, CSV with a
    /// header, and a mahimahi trace has a number on each line. CRLF and a byte order mark are accepted.
    ///
    /// # Errors
    /// It is none, with the line and the column, the text there, and the accepted values.
    pub fn read(bytes: &[u8]) -> Result<Trace, TraceError> {
        if bytes.len() > MAX_BYTES {
            return Err(Problem::TooLarge { found: bytes.len() as u64 }.into());
        }
        let text = text(bytes)?;
        match Format::of_text(text) {
            Some(_) if is_comment(first_line(text)) => Err(Problem::Comment.on(1)),
            Some(Format::Json) => json::read(text),
            Some(Format::Csv) => csv::read(text),
            Some(Format::Mahimahi) => mahimahi::read(text),
            None if text.is_empty() => Err(Problem::Empty.into()),
            None => Err(Problem::Blank.into()),
        }
    }

    /// The bytes of a file that [`Trace::read`] reads as the same trace.
    ///
    /// # Errors
    /// The format cannot express it: mahimahi's has opportunities alone, and the others have rates alone.
    /// JSON has neither delay nor loss.
    pub fn write(&self, format: Format) -> Result<Vec<u8>, TraceError> {
        match format {
            Format::Mahimahi => mahimahi::write(self),
            Format::Csv => csv::write(self),
            Format::Json => json::write(self),
        }
        .map_err(TraceError::from)
    }
}

/// The bytes as text without a byte order mark.
fn text(bytes: &[u8]) -> Result<&str, TraceError> {
    if let Some((_, format)) = PACKED.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Err(Problem::Packed { format }.into());
    }
    if is_utf16(bytes) {
        return Err(Problem::Utf16.into());
    }
    let odd = |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r');
    let valid = match std::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) => error.valid_up_to(),
    };
    let place = bytes[..valid].iter().position(odd).or((valid < bytes.len()).then_some(valid));
    if let Some(place) = place {
        let line = 1 + bytes[..place].iter().filter(|byte| **byte == b'\n').count() as u64;
        return Err(Problem::Binary { byte: bytes[place] }.on(line));
    }
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    Ok(text.strip_prefix(BOM).unwrap_or(text))
}

/// Whether a text in UTF-16 or UTF-32 begins here: with its byte order mark, or with an ASCII character.
fn is_utf16(bytes: &[u8]) -> bool {
    matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..])
        || matches!(bytes, [a, 0, b, 0, ..] | [0, a, 0, b, ..] if [a, b].iter().all(|c| **c != 0 && c.is_ascii()))
        || matches!(bytes, [0, 0, 0xfe, 0xff, ..])
}

/// The first line, without its end.
fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Whether a line is a comment of other programs.
fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

/// Every line with its number, without its end. The text after the last end of a line is one if it is not
/// empty.
fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    (1..).zip(text.lines())
}
