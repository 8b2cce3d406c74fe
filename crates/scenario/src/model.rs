//! A scenario with every choice made: what a substrate runs.

use l4s_units::{Bytes, Duration, Ecn, Frequency, Rate, Time};

/// One run: which flows meet at which bottleneck, for how long.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// How long it runs, warm-up included.
    pub duration: Duration,
    /// The first part of it, which no statistic counts. Shorter than `duration`.
    pub warmup: Duration,
    /// The seed of every random stream.
    pub seed: u64,
    /// The bottleneck.
    pub link: Link,
    /// Its queue discipline, whose packet limit is `link.buffer` unless it sets its own.
    pub aqm: l4s_aqm::Config,
    /// Further links with queues of their own, before or behind the bottleneck. What is on one side
    /// is passed in this order.
    pub hops: Vec<Hop>,
    /// Flows that behave alike.
    pub groups: Vec<Group>,
    /// Unresponsive sources.
    pub udp: Vec<Udp>,
    /// Short flows, which begin at random.
    pub web: Vec<Web>,
    /// Flows of applications that write at a rate of their own.
    pub apps: Vec<App>,
    /// What becomes of the bottleneck and the paths in mid-run, in order of time.
    pub changes: Vec<Change>,
    /// What only substrates with real sockets ask for.
    pub kernel: Kernel,
}

/// Choices that only real sockets have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Kernel {
    /// The version of IP between servers and clients.
    pub ip: Ip,
    /// Whether senders hand down bursts, which the queue sees as one packet each (generic
    /// segmentation offload).
    pub gso: bool,
    /// Whose queue discipline the kernel runs, where a kernel is the router.
    pub qdisc: QdiscOf,
}

/// Whose queue discipline the kernel runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum QdiscOf {
    /// Its own, below a shaper (`htb`).
    #[default]
    Linux,
    /// Ours, as BPF programs, with a shaper of its own.
    Bpf,
}

/// A version of IP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ip {
    /// IPv4.
    #[default]
    V4,
    /// IPv6.
    V6,
}

/// The bottleneck link.
#[derive(Clone, PartialEq, Debug)]
pub struct Link {
    /// Its rate, link-layer header (14 B of Ethernet) included.
    pub rate: Rate,
    /// What may wait for it.
    pub buffer: Buffer,
    /// What it may send at once after it was idle: the bucket of the shaper (`htb burst`).
    pub burst: Bytes,
    /// The chance that an acknowledgement is lost on its way back, below 1.
    pub ack_loss: f64,
    /// The longest airtime of an aggregate, for a link that takes packets from the queue and
    /// delivers them in bursts; zero for one that sends them one by one.
    pub aggregation: Duration,
}

/// A further link that packets pass, with a queue of its own.
#[derive(Clone, PartialEq, Debug)]
pub struct Hop {
    /// Its name, unique among these links.
    pub name: String,
    /// On which side of the bottleneck it is.
    pub side: Side,
    /// Rate, buffer and burst. It loses no acknowledgements and sends packets one by one.
    pub link: Link,
    /// Its queue discipline, whose packet limit is that of the buffer unless it sets its own.
    pub aqm: l4s_aqm::Config,
    /// Whose packets pass it: places among the groups and then the UDP sources, in order and at
    /// least one.
    pub sources: Vec<usize>,
    /// How many such links there are.
    pub per: Per,
}

/// A side of the bottleneck.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Side {
    /// Towards the servers: upstream.
    #[default]
    Before,
    /// Towards the clients: downstream.
    Behind,
}

/// What has a link to itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Per {
    /// Nothing: there is one.
    #[default]
    All,
    /// Each group and UDP source.
    Group,
    /// Each flow. No group among these has downloads.
    Flow,
}

/// The size of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// So many packets, whatever their size.
    Packets(u64),
    /// So many bytes on the link.
    Bytes(Bytes),
    /// As many bytes as the link carries in this time.
    Time(Duration),
}

/// TCP flows that behave alike, between one server and one client.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    /// Its name, unique among groups and UDP sources.
    pub name: String,
    /// Its congestion control.
    pub cc: l4s_cc::Config,
    /// Which ECN it negotiates.
    pub ecn: EcnMode,
    /// What its acknowledgements tell of marks, where they count them.
    pub accecn: AccEcn,
    /// The base round trip, queue excluded.
    pub rtt: Duration,
    /// When each flow starts; as long as the number of flows. Zero flows are allowed.
    pub starts: Vec<Time>,
    /// How much each flow sends; `None` for a flow that never ends.
    pub size: Option<Bytes>,
}

/// Which ECN a TCP connection negotiates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EcnMode {
    /// None: Not-ECT.
    Off,
    /// RFC 3168: ECT(0).
    Classic,
    /// L4S: ECT(1).
    L4s,
    /// What the congestion control asks for.
    Auto,
}

/// How acknowledgements count marks, where Accurate ECN was negotiated (RFC 9768).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AccEcn {
    /// Packets in three bits of the header, and bytes in the TCP option.
    #[default]
    Option,
    /// Packets in three bits of the header alone, as where something strips the option.
    Ace,
}

