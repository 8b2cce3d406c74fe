//! The time series: a row per sampling interval for the link, each queue, each group, each queue of
//! a hop and, where there are few, each flow.

use l4s_aqm::Queue;
use l4s_model::{FlowId, Scenario, SourceId};
use l4s_observe::{FlowState, LinkState};
use l4s_units::{Duration, Probability, Time};

use crate::counts::{Counts, View};
use crate::flows::Flows;
use crate::record::{Scope, SeriesRow};
use crate::stats::rate_bps;

/// The shortest interval.
const INTERVAL: Duration = Duration::from_millis(100);
/// A run has at most about this many samples; longer runs take longer intervals.
const SAMPLES: u64 = 1000;
/// Flows have rows of their own in scenarios of at most this many flows, downloads aside.
const FLOWS: u32 = 64;

#[derive(Debug)]
pub(crate) struct Series {
    rows: Vec<SeriesRow>,
    /// Names of the groups, then of the UDP sources.
    names: Vec<String>,
    interval: Duration,
    /// The current interval began when the last one ended.
    began: Time,
    /// How long the interval was that ended last.
    span: Duration,
    /// Bytes that clients passed on in the current interval, per group.
    group_delivered: Vec<u64>,
    /// The same per flow, where flows have rows of their own.
    flow_delivered: Vec<u64>,
    with_flows: bool,
}

/// The sampling interval of a run that nobody chose one for.
fn interval_of(scenario: &Scenario) -> Duration {
    let samples = scenario.duration.as_nanos() / INTERVAL.as_nanos();
    INTERVAL * samples.div_ceil(SAMPLES).max(1)
}

/// The most rows that the time series of a run has, with samples `interval` apart if it is given.
pub fn series_rows(scenario: &Scenario, interval: Option<Duration>) -> u64 {
    let roster = scenario.roster();
    let interval = interval.unwrap_or_else(|| interval_of(scenario));
    let samples = scenario.duration.as_nanos() / interval.as_nanos().max(1) + 1;
    let flows = Some(roster.flows()).filter(|flows| *flows <= FLOWS as usize).unwrap_or(0);
    let queues = Queue::ALL.len() * (1 + scenario.hops.len() + scenario.uplink.iter().len());
    let each = 1 + queues + roster.sources() + flows;
    samples.saturating_mul(each as u64)
}

/// The counts of an interval at the bottleneck, and at the uplink with which sources send up.
pub(crate) struct Rows<'a> {
    pub down: View<'a>,
    pub up: Option<(View<'a>, &'a [bool])>,
}

impl Rows<'_> {
    /// The counts at the link that the data of a source shares.
    fn of(&self, source: usize) -> Counts {
        let up = self.up.filter(|(_, is_up)| is_up[source]);
        up.map_or(self.down, |(view, _)| view).group(source)
    }
}

impl Series {
    pub fn new(scenario: &Scenario) -> Self {
        let flows = scenario.roster().flows();
        let with_flows = flows <= FLOWS as usize;
        Series {
            rows: Vec::new(),
            names: scenario.source_names().map(str::to_owned).collect(),
            interval: interval_of(scenario),
            began: Time::ZERO,
            span: Duration::ZERO,
            group_delivered: vec![0; scenario.groups.len()],
            flow_delivered: vec![0; if with_flows { flows } else { 0 }],
            with_flows,
        }
    }

    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Whether flows have rows of their own.
    pub fn with_flows(&self) -> bool {
        self.with_flows
    }

    /// `interval` is not zero.
    pub fn set_interval(&mut self, interval: Duration) {
        self.interval = interval;
    }

    /// A flow's client passed this number of bytes to its application.
    #[inline]
    pub fn delivered(&mut self, flow: FlowId, group: SourceId, bytes: u64, now: Time) {
        if now < self.began {
            return self.reported_late(flow, group, bytes, now);
        }
        self.group_delivered[group.index()] += bytes;
        if let Some(of_flow) = self.flow_delivered.get_mut(flow.index()) {
            *of_flow += bytes;
        }
    }

