//! The summary of one run: the numbers that people and programs compare.

use std::collections::BTreeMap;

use l4s_cc::classic_ecn::Verdict;
use serde::{Deserialize, Serialize};

/// One run in numbers. Absent measurements are absent, never zero.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// Name of the scenario.
    pub scenario: String,
    /// The substrate: `sim`, `kernel`, `linux` or `qdisc`.
    pub on: String,
    /// The seed.
    pub seed: u64,
    /// The version of l4s that made it.
    pub version: String,
    /// What the sweep or the command line set: key to value, in order.
    pub set: serde_json::Map<String, serde_json::Value>,
    /// The link.
    pub link: LinkSummary,
    /// Per queue that the discipline has; where it changes in mid-run, that any of them has.
    pub queues: Vec<QueueSummary>,
    /// Per `[[hop]]`; absent where there are none. All else is of the bottleneck.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub hops: Vec<HopSummary>,
    /// Per group, then per UDP source.
    pub groups: Vec<GroupSummary>,
    /// Completion times of sized flows and downloads, by size.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub completion: Vec<CompletionSummary>,
    /// Ratios between every two groups: `window_A_B`, `rate_A_B`; absent with more than 16 of them.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty", default)]
    pub ratios: serde_json::Map<String, serde_json::Value>,
    /// What it cost to make. The only part that may differ between two identical runs, and only
    /// in `wall_s`.
    pub engine: EngineSummary,
}

/// The link's rate and use.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LinkSummary {
    /// Rate in bits per second; where it changes in mid-run, the mean after the warm-up.
    pub rate_bps: f64,
    /// All forwarded bytes with 14 B of Ethernet per packet, over what the link could carry.
    pub utilization: f64,
}

/// A distribution of delays in milliseconds, over packets.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct DelaySummary {
    pub mean: f64,
    pub p1: f64,
    pub p25: f64,
    pub p50: f64,
    pub p75: f64,
    pub p99: f64,
    pub p999: f64,
    pub max: f64,
}

/// One queue.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct QueueSummary {
    /// `L`, `C` or `Q`.
    pub name: String,
    /// Packets forwarded.
    pub packets: u64,
    /// Queue delay; absent when nothing of 200 B or more was forwarded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delay_ms: Option<DelaySummary>,
    /// Packets marked here, over packets forwarded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mark: Option<f64>,
    /// Packets dropped, over packets arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub drop: Option<f64>,
    /// Marks by cause: step, coupled, classic.
    pub marks: MarkCounts,
    /// Drops by cause.
    pub drops: DropCounts,
}

/// A further link, or several that are alike.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HopSummary {
    /// Its name.
    pub name: String,
    /// How many such links there are; what follows is of all of them together.
    pub links: u64,
    /// All forwarded bytes with 14 B of Ethernet per packet, over what the links could carry;
    /// absent without any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub utilization: Option<f64>,
    /// Per queue that the discipline has.
    pub queues: Vec<QueueSummary>,
}

/// Packets marked, by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct MarkCounts {
    pub step: u64,
    pub coupled: u64,
    pub classic: u64,
}

/// Packets dropped, by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct DropCounts {
    pub overload: u64,
    pub aqm: u64,
    pub limit: u64,
    pub memory: u64,
}

/// One group of flows, or one UDP source.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GroupSummary {
    /// Its name.
    pub name: String,
    /// Its congestion control; `udp` for an unresponsive source.
    pub cc: String,
    /// How many flows, downloads of `[[web]]` and flows of `[[app]]` aside.
    pub flows: u64,
    /// How many downloads began in the run; absent for a group without `[[web]]`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub downloads: Option<u64>,
    /// IP bytes forwarded per second, downloads and applications included.
    pub rate_bps: f64,
    /// The same, per flow and without downloads and applications; absent without flows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate_per_flow_bps: Option<f64>,
    /// Rate per flow over link rate / number of long flows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub normalized_rate: Option<f64>,
    /// Rate per flow · mean RTT ÷ packet size.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub window_pkts: Option<f64>,
    /// Mean of its sockets' own congestion windows, on substrates that have sockets.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cwnd_pkts: Option<f64>,
    /// Mean of the RTT samples.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rtt_ms: Option<f64>,
    /// Packets forwarded.
    pub packets: u64,
    /// Queue delay of its packets.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delay_ms: Option<DelaySummary>,
    /// Packets marked, over packets forwarded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mark: Option<f64>,
    /// Packets dropped, over packets arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub drop: Option<f64>,
    /// What became of the frames of its applications; absent for a group without `[[app]]`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub app: Option<AppSummary>,
    /// Segments sent again.
    pub retransmits: u64,
    /// Spread over time of the rate per flow, in windows of a second that roll by a tenth, without
    /// downloads and applications; absent without flows and for less than a second.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rate_over_time_bps: Option<Spread>,
    /// Spread of the rates of its flows, downloads and applications aside.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub flow_rates_bps: Option<Spread>,
    /// What its detectors of Classic ECN said; absent without any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub prague: Option<PragueSummary>,
}

