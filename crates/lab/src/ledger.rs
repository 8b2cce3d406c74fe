//! The agents' reports, as events for an observer.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use l4s_bottleneck::{Downloads, app_flows};
use l4s_cc::prague::Fallback;
use l4s_cc::prague::kernel::Reading;
use l4s_model::{FlowId, Roster, Scenario, SourceId};
use l4s_observe::{FlowState, FrameEvent, Observer, SocketState};
use l4s_units::{Bytes, Duration, Time};

use crate::frame::Frame;
use crate::report::{Report, TcpSample};

/// A long flow or one of an application, from its agents' reports.
#[derive(Clone, Debug)]
struct Flow {
    number: FlowId,
    group: SourceId,
    size: Option<Bytes>,
    /// Whether it has a detector of Classic ECN.
    detects: bool,
    is_app: bool,
    /// The last sample; `None` before the first and after the close.
    sample: Option<TcpSample>,
    closed: bool,
    /// The last reading of its detector.
    said: Option<Reading>,
    retransmits: u64,
    under_way: UnderWay,
}

/// When frames were written, and when they came. Server and client report independently, so
/// that either may be known first. They come in the order in which they were written.
#[derive(Clone, Default, Debug)]
struct UnderWay {
    written: VecDeque<Time>,
    came: VecDeque<Time>,
}

impl UnderWay {
    /// The next frame of which both is known: how long it took, and when it came.
    fn take(&mut self) -> Option<(Duration, Time)> {
        let (written, came) = (*self.written.front()?, *self.came.front()?);
        self.written.pop_front();
        self.came.pop_front();
        Some((came.since(written), came))
    }
}

impl Flow {
    fn new(number: FlowId, group: SourceId, size: Option<Bytes>, detects: bool) -> Flow {
        Flow {
            number,
            group,
            size,
            detects,
            is_app: false,
            sample: None,
            closed: false,
            said: None,
            retransmits: 0,
            under_way: UnderWay::default(),
        }
    }

    /// Reports every frame for which both times are known by now.
    fn deliver(&mut self, observer: &mut dyn Observer<Frame>) {
        while let Some((took, came)) = self.under_way.take() {
            observer.frame(self.number, self.group, FrameEvent::Delivered(took), came);
        }
    }

    /// Keeps a sample; gives the retransmissions that were known before.
    fn take(&mut self, sample: TcpSample) -> u64 {
        if let (true, Some(prague)) = (self.detects, sample.prague) {
            self.said = Some(prague.detector);
        }
        // A server may look once more after its client saw the close.
        if !self.closed {
            self.sample = Some(sample);
        }
        let before = self.retransmits;
        self.retransmits = before.max(sample.retransmits);
        before
    }
}

/// A fraction of 24 bits.
fn of_24_bits(fraction: u32) -> f64 {
    f64::from(fraction) / f64::from(1u32 << 24)
}

/// Whether a congestion control has a detector of Classic ECN.
pub(crate) fn detects(cc: &l4s_cc::Config) -> bool {
    matches!(cc, l4s_cc::Config::Prague(config) if config.fallback != Fallback::Off)
}

/// Keeps the last word on every flow.
#[derive(Debug)]
pub struct Ledger {
    reports: Receiver<Report>,
    /// Those of the groups and of applications.
    flows: BTreeMap<FlowId, Flow>,
    roster: Roster,
    /// Group and size of every download. Nothing else is kept of them: a server looks at the socket
    /// of a download once, when it is over.
    downloads: Vec<(SourceId, Bytes)>,
    /// Which groups have a detector.
    detects: Vec<bool>,
    /// Flows that were ordered in mid-run.
    newcomers: Newcomers,
}

/// Flows that were ordered in mid-run: entered before the order, so
/// that no report comes first.
pub(crate) type Newcomers = Arc<Mutex<BTreeMap<FlowId, Newcomer>>>;

/// Such a flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Newcomer {
    pub group: SourceId,
    /// The size that it fetches; `None` without end.
    pub size: Option<Bytes>,
    pub is_app: bool,
    /// Whether it has a detector of Classic ECN.
    pub detects: bool,
}

impl Ledger {
    /// The flows of `scenario`, which `reports` are about.
    pub fn new(scenario: &Scenario, reports: Receiver<Report>) -> Ledger {
        let detects: Vec<bool> = scenario.groups.iter().map(|group| detects(&group.cc)).collect();
        let roster = scenario.roster();
        let long = scenario.groups.iter().enumerate().flat_map(|(place, group)| {
            std::iter::repeat_n((roster.group(place), group.size), group.starts.len())
        });
        // The size of an application's flow is not known.
        let apps = app_flows(scenario).map(|own| (own.flow, (roster.group(own.app.group), None)));
        let apps_begin = roster.apps().start;
        let of = |(flow, (group, size)): (FlowId, (SourceId, _))| {
            let known = Flow::new(flow, group, size, detects[group.index()]);
            (flow, Flow { is_app: flow >= apps_begin, ..known })
        };
        Ledger {
            reports,
            flows: FlowId::new(0).onwards().zip(long).chain(apps).map(of).collect(),
            downloads: Downloads::new(scenario).map(|d| (d.group, d.size)).collect(),
            detects,
            roster,
            newcomers: Newcomers::default(),
        }
    }

