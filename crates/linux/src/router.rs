//! The router between servers and clients: the namespace of this process.
//!
//! ```text
//!  server P ─ server{P} ─▶ link ─▶ bottleneck ─▶ link-out ─ client{P} ─▶ client P
//!      ▲                                                        │ netem: the RTT
//!      └────────────────── server{P} ◀── client{P} ◀────────────┘
//! ```
//!
//! `link` and `link-out` are the ends of one cable in the same namespace. Packets out of it are
//! routed by a table of their own, to the clients' cables; packets from clients go straight back, or,
//! where the kernel has no `netem`, through [`Delays`].

use l4s_lab::{Delays, End, LabPlan, Lateness, Stalls, cable_of};
use l4s_model::{Ip, Scenario};
use l4s_os::netlink::{MAIN_TABLE, Netlink, index_of};
use l4s_os::{Clock, OsError, namespace};
use l4s_units::{Duration, Rate};

use crate::bottleneck::Bottleneck;
use crate::choice;
use crate::drive::Job;
use crate::tap::{Direction, Tap};

const LINK: &str = "link";
const LINK_OUT: &str = "link-out";
/// The routing tables other than the main one: for packets out of the link, and for packets from
/// clients that are delayed.
const BEHIND: u8 = 100;
const BACK: u8 = 101;

/// A rate at which any backlog is gone at once.
const AT_ONCE: Rate = Rate::from_mbps(10_000);
/// How long that may take.
const EMPTY_WITHIN: core::time::Duration = core::time::Duration::from_secs(5);

/// A router whose agents are connected.
pub(crate) struct Router {
    /// Packets from each server, and where answers are captured, packets that reach it.
    pub servers: Vec<Tap>,
    /// Packets that leave the bottleneck.
    pub departures: Tap,
    /// The bottleneck.
    pub bottleneck: Box<dyn Bottleneck>,
    delays: Option<Delays>,
}

/// Prepares the namespace. It comes before all devices, which copy these settings.
pub(crate) fn prepare(ipv6: bool) -> Result<(), OsError> {
    namespace::quieten_ipv6(ipv6)?;
    // A namespace may come with the machine's settings. A server's packets come in twice, and
    // the second time through a device that is not the way to the server.
    for which in ["all", "default"] {
        namespace::set(&format!("net/ipv4/conf/{which}/rp_filter"), "0")?;
    }
    Netlink::open()?.bring_up(index_of("lo")?, Vec::new())
}

/// Whether the kernel has `netem`. Tried on the loopback device, which keeps nothing of it.
pub(crate) fn has_netem() -> Result<bool, OsError> {
    let mut netlink = Netlink::open()?;
    let lo = index_of("lo")?;
    let has = netlink.delay(lo, Duration::ZERO, Duration::ZERO).is_ok();
    if has {
        netlink.remove_queue(lo)?;
    }
    Ok(has)
}

impl Router {
    /// Makes this process's namespace a router for pairs that are connected to it. `jiffy` is the
    /// time between two ticks of the kernel; without `netem` it delays the clients' packets.
    pub fn new(plan: &LabPlan, job: &Job, jiffy: Duration, netem: bool) -> Result<Router, OsError> {
        let Job { scenario, answers, .. } = job;
        let ipv6 = scenario.kernel.ip == Ip::V6;
        let mut netlink = Netlink::open()?;
        namespace::set("net/ipv4/ip_forward", "1")?;
        if ipv6 {
            namespace::set("net/ipv6/conf/all/forwarding", "1")?;
            // Whether the machine forwards is decided above. A device of a router sends MLD
            // messages (RFC 3810) to its network, and those packets would wait, and be dropped,
            // with ours.
            namespace::set("net/ipv6/conf/default/forwarding", "0")?;
        }
        netlink.add_cable(LINK, LINK_OUT, None)?;
        let index = netlink.bring_up_cable(LINK)?;
        netlink.bring_up_cable(LINK_OUT)?;
        netlink.route_apart(LINK_OUT, BEHIND, ipv6)?;
        let delays = match netem {
            true => None,
            false => Some(Delays::new(scenario, &mut netlink)?),
        };

        let mut servers = Vec::new();
        let seen = (!answers).then_some(Direction::In);
        for (pair, (server, clients)) in plan.addresses().enumerate() {
            let way_in = netlink.bring_up_cable(&cable_of(pair, End::Server))?;
            let client_cable = cable_of(pair, End::Client);
            let way_out = netlink.bring_up_cable(&client_cable)?;
            netlink.add_route(server, way_in, MAIN_TABLE)?;
            for client in clients {
                netlink.add_route(client, index, MAIN_TABLE)?;
                netlink.add_route(client, way_out, BEHIND)?;
            }
            if let Some(delays) = &delays {
                netlink.route_apart(&client_cable, BACK, ipv6)?;
                netlink.add_route(server, delays.index, BACK)?;
            }
            servers.push(Tap::open(way_in, seen)?);
        }
        let departures = Tap::open(index, Some(Direction::Out))?;
        let bottleneck = choice::build(scenario, index, jiffy)?;
        Ok(Router { servers, departures, bottleneck, delays })
    }

    /// The run starts, with this clock.
    pub fn start(&mut self, clock: Clock) -> Result<(), OsError> {
        self.delays.as_mut().map_or(Ok(()), |delays| delays.start(clock))
    }

    /// Ends the run in real time, when the agents have taken their ends of the cables down: the
    /// backlog leaves at once. So every packet that came has left or was dropped, and the kernel's
    /// counters do not advance.
    pub fn run_dry(&mut self, scenario: &Scenario) -> Result<(), OsError> {
        let mut link = scenario.link.clone();
        link.rate = AT_ONCE;
        self.bottleneck.set_link(&link)?;
        let start = std::time::Instant::now();
        while self.bottleneck.state()?.0.packets > 0 && start.elapsed() < EMPTY_WITHIN {
            std::thread::sleep(core::time::Duration::from_millis(1));
        }
        Ok(())
    }

    /// How late the way back was, where that is in user space, and how long it did not advance.
    pub fn returns(&mut self) -> Result<Option<(Lateness, Stalls)>, OsError> {
        self.delays.as_mut().map(Delays::stop).transpose()
    }
}
