//! Why a command stops, for people: what, where, what to do; and the exit code.

use std::fmt::Write;

use l4s_scenario::{Fault, Faults};

/// Why a command stops.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A scenario or `--set` is refused.
    #[error("{0}")]
    Scenario(#[from] Faults),
    /// Other input is refused.
    #[error("{message}")]
    Input {
        /// What was found, and what is accepted.
        message: String,
        /// What to do.
        help: Option<String>,
    },
    /// A run failed.
    #[error("{0}")]
    Run(String),
    /// This machine or version cannot run that substrate.
    #[error("{0}")]
    Substrate(String),
}

impl Failure {
    /// Bad input.
    pub fn input(message: impl Into<String>) -> Failure {
        Failure::Input { message: message.into(), help: None }
    }

    /// Bad input, and what to do about it.
    pub fn input_with(message: impl Into<String>, help: impl Into<String>) -> Failure {
        Failure::Input { message: message.into(), help: Some(help.into()) }
    }

    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Run(_) => 1,
            Failure::Scenario(_) | Failure::Input { .. } => 2,
            Failure::Substrate(_) => 3,
        }
    }

    /// What to print on stderr.
    pub fn report(&self) -> String {
        match self {
            Failure::Scenario(faults) => {
                let reports: Vec<_> = faults.0.iter().map(report).collect();
                let count = match reports.len() {
                    1 => String::new(),
                    n => format!("{n} errors; nothing was run\n"),
                };
                format!("{}{count}", reports.join("\n"))
            }
            Failure::Input { message, help } => {
                let help = help.iter().map(|help| format!("  help: {help}\n"));
                format!("error: {message}\n{}", help.collect::<String>())
            }
            Failure::Run(message) | Failure::Substrate(message) => format!("error: {message}\n"),
        }
    }
}

/// The longest stretch of a line that is shown.
const SHOWN: usize = 100;

/// A fault with its line, underlined.
fn report(fault: &Fault) -> String {
    let mut out = format!("error: {fault}\n");
    let gutter = fault.line.to_string().len();
    // A long line is shown from a little before the place.
    let skip = (fault.column - 1).saturating_sub(if fault.column > SHOWN { 20 } else { SHOWN });
    let printable = |c: char| if c == '\t' || c.is_control() { ' ' } else { c };
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
