//! Devices, addresses, routes and queue disciplines of this process's network namespace, by
//! rtnetlink.

use std::net::{IpAddr, Ipv4Addr};

use l4s_units::Duration;

use netlink_packet_core::{
    DefaultNla, NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_ECHO, NLM_F_EXCL, NLM_F_REPLACE,
    NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload, NlasIterator,
};
use netlink_packet_route::address::{
    AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope,
};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use serde::{Deserialize, Serialize};

use crate::{OsError, ethtool};

/// The address of every end of every cable. Without ARP a device sends to its own address, so
/// the other end must have the same.
pub const CABLE_ADDRESS: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// A socket to the kernel's rtnetlink.
#[derive(Debug)]
pub struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// Opens it, in the namespace that the thread is in.
    pub fn open() -> Result<Netlink, OsError> {
        let socket =
            connect(NETLINK_ROUTE).map_err(|error| OsError::machine("rtnetlink", error))?;
        Ok(Netlink { socket, sequence: 0 })
    }

    /// Brings a device up, with these attributes.
    pub fn bring_up(&mut self, index: u32, attributes: Vec<LinkAttribute>) -> Result<(), OsError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        message.attributes = attributes;
        self.ask("a device up", RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Gives a device an address. All addresses of the prefix are reached through it.
    pub fn add_address(&mut self, index: u32, address: IpAddr, prefix: u8) -> Result<(), OsError> {
        let mut message = AddressMessage::default();
        message.header.index = index;
        message.header.prefix_len = prefix;
        message.header.scope = AddressScope::Universe;
        message.header.family = match address {
            IpAddr::V4(_) => AddressFamily::Inet,
            IpAddr::V6(_) => AddressFamily::Inet6,
        };
        // Nobody else could have it.
        message.header.flags = AddressHeaderFlags::Nodad;
        message.attributes =
            vec![AddressAttribute::Address(address), AddressAttribute::Local(address)];
        let what = format!("the address {address}/{prefix}");
        self.ask(&what, RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Makes a pair of virtual Ethernet devices, the second in the network namespace of a process.
    pub fn add_cable(
        &mut self,
        name: &str,
        other: &str,
        process: Option<u32>,
    ) -> Result<(), OsError> {
        let end = |name: &str| {
            let mut message = LinkMessage::default();
            message.attributes = vec![
                LinkAttribute::IfName(name.to_owned()),
                LinkAttribute::Address(CABLE_ADDRESS.to_vec()),
            ];
            message
        };
        let mut peer = end(other);
        peer.attributes.extend(process.map(LinkAttribute::NetNsPid));
        let mut message = end(name);
        message.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]));
        let what = format!("the cable {name} to {other}");
        self.ask(&what, RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Brings an end of a cable up. Packets go through it one by one: none is cut or merged on the
    /// way.
    pub fn bring_up_cable(&mut self, name: &str) -> Result<u32, OsError> {
        let failed = |error| OsError::machine(format_args!("offloads of {name}"), error);
        for command in CUTTING_AND_MERGING {
            ethtool::set(name, command, 0).map_err(failed)?;
        }
        // UDP senders may hand down several datagrams as one (UDP_SEGMENT).
        ethtool::switch_off(name, "tx-udp-segmentation").map_err(failed)?;
        let mut message = LinkMessage::default();
        message.header.index = index_of(name)?;
        message.header.flags = LinkFlags::Up | LinkFlags::Noarp;
        message.header.change_mask = message.header.flags;
        let index = message.header.index;
        self.ask(&format!("{name} up"), RouteNetlinkMessage::SetLink(message), 0)?;
        Ok(index)
    }

    /// Takes a device down: nothing comes in by it any more, and nothing leaves.
    pub fn take_down(&mut self, index: u32) -> Result<(), OsError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.change_mask = LinkFlags::Up;
        self.ask("a device down", RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Delays every packet that leaves a device (`netem`) by `delay` and a random time of up to
    /// `jitter`, uniform. Packets keep their order.
    pub fn delay(&mut self, index: u32, delay: Duration, jitter: Duration) -> Result<(), OsError> {
        // netem takes a mean and the maximum that is added or subtracted.
        let half = jitter / 2;
        // `struct tc_netem_qopt`: latency, limit, loss, gap, duplicate, jitter; and then
        // TCA_NETEM_LATENCY64 in nanoseconds.
        let mut options: Vec<u8> =
            [0, MOST_DELAYED, 0, 0, 0, 0].into_iter().flat_map(u32::to_ne_bytes).collect();
        options.extend(attribute(10, &((delay + half).as_nanos() as i64).to_ne_bytes()));
        if !half.is_zero() {
            // TCA_NETEM_JITTER64. Only with a rate no packet overtakes another: TCA_NETEM_RATE64,
            // one at which they take no time.
            options.extend(attribute(11, &(half.as_nanos() as i64).to_ne_bytes()));
            options.extend(attribute(8, &(1u64 << 60).to_ne_bytes()));
        }
        self.add_queue(index, TcHandle::ROOT, TcHandle { major: 1, minor: 0 }, "netem", &options)
    }

    /// Gives a device, or a class of its queue discipline, a queue discipline. The options are as
    /// they go over the wire.
    pub fn add_queue(
        &mut self,
        index: u32,
        parent: TcHandle,
        handle: TcHandle,
        kind: &str,
        options: &[u8],
    ) -> Result<(), OsError> {
        let message = traffic_control(index, parent, handle, kind, options);
        let message = RouteNetlinkMessage::NewQueueDiscipline(message);
        let what = format!("the queue discipline {kind}");
        match self.verdict(&what, message, NLM_F_CREATE | NLM_F_REPLACE)? {
            Ok(()) => Ok(()),
            // Nothing else that is named in these requests may be missing.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(OsError::Machine(format!(
                    "this kernel has no queue discipline `{kind}` (CONFIG_NET_SCH_{}; where it is \
                     a module that the kernel does not load by itself: `modprobe sch_{kind}`)",
                    kind.to_ascii_uppercase()
                )))
            }
            Err(error) => Err(OsError::machine(what, error)),
        }
    }

    /// Adds a class to a queue discipline, or changes it.
    pub fn add_class(
        &mut self,
        index: u32,
        parent: TcHandle,
        handle: TcHandle,
        kind: &str,
        options: &[u8],
    ) -> Result<(), OsError> {
        let message = traffic_control(index, parent, handle, kind, options);
        let message = RouteNetlinkMessage::NewTrafficClass(message);
        self.ask(&format!("a class of {kind}"), message, NLM_F_CREATE)
    }

    /// The state of a queue discipline, as reported by the kernel.
    pub fn queue_state(
        &mut self,
        index: u32,
        handle: TcHandle,
    ) -> Result<Vec<TcAttribute>, OsError> {
        let mut message = TcMessage::default();
        message.header.index = index as i32;
        message.header.handle = handle;
        let what = "the state of a queue discipline";
        let message = RouteNetlinkMessage::GetQueueDiscipline(message);
        // Without the flag the answer goes to those only who listen to all changes.
        match self.exchange(what, message, NLM_F_ECHO)?.payload {
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewQueueDiscipline(state)) => {
                Ok(state.attributes)
            }
            NetlinkPayload::Error(verdict) => Err(OsError::machine(what, verdict.to_io())),
            _ => Err(OsError::Machine(format!("{what}: rtnetlink answered something else"))),
        }
    }

    /// Has packets to `destination` leave by a device, where a table is asked.
    pub fn add_route(&mut self, destination: IpAddr, index: u32, table: u8) -> Result<(), OsError> {
        let (prefix, address) = match destination {
            IpAddr::V4(address) => (32, RouteAddress::Inet(address)),
            IpAddr::V6(address) => (128, RouteAddress::Inet6(address)),
        };
        let attributes = vec![RouteAttribute::Destination(address)];
        let what = format!("the route to {destination}");
        self.route(&what, destination.is_ipv6(), prefix, attributes, index, table)
    }

    /// Has IPv4 packets for which a table has no other route leave by a device, to a gateway behind
    /// it if there is one, in packets of `mtu` bytes at most.
    pub fn add_default_route(
        &mut self,
        index: u32,
        table: u8,
        gateway: Option<Ipv4Addr>,
        mtu: Option<u32>,
    ) -> Result<(), OsError> {
        let gateway = gateway.map(|to| RouteAttribute::Gateway(RouteAddress::Inet(to)));
        let mtu = mtu.map(|mtu| RouteAttribute::Metrics(vec![RouteMetric::Mtu(mtu)]));
        let attributes = gateway.into_iter().chain(mtu).collect();
        self.route("the default route", false, 0, attributes, index, table)
    }

    fn route(
        &mut self,
        what: &str,
        ipv6: bool,
        prefix: u8,
        mut attributes: Vec<RouteAttribute>,
        index: u32,
        table: u8,
    ) -> Result<(), OsError> {
        let mut message = RouteMessage::default();
        message.header.address_family =
            if ipv6 { AddressFamily::Inet6 } else { AddressFamily::Inet };
        message.header.destination_prefix_length = prefix;
        message.header.table = table;
        message.header.protocol = RouteProtocol::Static;
        let through = |attribute: &RouteAttribute| matches!(attribute, RouteAttribute::Gateway(_));
        message.header.scope = match attributes.iter().any(through) {
            true => RouteScope::Universe,
            false => RouteScope::Link,
        };
        message.header.kind = RouteType::Unicast;
        attributes.push(RouteAttribute::Oif(index));
        message.attributes = attributes;
        self.ask(what, RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// The IPv4 routes of every table, default routes aside: destination and length of its prefix.
    pub fn routes(&mut self) -> Result<Vec<(Ipv4Addr, u8)>, OsError> {
        let what = "the routes of this machine";
        let failed = |error| OsError::machine(what, error);
        let mut message = RouteMessage::default();
        message.header.address_family = AddressFamily::Inet;
        self.send(RouteNetlinkMessage::GetRoute(message), NLM_F_DUMP).map_err(failed)?;
        let mut routes = Vec::new();
        loop {
            let (answers, _) = self.socket.recv_from_full().map_err(failed)?;
            let mut rest = &answers[..];
            while let Some(length) = rest.get(..4).and_then(|bytes| bytes.try_into().ok()) {
                let length = u32::from_ne_bytes(length) as usize;
                let Some(answer) = rest.get(..length).filter(|answer| answer.len() >= HEADER)
                else {
                    break;
                };
                let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(answer)
                    .map_err(|error| OsError::Machine(format!("{what}: {error}")))?;
                match answer.payload {
                    NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewRoute(route)) => {
                        let prefix = route.header.destination_prefix_length;
                        routes.extend(route.attributes.iter().find_map(
                            |attribute| match attribute {
                                RouteAttribute::Destination(RouteAddress::Inet(to)) => {
                                    Some((*to, prefix))
                                }
                                _ => None,
                            },
                        ));
                    }
                    NetlinkPayload::Done(_) => return Ok(routes),
                    NetlinkPayload::Error(error) => return Err(failed(error.to_io())),
                    _ => {}
                }
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            }
        }
    }

    /// Routes packets from a device by another table than the main one.
    pub fn route_apart(&mut self, device: &str, table: u8, ipv6: bool) -> Result<(), OsError> {
        let what = format!("a separate routing table for packets from {device}");
        self.rule(&what, device, RuleAction::ToTable, table, ipv6)
    }

    /// Discards the packets that come in by a device, before they are routed. Packet sockets see them.
    pub fn discard_from(&mut self, device: &str, ipv6: bool) -> Result<(), OsError> {
        let what = format!("a rule that discards packets from {device}");
        self.rule(&what, device, RuleAction::Blackhole, 0, ipv6)
    }

    fn rule(
        &mut self,
        what: &str,
        device: &str,
        action: RuleAction,
        table: u8,
        ipv6: bool,
    ) -> Result<(), OsError> {
        let mut message = RuleMessage::default();
        message.header.family = if ipv6 { AddressFamily::Inet6 } else { AddressFamily::Inet };
        message.header.table = table;
        message.header.action = action;
        message.attributes =
            vec![RuleAttribute::Iifname(device.to_owned()), RuleAttribute::Priority(100)];
        self.ask(what, RouteNetlinkMessage::NewRule(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Removes the queue of a device: packets go to the driver at once.
    pub fn remove_queue(&mut self, index: u32) -> Result<(), OsError> {
        let mut message = TcMessage::default();
        message.header.index = index as i32;
        message.header.parent = TcHandle::ROOT;
        message.attributes = vec![TcAttribute::Kind("noqueue".to_owned())];
        let message = RouteNetlinkMessage::NewQueueDiscipline(message);
        self.ask("a device without a queue", message, NLM_F_CREATE | NLM_F_REPLACE)
    }

    /// The root queue discipline of a device; `None` for the one that the kernel gives it by itself.
    pub fn root_queue(&mut self, device: &str) -> Result<Option<RootQueue>, OsError> {
        // The kernel does not answer for a device without a queue, or without one before it is up.
        if self.queue(device).is_none_or(|kind| ["noqueue", "noop"].contains(&kind.as_str())) {
            return Ok(None);
        }
        let mut message = TcMessage::default();
        message.header.index = index_of(device)? as i32;
        message.header.parent = TcHandle::ROOT;
        let what = "the root queue discipline";
        let message = RouteNetlinkMessage::GetQueueDiscipline(message);
        let answer = self.exchange_bytes(what, message, NLM_F_ECHO)?;
        let broken = || OsError::Machine(format!("{what}: rtnetlink answered something else"));
        // As bytes: the options that were read are restored unchanged, without decoding. The header
        // of the message is followed by `struct tcmsg`: family, device, handle, parent, info.
        if answer.len() < HEADER + 20 || answer[4..6] != RTM_NEWQDISC.to_ne_bytes() {
            return Err(broken());
        }
        let handle = &answer[HEADER + 8..HEADER + 12];
        let handle = u32::from_ne_bytes(handle.try_into().map_err(|_| broken())?);
        let mut root = RootQueue { major: (handle >> 16) as u16, ..RootQueue::default() };
        if root.major == 0 {
            return Ok(None);
        }
        for attribute in NlasIterator::new(&answer[HEADER + 20..]) {
            let attribute = attribute.map_err(|_| broken())?;
            match attribute.kind() & NLA_TYPE_MASK {
                KIND => {
                    let kind = attribute.value().split(|byte| *byte == 0).next();
                    root.kind = String::from_utf8_lossy(kind.unwrap_or_default()).into_owned();
                }
                OPTIONS => root.options = attribute.value().to_vec(),
                _ => {}
            }
        }
        Ok(Some(root))
    }

    /// Gives a device a root queue discipline; `None` for the one that the kernel gives it by
    /// itself.
    pub fn set_root(&mut self, index: u32, root: Option<&RootQueue>) -> Result<(), OsError> {
        if let Some(RootQueue { kind, major, options }) = root {
            let handle = TcHandle { major: *major, minor: 0 };
            return self.add_queue(index, TcHandle::ROOT, handle, kind, options);
        }
        let mut message = TcMessage::default();
        message.header.index = index as i32;
        message.header.parent = TcHandle::ROOT;
        let message = RouteNetlinkMessage::DelQueueDiscipline(message);
        self.ask("taking a queue discipline away", message, 0)
    }

    /// The maximum number of packets into which the device splits one GSO packet.
    pub fn gso_max_segments(&mut self, device: &str) -> Option<u32> {
        self.link(device)?.attributes.into_iter().find_map(|attribute| match attribute {
            LinkAttribute::GsoMaxSegs(count) => Some(count),
            _ => None,
        })
    }

    /// Sets that, for packets that connections send from now on.
    pub fn set_gso_max_segments(&mut self, index: u32, count: u32) -> Result<(), OsError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.attributes = vec![LinkAttribute::GsoMaxSegs(count)];
        let message = RouteNetlinkMessage::NewLink(message);
        self.ask("the packets that a device takes at once", message, 0)
    }

    /// The queue discipline of a device.
    pub fn queue(&mut self, device: &str) -> Option<String> {
        let link = self.link(device)?;
        link.attributes.into_iter().find_map(|attribute| match attribute {
            LinkAttribute::Qdisc(name) => Some(name),
            _ => None,
        })
    }

    /// The longest packet that a device takes.
    pub fn mtu(&mut self, device: &str) -> Option<u32> {
        self.link(device)?.attributes.into_iter().find_map(|attribute| match attribute {
            LinkAttribute::Mtu(mtu) => Some(mtu),
            _ => None,
        })
    }

    /// Removes a device; a cable with both of its ends.
    pub fn remove(&mut self, index: u32) -> Result<(), OsError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        self.ask("a device", RouteNetlinkMessage::DelLink(message), 0)
    }

    fn link(&mut self, device: &str) -> Option<LinkMessage> {
        let mut message = LinkMessage::default();
        message.attributes = vec![LinkAttribute::IfName(device.to_owned())];
        let answer = self.exchange("a device", RouteNetlinkMessage::GetLink(message), 0).ok()?;
        match answer.payload {
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => Some(link),
            _ => None,
        }
    }

    /// Sends a request and waits for the kernel's verdict.
    fn ask(&mut self, what: &str, message: RouteNetlinkMessage, flags: u16) -> Result<(), OsError> {
        self.verdict(what, message, flags)?.map_err(|error| OsError::machine(what, error))
    }

    /// Sends a request and gives the kernel's verdict.
    fn verdict(
        &mut self,
        what: &str,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> Result<std::io::Result<()>, OsError> {
        match self.exchange(what, message, NLM_F_ACK | flags)?.payload {
            NetlinkPayload::Error(verdict) if verdict.code.is_none() => Ok(Ok(())),
            NetlinkPayload::Error(verdict) => Ok(Err(verdict.to_io())),
            _ => Err(OsError::Machine(format!("{what}: rtnetlink answered something else"))),
        }
    }

    /// Sends a request and gives its answer.
    fn exchange(
        &mut self,
        what: &str,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> Result<NetlinkMessage<RouteNetlinkMessage>, OsError> {
        let answer = self.exchange_bytes(what, message, flags)?;
        NetlinkMessage::deserialize(&answer)
            .map_err(|error| OsError::Machine(format!("{what}: rtnetlink's answer: {error}")))
    }

    fn exchange_bytes(
        &mut self,
        what: &str,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> Result<Vec<u8>, OsError> {
        let failed = |error| OsError::machine(what, error);
        self.send(message, flags).map_err(failed)?;
        let (answer, _) = self.socket.recv_from_full().map_err(failed)?;
        Ok(answer)
    }

    fn send(&mut self, message: RouteNetlinkMessage, flags: u16) -> std::io::Result<()> {
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.sequence;
        let mut request = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0).map(drop)
    }
}

/// The kernel answers at once, or never.
pub(crate) const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// A root queue discipline, as far as it can be given to a device again.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RootQueue {
    /// Its kind, such as `fq_codel`.
    pub kind: String,
    /// The major number of its handle; 0 for any that is free.
    pub major: u16,
    /// Its options as they go over the wire.
    pub options: Vec<u8>,
}

/// A socket to the kernel by one of the protocols of netlink.
pub(crate) fn connect(protocol: isize) -> std::io::Result<Socket> {
    let mut socket = Socket::new(protocol)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
    Ok(socket)
}

/// Packets that a delay may hold: more than any scenario has under way.
const MOST_DELAYED: u32 = 10_000_000;

/// ethtool's commands for offloads that cut or merge packets: ETHTOOL_STSO, ETHTOOL_SGSO and
/// ETHTOOL_SGRO of linux/ethtool.h.
const CUTTING_AND_MERGING: [u32; 3] = [0x1f, 0x24, 0x2c];

/// RT_TABLE_MAIN of linux/rtnetlink.h.
pub const MAIN_TABLE: u8 = 254;

/// TCA_KIND and TCA_OPTIONS of linux/rtnetlink.h.
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
/// Newer disciplines refuse options without it.
pub(crate) const NLA_F_NESTED: u16 = 1 << 15;
/// A number without such flags.
const NLA_TYPE_MASK: u16 = 0x3fff;
/// Bytes of `struct nlmsghdr`.
pub(crate) const HEADER: usize = 16;
/// Its type for a queue discipline.
const RTM_NEWQDISC: u16 = 36;

fn traffic_control(
    index: u32,
    parent: TcHandle,
    handle: TcHandle,
    kind: &str,
    options: &[u8],
) -> TcMessage {
    let mut message = TcMessage::default();
    message.header.index = index as i32;
    message.header.parent = parent;
    message.header.handle = handle;
    message.attributes = vec![TcAttribute::Kind(kind.to_owned())];
    if !options.is_empty() {
        let options = DefaultNla::new(OPTIONS | NLA_F_NESTED, options.to_vec());
        message.attributes.push(TcAttribute::Other(options));
    }
    message
}

/// A netlink attribute as it goes over the wire: length, number, value, padding.
pub fn attribute(number: u16, value: &[u8]) -> Vec<u8> {
    let length = 4 + value.len();
    let mut bytes = Vec::with_capacity(length.next_multiple_of(4));
    bytes.extend((length as u16).to_ne_bytes());
    bytes.extend(number.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(length.next_multiple_of(4), 0);
    bytes
}

/// The value of the first attribute of this number.
pub fn find_attribute(attributes: &[u8], number: u16) -> Option<Vec<u8>> {
    let mut all = NlasIterator::new(attributes).map_while(Result::ok);
    all.find(|attribute| attribute.kind() & NLA_TYPE_MASK == number)
        .map(|attribute| attribute.value().to_vec())
}

/// The number of a device of this process's namespace.
pub fn index_of(name: &str) -> Result<u32, OsError> {
    use rustix::net::{SocketType, netdevice, socket};
    socket(rustix::net::AddressFamily::INET, SocketType::DGRAM, None)
        .and_then(|socket| netdevice::name_to_index(socket, name))
        .map_err(|error| OsError::machine(format_args!("the device {name}"), error))
}
