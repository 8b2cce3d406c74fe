//! The memory of a run, computed before anything of it is built.
//!
//! All allocations of a run follow from its scenario. Some are made at the start (links, queues,
//! connections). Others grow up to a bound that the scenario sets (the backlog of a buffer, packets
//! under way, the senders' records of both). No count can overflow. A run may need less than this, but
//! not more. The memory of an observer is not included.

use core::fmt;

use l4s_aqm::{Limit, MTU};
use l4s_bottleneck::{Frames, RouteLink, longest_detour, skb_memory};
use l4s_model::{App, Group, Path, Radio, Scenario, Sizes, SourceId, Udp, Web};
use l4s_units::{Bytes, Duration, ETHERNET, Rate, Time};

use crate::connections::{Flow, Vacant};
use crate::imperfect::Wayfarer;
use crate::message::Return;
use crate::packet::{HEADER, Packet};
use crate::timers::Timer;

/// The smallest packet of TCP on a link: IP and TCP header, a byte, and Ethernet.
const SMALLEST: u64 = 53 + ETHERNET.get();
/// Bytes of a segment that is under way: twice in the sender (sent, and sent again), as a hole on
/// either side, and as a frame of an application.
const SEGMENT: u64 = 96;
/// Bytes of a frame that waits.
const FRAME: u64 = 2 * 24;
/// Segments that every connection has room for.
const FEW: u64 = 32;
/// Ratio of the records of senders to the packets under way, while they wait for
/// retransmissions.
const RECOVERY: u64 = 3;
/// Bytes of an entry of the wheel of timers, and how many a connection has.
const TIMER: usize = 16;
const TIMERS: u64 = 16;
/// Bytes of a run beside all that, and of each entry of the scenario.
const RUN: u64 = 64 << 10;
const ENTRY: u64 = 2 << 10;
/// Packets of a connection that carries next to nothing.
const HANDSHAKE: u64 = 12;
/// The longest that a download lasts where the link has room for all of them, if nothing else says
/// that it is longer.
const LASTS: f64 = 10.0;

/// The memory that a run takes, as a sum of products.
///
/// ```
/// use l4s_model::{Group, Link, Scenario};
/// use l4s_sim::cost::{Cost, Term};
/// use l4s_units::{Duration, Rate};
///
/// let aqm = l4s_aqm::Config::Fifo(l4s_aqm::fifo::Config::dctth());
/// let link = Link::new(Rate::from_mbps(40));
/// let mut scenario = Scenario::new("Reno", Duration::from_secs(20), link, aqm);
/// let reno = l4s_cc::Config::Reno(l4s_cc::reno::Config::default());
/// scenario.groups.push(Group::new("A", reno, Duration::from_millis(10)));
///
/// let cost = Cost::of(&scenario, None);
/// // Its largest part, for an error message.
/// let largest: &Term = cost.largest().unwrap();
/// assert!(largest.bytes() < cost.bytes());
/// assert!(largest.to_string().contains(" packets × "), "{largest}");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cost {
    terms: Vec<Term>,
    /// Records of senders and receivers about the backlog. They follow from the other terms, so
    /// that they can only be reduced by reducing those.
    remembered: Term,
}

/// A part of it: a product of numbers and bytes.
///
/// Example: [`Cost`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Term {
    counts: Vec<(u64, &'static str)>,
    each: u64,
}

impl Term {
    fn new<const N: usize>(counts: [(u64, &'static str); N], each: u64) -> Term {
        Term { counts: counts.to_vec(), each }
    }

    /// The product, saturating.
    pub fn bytes(&self) -> u64 {
        self.counts.iter().fold(self.each, |bytes, (count, _)| bytes.saturating_mul(*count))
    }
}

impl fmt::Display for Term {
    /// The arithmetic, such as `100 links × 65,536 queues × 64 B = 419 MB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (count, what) in self.counts.iter().filter(|(count, _)| *count != 1) {
            write!(f, "{} {what} × ", grouped(*count))?;
        }
        write!(f, "{} B = {}", grouped(self.each), size(self.bytes()))
    }
}