    /// Clients with real sockets report the bytes that they read when that interval is over.
    #[cold]
    fn reported_late(&mut self, flow: FlowId, group: SourceId, bytes: u64, read: Time) {
        let of_group = &self.names[group.index()];
        let of_flow = format!("{of_group}.{flow}");
        for (scope, name) in [(Scope::Group, of_group), (Scope::Flow, &of_flow)] {
            let later =
                self.rows.iter_mut().rev().take_while(|row| row.time_s > read.as_secs_f64());
            let row = later.filter(|row| row.scope == scope && row.name == *name).last();
            if let Some(goodput) = row.and_then(|row| row.goodput_bps.as_mut()) {
                *goodput += rate_bps(bytes, self.span).unwrap_or(0.0);
            }
        }
    }

    /// Ends an interval in which `counts` happened.
    pub fn sample_link(&mut self, state: LinkState, rows: Rows<'_>, queues: &[Queue], now: Time) {
        self.span = now.since(self.began);
        self.began = now;
        self.rows.push(SeriesRow {
            backlog_packets: Some(state.packets.into()),
            p_base: state.base.map(Probability::as_f64),
            ..self.row(Scope::Link, "link", &rows.down.all())
        });
        for &queue in queues {
            self.rows.push(self.row(Scope::Queue, queue.name(), &rows.down.queue(queue)));
        }
        for group in 0..self.names.len() {
            let delivered = self.group_delivered.get_mut(group).map(std::mem::take);
            self.rows.push(SeriesRow {
                goodput_bps: delivered.and_then(|bytes| rate_bps(bytes, self.span)),
                ..self.row(Scope::Group, &self.names[group], &rows.of(group))
            });
        }
    }

    /// Adds the counts of the links of a hop in the interval that just ended.
    pub fn sample_hop(&mut self, name: &str, counts: View<'_>, queues: &[Queue]) {
        for &queue in queues {
            let name = format!("{name}.{}", queue.name());
            self.rows.push(self.row(Scope::Hop, &name, &counts.queue(queue)));
        }
    }

    /// Adds the state of a flow, and its rate during the interval that just ended.
    pub fn sample_flow(&mut self, state: FlowState, flows: &mut Flows, now: Time) {
        if !self.with_flows {
            return;
        }
        let bytes = flows.row_bytes(state.flow);
        let delivered = self.flow_delivered.get_mut(state.flow.index()).map(std::mem::take);
        self.rows.push(SeriesRow {
            time_s: now.as_secs_f64(),
            scope: Scope::Flow,
            name: format!("{}.{}", self.names[state.group.index()], state.flow),
            rate_bps: rate_bps(bytes, self.span),
            goodput_bps: delivered.and_then(|bytes| rate_bps(bytes, self.span)),
            cwnd_pkts: Some(state.cwnd.into()),
            ssthresh_pkts: state.ssthresh.map(u64::from),
            srtt_ms: state.srtt.map(Duration::as_millis_f64),
            alpha: state.alpha,
            classic_ecn: state.classic_ecn.map(|report| report.score),
            fbk_srtt_ms: state.classic_ecn.map(|report| report.srtt.as_millis_f64()),
            fbk_mdev_ms: state.classic_ecn.map(|report| report.mdev.as_millis_f64()),
            fbk_depth_ms: state.classic_ecn.map(|report| report.depth.as_millis_f64()),
            delivered: state.socket.map(|socket| socket.delivered),
            delivered_ce: state.socket.map(|socket| socket.delivered_ce),
            retransmits: state.socket.map(|socket| socket.retransmits),
            ..SeriesRow::default()
        });
    }

    fn row(&self, scope: Scope, name: &str, counts: &Counts) -> SeriesRow {
        SeriesRow {
            time_s: self.began.as_secs_f64(),
            scope,
            name: name.to_owned(),
            rate_bps: rate_bps(counts.bytes, self.span),
            delay_mean_ms: counts.delays.mean_ms(),
            delay_max_ms: counts.delays.max_ms(),
            packets: Some(counts.packets),
            mark: counts.mark_ratio(),
            drop: counts.drop_ratio(),
            drops: Some(counts.dropped()),
            ..SeriesRow::default()
        }
    }

    pub fn into_rows(self) -> Vec<SeriesRow> {
        self.rows
    }
}
