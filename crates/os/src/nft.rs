//! Tables of nftables for IPv4 that go with this process.
//!
//! The kernel deletes a table with the owner flag (Linux 5.12) when the socket that made it is closed,
//! however its process ends. Nobody else can change it. The messages are those of
//! linux/netfilter/nf_tables.h; integers in them are big endian, except for the contents of registers.

use std::io::{Error, ErrorKind};
use std::net::Ipv4Addr;

use netlink_packet_core::{NLM_F_ACK, NLM_F_APPEND, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST};
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_NETFILTER;

use crate::OsError;
use crate::error::reason;
use crate::netlink::{HEADER, NLA_F_NESTED, attribute, connect, find_attribute};

/// NFNL_SUBSYS_NFTABLES of linux/netfilter/nfnetlink.h, and the types that begin and end a batch.
const SUBSYSTEM: u16 = 10;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
/// `enum nf_tables_msg_types`.
const NEW_TABLE: u16 = 0;
const NEW_CHAIN: u16 = 3;
const NEW_RULE: u16 = 6;
const NEW_OBJECT: u16 = 18;
const GET_OBJECT: u16 = 19;
/// NFPROTO_IPV4.
const IPV4: u8 = 2;
/// Bytes of `struct nfgenmsg`, which follows the header.
const FAMILY: usize = 4;
/// NFT_TABLE_F_OWNER.
const OWNER: u32 = 2;
/// NFT_OBJECT_COUNTER.
const COUNTER: u32 = 1;
/// NLMSG_ERROR, which an acknowledgement is, too.
const ERROR: u16 = 2;
/// NFT_REG_VERDICT, NFT_REG_1 and NFT_REG_2.
const VERDICT: u32 = 0;
const FIRST: u32 = 1;
const SECOND: u32 = 2;
/// NF_DROP of linux/netfilter.h.
const DROP: u32 = 0;

/// Where a packet meets a chain, and the purpose of the chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hook {
    /// A packet came in.
    Prerouting,
    /// It is forwarded.
    Forward,
    /// It leaves.
    Postrouting,
    /// The first packet of a connection leaves, and its addresses are translated.
    PostroutingNat,
}

impl Hook {
    /// The chain's type, and NF_INET_PRE_ROUTING, NF_INET_FORWARD or NF_INET_POST_ROUTING.
    fn parts(self) -> (&'static str, u32) {
        match self {
            Hook::Prerouting => ("filter", 0),
            Hook::Forward => ("filter", 2),
            Hook::Postrouting => ("filter", 4),
            Hook::PostroutingNat => ("nat", 4),
        }
    }
}

/// A step of a rule. A condition that does not hold ends the rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<'a> {
    /// The packet came by this interface.
    CameBy(u32),
    /// Its source is this address.
    From(Ipv4Addr),
    /// Its source is another address.
    NotFrom(Ipv4Addr),
    /// Its destination is this address.
    To(Ipv4Addr),
    /// It is in the reply direction of its connection, ICMP errors included.
    IsReply,
    /// A counter counts it.
    Count(&'a str),
    /// A copy is sent to this address by this interface, as if this machine had made it: no setting of
    /// forwarding matters to it, and connections are not tracked.
    CopyTo(Ipv4Addr, u32),
    /// Its connection gets the address of the interface through which it leaves.
    Masquerade,
    /// It is dropped.
    Drop,
}

/// A chain with one rule. Those with a lower priority come first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chain<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where packets meet it.
    pub hook: Hook,
    /// As `enum nf_ip_hook_priorities`.
    pub priority: i32,
    /// Its rule.
    pub rule: &'a [Step<'a>],
}

/// A table of this process.
#[derive(Debug)]
pub struct Table {
    socket: Socket,
    sequence: u32,
    name: String,
}

