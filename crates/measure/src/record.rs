//! Everything that is kept of one run: its summary and its tables.

use std::io::{self, Read, Write};
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use serde::{Deserialize, Serialize};

use crate::checksum::Checksum;
use crate::error::Cause;
use crate::files::Dir;
use crate::table::{Cell, rows};
use crate::{ResultError, Summary};

/// One finished run. Serializes to JSON and back without loss.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    /// The run in numbers.
    pub summary: Summary,
    /// The command that reproduces just this run.
    pub command: String,
    /// Time series.
    pub series: Vec<SeriesRow>,
    /// Delay histograms.
    pub delays: Vec<DelayRow>,
    /// Flows.
    pub flows: Vec<FlowRow>,
}

/// The subject of a row.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Scope {
    #[default]
    Link,
    Queue,
    Group,
    Hop,
    Flow,
}

impl Scope {
    /// All of them.
    pub const ALL: [Scope; 5] = [Scope::Link, Scope::Queue, Scope::Group, Scope::Hop, Scope::Flow];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Scope::Link => "link",
            Scope::Queue => "queue",
            Scope::Group => "group",
            Scope::Hop => "hop",
            Scope::Flow => "flow",
        }
    }
}

impl Cell for Scope {
    fn field(name: &str) -> Field {
        Field::new(name, DataType::Utf8, false)
    }

    fn column<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        let mut names = StringBuilder::new();
        values.for_each(|scope| names.append_value(scope.name()));
        Arc::new(names.finish())
    }

    fn read(column: &dyn Array, i: usize) -> Option<Self> {
        let column = column.as_string_opt::<i32>().filter(|c| c.is_valid(i))?;
        Scope::ALL.into_iter().find(|scope| scope.name() == column.value(i))
    }
}

rows! {
    /// A link, queue, group or flow during one sampling interval, or its state at the end of it.
    SeriesRow in "series.parquet" {
        /// End of the interval, in seconds since the start of the run; the warm-up is included.
        time_s: f64 => "s" Row,
        /// The subject of the row.
        scope: Scope => "" Row,
        /// `link`; the queue; the group or source; `A.3` for flow 3, which is of group A;
        /// `access.C` for the Classic queues of the hop `access`, of all its links together.
        name: String => "" Row,
        /// IP bits forwarded per second.
        rate_bps: Option<f64> => "bit/s" Interval,
        /// Bits that the clients of a group, or of a flow, passed on to their applications per second,
        /// each once and in order; absent for UDP.
        goodput_bps: Option<f64> => "bit/s" Interval,
        /// Mean queueing delay of data packets.
        delay_mean_ms: Option<f64> => "ms" Interval,
        /// Longest queueing delay of data packets.
        delay_max_ms: Option<f64> => "ms" Interval,
        /// Packets forwarded.
        packets: Option<u64> => "packets" Interval,
        /// Packets marked, over packets forwarded.
        mark: Option<f64> => "fraction" Interval,
        /// Packets dropped, over packets arrived.
        drop: Option<f64> => "fraction" Interval,
        /// Packets dropped.
        drops: Option<u64> => "packets" Interval,
        /// Packets that wait in the queue, or in all of them.
        backlog_packets: Option<u64> => "packets" Instant,
        /// Base probability p'.
        p_base: Option<f64> => "probability" Instant,
        /// Congestion window in packets.
        cwnd_pkts: Option<u64> => "packets" Instant,
        /// Slow-start threshold in packets.
        ssthresh_pkts: Option<u64> => "packets" Instant,
        /// Smoothed RTT.
        srtt_ms: Option<f64> => "ms" Instant,
        /// The congestion control's own marking estimate.
        alpha: Option<f64> => "fraction" Instant,
        /// The score of its detector of Classic ECN: L4S up to 0, Classic from 1.
        classic_ecn: Option<f64> => "score" Instant,
        /// The detector's smoothed RTT.
        fbk_srtt_ms: Option<f64> => "ms" Instant,
        /// The mean deviation of the detector's smoothed RTT.
        fbk_mdev_ms: Option<f64> => "ms" Instant,
        /// The detector's estimate of the depth of the queue.
        fbk_depth_ms: Option<f64> => "ms" Instant,
        /// Segments delivered since the start, as the sender's socket counts.
        delivered: Option<u64> => "segments" Start,
        /// Segments delivered since the start whose acknowledgement reported CE.
        delivered_ce: Option<u64> => "segments" Start,
        /// Segments sent again since the start, as the sender's socket counts.
        retransmits: Option<u64> => "segments" Start,
    }
}

rows! {
    /// One bucket of a histogram of queueing delays, over data packets after the warm-up.
    DelayRow in "delays.parquet" {
        /// Queue, group or hop.
        scope: Scope => "" Row,
        /// Its name, as in the time series.
        name: String => "" Row,
        /// Lower end of the bucket of delays, inclusive.
        low_ms: f64 => "ms" Row,
        /// Upper end of the bucket of delays, exclusive.
        high_ms: f64 => "ms" Row,
        /// Packets of which the queueing delay is in the bucket.
        count: u64 => "packets" Warm,
    }
}

