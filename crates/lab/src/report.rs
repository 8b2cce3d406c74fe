//! The agents' reports about their flows while a run goes on.

use l4s_cc::prague::kernel::Reading;
use l4s_model::FlowId;
use l4s_units::{Duration, Time};
use serde::{Deserialize, Serialize};

use crate::message::Row;

/// One thing that happened to a flow, and when, on the clock of the run.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(from = "Row", into = "Row")]
pub enum Report {
    /// Its client is about to connect.
    Opened {
        /// The flow, numbered from 0 over all groups.
        flow: FlowId,
        /// Just before the SYN.
        at: Time,
    },
    /// Its client saw the server's close.
    Closed {
        /// The flow.
        flow: FlowId,
        /// When.
        at: Time,
    },
    /// The server of an application's flow began to write a frame into the socket.
    Written {
        /// The flow.
        flow: FlowId,
        /// Just before.
        at: Time,
    },
    /// It left a frame out, as earlier ones wait in the socket still.
    Skipped {
        /// The flow.
        flow: FlowId,
        /// When it was due, or as soon as the server could.
        at: Time,
    },
    /// The client of an application's flow has read all of the next frame that was written.
    Delivered {
        /// The flow.
        flow: FlowId,
        /// When it had read the last byte.
        at: Time,
    },
    /// Its client has read more. The reads of one sampling interval are one report; intervals count from
    /// the end of the warm-up.
    Read {
        /// The flow.
        flow: FlowId,
        /// When the last of these reads was. In virtual time it may be the interval's last nanosecond.
        at: Time,
        /// Bytes that were read since the report before.
        bytes: u64,
    },
    /// Its server looked at the socket.
    Sample {
        /// The flow.
        flow: FlowId,
        /// When.
        at: Time,
        /// The sample.
        sample: TcpSample,
    },
}

/// A server's socket, from TCP_INFO.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpSample {
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow-start threshold in segments; `None` before the first reduction.
    pub ssthresh: Option<u32>,
    /// Smoothed RTT; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// Segments delivered since the connection was set up.
    pub delivered: u64,
    /// Those of them whose acknowledgement reported CE.
    pub delivered_ce: u64,
    /// Segments sent again since the connection was set up.
    pub retransmits: u64,
    /// Rate that the kernel paces at, in bytes per second; `None` without pacing.
    pub pacing_bytes_per_s: Option<u64>,
    /// Further state of its Prague, where it exports any.
    pub prague: Option<PragueSample>,
}

/// The state that a socket with Prague exports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PragueSample {
    /// The reading of its detector; all of it at rest where it has none.
    pub detector: Reading,
    /// The average of marks, in 2^-24, where that is known.
    pub alpha: Option<u32>,
}
