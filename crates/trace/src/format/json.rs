//! Rates in the JSON of the Rust crate netem-trace (github.com/stack-rs/netem-trace, version 0.4).
//!
//! A bandwidth trace is an object with a single key, the name of its configuration:
//! `{"StaticBwConfig":{"bw":{"gbps":0,"bps":12000000},"duration":{"secs":1,"nanos":0}}}`. With the feature
//! `human` of netem-trace, quantities are text: `"12Mbps"` and `"1s"`. Both are read, and the first is
//! written. Three configurations are data; those that are made by formulas or by chance are refused.
//!
//! netem-trace repeats a pattern `count` times and then ends, or without an end where `count` is 0. A
//! trace here always begins again, so the outermost count has no effect, and the trace is one repetition.

use std::fmt::{self, Write};

use l4s_units::{Duration, Rate};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use crate::error::{Place, Problem, TraceError, did_you_mean};
use crate::number::decimal;
use crate::steps::Builder;
use crate::trace::Course;
use crate::{MAX_ENTRIES, MAX_RATE, Step, Trace};

const NANOS: u64 = 1_000_000_000;

/// The configurations that are data.
const DATA: [&str; 3] = ["StaticBwConfig", "TraceBwConfig", "RepeatedBwPatternConfig"];

/// Those that are formulas, partly of chance.
const MADE: [&str; 2] = ["NormalizedBwConfig", "SawtoothBwConfig"];

/// A configuration.
enum Node {
    Static(Static),
    Trace(Listed),
    Repeated(Repeated),
}

/// One rate. netem-trace's defaults are 12 Mb/s and 1 s.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Static {
    #[serde(default)]
    bw: Option<Bandwidth>,
    #[serde(default)]
    duration: Option<Span>,
}

/// Rates, each for the time before them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    #[serde(default)]
    pattern: Vec<(Span, Vec<Bandwidth>)>,
}

/// A list of configurations that is played several times.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Repeated {
    #[serde(default)]
    pattern: Vec<Node>,
    #[serde(default)]
    count: u64,
}

/// A rate of at most [`MAX_RATE`].
struct Bandwidth(Rate);

/// A time.
struct Span(Duration);

pub(super) fn read(text: &str) -> Result<Trace, TraceError> {
    let mut node: Node = serde_json::from_str(text).map_err(|error| fault(&error))?;
    // The outermost repetition, which may stand in another one.
    while let Node::Repeated(outer) = &mut node {
        match outer.pattern.pop() {
            Some(inner @ Node::Repeated(_)) if outer.pattern.is_empty() => node = inner,
            Some(last) => {
                outer.pattern.push(last);
                outer.count = 1;
                break;
            }
            None => {
                outer.count = 1;
                break;
            }
        }
    }
    if node.entries() > MAX_ENTRIES as u128 {
        return Err(Problem::TooMany { hint: "use a smaller `count`, or longer steps" }.into());
    }
    let mut steps = Steps::default();
    steps.add(&node)?;
    if steps.builder.is_empty() {
        return Err(Problem::Empty.into());
    }
    Ok(Trace::from(steps.builder.finish(Duration::from_nanos(steps.at))?))
}

/// The fault of a JSON with its place.
fn fault(error: &serde_json::Error) -> TraceError {
    let (line, column) = (error.line() as u64, error.column());
    let text = error.to_string();
    let message = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
    // A fault of the whole text is in column 0.
    let field = (column > 0).then(|| column.to_string());
    let place = Place { line, field };
    TraceError { place: Some(place), problem: Problem::Json(message.to_owned()) }
}

/// Steps one after the other.
#[derive(Default)]
struct Steps {
    builder: Builder,
    at: u64,
}

impl Steps {
    fn add(&mut self, node: &Node) -> Result<(), Problem> {
        match node {
            Node::Static(one) => self.push(one.span(), one.rate()),
            Node::Trace(listed) => listed.pattern.iter().try_for_each(|(span, rates)| {
                rates.iter().try_for_each(|rate| self.push(span.0, rate.0))
            }),
            Node::Repeated(repeated) if repeated.count == 0 => Err(Problem::Unsuited(
                "a `RepeatedBwPatternConfig` with a count of 0 never ends, so only the outermost may have that",
            )),
            // A pattern without a step would be played often and do nothing.
            Node::Repeated(repeated) if node.entries() == 0 => {
                repeated.pattern.iter().try_for_each(|inner| self.add(inner))
            }
            Node::Repeated(repeated) => (0..repeated.count)
                .try_for_each(|_| repeated.pattern.iter().try_for_each(|inner| self.add(inner))),
        }
    }

