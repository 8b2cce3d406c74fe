//! The router between servers and clients: the namespace of the guest's first process.
//!
//! ```text
//!  server P ─ server{P} ─▶ link ─▶ htb, AQM ─▶ link-out ─ client{P} ─▶ client P
//!      ▲                                                       │ netem: the RTT
//!      └────────────────── server{P} ◀── client{P} ◀───────────┘
//! ```
//!
//! `link` and `link-out` are the ends of one cable in the same namespace. What comes out of it is
//! routed by a table of its own, to the clients' cables; what clients send goes straight back.

use l4s_lab::namespace;
use l4s_lab::netlink::{Netlink, index_of};
use l4s_lab::{End, LabError, LabPlan, cable_of};
use l4s_scenario::Link;
use netlink_packet_route::tc::TcHandle;

use crate::event::{Counters, QueueState};
use crate::qdisc::{self, DROPPED, Qdisc, Shaper, WAITING};
use crate::tap::{Direction, Tap};

const LINK: &str = "link";
const LINK_OUT: &str = "link-out";
/// The routing tables: the main one, and that for what comes out of the link.
const MAIN: u8 = 254;
const BEHIND: u8 = 100;

const SHAPER: TcHandle = TcHandle { major: 1, minor: 0 };
const CLASS: TcHandle = TcHandle { major: 1, minor: 1 };
/// The first queue discipline. Those that take its place have the numbers after it: what is put
/// in the place of one of the same number would be taken for a change of its settings.
const AQM: TcHandle = TcHandle { major: 2, minor: 0 };

/// A router whose agents are connected.
#[derive(Debug)]
pub struct Router {
    netlink: Netlink,
    /// The number of `link`.
    link: u32,
    /// The queue discipline that the bottleneck has.
    aqm: TcHandle,
    /// What those before it had counted.
    past: Counters,
    /// What comes from each server.
    pub arrivals: Vec<Tap>,
    /// What leaves the bottleneck.
    pub departures: Tap,
}

impl Router {
    /// Makes this process's namespace a router for pairs that are connected to it.
    pub fn new(plan: &LabPlan, link: &Link, aqm: &Qdisc, ipv6: bool) -> Result<Router, LabError> {
        let mut netlink = Netlink::open()?;
        netlink.bring_up(index_of("lo")?, Vec::new())?;
        namespace::set("net/ipv4/ip_forward", "1")?;
        if ipv6 {
            namespace::set("net/ipv6/conf/all/forwarding", "1")?;
        }
        netlink.add_cable(LINK, LINK_OUT, None)?;
        let index = netlink.bring_up_cable(LINK)?;
        netlink.bring_up_cable(LINK_OUT)?;
        netlink.route_apart(LINK_OUT, BEHIND, ipv6)?;

        let mut arrivals = Vec::new();
        for (pair, (server, clients)) in plan.addresses().enumerate() {
            let way_in = netlink.bring_up_cable(&cable_of(pair, End::Server))?;
            let way_out = netlink.bring_up_cable(&cable_of(pair, End::Client))?;
            netlink.add_route(server, way_in, MAIN)?;
            for client in clients {
                netlink.add_route(client, index, MAIN)?;
                netlink.add_route(client, way_out, BEHIND)?;
            }
            arrivals.push(Tap::open(way_in, Direction::In)?);
        }
        let departures = Tap::open(index, Direction::Out)?;

        netlink.add_queue(index, TcHandle::ROOT, SHAPER, "htb", &Shaper::new(link).root)?;
        let past = Counters::new();
        let mut router = Router { netlink, link: index, aqm: AQM, past, arrivals, departures };
        router.set_link(link)?;
        router.set_aqm(aqm)?;
        Ok(router)
    }

    /// Gives the bottleneck the rate of this link, and its burst. What waits and what is owed to
    /// the bucket stay as they are, the latter as time.
    pub fn set_link(&mut self, link: &Link) -> Result<(), LabError> {
        self.netlink.add_class(self.link, SHAPER, CLASS, "htb", &Shaper::new(link).class)
    }

    /// Gives the bottleneck another queue discipline. The kernel drops all that waits.
    pub fn replace_aqm(&mut self, aqm: &Qdisc) -> Result<(), LabError> {
        for (name, count) in self.state()?.1 {
            self.past.insert(name, count);
        }
        self.past.remove(WAITING);
        self.aqm.major += 1;
        self.set_aqm(aqm)
    }

    fn set_aqm(&mut self, aqm: &Qdisc) -> Result<(), LabError> {
        self.netlink.add_queue(self.link, CLASS, self.aqm, aqm.kind, &aqm.options)
    }

    /// What the queue discipline says of itself; its counters and those of the ones before it.
    pub fn state(&mut self) -> Result<(QueueState, Counters), LabError> {
        let (state, mut counters) = qdisc::state(&self.netlink.queue_state(self.link, self.aqm)?);
        for (name, count) in &self.past {
            *counters.entry(name.clone()).or_default() += count;
        }
        Ok((state, counters))
    }

    /// Every packet that was dropped at the bottleneck since the start: the shaper above counts
    /// also what goes with a queue discipline, which that does not count itself.
    pub fn dropped(&mut self) -> Result<u64, LabError> {
        let (_, counters) = qdisc::state(&self.netlink.queue_state(self.link, SHAPER)?);
        Ok(counters.get(DROPPED).copied().unwrap_or(0))
    }
}
