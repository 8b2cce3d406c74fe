//! The machine's part of a scenario: the agents, and the role of each of them.
//!
//! As in the testbed of the papers (DCttH §4.1), a group of flows has a server and a client of its
//! own; so has each UDP source here. Their addresses are those of [`crate::address`]. Changes in mid-run
//! are made by the data plane or the router, except for a cable's delay, which its client changes.

mod ability;

use std::net::IpAddr;

use l4s_bottleneck::{AppFlow, Download, Downloads, app_flows, host_jitter, longest_detour};
use l4s_cc::WantedEcn;
use l4s_cc::prague::{self, Fallback, kernel};
use l4s_model::{Buffer, FlowId, Group, Link, Peer, QdiscOf, Scenario, Udp};
use l4s_os::OsError;
use l4s_os::namespace::TCP_ECN;
use l4s_units::{Bytes, CStruct, Duration, Ecn, Time};
use serde::{Deserialize, Serialize};

use crate::address::{self, End, MOST_FLOWS, UDP_PORT};
use crate::message::{Cable, Intervals, OnDevice, Part, Setup, Shows, Writes};
use ability::{Ability, tcp_ecn};

/// The largest IP packet.
pub(crate) const MTU: u32 = 1500;
/// The port of every TCP server: one that programs beside it hardly listen on, unlike 5001 of iperf2.
pub(crate) const SERVER_PORT: u16 = 8999;
/// More pairs have no address.
const MOST_PAIRS: usize = 256;
/// Long flows and those of applications have a socket at each end from their start on.
const MOST_LASTING: usize = 100_000;
/// More links of hops are not served in time: the data plane asks each of them for its next packet.
const MOST_LINKS: usize = 64;
/// Where the Prague of `--on linux` has its settings (linux/tcp_prague.c).
const PRAGUE: &str = "net/ipv4/tcp_prague";
/// The congestion control of who chooses none.
pub(crate) const DEFAULT_CONTROL: &str = "net/ipv4/tcp_congestion_control";
/// Open files of an agent other than its flows, with a margin.
const OTHER_FILES: u64 = 64;

/// Options that are not in the scenario.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LabOptions {
    /// Whether packets are IPv6.
    pub ipv6: bool,
    /// The most segments that TCP hands to its device at once, which limits bursts where it paces;
    /// `None` for the kernel's choice.
    pub largest_burst: Option<u32>,
    /// Whether agents are joined by cables (veth) to the namespace of this process, whose kernel
    /// is the router, instead of by TUN devices to a data plane.
    pub cables: bool,
    /// Whether the cables of clients delay their packets (`netem`), as all of the base RTT is on
    /// the way back. Without it this process delays them.
    pub netem: bool,
    /// Whether the kernel is the one of `make linux`, whose Prague is ours and sends ECT(1) by
    /// itself.
    pub built: bool,
    /// How often servers look at their sockets.
    pub sample_every: Duration,
    /// How many flows may be ordered once the run goes on, in addition to those of the scenario.
    pub room: u32,
    /// The number N of the first pair's network, 10.N.0.0/16 of IPv4.
    pub first_network: u8,
    /// The group whose client reaches this machine's network. Its server has no BPF program that
    /// rewrites ECN, so that forwarded packets keep theirs.
    pub internet: Option<usize>,
}

impl Default for LabOptions {
    fn default() -> Self {
        LabOptions {
            ipv6: false,
            largest_burst: None,
            cables: false,
            netem: false,
            built: false,
            sample_every: Duration::from_millis(100),
            room: 0,
            first_network: 0,
            internet: None,
        }
    }
}

/// A kernel's congestion control.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Control {
    /// The kernel's name of it.
    pub name: String,
    /// Whether it is a Prague of ours, which takes the group's settings.
    pub ours: bool,
    /// The map of BPF in which its sockets export their state.
    pub sockets: Option<u32>,
    /// Prague: whether it goes on with the ECN of RFC 3168 where the client has no other.
    pub falls_back: bool,
}

impl From<String> for Control {
    /// The kernel's own.
    fn from(name: String) -> Control {
        Control { name, ours: false, sockets: None, falls_back: false }
    }
}

/// Plans the lab of a scenario, and makes the congestion controls available that it needs.
pub type Planner = Box<dyn Fn(&Scenario, &LabOptions) -> Result<LabPlan, OsError> + Send>;

/// The agents, and the role of each of them.
#[derive(Clone, PartialEq, Debug)]
pub struct LabPlan {
    /// Groups, then UDP sources, in the scenario's order.
    pub(crate) pairs: Vec<Pair>,
}