/// An unresponsive source of constant bit rate.
#[derive(Clone, PartialEq, Debug)]
pub struct Udp {
    /// Its name, unique among groups and UDP sources.
    pub name: String,
    /// Its rate, counted in IP length.
    pub rate: Rate,
    /// The codepoint that its packets carry.
    pub ecn: Ecn,
    /// The IP length of a packet.
    pub packet: Bytes,
    /// When it starts.
    pub start: Time,
    /// When it stops; `None` at the end of the run.
    pub stop: Option<Time>,
}

/// Downloads that begin at random, each over a TCP connection of its own: emulated web traffic
/// (DCttH §4.5).
#[derive(Clone, PartialEq, Debug)]
pub struct Web {
    /// The group whose server, client, congestion control, ECN and round trip they have: its place
    /// among the groups.
    pub group: usize,
    /// How many begin per second on average, independently of each other.
    pub rate: Frequency,
    /// How much each of them fetches.
    pub size: Sizes,
    /// When they start to begin.
    pub start: Time,
    /// When no more of them begin; `None` at the end of the run.
    pub stop: Option<Time>,
}

/// The sizes of downloads.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Sizes {
    /// All alike.
    Fixed(Bytes),
    /// A Pareto distribution without what is larger than `max`.
    Pareto {
        /// The exponent alpha: the smaller, the heavier the tail.
        shape: f64,
        /// The smallest.
        min: Bytes,
        /// The largest, not less than `min`.
        max: Bytes,
    },
}

/// An application that writes a frame at regular intervals, such as interactive video, into each
/// of some long connections.
#[derive(Clone, PartialEq, Debug)]
pub struct App {
    /// The group whose server, client, congestion control, ECN and round trip they have: its place
    /// among the groups.
    pub group: usize,
    /// The mean rate of what it writes into one connection.
    pub rate: Rate,
    /// Frames per second.
    pub fps: u64,
    /// How many connections there are.
    pub flows: u64,
    /// Whether it skips a frame while more than one waits unsent in the socket.
    pub adapt: bool,
    /// When the first connection opens; the others follow evenly within the time of a frame.
    pub start: Time,
    /// When it writes no more; `None` at the end of the run.
    pub stop: Option<Time>,
}

impl App {
    /// The size of a frame: the rate over the frames per second, to the nearest byte.
    pub fn frame(&self) -> Bytes {
        let per_byte = 8 * self.fps;
        Bytes::new((self.rate.as_bps() + per_byte / 2) / per_byte)
    }

    /// When connection `flow` of it opens.
    pub fn opens(&self, flow: u64) -> Time {
        self.start + self.frames(1) * flow / self.flows.max(1)
    }

    /// The time of so many frames. From the first one each time, so that rounding does not add up.
    pub fn frames(&self, n: u64) -> Duration {
        let ns = u128::from(n) * 1_000_000_000 / u128::from(self.fps.max(1));
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

/// What becomes different at an instant, for the rest of the run.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// When: after the start of the run and before its end.
    pub time: Time,
    /// The discipline that takes the place of the present one. Its packet limit is `link.buffer`
    /// unless it sets its own.
    pub aqm: Option<l4s_aqm::Config>,
    /// The rate of the link.
    pub rate: Option<Rate>,
    /// The base round trip of some groups, by their place among the groups: a re-route.
    pub rtts: Vec<(usize, Duration)>,
}

impl Hop {
    /// How many links it is.
    pub fn links(&self, scenario: &Scenario) -> usize {
        self.links_of(&scenario.flows_of_sources())
    }

    /// The same, of the flows that each source has.
    pub(crate) fn links_of(&self, flows: &[usize]) -> usize {
        match self.per {
            Per::All => 1,
            Per::Group => self.sources.len(),
            Per::Flow => self.sources.iter().filter_map(|source| flows.get(*source)).sum(),
        }
    }
}

impl Scenario {
    /// The number of the first application's flow. Flows are numbered from 0: those of the groups,
    /// in the order of the groups, then the UDP sources, then those of applications, then downloads
    /// in the order in which they begin.
    pub fn first_app(&self) -> u32 {
        (self.groups.iter().map(|group| group.starts.len()).sum::<usize>() + self.udp.len()) as u32
    }

    /// The number of the first download: see [`Scenario::first_app`].
    pub fn first_download(&self) -> u32 {
        self.first_app() + self.apps.iter().map(|app| app.flows as u32).sum::<u32>()
    }

    /// Whose each flow is, by its number and but for downloads: the place among the groups and then
    /// the UDP sources.
    pub fn sources_of_flows(&self) -> impl Iterator<Item = usize> {
        let long = self.groups.iter().enumerate();
        let long = long.flat_map(|(number, group)| group.starts.iter().map(move |_| number));
        let udp = (0..self.udp.len()).map(|number| self.groups.len() + number);
        let apps = self.apps.iter().flat_map(|app| (0..app.flows).map(|_| app.group));
        long.chain(udp).chain(apps)
    }