    fn push(&mut self, span: Duration, rate: Rate) -> Result<(), Problem> {
        if span.is_zero() {
            return Ok(());
        }
        self.builder.push(Step::new(Duration::from_nanos(self.at), rate))?;
        self.at = self.at.saturating_add(span.as_nanos());
        Ok(())
    }
}

impl Node {
    /// The number of steps.
    fn entries(&self) -> u128 {
        match self {
            Node::Static(one) => u128::from(!one.span().is_zero()),
            Node::Trace(listed) => {
                let some = listed.pattern.iter().filter(|(span, _)| !span.0.is_zero());
                some.map(|(_, rates)| rates.len() as u128).sum()
            }
            Node::Repeated(repeated) => {
                let each = repeated.pattern.iter().map(Node::entries);
                let each = each.fold(0u128, u128::saturating_add);
                each.saturating_mul(u128::from(repeated.count.max(1)))
            }
        }
    }
}

impl Static {
    fn rate(&self) -> Rate {
        self.bw.as_ref().map_or(Rate::from_mbps(12), |bw| bw.0)
    }

    fn span(&self) -> Duration {
        self.duration.as_ref().map_or(Duration::from_secs(1), |span| span.0)
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tagged;

        impl<'de> Visitor<'de> for Tagged {
            type Value = Node;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a trace of netem-trace, such as {\"StaticBwConfig\":{…}}")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
                let Some(name) = map.next_key::<String>()? else {
                    return Err(Error::custom(format!(
                        "an empty object is no trace; {}",
                        accepted()
                    )));
                };
                let node = match name.as_str() {
                    "StaticBwConfig" => Node::Static(map.next_value()?),
                    "TraceBwConfig" => Node::Trace(map.next_value()?),
                    "RepeatedBwPatternConfig" => Node::Repeated(map.next_value()?),
                    _ => return Err(Error::custom(unknown(&name))),
                };
                match map.next_key::<String>()? {
                    None => Ok(node),
                    Some(second) => Err(Error::custom(format!(
                        "`{}` follows `{name}` in one object; each trace is an object of its own",
                        l4s_units::printable(&second),
                    ))),
                }
            }
        }

        deserializer.deserialize_map(Tagged)
    }
}

fn accepted() -> String {
    format!("accepted are {}", DATA.map(|name| format!("`{name}`")).join(", "))
}

/// The message for another configuration.
fn unknown(name: &str) -> String {
    let short: String = name.chars().take(40).collect();
    let (shown, accepted) = (l4s_units::printable(&short).into_owned(), accepted());
    if MADE.contains(&name) {
        return format!(
            "`{shown}` is a formula and no data; write its values as `TraceBwConfig`; {accepted}"
        );
    }
    let other = ["Delay", "Loss", "Duplicate", "Rwnd"].into_iter().find(|kind| name.contains(kind));
    if other.is_some() && name.ends_with("Config") {
        return format!("`{shown}` is no trace of bandwidth; {accepted}");
    }
    let help = did_you_mean(name, DATA).map_or(String::new(), |help| format!("; {help}"));
    format!("`{shown}` is no trace of netem-trace; {accepted}{help}")
}

impl<'de> Deserialize<'de> for Bandwidth {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Parts {
            gbps: u64,
            bps: u64,
        }
        let units = [
            ("bps", 1),
            ("bit/s", 1),
            ("b/s", 1),
            ("kbps", 1_000),
            ("kbit/s", 1_000),
            ("kb/s", 1_000),
            ("Mbps", 1_000_000),
            ("Mbit/s", 1_000_000),
            ("Mb/s", 1_000_000),
            ("Gbps", 1_000_000_000),
            ("Gbit/s", 1_000_000_000),
            ("Gb/s", 1_000_000_000),
            ("Tbps", 1_000_000_000_000),
            ("Tbit/s", 1_000_000_000_000),
            ("Tb/s", 1_000_000_000_000),
        ];
        let expected = "a rate such as {\"gbps\":0,\"bps\":12000000} or \"12Mbps\"";
        let parts = |parts: Parts| {
            parts.gbps.checked_mul(NANOS).and_then(|whole| whole.checked_add(parts.bps))
        };
        let bps = either::<D, Parts>(deserializer, parts, &units, expected)?;
        let rate = Rate::from_bps(bps);
        if rate > MAX_RATE {
            let problem = Problem::TooFast { found: rate.to_string(), help: None };
            return Err(Error::custom(problem));
        }
        Ok(Bandwidth(rate))
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Parts {
            secs: u64,
            nanos: u64,
        }
        const S: u64 = NANOS;
        // Those of the crate humantime, up to a day.
        let units = [
            ("ns", 1),
            ("nsec", 1),
            ("nanos", 1),
            ("us", 1_000),
            ("µs", 1_000),
            ("usec", 1_000),
            ("micros", 1_000),
            ("ms", 1_000_000),
            ("msec", 1_000_000),
            ("millis", 1_000_000),
            ("s", S),
            ("sec", S),
            ("secs", S),
            ("second", S),
            ("seconds", S),
            ("m", 60 * S),
            ("min", 60 * S),
            ("mins", 60 * S),
            ("minute", 60 * S),
            ("minutes", 60 * S),
            ("h", 3_600 * S),
            ("hr", 3_600 * S),
            ("hrs", 3_600 * S),
            ("hour", 3_600 * S),
            ("hours", 3_600 * S),
            ("d", 86_400 * S),
            ("day", 86_400 * S),
            ("days", 86_400 * S),
        ];
        let expected = "a time such as {\"secs\":1,\"nanos\":0} or \"1s\"";
        let parts = |parts: Parts| {
            parts.secs.checked_mul(S).and_then(|whole| whole.checked_add(parts.nanos))
        };
        either::<D, Parts>(deserializer, parts, &units, expected)
            .map(Duration::from_nanos)
            .map(Span)
    }
}

