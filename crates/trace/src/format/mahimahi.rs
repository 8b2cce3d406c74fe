//! mahimahi's traces: a line for each delivery opportunity, with its time in whole milliseconds.
//!
//! mahimahi (`LinkQueue` in `src/frontend/link_queue.cc`) refuses a file without a line, an empty line, a
//! line that is no whole number, a time before that of the line above, and a last time of 0. It accepts
//! several opportunities at one time, a first time of 0, and white space before a number. It begins the
//! trace again at its last time. All that is the same here. Other than there, CRLF is accepted and a
//! negative number is not.

use std::io::Write;

use crate::Trace;
use crate::error::{Problem, TraceError};
use crate::number::{Fault, decimal};
use crate::opportunities::Builder;
use crate::trace::Course;

use super::{is_comment, lines};

pub(super) fn read(text: &str) -> Result<Trace, TraceError> {
    let mut builder = Builder::default();
    let mut last = 1;
    for (line, content) in lines(text) {
        let ms = milliseconds(content).map_err(|problem| problem.on(line))?;
        builder.push(ms).map_err(|problem| problem.on(line))?;
        last = line;
    }
    Ok(Trace::from(builder.finish().map_err(|problem| problem.on(last))?))
}

/// The number of a line.
fn milliseconds(line: &str) -> Result<u64, Problem> {
    let number = line.trim();
    if number.is_empty() {
        return Err(Problem::EmptyLine);
    }
    if is_comment(number) {
        return Err(Problem::Comment);
    }
    let digits = number.strip_prefix('+').unwrap_or(number);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        if let Ok(ms) = digits.parse() {
            return Ok(ms);
        }
    }
    let help = match decimal(number, 1) {
        Ok(nearest) => Some(format!("the nearest is {nearest}")),
        Err(Fault::Other) => words(number),
        Err(fault) => fault.help(),
    };
    let expected = "a whole number of milliseconds, one a line, as mahimahi has them";
    Err(Problem::Number { found: number.to_owned(), expected, help })
}

/// A remark on a line of another form.
fn words(line: &str) -> Option<String> {
    let is_number = |part: &str| decimal(part, 1).is_ok();
    let mut parts = line.split_whitespace();
    let two = parts.next().is_some_and(is_number) && parts.next().is_some_and(is_number);
    two.then(|| "for times and rates write CSV with a header such as `time_s,rate_mbps`".to_owned())
}

pub(super) fn write(trace: &Trace) -> Result<Vec<u8>, Problem> {
    let Course::Opportunities(schedule) = &trace.course else {
        return Err(Problem::Unsuited(
            "mahimahi's format has opportunities, and this trace has rates; convert it first",
        ));
    };
    let mut out = Vec::with_capacity(schedule.count() as usize * 8);
    let mut line = Vec::new();
    for (ms, number) in schedule.lines() {
        line.clear();
        // A vector takes everything.
        let _ = writeln!(line, "{ms}");
        (0..number).for_each(|_| out.extend_from_slice(&line));
    }
    Ok(out)
}
