//! The meter of a lane: the observer that counts events between two looks of a viewer.

use std::collections::BTreeMap;

use l4s_aqm::{DropCause, Queue};
use l4s_measure::{DATA_LENGTH, queues_of, theoretical_time};
use l4s_model::{Direction, FlowId, Link, Scenario, SourceId};
use l4s_observe::{FlowState, FrameEvent, HopEvent, LinkState, Observer, Traced};
use l4s_substrate::Lane;
use l4s_units::{Bytes, Duration, Rate, Time};

use crate::protocol::{
    self, BUCKETS, Download, Frame, LaneState, PacketEvent, QueueState, UplinkState, bucket,
};

/// Packets in a sample, at most.
const SAMPLE: usize = 64;
/// Maximum number of downloads and frames in a state: nobody sees more at a time.
const MOST_EVENTS: usize = 500;
/// Maximum number of downloads under way; the oldest are dropped then.
const MOST_DOWNLOADS: usize = 10_000;
/// The unit of the window.
const FULL_PACKET_BITS: f64 = 8.0 * 1500.0;

/// Counts the events of a lane, from one [`Meter::take`] to the next.
#[derive(Debug)]
pub struct Meter {
    scenario: Scenario,
    /// The base round trip of each group: an `[[at]]` may have changed it, or somebody.
    rtts: Vec<Duration>,
    /// When it was asked last.
    since: Time,
    bottleneck: OfLink,
    uplink: Option<OfLink>,
    /// Which sources send their data through the uplink.
    is_up: Vec<bool>,
    groups: Vec<OfGroup>,
    /// IP bytes by flow.
    bytes: BTreeMap<FlowId, Bytes>,
    /// As they were at the last sample.
    flows: Vec<FlowState>,
    /// Downloads under way: group, size, when they began, and the theoretical time then.
    under_way: BTreeMap<FlowId, (SourceId, Bytes, Time, Duration)>,
    downloads: Vec<Download>,
    gave_up: u64,
    turned_away: u64,
    skipped: u64,
    frames: Vec<Frame>,
    interval: Option<Duration>,
}

/// The counts of the bottleneck, or of the uplink.
#[derive(Debug)]
struct OfLink {
    /// Its rate: an `[[at]]` may have changed it, or somebody.
    rate: Rate,
    /// The bytes of each packet around its IP packet.
    header: Bytes,
    /// Packets that are shorter have no part in its delays.
    least: u64,
    /// Bytes that left, and those that had left before and were still to be transmitted.
    carried: Bytes,
    owed: Bytes,
    state: Option<LinkState>,
    queues: [OfQueue; Queue::ALL.len()],
    sample: Sample,
}

/// The counts of a queue.
#[derive(Clone, Debug)]
struct OfQueue {
    packets: u64,
    marked: u64,
    dropped: u64,
    delays: Vec<u32>,
    data: u64,
    delay_sum: Duration,
    delay_max: Duration,
}

/// The counts of a group or a source.
#[derive(Clone, Copy, Debug, Default)]
struct OfGroup {
    packets: u64,
    bytes: Bytes,
    /// Bytes that the clients passed on to their applications.
    delivered: Bytes,
    marked: u64,
    dropped: u64,
}

/// A sample: one of every N packets.
#[derive(Debug, Default)]
struct Sample {
    events: Vec<PacketEvent>,
    /// Events since the last look, and the number of events per sample.
    seen: u64,
    stride: u64,
}

impl Default for OfQueue {
    fn default() -> OfQueue {
        OfQueue {
            packets: 0,
            marked: 0,
            dropped: 0,
            delays: vec![0; BUCKETS],
            data: 0,
            delay_sum: Duration::ZERO,
            delay_max: Duration::ZERO,
        }
    }
}

