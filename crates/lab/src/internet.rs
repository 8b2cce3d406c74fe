//! The way on from a client's host to this machine's own network: `l4s shell --internet`.
//!
//! ```text
//!  client ──▶ delay line ──▶ server's host ──▶ cable ──▶ this machine ──▶ its network
//!  client ◀── bottleneck ◀── server's host ◀── cable ◀── this machine ◀── its network
//! ```
//!
//! Packets to other addresses than the lab's leave the server's host by a cable (veth) to the network
//! namespace of the machine, whose kernel forwards them with the address of its own interface. No
//! setting of the machine is changed for it, so that there is nothing to undo:
//!
//! - Whether packets are forwarded depends on the interface through which they come, and that is the
//!   machine's end of the cable, which has its own setting.
//! - Answers come by another interface, which may not forward. A rule of nftables sends a copy of
//!   each by the cable, as if the machine had made it, and drops the original. Neither looks at its
//!   ECN field.
//! - The kernel deletes the table of nftables when this process ends for any reason, and the cable,
//!   with its settings and its route, when the server's namespace ends.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};

use l4s_os::netlink::{MAIN_TABLE, Netlink, index_of};
use l4s_os::nft::{Chain, Hook, Step, Table};
use l4s_os::{Host as Machine, OsError, namespace};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, ipproto};

use crate::agent::LAB_DEVICE;
use crate::program::Host;

/// The cable's end in the server's namespace.
const INNER: &str = "l4s-net";
/// The routing table of the server's namespace for packets from clients.
const OF_CLIENTS: u8 = 100;
/// The most runs with `--internet` at a time.
const MOST: u8 = 128;
/// The destination of the probe. A rule drops it before it leaves this machine (TEST-NET-2, RFC
/// 5735 §3).
const NOBODY: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
/// A probe that did not come through by then was dropped.
const PROBED_WITHIN: Duration = Duration::from_secs(1);
/// The counter of probes that came through.
const PROBES: &str = "probes";
/// Files that may name a name server: the usual one, and those of the servers behind a resolver of the
/// machine (systemd-resolved, NetworkManager), which only the machine itself reaches.
const RESOLV_CONF: [&str; 3] = [
    "/etc/resolv.conf",
    "/run/systemd/resolve/resolv.conf",
    "/run/NetworkManager/no-stub-resolv.conf",
];

/// The client's access to the machine's network. It is removed on drop, and by the kernel when the
/// process ends.
#[derive(Debug)]
pub(crate) struct Internet {
    table: Table,
    /// The name of the table, and of the cable's end in this namespace.
    name: String,
    /// The address that the client has on the way: 198.19.255.(2N+1), of the networks for tests of
    /// networks (RFC 5735 §3). The one before it is its gateway's.
    address: Ipv4Addr,
    /// The interface of the machine's default route.
    uplink: String,
    /// N of the first pair's network, 10.N.0.0/16, so that the client's network overlaps no route
    /// of this machine.
    pub first_network: u8,
    cable: Option<u32>,
}

/// Whether this machine allows a way on.
///
/// # Errors
/// Why it does not.
pub fn internet_works() -> Result<(), OsError> {
    // The rules are tried with a device that no packet for the address uses.
    Internet::claim(1, 0)?.add_rules(index_of("lo")?)
}

impl Internet {
    /// Reserves a name and free addresses for a run with `pairs` pairs of hosts. The pair with the
    /// number `pair` gets the way on.
    pub fn claim(pairs: usize, pair: usize) -> Result<Internet, OsError> {
        let mut used = Netlink::open()?.routes()?;
        // Two routes of half of all addresses each are a default route, as VPNs have it.
        used.retain(|(_, length)| *length >= 8);
        // Before anything else is looked at: who may not do it needs no other advice.
        let (name, address, table) = claim(&used)?;
        let uplink = Machine::look().interface.map(|interface| interface.name);
        let uplink = uplink.ok_or_else(|| {
            let why = "this machine has no default route, so that there is no network to reach";
            OsError::Machine(why.to_owned())
        })?;
        used.extend(name_servers().into_iter().map(|server| (server, 32)));
        let is_free = |first: &usize| {
            let network = Ipv4Addr::new(10, (first + pair) as u8, 0, 0);
            !used.iter().any(|other| overlap((network, 16), *other))
        };
        let first = (0..=256usize.saturating_sub(pairs)).find(is_free).ok_or_else(|| {
            let ten = (Ipv4Addr::new(10, 0, 0, 0), 8);
            let (to, length) = used.iter().find(|other| overlap(ten, **other)).unwrap_or(&ten);
            OsError::Machine(format!(
                "hosts here have addresses in 10.N.0.0/16, and this machine uses all of these \
                 networks itself (such as by its route to {to}/{length}): take that route away \
                 meanwhile, or use another machine"
            ))
        })?;
        Ok(Internet { table, name, address, uplink, first_network: first as u8, cable: None })
    }

