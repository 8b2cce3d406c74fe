//! Whose a packet is: the flows of a group or UDP source, by the client's end.

use core::ops::Range;

use l4s_bottleneck::Downloads;
use l4s_model::Scenario;

use crate::address::{self, End, UDP_PORT};
use crate::ip::{IpPacket, protocol};

/// A group or UDP source, and the flows that are its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    /// Its first flow, of all flows of the scenario.
    pub first_flow: u32,
    /// How many it has, those of applications and downloads aside.
    pub flows: u32,
    /// Flows of applications and downloads of the run. Which of them are its own, those know who
    /// have a device each.
    shared: Range<u32>,
    /// The port of a UDP source.
    udp: Option<u16>,
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
        let owner = |(source, udp)| {
            let listed = roster.listed(source);
            let flows = listed.len() as u32;
            Owner { first_flow: listed.start, flows, shared: shared.clone(), udp }
        };
        groups.chain(udp).map(owner).collect()
    }

    /// So many more flows may come, and nobody knows yet whose.
    pub fn expect(&mut self, more: u32) {
        self.shared.end += more;
    }

    /// The flow of a packet that came from an end of the pair.
    #[inline]
    pub fn flow(&self, packet: &IpPacket<&[u8]>, from: End) -> Option<u32> {
        let (ports, addresses) = (packet.ports()?, packet.addresses());
        let (port, client) = match from {
            End::Client => (ports.0, addresses.0),
            End::Server => (ports.1, addresses.1),
        };
        match (packet.protocol(), self.udp) {
            (protocol::UDP, Some(own)) => (port == own).then_some(self.first_flow),
            (protocol::TCP, None) => {
                let flow = address::flow_of(client, port)?;
                let own = flow.wrapping_sub(self.first_flow) < self.flows;
                (own || self.shared.contains(&flow)).then_some(flow)
            }
            _ => None,
        }
    }
}
