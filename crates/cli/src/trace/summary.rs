//! The statistics of a trace, for people and as JSON.

use std::fmt::Write;

use l4s_trace::{Correlation, Format, Gaps, Kind, PERCENTILES, Statistics, Step, Windows};
use l4s_units::{Duration, Rate};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::table::{Align, aligned};

use super::source::Source;

/// A rate in Mb/s.
pub fn mbps(rate: Rate) -> f64 {
    rate.as_bps() as f64 / 1e6
}

/// A number with four significant digits.
pub fn figure(value: f64) -> String {
    format!("{value:.0$}", decimals(value))
}

/// The digits after the point that give four significant ones, and at most six.
fn decimals(value: f64) -> usize {
    if value <= 0.0 { 0 } else { (3.0 - value.log10().floor()).clamp(0.0, 6.0) as usize }
}

/// A time to three digits after the point, in its unit.
pub fn rounded(time: Duration) -> Duration {
    let units = [1_000_000_000, 1_000_000, 1_000];
    let unit = units.into_iter().find(|unit| time.as_nanos() >= *unit).unwrap_or(1_000);
    let thousandth = unit / 1_000;
    Duration::from_nanos((time.as_nanos() + thousandth / 2) / thousandth * thousandth)
}

/// The least and the greatest value, where each step has one.
fn range<T: Ord + Copy>(source: &Source, value: fn(&Step) -> Option<T>) -> Option<(T, T)> {
    let values = || source.trace.steps().into_iter().flatten().filter_map(|step| value(&step));
    Some((values().min()?, values().max()?))
}

fn ms(time: Duration) -> String {
    time.as_millis_f64().to_string()
}

/// The summary for people.
pub fn text(source: &Source) -> String {
    let statistics = source.trace.statistics();
    let mut out = format!("{}: {}\n", source.name, origin(source));
    let kind = match source.trace.kind() {
        Kind::Opportunities => "opportunities of 1504 B",
        Kind::Steps => "rate steps",
    };
    let mut rows = vec![
        ("length", rounded(statistics.length).to_string()),
        (kind, statistics.entries.to_string()),
        ("mean rate", format!("{} Mb/s", figure(mbps(statistics.mean)))),
        (
            "longest gap",
            match statistics.longest_gap {
                Duration::ZERO => "none".to_owned(),
                gap => rounded(gap).to_string(),
            },
        ),
    ];
    if let Some((low, high)) = range(source, |step| step.delay) {
        rows.push(("one-way delay", format!("{} to {}", rounded(low), rounded(high))));
    }
    if let Some((low, high)) = range(source, |step| step.loss) {
        let percent = |loss: l4s_units::Probability| figure(loss.as_f64() * 100.0);
        rows.push(("loss", format!("{} to {} %", percent(low), percent(high))));
    }
    let rows: Vec<_> = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    out += &aligned(&rows, &[]);
    let _ = write!(out, "\n{}", percentiles(&statistics));
    if !statistics.autocorrelation.is_empty() {
        let _ = write!(out, "\n{}", correlations(&statistics.autocorrelation));
    }
    out
}

fn origin(source: &Source) -> String {
    if let Some(bundled) = source.bundled {
        let (model, about) = (bundled.model.name(), bundled.model.about());
        return format!("bundled, model {model} with seed {}: {about}", bundled.seed);
    }
    match source.format {
        Some(Format::Mahimahi) => "a mahimahi trace",
        Some(Format::Json) => "JSON of netem-trace",
        Some(Format::Csv) | None => "CSV",
    }
    .to_owned()
}

