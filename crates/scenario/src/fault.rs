//! Faults of a scenario: place, value, accepted values, remedy.

use std::borrow::Cow;
use std::ops::Range;

use l4s_units::{printable, printable_lines};

/// Everything wrong that was found, in the order of the text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", .0.iter().map(Fault::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Faults(pub Vec<Fault>);

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{source_name}:{line}:{column}: {message}")]
pub struct Fault {
    /// The file, or `--set`.
    pub source_name: String,
    /// The line, from 1.
    pub line: usize,
    /// The character in that line, from 1.
    pub column: usize,
    /// The text of that line.
    pub excerpt: String,
    /// How many characters of it, from `column` on, are meant; at least 1.
    pub width: usize,
    /// The value that was found and the accepted ones.
    pub message: String,
    /// The nearest spelling, or another way out.
    pub help: Option<String>,
    /// The run of a sweep that it was found in, when it is not in all of them.
    pub note: Option<String>,
}

/// Faults shown of one scenario: more would hide the first.
const MOST_FAULTS: usize = 30;
/// The longest line, in bytes, that is shown with a fault.
const LONGEST_LINE: usize = 100_000;
/// The longest word that may be a misspelt one.
const LONGEST_WORD: usize = 100;
/// The most characters of a message or help: keys may have megabytes.
const LONGEST_MESSAGE: usize = 2000;
/// The most words that a message lists.
const MOST_LISTED: usize = 40;

/// A text that values come from.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub name: String,
    pub text: String,
}

/// A stretch of a source: its number and a range of bytes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Place {
    pub source: usize,
    pub bytes: Range<usize>,
}

/// Gathers faults while reading goes on: the first ones of the text, however many there are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gathered {
    /// At most [`MOST_FAULTS`].
    faults: Vec<Found>,
    count: usize,
    /// The run of a sweep that is being read.
    run: Option<String>,
    /// How many runs were begun.
    runs: usize,
}

/// A fault as it was found.
#[derive(Clone, Debug)]
struct Found {
    place: Place,
    message: String,
    help: Option<String>,
    /// The first run that has it.
    run: Option<String>,
    /// How often it was found.
    times: usize,
}

impl Place {
    /// The sort key of faults.
    fn order(&self) -> (usize, usize) {
        (self.source, self.bytes.start)
    }
}

impl Gathered {
    /// Adds a fault, once: the runs of a sweep share most of their text.
    pub fn add(&mut self, place: &Place, message: impl Into<String>, help: Option<String>) {
        self.add_with(place, || (message.into(), help));
    }

    /// As [`Gathered::add`], for faults that may be as many as the words of the text: message and
    /// help are only made where they are shown.
    pub fn add_with(&mut self, place: &Place, fault: impl FnOnce() -> (String, Option<String>)) {
        self.count += 1;
        let last = self.faults.iter().map(|found| found.place.order()).max();
        if self.is_full() && last.is_some_and(|last| last < place.order()) {
            return;
        }
        let (message, help) = fault();
        // Keys, names and values are in it as they were written.
        let message = printable(cut(&message).as_ref()).into_owned();
        let help = help.map(|help| printable_lines(cut(&help).as_ref()).into_owned());
        let same = |found: &&mut Found| found.place == *place && found.message == message;
        if let Some(known) = self.faults.iter_mut().find(same) {
            known.times += 1;
            return;
        }
        let run = self.run.clone();
        self.faults.push(Found { place: place.clone(), message, help, run, times: 1 });
        if self.faults.len() > MOST_FAULTS {
            let place = |(_, found): &(usize, &Found)| found.place.order();
            let last = self.faults.iter().enumerate().max_by_key(place).map(|(number, _)| number);
            last.map(|number| self.faults.remove(number));
        }
    }

    /// From here on, faults are found in the run of a sweep that `name` describes.
    pub fn begin_run(&mut self, name: Option<String>) {
        self.run = name.map(|name| printable(&name).into_owned());
        self.runs += 1;
    }

