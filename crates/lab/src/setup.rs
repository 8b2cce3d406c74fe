//! What a scenario means for the machine: who is needed, and what each of them will do.
//!
//! As in the testbed of the papers (DCttH §4.1), a group of flows has a server and a client of its
//! own; so has each UDP source here. Where they are says [`crate::address`]. What changes in mid-run
//! is the data plane's or the router's concern, but for a cable's delay, which is its client's.

use std::net::IpAddr;

use l4s_bottleneck::{AppFlow, Download, Downloads, app_flows};
use l4s_cc::WantedEcn;
use l4s_cc::prague::{self, Fallback, kernel};
use l4s_model::{AccEcn, Buffer, FlowId, Group, Peer, QdiscOf, Scenario, Udp};
use l4s_os::OsError;
use l4s_units::param::Configurable;
use l4s_units::{Bytes, CStruct, Duration, Ecn, Time};
use serde::{Deserialize, Serialize};

use crate::address::{self, End, MOST_FLOWS, UDP_PORT};
use crate::message::{Cable, Intervals, OnDevice, Part, Setup, Shows, Writes};

/// The largest IP packet.
pub(crate) const MTU: u32 = 1500;
/// The least that IPv6 allows (RFC 8200 §5).
const LEAST_MTU_IPV6: u64 = 1280;
/// The port of every TCP server.
pub(crate) const SERVER_PORT: u16 = 5001;
/// More pairs have no address.
const MOST_PAIRS: usize = 256;
/// Where the Prague of `--on linux` has its settings (linux/tcp_prague.c).
const PRAGUE: &str = "net/ipv4/tcp_prague";
/// Which ECN TCP asks for, and grants.
pub(crate) const TCP_ECN: &str = "net/ipv4/tcp_ecn";
/// AccECN, asked for and granted.
pub(crate) const ACCECN: &str = "3";
/// What an agent has open besides its flows, with room.
const OTHER_FILES: u64 = 64;

/// What is to be chosen besides the scenario.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LabOptions {
    /// Whether packets are IPv6.
    pub ipv6: bool,
    /// Whether the data plane takes segments that are not yet cut to packets (the TUN device then
    /// has a virtio header).
    pub gso: bool,
    /// The most segments that TCP hands to its device at once, which limits bursts where it paces;
    /// `None` for the kernel's choice.
    pub largest_burst: Option<u32>,
    /// Whether agents are joined by cables (veth) to the namespace of this process, whose kernel
    /// is the router, instead of by TUN devices to a data plane.
    pub cables: bool,
    /// Whether the cables of clients delay what they send (`netem`), as all of the base RTT is on
    /// the way back. Without it that is the concern of this process.
    pub netem: bool,
    /// Whether the kernel is the one of `make linux`, whose Prague is ours and sends ECT(1) by
    /// itself.
    pub built: bool,
    /// How often servers look at their sockets.
    pub sample_every: Duration,
    /// How many flows may be ordered once the run goes on, besides those of the scenario.
    pub room: u32,
}

impl Default for LabOptions {
    fn default() -> Self {
        LabOptions {
            ipv6: false,
            gso: false,
            largest_burst: None,
            cables: false,
            netem: false,
            built: false,
            sample_every: Duration::from_millis(100),
            room: 0,
        }
    }
}

/// A kernel's congestion control.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Control {
    /// What the kernel calls it.
    pub name: String,
    /// Whether it is a Prague of ours, which takes the group's settings.
    pub ours: bool,
    /// The map of BPF in which its sockets show what they know.
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