rows! {
    /// One flow or download.
    FlowRow in "flows.parquet" {
        /// Its group or source.
        group: String => "" Row,
        /// Its number in the run: those of the groups first, then UDP sources, then downloads.
        flow: u32 => "" Row,
        /// When its client opened it, in seconds since the start of the run.
        start_s: f64 => "s" Run,
        /// When its client saw the close; absent when the run ended first. Of a flow of a program,
        /// when its last packet came; of a UDP source, when it stopped.
        end_s: Option<f64> => "s" Run,
        /// Bytes it was to send: every download has them; absent for a flow without end.
        size: Option<u64> => "bytes" Run,
        /// IP bytes forwarded after the warm-up.
        bytes: u64 => "bytes" Warm,
        /// IP bits forwarded per second, over the time after the warm-up during which it was open;
        /// absent without any.
        rate_bps: Option<f64> => "bit/s" Warm,
        /// From just before the SYN until the close was seen.
        completion_ms: Option<f64> => "ms" Run,
        /// Segments sent again after the warm-up.
        retransmits: u64 => "segments" Warm,
        /// The last score of its detector of Classic ECN; absent without one.
        classic_ecn: Option<f64> => "score" End,
        /// The highest score of its detector of Classic ECN; absent without one.
        classic_ecn_max: Option<f64> => "score" Start,
        /// Round trips in which the score was above its floor, since the bottleneck last counted as one that only drops.
        classic_ecn_rounds: Option<u32> => "round trips" Start,
        /// Of a flow of a program, from its headers: `TCP`, `QUIC`, `RTP`, `UDP`, `ICMP`, `ICMPv6`,
        /// or the number of another protocol of IP; `others` for all beyond the first 100,000 flows.
        protocol: Option<String> => "" Run,
        /// Of a flow of a program: address and port of the client.
        client: Option<String> => "" Run,
        /// Of a flow of a program: address and port of the server.
        server: Option<String> => "" Run,
        /// Of a flow of a program: packets that arrived at the queue as Not-ECT.
        not_ect: Option<u64> => "packets" Warm,
        /// Of a flow of a program: packets that arrived at the queue as ECT(0).
        ect0: Option<u64> => "packets" Warm,
        /// Of a flow of a program: packets that arrived at the queue as ECT(1).
        ect1: Option<u64> => "packets" Warm,
        /// Of a flow of a program: packets that the queue marked.
        marks: Option<u64> => "packets" Warm,
        /// Of a flow of a program: packets that the queue dropped.
        drops: Option<u64> => "packets" Warm,
        /// Of a flow of a program: queueing delay of all its packets, of any size; mean.
        delay_mean_ms: Option<f64> => "ms" Warm,
        /// The same, 99th percentile, to 6.25 %.
        delay_p99_ms: Option<f64> => "ms" Warm,
        /// Of a flow of a program: its first round trip, of TCP and QUIC.
        handshake_ms: Option<f64> => "ms" Run,
        /// Of a flow of a program: mean round trip, of TCP from sequence numbers, one at a time, and of
        /// QUIC from the spin bit where both ends use it.
        rtt_mean_ms: Option<f64> => "ms" Warm,
    }
}

rows! {
    /// The subject of a row of the time series, and nothing else of it.
    SeriesName in "series.parquet" {
        /// The subject of the row.
        scope: Scope => "" Row,
        /// Its name.
        name: String => "" Row,
    }
}

rows! {
    /// Whether a flow is a download that was completed, and nothing else of it.
    FlowEnd in "flows.parquet" {
        /// When its client saw the close.
        end_s: Option<f64> => "s" Run,
        /// Bytes it was to send.
        size: Option<u64> => "bytes" Run,
    }
}

impl RunRecord {
    /// Writes the record into a file of `dir`, whole or not at all. The last line of the file holds
    /// `owner` and the checksum.
    pub fn save(&self, dir: &Dir, name: &str, owner: &str) -> Result<(), ResultError> {
        let write = || -> Result<(), Cause> {
            let mut text = serde_json::to_vec(self)?;
            text.push(b'\n');
            let seal = seal(&text, owner);
            text.extend(seal.bytes());
            dir.write(name, |file| file.write_all(&text))?;
            Ok(())
        };
        write().map_err(ResultError::at(&dir.path().join(name)))
    }

    /// Reads a record of `owner`.
    ///
    /// # Errors
    /// The file is missing or cannot be read; [`Cause::Damaged`] where its checksum, its owner or its
    /// content is wrong.
    pub fn load(dir: &Dir, name: &str, owner: &str) -> Result<Self, ResultError> {
        let read = || -> Result<Self, Cause> {
            let file = dir.file(name)?.ok_or(io::ErrorKind::NotFound);
            let mut text = Vec::new();
            file.map_err(io::Error::from)?.read_to_end(&mut text)?;
            let damaged = |what: &str| Cause::Damaged(what.to_owned());
            let body = text.strip_suffix(b"\n").ok_or_else(|| damaged("its end is missing"))?;
            let end = body.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let (body, found) = text.split_at(end);
            if found != seal(body, owner).as_bytes() {
                return Err(damaged("it is of another run, or was changed"));
            }
            serde_json::from_slice(body).map_err(|error| damaged(&error.to_string()))
        };
        read().map_err(ResultError::at(&dir.path().join(name)))
    }
}

/// The last line of a record's file.
fn seal(text: &[u8], owner: &str) -> String {
    let mut sum = Checksum::of(text);
    sum.update(owner.as_bytes());
    format!("{owner} {sum}\n")
}
