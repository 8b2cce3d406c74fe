//! The summary of one run: the numbers that people and programs compare.

use std::collections::BTreeMap;

use l4s_cc::classic_ecn::Verdict;
use l4s_model::PathEvent;
use l4s_units::Duration;
use serde::{Deserialize, Serialize};

use crate::dictionary::measures;
use crate::record::FlowRow;

measures! {
    /// One run in numbers. Absent measurements are absent, never zero.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    pub struct Summary {
        /// Name of the scenario.
        pub scenario: String => "" Run,
        /// The substrate: `sim`, `kernel`, `linux` or `qdisc`.
        pub on: String => "" Run,
        /// The seed.
        pub seed: u64 => "" Run,
        /// The version of l4s that made it.
        pub version: String => "" Run,
        /// The fingerprint of the code that made it: two results with the same fingerprint, scenario and seed are
        /// equal. Empty in results of versions before 0.2.
        #[serde(default)]
        pub code: String => "" Run,
        /// The settings of the sweep or the command line: key to value, in order.
        pub set: serde_json::Map<String, serde_json::Value> => "" Run,
        /// The link.
        pub link: LinkSummary => "" Part,
        /// Per queue that the discipline has; where it changes in mid-run, that any of them has.
        pub queues: Vec<QueueSummary> => "" Part,
        /// Per `[[hop]]`; absent where there are none. All else is of the bottleneck.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        pub hops: Vec<HopSummary> => "" Part,
        /// Per `[[path]]`; absent where there are none.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        pub paths: Vec<PathSummary> => "" Part,
        /// Per group, then per UDP source.
        pub groups: Vec<GroupSummary> => "" Part,
        /// Completion times of sized flows and downloads, by size.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        pub completion: Vec<CompletionSummary> => "" Part,
        /// Ratios between every two groups: `window_A_B`, `rate_A_B`; absent with more than 16 of them.
        #[serde(skip_serializing_if = "serde_json::Map::is_empty", default)]
        pub ratios: serde_json::Map<String, serde_json::Value> => "" Warm,
        /// The cost of the run. The only part that may differ between two identical runs, and only
        /// in `wall_s`.
        pub engine: EngineSummary => "" Part,
    }
}

impl Summary {
    /// Its quantities by their columns in `runs.parquet` (docs/reference/results.md).
    pub fn row(&self) -> serde_json::Map<String, serde_json::Value> {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::Object(summary)) => crate::flatten::flatten(summary),
            other => unreachable!("a summary is an object: {other:?}"),
        }
    }
}

measures! {
    /// The link's rate and use.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    pub struct LinkSummary {
        /// The rate of the link; where it changes in mid-run, the mean after the warm-up.
        pub rate_bps: f64 => "bit/s" Warm,
        /// All forwarded bytes with 14 B of Ethernet per packet, over the bytes that the link could
        /// carry.
        pub utilization: f64 => "fraction" Warm,
    }
}

measures! {
    /// A distribution of delays in milliseconds, over packets.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
    pub struct DelaySummary {
        /// Mean.
        pub mean: f64 => "" Warm,
        /// First percentile.
        pub p1: f64 => "" Warm,
        /// 25th percentile.
        pub p25: f64 => "" Warm,
        /// Median.
        pub p50: f64 => "" Warm,
        /// 75th percentile.
        pub p75: f64 => "" Warm,
        /// 99th percentile.
        pub p99: f64 => "" Warm,
        /// 99.9th percentile.
        pub p999: f64 => "" Warm,
        /// The longest.
        pub max: f64 => "" Warm,
    }
}

measures! {
    /// One queue (RFC 9332 §2.5.2.2).
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    pub struct QueueSummary {
        /// `L`, `C` or `Q`.
        pub name: String => "" Run,
        /// Packets forwarded.
        pub packets: u64 => "packets" Warm,
        /// Queueing delay; absent when nothing of 200 B or more was forwarded, and at the uplink when nothing was.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub delay_ms: Option<DelaySummary> => "ms" Part,
        /// Packets marked here, over packets forwarded.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub mark: Option<f64> => "fraction" Warm,
        /// Packets dropped, over packets arrived.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub drop: Option<f64> => "fraction" Warm,
        /// Packets marked here.
        pub marks: MarkCounts => "packets" Part,
        /// Packets dropped here.
        pub drops: DropCounts => "packets" Part,
    }
}

