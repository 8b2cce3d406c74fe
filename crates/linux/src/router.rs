//! The router between servers and clients: the namespace of this process.
//!
//! ```text
//!  server P ─ server{P} ─▶ link ─▶ bottleneck ─▶ link-out ─ client{P} ─▶ client P
//!      ▲                                                        │ netem: the RTT
//!      └────────────────── server{P} ◀── client{P} ◀────────────┘
//! ```
//!
//! `link` and `link-out` are the ends of one cable in the same namespace; so are `uplink` and
//! `uplink-out`, where there is an `[uplink]`. Packets out of such a cable are routed by a table of
//! their own ([`Ways`]).
//!
//! The base RTT is at the client, as above, where nothing else is on the way back. Where something is, it
//! comes behind that, as in the simulator: at the router's end of the server's cable. Where the kernel
//! has no `netem`, it is a [`Detour`], as imperfect stretches are.

use std::net::IpAddr;

use l4s_lab::{CableDelay, End, LabPlan, cable_of, end_of, pair_of};
use l4s_model::{AckFilter, Direction, Ip, Link, Scenario, Uplink};
use l4s_os::netlink::{MAIN_TABLE, Netlink, index_of};
use l4s_os::{Clock, OsError, namespace};
use l4s_units::{Duration, Rate, Time};

use crate::bottleneck::Bottleneck;
use crate::choice;
use crate::detour::{Detour, Detoured, Happened};
use crate::drive::{Job, Place};
use crate::event::{Counters, QueueState};
use crate::tap::{Tap, Way};
use crate::ways::{Stop, Ways};

/// A rate at which any backlog is gone at once.
const AT_ONCE: Rate = Rate::from_mbps(10_000);
/// How long that may take.
const EMPTY_WITHIN: core::time::Duration = core::time::Duration::from_secs(5);

/// A router whose agents are connected.
pub(crate) struct Router {
    /// The devices where packets are seen.
    pub posts: Vec<Post>,
    /// The bottleneck.
    pub link: Box<dyn Bottleneck>,
    /// The bottleneck of the way up, if there is one.
    pub uplink: Option<Box<dyn Bottleneck>>,
    netem: Netems,
    detour: Option<Detour>,
}

/// A device where packets are seen, and the events that they are.
pub(crate) struct Post {
    /// Sees them.
    pub tap: Tap,
    /// The event of a packet that comes in.
    coming: Option<Coming>,
    /// The event of a packet that leaves.
    leaving: Option<Seen>,
}

/// An event of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    /// It arrived at the link of its way, from an end of a pair.
    Arrived(u16, End),
    /// It reached the server of a pair.
    Answered(u16),
    /// It left the link of that direction.
    Departed(Direction),
}

/// The event of a packet that comes in by a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Coming {
    /// The device is of one host.
    Here(Seen),
    /// It arrived at the link, from the host whose address it has.
    ArrivedFromAny,
}

/// The end of a pair that sent this; `None` if it is no IP packet of a host.
fn sender(packet: &[u8]) -> Option<(u16, End)> {
    let source = match packet.first()? >> 4 {
        4 => IpAddr::from(<[u8; 4]>::try_from(packet.get(12..16)?).ok()?),
        6 => IpAddr::from(<[u8; 16]>::try_from(packet.get(8..24)?).ok()?),
        _ => return None,
    };
    Some((pair_of(source), end_of(source)?))
}

impl Post {
    /// At a device with this number; `None` where nothing is to be seen.
    fn open(
        index: u32,
        coming: Option<Coming>,
        leaving: Option<Seen>,
    ) -> Result<Option<Post>, OsError> {
        let only = match (coming, leaving) {
            (None, None) => return Ok(None),
            (Some(_), None) => Some(Way::In),
            (None, Some(_)) => Some(Way::Out),
            (Some(_), Some(_)) => None,
        };
        Ok(Some(Post { tap: Tap::open(index, only)?, coming, leaving }))
    }