impl Cost {
    /// Of a run of this scenario, with at most this number of downloads under way at a time, if it
    /// is known.
    pub fn of(scenario: &Scenario, most_downloads: Option<u64>) -> Cost {
        let Scenario { groups, udp, web, apps, hops, paths, changes, .. } = scenario;
        let traffic = Traffic::of(scenario, most_downloads);
        let (mut terms, waiting) = links(scenario, &traffic);
        terms.extend(connections(scenario, &traffic));
        let segments = waiting.saturating_add(traffic.under_way).min(traffic.sent);
        let remembered =
            Term::new([(RECOVERY, "times"), (capacity(segments), "segments")], SEGMENT);
        let lists = [groups.len(), udp.len(), web.len(), apps.len(), hops.len(), changes.len()];
        let entries = lists.iter().sum::<usize>() + paths.len();
        terms.push(Term::new([(entries as u64, "entries")], ENTRY));
        terms.extend(stretches(scenario, &traffic, segments));
        terms.push(Term::new([], RUN));
        Cost { terms, remembered }
    }

    /// All of it.
    pub fn bytes(&self) -> u64 {
        let all = self.terms.iter().map(Term::bytes);
        all.fold(self.remembered.bytes(), u64::saturating_add)
    }

    /// The largest part that a setting of the scenario determines directly.
    pub fn largest(&self) -> Option<&Term> {
        self.terms.iter().max_by_key(|term| term.bytes())
    }
}

/// The bottleneck and the links of all hops with their queues; and how many packets these hold.
fn links(scenario: &Scenario, traffic: &Traffic) -> (Vec<Term>, u64) {
    let bottleneck = scenario.aqms().map(|aqm| queues(aqm, traffic));
    let bottleneck = bottleneck.max_by_key(Queues::bytes).unwrap_or_default();
    // One discipline is built while another is still there, whose packets move.
    let mut terms = bottleneck.terms(2, "disciplines", 1, traffic).to_vec();
    let mut waiting = bottleneck.places;

    let roster = scenario.roster();
    let mut alike: Vec<(u64, u64, Queues)> = Vec::new();
    let hops = scenario.hops.iter().map(|hop| (roster.links_of(hop) as u64, &hop.aqm));
    let hops = hops.map(|(links, aqm)| (links, queues(aqm, traffic)));
    // As at the bottleneck, two disciplines are there while one replaces the other.
    let up = scenario.uplink_aqms().map(|aqm| queues(aqm, traffic)).max_by_key(Queues::bytes);
    let changed = scenario.changes.iter().any(|change| change.uplink_aqm.is_some());
    let up =
        up.into_iter().flat_map(|up| std::iter::repeat_n((1, up), if changed { 2 } else { 1 }));
    for (links, queues) in hops.chain(up) {
        waiting = waiting.saturating_add(links.saturating_mul(queues.places));
        match alike.iter_mut().find(|(_, n, other)| (*n, *other) == (links, queues)) {
            Some((hops, ..)) => *hops += 1,
            None => alike.push((1, links, queues)),
        }
    }
    // With its events, and twice while their list grows.
    let link = 2 * (size_of::<RouteLink<Packet>>() + 64) as u64;
    for (hops, links, queues) in alike {
        terms.extend(queues.terms(hops, "hops", links, traffic));
        terms.push(Term::new([(hops, "hops"), (links, "links")], link));
    }
    let flows = (traffic.flows + scenario.roster().sources()) as u64;
    terms.push(Term::new([(scenario.hops.len() as u64, "hops"), (flows, "flows")], 16));
    let air = capacity(traffic.on_the_air(scenario));
    terms.push(Term::new([(air, "packets on the air")], size_of::<Packet>() as u64));
    (terms, waiting)
}

