//! The data of a report: the contract with the script (`web/src/data.ts`).
//!
//! Numbers come as measured; absent measurements are absent, never zero.

use std::collections::BTreeMap;

use l4s_measure::Summary;
use serde::{Deserialize, Serialize};

use crate::lights::Since;
use crate::programs::ProgramFlows;

/// Everything that one report shows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Data {
    /// The version of l4s that drew it.
    pub version: String,
    /// Result folders, side by side.
    pub folders: Vec<Folder>,
    /// The differences between two of them, where they were compared.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub differences: Option<Differences>,
}

/// The table that `l4s compare` prints.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Differences {
    /// The names of its columns: two of words, and the others of numbers.
    pub head: Vec<String>,
    /// A row per measurement that differs.
    pub rows: Vec<Vec<String>>,
    /// The lines below it.
    pub notes: Vec<String>,
}

/// One result folder.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Folder {
    /// Its label: the folder's name, made unique where two are alike.
    pub label: String,
    /// Name of the scenario.
    pub scenario: String,
    /// The substrate.
    pub on: String,
    /// The version of l4s that ran it.
    pub version: String,
    /// The scenario as run, in TOML.
    pub text: String,
    /// Its runs.
    pub runs: Vec<Run>,
}

/// One run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Its number in the folder, from 1.
    pub number: usize,
    /// The queue discipline's kind: `dualpi2`, `pie`, `fq_codel`…
    pub aqm: String,
    /// The traffic of each group or UDP source.
    pub traffic: BTreeMap<String, Traffic>,
    /// Base round trip of each group in milliseconds, queue excluded.
    pub base_rtt_ms: BTreeMap<String, f64>,
    /// The command that reproduces just this run.
    pub command: String,
    /// The run in numbers.
    pub summary: Summary,
    /// Distributions and series; only for some runs of a big sweep.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub curves: Option<Curves>,
    /// A few points of each group's flows; of every run of a sweep over two numbers of flows.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sketch: Vec<Sketch>,
    /// The flows of its programs; only of runs with curves.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub programs: Option<ProgramFlows>,
}

/// A group in one run of a sweep over two numbers of flows: enough for a cell of a matrix.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sketch {
    /// The group.
    pub group: String,
    /// Rate of each of its flows in percent of an equal share of the link: means over equal parts
    /// of the run, the warm-up included.
    pub share: Vec<Vec<Option<u32>>>,
    /// Delay of its packets at the middles of equal parts of the distribution: of two values, the
    /// 25th and the 75th percentile. Empty without packets.
    pub delay_ms: Vec<f64>,
}

/// How a sender answers congestion, as far as colours care.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Traffic {
    /// Scalable: DCTCP, Prague.
    L4s,
    /// Classic, and marks are its signal.
    ClassicEcn,
    /// Classic, and losses are its only signal.
    Classic,
    /// Not at all.
    Udp,
    /// As the user's programs do, which have the group for themselves.
    Program,
}

/// Distributions and time series of one run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Curves {
    /// When statistics start, in seconds.
    pub warmup_s: f64,
    /// Cumulative distribution of the delay of each queue.
    pub cdf: Vec<Cdf>,
    /// Delay of each queue over time.
    pub delay: Vec<DelaySeries>,
    /// Rate of each flow over time; of each group, where flows have no series of their own, and of
    /// each group with programs.
    pub rate: Vec<RateSeries>,
    /// The inputs and the verdicts of the detector of Classic ECN of each flow that has one.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub detector: Vec<DetectorSeries>,
    /// The kind of the queue, and since when; only with a detector.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub truth: Vec<Since>,
    /// Rate of each group and UDP source over time, where there is a UDP source.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub output: Vec<RateSeries>,
    /// How long downloads took, by group.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub downloads: Vec<Downloads>,
    /// Delay of the packets of each group with programs over time.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub program_delay: Vec<ProgramDelay>,
}

/// Queueing delay of the packets of a group with programs over time. As everywhere, packets below 200 B
/// are left out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ProgramDelay {
    /// The group.
    pub group: String,
    /// Ends of the intervals, in seconds.
    pub s: Vec<f64>,
    /// Mean delay; absent when no packet came.
    pub mean_ms: Vec<Option<f64>>,
}

/// Downloads of a group that completed after the warm-up.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Downloads {
    /// The group.
    pub group: String,
    /// One in this number is here, in the order in which they began.
    pub every: usize,
    /// Sizes.
    pub bytes: Vec<u64>,
    /// Completion times.
    pub ms: Vec<f64>,
    /// Sizes, ascending, with the theoretical completion time of each.
    pub ideal: Vec<(u64, f64)>,
}

/// `share[i]` of the packets waited `ms[i]` or less.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Cdf {
    /// The queue.
    pub queue: String,
    /// Delays in milliseconds, ascending.
    pub ms: Vec<f64>,
    /// Shares, ascending to 1.
    pub share: Vec<f64>,
}

/// Delay of one queue over time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DelaySeries {
    /// The queue.
    pub queue: String,
    /// Ends of the intervals, in seconds.
    pub s: Vec<f64>,
    /// Mean delay; absent when no packet came.
    pub mean_ms: Vec<Option<f64>>,
}

/// Rate of one flow over time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RateSeries {
    /// Its group.
    pub group: String,
    /// Its number in the run; absent for all flows of the group together.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub flow: Option<u32>,
    /// Ends of the intervals, in seconds.
    pub s: Vec<f64>,
    /// Megabits per second.
    pub mbps: Vec<Option<f64>>,
    /// Goodput in megabits per second, where that of the group is far below its rate
    /// ([`l4s_measure::GroupSummary::goodput_lags`]).
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub goodput_mbps: Vec<Option<f64>>,
}

/// A detector of Classic ECN over time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DetectorSeries {
    /// The group of its flow.
    pub group: String,
    /// The flow's number in the run.
    pub flow: u32,
    /// Ends of the intervals, in seconds.
    pub s: Vec<f64>,
    /// Classic from 1, L4S up to 0.
    pub score: Vec<Option<f64>>,
    /// The likely depth of the queue.
    pub depth_ms: Vec<Option<f64>>,
    /// The mean deviation of the RTT.
    pub mdev_ms: Vec<Option<f64>>,
}