    /// Makes the way on for the hosts of a pair, which run.
    pub fn open(&mut self, [server, client]: [Host; 2]) -> Result<(), OsError> {
        let mut netlink = Netlink::open()?;
        netlink.add_cable(&self.name, INNER, Some(server.process))?;
        let cable = index_of(&self.name)?;
        self.cable = Some(cable);
        if namespace::has_ipv6() {
            namespace::set(&format!("net/ipv6/conf/{}/disable_ipv6", self.name), "1")?;
        }
        namespace::set(&format!("net/ipv4/conf/{}/forwarding", self.name), "1")?;
        netlink.bring_up_cable(&self.name)?;
        let address = self.address;
        netlink.add_route(address.into(), cable, MAIN_TABLE)?;
        self.add_rules(cable)?;
        let mtu = netlink.mtu(&self.uplink);
        namespace::within(server.process, || serve(address))?;
        namespace::within(client.process, || {
            let mut netlink = Netlink::open()?;
            let index = index_of(LAB_DEVICE)?;
            // In a network with the gateway, so that also who translates addresses there chooses it.
            netlink.add_address(index, address.into(), 31)?;
            let gateway = Ipv4Addr::from_bits(address.to_bits() - 1);
            let longest = netlink.mtu(LAB_DEVICE);
            let mtu = mtu.filter(|mtu| longest.is_none_or(|longest| *mtu < longest));
            netlink.add_default_route(index, MAIN_TABLE, Some(gateway), mtu)
        })?;
        self.probe(server.process)
    }

    /// Adds the rules of nftables for the cable with this number.
    fn add_rules(&mut self, cable: u32) -> Result<(), OsError> {
        let address = self.address;
        self.table.add(
            &[PROBES],
            &[
                // After addresses are translated back (NF_IP_PRI_NAT_DST, -100).
                Chain {
                    name: "back",
                    hook: Hook::Prerouting,
                    priority: -90,
                    rule: &[
                        Step::To(address),
                        Step::IsReply,
                        Step::CopyTo(address, cable),
                        Step::Drop,
                    ],
                },
                Chain {
                    name: "only",
                    hook: Hook::Forward,
                    priority: -200,
                    rule: &[Step::CameBy(cable), Step::NotFrom(address), Step::Drop],
                },
                // Before addresses are translated (NF_IP_PRI_NAT_SRC, 100).
                Chain {
                    name: "probe",
                    hook: Hook::Postrouting,
                    priority: 90,
                    rule: &[Step::From(address), Step::To(NOBODY), Step::Count(PROBES), Step::Drop],
                },
                Chain {
                    name: "out",
                    hook: Hook::PostroutingNat,
                    priority: 100,
                    rule: &[Step::From(address), Step::Masquerade],
                },
            ],
        )
    }