    /// Includes flows that are ordered later.
    pub(crate) fn with(self, newcomers: Newcomers) -> Ledger {
        Ledger { newcomers, ..self }
    }

    /// A flow that is no download.
    fn flow(&mut self, flow: FlowId) -> Option<&mut Flow> {
        self.flows.get_mut(&flow)
    }

    /// The group of a flow, and the size that it fetches.
    fn who(&self, flow: FlowId) -> Option<(SourceId, Option<Bytes>)> {
        if let Some(known) = self.flows.get(&flow) {
            return Some((known.group, known.size));
        }
        let nth = self.roster.nth_download(flow)?;
        match self.downloads.get(nth) {
            Some(&(group, size)) => Some((group, Some(size))),
            None => self.newcomer(flow).map(|new| (new.group, new.size)),
        }
    }

    fn newcomer(&self, flow: FlowId) -> Option<Newcomer> {
        lock(&self.newcomers).get(&flow).copied()
    }

    /// Whether a flow has a detector.
    fn detects(&self, flow: FlowId) -> bool {
        let new = self.newcomer(flow).map(|new| new.detects);
        new.unwrap_or_else(|| self.who(flow).is_some_and(|(g, _)| self.detects[g.index()]))
    }

    /// A flow is about to connect.
    fn opened(&mut self, flow: FlowId) -> Option<(SourceId, Option<Bytes>)> {
        let new = self.newcomer(flow);
        if let Some(Newcomer { group, size: None, is_app, detects }) = new {
            self.flows.insert(flow, Flow { is_app, ..Flow::new(flow, group, None, detects) });
        }
        self.who(flow)
    }

    /// A flow that was ordered is over.
    fn forget(&mut self, flow: FlowId) {
        if lock(&self.newcomers).remove(&flow).is_some() {
            self.flows.remove(&flow);
        }
    }

    /// Passes on the reports since the last time. Events are passed on with the time at
    /// which they happened, a little before the last events of packets.
    pub fn pass_on(&mut self, observer: &mut dyn Observer<Frame>) {
        while let Ok(report) = self.reports.try_recv() {
            match report {
                Report::Opened { flow, at } => {
                    if let Some((group, size)) = self.opened(flow) {
                        observer.opened(flow, group, size, at);
                    }
                }
                Report::Closed { flow, at } => {
                    if let Some(known) = self.flow(flow) {
                        (known.closed, known.sample) = (true, None);
                        if let Some(said) = known.said {
                            observer.detected(flow, said.into(), at);
                        }
                    }
                    if self.who(flow).is_some() {
                        observer.closed(flow, at);
                    }
                    self.forget(flow);
                }
                Report::Written { flow, at } => {
                    let Some(known) = self.flow(flow) else { continue };
                    observer.frame(flow, known.group, FrameEvent::Written, at);
                    known.under_way.written.push_back(at);
                    known.deliver(observer);
                }
                Report::Skipped { flow, at } => {
                    let Some(known) = self.flow(flow) else { continue };
                    observer.frame(flow, known.group, FrameEvent::Skipped, at);
                }
                Report::Delivered { flow, at } => {
                    let Some(known) = self.flow(flow) else { continue };
                    known.under_way.came.push_back(at);
                    known.deliver(observer);
                }
                Report::Read { flow, at, bytes } => {
                    if let Some((group, _)) = self.who(flow) {
                        observer.delivered(flow, group, bytes, at);
                    }
                }
                Report::Sample { flow, at, sample } => {
                    let known = self.flow(flow);
                    // A download is looked at once. Of others the last look may come after their
                    // close.
                    let is_last = known.as_ref().is_none_or(|known| known.closed);
                    let before = known.map_or(0, |known| known.take(sample));
                    let has_one = self.detects(flow);
                    if let (true, true, Some(prague)) = (is_last, has_one, sample.prague) {
                        observer.detected(flow, prague.detector.into(), at);
                    }
                    for _ in before..sample.retransmits {
                        observer.retransmitted(flow, at);
                    }
                    if let Some(srtt) = sample.srtt {
                        observer.round_trip(flow, srtt, at);
                    }
                }
            }
        }
    }

    /// Reports the last readings of the detectors of flows that are open at the end of the run.
    pub fn conclude(&self, end: Time, observer: &mut dyn Observer<Frame>) {
        for known in self.flows.values() {
            if let (false, Some(said)) = (known.closed, known.said) {
                observer.detected(known.number, said.into(), end);
            }
        }
    }

    /// Reports the state of every open flow that is no download.
    pub fn sample(&self, now: Time, observer: &mut dyn Observer<Frame>) {
        for known in self.flows.values() {
            let Some(sample) = known.sample else { continue };
            let state = FlowState {
                flow: known.number,
                group: known.group,
                is_app: known.is_app,
                cwnd: sample.cwnd,
                ssthresh: sample.ssthresh,
                srtt: sample.srtt,
                alpha: sample.prague.and_then(|prague| prague.alpha).map(of_24_bits),
                classic_ecn: sample.prague.filter(|_| known.detects).map(|p| p.detector.into()),
                socket: Some(SocketState {
                    delivered: sample.delivered,
                    delivered_ce: sample.delivered_ce,
                    retransmits: sample.retransmits,
                }),
            };
            observer.sample_flow(state, now);
        }
    }
}