    /// Passes on every packet since the last call: its stamp, the event, and its first bytes.
    pub fn drain(&mut self, mut take: impl FnMut(u64, Seen, &[u8])) -> Result<(), OsError> {
        let Post { tap, coming, leaving } = self;
        tap.drain(|stamp, way, packet| {
            let seen = match (way, *coming) {
                (Way::Out, _) => *leaving,
                (Way::In, None) => None,
                (Way::In, Some(Coming::Here(seen))) => Some(seen),
                (Way::In, Some(Coming::ArrivedFromAny)) => {
                    sender(packet).map(|(pair, end)| Seen::Arrived(pair, end))
                }
            };
            if let Some(seen) = seen {
                take(stamp, seen, packet);
            }
        })
    }
}

/// Delays (`netem`) at the router's ends of the servers' cables.
struct Netems {
    netlink: Netlink,
    /// Changes of delays, with the number of the device, the next one last.
    changes: Vec<(Time, u32, Duration)>,
}

impl Netems {
    fn new(delays: &[CableDelay], mut netlink: Netlink) -> Result<Netems, OsError> {
        let mut changes = Vec::new();
        for CableDelay { pair, delay, jitter, changes: later } in delays {
            let index = index_of(&cable_of(*pair, End::Server))?;
            netlink.delay(index, *delay, *jitter)?;
            changes.extend(later.iter().map(|(at, delay)| (*at, index, *delay)));
        }
        changes.sort_by_key(|(at, ..)| core::cmp::Reverse(*at));
        Ok(Netems { netlink, changes })
    }
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
    /// Makes this process's namespace a router for pairs that are connected to it, whose kernel is
    /// at that `place`. `delays` are for cables of servers; where there is no `netem`, the router
    /// delays the clients' packets itself.
    pub fn new(
        plan: &LabPlan,
        job: &Job,
        place: Place,
        netem: bool,
        delays: &[CableDelay],
    ) -> Result<Router, OsError> {
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
        let ways = Ways::new(scenario, !netem);
        let stops = ways.stops();
        for link in stops.iter().filter(|stop| stop.is_link()) {
            netlink.add_cable(link.device(), link.exit(), None)?;
            netlink.bring_up_cable(link.device())?;
            netlink.bring_up_cable(link.exit())?;
        }
        let detour = Detour::new(scenario, &stops, place, &mut netlink)?;
        for stop in &stops {
            netlink.route_apart(stop.exit(), stop.table(), ipv6)?;
        }

        let mut posts = Vec::new();
        for (pair, (server, clients)) in plan.addresses().enumerate() {
            let [at_server, at_client] = [End::Server, End::Client].map(|end| cable_of(pair, end));
            let [by_server, by_client] =
                [&at_server, &at_client].map(|it| netlink.bring_up_cable(it));
            let (by_server, by_client) = (by_server?, by_client?);
            for client in clients {
                lead(&mut netlink, ways.from(pair, End::Server), client, by_client)?;
            }
            lead(&mut netlink, ways.from(pair, End::Client), server, by_server)?;
            let arrives = |end| {
                let first = ways.from(pair, end).first();
                let is_link = first.is_some_and(|stop| stop.is_link());
                is_link.then_some(Coming::Here(Seen::Arrived(pair as u16, end)))
            };
            let answered = answers.then_some(Seen::Answered(pair as u16));
            posts.extend(Post::open(by_server, arrives(End::Server), answered)?);
            posts.extend(Post::open(by_client, arrives(End::Client), None)?);
        }
        for (stop, link) in [(Stop::Before, Stop::Link), (Stop::Up, Stop::Uplink)] {
            if stops.contains(&stop) && stops.contains(&link) {
                let arrived = Some(Coming::ArrivedFromAny);
                posts.extend(Post::open(index_of(stop.device())?, arrived, None)?);
            }
        }
        let mut link = |stop: Stop, direction, link: &Link, aqm, filter| {
            let index = index_of(stop.device())?;
            posts.extend(Post::open(index, None, Some(Seen::Departed(direction)))?);
            choice::build(scenario.kernel.qdisc, link, aqm, filter, index, place.jiffy())
        };
        let (down, aqm) = (&scenario.link, &scenario.aqm);
        let down = link(Stop::Link, Direction::Down, down, aqm, AckFilter::Off)?;
        let up = scenario.uplink.as_ref();
        let up = up.map(|Uplink { link: up, aqm, ack_filter }| {
            link(Stop::Uplink, Direction::Up, up, aqm, *ack_filter)
        });
        let up = up.transpose()?;
        let netem = Netems::new(delays, netlink)?;
        Ok(Router { posts, link: down, uplink: up, netem, detour })
    }