/// The delay of the packets from the client of a pair to its server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CableDelay {
    /// The number of the pair.
    pub pair: usize,
    /// The delay of each packet.
    pub delay: Duration,
    /// The most that comes on top of it by chance.
    pub jitter: Duration,
    /// Times of changes and the new delays, in order.
    pub changes: Vec<(Time, Duration)>,
}

/// A server and its client.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Pair {
    /// The name of the group or UDP source.
    pub name: String,
    /// The server.
    pub server: Setup,
    /// The client.
    pub client: Setup,
}

/// Refuses further links where a kernel is the router, and more links than the data plane serves.
fn one_link_each_way(scenario: &Scenario, options: &LabOptions) -> Result<(), OsError> {
    let Some(hop) = scenario.hops.first() else { return Ok(()) };
    if options.cables {
        return Err(OsError::Unsupported(format!(
            "there is one bottleneck each way with a kernel as the router: found `[[hop]]` `{}`, \
             expected none; `--on sim` and `--on kernel` have it",
            hop.name
        )));
    }
    let roster = scenario.roster();
    let links = scenario.hops.iter().map(|hop| roster.links_of(hop)).sum::<usize>();
    if links > MOST_LINKS {
        return Err(OsError::Unsupported(format!(
            "`[[hop]]`: {links} links, expected at most {MOST_LINKS} with real sockets"
        )));
    }
    Ok(())
}

impl LabPlan {
    /// The plan for a scenario. `kernel_cc` names the kernel's congestion control of a group.
    pub fn new<C: Into<Control>>(
        scenario: &Scenario,
        kernel_cc: impl Fn(&Group) -> C,
        options: &LabOptions,
    ) -> Result<LabPlan, OsError> {
        let roster = scenario.roster();
        let pairs = roster.sources();
        if pairs > MOST_PAIRS {
            return Err(OsError::Unsupported(format!(
                "{pairs} groups and UDP sources: expected at most {MOST_PAIRS}, which have a \
                 server and a client each"
            )));
        }
        if scenario.link.ack_loss > 0.0 {
            return Err(OsError::Unsupported(
                "only the simulator loses acknowledgements at the link: expected `link.ack_loss = 0.0`; \
                 a `[[path]]` with `direction = \"up\"` and `loss` does so on every substrate"
                    .to_owned(),
            ));
        }
        one_link_each_way(scenario, options)?;
        if !scenario.paths.is_empty() && scenario.kernel.gso {
            return Err(OsError::Unsupported(
                "`kernel.gso`: found true, expected false, as a `[[path]]` loses and changes single \
                 packets"
                    .to_owned(),
            ));
        }
        if !options.cables && scenario.kernel.qdisc == QdiscOf::Bpf {
            return Err(OsError::Unsupported(
                "no discipline of a kernel is in this: found `kernel.qdisc = \"bpf\"`, expected \
                 \"linux\"; `--on qdisc` has it"
                    .to_owned(),
            ));
        }
        if roster.flows() > MOST_LASTING {
            return Err(OsError::Unsupported(format!(
                "`group.flows`: {} flows, expected at most {MOST_LASTING} with real TCP; `--on sim` has more",
                roster.flows()
            )));
        }
        let downloads: Vec<Download> = Downloads::new(scenario).collect();
        let flows = (roster.flows() as u32).saturating_add(downloads.len() as u32);
        let flows = flows.saturating_add(options.room);
        if flows > MOST_FLOWS {
            return Err(OsError::Unsupported(format!(
                "{flows} flows and downloads: expected at most {MOST_FLOWS}, as each has a port of \
                 its own"
            )));
        }
        let mut plan = LabPlan { pairs: Vec::with_capacity(pairs) };
        for (number, group) in scenario.groups.iter().enumerate() {
            let own = downloads.iter().filter(|download| download.group.index() == number);
            let apps = app_flows(scenario).filter(|flow| flow.app.group == number).collect();
            let own = Flows {
                room: options.room as usize,
                ..Flows::new(group, roster.listed(roster.group(number)).start, apps, own)
            };
            let pair = tcp(
                scenario,
                number,
                own,
                kernel_cc(group).into(),
                plan.next(options, flows),
                options,
            )
            .map_err(|error| error.of(&format!("group `{}`", group.name)))?;
            plan.pairs.push(pair);
        }
        for (port, source) in (UDP_PORT..).zip(&scenario.udp) {
            let pair = udp(scenario, source, port, plan.next(options, 0))
                .map_err(|error| error.of(&format!("UDP source `{}`", source.name)))?;
            plan.pairs.push(pair);
        }
        Ok(plan)
    }