/// Connections, and packets under way to their servers.
fn connections(scenario: &Scenario, traffic: &Traffic) -> [Term; 5] {
    let list = |n: u64, what, each: usize| Term::new([(capacity(n), what)], each as u64);
    let all = traffic.flows as u64 + traffic.downloads;
    // Lists that grow are there twice for a moment: connections, long flows, places that are free, and timers.
    let lists = size_of::<Option<Box<Flow>>>()
        + size_of::<Vacant>()
        + size_of::<(SourceId, u64)>()
        + size_of::<u32>();
    let place = size_of::<Flow>() + (lists + 2 * size_of::<Timer>()) * 3 / 2;
    let timers = TIMERS.saturating_mul(all);
    let unsent = scenario.apps.iter().map(|app| {
        let most = Frames::most_unsent(app).min(frames(app, scenario.duration));
        capacity(most).saturating_mul(app.flows)
    });
    let unsent = unsent.fold(0, u64::saturating_add);
    [
        list(all, "connections", place),
        list(timers, "timers", TIMER * 3 / 2),
        list(traffic.returning, "acknowledgements under way", size_of::<Return>()),
        Term::new([(unsent, "frames")], FRAME),
        Term::new([(all, "connections"), (FEW, "segments")], SEGMENT),
    ]
}

/// Packets on imperfect stretches. Each stretch may hold all that are under way.
fn stretches(scenario: &Scenario, traffic: &Traffic, segments: u64) -> [Term; 2] {
    let paths = scenario.paths.len() as u64;
    let packet = size_of::<(Time, Wayfarer)>() as u64;
    let datagrams =
        |udp: &Udp| udp.rate.bytes_in(traffic.imperfect).get() / udp.packet.get().max(1);
    let datagrams = scenario.udp.iter().map(datagrams).fold(0, u64::saturating_add);
    let held =
        segments.saturating_add(datagrams).saturating_add(FEW).saturating_mul(traffic.copies);
    let held = if paths == 0 { 0 } else { capacity(held) };
    let sources = scenario.roster().sources() as u64;
    [
        // A list that grows is there twice for a moment.
        Term::new([(paths, "paths"), (held, "packets on them")], packet * 3 / 2),
        Term::new([(paths, "paths"), (sources, "groups and UDP sources")], 1),
    ]
}

/// The queues of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Queues {
    queues: u64,
    queue: u64,
    lists: u64,
    /// Packets that each list has room for.
    places: u64,
    place: u64,
}

impl Queues {
    /// Of one link.
    fn bytes(&self) -> u64 {
        let places = self.lists.saturating_mul(self.places).saturating_mul(self.place);
        self.queues.saturating_mul(self.queue).saturating_add(places)
    }

    /// The terms of `times` places with `links` links each. All links of a place together never
    /// hold more than the packets that pass it.
    fn terms(&self, times: u64, what: &'static str, links: u64, traffic: &Traffic) -> [Term; 2] {
        let (times, links) = ((times, what), (links, "links"));
        let lists = links.0.saturating_mul(self.lists);
        let passing = traffic.arriving.saturating_mul(2).saturating_add(lists.saturating_mul(8));
        let waiting = if passing < lists.saturating_mul(self.places) {
            Term::new([times, (passing, "packets")], self.place)
        } else {
            let counts = [times, links, (self.lists, "queues"), (self.places, "packets")];
            Term::new(counts, self.place)
        };
        [Term::new([times, links, (self.queues, "queues")], self.queue), waiting]
    }
}

fn queues(aqm: &l4s_aqm::Config, traffic: &Traffic) -> Queues {
    let footprint = aqm.footprint::<Packet>();
    Queues {
        queues: footprint.queues,
        queue: footprint.queue,
        lists: footprint.lists,
        places: capacity(traffic.most_waiting(aqm.limit())),
        // It is there twice while it grows.
        place: footprint.packet * 3 / 2,
    }
}

/// Packets that pass.
struct Traffic {
    /// Long flows and those of applications.
    flows: usize,
    /// Downloads at a time.
    downloads: u64,
    /// The size of packets on a link: full ones, or those of a UDP source that are smaller.
    size: u64,
    /// Packets that TCP may send smaller than that, in the whole run.
    small: u64,
    /// The bottleneck at its fastest.
    fastest: Rate,
    /// Packets that TCP can send in the whole run, and all can.
    sent: u64,
    arriving: u64,
    /// Upper bound of packets that were delivered within a round trip, except for the first few of each
    /// connection, and of acknowledgements on their way back.
    under_way: u64,
    returning: u64,
    /// The longest that all imperfect stretches together take.
    imperfect: Duration,
    /// How many packets one packet may become on them.
    copies: u64,
}