measures! {
    /// A further link, or several that are alike.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    pub struct HopSummary {
        /// Its name; `uplink` for the `[uplink]`.
        pub name: String => "" Run,
        /// `up` for the uplink; absent for a link on the way down.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub direction: Option<String> => "" Run,
        /// How many such links there are; all else is of all of them together.
        pub links: u64 => "links" Run,
        /// All forwarded bytes with 14 B of Ethernet per packet, over the bytes that the links
        /// could carry; absent without any.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub utilization: Option<f64> => "fraction" Warm,
        /// Per queue that the discipline has.
        pub queues: Vec<QueueSummary> => "" Part,
    }
}

measures! {
    /// An imperfect stretch of the way. A packet counts when it comes to the stretch. A loss here is
    /// in no other count of drops.
    #[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub struct PathSummary {
        /// Its name.
        pub name: String => "" Run,
        /// Packets that came, without duplicates of this stretch.
        pub packets: u64 => "packets" Warm,
        /// Packets lost.
        pub lost: u64 => "packets" Warm,
        /// Packets with a bit error, which their receivers drop.
        pub corrupted: u64 => "packets" Warm,
        /// Packets that came out twice.
        pub duplicated: u64 => "packets" Warm,
        /// Packets that were held back by `reorder`.
        pub held_back: u64 => "packets" Warm,
        /// Packets whose ECN field or feedback of AccECN was changed.
        pub mangled: u64 => "packets" Warm,
    }
}

impl PathSummary {
    pub(crate) fn new(name: &str) -> PathSummary {
        let [packets, lost, corrupted, duplicated, held_back, mangled] = [0; 6];
        let name = name.to_owned();
        PathSummary { name, packets, lost, corrupted, duplicated, held_back, mangled }
    }

    pub(crate) fn count(&mut self, what: PathEvent) {
        let counter = match what {
            PathEvent::Arrived => &mut self.packets,
            PathEvent::Lost => &mut self.lost,
            PathEvent::Corrupted => &mut self.corrupted,
            PathEvent::Duplicated => &mut self.duplicated,
            PathEvent::HeldBack => &mut self.held_back,
            PathEvent::Mangled => &mut self.mangled,
        };
        *counter += 1;
    }
}

measures! {
    /// Packets marked, by cause.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
    pub struct MarkCounts {
        /// By the marker of the L queue.
        pub step: u64 => "" Warm,
        /// By the probability coupled from the Classic queue.
        pub coupled: u64 => "" Warm,
        /// By the probability of a Classic queue.
        pub classic: u64 => "" Warm,
    }
}

measures! {
    /// Packets dropped, by cause.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
    pub struct DropCounts {
        /// By the discipline's overload strategy.
        pub overload: u64 => "" Warm,
        /// By its probability.
        pub aqm: u64 => "" Warm,
        /// By the limit in packets.
        pub limit: u64 => "" Warm,
        /// By the limit in bytes.
        pub memory: u64 => "" Warm,
        /// By the radio of the link, after as many attempts as it has, or by the loss of its trace. These had left the queue, and
        /// count as forwarded too. Absent where there are none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub radio: Option<u64> => "" Warm,
        /// Acknowledgements that the filter of the link took out, since a later one replaced them. They count for neither `drop`
        /// nor `packets`. Absent where there are none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub ack_filter: Option<u64> => "" Warm,
    }
}