/// After a panic it is still a valid map.
pub(crate) fn lock(newcomers: &Newcomers) -> MutexGuard<'_, BTreeMap<FlowId, Newcomer>> {
    newcomers.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Frame;
    use l4s_scenario::Plan;
    use std::sync::mpsc;

    #[derive(Default)]
    struct Seen(Vec<(u32, u16, FrameEvent, Time)>);

    /// Bytes that clients read, by flow and group.
    #[derive(Default)]
    struct Goodput(Vec<(u32, u16, u64, Time)>);

    impl Observer<Frame> for Goodput {
        fn delivered(&mut self, flow: FlowId, group: SourceId, bytes: u64, now: Time) {
            self.0.push((flow.get(), group.get(), bytes, now));
        }
    }

    impl Observer<Frame> for Seen {
        fn frame(&mut self, flow: FlowId, group: SourceId, what: FrameEvent, now: Time) {
            self.0.push((flow.get(), group.get(), what, now));
        }
    }

    fn ms(n: u64) -> Time {
        Time::ZERO + Duration::from_millis(n)
    }

    /// Flow 0 is long, 1 a UDP source, 2 and 3 of an application, and then come downloads.
    fn ledger() -> (mpsc::Sender<Report>, Ledger) {
        let text = "duration = \"10s\"\nlink.rate = \"40mbit\"\n\
                    [[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\nsize = \"1mb\"\n\
                    [[group]]\nname = \"B\"\ncc = \"reno\"\nrtt = \"10ms\"\nflows = 0\n\
                    [[udp]]\nname = \"U\"\nrate = \"1mbit\"\n\
                    [[app]]\ngroup = \"B\"\nrate = \"1mbit\"\nflows = 2\n\
                    [[web]]\ngroup = \"A\"\nrate = \"10/s\"\nsize = \"5kb\"\n";
        let (reports, receiver) = mpsc::channel();
        let scenario = &Plan::parse("t.toml", text, &[]).unwrap().points[0].scenario;
        (reports, Ledger::new(scenario, receiver))
    }

    #[test]
    fn a_flow_is_of_its_group_whatever_kind_it_is() {
        let (_tell, ledger) = ledger();
        let who = [0, 1, 2, 3, 4].map(|flow| ledger.who(FlowId::new(flow)));
        let bytes = |n| Some(Bytes::new(n));
        let [a, b] = [0, 1].map(SourceId::new);
        let app = Some((b, None));
        assert_eq!(who, [Some((a, bytes(1_000_000))), None, app, app, Some((a, bytes(5_000)))]);
    }

    #[test]
    fn a_frame_took_from_its_write_to_its_arrival_whoever_tells_first() {
        let (tell, mut ledger) = ledger();
        let reports = [
            Report::Written { flow: FlowId::new(2), at: ms(10) },
            Report::Delivered { flow: FlowId::new(3), at: ms(25) },
            Report::Written { flow: FlowId::new(2), at: ms(43) },
            Report::Skipped { flow: FlowId::new(2), at: ms(76) },
            Report::Delivered { flow: FlowId::new(2), at: ms(50) },
            // Nobody's.
            Report::Delivered { flow: FlowId::new(0), at: ms(50) },
            Report::Delivered { flow: FlowId::new(1), at: ms(50) },
            Report::Written { flow: FlowId::new(3), at: ms(20) },
        ];
        reports.into_iter().for_each(|report| tell.send(report).unwrap());
        let mut seen = Seen::default();
        ledger.pass_on(&mut seen);
        let took = |n| FrameEvent::Delivered(Duration::from_millis(n));
        let expected = [
            (2, 1, FrameEvent::Written, ms(10)),
            (2, 1, FrameEvent::Written, ms(43)),
            (2, 1, FrameEvent::Skipped, ms(76)),
            (2, 1, took(40), ms(50)),
            (3, 1, FrameEvent::Written, ms(20)),
            (3, 1, took(5), ms(25)),
        ];
        assert_eq!(seen.0, expected);
    }

    #[test]
    fn reads_are_of_the_group_of_their_flow_and_those_of_no_flow_are_ignored() {
        let (tell, mut ledger) = ledger();
        let mut goodput = Goodput::default();
        // A long flow, a UDP source, an application, a download, and a download that there is not.
        for (flow, bytes) in [(0, 10), (1, 20), (2, 30), (4, 40), (4_000, 50)] {
            let flow = FlowId::new(flow);
            tell.send(Report::Read { flow, at: ms(bytes), bytes }).unwrap();
        }
        ledger.pass_on(&mut goodput);
        assert_eq!(goodput.0, [(0, 0, 10, ms(10)), (2, 1, 30, ms(30)), (4, 0, 40, ms(40))]);
    }
}