    /// The run starts, with this clock.
    pub fn start(&mut self, clock: Clock) -> Result<(), OsError> {
        self.detour.as_mut().map_or(Ok(()), |detour| detour.start(clock))
    }

    /// The events on imperfect stretches since the last call, in exchange for an empty list.
    pub fn happened(&self, list: &mut Vec<Happened>) {
        if let Some(detour) = &self.detour {
            detour.happened(list);
        }
    }

    /// The link of a direction, if there is one.
    pub fn link_of(&mut self, direction: Direction) -> Option<&mut Box<dyn Bottleneck>> {
        match direction {
            Direction::Down => Some(&mut self.link),
            Direction::Up => self.uplink.as_mut(),
        }
    }

    /// The states and counters of both links.
    pub fn states(&mut self) -> Result<States, OsError> {
        let Router { link, uplink, .. } = self;
        Ok((link.state()?, uplink.as_mut().map(|uplink| uplink.state()).transpose()?))
    }

    /// When the delay of a cable changes next.
    pub fn next_delay(&self) -> Time {
        self.netem.changes.last().map_or(Time::NEVER, |(at, ..)| *at)
    }

    /// Makes the next change of a delay.
    pub fn change_delay(&mut self) -> Result<(), OsError> {
        let Some((_, index, delay)) = self.netem.changes.pop() else { return Ok(()) };
        self.netem.netlink.delay(index, delay, Duration::ZERO)
    }

    /// Ends the run in real time, when the agents have taken their ends of the cables down: the
    /// backlog leaves at once. So every packet that came has left or was dropped, and the kernel's
    /// counters do not advance.
    pub fn run_dry(&mut self, scenario: &Scenario) -> Result<(), OsError> {
        let at_once = |link: &Link| Link { rate: AT_ONCE, ..link.clone() };
        self.link.set_link(&at_once(&scenario.link))?;
        if let Some((uplink, asked)) = self.uplink.as_mut().zip(scenario.uplink.as_ref()) {
            uplink.set_link(&at_once(&asked.link))?;
        }
        let start = std::time::Instant::now();
        while self.wait()? && start.elapsed() < EMPTY_WITHIN {
            std::thread::sleep(core::time::Duration::from_millis(1));
        }
        Ok(())
    }

    /// Whether packets wait.
    fn wait(&mut self) -> Result<bool, OsError> {
        let ((link, _), uplink) = self.states()?;
        Ok(link.packets > 0 || uplink.is_some_and(|(uplink, _)| uplink.packets > 0))
    }

    /// Ends the part of the way that is in this process, if there is one, and returns its outcome.
    pub fn end_detour(&mut self) -> Result<Detoured, OsError> {
        self.detour.as_mut().map_or_else(|| Ok(Detoured::default()), Detour::stop)
    }
}

/// The state and the counters of the bottleneck's discipline, and those of the uplink's.
pub(crate) type States = ((QueueState, Counters), Option<(QueueState, Counters)>);

/// Leads packets to a host over the stops of their way, and then by the device of its cable.
fn lead(netlink: &mut Netlink, stops: &[Stop], host: IpAddr, cable: u32) -> Result<(), OsError> {
    let mut table = MAIN_TABLE;
    for stop in stops {
        netlink.add_route(host, index_of(stop.device())?, table)?;
        table = stop.table();
    }
    netlink.add_route(host, cable, table)
}