measures! {
    /// One group of flows, or one UDP source.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    pub struct GroupSummary {
        /// Its name.
        pub name: String => "" Run,
        /// `up` for one that sends through the uplink; absent for one that sends down.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub direction: Option<String> => "" Run,
        /// Its congestion control; `udp` for an unresponsive source.
        pub cc: String => "" Run,
        /// How many flows, downloads of `[[web]]` and flows of `[[app]]` aside.
        pub flows: u64 => "flows" Run,
        /// How many downloads began in the run; absent for a group without `[[web]]`.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub downloads: Option<u64> => "downloads" Run,
        /// IP bits forwarded per second, downloads and applications included.
        pub rate_bps: f64 => "bit/s" Warm,
        /// Bits that the clients passed on to their applications per second, each once and in order;
        /// absent for UDP, and for a group that runs programs.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub goodput_bps: Option<f64> => "bit/s" Warm,
        /// IP bits forwarded per second and flow, without downloads and applications; absent without
        /// flows.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub rate_per_flow_bps: Option<f64> => "bit/s" Warm,
        /// Rate per flow over link rate / number of long flows.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub normalized_rate: Option<f64> => "ratio" Warm,
        /// Rate per flow · mean RTT ÷ packet size.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub window_pkts: Option<f64> => "packets" Warm,
        /// Mean of its sockets' own congestion windows, on substrates that have sockets.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub cwnd_pkts: Option<f64> => "packets" Warm,
        /// Mean of the RTT samples.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub rtt_ms: Option<f64> => "ms" Warm,
        /// Packets forwarded.
        pub packets: u64 => "packets" Warm,
        /// Queueing delay of its packets of 200 B or more, of all where it sends up; absent without any.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub delay_ms: Option<DelaySummary> => "ms" Part,
        /// Packets of less than 200 B forwarded (voice, games, handshakes); absent without any.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub small_packets: Option<u64> => "packets" Warm,
        /// Queueing delay of its packets of less than 200 B; absent without any.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub small_delay_ms: Option<Spread> => "ms" Part,
        /// Packets marked, over packets forwarded.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub mark: Option<f64> => "fraction" Warm,
        /// Packets dropped, over packets arrived.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub drop: Option<f64> => "fraction" Warm,
        /// The outcomes of the frames of its applications; absent for a group without `[[app]]`.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub app: Option<AppSummary> => "" Part,
        /// Segments sent again.
        pub retransmits: u64 => "segments" Warm,
        /// Spread over time of the rate per flow, in windows of a second that roll by a tenth, without
        /// downloads and applications; absent without flows and for less than a second.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub rate_over_time_bps: Option<Spread> => "bit/s" Part,
        /// Spread of the rates of its flows, downloads and applications aside.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub flow_rates_bps: Option<Spread> => "bit/s" Part,
        /// The verdicts of its detectors of Classic ECN; absent without any.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub prague: Option<PragueSummary> => "" Part,
    }
}

impl GroupSummary {
    /// Whether its goodput is below 0.85 of its rate: much was sent again, or waited for segments
    /// that were missing. Headers alone are 3.5 % of packets of 1500 B, and 11 % of the smallest
    /// (`mss = 536`, AccECN).
    pub fn goodput_lags(&self) -> bool {
        self.goodput_bps.is_some_and(|goodput| goodput < 0.85 * self.rate_bps)
    }

    /// Whether most of its packets have less than 200 B: voice or a game, say.
    pub fn is_mostly_small(&self) -> bool {
        self.small_packets.is_some_and(|small| 2 * small > self.packets)
    }
}

measures! {
    /// The last verdicts of the detectors of Classic ECN of a group's flows.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    pub struct PragueSummary {
        /// The scores of its long flows; absent without any.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub classic_ecn: Option<ScoreSummary> => "score" Part,
        /// The verdict of the mean final score: `l4s`, `transition` or `classic`.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub verdict: Option<String> => "" End,
        /// The verdicts of its long flows.
        pub flows: Verdicts => "flows" Part,
        /// The verdicts of its downloads, when they ended; absent without any.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub downloads: Option<Verdicts> => "downloads" Part,
    }
}

measures! {
    /// Scores of a detector of Classic ECN: L4S up to 0, Classic from 1.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
    pub struct ScoreSummary {
        /// At the end, mean over flows.
        pub r#final: f64 => "" End,
        /// The highest that any flow ever had.
        pub max: f64 => "" Start,
    }
}

measures! {
    /// Flows by verdict.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
    pub struct Verdicts {
        /// Scores of 1 and above.
        pub classic: u64 => "" End,
        /// Scores in between.
        pub transition: u64 => "" End,
        /// Scores of 0 and below.
        pub l4s: u64 => "" End,
        /// Those that never saw a mark, so that nothing was scored. They behave as `l4s`, but found
        /// nothing out.
        pub at_rest: u64 => "" End,
    }
}