impl Traffic {
    fn of(scenario: &Scenario, most_downloads: Option<u64>) -> Traffic {
        let Scenario { groups, udp, web, apps, paths, changes, duration, .. } = scenario;
        let flows = scenario.roster().flows() - udp.len();
        let fastest = scenario.fastest().max(scenario.fastest_up());
        let later = changes.iter().flat_map(|change| &change.rtts).map(|(_, rtt)| *rtt);
        let longest = groups.iter().map(|group| group.rtt).chain(later).max().unwrap_or_default();

        let begun = expected(web, *duration);
        // Full packets in a time, and those that small ones may add.
        let small = |span: Duration| {
            let frames = apps.iter().map(|app| frames(app, span)).fold(0, u64::saturating_add);
            let begun = expected(web, span).min(begun);
            frames.saturating_add(begun.saturating_mul(HANDSHAKE))
        };
        let segment = |group: &Group| group.mss.get() + HEADER + ETHERNET.get();
        let full = groups.iter().map(segment).fold(MTU.get(), u64::min);
        let in_time =
            |span: Duration| (fastest.bytes_in(span).get() / full).saturating_add(small(span));
        // A sender sends at most two segments for each that was delivered (slow start).
        let first = (flows as u64 + begun).saturating_mul(HANDSHAKE);
        let sent = in_time(*duration).saturating_mul(2).saturating_add(first);
        let datagrams =
            udp.iter().map(|udp| udp.rate.bytes_in(*duration).get() / udp.packet.get().max(1));
        let datagrams = datagrams.fold(udp.len() as u64, u64::saturating_add);

        let downloads = match most_downloads {
            _ if web.is_empty() => 0,
            Some(most) => most,
            None => at_a_time(scenario, fastest).min(begun),
        };
        let connections = flows as u64 + downloads;
        let bursts = scenario.hops.iter().map(|hop| hop.link.burst).chain([scenario.link.burst]);
        let bursts = bursts.map(Bytes::get).fold(0, u64::saturating_add) / full;
        let imperfect = longest_detour(scenario);
        let duplicate = |copies: u64, path: &Path| match path.duplicate > 0.0 {
            true => copies.saturating_mul(2),
            false => copies,
        };
        let copies = paths.iter().fold(1, duplicate);
        let under_way = in_time(longest + imperfect).saturating_add(bursts).saturating_mul(copies);
        let at_once = connections.saturating_mul(HANDSHAKE);
        Traffic {
            flows,
            downloads,
            size: udp.iter().map(|udp| (udp.packet + ETHERNET).get()).fold(full, u64::min),
            small: small(*duration).saturating_add(first),
            fastest,
            sent,
            arriving: sent.saturating_add(datagrams).saturating_mul(copies),
            under_way,
            returning: under_way.saturating_add(at_once).min(sent.saturating_mul(copies)),
            imperfect,
            copies,
        }
    }

    /// Packets that may wait within a limit, and one that is looked at.
    fn most_waiting(&self, limit: Limit) -> u64 {
        let of = |size: u64| skb_memory(Bytes::new(size)).get();
        let bytes = self.within(limit.bytes, self.size, SMALLEST);
        let memory = limit
            .memory
            .map_or(u64::MAX, |memory| self.within(memory, of(self.size), of(SMALLEST)));
        limit.packets.min(bytes).min(memory).saturating_add(1).min(self.arriving)
    }

    /// Packets of this size within these bytes, beside small ones of that size.
    fn within(&self, bytes: Bytes, size: u64, small: u64) -> u64 {
        (bytes.get() / size).saturating_add((bytes.get() / small).min(self.small))
    }