impl OfQueue {
    fn state(&self, queue: Queue) -> QueueState {
        let filled = (0..).zip(&self.delays).filter(|(_, packets)| **packets > 0);
        let some = |delay_ms| (self.data > 0).then_some(delay_ms);
        QueueState {
            name: queue.name(),
            packets: self.packets,
            marked: self.marked,
            dropped: self.dropped,
            delay_mean_ms: some(self.delay_sum.as_millis_f64() / self.data.max(1) as f64),
            delay_max_ms: some(self.delay_max.as_millis_f64()),
            delays: filled.map(|(bucket, packets)| (bucket, *packets)).collect(),
        }
    }

    fn clear(&mut self) {
        let mut delays = std::mem::take(&mut self.delays);
        delays.fill(0);
        *self = OfQueue { delays, ..OfQueue::default() };
    }

    fn is_empty(&self) -> bool {
        self.packets + self.dropped == 0
    }
}

impl Sample {
    #[inline]
    fn add(&mut self, at: Duration, group: SourceId, queue: Queue, fate: u8, sojourn: Duration) {
        self.seen += 1;
        if self.events.len() < SAMPLE && self.seen % self.stride.max(1) == 0 {
            let [at, sojourn] = [at, sojourn].map(|time| time.as_millis_f64() as f32);
            self.events.push(PacketEvent(at, group, queue as u8, fate, sojourn));
        }
    }

    /// The next one is spread over as many as there were in this one.
    fn take(&mut self) -> Vec<PacketEvent> {
        self.stride = self.seen.div_ceil(SAMPLE as u64);
        self.seen = 0;
        std::mem::take(&mut self.events)
    }
}

impl OfLink {
    fn new(link: &Link, least: u64) -> OfLink {
        OfLink {
            rate: link.rate,
            header: link.header(),
            least,
            carried: Bytes::ZERO,
            owed: Bytes::ZERO,
            state: None,
            queues: Default::default(),
            sample: Sample::default(),
        }
    }

    fn departed<P: Traced>(&mut self, packet: &P, queue: Queue, sojourn: Duration, at: Duration) {
        let length = packet.ip_length();
        self.carried += length + self.header;
        let marked = packet.newly_marked();
        let of = &mut self.queues[queue as usize];
        of.packets += 1;
        of.marked += u64::from(marked);
        if length.get() >= self.least {
            of.data += 1;
            of.delay_sum += sojourn;
            of.delay_max = of.delay_max.max(sojourn);
            of.delays[usize::from(bucket(sojourn.as_millis_f64()))] += 1;
        }
        self.sample.add(at, packet.group(), queue, u8::from(marked), sojourn);
    }

    fn dropped(&mut self, group: SourceId, queue: Queue, at: Duration) {
        self.queues[queue as usize].dropped += 1;
        self.sample.add(at, group, queue, 2, Duration::ZERO);
    }

    /// The link between two times.
    fn link(&self, link: &Link, since: Time, now: Time) -> protocol::LinkState {
        let span = now.since(since);
        let seconds = span.as_secs_f64();
        let (rate_bps, could) = match &link.trace {
            Some(capacity) if !span.is_zero() => {
                let could = bits(capacity.bytes_between(since, now));
                (could / seconds, could)
            }
            _ => (self.rate.as_bps() as f64, self.rate.as_bps() as f64 * seconds),
        };
        let carried = (self.carried + self.owed).saturating_sub(self.owed_now());
        protocol::LinkState {
            rate_bps,
            utilization: if could > 0.0 { bits(carried) / could } else { 0.0 },
            backlog_packets: self.state.map_or(0, |state| state.packets.into()),
            backlog_bytes: self.state.map_or(0, |state| state.bytes.get()),
            p_base: self.state.and_then(|state| state.base).map(|base| base.as_f64()),
        }
    }

    fn owed_now(&self) -> Bytes {
        self.state.map_or(Bytes::ZERO, |state| state.owed)
    }

    /// The queues that this discipline has, and those that had packets.
    fn queues(&self, aqm: &l4s_aqm::Config) -> Vec<QueueState> {
        let has = queues_of([aqm]);
        let all = Queue::ALL.into_iter().zip(&self.queues);
        all.filter(|(queue, counted)| has.contains(queue) || !counted.is_empty())
            .map(|(queue, counted)| counted.state(queue))
            .collect()
    }

