//! The flows of programs, for a table: the largest ones, and the others as one row.

use std::cmp::Reverse;

use l4s_measure::FlowRow;
use serde::{Deserialize, Serialize};

/// The most flows that have rows of their own.
const ROWS: usize = 50;

/// Flows of programs.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ProgramFlows {
    /// The flows that carried most, in descending order of bytes.
    pub largest: Vec<ProgramFlow>,
    /// All other flows together: sums, the mean delay, the first start and the last end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub others: Option<ProgramFlow>,
    /// The number of flows in `others`.
    pub more: usize,
}

/// A flow of a program, with columns of `flows.parquet`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct ProgramFlow {
    pub group: String,
    pub protocol: Option<String>,
    pub client: Option<String>,
    pub server: Option<String>,
    pub start_s: f64,
    pub end_s: Option<f64>,
    pub bytes: u64,
    pub rate_bps: Option<f64>,
    pub retransmits: u64,
    pub not_ect: u64,
    pub ect0: u64,
    pub ect1: u64,
    pub marks: u64,
    pub drops: u64,
    pub delay_mean_ms: Option<f64>,
    pub delay_p99_ms: Option<f64>,
    pub rtt_mean_ms: Option<f64>,
}

impl From<FlowRow> for ProgramFlow {
    fn from(row: FlowRow) -> ProgramFlow {
        ProgramFlow {
            group: row.group,
            protocol: row.protocol,
            client: row.client,
            server: row.server,
            start_s: row.start_s,
            end_s: row.end_s,
            bytes: row.bytes,
            rate_bps: row.rate_bps,
            retransmits: row.retransmits,
            not_ect: row.not_ect.unwrap_or_default(),
            ect0: row.ect0.unwrap_or_default(),
            ect1: row.ect1.unwrap_or_default(),
            marks: row.marks.unwrap_or_default(),
            drops: row.drops.unwrap_or_default(),
            delay_mean_ms: row.delay_mean_ms,
            delay_p99_ms: row.delay_p99_ms,
            rtt_mean_ms: row.rtt_mean_ms,
        }
    }
}

impl ProgramFlows {
    /// Adds a flow. At most twice `ROWS` rows are in memory.
    pub fn add(&mut self, flow: FlowRow) {
        self.largest.push(flow.into());
        if self.largest.len() >= 2 * ROWS {
            self.settle();
        }
    }

    /// Sorts the flows, and merges those beyond `ROWS`.
    pub fn settle(&mut self) {
        self.largest.sort_by_key(|flow| Reverse(flow.bytes));
        for flow in self.largest.split_off(self.largest.len().min(ROWS)) {
            self.more += 1;
            let others = self.others.take().map(|others| others.with(&flow));
            self.others = others.or(Some(ProgramFlow {
                group: String::new(),
                protocol: None,
                client: None,
                server: None,
                rate_bps: None,
                delay_p99_ms: None,
                rtt_mean_ms: None,
                ..flow
            }));
        }
    }
}

impl ProgramFlow {
    /// Packets that left the queue.
    fn forwarded(&self) -> f64 {
        (self.not_ect + self.ect0 + self.ect1).saturating_sub(self.drops) as f64
    }

    /// These flows and another one.
    fn with(self, flow: &ProgramFlow) -> ProgramFlow {
        let (m, n) = (self.forwarded(), flow.forwarded());
        let delay = match (self.delay_mean_ms, flow.delay_mean_ms) {
            (Some(x), Some(y)) if m + n > 0.0 => Some((x * m + y * n) / (m + n)),
            (x, y) => x.or(y),
        };
        ProgramFlow {
            start_s: self.start_s.min(flow.start_s),
            end_s: [self.end_s, flow.end_s].into_iter().flatten().reduce(f64::max),
            bytes: self.bytes + flow.bytes,
            retransmits: self.retransmits + flow.retransmits,
            not_ect: self.not_ect + flow.not_ect,
            ect0: self.ect0 + flow.ect0,
            ect1: self.ect1 + flow.ect1,
            marks: self.marks + flow.marks,
            drops: self.drops + flow.drops,
            delay_mean_ms: delay,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(flow: u32, bytes: u64) -> FlowRow {
        FlowRow {
            group: "A".to_owned(),
            flow,
            start_s: f64::from(flow),
            end_s: Some(f64::from(flow) + 1.0),
            bytes,
            not_ect: Some(bytes),
            marks: Some(1),
            delay_mean_ms: Some(if bytes == 1 { 2.0 } else { 8.0 }),
            ..FlowRow::default()
        }
    }

    #[test]
    fn the_largest_have_rows_and_the_others_their_sums() {
        let mut flows = ProgramFlows::default();
        // 300 flows of 1, 2 or 1000 bytes; the first 50 of the hundred largest have rows.
        (0..300).for_each(|n| flows.add(flow(n, [1, 2, 1000][n as usize % 3])));
        flows.settle();
        let starts: Vec<f64> = flows.largest.iter().map(|flow| flow.start_s).collect();
        assert_eq!(starts, (0..50).map(|n| f64::from(3 * n + 2)).collect::<Vec<_>>());
        let others = flows.others.unwrap();
        assert_eq!((flows.more, others.marks), (250, 250));
        // 100 × 1 + 100 × 2 + 50 × 1000 bytes, from flow 0 to flow 299.
        assert_eq!((others.bytes, others.start_s, others.end_s), (50_300, 0.0, Some(300.0)));
        // 100 packets of 2 ms and 50,200 of 8 ms.
        let mean = (100.0 * 2.0 + 50_200.0 * 8.0) / 50_300.0;
        assert!((others.delay_mean_ms.unwrap() - mean).abs() < 1e-9);
    }

    #[test]
    fn few_flows_have_no_others() {
        let mut flows = ProgramFlows::default();
        flows.add(flow(0, 1));
        flows.settle();
        assert_eq!((flows.largest.len(), flows.others, flows.more), (1, None, 0));
    }
}
