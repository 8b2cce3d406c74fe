//! Why bytes or numbers are no trace: the place, the value that was found, the accepted ones, and the nearest right one.

use core::fmt;

use l4s_units::printable;

/// Why something is no trace.
///
/// ```
/// use l4s_trace::{Problem, Trace};
///
/// let error = Trace::read(b"5\n3\n").unwrap_err();
/// assert_eq!(error.place.as_ref().unwrap().line, 2);
/// assert!(matches!(error.problem, Problem::Decreasing { .. }));
/// assert!(error.to_string().starts_with("line 2: the time 3 ms is before 5 ms"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}{problem}", at(place))]
pub struct TraceError {
    /// The place in the file, if there is one.
    pub place: Option<Place>,
    /// The fault, with the accepted values.
    #[source]
    pub problem: Problem,
}

/// A place in a file.
///
/// ```
/// use l4s_trace::Trace;
///
/// let error = Trace::read(b"time_s,rate_mbps\n0,5\n1,nan\n").unwrap_err();
/// let place = error.place.unwrap();
/// assert_eq!((place.line, place.field.as_deref()), (3, Some("rate_mbps")));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The line, from 1 on.
    pub line: u64,
    /// The column of a CSV, or the position in a line of JSON.
    pub field: Option<String>,
}

/// The fault of a trace. Each message has the value that was found and the accepted ones.
///
/// Example: [`TraceError`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// There are no bytes, or no entries.
    #[error("the trace is empty; accepted are {FORMATS}")]
    Empty,
    /// There is only white space.
    #[error("there is only white space; accepted are {FORMATS}")]
    Blank,
    /// The file is larger than [`crate::MAX_BYTES`].
    #[error("{found} bytes are too many; at most {} are read", crate::MAX_BYTES)]
    TooLarge {
        /// Its size in bytes.
        found: u64,
    },
    /// There are more entries than [`crate::MAX_ENTRIES`].
    #[error("there are more than {} entries, which is the limit; {hint}", crate::MAX_ENTRIES)]
    TooMany {
        /// The way out.
        hint: &'static str,
    },
    /// The text is in UTF-16 or UTF-32.
    #[error(
        "the text is in UTF-16 or UTF-32; save it as UTF-8 (such as `iconv -f utf-16 -t utf-8`)"
    )]
    Utf16,
    /// The file is compressed.
    #[error("this is {format} data; unpack it first")]
    Packed {
        /// The format.
        format: &'static str,
    },
    /// A byte that no text contains.
    #[error("the byte 0x{byte:02x} is no text in UTF-8; accepted are {FORMATS}")]
    Binary {
        /// The byte.
        byte: u8,
    },
    /// A line without content.
    #[error("the line is empty; each line has one number, and only the end of the file has none")]
    EmptyLine,
    /// A line that other programs leave out.
    #[error("the line begins with `#`; comments are not accepted")]
    Comment,
    /// A number was expected.
    #[error("`{}` is not {expected}{}", shown(found), also(help))]
    Number {
        /// The text in its place.
        found: String,
        /// The accepted form.
        expected: &'static str,
        /// The nearest right one, or the reason.
        help: Option<String>,
    },
    /// A time is before the one that precedes it.
    #[error(
        "the time {found} is before {before} of the entry before it; times increase{}",
        also(help)
    )]
    Decreasing {
        /// The time.
        found: String,
        /// The one before it.
        before: String,
        /// The way out.
        help: Option<String>,
    },
    /// Two steps begin at one time.
    #[error("the time {found} is there twice; each step begins later than the one before it")]
    Twice {
        /// The time.
        found: String,
    },
    /// The first step begins later than the trace.
    #[error("the first step begins at {found}; it must begin at 0s")]
    LateStart {
        /// When it begins.
        found: String,
    },
    /// The trace takes no time, so that it cannot repeat.
    #[error("the trace ends at time 0; its last time must be later, because it repeats from there")]
    ZeroPeriod,
    /// The trace takes too long.
    #[error(
        "the time {found} is above the limit of {} (49 days); times count from the start of the trace",
        crate::MAX_PERIOD
    )]
    TooLong {
        /// The time.
        found: String,
    },
    /// Nothing ever passes.
    #[error("every rate is 0, so that nothing ever passes; at least one must be above 0")]
    NoCapacity,
    /// A rate above the limit.
    #[error("the rate {found} is above the limit of 1 Tb/s{}", also(help))]
    TooFast {
        /// The rate.
        found: String,
        /// The nearest right one.
        help: Option<String>,
    },
    /// A one-way delay above the limit.
    #[error("the one-way delay {found} is above the limit of {}", crate::MAX_DELAY)]
    TooSlow {
        /// The delay.
        found: String,
    },
    /// A step has a delay or a loss, and another one has none.
    #[error("some steps have a {what} and others have none; either all steps have one or none has")]
    Partial {
        /// The quantity.
        what: &'static str,
    },
    /// The first line of a CSV has no names.
    #[error("the first line is `{}`; it must be a header such as `time_s,rate_mbps`", shown(found))]
    NoHeader {
        /// The line.
        found: String,
    },
    /// Columns are not separated by commas.
    #[error("the columns of the header are separated by {found}; accepted are commas")]
    Separator {
        /// The separator.
        found: &'static str,
    },
    /// A column that has no meaning.
    #[error("`{}` is no column; accepted are {COLUMNS}{}", shown(found), also(help))]
    Column {
        /// Its name.
        found: String,
        /// The nearest right one.
        help: Option<String>,
    },
    /// Two columns for one quantity.
    #[error("`{found}` and `{before}` are both columns of the {what}; one is accepted")]
    TwoColumns {
        /// The second one.
        found: String,
        /// The first one.
        before: String,
        /// The quantity.
        what: &'static str,
    },
    /// A column is missing.
    #[error("there is no column of the {what}; accepted are {accepted}")]
    NoColumn {
        /// The quantity.
        what: &'static str,
        /// Its columns.
        accepted: &'static str,
    },
    /// A row has more or fewer fields than the header.
    #[error("the line has {found} fields and the header has {expected}")]
    Fields {
        /// Fields of the row.
        found: usize,
        /// Fields of the header.
        expected: usize,
    },
    /// There are rows after the one that ends the trace.
    #[error("a row follows the one without a rate, which is the end of the trace")]
    AfterEnd,
    /// A JSON that is none, or no trace of netem-trace.
    #[error("{0}")]
    Json(String),
    /// The format cannot express the trace.
    #[error("{0}")]
    Unsuited(&'static str),
    /// No model has this name.
    #[error(
        "`{}` is no model; accepted are lte, 5g, wifi, starlink and cable{}",
        shown(found),
        also(help)
    )]
    Model {
        /// The name.
        found: String,
        /// The nearest right one.
        help: Option<String>,
    },
    /// An interval, an offset or a mean that is out of range.
    #[error("{what} is {found}; accepted is {accepted}")]
    Argument {
        /// The argument.
        what: &'static str,
        /// Its value.
        found: String,
        /// The accepted values.
        accepted: &'static str,
    },
}

