//! Whose a packet is: the flows of a group or UDP source, by the client's end.

use core::ops::Range;

use l4s_bottleneck::Downloads;
use l4s_model::{FlowId, Scenario, SourceId};

use crate::address::{self, End, UDP_PORT};
use crate::ip::{IpPacket, protocol};

/// A group or UDP source, and the flows that are its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    /// Its flows, without those of applications and downloads.
    pub listed: Range<FlowId>,
    /// Flows of applications and downloads of the run. Which of them are its own, those know who
    /// have a device each.
    shared: Range<FlowId>,
    /// The port of a UDP source.
    udp: Option<u16>,
    /// Whether it has programs, whose flows are recognized as they come.
    pub has_programs: bool,
}

impl Owner {
    /// Every pair of a scenario: the groups, then the UDP sources.
    pub fn all(scenario: &Scenario) -> Vec<Owner> {
        let downloads = Downloads::new(scenario).count() as u32;
        let roster = scenario.roster();
        let shared = roster.apps().start..roster.downloads().start + downloads;
        let groups = (0..roster.groups()).map(|place| (roster.group(place), None));
        let udp = (0..scenario.udp.len()).zip(UDP_PORT..);
        let udp = udp.map(|(place, port)| (roster.udp(place), Some(port)));
        let owner = |(source, udp): (SourceId, _)| Owner {
            listed: roster.listed(source),
            shared: shared.clone(),
            udp,
            has_programs: scenario
                .programs
                .iter()
                .any(|program| roster.group(program.group) == source),
        };
        groups.chain(udp).map(owner).collect()
    }

    /// The first number that no flow of a scenario has.
    pub fn next_flow(scenario: &Scenario) -> FlowId {
        scenario.roster().downloads().start + Downloads::new(scenario).count() as u32
    }

    /// This number of further flows may come, of unknown groups.
    pub fn expect(&mut self, more: u32) {
        self.shared.end = self.shared.end + more;
    }

    /// The flow of a packet that came from an end of the pair.
    #[inline]
    pub fn flow(&self, packet: &IpPacket<&[u8]>, from: End) -> Option<FlowId> {
        let (ports, addresses) = (packet.ports()?, packet.addresses());
        let (port, client) = match from {
            End::Client => (ports.0, addresses.0),
            End::Server => (ports.1, addresses.1),
        };
        match (packet.protocol(), self.udp) {
            (protocol::UDP, Some(own)) => (port == own).then_some(self.listed.start),
            (protocol::TCP, None) => {
                let flow = address::flow_of(client, port)?;
                (self.listed.contains(&flow) || self.shared.contains(&flow)).then_some(flow)
            }
            _ => None,
        }
    }
}
