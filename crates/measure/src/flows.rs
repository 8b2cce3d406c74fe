//! The records of each flow: its bytes, and when it opened and closed.

use l4s_cc::classic_ecn::Report;
use l4s_model::{FlowId, SourceId};
use l4s_units::{Bytes, Duration, Time};

/// A flow's life.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flow {
    pub group: SourceId,
    /// When its client opened it, or its first packet left; `None` for a number that no flow had.
    pub opened: Option<Time>,
    /// Whether its client reported that it opened it. Programs and UDP sources do not.
    pub reported: bool,
    pub closed: Option<Time>,
    pub size: Option<Bytes>,
    /// The last report of its detector of Classic ECN, where it had one.
    pub classic_ecn: Option<Report>,
    /// Segments sent again after the warm-up.
    pub retransmits: u64,
    /// IP bytes forwarded by the end of the warm-up.
    pub warmup_bytes: u64,
    /// IP bytes forwarded by the last row of the time series.
    pub row_bytes: u64,
}

/// All flows by number.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    /// IP bytes forwarded since the start of the run; apart from the rest because every packet
    /// touches it.
    bytes: Vec<u64>,
    /// The group of each flow that was opened or forwarded; apart because every sample of the RTT asks for it.
    groups: Vec<Option<SourceId>>,
    flows: Vec<Flow>,
}

impl Flows {
    pub fn with_capacity(flows: usize) -> Self {
        Flows {
            bytes: Vec::with_capacity(flows),
            groups: Vec::with_capacity(flows),
            flows: Vec::with_capacity(flows),
        }
    }

    #[inline]
    pub fn forwarded(&mut self, flow: FlowId, group: SourceId, length: u64, now: Time) {
        match self.bytes.get_mut(flow.index()) {
            Some(bytes) if *bytes != 0 => *bytes += length,
            _ => self.first_forwarded(flow, group, length, now),
        }
    }

    /// The first packet of a flow, which nobody may have opened: an unresponsive source.
    #[cold]
    fn first_forwarded(&mut self, flow: FlowId, group: SourceId, length: u64, now: Time) {
        let entry = self.entry(flow);
        if entry.opened.is_none() {
            entry.opened = Some(now);
            entry.group = group;
            self.groups[flow.index()] = Some(group);
        }
        self.bytes[flow.index()] += length;
    }

    pub fn opened(&mut self, flow: FlowId, group: SourceId, size: Option<Bytes>, now: Time) {
        let entry = self.entry(flow);
        (entry.group, entry.size, entry.opened) = (group, size, Some(now));
        entry.reported = true;
        self.groups[flow.index()] = Some(group);
    }

    pub fn closed(&mut self, flow: FlowId, now: Time) {
        self.entry(flow).closed = Some(now);
    }

    pub fn detected(&mut self, flow: FlowId, report: Report) {
        self.entry(flow).classic_ecn = Some(report);
    }

    pub fn retransmitted(&mut self, flow: FlowId) {
        self.entry(flow).retransmits += 1;
    }

    fn entry(&mut self, flow: FlowId) -> &mut Flow {
        let flow = flow.index();
        if flow >= self.flows.len() {
            self.flows.resize(flow + 1, Flow::default());
            self.bytes.resize(flow + 1, 0);
            self.groups.resize(flow + 1, None);
        }
        &mut self.flows[flow]
    }

    /// The group of a flow that was opened or forwarded.
    #[inline]
    pub fn group(&self, flow: FlowId) -> Option<SourceId> {
        self.groups.get(flow.index()).copied().flatten()
    }

    pub fn end_warmup(&mut self) {
        for (flow, bytes) in self.flows.iter_mut().zip(&self.bytes) {
            flow.warmup_bytes = *bytes;
            flow.retransmits = 0;
        }
    }

    /// IP bytes of a flow since this was last asked.
    pub fn row_bytes(&mut self, flow: FlowId) -> u64 {
        let entry = self.entry(flow);
        let before = entry.row_bytes;
        let now = self.bytes[flow.index()];
        self.flows[flow.index()].row_bytes = now;
        now - before
    }

    /// Every flow that was opened or forwarded, by number.
    pub fn iter(&self) -> impl Iterator<Item = (FlowId, &Flow)> {
        FlowId::new(0).onwards().zip(&self.flows).filter(|(_, flow)| flow.opened.is_some())
    }

    /// The group of each of these, and its IP bytes since the start of the run.
    pub fn sent(&self) -> impl Iterator<Item = (FlowId, SourceId, u64)> {
        let all = FlowId::new(0).onwards().zip(&self.groups).zip(&self.bytes);
        all.filter_map(|((flow, group), bytes)| Some((flow, (*group)?, *bytes)))
    }

    /// IP bytes of a flow after the warm-up.
    pub fn counted_bytes(&self, flow: FlowId) -> u64 {
        self.bytes[flow.index()] - self.flows[flow.index()].warmup_bytes
    }
}

impl Flow {
    /// How long it was open between `from` and `to`.
    pub fn active(&self, from: Time, to: Time) -> Duration {
        let Some(opened) = self.opened else { return Duration::ZERO };
        self.closed.unwrap_or(to).min(to).since(opened.max(from))
    }

    /// From just before the SYN until the close was seen.
    pub fn completion(&self) -> Option<Duration> {
        Some(self.closed?.since(self.opened?))
    }
}