/// The accepted formats, in words.
const FORMATS: &str =
    "a mahimahi trace (whole milliseconds, one a line), CSV with a header, and JSON of netem-trace";

/// The accepted columns, in words.
const COLUMNS: &str =
    "`time_s` or `time_ms`, `rate_bps`, `rate_kbps` or `rate_mbps`, `delay_ms` and `loss`";

/// The longest part of a file's text in a message.
const LONGEST: usize = 40;

#[cfg(feature = "files")]
impl Problem {
    /// As the error of a file's line.
    pub(crate) fn on(self, line: u64) -> TraceError {
        TraceError { place: Some(Place { line, field: None }), problem: self }
    }

    /// As the error of a column in a file's line.
    pub(crate) fn in_field(self, line: u64, field: &str) -> TraceError {
        TraceError { place: Some(Place { line, field: Some(field.to_owned()) }), problem: self }
    }
}

impl From<Problem> for TraceError {
    fn from(problem: Problem) -> TraceError {
        TraceError { place: None, problem }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        self.field.iter().try_for_each(|field| write!(f, ", column `{}`", shown(field)))
    }
}

fn at(place: &Option<Place>) -> String {
    place.as_ref().map_or(String::new(), |place| format!("{place}: "))
}

fn also(help: &Option<String>) -> String {
    help.as_ref().map_or(String::new(), |help| format!("; {help}"))
}

/// Text of a file in a message: short, on one line, and without control sequences.
fn shown(text: &str) -> String {
    let short: String = text.chars().take(LONGEST).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{}{more}", printable(&short))
}

/// "did you mean …?", with the one of `known` that is nearest to `found`, if it is near enough to be meant.
#[cfg(feature = "files")]
pub(crate) fn did_you_mean<'a>(
    found: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    // The longest name has 23 letters; the distance takes time with the product of the lengths.
    if found.len() > 64 {
        return None;
    }
    let found = found.to_ascii_lowercase();
    let score = |name: &&str| strsim::jaro_winkler(&found, &name.to_ascii_lowercase());
    let best = known.into_iter().max_by(|a, b| score(a).total_cmp(&score(b)))?;
    (score(&best) > 0.75).then(|| format!("did you mean `{best}`?"))
}

/// Without the feature `files` there is no distance of names.
#[cfg(not(feature = "files"))]
pub(crate) fn did_you_mean<'a>(
    _found: &str,
    _known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    None
}