    /// Counts from now on.
    fn clear(&mut self) {
        (self.carried, self.owed) = (Bytes::ZERO, self.owed_now());
        self.queues.iter_mut().for_each(OfQueue::clear);
    }
}

impl Meter {
    /// Nothing happened yet in a run of `scenario`, which is at time zero.
    pub fn new(scenario: &Scenario) -> Meter {
        let sources = 0..scenario.roster().sources();
        let is_up: Vec<bool> =
            sources.map(|source| scenario.direction_of(source) == Direction::Up).collect();
        Meter {
            bottleneck: OfLink::new(&scenario.link, DATA_LENGTH),
            uplink: scenario.uplink.as_ref().map(|uplink| OfLink::new(&uplink.link, 0)),
            is_up,
            rtts: scenario.groups.iter().map(|group| group.rtt).collect(),
            scenario: scenario.clone(),
            since: Time::ZERO,
            groups: vec![OfGroup::default(); scenario.roster().sources()],
            bytes: BTreeMap::new(),
            flows: Vec::new(),
            under_way: BTreeMap::new(),
            downloads: Vec::new(),
            gave_up: 0,
            turned_away: 0,
            skipped: 0,
            frames: Vec::new(),
            interval: None,
        }
    }

    /// The same in a run that is at `now` already.
    pub fn starting_at(self, now: Time) -> Meter {
        Meter { since: now, ..self }
    }

    /// The events in a lane since the last look.
    pub fn look(lane: &mut dyn Lane<Meter>) -> LaneState {
        let mut state = None;
        lane.observe(&mut |meter, now| state = Some(meter.take(now)));
        state.expect("a lane gives its observer")
    }

    /// Follows the changes that the scenario itself made in the span.
    fn follow(&mut self, now: Time) {
        let changes = self.scenario.changes.iter();
        for change in changes.filter(|change| self.since < change.time && change.time <= now) {
            self.bottleneck.rate = change.rate.unwrap_or(self.bottleneck.rate);
            if let Some((uplink, rate)) = self.uplink.as_mut().zip(change.uplink_rate) {
                uplink.rate = rate;
            }
            for (group, rtt) in &change.rtts {
                self.rtts[*group] = *rtt;
            }
        }
    }

    /// The same, for a substrate that asks how often to sample.
    pub fn sampled_every(self, interval: Duration) -> Meter {
        Meter { interval: Some(interval), ..self }
    }

    /// The events until now, since the last call.
    pub fn take(&mut self, now: Time) -> LaneState {
        let span = now.since(self.since);
        self.follow(now);
        let state = LaneState {
            link: self.bottleneck.link(&self.scenario.link, self.since, now),
            queues: self.bottleneck.queues(&self.scenario.aqm),
            uplink: self.uplink_state(now),
            groups: self.group_states(span),
            flows: self.flow_states(span),
            downloads: std::mem::take(&mut self.downloads),
            gave_up: std::mem::take(&mut self.gave_up),
            turned_away: std::mem::take(&mut self.turned_away),
            skipped: std::mem::take(&mut self.skipped),
            frames: std::mem::take(&mut self.frames),
            packets: self.bottleneck.sample.take(),
        };
        self.since = now;
        self.bottleneck.clear();
        self.uplink.iter_mut().for_each(OfLink::clear);
        self.groups.fill(OfGroup::default());
        self.bytes.clear();
        state
    }

    /// Whether the application of a group skips frames to keep their delay short.
    fn adapts(&self, group: SourceId) -> bool {
        self.scenario.apps.iter().any(|app| app.group == group.index() && app.adapt)
    }

    fn uplink_state(&mut self, now: Time) -> Option<UplinkState> {
        let (counted, uplink) = self.uplink.as_mut().zip(self.scenario.uplink.as_ref())?;
        Some(UplinkState {
            link: counted.link(&uplink.link, self.since, now),
            queues: counted.queues(&uplink.aqm),
            packets: counted.sample.take(),
        })
    }