impl Table {
    /// Makes a table in the network namespace of this thread; `None` where there is one of that name.
    ///
    /// # Errors
    /// This user may not, or the kernel has no nftables or no tables with owners.
    pub fn claim(name: &str) -> Result<Option<Table>, OsError> {
        let failed = |error: Error| {
            let advice = match error.kind() {
                ErrorKind::PermissionDenied => ": run as root",
                ErrorKind::Unsupported | ErrorKind::InvalidInput => {
                    ": nftables (CONFIG_NF_TABLES_IPV4) with owners of tables came with Linux 5.12"
                }
                _ => "",
            };
            OsError::Machine(format!("a table of nftables: {}{advice}", reason(&error)))
        };
        let socket = connect(NETLINK_NETFILTER).map_err(failed)?;
        let mut table = Table { socket, sequence: 0, name: name.to_owned() };
        let body = [text(1, name), number(2, OWNER)].concat();
        match table.commit(&[(NEW_TABLE, NLM_F_EXCL, body)]) {
            Ok(()) => Ok(Some(table)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// Adds counters and chains, all or none.
    ///
    /// # Errors
    /// The kernel lacks a part of nftables.
    pub fn add(&mut self, counters: &[&str], chains: &[Chain<'_>]) -> Result<(), OsError> {
        let own = |of: &str, attribute| [text(1, &self.name), text(attribute, of)].concat();
        let counters = counters.iter().map(|counter| {
            let body = [own(counter, 2), number(3, COUNTER), nested(4, &[])].concat();
            (NEW_OBJECT, NLM_F_EXCL, body)
        });
        let chains = chains.iter().flat_map(|chain| {
            let (kind, hook) = chain.hook.parts();
            let hook = [number(1, hook), number(2, chain.priority as u32)].concat();
            let body = [own(chain.name, 3), nested(4, &hook), text(7, kind)].concat();
            let steps: Vec<u8> = chain.rule.iter().flat_map(|step| step.bytes()).collect();
            let rule = [own(chain.name, 2), nested(4, &steps)].concat();
            [(NEW_CHAIN, NLM_F_EXCL, body), (NEW_RULE, NLM_F_APPEND, rule)]
        });
        let messages: Vec<_> = counters.chain(chains).collect();
        self.commit(&messages).map_err(|error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::Unsupported => OsError::Machine(
                "this kernel lacks a part of nftables: it takes nft_masq, nft_ct and nft_dup_ipv4 \
                 (CONFIG_NFT_MASQ, CONFIG_NFT_CT, CONFIG_NFT_DUP_IPV4; `modprobe` loads them)"
                    .to_owned(),
            ),
            _ => OsError::machine("the rules of nftables", error),
        })
    }

    /// How many packets a counter counted.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn counted(&mut self, counter: &str) -> Result<u64, OsError> {
        let mut read = || -> Result<u64, Error> {
            let body = [text(1, &self.name), text(2, counter), number(3, COUNTER)].concat();
            self.sequence += 1;
            let request = message(SUBSYSTEM << 8 | GET_OBJECT, 0, IPV4, self.sequence, &body);
            self.socket.send(&request, 0)?;
            let (answer, _) = self.socket.recv_from_full()?;
            verdict(&answer)?;
            let attributes = answer.get(HEADER + FAMILY..).unwrap_or_default();
            let packets = find_attribute(attributes, 4).and_then(|data| find_attribute(&data, 2));
            let packets = packets.and_then(|bytes| bytes.try_into().ok());
            packets.map(u64::from_be_bytes).ok_or_else(|| ErrorKind::InvalidData.into())
        };
        read().map_err(|error| OsError::machine("a counter of nftables", error))
    }

    /// Has the kernel take all of these changes or none: number, flags and contents of each.
    fn commit(&mut self, changes: &[(u16, u16, Vec<u8>)]) -> std::io::Result<()> {
        let first = self.sequence + 1;
        let mut batch = message(BATCH_BEGIN, 0, 0, first, &[]);
        // The subsystem that the batch is for: `nfgenmsg.res_id`.
        batch[HEADER + 2..HEADER + FAMILY].copy_from_slice(&SUBSYSTEM.to_be_bytes());
        for ((kind, flags, body), sequence) in changes.iter().zip(first + 1..) {
            let flags = NLM_F_CREATE | NLM_F_ACK | flags;
            batch.extend(message(SUBSYSTEM << 8 | kind, flags, IPV4, sequence, body));
        }
        self.sequence = first + changes.len() as u32 + 1;
        let mut end = message(BATCH_END, 0, 0, self.sequence, &[]);
        end[HEADER + 2..HEADER + FAMILY].copy_from_slice(&SUBSYSTEM.to_be_bytes());
        batch.extend(end);
        self.socket.send(&batch, 0)?;
        for _ in changes {
            let (answer, _) = self.socket.recv_from_full()?;
            let of_batch = answer.get(8..12) == Some(&first.to_ne_bytes());
            match verdict(&answer) {
                // The user may change tables, but not this one, which has another owner.
                Err(error) if error.kind() == ErrorKind::PermissionDenied && !of_batch => {
                    return Err(ErrorKind::AlreadyExists.into());
                }
                said => said?,
            }
        }
        Ok(())
    }
}

impl Step<'_> {
    /// Its expressions as they go over the wire (NFTA_LIST_ELEM).
    fn bytes(&self) -> Vec<u8> {
        /// NFT_CMP_EQ and NFT_CMP_NEQ.
        const SAME: u32 = 0;
        const OTHER: u32 = 1;
        /// Where the addresses of an IPv4 header are (RFC 791 §3.1).
        const SOURCE: u32 = 12;
        const DESTINATION: u32 = 16;
        // NFT_PAYLOAD_NETWORK_HEADER.
        let field =
            |offset| [number(1, FIRST), number(2, 1), number(3, offset), number(4, 4)].concat();
        let is = |how, value: &[u8]| {
            let body = [number(1, FIRST), number(2, how), nested(3, &attribute(1, value))].concat();
            expression("cmp", &body)
        };
        let load = |register, value: &[u8]| {
            let body = [number(1, register), nested(2, &attribute(1, value))].concat();
            expression("immediate", &body)
        };
        let address = |offset, how, address: Ipv4Addr| {
            [expression("payload", &field(offset)), is(how, &address.octets())].concat()
        };
        match *self {
            // NFT_META_IIF.
            Step::CameBy(index) => [
                expression("meta", &[number(1, FIRST), number(2, 4)].concat()),
                is(SAME, &index.to_ne_bytes()),
            ]
            .concat(),
            Step::From(source) => address(SOURCE, SAME, source),
            Step::NotFrom(source) => address(SOURCE, OTHER, source),
            Step::To(destination) => address(DESTINATION, SAME, destination),
            // NFT_CT_DIRECTION, and IP_CT_DIR_REPLY.
            Step::IsReply => {
                [expression("ct", &[number(1, FIRST), number(2, 1)].concat()), is(SAME, &[1])]
                    .concat()
            }
            Step::Count(counter) => {
                expression("objref", &[number(1, COUNTER), text(2, counter)].concat())
            }
            Step::CopyTo(gateway, index) => [
                load(FIRST, &gateway.octets()),
                load(SECOND, &index.to_ne_bytes()),
                expression("dup", &[number(1, FIRST), number(2, SECOND)].concat()),
            ]
            .concat(),
            Step::Masquerade => expression("masq", &[]),
            Step::Drop => {
                let verdict = nested(2, &number(1, DROP));
                expression("immediate", &[number(1, VERDICT), nested(2, &verdict)].concat())
            }
        }
    }
}

/// The kernel's result of a change, in a message without other contents.
fn verdict(answer: &[u8]) -> std::io::Result<()> {
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok());
    if kind.map(u16::from_ne_bytes) != Some(ERROR) {
        return Ok(());
    }
    let code = answer.get(HEADER..HEADER + 4).and_then(|bytes| bytes.try_into().ok());
    match code.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(code) => Err(Error::from_raw_os_error(-code)),
        None => Err(ErrorKind::InvalidData.into()),
    }
}

/// A message: `struct nlmsghdr`, `struct nfgenmsg`, attributes.
fn message(kind: u16, flags: u16, family: u8, sequence: u32, body: &[u8]) -> Vec<u8> {
    let length = (HEADER + FAMILY + body.len()) as u32;
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend((NLM_F_REQUEST | flags).to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend([0; 4]);
    bytes.extend([family, 0, 0, 0]);
    bytes.extend(body);
    bytes
}

fn number(attribute_number: u16, value: u32) -> Vec<u8> {
    attribute(attribute_number, &value.to_be_bytes())
}

fn text(number: u16, value: &str) -> Vec<u8> {
    attribute(number, &[value.as_bytes(), &[0]].concat())
}

fn nested(number: u16, value: &[u8]) -> Vec<u8> {
    attribute(number | NLA_F_NESTED, value)
}

/// NFTA_LIST_ELEM with NFTA_EXPR_NAME and NFTA_EXPR_DATA.
fn expression(name: &str, body: &[u8]) -> Vec<u8> {
    nested(1, &[text(1, name), nested(2, body)].concat())
}
