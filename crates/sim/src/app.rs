//! Applications that write a frame at regular intervals, and the outcome of each frame.
//!
//! The server writes the first frame when the request has come, and the others from then on. A
//! frame is delivered when its last byte, and all before it, is at the client; in which segment that
//! is, the sender knows.

use std::collections::VecDeque;

use l4s_bottleneck::{AppFlow, Frames, app_flows};
use l4s_model::{App, FlowId, Hold, Scenario, SourceId};
use l4s_units::{Duration, Time};

/// The application behind one connection.
#[derive(Debug)]
pub(crate) struct Writer {
    /// Where its connection is kept.
    pub slot: u32,
    /// Its place among the scenario's applications.
    pub app: usize,
    pub flow: FlowId,
    pub group: SourceId,
    /// Bytes of a frame.
    pub size: u64,
    /// Which segments wait that are not full.
    pub hold: Hold,
    /// When it writes.
    pub frames: Frames,
    /// When it opens its connection.
    pub opens: Time,
    /// When each of the frames under way was written.
    under_way: VecDeque<Time>,
}

impl Writer {
    /// It writes as `app` says from now on; false where it does already.
    pub fn adapt(&mut self, app: &App, now: Time) -> bool {
        self.size = app.frame().get();
        self.frames.adapt(app, now)
    }

    /// Its connection is another one, which nobody has asked for frames yet.
    pub fn begin_anew(&mut self, flow: FlowId) {
        self.flow = flow;
        self.frames.wait();
        self.under_way.clear();
    }

    /// A frame is written.
    pub fn write(&mut self, now: Time) {
        self.under_way.push_back(now);
    }

    /// The delay of the next frame that arrived completely, if the last `undelivered` have not: frames
    /// arrive in order.
    pub fn delivered(&mut self, undelivered: usize, now: Time) -> Option<Duration> {
        if self.under_way.len() <= undelivered {
            return None;
        }
        Some(now.since(self.under_way.pop_front()?))
    }
}

/// Every application, in the order of the scenario. Their connections are next to each other.
#[derive(Debug)]
pub(crate) struct Writers {
    first: u32,
    all: Vec<Writer>,
}

impl Writers {
    /// Those of a scenario, whose connections are kept from place `first` on.
    pub fn new(scenario: &Scenario, first: u32) -> Writers {
        let roster = scenario.roster();
        let writer = |(slot, AppFlow { flow, entry, app, opens })| Writer {
            slot,
            app: entry,
            flow,
            group: roster.group(app.group),
            size: app.frame().get(),
            hold: app.hold,
            frames: Frames::new(app),
            opens,
            under_way: VecDeque::new(),
        };
        Writers { first, all: (first..).zip(app_flows(scenario)).map(writer).collect() }
    }

    pub fn all(&self) -> &[Writer] {
        &self.all
    }

    pub fn get(&mut self, number: usize) -> &mut Writer {
        &mut self.all[number]
    }

    /// The number of the application whose connection is kept at this place.
    #[inline]
    pub fn at(&self, slot: u32) -> Option<usize> {
        let number = slot.wrapping_sub(self.first) as usize;
        (number < self.all.len()).then_some(number)
    }
}
