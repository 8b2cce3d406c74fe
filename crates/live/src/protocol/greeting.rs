//! The greeting: presets, limits, disciplines, congestion controls.

use l4s_scenario::{Described, Setting, controls, disciplines};
use l4s_units::param::Kind;
use serde::Serialize;

use super::{BUCKETS, BUCKETS_PER_DECADE, FIRST_BUCKET_MS};

/// The answer to `GET /api/greeting`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Greeting {
    /// The version of the contract.
    pub protocol: u32,
    /// That of l4s.
    pub version: &'static str,
    /// The substrate of the lanes.
    pub on: &'static str,
    /// The name of the scenario that the presets are of.
    pub scenario: String,
    /// The presets.
    pub points: Vec<Preset>,
    /// The buckets of `delays`.
    pub delay_buckets: Bucketing,
    /// Limits.
    pub limits: Limits,
    /// Every discipline.
    pub disciplines: Vec<Discipline>,
    /// Every congestion control.
    pub controls: Vec<Control>,
}

/// A preset.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Preset {
    /// The value for `point`.
    pub number: usize,
    /// Its label.
    pub label: String,
}

/// The buckets of histograms of delay.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Bucketing {
    /// Where the first begins.
    pub first_ms: f64,
    /// How many to the tenfold.
    pub per_decade: f64,
    /// How many in all.
    pub count: usize,
}

impl Default for Bucketing {
    fn default() -> Self {
        Bucketing { first_ms: FIRST_BUCKET_MS, per_decade: BUCKETS_PER_DECADE, count: BUCKETS }
    }
}

/// Limits of the server.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Limits {
    /// Sessions at a time.
    pub sessions: usize,
    /// Viewers at a time, of all of them.
    pub viewers: usize,
    /// Flows of a session, with those of applications.
    pub flows: u64,
    /// Downloads under way at a time in a session.
    pub downloads: usize,
    /// The rate of a link.
    pub rate_bps: f64,
    /// The size of a message to the server.
    pub message_bytes: usize,
    /// Whether sessions can compare.
    pub compare: bool,
    /// The speeds there are.
    pub speed: Span,
}

/// A range.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Span {
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
}

/// A discipline.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Discipline {
    kind: &'static str,
    about: &'static str,
    profiles: Vec<Profile>,
    params: Vec<Parameter>,
}

/// A congestion control.
pub type Control = Discipline;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
struct Profile {
    name: &'static str,
    about: &'static str,
}

/// A parameter.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Parameter {
    name: &'static str,
    about: &'static str,
    accepts: String,
    #[serde(flatten)]
    range: Range,
}

/// Which values a parameter takes; times in seconds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Range {
    Bool,
    Count { min: u64, max: u64 },
    Number { unit: &'static str, min: f64, max: f64 },
    Time { min: f64, max: f64 },
    Times { min: f64, max: f64 },
    TimeOrPackets { max: f64, max_packets: u64 },
    Packets { min: u64, max: u64 },
    Bytes { min: u64, max: u64 },
    Choice { words: &'static [&'static str] },
}

impl Discipline {
    /// Every discipline.
    pub fn all() -> Vec<Discipline> {
        disciplines().iter().map(Discipline::of).collect()
    }

    /// Every congestion control.
    pub fn controls() -> Vec<Control> {
        controls().iter().map(Discipline::of).collect()
    }

    fn of(described: &Described) -> Discipline {
        let profiles = described.profiles.iter();
        let settings = described.profiles.first().map_or(&[][..], |profile| &profile.settings);
        Discipline {
            kind: described.kind,
            about: described.about,
            profiles: profiles.map(|p| Profile { name: p.name, about: p.doc }).collect(),
            params: settings.iter().map(Parameter::of).collect(),
        }
    }
}

impl Parameter {
    fn of(setting: &Setting) -> Parameter {
        let accepts = setting.kind.to_string();
        Parameter { name: setting.name, about: setting.doc, accepts, range: setting.kind.into() }
    }
}

impl From<Kind> for Range {
    fn from(kind: Kind) -> Range {
        match kind {
            Kind::Bool => Range::Bool,
            Kind::Count { min, max } => Range::Count { min, max },
            Kind::Number { min, max, unit } => Range::Number { unit, min, max },
            Kind::Duration { min, max } => {
                Range::Time { min: min.as_secs_f64(), max: max.as_secs_f64() }
            }
            Kind::Durations { min, max } => {
                Range::Times { min: min.as_secs_f64(), max: max.as_secs_f64() }
            }
            Kind::DurationOrPackets { max, max_packets } => {
                Range::TimeOrPackets { max: max.as_secs_f64(), max_packets }
            }
            Kind::Packets { min, max } => Range::Packets { min, max },
            Kind::Bytes { min, max } => Range::Bytes { min: min.get(), max: max.get() },
            Kind::Choice(words) => Range::Choice { words },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_says_what_it_takes() {
        let all = serde_json::to_value(Discipline::all()).unwrap();
        assert_eq!(all[0]["kind"], "dualpi2");
        let target = all[0]["params"].as_array().unwrap().iter().find(|p| p["name"] == "target");
        let target = target.unwrap();
        assert_eq!((&target["type"], &target["max"]), (&"time".into(), &4.0.into()));
        assert!(target["accepts"].as_str().unwrap().starts_with("a time such as \"15ms\""));
        assert!(all[0]["profiles"].as_array().unwrap().iter().any(|p| p["name"] == "best"));
        assert!(!Discipline::controls().is_empty());
    }
}