    /// Takes the delays of the clients' cables away from them, for who has these delays elsewhere.
    pub fn take_delays(&mut self) -> Vec<CableDelay> {
        let clients = self.pairs.iter_mut().map(|pair| &mut pair.client).enumerate();
        let cables = clients.filter_map(|(pair, client)| Some((pair, client.cable.as_mut()?)));
        let delayed = cables.filter(|(_, cable)| cable.delay_ns > 0 || !cable.changes.is_empty());
        let take = |(pair, cable): (usize, &mut Cable)| {
            let ns = Duration::from_nanos;
            let changes = std::mem::take(&mut cable.changes).into_iter();
            CableDelay {
                pair,
                delay: ns(std::mem::take(&mut cable.delay_ns)),
                jitter: ns(std::mem::take(&mut cable.jitter_ns)),
                changes: changes.map(|(at, delay)| (Time::from_nanos(at), ns(delay))).collect(),
            }
        };
        delayed.map(take).collect()
    }

    /// The addresses of every server and its client.
    pub fn addresses(&self) -> impl Iterator<Item = (IpAddr, impl Iterator<Item = IpAddr>)> {
        self.pairs.iter().map(|pair| {
            let Setup { address, more_addresses, .. } = &pair.client;
            (pair.server.address, [address].into_iter().chain(more_addresses).copied())
        })
    }

    /// A server and a client with the next addresses, in a run with this number of flows, and
    /// nothing to do.
    fn next(&self, options: &LabOptions, flows: u32) -> Pair {
        let pair = self.pairs.len() as u8;
        let cable = |end: End| Cable {
            other_end: cable_of(pair.into(), end),
            process: std::process::id(),
            delay_ns: 0,
            jitter_ns: 0,
            changes: Vec::new(),
        };
        let network = options.first_network + pair;
        let mut clients: Vec<IpAddr> = address::clients(network, flows, options.ipv6).collect();
        let (server, client) = (address::server(network, options.ipv6), clients.remove(0));
        let address = |end: End| match end {
            End::Server => server,
            End::Client => client,
        };
        let mut setup = |end: End| Setup {
            who: String::new(),
            address: address(end),
            more_addresses: match end {
                End::Server => Vec::new(),
                End::Client => std::mem::take(&mut clients),
            },
            peer: address(end.other()),
            prefix: if options.ipv6 { 96 } else { 16 },
            mtu: MTU,
            device_queue: 1000,
            largest_burst: options.largest_burst,
            cable: options.cables.then(|| cable(end)),
            sysctls: Vec::new(),
            default_control: None,
            files: OTHER_FILES,
            more_files: 0,
            watched: !options.built,
            device: OnDevice::Nothing,
            part: match end {
                End::Server => Part::TcpServer {
                    cc: String::new(),
                    leaves: false,
                    pacing: false,
                    shows: Shows::Nowhere,
                    sndbuf: None,
                    sample_every_ns: options.sample_every.as_nanos().max(1_000_000),
                    downloads: FlowId::new(u32::MAX)..,
                    apps: Vec::new(),
                },
                End::Client => Part::TcpClient {
                    cc: String::new(),
                    rcvbuf: None,
                    flows: Vec::new(),
                    frames: Vec::new(),
                    intervals: Intervals::new(options.sample_every, Duration::ZERO),
                },
            },
        };
        Pair { name: String::new(), server: setup(End::Server), client: setup(End::Client) }
    }
}

/// The flows of a group.
struct Flows<'a> {
    /// Flow, start, and how much it fetches; earliest first, and long ones before those of
    /// applications before downloads.
    all: Vec<(FlowId, u64, Option<u64>)>,
    apps: Vec<AppFlow<'a>>,
    downloads: usize,
    /// How many more may be ordered later.
    room: usize,
}

/// Flows that are there at a time, of those that were ordered: their servers' close comes soon.
const AT_A_TIME: usize = 10_000;

impl<'a> Flows<'a> {
    /// Its long flows are numbered from `first`.
    fn new(
        group: &Group,
        first: FlowId,
        apps: Vec<AppFlow<'a>>,
        downloads: impl Iterator<Item = &'a Download>,
    ) -> Flows<'a> {
        let size = group.size.map(Bytes::get);
        let long = first.onwards().zip(&group.starts);
        let mut all: Vec<_> = long.map(|(flow, start)| (flow, start.as_nanos(), size)).collect();
        all.extend(apps.iter().map(|app| (app.flow, app.opens.as_nanos(), None)));
        let long = all.len();
        all.extend(downloads.map(|d| (d.flow, d.start.as_nanos(), Some(d.size.get()))));
        let downloads = all.len() - long;
        all.sort_by_key(|&(flow, start, _)| (start, flow));
        Flows { all, apps, downloads, room: 0 }
    }
}

