//! Rates as CSV with a header.
//!
//! A row has the time from which its rate is in force. Times count from the first row, so that a recording
//! with the time of day is one, too. The end of the trace is a last row with a time alone. Numbers are
//! decimal, and read to the nearest nanosecond and bit per second.

use std::fmt::Write;

use l4s_units::{Duration, Probability, Rate};

use crate::error::{Problem, TraceError, did_you_mean};
use crate::number::{Fault, decimal, text};
use crate::steps::Builder;
use crate::trace::Course;
use crate::{MAX_RATE, Step, Trace};

use super::{first_line, is_comment, lines};

/// A second and a millisecond in nanoseconds.
const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// The length of a trace that has a single row, whose rate is constant.
const CONSTANT: Duration = Duration::from_secs(1);

/// A quantity of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quantity {
    Time,
    Rate,
    Delay,
    Loss,
}

/// The columns: name, quantity, and its unit in nanoseconds or bits per second.
const COLUMNS: &[(&str, Quantity, u64)] = &[
    ("time_s", Quantity::Time, SECOND),
    ("time_ms", Quantity::Time, MS),
    ("rate_bps", Quantity::Rate, 1),
    ("rate_kbps", Quantity::Rate, 1_000),
    ("rate_mbps", Quantity::Rate, 1_000_000),
    ("delay_ms", Quantity::Delay, MS),
    ("loss", Quantity::Loss, 1),
];

/// A column of a file: its place, name and unit.
#[derive(Clone, Copy)]
struct Column {
    place: usize,
    name: &'static str,
    unit: u64,
}

/// The columns of a file.
struct Header {
    time: Column,
    rate: Column,
    delay: Option<Column>,
    loss: Option<Column>,
    fields: usize,
}

/// Whether a file's first line is that of a table, and not one of mahimahi's.
pub(super) fn is_header(line: &str) -> bool {
    let names = ["time", "rate", "delay", "loss", "\"", "'"];
    let start = line.trim_start().to_ascii_lowercase();
    line.contains([',', ';']) || names.iter().any(|name| start.starts_with(name))
}

pub(super) fn read(text: &str) -> Result<Trace, TraceError> {
    let header = Header::read(first_line(text)).map_err(|problem| problem.on(1))?;
    let (mut builder, mut zero, mut end) = (Builder::default(), None, None);
    let mut last = 1;
    for (line, content) in lines(text).skip(1) {
        if content.trim().is_empty() {
            return Err(Problem::EmptyLine.on(line));
        }
        if is_comment(content) {
            return Err(Problem::Comment.on(line));
        }
        if end.is_some() {
            return Err(Problem::AfterEnd.on(line));
        }
        let row = Row { header: &header, line, content };
        let time = row.time()?;
        let start = *zero.get_or_insert(time);
        if time < start {
            let (found, before) = (Duration::from_nanos(time), Duration::from_nanos(start));
            return Err(row.decreasing(found, before));
        }
        let at = Duration::from_nanos(time - start);
        if row.is_end() {
            end = Some(at);
        } else {
            let step = row.step(at)?;
            builder.push(step).map_err(|problem| row.fault(problem))?;
        }
        last = line;
    }
    if builder.is_empty() {
        let hint =
            Problem::Unsuited("there is a header and no row with a rate; at least one is accepted");
        return Err(hint.on(last));
    }
    let length = builder.last().map_or(CONSTANT, |(at, length)| at + length);
    let table = builder.finish(end.unwrap_or(length)).map_err(|problem| problem.on(last))?;
    Ok(Trace::from(table))
}

impl Header {
    fn read(line: &str) -> Result<Header, Problem> {
        if !line.contains(',') {
            for (separator, found) in [(';', "semicolons"), ('\t', "tabs")] {
                if line.contains(separator) {
                    return Err(Problem::Separator { found });
                }
            }
        }
        let names: Vec<&str> = line.split(',').map(unquoted).collect();
        // A row in place of the header.
        if names.iter().all(|name| name.is_empty() || decimal(name, 1) != Err(Fault::Other)) {
            return Err(Problem::NoHeader { found: line.to_owned() });
        }
        let mut columns: [Option<Column>; 4] = [None; 4];
        for (place, found) in names.iter().enumerate() {
            let is_named = |name: &str| name.eq_ignore_ascii_case(found) && !is_of_bytes(found);
            let known = COLUMNS.iter().find(|(name, ..)| is_named(name));
            let Some((name, quantity, unit)) = known else {
                let help = meant(found);
                return Err(Problem::Column { found: (*found).to_owned(), help });
            };
            let column = &mut columns[*quantity as usize];
            if let Some(before) = column {
                let (found, before) = ((*name).to_owned(), before.name.to_owned());
                return Err(Problem::TwoColumns { found, before, what: quantity.name() });
            }
            *column = Some(Column { place, name, unit: *unit });
        }
        let [time, rate, delay, loss] = columns;
        let need = |column: Option<Column>, what, accepted| {
            column.ok_or(Problem::NoColumn { what, accepted })
        };
        Ok(Header {
            time: need(time, Quantity::Time.name(), "`time_s` and `time_ms`")?,
            rate: need(rate, Quantity::Rate.name(), "`rate_bps`, `rate_kbps` and `rate_mbps`")?,
            delay,
            loss,
            fields: names.len(),
        })
    }
}