/// What the detectors of Classic ECN of a group's flows said in the end.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PragueSummary {
    /// The scores of its long flows; absent without any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub classic_ecn: Option<ScoreSummary>,
    /// The verdict of the mean final score: `l4s`, `transition` or `classic`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verdict: Option<String>,
    /// The verdicts of its long flows.
    pub flows: Verdicts,
    /// The verdicts of its downloads, when they ended; absent without any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub downloads: Option<Verdicts>,
}

/// Scores of a detector of Classic ECN: L4S up to 0, Classic from 1.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct ScoreSummary {
    /// At the end, mean over flows.
    pub r#final: f64,
    /// The highest that any flow ever had.
    pub max: f64,
}

/// Flows by verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Verdicts {
    /// Scores of 1 and above.
    pub classic: u64,
    /// Scores in between.
    pub transition: u64,
    /// Scores of 0 and below.
    pub l4s: u64,
    /// Those that never saw a mark, so that nothing was scored. They behave as `l4s`, but found
    /// nothing out.
    pub at_rest: u64,
}

impl Verdicts {
    pub(crate) fn count(&mut self, score: f64, rounds: Option<u32>) {
        let counter = match Verdict::of(score) {
            _ if rounds == Some(0) => &mut self.at_rest,
            Verdict::Classic => &mut self.classic,
            Verdict::Transition => &mut self.transition,
            Verdict::L4s => &mut self.l4s,
        };
        *counter += 1;
    }
}

/// The applications of a group.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AppSummary {
    /// How many flows of theirs opened in the run.
    pub flows: u64,
    /// IP bytes of all of these forwarded per second.
    pub rate_bps: f64,
    /// Frames written into a socket.
    pub written: u64,
    /// Frames of which all arrived at the client.
    pub delivered: u64,
    /// Frames left out, as earlier ones had not been sent.
    pub skipped: u64,
    /// From the write of a frame to the arrival of its last byte, over frames delivered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delay_ms: Option<Spread>,
}

/// First percentile, mean and 99th percentile.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Spread {
    pub p1: f64,
    pub mean: f64,
    pub p99: f64,
}

/// Completion of the sized flows and downloads of a group whose size falls in one bin.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CompletionSummary {
    /// The group.
    pub group: String,
    /// From (inclusive) and to (exclusive), bytes.
    pub bin_bytes: [u64; 2],
    /// How many completed after the warm-up.
    pub flows: u64,
    /// Completion time.
    pub time_ms: Spread,
    /// Completion time over the theoretical one, which no queue and no slow start would take.
    pub efficiency: Spread,
}

/// What the run cost, and on substrates that run in real time, whether the machine kept up.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct EngineSummary {
    /// Wall-clock time; absent in files, which hold only what is reproducible.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wall_s: Option<f64>,
    /// Simulated or real time that was run.
    pub virtual_s: f64,
    /// Packets forwarded by the bottleneck, warm-up included.
    pub packets: u64,
    /// Events that the engine processed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub events: Option<u64>,
    /// How late departures were, on substrates that run in real time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lateness_us: Option<Lateness>,
    /// Time that the data plane was busy, per packet in either direction, in nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub packet_ns: Option<f64>,
    /// What the kernel's own queue discipline counted since the start, where there is one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub qdisc: BTreeMap<String, u64>,
    /// Settings of the scenario that the kernel does not have: what it does instead.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub instead: Vec<String>,
    /// Why the run should not be trusted: the machine was too slow or too noisy for it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unfit: Option<String>,
}

/// Lateness of departures in microseconds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Lateness {
    pub p50: f64,
    pub p99: f64,
    pub max: f64,
}