    fn on_the_air(&self, scenario: &Scenario) -> u64 {
        if let Some(radio) = &scenario.link.radio {
            let most = match radio {
                Radio::Wifi(wifi) => wifi.window() as u64,
                // A block that RLC sends again takes less than 50 ms, and not one of 10,000 does so twice.
                Radio::Cell(_) => {
                    let held = self.fastest.bytes_in(Duration::from_millis(200));
                    self.within(held, self.size, SMALLEST)
                }
            };
            return most.min(self.arriving);
        }
        let airtime = scenario.link.aggregation;
        if airtime.is_zero() {
            return 0;
        }
        let most = self.within(self.fastest.bytes_in(airtime), self.size, SMALLEST);
        most.saturating_add(64).min(self.arriving)
    }
}

/// The capacity of a list that doubles, after it held this number.
fn capacity(held: u64) -> u64 {
    held.saturating_add(1).checked_next_power_of_two().unwrap_or(u64::MAX).max(4)
}

/// Frames of an application in this time.
fn frames(app: &App, span: Duration) -> u64 {
    let each = (span.as_secs_f64() * app.fps as f64).ceil() as u64 + 1;
    each.saturating_mul(app.flows)
}

/// Downloads that begin in this time: six standard deviations more than on average.
fn expected(web: &[Web], span: Duration) -> u64 {
    let mean = web.iter().map(|web| web.rate.as_per_second_f64()).sum::<f64>() * span.as_secs_f64();
    (mean + 6.0 * mean.sqrt()).ceil() as u64
}

/// Downloads at a time where the link has room for them all; more than all where it has not.
fn at_a_time(scenario: &Scenario, fastest: Rate) -> u64 {
    let Scenario { web, udp, groups, changes, hops, .. } = scenario;
    let further = hops.iter().map(|hop| &hop.link).chain(scenario.uplink.iter().map(|up| &up.link));
    let rates = changes.iter().flat_map(|change| [change.rate, change.uplink_rate]).flatten();
    let rates = rates.chain(further.map(|link| link.rate));
    let slowest = rates.fold(scenario.link.rate.min(fastest), Rate::min).as_bps() as f64;
    let others = udp.iter().map(|udp| udp.rate.as_bps() as f64).sum::<f64>();
    let left = slowest - others;
    let per_s = web.iter().map(|web| web.rate.as_per_second_f64()).sum::<f64>();
    let bits = |web: &Web| 8.0 * mean_size(&web.size);
    let asked = web.iter().map(|web| web.rate.as_per_second_f64() * bits(web)).sum::<f64>();
    if left < 2.0 * asked {
        return u64::MAX;
    }
    // Each has its share beside the long flows.
    let long = scenario.roster().flows() as f64;
    let largest = web.iter().map(bits).fold(0.0, f64::max);
    let longest = groups.iter().map(|group| group.rtt.as_secs_f64()).fold(0.0, f64::max);
    let lasts = LASTS + 20.0 * longest + 8.0 * largest * (long + 1.0) / left.max(1.0);
    (per_s * lasts).ceil() as u64 + 1000
}

/// Bytes of a download on average.
fn mean_size(sizes: &Sizes) -> f64 {
    match *sizes {
        Sizes::Fixed(size) => size.get() as f64,
        Sizes::Pareto { shape, min, max } => {
            let (min, max) = (min.get() as f64, max.get() as f64);
            let within = 1.0 - (min / max).powf(shape);
            if within <= 0.0 {
                return max;
            }
            // The integral of x·density; its antiderivative is a logarithm at a shape of 1.
            let other = 1.0 - shape;
            let integral = if other.abs() < 1e-9 {
                (max / min).ln()
            } else {
                (max.powf(other) - min.powf(other)) / other
            };
            shape * min.powf(shape) * integral / within
        }
    }
}

/// With a comma between thousands.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes as people say them: `42 GB`, `512 MB`.
pub fn size(bytes: u64) -> String {
    match bytes as f64 {
        bytes @ 9.95e9.. => format!("{} GB", grouped((bytes / 1e9).round() as u64)),
        bytes @ 9.995e8.. => format!("{:.1} GB", bytes / 1e9),
        bytes => format!("{:.0} MB", (bytes / 1e6).ceil()),
    }
}