impl Quantity {
    fn name(self) -> &'static str {
        match self {
            Quantity::Time => "time",
            Quantity::Rate => "rate",
            Quantity::Delay => "delay",
            Quantity::Loss => "loss",
        }
    }
}

/// The column that a wrong name means. Only one of the same unit is suggested.
fn meant(found: &str) -> Option<String> {
    if is_of_bytes(found) {
        return Some(in_bits(found));
    }
    let lower = found.to_ascii_lowercase();
    let plain: String = lower.chars().filter(char::is_ascii_alphanumeric).collect();
    // Names of other tools, with the unit that is written in them.
    let other = match plain.as_str() {
        "times" | "timesec" | "timeseconds" | "seconds" | "timestamps" | "ts" => "time_s",
        "timemillis" | "timemsec" | "timestampms" | "ms" | "tms" => "time_ms",
        "bps" | "bits" | "ratebits" | "bandwidthbps" | "bwbps" | "throughputbps" => "rate_bps",
        "kbps" | "kbits" | "ratekbit" | "bandwidthkbps" | "bwkbps" | "throughputkbps" => {
            "rate_kbps"
        }
        "mbps" | "mbits" | "ratembit" | "bandwidthmbps" | "bwmbps" | "throughputmbps" => {
            "rate_mbps"
        }
        "latencyms" | "owdms" | "delay" => "delay_ms",
        "plr" | "lossrate" | "lossratio" => "loss",
        _ => return nearest(&lower),
    };
    Some(format!("did you mean `{other}`?"))
}

/// Whether a name has bytes per second, as in `rate_MBps`.
fn is_of_bytes(name: &str) -> bool {
    name.contains("Bps") || name.contains("B/s") || name.to_ascii_lowercase().contains("byte")
}

/// The column to which rates in bytes are to be converted.
fn in_bits(found: &str) -> String {
    let unit = found.rsplit('_').next().unwrap_or_default().to_ascii_lowercase();
    let column = match unit.as_bytes() {
        [b'k', ..] => "rate_kbps",
        [b'm', ..] => "rate_mbps",
        [b'b', ..] => "rate_bps",
        _ => return "it is in bytes; convert it to bits".to_owned(),
    };
    format!("it is in bytes; multiply by 8 for `{column}`")
}

/// The unit of a column, which its name ends with.
fn unit(name: &str) -> &str {
    name.rsplit_once('_').map_or("", |(_, unit)| unit)
}

/// The column of the same unit, or nearly so, that a name in lower case means. For a quantity in another unit, its columns.
fn nearest(found: &str) -> Option<String> {
    let names = || COLUMNS.iter().map(|(name, ..)| *name);
    let is_unit = names().any(|name| unit(name) == unit(found));
    // Such as `mbit` and `mbps`, or `msec` and `ms`; but neither `gbps` and `bps` nor `min` and `ms`.
    let is_like = |known: &str| {
        let same_letter = known.chars().next() == unit(found).chars().next();
        same_letter && (known.len() > 2 || unit(found).starts_with(known))
    };
    let is_meant = |name: &&str| match is_unit {
        true => unit(name) == unit(found),
        false => is_like(unit(name)),
    };
    let quantity = found.split('_').next().unwrap_or_default();
    did_you_mean(found, names().filter(is_meant)).or_else(|| {
        let of_it = names().filter(|name| name.split('_').next() == Some(quantity));
        let listed: Vec<String> = of_it.map(|name| format!("`{name}`")).collect();
        (!listed.is_empty() && found.contains('_'))
            .then(|| format!("convert it to {}", listed.join(" or ")))
    })
}

/// A line of a file after its header.
struct Row<'a> {
    header: &'a Header,
    line: u64,
    content: &'a str,
}