    /// How many flows each of them has.
    pub(crate) fn flows_of_sources(&self) -> Vec<usize> {
        let mut flows: Vec<usize> = self.groups.iter().map(|group| group.starts.len()).collect();
        for app in &self.apps {
            flows[app.group] += app.flows as usize;
        }
        flows.extend(self.udp.iter().map(|_| 1));
        flows
    }

    /// Every discipline of the bottleneck, the first one first.
    pub fn aqms(&self) -> impl Iterator<Item = &l4s_aqm::Config> {
        let later = self.changes.iter().filter_map(|change| change.aqm.as_ref());
        core::iter::once(&self.aqm).chain(later)
    }

    /// The rate of the link at an instant.
    pub fn rate_at(&self, time: Time) -> Rate {
        self.course().rate_at(time)
    }

    /// The base round trip of a group, by its place, at an instant.
    pub fn rtt_at(&self, group: usize, time: Time) -> Duration {
        self.course().rtt_at(group, time)
    }

    /// Rates and round trips over time, for who asks often.
    pub fn course(&self) -> Course {
        let rates = self.changes.iter().filter_map(|change| Some((change.time, change.rate?)));
        let start = [(Time::ZERO, self.link.rate)];
        let rates = start.into_iter().chain(rates).collect();
        let start = |group: &Group| vec![(Time::ZERO, group.rtt)];
        let mut rtts: Vec<Vec<_>> = self.groups.iter().map(start).collect();
        for change in &self.changes {
            change.rtts.iter().for_each(|(group, rtt)| rtts[*group].push((change.time, *rtt)));
        }
        Course { rates, rtts }
    }

    /// The mean rate of the link after the warm-up, in bits per second.
    pub fn mean_rate_bps(&self) -> f64 {
        let (from, to) = (Time::ZERO + self.warmup, Time::ZERO + self.duration);
        let at = |change: &Change| change.time.max(from);
        let changes = self.changes.iter().filter(|change| change.rate.is_some());
        let ends = changes.clone().map(at).chain([to]);
        let rates = [self.link.rate].into_iter().chain(changes.clone().filter_map(|c| c.rate));
        let mut began = from;
        let mut bits = 0.0;
        for (rate, end) in rates.zip(ends) {
            bits += rate.as_bps() as f64 * end.since(began).as_secs_f64();
            began = end;
        }
        match changes.count() {
            0 => self.link.rate.as_bps() as f64,
            _ => bits / to.since(from).as_secs_f64(),
        }
    }
}

/// The rate of the link and the round trips of groups over time.
#[derive(Clone, Debug)]
pub struct Course {
    /// From when on, the first one from the start; and of each group likewise.
    rates: Vec<(Time, Rate)>,
    rtts: Vec<Vec<(Time, Duration)>>,
}

impl Course {
    /// The rate of the link at an instant.
    pub fn rate_at(&self, time: Time) -> Rate {
        at(&self.rates, time)
    }

    /// The base round trip of a group, by its place, at an instant.
    pub fn rtt_at(&self, group: usize, time: Time) -> Duration {
        at(&self.rtts[group], time)
    }
}

/// What holds at an instant. The first of `values` holds from the start.
fn at<T: Copy>(values: &[(Time, T)], time: Time) -> T {
    let later = values.partition_point(|(from, _)| *from <= time);
    values[later.saturating_sub(1)].1
}

#[cfg(test)]
mod tests {
    use crate::Plan;
    use l4s_units::{Duration, Rate, Time};

    #[test]
    fn what_changes_holds_from_its_time_on() {
        let text = "duration = \"10s\"\nwarmup = \"2s\"\nlink.rate = \"40mbit\"\n\
                    [[group]]\nname = \"A\"\ncc = \"reno\"\nrtt = \"10ms\"\n\
                    [[at]]\ntime = \"6s\"\nlink.rate = \"20mbit\"\ngroup.A.rtt = \"50ms\"\n\
                    [[at]]\ntime = \"1s\"\nlink.rate = \"10mbit\"\naqm = \"codel\"";
        let scenario = &Plan::parse("t.toml", text, &[]).unwrap().points[0].scenario;
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let rates = [0, 999, 1000, 5999, 6000].map(|ms| scenario.rate_at(at(ms)));
        assert_eq!(rates, [40, 40, 10, 10, 20].map(Rate::from_mbps));
        let rtts = [5999, 6000].map(|ms| scenario.rtt_at(0, at(ms)));
        assert_eq!(rtts, [10, 50].map(Duration::from_millis));
        assert_eq!(scenario.aqms().map(|aqm| aqm.kind()).collect::<Vec<_>>(), ["dualpi2", "codel"]);
        // 4 s of 10 and 4 s of 20 Mb/s; what was before the warm-up's end does not count.
        assert_eq!(scenario.mean_rate_bps(), 15e6);
    }
}