    fn group_states(&self, span: Duration) -> Vec<protocol::GroupState> {
        let names = self.scenario.groups.iter().map(|group| &group.name);
        let names = names.chain(self.scenario.udp.iter().map(|udp| &udp.name));
        let state = |(place, (name, counted)): (usize, (&String, &OfGroup))| {
            let long = || self.long().filter(move |flow| flow.group.index() == place);
            let windows = mean(long().filter_map(|flow| {
                Some(self.rate(flow.flow, span) * flow.srtt?.as_secs_f64() / FULL_PACKET_BITS)
            }));
            protocol::GroupState {
                name: name.clone(),
                rate_bps: per_second(counted.bytes, span),
                goodput_bps: self.tells_goodput(place).then(|| per_second(counted.delivered, span)),
                packets: counted.packets,
                marked: counted.marked,
                dropped: counted.dropped,
                window_pkts: windows,
                rtt_ms: mean(long().filter_map(|flow| Some(flow.srtt?.as_millis_f64()))),
            }
        };
        names.zip(&self.groups).enumerate().map(state).collect()
    }

    /// Whether the goodput of a group is known: the reads of programs are not observed.
    fn tells_goodput(&self, place: usize) -> bool {
        let has_programs = self.scenario.programs.iter().any(|program| program.group == place);
        place < self.scenario.groups.len() && !has_programs
    }

    fn flow_states(&self, span: Duration) -> Vec<protocol::FlowState> {
        let state = |flow: &FlowState| protocol::FlowState {
            flow: flow.flow,
            group: flow.group,
            app: flow.is_app,
            rate_bps: self.rate(flow.flow, span),
            cwnd_pkts: flow.cwnd,
            srtt_ms: flow.srtt.map(Duration::as_millis_f64),
            alpha: flow.alpha,
            classic_ecn: flow.classic_ecn.map(|report| report.score),
        };
        self.flows.iter().map(state).collect()
    }

    fn long(&self) -> impl Iterator<Item = &FlowState> {
        self.flows.iter().filter(|flow| !flow.is_app)
    }

    fn rate(&self, flow: FlowId, span: Duration) -> f64 {
        per_second(self.bytes.get(&flow).copied().unwrap_or(Bytes::ZERO), span)
    }

    /// A packet left the link that the data of its source shares.
    fn forwarded<P: Traced>(&mut self, packet: &P) {
        let length = packet.ip_length();
        *self.bytes.entry(packet.flow()).or_default() += length;
        let group = &mut self.groups[packet.group().index()];
        group.packets += 1;
        group.bytes += length;
        group.marked += u64::from(packet.newly_marked());
    }

    /// The rate of the link that the data of a group shares.
    fn shared_rate(&self, group: SourceId) -> Rate {
        let up = self.uplink.as_ref().filter(|_| self.is_up[group.index()]);
        up.unwrap_or(&self.bottleneck).rate
    }
}

fn bits(bytes: Bytes) -> f64 {
    8.0 * bytes.get() as f64
}

