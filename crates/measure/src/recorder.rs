//! The observer that measures a run.
//!
//! A packet costs one cell of counters, one histogram bucket and one flow counter; everything else
//! happens at sampling instants or at the end. A packet counts by the time at which it leaves or
//! is dropped; packets that left before the end of the warm-up are in the time series only.

use l4s_aqm::{DropCause, MarkCause, Queue};
use l4s_cc::classic_ecn::Report;
use l4s_model::{Change, Direction, FlowId, PathEvent, Scenario, SourceId};
use l4s_observe::{FlowState, FrameEvent, HopEvent, LinkState, Observer, Traced, Wants};
use l4s_units::{Bytes, Duration, Time};

use crate::conclude::conclude;
use crate::counts::Cells;
use crate::flows::Flows;
use crate::frames::Frames;
use crate::measured::{HopCells, Measured, Origin, Samples, Straddling, queues_of};
use crate::rates::Rates;
use crate::record::RunRecord;
use crate::series::{Rows, Series};
use crate::{EngineSummary, PathSummary};

/// Measures one run.
///
/// Packets and flows must name a group of the scenario: groups first, then UDP sources.
#[derive(Debug)]
pub struct Recorder {
    scenario: Scenario,
    /// The last change from outside.
    adapted: Option<Scenario>,
    origin: Origin,
    queues: Vec<Queue>,
    cells: Cells,
    straddling: Straddling,
    /// Per hop.
    hops: Vec<HopCells>,
    uplink: Option<Uplink>,
    /// Per path, since the end of the warm-up.
    paths: Vec<PathSummary>,
    flows: Flows,
    rates: Rates,
    /// Bytes that clients passed on since the end of the warm-up, per group.
    goodput: Vec<u64>,
    rtts: Vec<Samples>,
    cwnds: Vec<Samples>,
    frames: Vec<Frames>,
    series: Option<Series>,
}

/// The counts at the uplink.
#[derive(Debug)]
struct Uplink {
    of: HopCells,
    /// Which sources send their data here.
    is_up: Vec<bool>,
}

impl Uplink {
    fn of(scenario: &Scenario, groups: usize) -> Option<Uplink> {
        let is_up = |source| scenario.direction_of(source) == Direction::Up;
        scenario.uplink.as_ref()?;
        let of = HopCells::new(scenario.uplink_aqms(), groups);
        Some(Uplink {
            of: HopCells { cells: of.cells.with_delays_of_all(), ..of },
            is_up: (0..groups).map(is_up).collect(),
        })
    }
}

impl Recorder {
    /// Measures a run of `scenario`.
    pub fn new(scenario: &Scenario, origin: Origin) -> Self {
        let roster = scenario.roster();
        let groups = roster.sources();
        Recorder {
            adapted: None,
            origin,
            queues: queues_of(scenario.aqms()),
            cells: Cells::new(groups),
            straddling: Straddling::default(),
            hops: scenario.hops.iter().map(|hop| HopCells::new([&hop.aqm], 1)).collect(),
            uplink: Uplink::of(scenario, groups),
            paths: scenario.paths.iter().map(|path| PathSummary::new(&path.name)).collect(),
            flows: Flows::with_capacity(roster.flows()),
            rates: Rates::new(scenario, groups),
            goodput: vec![0; groups],
            rtts: vec![Samples::default(); groups],
            cwnds: vec![Samples::default(); groups],
            frames: vec![Frames::default(); scenario.groups.len()],
            series: Some(Series::new(scenario)),
            scenario: scenario.clone(),
        }
    }

    /// Keeps no time series: for sweeps that want only summaries.
    pub fn without_series(self) -> Self {
        Recorder { series: None, ..self }
    }

    /// Takes a sample of the time series this often.
    pub fn sampled_every(mut self, interval: Duration) -> Self {
        if let Some(series) = &mut self.series {
            series.set_interval(interval);
        }
        self
    }

    /// The run ended after this time, where that is before its end in the scenario.
    pub fn ended(mut self, after: Duration) -> Self {
        self.scenario.duration = self.scenario.duration.min(after);
        self
    }

