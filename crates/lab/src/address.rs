//! Addresses and ports: who is where, and whose a connection is.
//!
//! Pair number P has the network 10.P.0.0/16, or fd00::P:0:0/96; where the machine uses some of these
//! itself, 10.(N+P).0.0/16 for a number N. Its server is 10.P.0.1; its client
//! has as many addresses as the flows need: 10.P.1.1, 10.P.2.1 and so on. Flow f comes to port
//! 10000 + f mod 55536 of address number f div 55536. So no two flows of a run have the same one,
//! however many short ones there are. A packet identifies its flow at any time, and no
//! connection meets packets of an earlier one (TIME_WAIT, late retransmissions).

use l4s_flows::Direction;
use l4s_model::FlowId;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The two ends of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum End {
    /// Sends through the bottleneck.
    Server,
    /// Sends through the delay line.
    Client,
}

impl End {
    /// The one at the other side.
    #[inline]
    pub const fn other(self) -> End {
        match self {
            End::Server => End::Client,
            End::Client => End::Server,
        }
    }

    /// The direction of the packets that it sends.
    #[inline]
    pub const fn direction(self) -> Direction {
        match self {
            End::Server => Direction::Down,
            End::Client => Direction::Up,
        }
    }

    /// Its name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            End::Server => "server",
            End::Client => "client",
        }
    }
}

/// The client of flow `f` binds the port `FIRST_PORT + f`, for as long as there are such.
pub const FIRST_PORT: u16 = 10_000;
/// UDP source `n` sends from and to the port `UDP_PORT + n`.
pub const UDP_PORT: u16 = 9_000;

/// Flows that share an address.
const PORTS: u32 = 65_536 - FIRST_PORT as u32;
/// More flows have neither port nor address: a client's addresses end with 10.P.255.1.
pub(crate) const MOST_FLOWS: u32 = 255 * PORTS;

/// The server of a pair.
pub(crate) fn server(pair: u8, ipv6: bool) -> IpAddr {
    address(pair, 0, ipv6)
}

/// The addresses of the client of a pair, in a run with this number of flows.
pub(crate) fn clients(pair: u8, flows: u32, ipv6: bool) -> impl Iterator<Item = IpAddr> {
    let last = (flows.saturating_sub(1) / PORTS) as u8;
    (0..=last).map(move |nth| address(pair, nth + 1, ipv6))
}

fn address(pair: u8, host: u8, ipv6: bool) -> IpAddr {
    match ipv6 {
        false => IpAddr::V4(Ipv4Addr::new(10, pair, host, 1)),
        true => IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, pair.into(), host.into(), 1)),
    }
}

/// The client's end of a flow. `client` is any address of that client.
pub(crate) fn of_flow(client: IpAddr, flow: FlowId) -> SocketAddr {
    let flow = flow.get();
    let host = (flow / PORTS + 1) as u8;
    let (pair, _) = numbers(client);
    SocketAddr::new(address(pair, host, client.is_ipv6()), FIRST_PORT + (flow % PORTS) as u16)
}

/// The flow whose client's end this is.
#[inline]
pub(crate) fn flow_of(client: IpAddr, port: u16) -> Option<FlowId> {
    let nth = u32::from(numbers(client).1).checked_sub(1)?;
    let port = u32::from(port).checked_sub(FIRST_PORT.into())?;
    Some(FlowId::new(nth * PORTS + port))
}

/// The pair that an address is of.
#[inline]
pub fn pair_of(address: IpAddr) -> u16 {
    numbers(address).0.into()
}

/// The end whose host has this address; `None` for the address of no host.
#[inline]
pub fn end_of(host: IpAddr) -> Option<End> {
    let (pair, number) = numbers(host);
    let end = if number == 0 { End::Server } else { End::Client };
    (address(pair, number, host.is_ipv6()) == host).then_some(end)
}

/// Pair and host.
#[inline]
fn numbers(address: IpAddr) -> (u8, u8) {
    match address {
        IpAddr::V4(address) => {
            let [_, pair, host, _] = address.octets();
            (pair, host)
        }
        IpAddr::V6(address) => {
            let octets = address.octets();
            (octets[11], octets[13])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flow_has_an_end_of_its_own_that_tells_which_flow_it_is() {
        for ipv6 in [false, true] {
            let client = clients(7, 1, ipv6).next().unwrap();
            for flow in [0, 1, 55_535, 55_536, 100_000, MOST_FLOWS - 1] {
                let end = of_flow(client, FlowId::new(flow));
                assert_eq!(flow_of(end.ip(), end.port()), Some(FlowId::new(flow)));
                assert!(clients(7, flow + 1, ipv6).any(|address| address == end.ip()));
                assert_eq!(pair_of(end.ip()), 7);
            }
            assert_eq!(clients(7, MOST_FLOWS, ipv6).count(), 255);
            assert_eq!(flow_of(server(7, ipv6), FIRST_PORT), None, "a server's");
            assert_eq!(flow_of(client, FIRST_PORT - 1), None, "no flow's port");
        }
    }

    #[test]
    fn where_they_are() {
        let client = clients(3, 100_000, false).collect::<Vec<_>>();
        assert_eq!(client, ["10.3.1.1", "10.3.2.1"].map(|a| a.parse::<IpAddr>().unwrap()));
        assert_eq!(of_flow(client[0], FlowId::new(0)).to_string(), "10.3.1.1:10000");
        assert_eq!(of_flow(client[0], FlowId::new(55_537)).to_string(), "10.3.2.1:10001");
        assert_eq!(server(3, true).to_string(), "fd00::3:0:1");
        for ipv6 in [false, true] {
            assert_eq!(end_of(server(3, ipv6)), Some(End::Server));
            assert_eq!(end_of(clients(3, 1, ipv6).next().unwrap()), Some(End::Client));
        }
        for nobody in ["192.0.0.8", "10.3.1.2", "224.0.0.1", "ff02::1", "fd00::3:0:2"] {
            assert_eq!(end_of(nobody.parse().unwrap()), None);
        }
    }
}