/// Who is needed, and what each of them will do.
#[derive(Clone, PartialEq, Debug)]
pub struct LabPlan {
    /// Groups, then UDP sources, in the scenario's order.
    pub(crate) pairs: Vec<Pair>,
    /// Whether their devices have a virtio header.
    pub(crate) gso: bool,
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
                "only the simulator loses acknowledgements: expected `link.ack_loss = 0.0`"
                    .to_owned(),
            ));
        }
        if let Some(hop) = scenario.hops.first() {
            return Err(OsError::Unsupported(format!(
                "there is one bottleneck with a kernel: found `[[hop]]` `{}`, expected none; \
                 `--on sim` has it",
                hop.name
            )));
        }
        if !options.cables && scenario.kernel.qdisc == QdiscOf::Bpf {
            return Err(OsError::Unsupported(
                "no discipline of a kernel is in this: found `kernel.qdisc = \"bpf\"`, expected \
                 \"linux\"; `--on qdisc` has it"
                    .to_owned(),
            ));
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
        let mut plan = LabPlan { pairs: Vec::with_capacity(pairs), gso: options.gso };
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

    /// The addresses of every server and its client.
    pub fn addresses(&self) -> impl Iterator<Item = (IpAddr, impl Iterator<Item = IpAddr>)> {
        self.pairs.iter().map(|pair| {
            let Setup { address, more_addresses, .. } = &pair.client;
            (pair.server.address, [address].into_iter().chain(more_addresses).copied())
        })
    }

    /// A server and a client with the next addresses, in a run of so many flows, and nothing to do.
    fn next(&self, options: &LabOptions, flows: u32) -> Pair {
        let pair = self.pairs.len() as u8;
        let cable = |end: End| Cable {
            other_end: cable_of(pair.into(), end),
            process: std::process::id(),
            delay_ns: 0,
            changes: Vec::new(),
        };
        let mut clients: Vec<IpAddr> = address::clients(pair, flows, options.ipv6).collect();
        let (server, client) = (address::server(pair, options.ipv6), clients.remove(0));
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
            gso: options.gso,
            largest_burst: options.largest_burst,
            cable: options.cables.then(|| cable(end)),
            sysctls: Vec::new(),
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
                    sample_every_ns: options.sample_every.as_nanos().max(1_000_000),
                    downloads: FlowId::new(u32::MAX)..,
                    apps: Vec::new(),
                },
                End::Client => Part::TcpClient {
                    cc: String::new(),
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

/// The MTU that leaves room for `mss` bytes of payload, with an IP header, the TCP header of 20 B and its time
/// stamps of 12. That a packet of IPv6 has a longer header shortens its payload.
fn mtu(mss: Bytes, ipv6: bool) -> Result<u32, OsError> {
    let (mtu, least) = (mss.get() + 52, if ipv6 { LEAST_MTU_IPV6 } else { 0 });
    if mtu > MTU.into() || mtu < least {
        return Err(OsError::Unsupported(format!(
            "packets of {mtu} B: expected an `mss` of {} to {}",
            l4s_model::LEAST_MSS.get().max(least.saturating_sub(52)),
            l4s_model::DEFAULT_MSS.get()
        )));
    }
    Ok(mtu as u32)
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
    let prague = match &group.cc {
        l4s_cc::Config::Prague(config) if control.ours || options.built => {
            Some(able(config, options.built)?)
        }
        cc => {
            stock(cc)?;
            None
        }
    };
    if group.accecn == AccEcn::Ace {
        return Err(OsError::Unsupported(
            "a kernel sends its AccECN option: expected `accecn = \"option\"`".to_owned(),
        ));
    }
    if group.initial_window != l4s_cc::INITIAL_WINDOW {
        return Err(OsError::Unsupported(format!(
            "a kernel has an initial window of {0} segments: expected `initial_window = {0}`",
            l4s_cc::INITIAL_WINDOW
        )));
    }
    let mtu = mtu(group.mss, options.ipv6)?;
    (pair.server.mtu, pair.client.mtu) = (mtu, mtu);
    falls_back_as_expected(group, &control)?;
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
        // A flow knows nothing of those before it.
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
        // The server closes first, and keeps what it knows of every download for a minute, to
        // answer what may still come. No port is used again, so that it is in nobody's way.
        ("net/ipv4/tcp_max_tw_buckets", flows.all.len().max(4096).max(ordered).to_string()),
    ];
    let mut sysctls: Vec<_> = sysctls.map(|(path, value)| (path.to_owned(), value)).into();
    if let (true, Some(settings)) = (options.built, prague)
        && settings != kernel::Settings::new(&prague::Config::linux())
    {
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
        setup.files += (flows.all.len() - flows.downloads) as u64;
        setup.more_files += (flows.downloads + ordered) as u64;
        // All that is on the way may have to wait for the data plane once.
        setup.device_queue = (2 * packets).clamp(1000, 100_000) as u32;
    }
    // All of the round trip is on the way back (DCttH figure 3).
    if let Some(cable) = pair.client.cable.as_mut().filter(|_| options.netem) {
        cable.delay_ns = group.rtt.as_nanos();
        cable.changes = rtts().map(|(at, rtt)| (at.as_nanos(), rtt.as_nanos())).collect();
    }
    pair.name.clone_from(&group.name);
    pair.server.device = match (&group.cc, control.sockets) {
        _ if ecn != Some(Ecn::Ect1) || options.built => OnDevice::Nothing,
        (l4s_cc::Config::Prague(config), Some(map)) if config.fallback == Fallback::Active => {
            OnDevice::Tracers { cc: control.name.clone(), map }
        }
        _ => OnDevice::Ect1,
    };
    let end = Time::ZERO + scenario.duration;
    if let Part::TcpServer { cc, leaves, pacing, shows, downloads, apps, .. } =
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
        *downloads = scenario.roster().downloads();
        *apps = flows.apps.iter().map(|own| Writes::new(own.flow, own.app, end)).collect();
    }
    let frames = flows.apps.iter().map(|own| (own.flow, own.app.frame().get().max(1))).collect();
    // A client of its own kind has a control that asks for no ECN by itself.
    let cc = if group.peer == Peer::Auto { control.name } else { "reno".to_owned() };
    let intervals = Intervals::new(options.sample_every, scenario.warmup);
    pair.client.part = Part::TcpClient { cc, flows: flows.all, frames, intervals };
    Ok(pair)
}