fn per_second(bytes: Bytes, span: Duration) -> f64 {
    if span.is_zero() { 0.0 } else { bits(bytes) / span.as_secs_f64() }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

impl<P: Traced> Observer<P> for Meter {
    fn departed(&mut self, packet: &P, queue: Queue, sojourn: Duration, now: Time) {
        self.bottleneck.departed(packet, queue, sojourn, now.since(self.since));
        if !self.is_up[packet.group().index()] {
            self.forwarded(packet);
        }
    }

    fn dropped(&mut self, packet: &P, queue: Queue, _: DropCause, now: Time) {
        let group = packet.group();
        self.bottleneck.dropped(group, queue, now.since(self.since));
        self.groups[group.index()].dropped += u64::from(!self.is_up[group.index()]);
    }

    /// Of the hops the page shows the uplink alone.
    fn at_hop(&mut self, hop: u16, packet: &P, queue: Queue, what: HopEvent, now: Time) {
        let Some(uplink) = self.uplink.as_mut() else { return };
        if usize::from(hop) != self.scenario.hops.len() {
            return;
        }
        let (group, at) = (packet.group(), now.since(self.since));
        let is_data = self.is_up[group.index()];
        match what {
            HopEvent::Marked(_) => {}
            HopEvent::Departed(sojourn) => {
                uplink.departed(packet, queue, sojourn, at);
                if is_data {
                    self.forwarded(packet);
                }
            }
            // Taken out by the filter: nothing is lost with it.
            HopEvent::Dropped(DropCause::AckFilter) => {}
            HopEvent::Dropped(_) => {
                uplink.dropped(group, queue, at);
                self.groups[group.index()].dropped += u64::from(is_data);
            }
        }
    }

    fn delivered(&mut self, _: FlowId, group: SourceId, bytes: u64, _: Time) {
        self.groups[group.index()].delivered += Bytes::new(bytes);
    }

    fn opened(&mut self, flow: FlowId, group: SourceId, size: Option<Bytes>, now: Time) {
        let Some(size) = size else { return };
        let mss = self.scenario.groups[group.index()].mss;
        let ideal = theoretical_time(size, mss, self.rtts[group.index()], self.shared_rate(group));
        self.under_way.insert(flow, (group, size, now, ideal));
        if self.under_way.len() > MOST_DOWNLOADS {
            self.under_way.pop_first();
        }
    }

    fn closed(&mut self, flow: FlowId, now: Time) {
        let Some((group, size, opened, ideal)) = self.under_way.remove(&flow) else { return };
        if self.downloads.len() < MOST_EVENTS {
            let [time_ms, ideal_ms] = [now.since(opened), ideal].map(Duration::as_millis_f64);
            self.downloads.push(Download { group, bytes: size.get(), time_ms, ideal_ms });
        }
    }

    fn gave_up(&mut self, flow: FlowId, _: Time) {
        self.under_way.remove(&flow);
        self.gave_up += 1;
    }

    fn turned_away(&mut self, _: FlowId, _: SourceId, _: Time) {
        self.turned_away += 1;
    }

    fn frame(&mut self, _: FlowId, group: SourceId, what: FrameEvent, _: Time) {
        match what {
            FrameEvent::Delivered(delay) if self.frames.len() < MOST_EVENTS => {
                self.frames.push(Frame { group, delay_ms: delay.as_millis_f64() });
            }
            FrameEvent::Skipped if !self.adapts(group) => self.skipped += 1,
            _ => {}
        }
    }

    fn sample_link(&mut self, state: LinkState, _: Time) {
        self.bottleneck.state = Some(state);
        self.flows.clear();
    }

    fn sample_uplink(&mut self, state: LinkState, _: Time) {
        if let Some(uplink) = &mut self.uplink {
            uplink.state = Some(state);
        }
    }

    fn sample_flow(&mut self, state: FlowState, _: Time) {
        self.flows.push(state);
    }

    fn adapted(&mut self, scenario: &Scenario, _: Time) {
        let old = std::mem::replace(&mut self.scenario, scenario.clone());
        if scenario.link.rate != old.link.rate {
            self.bottleneck.rate = scenario.link.rate;
        }
        let uplinks = old.uplink.as_ref().zip(scenario.uplink.as_ref());
        if let Some((counted, (old, new))) = self.uplink.as_mut().zip(uplinks) {
            if new.link.rate != old.link.rate {
                counted.rate = new.link.rate;
            }
        }
        for ((rtt, old), new) in self.rtts.iter_mut().zip(&old.groups).zip(&scenario.groups) {
            if new.rtt != old.rtt {
                *rtt = new.rtt;
            }
        }
    }

    fn sampling_interval(&self) -> Option<Duration> {
        self.interval
    }
}