impl Row<'_> {
    fn field(&self, column: Column) -> &str {
        self.content.split(',').nth(column.place).map(unquoted).unwrap_or_default()
    }

    /// Its time in nanoseconds.
    fn time(&self) -> Result<u64, TraceError> {
        let found = self.content.split(',').count();
        if found != self.header.fields {
            return Err(Problem::Fields { found, expected: self.header.fields }.on(self.line));
        }
        self.number(self.header.time, "a time from 0 on")
    }

    /// Whether it has a time alone.
    fn is_end(&self) -> bool {
        let mut fields = self.content.split(',').enumerate();
        fields.all(|(place, field)| place == self.header.time.place || field.trim().is_empty())
    }

    fn step(&self, at: Duration) -> Result<Step, TraceError> {
        let rate = Rate::from_bps(self.number(self.header.rate, "a rate from 0 to 1 Tb/s")?);
        if rate > MAX_RATE {
            let help = self.slower(rate);
            return Err(
                self.refuse(self.header.rate, Problem::TooFast { found: rate.to_string(), help })
            );
        }
        let delay =
            self.header.delay.map(|column| self.number(column, "a delay from 0 to 4000 ms"));
        let delay = delay.transpose()?.map(Duration::from_nanos);
        let loss = self.header.loss.map(|column| self.loss(column)).transpose()?;
        Ok(Step { at, rate, delay, loss })
    }

    fn number(&self, column: Column, expected: &'static str) -> Result<u64, TraceError> {
        let found = self.field(column);
        decimal(found, column.unit).map_err(|fault| {
            let problem = Problem::Number { found: found.to_owned(), expected, help: fault.help() };
            self.refuse(column, problem)
        })
    }

    /// The column that makes a rate that is too high one that is not.
    fn slower(&self, rate: Rate) -> Option<String> {
        let fits = |unit: &u64| rate.as_bps() / self.header.rate.unit * unit <= MAX_RATE.as_bps();
        let others = COLUMNS.iter().filter(|(_, quantity, _)| *quantity == Quantity::Rate).rev();
        let (name, ..) =
            others.into_iter().find(|(_, _, unit)| *unit < self.header.rate.unit && fits(unit))?;
        Some(format!("is the column `{name}`?"))
    }

    fn loss(&self, column: Column) -> Result<Probability, TraceError> {
        let found = self.field(column);
        // A decimal has one nearest f64, so this is the same on every machine.
        match (decimal(found, 1), found.parse::<f64>()) {
            (Ok(_), Ok(loss)) if loss <= 1.0 => Ok(Probability::from_f64(loss)),
            (value, _) => {
                let help = match value {
                    Ok(percent) if percent <= 100 => {
                        // Two places further left.
                        decimal(found, 10_000).ok().map(|part| {
                            format!("if it is per cent, write {}", text(part, 1_000_000))
                        })
                    }
                    Ok(_) => None,
                    Err(fault) => fault.help(),
                };
                let expected = "a loss from 0 to 1";
                Err(self
                    .refuse(column, Problem::Number { found: found.to_owned(), expected, help }))
            }
        }
    }

    fn decreasing(&self, found: Duration, before: Duration) -> TraceError {
        let (found, before) = (found.to_string(), before.to_string());
        self.refuse(self.header.time, Problem::Decreasing { found, before, help: None })
    }

    /// The fault of a step, at the column that has it.
    fn fault(&self, problem: Problem) -> TraceError {
        match (&problem, self.header.delay) {
            (Problem::TooSlow { .. }, Some(delay)) => self.refuse(delay, problem),
            (Problem::TooMany { .. }, _) => problem.on(self.line),
            _ => self.refuse(self.header.time, problem),
        }
    }

    fn refuse(&self, column: Column, problem: Problem) -> TraceError {
        problem.in_field(self.line, column.name)
    }
}

/// A field without the white space and the quotation marks around it.
fn unquoted(field: &str) -> &str {
    let field = field.trim();
    let inner = field.strip_prefix('"').and_then(|field| field.strip_suffix('"'));
    inner.unwrap_or(field).trim()
}

pub(super) fn write(trace: &Trace) -> Result<Vec<u8>, Problem> {
    let Course::Steps(table) = &trace.course else {
        return Err(Problem::Unsuited(
            "CSV has rates, and this trace has opportunities; convert it first",
        ));
    };
    let (has_delay, has_loss) = table.has();
    let mut out = String::from("time_s,rate_bps");
    for name in
        [has_delay.then_some(",delay_ms"), has_loss.then_some(",loss")].into_iter().flatten()
    {
        out.push_str(name);
    }
    // A string takes everything.
    for step in (0..table.len()).map(|index| table.step(index)) {
        let _ = write!(out, "\n{},{}", text(step.at.as_nanos(), SECOND), step.rate.as_bps());
        if let Some(delay) = step.delay {
            let _ = write!(out, ",{}", text(delay.as_nanos(), MS));
        }
        if let Some(loss) = step.loss {
            let _ = write!(out, ",{}", loss.as_f64());
        }
    }
    let empty = ",".repeat(1 + usize::from(has_delay) + usize::from(has_loss));
    let _ = writeln!(out, "\n{}{empty}", text(table.period(), SECOND));
    Ok(out.into_bytes())
}