/// A group, by its place.
fn tcp(
    scenario: &Scenario,
    number: usize,
    flows: Flows<'_>,
    control: Control,
    mut pair: Pair,
    options: &LabOptions,
) -> Result<Pair, OsError> {
    let group = &scenario.groups[number];
    let Ability { prague, mtu } = Ability::of(group, &control, options)?;
    (pair.server.mtu, pair.client.mtu) = (mtu, mtu);
    let ecn = group.negotiated().codepoint;
    let rtts = || {
        let of = move |change: &l4s_model::Change| {
            let own = change.rtts.iter().rfind(|(changed, _)| *changed == number);
            own.map(|(_, rtt)| (change.time, *rtt))
        };
        scenario.changes.iter().filter_map(of)
    };
    let longest = rtts().map(|(_, rtt)| rtt).chain([group.rtt]).max().unwrap_or(group.rtt);

    let path = on_the_way(scenario, longest);
    let memory = window_memory(path);
    let ordered = flows.room.min(AT_A_TIME);
    let [server_ecn, client_ecn] = tcp_ecn(group);
    let sysctls = [
        (TCP_ECN, server_ecn.to_owned()),
        // A flow uses no metrics of earlier ones.
        ("net/ipv4/tcp_no_metrics_save", "1".to_owned()),
        ("net/ipv4/tcp_rmem", format!("4096 131072 {memory}")),
        ("net/ipv4/tcp_wmem", format!("4096 16384 {memory}")),
        // Thousands of flows may start at once.
        ("net/core/somaxconn", "65535".to_owned()),
        ("net/ipv4/tcp_max_syn_backlog", "65535".to_owned()),
        ("net/ipv4/tcp_syncookies", "0".to_owned()),
        // The kernel ends connections of a process that was killed by itself, and they hold the
        // namespace: for seconds, not for minutes.
        ("net/ipv4/tcp_orphan_retries", "3".to_owned()),
        ("net/ipv4/tcp_fin_timeout", "2".to_owned()),
        // The server closes first, and keeps the state of every download for a minute, to
        // answer late segments. No port is used again, so that it does not matter.
        ("net/ipv4/tcp_max_tw_buckets", flows.all.len().max(4096).max(ordered).to_string()),
    ];
    let mut sysctls: Vec<_> = sysctls.map(|(path, value)| (path.to_owned(), value)).into();
    let stock = kernel::Settings::new(&prague::Config::linux());
    if let Some(settings) = prague.filter(|settings| options.built && *settings != stock) {
        let words: Vec<String> = settings.words().iter().map(u64::to_string).collect();
        sysctls.push((PRAGUE.to_owned(), words.join("\t")));
    }
    let packets = path.get() / u64::from(MTU) + 20 * flows.all.len() as u64;
    for (end, setup) in [(End::Server, &mut pair.server), (End::Client, &mut pair.client)] {
        setup.who = format!("the {} of group `{}`", end.name(), group.name);
        setup.sysctls.clone_from(&sysctls);
        if end == End::Client {
            client_ecn.clone_into(&mut setup.sysctls[0].1);
        }
        if scenario.programs.iter().any(|program| program.group == number) {
            setup.default_control = Some(control.name.clone());
        }
        setup.files += (flows.all.len() - flows.downloads) as u64;
        setup.more_files += (flows.downloads + ordered) as u64;
        // All that is on the way may have to wait for the data plane once.
        setup.device_queue = (2 * packets).clamp(1000, 100_000) as u32;
    }
    // All of the round trip is on the way back (DCttH figure 3).
    if let Some(cable) = pair.client.cable.as_mut().filter(|_| options.netem) {
        cable.delay_ns = group.rtt.as_nanos();
        cable.changes = rtts().map(|(at, rtt)| (at.as_nanos(), rtt.as_nanos())).collect();
        // In virtual time. A netem that keeps the order with jitter keeps it after a re-route too,
        // where the shorter path must overtake.
        if options.built && scenario.host_jitter && cable.changes.is_empty() {
            cable.jitter_ns = host_jitter(group.rtt).as_nanos();
        }
    }
    pair.name.clone_from(&group.name);
    // Both ends have the group's congestion control, and acknowledgements of Accurate ECN are ECT like data. A
    // client of its own kind is no L4S host, and programs of the user set their packets' codepoints.
    if ecn == Some(Ecn::Ect1) && !options.built && options.internet != Some(number) {
        pair.server.device = match (&group.cc, control.sockets) {
            (l4s_cc::Config::Prague(config), Some(map)) if config.fallback == Fallback::Active => {
                OnDevice::Tracers { cc: control.name.clone(), map }
            }
            _ => OnDevice::Ect1,
        };
        let has_programs = scenario.programs.iter().any(|program| program.group == number);
        if group.peer == Peer::Auto && !has_programs {
            pair.client.device = OnDevice::Ect1;
        }
    }
    let end = Time::ZERO + scenario.duration;
    if let Part::TcpServer { cc, leaves, pacing, shows, sndbuf, downloads, apps, .. } =
        &mut pair.server.part
    {
        cc.clone_from(&control.name);
        *leaves = group.cc.wants() != WantedEcn::Off && ecn.is_none();
        *shows = match control.sockets {
            Some(map) => Shows::Map(map),
            None if options.built && prague.is_some() => Shows::Info,
            None => Shows::Nowhere,
        };
        *pacing = group.cc.paces();
        *sndbuf = group.sndbuf.map(Bytes::get);
        *downloads = scenario.roster().downloads();
        *apps = flows.apps.iter().map(|own| Writes::new(own.flow, own.app, end)).collect();
    }
    let frames = flows.apps.iter().map(|own| (own.flow, own.app.frame().get().max(1))).collect();
    // A client of its own kind has a control that asks for no ECN by itself.
    let cc = if group.peer == Peer::Auto { control.name } else { "reno".to_owned() };
    let intervals = Intervals::new(options.sample_every, scenario.warmup);
    let rcvbuf = group.rcvbuf.map(Bytes::get);
    pair.client.part = Part::TcpClient { cc, rcvbuf, flows: flows.all, frames, intervals };
    Ok(pair)
}

