//! What agents report, as an observer wants to hear it.

use std::sync::mpsc::Receiver;

use l4s_measure::{FlowState, Observer, SocketState, Traced};
use l4s_scenario::Scenario;
use l4s_units::{Bytes, Time};

use crate::report::{Report, TcpSample};

/// A flow, as far as its agents told.
#[derive(Clone, Copy, Debug)]
struct Flow {
    group: u16,
    size: Option<Bytes>,
    /// The last sample; `None` before the first and after the close.
    sample: Option<TcpSample>,
    closed: bool,
    retransmits: u64,
}

/// Keeps the last word on every flow.
#[derive(Debug)]
pub struct Ledger {
    reports: Receiver<Report>,
    flows: Vec<Flow>,
}

impl Ledger {
    /// The flows of `scenario`, of which `reports` will tell.
    pub fn new(scenario: &Scenario, reports: Receiver<Report>) -> Ledger {
        let groups = scenario.groups.iter().zip(0..);
        let flows = groups.flat_map(|(group, number)| {
            let flow = Flow {
                group: number,
                size: group.size,
                sample: None,
                closed: false,
                retransmits: 0,
            };
            std::iter::repeat_n(flow, group.starts.len())
        });
        Ledger { reports, flows: flows.collect() }
    }

    /// Passes on what was reported since the last time. What happened is told with the time at
    /// which it happened, a little before what packets did last.
    pub fn pass_on<P: Traced>(&mut self, observer: &mut impl Observer<P>) {
        for report in self.reports.try_iter() {
            match report {
                Report::Opened { flow, at } => {
                    if let Some(known) = self.flows.get(flow as usize) {
                        observer.opened(flow, known.group, known.size, at);
                    }
                }
                Report::Closed { flow, at } => {
                    if let Some(known) = self.flows.get_mut(flow as usize) {
                        (known.closed, known.sample) = (true, None);
                        observer.closed(flow, at);
                    }
                }
                Report::Sample { flow, at, sample } => {
                    let Some(known) = self.flows.get_mut(flow as usize) else { continue };
                    for _ in known.retransmits..sample.retransmits {
                        observer.retransmitted(flow, at);
                    }
                    known.retransmits = known.retransmits.max(sample.retransmits);
                    if let Some(srtt) = sample.srtt {
                        observer.round_trip(flow, srtt, at);
                    }
                    // A server may look once more after its client saw the close.
                    if !known.closed {
                        known.sample = Some(sample);
                    }
                }
            }
        }
    }

    /// Tells the state of every open flow.
    pub fn sample<P: Traced>(&self, now: Time, observer: &mut impl Observer<P>) {
        for (flow, known) in (0..).zip(&self.flows) {
            let Some(sample) = known.sample else { continue };
            let state = FlowState {
                flow,
                group: known.group,
                cwnd: sample.cwnd,
                ssthresh: sample.ssthresh,
                srtt: sample.srtt,
                alpha: None,
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