    /// Checks whether a firewall of the machine passes the client's forwarded packets.
    fn probe(&mut self, server: u32) -> Result<(), OsError> {
        let address = self.address;
        namespace::within(server, || {
            send_probe(address).map_err(|e| OsError::machine("a probe", e))
        })?;
        let deadline = Instant::now() + PROBED_WITHIN;
        while self.table.counted(PROBES)? == 0 {
            if Instant::now() >= deadline {
                return Err(OsError::Machine(format!(
                    "this machine's firewall drops packets forwarded from {name}, such as by the policy \
                     of its chain FORWARD. Rules that allow it: `iptables -I FORWARD -i l4s-net+ -j \
                     ACCEPT`, with Docker `iptables -I DOCKER-USER -i l4s-net+ -j ACCEPT`, with ufw \
                     `ufw route allow in on {name}`, with firewalld `firewall-cmd --zone=trusted \
                     --add-interface={name}`",
                    name = self.name
                )));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

impl Drop for Internet {
    fn drop(&mut self) {
        if let Some(index) = self.cable {
            // It is gone already where the server's namespace is.
            let _ = Netlink::open().and_then(|mut netlink| netlink.remove(index));
        }
    }
}

/// A free name, a free address, and the table of that name.
fn claim(used: &[(Ipv4Addr, u8)]) -> Result<(String, Ipv4Addr, Table), OsError> {
    for number in 0..MOST {
        let name = format!("l4s-net{number}");
        let address = Ipv4Addr::new(198, 19, 255, 2 * number + 1);
        if used.iter().any(|other| overlap((address, 31), *other)) || index_of(&name).is_ok() {
            continue;
        }
        if let Some(table) = Table::claim(&name)? {
            return Ok((name, address, table));
        }
    }
    Err(OsError::Machine(
        "this machine uses all of 198.19.255.0/24 itself: expected two addresses without a route"
            .to_owned(),
    ))
}

/// Runs in the server's namespace. Forwards packets of the client to the cable, and no others.
fn serve(address: Ipv4Addr) -> Result<(), OsError> {
    namespace::set("net/ipv4/ip_forward", "1")?;
    for device in ["all", LAB_DEVICE, INNER] {
        namespace::set(&format!("net/ipv4/conf/{device}/rp_filter"), "0")?;
    }
    let mut netlink = Netlink::open()?;
    let cable = netlink.bring_up_cable(INNER)?;
    netlink.add_route(address.into(), index_of(LAB_DEVICE)?, MAIN_TABLE)?;
    netlink.add_route(NOBODY.into(), cable, MAIN_TABLE)?;
    netlink.add_default_route(cable, OF_CLIENTS, None, None)?;
    netlink.route_apart(LAB_DEVICE, OF_CLIENTS, false)
}

/// In the server's namespace: a packet as the client sends them.
fn send_probe(address: Ipv4Addr) -> rustix::io::Result<()> {
    const UDP: u8 = 17;
    const DISCARD: u8 = 9;
    let (family, flags) = (AddressFamily::INET, SocketFlags::CLOEXEC);
    let socket = rustix::net::socket_with(family, SocketType::RAW, flags, Some(ipproto::RAW))?;
    // RFC 791 §3.1, RFC 768: 28 bytes, a time to live of 64; the kernel adds identification and
    // checksum.
    let header = [0x45, 0, 0, 28, 0, 0, 0, 0, 64, UDP, 0, 0];
    let ports = [0, DISCARD, 0, DISCARD, 0, 8, 0, 0];
    let packet = [&header[..], &address.octets(), &NOBODY.octets(), &ports].concat();
    let to = SocketAddrV4::new(NOBODY, 0);
    rustix::net::sendto(&socket, &packet, SendFlags::empty(), &to).map(drop)
}

/// Whether two networks have an address in common.
fn overlap((one, ones): (Ipv4Addr, u8), (other, others): (Ipv4Addr, u8)) -> bool {
    let shared = u32::from(ones.min(others));
    let mask = u32::MAX.checked_shl(32 - shared).unwrap_or(0);
    one.to_bits() & mask == other.to_bits() & mask
}

/// The machine's `/etc/resolv.conf` without name servers that the client cannot reach.
pub(crate) fn resolv_conf() -> String {
    let texts = RESOLV_CONF.iter().filter_map(|path| fs::read_to_string(path).ok());
    texts.filter_map(|text| reachable(&text)).next().unwrap_or_else(|| {
        "# No name server: this machine has only one that it alone reaches.\n".to_owned()
    })
}

/// The name servers that the client reaches.
fn name_servers() -> Vec<Ipv4Addr> {
    let text = resolv_conf();
    text.lines().filter_map(name_server).filter_map(Result::ok).collect()
}

/// A `resolv.conf` without name servers that only the machine itself reaches; `None` where none is left.
fn reachable(text: &str) -> Option<String> {
    let is_reached = |line: &&str| match name_server(line) {
        Some(server) => {
            server.is_ok_and(|server| !server.is_loopback() && !server.is_unspecified())
        }
        None => true,
    };
    let lines: Vec<&str> = text.lines().filter(is_reached).collect();
    let any = lines.iter().any(|line| name_server(line).is_some());
    any.then(|| lines.join("\n") + "\n")
}

/// The address of a line that names a name server; an error for one that is not IPv4.
fn name_server(line: &str) -> Option<Result<Ipv4Addr, IpAddr>> {
    let mut words = line.split_whitespace();
    if words.next() != Some("nameserver") {
        return None;
    }
    match words.next()?.parse() {
        Ok(IpAddr::V4(address)) => Some(Ok(address)),
        Ok(other) => Some(Err(other)),
        // With a zone, as link-local addresses have it.
        Err(_) => Some(Err(IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_overlap_where_one_contains_the_other() {
        let network = |text: &str| {
            let (address, length) = text.split_once('/').unwrap();
            (address.parse().unwrap(), length.parse().unwrap())
        };
        let lab = network("10.3.0.0/16");
        for (other, expected) in [
            ("10.3.5.0/24", true),
            ("10.0.0.0/8", true),
            ("0.0.0.0/0", true),
            ("10.3.0.0/16", true),
            ("10.4.0.0/16", false),
            ("192.168.0.0/16", false),
            ("10.2.255.255/32", false),
        ] {
            assert_eq!(overlap(lab, network(other)), expected, "{other}");
            assert_eq!(overlap(network(other), lab), expected, "{other}");
        }
    }

    #[test]
    fn a_name_server_of_the_machine_alone_is_left_out() {
        let text = "# made by hand\nsearch lan\nnameserver 127.0.0.53\nnameserver ::1\n\
                    nameserver fe80::1%eth0\nnameserver 192.0.2.7\noptions edns0\n";
        let left = "# made by hand\nsearch lan\nnameserver 192.0.2.7\noptions edns0\n";
        assert_eq!(reachable(text).as_deref(), Some(left));
        assert_eq!(reachable("search lan\nnameserver 127.0.0.53\n"), None);
        assert_eq!(reachable("nameserver 2001:db8::1\n"), None, "packets are IPv4");
        assert_eq!(reachable(""), None);
    }
}