    /// The measurements. The run ended at the scenario's duration.
    pub fn finish(mut self, engine: EngineSummary) -> RunRecord {
        self.clock(Time::ZERO + self.scenario.duration);
        self.cells.settle();
        self.links().for_each(|link| link.cells.settle());
        conclude(Measured {
            scenario: &self.scenario,
            origin: self.origin,
            queues: &self.queues,
            cells: &self.cells,
            straddling: self.straddling,
            hops: &self.hops,
            uplink: self.uplink.as_ref().map(|uplink| &uplink.of),
            paths: self.paths,
            flows: &self.flows,
            rates: &self.rates,
            goodput: &self.goodput,
            rtts: &self.rtts,
            cwnds: &self.cwnds,
            frames: &self.frames,
            series: self.series.map(Series::into_rows).unwrap_or_default(),
            engine,
        })
    }

    /// The counts at every link but the bottleneck.
    fn links(&mut self) -> impl Iterator<Item = &mut HopCells> {
        self.hops.iter_mut().chain(self.uplink.as_mut().map(|uplink| &mut uplink.of))
    }

    /// Sees the time before anything is counted.
    #[inline]
    fn clock(&mut self, now: Time) {
        if now >= self.rates.due() {
            self.catch_up(now);
        }
    }

    /// Whether an event at this time counts. Sockets may report an event of the warm-up after its end.
    #[inline]
    fn is_measured(&self, at: Time) -> bool {
        at >= Time::ZERO + self.scenario.warmup
    }

    #[cold]
    fn catch_up(&mut self, now: Time) {
        if self.rates.due() == Time::ZERO + self.scenario.warmup {
            self.end_warmup();
        }
        while now >= self.rates.due() {
            self.rates.step(&self.flows);
        }
    }

    fn end_warmup(&mut self) {
        self.cells.end_warmup();
        self.links().for_each(|link| link.cells.end_warmup());
        self.flows.end_warmup();
        self.rtts.fill(Samples::default());
        self.cwnds.fill(Samples::default());
        self.frames.fill(Frames::default());
    }
}

impl<P: Traced> Observer<P> for Recorder {
    #[inline]
    fn marked(&mut self, packet: &P, queue: Queue, cause: MarkCause, now: Time) {
        self.clock(now);
        self.cells.marked(packet.group().index(), queue, cause);
    }

    #[inline(always)]
    fn departed(&mut self, packet: &P, queue: Queue, sojourn: Duration, now: Time) {
        self.clock(now);
        let length = packet.ip_length().get();
        self.cells.forwarded(packet.group().index(), queue, length, packet.newly_marked(), sojourn);
        // Of a group that sends up these are acknowledgements.
        if self.uplink.as_ref().is_none_or(|uplink| !uplink.is_up[packet.group().index()]) {
            self.flows.forwarded(packet.flow(), packet.group(), length, now);
        }
    }

    #[inline]
    fn dropped(&mut self, packet: &P, queue: Queue, cause: DropCause, now: Time) {
        self.clock(now);
        self.cells.dropped(packet.group().index(), queue, cause);
    }

    fn at_hop(&mut self, hop: u16, packet: &P, queue: Queue, what: HopEvent, now: Time) {
        self.clock(now);
        let (cells, group) = match (self.hops.get_mut(usize::from(hop)), &mut self.uplink) {
            (Some(hop), _) => (&mut hop.cells, 0),
            (None, Some(Uplink { of, is_up })) => {
                let group = packet.group();
                if is_up[group.index()] && matches!(what, HopEvent::Departed(_)) {
                    let length = packet.ip_length().get();
                    self.flows.forwarded(packet.flow(), group, length, now);
                }
                (&mut of.cells, group.index())
            }
            (None, None) => return,
        };
        match what {
            HopEvent::Marked(cause) => cells.marked(group, queue, cause),
            HopEvent::Dropped(cause) => cells.dropped(group, queue, cause),
            HopEvent::Departed(sojourn) => {
                let length = packet.ip_length().get();
                cells.forwarded(group, queue, length, packet.newly_marked(), sojourn);
            }
        }
    }

    fn at_path(&mut self, path: u16, _: SourceId, what: PathEvent, now: Time) {
        self.clock(now);
        if self.is_measured(now) {
            self.paths[usize::from(path)].count(what);
        }
    }

