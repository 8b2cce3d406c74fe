//! Whose a packet is: the flows of a group or UDP source, by the client's port.

use l4s_scenario::Scenario;

use crate::ip::{IpPacket, protocol};
use crate::plane::{End, FIRST_PORT, UDP_PORT};

/// A group or UDP source, and the flows that are its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner {
    /// Its first flow, of all flows of the scenario.
    pub first_flow: u32,
    /// How many it has.
    pub flows: u32,
    protocol: u8,
    /// The client's port of its first flow.
    first_port: u32,
}

impl Owner {
    /// Every pair of a scenario: the groups, then the UDP sources.
    pub fn all(scenario: &Scenario) -> Vec<Owner> {
        let connections: u32 = scenario.groups.iter().map(|g| g.starts.len() as u32).sum();
        let tcp = scenario.groups.iter().map(|g| (protocol::TCP, g.starts.len() as u32));
        let udp = scenario.udp.iter().map(|_| (protocol::UDP, 1));
        let mut first_flow = 0;
        tcp.chain(udp)
            .map(|(protocol, flows)| {
                let first_port = match protocol {
                    protocol::TCP => u32::from(FIRST_PORT) + first_flow,
                    _ => u32::from(UDP_PORT) + (first_flow - connections),
                };
                let owner = Owner { first_flow, flows, protocol, first_port };
                first_flow += flows;
                owner
            })
            .collect()
    }

    /// The flow of a packet that came from an end of the pair.
    #[inline]
    pub fn flow(&self, packet: &IpPacket<&[u8]>, from: End) -> Option<u32> {
        if packet.protocol() != self.protocol {
            return None;
        }
        let (source, destination) = packet.ports()?;
        let port = if from == End::Client { source } else { destination };
        let n = u32::from(port).checked_sub(self.first_port)?;
        (n < self.flows).then(|| self.first_flow + n)
    }
}