/// What `tcp_ecn` of the server's namespace and of the client's is: 0 for no ECN, 1 for that of RFC
/// 3168, 3 for AccECN. A control that cannot do without ECN asks for it by itself.
fn tcp_ecn(group: &Group) -> [&'static str; 2] {
    let server = match (group.codepoint(), group.peer) {
        (None, _) => "0",
        (Some(_), Peer::AccEcn) => ACCECN,
        (Some(_), _) => "1",
    };
    let client = match group.peer {
        Peer::Auto => server,
        Peer::None => "0",
        Peer::Rfc3168 => "1",
        Peer::AccEcn => ACCECN,
    };
    [server, client]
}

/// Prague with a client of RFC 3168: whether it does without ECN then is a flag of the kernel's control,
/// and not every kernel knows it.
fn falls_back_as_expected(group: &Group, control: &Control) -> Result<(), OsError> {
    let is_prague = matches!(group.cc, l4s_cc::Config::Prague(_));
    if !is_prague || group.peer != Peer::Rfc3168 || control.falls_back != group.refuses_rfc3168() {
        return Ok(());
    }
    Err(OsError::Unsupported(if control.falls_back {
        "with a client of RFC 3168 this kernel's Prague sends ECT(0): expected `ecn = \"classic\"`; \
         `--on sim` has Prague that does without ECN then"
            .to_owned()
    } else {
        "with a client of RFC 3168 this kernel's Prague does without ECN: expected `ecn = \"auto\"`; \
         `--on sim` has Prague that sends ECT(0) then"
            .to_owned()
    }))
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
        seed: scenario.seed,
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

/// The settings of our Prague, or all that it cannot be told: by anybody, and where the kernel is
/// `built`.
fn able(config: &prague::Config, built: bool) -> Result<kernel::Settings, OsError> {
    let (mut faults, mut rest) = (Vec::new(), *config);
    if built && config.fallback == Fallback::Active {
        let fault = "`fallback`: found \"active\", expected \"off\" or \"passive\": its kernel is \
                     built without BPF, which sends tracers";
        faults.push(fault.to_owned());
        // Whatever their form.
        rest.fallback = Fallback::Passive;
    }
    faults.extend(kernel::unable(&rest));
    if faults.is_empty() {
        return Ok(kernel::Settings::new(config));
    }
    Err(OsError::Unsupported(format!(
        "prague in a kernel does not do all of this; `--on sim` does:\n  {}",
        faults.join("\n  ")
    )))
}

/// Refuses what the kernel's own congestion control cannot be told. Pacing is the socket's.
fn stock(cc: &l4s_cc::Config) -> Result<(), OsError> {
    macro_rules! changed {
        ($variant:ident, $module:ident) => {
            if let l4s_cc::Config::$variant(config) = cc {
                return refuse(config, (l4s_cc::$module::Config::PROFILES[0].make)());
            }
        };
    }
    fn refuse<C: Configurable>(config: &C, stock: C) -> Result<(), OsError> {
        let changed = |param: &&l4s_units::param::Param<C>| {
            !["pacing", "tick"].contains(&param.name) && (param.get)(config) != (param.get)(&stock)
        };
        match C::PARAMS.iter().find(changed) {
            None => Ok(()),
            Some(param) => Err(OsError::Unsupported(format!(
                "`{}` of {} cannot be set in a kernel: leave it out",
                param.name,
                C::KIND
            ))),
        }
    }
    l4s_cc::for_each_control!(changed);
    Ok(())
}

/// What may be on its way at most: in flight and in the buffer. The buffer keeps its size when the
/// rate changes.
fn on_the_way(scenario: &Scenario, rtt: Duration) -> Bytes {
    let link = &scenario.link;
    let rates = scenario.changes.iter().filter_map(|change| change.rate);
    let fastest = rates.chain([link.rate]).max().unwrap_or(link.rate);
    let flight = fastest.bytes_in(rtt).get();
    let buffer = match link.buffer {
        Buffer::Packets(packets) => packets.saturating_mul(MTU.into()),
        Buffer::Bytes(bytes) => bytes.get(),
        Buffer::Time(time) => link.rate.bytes_in(time).get(),
    };
    Bytes::new(flight.saturating_add(buffer))
}

/// The memory that a socket needs to keep that much on its way. The kernel counts about twice the
/// bytes of a packet, and doubles windows before it knows that they fit.
fn window_memory(path: Bytes) -> u64 {
    path.get().saturating_mul(4).clamp(6 << 20, 1 << 30)
}

#[cfg(test)]
mod tests {
    use super::*;
    use l4s_scenario::Plan;

    fn plan(text: &str, options: &LabOptions) -> Result<LabPlan, OsError> {
        let text = format!("duration = \"10s\"\nlink.rate = \"40mbit\"\n{text}");
        let scenario = &Plan::parse("t.toml", &text, &[]).unwrap().points[0].scenario;
        LabPlan::new(scenario, |group| group.cc.kind().to_owned(), options)
    }

    fn refused(text: &str) -> String {
        match plan(text, &LabOptions::default()) {
            Err(OsError::Unsupported(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_group_has_a_server_and_a_client_with_every_flow_at_its_port() {
        let two = "[[group]]\nname = \"A\"\ncc = \"reno\"\nflows = 2\nrtt = \"10ms\"\n\
                   [[group]]\nname = \"B\"\ncc = \"cubic\"\nflows = 3\nrtt = \"10ms\"\n\
                   ecn = \"classic\"\n";
        let plan = plan(two, &LabOptions::default()).unwrap();
        let b = &plan.pairs[1];
        assert_eq!(b.server.address.to_string(), "10.1.0.1");
        assert_eq!(b.server.peer, b.client.address);
        assert_eq!(b.client.who, "the client of group `B`");
        let Part::TcpClient { cc, flows, .. } = &b.client.part else { panic!() };
        assert_eq!(cc, "cubic");
        assert_eq!(flows.iter().map(|(flow, ..)| flow.get()).collect::<Vec<_>>(), [2, 3, 4]);
        let ecn = |pair: &Pair| pair.server.sysctls[0].clone();
        assert_eq!(ecn(&plan.pairs[0]), ("net/ipv4/tcp_ecn".to_owned(), "0".to_owned()));
        assert_eq!(ecn(b).1, "1");
    }

    #[test]
    fn a_client_opens_long_flows_and_downloads_in_order_of_time() {
        let text = "[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\nstart = \"5s\"\n\
                    [[group]]\nname = \"B\"\ncc = \"reno\"\nflows = 0\nrtt = \"10ms\"\n\
                    [[web]]\ngroup = \"A\"\nrate = \"10000/s\"\nsize = \"10kb\"\n\
                    [[udp]]\nname = \"U\"\nrate = \"1mbit\"\n";
        let plan = plan(text, &LabOptions::default()).unwrap();
        let Part::TcpClient { flows, .. } = &plan.pairs[0].client.part else { panic!() };
        assert!(flows.is_sorted_by_key(|(_, start, _)| start));
        let long = flows.iter().position(|(flow, ..)| flow.get() == 0).unwrap();
        assert_eq!(flows[long], (FlowId::new(0), 5_000_000_000, None));
        // The UDP source is flow 1.
        assert_eq!((flows[0].0.get(), flows[0].2), (2, Some(10_000)));
        // Some 100,000: more than one address has ports for.
        assert_eq!(plan.pairs[0].client.more_addresses.len(), 1);
        let Part::TcpServer { downloads, .. } = &plan.pairs[0].server.part else { panic!() };
        assert_eq!(downloads.start.get(), 2);
        let Part::TcpClient { flows, .. } = &plan.pairs[1].client.part else { panic!() };
        assert_eq!(flows.len(), 0);
    }

    #[test]
    fn the_flows_of_an_application_have_its_frames_and_end_with_the_run() {
        let text = "[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n\
                    [[group]]\nname = \"B\"\ncc = \"reno\"\nrtt = \"10ms\"\nsize = \"1kb\"\n\
                    [[app]]\ngroup = \"B\"\nrate = \"4mbit\"\nfps = 50\nflows = 2\nadapt = true\n\
                    [[app]]\ngroup = \"A\"\nrate = \"1mbit\"\nstop = \"4s\"\n";
        let plan = plan(text, &LabOptions::default()).unwrap();
        let b = &plan.pairs[1];
        let Part::TcpClient { flows, frames, .. } = &b.client.part else { panic!() };
        // Flow 1 is long; what an application will have written nobody knows.
        let [one, two, three] = [1, 2, 3].map(FlowId::new);
        assert_eq!(flows, &[(one, 0, Some(1_000)), (two, 0, None), (three, 10_000_000, None)]);
        assert_eq!(frames, &[(two, 10_000), (three, 10_000)]);
        let Part::TcpServer { apps, downloads, .. } = &b.server.part else { panic!() };
        assert_eq!((apps[1].flow.get(), apps.len(), downloads.start.get()), (3, 2, 5));
        let app = apps[1].app();
        assert_eq!((app.frame(), app.fps, app.adapt), (Bytes::new(10_000), 50, true));
        // As in the simulator, a frame may be due with the end of the run.
        assert_eq!(app.stop, Some(Time::from_nanos(10_000_000_001)));
        let Part::TcpServer { apps, .. } = &plan.pairs[0].server.part else { panic!() };
        assert_eq!(apps[0].app().stop, Some(Time::from_nanos(4_000_000_000)));
    }

    #[test]
    fn a_cable_knows_when_its_path_changes_and_windows_have_room_for_the_longest() {
        let text = "[[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n\
                    [[at]]\ntime = \"2s\"\ngroup.A.rtt = \"4s\"\nlink.rate = \"80mbit\"\n\
                    [[at]]\ntime = \"1s\"\ngroup.A.rtt = \"5ms\"\n";
        let options = LabOptions { cables: true, netem: true, ..LabOptions::default() };
        let plan = plan(text, &options).unwrap();
        let cable = plan.pairs[0].client.cable.as_ref().unwrap();
        assert_eq!(cable.delay_ns, 10_000_000);
        assert_eq!(cable.changes, [(1_000_000_000, 5_000_000), (2_000_000_000, 4_000_000_000)]);
        let memory = &plan.pairs[0].server.sysctls[2].1;
        // Four times 80 Mb/s for 4 s, and the buffer.
        let most: u64 = memory.split(' ').next_back().unwrap().parse().unwrap();
        assert!(most > 160_000_000, "{memory}");
    }

    #[test]
    fn a_udp_packet_has_the_length_that_was_asked_for() {
        let text = "[[udp]]\nname = \"U\"\nrate = \"1mbit\"\npacket = \"1000B\"\necn = \"ect1\"\n";
        for (ipv6, expected) in [(false, 1000 - 20 - 8), (true, 1000 - 40 - 8)] {
            let plan = plan(text, &LabOptions { ipv6, ..LabOptions::default() }).unwrap();
            let Part::UdpServer { payload, ecn, .. } = plan.pairs[0].server.part else { panic!() };
            assert_eq!((payload, ecn), (expected, 0b01));
        }
    }

    #[test]
    fn a_client_asks_for_the_ecn_that_it_has() {
        for (group, tcp_ecn, cc) in [
            ("cc = \"cubic\"", ["0", "0"], "cubic"),
            ("cc = \"cubic\"\npeer = \"accecn\"", ["0", "3"], "reno"),
            ("cc = \"cubic\"\necn = \"classic\"", ["1", "1"], "cubic"),
            ("cc = \"cubic\"\necn = \"classic\"\npeer = \"accecn\"", ["3", "3"], "reno"),
            ("cc = \"dctcp\"\npeer = \"rfc3168\"", ["1", "1"], "reno"),
            ("cc = \"dctcp\"\npeer = \"none\"", ["1", "0"], "reno"),
            ("cc = \"prague\"", ["1", "1"], "prague"),
            ("cc = \"prague\"\npeer = \"rfc3168\"", ["1", "1"], "reno"),
        ] {
            let text = format!("[[group]]\nname = \"A\"\nrtt = \"10ms\"\n{group}\n");
            let plan = plan(&text, &LabOptions::default()).unwrap();
            let pair = &plan.pairs[0];
            for (setup, expected) in [&pair.server, &pair.client].into_iter().zip(tcp_ecn) {
                assert_eq!(setup.sysctls[0], (TCP_ECN.to_owned(), expected.to_owned()), "{group}");
            }
            let Part::TcpClient { cc: found, .. } = &pair.client.part else { panic!() };
            assert_eq!(found, cc);
        }
    }

    /// What Prague does with a client of RFC 3168 is the kernel's choice.
    #[test]
    fn a_fall_back_that_this_kernel_does_not_have_is_refused_with_words() {
        for (ecn, falls_back, word) in [
            ("auto", false, None),
            ("auto", true, Some("ECT(0): expected `ecn = \"classic\"`")),
            ("classic", true, None),
            ("classic", false, Some("does without ECN: expected `ecn = \"auto\"`")),
        ] {
            let text = format!(
                "duration = \"10s\"\nlink.rate = \"40mbit\"\n[[group]]\nname = \"A\"\n\
                 rtt = \"10ms\"\ncc = \"prague\"\necn = \"{ecn}\"\npeer = \"rfc3168\"\n"
            );
            let scenario = &Plan::parse("t.toml", &text, &[]).unwrap().points[0].scenario;
            let control = |_: &Group| Control { falls_back, ..Control::from("prague".to_owned()) };
            match (LabPlan::new(scenario, control, &LabOptions::default()), word) {
                (Ok(_), None) => {}
                (Err(OsError::Unsupported(why)), Some(word)) => {
                    assert!(why.starts_with("group `A`: with a client of RFC 3168"), "{why}");
                    assert!(why.contains(word), "{why}");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn what_no_kernel_does_is_refused_with_words() {
        let group = "[[group]]\nname = \"A\"\nrtt = \"10ms\"\n";
        let abe = refused(&format!("{group}cc = {{ kind = \"cubic\", abe = true }}\n"));
        assert!(abe.starts_with("group `A`: `abe` of cubic cannot be set"), "{abe}");
        let long = "[[udp]]\nname = \"U\"\nrate = \"1mbit\"\npacket = \"9000B\"\n";
        let long = refused(long);
        assert!(long.starts_with("UDP source `U`: a packet of 9000 bytes"), "{long}");
        let ace = refused(&format!("{group}cc = \"prague\"\naccecn = \"ace\"\n"));
        assert!(ace.starts_with("group `A`: a kernel sends its AccECN option"), "{ace}");
        let jumbo = refused(&format!("{group}cc = \"reno\"\nmss = 8948\n"));
        assert_eq!(jumbo, "group `A`: packets of 9000 B: expected an `mss` of 536 to 1448");
        let first = refused(&format!("{group}cc = \"reno\"\ninitial_window = 4\n"));
        assert!(first.starts_with("group `A`: a kernel has an initial window of 10"), "{first}");
        let lost = refused(&format!("link.ack_loss = 0.1\n{group}cc = \"reno\"\n"));
        assert!(lost.starts_with("only the simulator loses acknowledgements"), "{lost}");
        let hop = "[[hop]]\nname = \"H\"\nrate = \"1mbit\"\n";
        let hop = refused(&format!("{group}cc = \"reno\"\n{hop}"));
        let one = "there is one bottleneck with a kernel: found `[[hop]]` `H`";
        assert!(hop.starts_with(one), "{hop}");
        // Pacing is the socket's: no congestion control need know.
        let paced = format!("{group}cc = {{ kind = \"cubic\", pacing = true }}\n");
        plan(&paced, &LabOptions::default()).unwrap();
    }

    /// A scenario of one Prague with these settings.
    fn prague(settings: &str) -> Scenario {
        let text = format!(
            "duration = \"10s\"\nlink.rate = \"40mbit\"\n[[group]]\nname = \"A\"\n\
             rtt = \"10ms\"\ncc = {{ kind = \"prague\", {settings} }}\n"
        );
        Plan::parse("t.toml", &text, &[]).unwrap().points.remove(0).scenario
    }

    /// What alone is refused of a Prague with these settings.
    fn fault_of(settings: &str, ours: bool, built: bool) -> String {
        let control = |_: &Group| Control { ours, ..Control::from("prague1".to_owned()) };
        let options = LabOptions { built, ..LabOptions::default() };
        let why = LabPlan::new(&prague(settings), control, &options).unwrap_err().to_string();
        let head = "group `A`: prague in a kernel does not do all of this; `--on sim` does:\n  ";
        let rest = why.strip_prefix(head).unwrap_or_else(|| panic!("{why}"));
        assert!(!rest.contains('\n'), "{why}");
        rest.to_owned()
    }

    /// With `--on kernel` where Prague is ours, and with `--on linux` always: the group, and each
    /// setting with what was found and what is accepted. A Prague that is the kernel's own takes no
    /// settings at all.
    #[test]
    fn what_no_kernels_prague_does_is_refused_with_words() {
        let table = [
            (
                "profile = \"paper\", classic_growth = \"cubic\", burst = \"offload\"",
                "`classic_growth`: found \"cubic\", expected \"scalable\" or \"reno\"",
            ),
            ("loss = \"cubic\"", "`loss`: found \"cubic\", expected \"reno\""),
            ("min_window = 1.5", "`min_window`: found 1.5, expected 2"),
            ("burst = \"short\"", "`burst`: found \"short\", expected \"offload\""),
        ];
        for (settings, fault) in table {
            for (ours, built) in [(true, false), (false, true)] {
                assert!(fault_of(settings, ours, built).starts_with(fault));
            }
            let own = |_: &Group| Control::from("prague".to_owned());
            let why = LabPlan::new(&prague(settings), own, &LabOptions::default());
            let why = why.unwrap_err().to_string();
            assert!(why.contains("of prague cannot be set in a kernel"), "{why}");
        }
        // All of them at once.
        let group = "[[group]]\nname = \"A\"\nrtt = \"10ms\"\n";
        let best = format!("{group}cc = {{ kind = \"prague\", profile = \"best\" }}\n");
        match plan(&best, &LabOptions { built: true, ..LabOptions::default() }) {
            Err(OsError::Unsupported(why)) => assert_eq!(why.lines().count(), 6, "{why}"),
            other => panic!("{other:?}"),
        }
    }

    /// Tracers are sent by a program in BPF, and only as copies.
    #[test]
    fn an_active_prague_is_a_kernels_with_copies_and_bpf() {
        let ours = |_: &Group| Control { ours: true, ..Control::from("prague1".to_owned()) };
        let active = "fallback = \"active\"";
        LabPlan::new(&prague(active), ours, &LabOptions::default()).unwrap();
        let split = "fallback = \"active\", tracer_set = \"split\"";
        let fault = fault_of(split, true, false);
        assert!(fault.starts_with("`tracer_set`: found \"split\", expected \"copies\""), "{fault}");
        for settings in [active, split] {
            let fault = fault_of(settings, false, true);
            let expected = "`fallback`: found \"active\", expected \"off\" or \"passive\": its kernel \
                            is built without BPF, which sends tracers";
            assert_eq!(fault, expected);
        }
    }
}