    fn straddled(&mut self, hop: Option<u16>, before: Bytes, after: Bytes) {
        let of = match hop {
            None => &mut self.straddling,
            Some(hop) => match self.links().nth(usize::from(hop)) {
                Some(link) => &mut link.straddling,
                None => return,
            },
        };
        of.before += before;
        of.after += after;
    }

    fn opened(&mut self, flow: FlowId, group: SourceId, size: Option<Bytes>, now: Time) {
        self.clock(now);
        self.flows.opened(flow, group, size, now);
    }

    fn closed(&mut self, flow: FlowId, now: Time) {
        self.clock(now);
        self.flows.closed(flow, now);
    }

    fn detected(&mut self, flow: FlowId, report: Report, now: Time) {
        self.clock(now);
        self.flows.detected(flow, report);
    }

    #[inline(always)]
    fn round_trip(&mut self, flow: FlowId, rtt: Duration, now: Time) {
        self.clock(now);
        if let Some(group) = self.flows.group(flow) {
            self.rtts[group.index()].add(rtt.as_nanos());
        }
    }

    #[inline(always)]
    fn delivered(&mut self, flow: FlowId, group: SourceId, bytes: u64, now: Time) {
        if self.is_measured(now) {
            self.goodput[group.index()] += bytes;
        }
        if let Some(series) = &mut self.series {
            series.delivered(flow, group, bytes, now);
        }
    }

    fn retransmitted(&mut self, flow: FlowId, now: Time) {
        self.clock(now);
        self.flows.retransmitted(flow);
    }

    fn frame(&mut self, _: FlowId, group: SourceId, what: FrameEvent, now: Time) {
        self.clock(now);
        if self.is_measured(now) {
            self.frames[group.index()].count(what);
        }
    }

    fn sample_link(&mut self, state: LinkState, now: Time) {
        self.clock(now);
        if let Some(series) = &mut self.series {
            self.cells.settle();
            let links =
                self.hops.iter_mut().chain(self.uplink.as_mut().map(|uplink| &mut uplink.of));
            links.for_each(|link| link.cells.settle());
            let rows = Rows {
                down: self.cells.row(),
                up: self.uplink.as_ref().map(|up| (up.of.cells.row(), &up.is_up[..])),
            };
            series.sample_link(state, rows, &self.queues, now);
            self.cells.next_row();
            for (hop, HopCells { queues, cells, .. }) in
                self.scenario.hops.iter().zip(&mut self.hops)
            {
                series.sample_hop(&hop.name, cells.row(), queues);
                cells.next_row();
            }
            if let Some(Uplink { of: HopCells { queues, cells, .. }, .. }) = &mut self.uplink {
                series.sample_hop(l4s_model::UPLINK, cells.row(), queues);
                cells.next_row();
            }
        }
    }

    fn sample_flow(&mut self, state: FlowState, now: Time) {
        // Only the state of a real socket: a simulated flow's window is known from its rate.
        if state.socket.is_some() {
            self.cwnds[state.group.index()].add(state.cwnd.into());
        }
        if let Some(series) = &mut self.series {
            series.sample_flow(state, &mut self.flows, now);
        }
    }

    /// A change of the run from outside is part of its scenario from here on, like an `[[at]]`.
    fn adapted(&mut self, scenario: &Scenario, now: Time) {
        let before = self.adapted.as_ref().unwrap_or(&self.scenario);
        let change = Change::between(before, scenario, now);
        self.adapted = Some(scenario.clone());
        let changes = &mut self.scenario.changes;
        changes.insert(changes.partition_point(|change| change.time <= now), change);
        let add = |queues: &mut Vec<Queue>, aqm| {
            for queue in queues_of([aqm]) {
                if !queues.contains(&queue) {
                    queues.push(queue);
                }
            }
        };
        add(&mut self.queues, &scenario.aqm);
        if let Some((of, uplink)) = self.uplink.as_mut().zip(scenario.uplink.as_ref()) {
            add(&mut of.of.queues, &uplink.aqm);
        }
    }

    fn sampling_interval(&self) -> Option<Duration> {
        self.series.as_ref().map(Series::interval)
    }

    /// A packet counts when it leaves or is dropped.
    fn wants(&self) -> Wants {
        let flows = self.series.as_ref().is_some_and(Series::with_flows);
        Wants { flows, ..Wants::NOTHING }
    }
}
