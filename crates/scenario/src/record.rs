//! A run in its results: as JSON, and with copies of the traces that its links follow.

use std::collections::BTreeMap;

use l4s_model::{Capacity, Link, Scenario};
use l4s_trace::{Bundled, Format, Kind};
use serde_json::{Value, json};

use crate::Point;

/// A resolved scenario as JSON that reads as a [`Scenario`], without the contents of the traces of its links:
/// those may have millions of steps. `follows` of a link has file, digest, copy and how it is played.
///
/// # Errors
/// None of a scenario that was read.
pub fn record(scenario: &Scenario) -> Result<Value, serde_json::Error> {
    let mut bare = scenario.clone();
    links_mut(&mut bare).for_each(|link| link.trace = None);
    let mut value = serde_json::to_value(bare)?;
    if let Some(capacity) = &scenario.link.trace {
        value["link"]["follows"] = follows(capacity);
    }
    if let Some(capacity) = scenario.uplink.as_ref().and_then(|uplink| uplink.link.trace.as_ref()) {
        value["uplink"]["link"]["follows"] = follows(capacity);
    }
    Ok(value)
}

fn follows(capacity: &Capacity) -> Value {
    json!({
        "file": capacity.file(),
        "digest": capacity.digest(),
        "copy": copy_of(capacity),
        "play": capacity.play(),
    })
}

/// The links that may follow a trace: bottleneck and uplink.
fn links_mut(scenario: &mut Scenario) -> impl Iterator<Item = &mut Link> {
    [&mut scenario.link].into_iter().chain(scenario.uplink.as_mut().map(|uplink| &mut uplink.link))
}

/// The traces that they follow.
fn capacities(scenario: &Scenario) -> impl Iterator<Item = &Capacity> {
    let up = scenario.uplink.iter().filter_map(|uplink| uplink.link.trace.as_ref());
    scenario.link.trace.iter().chain(up)
}

/// The copies of the files that the links of these scenarios follow: name and contents. A copy reads as the
/// same trace, in the format of mahimahi or as CSV. Bundled traces need none.
///
/// # Errors
/// None of a trace that was read.
pub fn copies<'a>(
    scenarios: impl IntoIterator<Item = &'a Scenario>,
) -> Result<BTreeMap<String, Vec<u8>>, l4s_trace::TraceError> {
    let mut copies = BTreeMap::new();
    for capacity in scenarios.into_iter().flat_map(capacities) {
        let Some(name) = copy_of(capacity).filter(|name| !copies.contains_key(name)) else {
            continue;
        };
        let format = match capacity.trace().kind() {
            Kind::Opportunities => Format::Mahimahi,
            Kind::Steps => Format::Csv,
        };
        copies.insert(name, capacity.trace().write(format)?);
    }
    Ok(copies)
}

/// The same run, whose links follow the copies beside its text.
pub fn with_copy(point: &Point) -> Point {
    let mut point = point.clone();
    for link in links_mut(&mut point.scenario) {
        if let Some((capacity, copy)) = link.trace.as_ref().and_then(|c| Some((c, copy_of(c)?))) {
            link.trace = Some(capacity.called(copy));
        }
    }
    point
}

/// The name of the copy of a trace; `None` for a bundled one.
fn copy_of(capacity: &Capacity) -> Option<String> {
    let ending = match capacity.trace().kind() {
        Kind::Opportunities => "trace",
        Kind::Steps => "csv",
    };
    let is_bundled = Bundled::find(capacity.file()).is_some();
    (!is_bundled).then(|| format!("link-{}.{ending}", capacity.digest()))
}
