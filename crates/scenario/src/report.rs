//! Faults, in words for people.

use std::fmt::Write;

use l4s_units::printable_lines;

use crate::{Fault, Faults, Refused};

impl Faults {
    /// Every fault with its line, and the remedy.
    pub fn report(&self) -> String {
        let reports: Vec<_> = self.0.iter().map(reported).collect();
        let count = match reports.len() {
            1 => String::new(),
            n => format!("{n} errors; nothing was run\n"),
        };
        format!("{}{count}", reports.join("\n"))
    }
}

impl Fault {
    /// The key that it is about, such as `link.rate`: the beginning of its message.
    pub fn key(&self) -> Option<&str> {
        let (key, _) = self.message.strip_prefix('`')?.split_once('`')?;
        Some(key)
    }
}

impl Refused {
    /// Why there is no plan, and the remedy.
    pub fn report(&self) -> String {
        match self {
            Refused::Scenario(faults) => faults.report(),
            Refused::Unreadable { message, help } => report(message, help.as_deref()),
        }
    }
}

/// A fault without a place in a text, and the remedy.
pub fn report(message: &str, help: Option<&str>) -> String {
    let help = help.map(|help| format!("  help: {}\n", printable_lines(help)));
    let help = help.unwrap_or_default();
    format!("error: {}\n{help}", printable_lines(message))
}

/// The longest stretch of a line that is shown.
const SHOWN: usize = 100;

/// A fault with its line, underlined.
fn reported(fault: &Fault) -> String {
    let mut out = format!("error: {fault}\n");
    let gutter = fault.line.to_string().len();
    // A long line is shown from a little before the place.
    let skip = (fault.column - 1).saturating_sub(if fault.column > SHOWN { 20 } else { SHOWN });
    // A character for a character, so that the line below points at the right ones.
    let printable = |c: char| if l4s_units::steers(c) { ' ' } else { c };
    let excerpt: String = fault.excerpt.chars().skip(skip).take(SHOWN).map(printable).collect();
    if !excerpt.trim().is_empty() {
        let indent = fault.column - 1 - skip;
        let width = fault.width.min(SHOWN - indent.min(SHOWN - 1));
        let _ = writeln!(out, "{:gutter$} |", "");
        let _ = writeln!(out, "{} | {}", fault.line, excerpt.trim_end());
        let _ = writeln!(out, "{:gutter$} | {:indent$}{}", "", "", "^".repeat(width));
    }
    if let Some(help) = &fault.help {
        let _ = writeln!(out, "{:gutter$} = help: {help}", "");
    }
    if let Some(note) = &fault.note {
        let _ = writeln!(out, "{:gutter$} = {note}", "");
    }
    out
}