/// A quantity that is an object of two numbers or a text with units.
fn either<'de, D: Deserializer<'de>, P: Deserialize<'de>>(
    deserializer: D,
    parts: impl Fn(P) -> Option<u64>,
    units: &[(&str, u64)],
    expected: &'static str,
) -> Result<u64, D::Error> {
    struct Either<'a, F, P> {
        parts: F,
        units: &'a [(&'a str, u64)],
        expected: &'static str,
        kind: std::marker::PhantomData<P>,
    }

    impl<'de, F: Fn(P) -> Option<u64>, P: Deserialize<'de>> Visitor<'de> for Either<'_, F, P> {
        type Value = u64;

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str(self.expected)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
            spans(text, self.units)
                .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<u64, A::Error> {
            let found = P::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
            (self.parts)(found).ok_or_else(|| {
                Error::custom(format!("the number is too large for {}", self.expected))
            })
        }
    }

    let kind = std::marker::PhantomData;
    deserializer.deserialize_any(Either { parts, units, expected, kind })
}

/// The sum of numbers with units: `1Gbps 500Mbps`, `1s 500ms`.
fn spans(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let mut rest = text.trim();
    let mut sum = 0u64;
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(end);
        let after = after.trim_start();
        let end =
            after.find(|c: char| c.is_ascii_digit() || c.is_whitespace()).unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        let (_, scale) = units.iter().find(|(unit, _)| *unit == name)?;
        sum = sum.checked_add(decimal(number, *scale).ok()?)?;
        rest = after.trim_start();
        if rest.is_empty() {
            return Some(sum);
        }
    }
}

pub(super) fn write(trace: &Trace) -> Result<Vec<u8>, Problem> {
    let Course::Steps(table) = &trace.course else {
        return Err(Problem::Unsuited(
            "the JSON of netem-trace has rates, and this trace has opportunities; convert it first",
        ));
    };
    if table.has() != (false, false) {
        return Err(Problem::Unsuited(
            "the JSON of netem-trace has rates alone, and this trace has a delay or a loss; CSV has both",
        ));
    }
    let mut out = String::from(
        "{\"RepeatedBwPatternConfig\":{\"pattern\":[{\"TraceBwConfig\":{\"pattern\":[",
    );
    let mut previous = None;
    // A string takes everything. Steps of one length are one entry.
    for index in 0..table.len() {
        let length = table.start(index + 1) - table.start(index);
        if previous == Some(length) {
            out.push(',');
        } else {
            let end = if previous.is_some() { "]]," } else { "" };
            let (secs, nanos) = (length / NANOS, length % NANOS);
            let _ = write!(out, "{end}[{{\"secs\":{secs},\"nanos\":{nanos}}},[");
            previous = Some(length);
        }
        let bps = table.rate(index).as_bps();
        let _ = write!(out, "{{\"gbps\":{},\"bps\":{}}}", bps / NANOS, bps % NANOS);
    }
    out.push_str("]]]}}],\"count\":0}}\n");
    Ok(out.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_humantime_and_human_bandwidth_are_read() {
        let units = [("s", NANOS), ("ms", 1_000_000), ("m", 60 * NANOS)];
        assert_eq!(spans("1s", &units), Some(NANOS));
        assert_eq!(spans("2m 1s 500ms", &units), Some(121 * NANOS + 500_000_000));
        assert_eq!(spans("1s500ms", &units), Some(1_500_000_000));
        assert_eq!(spans("0.5 s", &units), Some(500_000_000));
        for text in ["", "1", "s", "1x", "1s x", "-1s", "1.2.3s", "99999999999999999999s"] {
            assert_eq!(spans(text, &units), None, "{text}");
        }
    }
}