/// A table of rates and gaps at the percentiles.
fn percentiles(statistics: &Statistics) -> String {
    let mut head = vec![String::new()];
    head.extend(PERCENTILES.map(|percent| format!("p{percent}")));
    head.push("variation".to_owned());
    let digits = decimals(mbps(statistics.mean));
    let row = |name: &str, windows: &Windows| {
        let mut row = vec![name.to_owned()];
        row.extend(windows.percentiles.map(|rate| format!("{:.digits$}", mbps(rate))));
        row.push(format!("{:.3}", windows.variation));
        row
    };
    let mut rows = vec![
        head,
        row("Mb/s over 100 ms", &statistics.tenth),
        row("Mb/s over 1 s", &statistics.second),
    ];
    if let Some(Gaps { percentiles, .. }) = &statistics.gaps {
        let mut row = vec!["gap in ms".to_owned()];
        row.extend(percentiles.map(ms));
        rows.push(row);
    }
    let right = [Align::Right; PERCENTILES.len() + 1];
    aligned(&rows, &[&[Align::Left][..], &right].concat())
}

fn correlations(all: &[Correlation]) -> String {
    let mut rows = [vec!["lag".to_owned()], vec!["autocorrelation".to_owned()]];
    for Correlation { lag, value } in all {
        rows[0].push(lag.to_string());
        rows[1].push(format!("{value:.3}"));
    }
    let right = vec![Align::Right; all.len()];
    aligned(&rows, &[&[Align::Left][..], &right].concat())
}

/// A trace as JSON. Units are in the names.
#[derive(Serialize)]
struct Json<'a> {
    name: &'a str,
    kind: &'static str,
    /// Null for a bundled trace.
    format: Option<&'static str>,
    length_s: f64,
    entries: u64,
    mean_bps: u64,
    rate_100ms: JsonWindows,
    rate_1s: JsonWindows,
    autocorrelation: Vec<JsonCorrelation>,
    longest_gap_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    gap_ms: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_ms: Option<Range>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<Range>,
}

#[derive(Serialize)]
struct JsonWindows {
    windows: u64,
    variation: f64,
    bps: Map<String, Value>,
}

#[derive(Serialize)]
struct JsonCorrelation {
    lag_s: f64,
    value: f64,
}

#[derive(Serialize)]
struct Range {
    min: f64,
    max: f64,
}

/// One line of JSON.
pub fn json(source: &Source) -> Result<String, Failure> {
    let statistics = source.trace.statistics();
    let windows = |windows: &Windows| JsonWindows {
        windows: windows.number,
        variation: windows.variation,
        bps: named(windows.percentiles.map(|rate| rate.as_bps().into())),
    };
    let correlation = |Correlation { lag, value }: &Correlation| JsonCorrelation {
        lag_s: lag.as_secs_f64(),
        value: *value,
    };
    let object = Json {
        name: &source.name,
        kind: match source.trace.kind() {
            Kind::Opportunities => "opportunities",
            Kind::Steps => "steps",
        },
        format: source.format.map(|format| match format {
            Format::Mahimahi => "mahimahi",
            Format::Csv => "csv",
            Format::Json => "json",
        }),
        length_s: statistics.length.as_secs_f64(),
        entries: statistics.entries,
        mean_bps: statistics.mean.as_bps(),
        rate_100ms: windows(&statistics.tenth),
        rate_1s: windows(&statistics.second),
        autocorrelation: statistics.autocorrelation.iter().map(correlation).collect(),
        longest_gap_s: statistics.longest_gap.as_secs_f64(),
        gap_ms: statistics
            .gaps
            .map(|gaps| named(gaps.percentiles.map(|gap| gap.as_millis_f64().into()))),
        delay_ms: range(source, |step| step.delay)
            .map(|(min, max)| Range { min: min.as_millis_f64(), max: max.as_millis_f64() }),
        loss: range(source, |step| step.loss)
            .map(|(min, max)| Range { min: min.as_f64(), max: max.as_f64() }),
    };
    let line = serde_json::to_string(&object);
    Ok(line.map_err(|error| Failure::Run(format!("{}: {error}", source.name)))? + "\n")
}

/// The percentiles by name: `p1`, `p5`.
fn named(values: [Value; PERCENTILES.len()]) -> Map<String, Value> {
    PERCENTILES.iter().map(|percent| format!("p{percent}")).zip(values).collect()
}
