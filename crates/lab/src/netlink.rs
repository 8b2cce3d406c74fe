//! Devices and addresses of this process's network namespace, by rtnetlink.

use std::net::IpAddr;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{
    AddressAttribute, AddressHeaderFlags, AddressMessage, AddressScope,
};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

use crate::LabError;

/// A socket to the kernel's rtnetlink.
pub(crate) struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// Opens it, in the namespace that the thread is in.
    pub fn open() -> Result<Netlink, LabError> {
        let open = || {
            let mut socket = Socket::new(NETLINK_ROUTE)?;
            socket.bind_auto()?;
            socket.connect(&SocketAddr::new(0, 0))?;
            Ok::<_, std::io::Error>(socket)
        };
        let socket = open().map_err(|error| LabError::machine("rtnetlink", error))?;
        Ok(Netlink { socket, sequence: 0 })
    }

    /// Brings a device up, with these attributes.
    pub fn bring_up(&mut self, index: u32, attributes: Vec<LinkAttribute>) -> Result<(), LabError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        message.attributes = attributes;
        self.ask("a device up", RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Gives a device an address. Whatever shares the prefix is reached through it.
    pub fn add_address(&mut self, index: u32, address: IpAddr, prefix: u8) -> Result<(), LabError> {
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

    /// Takes the queue from a device: what is sent is with the driver at once.
    pub fn remove_queue(&mut self, index: u32) -> Result<(), LabError> {
        let mut message = TcMessage::default();
        message.header.index = index as i32;
        message.header.parent = TcHandle::ROOT;
        message.attributes = vec![TcAttribute::Kind("noqueue".to_owned())];
        let message = RouteNetlinkMessage::NewQueueDiscipline(message);
        self.ask("a device without a queue", message, NLM_F_CREATE | NLM_F_REPLACE)
    }

    /// The queue discipline of a device.
    pub fn queue(&mut self, device: &str) -> Option<String> {
        let mut message = LinkMessage::default();
        message.attributes = vec![LinkAttribute::IfName(device.to_owned())];
        let answer = self.exchange("a device", RouteNetlinkMessage::GetLink(message), 0).ok()?;
        let NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) = answer.payload
        else {
            return None;
        };
        link.attributes.into_iter().find_map(|attribute| match attribute {
            LinkAttribute::Qdisc(name) => Some(name),
            _ => None,
        })
    }

    /// Sends a request and waits for the kernel's verdict.
    fn ask(
        &mut self,
        what: &str,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> Result<(), LabError> {
        match self.exchange(what, message, NLM_F_ACK | flags)?.payload {
            NetlinkPayload::Error(verdict) if verdict.code.is_none() => Ok(()),
            NetlinkPayload::Error(verdict) => Err(LabError::machine(what, verdict.to_io())),
            _ => Err(LabError::Machine(format!("{what}: rtnetlink answered something else"))),
        }
    }

    /// Sends a request and gives its answer.
    fn exchange(
        &mut self,
        what: &str,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> Result<NetlinkMessage<RouteNetlinkMessage>, LabError> {
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.sequence;
        let mut request = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        let failed = |error| LabError::machine(what, error);
        self.socket.send(&bytes, 0).map_err(failed)?;
        let (answer, _) = self.socket.recv_from_full().map_err(failed)?;
        NetlinkMessage::deserialize(&answer)
            .map_err(|error| LabError::Machine(format!("{what}: rtnetlink's answer: {error}")))
    }
}
