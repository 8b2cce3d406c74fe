//! What agents report, as an observer wants to hear it.

use std::sync::mpsc::Receiver;

use l4s_bottleneck::Downloads;
use l4s_cc::prague::Fallback;
use l4s_cc::prague::kernel::Reading;
use l4s_measure::{FlowState, Observer, SocketState, Traced};
use l4s_scenario::Scenario;
use l4s_units::{Bytes, Time};

use crate::report::{Report, TcpSample};

/// A flow of a group, as far as its agents told.
#[derive(Clone, Copy, Debug)]
struct Flow {
    group: u16,
    size: Option<Bytes>,
    /// Whether it has a detector of Classic ECN.
    detects: bool,
    /// The last sample; `None` before the first and after the close.
    sample: Option<TcpSample>,
    closed: bool,
    /// What its detector said last.
    said: Option<Reading>,
    retransmits: u64,
}

impl Flow {
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
fn detects(cc: &l4s_cc::Config) -> bool {
    matches!(cc, l4s_cc::Config::Prague(config) if config.fallback != Fallback::Off)
}

/// Keeps the last word on every flow.
#[derive(Debug)]
pub struct Ledger {
    reports: Receiver<Report>,
    flows: Vec<Flow>,
    first_download: u32,
    /// Group and size of every download. Nothing else is kept of them: a server looks at the socket
    /// of a download once, when it is over.
    downloads: Vec<(u16, Bytes)>,
    /// Which groups have a detector.
    detects: Vec<bool>,
}

impl Ledger {
    /// The flows of `scenario`, of which `reports` will tell.
    pub fn new(scenario: &Scenario, reports: Receiver<Report>) -> Ledger {
        let groups = scenario.groups.iter().zip(0..);
        let detects: Vec<bool> = scenario.groups.iter().map(|group| detects(&group.cc)).collect();
        let flows = groups.flat_map(|(group, number)| {
            let flow = Flow {
                group: number,
                size: group.size,
                detects: detects[usize::from(number)],
                said: None,
                sample: None,
                closed: false,
                retransmits: 0,
            };
            std::iter::repeat_n(flow, group.starts.len())
        });
        Ledger {
            reports,
            flows: flows.collect(),
            first_download: scenario.first_download(),
            downloads: Downloads::new(scenario).map(|d| (d.group, d.size)).collect(),
            detects,
        }
    }

    /// The group of a flow, and what it fetches.
    fn who(&self, flow: u32) -> Option<(u16, Option<Bytes>)> {
        match flow.checked_sub(self.first_download) {
            None => self.flows.get(flow as usize).map(|known| (known.group, known.size)),
            Some(nth) => self.downloads.get(nth as usize).map(|&(group, size)| (group, Some(size))),
        }
    }

    /// Passes on what was reported since the last time. What happened is told with the time at
    /// which it happened, a little before what packets did last.
    pub fn pass_on<P: Traced>(&mut self, observer: &mut impl Observer<P>) {
        while let Ok(report) = self.reports.try_recv() {
            match report {
                Report::Opened { flow, at } => {
                    if let Some((group, size)) = self.who(flow) {
                        observer.opened(flow, group, size, at);
                    }
                }
                Report::Closed { flow, at } => {
                    if let Some(known) = self.flows.get_mut(flow as usize) {
                        (known.closed, known.sample) = (true, None);
                        if let Some(said) = known.said {
                            observer.detected(flow, said.into(), at);
                        }
                    }
                    if self.who(flow).is_some() {
                        observer.closed(flow, at);
                    }
                }
                Report::Sample { flow, at, sample } => {
                    let known = self.flows.get_mut(flow as usize);
                    // A download is looked at once. Of others the last look may come after their
                    // close.
                    let is_last = known.as_ref().is_none_or(|known| known.closed);
                    let before = known.map_or(0, |known| known.take(sample));
                    let has_one = self.who(flow).is_some_and(|(g, _)| self.detects[usize::from(g)]);
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

    /// Tells what the detectors of flows said last that are open at the end of the run.
    pub fn conclude<P: Traced>(&self, end: Time, observer: &mut impl Observer<P>) {
        for (flow, known) in (0..).zip(&self.flows) {
            if let (false, Some(said)) = (known.closed, known.said) {
                observer.detected(flow, said.into(), end);
            }
        }
    }

    /// Tells the state of every open flow of the groups.
    pub fn sample<P: Traced>(&self, now: Time, observer: &mut impl Observer<P>) {
        for (flow, known) in (0..).zip(&self.flows) {
            let Some(sample) = known.sample else { continue };
            let state = FlowState {
                flow,
                group: known.group,
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
