//! From one format to another, with a note for everything that is lost on the way.

use std::cmp::Ordering;

use l4s_trace::{Format, Kind, OPPORTUNITY, Step, TUN, Trace, TraceError};
use l4s_units::{Bytes, Duration, ETHERNET, Time};

use crate::args::TraceFormat;
use crate::failure::Failure;

use super::target::Target;

/// The length of a step where opportunities become rates, if no other is set: that of the windows of
/// `l4s trace show`.
const INTERVAL: Duration = Duration::from_millis(100);

/// A trace as the bytes of a file.
pub struct Converted {
    bytes: Vec<u8>,
    /// The losses of the conversion.
    notes: Vec<String>,
}

/// Why a trace is not converted.
pub enum Fault {
    /// The trace.
    Trace(TraceError),
    /// An option.
    Option(String),
}

impl Fault {
    /// As a failure with the trace of this name.
    pub fn of(self, name: &str) -> Failure {
        match self {
            Fault::Trace(error) => Failure::input(format!("{name}: {error}")),
            Fault::Option(message) => Failure::input(message),
        }
    }
}

impl From<TraceError> for Fault {
    fn from(error: TraceError) -> Fault {
        Fault::Trace(error)
    }
}

impl Converted {
    /// Writes it, and then prints the notes.
    pub fn write(&self, target: &Target) -> Result<(), Failure> {
        target.write(&self.bytes)?;
        self.notes.iter().for_each(|note| say!("note: {note}"));
        Ok(())
    }
}

/// The trace in a format.
pub fn convert(
    trace: &Trace,
    to: TraceFormat,
    interval: Option<Duration>,
) -> Result<Converted, Fault> {
    let format = match to {
        TraceFormat::Mahimahi => Format::Mahimahi,
        TraceFormat::Csv => Format::Csv,
        TraceFormat::Json => Format::Json,
    };
    let (from, into) = (trace.kind(), kind_of(format));
    if let Some(interval) = interval.filter(|_| (from, into) != (Kind::Opportunities, Kind::Steps))
    {
        let found = if from == into { "keeps the steps of the trace" } else { "has opportunities" };
        return Err(Fault::Option(format!(
            "--interval {interval}: found a conversion that {found}, expected one from opportunities \
             to rates"
        )));
    }
    let mut notes = Vec::new();
    let bare =
        if format == Format::Csv { None } else { without_delay_and_loss(trace, &mut notes)? };
    let trace = bare.as_ref().unwrap_or(trace);
    let converted = match (from, into) {
        (Kind::Steps, Kind::Opportunities) => {
            let converted = trace.to_opportunities()?;
            let (before, after) = (rates(trace.entries()), converted.entries());
            notes.push(format!(
                "{before} became {after} opportunities of {} B, each at a whole millisecond",
                OPPORTUNITY.get()
            ));
            converted
        }
        (Kind::Opportunities, Kind::Steps) => {
            let step = interval.unwrap_or(INTERVAL);
            let converted = trace
                .to_steps(step)
                .map_err(|error| Fault::Option(format!("--interval {step}: {error}")))?;
            let (before, after) = (trace.entries(), rates(converted.entries()));
            notes.push(format!(
                "{before} opportunities became {after} of {step} each: bursts and gaps within {step} \
                 are averaged{}",
                if interval.is_none() { " (--interval sets another time)" } else { "" }
            ));
            converted
        }
        _ => trace.clone(),
    };
    if from != into {
        notes.push(headers(into));
    }
    notes.extend(rounding(trace, &converted));
    Ok(Converted { bytes: converted.write(format)?, notes })
}

fn kind_of(format: Format) -> Kind {
    if format == Format::Mahimahi { Kind::Opportunities } else { Kind::Steps }
}

fn rates(number: usize) -> String {
    if number == 1 { "1 rate".to_owned() } else { format!("{number} rates") }
}

/// The effect of the headers, which packets have in a trace of this kind, and others in one of the other kind.
fn headers(into: Kind) -> String {
    let (before, after, word) = match into {
        Kind::Opportunities => (ETHERNET, TUN, "more"),
        Kind::Steps => (TUN, ETHERNET, "fewer"),
    };
    let percent = |packet: u64| {
        let size = |header: Bytes| (packet + header.get()) as f64;
        (size(before) / size(after) - 1.0).abs() * 100.0
    };
    format!(
        "a packet takes {} B of Ethernet from a rate, and {} B of TUN from opportunities: {:.1} % {word} \
         packets of 1500 B pass, and {:.1} % {word} of 100 B",
        ETHERNET.get(),
        TUN.get(),
        percent(1500),
        percent(100)
    )
}

/// The trace without delay and loss, if it has any.
fn without_delay_and_loss(
    trace: &Trace,
    notes: &mut Vec<String>,
) -> Result<Option<Trace>, TraceError> {
    let first = trace.steps().and_then(|mut steps| steps.next());
    let Some(Step { delay, loss, .. }) = first else { return Ok(None) };
    let what = match (delay, loss) {
        (None, None) => return Ok(None),
        (Some(_), None) => "the one-way delay is",
        (None, Some(_)) => "the loss is",
        (Some(_), Some(_)) => "one-way delay and loss are",
    };
    notes.push(format!("{what} left out: this format has none, and CSV has"));
    let steps = trace.steps().into_iter().flatten();
    Trace::from_steps(steps.map(|step| Step::new(step.at, step.rate)), trace.period()).map(Some)
}

/// The effect of rounding on the length and the bytes of a period.
fn rounding(before: &Trace, after: &Trace) -> Option<String> {
    let bytes = |trace: &Trace| trace.bytes_between(Time::ZERO, Time::ZERO + trace.period()).get();
    let mut effects = Vec::new();
    if before.period() != after.period() {
        effects.push(format!("the length is {} instead of {}", after.period(), before.period()));
    }
    let (old, new) = (bytes(before), bytes(after));
    let difference = old.abs_diff(new);
    match new.cmp(&old) {
        Ordering::Greater => effects.push(format!("{difference} B more pass in it")),
        Ordering::Less => effects.push(format!("{difference} B fewer pass in it")),
        Ordering::Equal => {}
    }
    (!effects.is_empty()).then(|| format!("rounding: of {old} B, {}", effects.join(", ")))
}