/// A UDP source.
fn udp(scenario: &Scenario, source: &Udp, port: u16, mut pair: Pair) -> Result<Pair, OsError> {
    let length = source.packet.get();
    let headers = if pair.server.address.is_ipv6() { 48 } else { 28 };
    if length < headers || length > MTU.into() {
        return Err(OsError::Unsupported(format!(
            "a packet of {length} bytes: expected {headers} to {MTU}, from the headers alone to \
             the largest that a Linux device here sends"
        )));
    }
    for (end, setup) in [("server", &mut pair.server), ("client", &mut pair.client)] {
        setup.who = format!("the {end} of UDP source `{}`", source.name);
        let waiting = on_the_way(scenario, Duration::ZERO).get() / length;
        setup.device_queue = waiting.clamp(1000, 100_000) as u32;
    }
    pair.name.clone_from(&source.name);
    pair.server.part = Part::UdpServer {
        name: source.name.clone(),
        seed: scenario.host_jitter.then_some(scenario.seed),
        port,
        ecn: source.ecn.bits(),
        payload: (length - headers) as usize,
        packet: length,
        bps: source.rate.as_bps(),
        start_ns: source.start.as_nanos(),
        stop_ns: source.stop.map(Time::as_nanos),
    };
    pair.client.part = Part::UdpClient { port };
    Ok(pair)
}

/// The name, in the router's namespace, of the cable to an end of pair number `pair`.
pub fn cable_of(pair: usize, end: End) -> String {
    match end {
        End::Server => format!("server{pair}"),
        End::Client => format!("client{pair}"),
    }
}

/// The maximum of data on its way: in flight and in the buffer of the link. That keeps its size when the
/// rate changes. A wait in a further link, of the data or of its acknowledgements, makes the round trip longer.
fn on_the_way(scenario: &Scenario, rtt: Duration) -> Bytes {
    let hops = scenario.hops.iter().map(|hop| &hop.link);
    let uplink = scenario.uplink.iter().map(|uplink| &uplink.link);
    let waits = hops.chain(uplink).map(|link| link.rate.time_of(full(link)));
    let longest = waits.fold(rtt + longest_detour(scenario), |sum, wait| sum + wait);
    let flight = scenario.fastest().bytes_in(longest).get();
    Bytes::new(flight.saturating_add(full(&scenario.link).get()))
}

/// The most that waits for a link.
fn full(link: &Link) -> Bytes {
    match link.buffer {
        Buffer::Packets(packets) => Bytes::new(packets.saturating_mul(MTU.into())),
        Buffer::Bytes(bytes) => bytes,
        Buffer::Time(time) => link.rate.bytes_in(time),
    }
}

/// The memory that a socket needs to keep that much on its way. The kernel counts about twice the
/// bytes of a packet, and doubles windows before it knows that they fit.
fn window_memory(path: Bytes) -> u64 {
    path.get().saturating_mul(4).clamp(6 << 20, 1 << 30)
}

#[cfg(test)]
mod tests;
