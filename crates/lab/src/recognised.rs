//! The flows of programs, recognized by their headers as they come.

use l4s_flows::{Flows, Row};
use l4s_model::{FlowId, Scenario};
use l4s_observe::Traced;
use l4s_units::{Duration, Time};

use crate::address::End;
use crate::frame::Frame;
use crate::ip::IpPacket;
use crate::owner::Owner;

/// Every flow of programs. Their numbers follow those of the scenario's own flows.
#[derive(Debug)]
pub struct Recognised {
    flows: Flows,
    /// The number of the table's flow 0.
    first: FlowId,
    /// When counts begin; never once they have begun.
    warmup: Time,
}

impl Recognised {
    /// None yet; `None` for a scenario without programs.
    pub fn new(scenario: &Scenario) -> Option<Recognised> {
        (!scenario.programs.is_empty()).then(|| Recognised {
            flows: Flows::new(Flows::CAP, scenario.seed),
            first: Owner::next_flow(scenario),
            warmup: Time::ZERO + scenario.warmup,
        })
    }

    /// This number of flows that are not in the scenario have the numbers before.
    pub fn begin_after(&mut self, flows: u32) {
        self.first = self.first + flows;
    }

    /// A packet of a program came from this end; its flow.
    #[inline]
    pub fn observe(
        &mut self,
        packet: &IpPacket<&[u8]>,
        segments: u16,
        from: End,
        now: Time,
    ) -> FlowId {
        if now >= self.warmup {
            self.flows.end_warmup(now);
            self.warmup = Time::NEVER;
        }
        self.first + self.flows.observe(packet, from.direction(), segments, now)
    }

    /// The flow of a packet that was observed before.
    pub fn flow_of(&mut self, packet: &IpPacket<&[u8]>, from: End, now: Time) -> FlowId {
        self.first + self.flows.flow_of(packet, from.direction(), now)
    }

    /// The table's number of a packet's flow; `None` for a flow of the scenario's own.
    #[inline]
    fn number(&self, frame: &Frame) -> Option<u32> {
        frame.flow().get().checked_sub(self.first.get())
    }

    /// A packet was marked in the queue; nothing for a flow of the scenario's own.
    #[inline]
    pub fn marked(&mut self, frame: &Frame) {
        if let Some(flow) = self.number(frame) {
            self.flows.marked(flow, frame.segments());
        }
    }

    /// A packet was dropped in the queue.
    #[inline]
    pub fn dropped(&mut self, frame: &Frame) {
        if let Some(flow) = self.number(frame) {
            self.flows.dropped(flow, frame.segments());
        }
    }

    /// A packet leaves the queue, `sojourn` after its arrival.
    #[inline]
    pub fn departed(&mut self, frame: &Frame, sojourn: Duration) {
        if let Some(flow) = self.number(frame) {
            self.flows.departed(flow, frame.segments(), frame.ip_length(), sojourn);
        }
    }

    /// A row per flow, with its number in the run.
    pub fn rows(&self) -> impl Iterator<Item = (FlowId, Row)> {
        self.flows.rows().map(|row| (self.first + row.flow, row))
    }
}
