//! Texts of others on a terminal.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character controls a terminal, changes the direction of text, or is invisible:
/// controls (ESC and C1 begin sequences), line separators, marks of direction, and characters
/// without a width.
pub fn steers(c: char) -> bool {
    matches!(c,
        '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}')
        || c.is_control()
}

/// A text on one line. Characters that control a terminal are escaped as in TOML and JSON: `\u001B`.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, steers)
}

/// The same of a text of several lines, whose line breaks and tabs stay.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| steers(c) && !matches!(c, '\n' | '\t'))
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_escaped(c) {
            // All of them are below U+10000.
            true => drop(write!(out, "\\u{:04X}", c as u32)),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_steers_a_terminal_is_spelled_out() {
        let hostile = "a\u{1b}[31mb\u{9b}2Jc\u{7f}\u{202e}d\r\n\te\u{200b}";
        assert_eq!(
            printable(hostile),
            r"a\u001B[31mb\u009B2Jc\u007F\u202Ed\u000D\u000A\u0009e\u200B"
        );
        assert!(printable_lines(hostile).contains("\\u000D\n\te"));
        let harmless = "Mb/s µs × 10⁻⁴ \"quoted\" 日本 \u{1f40c}";
        assert_eq!(printable(harmless), harmless);
    }

    proptest! {
        #[test]
        fn nothing_is_left_that_steers(text: String) {
            prop_assert!(!printable(&text).chars().any(steers));
            let of_lines = |c: char| steers(c) && c != '\n' && c != '\t';
            prop_assert!(!printable_lines(&text).chars().any(of_lines));
            let once = printable(&text);
            prop_assert_eq!(printable(&once), once.as_ref());
        }
    }
}