impl Verdicts {
    /// Counts the flow of this row, if it has a detector.
    pub(crate) fn count(&mut self, flow: &FlowRow) {
        let Some(score) = flow.classic_ecn else { return };
        // A mark raises the score above its floor. A bottleneck that only drops puts it back, with the rounds.
        let never_rose = flow.classic_ecn_max.is_none_or(|max| max <= score);
        let counter = match Verdict::of(score) {
            _ if flow.classic_ecn_rounds == Some(0) && never_rose => &mut self.at_rest,
            Verdict::Classic => &mut self.classic,
            Verdict::Transition => &mut self.transition,
            Verdict::L4s => &mut self.l4s,
        };
        *counter += 1;
    }
}

measures! {
    /// The applications of a group.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    pub struct AppSummary {
        /// How many flows of its applications opened in the run.
        pub flows: u64 => "flows" Run,
        /// IP bits of its applications forwarded per second.
        pub rate_bps: f64 => "bit/s" Warm,
        /// Frames written into a socket.
        pub written: u64 => "frames" Warm,
        /// Frames of which all arrived at the client.
        pub delivered: u64 => "frames" Warm,
        /// Frames left out, as earlier ones had not been sent.
        pub skipped: u64 => "frames" Warm,
        /// From the write of a frame to the arrival of its last byte, over frames delivered.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub delay_ms: Option<Spread> => "ms" Part,
    }
}

measures! {
    /// First percentile, mean and 99th percentile.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
    pub struct Spread {
        /// First percentile.
        pub p1: f64 => "" Warm,
        /// Mean.
        pub mean: f64 => "" Warm,
        /// 99th percentile.
        pub p99: f64 => "" Warm,
    }
}

measures! {
    /// Completion of the sized flows and downloads of a group whose size falls in one bin.
    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    pub struct CompletionSummary {
        /// The group.
        pub group: String => "" Run,
        /// From (inclusive) and to (exclusive), bytes.
        pub bin_bytes: [u64; 2] => "bytes" Run,
        /// How many completed after the warm-up.
        pub flows: u64 => "flows" Warm,
        /// Completion time.
        pub time_ms: Spread => "ms" Part,
        /// Completion time over the theoretical one, which no queue and no slow start would take.
        pub efficiency: Spread => "ratio" Part,
    }
}

measures! {
    /// The cost of the run, and on substrates that run in real time, whether the machine kept up.
    #[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
    pub struct EngineSummary {
        /// Wall-clock time; absent in files, which hold only reproducible values.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub wall_s: Option<f64> => "s" Run,
        /// Simulated or real time that was run.
        pub virtual_s: f64 => "s" Run,
        /// Packets forwarded by the bottleneck, warm-up included.
        pub packets: u64 => "packets" Start,
        /// Events that the engine processed.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub events: Option<u64> => "events" Start,
        /// How late departures were, on substrates that run in real time.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub lateness_us: Option<Lateness> => "us" Part,
        /// Time that the data plane was busy, per packet in either direction, in nanoseconds.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub packet_ns: Option<f64> => "ns" Start,
        /// The counters of the kernel's own queue discipline since the start, where there is one.
        #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
        pub qdisc: BTreeMap<String, u64> => "" Start,
        /// Settings of the scenario that the kernel does not have, and its replacements.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        pub instead: Vec<String> => "" Run,
        /// Why the run should not be trusted: the machine was too slow or too noisy for it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub unfit: Option<String> => "" Run,
    }
}

impl EngineSummary {
    /// The cost of a run in virtual time: `duration` of it, of `packets` and `events`.
    pub fn of_virtual_time(duration: Duration, packets: u64, events: u64) -> EngineSummary {
        EngineSummary {
            virtual_s: duration.as_secs_f64(),
            packets,
            events: Some(events),
            ..EngineSummary::default()
        }
    }
}

measures! {
    /// Lateness of departures in microseconds.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
    pub struct Lateness {
        /// Median.
        pub p50: f64 => "" Start,
        /// 99th percentile.
        pub p99: f64 => "" Start,
        /// The latest.
        pub max: f64 => "" Start,
    }
}