    /// The number of calls of [`Gathered::add`]: shows whether a step found a fault.
    pub fn count(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// Whether there are as many as anybody reads.
    pub fn is_full(&self) -> bool {
        self.faults.len() >= MOST_FAULTS
    }

    /// The faults with their places found in `sources`.
    pub fn finish(self, sources: &[&Source]) -> Faults {
        let (mut faults, runs) = (self.faults, self.runs);
        faults.sort_by_key(|found| found.place.order());
        let locate = |found: Found| {
            let note = found.run.filter(|_| found.times < runs);
            let source = sources[found.place.source];
            locate(source, found.place.bytes, found.message, found.help, note)
        };
        Faults(faults.into_iter().map(locate).collect())
    }
}

fn locate(
    source: &Source,
    bytes: Range<usize>,
    message: String,
    help: Option<String>,
    note: Option<String>,
) -> Fault {
    let text = &source.text;
    let start = floor_char(text, bytes.start);
    let end = floor_char(text, bytes.end).max(start);
    let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
    // A line that nobody reads is not copied for each of its faults.
    let line = Some(&text[line_start..line_end]).filter(|line| line.len() <= LONGEST_LINE);
    let excerpt = line.unwrap_or_default().trim_end_matches('\r');
    Fault {
        source_name: printable(&source.name).into_owned(),
        line: text[..line_start].matches('\n').count() + 1,
        column: text[line_start..start].chars().count() + 1,
        excerpt: excerpt.to_owned(),
        width: text[start..end.min(line_end)].trim_end().chars().count().max(1),
        message,
        help,
        note,
    }
}

/// The first [`LONGEST_MESSAGE`] characters.
fn cut(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// The nearest boundary of a character at or before `at`.
fn floor_char(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

/// The candidate that is spelled most like `found`, when one is near enough to be meant.
pub fn nearest<'a>(found: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if found.len() > LONGEST_WORD {
        return None;
    }
    let found = found.to_lowercase();
    let similarity = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        strsim::normalized_damerau_levenshtein(&found, &candidate)
            .max(strsim::jaro_winkler(&found, &candidate) - 0.25)
    };
    candidates
        .into_iter()
        .map(|candidate| (similarity(candidate), candidate))
        .filter(|(similarity, _)| *similarity >= 0.5)
        // The first of equals: lists are in the order in which people meet them.
        .fold(None, |best: Option<(f64, &str)>, next| match best {
            Some(best) if best.0 >= next.0 => Some(best),
            _ => Some(next),
        })
        .map(|(_, candidate)| candidate)
}

/// `did you mean …?`, when a candidate is near.
pub(crate) fn did_you_mean<'a>(
    found: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(found, candidates).map(|near| format!("did you mean `{}`?", printable(near)))
}

/// `a, b or c`; of many words the first.
pub(crate) fn listed<S: AsRef<str>>(words: &[S]) -> String {
    let shown = words.iter().take(MOST_LISTED);
    let mut shown: Vec<_> = shown.map(|word| format!("`{}`", word.as_ref())).collect();
    if words.len() > MOST_LISTED {
        shown.push(format!("{} others", words.len() - MOST_LISTED));
    }
    match shown.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_nonsense_finds_none() {
        let words = ["rate", "buffer", "burst"];
        assert_eq!(nearest("rat", words), Some("rate"));
        assert_eq!(nearest("Bufer", words), Some("buffer"));
        assert_eq!(nearest("rtae", words), Some("rate"));
        assert_eq!(nearest("speed", words), None);
        assert_eq!(nearest("", words), None);
    }

    #[test]
    fn lines_and_columns_count_characters_from_one() {
        let source = Source { name: "f".into(), text: "a = 1\r\nµ = ü!\n".into() };
        let at = source.text.find('ü').unwrap();
        let fault = locate(&source, at..at + 3, "m".into(), None, None);
        assert_eq!((fault.line, fault.column, fault.width), (2, 5, 2));
        assert_eq!(fault.excerpt, "µ = ü!");
        let end = locate(&source, 999..1000, "m".into(), None, None);
        assert_eq!((end.line, end.column), (3, 1));
    }
}
